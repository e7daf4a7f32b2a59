"""You wrote `detach()` and `no_grad()`; this is `jax.lax.stop_gradient`.

Both say that a value is to count as a constant, as if it had been written down as a number. v comes back as far as the
cut and no further. Here the scale is made of x, but only the second x in the product is differentiated.
"""

import jax
import jax.numpy as jnp

import jaxvjp as torch

X = [1.0, 2.0, 3.0]


def imperative():
    x = torch.tensor(X, requires_grad=True)
    with torch.no_grad():
        scale = x.sum()
    y = (scale * x + x.detach() ** 2).sum()
    y.backward()
    return {"x": x.grad}


def functional():
    def f(x):
        scale = jax.lax.stop_gradient(jnp.sum(x))
        return jnp.sum(scale * x + jax.lax.stop_gradient(x) ** 2)

    return {"x": jax.grad(f)(jnp.array(X))}


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), functional())
