"""You wrote `y.backward(v)`; this is `jax.vjp`.

J, the Jacobian, has a row for each element of y and a column for each element of x. The `gradient` argument v has y's
shape, and says how much each row counts. `jax.vjp` returns y and a function of v, the pullback, which gives vᵀJ;
`backward` calls it and adds the result to `.grad`. A pullback is a value: it may be called again, which is what
`retain_graph=True` asks for.
"""

import jax
import jax.numpy as jnp

import jaxvjp as torch
from jaxvjp.tools.course import Exercise, Prediction, teach

X, V = [1.0, 2.0], [1.0, 10.0]


def imperative():
    x = torch.tensor(X, requires_grad=True)
    y = 3 * x**2
    y.backward(torch.tensor(V))
    return {"x": x.grad}


def functional():
    y, pullback = jax.vjp(lambda x: 3 * x**2, jnp.array(X))
    (x_grad,) = pullback(jnp.array(V, y.dtype))
    return {"x": x_grad}


def called_twice():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = 3 * x**2
    y.backward(torch.tensor([1.0, 10.0]), retain_graph=True)
    y.backward(torch.tensor([1.0, 0.0]))
    return x.grad


PREDICTION = Prediction(
    question="y is 3x², so J is diagonal here: 6x, which is 6 and 12. What does `called_twice` return?",
    program=called_twice,
    because="The first backward gives [6, 120] and the second [6, 0]; `.grad` holds their sum. In JAX each call of the "
    "pullback returns its own result, and nothing is added unless you write a `+`.",
    mistakes={
        "6 0": "A second backward does not replace what is in `.grad`; it adds to it.",
        "6 120": "That is what the first backward leaves; the second one adds [6, 0] to it.",
        "12 24": "That is J added up twice, with ones for v. v weights the rows: [1, 10], and then [1, 0].",
        "12 240": "That is twice the first backward. The second one had another v, [1, 0].",
    },
)


def weighted_rows(f, x, v):
    """Returns vᵀJ, where J is the Jacobian of `f` at `x`, and v has the shape of `f(x)`. It has the shape of `x`."""
    _, pullback = jax.vjp(f, x)
    (result,) = pullback(v)
    return result


def weighted_columns(f, x, v):
    return jax.jvp(f, (x,), (v,))[1]


def all_rows(f, x, v):
    return jax.grad(lambda x: jnp.sum(f(x)))(x)


def in_a_tuple(f, x, v):
    return jax.vjp(f, x)[1](v)


def trial(weighted_rows):
    def f(x):
        return jnp.stack([x[0] * x[1], x[1] ** 2])

    return {"f(x) = [x₀x₁, x₁²] at x = [1, 2], with v = [1, 10]": weighted_rows(f, jnp.array(X), jnp.array(V))}


EXERCISE = Exercise(
    solution=weighted_rows,
    trial=trial,
    hint="`jax.vjp` returns a pair, of which the second is the function that you need.",
    mistakes={
        "You returned Jv, the weighted sum of the columns, which is `jax.jvp`. The question asks for vᵀJ, the weighted "
        "sum of the rows.": weighted_columns,
        "v has no effect: you returned the sum of all rows, which is the gradient of `f(x).sum()`.": all_rows,
        "You returned a tuple. A pullback gives one, with a cotangent for each argument of f; take the first of "
        "it.": in_a_tuple,
    },
)


if __name__ == "__main__":
    teach(__file__)
