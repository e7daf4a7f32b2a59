"""Assertions about tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxvjp.tensor.docstrings import complete_all
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import float16, from_numpy

__all__ = ["assert_allclose", "assert_close"]


def __dir__() -> list[str]:
    return __all__


def assert_close(actual: Any, expected: Any, *, rtol: float | None = None, atol: float | None = None) -> None:
    """AssertionError, with the differing elements, unless the two agree in shape and, within tolerance, in value.

    Takes tensors, arrays, (nested lists of) numbers, and dicts of those. The default tolerances are those of
    `torch.testing.assert_close`, for the less precise of the two dtypes; equal infinities and NaNs agree.
    """
    if isinstance(expected, Mapping):
        assert list(actual) == list(expected), f"names differ: {list(actual)} and {list(expected)}"
        for name, value in expected.items():
            assert_close(actual[name], value, rtol=rtol, atol=atol)
        return
    given, wanted = _array(actual), _array(expected)
    relative, absolute = max(_tolerances(given), _tolerances(wanted))
    np.testing.assert_allclose(
        given,
        wanted,
        relative if rtol is None else rtol,
        absolute if atol is None else atol,
        strict=isinstance(expected, Tensor) and isinstance(actual, Tensor),
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
    given = _array(actual)
    try:
        assert equal_nan or not np.isnan(given).any(), "there is a NaN"
        assert_close(given, _array(expected), rtol=rtol, atol=atol)
    except AssertionError as error:
        raise AssertionError(msg or str(error)) from None


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
