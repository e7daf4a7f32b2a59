"""View steps: the view ops that lead from a storage to the elements of a tensor.

`x[3].T` is the steps `select` at 3 and `permute`. A step can read (`Step.read`: record the view op), write
(`Step.write`: record the base with that part replaced), and tell torch's strides (`Step.layout`).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from jaxvjp.core.record.graph import Node, Number
from jaxvjp.core.record.record import Signature, avals_of, node_of_value, record, record_with, signature_of
from jaxvjp.core.record.user_lines import user_line
from jaxvjp.ops.layouts import Layout
from jaxvjp.ops.neural.activation import threshold
from jaxvjp.ops.op import Aval, Op
from jaxvjp.ops.pointwise import fill, masked_fill, zero
from jaxvjp.ops.scattering import index_fill, index_put, masked_put
from jaxvjp.ops.strided import strided, unfold
from jaxvjp.ops.view import OVERLAPPING, expand, placed, placed_repeated, put, put_at, put_changed
from jaxvjp.types.dtypes import int64
from jaxvjp.types.user_code import warn_user


class Step:
    """One view op on the way from a base to a view: `x[3]` is the step `select` at 3.

    Attributes:
        operation, static, operands: the view op, its static arguments, and its operands other than the base.
        signatures: maps the aval of a base to the signature of reading it. Steps made `anew` share it.
    """

    def __init__(self, operation: Op, static: tuple[Any, ...], operands: tuple[Number, ...] = ()) -> None:
        self.operation = operation
        self.static = static
        self.operands = operands
        self.signatures: dict[Aval, Signature] = {}

    def read(self, node: Node) -> Node:
        inputs: tuple[Node | Number, ...] = (node,)
        if self.operands:
            inputs += self.operands
        signature = self.signatures.get(node.aval)
        if signature is None:
            signature = self.signatures[node.aval] = signature_of(self.operation, self.static, avals_of(inputs))
        return record_with(signature, self.operation, inputs, self.static, user_line())

    def anew(self) -> Step:
        """The same step with other `Number`s: two operands of a program are two objects, even if they are equal."""
        if not self.operands:
            return self
        step: Step = Step.__new__(Step)
        step.operation = self.operation
        step.static = self.static
        step.operands = tuple([operand.like(operand.value) for operand in self.operands])
        step.signatures = self.signatures
        return step

    def write(self, base: Node, new: Node) -> Node:
        return self.put(base, new, put)

    def put(self, base: Node, new: Node, operation: Op) -> Node:
        """`write` by the op `put`, or by `placed`."""
        return record(operation, (base, new, *self.operands), (self.operation, self.static))

    def layout(self, layout: Layout) -> Layout:
        """The view of a layout that this step is; ValueError where torch can make none without a copy."""
        assert self.operation.layout is not None
        indices = [operand.value for operand in self.operands]
        viewed: Layout = self.operation.layout(
            layout, *indices, **dict(zip(self.operation.static_names, self.static, strict=True))
        )
        return viewed

    def plain(self) -> Step:
        """The step for a detached view: without a tangent."""
        return self


Steps = tuple[Step, ...]


def read(node: Node, steps: Steps) -> Node:
    """The view of `node` that `steps` lead to."""
    for step in steps:
        node = step.read(node)
    return node


def put_back(whole: Node, steps: Steps, new: Node, beside: bool = False) -> Node:
    """`whole` with `new` in the place that `steps` lead to. `beside`: by the op `placed`, which is no write."""
    if any(step.operation in REPEATING for step in steps) and has_layout(steps) and _repeats(whole, steps):
        return _placed_repeated(whole, steps, new) if beside else _put_into_part(whole, steps, new)
    nodes = [whole]
    for step in steps[:-1]:
        nodes.append(step.read(nodes[-1]))
    for step, outer in zip(reversed(steps), reversed(nodes), strict=True):
        new = step.put(outer, new, placed) if beside else step.write(outer, new)
    return new


REPEATING = frozenset([expand, unfold, strided])
"""The views that may show an element several times."""


def memory_of(contents: Node) -> Layout:
    """How the contents of a whole storage lie in it: without gaps, but not always in the order of the dimensions."""
    return _memory(contents.aval)


@lru_cache(maxsize=1 << 10)  # without it `x.numpy()` takes a fifth longer
def _memory(aval: Aval) -> Layout:
    return aval.layout if aval.layout.dense else aval.plain.layout


def strided_step(contents: Node, size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> Step:
    """The step from the contents of a whole storage to what these sizes, strides and offset show of it."""
    memory = memory_of(contents)
    return Step(strided, (size, stride, offset, () if memory.contiguous else memory.order))


def laid_out(layout: Layout, steps: Steps) -> Layout:
    """The view of a layout that `steps` lead to; ValueError where torch can make none without a copy."""
    for step in steps:
        layout = step.layout(layout)
    return layout


def _repeats(whole: Node, steps: Steps) -> bool:
    """Whether some element is shown several times on the way."""
    layout = memory_of(whole)
    for step in steps:
        layout = step.layout(layout)
        if step.operation in REPEATING and (step.operation is expand or layout.overlaps):
            return True
    return False


PARTLY = {
    masked_fill: "masked_fill_",
    index_fill: "index_fill_",
    index_put: "index_put_",
    masked_put: "masked_fill_",
}
"""Ops that write some elements of a tensor, and torch's name of each in place."""
WRITING_SHARED = frozenset([fill, zero, threshold, *PARTLY])
"""What torch lets write where several elements share a place in memory; what is written last is then there."""
DEPRECATED = (
    "Use of {} on expanded tensors is deprecated. Please clone() the tensor before performing this operation. This "
    "also applies to advanced indexing e.g. tensor[mask] = scalar"
)


def _put_into_part(whole: Node, steps: Steps, new: Node) -> Node:
    """`put_back` where something is repeated on the way; RuntimeError where one element of `whole` would have to hold
    several, as torch has it: not for those of `WRITING_SHARED`."""
    shown = _shown(whole, steps)
    positions, elements = np.unique(shown, return_index=True)
    if new.operation in PARTLY:
        warn_user(DEPRECATED.format(PARTLY[new.operation]))
        return record(put_changed, (whole, new, _indices(shown, whole)))
    if positions.size < shown.size and new.operation not in WRITING_SHARED:
        raise RuntimeError(OVERLAPPING)
    return record(put_at, (whole, new, _indices(elements, whole), _indices(positions, whole)))


def _placed_repeated(whole: Node, steps: Steps, new: Node) -> Node:
    """`put_back` beside, where something is repeated on the way."""
    found = np.unique(_shown(whole, steps), return_index=True, return_inverse=True)
    positions, elements, places = [_indices(each, whole) for each in found]
    return record(placed_repeated, (whole, new, elements, positions, places))


def _indices(array: np.ndarray[Any, Any], whole: Node) -> Node:
    return node_of_value(array, Aval(array.shape, int64, place=whole.aval.shaped(array.shape).device))


def _shown(whole: Node, steps: Steps) -> np.ndarray[Any, Any]:
    """The flat index in `whole` of each element that `steps` lead to."""
    memory = memory_of(whole)
    layout = laid_out(memory, steps)
    shown = np.full(layout.shape, layout.offset)
    for dim, apart in enumerate(layout.strides):
        shown += apart * np.arange(layout.shape[dim]).reshape(-1, *[1] * (len(layout.shape) - dim - 1))
    if not memory.contiguous:  # which element of the array is where in memory
        shown = np.arange(math.prod(memory.shape)).reshape(memory.shape).transpose(memory.order).ravel()[shown]
    return shown.ravel()


def has_layout(steps: Steps) -> bool:
    """Whether the view that they lead to has strides in torch: an example of a batch and a dual tensor have none."""
    return all(step.operation.layout is not None for step in steps)
