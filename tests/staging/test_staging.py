"""`jit`: a whole imperative step as one program. The oracle is the same step, not staged, under torch."""

from __future__ import annotations

import functools
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from oracle import agreement_of, programs_of, raises

import jaxvjp
from jaxvjp.core.record.versions import next_serial
from jaxvjp.staging.warm import cold


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


def arguments_in_containers(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)

    def step(batch, *, scale, options=()):
        w.grad = None
        loss = ((w * batch["x"] - batch["y"]) ** 2).sum() * scale + sum(options)
        loss.backward()
        return {"loss": loss.detach(), "grad": w.grad}, batch["x"]

    step = staged(torch, step)
    results = []
    for number in range(30):
        batch = {"x": torch.tensor([1.0, number]), "y": torch.ones(2)}
        given = {"scale": 2.0 if number < 20 else 3.0, "options": (1.0, 2.0) if 8 < number < 12 else ()}
        named, x = step(batch, **given)
        results.append((named, x is batch["x"], named["grad"] is w.grad))
    return results


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


@raises(RuntimeError)
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
    results = [first, step().clone(), *[step().clone() for _ in MANY]]
    alias, data, row = w.detach(), y.data, x[0]
    for change in (
        lambda: alias.mul_(0.5),
        lambda: data.zero_(),
        lambda: row.add_(2),
        lambda: setattr(w, "data", w.detach() + 1),
        lambda: w.requires_grad_(False) and w.requires_grad_(),
        lambda: setattr(w, "grad", torch.ones(4, 2)),
        lambda: y.copy_(x[:, :2]),
    ):
        change()
        results += [step().clone() for _ in MANY]
    return results


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
    w = torch.ones(3, 2).requires_grad_()

    def step(x):
        torch.rand(3)  # which nobody uses, but the next numbers are others
        loss = (torch.nn.functional.dropout(x * w, 0.4) + torch.randn(3, 2) * torch.randperm(2)).sum()
        loss.backward()
        with torch.no_grad():
            w.sub_(0.1 * w.grad)
        w.grad = None
        return loss.detach()

    step = staged(torch, step)
    drop = staged(torch, lambda x: torch.nn.functional.dropout(x * w, 0.5).sum())
    results = []
    for _ in range(14):
        results.append(step(torch.full((3, 2), 2.0)))
        drop(torch.ones(2)).backward()
        results.append(w.grad.clone())
        w.grad = None
    return results, w


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


MANY = range(14)
"""Calls after which a step has been run as Python, as a program, and in its warm path."""


def data_that_is_written_past_the_graph(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)

    def step():
        (w * w).sum().backward()
        w.data.sub_(0.1 * w.grad)
        w.grad = None

    step = staged(torch, step)
    return [(step(), w.tolist(), w._version, w.requires_grad, w.is_leaf) for _ in MANY]


def data_that_is_replaced(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)

    def step():
        (w * w).sum().backward()
        w.data = w.data - 0.1 * w.grad
        w.grad = None

    step = staged(torch, step)
    return [(step(), w.tolist(), w._version, w.requires_grad) for _ in MANY]


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


def an_argument_that_comes_to_require_a_gradient(torch):
    def step(x):
        x.requires_grad_()
        (x**2).sum().backward()
        return x.grad

    step = staged(torch, step)
    results = []
    for number in MANY:
        x = torch.tensor([1.0, float(number)])
        results.append((step(x) is x.grad, x.grad, x.requires_grad, x._version))
    return results


def arguments_that_alias_one_another(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)

    def step(a, b):
        with torch.no_grad():
            a.mul_(2)
            return a + b + w

    step = staged(torch, step)
    results = [step(torch.tensor([1.0, 1.0]), torch.tensor([3.0, float(number)])) for number in MANY]
    a, b = torch.tensor([1.0, 1.0]), torch.tensor([1.0, 1.0])
    results += [step(a, a), step(a, a.detach()), step(a[:], a), step(b[:], b), step(b, b[:])]
    alias = w.detach()
    results += [step(alias, b), step(b, alias), step(b, alias), step(a, b), step(b, w.detach()), step(alias, alias)]
    return [each.detach() for each in results], a, b, w, a._version, b._version, w._version


@raises(RuntimeError)
def hooks_that_come_and_go(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)

    def step():
        w.grad = None
        (w * w).sum().backward()
        return w.grad

    step = staged(torch, step)
    results = [step() for _ in MANY]
    handle = w.register_hook(lambda gradient: gradient * 3)
    results += [step(), step()]
    handle.remove()
    after = w.register_post_accumulate_grad_hook(lambda tensor: tensor.grad.mul_(2))
    results += [step(), step()]
    after.remove()
    return results + [step() for _ in MANY]


def a_gradient_from_elsewhere(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)

    def update():
        with torch.no_grad():
            w.sub_(0.1 * w.grad)

    update = staged(torch, update)
    results = []
    for number in MANY:
        w.grad = None
        (w * w * (number + 1.0)).sum().backward()
        results.append((update(), w.tolist()))
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


class Settings:
    rate = 0.5


SETTINGS = Settings()


def scaled(x):
    return x * SETTINGS.rate * SETTINGS.table["deep"][0]


def numbers_from_elsewhere(torch):
    SETTINGS.rate, SETTINGS.table = 0.5, {"deep": [1.0]}
    factor = 2.0
    step = staged(torch, lambda x: scaled(x) + factor)
    results = []
    for number in range(40):
        if number in (3, 12, 30):
            SETTINGS.rate /= 2
        if number == 20:
            SETTINGS.table["deep"][0] = -0.0
        if number == 25:
            factor = -1.0
        results.append(step(torch.tensor([1.0, 2.0])))
    return results


def a_tensor_from_elsewhere_that_is_another_each_time(torch):
    x = torch.tensor([0.0, 1.0])
    step = staged(torch, lambda: x * 2)
    results = []
    for number in range(30):
        x = torch.tensor([float(number), 1.0])
        results.append(step())
        if number % 3 == 0:
            x.add_(1)
            results.append(step())
    return results


def a_model_and_its_optimizer(torch):
    class Momentum:
        def __init__(self, params, lr):
            self.param_groups = [{"params": list(params), "lr": lr}]
            self.state = {}

        def step(self):
            with torch.no_grad():
                for group in self.param_groups:
                    for p in group["params"]:
                        if p not in self.state:
                            self.state[p] = torch.zeros_like(p)
                        self.state[p].mul_(0.5).add_(p.grad)
                        p.sub_(group["lr"] * self.state[p])
                        p.grad = None

    class Model:
        def __init__(self):
            self.training = True
            self.w = torch.tensor([[1.0, 2.0], [0.5, 1.0]], requires_grad=True)
            self.b = torch.zeros(2, requires_grad=True)

        def __call__(self, x):
            y = x @ self.w + self.b
            return y * 2 if self.training else y

    model = Model()
    optimizer = Momentum([model.w, model.b], 0.01)

    def step(x, y):
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    step = staged(torch, step)
    results = []
    for number in range(50):
        if number in (12, 31, 32):
            optimizer.param_groups[0]["lr"] *= 0.5
        if number == 22:
            model.training = False
        if number == 36:
            optimizer.param_groups[0]["params"].pop(0)
            model.w.requires_grad_(False)
        results.append(step(torch.tensor([[1.0, 2.0]]), torch.tensor([[0.5, float(number % 2)]])))
    return results, model.w, model.b, model.w._version, model.b._version


def containers_from_elsewhere(torch):
    few, many, names = [1.0, 2.0], [torch.ones(2)] * 1100, {"a": torch.ones(2)}
    step = staged(torch, lambda x: x * len(few) + many[1050] * sum(few) + sum(names.values()))
    results = []
    for number in range(30):
        if number in (3, 12):
            few.append(3.0)
        if number in (5, 15):
            many[1050] = torch.ones(2) * number
        if number in (7, 20):
            names[str(number)] = torch.ones(2) * number
        if number == 25:
            names["a"] = torch.zeros(2)
        results.append(step(torch.ones(2)))
    return results


def a_count_of_the_steps(torch):
    settings = Settings()
    settings.steps = 0

    def step(x):
        settings.steps += 1
        return x * (1 - 0.5**settings.steps)

    step = staged(torch, step)
    return [step(torch.tensor(1.0)) for _ in range(6)], settings.steps


def what_a_step_leaves_behind(torch):
    losses, settings = [], Settings()
    settings.hidden = torch.zeros(2)

    def keeping(x):
        losses.append(x * 2)
        return x

    def replacing(x):
        settings.hidden = torch.tanh(settings.hidden + x)

    keeping, replacing = staged(torch, keeping, fullgraph=False), staged(torch, replacing, fullgraph=False)
    for number in range(5):
        keeping(torch.tensor(float(number)))
        replacing(torch.tensor([1.0, float(number)]))
    return losses, settings.hidden


def an_iterator(torch):
    numbers = iter(range(9))
    step = staged(torch, lambda x: x * next(numbers), fullgraph=False)
    return [step(torch.tensor(2.0)) for _ in range(5)]


test_agrees_with_torch = agreement_of(programs_of(globals(), network))


def large(elements=100_000):
    """A parameter worth donating, and a step that overwrites it, warm."""
    w = jaxvjp.zeros(elements, requires_grad=True)

    @jaxvjp.jit
    def step(target):
        ((w - target) ** 2).sum().backward()
        with jaxvjp.no_grad():
            w.sub_(0.1 * w.grad)
        w.grad = None

    for _ in MANY:
        step(jaxvjp.tensor(1.0))
    return w, step


def donated_by(call):
    before = jaxvjp.counters.donated
    call()
    return jaxvjp.counters.donated - before


def test_large_state_that_nobody_else_holds_is_donated():
    w, step = large()
    target = jaxvjp.tensor(1.0)
    place = w.value.unsafe_buffer_pointer()
    assert donated_by(lambda: [step(target) for _ in range(3)]) == 3
    assert w.value.unsafe_buffer_pointer() == place
    expected = 1.0
    for _ in range(len(MANY) + 3):
        expected *= 0.8
    assert abs(1 - w[0].item() - expected) < 1e-5
    _, step = large(10)
    assert donated_by(lambda: step(target)) == 0


@pytest.mark.parametrize(
    "hold",
    [
        lambda w: w.value,
        lambda w: w.detach().numpy(),
        lambda w: np.asarray(w.detach()),
        lambda w: np.asarray(w.value)[3:],
        lambda w: w.clone().detach(),
        lambda w: w.detach().numpy().reshape(2, -1),
        lambda w: np.from_dlpack(w.detach()),
    ],
)
def test_what_the_user_holds_is_never_overwritten(hold):
    w, step = large()
    held = hold(w)
    before = np.array(held)
    for _ in range(3):
        step(jaxvjp.tensor(1.0))
    assert np.array_equal(before, np.array(held))
    assert not np.array_equal(before.ravel()[:3], w.tolist()[:3])


@pytest.mark.parametrize("alias", [lambda w: w.detach(), lambda w: w.data, lambda w: w[3:], lambda w: w.view(2, -1)])
def test_what_shares_the_storage_sees_the_new_contents(alias):
    w, step = large()
    other = alias(w)
    before = other.detach().tolist()
    for _ in range(3):
        step(jaxvjp.tensor(1.0))
    assert other.detach().tolist() == alias(w).detach().tolist() != before


def test_steps_that_share_state_may_both_overwrite_it():
    w, step = large()
    double = jaxvjp.jit(lambda: w.data.mul_(2))
    with jaxvjp.no_grad():
        halve = jaxvjp.jit(w.mul_)
    for _ in MANY:
        step(jaxvjp.tensor(1.0))
        double()
        with jaxvjp.no_grad():
            halve(0.5)
    assert w.isfinite().all()


def test_nothing_is_donated_while_another_thread_runs():
    _, step = large()
    target = jaxvjp.tensor(1.0)
    ending = threading.Event()
    other = threading.Thread(target=ending.wait)
    other.start()
    try:
        assert donated_by(lambda: step(target)) == 0
    finally:
        ending.set()
        other.join()
    assert donated_by(lambda: step(target)) == 1


def test_threads_may_share_a_step():
    w = jaxvjp.zeros(3)
    step = jaxvjp.jit(lambda x: (w + x) * 2)
    results = {}

    def work(number):
        results[number] = [step(jaxvjp.full((3,), float(number))).tolist() for _ in range(40)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert results == {number: [[2.0 * number] * 3] * 40 for number in range(4)}


def test_a_call_that_fails_leaves_everything_as_it_was(monkeypatch):
    w, step = large()
    before, version = w[:3].tolist(), w._version

    def broken(*operands):
        raise RuntimeError("out of memory")

    for name in ("run", "run_over"):
        monkeypatch.setitem(step._hot.__globals__, name, broken)
    with pytest.raises(RuntimeError, match="out of memory"):
        step(jaxvjp.tensor(1.0))
    monkeypatch.undo()
    assert (w[:3].tolist(), w._version, w.grad) == (before, version, None)
    step(jaxvjp.tensor(1.0))
    assert w._version == version + 1


def test_later_calls_record_nothing_and_compile_nothing():
    x, y, w = network(jaxvjp)

    @jaxvjp.jit
    def step():
        loss = ((x @ w - y) ** 2).mean()
        loss.backward()
        with jaxvjp.no_grad():
            w.sub_(0.1 * w.grad)
        w.grad = None
        return loss.detach()

    losses = [step().item() for _ in range(13)]  # from here on it is hot
    before = jaxvjp.counters.compiles, jaxvjp.counters.dispatches
    begin = next_serial()
    results = [step() for _ in range(5)]
    assert next_serial() - begin - 1 == 5  # the losses; the contents of w are changed in its node
    assert (jaxvjp.counters.compiles, jaxvjp.counters.dispatches) == (before[0], before[1] + 5)
    losses += [each.item() for each in results]
    assert losses == sorted(losses, reverse=True)


def test_numbers_that_come_again_have_their_warm_paths(monkeypatch):
    x = jaxvjp.tensor([0.5, 1.0], requires_grad=True)

    @jaxvjp.jit
    def step(depth, rate=1.0):
        x.grad = None
        z = x
        for _ in range(depth):
            z = z * z
        (rate * z).sum().backward()
        return x.grad

    calls = [((depth,), named) for depth in range(1, 7) for named in ({}, {"rate": 2.0})]
    expected = [step(*given, **named).tolist() for given, named in calls]
    for _ in range(20):
        for given, named in calls:
            step(*given, **named)
    monkeypatch.setattr(type(step), "_stage", None)
    monkeypatch.setattr("jaxvjp.staging.variant.Variant.run", None)
    assert [step(*given, **named).tolist() for given, named in calls] == expected
    monkeypatch.undo()
    assert step(1, float("nan")).isnan().all()
    assert step(True).tolist() == expected[0]


def language_model(derived):
    """A training step on numbers of words; if `derived`, on parts of a text, which the step takes apart itself."""
    table = jaxvjp.tensor(np.random.default_rng(0).normal(size=(300, 300)), requires_grad=True, dtype=jaxvjp.float32)
    functional = jaxvjp.nn.functional

    def step(words, targets):
        if derived:
            words, targets = words[:-1], targets[1:]
        table.grad = None
        loss = functional.cross_entropy(functional.embedding(words, table) @ table, targets)
        loss.backward()
        with jaxvjp.no_grad():
            table.sub_(0.1 * table.grad)
        return loss.detach()

    return table, step


@pytest.mark.parametrize("derived", [False, True])
def test_numbers_out_of_range_raise_at_every_call(derived):
    table, step = language_model(derived)
    expected, eager = language_model(derived)
    staged = jaxvjp.jit(step)
    text, other = jaxvjp.tensor([1, 2, 3, 0]), jaxvjp.tensor([3, 299, 1, 4])
    for call in range(30):
        assert staged(text, other).item() == pytest.approx(eager(text, other).item(), abs=1e-5), call
        if call in (0, 5, 20):  # run as Python, as a program, as a warm one
            before, version = table.detach().clone().tolist(), table._version
            with pytest.raises(IndexError, match="Target 300 is out of bounds"):
                staged(text, jaxvjp.tensor([0, 1, 300, 2]))
            with pytest.raises(IndexError, match="index out of range in self"):
                staged(jaxvjp.tensor([0, -1, 1, 2]), text)
            assert (table.tolist(), table._version) == (before, version)
    assert np.allclose(table.tolist(), expected.tolist(), atol=1e-4)
    assert staged._hot is not cold


def test_numbers_out_of_range_raise_where_a_result_is_differentiated():
    table = jaxvjp.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)

    @jaxvjp.jit
    def model(words):
        return jaxvjp.nn.functional.embedding(words[1:] * 1, table) + jaxvjp.nn.functional.embedding(words, table)[1:]

    for _ in range(12):
        model(jaxvjp.tensor([0, 1, 1])).sum().backward()
        for wrong in ([0, 1, 2], [0, -1, 1], [5, 1, 1]):
            with pytest.raises(IndexError, match="index out of range"):
                model(jaxvjp.tensor(wrong))
    assert table.grad.tolist() == [[0.0, 0.0], [48.0, 48.0]]


def test_random_numbers_out_of_range_raise_as_well():
    x = jaxvjp.tensor([1.0, 2.0, 3.0])

    @jaxvjp.jit
    def step():
        return x[jaxvjp.randint(0, 4, (4,))]

    raised = 0
    for seed in range(40):
        jaxvjp.manual_seed(seed)
        largest = jaxvjp.randint(0, 4, (4,)).max().item()
        jaxvjp.manual_seed(seed)
        if largest == 3:
            raised += 1
            with pytest.raises(IndexError, match="index 3 is out of bounds"):
                step()
        else:
            assert step().max().item() == largest + 1
    assert 20 < raised < 38


@pytest.mark.parametrize("fullgraph", [True, False])
def test_what_an_op_refuses_it_refuses_in_a_staged_step_as_well(fullgraph):
    @functools.partial(jaxvjp.jit, fullgraph=fullgraph)
    def step(matrix, divisor):
        ones = jaxvjp.ones(2, dtype=jaxvjp.int64)
        solved = jaxvjp.linalg.inv(matrix), ones // divisor, ones[divisor - 1]
        if not fullgraph:
            solved[0].sum().item()  # which only Python can do
        return solved

    good, one = jaxvjp.tensor([[2.0, 0.0], [0.0, 1.0]]), jaxvjp.tensor([1, 2])
    for _ in range(12):
        assert step(good, one)[1].tolist() == [1, 0]
        with pytest.raises(jaxvjp.linalg.LinAlgError, match="singular"):
            step(good * 0, one)
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            step(good, one * 0)
        with pytest.raises(IndexError, match="out of bounds"):
            step(good, one + 2)


def test_a_step_that_runs_as_it_is_raises_where_it_is_wrong():
    total = jaxvjp.zeros(3)

    @jaxvjp.compile
    def step(place):
        total.add_(1)
        picked = total[place] + total[place * 1]
        total.add_(1)
        picked.sum().item()  # which only Python can do
        total.add_(1)
        return total[place + 2]

    for number in range(3):
        total.zero_()
        with pytest.raises(IndexError, match="index 3 is out of bounds"):
            step(jaxvjp.tensor([1]))
        assert total.tolist() == [3.0] * 3, number
        with pytest.raises(IndexError, match="index 7 is out of bounds"):
            step(jaxvjp.tensor([7]))  # while it is staged, which then changes nothing
        assert total.tolist() == [3.0] * 3, number


BATCHES = iter([1.0])
TABLE = np.zeros((200, 200))


@pytest.mark.parametrize(
    ("step", "what"),
    [
        (lambda x: x.sum().item(), "reads the value of a tensor"),
        (lambda x: x.sum().backward() or x * 2, "whose gradient could still be asked for"),
        (lambda x: BATCHES and x.detach() * next(BATCHES), "names an iterator"),
        (lambda x: x.detach() * TABLE.sum(), "names a NumPy array"),
    ],
)
def test_what_cannot_be_staged_names_the_line(step, what):
    x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(jaxvjp.UnstageableError) as caught:
        jaxvjp.jit(step)(x)
    assert what in str(caught.value)
    assert "test_staging.py" in str(caught.value)
    assert "fullgraph=False" in str(caught.value)
    with pytest.raises(jaxvjp.UnstageableError, match="takes a NumPy array"):
        jaxvjp.jit(lambda x, array: x + jaxvjp.tensor(array))(x, np.ones(2))


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
            assert "jax.jit(" in str(jaxvjp.explain(model(jaxvjp.ones(3)).sum()))
            assert (jaxvjp.counters.compiles, jaxvjp.counters.dispatches) == (before[0], before[1] + 1)


def test_a_step_that_fails_changes_nothing():
    x = jaxvjp.tensor([1.0, 2.0])
    w = jaxvjp.tensor([1.0, 1.0], requires_grad=True)

    @jaxvjp.jit
    def step():
        x.add_(1)
        (w * x).sum().backward()
        return x.tolist()

    y = (w * x * x).sum()
    before, version = x.detach(), x._version
    with pytest.raises(jaxvjp.UnstageableError):
        step()
    assert x.tolist() == before.tolist() == [1.0, 2.0]
    assert (x._version, w.grad) == (version, None)
    y.backward()
    assert w.grad.tolist() == [1.0, 4.0]


def test_its_programs_are_bounded(monkeypatch):
    monkeypatch.setattr("jaxvjp.staging.VARIANTS", 3)
    step = jaxvjp.jit(lambda x, number: x * number)
    for number in range(8):
        assert step(jaxvjp.tensor([2.0]), number).tolist() == [2.0 * number]
        assert sum(len(each) for each in step._variants.values()) <= 3


def test_a_step_is_staged_anew_for_another_precision_of_products():
    weights, step = jaxvjp.ones(2, 2), jaxvjp.jit(lambda a: a @ weights)
    for _ in range(12):
        step(jaxvjp.ones(2, 2))
    before = jaxvjp.counters.compiles
    jaxvjp.set_float32_matmul_precision("high")
    try:
        step(jaxvjp.ones(2, 2))
        assert jaxvjp.counters.compiles == before + 1
    finally:
        jaxvjp.set_float32_matmul_precision("highest")
    step(jaxvjp.ones(2, 2))
    assert jaxvjp.counters.compiles == before + 1


@contextmanager
def in_double_precision():
    jaxvjp.set_default_dtype(jaxvjp.float64)
    try:
        yield
    finally:
        jaxvjp.set_default_dtype(jaxvjp.float32)


@pytest.mark.parametrize(
    "mode", [jaxvjp.no_grad, jaxvjp.inference_mode, in_double_precision], ids=lambda each: each.__name__
)
def test_a_hot_step_sees_in_which_mode_it_is_called(mode):
    x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)

    def step():
        y = x * 2
        found = jaxvjp.autograd.grad(y.sum(), x)[0] if y.requires_grad else y * 2
        return found * jaxvjp.ones(2)

    def told(result):
        return result.tolist(), result.dtype, result.is_inference()

    def in_mode(ready=lambda: None):
        with mode():
            ready()
            found.append(told(hot()))

    def elsewhere():
        """In another thread, which is in that mode already when this one calls the step."""
        turns = threading.Barrier(2)
        thread = threading.Thread(target=in_mode, args=(lambda: turns.wait() + turns.wait(),))
        thread.start()
        turns.wait()
        hot()
        turns.wait()
        thread.join()

    hot = jaxvjp.jit(step)
    usual = [told(hot()) for _ in range(20)][-1]
    assert usual == told(step())
    with mode():
        expected = told(step())
    found = []
    for run in (in_mode, in_mode, elsewhere):
        run()
        assert found[-1] == expected
        assert told(hot()) == usual


def test_a_hot_step_runs_as_it_is_where_it_is_transformed_or_told_of():
    x = jaxvjp.tensor([1.0, 2.0])
    doubled, drawn = jaxvjp.jit(lambda: x * 2), jaxvjp.jit(lambda: jaxvjp.rand(()))
    for _ in range(20):
        doubled(), drawn()
    for _ in range(2):
        with jaxvjp.explain.recording() as story:
            y = doubled()
        assert "y = x * 2" in str(story)
        assert y.tolist() == doubled().tolist()
        each = jaxvjp.func.vmap(lambda z: z + drawn(), randomness="different")(jaxvjp.zeros(3))
        assert len(set(each.tolist())) == 3
        drawn()
