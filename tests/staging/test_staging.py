"""`jit`: a whole imperative step as one program. The oracle is the same step, not staged, under torch."""

from __future__ import annotations

from oracle import agreement_of, programs_of, raises
from steps import MANY, network, staged

import jaxvjp


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


test_agrees_with_torch = agreement_of(programs_of(globals()))
