"""A loop on a value: y = 2x, doubled while its norm is under 1000.

How often the loop runs depends on the data, and `backward` differentiates the steps that were taken: after the loop
y = x·2ᵏ for some k, so vᵀJ = v·2ᵏ, whatever else x was. The document's x is doubled nine times. In JAX,
`vjp` of a Python function follows the loop in the same way, as long as the function is not under `jit`.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxvjp as torch

DOCUMENTS = ["a_loop_and_a_matrix"]
X = [-590.4467 / 2**9, 97.6760 / 2**9, 921.0221 / 2**9]  # the document shows y after its loop
NUMBERS = {"x": [51.2, 512.0, 0.0512]}


def imperative():
    x = torch.tensor(X, requires_grad=True)
    y = x * 2
    while y.data.norm() < 1000:
        y = y * 2
    gradients = torch.tensor([0.1, 1.0, 0.0001], dtype=torch.float)
    y.backward(gradients)
    return {"x": x.grad}


def doubled(x):
    y = x * 2
    while jnp.linalg.norm(jax.lax.stop_gradient(y)) < 1000:
        y = y * 2
    return y


def functional():
    y, pullback = jax.vjp(doubled, jnp.array(X))
    (x_grad,) = pullback(jnp.array([0.1, 1.0, 0.0001]))
    return {"x": x_grad}


def jacobian():
    k = 1
    while np.linalg.norm(np.array(X) * 2.0**k) < 1000:
        k += 1
    return {"x": ([0.1, 1.0, 0.0001], np.eye(3) * 2.0**k)}


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), NUMBERS)
    torch.testing.assert_close(functional(), NUMBERS)
    torch.testing.assert_close({name: np.tensordot(v, J, np.ndim(v)) for name, (v, J) in jacobian().items()}, NUMBERS)
