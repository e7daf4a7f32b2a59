"""A gradient longer than y: y of one element, v of three.

The document is old: its torch repeated a one-element y for each number in the gradient, and so added the numbers up,
v = 0.1 + 1 + 0.0001 = 1.1001. Today's torch raises `RuntimeError: Mismatch in shape`, and so does jaxvjp; the old
behaviour is there when asked for, `broadcast=True`. As a function it is a `broadcast_to`, whose pullback is a sum.

`torch.empty(1)` is memory that nobody has filled: the document's numbers, 0 for b and infinity for c, are those of
memory that happened to hold 0. Here `empty` always holds 0.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxvjp as torch

DOCUMENTS = ["where_the_numbers_come_from"]
NUMBERS = {"a": [3.3003], "b": [0.0], "c": [np.inf]}
GRADIENTS = [0.1, 1.0, 0.0001]


def imperative():
    a = torch.empty(1, requires_grad=True, pin_memory=True)
    b = torch.empty(1, requires_grad=True, pin_memory=True)
    c = torch.empty(1, requires_grad=True, pin_memory=True)
    y = 3 * a + 2 * b * b + torch.log(c)
    y.backward(torch.FloatTensor(GRADIENTS), broadcast=True)
    return {"a": a.grad, "b": b.grad, "c": c.grad}


def repeated(a, b, c):
    return jnp.broadcast_to(3 * a + 2 * b * b + jnp.log(c), (3,))


def functional():
    zero = jnp.zeros(1)
    y, pullback = jax.vjp(repeated, zero, zero, zero)
    a_grad, b_grad, c_grad = pullback(jnp.array(GRADIENTS))
    return {"a": a_grad, "b": b_grad, "c": c_grad}


def jacobian():
    with np.errstate(divide="ignore"):
        rows = {"a": 3.0, "b": 4 * 0.0, "c": np.float64(1.0) / 0.0}
    return {name: (GRADIENTS, np.full((3, 1), row)) for name, row in rows.items()}


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), NUMBERS)
    torch.testing.assert_close(functional(), NUMBERS)
    torch.testing.assert_close({name: np.tensordot(v, J, np.ndim(v)) for name, (v, J) in jacobian().items()}, NUMBERS)
