"""A vector in, a number out, and a gradient of 100: y = x₁ + x₂.

v has one number because y has one element, however long x is. It scales the one row of the Jacobian.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxvjp as torch

DOCUMENTS = ["from_a_number_to_a_matrix"]
NUMBERS = {"x": [100.0, 100.0]}


def imperative():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = sum(x)
    y.backward(torch.tensor(100.0))
    return {"x": x.grad}


def functional():
    y, pullback = jax.vjp(lambda x: sum(x), jnp.array([1.0, 2.0]))
    (x_grad,) = pullback(jnp.array(100.0))
    return {"x": x_grad}


def jacobian():
    return {"x": (np.array([100.0]), np.array([[1.0, 1.0]]))}


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), NUMBERS)
    torch.testing.assert_close(functional(), NUMBERS)
    torch.testing.assert_close({name: np.tensordot(v, J, np.ndim(v)) for name, (v, J) in jacobian().items()}, NUMBERS)
