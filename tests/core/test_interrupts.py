"""Ctrl-C in the middle of a step: the modes are as before, tensors have all of their changes or none, and the next step
gives the numbers that it would have given."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any

import jax
import pytest
from interrupts import interrupted, modes, places

import jaxvjp as torch
from jaxvjp import func
from jaxvjp.core.record.modes import transforming
from jaxvjp.core.run.tiers import Compiling
from jaxvjp.staging.interrupts import PutOff
from jaxvjp.staging.warm import cold

Step = Callable[[], Any]
MOST = [pytest.param(24), pytest.param(100_000, marks=pytest.mark.long)]
"""At how many places a step is interrupted: some, or all."""
FIRST = 70
"""Among these first places are those where a block that switches recording off begins."""


@pytest.fixture(autouse=True)
def _as_in_a_terminal() -> Iterator[None]:
    """A shell starts what runs in the background with interrupts ignored, and Python then leaves them so."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def model() -> tuple[Any, Any, Any]:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    return net, torch.randn(5, 3), torch.randn(5, 1)


def numbers(tensors: Any) -> list[Any]:
    return [None if each is None else each.tolist() for each in tensors]


def gradients(net: Any) -> list[Any]:
    return numbers(each.grad for each in net.parameters())


def loss(net: Any, x: Any, y: Any) -> Any:
    return ((net(x) - y) ** 2).mean()


@pytest.mark.parametrize("most", MOST)
@pytest.mark.parametrize("times", [0, 1], ids=["first", "added"])
def test_a_backward_pass_gives_all_gradients_or_none(times: int, most: int) -> None:
    net, x, y = model()
    expected = [[None] * 4]
    for _ in range(4):
        loss(net, x, y).backward()
        expected.append(gradients(net))

    def make() -> Step:
        net.zero_grad()
        for _ in range(times):
            loss(net, x, y).backward()
        begun = loss(net, x, y)
        return lambda: begun.backward()

    for _ in interrupted(make, most):
        assert gradients(net) in expected[times : times + 2]
        net.zero_grad()
        loss(net, x, y).backward()
        assert gradients(net) == expected[1]


def recorded(x: Any, w: Any) -> Any:
    y = x * w
    y += x
    y[0] = 2.0
    y[1:].mul_(w[1:])
    return (y.view(-1) * w).sum()


@pytest.mark.parametrize("most", MOST)
def test_recording(most: int) -> None:
    x, w = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.5, 1.5, 2.5], requires_grad=True)

    def whole() -> list[Any]:
        return numbers(torch.autograd.grad(recorded(x, w), w))

    expected = whole()
    for _ in interrupted(lambda: lambda: recorded(x, w), most):
        assert whole() == expected


@pytest.mark.parametrize("most", MOST)
def test_a_write_is_made_or_not(most: int) -> None:
    seen: list[Any] = []

    def make() -> Step:
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        seen[:] = w, w.detach(), w.view(2, 1)

        def step() -> None:
            # `no_grad` of the user's has the gap that torch's has, so it is entered by its function
            torch.no_grad()(lambda: w.sub_(torch.tensor([0.5, 0.25])))()

        return step

    for _ in interrupted(make, most):
        w, alias, view = seen
        assert w.tolist() in ([1.0, 2.0], [0.5, 1.75])
        assert alias.tolist() == w.tolist() == view.view(-1).tolist()
        assert torch.autograd.grad((w * w).sum(), w)[0].tolist() == (2 * w).tolist()


@pytest.mark.parametrize("most", MOST)
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_an_optimizer_goes_on(kind: str, most: int) -> None:
    made: list[Any] = []

    def make() -> Step:
        net, x, y = model()
        optimizer = getattr(torch.optim, kind)(net.parameters(), lr=0.1)
        loss(net, x, y).backward()
        made[:] = net, x, y, optimizer
        return optimizer.step

    step = make()
    before = numbers(made[0].parameters())
    step()
    after = numbers(made[0].parameters())
    for again in interrupted(make, most):
        net = made[0]
        now = numbers(net.parameters())
        assert all(each in both for each, both in zip(now, zip(before, after, strict=True), strict=True))
        if now == before and not made[3].state:
            again()
            assert numbers(net.parameters()) == after


@pytest.mark.parametrize("kind", ["optimizer", "Function"])
def test_where_recording_is_switched_off(kind: str) -> None:
    def make() -> Step:
        net, x, y = model()
        loss(net, x, y).backward()
        return torch.optim.SGD(net.parameters(), lr=0.1).step if kind == "optimizer" else lambda: Cube.apply(x)

    for at in range(1, FIRST):
        step, before = make(), modes()
        places(step, at)
        assert modes() == before, f"at place {at}"


def staged(kind: str) -> tuple[Any, Step]:
    net, x, y = model()
    optimizer = getattr(torch.optim, kind)(net.parameters(), lr=0.1)

    @torch.jit
    def step() -> Any:
        optimizer.zero_grad()
        value = loss(net, x, y)
        value.backward()
        optimizer.step()
        return value.detach()

    return net, step


@pytest.mark.parametrize(
    ("kind", "most"),
    [pytest.param("SGD", 3), *[pytest.param(kind, 200, marks=pytest.mark.long) for kind in ("SGD", "Adam")]],
)
@pytest.mark.parametrize("calls", [0, 2], ids=["staged", "run"])
def test_a_staged_step_makes_all_changes_or_none(kind: str, calls: int, most: int) -> None:
    net, step = staged(kind)
    expected = [numbers(net.parameters())]
    for _ in range(calls + 4):
        step()
        expected.append(numbers(net.parameters()))
    now: list[Any] = []

    def make() -> Step:
        now[:], once = (made := staged(kind))[:1], made[1]
        for _ in range(calls):
            once()
        return once

    for again in interrupted(make, most):
        net = now[0]
        place = next(n for n, each in enumerate(expected) if near(numbers(net.parameters()), each))
        assert place in (calls, calls + 1)
        again()
        assert near(numbers(net.parameters()), expected[place + 1])


@pytest.mark.accelerated("warm path")
@pytest.mark.parametrize("most", MOST)
@pytest.mark.parametrize("least", [1, 1 << 40], ids=["donated", "kept"])
def test_a_warm_step_makes_all_changes_or_none(least: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Compiling, "when", "always")
    monkeypatch.setitem(torch.staging.warm.DONATED, jax.default_backend(), least)
    v, w = torch.zeros(1000, requires_grad=True), torch.zeros(1000, requires_grad=True)

    @torch.jit
    def step() -> Any:
        v.grad = w.grad = None
        loss = (2 * v + 3 * w).sum()
        loss.backward()
        with torch.no_grad():
            v.add_(v.grad)
            w.add_(w.grad)
        return loss.detach()

    for _ in range(20):
        step()
    assert step._hot is not cold, "it is not warm"
    before, rounds = torch.counters.donated, 21
    step()
    assert (torch.counters.donated > before) == (least == 1)
    for again in interrupted(lambda: step, most):
        done = round(v[0].item() / 2)
        assert done >= rounds
        assert [each.unique().tolist() for each in (v, w, v.grad, w.grad)] == [[2 * done], [3 * done], [2], [3]]
        again()
        rounds = done + 1
        assert [each.unique().tolist() for each in (v, w)] == [[2 * rounds], [3 * rounds]]


def near(first: list[Any], second: list[Any]) -> bool:
    return all(torch.allclose(torch.tensor(a), torch.tensor(b), 1e-4, 1e-6) for a, b in zip(first, second, strict=True))


TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "grad": func.grad(lambda x: (x * x).sum()),
    "vmap": func.vmap(lambda x: (x * x).sum()),
    "nested": func.vmap(func.grad(lambda x: x**3)),
    "jvp": lambda x: func.jvp(lambda x: x * x, (x,), (x,))[1],
    "jacrev": func.jacrev(lambda x: x * x),
    "jacfwd": func.jacfwd(lambda x: x * x),
    "hessian": func.hessian(lambda x: (x**3).sum()),
    "twice": lambda x: twice(x.clone().requires_grad_()),
}


def twice(x: Any) -> Any:
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    return torch.autograd.grad(first.sum(), x)[0]


@pytest.mark.parametrize("most", MOST)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name: str, most: int) -> None:
    x, function = torch.tensor([1.0, 2.0, 3.0]), TRANSFORMS[name]
    expected = function(x).tolist()
    for _ in interrupted(lambda: lambda: function(x), most):
        assert not transforming().duals
        assert function(x).tolist() == expected


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0] * 3 * ctx.saved_tensors[0] ** 2


@pytest.mark.parametrize("most", MOST)
def test_functions_and_hooks(most: int) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)

    def step() -> None:
        x.grad = None
        y = Cube.apply(x)
        y.register_hook(lambda gradient: gradient * 2)
        torch.utils.checkpoint.checkpoint(torch.sin, y, use_reentrant=False).sum().backward()

    step()
    expected = x.grad.tolist()
    for again in interrupted(lambda: step, most):
        assert x.grad is None or x.grad.tolist() == expected
        again()
        assert x.grad.tolist() == expected


def test_ctrl_c_that_was_put_off_comes_later() -> None:
    put_off = PutOff()
    signal.raise_signal(signal.SIGINT)
    before = modes()
    with pytest.raises(KeyboardInterrupt):
        put_off.end()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert modes() == before
    PutOff().end()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
