"""`jit`: a whole imperative step as one program. The oracle is the same step, not staged, under torch."""

from __future__ import annotations

import pytest

import jaxvjp
from tests.oracle import agreement_of, programs_of


def staged(torch, step, **options):
    """The step as it is under torch, staged under jaxvjp."""
    return jaxvjp.jit(step, **options) if torch is jaxvjp else step


def network(torch):
    torch.manual_seed(0)
    x, y = torch.randn(8, 4), torch.randn(8, 2)
    w = torch.randn(4, 2).requires_grad_()
    return x, y, w


def a_training_step(torch):
    x, y, w = network(torch)

    def step(x, y):
        loss = ((torch.tanh(x @ w) - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w.sub_(0.1 * w.grad)
        w.grad = None
        return loss.detach()

    step = staged(torch, step)
    losses = [step(x, y) for _ in range(4)]
    return losses, w, w.grad, w.requires_grad, w.is_leaf, w._version


def gradients_that_accumulate(torch):
    x, y, w = network(torch)

    def step():
        ((x @ w - y) ** 2).sum().backward()

    step = staged(torch, step)
    grads = []
    for _ in range(4):
        step()
        grads.append(w.grad.clone())
    w.grad = None
    step()
    return grads, w.grad


def a_gradient_that_is_zeroed_in_place(torch):
    x, y, w = network(torch)
    w.grad = torch.zeros_like(w)
    kept = w.grad

    def step():
        w.grad.zero_()
        ((x @ w - y) ** 2).sum().backward()
        with torch.no_grad():
            w.sub_(0.1 * w.grad)

    step = staged(torch, step)
    for _ in range(3):
        step()
    return w, w.grad, kept is w.grad, kept


def arguments_that_are_changed(torch):
    def step(a, b):
        a.mul_(2)
        b += a
        return a, b * 1

    step = staged(torch, step)
    results = []
    for number in (1.0, 2.0, 3.0):
        a, b = torch.tensor([number, 2.0]), torch.tensor([0.5, number])
        first, second = step(a, b)
        results.append((a, b, first is a, second))
    return results


def numbers_shapes_and_flags(torch):
    def step(x, scale, twice=False):
        y = x * scale
        return {"y": y * 2 if twice else y, "scale": scale}

    step = staged(torch, step)
    x = torch.tensor([1.0, -2.0])
    calls = [step(x, 2), step(x, 0.0), step(x, -0.0), step(x, 2, twice=True), step(torch.ones(3, 2), 2), step(x, 3)]
    return [(each["y"], 1 / each["y"].sum(), each["scale"]) for each in calls]


def an_optimizer_with_momentum(torch):
    x, y, w = network(torch)
    velocity = torch.zeros_like(w)

    def step():
        w.grad = None
        loss = ((x @ w - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            velocity.mul_(0.9)
            velocity.add_(w.grad)
            w.sub_(0.05 * velocity)
        return w.grad

    step = staged(torch, step)
    returned = [step() for _ in range(3)]
    return returned, w, velocity, returned[-1] is w.grad


def a_view_that_is_written(torch):
    x = torch.zeros(2, 3)
    row = x[1]

    def step(value):
        row.add_(value)
        return x.sum()

    step = staged(torch, step)
    return [step(torch.tensor(float(number))) for number in range(3)], x, row


def a_method(torch):
    class Model:
        def __init__(self):
            self.w = torch.tensor([1.0, 2.0], requires_grad=True)

        def step(self, x):
            self.w.grad = None
            (self.w * x).sum().backward()
            return self.w.grad

    if torch is jaxvjp:
        Model.step = jaxvjp.jit(Model.step)
    models = Model(), Model()
    return [model.step(torch.tensor([3.0, 4.0]) * number) for number, model in enumerate(models * 2)]


def values_between_the_calls_are_seen(torch):
    x, y, w = network(torch)

    def step():
        w.grad = None
        ((x @ w - y) ** 2).sum().backward()
        return w.grad

    step = staged(torch, step)
    first = step().clone()
    with torch.no_grad():
        w.mul_(3)
    x.add_(1)
    return first, step().clone(), step().clone()


def what_cannot_be_staged_falls_back(torch):
    _, _, w = network(torch)

    def step(x):
        y = (x * w).sum()
        if y > 0:
            y.backward()
        return y.detach()

    step = staged(torch, step, fullgraph=False)
    return [step(torch.full((4, 2), number)) for number in (1.0, -1.0, 2.0)], w.grad


def random_numbers_are_drawn_anew(torch):
    torch.manual_seed(3)
    step = staged(torch, lambda x: x + torch.rand(2), fullgraph=False)
    return [step(torch.zeros(2)) for _ in range(3)]


test_agrees_with_torch = agreement_of(programs_of(globals(), network))


def test_later_calls_record_nothing_and_compile_nothing(monkeypatch):
    x, y, w = network(jaxvjp)

    @jaxvjp.jit
    def step():
        loss = ((x @ w - y) ** 2).mean()
        loss.backward()
        with jaxvjp.no_grad():
            w.sub_(0.1 * w.grad)
        w.grad = None
        return loss.detach()

    losses = [step().item() for _ in range(3)]
    before = jaxvjp.counters.compiles, jaxvjp.counters.dispatches

    def refused(*arguments):
        raise AssertionError("an operation was recorded")

    monkeypatch.setattr(jaxvjp.core.graph, "abstract", refused)
    monkeypatch.setattr(jaxvjp.calls.Call, "record", refused)
    results = [step() for _ in range(5)]
    monkeypatch.undo()
    assert (jaxvjp.counters.compiles, jaxvjp.counters.dispatches) == (before[0], before[1] + 5)
    losses += [each.item() for each in results]
    assert losses == sorted(losses, reverse=True)


@pytest.mark.parametrize(
    ("step", "what"),
    [
        (lambda x: x.sum().item(), "reads the value of a tensor"),
        (lambda x: x + jaxvjp.rand(2), "draws random numbers"),
        (lambda x: x * 2, "whose gradient could still be asked for"),
    ],
)
def test_what_cannot_be_staged_names_the_line(step, what):
    x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(jaxvjp.UnstageableError) as caught:
        jaxvjp.jit(step)(x)
    assert what in str(caught.value)
    assert "test_staging.py" in str(caught.value)
    assert "fullgraph=False" in str(caught.value)


def test_a_step_that_fails_changes_nothing():
    x = jaxvjp.tensor([1.0, 2.0])
    w = jaxvjp.tensor([1.0, 1.0], requires_grad=True)

    @jaxvjp.jit
    def step():
        x.add_(1)
        (w * x).sum().backward()
        return x.tolist()

    with pytest.raises(jaxvjp.UnstageableError):
        step()
    assert x.tolist() == [1.0, 2.0]
    assert w.grad is None


def test_its_programs_are_bounded(monkeypatch):
    monkeypatch.setattr("jaxvjp.staging.VARIANTS", 3)
    step = jaxvjp.jit(lambda x, number: x * number)
    for number in range(8):
        assert step(jaxvjp.tensor([2.0]), number).tolist() == [2.0 * number]
        assert sum(len(each) for each in step.variants.values()) <= 3
