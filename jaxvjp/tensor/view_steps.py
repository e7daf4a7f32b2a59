"""View steps: the view ops that lead from a storage to the elements of a tensor.

`x[3].T` is the steps `select` at 3 and `permute`. A step can read (`Step.read`: record the view op), write
(`Step.write`: record the base with that part replaced), and tell torch's strides (`Step.layout`).
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from jaxvjp.core.record.graph import Node, Number
from jaxvjp.core.record.record import Signature, avals_of, leaf, record, record_as, signature_of
from jaxvjp.core.record.user_lines import user_line
from jaxvjp.ops.op import Aval, Op
from jaxvjp.ops.pointwise import fill, masked_fill, zero
from jaxvjp.ops.scattering import index_fill, index_put, masked_put
from jaxvjp.ops.strided import unfold
from jaxvjp.ops.view import OVERLAPPING, expand, placed, put, put_at, put_changed
from jaxvjp.types.dtypes import int64

Array = np.ndarray[Any, Any]

ORIGIN = np.zeros(1, np.uint8)
"""One byte at which every layout array begins, so that their addresses can be compared."""


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
        return record_as(signature, self.operation, inputs, self.static, user_line(sys._getframe()))

    def anew(self) -> Step:
        """The same step with other `Number`s: two operands of a program are two objects, even if they are equal."""
        if not self.operands:
            return self
        step: Step = Step.__new__(Step)
        step.operation = self.operation
        step.static = self.static
        step.operands = tuple([each.again() for each in self.operands])
        step.signatures = self.signatures
        return step

    def write(self, base: Node, new: Node) -> Node:
        return self.put(base, new, put)

    def put(self, base: Node, new: Node, operation: Op) -> Node:
        """`write` by the op `put`, or by `placed`."""
        return record(operation, (base, new, *self.operands), (self.operation, self.static))

    def layout(self, array: Array) -> Array:
        """The view of a NumPy array that this step is; ValueError where torch can make none without a copy."""
        assert self.operation.layout is not None
        indices = [each.value for each in self.operands]
        viewed: Array = self.operation.layout(
            array, *indices, **dict(zip(self.operation.static_names, self.static, strict=True))
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
    if any(map(_repeats, steps)) and has_layout(steps):
        return _put_into_part(whole, steps, new)
    nodes = [whole]
    for step in steps[:-1]:
        nodes.append(step.read(nodes[-1]))
    for step, outer in zip(reversed(steps), reversed(nodes), strict=True):
        new = step.put(outer, new, placed) if beside else step.write(outer, new)
    return new


WRITING_SHARED = frozenset([fill, zero, masked_fill, index_fill, index_put, masked_put])
"""What torch lets write where several elements share a place in memory; what is written last is then there."""


def _repeats(step: Step) -> bool:
    """Whether a view may show an element several times: `expand`, and windows that overlap."""
    return step.operation is expand or (step.operation is unfold and step.static[2] < step.static[1])


def _put_into_part(whole: Node, steps: Steps, new: Node) -> Node:
    """`put_back` if a step repeats elements, as `expand` does; RuntimeError, as in torch, if one element of `whole`
    would have to hold several values: not for those of `WRITING_SHARED`."""
    origin = layout = contiguous(whole.aval.shape)
    for step in steps:
        layout = step.layout(layout)
    begins: int = layout.__array_interface__["data"][0] - origin.__array_interface__["data"][0]
    places = np.arange(math.prod(whole.aval.shape))[begins:]
    bytes_apart = [each * places.itemsize for each in layout.strides]
    shown = np.lib.stride_tricks.as_strided(places, layout.shape, bytes_apart).ravel()
    positions, elements = np.unique(shown, return_index=True)
    if positions.size < shown.size and new.operation not in (fill, zero):
        if new.operation not in WRITING_SHARED:
            raise RuntimeError(OVERLAPPING)
        return record(put_changed, (whole, new, leaf(shown, Aval(shown.shape, int64, place=whole.device))))
    where = [leaf(each, Aval(each.shape, int64, place=whole.device)) for each in (elements, positions)]
    return record(put_at, (whole, new, *where))


def has_layout(steps: Steps) -> bool:
    """Whether the view that they lead to has strides in torch: an example of a batch and a dual tensor have none."""
    return all(step.operation.layout is not None for step in steps)


def contiguous(shape: tuple[int, ...]) -> Array:
    """A NumPy array of one byte per element, of that shape, whose elements lie in their order."""
    strides = [math.prod(shape[dim + 1 :]) for dim in range(len(shape))]
    return np.lib.stride_tricks.as_strided(ORIGIN, shape, strides, writeable=False)


def overlap(origin: Array, target: Array, start: Array, source: Array) -> bool:
    """Whether two layouts of the same memory share some elements, but are not the same. `origin` and `start` are the
    layouts of the whole storage for `target` and `source`."""
    first, second = (
        each.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        for base, each in ((origin, target), (start, source))
    )
    if not (_dense(target) and _dense(source)):
        return False  # as in torch, which does not try to find out
    apart = first + target.size <= second or second + source.size <= first
    return not apart and (first, _extent(target)) != (second, _extent(source))


def _extent(array: Array) -> list[tuple[int, int]]:
    """Size and stride of each dimension that has more than one element."""
    return [each for each in zip(array.shape, array.strides, strict=True) if each[0] != 1]


def _dense(array: Array) -> bool:
    """Whether the elements of a layout fill a stretch of memory, in whichever order of dimensions."""
    expected = 1
    for stride, size in sorted(zip(array.strides, array.shape, strict=True)):
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True
