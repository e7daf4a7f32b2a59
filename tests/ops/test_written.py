"""Every op as `explain` prints it: the printed program is run, and its gradients are those of the op itself."""

from __future__ import annotations

import re

import pytest
from op_cases import CASES
from test_ops import drawn, operands_of

import jaxvjp
from jaxvjp.functions import OPERATORS
from jaxvjp.ops.op import REGISTRY


def results_of(name, call):
    """What a call gives, as far as it can be differentiated; nothing where the call is an error."""
    row = REGISTRY[name]
    operands, static, _ = operands_of(jaxvjp, call, "float32")
    try:
        if "function" in row.public:
            result = getattr(jaxvjp, name)(*operands, **static)
        elif "method" in row.public:
            result = getattr(operands[0], name)(*operands[1:], **static)
        elif row.operator is not None:
            result = getattr(operands[0], f"__r{OPERATORS[row.operator.removeprefix('r')]}__")(*operands[1:])
        else:
            result = getattr(operands[0].clone(), name + "_")(*operands[1:], **static)
    except (RuntimeError, TypeError, IndexError, NotImplementedError):
        return []
    results = result if isinstance(result, tuple) else (result,)
    return [each for each in results if each.requires_grad and not each.is_leaf]


@pytest.mark.parametrize("name", CASES)
def test_what_is_printed_of_an_op_gives_its_gradients(name):
    for call in CASES[name]:
        for result in results_of(name, call):
            explanation = result.explain(drawn(jaxvjp, result, 1))
            explanation.check()
            assert "jaxvjp" not in re.sub(r"#.*", "", explanation.source)
