"""torch's functions that give a tensor any shape and strides on its storage, or change its own shape in place.

They are `as_strided` and its like, and `t_`, `squeeze_`, `resize_`.
"""

import math
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, overload

from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.modes import grad_mode, tracking, transforming
from jaxvjp.core.record.record import constant, detached
from jaxvjp.library.creation import empty
from jaxvjp.library.splits import narrow
from jaxvjp.ops.arguments import dims
from jaxvjp.ops.arguments import size as size_argument
from jaxvjp.ops.joining import cat
from jaxvjp.ops.layouts import (
    Layout,
    channels_last,
    channels_last_3d,
    contiguous_format,
    memory_format,
    preserve_format,
)
from jaxvjp.ops.op import Aval, Op
from jaxvjp.ops.reduction import expandable, sum_to
from jaxvjp.ops.strided import strided
from jaxvjp.ops.view import function_view, placed, squeeze, t, transpose, unsqueeze
from jaxvjp.tensor.answers import publish
from jaxvjp.tensor.apply import apply
from jaxvjp.tensor.batches import Batch
from jaxvjp.tensor.duals import DualStep
from jaxvjp.tensor.published import public
from jaxvjp.tensor.storage import Storage, made_by, view_by
from jaxvjp.tensor.tensor import Tensor, wrap
from jaxvjp.tensor.view_steps import Step, Steps, read, strided_step
from jaxvjp.types.settings import settings

UNDERNEATH = "ops of `jaxvjp.ops.view` on the storage's array, and `jax.vjp` of them"

# Any shape and strides on the storage.


@public()
def as_strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """A view with any shape, strides and offset on the tensor's storage. Counterpart of `torch.as_strided`.

    Of a view the storage is that of its base; the gradient goes to what is part of the view.
    """
    if transforming().batches:
        return _of_examples(as_strided, input, (), size, stride, storage_offset)
    step = _strided(input, size, stride, storage_offset)
    node = step.read(input.__differentiable_contents__(input.__node__))
    dual = input.__view_path__[:1] if input.__view_path__ and isinstance(input.__view_path__[0], DualStep) else ()
    return _restrided(view_by(node, input, (step,), Tensor), (*_marks(input), *dual, step))


def _of_examples(
    function: Callable[..., Tensor],
    input: Tensor,
    others: tuple[Tensor, ...],
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None,
) -> Tensor:
    """`function` inside `vmap`: called with the whole batch, whose examples lie apart by its stride."""
    batch: Batch = transforming().batches[-1]
    offset = input.storage_offset() if storage_offset is None else storage_offset
    if not any(batch.holds(each.__node__) for each in (input, *others)):
        with batch.outside():
            return function(input, *others, size, stride, offset)
    if len(size) != len(stride):
        raise RuntimeError(
            "Tensor.as_strided(size, stride, ...): size and stride must have the same length! Got size "
            f"{list(size)} and stride {list(stride)}"
        )
    if batch.holds(input.__node__):
        _check_inside(input.__layout__(), Layout(tuple(size), tuple(stride), offset))
    whole, *beside = [batch.whole(each) for each in (input, *others)]
    with batch.outside():
        found = function(whole, *beside, (batch.size, *size), (whole.stride(0), *stride), offset)
    return batch.example(found, 0)


def _check_inside(own: Layout, asked: Layout) -> None:
    """RuntimeError where what is asked for of one example would reach into the memory of another."""
    first, last = asked.offset, asked._replace(itemsize=1).reach[1]
    held = own.offset, own._replace(itemsize=1).reach[1]
    if first == last or (held[0] <= first and last <= held[1]):
        return
    told = (
        "`tensor` has no storage but the passed-in (size, stride, storage_offset) imply a result with some storage."
        if held[0] == held[1]
        else f"`result` can access some memory in range [{first}, {last}], but `tensor` can only access some memory in "
        f"range [{held[0]}, {held[1]}]."
    )
    raise RuntimeError(
        f"result = tensor.as_strided({list(asked.shape)}, {list(asked.strides)}, {first}) can access memory outside of "
        f"`tensor`. {told} This is not supported inside of vmap, please try to rewrite the `as_strided` call as a "
        "sequence of PyTorch view operations"
    )


def _strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None) -> Step:
    offset = input.storage_offset() if storage_offset is None else storage_offset
    return strided_step(input.__contents__, size_argument(size), size_argument(stride), offset)


def _marks(tensor: Tensor) -> Steps:
    """The step that marks a view of `tensor` as one that refuses writes which are recorded, if `tensor` does."""
    marks = [each for each in tensor.__steps__ if each.operation is function_view or each.operation.one_of_several]
    several = any(mark.operation.one_of_several or mark.static[0] for mark in marks)
    return (Step(function_view, (several,)),) if marks else ()


def _restrided(tensor: Tensor, steps: Steps) -> Tensor:
    """Notes that `steps` lead to the view directly from the whole storage, and not from its base."""
    tensor.__steps__ = steps
    tensor.__own_path__ = steps if tensor._base is None or tensor._base.__view_path__ else None
    return tensor


@public("function", out=True)
def as_strided_copy(
    input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """As `as_strided`, with a storage of its own. Counterpart of `torch.as_strided_copy`."""
    if transforming().batches:
        return _of_examples(as_strided_copy, input, (), size, stride, storage_offset)
    return wrap(_strided(input, size, stride, storage_offset).read(input.__differentiable_contents__(input.__node__)))


@public()
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """A copy with `src` in the place of what `as_strided` shows. Counterpart of `torch.as_strided_scatter`."""
    if transforming().batches:
        return _of_examples(as_strided_scatter, input, (src,), size, stride, storage_offset)
    step = _strided(input, size, stride, storage_offset)
    if tuple(src.shape) != step.static[0]:
        told = f"src size = {list(src.shape)}, slice size = {list(step.static[0])}"
        raise RuntimeError(f"expected src to have a size equal to the slice of self. {told}")
    node = step.put(input.__differentiable_contents__(input.__node__), src.__node__, placed)
    return wrap(read(node, input.__view_path__))


# A tensor's own shape, changed in place.


def _in_place(operation: Op, further: int = 1) -> Op:
    """The same view, whose backward step has torch's number of the in-place form: UnsqueezeBackward1, not 0."""
    form = copy(operation)

    def name(static: tuple[Any, ...], avals: tuple[Aval, ...]) -> str:
        plain = operation.gradient_name(static, avals)
        return plain[:-1] + str(int(plain[-1]) + further)

    form.grad_fn = name
    return form


T_, TRANSPOSE_, UNSQUEEZE_, STRIDED_ = _in_place(t), _in_place(transpose), _in_place(unsqueeze), _in_place(strided)
SQUEEZE_ = _in_place(squeeze, 3)


def _reshape_self(self: Tensor, *steps: Step) -> Tensor:
    """Turns the tensor into the view of itself by `steps`; views of it stay as they are."""
    self.__check_writable__()
    node = self.__node__
    with tracking(node.requires_grad and not node.is_leaf):  # recorded, so that its gradient has the new shape, too
        return _reshaped(self, read(node, steps), self.__view_path__ + steps)


def _reshaped(self: Tensor, node: Node, path: tuple[Step, ...]) -> Tensor:
    """The tensor itself, which now shows `node` at another `path` of its storage."""
    shown = self.__node__
    leaf = shown.requires_grad and shown.is_leaf
    self.__count_write__(node.where)
    if made_by(shown).retains:
        made_by(shown).retains, node.retains = False, True
    self.storage.version += 1  # views of it have a base of another shape now
    self.__place__(self.storage, path)
    if self._base is not None and not self._base.__view_path__:
        self.__steps__, self.__own_path__ = path, None
    self.__show__(self.__as_leaf__(node) if leaf else node)
    if self._base is not None and self.__marked__:
        self.__seen__ -= 1  # so that its node is computed anew at the next read
        node.in_place = True
    return self


def _matrix(self: Tensor) -> Tensor:
    if self.ndim > 2:
        raise RuntimeError(f"t_() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
    return self


IN_PLACE = """
t_(self: Tensor) -> Tensor = _reshape_self(_matrix(self), Step(T_, ()))
    In place: a matrix turned over; RuntimeError for more dimensions.
swapaxes_(self: Tensor, axis0: int, axis1: int) -> Tensor = _reshape_self(self, Step(TRANSPOSE_, (axis0, axis1)))
    In place: two dimensions exchanged.
unsqueeze_(self: Tensor, dim: int) -> Tensor = _reshape_self(self, Step(UNSQUEEZE_, (dim,)))
    In place: a dimension of size 1 more.
"""
publish({"method": IN_PLACE}, globals())


@public("method", aliases="method.swapdims_")
def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """In place: two dimensions exchanged. Counterpart of `torch.Tensor.transpose_`."""
    return _reshape_self(self, Step(TRANSPOSE_, (dim0, dim1)))


@overload
def squeeze_(self: Tensor) -> Tensor: ...
@overload
def squeeze_(self: Tensor, *dim: int | Sequence[int]) -> Tensor: ...
@public("method")
def squeeze_(self: Tensor, *dim: int | Sequence[int]) -> Tensor:
    """In place: without dimensions of size 1. Counterpart of `torch.Tensor.squeeze_`."""
    return _reshape_self(self, Step(SQUEEZE_, (dims(dim[0] if len(dim) == 1 else dim or None),)))


@public("method function")
def as_strided_(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """In place: any shape, strides and offset on the tensor's storage. Counterpart of `torch.Tensor.as_strided_`."""
    input.__check_writable__()
    step = Step(STRIDED_, _strided(input, size, stride, storage_offset).static)
    node = input.__node__
    with tracking(node.requires_grad and not node.is_leaf):
        shown = step.read(input.__differentiable_contents__(node))
    return _reshaped(input, shown, (*_marks(input), step))


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
def sum_to_size(self: Tensor, *size: int | Sequence[int]) -> Tensor:
    """Summed over what expanding `size` to the shape would repeat. Counterpart of `torch.Tensor.sum_to_size`."""
    shape = size_argument(size[0] if len(size) == 1 else size)
    if not expandable(shape, self.shape):
        raise RuntimeError(f"size {{{list(shape)}}} is not expandable to size {{{list(self.shape)}}}.")
    return apply(sum_to, (self,), (shape,))


def _check_size(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> None:
    """RuntimeError where elements could not be counted, or their bytes, in 64 bits."""
    if math.prod([max(each, 1) for each in shape[1:]]) >= 1 << 63:
        raise RuntimeError("Stride calculation overflowed")
    if math.prod(shape) >= 1 << 63:
        raise RuntimeError("numel: integer multiplication overflow")
    if math.prod(shape) * itemsize >= 1 << 63:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(shape)}\nIts strides: {list(strides)}"
        )


@public("method")
def resize_(self: Tensor, *size: int | Sequence[int], memory_format: memory_format | None = None) -> Tensor:
    """In place: another shape, of more or fewer elements too. As `torch.Tensor.resize_`.

    Where the storage is too small the tensor gets one of its own, in which new elements are as `empty` has them.
    """
    shape = size_argument(size[0] if len(size) == 1 else size)
    if self.requires_grad and not grad_mode().inference:
        raise RuntimeError("cannot resize variables that require grad")
    if min(shape, default=0) < 0:
        raise RuntimeError("numel: integer multiplication overflow\nA size is negative.")
    if memory_format is preserve_format:
        raise RuntimeError("Unsupported memory format Preserve")
    strides = (memory_format or contiguous_format).strides(Layout(shape, ()))
    _check_size(shape, strides, int(self.dtype.itemsize))
    if shape == tuple(self.shape) and (memory_format is None or strides == self.stride()):
        return self
    whole = math.prod(self.__contents__.aval.shape)
    begins, count = self.storage_offset(), math.prod(shape)
    if begins + count <= whole:
        return as_strided_(self, shape, strides, begins)
    memory = grown(self.storage, begins + count - whole)
    self.__count_write__(memory.contents.where)
    self.__move__(memory, (strided_step(memory.contents, shape, strides, begins),))
    return self


def grown(memory: Storage, further: int) -> Storage:
    """A storage with the contents of another one, and `further` elements, which are as `empty` has them."""
    whole = strided_step(memory.contents, (math.prod(memory.contents.aval.shape),), (1,), 0)
    flat = wrap(whole.read(detached(memory.current())))
    if settings.deterministic and settings.fills:
        more = empty(further, dtype=flat.dtype, device=flat.device)
    else:  # which nothing computes until it is read
        more = wrap(constant(0, Aval((further,), flat.dtype, place=flat.__node__.aval.shaped((further,)).device)))
    joined: Tensor = apply(cat, ((flat, more),), (0,))
    return joined.storage


@public("method function")
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: memory_format | None = None) -> Tensor:
    """In place: the shape of another tensor, as `resize_`. Counterpart of `torch.Tensor.resize_as_`."""
    if memory_format is preserve_format:  # as the template is laid out, where that is by its channels
        memory_format = next(
            (each for each in (channels_last, channels_last_3d) if the_template.is_contiguous(each)), None
        )
    return input.resize_(the_template.shape, memory_format=memory_format)
