"""You wrote parameters that change in place; this is a pytree that a step maps to the next.

`backward` leaves a gradient in each parameter, and the update writes into the parameter. As a function, a training step
takes the parameters (any tree of dicts, lists and arrays) and returns new ones: `jax.grad` of the loss is a tree of the
same form, and `jax.tree.map` goes through both at once. `loss.backward()` needs no v, and `jax.grad` takes none: the
loss is one number, so v is 1.
"""

import jax
import jax.numpy as jnp

import jaxvjp as torch
from jaxvjp.tools.course import Exercise, Prediction, teach

XS, YS = [[1.0, 2.0], [3.0, -1.0], [0.5, 0.5]], [1.0, 2.0, -1.0]


def imperative():
    params = {"b": torch.tensor(0.0, requires_grad=True), "w": torch.tensor([0.5, -0.5], requires_grad=True)}
    xs, ys = torch.tensor(XS), torch.tensor(YS)
    for _ in range(10):
        loss = ((xs @ params["w"] + params["b"] - ys) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            for each in params.values():
                each -= 0.1 * each.grad
                each.grad = None
    return {name: each.detach() for name, each in params.items()}


def functional():
    xs, ys = jnp.array(XS), jnp.array(YS)

    def loss(params):
        return jnp.mean((xs @ params["w"] + params["b"] - ys) ** 2)

    @jax.jit
    def step(params):
        return jax.tree.map(lambda each, gradient: each - 0.1 * gradient, params, jax.grad(loss)(params))

    params = {"b": jnp.array(0.0), "w": jnp.array([0.5, -0.5])}
    for _ in range(10):
        params = step(params)
    return params


def a_step_that_is_called_three_times():
    @jax.jit
    def step(w):
        return w - 0.1 * jax.grad(lambda w: w**2)(w)

    w = jnp.array(1.0)
    for _ in range(3):
        step(w)
    return w


PREDICTION = Prediction(
    question="A step multiplies w by 0.8. What does `a_step_that_is_called_three_times` return?",
    program=a_step_that_is_called_three_times,
    because="A step changes nothing; it returns a new w, and here nobody takes it. Write `w = step(w)`. There is no "
    "warning, as in torch there is none for a `w - 0.1 * w.grad` that is not assigned.",
    mistakes={
        "0.512": "So it would be with `w = step(w)`. `step(w)` alone changes nothing, and its result is thrown away.",
        "0.8": "Not even the first step has changed w: its result is thrown away.",
    },
)


def trained(loss, params, rate, steps):
    """Returns the parameters after as many steps of gradient descent on `loss(params)` as `steps` says.

    `params` is a pytree, such as a dict of arrays. In each step the gradient times `rate` is subtracted.
    """
    for _ in range(steps):
        params = jax.tree.map(lambda each, gradient: each - rate * gradient, params, jax.grad(loss)(params))
    return params


def uphill(loss, params, rate, steps):
    return trained(loss, params, -rate, steps)


def one_gradient(loss, params, rate, steps):
    gradients = jax.grad(loss)(params)
    for _ in range(steps):
        params = jax.tree.map(lambda each, gradient: each - rate * gradient, params, gradients)
    return params


def not_taken(loss, params, rate, steps):
    return trained(loss, params, rate, 1)


def as_one_array(loss, params, rate, steps):
    for _ in range(steps):
        params = params - rate * jax.grad(loss)(params)
    return params


def in_place(loss, params, rate, steps):
    for _ in range(steps):
        for name, gradient in jax.grad(loss)(params).items():
            params[name] -= rate * gradient
    return params


def flat(loss, params, rate, steps):
    for _ in range(steps):
        gradients = jax.grad(loss)(params)
        params = {name: params[name] - rate * gradients[name] for name in params}
    return params


def trial(trained):
    params = {"b": jnp.array(0.0), "w": jnp.array([0.5, -0.5])}
    xs, ys = jnp.array(XS), jnp.array(YS)
    after = trained(lambda params: jnp.mean((xs @ params["w"] + params["b"] - ys) ** 2), params, 0.1, 3)
    return {"the params that were passed, afterwards": params, "the loss of the lesson, after 3 steps": after}


def trial_with_a_tree(trained):
    params = {"layers": [{"w": jnp.array([1.0, 2.0])}, (jnp.array(3.0),)], "b": jnp.array(0.5)}
    after = trained(lambda params: sum(jnp.sum(each**2) for each in jax.tree.leaves(params)), params, 0.25, 2)
    return {"a dict with a list, a dict and a tuple in it, after 2 steps": after}


EXERCISE = Exercise(
    solution=trained,
    trial=trial,
    hint="`jax.grad(loss)(params)` has the form of params; `jax.tree.map` goes through both.",
    mistakes={
        "The loss grows: subtract the gradient.": uphill,
        "You took the gradient once, before the loop. It changes with the parameters: take it in each "
        "step.": one_gradient,
        "Each step begins at the first parameters: give the result of a step to the next one.": not_taken,
        "A dict of arrays cannot be subtracted as a whole. `jax.tree.map` applies a function to each of its "
        "leaves.": as_one_array,
        "The dict that was passed has changed: `params[name] -= ...` writes into the caller's dict. Make a new one, "
        "with `jax.tree.map`.": in_place,
        "That works for a dict of arrays alone. `params` is a pytree, in whose entries there may be dicts, lists and "
        "tuples again: `jax.tree.map` goes into all of them.": flat,
    },
    further=[trial_with_a_tree],
)


if __name__ == "__main__":
    teach(__file__)
