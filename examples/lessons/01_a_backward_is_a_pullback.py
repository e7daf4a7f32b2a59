"""You wrote `y.backward(v)`; this is `jax.vjp`.

The `gradient` argument v has y's shape, and says how much each element of y counts. `jax.vjp` returns y and a function
of v, the pullback, which gives vᵀJ; `backward` calls it and adds the result to `.grad`. A pullback is a value: it may
be called again, which is what `retain_graph=True` asks for.
"""

import jax
import jax.numpy as jnp

import jaxvjp as torch

X, V = [1.0, 2.0], [1.0, 10.0]


def imperative():
    x = torch.tensor(X, requires_grad=True)
    y = 3 * x**2
    y.backward(torch.tensor(V))
    return {"x": x.grad}


def functional():
    y, pullback = jax.vjp(lambda x: 3 * x**2, jnp.array(X))
    (x_grad,) = pullback(jnp.array(V, y.dtype))
    return {"x": x_grad}


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), functional())
