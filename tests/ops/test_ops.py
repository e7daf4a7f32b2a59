"""Every op that a user can call, in every form, under torch and under jaxvjp: `op_cases` has the calls."""

from __future__ import annotations

import numpy as np
import pytest
from op_calls import called, gradients, operands_of, second_derivatives
from op_cases import CASES, DIFFERS, Given, Plain
from oracle import Outcome, agree, compare, theirs

import jaxvjp
from jaxvjp.ops.op import REGISTRY
from jaxvjp.tensor.bindings import OPERATORS

TOLERANCE = {"float32": (1e-5, 1e-6), "float64": (1e-12, 1e-12)}
IN_PLACE = [name for name in CASES if REGISTRY[name].inplace]
RETURNING = [name for name in CASES if REGISTRY[name].public or REGISTRY[name].operator]


def calls_of(names, label, dtypes):
    """A parameter for each call; one that deliberately differs is expected to, and to go on doing so."""
    parameters = []
    for name in names:
        for number, call in enumerate(CASES[name]):
            fixed = all(isinstance(each, Given | Plain) for each in call.operands)
            for dtype in dtypes[:1] if fixed else dtypes:
                case = label.format(name=name, number=number, dtype=dtype)
                marks = []
                if case in DIFFERS:
                    marks = [pytest.mark.xfail(raises=AssertionError, reason=DIFFERS[case], strict=True)]
                parameters.append(pytest.param(name, call, dtype, id=case, marks=marks))
    return parameters


def tolerance(call, dtype):
    """That of the dtype under test; of float32 where an operand has a type of its own, and so perhaps the result."""
    return TOLERANCE["float32" if any(isinstance(each, Given) for each in call.operands) else dtype]


def where_torch_has_one(numbers, theirs):
    """Where torch's is NaN (of the norm at 0, of x ** 2 with a tensor for the 2) because it multiplies 0 by infinity on
    the way, there is no number to compare with."""
    return [np.where(np.isnan(like), 0, each).tolist() for each, like in zip(numbers, theirs, strict=True)]


def test_every_case_is_of_a_row():
    assert set(CASES) <= {row.name for row in REGISTRY.values() if row.public or row.inplace or row.operator}


@pytest.mark.parametrize(
    ("name", "call", "dtype"), calls_of(RETURNING, "{name}-{number}-{dtype}", ["float32", "float64"])
)
def test_values_and_derivatives(name, call, dtype):
    def program(torch):
        operands, static, leaves = operands_of(torch, call, dtype)
        result = called(torch, name, operands, static)
        # Of arrays without elements JAX cannot tell what they depend on, and so not which gradients are None.
        twice = dtype == "float64" and result.requires_grad and result.numel() > 0
        first, cotangent = gradients(torch, result, leaves, create_graph=twice)
        if not twice:
            return result, first
        return result, first, second_derivatives(torch, first, [*leaves, cotangent])

    expected, given = theirs(program, *tolerance(call, dtype)), Outcome(program, jaxvjp)
    if expected.raised is given.raised is None and len(expected.value) == len(given.value) == 3:
        both = expected.value[-1], given.value[-1]
        undefined = both[0][1]
        for each in both:
            each[1] = where_torch_has_one(each[1], undefined)
    compare(given, expected, *tolerance(call, dtype))


@pytest.mark.parametrize(("name", "call", "dtype"), calls_of(IN_PLACE, "{name}_-{number}", ["float32"]))
def test_in_place(name, call, dtype):
    def program(torch):
        operands, static, leaves = operands_of(torch, call, dtype)
        target = operands[0].clone()
        returned = getattr(target, name + "_")(*operands[1:], **static)
        first, _ = gradients(torch, target, leaves)
        return returned is target, target, first

    agree(program, *tolerance(call, dtype))


@pytest.mark.parametrize("name", [name for name in CASES if REGISTRY[name].public == {"method", "function"}])
def test_the_method_and_the_operator_are_the_function(name):
    row, call = REGISTRY[name], CASES[name][0]

    def program(torch):
        operands, static, _ = operands_of(torch, call, "float32")
        results = [getattr(operands[0], name)(*operands[1:], **static)]
        if row.operator is not None:
            sign = row.operator.removeprefix("r")
            special = f"__{'r' * (sign in OPERATORS and sign != row.operator)}{OPERATORS.get(sign, row.operator)}__"
            results.append(getattr(operands[0], special)(*operands[1:]))
        return results, getattr(torch, name)(*operands, **static)

    results, result = agree(program, *TOLERANCE["float32"]).value
    assert all(each == result for each in results) or "nan" in repr(result)
