"""You wrote an `autograd.Function`; this is `jax.custom_vjp`.

Its `backward` is a pullback: it gets v (torch calls it `grad_output`) and returns vᵀJ, or what you want in its place.
Here vᵀJ would be v, and what is returned is v kept between -1 and 1. What `ctx.save_for_backward` keeps in torch are
the residuals in JAX: the forward of a `custom_vjp` returns them beside its value.
"""

import jax
import jax.numpy as jnp

import jaxvjp as torch
from jaxvjp.tools.course import Exercise, Prediction, teach

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


def clipped_after_a_product():
    x = torch.tensor(X, requires_grad=True)
    y = Clipped.apply(10 * x)
    y.sum().backward()
    return x.grad


PREDICTION = Prediction(
    question="x is [-2, 0.5, 3]. What does `clipped_after_a_product` return?",
    program=clipped_after_a_product,
    because="`y.sum()` sends v = [1, 1, 1] into the backward of `Clipped`, which leaves it as it is. Then it passes "
    "the product, and is multiplied by 10. A backward sees what arrives at it, and not what becomes of that "
    "afterwards.",
    mistakes={
        "1 1 1": "`Clipped` comes after the product, so its backward comes before that of the product: v is 1 there, "
        "and is multiplied by 10 afterwards.",
        "0 10 0": "That is the derivative of a clamp. The forward of `Clipped` is the identity.",
        "0 0 0": "That is the derivative of a clamp. The forward of `Clipped` is the identity.",
        "-1 0.5 1": "That is x itself, clamped. What is clipped is the gradient on its way back.",
        "-10 5 10": "What is clipped is v, which is 1 for each element, and not x.",
    },
)


@jax.custom_vjp
def turned_back(x):
    """Returns `x` as it is; but the gradient that comes back through it has the other sign."""
    return x


turned_back.defvjp(lambda x: (x, None), lambda _, v: (-v,))


def negative(x):
    return -x


@jax.custom_vjp
def passed_on(x):
    return x


passed_on.defvjp(lambda x: (x, None), lambda _, v: (v,))


@jax.custom_vjp
def without_v(x):
    return x


without_v.defvjp(lambda x: (x, x), lambda x, v: (-jnp.ones_like(x),))


@jax.custom_vjp
def no_tuple(x):
    return x


no_tuple.defvjp(lambda x: (x, None), lambda _, v: -v)


def trial(turned_back):
    x = jnp.array([1.0, 2.0])
    return {
        "turned_back([1, 2])": turned_back(x),
        "the gradient of turned_back(x)² at [1, 2], added up": jax.grad(lambda x: jnp.sum(turned_back(x) ** 2))(x),
    }


def trial_with_a_number(turned_back):
    return {"the gradient of 5 turned_back(x) at the number 3": jax.grad(lambda x: 5 * turned_back(x))(3.0)}


EXERCISE = Exercise(
    solution=turned_back,
    trial=trial,
    hint="Put `@jax.custom_vjp` above it, and after it `turned_back.defvjp(forward, backward)`: forward returns the "
    "value and what to keep, backward gets what was kept and v, and returns a tuple.",
    mistakes={
        "You turned x itself, and so its value. Only the gradient is to have the other sign.": negative,
        "The gradient comes back as it went in: give v the other sign in backward.": passed_on,
        "Your backward returns -1 and does not use v. It has to return vᵀJ, and v is not 1 here.": without_v,
        "Your backward returns an array. It has to return a tuple, with one cotangent for each argument: "
        "`(-v,)`.": no_tuple,
    },
    further=[trial_with_a_number],
)


if __name__ == "__main__":
    teach(__file__)
