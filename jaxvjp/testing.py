"""Assertions about tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jaxvjp.tensor.docstrings import complete_all
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import float16, from_numpy

__all__ = ["assert_allclose", "assert_close"]


def __dir__() -> list[str]:
    return __all__


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """AssertionError, with the differing elements, unless the two agree in shape and, within tolerance, in value.

    Takes tensors, arrays, (nested lists of) numbers, and dicts of those. The default tolerances are those of
    `torch.testing.assert_close`, for the less precise of the two dtypes; equal infinities and NaNs agree.

    Args:
        allow_subclasses, check_layout: accepted, without effect: tensors have one layout.
        equal_nan: False for an AssertionError where there is a NaN.
        check_device: whether tensors have to be on one device.
        check_dtype: whether tensors have to be of one dtype.
        check_stride: whether tensors have to have the same strides.
        msg: what the error says instead, or a function that makes it of what the error says.

    ValueError where one of `rtol` and `atol` is given without the other.
    """
    if (rtol is None) != (atol is None):
        which = "rtol" if rtol is None else "atol"
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {which}.")
    checks = (("device", check_device), ("dtype", check_dtype), ("stride()", check_stride))
    asked = [name for name, wanted in checks if wanted]
    try:
        _check(actual, expected, rtol, atol, equal_nan, asked)
    except AssertionError as error:
        if msg is None:
            raise
        raise AssertionError(msg(str(error)) if callable(msg) else msg) from None


def _check(
    actual: Any, expected: Any, rtol: float | None, atol: float | None, equal_nan: bool, asked: list[str]
) -> None:
    if isinstance(expected, Mapping):
        assert list(actual) == list(expected), f"names differ: {list(actual)} and {list(expected)}"
        for name, value in expected.items():
            _check(actual[name], value, rtol, atol, equal_nan, asked)
        return
    tensors = isinstance(expected, Tensor) and isinstance(actual, Tensor)
    given, wanted = _array(actual), _array(expected)
    if tensors:
        told: dict[str, Any] = {"shape": lambda x: x.shape, "stride()": lambda x: x.stride()}
        told |= {name: lambda x, name=name: getattr(x, name) for name in ("device", "dtype")}
        for name in ("shape", *asked):
            one, other = told[name](actual), told[name](expected)
            assert one == other, f"The values for attribute '{name}' do not match: {one} != {other}."
    relative, absolute = max(_tolerances(given), _tolerances(wanted))
    np.testing.assert_allclose(
        given,
        wanted,
        relative if rtol is None else rtol,
        absolute if atol is None else atol,
        equal_nan=equal_nan,
        strict=tensors and "dtype" in asked,
    )
    assert given.shape == wanted.shape, f"shapes differ: {given.shape} and {wanted.shape}"


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """`assert_close` for who uses its old name; dtypes may differ. Counterpart of `torch.testing.assert_allclose`.

    Args:
        equal_nan: False for an AssertionError where there is a NaN.
        msg: what the error says instead.
    """
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)


def _array(value: Any) -> Any:
    return np.asarray(value.value if isinstance(value, Tensor) else value)


def _tolerances(array: Any) -> tuple[float, float]:
    precision = from_numpy(array.dtype)
    if not precision.differentiable:
        return 0.0, 0.0
    if precision.itemsize <= float16.itemsize:
        return (1e-3, 1e-5) if precision is float16 else (1.6e-2, 1e-5)
    return (1.3e-6, 1e-5) if precision.numpy in (np.float32, np.complex64) else (1e-7, 1e-7)


complete_all(globals(), __all__, "testing", "`np.testing.assert_allclose` of the values")
