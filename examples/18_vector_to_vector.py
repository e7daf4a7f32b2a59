"""A vector in, a vector out: y = 3x², with a gradient of ones.

Now J is 2×2, with 6x on the diagonal, and v must be given: of which weighted sum of y's elements is the derivative
wanted? Ones ask for that of their plain sum.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxvjp as torch

DOCUMENTS = ["from_a_number_to_a_matrix"]
NUMBERS = {"x": [6.0, 12.0]}


def imperative():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = 3 * x**2
    y.backward(torch.tensor([1.0, 1.0]))
    return {"x": x.grad}


def functional():
    y, pullback = jax.vjp(lambda x: 3 * x**2, jnp.array([1.0, 2.0]))
    (x_grad,) = pullback(jnp.array([1.0, 1.0]))
    return {"x": x_grad}


def jacobian():
    x = np.array([1.0, 2.0])
    return {"x": (np.array([1.0, 1.0]), np.array([[6 * x[0], 0], [0, 6 * x[1]]]))}


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), NUMBERS)
    torch.testing.assert_close(functional(), NUMBERS)
    torch.testing.assert_close({name: np.tensordot(v, J, np.ndim(v)) for name, (v, J) in jacobian().items()}, NUMBERS)
