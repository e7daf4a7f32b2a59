"""Ten programs of the corpus as somebody who knows JAX writes them: the measure of what is printed of them.

Each has the name of its program and returns its variables. They have the same numbers, random ones included.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp


def the_graph_is_walked_twice():
    x = jnp.array([1.0, 2.0])

    def f(x):
        return jnp.exp(x) * x

    y, pullback = jax.vjp(f, x)
    (x_grad,) = pullback(jnp.array([1.0, 0.0]))
    (more,) = pullback(jnp.array([0.0, 10.0]))
    x_grad = (x_grad + more) * 0.5
    return locals()


def truncated_recurrence_that_accumulates():
    w = jnp.array([[0.5, -0.5], [0.3, 0.8]])
    xs = jnp.array([[1.0, 2.0], [0.5, -1.0], [2.0, 0.0]])
    h = jnp.zeros(2)

    def total(w, h, x):
        h = jnp.tanh(h @ w + x)
        return h.sum(), h

    w_grad = jnp.zeros_like(w)
    for x in xs:
        slope, h = jax.grad(total, has_aux=True)(w, h, x)
        w_grad += slope
    return locals()


def batches_of_a_data_set():
    inputs = jnp.array([[1.0, 2.0], [-1.0, 0.5], [0.3, -2.0], [1.5, 1.0]])
    targets = jnp.array([1.0, 0.3, -1.0, 2.0])
    w = jnp.array([0.5, -0.5])

    def squared_error(w, x, y):
        return (jnp.sum(x * w) - y) ** 2

    for x, y in zip(inputs, targets, strict=True):
        loss, grad = jax.value_and_grad(squared_error)(w, x, y)
        w = w - 0.1 * grad
    return locals()


def a_hook_clips_a_leaf():
    x = jnp.array([1.0, -4.0, 2.0])

    def squares(x):
        return jnp.sum(x**2)

    x_grad = jnp.clip(jax.grad(squares)(x), -1.0, 1.0)
    return locals()


def a_function_saves_and_scales():
    @functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
    def power(x, n):
        return x**n

    def forward(x, n):
        return x**n, x

    def backward(n, x, g):
        return (g * n * x ** (n - 1),)

    power.defvjp(forward, backward)

    def f(x):
        return power(x, 3).sum() + power(x * 2, 2).sum()

    x = jnp.array([1.0, 2.0])
    loss, x_grad = jax.value_and_grad(f)(x)
    return locals()


def a_recurrent_cell():
    w = jnp.array([[0.5, -0.2], [0.1, 0.8]])
    u = jnp.array([[0.3, 0.1], [-0.4, 0.2]])
    xs = jnp.array([[1.0, 0.5], [0.2, -1.0], [0.7, 0.7]])

    def loss_of(w, u):
        h = jnp.zeros(2)
        for x in xs:
            h = jnp.tanh(x @ w + h @ u)
        return jnp.sum((h - 0.5) ** 2)

    for _ in range(2):
        loss, (w_grad, u_grad) = jax.value_and_grad(loss_of, argnums=(0, 1))(w, u)
        w = w - 0.1 * w_grad
        u = u - 0.1 * u_grad
    return locals()


def attention():
    # fmt: off
    q = jnp.array([[-1.0408012, 0.91660416, -1.3041904, -1.1096784], [-1.2187781, 1.1675924, -1.0573921, -0.118839376],
                   [-0.90783983, 0.34522223, -0.5713339, -0.23510893], [1.0076052, -0.75288147, -0.2249992,
                   -0.43268603]])
    k = jnp.array([[-1.5071439, -0.4585608, -0.84800065, 0.52660435], [0.029916182, -0.049838036, 1.0650779, 0.8860367],
                   [0.46401837, -0.49863246, 0.12886369, 2.7630668], [0.14047647, 1.1191015, 0.31523156, 1.7527765]])
    v = jnp.array([[-0.764964, 1.8298852, -0.27840105, -0.2719453], [-1.2944106, -0.024312533, -0.23535971, -0.7087095],
                   [1.1566312, 0.42960164, -1.187359, -0.7467759], [-0.9319812, -0.85786456, -0.9647331, -0.09914555]])
    x = jnp.array([[-1.0189824, 0.31567958, -1.603563, 1.8493321], [-0.87065756, 1.6159114, -0.23564793, 0.9443864],
                   [0.5461433, -1.357513, 1.1453115, -0.96460056], [-0.27350318, 0.33552626, 0.18854673, 2.1432374],
                   [-0.27794072, 0.55108863, 0.015409281, -0.9184425]])
    # fmt: on

    def loss_of(q, k, v):
        scores = x @ q @ (x @ k).T / 2.0
        scores = jnp.where(jnp.triu(jnp.ones((5, 5), bool), 1), -jnp.inf, scores)
        out = jax.nn.softmax(scores) @ (x @ v)
        return jnp.mean(out**2)

    for _ in range(2):
        loss, grads = jax.value_and_grad(loss_of, argnums=(0, 1, 2))(q, k, v)
        q, k, v = (each - 0.1 * grad for each, grad in zip((q, k, v), grads, strict=True))
    return locals()


def learning_to_learn():
    start = jnp.array([0.5, -0.5])
    tasks = jnp.array([[1.0, 2.0], [-1.0, 0.5], [2.0, 2.0]])

    def distance(w, task):
        return jnp.sum((w - task) ** 2)

    def outer(start):
        total = 0.0
        for task in tasks:
            w = start
            for _ in range(2):
                w = w - 0.1 * jax.grad(distance)(w, task)
            total = total + distance(w, task)
        return total

    for _ in range(2):
        total, grad = jax.value_and_grad(outer)(start)
        start = start - 0.05 * grad
    return locals()


def a_hessian():
    x = jnp.array([1.0, 2.0])

    def f(a):
        return jnp.sum(a**3) * a[0]

    def weighted(x):
        return jnp.sum(jax.hessian(f)(x) * jnp.array([[1.0, 2.0], [3.0, 4.0]]))

    x_grad = jax.grad(weighted)(x)
    return locals()


def a_convolution():
    # fmt: off
    kernel = jnp.array([[[[-0.076644294, 0.35988152, -0.514462], [-1.6516654, 1.0460228, 0.522187], [-0.16680916,
                        0.0530334, 0.40460715]]], [[[0.61129963, 1.8692601, -1.1952343], [0.9979224, 0.45918044,
                        2.436397], [-0.14680818, 0.485114, 0.20523438]]]])
    image = jnp.array([[[[-0.3480893, 0.34874636, 0.037066877, -0.06768559, 0.42903304, -0.86811924], [-1.1963196,
                       1.0279965, 0.12951782, 0.6814111, -0.9583004, 0.06392408], [0.6589139, 0.8194592, 0.5615939,
                       -0.24814683, -0.37698576, -0.14368393], [0.6480207, -2.3256073, -1.0318878, 1.1390887, 0.7247463,
                       1.0795444], [1.7302473, -1.4712683, 1.1401027, 2.0604937, -0.8977333, -1.8875719], [0.3360403,
                       0.5009265, 0.54664147, -0.26444134, -0.58716434, 0.87110204]]]])
    # fmt: on

    def loss_of(kernel):
        h = jax.nn.relu(jax.lax.conv(image, kernel, (1, 1), "SAME"))
        return jnp.mean(jax.lax.reduce_window(h, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"))

    for _ in range(2):
        loss, grad = jax.value_and_grad(loss_of)(kernel)
        kernel = kernel - 0.5 * grad
    return locals()


REFERENCES = [each for each in list(globals().values()) if getattr(each, "__module__", None) == __name__]
