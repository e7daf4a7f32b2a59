"""Nested sequences of numbers as an array: what `tensor([[1, 2.5], [3, 4]])` is made of."""

import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxvjp.tensor.refusals import advice_on_tracers
from jaxvjp.tensor.tensor import NUMBERS, Tensor
from jaxvjp.types.dtypes import (
    BOOL,
    FLOATING,
    INTEGRAL,
    LEAST,
    MOST,
    Dtype,
    get_default_dtype,
    of_number,
    promote_types,
    typename,
)
from jaxvjp.types.dtypes import from_numpy as dtype_of

MOST_DIMS = 128
"""How deeply lists of numbers may be nested."""


def nested_array(data: Any, asked: Dtype | None) -> tuple[Any, Dtype]:
    """Nested sequences of numbers as an array, and the dtype that they are to have: `asked`, or else their own."""
    try:
        shape, elements = _flattened(data, asked)
    except jax.errors.TracerArrayConversionError:
        raise TypeError(f"tensor() takes numbers and arrays, not a traced array\n{advice_on_tracers()}") from None
    own = _inferred(elements) if asked is None else asked
    return np.array(_converted(elements, own)).reshape(shape), own


def _is_sequence(data: Any) -> bool:
    kind = type(data)
    if kind is list or kind is tuple:
        return True
    return hasattr(kind, "__getitem__") and not isinstance(data, Tensor | np.generic | Mapping)


def _flattened(data: Any, asked: Dtype | None) -> tuple[list[int], list[Any]]:
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
        (first,) = _read([first])
    elements = [data]
    for dim, length in enumerate(shape):
        elements = [element if _is_sequence(element) else _row(element, asked) for element in elements]
        for element in elements:
            if len(element) != length and length:
                raise ValueError(
                    f"expected sequence of length {length} at dim {dim} (got {len(element)})\n"
                    "The rows of a tensor are equally long."
                )
        elements = _read([one for element in elements for one in element]) if length else []
    return shape, elements


def _row(data: Any, asked: Dtype | None) -> list[Any]:
    """What stands beside sequences as a list: a tensor and, if the dtype is known, whatever can be iterated over."""
    if asked is None:
        _dtype_of(data, ())
    try:
        return list(data)
    except TypeError:
        raise TypeError("not a sequence\nThe rows of a tensor are all sequences, or none is.") from None


def _read(elements: list[Any]) -> list[Any]:
    """The same, with NumPy's arrays and numbers for JAX's arrays."""
    if not any(isinstance(each, jax.Array) for each in {type(element): element for element in elements}.values()):
        return elements
    return [np.asarray(element)[()] if isinstance(element, jax.Array) else element for element in elements]


def _inferred(elements: Sequence[Any], within: tuple[Any, ...] = ()) -> Dtype:
    """The dtype that numbers, tensors without dimensions and NumPy's numbers have together."""
    found: Dtype | None = None
    for each in {type(element): element for element in elements}.values():
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
        return np.array([bool(element) for element in elements], bool)
    if own.category == INTEGRAL:
        return _fitting([element if type(element) is int else _integer(element, own) for element in elements], own)
    if own.category == FLOATING:
        plain = kinds <= {int, float, bool}
        return np.array(elements if plain else [_real(element) for element in elements], np.float64)
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
