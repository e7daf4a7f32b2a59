"""The recorded program as a JAX function: `as_function`, `pullback`, `jaxpr`, `lowered`, `jax.export`."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvjp
from jaxvjp.autograd import Function
from jaxvjp.utils.checkpoint import checkpoint


def leaf(*values, **named):
    return jaxvjp.tensor(list(values), requires_grad=True, **named)


def close(given, expected):
    np.testing.assert_allclose(np.asarray(given), np.asarray(expected), rtol=1e-5, atol=1e-6)


@pytest.fixture
def recorded():
    w, b, x = leaf(0.5, -1.5), leaf(2.0), jaxvjp.tensor([1.0, 3.0])
    return ((x * w).sin() * x + b).sum(), w, b, x


def pure(w, b):
    x = jnp.array([1.0, 3.0])
    return (jnp.sin(x * w) * x + b).sum()


def test_it_is_a_function_that_jax_transforms(recorded):
    y, w, b, _ = recorded
    f = jaxvjp.as_function(y, wrt=[w, b])
    for operands in (f.operands, (jnp.array([2.0, 0.1]), jnp.array([-1.0]))):
        close(f(*operands), pure(*operands))
        close(jax.jit(f)(*operands), pure(*operands))
        for given, expected in zip(jax.grad(f, (0, 1))(*operands), jax.grad(pure, (0, 1))(*operands), strict=True):
            close(given, expected)
        close(jax.hessian(f)(*operands), jax.hessian(pure)(*operands))
        close(jax.jvp(f, operands, operands), jax.jvp(pure, operands, operands))
    many = jnp.arange(6.0).reshape(3, 2)
    close(jax.vmap(f, in_axes=(0, None))(many, f.operands[1]), jax.vmap(pure, in_axes=(0, None))(many, f.operands[1]))


def test_its_gradient_is_that_of_backward(recorded):
    y, w, b, _ = recorded
    f = jaxvjp.as_function(y, [w, b])
    expected = jaxvjp.autograd.grad(y, [w, b])
    for given, each in zip(jax.grad(f, (0, 1))(*f.operands), expected, strict=True):
        close(given, each.tolist())


def test_the_operands_are_todays(recorded):
    y, w, b, _ = recorded
    f = jaxvjp.as_function(y, [w, b])
    before = y.item()
    with jaxvjp.no_grad():
        w += 1
    close(f.operands[0], [1.5, -0.5])
    close(f(jnp.array([0.5, -1.5]), f.operands[1]), before)
    later = jaxvjp.as_function(y, [w, b])
    close(later(*later.operands), pure(*later.operands))


def test_all_else_is_bound_and_more_outputs_have_a_structure(recorded):
    y, w, _, x = recorded
    z = (w * x).exp()
    f = jaxvjp.as_function({"y": y, "z": [z]}, [w])
    x += 100  # a write, after it was read
    given = f(jnp.array([0.5, -1.5]))
    close(given["y"], y.item())
    close(given["z"][0], z.detach())


def test_an_intermediate_value_may_be_the_argument():
    w = leaf(1.0, 2.0)
    middle = w * 3
    f = jaxvjp.as_function((middle * middle).sum() + w.sum(), [middle])
    close(f(jnp.ones(2)), 5)
    close(jax.grad(f)(jnp.ones(2)), [2, 2])


def test_where_torch_stops_jax_stops():
    w = leaf(1.0, 2.0)
    middle = w * 1
    with jaxvjp.no_grad():
        constant = middle * 3
    f = jaxvjp.as_function((middle * constant + middle.detach() * middle).sum(), [w])
    close(f(jnp.array([2.0, 5.0])), 4 * (4 + 25))
    close(jax.grad(f)(jnp.array([2.0, 5.0])), [8, 20])


def test_a_staged_step_and_a_checkpoint_stop_where_they_did():
    def step(v):
        with jaxvjp.no_grad():
            constant = v * 3
        return v * constant

    w, staged = leaf(1.0, 2.0), jaxvjp.jit(step)
    for _ in range(3):
        y = staged(w).sum() + checkpoint(step, w, use_reentrant=False).sum()
        f = jaxvjp.as_function(y, [w])
        close(jax.grad(f)(jnp.array([1.0, 2.0])), jaxvjp.autograd.grad(y, w)[0].tolist())


def test_integers_are_those_of_jax_in_its_traces():
    w, target = leaf(0.1, 0.2, 0.3, 0.4), jaxvjp.tensor([2, 0])
    scores = w.reshape(2, 2) @ jaxvjp.ones(2, 3) * jaxvjp.tensor([1.0, 2.0, 3.0])
    y = jaxvjp.nn.functional.cross_entropy(scores, target) + scores[:, target].sum() + scores.sort(1).values[0, 0]
    f = jaxvjp.as_function(y, [w])
    close(jax.jit(jax.grad(f))(*f.operands), jaxvjp.autograd.grad(y, w)[0].tolist())


def test_double_precision_is_exact_and_a_trace_says_what_it_needs():
    w = leaf(1.0, 2.0, dtype=jaxvjp.float64)
    f = jaxvjp.as_function((w / 3).sum(), [w])
    assert float(f(*f.operands)) == (w / 3).sum().item()
    with pytest.raises(TypeError, match=r"double precision.*\n.*jax.enable_x64"):
        jax.jit(f)(*f.operands)
    with jax.enable_x64(True):
        assert float(jax.jit(f)(*f.operands)) == (w / 3).sum().item()


def test_arguments_of_another_shape_or_dtype_are_refused(recorded):
    y, w, _, _ = recorded
    f = jaxvjp.as_function(y, [w])
    for wrong in (jnp.ones(3), jnp.ones(2, int), jnp.ones(2, jnp.bfloat16)):
        with pytest.raises(TypeError, match=r"argument 0 of the recorded function is .*, and was recorded as float32"):
            f(wrong)
    with pytest.raises(TypeError, match="takes 1 arrays, not 2"):
        f(jnp.ones(2), jnp.ones(2))
    scalar = leaf(3.0)[0]
    close(jaxvjp.as_function(scalar * 2, [scalar])(4), 8)  # of a weak type, like Python's numbers
    assert repr(f) == "<function of float32[2], recorded up to Sum>"


def test_what_is_not_in_the_graph_is_refused(recorded):
    y, w, _, _ = recorded
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        jaxvjp.as_function(y, [w, leaf(1.0)])


def test_a_freed_graph_is_refused():
    w = leaf(1.0, 2.0)
    y = (w * w).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        jaxvjp.as_function(y, [w])


class Doubled(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 5


def test_a_custom_function_is_refused_as_jax_would_ignore_its_backward():
    w = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match=r"custom autograd\.Function behind DoubledBackward"):
        jaxvjp.as_function(Doubled.apply(w).sum(), [w])


def test_a_pullback_is_a_value(recorded):
    _, w, b, x = recorded
    y = (x * w).sin() * x + b
    p = jaxvjp.pullback(y, [w, b])
    for v in ([1.0, 0.0], [0.5, 2.0]):
        expected = [each.tolist() for each in jaxvjp.autograd.grad(y, [w, b], jaxvjp.tensor(v), retain_graph=True)]
        for given in (p(jnp.array(v)), p(jaxvjp.tensor(v)), jax.jit(lambda p, v: p(v))(p, jnp.array(v))):
            assert isinstance(given, tuple)
            for each, one in zip(given, expected, strict=True):
                close(each, one)
    rows = jax.vmap(p)(jnp.eye(2))[0]
    close(rows, jax.jacrev(lambda w: jnp.sin(jnp.array([1.0, 3.0]) * w) * jnp.array([1.0, 3.0]))(w.detach().jax()))
    leaves, tree = jax.tree.flatten(p)
    assert leaves
    close(jax.tree.unflatten(tree, leaves)(jnp.ones(2))[1], [2])
    with pytest.raises(TypeError, match="takes 1 arrays, not 2"):
        p((jnp.ones(2), jnp.ones(2)))


@pytest.mark.parametrize("kind", ["complex64", "complex128", "float64"])
def test_a_pullback_gives_what_autograd_grad_gives(kind):
    z = jaxvjp.tensor([1.0, -2.0], dtype=getattr(jaxvjp, kind)) * (1 + 2j if "complex" in kind else 1)
    z.requires_grad_()
    v = jaxvjp.tensor([1.0, 0.5], dtype=z.dtype)
    y = z * z * z
    (given,) = jaxvjp.pullback(y, [z])(v)
    assert given.dtype == kind
    close(given, jaxvjp.autograd.grad(y, z, v)[0].tolist())


def test_several_outputs_have_one_pullback():
    w = leaf(1.0, 2.0)
    p = jaxvjp.pullback({"a": w * 2, "b": w.sum()}, [w])
    close(p({"a": jnp.ones(2), "b": 10.0})[0], [12, 12])


def test_jaxpr_and_lowered_show_the_program(recorded):
    y, w, b, _ = recorded
    assert [str(each.aval) for each in y.jaxpr().jaxpr.invars] == ["float32[2]", "float32[1]"]
    assert "sin" in str(y.jaxpr([b, w]))
    assert "stablehlo.sine" in y.lowered().as_text()
    close(y.lowered().compile()(w.detach().jax(), b.detach().jax()), y.item())
    assert [str(each.aval) for each in (w.double() * 2).sum().jaxpr().jaxpr.outvars] == ["float64[]"]


def test_it_is_exported(recorded):
    y, w, b, _ = recorded
    f = jaxvjp.as_function(y, [w, b])
    exported = jax.export.export(jax.jit(f))(*f.operands)
    assert "stablehlo.sine" in exported.mlir_module()
    close(exported.call(*f.operands), y.item())


def test_numbers_and_the_integers_that_jax_has_are_arguments():
    w, index = leaf(1.0, 2.0, 4.0), jaxvjp.tensor([0, 2])
    count, exact = jaxvjp.tensor(3), jaxvjp.tensor(1.0, dtype=jaxvjp.float64, requires_grad=True)
    f = jaxvjp.as_function((w[index] * count).sum(), [w, index, count])
    narrow = jnp.array([0, 1])
    assert narrow.dtype == jnp.int32
    for each in (f, jax.jit(f)):
        assert float(each(jnp.ones(3), narrow, 4)) == 8.0
        assert float(each(*f.operands)) == 15.0
    assert jax.vmap(f, (None, 0, None))(jnp.arange(3.0), jnp.array([[0, 1], [1, 2]]), 2).tolist() == [2.0, 6.0]
    g = jaxvjp.as_function(exact * 3, [exact])
    assert g(0.1).dtype == jnp.float64
    assert float(g(0.1)) == 0.1 * 3
    with jax.enable_x64(True):
        assert float(jax.jit(g)(0.1)) == 0.1 * 3
        with pytest.raises(TypeError, match=r"argument 1 .* is int32\[2\], and was recorded as int64\[2\]"):
            f(jnp.ones(3, jnp.float32), narrow, 4)
    with pytest.raises(TypeError, match=r"is float32\[\], and was recorded as float64"):
        g(jnp.float32(2))


def test_what_it_is_a_function_of_is_one_tensor_or_any_number_of_them():
    layer, x = jaxvjp.nn.Linear(3, 2), jaxvjp.ones(3)
    f = jaxvjp.as_function(layer(x).sum(), layer.parameters())
    assert float(f(jnp.ones((2, 3)), jnp.ones(2))) == 8.0
    w = leaf(1.0, 2.0)
    assert jaxvjp.as_function((w * w).sum(), w)(jnp.ones(2)) == 2.0
    assert jaxvjp.pullback(w * w, w)(jnp.ones(2))[0].tolist() == [2.0, 4.0]
    assert len((w * w).jaxpr(w).jaxpr.invars) == 1
    with pytest.raises(TypeError, match="wrt of a recorded function are tensors, and one is a str"):
        jaxvjp.as_function(w.sum(), "w")
    with pytest.raises(TypeError, match="outputs of a recorded function are tensors, and one is a float"):
        jaxvjp.pullback([w, 1.0], [w])


def test_a_leaf_that_nobody_holds_is_an_argument_of_the_jaxpr():
    y = (lambda x: (x.sin() * x).sum())(leaf(1.0, 2.0))
    assert [each.primitive.name for each in y.jaxpr().eqns] == ["sin", "mul", "reduce_sum"]
