"""What a staged step reads and changes in Python's objects: numbers, lists, models, optimizers, counters, iterators.

The oracle is the same step, not staged, under torch.
"""

from __future__ import annotations

from oracle import agreement_of, programs_of
from steps import staged


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


test_agrees_with_torch = agreement_of(programs_of(globals()))
