"""`x[key]` and `x[key] = value`. `splitting` comes before this room.

A key of integers, slices, `None` and `...` is a chain of view ops, one per part, as torch records it: `x[0, 1:]` is
`select` and then `slice`. Integers and slice bounds are operands of the program, so that a loop over `x[i]` is one
program for every i. Tensors and masks among the parts gather (`index`) from that view, or scatter into it
(`index_put`); a mask is read to know how many elements it picks, and positions are read to refuse those out of range.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from jaxvjp.application import apply_in_place, inspect
from jaxvjp.core.graph import Node, Number
from jaxvjp.core.promotion import converted
from jaxvjp.core.record import leaf, record
from jaxvjp.core.transfer import beside
from jaxvjp.dtypes import LEAST, bool_, int32, int64, uint8
from jaxvjp.ops.indexing import index
from jaxvjp.ops.op import Aval
from jaxvjp.ops.pointwise import assigned
from jaxvjp.ops.scattering import index_put
from jaxvjp.ops.view import alias, select, slice_, unsqueeze
from jaxvjp.publishing import public
from jaxvjp.splitting import cut, unbind
from jaxvjp.steps import Step
from jaxvjp.storage import shown
from jaxvjp.storage import view as view_of
from jaxvjp.tensor import NUMBERS, Tensor, view, wrap

SCALAR = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
    "tensor to a number"
)


class Key(NamedTuple):
    """What an index means: the view steps that its plain parts are, and the positions that its tensors give.

    `positions` has an entry per dimension of the view, None where it is taken whole.
    """

    steps: list[Step]
    positions: list[Node | None]

    @property
    def pattern(self) -> tuple[bool, ...]:
        return tuple(each is not None for each in self.positions)

    @property
    def tensors(self) -> tuple[Node, ...]:
        return tuple(each for each in self.positions if each is not None)


def getitem(self: Tensor, key: Any) -> Tensor:
    """The part of the tensor that `key` names; IndexError where there is no such part.

    A view for a key of integers, slices, None and `...`; a copy, through which gradients flow, where tensors or masks
    pick the elements. Underneath: `jax.lax` slices, or a gather.
    """
    steps: tuple[Step, ...]
    if type(key) is int:  # as in a loop over many, none of which need be remembered
        shape = shown(self).aval.shape
        if shape and -shape[0] <= key < shape[0]:
            step = _steps(shape, FIRST)[0].anew()
            step.operands[0].value = key if key >= 0 else key + shape[0]
            return taken(self, (step,))
    marks = _marks(key if type(key) is tuple else (key,))
    if marks is not None:
        steps = tuple([step.anew() for step in _steps(shown(self).aval.shape, marks)])
    else:
        parsed = _parse(self.shape, key)
        steps = tuple(parsed.steps)
        if parsed.tensors:
            plain = view(self, *steps) if steps else self
            return wrap(record(index, (plain.node, *beside(parsed.tensors, plain.node.device)), (parsed.pattern,)))
    if isinstance(key, slice) and all(step.operation is alias for step in steps):
        return cut(self, slice_, 0, 0, self.shape[0])  # all of it, but a slice to torch nevertheless
    return taken(self, steps)


def taken(source: Tensor, steps: tuple[Step, ...]) -> Tensor:
    """The view of `source` by `steps`."""
    part: Tensor = view_of(source, steps, Tensor)
    return part


def setitem(self: Tensor, key: Any, value: Any) -> None:
    """Writes `value`, expanded and converted, into the part of the tensor that `key` names.

    ValueError for an integer that takes more than 64 bits.
    """
    if type(value) is int and not LEAST <= value < -LEAST:
        raise ValueError(f"Overflow when unpacking long long\nThat was {value}; write a float.")
    parsed = _parse(self.shape, key)
    whole = all(step.operation is alias for step in parsed.steps)  # which torch writes without taking a view
    part = self if whole else view(self, *parsed.steps)
    if not parsed.tensors:
        apply_in_place(assigned, part, (value,))
    else:
        _put(part, parsed, value, accumulate=False)


@public("method function")
def index_put_(self: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False) -> Tensor:
    """Writes `values` at `indices`, or adds them there, in place; counterpart of `torch.Tensor.index_put_`."""
    _put(self, _parse(self.shape, tuple(slice(None) if each is None else each for each in indices)), values, accumulate)
    return self


@public("method function", name="index_put")
def index_put_method(
    input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False
) -> Tensor:
    """A copy with `values` written, or added, at `indices`. Counterpart of `torch.index_put`."""
    parsed = _parse(input.shape, tuple(slice(None) if each is None else each for each in indices))
    return wrap(_put_at(input, parsed, values, accumulate))


def _put(part: Tensor, key: Key, value: Any, accumulate: bool) -> None:
    part.check_writable()
    part.write(_put_at(part, key, value, accumulate))


def _put_at(part: Tensor, key: Key, value: Any, accumulate: bool) -> Node:
    if isinstance(value, NUMBERS):
        source: Node | Number = Number(value, part.dtype)
    else:
        source = converted(value.node, part.dtype)
    beside_it = beside((source, *key.tensors), part.node.device)
    return record(index_put, (part.node, *beside_it), (key.pattern, accumulate))


def _parse(shape: tuple[int, ...], key: Any) -> Key:
    parts = _spread([_as_index(part) for part in (key if isinstance(key, tuple) else (key,))], shape)
    steps: list[Step] = []
    positions: list[Node | None] = []
    rest = list(shape)
    for part in parts:
        dim = len(positions)  # of the view as it stands
        if part is None:
            steps.append(Step(unsqueeze, (dim,)))
            positions.append(None)
        elif isinstance(part, slice):
            size = rest.pop(0)
            steps += _range(part, dim, size)
            positions.append(None)
        elif isinstance(part, Tensor):
            place = len(shape) - len(rest)
            taken, found = _gathered(part, rest, place)
            del rest[:taken]
            positions += found
        else:
            size = rest.pop(0)
            if not -size <= part < size:
                raise IndexError(
                    f"index {part} is out of bounds for dimension {len(shape) - len(rest) - 1} with size {size}"
                )
            steps.append(Step(select, (dim,), (Number(part % size, int32),)))
    if not steps and all(each is None for each in positions):
        steps.append(Step(alias, ()))
    return Key(steps, _together(positions))


def _marks(parts: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The parts of a key that has integers, slices of them, None and `...` only, with three numbers for a slice."""
    marks: list[Any] = []
    for part in parts:
        kind = type(part)
        if kind is int or part is None or part is ...:
            marks.append(part)
        elif kind is slice:
            first, last, step = part.start, part.stop, part.step
            if not (
                (first is None or type(first) is int)
                and (last is None or type(last) is int)
                and (step is None or type(step) is int)
            ):
                return None
            marks.append((first, last, step))
        else:
            return None
    return tuple(marks)


FIRST = (0,)


@lru_cache(maxsize=1024)
def _steps(shape: tuple[int, ...], marks: tuple[Any, ...]) -> tuple[Step, ...]:
    """The steps for such a key, found out once."""
    return tuple(_parse(shape, tuple([slice(*each) if type(each) is tuple else each for each in marks])).steps)


def _as_index(part: Any) -> Any:
    """A part of a key as an int, a slice, None, `...` or a tensor of positions or of truth values."""
    if part is None or part is ... or isinstance(part, slice):
        return part
    if isinstance(part, Tensor):
        if part.dtype is bool_ or part.dtype is uint8 or part.dtype.category == int64.category:
            return part.item() if part.ndim == 0 and part.dtype not in (bool_, uint8) else part
        raise IndexError(
            "tensors used as indices must be long, int, byte or bool tensors\n"
            f"This one is {part.dtype}; `.long()` cuts its numbers off to integers."
        )
    if isinstance(part, bool | list | tuple | range | np.ndarray | np.bool_):
        array = np.asarray(part)
        own = bool_ if array.dtype == np.bool_ else int64
        return wrap(leaf(array.astype(own.numpy), Aval(array.shape, own)))
    if hasattr(part, "__index__"):
        return part.__index__()
    raise TypeError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
        f"{type(part).__name__})"
    )


def _spread(parts: list[Any], shape: tuple[int, ...]) -> list[Any]:
    """The parts with `...` written out as as many whole dimensions as it stands for."""
    consumed = 0
    for part in parts:
        if isinstance(part, Tensor) and part.dtype in (bool_, uint8):
            consumed += part.ndim
        elif part is not None and part is not ...:
            consumed += 1
    if consumed > len(shape):
        if not shape and any(isinstance(part, slice) for part in parts):
            raise IndexError("slice() cannot be applied to a 0-dim tensor.\n`x[None][:1]` gives it a dimension first.")
        if not shape:
            raise IndexError(SCALAR)
        raise IndexError(
            f"too many indices for tensor of dimension {len(shape)}\n"
            f"The index names {consumed} dimensions of a tensor of shape {list(shape)}."
        )
    whole = [slice(None)] * (len(shape) - consumed)
    for place, part in enumerate(parts):
        if part is ...:
            return [*parts[:place], *whole, *[each for each in parts[place + 1 :] if each is not ...]]
    return [*parts, *whole]


def _range(part: slice, dim: int, size: int) -> list[Step]:
    if part.step is not None and part.step <= 0:
        raise ValueError("step must be greater than zero\n`x.flip(0)` turns a tensor around.")
    start, stop, step = part.indices(size)
    length = max(0, -(-(stop - start) // step))
    return [] if length == size else [Step(slice_, (dim, length, step), (Number(start, int32),))]


def _gathered(part: Tensor, rest: list[int], place: int) -> tuple[int, list[Node | None]]:
    """How many dimensions a tensor in a key takes, and the positions that it gives in them."""
    if part.dtype not in (bool_, uint8):
        inspect(part.node, partial(_check_positions, size=rest[0], dim=place))
        return 1, [part.node]
    shape = list(part.shape)
    if shape != rest[: len(shape)]:
        whole = rest[: max(len(shape), 1)]
        raise IndexError(
            f"The shape of the mask {shape} at index {place} does not match the shape of the indexed tensor {whole} at "
            f"index {place}"
        )
    found = np.nonzero(np.atleast_1d(np.asarray(part.value)))
    nodes: list[Node | None] = [leaf(each.astype(np.int64), Aval(each.shape, int64)) for each in found]
    return len(shape), nodes if shape else nodes[:0]


def _check_positions(positions: Any, size: int, dim: int) -> None:
    for extreme in (positions.min(initial=0), positions.max(initial=0)):
        if positions.size and not -size <= extreme < size:
            raise IndexError(f"index {extreme} is out of bounds for dimension {dim} with size {size}")


def _together(positions: list[Node | None]) -> list[Node | None]:
    shapes = [each.aval.shape for each in positions if each is not None]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        raise IndexError(
            "shape mismatch: indexing tensors could not be broadcast together with shapes "
            + ", ".join(str(list(each)) for each in shapes)
        ) from None
    return positions


def iterate(self: Tensor) -> Any:
    """The elements of the first dimension, as views."""
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(unbind(self))


def attach_methods() -> None:
    """Hangs indexing and iteration on `Tensor`."""
    for name, method in {"__getitem__": getitem, "__setitem__": setitem, "__iter__": iterate}.items():
        setattr(Tensor, name, method)
