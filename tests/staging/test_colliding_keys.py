"""What is remembered by keys that are equal in Python and not in a program: 1, 1.0 and True; 0.0 and -0.0; NaN; objects
that say they are equal to anything. Each program meets them in turn, forwards and backwards, often enough that every
call is remembered."""

from __future__ import annotations

import math

import numpy as np
import pytest
from oracle import agree
from steps import staged

ONES = [1, 1.0, True, np.float64(1), np.int64(1), np.bool_(True)]
ZEROS = [0, 0.0, -0.0, False, np.float64(-0.0), np.float64(0.0)]
NANS = [math.nan, float("-nan"), np.float64("nan"), 2.0, math.inf]

CALLS = """
x + v; v - x; x * v; x / v; v / x; x ** v; v ** x; x // v; x % v; i + v; i * v; i / v; i ** v; v ** i; i // v; i % v
x == v; i > v; 1 / (x * v); torch.copysign(x, v); torch.add(i, i, alpha=v); torch.sub(x, x, alpha=v)
torch.full((2,), v); torch.full_like(i, v); torch.tensor(v); torch.tensor([v, v]); x.clone().fill_(v)
torch.clamp(i, v); torch.clamp(x, max=v); torch.where(x > 0, i, v); torch.where(x > 0, v, x); x.masked_fill(x > 1, v)
i.masked_fill(i > 1, v); torch.nan_to_num(0 * x / 0, v); torch.nan_to_num(x / 0, 1.0, v); torch.fmod(x, v)
torch.nn.functional.leaky_relu(-x, v); torch.nn.functional.threshold(x, v, v); torch.lerp(x, x + 1, v)
torch.nn.functional.pad(x, (1, 1), value=v); torch.nn.functional.softplus(x, v); x.sum(v); m.sum(v); torch.cumsum(m, v)
m.select(0, v); m.roll(v); torch.round(x, decimals=v); m.std(correction=v); torch.eye(v); torch.triu(m, v); m.argmax(v)
i.clone().fill_(v); m.transpose(0, v); torch.pow(v, x)
"""
LINES = [line.strip() for block in CALLS.strip().splitlines() for line in block.split(";")]
EQUAL = {"ones": ONES, "zeros": ZEROS, "nans": NANS}


def tried(call):
    """What a call gives, or the class and first sentence of its error."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error).partition("\n")[0].rstrip(". ")


def signed(result):
    """A result beside its signs of zero, which a comparison of values does not see."""
    if type(result) is tuple or not result.is_floating_point():
        return result
    return result, result.signbit() & ~result.isnan()  # the sign of a NaN is nobody's promise


def in_turn(torch, line, values):
    x, i = torch.tensor([1.0, -2.0, 3.0]), torch.tensor([1, 2, 3])
    code, scope = compile(line, line, "eval"), {"torch": torch, "x": x, "i": i, "m": torch.arange(6.0).reshape(2, 3)}
    return [signed(tried(lambda v=v: eval(code, {**scope, "v": v}))) for v in (*values, *reversed(values), *values)]


@pytest.mark.parametrize("line", LINES)
def test_a_call_with_values_that_are_equal(line):
    agree(lambda torch: [in_turn(torch, line, values) for values in EQUAL.values()])


class Alike:
    """Equal to everything, with everybody's hash."""

    def __init__(self, factor):
        self.factor = factor

    def __eq__(self, other):
        return True

    def __hash__(self):
        return hash(1)


class Refusing(Alike):
    """Whose comparison raises."""

    def __eq__(self, other):
        raise AssertionError("no comparison is the user's")

    __hash__ = Alike.__hash__


class Several(Alike):
    """Whose comparison gives an array, as NumPy's does."""

    def __eq__(self, other):
        return np.array([True, False])

    __hash__ = Alike.__hash__


ODD = {
    "objects_equal_to_everything": [Alike(2.0), Alike(3.0), Alike(-0.0)],
    "objects_that_refuse_comparison": [Refusing(2.0), Refusing(3.0)],
    "objects_that_compare_as_arrays": [Several(2.0), Several(3.0)],
}


class Held:
    """Something that a step reads from outside."""

    value = None


def of_kind(torch, value):
    """A tensor that tells the values apart."""
    x = torch.tensor([1.0, -2.0])
    if isinstance(value, Alike):
        return x * value.factor
    return 1 / (x * value) if value == 0 else torch.tensor([1, 2]) * value


def staged_programs(torch, values):
    """The values as an argument, by a keyword, in a tuple, and in the surroundings: a closure and an attribute."""
    value = None
    by_argument = staged(torch, lambda v: of_kind(torch, v))
    by_keyword = staged(torch, lambda *, v: of_kind(torch, v))
    in_a_tuple = staged(torch, lambda v: of_kind(torch, v[0]))
    by_closure = staged(torch, lambda: of_kind(torch, value))
    by_attribute = staged(torch, lambda: of_kind(torch, Held.value))
    results = []
    for each in (*values, *reversed(values), *values, *values):
        value = Held.value = each
        calls = (lambda v=each: by_argument(v), lambda v=each: by_keyword(v=v), lambda v=each: in_a_tuple((v,)))
        results += [signed(tried(call)) for call in (*calls, by_closure, by_attribute)]
    return results


@pytest.mark.parametrize("kind", [*EQUAL, *ODD])
def test_a_staged_step_with_values_that_are_equal(kind):
    agree(lambda torch: staged_programs(torch, {**EQUAL, **ODD}[kind]))


def test_dtypes_of_one_width_and_tensors_of_one_value():
    def program(torch):
        kinds = [
            torch.float16,
            torch.bfloat16,
            torch.int16,
            torch.int32,
            torch.float32,
            torch.uint8,
            torch.int8,
            torch.bool,
        ]
        step = staged(
            torch, lambda x, kind: (x.to(kind) + 1, x + torch.ones(1, dtype=kind), torch.zeros(1, dtype=kind))
        )
        ones = [torch.ones(1, dtype=kind) for kind in kinds]
        return [step(x, kind) for _ in range(3) for x in ones for kind in kinds]

    agree(program)
