"""You wrote a function that reads what changes around it; this is one that takes it as an argument, under `jax.jit`.

`jax.jit` runs your Python once for each set of shapes and dtypes of the arguments, and records which operations of JAX
it calls. Later calls run that record, compiled, and no Python. So whatever else the function reads (a global, a
variable around it, an attribute of `self`) was read in that one run and is a constant from then on: what changes has
to be an argument. And whatever else it does (`print`, `append`, a write to `self`) happened in that one run: what is
to come out has to be returned. A function that keeps to this is called pure.
"""

import jax
import jax.numpy as jnp

import jaxvjp as torch
from jaxvjp.tools.course import Exercise, Prediction, teach

X = [1.0, 2.0, 3.0]


def imperative():
    x = torch.tensor(X, requires_grad=True)
    scale = torch.tensor(1.0)

    def loss():
        return (scale * x**2).sum()

    gradients = []
    for number in (1.0, 10.0):
        scale.fill_(number)
        loss().backward()
        gradients.append(x.grad)
        x.grad = None
    return {"with scale 1": gradients[0], "with scale 10": gradients[1]}


def functional():
    @jax.jit
    def gradient(x, scale):
        return jax.grad(lambda x: jnp.sum(scale * x**2))(x)

    x = jnp.array(X)
    return {"with scale 1": gradient(x, 1.0), "with scale 10": gradient(x, 10.0)}


def three_calls():
    scale = 1.0

    @jax.jit
    def scaled(x):
        return scale * x

    first = scaled(jnp.array(3.0))
    scale = 10.0
    return [first, scaled(jnp.array(3.0)), scaled(jnp.array([3.0]))[0]]


PREDICTION = Prediction(
    question="After the first call scale becomes 10. Which three numbers does `three_calls` return?",
    program=three_calls,
    because="The second call has an argument of the same shape: the record of the first one runs, in which scale is 1. "
    "The third call has another shape, so Python runs again, and reads 10. Such an error shows late, and only "
    "sometimes; with `scale` as an argument it cannot happen.",
    mistakes={
        "3 30 30": "So it is without `jit`. The second call does not run your Python: it runs what the first one "
        "recorded.",
        "3 3 3": "The third call has another shape, (1,): Python runs once more for it, and reads the scale of now.",
    },
)


def trained(loss, w, batches, rate):
    """Returns `w` after a step of gradient descent on `loss(w, batch)` for each batch, in their order.

    The step is a function under `jax.jit`; as all batches have one shape, `loss` is traced only once.
    """

    @jax.jit
    def step(w, batch):
        return w - rate * jax.grad(loss)(w, batch)

    for batch in batches:
        w = step(w, batch)
    return w


def closed_over_the_batch(loss, w, batches, rate):
    @jax.jit
    def step(w):
        return w - rate * jax.grad(loss)(w, batch)

    for batch in batches:  # noqa: B007
        w = step(w)
    return w


def a_new_function_each_time(loss, w, batches, rate):
    for batch in batches:
        w = jax.jit(lambda w, batch: w - rate * jax.grad(loss)(w, batch))(w, batch)
    return w


def closed_over_w(loss, w, batches, rate):
    @jax.jit
    def step(batch):
        return w - rate * jax.grad(loss)(w, batch)

    for batch in batches:
        w = step(batch)
    return w


def trial(trained):
    traces = []

    def loss(w, batch):
        traces.append(type(w))
        return jnp.sum((w - batch) ** 2)

    w = trained(loss, jnp.zeros(2), [jnp.array([1.0, 2.0]), jnp.array([3.0, 0.0]), jnp.array([-1.0, 1.0])], 0.1)
    return {"w after three batches": w, "how often Python ran the loss": len(traces)}


def trial_of_another_loss(trained):
    w = trained(lambda w, batch: jnp.sum((w * batch) ** 2), jnp.ones(2), [jnp.array([1.0, 0.5])] * 2, 0.25)
    return {"w after two batches of another loss, with rate = 0.25": w}


EXERCISE = Exercise(
    solution=trained,
    trial=trial,
    hint="Define the step before the loop, and let it take all that differs from one call to the next.",
    mistakes={
        "The later calls used the first batch: the step closed over it when it was traced. Make the batch an argument "
        "of the step.": closed_over_the_batch,
        "The numbers are right, but each batch was traced again: a new function is put under `jit` in each round, or "
        "none is. Define the step once, before the loop.": a_new_function_each_time,
        "Each step began at the first w: the step closed over it when it was traced. Make w an argument of the "
        "step.": closed_over_w,
    },
    further=[trial_of_another_loss],
)


if __name__ == "__main__":
    teach(__file__)
