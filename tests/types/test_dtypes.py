"""dtypes: torch's promotion rules."""

from __future__ import annotations

import copy
import itertools
import pickle

import pytest
from oracle import agree

import jaxvjp
from jaxvjp.types import dtypes

NAMES = [each.name for each in dtypes.ALL]


@pytest.mark.parametrize("names", list(itertools.combinations_with_replacement(NAMES, 2)), ids="-".join)
def test_promotion_of_pairs(names):
    agree(lambda torch: repr(torch.promote_types(*[getattr(torch, name) for name in names])))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("other", ["True", "2", "2.5", "1j", "zero_dim", "vector", "double"])
def test_promotion_by_operations(name, other):
    if (name, other) == ("float16", "1j"):
        other = "2.5"  # torch has a complex type of 32 bits, of which JAX has no counterpart

    def program(torch):
        x = torch.ones(2, dtype=getattr(torch, name))
        operand = {
            "zero_dim": torch.tensor(2.0, dtype=torch.float64),
            "vector": torch.tensor([2, 3], dtype=torch.int16),
            "double": torch.tensor([2.0, 3.0], dtype=torch.float64),
        }.get(other)
        if operand is None:
            operand = eval(other)
        return [
            repr((x + operand).dtype),
            repr((operand * x).dtype),
            repr((x / operand).dtype),
            repr((x == operand).dtype),
        ]

    agree(program)


NUMBERS = ["True", "-3", "300", "2**40", "2.5", "1e300", "2 + 0j"]
OPERATIONS = {
    "add": lambda torch, a, b: torch.add(a, b),
    "div": lambda torch, a, b: torch.div(a, b),
    "where": lambda torch, a, b: torch.where(torch.tensor([True, False]), a, b),
    "cat": lambda torch, a, b: torch.cat([a, b]),
    "and": lambda torch, a, b: a & b,
    "in place": lambda torch, a, b: a.clone().mul_(b),
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("name", ["bool", "uint8", "int64", "bfloat16", "float32", "complex64"])
def test_types_and_refusals_of_every_pair(operation, name):
    """A vector with a vector and a 0-dim tensor of each type, and with numbers: the type, or torch's error."""

    def program(torch):
        vector, found = torch.tensor([1, 3], dtype=getattr(torch, name)), []
        others = [torch.tensor(data, dtype=getattr(torch, each)) for each in NAMES for data in ([1, 2], 2)]
        if operation not in ("cat",):
            others += [eval(each) for each in NUMBERS if (operation, each) != ("where", "1e300")]
        for other in others:
            try:
                result = OPERATIONS[operation](torch, vector, other)
                found.append((repr(result.dtype), tuple(result.shape)))
            except Exception as error:
                found.append((type(error).__name__, str(error).partition("\n")[0].rstrip(". ")))
        return found

    agree(program)


@pytest.mark.parametrize(
    "line",
    [
        "torch.tensor(300, dtype=torch.uint8)",
        "torch.tensor([-3, 255], dtype=torch.uint8)",
        "torch.tensor([1, -200], dtype=torch.int8)",
        "torch.full((2,), 1e300)",
        "torch.full((2,), torch.tensor(2, dtype=torch.uint8))",
        "torch.zeros(2, dtype=torch.float16).fill_(1e6)",
        "torch.zeros(2, dtype=torch.uint8).fill_(-0.5)",
        "torch.zeros(2, dtype=torch.uint8).masked_fill(torch.tensor([True, False]), -3)",
        "torch.ones(2, dtype=torch.uint8) ** 300",
        "torch.sub(2, torch.tensor([1, 5]))",
        "torch.ones(2, dtype=torch.bfloat16) * 2**63",
        "torch.tensor([True]) + 2**63",
    ],
)
def test_numbers_that_do_not_fit(line):
    agree(lambda torch: eval(line, {"torch": torch}))


@pytest.mark.parametrize("name", NAMES)
def test_attributes_and_creation(name):
    def program(torch):
        own = getattr(torch, name)
        ones = torch.ones(2, dtype=own)
        facts = [own.is_floating_point, own.is_complex, own.itemsize, own.is_signed]
        return facts, ones, torch.zeros_like(ones), torch.tensor([0, 1], dtype=own), torch.full((2,), 1, dtype=own)

    agree(program)


def test_conversions():
    def program(torch):
        x = torch.tensor([1.7, -2.7], requires_grad=True)
        (x.double() * 2).sum().backward()
        parts = [x.long(), x.int(), x.half(), x.bfloat16(), x.bool(), x.to(torch.float64), x.float() is x]
        return parts, x.grad

    agree(program)


def test_the_default_dtype():
    def program(torch):
        torch.set_default_dtype(torch.float64)
        try:
            return (
                torch.tensor(1.5),
                torch.ones(1),
                torch.tensor([1]) / 2,
                repr(torch.tensor(1.5)),
                torch.tensor([1]) * 2.5,
            )
        finally:
            torch.set_default_dtype(torch.float32)

    agree(program)


def test_a_dtype_is_one_object():
    assert copy.deepcopy(jaxvjp.float32) is jaxvjp.float32
    assert jaxvjp.float is jaxvjp.float32
    with pytest.raises(TypeError, match=r"can't convert np\.ndarray of type numpy\.datetime64"):
        dtypes.from_numpy("datetime64[s]")
    assert pickle.loads(pickle.dumps(jaxvjp.float64)) is jaxvjp.float64


DEPENDING = """
i / i; i / 2; i.div(2); 2 / i; 1.5 - i; i * 0.5; i + 1.5; i ** 0.5; i.pow(0.5); torch.rsub(i, 0.5); -i / 3; i // 0.5
(i > 1) * 1.5; torch.where(i > 1, 1.0, 2.0); torch.where(i > 1, i, 0.5); torch.where(i > 1, 1, 2.0); i == 0.5; i % 0.5
i.sqrt(); torch.sin(i); torch.exp(i); i.reciprocal(); i.sigmoid(); torch.atan2(i, i); i.logsumexp(0); i.xlogy(i)
torch.fft.fft(i); i * 1j; x * 1j; x * 0.5; x.mean(); i.mean(); torch.mean(i, dtype=torch.float32); i.var(); i.norm()
i.clamp(0.5); i.softmax(0); i.cumsum(0) / 2; i.float_power(2); i.ldexp(i); i.quantile(0.5)
torch.tensor(2) / torch.tensor(3); torch.result_type(i, 0.5); torch.tensor([1.5]); torch.ones(2); torch.arange(3.0)
torch.full((2,), 1.5); torch.rand(2)
torch.linspace(0, 1, 3); torch.hann_window(3); torch.signal.windows.hann(3); torch.zeros(1, 1); torch.eye(2); i.hypot(i)
torch.masked.var(i); torch.scalar_tensor(2); torch.tensor(1.5) * i; torch.heaviside(x, x); i.lerp(i, 0.5); i.float()
"""


def test_calls_that_were_remembered_follow_the_default_dtype():
    lines = [each.strip() for each in DEPENDING.replace("\n", ";").split(";") if each.strip()]
    calls = [eval(f"lambda torch, i, x: {line}") for line in lines]

    def told(call, *arguments):
        try:
            found = call(*arguments)
        except Exception as error:
            return type(error).__name__, str(error).partition("\n")[0].rstrip(". ")
        return repr(getattr(found, "dtype", found))

    def program(torch):
        i, x = torch.tensor([1, 2, 3]), torch.tensor([0.5, 2.0, 1.0])
        seen = []
        try:
            for name in ("float32", "float32", "float64", "float64", "bfloat16", "float32"):
                torch.set_default_dtype(getattr(torch, name))
                seen += [(line, told(call, torch, i, x)) for line, call in zip(lines, calls, strict=True)]
        finally:
            torch.set_default_dtype(torch.float32)
        return seen

    agree(program)
