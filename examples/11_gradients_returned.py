"""Gradients returned instead of accumulated: `autograd.grad`.

`backward` writes into `.grad`; `autograd.grad` hands the same vᵀJ back and leaves every `.grad` alone. It is the
imperative spelling that is closest to JAX's: a function's derivative is a value.
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
    (gradient,) = torch.autograd.grad(outputs=y, inputs=x)
    assert x.grad is None
    return {"x": gradient}


def functional():
    return {"x": jax.grad(lambda x: jnp.sum(x**2))(jnp.array(X))}


def jacobian():
    return {"x": (1.0, 2 * np.array(X))}


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), NUMBERS)
    torch.testing.assert_close(functional(), NUMBERS)
    torch.testing.assert_close({name: np.tensordot(v, J, np.ndim(v)) for name, (v, J) in jacobian().items()}, NUMBERS)
