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


def weighted():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.stack([x[0] + x[1], x[0] * x[1]])
    y.backward(torch.tensor([1.0, 10.0]))
    return x.grad


PREDICTION = Prediction(
    question="y has two elements. y[0] grows with x as fast as [1, 1] says, y[1] as fast as [2, 1]: these are the rows "
    "of J. What does `weighted` return, where v is [1, 10]?",
    program=weighted,
    because="v says how much each row counts: 1 * [1, 1] + 10 * [2, 1]. A second backward would add to it, as `.grad` "
    "holds a sum; in JAX each call of the pullback returns its own result.",
    mistakes={
        "3 2": "That is the plain sum of the rows, for v = [1, 1]. v weights them: the second counts ten times.",
        "1 10": "That is v itself. v is not the gradient: it says how much each row of J counts.",
        "11 12": "That is Jv: you weighted the columns. v has a number for each element of y, so for each row.",
        "1 1": "That is the first row alone, for v = [1, 0]. The second one counts, too, and ten times.",
        "20 10": "That is the second row times 10. The first one counts, too, once.",
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


def trial_with_numbers(weighted_rows):
    result = weighted_rows(lambda x: x**3, jnp.array(2.0), jnp.array(5.0))
    return {"f(x) = x³ at the number x = 2, with v = 5": result}


def trial_with_matrices(weighted_rows):
    x, v = jnp.array([[1.0, 2.0], [3.0, 4.0]]), jnp.array([[1.0, 10.0], [0.0, 2.0]])
    return {"f(x) = x @ x, for a matrix x, with a matrix v": weighted_rows(lambda x: x @ x, x, v)}


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
    further=[trial_with_numbers, trial_with_matrices],
)


if __name__ == "__main__":
    teach(__file__)
