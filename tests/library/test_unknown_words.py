"""A keyword that a function does not know is refused, and what is given is checked before what is missing."""

from __future__ import annotations

import pytest
from oracle import agree

MADE = """
torch.rand(2, foo=1)
torch.rand(foo=1)
torch.rand(2, strides=(1,))
torch.rand((2, 3), generater=None)
torch.randn(2, 3, foo=1)
torch.randn(2, dtpye=torch.float64)
torch.eye(2, foo=1)
torch.eye(2, 3, foo=1)
torch.randint(3, (2,), foo=1)
torch.randint(1, 3, (2,), foo=1)
torch.randint(1, 3, (2,), requires_grads=True)
torch.randperm(3, foo=1)
torch.zeros(2, foo=1)
torch.ones(2, 3, foo=1)
torch.empty((2,), foo=1)
torch.zeros(2, fill=3)
torch.full((2,), 1.0, foo=1)
torch.arange(3, foo=1)
torch.arange(1, 3, foo=1)
torch.linspace(0, 1, 3, foo=1)
torch.logspace(0, 1, 3, foo=1)
torch.tensor([1.0], foo=1)
torch.as_tensor([1.0], foo=1)
torch.scalar_tensor(1.0, foo=1)
torch.empty_strided((2,), (1,), foo=1)
torch.empty_permuted((2,), (0,), foo=1)
torch.zeros_like(x, foo=1)
torch.rand_like(x, foo=1)
torch.randn_like(x, foo=1)
torch.randint_like(x, 3, foo=1)
torch.randint_like(x, 1, 3, foo=1)
torch.hann_window(3, foo=1)
torch.kaiser_window(3, foo=1)
torch.bernoulli(x, foo=1)
torch.tril_indices(2, 2, foo=1)
x.new_zeros(2, foo=1)
x.new_ones((2,), foo=1)
x.new_empty(2, foo=1)
x.new_full((2,), 1.0, foo=1)
x.new_tensor([1.0], foo=1)
x.new_empty_strided((2,), (1,), foo=1)
x.uniform_(foo=1)
x.uniform_(0.0, foo=1)
x.normal_(foo=1)
x.cauchy_(foo=1)
"""
OTHERWISE = """
torch.rand()
torch.rand(2, requires_grad=3)
torch.rand(2, dtype="x")
torch.eye()
torch.eye(2, dtype="x")
torch.eye(2, 2, 2)
torch.randperm()
torch.randperm(2, requires_grad=3)
torch.rand_like()
torch.rand_like(2, requires_grad=3)
torch.randint_like()
torch.randint_like(x)
torch.randint_like("a")
torch.randint("a")
torch.hann_window()
torch.hann_window(2, dtype="x")
torch.bernoulli()
torch.full("a")
torch.full(2.5)
torch.full(x, requires_grad=1)
torch.tril_indices("a")
torch.tril_indices(2.5)
torch.gather(3)
torch.cat(3, foo=1)
torch.sum("a", foo=1)
x.gather("a")
x.index_add(0, 3)
"""


@pytest.mark.parametrize("call", [each for each in (MADE + OTHERWISE).splitlines() if each])
def test_refused(call):
    agree(lambda torch: eval(call, {"torch": torch, "x": torch.ones(2)}))


@pytest.mark.parametrize(
    "call",
    [
        "torch.rand(size=(2,), dtype=torch.float64, requires_grad=True).requires_grad",
        "torch.rand(2, generator=torch.Generator().manual_seed(3), pin_memory=False, layout=torch.strided)",
        "torch.randint(high=3, size=(2,), generator=torch.Generator().manual_seed(3), device='cpu')",
        "torch.randint(low=1, high=3, size=(2,), dtype=torch.int32, generator=torch.Generator().manual_seed(3))",
        "torch.randint_like(torch.ones(2), low=1, high=2, dtype=torch.int32, requires_grad=False)",
        "torch.zeros(size=(2, 1)), torch.ones(2).new_zeros(size=(1,))",
        "torch.ones(2).new_tensor(data=[1], device='cpu', requires_grad=True)",
        "torch.normal(0.0, 0.0, size=(2,), device='cpu', requires_grad=True, layout=torch.strided, pin_memory=False)",
        "torch.ones(2).uniform_(**{'from': 1.0, 'to': 1.0}), torch.ones(2).random_(1, to=2)",
    ],
)
def test_known(call):
    agree(lambda torch: eval(call, {"torch": torch}))


@pytest.mark.parametrize(
    "call",
    [
        *("torch.ones(2).random_(foo=1)", "torch.ones(2).random_(1, foo=1)", "torch.ones(2).random_(1, 2, 3)"),
        *("torch.ones(2).uniform_(0.0, 1.0, 2.0)", "torch.normal(0.0, 1.0, (2,), foo=1)"),
    ],
)
def test_of_several_forms_are_refused_as_well(call):
    """By torch's class alone: its sentence has a list of overloads."""

    def program(torch):
        with pytest.raises(TypeError) as caught:
            eval(call, {"torch": torch})
        return str(caught.value).partition("(")[0]

    agree(program)
