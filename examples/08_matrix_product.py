"""A matrix product: y = xM, and the columns of M come back.

y₁ = 1·x₁ + 3·x₂ and y₂ = 2·x₁ + 4·x₂, so the Jacobian is Mᵀ: its first row, which the gradient [1, 0] picks, is the
first column of M. The gradient [1, 1] adds the two, and being linear in v is all that a pullback is about.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxvjp as torch

DOCUMENTS = ["a_loop_and_a_matrix"]
NUMBERS = {
    "v = [1, 0]": [[1.0, 3.0]],
    "v = [0, 1]": [[2.0, 4.0]],
    "v = [1, 1]": [[3.0, 7.0]],
}
GRADIENTS = ([[1, 0]], [[0, 1]], [[1, 1]])
M = [[1, 2], [3, 4]]


def imperative():
    x = torch.autograd.Variable(torch.FloatTensor([[2, 1]]), requires_grad=True)
    y = torch.mm(x, torch.autograd.Variable(torch.FloatTensor(M)))
    assert y.tolist() == [[5.0, 8.0]]
    seen = []
    for gradient in GRADIENTS:
        y.backward(torch.FloatTensor(gradient), retain_graph=True)
        seen.append(x.grad.clone())
        x.grad.data.zero_()
    return dict(zip(NUMBERS, seen, strict=True))


def functional():
    x, matrix = jnp.array([[2.0, 1.0]]), jnp.array(M, float)
    y, pullback = jax.vjp(lambda x: x @ matrix, x)
    return dict(zip(NUMBERS, [pullback(jnp.array(v, y.dtype))[0] for v in GRADIENTS], strict=True))


def jacobian():
    transposed = np.array(M).T.reshape(1, 2, 1, 2)  # of y's shape, then of x's
    return dict(zip(NUMBERS, [(v, transposed) for v in GRADIENTS], strict=True))


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), NUMBERS)
    torch.testing.assert_close(functional(), NUMBERS)
    torch.testing.assert_close({name: np.tensordot(v, J, np.ndim(v)) for name, (v, J) in jacobian().items()}, NUMBERS)
