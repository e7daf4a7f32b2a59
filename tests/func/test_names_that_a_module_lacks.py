"""`functional_call` with a name that the module has not: a tensor for the time of the call."""

from __future__ import annotations

import pytest
from oracle import agree


def module(torch):
    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(2, 1)
            self.rate = 3.0
            self.seen = []

        def forward(self, x):
            scale = getattr(self, "scale", None)
            self.seen.append((hasattr(self, "scale"), hasattr(self.inner, "further")))
            return x * self.rate if scale is None else x * scale

    return Scaled()


@pytest.mark.parametrize("names", [["scale"], ["scale", "inner.further"], ["inner.weight", "scale"], ["inner.further"]])
def test_is_there_during_the_call(names):
    def program(torch):
        made, x = module(torch), torch.ones(1, 2, requires_grad=True)
        given = {name: torch.full((1, 2), 4.0, requires_grad=True) for name in names}
        result = torch.func.functional_call(made, given, (x,))
        result.sum().backward()
        left = [hasattr(made, "scale"), hasattr(made.inner, "further"), sorted(dict(made.named_parameters()))]
        return result, made.seen, left, x.grad, given[names[0]].grad

    agree(program)


def test_is_gone_after_an_error():
    def program(torch):
        made = module(torch)
        with pytest.raises(RuntimeError):
            torch.func.functional_call(made, {"scale": torch.ones(3)}, (torch.ones(2),))
        return made.seen, hasattr(made, "scale")

    agree(program)


@pytest.mark.parametrize("name", ["rate", "forward", "inner.in_features", "none.scale", "inner.none.scale", "inner"])
def test_refused(name):
    def program(torch):
        made = torch.nn.Sequential() if name == "forward" else module(torch)
        torch.func.functional_call(made, {name: torch.ones(2)}, (torch.ones(2),))

    def told(torch):
        try:
            program(torch)
        except Exception as error:
            return type(error).__name__, str(error).partition(":")[0]

    agree(told)
