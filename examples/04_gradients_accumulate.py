"""Gradients accumulate: two backwards through one graph, and no zeroing in between.

The second `backward` adds to `.grad` what the first left there, so every number is doubled. It needs `retain_graph`
on the first, or torch has freed what it wants to read. In JAX a pullback is a value: calling it twice needs no
permission, and the sum is written out.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxvjp as torch

DOCUMENTS = ["where_the_numbers_come_from"]
NUMBERS = {"a": 6.0, "b": 8.0, "c": 2.0}


def imperative():
    a = torch.tensor(1.0, requires_grad=True)
    b = torch.tensor(1.0, requires_grad=True)
    c = torch.tensor(1.0, requires_grad=True)
    y = 3 * a + 2 * b * b + torch.log(c)
    y.backward(retain_graph=True)
    y.backward()
    return {"a": a.grad, "b": b.grad, "c": c.grad}


def functional():
    y, pullback = jax.vjp(lambda a, b, c: 3 * a + 2 * b * b + jnp.log(c), 1.0, 1.0, 1.0)
    grads = pullback(jnp.ones_like(y))
    grads = jax.tree.map(jnp.add, grads, pullback(jnp.ones_like(y)))  # x_grad = x_grad + ...
    return dict(zip("abc", grads, strict=True))


def jacobian():
    v = 1.0 + 1.0  # two pullbacks with 1 are one with 2, for a pullback is linear
    return {"a": (v, 3.0), "b": (v, 4.0), "c": (v, 1.0)}


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), NUMBERS)
    torch.testing.assert_close(functional(), NUMBERS)
    torch.testing.assert_close({name: np.tensordot(v, J, np.ndim(v)) for name, (v, J) in jacobian().items()}, NUMBERS)
