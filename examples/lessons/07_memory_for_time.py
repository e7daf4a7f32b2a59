"""You wrote `checkpoint(f, x)`; this is `jax.checkpoint(f)(x)`.

A pullback needs residuals: what the forward pass computed on the way. To keep fewer of them, the inside of f can be
computed again when v arrives. The gradient is the same; what it needs is computed twice, and not kept meanwhile.

It can be measured. A pullback of JAX is a pytree whose leaves are the residuals, so `jax.tree.leaves(pullback)` lists
what is kept. What a compiled function needs at its peak is in `jax.jit(f).lower(x).compile().memory_analysis()`.
"""

import jax
import jax.numpy as jnp

import jaxvjp as torch
from jaxvjp.tools.course import Exercise, Prediction, teach

X = [0.1, 0.2, 0.3]


def imperative():
    x = torch.tensor(X, requires_grad=True)
    y = torch.utils.checkpoint.checkpoint(lambda x: (x.sin() * x).exp(), x, use_reentrant=False)
    y.backward(torch.tensor([1.0, 2.0, 3.0]))
    return {"x": x.grad}


def functional():
    _, pullback = jax.vjp(jax.checkpoint(lambda x: jnp.exp(jnp.sin(x) * x)), jnp.array(X))
    (x_grad,) = pullback(jnp.array([1.0, 2.0, 3.0]))
    return {"x": x_grad}


def numbers_that_are_kept():
    def layers(x):
        for _ in range(100):
            x = jnp.sin(x)
        return x

    _, pullback = jax.vjp(layers, jnp.ones(1000))
    _, of_checkpoint = jax.vjp(jax.checkpoint(layers), jnp.ones(1000))
    return [sum(each.size for each in jax.tree.leaves(kept)) for kept in (pullback, of_checkpoint)]


PREDICTION = Prediction(
    question="The residuals of a pullback are its leaves, as a tree. x has 1000 numbers and passes 100 sines: how many "
    "numbers does the pullback keep, and how many with `jax.checkpoint`?",
    program=numbers_that_are_kept,
    because="Each sine keeps its cosine, 1000 numbers. The checkpoint keeps x alone, and computes all the sines again "
    "when v arrives: then the 100,000 numbers are there after all, for a moment. To save memory also at that moment, "
    "put several checkpoints one after another.",
    mistakes={
        "100000 0": "Something has to be kept to begin again from: x.",
        "100000 100000": "With the checkpoint the cosines are thrown away, and computed again when v arrives.",
        "1000 1000": "Without a checkpoint each of the 100 sines keeps its own cosine.",
        "1000 0": "Each of the 100 sines keeps its own cosine; and a checkpoint keeps x, to begin again from.",
        "200000 1000": "A sine keeps only the cosine of its input, not also the input.",
    },
)


def deep(layer, x):
    """Returns what 16 times `layer` makes of `x`: `layer(layer(... layer(x)))`.

    The layers are four groups of four. The pullback keeps the input of each group, 4 arrays, and computes what is
    inside a group again.
    """

    @jax.checkpoint
    def group(x):
        for _ in range(4):
            x = layer(x)
        return x

    for _ in range(4):
        x = group(x)
    return x


def keeps_all(layer, x):
    for _ in range(16):
        x = layer(x)
    return x


def one_group(layer, x):
    return jax.checkpoint(lambda x: keeps_all(layer, x))(x)


def each_alone(layer, x):
    for _ in range(16):
        x = jax.checkpoint(layer)(x)
    return x


def four_layers(layer, x):
    for _ in range(4):
        x = jax.checkpoint(layer)(x)
    return x


def trial(deep):
    y, pullback = jax.vjp(lambda x: deep(lambda x: jnp.exp(-jnp.sin(x)), x), jnp.array(X))
    kept = [each for each in jax.tree.leaves(pullback) if jnp.issubdtype(each.dtype, jnp.floating)]
    return {
        "how many times the numbers of x the pullback keeps": sum(each.size for each in kept) / y.size,
        "16 layers of [0.1, 0.2, 0.3]": y,
        "the gradient of their sum": pullback(jnp.ones_like(y))[0],
    }


EXERCISE = Exercise(
    solution=deep,
    trial=trial,
    hint="Write a function that applies four layers, and put `jax.checkpoint` around that.",
    mistakes={
        "Nothing is checkpointed: the pullback keeps what each layer computed.": keeps_all,
        "One checkpoint around all 16 layers keeps x alone, but backward then needs what all 16 computed at once. Make "
        "four groups.": one_group,
        "Each layer is checkpointed by itself, so the inputs of all 16 are kept. Put four layers into one "
        "checkpoint.": each_alone,
        "There are four layers in all; there have to be four in each of the four groups.": four_layers,
    },
)


if __name__ == "__main__":
    teach(__file__)
