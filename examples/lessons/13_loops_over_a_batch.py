"""You wrote a loop over the elements of a batch; this is `jax.vmap` of a function of one element.

In torch you write a function for a whole batch, with `unsqueeze`, `expand` and the right `dim`, or you loop. In JAX you
write it for one element, and `jax.vmap` turns it into a function of a batch. `in_axes` has an entry for each argument:
the dimension that counts the elements, mostly 0, or None if the argument is the same for all elements. One `vmap`
inside another stands for two loops; what the outer one goes over is the first dimension of the result.
"""

import jax
import jax.numpy as jnp

import jaxvjp as torch
from jaxvjp.tools.course import Exercise, Prediction, teach

XS, YS = [[0.0, 0.0], [3.0, 4.0], [1.0, 1.0]], [[0.0, 1.0], [2.0, 0.0]]


def imperative():
    xs, ys = torch.tensor(XS, requires_grad=True), torch.tensor(YS)
    rows = []
    for x in xs:
        rows.append(torch.stack([((x - y) ** 2).sum() for y in ys]))
    distances = torch.stack(rows)
    distances.sum().backward()
    return {"distances": distances.detach(), "xs": xs.grad}


def functional():
    def distance(x, y):
        return jnp.sum((x - y) ** 2)

    def loss(xs, ys):
        distances = jax.vmap(jax.vmap(distance, in_axes=(None, 0)), in_axes=(0, None))(xs, ys)
        return jnp.sum(distances), distances

    xs_grad, distances = jax.grad(loss, has_aux=True)(jnp.array(XS), jnp.array(YS))
    return {"distances": distances, "xs": xs_grad}


def shape_of_all_pairs():
    def distance(x, y):
        return jnp.sum((x - y) ** 2)

    over_xs = jax.vmap(distance, in_axes=(0, None))
    over_both = jax.vmap(over_xs, in_axes=(None, 0))
    return over_both(jnp.ones((3, 2)), jnp.ones((5, 2))).shape


PREDICTION = Prediction(
    question="There are 3 x's and 5 y's, each of two numbers. Which shape does `over_both` give?",
    program=shape_of_all_pairs,
    because="The outer `vmap` goes over the y's, and what it goes over becomes the first dimension: for each y what "
    "`over_xs` gives, three numbers. The order of the arguments does not matter.",
    mistakes={
        "3 5": "That is the order of the arguments. The first dimension is the one of the outer `vmap`, which goes "
        "over the y's.",
        "3 5 2": "`distance` gives one number for each pair.",
        "5 3 2": "`distance` gives one number for each pair.",
        "3": "Two `vmap`s inside each other are two loops: all pairs. One `vmap` over both goes in step, and needs as "
        "many x's as y's.",
    },
)


def predictions(predict, models, xs):
    """Returns what each model predicts for each x: an array with a row for each model and a column for each x.

    `predict(model, x)` gives one number for one model and one x. `models` is a dict of arrays, all models stacked along
    the first dimension of each; `xs` has an x in each row.
    """
    return jax.vmap(jax.vmap(predict, in_axes=(None, 0)), in_axes=(0, None))(models, xs)


def in_step(predict, models, xs):
    return jax.vmap(predict)(models, xs)


def a_row_for_each_x(predict, models, xs):
    return predictions(predict, models, xs).T


def one_after_another(predict, models, xs):
    return jnp.stack([jnp.stack([predict(model, x) for x in xs]) for model in models])


def trial(predictions):
    models = {"w": jnp.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), "b": jnp.array([0.0, 10.0, 100.0])}
    xs = jnp.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    return {"three models for three x's": predictions(lambda model, x: model["w"] @ x + model["b"], models, xs)}


def trial_of_other_models(predictions):
    models, xs = {"scale": jnp.array([1.0, -2.0])}, jnp.array([[1.0], [2.0], [3.0], [4.0]])
    return {"two other models, with a scale, for four x's": predictions(lambda one, x: one["scale"] * x[0], models, xs)}


EXERCISE = Exercise(
    solution=predictions,
    trial=trial,
    hint="Use two `vmap`s: an inner one over xs for one model, an outer one over the models. `in_axes` of an argument "
    "that is a dict may be 0: it then holds for all arrays in it.",
    mistakes={
        "The first model saw the first x, the second one the second: one `vmap` over both goes in step. All pairs need "
        "two, one inside the other.": in_step,
        "There is a row for each x; there has to be one for each model. The outer `vmap` gives the "
        "rows.": a_row_for_each_x,
        'A loop over a dict gives its keys, "w" and "b". All models are in each array: `vmap` goes over the first '
        "dimension of all of them.": one_after_another,
    },
    further=[trial_of_other_models],
)


if __name__ == "__main__":
    teach(__file__)
