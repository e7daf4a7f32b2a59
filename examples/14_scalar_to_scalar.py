"""A number in, a number out: y = x² at x = 1.

The smallest Jacobian there is: 1×1, and 2x. With no gradient given, v is 1, so vᵀJ is J.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxvjp as torch

DOCUMENTS = ["from_a_number_to_a_matrix"]
NUMBERS = {"x": 2.0}


def imperative():
    x = torch.tensor(1.0, requires_grad=True)
    y = x**2
    y.backward()  # the same as y.backward(tensor(1.))
    return {"x": x.grad}


def functional():
    y, pullback = jax.vjp(lambda x: x**2, 1.0)
    (x_grad,) = pullback(jnp.ones_like(y))
    return {"x": x_grad}


def jacobian():
    x = 1.0
    return {"x": (np.array([1.0]), np.array([[2 * x]])[:, 0])}


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), NUMBERS)
    torch.testing.assert_close(functional(), NUMBERS)
    torch.testing.assert_close({name: np.tensordot(v, J, np.ndim(v)) for name, (v, J) in jacobian().items()}, NUMBERS)
