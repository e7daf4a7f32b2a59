"""Results of staged functions: differentiated outside, aliases of tensors outside, or alive after the graph is freed.

The oracle is the same function, not staged, under torch.
"""

from __future__ import annotations

import pytest
from oracle import agree, agreement_of, programs_of
from steps import MANY, network, staged

import jaxvjp


def a_model_whose_result_is_differentiated_outside(torch):
    class Model:
        def __init__(self):
            self.w = torch.tensor([[1.0, 2.0], [0.5, 1.0]], requires_grad=True)
            self.b = torch.zeros(2, requires_grad=True)
            self.unused = torch.ones(2, requires_grad=True)

        def __call__(self, x):
            return torch.tanh(x @ self.w + self.b)

    model = Model()
    compiled = staged(torch, model)
    results = []
    for number in range(5):
        loss = (compiled(torch.tensor([[1.0, float(number)]])) ** 2).sum()
        loss.backward()
        results.append((loss.detach(), model.w.grad.clone(), model.b.grad.clone(), model.unused.grad))
        with torch.no_grad():
            for each in (model.w, model.b):
                each -= 0.1 * each.grad
                each.grad = None
    return results, compiled.w is model.w


def results_with_gradients_of_their_own(torch):
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = torch.tensor([3.0, 4.0], requires_grad=True)

    def function(x):
        hidden = b * x.exp()
        return a * x, hidden, hidden.sum(), x.argmax(), a.detach() * b

    function = staged(torch, function)
    results = []
    for number in range(4):
        y, hidden, z, place, cut = function(torch.tensor([0.1, float(number)]))
        results.append((place.item(), cut.requires_grad, y.requires_grad, place.requires_grad, hidden.detach()))
        for each in (y.sum(), z, cut.sum()):
            each.backward()
            results.append([None if p.grad is None else p.grad.clone() for p in (a, b)])
        a.grad = b.grad = None
        try:
            hidden.sum().backward()
        except RuntimeError as error:
            results.append(str(error)[:50])
        a.grad = b.grad = None
    return results


def second_derivatives_and_second_calls(torch):
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    function = staged(torch, lambda h: torch.sin(h) * a**3)
    results = []
    for number in range(4):
        h = a * (number + 1.0)
        (gradient,) = torch.autograd.grad(function(h).sum(), a, create_graph=True)
        (gradient * gradient).sum().backward()
        results.append(a.grad.clone())
        y = function(h.detach()).sum()
        y.backward()
        try:
            y.backward()
        except RuntimeError as error:
            results.append(str(error)[:60])
        a.grad = None
        with torch.no_grad():
            results.append(function(a * 2))
    return results


def a_mean_that_runs_along(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    mean = torch.zeros(2)

    def function(x):
        y = x * w
        with torch.no_grad():
            mean.mul_(0.9).add_(0.1 * y)
        return y - mean

    function = staged(torch, function)
    results = []
    for number in range(5):
        y = function(torch.tensor([1.0, float(number)]))
        y.sum().backward()
        results.append((y.detach(), w.grad.clone(), mean.clone(), mean._version, mean.requires_grad))
        w.grad = None
    return results


def results_that_alias_what_is_outside(torch):
    x = torch.zeros(2, 3)
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    function = staged(torch, lambda y: (x[1], x.detach(), x.t()[0], y, w, w[1:], y.view(-1)))
    results = []
    for number in MANY:
        y = torch.tensor([[1.0, float(number)]])
        row, alias, column, same, weight, part, flat = function(y)
        row.add_(1)
        alias[0, 0] = 5.0 + number
        column.mul_(2)
        flat.add_(1)
        part.sum().backward()
        results.append((x.tolist(), x._version, row._version, column.stride(), same is y, weight is w, y.tolist()))
    return results, w.grad


def a_loss_returned_with_its_graph_gone(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)

    def step():
        loss = (w * w.detach()).sum()
        loss.backward()
        with torch.no_grad():
            w.sub_(0.1 * w.grad)
            w.mul_(0.9)
        w.grad = None
        return loss

    step = staged(torch, step)
    results = [step() for _ in MANY]
    return results, [(each.requires_grad, each.is_leaf, each.grad_fn.name()) for each in results], w, w._version


def a_graph_that_is_gone_beside_one_that_is_there(torch):
    def step(x):
        total = torch.nn.Parameter(x * 1).sum()
        kept = torch.relu(total)
        (kept * 0.5 * kept).sum().backward()
        return total, total + kept

    results = []
    compiled = staged(torch, step)
    for number in range(4):
        total, gone = compiled(torch.tensor([1.0, float(number)]))
        results += [total.detach(), gone.detach(), total.requires_grad, gone.requires_grad, gone.is_leaf]
    return results


def a_graph_on_a_parameter_that_the_step_overwrites(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)

    def step():
        (w * 3).sum().backward()
        with torch.no_grad():
            w.sub_(w.grad)
        w.grad = None

    step = staged(torch, step)
    for _ in MANY:
        step()
    y = (w * w).sum()
    z = (w.detach() * w).sum()
    step()
    refused = []
    for each in (y, z):
        try:
            each.backward()
        except RuntimeError as error:
            refused.append(str(error)[:70])
    return refused, w


def the_gradient_of_a_function_inside(torch):
    w = torch.tensor([1.0, 2.0])

    def step():
        gradient = torch.func.grad(lambda v: (v**3).sum())(w)
        w.sub_(0.01 * gradient)
        return gradient

    step = staged(torch, step)
    return [(step(), w.tolist()) for _ in MANY]


test_agrees_with_torch = agreement_of(programs_of(globals()))


@pytest.mark.parametrize("sets_grad", [True, False])
def test_a_leaf_that_a_step_makes_is_not_given_with_what_would_lead_to_it(sets_grad):
    def step(x):
        leaf = jaxvjp.nn.Parameter(x * 1)
        if sets_grad:
            (leaf * 3).sum().backward()
        return (leaf, x) if sets_grad else (leaf, leaf.sum())

    told = "whose `grad` it has set" if sets_grad else "a tensor whose gradient leads to it"
    with pytest.raises(jaxvjp.UnstageableError, match=f"gives a .*that it makes and {told}"):
        jaxvjp.jit(step)(jaxvjp.ones(2))


def test_a_graph_from_outside_is_not_there_again():
    w = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
    h = w * w
    with pytest.raises(jaxvjp.UnstageableError, match="graph that was there before"):
        jaxvjp.jit(lambda: (h * 2).sum().backward())()
    h.sum().backward()
    assert w.grad.tolist() == [2.0, 4.0]
    assert jaxvjp.jit(lambda: h.detach() * 2)().tolist() == [2.0, 8.0]


def test_a_compiled_function_is_one_node_and_one_dispatch_per_step():
    w = jaxvjp.ones(3, requires_grad=True)
    model = jaxvjp.compile(lambda x: jaxvjp.tanh(jaxvjp.sin(x) * w) + x)
    assert jaxvjp.compile(model, disable=True) is model
    for number in range(6):
        before = jaxvjp.counters.compiles, jaxvjp.counters.dispatches
        w.grad = None
        y = model(jaxvjp.full((3,), float(number)))
        y.sum().backward()
        if number > 2:
            assert y.grad_fn.name() == "CompiledFunctionBackward"
            assert (jaxvjp.counters.compiles, jaxvjp.counters.dispatches) == (before[0], before[1] + 1)
            assert "jax.jit(" in str(jaxvjp.explain(model(jaxvjp.ones(3)).sum()))


@pytest.mark.parametrize("calls", [1, 2, 3, 14])
def test_what_a_staged_step_wrote_several_times_can_be_differentiated(calls):
    def program(torch):
        x, _, w = network(torch)

        def step():
            with torch.no_grad():
                w.mul_(0.9).add_(1).sub_(0.5)

        step = staged(torch, step)
        for _ in range(calls):
            step()
        loss = (w @ w.t()).sum() + (x @ w).square().sum()
        torch.zeros(1).add_(1)  # after a write to anything, a backward pass compares the counts of all
        loss.backward()
        return w, w.grad, w._version

    agree(program)
