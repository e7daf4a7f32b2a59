"""torch's optimizers: 30 steps give torch's parameters and state, whatever the options; their errors are torch's."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from oracle import agree, agreement_of, programs_of, raises

import jaxvjp

OPTIONS = {
    "SGD": [{}, {"momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01}, {"momentum": 0.9, "nesterov": True}],
    "Adam": [{}, {"amsgrad": True, "weight_decay": 0.1}, {"maximize": True}],
    "AdamW": [{}, {"lr": 0.02, "betas": (0.8, 0.9)}],
    "NAdam": [{}, {"weight_decay": 0.1, "decoupled_weight_decay": True}],
    "RAdam": [{}, {"weight_decay": 0.1}],
    "Adamax": [{}],
    "Adagrad": [{}, {"lr_decay": 0.1, "initial_accumulator_value": 0.2}],
    "Adadelta": [{}, {"weight_decay": 0.1}],
    "RMSprop": [{}, {"momentum": 0.9, "centered": True}],
    "ASGD": [{"t0": 4.0}],
    "Rprop": [{}],
    "Adafactor": [{}, {"weight_decay": 0.1}],
}
CASES = [(name, options) for name, each in OPTIONS.items() for options in each]
DTYPES = ("float32", "float64", "complex64")


def trained(torch, name, options, dtype="float32", steps=30):
    """The parameters and the optimizer after some steps; one has no gradient in one of them."""
    source = np.random.default_rng(0)

    def random(*shape):
        values = source.standard_normal(shape)
        if dtype.startswith("complex"):
            values = values + 1j * source.standard_normal(shape)
        return torch.tensor(values, dtype=getattr(torch, dtype))

    shapes = [(3, 4), (4,), ()]
    parameters, targets = [random(*each).requires_grad_() for each in shapes], [random(*each) for each in shapes]
    optimizer = getattr(torch.optim, name)(parameters, **options)
    for number in range(steps):
        optimizer.zero_grad()
        distances = [(p - goal) * (p - goal).conj() for p, goal in zip(parameters, targets, strict=True)]
        sum((each.real**2 if dtype.startswith("complex") else each**2).sum() for each in distances).backward()
        if number == 5:
            parameters[1].grad = None
        optimizer.step()
    return parameters, optimizer


def plainly(optimizer):
    """`state_dict()` with sorted groups, whose keys are in another order here and there."""
    kept = optimizer.state_dict()
    return kept["state"], [sorted(each.items()) for each in kept["param_groups"]], repr(optimizer)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "options"), CASES)
def test_thirty_steps(name, options, dtype):
    if name == "Adafactor" and dtype == "complex64":
        return

    def program(torch):
        parameters, optimizer = trained(torch, name, options, dtype)
        return parameters, plainly(optimizer)

    # The root of a difference (`centered`) of nearly equal numbers has lost digits before.
    agree(program, rtol=1e-5, atol=2e-5 if "centered" in options else 1e-6)


def test_muon():
    """Its iteration is in bfloat16, of which the products round otherwise: a digit in 256."""

    def program(torch):
        weight = torch.tensor([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]], requires_grad=True)
        optimizer = torch.optim.Muon([weight], lr=0.1)
        for _ in range(5):
            optimizer.zero_grad()
            (weight**2).sum().backward()
            optimizer.step()
        return weight, optimizer.state_dict()["state"]

    agree(program, rtol=0.02, atol=0.02)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs(search):
    def program(torch):
        x = torch.tensor([-1.5, 2.0], dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.LBFGS([x], lr=0.5 if search is None else 1, line_search_fn=search, history_size=3)

        def closure():
            optimizer.zero_grad()
            loss = (1 - x[0]) ** 2 + 10 * (x[1] - x[0] ** 2) ** 2
            loss.backward()
            return loss

        losses = [float(optimizer.step(closure)) for _ in range(4)]
        state = optimizer.state_dict()["state"][0]
        return losses, x, state["n_iter"], state["func_evals"], sorted(state)

    agree(program, rtol=1e-6)


@pytest.mark.parametrize("name", ["SGD", "Adam", "RAdam", "ASGD"])
def test_a_checkpoint_goes_on_as_if_nothing_had_happened(name):
    parameters, optimizer = trained(jaxvjp, name, {}, steps=4)
    for way in (copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))):
        others, another = way((parameters, optimizer))
        fresh = getattr(jaxvjp.optim, name)(others)
        fresh.load_state_dict(way(optimizer.state_dict()))
        for _ in range(3):
            for p, q in zip(parameters, others, strict=True):
                p.grad, q.grad = p.detach() * 2, q.detach() * 2
            optimizer.step()
            fresh.step()
        assert all(bool((p == q).all()) for p, q in zip(parameters, others, strict=True))
        assert type(another) is type(optimizer)


def test_counts_that_differ_are_not_taken_for_alike():
    def program(torch):
        weights = [torch.ones(2, requires_grad=True) for _ in range(3)]
        optimizer = torch.optim.Adam(weights, lr=0.1)
        for number in range(8):
            for each in weights:
                each.grad = each.detach() * 2
            if number == 3:
                optimizer.state[weights[1]]["step"].fill_(1.0)
            if number == 5:
                weights[2].grad = None
            optimizer.step()
        return weights, [optimizer.state[each]["step"] for each in weights]

    agree(program)


def test_staged():
    def program(torch):
        weights = [torch.ones(2, requires_grad=True), torch.full((2, 2), 0.5, requires_grad=True)]
        optimizer = torch.optim.Adam(weights, lr=0.1)

        def step():
            optimizer.zero_grad()
            loss = ((weights[1] @ weights[0]) ** 2).sum()
            loss.backward()
            optimizer.step()
            return loss.detach()

        step = torch.jit(step) if torch is jaxvjp else step
        losses = []
        for number in range(14):
            if number == 12:
                optimizer.param_groups[0]["lr"] = 0.01
            losses.append(step())
        return losses, weights, [optimizer.state[each]["step"] for each in weights]

    agree(program)


def differentiable(torch):
    """The gradient of a step with respect to its rate."""
    start, rate = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(0.1, requires_grad=True)
    weight = start.clone()
    weight.retain_grad()
    optimizer = torch.optim.SGD([weight], lr=rate, momentum=0.9, differentiable=True)
    weight.grad = torch.tensor([0.5, 1.0])
    optimizer.step()
    return torch.autograd.grad((weight**2).sum(), [start, rate])


def hooks(torch):
    seen = []
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight])
    optimizer.register_step_pre_hook(lambda *_: seen.append("before"))
    handle = optimizer.register_step_post_hook(lambda *_: seen.append("after"))
    optimizer.register_state_dict_post_hook(lambda own, kept: kept | {"more": 1})
    optimizer.register_load_state_dict_pre_hook(lambda own, kept: seen.append(sorted(kept)))
    optimizer.step()
    handle.remove()
    optimizer.step()
    kept = optimizer.state_dict()
    optimizer.load_state_dict(kept)
    return seen, kept


def groups(torch):
    first, second = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    optimizer = torch.optim.AdamW([{"params": [first], "lr": 0.1}, {"params": second, "weight_decay": 0.0}])
    first.grad, second.grad = torch.ones(2), torch.ones(3)
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    return first, second, first.grad, len(optimizer.param_groups), repr(optimizer)


def closure(torch):
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)

    def evaluated():
        optimizer.zero_grad()
        loss = (weight**2).sum()
        loss.backward()
        return loss

    return optimizer.step(evaluated), weight


def named(torch):
    optimizer = torch.optim.SGD([("weight", torch.ones(2, requires_grad=True))])
    return optimizer.param_groups[0]["param_names"], optimizer.state_dict()


def a_count_with_a_dimension(torch):
    """As optimizers that processes share make it, before the first step."""
    told = []
    for kind in (torch.optim.Adam, torch.optim.AdamW, torch.optim.RAdam):
        w = torch.ones(2, requires_grad=True)
        optimizer = kind([w], lr=0.1)
        moments = {name: torch.zeros_like(w) for name in ("exp_avg", "exp_avg_sq")}
        optimizer.state[w].update(step=torch.zeros(1), **moments)
        for _ in range(3):
            optimizer.zero_grad()
            (w - 3).square().sum().backward()
            optimizer.step()
        told.append((w, optimizer.state[w]["step"]))
    return told


@raises(ValueError)
def no_parameters(torch):
    torch.optim.SGD([])


@raises(TypeError)
def a_tensor_for_parameters(torch):
    torch.optim.SGD(torch.ones(2, requires_grad=True))


@raises(TypeError)
def a_set_of_parameters(torch):
    torch.optim.SGD([{"params": {torch.ones(2)}}])


@raises(TypeError)
def a_number_for_a_parameter(torch):
    torch.optim.SGD([1.0])


@raises(ValueError)
def a_computed_parameter(torch):
    torch.optim.SGD([torch.ones(2, requires_grad=True) * 2])


@raises(ValueError)
def a_parameter_in_two_groups(torch):
    weight = torch.ones(2)
    torch.optim.SGD([{"params": [weight]}, {"params": [weight]}])


@raises(ValueError)
def another_number_of_groups(torch):
    optimizer = torch.optim.SGD([torch.ones(2)])
    kept = optimizer.state_dict()
    kept["param_groups"] *= 2
    optimizer.load_state_dict(kept)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"lr": -1.0}),
        ("SGD", {"momentum": -0.5}),
        ("SGD", {"nesterov": True}),
        ("Adam", {"betas": (1.0, 0.9)}),
        ("Adam", {"betas": (0, 0.9)}),
        ("Adam", {"eps": -1e-8}),
        ("Adam", {"fused": True, "foreach": True}),
        ("AdamW", {"weight_decay": -1}),
        ("NAdam", {"momentum_decay": -0.2}),
        ("Adadelta", {"rho": 1.1}),
        ("Adagrad", {"lr_decay": -0.5}),
        ("RMSprop", {"momentum": -1.0}),
        ("Rprop", {"etas": (1.0, 0.5)}),
        ("Adafactor", {"d": 0.0}),
        ("Muon", {}),
    ],
)
def test_settings_that_torch_refuses(name, options):
    def program(torch):
        getattr(torch.optim, name)([torch.ones(2, requires_grad=True)], **options)

    agree(program, raises=(ValueError, RuntimeError))


@pytest.mark.parametrize("name", OPTIONS)
def test_the_settings_of_a_group_come_in_the_order_of_torch(name):
    def program(torch):
        return list(getattr(torch.optim, name)([torch.ones(2, 2, requires_grad=True)]).state_dict()["param_groups"][0])

    agree(program)


def test_adagrad_wants_a_parameter_with_a_shape():
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in"):
        jaxvjp.optim.Adagrad([jaxvjp.nn.parameter.UninitializedParameter()])


def test_sparse_adam_is_refused_with_a_reason():
    with pytest.raises(NotImplementedError, match="sparse layout"):
        jaxvjp.optim.SparseAdam([jaxvjp.ones(2)])


test_agrees_with_torch = agreement_of(programs_of(globals()))


@pytest.mark.parametrize(
    "change", [lambda kept: kept.clear(), lambda kept: kept[0].mul_(0)], ids=["emptied", "written"]
)
def test_a_history_of_lbfgs_that_is_changed_in_place_is_the_history(change):
    def after(change):
        w = jaxvjp.tensor([3.0, -2.0], requires_grad=True)
        optimizer = jaxvjp.optim.LBFGS([w], lr=0.1, max_iter=3)

        def closure():
            optimizer.zero_grad()
            loss = (w**4).sum() + w.prod()
            loss.backward()
            return loss

        optimizer.step(closure)
        state = optimizer.state[w]
        for name in ("old_dirs", "old_stps", "ro"):
            change(state, name)
        optimizer.step(closure)
        return w.tolist()

    def anew(state, name):
        state[name] = [each.clone() for each in state[name]]
        change(state[name])

    here = after(lambda state, name: change(state[name]))
    assert here == pytest.approx(after(anew))
    assert here != pytest.approx(after(lambda state, name: None))
