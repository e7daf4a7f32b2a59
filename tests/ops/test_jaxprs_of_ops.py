"""The jaxprs of ops by which shapes are worked out: without the jitted helpers that JAX would keep for ever."""

from __future__ import annotations

import jax
import pytest

import jaxvjp
from jaxvjp.ops import op, tracing


@pytest.fixture
def traced(monkeypatch):
    """What the lines of the test traced, by the name of the op, in order."""
    made = {}
    trace = tracing._jaxpr_of.__wrapped__

    def noted(operation, static, avals):
        result = trace(operation, static, avals)
        made.setdefault(operation.name, []).append(result[0])
        return result

    monkeypatch.setattr(tracing, "_jaxpr_of", noted)
    monkeypatch.setattr(tracing, "_without_loops", set())
    return made


def primitives(jaxpr):
    return [each.primitive.name for each in jaxpr.eqns]


def test_a_second_shape_is_traced_without_jitted_helpers(traced):
    for size in (1013, 1019):
        x = jaxvjp.ones(size, requires_grad=True)
        (x.var(0) + x.clip(0, 1).std(0) + x.logsumexp(0)).backward()
    several = {name: each for name, each in traced.items() if len(each) > 1}
    assert {"jit", "pjit"} & {name for each in several.values() for name in primitives(each[0])}
    assert not {"jit", "pjit"} & {name for each in several.values() for name in primitives(each[1])}


def test_loops_stay_loops(traced):
    layer = jaxvjp.nn.LSTM(2, 3)
    for length in (1013, 1019):
        layer(jaxvjp.ones(length, 1, 2))
    assert ["scan" in primitives(each) for each in traced["recurrence"]] == [True, True]


def test_an_op_that_loops_for_other_operands_is_traced_with_its_loop():
    def looping(input):
        return jax.lax.while_loop(lambda at: at.sum() < 9, lambda at: at + 1, input) if input.ndim else input + 1

    row = op.Op(looping)
    avals = [jaxvjp.ones(shape).__shown__.aval for shape in ((), (3,), ())]
    first, second, third = [tracing.jaxpr_of(row, (), (each,))[0] for each in avals]
    assert primitives(first) == primitives(third) == ["add"]
    assert "while" in primitives(second)
