"""The gradient picks a row: z = 2x, with one-hot gradients, then all ones.

z has four elements, so its derivative with respect to x is a 4×4 matrix J. `backward` never shows J; it shows vᵀJ for
the v it is given. A v with a single 1 picks one row of J. A v of ones adds the rows up, which is the derivative of
z.sum(): that is why `loss.backward()` at the end, with no gradient at all, gives the same numbers.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxvjp as torch

DOCUMENTS = ["where_the_numbers_come_from", "one_row_at_a_time"]
NUMBERS = {
    "v = [1, 0, 0, 0]": [[2.0, 0.0, 0.0, 0.0]],
    "v = [0, 1, 0, 0]": [[0.0, 2.0, 0.0, 0.0]],
    "v = [1, 1, 1, 1]": [[2.0, 2.0, 2.0, 2.0]],
    "loss = z.sum(dim=1)": [[2.0, 2.0, 2.0, 2.0]],
}
OUTPUTS = {name: "loss" if name.startswith("loss") else "z" for name in NUMBERS}
GRADIENTS = ([[1, 0, 0, 0]], [[0, 1, 0, 0]], [[1, 1, 1, 1]])


def imperative():
    x = torch.autograd.Variable(torch.FloatTensor([[1, 2, 3, 4]]), requires_grad=True)
    z = 2 * x
    loss = z.sum(dim=1)
    seen = []
    for gradient in GRADIENTS:
        z.backward(torch.FloatTensor(gradient), retain_graph=True)
        seen.append(x.grad.clone())
        x.grad.data.zero_()  # or the next backward would add to this one
    loss.backward()
    return dict(zip(NUMBERS, [*seen, x.grad], strict=True))


def functional():
    x = jnp.array([[1.0, 2.0, 3.0, 4.0]])
    z, pullback = jax.vjp(lambda x: 2 * x, x)
    seen = [pullback(jnp.array(v, z.dtype))[0] for v in GRADIENTS]
    loss, pullback_of_loss = jax.vjp(lambda x: (2 * x).sum(axis=1), x)
    return dict(zip(NUMBERS, [*seen, pullback_of_loss(jnp.ones_like(loss))[0]], strict=True))


def jacobian():
    x = jnp.array([[1.0, 2.0, 3.0, 4.0]])
    of_z = jax.jacrev(lambda x: 2 * x)(x)
    of_loss = jax.jacrev(lambda x: (2 * x).sum(axis=1))(x)
    pairs = [*[(v, of_z) for v in GRADIENTS], ([1.0], of_loss)]
    return dict(zip(NUMBERS, pairs, strict=True))


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), NUMBERS)
    torch.testing.assert_close(functional(), NUMBERS)
    torch.testing.assert_close({name: np.tensordot(v, J, np.ndim(v)) for name, (v, J) in jacobian().items()}, NUMBERS)
