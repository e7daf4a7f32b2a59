"""Two inputs, three outputs: J is 3×2, and v has three numbers.

y is filled element by element. Each write makes a new value of y that remembers the old one and what was written;
JAX says it as `y.at[0].set(...)`. The 1, 10 and 100 of v show in the result which row went where: 26 = 1·6 + 10·2 and
1240 = 10·24 + 100·10.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxvjp as torch

DOCUMENTS = ["from_a_number_to_a_matrix"]
NUMBERS = {"x": [26.0, 1240.0]}


def imperative():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.empty(3)
    y[0] = 3 * x[0] ** 2
    y[1] = x[0] ** 2 + 2 * x[1] ** 3
    y[2] = 10 * x[1]
    y.backward(torch.tensor([1.0, 10.0, 100.0]))
    return {"x": x.grad}


def f(x):
    y = jnp.empty(3)
    y = y.at[0].set(3 * x[0] ** 2)
    y = y.at[1].set(x[0] ** 2 + 2 * x[1] ** 3)
    return y.at[2].set(10 * x[1])


def functional():
    y, pullback = jax.vjp(f, jnp.array([1.0, 2.0]))
    (x_grad,) = pullback(jnp.array([1.0, 10.0, 100.0]))
    return {"x": x_grad}


def jacobian():
    x = np.array([1.0, 2.0])
    J = np.array([[6 * x[0], 0], [2 * x[0], 6 * x[1] ** 2], [0, 10]])
    np.testing.assert_allclose(jax.jacrev(f)(jnp.array(x)), J)
    return {"x": (np.array([1.0, 10.0, 100.0]), J)}


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), NUMBERS)
    torch.testing.assert_close(functional(), NUMBERS)
    torch.testing.assert_close({name: np.tensordot(v, J, np.ndim(v)) for name, (v, J) in jacobian().items()}, NUMBERS)
