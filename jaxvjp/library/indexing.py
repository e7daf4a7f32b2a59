"""`x[key]` and `x[key] = value`.

A key of integers, slices, `None` and `...` is a chain of view ops, one per part, as torch records it: `x[0, 1:]` is
`select` and then `slice`. Integers and slice bounds are operands of the program, so that a loop over `x[i]` is one
program for every i. Tensors and masks among the parts gather (`index`) from that view, or scatter into it
(`index_put`); a mask is read to know how many elements it picks, and positions are read to refuse those out of range.
A write of one value at a mask (`x[mask] = 0`) is a `where`, which does not read the mask.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from itertools import dropwhile
from typing import Any, NamedTuple, cast

import jax
import numpy as np

from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.modes import listening
from jaxvjp.core.record.observers import Placed, tell
from jaxvjp.core.record.record import node_of_value, record
from jaxvjp.core.run.transfer import on_device
from jaxvjp.core.run.values import readonly_array_of
from jaxvjp.library.splits import counted, cut, elements
from jaxvjp.ops.indexing import index
from jaxvjp.ops.op import SHORT, Aval, Op
from jaxvjp.ops.pointwise import assigned
from jaxvjp.ops.scattering import index_put, masked_put
from jaxvjp.ops.view import alias, select, slice_, unsqueeze
from jaxvjp.tensor.apply import apply, apply_in_place, inspect
from jaxvjp.tensor.published import public
from jaxvjp.tensor.refusals import advice_on, advice_on_array, differs, is_traced, unreadable
from jaxvjp.tensor.storage import OVERLAP, shown
from jaxvjp.tensor.storage import view as view_of
from jaxvjp.tensor.tensor import NUMBERS, Tensor, view, wrap, wrap_unlinked
from jaxvjp.tensor.view_steps import Step
from jaxvjp.types.dtypes import LEAST, bool_, fitted, int32, int64, uint8
from jaxvjp.types.user_code import warn_user

UNDERNEATH = "view ops, `index` and `index_put` of `jaxvjp.ops`, and `jax.vjp` of them"

MASKED = (
    "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing with "
    "a boolean mask."
)
SCALAR = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
    "tensor to a number"
)


class Position(int):
    """The value of a tensor without dimensions, which is an index.

    Attributes:
        node: the tensor's node.
    """

    node: Node


class Key(NamedTuple):
    """A parsed index: the view steps for its integers, slices, None and `...`; and tensors that pick elements of that
    view.

    `picks` maps the view's dimension to the tensor that indexes it; a mask indexes as many from there as it has.
    """

    steps: list[Step]
    picks: dict[int, Tensor]

    def positions(self, ndim: int) -> tuple[tuple[Node, ...], tuple[bool, ...]]:
        """The positions that the tensors give, and the view's dimensions they index; masks are read for that."""
        found: dict[int, Node] = {}
        for dim, tensor in self.picks.items():
            if _is_mask(tensor):
                unreadable(tensor.__node__, MASKED)
                for place, each in enumerate(np.nonzero(np.asarray(tensor.__value__)), dim):
                    found[place] = node_of_value(each.astype(np.int64), Aval(each.shape, int64))
            else:
                found[dim] = tensor.__node__
        shapes = [each.aval.shape for each in found.values()]
        try:
            np.broadcast_shapes(*shapes)
        except ValueError:
            raise IndexError(
                "shape mismatch: indexing tensors could not be broadcast together with shapes "
                + ", ".join(str(list(shape)) for shape in shapes)
            ) from None
        return tuple(found.values()), tuple(dim in found for dim in range(ndim))

    def mask_of(self, shape: tuple[int, ...], own: tuple[int, ...]) -> tuple[int, Tensor] | None:
        """The single mask of the key and its dimension, if a value of shape `own` can be written to a view of `shape`
        without reading how many elements the mask picks; else None."""
        if len(self.picks) != 1:
            return None
        ((dim, mask),) = self.picks.items()
        written = [*shape[:dim], 1, *shape[dim + mask.ndim :]]  # 1 stands for the number of picked elements
        fits = len(own) <= len(written) and all(a in (1, b) for a, b in zip(own[::-1], written[::-1], strict=False))
        return (dim, mask) if _is_mask(mask) and (fits or math.prod(own) == 1) else None


def getitem(self: Tensor, key: Any) -> Tensor:
    """The part of the tensor that `key` names; IndexError where there is no such part.

    A view for a key of integers, slices, None and `...`; a copy, through which gradients flow, where tensors or masks
    pick the elements. Underneath: `jax.lax` slices, or a gather.
    """
    steps: tuple[Step, ...]
    if type(key) is int:  # the usual case in a loop; not remembered, as there are many
        shape = self.__shown__.aval.shape
        if shape and -shape[0] <= key < shape[0]:
            step = _steps(shape, FIRST)[0].anew()
            step.operands[0].value = key if key >= 0 else key + shape[0]
            return cast(Tensor, view_of(self, (step,), Tensor))  # a call less than `view(self, step)`
    marks = _marks(key if type(key) is tuple else (key,))
    if marks is not None:
        steps = tuple([step.anew() for step in _steps(self.__shown__.aval.shape, marks)])
    else:
        parsed = _parse(self.shape, key)
        steps = tuple(parsed.steps)
        if parsed.picks:
            plain = view(self, *steps) if steps else self
            positions, pattern = parsed.positions(plain.ndim)
            node = _shown_at(plain, positions, pattern)
            return wrap(record(index, (node, *on_device(positions, node.device)), (pattern,)))
    if isinstance(key, slice) and all(step.operation is alias for step in steps):
        return cut(self, slice_, 0, 0, self.shape[0])  # the whole tensor, but torch records a slice
    return view(self, *steps)


def _shown_at(tensor: Tensor, positions: tuple[Node, ...], pattern: tuple[bool, ...]) -> Node:
    """The node of a tensor of which these positions are read: of memory that NumPy has, too, only they are compared."""
    if tensor.__storage__ is None or tensor.__storage__.shared is None or any(each.value is None for each in positions):
        return shown(tensor)
    given = iter(positions)
    return shown(tensor, (), tuple([readonly_array_of(next(given)) if each else slice(None) for each in pattern]))


def setitem(self: Tensor, key: Any, value: Any) -> None:
    """Writes `value`, a number or a tensor that is expanded, into the part of the tensor that `key` names.

    ValueError for an integer that takes more than 64 bits, RuntimeError for another number that the tensor cannot hold.
    """
    if key is False:
        return  # torch counts no write for an empty selection
    own = self.dtype
    if not isinstance(value, Tensor):
        if not isinstance(value, (*NUMBERS, np.integer)):
            told = f"can't assign a {repr(type(value))[8:-2]} to a torch.{own.legacy}Tensor"
            raise TypeError(told + advice_on_array(value))
        if type(value) is int and not LEAST <= value < -LEAST:
            raise ValueError(f"Overflow when unpacking long long\nThat was {value}; write a float.")
        if own is bool_:
            value = bool(value)
        elif own.numpy not in SHORT:
            value = fitted(value, own)
    parsed = _parse(self.shape, key)
    whole = all(step.operation is alias for step in parsed.steps)  # torch writes these without taking a view
    part = self if whole else view(self, *parsed.steps)
    if not parsed.picks:
        if isinstance(value, Tensor) and value.__base_tensor__ is not None and value.ndim < part.ndim:
            value = value.expand(part.shape)  # torch does, and finds no overlap with what is expanded
        apply_in_place(assigned, part, (value,))
        return
    if isinstance(value, Tensor):
        sizes = tuple(dropwhile(lambda size: size == 1, value.shape))  # torch drops leading dimensions of size 1
        value = value if len(sizes) == value.ndim else value.reshape(sizes)
    _put(part, parsed, value)


@public("method function")
def index_put_(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False) -> Tensor:
    """Writes `values` at `indices`, or adds them there, in place; counterpart of `torch.Tensor.index_put_`."""
    if any(
        isinstance(each, Tensor) and (each is input or each.__shares_memory__(input)) for each in (*indices, values)
    ):
        raise RuntimeError(OVERLAP)
    _put(input, _key_of(input, indices), values, accumulate)
    return input


@public("method function", name="index_put")
def index_put_method(
    input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False
) -> Tensor:
    """A copy with `values` written, or added, at `indices`. Counterpart of `torch.index_put`."""
    operation, operands, static = _putting(input, _key_of(input, indices), values, accumulate)
    return apply(operation, (input, *operands), static)


def _key_of(input: Tensor, indices: Sequence[Tensor | None]) -> Key:
    return _parse(input.shape, tuple(slice(None) if each is None else each for each in indices))


def _put(part: Tensor, key: Key, value: Any, accumulate: bool = False) -> None:
    operation, operands, static = _putting(part, key, value, accumulate)
    if isinstance(value, Tensor) and value.numel() != 1:  # torch reads a single number before it writes
        part.__check_overlap__(value)
    apply_in_place(operation, part, operands, static)


def _putting(part: Tensor, key: Key, value: Any, accumulate: bool) -> tuple[Op, tuple[Any, ...], tuple[Any, ...]]:
    """The op that writes `value` where `key` picks, its operands beside `part`, and its static arguments."""
    shape = value.shape if isinstance(value, Tensor) else ()
    masked = None if accumulate else key.mask_of(part.shape, shape)
    tensors: tuple[Node, ...]
    static: tuple[Any, ...]
    if masked is not None:
        operation, tensors, static = masked_put, (masked[1].__node__,), (masked[0],)
    else:
        tensors, pattern = key.positions(part.ndim)
        operation, static = index_put, (pattern, accumulate)
    number = not isinstance(value, Tensor)
    placed = [
        wrap_unlinked(each)
        for each in on_device(tensors if number else (value.__node__, *tensors), part.__node__.device)
    ]
    return operation, (value, *placed) if number else tuple(placed), static


def _parse(shape: tuple[int, ...], key: Any) -> Key:
    parts = _spread([_as_index(part) for part in (tuple(key) if _in_parts(key) else (key,))], shape)
    steps: list[Step] = []
    picks: dict[int, Tensor] = {}
    sizes: list[int] = []  # of the view so far
    rest = list(shape)
    for part in parts:
        dim = len(sizes)
        if isinstance(part, Tensor) and part.ndim == 0 and _is_mask(part):
            steps.append(Step(unsqueeze, (dim,)))
            sizes.append(1)
            picks[dim] = part.bool().reshape(1)
        elif part is None:
            steps.append(Step(unsqueeze, (dim,)))
            sizes.append(1)
        elif isinstance(part, slice):
            size = rest.pop(0)
            steps += (taken := _range(part, dim, size))
            sizes.append(taken[0].static[1] if taken else size)
        elif isinstance(part, Tensor):
            if part.dtype is uint8:
                told = "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead."
                warn_user(told)
            picks[dim] = part
            count = part.ndim if _is_mask(part) else 1
            sizes += rest[:count]
            del rest[:count]
        else:
            size = rest.pop(0)
            if not -size <= part < size:
                raise IndexError(
                    f"index {part} is out of bounds for dimension {len(shape) - len(rest) - 1} with size {size}"
                )
            place = counted(part % size, size)
            steps.append(Step(select, (dim,), (place,)))
            if type(part) is Position:
                tell(Placed(place, part.node))
    for dim, tensor in picks.items():
        _check_pick(tensor, dim, sizes)
    if not steps and not picks:
        steps.append(Step(alias, ()))
    return Key(steps, picks)


def _in_parts(key: Any) -> bool:
    """Whether a key is taken for a tuple of parts: tuples are, and short lists with more in them than numbers."""
    if isinstance(key, tuple) or not isinstance(key, list | range) or len(key) >= 32:
        return isinstance(key, tuple)
    return any(isinstance(each, Tensor | Sequence | slice | np.ndarray) or each in (None, ...) for each in key)


def _is_mask(tensor: Tensor) -> bool:
    return tensor.dtype is bool_ or tensor.dtype is uint8


def _marks(parts: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The parts of a key of only integers, slices, None and `...`, each slice as three numbers; None for other keys."""
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
    """The view steps of such a key, cached."""
    return tuple(_parse(shape, tuple([slice(*mark) if type(mark) is tuple else mark for mark in marks])).steps)


def _as_index(part: Any) -> Any:
    """A part of a key as an int, a slice, None, `...` or a tensor of positions or of truth values."""
    if part is None or part is ... or isinstance(part, slice):
        return part
    if isinstance(part, Tensor):
        if part.ndim == 0 and part.dtype.category == int64.category and not _is_mask(part):
            unknown = differs(part.__node__) or is_traced(part.__node__)
            return part.long() if unknown else _position(part)
        if _is_mask(part) or part.dtype in (int64, int32):
            return part
        raise IndexError(
            "tensors used as indices must be long, int, byte or bool tensors\n"
            f"This one is {part.dtype}; `.long()` gives integers of 64 bits."
        )
    if isinstance(part, jax.core.Tracer):
        raise TypeError(f"a tensor's index is a tracer\n{advice_on(part)}")
    if isinstance(part, bool | list | tuple | range | np.ndarray | jax.Array):
        if isinstance(part, list) and any(each is part for each in part):
            raise TypeError("new(): self-referential lists are incompatible")
        array = np.asarray(part)
        own = bool_ if array.dtype == np.bool_ else int64
        return wrap(node_of_value(array.astype(own.numpy), Aval(array.shape, own)))
    if hasattr(part, "__index__") and not isinstance(part, np.bool_):
        if not LEAST <= part.__index__() < -LEAST:
            raise ValueError("Overflow when unpacking long long")
        return part.__index__()
    if isinstance(part, str):
        raise TypeError("new(): invalid data type 'str'")
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
        f"{type(part).__name__})"
    )


def _position(tensor: Tensor) -> int:
    """The index that a tensor has: a `Position`, if somebody listens."""
    if not listening():
        return tensor.item()
    place = Position(tensor.item())
    place.node = tensor.__node__
    return place


def _spread(parts: list[Any], shape: tuple[int, ...]) -> list[Any]:
    """The parts, with `...` replaced by a full slice for each dimension that it stands for."""
    consumed = 0
    for part in parts:
        if isinstance(part, Tensor) and _is_mask(part):
            consumed += part.ndim
        elif part is not None and part is not ...:
            consumed += 1
    if consumed > len(shape):
        if not shape and len(parts) == 1 and isinstance(parts[0], slice):
            raise IndexError("slice() cannot be applied to a 0-dim tensor.\n`x[None][:1]` gives it a dimension first.")
        if not shape and len(parts) == 1:
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
    if part.step == 0:
        raise ValueError("slice step cannot be zero")
    if part.step is not None and part.step < 0:
        raise ValueError("step must be greater than zero\n`x.flip(0)` turns a tensor around.")
    start, stop, step = part.indices(size)
    length = max(0, -(-(stop - start) // step))
    return [] if length == size and step == 1 else [Step(slice_, (dim, length, step), (counted(start, size),))]


def _check_pick(tensor: Tensor, dim: int, sizes: list[int]) -> None:
    """IndexError if positions or a mask in a key do not fit a view of `sizes` from `dim` on."""
    if not _is_mask(tensor):
        inspect(tensor.__node__, partial(_check_positions, size=sizes[dim], dim=dim))
        return
    for place, size in enumerate(tensor.shape):
        if size != sizes[dim + place]:
            raise IndexError(
                f"The shape of the mask {list(tensor.shape)} at index {place} does not match the shape of the indexed "
                f"tensor {sizes} at index {dim + place}"
            )


def _check_positions(positions: Any, size: int, dim: int) -> None:
    for extreme in (positions.min(initial=0), positions.max(initial=0)):
        if positions.size and not size:
            raise IndexError("index is out of bounds for dimension with size 0")
        if positions.size and not -size <= extreme < size:
            raise IndexError(f"index {extreme} is out of bounds for dimension {dim} with size {size}")


def iterate(self: Tensor) -> Iterator[Tensor]:
    """The elements of the first dimension, as views."""
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d tensor")
    return elements(self)


def _kept(self: Tensor, key: Any) -> None:
    raise TypeError("Tensor does not support deleting items")


def turned(self: Tensor) -> Tensor:
    """`reversed(x)`: the tensor with its first dimension turned around; itself without dimensions."""
    return self.flip(0) if self.ndim else self


def attach_methods() -> None:
    """Adds indexing and iteration to `Tensor`."""
    methods = {"__getitem__": getitem, "__setitem__": setitem, "__iter__": iterate, "__reversed__": turned}
    methods["__delitem__"] = _kept
    for name, method in methods.items():
        method.__name__ = name
        setattr(Tensor, name, method)
