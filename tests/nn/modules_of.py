"""Modules for the tests, made for either `torch`, that need no layer."""

from __future__ import annotations


def layer(torch, *sizes):
    """A module with a parameter `weight`, a buffer `shift` and one that is not saved."""

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            count = 1
            for each in sizes:
                count *= each
            self.weight = torch.nn.Parameter(torch.arange(1.0, count + 1).reshape(sizes))
            self.register_buffer("shift", torch.zeros(sizes[-1]))
            self.register_buffer("unsaved", torch.ones(1), persistent=False)

        def forward(self, x, scale=1.0):
            return (x * self.weight + self.shift) * scale

        def extra_repr(self):
            return f"{list(self.weight.shape)}"

    return Layer()


def model(torch):
    """A module with a parameter of its own, a layer, and a sequence of them."""

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = layer(torch, 3)
            self.rest = torch.nn.Sequential(layer(torch, 3), layer(torch, 3))
            self.bias = torch.nn.Parameter(torch.tensor([0.5]))
            self.nothing = None

        def forward(self, x):
            return self.rest(self.first(x)) + self.bias

    return Model()


def lazy(torch):
    """A lazy module, whose weight and shift get the shape of its first input."""
    Fixed = type(layer(torch, 2))  # noqa: N806 - a class

    class Lazy(torch.nn.modules.lazy.LazyModuleMixin, Fixed):
        cls_to_become = Fixed

        def __init__(self):
            super().__init__()
            self.weight = torch.nn.UninitializedParameter()
            self.register_buffer("shift", torch.nn.UninitializedBuffer())

        def initialize_parameters(self, x):
            self.weight.materialize(x.shape)
            self.shift.materialize(x.shape)
            with torch.no_grad():
                self.weight.fill_(2.0)
                self.shift.fill_(1.0)

        def extra_repr(self):
            return ""

    return Lazy()


def first_sentences(*calls):
    """The class and first line of what each call raises, or None."""
    found = []
    for call in calls:
        try:
            call()
        except Exception as error:
            found.append((type(error).__name__, str(error).partition("\n")[0]))
        else:
            found.append(None)
    return found
