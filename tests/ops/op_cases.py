"""One row per op that a user can call: its name, and a few calls of it, as data.

Numbers (and nested lists of them) are tensors of the floating dtype under test that require a gradient; `Given` is a
tensor of a given dtype, `Empty` one without elements, `Plain` a Python number. `test_ops.py` runs every call under
torch and under jaxvjp.
"""

from __future__ import annotations

from math import inf, nan
from typing import Any, NamedTuple


class Given(NamedTuple):
    """A tensor of a fixed dtype, which requires no gradient."""

    data: Any
    dtype: str = "int64"


class Empty(NamedTuple):
    """A tensor of a shape without elements, of the dtype under test."""

    shape: tuple[int, ...] = (0,)


class Plain(NamedTuple):
    """A Python number."""

    value: Any


class Call(NamedTuple):
    """One call: the operands, and the static arguments by name."""

    operands: tuple[Any, ...]
    static: dict[str, Any]


def call(*operands: Any, **static: Any) -> Call:
    return Call(operands, static)


VECTOR = [0.5, -1.25, 2.0]
MATRIX = [[0.5, -1.25, 2.0], [3.0, 0.75, -0.5]]
EDGES = [-inf, -2.5, -1.0, -0.0, 0.0, 0.5, 1.0, 3.0, inf, nan]
LARGE = [-800.0, -90.0, -20.0, 0.0, 20.0, 90.0, 800.0]
INTEGERS = Given([-2, 0, 3])
SMALL = Given([1, 2, 3], "uint8")
BOOLS = Given([True, False, True], "bool")
COMPLEX = Given([1 + 2j, -0.5j, 0j], "complex64")
EVERY_PAIR = ([[each] for each in EDGES], EDGES)
"""A column and a row: broadcast, each edge value meets each."""

UNARY = (call(EDGES), call(2.0), call(Empty((0, 2))), call(INTEGERS), call(SMALL), call(BOOLS), call(COMPLEX))
"""For a function of each element: edge values, 0-dim, empty, and the types that are not differentiated here."""

BINARY = (
    call(MATRIX, VECTOR),
    call(2.0, VECTOR),
    call(Empty((0, 3)), VECTOR),
    call(*EVERY_PAIR),
    call(EDGES, EDGES),
    call(VECTOR, Plain(3)),
    call(VECTOR, Plain(0.1)),
    call(VECTOR, INTEGERS),
    call(INTEGERS, VECTOR),
    call(INTEGERS, Plain(2)),
    call(INTEGERS, Plain(0.5)),
    call(INTEGERS, SMALL),
    call(BOOLS, BOOLS),
    call(BOOLS, Plain(2)),
    call(COMPLEX, Given(VECTOR, "float64")),
    call(VECTOR, [1.0, 2.0]),
)
"""For an operation of two operands, the last of them on shapes that do not broadcast."""

COMPARISON = (
    call(*EVERY_PAIR),
    call(Empty((0, 3)), VECTOR),
    call(VECTOR, Plain(0.5)),
    call(INTEGERS, VECTOR),
    call(BOOLS, Plain(2)),
    call(COMPLEX, COMPLEX),
    call(VECTOR, [1.0, 2.0]),
)

REDUCTION = (
    call(MATRIX),
    call(MATRIX, dim=0),
    call(MATRIX, dim=-1, keepdim=True),
    call(MATRIX, dim=(0, 1)),
    call(MATRIX, dim=()),
    call(EDGES),
    call([0.0, 0.0]),
    call([[0.0, 3.0], [0.0, 4.0]], dim=0),
    call(2.0),
    call(2.0, dim=0),
    call(Empty()),
    call(Empty((0, 2)), dim=0),
    call(Empty((2, 0)), dim=0),
    call(Empty((2, 0)), dim=1, keepdim=True),
    call(INTEGERS),
    call(SMALL),
    call(BOOLS),
    call(COMPLEX),
    call(MATRIX, dim=2),
    call(MATRIX, dim=(0, -2)),
)

CASES: dict[str, tuple[Call, ...]] = {
    "add": BINARY,
    "sub": BINARY,
    "rsub": (call(EDGES, Plain(2)), call(VECTOR, Plain(0.1)), call(INTEGERS, Plain(0.5)), call(BOOLS, Plain(2))),
    "mul": BINARY,
    "div": (*BINARY, call([1.0, -1.0, 0.0, inf], [0.0, -0.0, 0.0, inf]), call(INTEGERS, INTEGERS)),
    "rdiv": (call(EDGES, Plain(2.0)), call(INTEGERS, Plain(3)), call(EDGES, Plain(0.0))),
    "pow": (
        *BINARY,
        *(call(EDGES, Plain(each)) for each in (-2, -1, 0, 2, 3, 9, 0.0, 2.0)),
        # Below 0, where these are NaN, and at -0.0 torch tells x ** 0.5, of a Python number, from C's pow.
        *(call(EDGES[4:], Plain(each)) for each in (0.5, -0.5, 1.5, 2.5, -3.5)),
        call(EDGES, Plain(1)),
        *(call(EDGES, each) for each in (0.0, 1.0, 2.0, 0.5, -1.0)),
        call([0.0, 0.0, 0.0, 0.0], [-1.0, 0.0, 0.5, 2.0]),
        call(EDGES, Given([0, 1, 2, 0, 1, 2, 3, -1, 2, 0])),
        call(INTEGERS, Plain(-1)),
        call(INTEGERS, Plain(0.5)),
        call(INTEGERS, Given([2, 0, 1])),
        call(BOOLS, Plain(2)),
        call(COMPLEX, Plain(2)),
    ),
    "reciprocal": UNARY,
    "neg": UNARY,
    "log": UNARY,
    "exp": (*UNARY, call(LARGE)),
    "sin": UNARY,
    "cos": UNARY,
    "tanh": (*UNARY, call(LARGE)),
    "sigmoid": (*UNARY, call(LARGE)),
    "sqrt": UNARY,
    "relu": UNARY,
    "abs": UNARY,
    "masked_fill": (
        call(VECTOR, BOOLS, Plain(3.0)),
        call(MATRIX, BOOLS, 2.0),
        call(INTEGERS, BOOLS, Plain(7)),
        call(Empty((0, 3)), BOOLS, Plain(1.0)),
        call(VECTOR, INTEGERS, Plain(3.0)),
        call(VECTOR, BOOLS, VECTOR),
    ),
    "clamp_min": (call(EDGES, Plain(0.5)), call(MATRIX, VECTOR), call(INTEGERS, Plain(1))),
    "clamp_max": (call(EDGES, Plain(0.5)), call(MATRIX, VECTOR), call(INTEGERS, Plain(1))),
    "clamp": (
        call(EDGES, Plain(-1), Plain(1)),
        call(EDGES, Plain(None), Plain(0.5)),
        call(EDGES, Plain(0.5)),
        call(MATRIX, VECTOR, [1.0, 1.0, 1.0]),
        call(VECTOR, Plain(1.0), Plain(-1.0)),
        call(INTEGERS, Plain(-1), Plain(2)),
        call(VECTOR, [1.0, 2.0], [3.0, 4.0]),
        call(VECTOR),
    ),
    "eq": COMPARISON,
    "ne": COMPARISON,
    "lt": COMPARISON,
    "le": COMPARISON,
    "gt": COMPARISON,
    "ge": COMPARISON,
    "zero": (call(EDGES), call(INTEGERS), call(2.0), call(Empty())),
    "fill": (call(EDGES, Plain(2.5)), call(INTEGERS, Plain(2)), call(VECTOR, 3.0), call(Empty(), Plain(1.0))),
    "copy": (
        call(MATRIX, VECTOR),
        call(VECTOR, 2.0),
        call(VECTOR, INTEGERS),
        call(INTEGERS, VECTOR),
        call(Empty(), 1.0),
        call(VECTOR, MATRIX),
        call(VECTOR, [1.0, 2.0]),
    ),
    "mm": (
        call(MATRIX, [[1.0], [0.0], [-2.0]]),
        call(MATRIX, Empty((3, 0))),
        call(Empty((2, 0)), Empty((0, 2))),
        call([[inf, 0.0]], [[0.0], [nan]]),
        call(MATRIX, MATRIX),
        call(MATRIX, VECTOR),
        call(Given([[1, 2]]), Given([[3], [4]])),
        call(MATRIX, Given([[3], [4], [5]])),
    ),
    "dot": (
        call(VECTOR, [1.0, 0.0, -2.0]),
        call(Empty(), Empty()),
        call(INTEGERS, INTEGERS),
        call(VECTOR, [1.0]),
        call(VECTOR, MATRIX),
        call(VECTOR, INTEGERS),
        call(COMPLEX, COMPLEX),
    ),
    "mv": (
        call(MATRIX, VECTOR),
        call(Empty((2, 0)), Empty()),
        call(Empty((0, 3)), VECTOR),
        call(MATRIX, [1.0]),
        call(VECTOR, VECTOR),
        call(Given([[1, 2, 3]]), INTEGERS),
    ),
    "matmul": (
        call(VECTOR, VECTOR),
        call(MATRIX, VECTOR),
        call([0.5, -2.0], MATRIX),
        call(MATRIX, [[1.0], [0.0], [-2.0]]),
        call([MATRIX, MATRIX], VECTOR),
        call([0.5, -2.0], [MATRIX, MATRIX]),
        call([MATRIX, MATRIX], [[[1.0, 2.0], [0.0, 1.0], [-2.0, 3.0]]]),
        call([MATRIX, MATRIX], [[1.0], [0.0], [-2.0]]),
        call(Empty((2, 0, 3)), VECTOR),
        call(INTEGERS, INTEGERS),
        call(VECTOR, 2.0),
        call(MATRIX, MATRIX),
        call([MATRIX, MATRIX], MATRIX),
    ),
    "sum": (
        *REDUCTION,
        call(VECTOR, dtype="float64"),
        call(INTEGERS, dtype="float32"),
        call(MATRIX, dim=0, dtype="float64"),
    ),
    "mean": (*REDUCTION, call(Given([], "complex64")), call(VECTOR, dtype="float64"), call(INTEGERS, dtype="float32")),
    "norm": REDUCTION,
    "unsqueeze": (
        call(MATRIX, dim=0),
        call(MATRIX, dim=-1),
        call(2.0, dim=0),
        call(Empty(), dim=1),
        call(MATRIX, dim=3),
    ),
    "squeeze": (
        call([[[1.0], [2.0]]]),
        call([[[1.0], [2.0]]], dim=0),
        call([[[1.0], [2.0]]], dim=1),
        call([[[1.0], [2.0]]], dim=(0, -1)),
        call(2.0),
        call(2.0, dim=0),
        call(INTEGERS),
        call(MATRIX, dim=2),
    ),
    "view": (call(MATRIX, size=(3, 2)), call(MATRIX, size=(-1,)), call(2.0, size=(1, 1)), call(MATRIX, size=(4,))),
    "expand": (
        call([[1.0], [2.0]], size=(3, 2, 4)),
        call(VECTOR, size=(2, -1)),
        call(2.0, size=(2,)),
        call(INTEGERS, size=(2, 3)),
        call(VECTOR, size=(2,)),
        call(MATRIX, size=(3,)),
    ),
    "diagonal": (
        call(MATRIX),
        call(MATRIX, offset=1),
        call(MATRIX, offset=-1),
        call(MATRIX, offset=5),
        call([MATRIX, MATRIX], offset=0, dim1=-1, dim2=1),
        call([MATRIX, MATRIX], dim1=2, dim2=0),
        call(INTEGERS),
    ),
    "permute": (
        call([MATRIX], dims=(2, 0, 1)),
        call([MATRIX], dims=(-1, 0, 1)),
        call(2.0, dims=()),
        call(Empty((0, 2)), dims=(1, 0)),
        call(MATRIX, dims=(0,)),
        call(MATRIX, dims=(0, 0)),
    ),
    "transpose": (
        call(MATRIX, dim0=0, dim1=1),
        call([MATRIX], dim0=-1, dim1=0),
        call(2.0, dim0=0, dim1=0),
        call(Empty((0, 2)), dim0=0, dim1=1),
        call(MATRIX, dim0=0, dim1=2),
    ),
    "t": (call(MATRIX), call(VECTOR), call(2.0), call(INTEGERS), call(Empty((0, 2))), call([MATRIX])),
}

DIFFERS = {
    **{
        f"{name}_-3": "torch then has an integer tensor that requires a gradient; here it requires none"
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
    },
}
"""The calls that deliberately give something else than torch: by name, number and dtype, and what they give."""
