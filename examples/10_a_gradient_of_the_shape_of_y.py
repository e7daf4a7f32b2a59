"""A matrix-valued y: the gradient has y's shape.

y = x² on a 2×2 x, so the Jacobian is 2×2×2×2, and v is a 2×2 tensor like y: vᵀJ sums over both of y's dimensions and
is 2x·v. The document passes four numbers in a row, `[0.1, 0.5, 0.2, 0.3]`; torch answers `RuntimeError: Mismatch in
shape: grad_output[0] has a shape of torch.Size([4]) and output[0] has a shape of torch.Size([2, 2])`, and so does
jaxvjp. The four numbers in y's shape are what was meant.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxvjp as torch

DOCUMENTS = ["other_ways_to_a_gradient"]
X = [[1.0, -2.0], [3.0, 0.5]]
V = [[0.1, 0.5], [0.2, 0.3]]
NUMBERS = {"x": [[0.2, -2.0], [1.2, 0.3]]}  # 2x·v


def imperative():
    x = torch.tensor(X, requires_grad=True)
    y = x.pow(2)
    try:
        y.backward(gradient=torch.tensor([0.1, 0.5, 0.2, 0.3]))
    except RuntimeError as error:
        assert "Mismatch in shape" in str(error)
    y.backward(gradient=torch.tensor(V))
    return {"x": x.grad}


def functional():
    y, pullback = jax.vjp(lambda x: x**2, jnp.array(X))
    (x_grad,) = pullback(jnp.array(V))
    return {"x": x_grad}


def jacobian():
    return {"x": (V, jax.jacrev(lambda x: x**2)(jnp.array(X)))}


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), NUMBERS)
    torch.testing.assert_close(functional(), NUMBERS)
    torch.testing.assert_close({name: np.tensordot(v, J, np.ndim(v)) for name, (v, J) in jacobian().items()}, NUMBERS)
