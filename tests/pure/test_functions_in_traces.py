"""Functions in torch's words, called by JAX: `functional`."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvjp
from jaxvjp.autograd import Function
from jaxvjp.core.run.compilation import counters

A = jnp.array([0.5, -1.0, 2.0])


@jaxvjp.functional
def attention(params, x, *, causal=False):
    """One head of attention, in torch's words."""
    q, k, v = (x @ params[name] for name in "qkv")
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if causal:
        scores = scores.masked_fill(~jaxvjp.ones(x.shape[0], x.shape[0]).tril().bool(), -jaxvjp.inf)
    return {"out": jaxvjp.softmax(scores, -1) @ v, "best": scores.argmax(-1)}


def pure_attention(params, x, causal=False):
    q, k, v = (x @ params[name] for name in "qkv")
    scores = q @ k.T / np.sqrt(q.shape[-1])
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones((x.shape[0], x.shape[0]), bool)), scores, -jnp.inf)
    return {"out": jax.nn.softmax(scores, -1) @ v, "best": scores.argmax(-1)}


@pytest.fixture
def given():
    draw = np.random.RandomState(0).standard_normal
    return {name: jnp.asarray(draw((4, 3)), jnp.float32) for name in "qkv"}, jnp.asarray(draw((5, 4)), jnp.float32)


def close(given, expected, rtol=1e-4):
    for each, one in zip(jax.tree.leaves(given), jax.tree.leaves(expected), strict=True):
        assert isinstance(each, jax.Array)
        assert each.dtype == one.dtype
        np.testing.assert_allclose(each, one, rtol=rtol, atol=1e-5)


@pytest.mark.parametrize("causal", [False, True])
def test_every_transform_of_jax_takes_it(given, causal):
    params, x = given

    def loss(function):
        return lambda params, x: (function(params, x, causal=causal)["out"] ** 2).sum()

    close(attention(params, x, causal=causal), pure_attention(params, x, causal))
    close(jax.jit(attention, static_argnames="causal")(params, x, causal=causal), pure_attention(params, x, causal))
    close(jax.grad(loss(attention))(params, x), jax.grad(loss(pure_attention))(params, x))
    close(jax.jit(jax.value_and_grad(loss(attention)))(params, x), jax.value_and_grad(loss(pure_attention))(params, x))
    batch = jnp.stack([x, x * 2, -x])
    close(
        jax.vmap(attention, in_axes=(None, 0))(params, batch),
        jax.vmap(pure_attention, in_axes=(None, 0))(params, batch),
    )
    close(
        jax.jit(jax.vmap(jax.grad(loss(attention)), in_axes=(None, 0)))(params, batch),
        jax.vmap(jax.grad(loss(pure_attention)), in_axes=(None, 0))(params, batch),
    )
    close(jax.hessian(loss(attention), 1)(params, x[:2]), jax.hessian(loss(pure_attention), 1)(params, x[:2]))
    close(jax.checkpoint(loss(attention))(params, x), loss(pure_attention)(params, x))
    close(
        jax.lax.map(lambda each: attention(params, each), batch),
        jax.lax.map(lambda e: pure_attention(params, e), batch),
    )


def test_a_model_is_trained_by_jax():
    model = jaxvjp.nn.Sequential(jaxvjp.nn.Linear(3, 4), jaxvjp.nn.Tanh(), jaxvjp.nn.Linear(4, 1))
    params = {name: each.detach().jax() for name, each in model.named_parameters()}

    @jaxvjp.functional
    def loss(params, x, y):
        return jaxvjp.nn.functional.mse_loss(jaxvjp.func.functional_call(model, params, (x,)), y)

    x, y = jnp.ones((8, 3)), jnp.zeros((8, 1))
    step = jax.jit(lambda p: jax.tree.map(lambda each, g: each - 0.1 * g, p, jax.grad(loss)(p, x, y)))
    before = loss(params, x, y)
    for _ in range(20):
        params = step(params)
    assert loss(params, x, y) < before / 10


def test_running_statistics_are_arguments_like_others():
    norm = jaxvjp.nn.BatchNorm1d(4).eval()
    arrays = {name: each.detach().jax() for name, each in norm.state_dict().items()}
    function = jaxvjp.functional(lambda arrays, x: jaxvjp.func.functional_call(norm, arrays, (x,)))
    x = jnp.arange(8.0).reshape(2, 4)
    close(jax.jit(function)(arrays, x), x / jnp.sqrt(1 + norm.eps))
    slopes = jax.grad(lambda mean: function({**arrays, "running_mean": mean}, x).sum())(arrays["running_mean"])
    close(slopes, jnp.full(4, -2 / jnp.sqrt(1 + norm.eps)))


def test_without_a_trace_its_program_is_remembered():
    twice = jaxvjp.functional(lambda x: (x * 2).sin().cos().exp())
    twice(A), twice(A)
    before = counters.compiles
    twice(A + 1)
    assert counters.compiles == before


def test_detach_no_grad_and_torchs_own_transforms_hold_inside():
    @jaxvjp.functional
    def loss(x):
        with jaxvjp.no_grad():
            scale = x * 3
        inner = jaxvjp.func.grad(lambda v: (v**3).sum())(x)
        (outer,) = jaxvjp.autograd.grad((x * x).sum(), x)
        return (x * x.detach() + x * scale).sum() + inner.sum() + jaxvjp.vmap(lambda v: v * 2)(x).sum() + outer.sum()

    close(jax.grad(loss)(A), A + 3 * A + 6 * A + 2)
    close(jax.jit(jax.grad(loss))(A), A + 3 * A + 6 * A + 2)


def test_the_modes_around_it_make_no_difference():
    twice = jaxvjp.functional(lambda x: (x * x).sum())
    for mode in (jaxvjp.no_grad, jaxvjp.inference_mode):
        with mode():
            close(twice(A), (A * A).sum())
            close(jax.grad(twice)(A), 2 * A)
            assert not jaxvjp.scan(lambda c, v: (c + v, v), jaxvjp.zeros(()), jaxvjp.ones(3))[0].requires_grad


def test_arguments_keep_their_structure_and_numbers_their_kind():
    @jaxvjp.functional
    def told(tree, number, word):
        assert type(number) is int
        assert word == "word"
        return tree["a"][0] * number, {"none": None, "constant": 2.5, "array": np.ones(2, np.float32)}

    first, rest = told({"a": (A, None)}, 3, "word")
    close(first, 3 * A)
    assert rest["none"] is None
    assert rest["constant"] == 2.5
    assert rest["array"].shape == (2,)
    close(told({"a": (jaxvjp.from_jax(A), None)}, 3, word="word")[0], 3 * A)


def test_integers_are_those_of_jax():
    count = jaxvjp.functional(lambda x, i: (x.argmax(), i + 1, jaxvjp.arange(3)))
    for function in (count, jax.jit(count)):
        assert [each.dtype for each in function(A, jnp.array([1, 2]))] == [jnp.int32] * 3
    with jax.enable_x64(True):
        assert [each.dtype for each in jax.jit(count)(A, jnp.array([1, 2]))] == [jnp.int64] * 3


def test_double_precision_needs_jaxs_64_bit_types():
    wide = jaxvjp.functional(lambda x: x.double().sum())
    with pytest.raises(TypeError, match="double precision"):
        jax.jit(wide)(A)
    with jax.enable_x64(True):
        assert jax.jit(wide)(A).dtype == jnp.float64


def test_functions_of_jax_may_be_called_inside():
    @jaxvjp.functional
    def both(x):
        return jaxvjp.wrap(jnp.sin)(x) * 2, jnp.cos(x)

    close(jax.jit(both)(A), (2 * jnp.sin(A), jnp.cos(A)))
    close(jax.grad(lambda x: both(x)[0].sum() + both(x)[1].sum())(A), 2 * jnp.cos(A) - jnp.sin(A))


def test_a_write_to_an_argument_is_an_output_or_an_error():
    @jaxvjp.functional
    def moved(state, x):
        state.mul_(0.9).add_(x)
        return state, x.sum()

    for function in (moved, jax.jit(moved)):
        close(function(A, jnp.ones(3))[0], 0.9 * A + 1)
    close(jax.grad(lambda x: moved(A, x)[0].sum())(A), jnp.ones(3))

    @jaxvjp.functional
    def lost(state, x):
        state.add_(x)
        return x.sum()

    with pytest.raises(RuntimeError, match="lost is to be pure, and writes to its argument 0") as caught:
        jax.jit(lost)(A, A)
    assert re.search(rf"line \d+ of {re.escape(__file__)}:\n    state.add_\(x\)", str(caught.value))
    assert A.tolist() == [0.5, -1.0, 2.0]


def test_a_write_to_what_it_closes_over_is_refused_and_nothing_is_written():
    state = jaxvjp.zeros(3)

    def impure(x):
        state.add_(x)
        return x

    for function in (jaxvjp.functional(impure), jax.jit(jaxvjp.functional(impure))):
        with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
            function(A)
    assert state.tolist() == [0, 0, 0]
    assert state._version == 0


def test_what_it_closes_over_is_a_constant_and_a_gradient_is_not_lost():
    scale, w = jaxvjp.tensor([1.0, 2.0, 3.0]), jaxvjp.tensor([1.0, 2.0, 3.0], requires_grad=True)
    close(jax.grad(jaxvjp.functional(lambda x: (x * scale * (scale + 1)).sum()))(A), jnp.array([2.0, 6.0, 12.0]))
    product = jaxvjp.functional(lambda x: (x * w).sum())
    with pytest.raises(
        RuntimeError,
        match=r"would lose its gradient.*\nIts gradient is that of what was made by line .*\n.*\n.*as an argument",
    ):
        product(A)
    with jaxvjp.no_grad():
        close(jax.grad(product)(A), jnp.array([1.0, 2.0, 3.0]))
        close(jax.grad(lambda x: (x * w).sum().jax())(scale).jax(), jnp.array([1.0, 2.0, 3.0]))


def test_what_is_compiled_must_not_draw():
    x, drop = jaxvjp.ones(3), jaxvjp.nn.Dropout(0.5)
    for function in (lambda v: v + jaxvjp.rand(3), drop):
        with pytest.raises(RuntimeError, match="must not draw random numbers"):
            jax.jit(lambda v, function=function: function(v))(x)
        for batched in (function, jax.grad(lambda v, function=function: function(v).sum().jax())):
            with pytest.raises(RuntimeError, match="must not draw random numbers"):  # all rows would have the same
                jax.vmap(batched)(jaxvjp.ones(2, 3))
    slope = jax.grad(lambda v: (v * jaxvjp.rand(3)).sum().jax())
    assert not jaxvjp.equal(slope(x), slope(x))  # it runs, and draws, each time


def test_a_constant_that_needs_64_bits_is_not_cut():
    function = jaxvjp.functional(lambda x: (x.long() * 2654435761) % 97)
    numbers = jnp.arange(3)
    assert function(numbers).tolist() == [0, 12, 24]
    with pytest.raises(TypeError, match="2654435761, an integer of more than 32 bits"):
        jax.jit(function)(numbers)
    with jax.enable_x64(True):
        assert jax.jit(function)(numbers).tolist() == [0, 12, 24]


class Doubled(Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 5


@pytest.mark.parametrize(
    ("body", "error", "words"),
    [
        (lambda x: x * x.sum().item(), RuntimeError, "has no value of its own"),
        (lambda x: x if x.sum() > 0 else -x, RuntimeError, "torch.cond"),
        (lambda x: x * jaxvjp.rand(3), RuntimeError, "random numbers"),
        (lambda x: jaxvjp.nn.functional.dropout(x), RuntimeError, "random numbers"),
        (lambda x: (x * x).sum().backward(), RuntimeError, r"backward\(\) called inside a functorch transform"),
        (lambda x: "text", TypeError, "returned a str"),
        (lambda x: object(), TypeError, "returned a object"),
    ],
)
def test_what_is_not_pure_is_refused(body, error, words):
    for function in (jaxvjp.functional(body), jax.jit(jaxvjp.functional(body))):
        with pytest.raises(error, match=words):
            function(A)
    assert (jaxvjp.ones(2) * 2).tolist() == [2, 2]  # nothing stays switched on
    assert jaxvjp.rand(2).shape == (2,)


def test_a_custom_function_is_refused_in_a_trace_as_jax_would_ignore_its_backward():
    doubled = jaxvjp.functional(lambda x: Doubled.apply(x).sum())
    assert doubled(A) == 3
    for transform in (jax.jit, jax.grad):
        with pytest.raises(RuntimeError, match=r"custom autograd\.Function"):
            transform(doubled)(A)


def test_a_hook_is_refused_in_a_trace_as_jax_would_not_call_it():
    def hooked(x):
        y = x * 1
        y.register_hook(lambda gradient: gradient * 10)
        return (y * y).sum()

    function = jaxvjp.functional(hooked)
    close(function(A), (A * A).sum())
    with pytest.raises(RuntimeError, match=r"the hook on what was recorded by line .*\n    y = x \* 1"):
        jax.grad(function)(A)
    inside = jaxvjp.functional(jaxvjp.func.grad(hooked))
    close(jax.jit(inside)(A), 20 * A)
    x = jaxvjp.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="cannot go through the hook"):
        jaxvjp.scan(lambda state, each: (hooked(each) + state, each), jaxvjp.zeros(()), x)


def test_a_tensor_that_leaks_from_a_trace_says_so():
    kept = []

    @jax.jit
    @jaxvjp.functional
    def leaking(x):
        kept.append(x * 2)
        return x

    close(leaking(A), A)
    for use in (lambda: kept[0].tolist(), lambda: (kept[0] + 1).sum().item(), kept[0].jax):
        with pytest.raises(
            (RuntimeError, jax.errors.UnexpectedTracerError), match=r"left behind|[Ll]eak|kept a tensor"
        ):
            use()
    assert str(kept[0]) == "tensor(..., traced by JAX, size=(3,))"


def test_what_is_traced_can_be_printed_and_its_numbers_cannot_be_had():
    @jax.jit
    @jaxvjp.functional
    def printing(x):
        seen.append(f"{x} {x * 2!r}")
        with pytest.raises(RuntimeError, match="has no value of its own"):
            x.numpy()
        return x

    seen = []
    with pytest.raises(RuntimeError, match="has no value of its own"):
        jax.jit(lambda x: x.numpy())(jaxvjp.ones(2))
    close(printing(A), A)
    assert seen == ["tensor(..., traced by JAX, size=(3,)) tensor(..., traced by JAX, size=(3,))"]


def test_a_staged_function_inside_of_jit_is_the_function():
    staged = jaxvjp.jit(lambda x, count: x * count)
    for _ in range(20):
        staged(jaxvjp.ones(2), 3)
    close(jax.jit(lambda d: staged(d["a"] * 2, 3))({"a": jaxvjp.ones(2)}).jax(), jnp.full(2, 6.0))
    close(jax.grad(jaxvjp.functional(lambda x: staged(x, 3).sum()))(jnp.ones(2)), jnp.full(2, 3.0))


@pytest.mark.parametrize("transform", [jax.grad, jax.value_and_grad])
def test_jax_grad_of_a_function_that_returns_a_tensor_says_what_to_write(transform):
    x = jaxvjp.tensor([1.0, 2.0])
    with pytest.raises(ValueError, match=r"jax.grad\(torch.functional\(f\)\)\(x\)"):
        transform(lambda x: (x**2).sum())(x)
    with pytest.raises(jax.errors.UnexpectedTracerError, match=r"has ended(.|\n)*torch.functional\(f\)"):
        jax.jvp(lambda x: x * x, (x,), (x,))


@pytest.mark.parametrize("name", ["data", "grad"])
def test_an_attribute_of_what_it_closes_over_is_not_set(name):
    outer = jaxvjp.zeros(3, requires_grad=name == "grad")

    def body(v):
        setattr(outer, name, v * 2)
        return v

    def own(v):
        made = v * 1
        setattr(made, name, v * 2)
        return made

    for function in (jaxvjp.functional(body), jax.jit(jaxvjp.functional(body))):
        with pytest.raises(RuntimeError, match=f"must not set the attribute `{name}` of a tensor that it has not made"):
            function(jnp.ones(3))
    with pytest.raises(RuntimeError, match="must not set"):
        jaxvjp.scan(lambda carry, v: (body(carry), v), jaxvjp.zeros(3), jaxvjp.ones(2))
    assert outer.tolist() == [0.0] * 3
    assert outer.grad is None
    assert jaxvjp.functional(own)(jnp.ones(3)).tolist() == [2.0 if name == "data" else 1.0] * 3
