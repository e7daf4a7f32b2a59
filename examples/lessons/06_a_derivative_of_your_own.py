"""You wrote an `autograd.Function`; this is `jax.custom_vjp`.

Its `backward` is a pullback: it gets v (torch calls it `grad_output`) and returns vᵀJ, or something better behaved than
vᵀJ. What `ctx.save_for_backward` keeps are the residuals that the forward of a `custom_vjp` returns.
"""

import jax
import jax.numpy as jnp

import jaxvjp as torch

X = [-2.0, 0.5, 3.0]


class Clipped(torch.autograd.Function):
    """The identity, whose gradient is kept between -1 and 1."""

    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-1.0, 1.0)


def imperative():
    x = torch.tensor(X, requires_grad=True)
    y = (Clipped.apply(x) ** 2).sum()
    y.backward()
    return {"x": x.grad}


@jax.custom_vjp
def clipped(x):
    return x


clipped.defvjp(lambda x: (x, None), lambda _, grad_output: (jnp.clip(grad_output, -1.0, 1.0),))


def functional():
    return {"x": jax.grad(lambda x: jnp.sum(clipped(x) ** 2))(jnp.array(X))}


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), functional())
