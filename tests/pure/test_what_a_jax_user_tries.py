"""What somebody who comes from JAX tries first: it works, or the error says what does."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvjp as torch

optax = pytest.importorskip("optax")


def model_and_loss():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    return model, model(torch.ones(4, 2)).pow(2).mean()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.exp(x).sum(),
        lambda x: torch.tensor(x) * 2,
        lambda x: torch.as_tensor(x) * 2,
        lambda x: torch.cat([x, x]),
        lambda x: torch.nn.Linear(2, 1)(x),
        lambda x: torch.from_jax(x),
        lambda x: torch.Tensor(x),
        lambda x: torch.tensor([x.sum(), 2.0]),
        lambda x: torch.full([2], x.sum()),
    ],
)
@pytest.mark.parametrize("transform", [jax.jit, jax.vmap, jax.grad, lambda f: lambda x: jax.lax.map(f, x)])
def test_a_tracer_is_told_where_tensors_come_from(function, transform):
    with pytest.raises(TypeError) as caught:
        transform(function)(jnp.ones((2, 2)) if transform is not jax.grad else jnp.ones(2))
    first, advice = str(caught.value).split("\n")
    assert "Trac" in first or "tracer" in first or "traced" in first
    assert "`@torch.functional`" in advice
    assert "Tracer(" not in advice


@pytest.mark.parametrize("operator", ["-=", "+=", "*=", "/=", "**=", "//=", "%="])
def test_an_array_is_not_written_in_place(operator):
    names = {"torch": torch, "x": torch.full((2,), 3.0), "array": jnp.full(2, 2.0)}
    kept = names["x"]
    with pytest.raises(TypeError, match=r"for .*=: 'Tensor' and 'ArrayImpl'\n.*`torch.from_jax\(array\)`"):
        exec(f"x {operator} array", names)
    exec(f"x {operator} torch.from_jax(array)", names)
    assert names["x"] is kept
    assert kept[0] != 3


@pytest.mark.parametrize(
    "function",
    [
        jnp.zeros_like,
        lambda each: jnp.full_like(each, 2),
        jnp.gradient,
        lambda each: jnp.kron(each, each),
        lambda each: jnp.geomspace(each, 4.0, 3),
        lambda each: jnp.zeros((), jnp.result_type(each)),
        jax.scipy.linalg.expm,
        lambda each: jnp.ones(2, each.dtype),
    ],
)
def test_functions_that_ask_for_a_dtype_take_a_tensor(function):
    array = jnp.array([[1.0, 2.0], [3.0, 4.0]])
    found, wanted = function(torch.from_jax(array)), function(array)
    jax.tree.map(np.testing.assert_array_equal, found, wanted)
    assert jax.tree.map(jnp.result_type, found) == jax.tree.map(jnp.result_type, wanted)


@pytest.mark.parametrize("transform", [jax.jit, jax.vmap])
def test_what_is_told_works(transform):
    function = torch.functional(lambda x: torch.exp(x).sum())
    np.testing.assert_allclose(
        transform(function)(jnp.ones((2, 2))), transform(lambda x: jnp.exp(x).sum())(jnp.ones((2, 2)))
    )


@pytest.mark.parametrize(
    ("array", "advice"), [(jnp.ones(2), "torch.from_jax(array)"), (np.ones(2), "torch.from_numpy(array)")]
)
def test_an_array_is_told_how_to_become_a_tensor(array, advice):
    with pytest.raises(TypeError, match=r"torch\.from_") as caught:
        torch.exp(array)
    assert advice in str(caught.value)


def test_wrt_is_a_dict_of_parameters():
    model, loss = model_and_loss()
    f = torch.as_function(loss, wrt=dict(model.named_parameters()))
    (params,) = f.operands
    assert params.keys() == dict(model.named_parameters()).keys()
    pulled = torch.pullback(loss, dict(model.named_parameters()))(jnp.ones(()))
    gradients = jax.jit(jax.grad(f))(params)
    loss.backward()
    for name, each in model.named_parameters():
        np.testing.assert_allclose(gradients[name], each.grad.numpy(), rtol=1e-5)
        np.testing.assert_allclose(pulled[0][name], each.grad.numpy(), rtol=1e-5)


def test_wrt_is_a_list_with_a_dict_in_it():
    w, b = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(1.0, requires_grad=True)
    f = torch.as_function((w * b).sum(), [{"w": w}, b])
    assert jax.grad(f, argnums=(0, 1))({"w": np.ones(2)}, 3.0)[1] == 2.0
    with pytest.raises(TypeError, match=r"takes 2 arrays as \(\{'w': \*\}, \*\), not 2 arrays$"):
        f(jnp.ones(2), 3.0)
    with pytest.raises(TypeError, match=r"wrt of a recorded function are tensors, and one is a int"):
        torch.as_function(w * b, {"w": 3})


@pytest.mark.parametrize("call", [lambda f: f, jax.jit, jax.grad])
def test_numpys_float64_is_a_float32_as_it_is_to_jax(call):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    f = torch.as_function((w**2).sum(), w)
    g = torch.functional(lambda w, x: (w * x).sum())
    with jax.enable_x64(False):
        assert call(f)(np.array([1.0, 3.0])).dtype == np.float32
        assert jax.grad(g)(jnp.ones(2), np.ones(2)).dtype == np.float32
    with jax.enable_x64(True), pytest.raises(TypeError, match="float64"):
        f(np.array([1.0, 3.0]))


def test_parameters_given_to_optax_are_told_to_be_detached_and_then_train():
    model, loss = model_and_loss()
    optimizer = optax.sgd(0.1, momentum=0.9)
    with pytest.raises(RuntimeError, match=r"for optax and `jax.tree`, `\{name: each.detach\(\)"):
        optimizer.init(dict(model.named_parameters()))
    params = {name: each.detach() for name, each in model.named_parameters()}
    state = optimizer.init(params)
    loss.backward()
    updates, state = optimizer.update({name: each.grad for name, each in model.named_parameters()}, state, params)
    for name, each in optax.apply_updates(params, updates).items():
        own = dict(model.named_parameters())[name]
        np.testing.assert_allclose(each.numpy(), (own - 0.1 * own.grad).detach().numpy(), rtol=1e-5)
