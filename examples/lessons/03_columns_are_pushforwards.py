"""You wrote `func.jvp`; this is `jax.jvp`.

A pullback goes from y to x and gives vᵀJ, a weighted sum of J's rows. A pushforward goes the way of the computation and
gives Ju, a weighted sum of its columns: how y moves when x moves along u. The whole of J takes one pullback for each
element of y (`jax.jacrev`), or one pushforward for each element of x (`jax.jacfwd`): take the one that needs fewer.
"""

import jax
import jax.numpy as jnp

import jaxvjp as torch
from jaxvjp.tools.course import Exercise, Prediction, teach

X, U = 0.5, 2.0


def imperative():
    def curve(x):
        return torch.stack([x.sin(), x.cos(), x**2])

    _, tangent = torch.func.jvp(curve, (torch.tensor(X),), (torch.tensor(U),))
    return {"Ju": tangent}


def functional():
    def curve(x):
        return jnp.stack([jnp.sin(x), jnp.cos(x), x**2])

    _, tangent = jax.jvp(curve, (jnp.array(X),), (jnp.array(U),))
    return {"Ju": tangent}


def sizes_of_a_pushforward():
    x, u = jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 0.0, 0.0])
    y, tangent = jax.jvp(lambda x: jnp.outer(x, x), (x,), (u,))
    return [u.size, tangent.size]


PREDICTION = Prediction(
    question="x has 3 elements, and y, its outer product with itself, has 9. How many numbers does the tangent have "
    "that goes into `jax.jvp`, and how many the one that comes out?",
    program=sizes_of_a_pushforward,
    because="u says how x moves, so it is like x; Ju says how y moves in turn, so it is like y. A pullback goes the "
    "other way: v is like y, and vᵀJ like x.",
    mistakes={
        "9 3": "That is a pullback, `jax.vjp`. A pushforward goes with the computation, from x to y.",
        "3 3": "u is like x, but what comes out tells how y moves: it is like y.",
        "9 9": "u is a direction in which x moves: it is like x.",
    },
)


def second_along(f, x, u):
    """Returns the second derivative of `f` at `x` along `u`: uᵀHu, where `f` gives one number and H is its Hessian."""

    def slope(x):
        return jax.jvp(f, (x,), (u,))[1]

    return jax.jvp(slope, (x,), (u,))[1]


def first_along(f, x, u):
    return jax.jvp(f, (x,), (u,))[1]


def not_multiplied_by_u(f, x, u):
    return jax.jvp(jax.grad(f), (x,), (u,))[1]


def diagonal_alone(f, x, u):
    return jnp.sum(u * jnp.diag(jax.hessian(f)(x)) * u)


def trial(second_along):
    x, u = jnp.array([1.0, 2.0]), jnp.array([1.0, 3.0])
    return {"f(x) = x₀²x₁ at x = [1, 2], along u = [1, 3]": second_along(lambda x: x[0] ** 2 * x[1], x, u)}


def trial_of_a_curve(second_along):
    x, u = jnp.array([0.5, 1.0, 2.0]), jnp.array([1.0, -2.0, 0.5])
    curve = second_along(lambda x: jnp.sin(x[0] * x[1]) * x[2], x, u)
    return {"f(x) = sin(x₀x₁) x₂ at x = [0.5, 1, 2], along u = [1, -2, 0.5]": curve}


EXERCISE = Exercise(
    solution=second_along,
    trial=trial,
    hint="The slope of f along u is a function of x, to which `jax.jvp` can be applied again.",
    mistakes={
        "That is the first derivative along u. It is a function of x; differentiate it along u once more.": first_along,
        "You returned Hu, a vector: how the gradient changes along u. How the slope along u changes is uᵀHu, one "
        "number.": not_multiplied_by_u,
        "You took the diagonal of H alone. x₀ and x₁ also act together: the entries beside the diagonal "
        "count.": diagonal_alone,
    },
    further=[trial_of_a_curve],
)


if __name__ == "__main__":
    teach(__file__)
