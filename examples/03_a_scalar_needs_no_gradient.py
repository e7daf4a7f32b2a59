"""A scalar needs no gradient: y = 3a + 2b² + log c on numbers.

Where y has one element, its Jacobian has one row, and there is nothing to weigh: `backward()` takes v = 1. This is
what `jax.grad` does, too: it is `jax.vjp` with the cotangent 1 filled in.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxvjp as torch

DOCUMENTS = ["where_the_numbers_come_from"]
NUMBERS = {"a": 3.0, "b": 4.0, "c": 10.0}


def imperative():
    a = torch.tensor(0.1, requires_grad=True)
    b = torch.tensor(1.0, requires_grad=True)
    c = torch.tensor(0.1, requires_grad=True)
    y = 3 * a + 2 * b * b + torch.log(c)
    y.backward()
    return {"a": a.grad, "b": b.grad, "c": c.grad}


def f(a, b, c):
    return 3 * a + 2 * b * b + jnp.log(c)


def functional():
    y, pullback = jax.vjp(f, 0.1, 1.0, 0.1)
    a_grad, b_grad, c_grad = pullback(jnp.ones_like(y))  # jax.grad(f, argnums=(0, 1, 2))(0.1, 1.0, 0.1)
    return {"a": a_grad, "b": b_grad, "c": c_grad}


def jacobian():
    return {"a": (1.0, 3.0), "b": (1.0, 4 * 1.0), "c": (1.0, 1 / 0.1)}


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), NUMBERS)
    torch.testing.assert_close(functional(), NUMBERS)
    torch.testing.assert_close({name: np.tensordot(v, J, np.ndim(v)) for name, (v, J) in jacobian().items()}, NUMBERS)
