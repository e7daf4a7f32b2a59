"""torch's functions that give a tensor any shape and strides on its storage, or change its own shape in place.

Here are `as_strided` and its like, and `t_`, `squeeze_`, `resize_`. `views` comes before this room.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from jaxvjp.application import apply
from jaxvjp.core.graph import Node
from jaxvjp.ops.arguments import dims
from jaxvjp.ops.arguments import size as size_argument
from jaxvjp.ops.rearrangement import constant_pad_nd
from jaxvjp.ops.reduction import expandable, sum_to
from jaxvjp.ops.strided import strided
from jaxvjp.ops.view import (
    reshaped_copy,
    squeeze,
    t,
    transpose,
    unsqueeze,
)
from jaxvjp.publishing import public
from jaxvjp.splitting import narrow
from jaxvjp.storage import Step
from jaxvjp.tensor import Tensor, view, wrap

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


@public("method function")
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
def fill_diagonal_(self: Tensor, fill_value: complex | Tensor, wrap: bool = False) -> Tensor:
    """In place: a number on the main diagonal, in a tall matrix with `wrap` on those below as well. As in torch."""
    shape = self.shape
    if self.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.ndim > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    step = sum(self.stride())
    self.as_strided((min(shape),), (step,)).fill_(fill_value)
    if wrap and self.ndim == 2 and shape[0] > shape[1] + 1:
        narrow(self, 0, shape[1] + 1, shape[0] - shape[1] - 1).fill_diagonal_(fill_value, wrap=True)
    return self


@public("method")
def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """Summed over what expanding `size` to the shape would repeat. Counterpart of `torch.Tensor.sum_to_size`."""
    shape = size_argument(size[0] if len(size) == 1 else size)
    if not expandable(shape, self.shape):
        raise RuntimeError(f"size {{{list(shape)}}} is not expandable to size {{{list(self.shape)}}}.")
    summed: Tensor = apply(sum_to, (self,), (shape,))
    return summed


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


@public("method function")
def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: None = None) -> Tensor:
    """In place: the shape of another tensor, as `resize_`. Counterpart of `torch.Tensor.resize_as_`."""
    resized: Tensor = self.resize_(the_template.shape)
    return resized
