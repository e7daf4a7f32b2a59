"""You wrote into a tensor, and through a view of it; this is `y.at[i].set(v)`, which returns a new array.

In torch `row = y[0]` is a view: both names mean one memory, and a write through one shows in the other. An array of JAX
never changes, so nobody can tell a view from a copy. `y.at[0].add(10)` is a new array, and `y = y.at[0].add(10)` gives
it the old name. Under `jax.jit` XLA writes in place where nobody needs the old array, so this is not slow.

An index beyond the end raises no error in JAX, as a compiled program cannot raise one: a write there is left out, and a
read gives the last element.
"""

import jax
import jax.numpy as jnp

import jaxvjp as torch
from jaxvjp.tools.course import Exercise, Prediction, teach

X = [[1.0, 2.0], [3.0, 4.0]]


def imperative():
    x = torch.tensor(X, requires_grad=True)
    y = x * 2
    row = y[0]
    row += 10.0
    y[1, 0] = 0.0
    (y**2).sum().backward()
    return {"y": y.detach(), "x": x.grad}


def functional():
    def f(x):
        y = x * 2
        y = y.at[0].add(10.0)
        y = y.at[1, 0].set(0.0)
        return jnp.sum(y**2), y

    x_grad, y = jax.grad(f, has_aux=True)(jnp.array(X))
    return {"y": y, "x": x_grad}


def two_names():
    y = jnp.array([1.0, 2.0, 3.0])
    row = y
    y.at[0].set(5.0)
    row = row.at[1].add(10.0)
    return y


PREDICTION = Prediction(
    question="`row` is `y`, and then there are two writes. What does `two_names` return?",
    program=two_names,
    because="Nothing can change the array that y names. The first line with `.at` makes a new array that nobody takes, "
    "which is an easy slip and gives no warning; the second one gives a new array to the name row alone.",
    mistakes={
        "5 12 3": "So it is in torch. Here each `.at` returns a new array, and y still names the first one.",
        "5 2 3": "`y.at[0].set(5.0)` does not write into y. It returns a new array; write `y = y.at[0].set(5.0)`.",
        "1 12 3": "row was a second name of y's array. After `row = row.at[1].add(10.0)` it names another one.",
    },
)


def counted(indices, size):
    """Returns `size` whole numbers: how often 0, 1, 2 ... occur in `indices`, an array of whole numbers.

    `jnp.bincount` does this. Write it yourself, with `.at` and without a loop.
    """
    return jnp.zeros(size, int).at[indices].add(1)


def once_each(indices, size):
    counts = jnp.zeros(size, int)
    return counts.at[indices].set(counts[indices] + 1)


def not_taken(indices, size):
    counts = jnp.zeros(size, int)
    counts.at[indices].add(1)
    return counts


def assigned(indices, size):
    counts = jnp.zeros(size, int)
    counts[indices] += 1
    return counts


def floats(indices, size):
    return jnp.zeros(size).at[indices].add(1)


def trial(counted):
    return {"counted([0, 2, 2, 2], 4)": counted(jnp.array([0, 2, 2, 2]), 4)}


def trial_of_what_they_are(counted):
    counts = counted(jnp.ones(300, int), 2)
    return {"300 times a 1": counts, "these are whole numbers": jnp.issubdtype(counts.dtype, jnp.integer)}


EXERCISE = Exercise(
    solution=counted,
    trial=trial,
    hint="Begin with zeros; `counts.at[indices].add(1)` adds for each index, also for one that comes again.",
    mistakes={
        "An index that occurs more than once was counted once: `.set` writes what was read before all writes. `.add` "
        "adds as often as the index occurs.": once_each,
        "All counts are 0: `.at[...]` returned a new array, and nobody took it.": not_taken,
        "An array of JAX cannot be assigned to: write `counts = counts.at[indices].add(1)`. In torch `counts[indices] "
        "+= 1` runs, and counts an index that occurs more than once only once.": assigned,
        "The numbers are right, but not whole ones: `jnp.zeros(size)` has floats, and `jnp.zeros(size, int)` whole "
        "numbers.": floats,
    },
    further=[trial_of_what_they_are],
)


if __name__ == "__main__":
    teach(__file__)
