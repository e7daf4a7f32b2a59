"""A vector gradient for a sum: y = x₁ + x₂, v = [1, 10, 100, 1000].

Once more a y of one element repeated for each number of v, now with a row of two in J: four rows [1, 1], which v adds
up to [1111, 1111]. As a loop of backwards, `.grad` gets there in four steps.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxvjp as torch

DOCUMENTS = ["from_a_number_to_a_matrix"]
GRADIENT = [1.0, 10.0, 100.0, 1000.0]
NUMBERS = {
    "at once": [1111.0, 1111.0],
    "after v = 1": [1.0, 1.0],
    "after 10": [11.0, 11.0],
    "after 100": [111.0, 111.0],
    "after 1000": [1111.0, 1111.0],
}


def imperative():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = sum(x)
    y.backward(torch.tensor(GRADIENT), broadcast=True)
    seen = [x.grad]
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = sum(x)
    for v in GRADIENT:
        y.backward(torch.tensor(v), retain_graph=True)
        seen.append(x.grad.clone())
    return dict(zip(NUMBERS, seen, strict=True))


def functional():
    x = jnp.array([1.0, 2.0])
    y, pullback = jax.vjp(lambda x: jnp.broadcast_to(sum(x), (4,)), x)
    seen = [*pullback(jnp.array(GRADIENT))]
    y, pullback = jax.vjp(lambda x: sum(x), x)
    x_grad = jnp.zeros(2)
    for v in GRADIENT:
        x_grad = x_grad + pullback(jnp.array(v))[0]
        seen.append(x_grad)
    return dict(zip(NUMBERS, seen, strict=True))


def jacobian():
    J = np.array([[1.0, 1.0]])
    J_broadcast = np.repeat(J, 4, axis=0)
    so_far = [(GRADIENT[:count], J_broadcast[:count]) for count in range(1, 5)]
    return dict(zip(NUMBERS, [(GRADIENT, J_broadcast), *so_far], strict=True))


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), NUMBERS)
    torch.testing.assert_close(functional(), NUMBERS)
    torch.testing.assert_close({name: np.tensordot(v, J, np.ndim(v)) for name, (v, J) in jacobian().items()}, NUMBERS)
