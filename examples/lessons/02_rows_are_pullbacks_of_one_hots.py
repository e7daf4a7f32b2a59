"""You wrote one backward per row; this is `jax.jacrev`.

A v with a single 1 picks a row of the Jacobian. All such v's together are the rows of an identity matrix, and
`jax.vmap(pullback)` applies the pullback to all of them at once. That is how `jax.jacrev` gets the whole of J.
"""

import jax
import jax.numpy as jnp

import jaxvjp as torch
from jaxvjp.tools.course import Exercise, Prediction, teach

X = [1.0, 2.0, 3.0]


def imperative():
    x = torch.tensor(X, requires_grad=True)
    y = x**2 + x.sum()
    rows = []
    for row in range(3):
        v = torch.zeros(3)
        v[row] = 1.0
        y.backward(v, retain_graph=True)
        rows.append(x.grad.clone())
        x.grad = None
    return {"J": torch.stack(rows)}


def functional():
    return {"J": jax.jacrev(lambda x: x**2 + jnp.sum(x))(jnp.array(X))}


def shape_of_a_jacobian():
    x = jnp.ones((2, 3))
    return jax.jacrev(lambda x: x.sum(axis=0))(x).shape


PREDICTION = Prediction(
    question="x has the shape (2, 3), and the sum over its rows has the shape (3,). What is the shape of J?",
    program=shape_of_a_jacobian,
    because="The dimensions of y come first and those of x after them: one entry for each pair of an element of y and "
    "an element of x. Nothing is flattened.",
    mistakes={
        "2 3 3": "You put the dimensions of x first. Each row of J belongs to an element of y: y's dimensions come "
        "first.",
        "2 3": "That is the shape of one row, which one pullback gives. There is a row for each of y's three elements.",
        "3 3": "x has two dimensions, and J keeps both.",
    },
)


def jacobian(f, x):
    """Returns the Jacobian of `f` at `x`, with a row for each element of `f(x)`; both are vectors.

    `jax.jacrev` is this function. Write it yourself, with `jax.vjp` and `jax.vmap`, to see what it does.
    """
    y, pullback = jax.vjp(f, x)
    (rows,) = jax.vmap(pullback)(jnp.eye(y.size))
    return rows


def sum_of_rows(f, x):
    y, pullback = jax.vjp(f, x)
    return pullback(jnp.ones_like(y))[0]


def transposed(f, x):
    return jacobian(f, x).T


def one_hots_of_x(f, x):
    return jax.vmap(jax.vjp(f, x)[1])(jnp.eye(x.size))[0]


def in_a_tuple(f, x):
    y, pullback = jax.vjp(f, x)
    return jax.vmap(pullback)(jnp.eye(y.size))


def trial(jacobian):
    def f(x):
        return jnp.stack([x[0] * x[1], x[2] ** 2])

    return {"f(x) = [x₀x₁, x₂²] at x = [1, 2, 3]": jacobian(f, jnp.array(X))}


def trial_with_more_rows(jacobian):
    def f(x):
        return jnp.stack([x[0], x[1] ** 2, x[0] * x[1]])

    return {"f(x) = [x₀, x₁², x₀x₁] at x = [1, 2]": jacobian(f, jnp.array([1.0, 2.0]))}


EXERCISE = Exercise(
    solution=jacobian,
    trial=trial,
    hint="`jnp.eye(n)` has all one-hot vectors of n elements as its rows. How many elements has a v?",
    mistakes={
        "That is the sum of the rows: a v of ones. Each row needs a v of its own, with a single 1.": sum_of_rows,
        "Rows and columns are exchanged: there has to be a row for each element of y.": transposed,
        "The one-hot vectors have as many elements as x. They are v's, and a v has as many elements as "
        "y.": one_hots_of_x,
        "You returned a tuple: a pullback gives one, also under `vmap`. Take the first of it.": in_a_tuple,
    },
    further=[trial_with_more_rows],
)


if __name__ == "__main__":
    teach(__file__)
