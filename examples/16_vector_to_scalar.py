"""A vector in, a number out: y = x₁ + x₂ by Python's own `sum`.

The Jacobian is one row, [1, 1]. Python's `sum` adds the elements one by one, 0 + x[0] + x[1]; each is a view of x, and
its cotangent goes back to its own place.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxvjp as torch

DOCUMENTS = ["from_a_number_to_a_matrix"]
NUMBERS = {"x": [1.0, 1.0]}


def imperative():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = sum(x)
    y.backward()
    return {"x": x.grad}


def functional():
    y, pullback = jax.vjp(lambda x: sum(x), jnp.array([1.0, 2.0]))
    (x_grad,) = pullback(jnp.ones_like(y))
    return {"x": x_grad}


def jacobian():
    return {"x": (np.array([1.0]), np.array([[1.0, 1.0]]))}


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), NUMBERS)
    torch.testing.assert_close(functional(), NUMBERS)
    torch.testing.assert_close({name: np.tensordot(v, J, np.ndim(v)) for name, (v, J) in jacobian().items()}, NUMBERS)
