"""A scalar loss: y = Σx², whose gradient is 2x.

The common case in training. Its `backward()` stands for `backward(tensor(1.))`: the derivative of the loss with
respect to itself. The document then calls `backward` again on the same y with a gradient of two elements; that is two
errors in torch today (the graph is freed, and the shapes differ), and example 10 is what was meant.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxvjp as torch

DOCUMENTS = ["other_ways_to_a_gradient"]
X = [[1.0, -2.0], [3.0, 0.5]]
NUMBERS = {"x": [[2.0, -4.0], [6.0, 1.0]]}  # 2x


def imperative():
    x = torch.tensor(X, requires_grad=True)
    y = x.pow(2).sum()
    y.backward()
    return {"x": x.grad}


def functional():
    y, pullback = jax.vjp(lambda x: jnp.sum(x**2), jnp.array(X))
    (x_grad,) = pullback(jnp.ones_like(y))
    return {"x": x_grad}


def jacobian():
    return {"x": (1.0, 2 * np.array(X))}  # the Jacobian of a scalar has the shape of x


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), NUMBERS)
    torch.testing.assert_close(functional(), NUMBERS)
    torch.testing.assert_close({name: np.tensordot(v, J, np.ndim(v)) for name, (v, J) in jacobian().items()}, NUMBERS)
