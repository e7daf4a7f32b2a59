"""Every op as `explain` prints it: the printed program runs, and has the op's gradients."""

from __future__ import annotations

import re

import jax
import pytest
from op_calls import drawn, operands_of
from op_cases import CASES
from oracle import needs_torch

import jaxvjp
from jaxvjp.ops.op import REGISTRY
from jaxvjp.tensor.bindings import OPERATORS


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


def test_integers_are_printed_as_they_are_divided():
    x, i = jaxvjp.tensor([1.0, 2.0], requires_grad=True), jaxvjp.tensor([-7, 7])
    result = x * (i // i.new_tensor([2, 2])) * i.div(i.new_tensor([2, 2]), rounding_mode="trunc")
    result.explain(drawn(jaxvjp, result, 1)).check()


def test_windows_that_are_put_back_are_printed():
    x = jaxvjp.arange(32.0).reshape(2, 1, 4, 4).requires_grad_()
    columns = jaxvjp.nn.functional.unfold(x, (2, 3), padding=(1, 0), stride=(2, 1))
    image = jaxvjp.nn.functional.fold(columns * columns, (4, 4), (2, 3), padding=(1, 0), stride=(2, 1))
    image.explain(drawn(jaxvjp, image, 1)).check()


PARTS = 20
"""The database goes in so many parts, with JAX's programs forgotten between them: a process can map but so many."""


@needs_torch
@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_printed_of_every_op_of_torchs_database(part):
    """Some of torch's own sample inputs of each op that is covered: none is left that cannot be written."""
    from tools.opinfo import check
    from tools.opinfo.conversion import Conversion, leaves

    jax.clear_caches()
    failed = {}
    for op in list(check.database())[part::PARTS]:
        try:
            function = check.counterpart(op)
            samples = check.samples_of(op, "float32", 3, True) if op.supports_autograd else []
        except Exception:  # it is missing here, or has no samples of this type
            continue
        for label, sample in samples:
            try:
                mirrored = Conversion().sample(sample)
                returned = function(mirrored.input, *mirrored.args, **mirrored.kwargs)
                result = check.rebound(sample.output_process_fn_grad)(returned)
            except Exception:  # which the tests of ops are about
                continue
            tensors = [each for each in leaves(result) if isinstance(each, jaxvjp.Tensor)]
            for each in [each for each in tensors if each.requires_grad and not each.is_leaf][:2]:
                try:
                    each.explain(drawn(jaxvjp, each, 1)).check(rtol=1e-4, atol=1e-4)
                except Exception as error:
                    failed.setdefault(check.title(op), f"{label}: {error}")
    assert not failed
