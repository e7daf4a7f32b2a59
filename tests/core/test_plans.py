"""What is remembered of graphs and calls, and how programs come to be compiled: by counts, never by the clock."""

from __future__ import annotations

import gc
from weakref import ref

import jax
import numpy as np
import pytest
from oracle import agreement_of, live_nodes, programs_of

import jaxvjp
from jaxvjp.autograd import accumulation
from jaxvjp.core.derive import remembered_graphs, remembered_walks
from jaxvjp.core.record.record import constant
from jaxvjp.core.run import compilation, plan
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.ops.op import Aval
from jaxvjp.tensor import remembered_calls
from jaxvjp.tensor.apply import apply
from jaxvjp.types import dtypes


def leaf(*numbers):
    return jaxvjp.tensor(numbers, requires_grad=True)


def links(torch, z, depth):
    for _ in range(depth):
        z = torch.sin(z) * 1.1 + torch.exp(-z)
    return z


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

    monkeypatch.setattr(remembered_graphs, "pull_back", refused)
    monkeypatch.setattr(accumulation, "pull_back", refused)
    assert (step(), transformed()) == expected
    assert step(held=True) == expected[0]
    with jaxvjp.autograd.graph.save_on_cpu(), pytest.raises(AssertionError, match="walked again"):
        step()


def test_a_walk_is_recorded_once(monkeypatch):
    w = leaf(1.0, 2.0)

    def step():
        ((w * 3 - 1) ** 2).sum().backward()
        with jaxvjp.no_grad():
            w.sub_(0.01 * w.grad)
        w.grad = None

    for _ in range(3):
        step()

    def refused(*arguments, **named):
        raise AssertionError("the engine walked again")

    monkeypatch.setattr(accumulation, "pull_back", refused)
    step()
    with pytest.raises(AssertionError, match="walked again"):
        (w * w * w).sum().backward()


def test_a_memory_forgets_what_it_learned_first():
    memory = plan.Memory(bound=10)
    for number in range(8):
        memory.learn((number, "of", "three"), number)
    assert memory.size <= 10
    assert [memory.get((number, "of", "three")) for number in range(8)] == [None] * 5 + [5, 6, 7]


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


# Ways of compiling.


@pytest.fixture
def choosy(monkeypatch):
    """Every program is worth measuring."""
    monkeypatch.setattr(compilation, "WORTHWHILE", 0.0)
    monkeypatch.setattr(compilation.Choosing, "enabled", True)


def choices():
    """How the programs of all remembered walks are compiled."""
    return [each.executable.choice for one in remembered_walks.memory.known.values() for each in one.plan.dispatches]


def forced(monkeypatch, way):
    """Makes `way` seem the fastest."""
    monkeypatch.setitem(compilation.WAYS, "cpu", (way,))
    monkeypatch.setattr(compilation, "GAIN", float("inf"))


@pytest.mark.parametrize("way", [compilation.apart, compilation.unfused])
def test_every_way_gives_the_same(choosy, monkeypatch, way):
    forced(monkeypatch, way)
    x = leaf(*np.linspace(-1, 1, 7 if way is compilation.apart else 9))
    losses, grads = [], []
    for _ in range(14):
        loss = links(jaxvjp, x, 3).sum()
        loss.backward()
        losses.append(loss.item())
        grads.append(x.grad.tolist())
        x.grad = None
    assert way.__name__ in {each.way for each in choices()}
    assert losses == pytest.approx([losses[0]] * 14)
    assert np.allclose(grads, grads[0], rtol=1e-5)


def grads_of(x, steps=14):
    """The gradients of as many steps, by which a program is hot and settled."""
    grads = []
    for _ in range(steps):
        links(jaxvjp, x, 3).sum().backward()
        grads.append(x.grad.tolist())
        x.grad = None
    return grads


def test_settings_that_help_are_kept_on_top_of_each_other_and_one_unknown_to_xla_is_passed_over(choosy, monkeypatch):
    monkeypatch.setitem(compilation.WAYS, "cpu", (compilation.apart,))
    wide, alone = compilation.SETTINGS["cpu"]
    unknown = compilation.Setting("unknown", {"xla_cpu_no_such_option": True})
    monkeypatch.setitem(compilation.SETTINGS, "cpu", (wide, unknown, alone))
    monkeypatch.setattr(compilation, "_seconds", lambda known, _: {each: 1 / (1 + n) for n, each in enumerate(known)})
    made = []

    def compiler(function, **options):
        made.append(options)
        return jax.jit(function, **options)

    step = alone(wide(compiler))
    assert compilation.unfused(lambda x: (x + 1,), compilation.NOT_SPLIT, step)(1.0)[0] == 2
    assert made[0]["compiler_options"] == {
        **wide.options,
        **alone.options,
        compilation.PASSES: f"fusion,{alone.without}",
    }
    x = leaf(*np.linspace(-1, 1, 13))
    grads = grads_of(x)
    assert "apart, wide, alone" in {str(each) for each in choices()}
    assert np.allclose(grads, grads[0], rtol=1e-5)
    assert "compiled apart, wide, alone (" in jaxvjp.explain_program()
    assert "wide and alone 333333 µs)" in jaxvjp.explain_program()
    before = compilation.counters.compiles
    grads_of(x)
    assert compilation.counters.compiles == before


@pytest.mark.parametrize(("gain", "told", "uses"), [(1e9, "together, fake", 2), (0.0, "together", 1)])
def test_a_setting_is_taken_if_it_gains_by_what_is_staged_too(choosy, monkeypatch, gain, told, uses):
    compiled = []

    class Fake:
        name, most, spares = "fake", float("inf"), False

        def __call__(self, compiler):
            return lambda function, **options: compiled.append(function) or compiler(function, **options)

    monkeypatch.setitem(compilation.WAYS, "cpu", ())
    monkeypatch.setitem(compilation.SETTINGS, "cpu", (Fake(),))
    monkeypatch.setattr(compilation, "GAIN", gain)
    x = leaf(*np.linspace(-1, 1, 15 if gain else 16))
    grads_of(x)
    settled = next(each for each in last_walk().plan.dispatches if each.executable.choice.seconds).executable
    assert str(settled.choice) == told
    compiled[:] = compiled[-1:]  # what was pending before may be a program of its own
    settled.for_always([x.value], [np.ones(len(each), own.numpy) for own, each in settled.packs.items()])
    assert len(compiled) == uses


def test_a_loss_that_nobody_reads_is_not_computed(choosy, monkeypatch, counted):
    forced(monkeypatch, compilation.apart)
    x = leaf(*np.linspace(-1, 1, 5))

    def step():
        loss = links(jaxvjp, x, 2).sum()
        loss.backward()
        x.grad = None
        return loss

    expected = step().item()
    for _ in range(12):
        step()
    counted()
    loss = step()
    assert loss.node.value is None
    assert loss.item() == pytest.approx(expected)
    assert step().node.value is not None  # somebody wanted it
    assert counted()[1] == 3


def test_losses_that_are_kept_are_those_of_their_time(choosy, monkeypatch):
    forced(monkeypatch, compilation.apart)
    x = leaf(*np.linspace(-1, 1, 6))
    kept, read = [], []
    for losses, look in ((kept, False), (read, True)):
        with jaxvjp.no_grad():
            x.copy_(jaxvjp.tensor(np.linspace(-1, 1, 6)))
        for _ in range(14):
            loss = links(jaxvjp, x, 2).sum()
            loss.backward()
            losses.append(loss.item() if look else loss)
            with jaxvjp.no_grad():
                x.sub_(0.1 * x.grad)
            x.grad = None
    assert [each.item() for each in kept] == pytest.approx(read)
    assert len(set(read)) == 14


def test_a_program_that_reads_only_numbers_is_chosen_for_too(choosy):
    for number in range(12):
        node = constant(number, Aval((5,), jaxvjp.float32))
        evaluate([node])
        assert node.value.tolist() == [number] * 5


def test_choosing_can_be_switched_off(choosy):
    jaxvjp.set_choosing(False)
    x = leaf(0.25, 0.5, 0.75, 1.0)
    for _ in range(12):
        links(jaxvjp, x, 2).sum().backward()
        x.grad = None
    assert not any(isinstance(each.executable.compiled, compilation._Trial) for each in last_walk().plan.dispatches)


def last_walk():
    return list(remembered_walks.memory.known.values())[-1]


# Programs that are seen once, and loops that are never the same.


def test_a_long_program_is_compiled_when_it_comes_again(counted):
    x = leaf(0.5, 0.25, 0.125)

    def step():
        x.grad = None
        y = x.sin() + x.cos() * x.exp() - x.tanh() / (x * x + 2)
        z = (y.exp() + y.sin()) * (y.cos() - y.abs()) + y.sqrt().log() - y.sigmoid() * y
        (z.tanh() * z + z.exp() / (z * z + 1) - z.sin()).sum().backward()
        return x.grad.tolist()

    first = step()
    compiles, dispatches = counted()
    assert compiles <= 2  # of rests that are quickly compiled
    assert dispatches <= 5
    second = step()
    assert counted() == (1, 1)
    assert step() == second == pytest.approx(first, rel=1e-5)
    assert counted() == (0, 1)


def test_a_loop_of_ever_new_lengths_stops_compiling(counted):
    x = leaf(0.5, -0.25)
    for length in range(1, 80):
        if length == 64:
            counted()
        x.grad = None
        z = x
        for _ in range(length):
            z = jaxvjp.sin(z) * 1.1 + z
        z.sum().backward()
    compiles, dispatches = counted()
    assert compiles <= 2
    assert dispatches <= 16 * 24


def a_loop_of_ever_new_lengths(torch):
    x = torch.tensor([0.5, -0.25], requires_grad=True)
    for length in (9, 10, 11, 23, 37, 12, 23):
        z, carried = x, x * 0
        for step in range(length):
            carried = carried * 0.5 + z if step % 2 else carried
            z = torch.sin(z) * 0.9 + carried
        (z * carried).sum().backward()
    return x.grad


def test_a_loop_that_never_calls_backward_stays_flat():
    mean, other = jaxvjp.zeros(3), jaxvjp.zeros(2)
    x = jaxvjp.ones(3)

    before = live_nodes()
    for _ in range(5_000):
        mean = 0.9 * mean + 0.1 * x
        other = other + 1
    assert live_nodes() - before < 4 * 2 * 2039 < 4 * 5_000
    assert mean.tolist() == pytest.approx([1.0] * 3)
    assert other.tolist() == [5_000.0] * 2


def test_numbers_that_stay_are_on_the_device_once(counted):
    x = leaf(*np.linspace(1, 2, 11))  # of a size that no other test has, so that its walk is the last one learned
    packs = []

    def step(number):
        x.grad = None
        (x * number).sum().backward()
        packs.append(last_walk().plan.dispatches[0].executable.repeated[0][1])
        return x.grad[0].item()

    assert [step(each) for each in (2.0, 2.0, 2.0, 3.0, -0.0, 0.0)] == [2, 2, 2, 3, 0, 0]
    assert [each is not None for each in packs][-4:] == [True, False, False, False]


# Recompiles.


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda x: (x[:2] * 2).sum(), "float32[2]"),
        (lambda x: (x * 2).sin().sum(), "5 operations where there were 4"),
        (lambda x: (x + 2).sum(), "add and was mul"),
        (lambda x: (x * 2).sum(0), "dim=0 and had None"),
    ],
)
def test_a_recompile_is_explained(change, told, capsys, monkeypatch):
    x = leaf(1.0, 2.0, 3.0)

    def step(function):
        function(x).backward()

    for number in (1.5, 2.5):
        step(lambda x, number=number: (x * number).sum())
    before = len(jaxvjp.recompiles())
    monkeypatch.setattr(jaxvjp.core.run.history.history, "told", True)
    step(change)
    made = jaxvjp.recompiles()[before:]
    assert len(made) == 1
    assert made[0].line.text == "function(x).backward()"
    assert "test_plans.py" in str(made[0])
    error = capsys.readouterr().err
    assert error == f"jaxvjp: {made[0]}\n"
    assert error.count("\n") == 1


def test_a_program_tells_how_it_is_compiled(choosy):
    x = leaf(0.5, 0.25, 0.75, 0.125, 1.0)
    for _ in range(10):
        links(jaxvjp, x, 3).sum().backward()
    text = jaxvjp.explain_program()
    assert "test_plans.py" in text
    assert "together" in text
    assert "apart" in text


test_agrees_with_torch = agreement_of(programs_of(globals()))
