"""Memory formats, and `set_`, by which a tensor shows another storage."""

import math
from collections.abc import Sequence
from copy import copy

from jaxvjp.core.record.graph import leaf_identity_of
from jaxvjp.core.record.modes import grad_mode, transforming
from jaxvjp.core.record.record import record
from jaxvjp.library.creation import empty
from jaxvjp.library.storages import Memory, TypedStorage, whole
from jaxvjp.library.strides import grown
from jaxvjp.ops.arguments import size as size_argument
from jaxvjp.ops.identity import clone
from jaxvjp.ops.layouts import Layout, contiguous_format, contiguous_strides, memory_format, preserve_format
from jaxvjp.ops.strided import laid
from jaxvjp.tensor.published import public
from jaxvjp.tensor.tensor import Tensor, wrap
from jaxvjp.tensor.view_steps import strided_step
from jaxvjp.types.dtypes import CTYPES

UNDERNEATH = "what is known of the tensor's storage; a copy of it is a recorded op"


def is_contiguous(self: Tensor, memory_format: memory_format = contiguous_format) -> bool:
    """Whether the elements lie in memory in their order, or in that of a format. As `torch.Tensor.is_contiguous`."""
    _check_format(self, memory_format, "querying is_contiguous inside of vmap for memory_format other than {1}")
    layout, order = self.__layout__(), memory_format.order
    if order is None:
        return layout.contiguous
    return len(layout.shape) == len(order) and layout.ordered(order)


def _check_format(self: Tensor, form: memory_format, sentence: str) -> None:
    """RuntimeError, in torch's words, for an order of dimensions of one example of a batch, which has one more."""
    if form.order is not None and any(batch.holds(self.__node__) for batch in transforming().batches):
        given = form.name.title().replace("_", "")
        raise RuntimeError("NYI: " + sentence.format(preserve_format, contiguous_format, given))


def contiguous(self: Tensor, memory_format: memory_format = contiguous_format) -> Tensor:
    """This tensor, or a copy of it that is contiguous, or laid out by a format. As `torch.Tensor.contiguous`.

    RuntimeError for a format of tensors of another number of dimensions.
    """
    if not hasattr(memory_format, "order"):
        given = type(memory_format).__name__
        raise TypeError(f"contiguous(): argument 'memory_format' must be torch.memory_format, not {given}")
    if memory_format is preserve_format:
        if self.__layout__().contiguous:
            return self
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    _check_format(self, memory_format, "querying is_contiguous inside of vmap for memory_format other than {1}")
    strides = memory_format.strides(self.__layout__())
    return self if is_contiguous(self, memory_format) else wrap(record(laid, (self.__node__,), (strides,)))


@public("method function", name="clone")
def copy_of(input: Tensor, *, memory_format: memory_format | None = None) -> Tensor:
    """A copy with storage of its own, through which gradients flow. Counterpart of `torch.clone`.

    It is laid out as the tensor is, where that leaves no gaps, or by another `memory_format`.
    """
    if memory_format is None or memory_format is preserve_format:
        return wrap(record(clone, (input.__node__,)))
    _check_format(
        input,
        memory_format,
        "Tensor.clone(memory_format) inside vmap is only supported with memory_format {0} or {1} (got {2})",
    )
    return wrap(record(laid, (input.__node__,), (memory_format.strides(input.__layout__()),)))


@public("method")
def dim_order(self: Tensor, *, ambiguity_check: bool | list[memory_format] = False) -> tuple[int, ...]:
    """The dimensions from the outermost in memory to the innermost. Counterpart of `torch.Tensor.dim_order`.

    Args:
        ambiguity_check: whether RuntimeError is raised where strides allow other orders, too; or the formats of which
            one only shall fit.
    """
    strides, shape = self.stride(), self.shape
    order = tuple(sorted(range(len(shape)), key=lambda dim: -strides[dim]))
    if isinstance(ambiguity_check, bool):
        several = ambiguity_check and (len(set(strides)) < len(strides) or 1 in shape)
    elif isinstance(ambiguity_check, list) and all(isinstance(each, memory_format) for each in ambiguity_check):
        fitting = [each for each in ambiguity_check if is_contiguous(self, each)]
        several = len(fitting) != 1
        order = order if several else fitting[0].order or tuple(range(len(shape)))
    else:
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    if several:
        raise RuntimeError(
            "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
        )
    return order


@public("method")
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both show the same part of a storage in the same way. Counterpart of `torch.Tensor.is_set_to`."""
    ours, theirs = [(each.storage_offset(), each.shape, each.stride()) for each in (self, tensor)]
    return self.storage is tensor.storage and ours == theirs


@public("method")
def set_(
    self: Tensor,
    source: Tensor | Memory | None = None,
    storage_offset: int = 0,
    size: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
) -> Tensor:
    """In place: shows another tensor's part of a storage, or the part named. Counterpart of `torch.Tensor.set_`.

    Args:
        source: whose storage; none for an empty one.
        storage_offset, size, stride: which part of it; without a size that which `source` shows.

    RuntimeError for a leaf that requires a gradient, outside of `no_grad`, and for what was computed from one.
    """
    given = empty(0, dtype=self.dtype) if source is None else source
    if isinstance(given, TypedStorage) and given.dtype is not self.dtype:
        raise RuntimeError(
            f"Expected a Storage of type {CTYPES[self.dtype.name]} or an UntypedStorage, but got type "
            f"{given.dtype.legacy} for argument 1 'storage'"
        )
    if isinstance(given, Tensor) and given.dtype is not self.dtype:
        raise RuntimeError(
            f"Could not set tensor of type {CTYPES[given.dtype.name]} to a tensor of type {CTYPES[self.dtype.name]}\n"
            "Both have to be of one dtype; `source.to(x.dtype)` converts."
        )
    self.__check_writable__()
    if grad_mode().enabled and self.requires_grad:
        raise RuntimeError("the derivative for 'set_' is not implemented.\nWrite `x = y`, or `x = x.detach()` first.")
    memory = given._storage if isinstance(given, Memory) else given.storage
    contiguous = size is None or stride is None or size_argument(stride) == contiguous_strides(size_argument(size))
    if isinstance(given, Tensor) and size is None:
        path = given.__view_path__
    elif memory.contents.aval.dtype is not self.dtype and contiguous:  # its bytes are read as others
        part = whole(memory, self.dtype)
        if size is not None:
            shape = size_argument(size)
            part = part[storage_offset : storage_offset + math.prod(shape)].view(shape)
        path = part.__view_path__
    else:
        shape = (math.prod(memory.contents.aval.shape),) if size is None else size_argument(size)
        strides = contiguous_strides(shape) if stride is None else size_argument(stride)
        further = Layout(shape, strides, storage_offset).reach[1] - math.prod(memory.contents.aval.shape)
        if further > 0 and shape != tuple(self.shape):
            memory = grown(memory, further)
        path = (strided_step(memory.contents, shape, strides, storage_offset),)
    self.__count_write__(given.__node__.where if isinstance(given, Tensor) else None)
    self.storage.version += 1  # so that views of it are computed anew
    shown = self.__node__
    if shown.requires_grad and shown.is_leaf:  # it becomes another leaf, with the hooks of the tensor
        if shown.hooks is None:
            shown.hooks = {}
        self.__leaf__ = copy(leaf_identity_of(shown))
        self.__leaf__.step_hooks = None
    self.__move__(memory, path)
    return self


def _nbytes(self: Tensor) -> int:
    """How many bytes its elements take."""
    return self.numel() * int(self.dtype.itemsize)


def attach_methods() -> None:
    """Adds `nbytes` and what takes a memory format to `Tensor`."""
    for name, attribute in {
        "nbytes": property(_nbytes),
        "is_contiguous": is_contiguous,
        "contiguous": contiguous,
    }.items():
        setattr(Tensor, name, attribute)
