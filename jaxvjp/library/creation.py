"""Tensors made from data, from a shape, or from random numbers.

Each returns a leaf. `requires_grad=True` makes it one that `backward` accumulates into.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any, get_overloads, overload

import jax
import numpy as np

from jaxvjp.core.record.modes import transforming
from jaxvjp.core.record.record import leaf
from jaxvjp.ops.op import Aval
from jaxvjp.tensor.conversion import converted_to
from jaxvjp.tensor.levels import per_example
from jaxvjp.tensor.out_argument import write_out
from jaxvjp.tensor.published import public
from jaxvjp.tensor.tensor import NUMBERS, Tensor, wrap
from jaxvjp.types.devices import Device, place, put
from jaxvjp.types.dtypes import (
    INTEGRAL,
    default_complex_dtype,
    fitted,
    float32,
    get_default_dtype,
    int64,
    of_number,
    within_64_bits,
)
from jaxvjp.types.dtypes import dtype as Dtype  # noqa: N812 - `dtype` is an argument's name here
from jaxvjp.types.dtypes import from_numpy as dtype_of

UNDERNEATH = "a NumPy array that becomes a leaf; on another device than JAX's own, `jax.device_put`"

__all__ = [
    "FloatTensor",
    "empty",
    "empty_like",
    "full",
    "ones",
    "ones_like",
    "tensor",
    "zeros",
    "zeros_like",
]


FEW = 1 << 16
"""Bytes up to which the numbers of a new tensor stay NumPy's (`core.record.graph.Value`)."""


def new_leaf(array: Any, own: Dtype, requires_grad: bool = False, device: Any = None) -> Tensor:
    if requires_grad and not own.differentiable:
        raise RuntimeError(
            "Only Tensors of floating point and complex dtype can require gradients\n"
            f"The data is torch.{own.name}; write the numbers with a point, [1., 2.], or pass dtype=torch.float32."
        )
    where = place(device)
    value: Any = np.asarray(array, own.numpy)
    if value.nbytes > FEW or where is not None:
        with jax.enable_x64(True):
            value = put(value, where)
    return wrap(leaf(value, Aval(value.shape, own, place=where), requires_grad))


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
        pin_memory: accepted and without effect: JAX moves memory itself.

    Counterpart of `torch.tensor`.
    """
    if isinstance(data, Tensor):
        array: Any = np.asarray(data.value)
        own = data.dtype
        device = data.device if device is None else device
    elif isinstance(data, np.ndarray | np.generic):
        array = np.array(data)  # JAX may go on reading the memory that it is given, which the caller may change
        own = dtype_of(array.dtype)
    elif isinstance(data, jax.Array):
        array = np.asarray(data)
        own = dtype_of(array.dtype)
    else:
        array, own = _nested(data, dtype)
        _check_range(array, dtype)
    return new_leaf(array, dtype or own, requires_grad, device)


def _nested(data: Any, asked: Dtype | None) -> tuple[Any, Dtype]:
    _rectangular(data)
    array = np.array(_plain(data))
    if array.size == 0:
        return array, get_default_dtype()
    if array.dtype == object or (array.dtype.kind in "uf" and np.abs(array).max() >= 1 << 63):
        # Among them may be an integer of many digits, for which NumPy chooses another type.
        kinds = {type(each) for each in np.array(_plain(data), object).ravel().tolist()}
        if kinds <= {int, bool} and (asked is None or asked.category == INTEGRAL):
            raise ValueError("Overflow when unpacking long long\nAn integer has 64 bits; a float would be `2.0**70`.")
        array = array.astype(complex if complex in kinds else float)
    return array, of_number(array.ravel()[0].item())


def _check_range(array: Any, own: Dtype | None) -> None:
    """RuntimeError for numbers that a type of integers does not hold; unsigned ones count negatives from the end."""
    if own is not None and own.category == INTEGRAL and array.size and array.dtype.kind in "iufO":
        limits = np.iinfo(own.numpy)
        if array.max() > limits.max or array.min() < (limits.min or -limits.max):
            raise RuntimeError(f"value cannot be converted to type {own.name} without overflow")


def _plain(data: Any) -> Any:
    """Nested lists of Python numbers, single tensors among them read."""
    if isinstance(data, Tensor):
        return data.tolist()
    return [_plain(each) for each in data] if isinstance(data, Sequence) and not isinstance(data, str) else data


def _rectangular(data: Any, dim: int = 0) -> tuple[int, ...]:
    if isinstance(data, Tensor | np.ndarray):
        return tuple(data.shape)
    if isinstance(data, (*NUMBERS, np.generic)):
        return ()
    if isinstance(data, str) or not isinstance(data, Sequence):
        raise TypeError(
            f"new(): invalid data type '{type(data).__name__}'\nA tensor is made of numbers, in lists of equal length."
        )
    shapes = [_rectangular(each, dim + 1) for each in data]
    for shape in shapes[1:]:
        if shape != shapes[0]:
            wanted, got = (len(each) and each[0] for each in (shapes[0], shape))
            raise ValueError(
                f"expected sequence of length {wanted} at dim {dim + 1} (got {got})\n"
                "The rows of a tensor are equally long."
            )
    return (len(data), *(shapes[0] if shapes else ()))


def sizes(name: str, size: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape that `size` means, whether spread out or in one sequence."""
    if len(size) == 1 and isinstance(size[0], Sequence):
        size = tuple(size[0])
    for position, each in enumerate(size, 1):
        if isinstance(each, bool) or not hasattr(each, "__index__"):
            raise TypeError(
                f"{name}(): argument 'size' (position {position}) must be tuple of ints, not {type(each).__name__}\n"
                f"Such as `{name}(2, 3)`."
            )
        if each < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {each}: {list(size)}")
    return tuple(int(each) for each in size)


def show(front: Any, outer: Callable[..., Tensor], inner: Callable[..., Any], *without: str) -> None:
    """Has `inspect` show for `front` what `outer` takes, which hands on to `inner` what it does not know by name."""
    own = inspect.signature(outer, eval_str=True)
    known = [each for each in own.parameters.values() if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    names = {*without, *[each.name for each in known]}
    further = [each for each in inspect.signature(inner, eval_str=True).parameters.values() if each.name not in names]
    front.__signature__ = own.replace(parameters=sorted([*known, *further], key=lambda each: each.kind))


def factory(make: Callable[..., tuple[Any, Dtype]], place: str = "function") -> Callable[..., Tensor]:
    """A public function that makes a leaf, of one that gives an array and its dtype; `make` takes `dtype` too.

    The function also takes what all of torch's of this kind do: `out`, `device`, `requires_grad`, and, accepted and
    without effect, `layout`, `pin_memory` and `memory_format`.
    """

    def create(
        *arguments: Any,
        out: Tensor | None = None,
        dtype: Dtype | None = None,
        layout: Any = None,
        device: Device | str | int | None = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        memory_format: Any = None,
        **named: Any,
    ) -> Tensor:
        array, own = make(*arguments, dtype=dtype, **named)
        made = new_leaf(array, own, requires_grad, device)
        return made if out is None else write_out(out, made)

    create.__name__ = create.__qualname__ = make.__name__
    for each in [*get_overloads(make), make]:
        show(create if each is make else each, create, each)
    create.__wrapped__ = make  # type: ignore[attr-defined]
    module = "torch" if place == "function" else f"torch.{place}"
    create.__doc__ = f"{make.__doc__}\n\nCounterpart of `{module}.{make.__name__}`."
    return public(place, make.__name__)(create)


def _from_shape(name: str, fill: Callable[[tuple[int, ...], Any], Any], summary: str) -> Callable[..., Tensor]:
    """A function of torch's that makes a tensor of a given shape, such as `ones(2, 3, dtype=...)`."""

    def make(*size: int | Sequence[int], dtype: Dtype | None = None, **named: Any) -> tuple[Any, Dtype]:
        own = dtype or get_default_dtype()
        return fill(sizes(name, size or (named.pop("size"),)), own.numpy), own

    make.__name__, make.__doc__ = name, summary
    return factory(make)


def like(create: Callable[..., Tensor], random: bool = False) -> Callable[..., Tensor]:
    """The `_like` form of such a function: shape, dtype and device of another tensor."""
    name = f"{create.__name__}_like"

    def create_like(
        input: Tensor,
        *arguments: Any,
        dtype: Dtype | None = None,
        device: Device | str | int | None = None,
        **named: Any,
    ) -> Tensor:
        if not isinstance(input, Tensor):
            raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
        where = input.device if device is None else device

        def filled(shape: tuple[int, ...]) -> Tensor:
            made: Tensor = create(*arguments, shape, dtype=dtype or input.dtype, device=where, **named)
            return made

        if random:  # which `create` itself makes per example
            return filled(input.shape)
        return per_example(input.shape, filled, lambda batch: batch.holds(input.node))

    create_like.__name__ = create_like.__qualname__ = name
    show(create_like, create_like, create, "size", "named")
    create_like.__doc__ = f"As `{create.__name__}`, with the shape, dtype and device of `input`, unless told otherwise."
    return public("function", name)(create_like)


def _new(create: Callable[..., Tensor], name: str) -> Callable[..., Tensor]:
    """The `new_` method of such a function: dtype and device of another tensor."""

    def method(self: Tensor, *arguments: Any, dtype: Dtype | None = None, device: Any = None, **named: Any) -> Tensor:
        where = self.device if device is None else device

        def made(shape: Any) -> Tensor:
            return create(shape, *arguments[1:], dtype=dtype or self.dtype, device=where, **named)

        if not transforming().batches or not arguments:
            return create(*arguments, dtype=dtype or self.dtype, device=where, **named)
        if name != "full":
            arguments = (sizes(name, arguments),)
        return per_example(tuple(arguments[0]), made, lambda batch: batch.holds(self.node))

    method.__name__ = method.__qualname__ = f"new_{name}"
    show(method, method, create)
    method.__doc__ = f"As `{name}`, with the dtype and device of this tensor. Counterpart of `torch.Tensor.new_{name}`."
    return public("method", f"new_{name}")(method)


ones = _from_shape("ones", np.ones, "Ones.")
zeros = _from_shape("zeros", np.zeros, "Zeros.")
empty = _from_shape("empty", np.zeros, "Memory that nobody has filled yet; here always zeros, in torch what was there.")
ones_like, zeros_like, empty_like = like(ones), like(zeros), like(empty)


@factory
def full(size: Sequence[int], fill_value: complex | Tensor, *, dtype: Dtype | None = None) -> tuple[Any, Dtype]:
    """`fill_value` everywhere, by default in the number's own dtype."""
    value = _number(fill_value)
    own = dtype or of_number(value)
    return np.full(sizes("full", (size,)), fitted(value, own), own.numpy), own


def _filled(fill_value: Any, size: Any, **named: Any) -> Tensor:
    return full(size, fill_value, **named)


_filled.__name__ = "full"
show(_filled, _filled, full)


full_like = like(_filled)
for _create in (ones, zeros, empty, full):
    _new(_create, _create.__name__)


@public("method")
def new_tensor(self: Tensor, data: Any, *, dtype: Dtype | None = None, **named: Any) -> Tensor:
    """A leaf with a copy of `data`, with the dtype of this tensor. Counterpart of `torch.Tensor.new_tensor`."""
    return tensor(data, dtype=dtype or self.dtype, **{"device": self.device, **named})


@factory
def empty_strided(size: Sequence[int], stride: Sequence[int], *, dtype: Dtype | None = None) -> tuple[Any, Dtype]:
    """As `empty`; the strides are those of contiguous memory, whatever `stride` says."""
    own = dtype or get_default_dtype()
    return np.zeros(sizes("empty_strided", (size,)), own.numpy), own


@factory
def empty_permuted(
    size: Sequence[int], physical_layout: Sequence[int], *, dtype: Dtype | None = None
) -> tuple[Any, Dtype]:
    """As `empty`; the memory is laid out in the order of dimensions, whatever `physical_layout` says."""
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
    own = dtype or get_default_dtype()
    return np.zeros(sizes("empty_permuted", (size,)), own.numpy), own


_new(empty_strided, "empty_strided")


@factory
def scalar_tensor(s: complex, *, dtype: Dtype | None = None) -> tuple[Any, Dtype]:
    """One number, by default in the default dtype."""
    own = dtype or get_default_dtype()
    return np.asarray(_number(s)).astype(own.numpy), own


def _number(value: Any) -> Any:
    return within_64_bits(value.item() if isinstance(value, Tensor | np.generic) else value)


@overload
def arange(end: complex | Tensor, *, dtype: Dtype | None = None) -> Tensor: ...
@overload
def arange(
    start: complex | Tensor, end: complex | Tensor, step: complex | Tensor = 1, *, dtype: Dtype | None = None
) -> Tensor: ...
@factory
def arange(*bounds: Any, dtype: Dtype | None = None, **named: Any) -> tuple[Any, Dtype]:
    """The numbers from `start` (0) on, below `end`, by `step` (1); integers where all three are."""
    names = ("end",) if len(bounds) == 1 else ("start", "end", "step")
    given = {"start": 0, "step": 1, **dict(zip(names, bounds, strict=False)), **named}
    start, end, step = (_number(given[each]) for each in ("start", "end", "step"))
    own = dtype or (int64 if all(isinstance(each, int) for each in (start, end, step)) else get_default_dtype())
    length = (end - start) / step if own.category <= INTEGRAL and own is not int64 and step else None
    if own.category <= INTEGRAL:  # of which torch has the integer parts, but for how many there are
        start, end, step = (fitted(each, int64) if math.isfinite(each) else each for each in (start, end, step))
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not all(math.isfinite(each) for each in (start, end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    count = -((start - end) // step) if own is int64 else math.ceil((end - start) / step if length is None else length)
    return start + step * np.arange(count), own


def _steps(name: str, start: Any, end: Any, steps: Any) -> int:
    if not isinstance(steps, int):
        got = ", ".join(type(each).__name__ for each in (start, end, steps))
        raise TypeError(f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:")
    dims = [each.ndim if isinstance(each, Tensor) else 0 for each in (start, end)]
    if any(dims):
        raise RuntimeError(
            f"{name} only supports 0-dimensional start and end tensors, but got start with {dims[0]} dimension(s) and "
            f"end with {dims[1]} dimension(s)."
        )
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    return int(steps)


def _evenly(start: Any, end: Any, steps: int, own: Dtype, between: Any = np.float64) -> Any:
    """From both ends towards the middle, as torch counts: of integers by a step of type `between`."""
    kind = own.numpy.type if own.differentiable and own.itemsize >= 4 else between
    if own.category == INTEGRAL:
        start, end = fitted(start, own), fitted(end, own)
    if steps == 1:
        return np.array([start])
    step = kind((end - start) / (steps - 1)) if steps else 0
    place = np.arange(steps)
    halfway = place < steps // 2
    return np.where(
        halfway, kind(start) + step * place.astype(kind), kind(end) - step * (steps - 1 - place).astype(kind)
    )


@factory
def linspace(
    start: Tensor | complex, end: Tensor | complex, steps: int, *, dtype: Dtype | None = None
) -> tuple[Any, Dtype]:
    """`steps` numbers from `start` to `end`, equally far apart."""
    count = _steps("linspace", start, end, steps)
    first, last = _number(start), _number(end)
    own = dtype or (default_complex_dtype() if isinstance(first, complex) or isinstance(last, complex) else None)
    own = own or get_default_dtype()
    return _evenly(first, last, count, own), own


@factory
def logspace(
    start: Tensor | complex, end: Tensor | complex, steps: int, base: float = 10.0, *, dtype: Dtype | None = None
) -> tuple[Any, Dtype]:
    """`steps` powers of `base`, whose exponents go from `start` to `end`, equally far apart."""
    count = _steps("logspace", start, end, steps)
    first, last = _number(start), _number(end)
    own = dtype or (default_complex_dtype() if isinstance(first, complex) or isinstance(last, complex) else None)
    own = own or get_default_dtype()
    exponents = _evenly(first, last, count, own, np.float32)
    return np.power(np.asarray(base, np.complex128 if own.is_complex else np.float64), exponents), own


@factory
def eye(n: int, m: int | None = None, *, dtype: Dtype | None = None) -> tuple[Any, Dtype]:
    """Ones on the diagonal of `n` rows and `m` (as many) columns, zeros elsewhere."""
    for name, each in (("n", n), ("m", 0 if m is None else m)):
        if each < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {each}")
    own = dtype or get_default_dtype()
    return np.eye(n, m, dtype=own.numpy), own


@factory
def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Dtype | None = None) -> tuple[Any, Dtype]:
    """Rows and columns of the elements on and below a diagonal."""
    return np.stack(np.tril_indices(row, offset, col)), dtype or int64


@factory
def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Dtype | None = None) -> tuple[Any, Dtype]:
    """Rows and columns of the elements on and above a diagonal."""
    return np.stack(np.triu_indices(row, offset, col)), dtype or int64


@public("function")
def from_numpy(ndarray: Any) -> Tensor:
    """A leaf with a copy of a NumPy array, for JAX's arrays never change; counterpart of `torch.from_numpy`."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    return tensor(ndarray)


@public("function", aliases="function.asarray")
def as_tensor(data: Any, dtype: Dtype | None = None, device: Any = None) -> Tensor:
    """`data` as a tensor: itself where it is one of that dtype and device, else a copy. As `torch.as_tensor`."""
    return converted_to(data, dtype, device) if isinstance(data, Tensor) else tensor(data, dtype=dtype, device=device)


def FloatTensor(*data: Any) -> Tensor:  # noqa: N802 - torch's name
    """torch's old constructor: `FloatTensor([1, 2])` of data, `FloatTensor(2, 3)` of sizes, always float32."""
    if len(data) == 1 and isinstance(data[0], Sequence):
        return tensor(data[0], dtype=float32)
    if len(data) == 1 and isinstance(data[0], np.ndarray | Tensor):
        return tensor(data[0], dtype=float32)
    if data and not all(hasattr(each, "__index__") for each in data):
        raise TypeError(
            f"new(): data must be a sequence (got {type(data[0]).__name__})\n`FloatTensor([2.5])`, or today "
            "`tensor([2.5])`."
        )
    return empty(*data, dtype=float32) if data else empty(0, dtype=float32)
