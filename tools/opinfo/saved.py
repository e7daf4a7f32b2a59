"""What an op saves for its backward step, told by writing it: `python -m tools.opinfo --saved gather`.

torch raises an error where a saved tensor was written in place before the backward pass. So, on torch's sample inputs,
each tensor among the operands and results is set to zero in turn, and a backward pass is tried, under both.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import jaxvjp
from tools.opinfo.check import counterpart, samples_of
from tools.opinfo.conversion import Conversion, Unsupported, is_tensor, leaves

SAMPLES = 2
"""How many of torch's samples are tried."""
NO_GRADIENT, KEPT, MODIFIED = "no gradient", "not saved", "saved"


def written(module: Any, function: Callable[..., Any], sample: Any, which: int) -> str | None:
    """What a backward pass says after the tensor number `which`, of the operands and then of the results, was written:
    NO_GRADIENT, KEPT, MODIFIED or another error's class. None if there are fewer tensors."""
    copies: dict[int, Any] = {}

    def copied(value: Any) -> Any:
        if is_tensor(value):
            if id(value) not in copies:
                own = value.detach().clone()
                copies[id(value)] = own.requires_grad_().clone() if value.requires_grad else own
            return copies[id(value)]
        if type(value) in (list, tuple):
            return type(value)(copied(each) for each in value)
        return {name: copied(each) for name, each in value.items()} if type(value) is dict else value

    operands, named = copied((sample.input, *sample.args)), copied(sample.kwargs)
    returned = function(*operands, **named)
    results = [each for each in leaves(returned) if is_tensor(each)]
    tensors = [*copies.values(), *results]
    if which >= len(tensors):
        return None
    differentiable = [result for result in results if result.requires_grad]
    if not differentiable:
        return NO_GRADIENT
    try:
        tensors[which].detach().zero_()
        sum((each.real if each.is_complex() else each).sum() for each in differentiable).backward()
    except Exception as error:
        return MODIFIED if "modified by an inplace operation" in str(error) else type(error).__name__
    return KEPT


def differences(op: Any) -> list[str]:
    """Where the two differ: `[3, 2], 0, [2, 2]: tensor 0 is saved, here it is not saved`. Other errors do not count."""
    import torch

    ours = counterpart(op)
    found = []
    for label, sample in samples_of(op, "float64", SAMPLES, True):
        try:
            mirrored = Conversion().sample(sample)
        except Unsupported:
            continue
        for which in count():
            try:
                theirs, own = written(torch, op.op, sample, which), written(jaxvjp, ours, mirrored, which)
            except Exception:  # the call itself fails, which the comparison of values reports
                break
            if theirs is None or own is None:
                break
            if theirs != own and {theirs, own} <= {KEPT, MODIFIED}:
                found.append(f"{label}: tensor {which} is {theirs}, here it is {own}")
    return found
