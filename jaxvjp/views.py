"""torch's functions that take views by several steps, or several views. `application` comes before this room.

Cutting a tensor up (`split`), another shape of it (`flatten`, `movedim`), and what torch does to a tensor's own shape
in place (`t_`, `resize_`). Each is a chain of the view ops of `ops.view`, which `tensor.view` makes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from jaxvjp.application import apply
from jaxvjp.core.graph import Node, Number
from jaxvjp.dtypes import INTEGRAL, int32, int64
from jaxvjp.ops.arguments import dims
from jaxvjp.ops.arguments import size as size_argument
from jaxvjp.ops.arguments import wrap as wrap_dim
from jaxvjp.ops.op import Op
from jaxvjp.ops.rearrangement import constant_pad_nd
from jaxvjp.ops.view import (
    permute,
    reshaped_copy,
    select,
    slice_,
    split_one,
    squeeze,
    strided,
    t,
    transpose,
    unbind_one,
    unsqueeze,
)
from jaxvjp.publishing import public
from jaxvjp.storage import Step
from jaxvjp.tensor import Size, Tensor, view, wrap

# A tensor cut up along one dimension.


@public(name="select")
def select_method(self: Tensor, dim: int, index: int) -> Tensor:
    """One index of dimension `dim`, which goes away: a view. Counterpart of `torch.select`."""
    if not self.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, self.ndim)
    if not -self.shape[dim] <= index < self.shape[dim]:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension {dim}"
        )
    return view(self, Step(select, (dim,), (Number(index % self.shape[dim], int32),)))


@public()
def narrow(self: Tensor, dim: int, start: int | Tensor, length: int) -> Tensor:
    """`length` indices of dimension `dim` from `start` on: a view. Counterpart of `torch.narrow`."""
    if not self.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, Tensor):
        if start.ndim or start.dtype.category != INTEGRAL:
            raise RuntimeError("start must be an 0-dim integral Tensor.")
        start = int(start)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    dim = wrap_dim(dim, self.ndim)
    size = self.shape[dim]
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    start = start + size if start < 0 else start
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return _cut(self, slice_, dim, start, length)


@public()
def unbind(self: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Every index of dimension `dim`, as views. Counterpart of `torch.unbind`."""
    if not self.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    dim = wrap_dim(dim, self.ndim)
    return tuple(view(self, Step(unbind_one, (dim,), (Number(each, int32),))) for each in range(self.shape[dim]))


@public()
def split(self: Tensor, split_size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of `split_size` indices, or of the sizes listed, along `dim`: views. Counterpart of `torch.split`."""
    if not self.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if not isinstance(split_size, int):
        return split_with_sizes(self, split_size, dim)
    dim = wrap_dim(dim, self.ndim)
    size = self.shape[dim]
    if split_size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    if split_size == 0 and size:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}")
    starts = range(0, max(size, 1), max(split_size, 1))
    return tuple(_cut(self, split_one, dim, start, min(split_size, size - start)) for start in starts)


@public()
def split_with_sizes(self: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of the sizes listed along `dim`: views. Counterpart of `torch.split_with_sizes`."""
    if not self.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim = wrap_dim(dim, self.ndim)
    lengths = list(split_sizes)
    for length in lengths:
        if length < 0:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={lengths}"
            )
    if sum(lengths) != self.shape[dim]:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {self.shape[dim]} (input tensor's size at "
            f"dimension {dim}), but got split_sizes={lengths}"
        )
    return tuple(_cut(self, split_one, dim, sum(lengths[:place]), length) for place, length in enumerate(lengths))


@public()
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` pieces of equal size, the last perhaps shorter: views. Counterpart of `torch.chunk`."""
    if not input.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    size = input.shape[wrap_dim(dim, input.ndim)]
    return split(input, max(-(-size // chunks), 1), dim)


def _cut(self: Tensor, operation: Op, dim: int, start: int, length: int) -> Tensor:
    return view(self, Step(operation, (dim, length, 1), (Number(start, int32),)))


@public()
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces between the given indices of `dim`, or so many of about equal size. Counterpart of `torch.tensor_split`.

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
    return tuple(_cut(input, slice_, dim, min(each.start, size), len(each)) for each in spans)


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

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`tensor_split` along a fixed dimension, into equal pieces. Counterpart of `torch.{name}`."
    public()(function)


_splitting("hsplit", 1, lambda ndim: 0 if ndim == 1 else 1)
_splitting("vsplit", 2, lambda ndim: 0)
_splitting("dsplit", 3, lambda ndim: 2)


# Another shape of the same elements.


public("function", "reshape")(Tensor.reshape)


@public("method")
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """The same elements in the shape of another tensor. Counterpart of `torch.Tensor.reshape_as`."""
    return self.reshape(other.shape)


@public("method")
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """A view in the shape of another tensor. Counterpart of `torch.Tensor.view_as`."""
    viewed: Tensor = self.view(other.shape)
    return viewed


@public("method")
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """A view expanded to the shape of another tensor. Counterpart of `torch.Tensor.expand_as`."""
    viewed: Tensor = self.expand(other.shape)
    return viewed


@public()
def ravel(input: Tensor) -> Tensor:
    """The elements in one dimension: a view where torch has one. Counterpart of `torch.ravel`."""
    return input.contiguous().reshape(-1)


@public()
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dimensions from `start_dim` to `end_dim` made one. Counterpart of `torch.flatten`."""
    first, last = wrap_dim(start_dim, input.ndim), wrap_dim(end_dim, input.ndim)
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if first == last and input.ndim:
        return input
    shape = input.shape
    return input.reshape(*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :])


@public()
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """One dimension made several, of the given sizes, one of which may be -1: a view. As `torch.unflatten`."""
    dim = wrap_dim(dim, input.ndim)
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    size = input.shape[dim]
    known = math.prod(each for each in sizes if each != -1)
    if (known != size and -1 not in sizes) or (-1 in sizes and (known == 0 or size % known)):
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({size}) in the input "
            "tensor"
        )
    filled = [size // known if each == -1 else each for each in sizes]
    viewed: Tensor = input.view(*input.shape[:dim], *filled, *input.shape[dim + 1 :])
    return viewed


@public(aliases="moveaxis")
def movedim(input: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Dimensions moved to other places, the others keeping their order: a view. Counterpart of `torch.movedim`."""
    moved, places = size_argument(source), size_argument(destination)
    if len(moved) != len(places):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(moved)} dims) should contain the same number "
            f"of dims as destination ({list(places)} dims)"
        )
    for name, given in (("source", moved), ("destination", places)):
        wrapped = [wrap_dim(each, input.ndim) for each in given]
        if len(set(wrapped)) < len(wrapped):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(given)})")
    taken = [wrap_dim(each, input.ndim) for each in moved]
    rest = iter([each for each in range(input.ndim) if each not in taken])
    put = {wrap_dim(place, input.ndim): each for place, each in zip(places, taken, strict=True)}
    return view(input, Step(permute, (tuple(put[each] if each in put else next(rest) for each in range(input.ndim)),)))


@public()
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Two dimensions exchanged: a view. Counterpart of `torch.swapaxes`."""
    return view(input, Step(transpose, (axis0, axis1)))


@public()
def adjoint(self: Tensor) -> Tensor:
    """The last two dimensions exchanged, and of complex numbers the conjugates. Counterpart of `torch.adjoint`."""
    return _turned("adjoint()", self, conjugate=True)


def _turned(name: str, self: Tensor, conjugate: bool) -> Tensor:
    if self.ndim < 2:
        raise RuntimeError(
            f"tensor.{name} is only supported on matrices or batches of matrices. Got {self.ndim}-D tensor."
        )
    turned = view(self, Step(transpose, (-2, -1)))
    return turned.conj() if conjugate and self.dtype.is_complex else turned


def _hermitian(self: Tensor) -> Tensor:
    if self.ndim not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor.")
    turned: Tensor = view(self, Step(transpose, (0, 1)))
    return turned.conj() if self.dtype.is_complex else turned


PROPERTIES: dict[str, Callable[[Tensor], Tensor]] = {
    "mT": lambda self: _turned("mT", self, conjugate=False),
    "mH": lambda self: _turned("mH", self, conjugate=True),
    "H": _hermitian,
}


def _raised(name: str, least: int, places: Callable[[int], Sequence[int]]) -> None:
    """`atleast_2d` and its like: missing dimensions are put in at the places that `places` names for an ndim."""

    def function(*tensors: Any) -> Any:
        if len(tensors) == 1 and not isinstance(tensors[0], Tensor):
            tensors = tuple(tensors[0])
        raised = []
        for each in tensors:
            steps = [Step(unsqueeze, (place,)) for place in places(each.ndim)] if each.ndim < least else []
            raised.append(view(each, *steps) if steps else each)
        return raised[0] if len(tensors) == 1 else tuple(raised)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Tensors as views with {least} dimensions or more. Counterpart of `torch.{name}`."
    public("function")(function)


_raised("atleast_1d", 1, lambda ndim: (0,))
_raised("atleast_2d", 2, lambda ndim: (0,) * (2 - ndim))
_raised("atleast_3d", 3, lambda ndim: ((0, 0, 0), (0, 2), (2,))[ndim])


@public("function")
def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that tensors of these shapes broadcast to; RuntimeError where there is none. As in torch."""
    sizes = [size_argument(each) for each in shapes]
    for each in sizes:
        if min(each, default=0) < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension ({min(each)}): ({min(each)})")
    try:
        return Size(np.broadcast_shapes(*sizes))
    except ValueError:
        raise RuntimeError(
            "Shape mismatch: objects cannot be broadcast to a single shape\nThe shapes are "
            f"{', '.join(str(list(each)) for each in sizes)}."
        ) from None


@public("function")
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Tensors expanded to the shape that they broadcast to: views. Counterpart of `torch.broadcast_tensors`."""
    given = tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors
    shape = broadcast_shapes(*[each.shape for each in given])
    return tuple(each.expand(shape) for each in given)


@public("function")
def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Vectors expanded along a dimension of its own each: views. Counterpart of `torch.meshgrid`.

    With `indexing="xy"` the first two dimensions change places.
    """
    given = tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors
    if not given:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for each in given:
        if each.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {each}")
        if each.dtype is not given[0].dtype:
            raise RuntimeError("torch.meshgrid: Expected all tensors to have the same dtype")
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    if indexing == "xy" and len(given) > 1:
        first, second, *others = meshgrid(given[1], given[0], *given[2:])
        return second, first, *others
    shape = [each.numel() for each in given]
    rows = [each.view(*(-1 if place == own else 1 for place in range(len(given)))) for own, each in enumerate(given)]
    return tuple(each.expand(shape) for each in rows)


# Any place in the storage.


@public()
def as_strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """A view with any shape, strides and offset on the tensor's storage. Counterpart of `torch.as_strided`.

    Of a view the storage is that of its base; the gradient goes to what is part of the view.
    """
    step = _strided(input, size, stride, storage_offset)
    shown = view(input if input._base is None else input._base, step)
    if input._base is not None:
        shown._show(step.read(_whole(input, input.node)))
    return shown


def _strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None) -> Step:
    offset = input.storage_offset() if storage_offset is None else storage_offset
    return Step(strided, (size_argument(size), size_argument(stride), offset))


def _whole(input: Tensor, new: Node) -> Node:
    """All of the storage of a tensor, with `new` in its place and no gradient of what is not part of it."""
    if input._base is None:
        return new
    nodes = [input._base.detach().node]
    for step in input._steps[:-1]:
        nodes.append(step.read(nodes[-1]))
    for step, outer in zip(reversed(input._steps), reversed(nodes), strict=True):
        new = step.write(outer, new)
    return new


@public("function")
def as_strided_copy(
    input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """As `as_strided`, with a storage of its own. Counterpart of `torch.as_strided_copy`."""
    return wrap(_strided(input, size, stride, storage_offset).read(_whole(input, input.node)))


@public()
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """A copy with `src` in the place of what `as_strided` shows. Counterpart of `torch.as_strided_scatter`."""
    step = _strided(input, size, stride, storage_offset)
    if tuple(src.shape) != step.static[0]:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = "
            f"{list(step.static[0])}"
        )
    node = step.write(_whole(input, input.node), src.node)
    for own in input._steps:
        node = own.read(node)
    return wrap(node)


# Copies of several views.


def _copying(name: str, function: Callable[..., Any], places: str = "function") -> None:
    def copied(*arguments: Any, **named: Any) -> Any:
        result = function(*arguments, **named)
        return wrap(result.node) if isinstance(result, Tensor) else tuple(wrap(each.node) for each in result)

    copied.__name__ = copied.__qualname__ = name
    copied.__doc__ = f"As `{function.__name__}`, each with a storage of its own. Counterpart of `torch.{name}`."
    public(places)(copied)


for _function in (unbind, split, split_with_sizes):
    _copying(f"{_function.__name__}_copy", _function)
_copying("select_copy", select_method)
_copying("narrow_copy", narrow, "method function")
for _function in (split, split_with_sizes, chunk):
    _copying(f"unsafe_{_function.__name__}", _function, "method function")


# A tensor's own shape, changed in place.


def _reshape_self(self: Tensor, name: str, *steps: Step) -> Tensor:
    """Makes the tensor show what `steps` show of it. RuntimeError where others see its storage in its old shape."""
    self.check_writable()
    if self._base_tensor is None and self._storage is not None:
        raise RuntimeError(
            f"{name} of a tensor whose storage others share (views of it, detached tensors) is not supported.\n"
            f"Write `x = x.{name.removesuffix('_')}(...)`, which makes a view."
        )
    node = self.node
    for step in steps:
        node = step.read(node)
    if self._base_tensor is not None:
        self._steps += steps
    self._show(node)
    return self


@public("method")
def t_(self: Tensor) -> Tensor:
    """In place: a matrix turned over. Counterpart of `torch.Tensor.t_`."""
    return _reshape_self(self, "t_", Step(t, ()))


@public("method", aliases="method.swapdims_")
def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """In place: two dimensions exchanged. Counterpart of `torch.Tensor.transpose_`."""
    return _reshape_self(self, "transpose_", Step(transpose, (dim0, dim1)))


@public("method")
def swapaxes_(self: Tensor, axis0: int, axis1: int) -> Tensor:
    """In place: two dimensions exchanged. Counterpart of `torch.Tensor.swapaxes_`."""
    return _reshape_self(self, "swapaxes_", Step(transpose, (axis0, axis1)))


@public("method")
def squeeze_(self: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """In place: without dimensions of size 1. Counterpart of `torch.Tensor.squeeze_`."""
    return _reshape_self(self, "squeeze_", Step(squeeze, (dims(dim),)))


@public("method")
def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """In place: a dimension of size 1 more. Counterpart of `torch.Tensor.unsqueeze_`."""
    return _reshape_self(self, "unsqueeze_", Step(unsqueeze, (dim,)))


@public("method")
def as_strided_(self: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """In place: any shape, strides and offset on the tensor's storage. Counterpart of `torch.Tensor.as_strided_`."""
    if self._base_tensor is None:
        return _reshape_self(self, "as_strided_", _strided(self, size, stride, storage_offset))
    step = _strided(self, size, stride, storage_offset)
    node = step.read(_whole(self, self.node))
    self._steps = (step,)
    self._show(node)
    return self


@public("method")
def resize_(self: Tensor, *sizes: Any, memory_format: None = None) -> Tensor:
    """In place: another shape, of more or fewer elements too; new ones are zeros. As `torch.Tensor.resize_`."""
    shape = size_argument(sizes[0] if len(sizes) == 1 else sizes)
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    count = math.prod(shape)
    if shape == tuple(self.shape):
        return self
    resized = apply(constant_pad_nd, (self.detach().reshape(-1), 0), ((0, count - self.numel()),))
    self.data = apply(reshaped_copy, (resized,), (shape,))
    return self


@public("method")
def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: None = None) -> Tensor:
    """In place: the shape of another tensor, as `resize_`. Counterpart of `torch.Tensor.resize_as_`."""
    resized: Tensor = self.resize_(the_template.shape)
    return resized


def attach_methods() -> None:
    """Hangs `mT`, `mH` and `H` on `Tensor`."""
    for name, function in PROPERTIES.items():
        setattr(Tensor, name, property(function))
