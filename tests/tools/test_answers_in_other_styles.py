"""Answers to exercises that no lesson names: right ones in another style, and wrong ones that do well on one input."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from jaxvjp.tools.course.checking import RIGHT, verdict
from jaxvjp.tools.course.lesson import find, lessons

tree, normal = jax.tree.map, jax.random.normal


@jax.custom_vjp
def rounded(x):
    return jnp.round(x)


rounded.defvjp(lambda x: (jnp.round(x), None), lambda _, v: (v,))


@jax.custom_vjp
def for_squares(x):
    return x


for_squares.defvjp(lambda x: (x, x), lambda x, v: (-2 * x,))


def four_groups_by_scan(layer, x):
    @jax.checkpoint
    def group(x, _):
        return jax.lax.scan(lambda x, _: (layer(x), None), x, length=4)

    return jax.lax.scan(group, x, length=4)[0]


def two_groups(layer, x):
    @jax.checkpoint
    def group(x):
        return jax.lax.scan(lambda x, _: (layer(x), None), x, length=8)[0]

    return group(group(x))


def per_layer_by_scan(layer, x):
    return jax.lax.scan(jax.checkpoint(lambda x, _: (layer(x), None)), x, length=16)[0]


def descended(loss, params, rate, steps):
    def body(_, params):
        return tree(jnp.subtract, params, tree(lambda each: rate * each, jax.grad(loss)(params)))

    return jax.lax.fori_loop(0, steps, body, params)


def scanned(loss, w, batches, rate):
    return jax.lax.scan(lambda w, batch: (w - rate * jax.grad(loss)(w, batch), None), w, jnp.stack(batches))[0]


def at_a_fixed_rate(loss, w, batches, rate):
    return scanned(loss, w, batches, 0.1)


def clipped(loss, w, xs, limit):
    rows = jax.vmap(jax.grad(loss), (None, 0))(w, xs)
    return jnp.mean(rows / jnp.maximum(1, jnp.linalg.norm(rows, axis=1) / limit)[:, None], 0)


def divided_by_zero(loss, w, xs, limit):
    rows = jax.vmap(jax.grad(loss), (None, 0))(w, xs)
    norms = jnp.linalg.norm(rows, axis=1, keepdims=True)
    return jnp.mean(rows / norms * jnp.minimum(norms, limit), 0)


def sums(compared):
    def body(total, x):
        total = jnp.where(compared(total), 0, total) + x
        return total, total

    return lambda xs, limit: jax.lax.scan(lambda total, x: body(total, x), jnp.zeros((), xs.dtype), xs)[1]


def sums_with_a_limit(xs, limit):
    return sums(lambda total: total > limit)(xs, limit)


def sums_from_the_limit(xs, limit):
    return sums(lambda total: total >= limit)(xs, limit)


def momentum(params, velocity, gradients, rate, momentum):
    moved = tree(lambda v, gradient: momentum * v + gradient, velocity, gradients)
    return [tree(lambda each, v: each - rate * v, params, moved), moved]


def at_fixed_rates(params, velocity, gradients, rate, decay):
    return momentum(params, velocity, gradients, 0.1, 0.9)


def descended_flat(loss, params, rate, steps):
    for _ in range(steps):
        slopes = jax.grad(loss)(params)
        params = {name: each - rate * slopes[name] for name, each in params.items()}
    return params


def by_names(predict, models, xs):
    return jax.vmap(lambda w, b: jax.vmap(lambda x: predict({"w": w, "b": b}, x))(xs))(models["w"], models["b"])


ANSWERS = {
    1: [(lambda f, x, v: jax.grad(lambda x: jnp.sum(v * f(x)))(x), lambda f, x, v: jnp.dot(v, jax.jacfwd(f)(x)))],
    2: [
        (lambda f, x: jax.jacfwd(f)(x), lambda f, x: jax.vmap(jax.vjp(f, x)[1])(jnp.eye(2))[0]),
        (lambda f, x: jnp.array(jax.jacrev(f)(x).tolist()), lambda f, x: jax.jacrev(f)(x)[:2]),
    ],
    3: [(lambda f, x, u: u @ jax.hessian(f)(x) @ u, lambda f, x, u: f(x + u) - 2 * f(x) + f(x - u))],
    4: [(clipped, divided_by_zero)],
    5: [(rounded, lambda x: x + jax.lax.stop_gradient(jnp.trunc(x + 0.5) - x))],
    6: [(lambda x: 2 * jax.lax.stop_gradient(x) - x, for_squares)],
    7: [(four_groups_by_scan, two_groups), (four_groups_by_scan, per_layer_by_scan)],
    8: [(descended, descended_flat), (descended, lambda loss, params, *_: descended(loss, params, 0.1, 3))],
    9: [(scanned, at_a_fixed_rate)],
    10: [
        (
            lambda i, n: (i[:, None] == jnp.arange(n)).sum(0),
            lambda i, n: jnp.bincount(i, length=n) * 1.0,
        ),
        (lambda i, n: jax.nn.one_hot(i, n, dtype=int).sum(0), lambda i, n: jnp.zeros(n, jnp.uint8).at[i].add(1)),
    ],
    11: [
        (lambda key, count: normal(key, (count, 2)), lambda key, count: jax.random.uniform(key, (count, 2))),
        (lambda key, count: normal(key, (2, count)).T, lambda key, count: jnp.tile(normal(key, (count, 1)), 2)),
        (
            lambda key, count: jax.random.multivariate_normal(key, jnp.zeros(2), jnp.eye(2), (count,)),
            lambda key, count: jax.random.uniform(key, (count, 2), minval=-(3**0.5), maxval=3**0.5),
        ),
    ],
    12: [(sums_with_a_limit, sums_from_the_limit)],
    13: [(lambda predict, models, xs: jax.vmap(lambda m: jax.vmap(lambda x: predict(m, x))(xs))(models), by_names)],
    14: [(momentum, at_fixed_rates)],
}


@pytest.mark.parametrize(
    ("number", "place"), [(number, place) for number, pairs in ANSWERS.items() for place in range(len(pairs))]
)
def test_an_answer_is_judged_by_what_it_does(number, place):
    right, wrong = ANSWERS[number][place]
    exercise = find(str(number)).exercise
    assert verdict(exercise, right) == RIGHT
    assert verdict(exercise, wrong) != RIGHT


def test_there_is_a_right_and_a_wrong_answer_for_each_lesson():
    assert [*ANSWERS] == [lesson.number for lesson in lessons()]
