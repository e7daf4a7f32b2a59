"""What torch gives for casts, indices, old ways to call, and where it refuses a derivative: a line of code each."""

from __future__ import annotations

import warnings
from math import inf, nan

import pytest
from oracle import agree

READS = """
x[True]; x[False]; x[torch.tensor(True)]; x[0, True]; x[True, [0, 1]]; x[..., False]; x[[[0, 1], [1, 0]]]; x[1.5]
x[:, 0.0]; x["a"]; x[::0]; x[2**70]; x[torch.tensor([2**32])]; reversed(x); reversed(x[0, 0]); x.ndimension()
x[0, 0].unique(); x.unique(dim=0); x[:0].unique(dim=1); x[0, 0].unique(dim=0); x[0, 0].unique_consecutive(dim=0)
torch.tensor([nan, 1.0, nan, inf]).unique(return_inverse=True, return_counts=True); x[:0].chunk(3); x[:0].split(1)
torch.div(x, 2, rounding_mode=None); x[0].sort(stable=None); x.roll(1, dims=None); x.roll((1, 2), dims=None)
torch.add(True, True); torch.add(1, 2, alpha=2); torch.add(1, 2, alpha=2.5); torch.mul(3, 2); torch.div(3, 2)
torch.sub(True, True); torch.add(x.long(), 1, alpha=2.5); torch.add(x, 1, alpha=True); torch.sub(x.long(), x, alpha=1j)
torch.addcdiv(x, 2, x, x + 1); x.addcmul(2, x, x); torch.add(x, 2, x); x.sub(2, x); torch.addmm(2, x, x, x.T @ x)
torch.addmm(2, x @ x.T, 3, x, x.T); torch.addcdiv(x, 2, x); x.to(float); x.sum(dtype=int); torch.zeros(2, dtype=bool)
torch.full((2,), 1, dtype=float); torch.tensor([1.5], dtype=int); torch.zeros(2, dtype=str); x.to(dtype=str)
x.nonzero(); torch.nonzero(x, as_tuple=True, out=x.long()); torch.nonzero(x, out=x); torch.multinomial(x[:0], 2, True)
torch.igamma(torch.tensor([5.0, 1e3, 1e5, 1e8, inf]), torch.tensor([4.0, 1e3, 1e5, 1e8, 1.0]))
torch.igammac(torch.tensor([1e5, 1e8, 2e4]).double(), torch.tensor([100500.0, 1e8, 5e4]).double())
torch.tensor([complex(-inf, 1), complex(-inf, 2), 1 + 2j]).logcumsumexp(0)
x.rot90(1, [0, 2]); x.rot90(1, [0, -2]); x.histc(4, 0, inf); torch.histc(1 / x, 4); x.bincount()
torch.unravel_index(x, 3); torch.unravel_index(x.long(), (2.0,)); torch.unravel_index(x.long(), (2, -3))
x[:, :0][:, [0, 1]]; x[0].index_add(0, torch.tensor([3]), x[0, :1]); x.index_add(0, torch.tensor([3]), x[:1])
torch.nn.functional.cross_entropy(x, torch.tensor(1)); torch.nn.functional.nll_loss(x[:1], torch.tensor(1))
torch.tensor([complex(inf, 1), complex(inf, 2.5), complex(inf, -1)]).logcumsumexp(0); x.cfloat().unique()
torch.histogramdd(x[:, :0], []); torch.all(x, 0, out=x); torch.any(x, 0, out=x.byte()[0])
x.cfloat().unique_consecutive()
torch.cumsum(x, 0, dtype=torch.int16, out=x); torch.sum(x, 0, dtype=torch.float64, out=x[0])
torch.exp(torch.tensor([complex(inf, 0), complex(-inf, inf), complex(0, inf)]))
torch.tensor([complex(inf, inf), 1 + 2j]).logcumsumexp(0); torch.tensor([1 + 2j, complex(1, nan)]).logcumsumexp(0)
"""
WRITES = """
x[True] = 7; x[False] = 7; x[torch.tensor(False)] = torch.ones(3); x[range(2), range(2)] = torch.ones(1, 2)
x[torch.tensor([0, 1])] = torch.ones(1, 1, 3); x[torch.tensor([0])] = torch.ones(3, dtype=torch.float64); x[0.0] = 1
x.long()[x > 3] = torch.tensor([]); x.long()[x > 3] = torch.ones(2); x[torch.tensor([1, 0], dtype=torch.uint8)] = 0
x.index_put_((torch.tensor([2**31]),), torch.tensor(1.0)); x[torch.tensor([2**32 + 1])] = 1
x[0].expand(2, 3).index_fill_(1, torch.tensor([0]), 2.0); x[0].expand(2, 3).add_(1); x.unfold(1, 2, 1)[0, 1] = 5
x[:, :1].expand(2, 3).masked_fill_(x > 3, 9.0); x[:, :1].expand(2, 3)[torch.tensor([1])] = 4
x.unfold(1, 2, 1)[0, 0, 1] = 5
"""
DRAWS = """
torch.empty(5, dtype=torch.int64).random_(-(2**63), None); torch.empty(5, dtype=torch.int32).random_(-(2**31), None)
torch.empty(5).random_(0, 2**30); torch.empty(5, dtype=torch.float16).random_(0, 65504)
torch.empty(5).random_(-5, None)
torch.empty(5, dtype=torch.int8).random_(300); torch.empty(5, dtype=torch.uint8).random_(-1, 100)
torch.empty(5, dtype=torch.bool).random_(0, 3); torch.empty(5, dtype=torch.float64).random_(-(2**60), 2**60)
"""
REFUSED = """
x // 2; torch.floor_divide(2, x); torch.heaviside(x, x); x.unique(); x.unique(dim=0); torch.igamma(x, x.detach())
x.unique_consecutive(); torch.special.zeta(x, x.detach()); torch.igamma(x.detach(), x)
torch.special.zeta(x.detach() + 1, x)
"""


def lines(text: str) -> list[str]:
    return [each.strip() for each in text.replace("\n", ";").split(";") if each.strip()]


@pytest.mark.parametrize("line", lines(READS))
def test_what_is_read(line):
    def program(torch):
        x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 0.0, 6.0]])
        return eval(line, {"torch": torch, "x": x, "inf": inf, "nan": nan})

    agree(program)


@pytest.mark.parametrize("line", lines(WRITES))
def test_what_is_written(line):
    def program(torch):
        x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        exec(line, {"torch": torch, "x": x})
        return x

    agree(program)


@pytest.mark.parametrize("line", lines(DRAWS))
def test_what_is_drawn(line):
    def program(torch):
        torch.manual_seed(3)
        return eval(line, {"torch": torch})

    agree(program)


@pytest.mark.parametrize("seed", [-1, -(2**63), 2**64 - 1, 2**64, -(2**63) - 1])
def test_seeds_of_64_bits(seed):
    def program(torch):
        torch.manual_seed(seed)
        return torch.initial_seed(), torch.rand(2)

    agree(program)


@pytest.mark.parametrize("line", lines(REFUSED))
def test_derivatives_that_torch_refuses(line):
    def program(torch):
        x = torch.tensor([3.0, 3.0, 0.5], requires_grad=True)
        y = eval(line, {"torch": torch, "x": x})
        assert y.requires_grad
        y.sum().backward()
        return y, x.grad

    agree(program)


@pytest.mark.parametrize("to", ["uint8", "int8", "int16", "int32", "int64", "bool"])
@pytest.mark.parametrize("own", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_floats_become_integers(own, to):
    def program(torch):
        x = torch.tensor([300.7, -1.0, -129.9, 1e10, -1e10, 3e9, 7e4, 1e20, nan, inf, -inf], dtype=getattr(torch, own))
        return x.to(getattr(torch, to))

    agree(program)


@pytest.mark.compiled
@pytest.mark.parametrize("size", [1, 17, 4096, 4097, 70_000])
def test_no_reduction_loses_nan(size):
    def program(torch):
        x = torch.zeros(size)
        x[-1] = nan
        x.requires_grad_()
        pairs = torch.stack([x, x], 1)
        extremes = (
            x.max(),
            x.min(),
            x.amax(),
            x.amin(),
            x.max(0).values,
            x.aminmax().max,
            pairs.amax(0),
            pairs.T.amin(1),
        )
        norms = x.norm(inf), torch.linalg.vector_norm(x, -inf)
        return *extremes, *norms, x.argmax(), x.argmin(), x.max(0).indices, torch.autograd.grad(x.max(), x)[0][-1]

    agree(program)


def test_masks_of_bytes_are_of_yesterday():
    def program(torch):
        x, mask = torch.arange(3.0), torch.tensor([1, 0, 1], dtype=torch.uint8)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            x.index_put_((mask,), x[mask] + 1)
        return x, [str(each.message).partition(" (Trig")[0] for each in seen]

    agree(program)


@pytest.mark.long
def test_positions_of_more_than_32_bits():
    def program(torch):
        x = torch.zeros((1 << 31) + 5, dtype=torch.int8)
        x[-2] = 3
        x.index_put_((torch.tensor([-2, (1 << 31) + 4]),), torch.tensor([1, 2], dtype=torch.int8), accumulate=True)
        return x[-2], x[-3:], x[(1 << 31) + 2 :], x[2]

    agree(program)


def test_a_negative_zero_is_another_argument():
    def program(torch):
        x, threshold = -torch.ones(2), torch.nn.functional.threshold
        return [1 / threshold(x, 0.0, value) for value in (0.0, -0.0, 0.0, -0.0)]

    agree(program)


def test_a_threshold_is_not_rounded_to_16_bits():
    def program(torch):
        x = torch.tensor([0.0996, 0.1001, 1.0], dtype=torch.bfloat16, requires_grad=True)
        y = torch.nn.functional.threshold(x, 0.1, 20.0)
        return y, torch.autograd.grad(y.sum(), x)

    agree(program)


def test_products_of_what_is_scattered_round_as_torchs():
    def program(torch):
        torch.manual_seed(0)
        index = torch.tensor([[0, 1, 0, 0, 1, 0]] * 50)
        found = []
        for own in (torch.float32, torch.float64):
            x, source = torch.ones(50, 2, dtype=own) * 3, torch.rand(50, 6).to(own)
            one_by_one = x.clone()
            for row in range(50):
                for column in range(6):
                    one_by_one[row, index[row, column]] *= source[row, column]
            found.append((x.scatter_reduce(1, index, source, "prod") == one_by_one).all())
        marks = torch.tensor([[True, True], [False, True]])
        return found, marks.scatter_reduce(1, index[:2], torch.arange(12).reshape(2, 6) != 4, "prod")

    agree(program)
