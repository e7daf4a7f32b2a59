"""Types: torch's promotion rules."""

from __future__ import annotations

import copy
import itertools
import pickle

import pytest
from oracle import agree, needs_torch

import jaxvjp
from jaxvjp import dtypes

NAMES = [each.name for each in dtypes.ALL]


@needs_torch
@pytest.mark.parametrize("names", list(itertools.combinations_with_replacement(NAMES, 2)), ids="-".join)
def test_promotion_of_pairs(names):
    agree(lambda torch: repr(torch.promote_types(*[getattr(torch, name) for name in names])))


@needs_torch
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


@needs_torch
@pytest.mark.parametrize("name", NAMES)
def test_attributes_and_creation(name):
    def program(torch):
        own = getattr(torch, name)
        ones = torch.ones(2, dtype=own)
        facts = [own.is_floating_point, own.is_complex, own.itemsize, own.is_signed]
        return facts, ones, torch.zeros_like(ones), torch.tensor([0, 1], dtype=own), torch.full((2,), 1, dtype=own)

    agree(program)


@needs_torch
def test_conversions():
    def program(torch):
        x = torch.tensor([1.7, -2.7], requires_grad=True)
        (x.double() * 2).sum().backward()
        parts = [x.long(), x.int(), x.half(), x.bfloat16(), x.bool(), x.to(torch.float64), x.float() is x]
        return parts, x.grad

    agree(program)


@needs_torch
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


@needs_torch
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
