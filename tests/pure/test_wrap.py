"""JAX functions as operations on tensors: `wrap`. The table has values and gradients against `jax.grad` itself."""

from __future__ import annotations

import dataclasses
import functools
import re
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
import pytest
from jax.experimental import pallas

import jaxvjp
from jaxvjp.core.run.compilation import counters

VECTOR = [0.5, -1.25, 2.0, 0.1]
MATRIX = [[2.0, 0.5, 0.1], [0.5, 3.0, -0.2], [0.1, -0.2, 1.5]]


@jax.custom_vjp
def clipped(x):
    return jnp.exp(x)


clipped.defvjp(lambda x: (jnp.exp(x), x), lambda x, g: (jnp.clip(g * jnp.exp(x), -1.0, 1.0),))


@jax.custom_jvp
def softly(x):
    return jnp.log1p(jnp.exp(x))


softly.defjvps(lambda t, y, x: jax.nn.sigmoid(x) * t)


def kernel(x_ref, y_ref, out_ref):
    out_ref[...] = x_ref[...] * y_ref[...] + 1.0


def pallas_product(x, y):
    """A Pallas kernel, in interpret mode."""
    return pallas.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), interpret=True)(x, y)


@jax.custom_vjp
def pallas_square(x):
    return pallas_product(x, x)


pallas_square.defvjp(lambda x: (pallas_square(x), x), lambda x, g: (2 * x * g,))


def running(x):
    return jax.lax.scan(lambda carry, each: (carry * 0.5 + jnp.sin(each), carry), jnp.zeros(()), x)


def norm_layer(params, x, *, eps=1e-5):
    """What the `apply` of a model looks like: a pytree of parameters, arrays, a keyword."""
    centred = x - x.mean()
    return {"y": params["scale"] * centred / jnp.sqrt(x.var() + eps) + params["shift"], "mean": (x.mean(), None)}


def updated(params, gradients, state):
    """What an update of optax looks like."""
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, state["momentum"], gradients)
    return jax.tree.map(lambda p, m: p - 0.1 * m, params, momentum), {"momentum": momentum, "count": state["count"] + 1}


TABLE = [
    ("scan", running, (VECTOR,), {}),
    ("scan of matrices", lambda x: jax.lax.scan(lambda c, _: (x @ c, c.sum()), x[0], None, length=4), (MATRIX,), {}),
    ("cond", lambda x: jax.lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x), (VECTOR,), {}),
    ("switch", lambda x: jax.lax.switch(jnp.argmax(x), [jnp.sin, jnp.cos, jnp.tanh], x), (VECTOR,), {}),
    ("fori_loop", lambda x: jax.lax.fori_loop(0, 3, lambda _, y: jnp.sin(y) * 2, x), (VECTOR,), {}),
    ("map", lambda x: jax.lax.map(jnp.cumsum, x), (MATRIX,), {}),
    ("associative_scan", lambda x: jax.lax.associative_scan(jnp.multiply, x), (VECTOR,), {}),
    ("custom_vjp", clipped, (VECTOR,), {}),
    ("custom_jvp", softly, (VECTOR,), {}),
    ("checkpoint", jax.checkpoint(lambda x: jnp.sin(jnp.sin(x))), (VECTOR,), {}),
    ("jit", jax.jit(lambda x: jnp.sin(x) * 2), (VECTOR,), {}),
    ("vmap", jax.vmap(lambda row: row / row.sum()), (MATRIX,), {}),
    ("grad", jax.grad(lambda x: jnp.sin(x).sum()), (VECTOR,), {}),
    ("hessian", jax.hessian(lambda x: (x**3).sum()), (VECTOR,), {}),
    ("fft", jnp.fft.fft, (VECTOR,), {}),
    ("rfft2", jnp.fft.rfft2, (MATRIX,), {}),
    ("irfft", jnp.fft.irfft, (VECTOR,), {"n": 6}),
    ("sort", jnp.sort, (VECTOR,), {}),
    ("top_k", jax.lax.top_k, (VECTOR, 2), {}),
    ("take", jnp.take, (VECTOR, np.array([0, 2, 2])), {"axis": 0}),
    ("segment_sum", jax.ops.segment_sum, (VECTOR, np.array([0, 0, 1, 1])), {"num_segments": 2}),
    ("inv", jnp.linalg.inv, (MATRIX,), {}),
    ("cholesky", jnp.linalg.cholesky, (MATRIX,), {}),
    ("eigh", lambda x: jnp.linalg.eigh(x)[0], (MATRIX,), {}),
    ("qr", jnp.linalg.qr, (MATRIX,), {}),
    ("slogdet", jnp.linalg.slogdet, (MATRIX,), {}),
    ("solve", jnp.linalg.solve, (MATRIX, [1.0, 2.0, 3.0]), {}),
    ("expm", jsp.linalg.expm, (MATRIX,), {}),
    ("gammaln", jsp.special.gammaln, ([0.5, 2.0, 3.5],), {}),
    ("logsumexp", jsp.special.logsumexp, (MATRIX,), {"axis": 1, "keepdims": True}),
    ("norm.logpdf", jsp.stats.norm.logpdf, (VECTOR, 0.5, 2.0), {}),
    ("map_coordinates", lambda x: jsp.ndimage.map_coordinates(x, [jnp.array([0.5, 1.2])] * 2, 1), (MATRIX,), {}),
    ("convolve", jsp.signal.convolve, (VECTOR, [1.0, -1.0]), {}),
    ("gelu", jax.nn.gelu, (VECTOR,), {"approximate": False}),
    ("softmax", jax.nn.softmax, (MATRIX,), {"axis": -1}),
    ("dot_product_attention", jax.nn.dot_product_attention, ([[[VECTOR]]],) * 3, {"is_causal": True}),
    ("interp", jnp.interp, ([0.2, 0.7], [0.0, 1.0], [1.0, 3.0]), {}),
    ("einsum", functools.partial(jnp.einsum, "ij,jk->ik"), (MATRIX, MATRIX), {}),
    ("Pallas, interpreted", pallas_square, (VECTOR,), {}),
    ("arrays of its own", lambda x: x * jnp.arange(4) + jnp.zeros(4) + jnp.linspace(0, 1, 4), (VECTOR,), {}),
    ("a model's apply", norm_layer, ({"scale": VECTOR, "shift": VECTOR}, VECTOR), {"eps": 1e-3}),
    ("numerical random numbers", lambda x: x * jax.random.normal(jax.random.key(3), x.shape), (VECTOR,), {}),
]


def arrays_in(tree, make):
    """`tree` with each list of floats made an array; other lists do not occur."""
    if isinstance(tree, list):
        return make(np.array(tree, np.float32))
    if isinstance(tree, tuple):
        return tuple(arrays_in(each, make) for each in tree)
    return {key: arrays_in(each, make) for key, each in tree.items()} if isinstance(tree, dict) else tree


def weighted(tree):
    """A number that every element of a result goes into."""
    leaves = [each for each in jax.tree.leaves(tree) if jnp.issubdtype(each.dtype, jnp.inexact)]
    real = [jnp.real(each) + jnp.imag(each) for each in leaves]
    return sum((each * (0.5 + jnp.arange(each.size, dtype=each.dtype).reshape(each.shape) / 4)).sum() for each in real)


def test_there_are_forty():
    assert len(TABLE) >= 40


@pytest.mark.parametrize(("function", "given", "named"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_a_function_of_jax_is_an_operation_with_jaxs_gradients(function, given, named):
    tensors = arrays_in(given, lambda each: jaxvjp.tensor(each, requires_grad=True))
    leaves = leaves_of(tensors)
    result = jaxvjp.wrap(function)(*tensors, **named)
    arrays = arrays_in(given, jnp.asarray)
    expected = function(*arrays, **named)
    assert jax.tree.structure(expected) == jax.tree.structure(jax.tree.map(lambda each: 0, result, is_leaf=is_tensor))
    for each, one in zip(leaves_of(result), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(each.detach(), one, rtol=1e-5, atol=1e-5)
        assert str(each.dtype) == f"torch.{one.dtype}"
    jaxvjp.wrap(weighted)(result).backward()
    flat, tree = jax.tree.flatten(arrays)
    places = [place for place, each in enumerate(flat) if isinstance(each, jax.Array)]

    def loss(*differentiated):
        filled = list(flat)
        for place, each in zip(places, differentiated, strict=True):
            filled[place] = each
        return weighted(function(*jax.tree.unflatten(tree, filled), **named))

    gradients = jax.grad(loss, tuple(range(len(places))))(*[flat[place] for place in places])
    for each, gradient in zip(leaves, gradients, strict=True):
        np.testing.assert_allclose(each.grad, gradient, rtol=1e-4, atol=1e-5)


def is_tensor(value):
    return isinstance(value, jaxvjp.Tensor)


def leaves_of(tree):
    return [each for each in jax.tree.leaves(tree, is_leaf=is_tensor) if is_tensor(each)]


@pytest.fixture
def x():
    return jaxvjp.tensor(VECTOR, requires_grad=True)


def test_pytrees_go_in_and_out():
    tensors = {"w": jaxvjp.ones(2), "b": [jaxvjp.zeros(1)]}
    state = {"momentum": tensors, "count": jaxvjp.tensor(0)}
    moved, state = jaxvjp.wrap(updated)(tensors, tensors, state)
    np.testing.assert_allclose(moved["w"], [0.81, 0.81], rtol=1e-6)
    assert state["momentum"]["b"][0].tolist() == [0]
    assert state["count"].item() == 1


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Module:
    """A model that is a pytree, as equinox has them."""

    weight: Any
    name: str = dataclasses.field(metadata={"static": True})

    def __call__(self, x):
        return jnp.tanh(x * self.weight)


def test_a_model_that_is_a_pytree_is_an_argument(x):
    model = Module(jaxvjp.ones(4, requires_grad=True), "layer")
    y = jaxvjp.wrap(lambda model, x: model(x))(model, x)
    y.sum().backward()
    np.testing.assert_allclose(model.weight.grad, np.array(VECTOR) * (1 - np.tanh(VECTOR) ** 2), rtol=1e-5)
    moved = jaxvjp.wrap(lambda model: jax.tree.map(lambda each: each * 2, model))(model)
    assert isinstance(moved, Module)
    assert moved.weight.tolist() == [2] * 4
    model.weight.grad = None
    jaxvjp.wrap(model)(x).sum().backward()  # it cannot be hashed, as it has arrays
    np.testing.assert_allclose(model.weight.grad, np.array(VECTOR) * (1 - np.tanh(VECTOR) ** 2), rtol=1e-5)


def test_it_is_batched_and_differentiated_by_func(x):
    sine = jaxvjp.wrap(jnp.sin)
    assert jaxvjp.vmap(jaxvjp.wrap(jnp.cumsum))(jaxvjp.ones(2, 3)).tolist() == [[1, 2, 3]] * 2
    hessian = jaxvjp.func.hessian(lambda v: sine(v).sum())(x.detach())
    np.testing.assert_allclose(hessian, -np.diag(np.sin(VECTOR)), rtol=1e-5, atol=1e-6)
    _, tangent = jaxvjp.func.jvp(sine, (x.detach(),), (jaxvjp.ones(4),))
    np.testing.assert_allclose(tangent, np.cos(VECTOR), rtol=1e-6)
    (first,) = jaxvjp.autograd.grad(sine(x).sum(), x, create_graph=True)
    (second,) = jaxvjp.autograd.grad(first.sum(), x)
    np.testing.assert_allclose(second, -np.sin(VECTOR), rtol=1e-5, atol=1e-6)


def test_it_is_recorded_and_costs_no_dispatch(x):
    def step():
        (jaxvjp.wrap(jax.nn.gelu)(x * 2).sin() * 3).sum().backward()

    step(), step()
    before = counters.dispatches, counters.compiles
    x.grad = None
    step()
    assert (counters.dispatches, counters.compiles) == (before[0] + 1, before[1])


def test_it_is_named_in_the_graph_and_explained_by_its_name(x):
    y = jaxvjp.wrap(jax.nn.gelu)(x, approximate=False)
    assert y.grad_fn.name() == "GeluBackward0"
    z = y.sum() + jaxvjp.wrap(norm_layer)({"scale": x, "shift": 1.0}, x)["mean"][0]
    explanation = z.explain()
    assert "jax.nn.gelu(x, approximate=False)" in explanation.source
    assert "jax.tree.leaves(norm_layer({'scale': x, 'shift': 1.0}, x))" in explanation.source
    explanation.check()


def test_it_is_staged(x):
    step = jaxvjp.jit(lambda v: jaxvjp.wrap(jnp.sin)(v) * 2)
    for _ in range(3):
        np.testing.assert_allclose(step(x).detach(), 2 * np.sin(VECTOR), rtol=1e-6)
    step(x).sum().backward()
    np.testing.assert_allclose(x.grad, 2 * np.cos(VECTOR), rtol=1e-6)


def test_static_arguments_that_are_equal_but_of_other_types_are_told_apart():
    def same(x, value):
        return x + (1.0 if value is True else 2.0 if isinstance(value, int) else 3.0)

    wrapped, zero = jaxvjp.wrap(same), jaxvjp.zeros(())
    assert [wrapped(zero, each).item() for each in (True, 1, 1.0, True)] == [1, 2, 3, 1]
    signs = jaxvjp.wrap(lambda x, value: x + np.copysign(1, value))
    assert [signs(zero, each).item() for each in (0.0, -0.0)] == [1, -1]


def test_its_types_are_those_that_its_author_expects(x):
    made = jaxvjp.wrap(lambda v, i: (v + jnp.zeros(4), jnp.arange(3) + i[0]))
    a, b = made(x, jaxvjp.tensor([1, 2]))
    assert (a.dtype, b.dtype) == (jaxvjp.float32, jaxvjp.int32)
    a, b = made(x.double(), jaxvjp.tensor([1, 2]))
    assert (a.dtype, b.dtype) == (jaxvjp.float64, jaxvjp.int64)
    with jax.enable_x64(True):
        assert made(x, jaxvjp.tensor([1, 2]))[1].dtype is jaxvjp.int64


def test_autocast_leaves_it_alone(x):
    with jaxvjp.autocast("cpu"):
        assert jaxvjp.wrap(jnp.matmul)(x, x).dtype is jaxvjp.float32


def test_a_function_that_writes_is_refused_and_nothing_is_written(x):
    state = jaxvjp.zeros(4)
    for impure in (lambda v: (state.add_(1), v)[1], lambda v: (state.copy_(v), v)[1]):
        with pytest.raises((RuntimeError, TypeError), match=r"mutate a captured Tensor|must be Tensor, not"):
            jaxvjp.wrap(impure)(x)
    assert state.tolist() == [0] * 4
    assert state._version == 0


def test_a_gradient_of_what_it_closes_over_is_not_lost(x):
    with pytest.raises(RuntimeError, match="JAX would lose its gradient"):
        jaxvjp.wrap(lambda v: jnp.multiply(v, x))(jaxvjp.ones(4))


def test_a_value_that_is_read_is_refused_with_the_line(x):
    with pytest.raises(jax.errors.TracerBoolConversionError, match=r"`jax\.lax\.cond`") as caught:
        jaxvjp.wrap(lambda v: v if v.sum() > 0 else -v)(x)
    assert re.search(rf"It happened in line \d+ of {re.escape(__file__)}:\n    jaxvjp.wrap", str(caught.value))
    with pytest.raises(jax.errors.ConcretizationTypeError, match="can't read the values"):
        jaxvjp.wrap(jnp.arange)(x.sum())


def test_what_is_no_function_is_not_wrapped():
    with pytest.raises(TypeError, match="takes a JAX function, not int"):
        jaxvjp.wrap(3)


@pytest.mark.parametrize("result", ["text", object()])
def test_a_result_that_is_no_array_is_refused(x, result):
    with pytest.raises(TypeError, match=f"returned a {type(result).__name__}"):
        jaxvjp.wrap(lambda v: result)(x)


def test_a_static_argument_that_cannot_be_hashed_is_refused(x):
    with pytest.raises(TypeError, match=r"argument of type set .* cannot be hashed\n.*functools.partial"):
        jaxvjp.wrap(lambda v, s: v)(x, {1, 2})


def test_a_function_may_return_nothing(x):
    assert jaxvjp.wrap(lambda v: None)(x) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert jaxvjp.wrap(lambda v: {})(x) == {}


def test_an_effect_is_not_lost(x, capfd):
    nothing = jaxvjp.wrap(lambda v: jax.debug.print("{}", v.sum()))
    nothing(x.detach())
    jax.block_until_ready(jax.jit(jaxvjp.functional(lambda v: (nothing(v), v * 2)[1]))(jnp.ones(3)))
    jax.effects_barrier()
    assert capfd.readouterr().out == f"{x.detach().sum().item()}\n3.0\n"
    with pytest.raises(RuntimeError, match=r"`x = torch.wrap\(lambda x: \(jax.debug.print") as refused:
        jaxvjp.scan(lambda c, v: (c + v, nothing(c)), jaxvjp.zeros(()), x.detach())
    advice = str(refused.value).split("`")[1::2]
    space = {"torch": jaxvjp, "jax": jax}
    (line,) = [each for each in advice if "debug.print" in each]

    def body(carry, value):
        space["x"] = value
        exec(line, space)
        return carry + space["x"], None

    assert jaxvjp.scan(body, jaxvjp.zeros(()), jaxvjp.ones(2))[0].item() == 2
    jax.effects_barrier()
    assert capfd.readouterr().out == "1.0\n1.0\n"


def test_a_module_of_equinox_and_a_step_of_optax(x):
    """Where they are installed: `pip install equinox optax`."""
    equinox, optax = pytest.importorskip("equinox"), pytest.importorskip("optax")
    parts = equinox.partition(equinox.nn.MLP(4, 2, 8, 1, key=jax.random.key(0)), equinox.is_inexact_array)

    def loss(parameters, x):
        return (equinox.combine(parameters, parts[1])(x) ** 2).sum()

    tensors = jax.tree.map(lambda each: jaxvjp.from_jax(each, requires_grad=True), parts[0])
    jaxvjp.wrap(loss)(tensors, x).backward()
    for each, gradient in zip(
        leaves_of(tensors), jax.tree.leaves(jax.grad(loss)(parts[0], x.detach().jax())), strict=True
    ):
        np.testing.assert_allclose(each.grad, gradient, rtol=1e-5, atol=1e-6)
    rule, weights = optax.adam(0.1), {"w": x.detach()}
    updates, state = jaxvjp.wrap(rule.update)({"w": jaxvjp.ones(4)}, rule.init(weights))
    expected, _ = rule.update({"w": jnp.ones(4)}, rule.init({"w": jnp.array(VECTOR)}))
    np.testing.assert_allclose(updates["w"], expected["w"], rtol=1e-6)
    assert state[0].count.item() == 1


def test_what_it_reads_from_outside_has_the_value_of_the_call():
    """Not that of the moment in which the result is computed, which may be much later."""
    x, scale, results = jaxvjp.ones(2), jaxvjp.ones(2), []
    for factor in (1.0, 2.0, 3.0):
        results.append(jaxvjp.wrap(lambda v: v * factor)(x))  # noqa: B023 - each is traced before the next
    scaled = jaxvjp.wrap(lambda v: jnp.multiply(v, scale))(x)
    scale.mul_(10)
    assert [each.tolist() for each in results] == [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]
    assert scaled.tolist() == [1.0, 1.0]


def test_python_runs_once_for_each_kind_of_argument(x):
    runs = []
    counted = jaxvjp.wrap(lambda v: (runs.append(v.shape), jnp.sin(v))[1])
    for _ in range(3):
        counted(x).sum().backward()
    counted(x[:2]).tolist()
    assert runs == [(4,), (2,)]


def test_a_key_of_jax_random_is_an_argument(x):
    noisy = jaxvjp.wrap(lambda params, key: params["x"] + jax.random.normal(key["dropout"], params["x"].shape))
    for key in (jax.random.key(0), jax.random.key(1), jax.random.key(1, impl="rbg"), jax.random.PRNGKey(1)):
        y = noisy({"x": x}, {"dropout": key})
        np.testing.assert_allclose(y.detach(), np.array(VECTOR) + jax.random.normal(key, (4,)), rtol=1e-5, atol=1e-6)
    y.sum().backward()
    assert x.grad.tolist() == [1.0] * 4
    explanation = noisy({"x": x}, {"dropout": jax.random.key(3)}).sum().explain()
    assert "jax.random.wrap_key_data(jnp.array([0, 3], dtype=jnp.uint32), impl='threefry2x32')" in explanation.source
    explanation.check()
    with pytest.raises(TypeError, match=r"returned a key of jax.random.*\n.*jax.random.key_data"):
        jaxvjp.wrap(jax.random.split)(jax.random.key(0))


def test_functions_over_devices_are_operations(x):
    mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    shards = jax.shard_map(jnp.sin, mesh=mesh, in_specs=jax.P("i"), out_specs=jax.P("i"))
    for function, given in ((shards, x), (jax.pmap(jnp.sin), x[None])):
        y = jaxvjp.wrap(function)(given)
        np.testing.assert_allclose(y.detach().reshape(-1), np.sin(VECTOR), rtol=1e-6)
        x.grad = None
        y.sum().backward()
        np.testing.assert_allclose(x.grad, np.cos(VECTOR), rtol=1e-6)


def test_a_module_of_flax_is_trained_by_optax():
    """Where they are installed: `pip install flax optax`."""
    linen, optax = pytest.importorskip("flax.linen"), pytest.importorskip("optax")
    model = linen.Sequential([linen.Dense(8), linen.relu, linen.Dropout(0.5, deterministic=False), linen.Dense(1)])
    x, rule = jaxvjp.ones(4, 3), optax.adam(0.05)
    parameters = model.init({"params": jax.random.key(0), "dropout": jax.random.key(1)}, jnp.ones((4, 3)))
    ours = jax.tree.map(lambda each: jaxvjp.from_jax(each, requires_grad=True), parameters)
    apply, update, state = jaxvjp.wrap(model.apply), jaxvjp.wrap(rule.update), rule.init(parameters)
    theirs, theirs_state = parameters, state

    def loss_of(given, key):
        return (model.apply(given, jnp.ones((4, 3)), rngs={"dropout": key}) ** 2).mean()

    for key in jax.random.split(jax.random.key(2), 5):
        loss = (apply(ours, x, rngs={"dropout": key}) ** 2).mean()
        loss.backward()
        with jaxvjp.no_grad():
            moves, state = update(jax.tree.map(lambda each: each.grad, ours, is_leaf=is_tensor), state)
            for each, move in zip(leaves_of(ours), leaves_of(moves), strict=True):
                each += move
                each.grad = None
        value, gradients = jax.value_and_grad(loss_of)(theirs, key)
        moves, theirs_state = rule.update(gradients, theirs_state)
        theirs = optax.apply_updates(theirs, moves)
        np.testing.assert_allclose(loss.item(), value, rtol=1e-5)
    for each, one in zip(leaves_of(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(each.detach(), one, rtol=1e-4, atol=1e-6)
