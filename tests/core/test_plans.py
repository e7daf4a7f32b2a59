"""The caches of graphs and calls: tested by counts, never by time."""

from __future__ import annotations

import gc
from functools import partial
from weakref import ref

import functions
import jax
import numpy as np
import pytest
from oracle import agree, agreement_of, programs_of

import jaxvjp
from jaxvjp.autograd import backward_pass
from jaxvjp.core.run import evaluation, plan, program
from jaxvjp.core.run.compilation import executable
from jaxvjp.core.run.memory import ENTRIES, Memory
from jaxvjp.core.run.survey import survey
from jaxvjp.core.run.tiers import Compiling
from jaxvjp.tensor import remembered_calls
from jaxvjp.tensor.apply import apply
from jaxvjp.types import dtypes

leaf = partial(functions.leaf, jaxvjp)


# A state that a loop carries on.


def carries_a_sum(torch, x, state):
    inner = (x + state).tanh()
    return inner * 2, inner + 0


def carries_one_of_several(torch, x, state):
    largest, places = (x + state).tanh().max(0, keepdim=True)
    return largest, places + state


def carries_two_layers(torch, x, state):
    below = (x + state[0]).tanh()
    above = (below + state[1]).tanh()
    return above, torch.stack([below, above])


def carried(torch, step, rounds, requires_grad):
    w = torch.tensor([0.5, -0.25], requires_grad=requires_grad)
    x, state, seen = torch.ones(2), torch.zeros(2, 2), []
    for _ in range(rounds):
        out, state = step(torch, x * w, state)
        seen.append(out.sum().item())
        x = torch.full((2,), seen[-1])
    return seen, state


@pytest.mark.accelerated("plans")
@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("step", [carries_a_sum, carries_one_of_several, carries_two_layers])
def test_a_state_that_is_carried_on_is_not_computed_anew_in_each_round(step, requires_grad):
    agree(partial(carried, step=step, rounds=8, requires_grad=requires_grad), rtol=1e-5)
    evaluation.plans.known.clear()
    carried(jaxvjp, step, 6, requires_grad)
    longest = max(map(len, evaluation.plans.known))
    carried(jaxvjp, step, 30, requires_grad)
    assert max(map(len, evaluation.plans.known)) == longest


# Remembered walks.


def loops_of_every_kind(torch):
    """Steps that look alike and are not: each third one differs in what a remembered walk has to tell apart."""
    w = torch.tensor([0.5, -1.5], requires_grad=True)
    u = torch.tensor([2.0, 3.0], requires_grad=True)
    seen = []
    for step in range(12):
        h = w * u
        y = (h * h).sum() + w[step % 2]
        if step % 3 == 0:
            w.grad = None
        if step % 4 == 1:
            u.grad = None
        if step == 5:
            h.retain_grad()
        if step == 6:
            u.requires_grad_(False)
            y = (w * u * h.detach()).sum()
        if step == 7:
            u.requires_grad_(True)
        if step == 8:
            y.backward(torch.tensor(2.0))
        elif step == 9:
            y.backward(inputs=[w])
        elif step == 10:
            seen.append(torch.autograd.grad(y, [u, w]))
        else:
            y.backward(retain_graph=step % 2 == 0)
        seen.append((y.detach(), w.grad if w.grad is None else w.grad.clone(), None if u.grad is None else u.grad * 1))
        seen.append(h.grad if step == 5 else None)
        with torch.no_grad():
            w -= 0.01 * u
    return seen


def the_same_node_twice(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    results = []
    for _ in range(4):
        y = x * x
        torch.autograd.backward([y, y], [torch.ones(2), torch.tensor([0.0, 3.0])])
        results.append(x.grad.clone())
        z = x * x
        z.backward(z.detach())
        results.append(torch.autograd.grad((x * x).sum(), [x, x]))
    return results, x.grad


def a_write_between(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    told = []
    for step in range(5):
        h = x * 1
        y = h * h
        if step >= 3:
            h.add_(1)
        try:
            y.sum().backward()
            told.append(x.grad.clone())
        except RuntimeError as error:
            told.append(str(error).partition(" is at version")[0])
    return told


def graphs_that_are_created(torch):
    """Steps that differ in what a created graph depends on: each comes twice, the second time from memory."""
    x = torch.tensor([0.5, -1.5, 2.0], requires_grad=True)
    c = torch.tensor([2.0, 3.0, 1.0])
    seen = []
    for step in [each for each in range(9) for _ in range(2)]:
        h = torch.sin(x) * (x if step == 1 else c)
        y = (h * h).sum() * (step + 1)
        held = h * 2 if step == 2 else None
        if step == 3:
            h.retain_grad()
        if step == 4:
            h.register_hook(lambda gradient, x=x: gradient * x)
        v = torch.tensor(3.0, requires_grad=step == 5)
        wanted = [x, h] if step == 6 else [x]
        if step == 7:
            with torch.no_grad():
                x += 0.1
            c.mul_(2)
        try:
            first = torch.autograd.grad(y, wanted, v, create_graph=True)
        except RuntimeError as error:
            seen.append(str(error).partition(" is at version")[0])
            c = c.clone()
            continue
        again = [x, v] if step == 5 else [x]
        (second, *others) = torch.autograd.grad(first[0].exp().sum(), again, create_graph=step == 8)
        seen += [*first, second, *others, h.grad, held]
        if step == 8:
            seen += torch.autograd.grad(second.sum(), x)
    return [None if each is None else each if isinstance(each, str) else each.detach() for each in seen]


def transforms_that_are_remembered(torch):
    """Transforms that differ in what their gradients depend on: each comes twice, the second time from memory."""
    grad, vmap = torch.func.grad, torch.func.vmap
    x, c = torch.tensor([0.5, -1.5, 2.0]), torch.tensor([2.0, 3.0, 1.0], requires_grad=True)
    rows = torch.tensor([[1.0, 2.0, 3.0], [-1.0, 0.5, 0.0]])
    kept = []

    def cube(x):
        return (x * x * x).sum()

    def holding(x):
        kept.append(x * x)
        return (kept[-1] * x).sum()

    def hooked(x):
        h = x * x
        h.register_hook(lambda gradient: gradient * 2)
        return (h * x).sum()

    def partly(x):
        with torch.no_grad():
            scale = x * x
        return (scale * x).sum()

    def written(x):
        h = x * 1
        h[0] = 5.0
        return (h * h * x).sum()

    def captured(x):
        return (x * x * c).sum()

    seen = []
    for function in [each for each in (cube, holding, hooked, partly, written, captured) for _ in range(2)]:
        seen += [grad(function)(x), vmap(grad(function))(rows)]
        seen.append(grad(lambda x, f=function: vmap(grad(f))(x).exp().sum())(rows))
        seen.append(grad(lambda x, f=function: grad(f)(x).sum())(x))
    (through,) = torch.autograd.grad(grad(captured)(x).sum(), c)
    with torch.no_grad():
        c *= 2
    gradient, aux = grad(lambda x: (cube(x), x * 2), has_aux=True)(x)
    output, pullback = torch.func.vjp(lambda x: x * x * c.detach(), x)
    return [each.detach() for each in (*seen, through, gradient, aux, output, *pullback(x), *pullback(2 * x))]


@pytest.mark.accelerated("remembered walks")
def test_a_created_graph_is_walked_once(monkeypatch):
    x = leaf(1.0, 2.0)

    def step(held=False):
        h = x * x
        y = (h * x).sum()
        if not held:
            del h
        (gradient,) = jaxvjp.autograd.grad(y, x, create_graph=True)
        return jaxvjp.autograd.grad(gradient.sum(), x)[0].tolist()

    def transformed():
        rows = jaxvjp.func.vmap(jaxvjp.func.grad(lambda x: (x * x).sum()))(jaxvjp.ones(3, 2))
        return rows.tolist(), jaxvjp.func.vjp(jaxvjp.sin, x)[1](x)[0].tolist()

    expected = step(), transformed()
    assert step(held=True) == expected[0]

    def refused(*arguments, **named):
        raise AssertionError("the engine walked again")

    monkeypatch.setattr(backward_pass, "walk_back", refused)
    assert (step(), transformed()) == expected
    assert step(held=True) == expected[0]
    with jaxvjp.autograd.graph.save_on_cpu(), pytest.raises(AssertionError, match="walked again"):
        step()


@pytest.mark.accelerated("remembered walks")
@pytest.mark.parametrize("reads", [False, True])
def test_a_walk_is_recorded_once(monkeypatch, reads):
    """Also where a value on the way is read, whether or not it is held afterwards."""
    w = leaf(1.0, 2.0)

    def step(held=True):
        h = w * 3
        y = ((h - 1) ** 2).sum()
        if reads:
            h.tolist()
            h = h if held else None
        y.backward()
        with jaxvjp.no_grad():
            w.sub_(0.01 * w.grad)
        w.grad = None

    for _ in range(3):
        step()

    def refused(*arguments, **named):
        raise AssertionError("the engine walked again")

    monkeypatch.setattr(backward_pass, "walk_back", refused)
    step()
    step(held=False)
    with pytest.raises(AssertionError, match="walked again"):
        (w * w * w).sum().backward()


@pytest.mark.accelerated("short pieces")
def test_a_long_graph_runs_in_short_pieces_when_it_comes_first(monkeypatch):
    monkeypatch.setattr(plan, "long_graphs", Memory())

    def runs(length):
        y = leaf(1.0)
        for _ in range(length):
            y = y * 2
        found = survey([y.__node__], [y.__node__])
        return [plan.choose_short_pieces(found) for _ in range(3)].count(True)

    assert [runs(length) for length in (3, 30, 40, 30)] == [0, 1, 1, 0]


def a_solver(pattern):
    """A gradient through steps that each have a loop inside, and more where `pattern` has an r."""
    w, y = leaf(0.5, -0.25), jaxvjp.ones(2)
    for kind in pattern:
        start = y * 1.5
        power, total = start, start.sin()
        for weight in (0.25, 0.5, 0.25):
            total = total + power * weight
            power = power * w
        if kind == "r":
            total = total.cos() + power
            total = total - 0.5 * start
        slope = (total * w).tanh()
        y = y + 0.1 * (slope.exp() - slope)
        y = y.clamp(-2, 2)
    y.sum().backward()


@pytest.mark.accelerated("short pieces")
def test_the_steps_of_a_solver_are_a_few_pieces_each_and_the_same_ones(monkeypatch):
    monkeypatch.setattr(Compiling, "when", "never")
    for pattern in ("aaraaaraaraa", "ararraaaraaraa"):
        a_solver(pattern)
    known, before = executable.cache_info().misses, jaxvjp.counters.dispatches
    pattern = "aaaarraaarararaaaraa"
    a_solver(pattern)
    assert executable.cache_info().misses - known <= 2
    assert jaxvjp.counters.dispatches - before <= 4 * len(pattern)  # of some 15 operations and their gradients


@pytest.mark.accelerated("short pieces")
def test_the_pieces_of_a_graph_with_a_function_of_the_user_are_short_when_it_comes_first(monkeypatch):
    monkeypatch.setattr(Compiling, "when", "never")
    short, take = [], plan.plan_of
    monkeypatch.setattr(evaluation, "plan_of", lambda found, *how: short.append(how[0]) or take(found, *how))
    x = y = leaf(1.0)
    for _ in range(41):
        y = (y * 1.01).sin() + x
    functions.doubled(jaxvjp)(y).backward()
    assert short[-1]


@pytest.mark.accelerated("short pieces")
def test_a_backward_pass_cuts_and_freezes_a_graph_once(monkeypatch):
    frozen, take = [], plan.freeze
    monkeypatch.setattr(plan, "freeze", lambda nodes, outputs: frozen.append(nodes) or take(nodes, outputs))
    x = y = leaf(1.0)
    for _ in range(37):
        y = (y * 1.01).sin() + x
    y.backward()
    assert {piece[0].operation.name for piece in frozen} <= {"full", "pullback"}
    frozen.clear()
    y, seen = x, []
    for _ in range(37):
        y = (y * 1.01).sin() + x
        seen.append(y)
    y.backward()
    assert "mul" in {piece[0].operation.name for piece in frozen}  # these programs give values that the walk's do not
    assert np.allclose([each.item() for each in seen[1:]], [np.sin(1.01 * each.item()) + 1 for each in seen[:-1]])
    frozen.clear()
    y, unrelated = x, leaf(2.0).detach()
    for _ in range(37):
        unrelated = unrelated * 0.5  # no piece of the walk has it, so the rounds are cut again, with it
        y = (y * 1.01).sin() + x * unrelated
    x.grad = None
    y.backward()
    assert "mul" in {piece[0].operation.name for piece in frozen}
    expected, derivative, factor = 1.0, 1.0, 2.0
    for _ in range(37):
        factor *= 0.5
        derivative = 1.01 * np.cos(1.01 * expected) * derivative + factor
        expected = np.sin(1.01 * expected) + factor
    assert np.allclose([y.item(), x.grad.item()], [expected, derivative], rtol=1e-5)


def test_a_memory_forgets_what_it_learned_first():
    memory = Memory(bound=10)
    for number in range(8):
        memory.learn((number, "of", "three"), number)
    assert memory.size <= 10
    assert [memory.get((number, "of", "three")) for number in range(8)] == [None] * 5 + [5, 6, 7]
    size = memory.size
    memory.forget((7, "of", "three"))
    memory.forget((0, "of", "three"))
    assert (memory.get((7, "of", "three")), memory.size) == (None, size - 3)
    large = tuple(range(20))
    assert (memory.learn(large, 8), memory.get(large), len(memory.known)) == (8, 8, 1)
    memory = Memory()
    for number in range(ENTRIES + 5):
        memory.learn((number,), number)
    assert len(memory.known) == ENTRIES


def test_what_is_remembered_holds_no_array():
    x = leaf(*np.linspace(0, 1, 1000))
    for _ in range(3):
        loss = (x * x).sum()
        loss.backward()
        x.grad = None
    array = ref(x.value)
    del x, loss
    gc.collect()
    assert array() is None


# Remembered calls.


def calls_that_look_alike(torch):
    a, b = torch.tensor([1.0, -2.0]), torch.tensor([3.0, 0.5])
    seen = []
    for _ in range(3):
        seen += [a * a, a * b, b * a, a - b, b - a, a / b, 2 - a, a - 2, 3 / b, b / 3, a**2, a**3.0, 2**b, a ** b.abs()]
        seen += [torch.sub(a, b), torch.sub(input=b, other=a), torch.sub(other=b, input=a), torch.sub(a, a)]
        seen += [torch.where(a > 0, a, b), torch.where(a > 0, b, a), torch.where(b > 0, a, a), a.where(a > 0, b)]
        seen += [a.sum(), a.sum(0), a.sum(-1, keepdim=True), a.sum(dim=0, dtype=torch.float64), a.sum((0,))]
        seen += [
            a.clamp(min=0.0),
            a.clamp(min=-0.5),
            a.clamp(max=0.25),
            a.clamp(-1.0, 1.0),
            1 / (a * -0.0),
            1 / (a * 0.0),
        ]
        seen += [a * True, a * 1, a * 1.0, (a > 0) * 2, (a > 0) * 2.5]
        seen += [1 / torch.nan_to_num(a / 0 * 0, number) for number in (0.0, -0.0)]
        for dims in ((0, 1), (0.0, 1), (False, True)):
            try:
                seen.append(torch.ones(2, 3).sum(dims))
            except TypeError as error:
                seen.append(type(error).__name__)
    return seen


def calls_under_every_mode(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    seen = []
    for _ in range(3):
        seen.append((x * 2).requires_grad)
        with torch.no_grad():
            seen.append((x * 2).requires_grad)
        with torch.inference_mode():
            seen.append((x * 2).is_inference())
        saved = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t, saved=saved: saved.append(t) or t, lambda t: t):
            y = (x * x).sum()
        y.backward()
        seen.append((len(saved), x.grad.clone()))
    return seen


@pytest.mark.accelerated("remembered calls")
def test_a_front_remembers_and_forgets(monkeypatch):
    monkeypatch.setattr(remembered_calls, "REMEMBERED", 4)
    slow = []

    def front(*arguments, **named):
        slow.append(arguments)
        return apply(jaxvjp.ops.op.REGISTRY["sum"], arguments[:1], (None, False, None))

    remembering = remembered_calls.remembering(front, by_value=False)
    for _ in range(3):
        for size in range(1, 4):
            assert remembering(jaxvjp.ones(size)).item() == size
    assert len(slow) == 3
    for size in range(1, 40):
        remembering(jaxvjp.ones(size))
        assert all(len(memory) <= 4 for memory in dtypes.REMEMBERED[-2:])


def writes_in_place(torch):
    """In-place forms, each three times: the second call of a kind is remembered, and must check as the first did."""
    seen = []
    for factor in (2.0, 3.0, -0.0):
        w = torch.tensor([1.0, -2.0], requires_grad=True)
        plain, whole = torch.ones(2), torch.tensor([1, 2])
        h = w * 1.0
        for write in (
            lambda h=h, factor=factor: h.mul_(factor),
            lambda h=h: h.add_(torch.ones(2), alpha=2),
            lambda h=h: h[1].sub_(5.0),
            lambda plain=plain, h=h: plain.mul_(h),  # from here on it requires a gradient
            lambda whole=whole: whole.add_(1.5),
            lambda whole=whole: whole.add_(3),
            lambda whole=whole: whole.eq_(5),
            lambda h=h: h[:1].expand(2).add_(other=h),
            lambda h=h: h.data[:1].add_(other=h.data[:1]),
            lambda plain=plain: plain.add_(torch.ones(3, 2)),
            lambda w=w: w.sub_(1.0),
            lambda h=h: h.data.neg_(),
        ):
            try:
                seen.append(write().clone())
            except RuntimeError as error:
                seen.append(str(error).split("\n")[0])
        with torch.no_grad():
            w.sub_(0.5)
        seen += [h._version, w._version, h.clone(), h.is_leaf]
        h = w * 2
        (h.clamp_(max=0.5).sin_() * plain).sum().backward()
        seen.append(w.grad)
    return seen


def views_again_and_again(torch):
    """Each view three times: a remembered one shares its storage, and is refused where strides do not allow it."""
    seen = []
    for scale in (1.0, 2.0, 3.0):
        x = (torch.arange(6.0) * scale).requires_grad_()
        h = x * 1.0
        grid = h.view(2, 3)
        turned = grid.t().unsqueeze(0)
        part, column = grid[1, :2], grid[:, None, -1]
        grid.transpose(0, 1)[0].mul_(10.0)
        part.add_(scale)
        for shape in ((6,), (2, 3)):
            try:
                seen.append(turned.view(shape))
            except RuntimeError as error:
                seen.append(str(error).split("\n")[0])
        seen += [
            turned,
            part,
            column,
            grid[:],
            turned.grad_fn.name(),
            part.grad_fn.name(),
            turned._base is h,
            h._version,
        ]
        (turned.sum() * column.sum() + (part * part).sum()).backward()
        seen.append(x.grad)
    return seen


test_agrees_with_torch = agreement_of(programs_of(globals()))


# What is remembered may be forgotten, at any time.


def forget():
    """Empties all that this package remembers of calls, graphs and programs, and all that JAX does."""
    jax.clear_caches()
    for each in gc.get_objects():
        if type(each) is Memory:
            each.known.clear()
            each.size = 0
        elif type(each) is type(program.intern) and each.__module__.startswith("jaxvjp."):
            each.cache_clear()
    for each in list(dtypes.REMEMBERED):
        each.clear()


def losses_of_steps(between):
    """What a loop with a hook, a view, `create_graph` and a write in place gives; `between` is called between lines."""
    w = leaf(0.5, -1.5, 0.25)
    w.register_hook(lambda gradient: gradient * 0.5)
    found = []
    for step in range(6):
        h = jaxvjp.tanh(w[: 1 + step % 3] * 2.0)
        between()
        loss = (h * h).sum()
        (slope,) = jaxvjp.autograd.grad(loss, w, create_graph=True)
        between()
        (loss + (slope * slope).sum()).backward()
        between()
        with jaxvjp.no_grad():
            w -= 0.1 * w.grad
        found += [loss.item(), *w.grad.tolist(), *w.tolist()]
        w.grad = None
        between()
    return found


@pytest.mark.parametrize("when", ["never", "always", 2])
def test_what_is_remembered_may_be_forgotten_at_any_time(monkeypatch, when):
    monkeypatch.setattr(Compiling, "when", when)
    expected = losses_of_steps(lambda: None)
    if when == 2:  # a program that was forgotten runs in NumPy again, which rounds otherwise
        expected = pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert losses_of_steps(forget) == expected
