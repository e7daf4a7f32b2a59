"""A vector gradient for a number: y = x², v = [1, 10, 100, 1000].

In the document's torch a y of one element was repeated for each number of the gradient; J becomes four equal rows.
Today that is an error, and asked for with `broadcast=True`. The same as a loop: each backward adds 2v to `.grad`.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxvjp as torch

DOCUMENTS = ["from_a_number_to_a_matrix"]
GRADIENT = [1.0, 10.0, 100.0, 1000.0]
NUMBERS = {"at once": 2222.0, "after v = 1": 2.0, "after 10": 22.0, "after 100": 222.0, "after 1000": 2222.0}


def imperative():
    x = torch.tensor(1.0, requires_grad=True)
    y = x**2
    y.backward(torch.tensor(GRADIENT), broadcast=True)
    seen = [x.grad]
    x = torch.tensor(1.0, requires_grad=True)
    y = x**2
    for v in GRADIENT:
        y.backward(torch.tensor(v), retain_graph=True)
        seen.append(x.grad.clone())
    return dict(zip(NUMBERS, seen, strict=True))


def functional():
    y, pullback = jax.vjp(lambda x: jnp.broadcast_to(x**2, (4,)), jnp.array(1.0))
    seen = [*pullback(jnp.array(GRADIENT))]
    y, pullback = jax.vjp(lambda x: x**2, jnp.array(1.0))
    x_grad = jnp.zeros(())
    for v in GRADIENT:
        x_grad = x_grad + pullback(jnp.array(v))[0]
        seen.append(x_grad)
    return dict(zip(NUMBERS, seen, strict=True))


def jacobian():
    x = 1.0
    J_broadcast = np.repeat(np.array([2 * x]), 4)
    so_far = [(GRADIENT[:count], J_broadcast[:count]) for count in range(1, 5)]
    return dict(zip(NUMBERS, [(GRADIENT, J_broadcast), *so_far], strict=True))


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), NUMBERS)
    torch.testing.assert_close(functional(), NUMBERS)
    torch.testing.assert_close({name: np.tensordot(v, J, np.ndim(v)) for name, (v, J) in jacobian().items()}, NUMBERS)
