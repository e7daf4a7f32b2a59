"""Functions of tensors and dtypes that return Python values: `equal`, `is_complex`, `can_cast`, `finfo`.

A function that reads values computes them first.
"""

from collections.abc import Sequence
from typing import Any, overload

import jax.numpy as jnp
import numpy as np

from jaxvjp.core.record.promotion import common_dtype
from jaxvjp.library.factories import new_leaf, refuse_type
from jaxvjp.ops.arguments import axes
from jaxvjp.ops.logic import eq, isclose
from jaxvjp.ops.statistics import slopes, slopes_at
from jaxvjp.tensor.answers import publish
from jaxvjp.tensor.apply import apply
from jaxvjp.tensor.conversion import converted_to  # noqa: F401 - of the rows
from jaxvjp.tensor.published import public
from jaxvjp.tensor.tensor import NUMBERS, Tensor
from jaxvjp.types.dtypes import (
    BOOL,
    FLOATING,
    INTEGRAL,
    Dtype,
    float64,
    get_default_dtype,
    int64,
    python_number,
    taken,
    within_64_bits,
)

UNDERNEATH = "no recorded op: what is known of the tensor, or its value, which is read; no gradient"


def _tensor(name: str, argument: str, position: int, value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{name}(): argument '{argument}' (position {position}) must be Tensor, not {type(value).__name__}"
        )
    return value


@public()
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape and elements; counterpart of `torch.equal`."""
    _tensor("equal", "other", 2, other)
    return input.shape == other.shape and bool(apply(eq, (input, other)).all())


@public()
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are close, as `isclose` says; counterpart of `torch.allclose`."""
    _tensor("allclose", "other", 2, other)
    return bool(apply(isclose, (input, other), (float(rtol), float(atol), equal_nan)).all())


ANSWERS = {
    "function": """
    is_tensor(obj: Any) -> bool = isinstance(obj, Tensor)  # Whether it is a tensor.
    numel(input: Tensor) -> int = _tensor("numel", "input", 1, input).numel()  # The number of elements.
    """,
    "method function": """
    is_complex(input: Tensor) -> bool = _tensor("is_complex", "input", 1, input).dtype.is_complex
        Whether its elements are complex numbers.
    is_floating_point(input: Tensor) -> bool = _tensor("is_floating_point", "input", 1, input).dtype.is_floating_point
        Whether its elements are real floating-point numbers.
    is_nonzero(input: Tensor) -> bool = bool(input)  # Whether its one element is not 0; RuntimeError for several.
    is_signed(input: Tensor) -> bool = _tensor("is_signed", "input", 1, input).dtype.is_signed
        Whether its elements have a sign.
    """,
    "method": """
    element_size(self: Tensor) -> int = int(self.dtype.itemsize)  # How many bytes an element has.
    ndimension(self: Tensor) -> int = self.ndim  # The number of dimensions.
    nelement(self: Tensor) -> int = self.numel()  # The number of elements.
    type_as(self: Tensor, other: Tensor) -> Tensor = converted_to(self, other.dtype, other.device)
        The tensor in the dtype and on the device of another.
    """,
}
publish(ANSWERS, globals())


@overload
def result_type(tensor: Tensor, other: Tensor | complex) -> Dtype: ...
@overload
def result_type(scalar: complex, tensor: Tensor) -> Dtype: ...
@overload
def result_type(scalar1: complex, scalar2: complex) -> Dtype: ...
@public("function")
def result_type(*given: Any, **named: Any) -> Dtype:
    """What an operation on the two, tensors or numbers, gives; counterpart of `torch.result_type`."""
    both = (*given, *named.values())
    return common_dtype(
        [each.__node__ if isinstance(each, Tensor) else within_64_bits(python_number(each)) for each in both]
    )


@public("function")
def can_cast(from_: Dtype, to: Dtype) -> bool:
    """Whether a result of one dtype may be stored as another; counterpart of `torch.can_cast`."""
    source, target = taken("can_cast", from_, "from_", 1), taken("can_cast", to, "to", 2)
    return bool(source.category <= target.category)


class _Limits:
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, own: Dtype, fields: dict[str, Any]) -> None:
        self.bits = own.itemsize * 8
        self.dtype = own.name
        self.__dict__.update(fields)
        self._fields = fields

    def __repr__(self) -> str:
        shown = [f"{name}={value}" if isinstance(value, str) else f"{name}={value:.6g}" for name, value in self]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.dtype == getattr(other, "dtype", None)

    def __iter__(self) -> Any:
        return iter({**self._fields, "dtype": self.dtype}.items())


class finfo(_Limits):  # noqa: N801 - torch's own spelling
    """The limits of a floating dtype: `min`, `max`, `eps`, `tiny`, `resolution`; counterpart of `torch.finfo`."""

    min: float
    max: float
    eps: float
    tiny: float
    smallest_normal: float
    resolution: float

    def __init__(self, type: Dtype | None = None) -> None:
        own = taken("finfo", type, "type", 1) or get_default_dtype()
        if own.category < FLOATING:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
            )
        limits: Any = jnp.finfo(np.zeros((), own.numpy).real.dtype)  # type: ignore[no-untyped-call]
        tiny = float(limits.tiny)
        names = {"resolution": "resolution", "min": "min", "max": "max", "eps": "eps"}
        fields = {name: float(getattr(limits, each)) for name, each in names.items()}
        fields["resolution"] = 10.0 ** -int(limits.precision)
        super().__init__(own, {**fields, "smallest_normal": tiny, "tiny": tiny})
        if own.is_complex:
            self.bits //= 2
            self.dtype = "float64" if own.itemsize == 16 else "float32"


class iinfo(_Limits):  # noqa: N801 - torch's own spelling
    """The limits of an integer dtype: `min` and `max`; counterpart of `torch.iinfo`."""

    min: int
    max: int

    def __init__(self, type: Dtype) -> None:
        own = taken("iinfo", type, "type", 1)
        if own.category == BOOL:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if own.category != INTEGRAL:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        limits = np.iinfo(own.numpy)
        super().__init__(own, {"min": int(limits.min), "max": int(limits.max)})


public("function")(finfo)
public("function")(iinfo)


# Functions whose result's shape depends on values, or that have several forms of call.


@public()
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each number occurs among non-negative integers, or the sums of their weights. As `torch.bincount`."""
    refuse_type("bincount_cpu", input.dtype, input.dtype.category != INTEGRAL)
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    numbers = np.asarray(input.__value__)
    if numbers.ndim != 1 or (numbers < 0).any():
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is None:
        return new_leaf(np.bincount(numbers, minlength=minlength), int64)
    if weights.shape != input.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    if not numbers.size:
        return new_leaf(np.zeros(minlength, np.int64), int64)
    own = weights.dtype if weights.dtype.is_floating_point and weights.dtype.itemsize == 4 else float64
    return new_leaf(np.bincount(numbers, np.asarray(weights.detach().__value__), minlength), own)


@public("function")
def gradient(
    input: Tensor, *, spacing: Any = None, dim: int | Sequence[int] | None = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """The slopes along `dim` (each, by default) of a function sampled at distances of `spacing`, or at coordinates.

    Counterpart of `torch.gradient`; underneath, differences of neighbours.
    """
    dims = axes(tuple(dim) if isinstance(dim, Sequence) else dim, input.ndim)
    alone = spacing is None or isinstance(spacing, (*NUMBERS, Tensor))
    given = (
        [1.0 if spacing is None else spacing] * (1 if isinstance(spacing, Tensor) else len(dims)) if alone else spacing
    )
    if len(given) != len(dims):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the "
            f"same length, but got a spacing argument of length {len(given)} and a dim argument of length {len(dims)}."
            if dim is not None
            else "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to "
            f"'self.dim() = {input.ndim}', since dim argument was not given, but got a list of length {len(given)}"
        )
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    for each in dims:
        if input.shape[each] < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    if input.dtype.category == INTEGRAL:
        input = input.to(get_default_dtype())
    given = [
        each.to(input.dtype) if isinstance(each, Tensor) and each.dtype.category == INTEGRAL else each for each in given
    ]
    coordinates = tuple(each for each in given if isinstance(each, Tensor))
    numbers = [each for each in given if not isinstance(each, Tensor)]
    exact = tuple(number if isinstance(number, complex) else float(number) for number in numbers)
    return apply(
        slopes_at if coordinates else slopes,
        (input, coordinates),
        (("dims", tuple(dims)), ("spacing", exact), edge_order),
    )
