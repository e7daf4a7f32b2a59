"""You wrote `checkpoint(f, x)`; this is `jax.checkpoint(f)(x)`.

A pullback needs residuals: what the forward pass computed on the way. To keep fewer of them, the inside of f can be
computed again when v arrives. The gradient is the same; only where the numbers come from is not.
"""

import jax
import jax.numpy as jnp

import jaxvjp as torch

X = [0.1, 0.2, 0.3]


def imperative():
    x = torch.tensor(X, requires_grad=True)
    y = torch.utils.checkpoint.checkpoint(lambda x: (x.sin() * x).exp(), x, use_reentrant=False)
    y.backward(torch.tensor([1.0, 2.0, 3.0]))
    return {"x": x.grad}


def functional():
    _, pullback = jax.vjp(jax.checkpoint(lambda x: jnp.exp(jnp.sin(x) * x)), jnp.array(X))
    (x_grad,) = pullback(jnp.array([1.0, 2.0, 3.0]))
    return {"x": x_grad}


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), functional())
