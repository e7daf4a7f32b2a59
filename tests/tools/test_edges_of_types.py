"""The comparison of elementwise operations at the edges of a type: what differs, and who is nearer."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
from oracle import needs_torch

from tools.opinfo import numbers
from tools.opinfo.numbers import DENORMAL, DIGITS, NAN, NEITHER, OURS, OVERFLOW, PAYLOAD, THEIRS, UNKNOWN, ZERO

FLOAT64 = SimpleNamespace(max=1.7976931348623157e308, eps=2.0**-52, smallest_normal=2.0**-1022)


@pytest.mark.parametrize(
    ("theirs", "ours", "what"),
    [
        (1.0, 1.0 + 2.0**-51, None),
        (1.0, 1.1, DIGITS),
        (0.0, -0.0, ZERO),
        (math.nan, -math.nan, PAYLOAD),
        (math.nan, 1.0, NAN),
        (math.inf, 1e308, OVERFLOW),
        (math.inf, FLOAT64.max, None),
        (1e-310, 0.0, DENORMAL),
        (5e-324, 1e-323, None),
        (0.0, 1e-300, DIGITS),
    ],
)
def test_what_differs(theirs: float, ours: float, what: str | None) -> None:
    assert numbers.sort(theirs, ours, FLOAT64, 4.0) == what


def test_who_is_nearer() -> None:
    mpmath = pytest.importorskip("mpmath")
    exact = numbers.exactly("special.erfc", [9.3])
    assert abs(exact - mpmath.erfc(9.3)) < 1e-45
    assert numbers.nearer(0.0, float(exact), exact) == OURS
    assert numbers.nearer(float(exact), math.nan, exact) == THEIRS
    assert numbers.nearer(math.inf, math.inf, exact) == NEITHER
    assert numbers.nearer(1.0, 2.0, None) == UNKNOWN
    assert mpmath.isnan(numbers.exactly("log", [-1.0]))
    assert numbers.exactly("fmod", [1.7976931348623157e308, 5e-324]) == 0
    assert numbers.exactly("remainder", [-7.0, 3.0]) == 2
    assert mpmath.isnan(numbers.exactly("igamma", [-1.0, 2.0]))
    assert numbers.exactly("special.zeta", [1e308, 1.0]) == 1
    assert numbers.exactly("lgamma", [-1e308]) == mpmath.inf
    assert abs(numbers.exactly("special.log_ndtr", [33.3]) / -1.93050550592784e-243 - 1) < 1e-14


@pytest.mark.long
@needs_torch
def test_an_entry_of_the_database() -> None:
    from tools.opinfo.check import database

    ops = {op.name: op for op in database()}
    assert [numbers.elementwise(ops[name]) for name in ("neg", "add", "sum")] == [1, 2, 0]
    assert not numbers.elementwise(ops["special.hermite_polynomial_h"])
    assert not [
        each for each in numbers.cases(ops["clamp_min"], "float32") if each.what == ZERO
    ]  # torch's own, alone, are these
    assert not [each for each in numbers.cases(ops["neg"], "float32") if each.what != PAYLOAD]
    first, *_ = numbers.cases(ops["sinh"], "float64")  # where torch computes several at once, it overflows too early
    assert (first.what, first.nearer, first.operands) == (OVERFLOW, OURS, (709.9,))
    assert "here 1.01070103e+308" in str(first)
