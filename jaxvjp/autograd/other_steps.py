"""What hooks of a step see where torch's last step of the function is another one, with other inputs or outputs.

`y = linear(x, w, b)` is one step here. For a matrix x, torch's step is that of `addmm(b, x, w.T)`; for others its last
step only reshapes y.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

from jaxvjp.core.record.graph import Node

Hook = Callable[..., Any]

ENTRIES = {
    ("linear", "AddmmBackward0"): "bias input weight.T",
    ("linear", "MmBackward0"): "input weight.T",
    **{
        (f"conv{kind}{dims}d", "ConvolutionBackward0"): "input weight bias"
        for kind in ("", "_transpose")
        for dims in (1, 2, 3)
    },
    ("standardized_batch", "NativeBatchNormBackward0"): "input weight bias",
    ("normalized_batch", "NativeBatchNormBackward0"): "input weight bias",
    ("group_norm", "NativeGroupNormBackward0"): "input weight bias",
    ("layer_norm", "NativeLayerNormBackward0"): "input weight bias",
    ("embedding_bag", "EmbeddingBagBackward0"): "weight per_sample_weights",
}
"""The inputs of torch's step, by the names that they have in the row of the op; None where one was not given."""
OUTPUTS = {"standardized_batch": 1, "group_norm": 3}
"""How many outputs torch's step has."""
RESHAPED: dict[str, Callable[[tuple[int, ...]], tuple[int, ...]]] = {
    "linear": lambda shape: (math.prod(shape[:-1]), shape[-1]),
    "multi_head_attention": lambda shape: (math.prod(shape[:-1]), shape[-1]),
    "standardized_instances": lambda shape: (1, shape[0] * shape[1], *shape[2:]),
    **{f"conv{kind}{dims}d": lambda shape: (1, *shape) for kind in ("", "_transpose") for dims in (1, 2, 3)},
}
"""The shape that the result had before torch's last step reshaped it."""


def other_step(node: Node, hook: Hook) -> tuple[bool, Hook]:
    """The hook for this step that gives `hook` what it gets from torch's, and whether it is called before the step."""
    operation = node.operation
    if operation is None or node.python is not None or node.edges is not None:
        return False, hook
    entries = ENTRIES.get((operation.torch_name, node.gradient_name))
    if entries is not None:
        names = [parameter.name for parameter in operation.parameters if parameter.role]
        there = [name for name, form in zip(names, node.static[-1], strict=False) if form is not None]
        return False, _rearranged(hook, entries.split(), there, OUTPUTS.get(operation.torch_name))
    if operation.torch_name in RESHAPED:
        return True, _before_reshaping(hook, RESHAPED[operation.torch_name])
    return False, hook


def _rearranged(hook: Hook, entries: list[str], there: list[str], outputs: int | None) -> Hook:
    """A hook of the cotangents of the operands `there`, which `hook` sees as `entries`."""
    seen = [name for name in there if name not in ("input", "offsets") or "per_sample_weights" not in entries]

    def turned(entry: str, cotangent: Any) -> Any:
        return cotangent.t() if cotangent is not None and entry.endswith(".T") else cotangent

    @wraps(hook)
    def rearranging(inputs: tuple[Any, ...], arrived: tuple[Any, ...]) -> Any:
        known = dict(zip(seen, inputs, strict=True))
        shown = tuple([turned(each, known.get(each.removesuffix(".T"))) for each in entries])
        arrived = arrived if outputs is None else (*arrived, *[None] * outputs)[:outputs]
        returned = hook(shown, arrived)
        if not isinstance(returned, tuple) or len(returned) != len(entries):
            return returned
        known |= {each.removesuffix(".T"): turned(each, new) for each, new in zip(entries, returned, strict=True)}
        return tuple([known[name] for name in seen])

    return rearranging


def _before_reshaping(hook: Hook, shape: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Hook:
    """A hook of what arrives at a step, which `hook` sees as inputs and outputs of the reshaping after it."""

    @wraps(hook)
    def reshaping(arrived: tuple[Any, ...]) -> Any:
        cotangent, *others = arrived
        returned = hook((cotangent.reshape(shape(cotangent.shape)),), (cotangent,))
        return None if returned is None else (returned[0].reshape(cotangent.shape), *others)

    return reshaping
