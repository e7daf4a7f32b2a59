"""Tensors made from data or from a shape.

Each returns a leaf. `requires_grad=True` makes it one that `backward` accumulates into.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np

from jaxvjp.core.record.record import node_of_value
from jaxvjp.library.factories import UNDERNEATH as UNDERNEATH
from jaxvjp.library.factories import factory, laid, like, new_leaf, new_method, nothing, number, show_signature, sizes
from jaxvjp.library.nested_data import nested_array
from jaxvjp.ops.arguments import size as size_argument
from jaxvjp.ops.layouts import Layout, strides_in_order
from jaxvjp.ops.op import Aval
from jaxvjp.tensor.published import public
from jaxvjp.tensor.refusals import advice_on, is_traced
from jaxvjp.tensor.storage import new_storage
from jaxvjp.tensor.tensor import Tensor, wrap
from jaxvjp.tensor.view_steps import strided_step
from jaxvjp.types.devices import META, Device, place, place_of
from jaxvjp.types.dtypes import Dtype, fitted, get_default_dtype, int64, of_number, taken, typename
from jaxvjp.types.dtypes import from_numpy as dtype_of
from jaxvjp.types.meshes import OnMesh, on_axes_of
from jaxvjp.types.settings import settings
from jaxvjp.types.user_code import warn_user

COPY = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than"
)


@public("function")
def tensor(
    data: Any,
    *,
    dtype: Dtype | None = None,
    device: Device | str | int | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A leaf with a copy of `data`: a number, nested sequences of numbers, an array or a tensor.

    Args:
        data: floats give the default dtype, ints int64, bools bool; an array keeps its own dtype.
        dtype: the dtype to use instead.
        device: where it shall be; by default where a tensor among `data` is, or `get_default_device()`.
        requires_grad: whether `backward` shall accumulate into its `.grad`; RuntimeError for an integer dtype.
    """
    if isinstance(data, Tensor):
        warn_user(f"{COPY} torch.tensor(sourceTensor).")
    return _copied(data, taken("tensor", dtype), device, requires_grad)


def _copied(data: Any, dtype: Dtype | None, device: Any, requires_grad: bool) -> Tensor:
    if isinstance(data, str | bytes):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'\nA tensor is made of numbers.")
    if isinstance(data, Tensor) and is_traced(data.__node__):
        copied: Tensor = data.detach().to(device, dtype, copy=True)
        copied.requires_grad = requires_grad
        return copied
    if isinstance(data, Tensor):
        device = data.device if device is None else device
        array: Any = nothing(data.shape) if data.is_meta and place(device) is META else np.asarray(data.__value__)
        own = data.dtype
    elif isinstance(data, np.ndarray | np.generic):
        array = np.array(data)  # a copy: JAX may share the memory, which the caller may change
        own = dtype_of(array.dtype)
    elif isinstance(data, jax.core.Tracer):
        raise TypeError(f"tensor() takes numbers and arrays, not {type(data).__name__}\n{advice_on(data)}")
    elif isinstance(data, jax.Array):
        array, own = data, dtype_of(data.dtype)
        where = place_of(array) if device is None else None
        if type(where) is OnMesh:  # it stays where it is: JAX's arrays never change
            with jax.enable_x64(True):
                array = on_axes_of(where.mesh, array if dtype in (None, own) else array.astype(dtype.numpy))
            node = node_of_value(array, Aval(array.shape, dtype or own, place=where))
            return wrap(node).requires_grad_() if requires_grad else wrap(node)
        array = np.asarray(data)
    elif hasattr(data, "shown_as"):  # a storage
        shown: Tensor = data.shown_as(dtype)
        return shown.requires_grad_() if requires_grad else shown
    else:
        array, own = nested_array(data, dtype)
    return new_leaf(array, dtype or own, requires_grad, device)


def _from_shape(name: str, fill: Callable[[tuple[int, ...], Any], Any], summary: str) -> Callable[..., Tensor]:
    """torch's function that makes a tensor of a given shape, such as `ones(2, 3, dtype=...)`."""

    def make(*size: int | Sequence[int], dtype: Dtype | None = None, **named: Any) -> tuple[Any, Dtype]:
        own = dtype or get_default_dtype()
        chosen = named.pop("fill", fill)
        return chosen(sizes(name, size or (named["size"],)), own.numpy), own

    make.__name__, make.__doc__ = name, summary
    return factory(make)


LARGE, ALIGNED = 1 << 20, 64
"""Bytes from which on an array is laid where XLA reads it without copying it: at a multiple of so many bytes."""


def _made(make: Callable[..., Any], shape: tuple[int, ...], kind: Any) -> Any:
    """What `make`, a function of NumPy's such as `zeros`, gives."""
    size = math.prod(shape) * kind.itemsize
    if size < LARGE:
        return make(shape, kind)
    memory = make(size + ALIGNED, np.uint8)
    begin = -memory.ctypes.data % ALIGNED
    return memory[begin : begin + size].view(kind).reshape(shape)


def _full(shape: tuple[int, ...], value: Any, kind: Any) -> Any:
    array = _made(np.empty, shape, kind)
    array.fill(value)
    return array


_zeros = partial(_made, np.zeros)
ones = _from_shape("ones", lambda shape, kind: _full(shape, 1, kind), "Ones.")
zeros = _from_shape("zeros", _zeros, "Zeros.")


def _unfilled(shape: tuple[int, ...], kind: Any) -> Any:
    if not (settings.deterministic and settings.fills):
        return _zeros(shape, kind)
    return _full(shape, np.nan if kind.kind in "fcV" else True if kind.kind == "b" else np.iinfo(kind).max, kind)


empty = _from_shape("empty", _unfilled, "Memory that nobody has filled yet; here zeros, in torch what was there.")
ones_like, zeros_like, empty_like = like(ones), like(zeros), like(empty)


@factory
def full(size: Sequence[int], fill_value: complex | Tensor, *, dtype: Dtype | None = None) -> tuple[Any, Dtype]:
    """`fill_value` everywhere, by default in the number's own dtype."""
    value = number(fill_value, "full(): argument 'fill_value' (position 2)")
    own = dtype or of_number(value)
    return _full(sizes("full", (size,)), fitted(value, own), own.numpy), own


full_like = like(full)
for _create in (ones, zeros, empty, full):
    new_method(_create, _create.__name__)


@public("method")
def new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: Dtype | None = None,
    device: Device | str | int | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A leaf with a copy of `data`, with the dtype of this tensor. Counterpart of `torch.Tensor.new_tensor`."""
    if isinstance(data, Tensor):
        warn_user(f"{COPY} tensor.new_tensor(sourceTensor).")
    where = self.device if device is None else device
    return _copied(data, taken("tensor", dtype) or self.dtype, where, requires_grad)


def empty_strided(size: Sequence[int], stride: Sequence[int], **named: Any) -> Tensor:
    """As `empty`, with these strides. Counterpart of `torch.empty_strided`."""
    layout = Layout(sizes("empty_strided", (size,)), size_argument(stride))
    if len(layout.shape) != len(layout.strides):
        raise RuntimeError(
            f"dimensionality of sizes ({len(layout.shape)}) must match dimensionality of strides "
            f"({len(layout.strides)})"
        )
    made = empty(layout.shape, **named)
    if layout.dense:
        return laid(made, layout.strides)
    memory = node_of_value(
        _unfilled((layout.reach[1],), made.dtype.numpy), made.__node__.aval.shaped((layout.reach[1],))
    )
    made.__place__(new_storage(memory), (strided_step(memory, layout.shape, layout.strides, 0),))
    return made


def empty_permuted(size: Sequence[int], physical_layout: Sequence[int], **named: Any) -> Tensor:
    """As `empty`, with the dimensions in memory in the order of `physical_layout`."""
    if len(size) != len(physical_layout):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
            f"{len(size)} is not equal to len(physical_layout) = {len(physical_layout)}"
        )
    for position, dim in enumerate(physical_layout):
        if not 0 <= dim < len(size):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {dim} at index "
                f"{position}).  NB: negative dims not currently supported; file an issue if you want it."
            )
    if len(set(physical_layout)) < len(physical_layout):
        raise RuntimeError("Duplicate dim not allowed")
    return laid(empty(size, **named), strides_in_order(sizes("empty_permuted", (size,)), tuple(physical_layout)))


for _create in (empty_strided, empty_permuted):
    show_signature(_create, _create, empty, "size")
    public("function")(_create)
new_method(empty_strided, "empty_strided")


@factory
def scalar_tensor(s: complex, *, dtype: Dtype | None = None) -> tuple[Any, Dtype]:
    """One number, by default in the default dtype."""
    own = dtype or get_default_dtype()
    return np.asarray(number(s, "scalar_tensor(): argument 's' (position 1)")).astype(own.numpy), own


@factory
def eye(n: int, m: int | None = None, *, dtype: Dtype | None = None) -> tuple[Any, Dtype]:
    """Ones on the diagonal of `n` rows and `m` (as many) columns, zeros elsewhere."""
    for position, (name, each) in enumerate((("n", n), ("m", 0 if m is None else m)), 1):
        if not hasattr(each, "__index__"):
            raise TypeError(f"eye(): argument '{name}' (position {position}) must be int, not {typename(each)}")
        if each < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {each}")
    own = dtype or get_default_dtype()
    return np.eye(n, m, dtype=own.numpy), own


def _triangle(name: str, places: Callable[..., Any], side: str) -> None:
    def make(row: int, col: int, offset: int = 0, *, dtype: Dtype | None = None) -> tuple[Any, Dtype]:
        for word, each in (("row", row), ("col", col)):
            if each < 0:
                raise RuntimeError(f"{word} must be non-negative, got{each}")
        return np.stack(places(row, offset, col)), dtype or int64

    make.__name__, make.__doc__ = name, f"Rows and columns of the elements on and {side} a diagonal."
    factory(make)


_triangle("tril_indices", np.tril_indices, "below")
_triangle("triu_indices", np.triu_indices, "above")
