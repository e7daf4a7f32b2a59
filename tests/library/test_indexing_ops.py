"""Gather, scatter, sort and select beyond OpInfo's samples: NaN, ties, positions out of range."""

from __future__ import annotations

import warnings

import jax
import numpy as np
import pytest
from oracle import agree, live

import jaxvjp
from jaxvjp.ops.view import select, slice_

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
torch.nanquantile(x, 2.0)
torch.nanquantile(x, torch.tensor(2.0))
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


WRITES = """
x[mask] = 0
x[mask] = number
x[mask] = one
x[mask] = -2.5
x[mask] = one[None, None]
x[mask] = x[0, 1]
x[mask] = x[0]
x[mask] = row
x[mask] = row[None]
x[mask] = row[:, None]
x[mask] = three
x[mask] = three[None]
x[mask] = number.double()
x[mask] = three.double()
x[mask] = 1 + 2j
x[mask] = 1e300
x[mask] = [1, 2, 3]
x[mask] = None
x[mask.to(torch.uint8)] = 0
x[mask.to(torch.uint8)[:, 0]] = row
x[mask[:, 0]] = row
x[mask[:, 0]] = row[None]
x[mask[:, 0], 2] = 7
x[:, mask[0]] = column
x[:, mask[0]] = column[:, 0]
x[:, mask[0], None] = number
x[mask[:, 0], mask[1]] = 7
x[0, mask[0]] = one
x[..., mask[0]] = 3
x[1][mask[0]] = number
x[:, mask[0].tolist()] = 3
x[True] = row
x[False] = row
x[True, False] = 3
x[:, torch.tensor(False)] = 3
x[torch.tensor(1, dtype=torch.uint8)] = 3
x[mask[:1]] = 0
x[:, mask] = 0
x[:, mask[:, 0]] = 0
x[None, :, mask[:, 0]] = 0
x[mask.expand(1, 2, 3)] = 0
x.index_put_((mask,), number)
x.index_put_((mask,), one[None], accumulate=True)
x.index_put_((mask,), row[None])
x.index_put_((mask,), three[None])
x[torch.tensor([0, 1])] = row.double()
x[torch.tensor([0])] = 1e300
x[0] = 1e300
x[0] = 1 + 2j
x[0] = [1, 2, 3]
x[0] = row[None, None]
""".strip().splitlines()


@pytest.mark.parametrize("write", WRITES)
def test_what_a_mask_writes(write):
    def program(torch):
        given = torch.arange(6.0).reshape(2, 3).requires_grad_()
        values = {
            "number": torch.tensor(5.0, requires_grad=True),
            "one": torch.tensor([6.0], requires_grad=True),
            "row": torch.tensor([7.0, 8.0, 9.0], requires_grad=True),
            "column": torch.tensor([[1.0], [2.0]], requires_grad=True),
            "three": torch.tensor([4.0, 3.0, 2.0], requires_grad=True),
        }
        x = given * 2
        mask = torch.tensor([[True, False, True], [False, False, True]])
        exec(write, {"torch": torch, "x": x, "mask": mask, **values})
        loss = (x * torch.arange(1.0, 7.0).reshape(2, 3)).sum()
        gradients = torch.autograd.grad(loss, (given, *values.values()), allow_unused=True)
        return x, x._version, x.grad_fn.name(), gradients

    agree(program)


NARROW = "x[m] = 300", "x[m] = -3", "x[m] = 2.7", "x[m] = torch.tensor(2.7)", "x[m] = True", "x[m] = 1e10", "x[0] = 300"


@pytest.mark.parametrize("dtype", ["uint8", "int64", "bool", "float16", "complex64"])
@pytest.mark.parametrize("write", NARROW)
def test_a_mask_writes_what_the_type_holds(write, dtype):
    def program(torch):
        x = torch.zeros(2, 3, dtype=getattr(torch, dtype))
        exec(write, {"torch": torch, "x": x, "m": torch.tensor([[True, False, True], [False, False, True]])})
        return x

    agree(program)


def test_a_leaf_is_not_written_nor_a_mask_behind_the_graph():
    def of_a_leaf(torch):
        x = torch.zeros(3, requires_grad=True)
        x[torch.tensor([True, False, True])] = 1

    def afterwards(torch):
        x, mask = torch.ones(3, requires_grad=True), torch.tensor([True, False, True])
        y = x * 2
        y[mask] = 1
        mask.zero_()
        y.sum().backward()

    def captured(torch):
        other = torch.zeros(3)
        torch.func.grad(lambda x: other.__setitem__(other > 1, 0) or x.sum())(torch.ones(3))

    agree(of_a_leaf)
    agree(captured)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        afterwards(jaxvjp)


@pytest.mark.parametrize("key", ["True", "False", "True, True", "0, True", "slice(None), torch.tensor(False)"])
def test_one_truth_value_reads_all_or_nothing(key):
    agree(lambda torch: torch.arange(6.0).reshape(2, 3)[eval(key, {"torch": torch})])


def clipped(torch):
    class Clip(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.clamp(min=0)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            g = g.clone()
            g[x < 0] = 0
            return g

    return Clip.apply


def test_one_program_writes_under_every_mask(counted):
    clip = clipped(jaxvjp)

    def step(offset):
        x = (jaxvjp.arange(8.0) - offset).requires_grad_()
        clip(x).sum().backward()
        return x.grad.sum().item()

    step(0.5), step(0.5)
    counted()
    assert [step(offset) for offset in (1.5, 2.5, 3.5, 4.5)] == [6, 5, 4, 3]
    compiles, dispatches = counted()
    assert compiles == 0
    assert dispatches <= 4 * 2


def test_a_mask_is_written_through_inside_transforms():
    x, masks = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[True, False, True], [False, True, False]]

    def masked(x, mask, value):
        x = x * 1
        x[mask] = value
        return x

    def by_hand(torch):
        values = torch.tensor([7.0, 8.0])
        return torch.stack([masked(*each) for each in zip(torch.tensor(x), torch.tensor(masks), values, strict=True)])

    def batched(torch):
        run = masked if torch is live else jaxvjp.func.vmap(masked)
        return by_hand(torch) if torch is live else run(torch.tensor(x), torch.tensor(masks), torch.tensor([7.0, 8.0]))

    def staged(torch):
        run = masked if torch is live else jaxvjp.jit(masked)
        return [run(torch.tensor(a), torch.tensor(b), torch.tensor(9.0)) for a, b in zip(x, masks, strict=True)]

    agree(batched)
    agree(staged)


def test_positions_in_a_dimension_of_2_to_the_31_have_64_bits():
    """XLA takes all positions in an array for numbers of the type of one of them, also of the other dimension."""
    array, position = jax.ShapeDtypeStruct((2, 1 << 31), np.int8), jax.ShapeDtypeStruct((), np.int32)
    row = jax.ShapeDtypeStruct((1 << 31,), np.int8)
    functions = [
        (lambda x, i: select.function(x, i, dim=0), (array, position)),
        (lambda x, i: slice_.function(x, i, dim=0, length=1, step=1), (array, position)),
        (lambda x, new, i: select.write(x, new, i, dim=0), (array, row, position)),
        (lambda x, new, i: slice_.write(x, new[None], i, dim=0, length=1, step=1), (array, row, position)),
    ]
    with jax.enable_x64(True):
        for function, operands in functions:
            traced = jax.make_jaxpr(function)(*operands)
            moved = [each for each in _equations(traced.jaxpr) if each.primitive.name.startswith("dynamic_")]
            types = {str(each.aval.dtype) for equation in moved for each in equation.invars if not each.aval.shape}
            assert types == {"int64"}


def _equations(jaxpr):
    for equation in jaxpr.eqns:
        yield equation
        inner = equation.params.get("jaxpr")
        if inner is not None:
            yield from _equations(inner.jaxpr)


def test_a_warning_is_of_the_users_line():
    """Also where modules are compiled and have no frames: a deprecated index warns once for each line."""
    x, mask = jaxvjp.ones(3, 3), jaxvjp.tensor([1, 0, 1], dtype=jaxvjp.uint8)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for _ in range(2):
            x[mask]
            x[mask] = jaxvjp.ones(2, 3)
    first, second = told
    assert (first.filename, second.filename) == (__file__, __file__)
    assert second.lineno == first.lineno + 1
