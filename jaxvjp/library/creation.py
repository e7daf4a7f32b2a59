"""Tensors made from data, from a shape, or from random numbers.

Each returns a leaf. `requires_grad=True` makes it one that `backward` accumulates into.
"""

from __future__ import annotations

import inspect
import math
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_overloads, overload

import jax
import numpy as np

from jaxvjp.core.record.modes import transforming
from jaxvjp.core.record.record import leaf
from jaxvjp.ops.arguments import size as size_argument
from jaxvjp.ops.layouts import Layout, memory_format, preserve_format, strides_in_order
from jaxvjp.ops.op import Aval
from jaxvjp.tensor.conversion import converted_to
from jaxvjp.tensor.levels import per_example
from jaxvjp.tensor.out_argument import COUNTED, write_out
from jaxvjp.tensor.published import public
from jaxvjp.tensor.shared_memory import SharedMemory, address, owner_of
from jaxvjp.tensor.storage import Storage
from jaxvjp.tensor.tensor import NUMBERS, Tensor, wrap
from jaxvjp.tensor.view_steps import strided_step
from jaxvjp.types.devices import Device, place, put
from jaxvjp.types.dtypes import (
    BOOL,
    FLOATING,
    INTEGRAL,
    LEAST,
    MOST,
    complex32,
    default_complex_dtype,
    fitted,
    get_default_dtype,
    int64,
    of_number,
    promote_types,
    python_number,
    taken,
    typename,
    within_64_bits,
)
from jaxvjp.types.dtypes import dtype as Dtype  # noqa: N812 - `dtype` is an argument's name here
from jaxvjp.types.dtypes import from_numpy as dtype_of

UNDERNEATH = "a NumPy array that becomes a leaf; on another device than JAX's own, `jax.device_put`"

__all__ = [
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
"""Up to this many bytes the value of a new tensor stays a NumPy array (`core.record.graph.Value`)."""
MOST_DIMS = 128
"""How deeply lists of numbers may be nested."""


def new_leaf(array: Any, own: Dtype, requires_grad: bool = False, device: Any = None) -> Tensor:
    if requires_grad and not own.differentiable:
        raise RuntimeError(
            "Only Tensors of floating point and complex dtype can require gradients\n"
            f"The data is torch.{own.name}; write the numbers with a point, [1., 2.], or pass dtype=torch.float32."
        )
    if own is complex32:
        raise NotImplementedError("torch.complex32 is only a name here: JAX has no such type\nUse torch.complex64.")
    where = place(device)
    value: Any = array
    if type(array) is not np.ndarray or array.dtype != own.numpy:
        with np.errstate(all="ignore"):
            value = np.asarray(array, own.numpy)
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
    dtype = taken("tensor", dtype)
    if isinstance(data, str | bytes):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'\nA tensor is made of numbers.")
    if isinstance(data, Tensor):
        array: Any = np.asarray(data.value)
        own = data.dtype
        device = data.device if device is None else device
    elif isinstance(data, np.ndarray | np.generic):
        array = np.array(data)  # a copy: JAX may share the memory, which the caller may change
        own = dtype_of(array.dtype)
    elif isinstance(data, jax.Array):
        array = np.asarray(data)
        own = dtype_of(array.dtype)
    else:
        array, own = _nested(data, dtype)
    return new_leaf(array, dtype or own, requires_grad, device)


def _nested(data: Any, asked: Dtype | None) -> tuple[Any, Dtype]:
    """Nested sequences of numbers as an array, and the dtype that they are to have: `asked`, or else their own."""
    shape, elements = _flattened(data)
    own = _inferred(elements) if asked is None else asked
    return np.array(_converted(elements, own)).reshape(shape), own


def _is_sequence(data: Any) -> bool:
    kind = type(data)
    if kind is list or kind is tuple:
        return True
    return hasattr(kind, "__getitem__") and not isinstance(data, Tensor | np.generic | Mapping)


def _flattened(data: Any) -> tuple[list[int], list[Any]]:
    """The shape of nested sequences, as the first of each says, and what they hold; single tensors are elements."""
    shape: list[int] = []
    first = data
    while _is_sequence(first):
        shape.append(len(first))
        if len(shape) > MOST_DIMS:
            raise ValueError(f"too many dimensions '{type(first).__name__}'")
        if not shape[-1]:
            break
        try:
            first = first[0]
        except (TypeError, KeyError, IndexError):
            raise ValueError(f"could not determine the shape of object type '{type(first).__name__}'") from None
    elements = [data]
    for dim, length in enumerate(shape):
        for each in elements:
            if not _is_sequence(each):
                raise TypeError("not a sequence\nThe rows of a tensor are all sequences, or none is.")
            if len(each) != length and length:
                raise ValueError(
                    f"expected sequence of length {length} at dim {dim} (got {len(each)})\n"
                    "The rows of a tensor are equally long."
                )
        elements = [one for each in elements for one in each] if length else []
    return shape, elements


def _inferred(elements: Sequence[Any], within: tuple[Any, ...] = ()) -> Dtype:
    """The dtype that numbers, tensors without dimensions and NumPy's numbers have together."""
    found: Dtype | None = None
    for each in {type(each): each for each in elements}.values():
        alike = [each]
        if isinstance(each, str | bytes):
            raise TypeError(f"new(): invalid data type '{type(each).__name__}'\nA tensor is made of numbers.")
        if isinstance(each, Tensor | np.generic | np.ndarray) or _is_sequence(each):
            alike = [one for one in elements if type(one) is type(each)]
        for one in alike:
            if any(one is outer for outer in within):
                raise TypeError("new(): self-referential lists are incompatible")
            own = _dtype_of(one, within)
            found = own if found is None else promote_types(found, own)
    return get_default_dtype() if found is None else found


def _dtype_of(element: Any, within: tuple[Any, ...]) -> Dtype:
    if isinstance(element, Tensor):
        return element.dtype
    if isinstance(element, np.generic | np.ndarray):
        return dtype_of(element.dtype)
    if isinstance(element, NUMBERS):
        return of_number(element)
    if _is_sequence(element):
        return _inferred(element, (*within, element))
    raise RuntimeError(
        f"Could not infer dtype of {type(element).__name__}\nA tensor is made of numbers, in lists of equal length."
    )


def _converted(elements: list[Any], own: Dtype) -> Any:
    """The numbers as Python's or NumPy's of the kind of `own`; an error, in torch's words, where one does not fit."""
    kinds = {*map(type, elements)}
    if own.category == BOOL:
        if type(None) in kinds:
            raise TypeError("'NoneType' object cannot be interpreted as an integer")
        return np.array([bool(each) for each in elements], bool)
    if own.category == INTEGRAL:
        return _fitting([each if type(each) is int else _integer(each, own) for each in elements], own)
    if own.category == FLOATING:
        plain = kinds <= {int, float, bool}
        return np.array(elements if plain else [_real(each) for each in elements], np.float64)
    return np.array([each if isinstance(each, complex) else complex(each) for each in elements], np.complex128)


def _real(element: Any) -> float:
    if isinstance(element, complex) or not hasattr(type(element), "__float__"):
        raise TypeError(f"must be real number, not {typename(element)}")
    return float(element)


def _integer(element: Any, own: Dtype) -> int:
    if not isinstance(element, float):
        return operator.index(element)
    least, most = _limits(own)
    if not least <= math.trunc(element if math.isfinite(element) else 2.0**70) <= most:
        raise RuntimeError(f"value cannot be converted to type {own.name} without overflow")
    return int(element)


def _limits(own: Dtype) -> tuple[int, int]:
    limits = np.iinfo(own.numpy)
    return int(limits.min), int(limits.max)


def _fitting(numbers: list[int], own: Dtype) -> Any:
    """Integers as an array; RuntimeError where `own` does not hold one. Unsigned ones count negatives from the end."""
    least, most = min(numbers, default=0), max(numbers, default=0)
    if least < LEAST or most > (MOST if own.itemsize == 8 and not own.is_signed else -LEAST - 1):
        raise ValueError("Overflow when unpacking long long\nAn integer has 64 bits; a float would be `2.0**70`.")
    low, high = _limits(own)
    if most > high or least < (low or -high):
        raise RuntimeError(f"value cannot be converted to type {own.name} without overflow")
    return np.array(numbers, np.uint64 if most > -LEAST - 1 else np.int64)


def sizes(name: str, size: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape that `size` means, whether spread out or in one sequence."""
    if len(size) == 1 and isinstance(size[0], Sequence) and not isinstance(size[0], str):
        size = tuple(size[0])
    for position, each in enumerate(size, 1):
        if isinstance(each, bool) or not hasattr(each, "__index__") or (isinstance(each, Tensor) and each.numel() != 1):
            raise TypeError(
                f"{name}(): argument 'size' (position {position}) must be tuple of ints, not {typename(each)}\n"
                f"Such as `{name}(2, 3)`."
                if position == 1
                else f"{name}(): argument 'size' failed to unpack the object at pos {position} with error "
                f'"type must be tuple of ints,but got {typename(each)}"'
            )
        if each < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {each}: {list(size)}")
    return tuple(int(each) for each in size)


def show(front: Any, outer: Callable[..., Tensor], inner: Callable[..., Any], *without: str) -> None:
    """Sets the signature of `front`: the parameters of `outer`, and those of `inner`, to which `outer` passes the
    rest."""
    own = inspect.signature(outer, eval_str=True)
    known = [each for each in own.parameters.values() if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    names = {*without, *[each.name for each in known]}
    further = [each for each in inspect.signature(inner, eval_str=True).parameters.values() if each.name not in names]
    front.__signature__ = own.replace(parameters=sorted([*known, *further], key=lambda each: each.kind))


def factory(make: Callable[..., tuple[Any, Dtype]], place: str = "function") -> Callable[..., Tensor]:
    """Makes a public function that returns a leaf from `make`, which returns an array and its dtype.

    The function also takes what all of torch's of this kind do: `out`, `device`, `requires_grad`, and, accepted and
    without effect, `layout` and `pin_memory`. `memory_format` says how it is laid out.
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
        asked = taken(make.__name__, dtype)
        if isinstance(out, Tensor):
            if asked is not None and asked is not out.dtype:
                raise RuntimeError(
                    f"dtype {asked.legacy} does not match dtype of out parameter ({out.dtype.legacy})\n"
                    "Leave out `dtype`: it is that of `out`."
                )
            asked, device = out.dtype, out.device if device is None else device
        array, own = make(*arguments, dtype=asked, **named)
        made = new_leaf(array, own, requires_grad, device)
        if memory_format is not None:
            laid(made, memory_format.strides(made._layout()))
        return made if out is None else write_out(out, made, COUNTED if make.__name__ == "arange" else "")

    create.__name__ = create.__qualname__ = make.__name__
    for each in [*get_overloads(make), make]:
        show(create if each is make else each, create, each)
    create.__wrapped__ = make  # type: ignore[attr-defined]
    module = "torch" if place == "function" else f"torch.{place}"
    create.__doc__ = f"{make.__doc__}\n\nCounterpart of `{module}.{make.__name__}`."
    return public(place, make.__name__)(create)


def _from_shape(name: str, fill: Callable[[tuple[int, ...], Any], Any], summary: str) -> Callable[..., Tensor]:
    """torch's function that makes a tensor of a given shape, such as `ones(2, 3, dtype=...)`."""

    def make(*size: int | Sequence[int], dtype: Dtype | None = None, **named: Any) -> tuple[Any, Dtype]:
        own = dtype or get_default_dtype()
        return fill(sizes(name, size or (named.pop("size"),)), own.numpy), own

    make.__name__, make.__doc__ = name, summary
    return factory(make)


def laid(made: Tensor, strides: tuple[int, ...]) -> Tensor:
    """A new leaf, laid out by these strides, which leave no gaps."""
    made.node.aval = made.node.aval.laid(strides)
    return made


def like(create: Callable[..., Tensor], random: bool = False) -> Callable[..., Tensor]:
    """The `_like` form of such a function: shape, dtype and device of another tensor."""
    name = f"{create.__name__}_like"

    def create_like(
        input: Tensor,
        *arguments: Any,
        dtype: Dtype | None = None,
        device: Device | str | int | None = None,
        memory_format: memory_format | None = preserve_format,
        **named: Any,
    ) -> Tensor:
        if not isinstance(input, Tensor):
            raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
        where = input.device if device is None else device
        dtype = taken(name, dtype)

        def filled(shape: tuple[int, ...]) -> Tensor:
            made: Tensor = create(*arguments, shape, dtype=dtype or input.dtype, device=where, **named)
            return made

        if random:  # which `create` itself makes per example
            made = filled(input.shape)
        else:
            made = per_example(input.shape, filled, lambda batch: batch.holds(input.node))
        form = memory_format or preserve_format
        if (input.node.aval.strides or form is not preserve_format) and made.node.operation is None:
            laid(made, form.strides(input._layout()))
        return made

    create_like.__name__ = create_like.__qualname__ = name
    show(create_like, create_like, create, "size", "named")
    create_like.__doc__ = f"As `{create.__name__}`, with the shape, dtype and device of `input`, unless told otherwise."
    return public("function", name)(create_like)


def _new(create: Callable[..., Tensor], name: str) -> Callable[..., Tensor]:
    """The `new_` method of such a function: dtype and device of another tensor."""

    def method(self: Tensor, *arguments: Any, dtype: Dtype | None = None, device: Any = None, **named: Any) -> Tensor:
        where = self.device if device is None else device
        own = taken(f"new_{name}", dtype) or self.dtype

        def made(shape: Any) -> Tensor:
            return create(shape, *arguments[1:], dtype=own, device=where, **named)

        if not transforming().batches or not arguments:
            return create(*arguments, dtype=own, device=where, **named)
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
    value = _number(fill_value, "full(): argument 'fill_value' (position 2)")
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
    memory = leaf(np.zeros(layout.reach[1], made.dtype.numpy), made.node.aval.shaped((layout.reach[1],)))
    made.place(Storage(memory), (strided_step(memory, layout.shape, layout.strides, 0),))
    return made


def empty_permuted(size: Sequence[int], physical_layout: Sequence[int], **named: Any) -> Tensor:
    """As `empty`, with the dimensions in memory in the order of `physical_layout`.

    Counterpart of `torch.empty_permuted`.
    """
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
    show(_create, _create, empty, "size")
    public("function")(_create)
_new(empty_strided, "empty_strided")


@factory
def scalar_tensor(s: complex, *, dtype: Dtype | None = None) -> tuple[Any, Dtype]:
    """One number, by default in the default dtype."""
    own = dtype or get_default_dtype()
    return np.asarray(_number(s, "scalar_tensor(): argument 's' (position 1)")).astype(own.numpy), own


def _number(value: Any, argument: str = "") -> Any:
    """A Python number, of one of NumPy's or a tensor without dimensions; TypeError, about `argument`, for others."""
    if isinstance(value, Tensor) and not value.ndim:
        return value.item()
    if argument and not isinstance(value, (*NUMBERS, np.number, np.bool_)):
        raise TypeError(f"{argument} must be Number, not {typename(value)}")
    return within_64_bits(value.item() if isinstance(value, Tensor) else python_number(value))


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
    places = {each: place for place, each in enumerate(names, 1)}
    start, end, step = (
        _number(given[each], f"arange(): argument '{each}' (position {places.get(each, 1)})")
        for each in ("start", "end", "step")
    )
    own = dtype or (int64 if all(isinstance(each, int) for each in (start, end, step)) else get_default_dtype())
    length = (end - start) / step if own.category <= INTEGRAL and own is not int64 and step else None
    if own.category <= INTEGRAL:  # torch truncates the bounds, but not to compute the count
        start, end, step = (fitted(each, int64) if math.isfinite(each) else each for each in (start, end, step))
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not all(math.isfinite(each) for each in (start, end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    count = -((start - end) // step) if own is int64 else math.ceil((end - start) / step if length is None else length)
    return start + step * np.arange(count), own


def range_(start: float, end: float, step: float = 1, *, dtype: Dtype | None = None) -> tuple[Any, Dtype]:
    """The numbers from `start` to `end`, which is one of them, by `step`; floats, with a warning: see `arange`."""
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
        UserWarning,
        stacklevel=3,
    )
    first, last, by = _number(start), _number(end), _number(step)
    if by == 0:
        raise RuntimeError("step must be nonzero")
    if not all(math.isfinite(each) for each in (first, last)):
        raise RuntimeError(f"unsupported range: {first} -> {last}")
    if (last - first) * by < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    own = dtype or get_default_dtype()
    if own.category <= INTEGRAL:
        first, last, by = int(first), int(last), int(by)
    return first + by * np.arange(int((last - first) / by) + 1), own


range_.__name__ = "range"
factory(range_)


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
    """`steps` numbers, counted from both ends towards the middle, as in torch; `between` is the step's dtype for
    integers."""
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
    for position, (name, each) in enumerate((("n", n), ("m", 0 if m is None else m)), 1):
        if not hasattr(each, "__index__"):
            raise TypeError(f"eye(): argument '{name}' (position {position}) must be int, not {typename(each)}")
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
    """A leaf on the memory of a NumPy array; counterpart of `torch.from_numpy`.

    On a CPU what is written to the one is in the other, too; elsewhere it is a copy.
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    if any(each < 0 for each in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. (You can probably work around this by making a copy of your array  with "
            "array.copy().) "
        )
    if any(each % ndarray.itemsize for each in ndarray.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the "
            "memory."
        )
    if not ndarray.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion between byte orders is "
            "currently not supported."
        )
    if not ndarray.flags.writeable:
        warnings.warn(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means "
            "writing to this tensor will result in undefined behavior. You may want to copy the array to protect its "
            "data or make it writable before converting it to a tensor. This type of warning will be suppressed for "
            "the rest of this program.",
            UserWarning,
            stacklevel=2,
        )
    made = tensor(ndarray)
    layout = Layout(ndarray.shape, tuple([each // ndarray.itemsize for each in ndarray.strides]))
    if layout.dense:
        laid(made, layout.strides)
    else:
        length = layout.reach[1]
        whole = np.lib.stride_tricks.as_strided(ndarray, (length,), (ndarray.itemsize,))
        memory = leaf(np.array(whole), made.node.aval.shaped((length,)))
        made.place(Storage(memory), (strided_step(memory, *layout[:3]),))
    owner = owner_of(ndarray)
    if made.is_cpu and ndarray.flags.writeable and owner.flags.forc:
        made.storage.shared = SharedMemory(made.contents, owner, address(ndarray) - address(owner))
    return made


@public("function")
def as_tensor(data: Any, dtype: Dtype | None = None, device: Any = None) -> Tensor:
    """`data` as a tensor: itself where it is one of that dtype and device, else a copy. As `torch.as_tensor`.

    A NumPy array is shared, as by `from_numpy`.
    """
    dtype = taken("as_tensor", dtype)
    if type(data) is np.ndarray and data.flags.writeable and min(data.strides, default=0) >= 0:
        data = from_numpy(data)
    return converted_to(data, dtype, device) if isinstance(data, Tensor) else tensor(data, dtype=dtype, device=device)
