"""You wrote `optimizer.step()`; this is a function from parameters and state to new ones, both pytrees.

SGD with momentum keeps a velocity for each parameter. torch's optimizer keeps it inside, and writes into the
parameters. Here the velocities are a value beside the parameters, a tree of the same form; a step takes both and
returns both. A pytree is any nesting of dicts, lists, tuples and None with arrays as its leaves. `jax.grad`, `jax.jit`
and `jax.vmap` take pytrees wherever they take arrays, and `jax.tree.map` applies a function to all leaves.

optax is JAX's library of optimizers (`pip install optax`). What is written out below is its `optax.sgd`. The other
optimizers are called in the same way:

    optimizer = optax.sgd(0.1, momentum=0.9)
    state = optimizer.init(params)
    for _ in range(10):
        updates, state = optimizer.update(jax.grad(loss)(params), state, params)
        params = optax.apply_updates(params, updates)
"""

import jax
import jax.numpy as jnp

import jaxvjp as torch
from jaxvjp.tools.course import Exercise, Prediction, teach

XS, YS = [[1.0, 2.0], [3.0, -1.0], [0.5, 0.5]], [1.0, 2.0, -1.0]


def imperative():
    params = {"b": torch.tensor(0.0, requires_grad=True), "w": torch.tensor([0.5, -0.5], requires_grad=True)}
    xs, ys = torch.tensor(XS), torch.tensor(YS)
    optimizer = torch.optim.SGD(params.values(), lr=0.1, momentum=0.9)
    for _ in range(10):
        optimizer.zero_grad()
        loss = ((xs @ params["w"] + params["b"] - ys) ** 2).mean()
        loss.backward()
        optimizer.step()
    return {name: each.detach() for name, each in params.items()}


def functional():
    xs, ys = jnp.array(XS), jnp.array(YS)

    def loss(params):
        return jnp.mean((xs @ params["w"] + params["b"] - ys) ** 2)

    @jax.jit
    def step(params, velocity):
        gradients = jax.grad(loss)(params)
        velocity = jax.tree.map(lambda v, gradient: 0.9 * v + gradient, velocity, gradients)
        return jax.tree.map(lambda each, v: each - 0.1 * v, params, velocity), velocity

    params = {"b": jnp.array(0.0), "w": jnp.array([0.5, -0.5])}
    velocity = jax.tree.map(jnp.zeros_like, params)
    for _ in range(10):
        params, velocity = step(params, velocity)
    return params


def leaves_of_a_tree():
    model = {"weight": jnp.ones((2, 3)), "bias": None, "layers": [jnp.ones(4), (1.0, 2.0)]}
    return len(jax.tree.leaves(model))


PREDICTION = Prediction(
    question="How many leaves does the tree `model` have?",
    program=leaves_of_a_tree,
    because="The leaves are the two arrays and the two Python numbers: an array is one leaf, however many elements it "
    "has, and a number counts like an array. None is no leaf but a tree without leaves, so `jax.tree.map` leaves it "
    "out.",
    mistakes={
        "5": "None is no leaf: it is a tree without leaves.",
        "12": "An array is one leaf, however many elements it has.",
        "3": "The entries of the dict are not the leaves: lists and tuples in it are gone into.",
        "2": "Python's numbers are leaves, too: everything that is not a dict, list, tuple or None is one.",
    },
)


def momentum_step(params, velocity, gradients, rate, momentum):
    """Returns the parameters and the velocity after a step, as a pair; each is a tree of the form of `params`.

    The new velocity is `momentum` times the old one, plus the gradient. From the parameters `rate` times the new
    velocity is subtracted.
    """
    velocity = jax.tree.map(lambda v, gradient: momentum * v + gradient, velocity, gradients)
    return jax.tree.map(lambda each, v: each - rate * v, params, velocity), velocity


def old_velocity(params, velocity, gradients, rate, momentum):
    after = jax.tree.map(lambda each, v: each - rate * v, params, velocity)
    return after, jax.tree.map(lambda v, gradient: momentum * v + gradient, velocity, gradients)


def params_alone(params, velocity, gradients, rate, momentum):
    return momentum_step(params, velocity, gradients, rate, momentum)[0]


def pairs(params, velocity, gradients, rate, momentum):
    after = momentum_step(params, velocity, gradients, rate, momentum)
    return jax.tree.map(lambda p, v: (p, v), *after)


def velocity_as_it_was(params, velocity, gradients, rate, momentum):
    return momentum_step(params, velocity, gradients, rate, momentum)[0], velocity


def in_place(params, velocity, gradients, rate, momentum):
    for name in params:
        velocity[name] = momentum * velocity[name] + gradients[name]
        params[name] = params[name] - rate * velocity[name]
    return params, velocity


def flat(params, velocity, gradients, rate, momentum):
    velocity = {name: momentum * velocity[name] + gradients[name] for name in params}
    return {name: params[name] - rate * velocity[name] for name in params}, velocity


def trial(momentum_step):
    params, velocity, gradients = (
        {"b": jnp.array(b), "w": jnp.array(w)} for b, w in ((0.5, [1.0, 2.0]), (1.0, [0.0, -1.0]), (0.2, [10.0, 20.0]))
    )
    after = momentum_step(params, velocity, gradients, 0.1, 0.9)
    return {
        "the params that were passed, afterwards": params,
        "the velocity that was passed, afterwards": velocity,
        "the new params and the new velocity": after if isinstance(after, dict) else tuple(after),
    }


def trial_with_a_tree(momentum_step):
    trees = [{"layers": [{"w": jnp.array([1.0, each])}, (jnp.array(3.0),)], "b": each} for each in (0.5, 2.0, -1.0)]
    return {"a dict with a list, a dict and a tuple in it": tuple(momentum_step(*trees, 0.25, 0.5))}


EXERCISE = Exercise(
    solution=momentum_step,
    trial=trial,
    hint="Call `jax.tree.map` twice: over velocity and gradients, and then over params and the new velocity.",
    mistakes={
        "You returned one tree with a pair at each leaf. Return a pair of trees: the params, and the velocity.": pairs,
        "The parameters moved by the old velocity. Compute the new one first.": old_velocity,
        "You returned the parameters alone. The velocity is state: who calls has to get it back for the next "
        "step.": params_alone,
        "You returned the velocity as it was passed; return the new one, or momentum never builds "
        "up.": velocity_as_it_was,
        "The dicts that were passed have changed: `params[name] = ...` writes into the caller's dict. Return new "
        "trees, by `jax.tree.map`.": in_place,
        "That works for a dict of arrays alone. `params` is a tree, in whose entries there may be dicts, lists and "
        "tuples again: `jax.tree.map` goes into all of them.": flat,
    },
    further=[trial_with_a_tree],
)


if __name__ == "__main__":
    teach(__file__)
