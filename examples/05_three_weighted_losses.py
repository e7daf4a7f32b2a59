"""Three losses at once: the gradient says how much each one counts.

`loss` is a vector of three losses of the weights w. With gradient [-0.1, 1, 0.0001] one `backward` gives
-0.1·d(loss₁)/dw + 1·d(loss₂)/dw + 0.0001·d(loss₃)/dw: the weighted sum of the gradients that three backwards would
give, for the price of one.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxvjp as torch

DOCUMENTS = ["where_the_numbers_come_from"]
WEIGHTS = [-0.1, 1.0, 0.0001]
# The losses are w₁², w₁w₂ and w₂³ at w = [3, 2]: their gradients are [6, 0], [2, 3] and [0, 12].
NUMBERS = {"w": [-0.1 * 6.0 + 2.0, 3.0 + 0.0001 * 12.0]}
OUTPUTS = {"w": "loss"}


def imperative():
    w = torch.tensor([3.0, 2.0], requires_grad=True)
    loss = torch.empty(3)
    loss[0] = w[0] ** 2
    loss[1] = w[0] * w[1]
    loss[2] = w[1] ** 3
    loss.backward(torch.FloatTensor(WEIGHTS))
    return {"w": w.grad}


def losses(w):
    return jnp.stack([w[0] ** 2, w[0] * w[1], w[1] ** 3])


def functional():
    loss, pullback = jax.vjp(losses, jnp.array([3.0, 2.0]))
    (w_grad,) = pullback(jnp.array(WEIGHTS))
    return {"w": w_grad}


def jacobian():
    gradients_of_each_loss = np.array([[6.0, 0.0], [2.0, 3.0], [0.0, 12.0]])
    return {"w": (WEIGHTS, gradients_of_each_loss)}


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), NUMBERS)
    torch.testing.assert_close(functional(), NUMBERS)
    torch.testing.assert_close({name: np.tensordot(v, J, np.ndim(v)) for name, (v, J) in jacobian().items()}, NUMBERS)
