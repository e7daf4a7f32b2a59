"""Gathering, scattering, sorting and selecting where OpInfo's samples do not go: NaN, ties, positions out of range."""

from __future__ import annotations

import pytest
from oracle import agree

import jaxvjp

CALLS = """
x.gather(1, torch.tensor([[3]]))
x.gather(0, torch.tensor([[-1]]))
x.index_select(0, beyond)
x.take(beyond)
x.take(torch.tensor([-7]))
x.put(beyond, torch.tensor([1.0, 2.0]))
x.scatter(1, torch.tensor([[7]]), 1.0)
x.scatter_add(1, torch.tensor([[7]]), x)
x.index_add(0, beyond, x)
x.index_copy(0, beyond, x)
x.index_fill(0, torch.tensor([-1]), 1.0)
x.index_fill(0, torch.tensor([-3]), 1.0)
x.index_reduce(0, beyond, x, "amax")
x.take_along_dim(beyond)
x.take_along_dim(torch.tensor([[-1]]), 1)
x[beyond]
x.masked_scatter(x > 2, torch.tensor([1.0, 2.0, 3.0]))
x.masked_select(torch.tensor([True, False, True]))
x.index_add(0, beyond, x[:1])
x.index_copy(0, torch.tensor([0]), x[:1, :2])
x.index_reduce(0, torch.tensor([0.5]), x[:1], "amax")
x.scatter_reduce(0, torch.tensor([[0]]), x.double(), "sum")
torch.sort(torch.tensor([nan, 1.0, nan, -1.0]))
torch.sort(torch.tensor([nan, 1.0, nan, 1.0]), descending=True)
torch.argsort(torch.tensor([2, 1, 2, 1]), descending=True, stable=True)
torch.topk(torch.tensor([nan, 1.0, 3.0, -1.0]), 2)
torch.median(torch.tensor([nan, 1.0, 3.0, -1.0]))
torch.median(torch.tensor([nan, 1.0, 3.0, -1.0]), 0)
torch.nanmedian(torch.tensor([nan, 1.0, 3.0, -1.0]), 0)
torch.nanmedian(torch.tensor([nan, nan]))
torch.median(torch.tensor([]))
torch.kthvalue(torch.tensor([nan, 1.0, 3.0, -1.0]), 4)
torch.mode(torch.tensor([1.0, 2.0, 2.0, 1.0]))
torch.quantile(torch.tensor([nan, 1.0, 3.0]), 0.5)
torch.nanquantile(torch.tensor([nan, 1.0, 3.0]), torch.tensor([0.25, 1.0]))
torch.quantile(x, 1.5)
torch.quantile(x, torch.tensor([0.5, 2.0]))
torch.searchsorted(torch.tensor([1.0, 2.0]), torch.tensor([nan, 1.0, 2.5]))
torch.bucketize(2.5, torch.tensor([1, 2, 3]), right=True)
torch.unique(torch.tensor([nan, nan, 1.0]), return_counts=True)
torch.unique(torch.tensor([[1, 2], [1, 2], [0, 1]]), dim=0, return_inverse=True)
torch.cat([torch.tensor([]), torch.tensor([[1, 2]])])
torch.cat([torch.tensor([1, 2]), torch.tensor([1.5])])
torch.stack([torch.tensor(1), torch.tensor(1.5)])
torch.where(x > 2)
x.repeat_interleave(torch.tensor([2, 0]), dim=0)
x.repeat(-1, 2)
x.view(torch.int32)
""".strip().splitlines()

TIES = """
x.median()
x.nanmedian()
x.sort(1).values
x.scatter_reduce(1, index, source, "amax")
x.scatter_reduce(1, index, source, "amin", include_self=False)
x.scatter_reduce(1, index, source, "prod")
x.scatter_reduce(1, index, source, "mean", include_self=False)
x.index_reduce(0, index[0, :2], source, "prod")
x.scatter_add(1, index, source)
torch.quantile(x, 0.4)
""".strip().splitlines()


@pytest.mark.parametrize("call", CALLS)
def test_at_the_edges(call):
    def program(torch):
        x = torch.tensor([[3.0, 1.0, 2.0], [5.0, 6.0, 4.0]])
        names = {"torch": torch, "x": x, "beyond": torch.tensor([0, 7]), "nan": float("nan")}
        return eval(call, names)

    agree(program)


@pytest.mark.parametrize("call", TIES)
def test_gradients_at_ties_and_zeros(call):
    def program(torch):
        x = torch.tensor([[2.0, 0.0, 2.0], [0.0, 2.0, 2.0]], dtype=torch.float64, requires_grad=True)
        source = torch.tensor([[2.0, 0.0, 2.0], [0.0, 0.0, 3.0]], dtype=torch.float64, requires_grad=True)
        index = torch.tensor([[0, 0, 1], [2, 2, 2]])
        result = eval(call, {"torch": torch, "x": x, "source": source, "index": index})
        weights = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=torch.float64)
        return result, torch.autograd.grad((result * weights).sum(), (x, source), allow_unused=True)

    agree(program, 1e-9, 1e-12)


def test_positions_are_looked_at_in_every_call():
    x = jaxvjp.tensor([1.0, 2.0, 3.0])
    for _ in range(3):
        assert x.gather(0, jaxvjp.tensor([2])).item() == 3
    with pytest.raises(RuntimeError, match="index 3 is out of bounds"):
        x.gather(0, jaxvjp.tensor([3]))
    computed = jaxvjp.tensor([1]) + 2  # is not known before it is looked at
    with pytest.raises(RuntimeError, match="index 3 is out of bounds"):
        x.gather(0, computed)


def test_a_staged_step_reads_no_mask():
    x = jaxvjp.tensor([1.0, 2.0, 3.0])
    with pytest.raises(RuntimeError, match="reads the value of a tensor"):
        jaxvjp.jit(lambda x, mask: x.masked_select(mask))(x, x > 1)
    step = jaxvjp.compile(lambda x, mask: x[mask].sum())
    assert [step(x, jaxvjp.tensor(mask)).item() for mask in ([True, False, True], [True, True, False])] == [4, 3]


def test_out_in_memory_of_its_own():
    def program(torch):
        x = torch.tensor([2.0, 1.0, 0.0])
        given = torch.zeros(3)
        assert torch.take(x, torch.tensor([0, 1, 1]), out=given) is given
        values, indices = torch.zeros(0), torch.tensor([], dtype=torch.int64)
        torch.sort(x, out=(values, indices))
        picked = torch.masked_select(x, x > 0, out=torch.zeros(0))
        told = []
        for out in (x, torch.zeros(3, dtype=torch.float64), torch.zeros(1).expand(3)):
            try:
                torch.gather(x, 0, torch.tensor([0, 1, 2]), out=out)
            except RuntimeError as error:
                told.append(str(error).partition("\n")[0].rstrip(". "))
        return given, values, indices, picked, told

    agree(program)
