"""What somebody who comes from JAX tries first: it works, or the error says what does."""

from __future__ import annotations

import contextlib
import gc

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from oracle import agree

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
    gc.collect()  # while what another test has traced lives on, a layer is refused its random numbers first
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


def test_a_write_in_a_trace_is_refused_or_stays_inside():
    x, outside, norm = torch.ones(3), torch.zeros(3), torch.nn.BatchNorm1d(3)

    def inside(v):
        made = torch.zeros(3)
        made[0] = v[1]
        return made.add_(v)

    assert jax.jit(inside)(x).tolist() == [2.0, 1.0, 1.0]
    for lost in (lambda v: v.add_(1), lambda v: v[0].mul_(2), outside.add_, lambda v: outside[1:].copy_(v[1:])):
        for context in (torch.no_grad, contextlib.nullcontext):
            with context(), pytest.raises(RuntimeError, match=r"in place: the write would be lost(.|\n)*functional"):
                jax.jit(lost)(x)
    with torch.no_grad(), pytest.raises(RuntimeError, match="what it did not make"):
        jax.jit(norm)(torch.ones(4, 3))
    assert (x.tolist(), outside.tolist(), norm.running_mean.tolist()) == ([1.0] * 3, [0.0] * 3, [0.0] * 3)
    outside.add_(x)


def test_a_hook_in_a_trace_is_refused():
    def hooked(v):
        h = v * 2
        h.register_hook(lambda gradient: gradient * 100)
        return jnp.asarray(h.sum())

    with pytest.raises(RuntimeError, match="cannot go through the hook"):
        jax.grad(hooked)(torch.ones(2))


def test_no_grad_around_a_trace_stops_nothing():
    x = torch.tensor([1.0, 2.0])
    with torch.no_grad():
        assert jax.grad(lambda v: jnp.asarray((v**2).sum()))(x).tolist() == [2.0, 4.0]
        assert jax.grad(lambda v: jnp.asarray((v * v.detach()).sum()))(x).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "line",
    [
        "setattr(x, 'data', a)",
        "setattr(net, 'weight', a)",
        "x.__setitem__(0, a)",
        "torch.where(x > 0, x, a)",
        "torch.nn.Parameter(a)",
        "torch.optim.SGD([a], lr=0.1)",
        "torch.func.grad(torch.sum)(a)",
        "torch.nn.functional.cross_entropy(x, a)",
        "net.load_state_dict({'weight': a})",
        "torch.as_function(x, [a])",
        "torch.utils.data.TensorDataset(a)[0]",
        "next(iter(torch.utils.data.DataLoader(a)))",
    ],
)
def test_advice_where_an_array_is_no_tensor(line):
    given = {"torch": torch, "a": jnp.ones(2), "x": torch.ones(2), "net": torch.nn.Linear(2, 1)}
    with pytest.raises(Exception, match=r"Make one of it first: `\w+.from_jax\(\w+\)`"):
        eval(line, given)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("torch.full((2,), a[0])", r"The number of an array is `a.item\(\)`"),
        ("torch.add(x, x, alpha=a[0])", r"The number of an array is `a.item\(\)`"),
        ("torch.zeros(2, dtype=a.dtype)", r"That is `\w+.float32`"),
        ("x.to(jnp.bfloat16)", r"That is `\w+.bfloat16`"),
        ("torch.functional(torch.nn.BatchNorm1d(2))(jnp.ones((4, 2)))", "Running statistics of a layer are only read"),
        ("jax.vmap(lambda v: (v * w).sum())(torch.ones(3, 2))", "a constant here. Pass it in as an argument"),
        ("jax.jit(lambda v: (v * w).sum())(x)", "a constant here. Pass it in as an argument"),
    ],
)
def test_advice_where_torch_and_jax_differ(line, told):
    given = {"torch": torch, "jax": jax, "jnp": jnp, "a": jnp.ones(2), "x": torch.ones(2)}
    with pytest.raises(Exception, match=told):
        eval(line, {**given, "w": torch.ones(2, requires_grad=True)})


def test_a_number_that_is_asked_for_in_a_trace_is_not_said_to_require_a_gradient(monkeypatch):
    module = torch.Tensor.__scalar__.__globals__
    monkeypatch.setitem(module, "warn_once", lambda *_: pytest.fail("nothing requires a gradient here"))
    with pytest.raises(RuntimeError, match="stands for a value"):
        jax.jit(torch.functional(lambda a: float(a.sum())))(jnp.ones(2))


def test_a_tensor_of_a_tensor_in_a_trace_is_a_copy():
    with pytest.warns(UserWarning, match="copy construct"):
        assert jax.jit(torch.functional(lambda v: torch.tensor(v) * 2))(jnp.ones(2)).tolist() == [2.0, 2.0]


def test_a_parameter_may_be_made_in_a_function_that_is_transformed():
    def program(torch):
        def scaled(v):
            return (torch.nn.Parameter(torch.full((2,), 3.0)) * v).sum()

        return torch.func.grad(scaled)(torch.ones(2)).detach(), torch.func.vmap(scaled)(torch.ones(3, 2)).detach()

    agree(program)


def test_a_tensor_keeps_its_place_in_structures_that_jax_makes():
    x = torch.ones(3)
    lowered = jax.jit(lambda v: v * 2).lower(x)
    assert jax.tree.structure(((x,), {})) == lowered.in_tree
    assert lowered.compile()(x).tolist() == [2.0] * 3

    @jax.custom_vjp
    def square(v):
        return jnp.asarray(v) ** 2

    square.defvjp(lambda v: (square(v), v), lambda v, g: (torch.from_jax(20 * jnp.asarray(v) * g),))
    assert jax.grad(lambda v: square(v).sum())(x).tolist() == [20.0] * 3


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("torch.wrap(lambda u: u * w)(torch.ones(2))", "Pass it to the wrapped function as an argument"),
        ("torch.as_function(w.sum(), [w])(jnp.ones(2, int))", r"Convert it: `a.astype\('float32'\)`"),
        ("torch.as_function(w.sum(), torch.nn.Linear(2, 1))", "named_parameters"),
        ("torch.functional(lambda p, v: (p['a'][1].add_(1), v)[1])({'a': [v, v]}, v)", r"argument 0\['a'\]\[1\] in"),
        ("torch.functional(lambda v, k: (k.add_(1), v)[1])(v, k=v)", "argument k in place"),
        ("jax.jit(torch.functional(lambda v: v.repeat(int(v.sum()))))(v)", "static_argnums"),
    ],
)
def test_advice_that_fits(line, advice):
    w = torch.ones(2, requires_grad=True)
    with pytest.raises((TypeError, RuntimeError), match=advice):
        eval(line, {"torch": torch, "jax": jax, "jnp": jnp, "w": w, "v": jnp.ones(2)})


def test_an_index_may_be_traced():
    array, at = jnp.arange(12.0).reshape(3, 4), jnp.asarray(-1)

    def written(v, i):
        v = v.clone()
        v[i] = 0
        v[0, i] += 5
        return v

    for function in (lambda v, i: v[i], lambda v, i: v[:, i], lambda v, i: v[i, i], lambda v, i: v[i, 1:], written):
        expected = function(torch.from_jax(array), -1).jax()
        assert (jax.jit(torch.functional(function))(array, at) == expected).all()
    total = torch.scan(lambda carry, i: (carry + torch.from_jax(array)[i].sum(), i), torch.tensor(0.0), torch.arange(3))
    assert total[0].item() == 66
    with pytest.raises(TypeError, match="functional"):
        jax.lax.fori_loop(0, 3, lambda i, carry: carry + torch.ones(3)[i], 0.0)
    assert jax.grad(torch.functional(lambda v, i: v[i].sum()))(array, at)[-1].tolist() == [1.0] * 4


def test_an_example_of_a_batch_has_no_array():
    for function in (jnp.sin, lambda v: torch.from_jax(v.jax())):
        with pytest.raises(RuntimeError, match=r"differs from example to example(.|\n)*torch\.wrap"):
            torch.func.vmap(function)(torch.ones(2))
    assert (torch.func.vmap(torch.wrap(jnp.sin))(torch.ones(2)) == torch.ones(2).sin()).all()


def test_forward_mode_loses_no_tangent_to_jax():
    x = torch.tensor([1.0, 2.0])
    for array in (jnp.sin, lambda v: jnp.sin(v.jax()), lambda v: jnp.sin(2 * v)):
        for transform in (lambda f: torch.func.jvp(f, (x,), (x,)), lambda f: torch.func.jacfwd(f)(x)):
            with pytest.raises(RuntimeError, match=r"a JAX array of a Tensor with a tangent(.|\n)*torch.wrap"):
                transform(lambda v, array=array: v * torch.from_jax(array(v)))
    with torch.autograd.forward_ad.dual_level(), pytest.raises(RuntimeError, match="with a tangent"):
        jnp.sin(torch.autograd.forward_ad.make_dual(x, x))
    value, tangent = torch.func.jvp(lambda v: v * torch.from_jax(jnp.exp(v.detach())), (x,), (x,))
    assert (value == tangent).all()
    torch.func.jvp(lambda v: v * torch.from_jax(jnp.sin(x)), (x,), (x,))


@pytest.mark.parametrize(
    "array", [jnp.sin, jnp.asarray, lambda v: v.jax(), lambda v: jax.tree.leaves({"v": v})[0], lambda v: jnp.sin(2 * v)]
)
def test_a_staged_step_does_not_go_on_with_an_array_of_its_first_call(array):
    closed = torch.ones(2)
    for step in (lambda v: v * torch.from_jax(array(v)), lambda v: v * torch.from_jax(array(closed))):
        with pytest.raises(torch.UnstageableError, match=r"JAX the value of a tensor(.|\n)*line \d+ of .*jax_user"):
            torch.jit(step)(closed)
        plain = torch.jit(step, fullgraph=False)
        for k in (1, 2):
            assert (plain(closed * k) == step(closed * k)).all()
