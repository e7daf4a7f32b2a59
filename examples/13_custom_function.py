"""A derivative of one's own: `autograd.Function` for x².

`forward` computes, `backward` gets vᵀ and returns vᵀJ: it is the pullback, written by hand. Its `grad_output` is the
`gradient` argument of `y.backward`, when y is the root. In JAX that is `jax.custom_vjp`, whose residuals are what
`ctx.save_for_backward` saves. The document calls `y.backward()` on a 2×2 y; it needs a gradient of y's shape.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxvjp as torch

DOCUMENTS = ["other_ways_to_a_gradient"]
X = [[1.0, -2.0], [3.0, 0.5]]
NUMBERS = {"x": [[2.0, -4.0], [6.0, 1.0]]}  # 2x


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.pow(2)
        ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


def imperative():
    x = torch.tensor(X, requires_grad=True)
    y = Square.apply(x)
    y.backward(torch.ones_like(y))
    return {"x": x.grad}


@jax.custom_vjp
def square(x):
    return x**2


square.defvjp(lambda x: (x**2, x), lambda x, grad_output: (2 * x * grad_output,))


def functional():
    y, pullback = jax.vjp(square, jnp.array(X))
    (x_grad,) = pullback(jnp.ones_like(y))
    return {"x": x_grad}


def jacobian():
    return {"x": (np.ones((2, 2)), jax.jacrev(square)(jnp.array(X)))}


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), NUMBERS)
    torch.testing.assert_close(functional(), NUMBERS)
    torch.testing.assert_close({name: np.tensordot(v, J, np.ndim(v)) for name, (v, J) in jacobian().items()}, NUMBERS)
