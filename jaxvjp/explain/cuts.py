"""Chains of views as one index: `x[0][1:]` is `x[0, 1:]`, and a write through them one `.at[0, 1:].set(...)`.

`chain_of` gives the index of a chain; `writes_back` says whether a write changes nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from jaxvjp.core.record.graph import Node, Number
from jaxvjp.explain.block import Expression
from jaxvjp.explain.literals import literal
from jaxvjp.explain.short_forms import cut
from jaxvjp.ops.pointwise import assigned
from jaxvjp.ops.view import put, select, slice_, split_one, split_with_sizes_one, unbind_one

PART_OPS = frozenset([select, unbind_one, slice_, split_one, split_with_sizes_one])
"""The view ops for integers and slices in an index."""


class Chain(NamedTuple):
    """A chain of `PART_OPS` as one index into the first of `operands`.

    Of one that ends in a `put` the second operand is what is written there. Nodes in the key are the last operands.
    """

    key: tuple[Any, ...]
    operands: list[Any]

    def text(self, places: Sequence[Expression]) -> Expression:
        """The index, of which the nodes are written as `places`."""
        rest = iter(places)
        key = [next(rest) if type(each) is Node else literal(each) for each in self.key]
        return key[0] if len(key) == 1 else ast.Tuple(key, ast.Load())


def chain_of(node: Node) -> Chain | None:
    """The chain that ends with a node; None if that is a single integer or slice, which needs no chain, or if the chain
    cannot be written as one index."""
    chain = [node]
    if node.operation is put:
        base, new = node.inputs[0], node.inputs[1]
        steps = [(node.static[0], node.static[1], node.inputs[2:])]
        while _continues(new, steps[-1]) and type(new) is Node:
            steps.append((new.static[0], new.static[1], new.inputs[2:]))
            new = new.inputs[1]
        operands = [base, new]
    else:
        while type(each := chain[-1].inputs[0]) is Node and each.operation in PART_OPS and each.holder is None:
            chain.append(each)
        steps = [(each.operation, each.static, each.inputs[1:]) for each in reversed(chain)]
        operands = [chain[-1].inputs[0]]
    if len(steps) == 1:
        return None
    key = composed(steps, len(operands[0].aval.shape))
    if key is None:
        return None
    return Chain(key, [*operands, *[each for each in key if type(each) is Node]])


def _continues(new: Any, step: tuple[Any, Any, Any]) -> bool:
    """Whether `new` is itself a write to the part that `step` cuts out."""
    if type(new) is not Node or new.operation is not put or new.holder is not None:
        return False
    part = new.inputs[0]
    if type(part) is not Node or (part.operation, part.static) != step[:2]:
        return False
    return _places(part.inputs[1:]) == _places(step[2])


def _places(operands: Sequence[Any]) -> list[Any]:
    """What the operands of a cut, or of a write, say of its place: numbers, and tensors of positions."""
    return [operand.value if type(operand) is Number else operand for operand in operands]


def writes_back(node: Node) -> bool:
    """Whether a write stores what is there already: Python's `y[0] += 1` writes in place, and then assigns `y[0]`."""
    base, new, *numbers = node.inputs
    while type(new) is Node and new.operation is assigned and new.inputs[0].aval is new.inputs[1].aval:
        new = new.inputs[1]
    if type(new) is not Node or type(base) is not Node:
        return False
    if new.operation is put:
        return writes_back(new) and _is_part(new.inputs[0], base, node.static, numbers)
    return _is_part(new, base, node.static, numbers)


def _is_part(part: Any, base: Node, step: tuple[Any, Any], numbers: Sequence[Any]) -> bool:
    """Whether `part` is the view of `base` by `step`."""
    if type(part) is not Node or (part.operation, part.static) != step:
        return False
    if _places(part.inputs[1:]) != _places(numbers):
        return False
    source = part.inputs[0]
    if source is base:
        return True
    return (
        type(source) is Node
        and source.operation is base.operation
        and source.operation is not None
        and source.operation.write is not None
        and _is_part(source, cast(Node, base.inputs[0]), (base.operation, base.static), base.inputs[1:])
    )


def composed(steps: Sequence[tuple[Any, Any, Any]], ndim: int) -> tuple[Any, ...] | None:
    """The index for a chain of `select` and `slice` steps; None if there is another step in it. Where a tensor says
    the position, the index has its node."""
    entries: list[Any] = [slice(None)] * ndim
    shown = list(range(ndim))
    for operation, static, operands in steps:
        if operation not in PART_OPS or not operands:
            return None
        place = shown[static[0]]
        before = entries[place]
        if type(operands[0]) is not Number:
            if before != slice(None) or operation is not select:
                return None
            entries[place] = operands[0]
            shown.remove(place)
            continue
        start = int(operands[0].value.real)
        first, stride = before.start or 0, before.step or 1
        if operation in (select, unbind_one):
            entries[place] = first + start * stride
            shown.remove(place)
        else:
            part = cut(start, static[1], static[2])
            last = None if part.stop is None else first + part.stop * stride
            entries[place] = slice(
                first + start * stride or None, last, static[2] * stride if static[2] * stride > 1 else None
            )
    while len(entries) > 1 and entries[-1] == slice(None):
        entries.pop()
    return tuple(entries)
