"""What the benchmark times: each workload as an imperative step and as a functional one, on the same NumPy data.

A workload is a function that makes an imperative step, given torch or jaxvjp as `torch`, and one that makes the step as
a JAX user would write it by hand.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

Array = np.ndarray[Any, Any]
Step = Callable[..., Any]


class Workload(NamedTuple):
    """One thing to time.

    Attributes:
        name: its name in the table.
        data: NumPy arrays, the same for all contenders.
        imperative: `(torch, *data)` to a step; `torch` is torch or jaxvjp.
        by_hand: `(*data)` to a step.
        given: the arguments of successive calls of a step; empty if it takes none.
        reads: whether the first of a step's results, its loss, is read as a number.
        warm: calls before a step counts as warm.
        fresh: whether every call is another program, so that a call must not be repeated before it is timed.
    """

    name: str
    data: tuple[Any, ...]
    imperative: Callable[..., Step]
    by_hand: Callable[..., Step]
    given: Callable[[], Iterator[Any]] | None = None
    reads: bool = False
    warm: int = 30
    fresh: bool = False


def jitted(function: Callable[..., Any]) -> Callable[..., Step]:
    """The usual step by hand: a pure function of the data, jitted."""

    def make(*data: Any) -> Step:
        compiled = jax.jit(function)
        arrays = [jax.device_put(each) for each in data]
        return lambda: compiled(*arrays)

    return make


def _leaves(torch: Any, arrays: Any) -> Any:
    return [torch.tensor(array, requires_grad=True) for array in arrays]


def _normal(*shape: int, scale: float = 1.0, seed: int = 0) -> Array:
    return scale * np.random.default_rng(seed).standard_normal(shape, np.float32)


# A function that is the same in torch's words and in JAX's, and its gradient.


def gradient_steps(
    function: Callable[..., Any], wanted: tuple[int, ...] = (0,), along: bool = False, kept: bool = False
) -> tuple[Callable[..., Step], Callable[..., Step]]:
    """The imperative step that differentiates `function(namespace, *data)`, and the one by hand.

    Args:
        function: it is given torch, jaxvjp or `jax.numpy`, tensors or arrays, and what a call of the step is given.
        wanted: the places of the data to differentiate with respect to.
        along: whether the last of the data is v of vᵀJ, and no argument; else the function returns a scalar.
        kept: whether the imperative step also returns the function's value.
    """

    def imperative(torch: Any, *data: Array) -> Step:
        tensors = [torch.tensor(each, requires_grad=place in wanted) for place, each in enumerate(data)]
        leaves, v = [tensors[place] for place in wanted], tensors[-1:] if along else []
        arguments = tensors[: len(tensors) - along]

        def step(*given: Any) -> Any:
            for leaf in leaves:
                leaf.grad = None
            value = function(torch, *arguments, *given)
            value.backward(*v)
            return (value, leaves[-1].grad) if kept else leaves[-1].grad

        return step

    def by_hand(*data: Any) -> Any:
        if not along:
            return jax.value_and_grad(partial(function, jnp), wanted)(*data)
        value, pullback = jax.vjp(partial(function, jnp), *data[:-1])
        return value, pullback(data[-1])

    return imperative, jitted(by_hand)


def doubled(namespace: Any, x: Any) -> Any:
    for _ in range(10):
        x = x * 2
    return x


def weighted(namespace: Any, a: Any, b: Any, c: Any) -> Any:
    return 3 * a + 2 * b * b + namespace.log(c)


def tiny(namespace: Any, x: Any) -> Any:
    """60 operations on a few numbers, and the sum."""
    for _ in range(15):
        x = namespace.sin(x) * 0.5 + x * 0.25
    return x.sum()


def chain(depth: int) -> Callable[[Any, Any], Any]:
    def function(namespace: Any, z: Any) -> Any:
        for _ in range(depth):
            z = namespace.sin(z) * 1.1 + namespace.exp(-z)
        return z.sum()

    return function


def wide(namespace: Any, x: Any) -> Any:
    return (namespace.tanh(x * x + 1.5) * namespace.exp(-x) / (x * x + 2.0)).sum()


def recurrent(namespace: Any, x: Any, w: Any, u: Any, b: Any) -> Any:
    h = namespace.zeros((x.shape[1], w.shape[1]))
    for t in range(x.shape[0]):
        h = namespace.tanh(x[t] @ w + h @ u + b)
    return (h * h).mean()


def attention(namespace: Any, q: Any, k: Any, v: Any) -> Any:
    softmax = jax.nn.softmax if namespace is jnp else namespace.softmax
    return (softmax(q @ k.swapaxes(-2, -1) * q.shape[-1] ** -0.5, -1) @ v).mean()


def varied(namespace: Any, z: Any, depth: int) -> Any:
    for _ in range(depth):
        z = namespace.sin(z) * 1.1 + z
    return z.sum()


def added(namespace: Any, y: Any) -> Any:
    for _ in range(10_000):
        y = y + 1.5
    return y.sum()


def cubed(namespace: Any, x: Any) -> Any:
    return (namespace.sin(x) * x**3).sum()


def errors(namespace: Any, x: Any, y: Any, w: Any) -> Any:
    return (namespace.tanh(x @ w) - y) ** 2


def network_loss(namespace: Any, x: Any, y: Any, w1: Any, w2: Any) -> Any:
    return ((namespace.tanh(x @ w1) @ w2 - y) ** 2).mean()


# Networks.


def network(torch: Any, x_data: Array, y_data: Array, *weights: Array) -> Step:
    x, y = torch.tensor(x_data), torch.tensor(y_data)
    w1, w2 = _leaves(torch, weights)

    def step() -> Any:
        loss = network_loss(torch, x, y, w1, w2)
        loss.backward()
        with torch.no_grad():
            for w in (w1, w2):
                w -= 0.01 * w.grad
                w.grad = None
        return loss

    return step


def network_by_hand(x: Any, y: Any, w1: Any, w2: Any) -> Any:
    loss, (g1, g2) = jax.value_and_grad(partial(network_loss, jnp), (2, 3))(x, y, w1, w2)
    return loss, w1 - 0.01 * g1, w2 - 0.01 * g2


def layer_norms(torch: Any, x_data: Array, gain_data: Array, shift_data: Array) -> Step:
    layer_norm, gelu = torch.nn.functional.layer_norm, torch.nn.functional.gelu
    x = torch.tensor(x_data)
    gains, shifts = _leaves(torch, gain_data), _leaves(torch, shift_data)

    def step() -> Any:
        h = x
        for gain, shift in zip(gains, shifts, strict=True):
            gain.grad = shift.grad = None
            h = gelu(layer_norm(h, (h.shape[-1],), gain, shift))
        h.mean().backward()
        return gains[0].grad

    return step


def layer_norms_by_hand(x: Any, gains: Any, shifts: Any) -> Any:
    def f(gains: Any, shifts: Any) -> Any:
        h = x
        for gain, shift in zip(gains, shifts, strict=True):
            centred = h - h.mean(-1, keepdims=True)
            variance = (centred * centred).mean(-1, keepdims=True)
            h = jax.nn.gelu(centred * jax.lax.rsqrt(variance + 1e-5) * gain + shift, approximate=False)
        return h.mean()

    return jax.value_and_grad(f, (0, 1))(list(gains), list(shifts))


# More than one gradient.


def hessian_vector(torch: Any, x_data: Array, v_data: Array) -> Step:
    (x,), v = _leaves(torch, [x_data]), torch.tensor(v_data)

    def step() -> Any:
        (gradient,) = torch.autograd.grad(cubed(torch, x), x, create_graph=True)
        return torch.autograd.grad(gradient, x, v)[0]

    return step


def hessian_vector_by_hand(x: Any, v: Any) -> Any:
    return jax.vjp(jax.grad(partial(cubed, jnp)), x)[1](v)


def jacobian(torch: Any, x_data: Array, w_data: Array) -> Step:
    x, w = torch.tensor(x_data), torch.tensor(w_data)
    return lambda: torch.autograd.functional.jacobian(lambda x: torch.tanh(w @ x), x)


def per_sample(torch: Any, x_data: Array, y_data: Array, w_data: Array) -> Step:
    x, y, w = torch.tensor(x_data), torch.tensor(y_data), torch.tensor(w_data)

    def loss(w: Any, x: Any, y: Any) -> Any:
        return errors(torch, x, y, w).sum()

    gradients = torch.func.vmap(torch.func.grad(loss), (None, 0, 0))
    return lambda: gradients(w, x, y)


def per_sample_by_hand(x: Any, y: Any, w: Any) -> Any:
    return jax.vmap(jax.grad(lambda w, x, y: errors(jnp, x, y, w).sum()), (None, 0, 0))(w, x, y)


def pullback_of_rows(torch: Any, x_data: Array, y_data: Array, w_data: Array, v_data: Array) -> Step:
    x, y, (w,), v = torch.tensor(x_data), torch.tensor(y_data), _leaves(torch, [w_data]), torch.tensor(v_data)

    def step() -> Any:
        losses = errors(torch, x, y, w).sum(1)
        return torch.autograd.grad(losses, w, v, is_grads_batched=True)[0]

    return step


def pullback_of_rows_by_hand(x: Any, y: Any, w: Any, v: Any) -> Any:
    _, pullback = jax.vjp(lambda w: errors(jnp, x, y, w).sum(1), w)
    return jax.vmap(pullback)(v)[0]


# Loops.


def varying_by_hand(x: Any) -> Step:
    step, array = jax.jit(jax.value_and_grad(partial(varied, jnp)), static_argnums=1), jax.device_put(x)
    return lambda depth: step(array, depth)


def hooked(torch: Any, x_data: Array, y_data: Array, w_data: Array) -> Step:
    x, y, (w,) = torch.tensor(x_data), torch.tensor(y_data), _leaves(torch, [w_data])
    w.register_hook(lambda gradient: gradient * 0.5)

    def loop() -> Any:
        for _ in range(1000):
            errors(torch, x, y, w).mean().backward()
            with torch.no_grad():
                w.sub_(0.1 * w.grad)
                w.grad = None
        return w

    return loop


def hooked_by_hand(x: Any, y: Any, w: Any) -> Step:
    @jax.jit
    def step(x: Any, y: Any, w: Any) -> Any:
        return w - 0.1 * 0.5 * jax.grad(lambda w: errors(jnp, x, y, w).mean())(w)

    x, y, first = (jax.device_put(each) for each in (x, y, w))

    def loop() -> Any:
        w = first
        for _ in range(1000):
            w = step(x, y, w)
        return w

    return loop


def adds_by_hand(x: Any) -> Any:
    def f(x: Any) -> Any:
        return jax.lax.fori_loop(0, 10_000, lambda _, y: y + 1.5, x).sum()

    return jax.value_and_grad(f)(x)


def workloads() -> list[Workload]:
    """All of them, with their data."""
    v = np.array([0.1, 1.0, 0.0001], np.float32)
    positive = np.abs(_normal(3)) + 1
    short, long = _normal(1000), _normal(1_000_000)
    return [
        Workload("x * 2 ten times, 3 floats", (_normal(3), v), *gradient_steps(doubled, along=True)),
        Workload(
            "3a + 2b² + log c", (_normal(3), _normal(3), positive, v), *gradient_steps(weighted, (0, 1, 2), along=True)
        ),
        Workload("61 tiny operations, 8 floats", (_normal(8),), *gradient_steps(tiny)),
        Workload("chain 50 deep, 1,000 floats", (short,), *gradient_steps(chain(50), kept=True), reads=True),
        Workload("chain 10 deep, 1,000,000 floats", (long,), *gradient_steps(chain(10))),
        Workload("elementwise, 2,000,000 floats", (_normal(2_000_000),), *gradient_steps(wide)),
        Workload(
            "network's training step, 64×32×16",
            (_normal(64, 32), _normal(64, 16), _normal(32, 64, scale=0.1), _normal(64, 16, scale=0.1)),
            network,
            jitted(network_by_hand),
        ),
        Workload(
            "recurrent net, 20 steps",
            (_normal(20, 16, 32), _normal(32, 64, scale=0.1), _normal(64, 64, scale=0.1), _normal(64, scale=0.1)),
            *gradient_steps(recurrent, (1, 2, 3)),
        ),
        Workload(
            "six layer norms with gelu, 256×256",
            (_normal(256, 256), 1 + _normal(6, 256, scale=0.1), _normal(6, 256, scale=0.1)),
            layer_norms,
            jitted(layer_norms_by_hand),
        ),
        Workload(
            "attention, 4×64×32",
            tuple(_normal(4, 64, 32, seed=seed) for seed in range(3)),
            *gradient_steps(attention, (0, 1, 2)),
        ),
        Workload(
            "Hessian-vector product, 100 floats",
            (_normal(100), _normal(100, seed=1)),
            hessian_vector,
            jitted(hessian_vector_by_hand),
        ),
        Workload(
            "Jacobian, 128×128",
            (_normal(128), _normal(128, 128, scale=0.1)),
            jacobian,
            jitted(lambda x, w: jax.jacrev(lambda x: jnp.tanh(w @ x))(x)),
        ),
        Workload(
            "64 per-sample gradients, 32×16",
            (_normal(64, 32), _normal(64, 16, seed=1), _normal(32, 16, scale=0.1)),
            per_sample,
            jitted(per_sample_by_hand),
        ),
        Workload(
            "pullback of 64 rows, 32×16",
            (_normal(64, 32), _normal(64, 16, seed=1), _normal(32, 16, scale=0.1), _normal(64, 64, seed=2)),
            pullback_of_rows,
            jitted(pullback_of_rows_by_hand),
        ),
        Workload(
            "loop of varying length, 1 to 40",
            (_normal(8),),
            gradient_steps(varied)[0],
            varying_by_hand,
            given=lambda: itertools.cycle(range(1, 41)),
            warm=10 * 40,  # a staged step has its numbers as constants from its ninth call on, for each length
        ),
        Workload(
            "loop of a length never seen",
            (_normal(8),),
            gradient_steps(varied)[0],
            varying_by_hand,
            given=lambda: itertools.count(1),
            warm=100,
            fresh=True,
        ),
        Workload(
            "1,000 training steps with a hook",
            (_normal(16, 8), _normal(16, 4, seed=1), _normal(8, 4, scale=0.1)),
            hooked,
            hooked_by_hand,
        ),
        Workload("10,000 adds in one graph, 8 floats", (_normal(8),), gradient_steps(added)[0], jitted(adds_by_hand)),
    ]
