"""The gradient weights the rows: y = 3a + 2b² + log c with gradient [0.1, 1, 0.0001].

Every element of y depends on the element of a, b and c at its own place, so each Jacobian is diagonal: 3, 4b and 1/c.
Multiplied from the left by v, each diagonal is scaled by v, place by place. Three leaves are three cotangents of one
pullback.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxvjp as torch

DOCUMENTS = ["where_the_numbers_come_from"]
NUMBERS = {
    "a": [0.3, 3.0, 0.0003],
    "b": [1.2, 16.0, 0.002],
    "c": [1.6667e-02, 1.4286e-01, 1.2500e-05],
}
TOLERANCE = 1e-4  # the document prints c's gradient to five digits


def imperative():
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = torch.tensor([3.0, 4.0, 5.0], requires_grad=True)
    c = torch.tensor([6.0, 7.0, 8.0], requires_grad=True)
    y = 3 * a + 2 * b * b + torch.log(c)
    gradients = torch.FloatTensor([0.1, 1.0, 0.0001])
    y.backward(gradients)
    return {"a": a.grad, "b": b.grad, "c": c.grad}


def f(a, b, c):
    return 3 * a + 2 * b * b + jnp.log(c)


POINT = jnp.array([1.0, 2.0, 3.0]), jnp.array([3.0, 4.0, 5.0]), jnp.array([6.0, 7.0, 8.0])
V = jnp.array([0.1, 1.0, 0.0001])


def functional():
    y, pullback = jax.vjp(f, *POINT)
    a_grad, b_grad, c_grad = pullback(V)
    return {"a": a_grad, "b": b_grad, "c": c_grad}


def jacobian():
    of_a, of_b, of_c = jax.jacrev(f, argnums=(0, 1, 2))(*POINT)
    return {"a": (V, of_a), "b": (V, of_b), "c": (V, of_c)}


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), NUMBERS, rtol=TOLERANCE, atol=1e-5)
    torch.testing.assert_close(functional(), NUMBERS, rtol=TOLERANCE, atol=1e-5)
    pulled = {name: np.tensordot(v, J, np.ndim(v)) for name, (v, J) in jacobian().items()}
    torch.testing.assert_close(pulled, NUMBERS, rtol=TOLERANCE, atol=1e-5)
