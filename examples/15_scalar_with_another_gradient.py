"""Another gradient than 1: y = x² at x = 1, with gradient 100.

If y is on its way to some later scalar whose derivative with respect to y is 100, then this is the chain rule's next
step: 100 · 2x.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxvjp as torch

DOCUMENTS = ["from_a_number_to_a_matrix"]
NUMBERS = {"x": 200.0}


def imperative():
    x = torch.tensor(1.0, requires_grad=True)
    y = x**2
    y.backward(torch.tensor(100.0))
    return {"x": x.grad}


def functional():
    y, pullback = jax.vjp(lambda x: x**2, jnp.array(1.0))
    (x_grad,) = pullback(jnp.array(100.0))
    return {"x": x_grad}


def jacobian():
    x = 1.0
    return {"x": (np.array([100.0]), np.array([[2 * x]])[:, 0])}


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), NUMBERS)
    torch.testing.assert_close(functional(), NUMBERS)
    torch.testing.assert_close({name: np.tensordot(v, J, np.ndim(v)) for name, (v, J) in jacobian().items()}, NUMBERS)
