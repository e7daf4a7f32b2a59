"""You wrote `detach()` and `no_grad()`; this is `jax.lax.stop_gradient`.

Both say that a value is to count as a constant, as if it had been written down as a number: no gradient passes back
through it to what it was computed from. Here the scale and the square count as constants, though both are computed from
x; only the factor x in `scale * x` is differentiated.
"""

import jax
import jax.numpy as jnp

import jaxvjp as torch
from jaxvjp.tools.course import Exercise, Prediction, teach

X = [1.0, 2.0, 3.0]


def imperative():
    x = torch.tensor(X, requires_grad=True)
    with torch.no_grad():
        scale = x.sum()
    y = (scale * x + x.detach() ** 2).sum()
    y.backward()
    return {"x": x.grad}


def functional():
    def f(x):
        scale = jax.lax.stop_gradient(jnp.sum(x))
        return jnp.sum(scale * x + jax.lax.stop_gradient(x) ** 2)

    return {"x": jax.grad(f)(jnp.array(X))}


def derivatives_beside_a_cut():
    def f(x):
        return x * jax.lax.stop_gradient(x)

    return [jax.grad(f)(3.0), jax.grad(jax.grad(f))(3.0)]


PREDICTION = Prediction(
    question="f(x) is x times x, and the second x is cut off. What are its first and its second derivative at 3?",
    program=derivatives_beside_a_cut,
    because="The first derivative is the factor that is cut off: it has the value 3, and still counts as a constant. "
    "The derivative of a constant is 0. A cut lasts for derivatives of every order.",
    mistakes={
        "6 2": "Those are the derivatives of x². The second x counts as the number 3, so f is 3x.",
        "3 1": "The first is right. But it is still the x that was cut off: a constant, whose derivative is 0.",
        "0 0": "Only one factor is cut off; the gradient passes through the other one.",
        "3 2": "The first derivative is the cut x, a constant. Its derivative is 0.",
    },
)


def rounded(x):
    """Returns `x` rounded to whole numbers. Its derivative is that of `x` itself, as if nothing had been rounded."""
    return x + jax.lax.stop_gradient(jnp.round(x) - x)


def rounded_alone(x):
    return jnp.round(x)


def not_rounded(x):
    return x


def added(x):
    return x + jax.lax.stop_gradient(jnp.round(x))


def trial(rounded):
    x = jnp.array([0.4, 1.6])
    return {
        "rounded([0.4, 1.6])": rounded(x),
        "the gradient of rounded(x)² at [0.4, 1.6], added up": jax.grad(lambda x: jnp.sum(rounded(x) ** 2))(x),
    }


def trial_below_zero(rounded):
    return {"rounded([-0.4, -2.7])": rounded(jnp.array([-0.4, -2.7]))}


EXERCISE = Exercise(
    solution=rounded,
    trial=trial,
    hint="Add to x something that has the right value, and that no gradient passes.",
    mistakes={
        "The values are right, but the gradient is 0: rounding is flat wherever it has a derivative. Let the gradient "
        "pass beside it.": rounded_alone,
        "The gradient is that of x, and so is the value: nothing is rounded.": not_rounded,
        "The value is x plus the rounded x. What is added to x has to be the difference between the two.": added,
    },
    further=[trial_below_zero],
)


if __name__ == "__main__":
    teach(__file__)
