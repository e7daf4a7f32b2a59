"""JAX's arrays as tensors, tensors as JAX's arrays, and tensors in JAX's pytrees."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvjp
from jaxvjp.tensor import apply


def pointer(array):
    return array.unsafe_buffer_pointer()


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int32", "bool", "complex64"])
def test_arrays_come_in_and_go_out_without_a_copy(kind):
    array = jnp.arange(4).astype(kind)
    x = jaxvjp.from_jax(array)
    assert x.dtype is getattr(jaxvjp, kind)
    assert pointer(x.jax()) == pointer(array) == pointer(jaxvjp.asarray(array).jax())
    assert pointer(jaxvjp.as_tensor(array).jax()) == pointer(array)
    assert jaxvjp.tensor(array).tolist() == jaxvjp.asarray(array, copy=True).tolist() == x.tolist()


def test_a_computed_value_goes_out_without_a_copy():
    y = jaxvjp.from_jax(jnp.arange(3.0)) * 2
    assert pointer(y.jax()) == pointer(y.jax()) == pointer(y.value)


def test_a_write_to_the_tensor_leaves_the_array_alone():
    array = jnp.arange(3.0)
    x = jaxvjp.from_jax(array)
    x += 1
    assert x.tolist() == [1, 2, 3]
    assert array.tolist() == [0, 1, 2]


def test_a_leaf_may_require_a_gradient():
    w = jaxvjp.from_jax(jnp.arange(3.0), requires_grad=True)
    (w * w).sum().backward()
    assert w.is_leaf
    assert w.grad.tolist() == [0, 2, 4]
    with pytest.raises(RuntimeError, match="floating point"):
        jaxvjp.from_jax(jnp.arange(3), requires_grad=True)


@pytest.mark.parametrize("data", [np.ones(2), [1.0], jax.random.key(0)], ids=["NumPy", "list", "key"])
def test_what_is_no_array_of_jax_is_refused(data):
    with pytest.raises(TypeError, match=r"expected jax\.Array"):
        jaxvjp.from_jax(data)


def test_a_tracer_is_refused_with_what_to_write():
    with pytest.raises(TypeError, match=r"got a tracer\)\n.*@jaxvjp.functional"):
        jax.jit(lambda v: jaxvjp.from_jax(v))(jnp.ones(3))


def test_what_jax_computes_in_a_function_of_tensors_becomes_one():
    @jaxvjp.functional
    def noisy(key, x):
        return x + jaxvjp.from_jax(jax.random.normal(key, (3,)))

    key = jax.random.key(0)
    for function in (noisy, jax.jit(noisy)):
        np.testing.assert_array_equal(function(key, jnp.zeros(3)), jax.random.normal(key, (3,)))


def test_keys_and_pytrees_are_told_what_crosses():
    keys = jax.random.split(jax.random.key(0), 3)
    for call in (jaxvjp.from_jax, lambda keys: jaxvjp.scan(lambda c, k: (c, k), jaxvjp.zeros(()), keys)):
        with pytest.raises((TypeError, RuntimeError), match=r"jaxvjp.from_jax\(jax.random.key_data\(key\)\)"):
            call(keys)
    with pytest.raises(TypeError, match=r"\nOf a pytree each: `jax.tree.map\(jaxvjp.from_jax, tree\)`"):
        jaxvjp.from_jax({"a": jnp.ones(3)})


def test_a_weak_type_becomes_a_type_for_good_in_the_same_memory():
    weak = jnp.asarray(2.0)
    assert weak.weak_type
    x = jaxvjp.from_jax(weak)
    assert not x.jax().weak_type
    assert pointer(x.jax()) == pointer(weak)
    assert (x.bfloat16().jax() * x.jax()).dtype == jnp.float32


def test_64_bits_stay_and_functions_see_integers_as_jax_has_them():
    i, d = jaxvjp.tensor([1, 2]), jaxvjp.tensor([1.0, 2.0], dtype=jaxvjp.float64)
    assert i.jax().dtype == jnp.int64
    assert jnp.add(i, 1).dtype == jnp.int32
    assert jnp.sin(d).dtype == d.jax().dtype == jnp.float64
    assert jax.tree.map(lambda each: each, {"i": i})["i"].dtype is jaxvjp.int64
    with jax.enable_x64(True):
        assert jnp.add(i, 1).dtype == jnp.int64
        assert jaxvjp.from_jax(jnp.arange(2)).dtype is jaxvjp.int64


def test_functions_of_jax_take_tensors():
    x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
    for given in (x.data, x.detach(), x.detach() * 1):
        assert isinstance(jnp.sin(given), jax.Array)
        np.testing.assert_allclose(jnp.sin(given), np.sin([1, 2]), rtol=1e-6)
    assert isinstance(x.detach() * jnp.ones(2), jax.Array)
    assert isinstance(jnp.ones(2) * x.detach(), jax.Array)


@pytest.mark.parametrize(
    "use",
    [
        jnp.sin,
        jnp.asarray,
        jax.tree.leaves,
        jax.jit(lambda v: v),
        jax.grad(jnp.sum),
        jax.vmap(jnp.cos),
        lambda x: x * jnp.ones(2),
        lambda x: x.jax(),
    ],
)
def test_a_gradient_is_not_lost_unnoticed(use):
    w = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
    for given in (w, w * 2):
        with pytest.raises(RuntimeError, match="JAX would lose its gradient") as caught:
            use(given)
        assert re.search(
            rf"Its gradient is that of what was made by line \d+ of {re.escape(__file__)}", str(caught.value)
        )
        with jaxvjp.no_grad():
            use(given)
    with jaxvjp.no_grad():
        w.mul_(2)
    with pytest.raises(RuntimeError, match=r"what was last written by line .*\n    w.mul_\(2\)"):
        use(w)


def test_neither_is_that_of_a_leaf_beside_what_jax_traces():
    w = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="JAX would lose its gradient"):
        jax.jit(lambda t: (t * w).sum())(jaxvjp.ones(2))
    with jaxvjp.no_grad():
        assert jax.jit(lambda t: (t * w).sum())(jaxvjp.ones(2)).item() == 3


def test_meta_tensors_have_no_array():
    with pytest.raises(NotImplementedError, match="no data"):
        jaxvjp.ones(2, device="meta").jax()


class Named(jaxvjp.Tensor):
    pass


@pytest.mark.parametrize("kind", [jaxvjp.Tensor, jaxvjp.nn.Parameter, Named])
def test_tensors_are_nodes_of_pytrees(kind):
    tensor = jaxvjp.tensor([1.0, 2.0])
    tree = {"a": tensor if kind is jaxvjp.Tensor else tensor.as_subclass(kind), "b": [jaxvjp.ones(2, 3), 4]}
    leaves, structure = jax.tree.flatten(tree)
    assert [type(each).__name__ for each in leaves] == ["ArrayImpl", "ArrayImpl", "int"]
    again = jax.tree.unflatten(structure, leaves)
    assert isinstance(again["a"], jaxvjp.Tensor)
    doubled = jax.tree.map(lambda each: each * 2, tree)
    assert doubled["a"].tolist() == [2, 4]
    assert doubled["b"][1] == 8
    assert jax.tree.map(jnp.shape, tree) == {"a": (2,), "b": [(2, 3), ()]}
    assert jax.tree.map(lambda each: each + 1, tree["b"][0]).shape == (2, 3)


def test_parameters_of_a_model_are_updated_as_a_tree():
    model = jaxvjp.nn.Linear(3, 2)
    model(jaxvjp.ones(4, 3)).sum().backward()
    parameters = {name: each.detach() for name, each in model.named_parameters()}
    gradients = {name: each.grad for name, each in model.named_parameters()}
    moved = jax.tree.map(lambda w, g: w - 0.1 * g, parameters, gradients)
    for name, each in moved.items():
        np.testing.assert_allclose(each, parameters[name] - 0.1 * gradients[name], rtol=1e-6)
    with jaxvjp.no_grad():
        assert jax.tree.map(jnp.shape, dict(model.named_parameters())) == {"weight": (2, 3), "bias": (2,)}


def test_jaxs_transforms_take_tensors_and_functions_of_them():
    x = jaxvjp.tensor([1.0, 2.0])
    assert jax.jit(lambda t: (t.sin() * 2).sum())(x).item() == pytest.approx(2 * np.sin([1, 2]).sum())
    assert jax.grad(lambda t: (t * t.detach()).sum().jax())(x).tolist() == [1, 2]
    assert jax.vmap(lambda t: t.sum() * jnp.ones(3))(jaxvjp.ones(4, 2)).shape == (4, 3)
    assert jax.jit(lambda tree: {"s": tree["x"].softmax(0), "n": 3})({"x": x})["n"] == 3


def test_a_trace_does_not_see_through_no_grad():
    def loss(t):
        with jaxvjp.no_grad():
            constant = t * 3
        return (t * constant).sum().jax()

    assert jax.grad(loss)(jaxvjp.tensor([1.0, 2.0])).tolist() == [3, 6]


def test_checks_of_values_are_left_out_while_jax_traces(monkeypatch):
    monkeypatch.setattr(apply, "UNTRACKED_LIMIT", 1)
    table, places = jaxvjp.arange(6.0).reshape(3, 2), jaxvjp.tensor([2, 0])
    assert jax.jit(lambda i: table[(i + 1) % 3].sum(0))(places).tolist() == [2, 4]
    assert jax.vmap(lambda i: jaxvjp.nn.functional.embedding(i, table))(places).tolist() == [[4, 5], [0, 1]]


def test_jaxvjps_own_trees_keep_tensors_as_leaves():
    x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
    gradient = jaxvjp.func.grad(lambda tree: (tree["w"] * tree["v"][0]).sum())({"w": x, "v": [x * 2]})
    assert gradient["w"].tolist() == [2, 4]


@pytest.mark.parametrize(
    "data",
    [
        [jnp.ones(2), jnp.zeros(2)],
        [jnp.float32(2), jnp.asarray(1)],
        [[1.5, 2.0], [3.0, jnp.float32(4)]],
        (jnp.arange(3), [1, 2, 3]),
    ],
    ids=["arrays", "numbers", "a number", "an array"],
)
def test_a_list_of_arrays_is_data(data):
    of_numpy = jax.tree.map(lambda each: np.asarray(each)[()] if isinstance(each, jax.Array) else each, data)
    x, expected = jaxvjp.tensor(data), jaxvjp.tensor(of_numpy)
    assert x.tolist() == expected.tolist()
    assert x.dtype is expected.dtype
    with pytest.raises(ValueError, match="expected sequence of length 2 at dim 1"):
        jaxvjp.tensor([jnp.ones(2), jnp.ones(3)])
    with pytest.raises(TypeError, match="traced array"):
        jax.jit(lambda v: jaxvjp.tensor([v, v]))(1.0)


def test_an_array_is_an_index():
    x = jaxvjp.arange(5)
    assert x[jnp.array([1, 2])].tolist() == [1, 2]
    assert x[jnp.arange(5) > 2].tolist() == [3, 4]
    assert x[jnp.asarray(2)].item() == 2
    x[jnp.array([0])] = 9
    assert x.tolist() == [9, 1, 2, 3, 4]


def test_a_key_is_refused_with_what_to_write():
    key = jax.random.key(0)
    for call in (lambda: jaxvjp.from_jax(key), lambda: jaxvjp.randn(key, (2,))):
        with pytest.raises(TypeError, match=r"jaxvjp\.wrap\(jax\.random\.normal\)\(key\)(.|\n)*random\.key_data"):
            call()
    assert jaxvjp.wrap(jax.random.normal)(key, (2,)).shape == (2,)
    assert jaxvjp.from_jax(jax.random.key_data(key)).tolist() == [0, 0]


def test_a_key_passes_through_a_function_in_torchs_words():
    def step(carry, x):
        key, h = carry
        key, own = jax.random.split(key)
        return (key, h + x * jaxvjp.wrap(jax.random.normal)(own, (3,))), h.sum()

    def by_hand(carry, x):
        key, h = carry
        key, own = jax.random.split(key)
        return (key, h + x * jax.random.normal(own, (3,))), h.sum()

    begin = (jax.random.key(0), jnp.zeros(3)), jnp.arange(3.0)
    (key, h), sums = jax.lax.scan(jaxvjp.functional(step), *begin)
    (expected_key, expected_h), expected_sums = jax.lax.scan(by_hand, *begin)
    assert (jax.random.key_data(key) == jax.random.key_data(expected_key)).all()
    np.testing.assert_allclose([*h, *sums], [*expected_h, *expected_sums], rtol=1e-5)


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit, jax.grad, jax.vmap])
def test_numpys_double_precision_is_single_where_jaxs_64_bit_types_are_off(transform):
    square = jaxvjp.functional(lambda v: (v * v).sum())
    data = np.ones((2, 3)) if transform is jax.vmap else np.ones(3)
    assert transform(square)(data).dtype == transform(lambda v: (v * v).sum())(jnp.asarray(data)).dtype == np.float32


def test_one_tensor_twice_is_refused():
    w = jaxvjp.ones(2, requires_grad=True)
    for take in (jaxvjp.as_function, jaxvjp.pullback):
        with pytest.raises(ValueError, match=r"tensors 0 and 1 of `wrt` are one tensor(.|\n)*Name it once"):
            take((w**2).sum(), [w, w])
