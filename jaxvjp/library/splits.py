"""torch's functions that cut a tensor up along one dimension: `select`, `narrow`, `unbind`, `split` and their like.

They return views; their copying forms, copies.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from itertools import pairwise
from typing import Any

import numpy as np

from jaxvjp.core.record.graph import Number
from jaxvjp.core.record.modes import staging, transforming
from jaxvjp.core.record.record import node_of_value
from jaxvjp.core.record.user_lines import user_line
from jaxvjp.ops.arguments import integers
from jaxvjp.ops.arguments import wrap as wrap_dim
from jaxvjp.ops.op import Op
from jaxvjp.ops.view import select, slice_, split_one, split_with_sizes_one, unbind_one
from jaxvjp.tensor.checked_calls import checked
from jaxvjp.tensor.published import public
from jaxvjp.tensor.storage import shown, view_by
from jaxvjp.tensor.tensor import Tensor, view, wrap
from jaxvjp.tensor.view_steps import Step
from jaxvjp.types.devices import META
from jaxvjp.types.dtypes import INTEGRAL, int32, int64

UNDERNEATH = "view ops of `jaxvjp.ops.view`, one for each piece, and `jax.vjp` of them"


@public(name="select")
def select_method(input: Tensor, dim: int, index: int) -> Tensor:
    """One index of dimension `dim`, which goes away: a view. Counterpart of `torch.select`."""
    if not input.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, input.ndim)
    if not -input.shape[dim] <= index < input.shape[dim]:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {dim}"
        )
    return view(input, Step(select, (dim,), (counted(index % input.shape[dim], input.shape[dim]),)))


@public()
def narrow(input: Tensor, dim: int, start: int | Tensor, length: int) -> Tensor:
    """`length` indices of dimension `dim` from `start` on: a view. Counterpart of `torch.narrow`."""
    if not input.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, Tensor):
        if start.ndim or start.dtype.category != INTEGRAL:
            raise RuntimeError("start must be an 0-dim integral Tensor.")
        start = int(start)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    dim = wrap_dim(dim, input.ndim)
    size = input.shape[dim]
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    start = start + size if start < 0 else start
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return cut(input, slice_, dim, start, length)


@public()
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Every index of dimension `dim`, as views. Counterpart of `torch.unbind`."""
    if not input.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    dim = wrap_dim(dim, input.ndim)
    count = input.shape[dim]
    return tuple(view(input, _place(each, count, dim)) for each in range(count))


MANY = 1 << 14
"""From so many elements on `for each in x` reads the value of x once, and makes each view when the loop gets there."""


def elements(self: Tensor) -> Iterator[Tensor]:
    """What `for each in x` gives: the indices of the first dimension, as views."""
    tracing = transforming().depth or transforming().forward or staging().journal is not None
    if (
        self.shape[0] < MANY
        or tracing
        or self.requires_grad
        or self.__shown__.inference
        or self.__shown__.device is META
    ):
        return iter(unbind(self))
    return _with_values(view_by(shown(self), self, (), Tensor))


def _with_values(source: Tensor) -> Iterator[Tensor]:
    """The views of a tensor, each with its value: `all(x > 0)` asks each for its number and runs no program for it."""
    count, known, values = source.shape[0], None, np.empty(0)
    aval = view(source, _place(0, count)).__node__.aval
    for index in range(count):
        node = shown(source)
        if node is not known:  # at first, and after a write
            known, values = node, source.__numbers__()
        piece = node_of_value(values[index, ...], aval, False, user_line())
        yield view_by(piece, source, (_place(index, count),), Tensor)


def _place(index: int, count: int, dim: int = 0) -> Step:
    return Step(unbind_one, (dim,), (counted(index, count),))


@public("function", "split")
def split_function(tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of so many indices, or of the sizes listed, along `dim`: views. Counterpart of `torch.split`."""
    return split(tensor, split_size_or_sections, dim)


split_function.__name__ = split_function.__qualname__ = "split"  # which Python's errors say


@public("method")
def split(input: Tensor, split_size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of `split_size` indices, or of the sizes listed, along `dim`: views. As `torch.Tensor.split`."""
    if not input.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if not isinstance(split_size, int):
        return _split_with_sizes(input, split_size, dim)
    if isinstance(split_size, bool):
        raise TypeError(
            "split() received an invalid combination of arguments - got (Tensor, bool, int), but expected one of:\n"
            " * (Tensor input, int split_size, int dim = 0)\n * (Tensor input, tuple of ints split_sizes, int dim = 0)"
        )
    dim = wrap_dim(dim, input.ndim)
    size = input.shape[dim]
    if split_size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    if split_size == 0 and size:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}")
    starts = range(0, max(size, 1), max(split_size, 1))
    return tuple(cut(input, split_one, dim, start, min(split_size, size - start)) for start in starts)


@public()
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of the sizes listed along `dim`: views. Counterpart of `torch.split_with_sizes`."""
    if not input.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim = wrap_dim(dim, input.ndim)
    lengths = list(integers(split_sizes))
    for length in lengths:
        if length < 0:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={lengths}"
            )
    if sum(lengths) != input.shape[dim]:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {input.shape[dim]} (input tensor's size at "
            f"dimension {dim}), but got split_sizes={lengths}"
        )
    starts = [sum(lengths[:place]) for place in range(len(lengths))]
    return tuple(
        cut(input, split_with_sizes_one, dim, start, length) for start, length in zip(starts, lengths, strict=True)
    )


_split_with_sizes = checked(split_with_sizes, "split_with_sizes")


@public()
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` pieces of equal size, the last perhaps shorter: views. Counterpart of `torch.chunk`."""
    if not input.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    size = input.shape[wrap_dim(dim, input.ndim)]
    return split(input, -(-size // chunks) if size else [0] * chunks, dim)


def cut(self: Tensor, operation: Op, dim: int, start: int, length: int) -> Tensor:
    """The view by `operation` (`slice`, or as one of several) of `length` indices of `dim` from `start` on."""
    return view(self, Step(operation, (dim, length, 1), (counted(start, self.shape[dim]),)))


def counted(position: int, size: int) -> Number:
    """A position in a dimension of that size, in 32 bits where they suffice."""
    return Number(position, int32 if size < 1 << 31 else int64)


@public()
def tensor_split(input: Tensor, indices_or_sections: Tensor | int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of `dim` between the given indices, or a number of nearly equal ones. Counterpart of `torch.tensor_split`.

    Views. The indices, or their number, may be a tensor, which is read.
    """
    if not input.ndim:
        raise RuntimeError(
            f"tensor_split expected at least a 1-dimensional tensor, but got a tensor with {input.ndim} dims"
        )
    dim = wrap_dim(dim, input.ndim)
    if isinstance(indices_or_sections, Tensor):
        if indices_or_sections.dtype is not int64:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                f"{indices_or_sections.dtype.legacy}"
            )
        if indices_or_sections.ndim > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, "
                f"but got a tensor with {indices_or_sections.ndim} dims"
            )
        indices_or_sections = indices_or_sections.tolist()
    size = input.shape[dim]
    if isinstance(indices_or_sections, int):
        sections = indices_or_sections
        if sections <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
        shortest, longer = divmod(size, sections)
        bounds = [place * shortest + min(place, longer) for place in range(sections + 1)]
    else:
        bounds = [0, *indices_or_sections, size]
    spans = [range(size)[start:stop] for start, stop in pairwise(bounds)]
    return tuple(cut(input, slice_, dim, min(span.start, size), len(span)) for span in spans)


def _splitting(name: str, least: int, dim: Callable[[int], int]) -> None:
    def function(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
        if input.ndim < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor "
                f"with {input.ndim} dimensions!"
            )
        if isinstance(indices_or_sections, str | float):
            raise TypeError(
                f"{name}() received an invalid combination of arguments - got (Tensor, "
                f"{type(indices_or_sections).__name__}), but expected one of:\n * (Tensor input, int sections)\n"
                " * (Tensor input, tuple of ints indices)"
            )
        along = dim(input.ndim)
        if isinstance(indices_or_sections, int):
            size, sections = input.shape[along], indices_or_sections
            if sections == 0 or size % sections:
                raise RuntimeError(
                    f"torch.{name} attempted to split along dimension {along}, but the size of the dimension {size} is "
                    f"not divisible by the split_size {sections}!"
                )
        return tensor_split(input, indices_or_sections, along)

    def method(self: Tensor, *indices_or_sections: Any) -> tuple[Tensor, ...]:
        return function(self, indices_or_sections if len(indices_or_sections) > 1 else indices_or_sections[0])

    for each, place in ((function, "function"), (method, "method")):
        each.__name__ = each.__qualname__ = name
        each.__doc__ = f"`tensor_split` along a fixed dimension, into equal pieces. Counterpart of `torch.{name}`."
        public(place)(each)


_splitting("hsplit", 1, lambda ndim: 0 if ndim == 1 else 1)
_splitting("vsplit", 2, lambda ndim: 0)
_splitting("dsplit", 3, lambda ndim: 2)


# The same as copies, or on the same memory.


def _copied(piece: Tensor) -> Tensor:
    """As `{}`, each with a storage of its own."""
    return wrap(piece.__node__)


def _apart(piece: Tensor) -> Tensor:
    """As `{}`, each another tensor on the same memory, and no view: a write is seen by all, and recorded for one."""
    made = wrap(piece.__node__)
    made.__storage__, made.__own_path__ = piece.storage, tuple([step.plain() for step in piece.__view_path__])
    made.__seen__ = made.__storage__.version
    return made


def _copying(name: str, function: Callable[..., Any], places: str = "function", how: Any = _copied) -> None:
    @wraps(function)
    def copied(*arguments: Any, **named: Any) -> Any:
        result = function(*arguments, **named)
        return how(result) if isinstance(result, Tensor) else tuple(how(each) for each in result)

    copied.__name__ = copied.__qualname__ = name
    copied.__doc__ = f"{how.__doc__.format(function.__name__)} Counterpart of `torch.{name}`."
    public(places, out=name.endswith("_copy"))(copied)


_copying("unbind_copy", unbind)
_copying("split_copy", split)
_copying("split_with_sizes_copy", split_with_sizes)
_copying("select_copy", select_method)
_copying("unsafe_split", split, "method function", _apart)
_copying("unsafe_split_with_sizes", split_with_sizes, "method function", _apart)
_copying("unsafe_chunk", chunk, "method function", _apart)


@public("method function", out=True)
def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """As `narrow`, with a storage of its own. Counterpart of `torch.narrow_copy`."""
    if length < 0:
        size = input.shape[wrap_dim(dim, input.ndim)]
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return wrap(narrow(input, dim, start, length).__node__)
