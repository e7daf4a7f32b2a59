"""Tensors as text, in torch's form: four digits, aligned columns, scientific notation where torch uses it.

`dtypes` comes before this room. It formats NumPy arrays and knows nothing of graphs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxvjp.dtypes import bool_, default_complex_dtype, dtype, get_default_dtype, int64

PRECISION = 4
LINE_WIDTH = 80
THRESHOLD = 1000
"""A tensor of more elements than this is summarised."""
EDGE_ITEMS = 3

Array = np.ndarray[Any, Any]


def tensor(array: Array, own: dtype, suffixes: Sequence[str] = ()) -> str:
    """`tensor(...)` for an array: its elements, then dtype and `suffixes` where torch shows them."""
    prefix = "tensor("
    shown = list(suffixes)
    implied = own in (get_default_dtype(), default_complex_dtype(), int64, bool_)
    if array.size == 0:
        implied = own is get_default_dtype()  # no element tells what the type is
    if not implied:
        shown.insert(0, f"dtype={own}")
    if array.size == 0:
        if array.ndim != 1:
            shown.insert(0, f"size={tuple(array.shape)}")
        body = "[]"
    else:
        body = _block(array, _format(array, own), len(prefix), array.size > THRESHOLD)
    return _with_suffixes(prefix + body, shown, len(prefix))


def _with_suffixes(text: str, suffixes: Sequence[str], indent: int) -> str:
    last_line = len(text) - text.rfind("\n") + 1  # torch counts the last line of the elements two characters longer
    for suffix in suffixes:
        if last_line + len(suffix) + 2 > LINE_WIDTH:
            text += ",\n" + " " * indent + suffix
            last_line = indent + len(suffix)
        else:
            text += ", " + suffix
            last_line += len(suffix) + 2
    return text + ")"


class _Format(NamedTuple):
    """How to write the elements of one tensor: all in one style, padded to one width (the parts of a complex one)."""

    write: Callable[[Any], str]
    width: int

    def __call__(self, value: Any) -> str:
        return self.write(value)


def _padded(write: Callable[[Any], str], width: int) -> _Format:
    return _Format(lambda value: write(value).rjust(width), width)


def _format(array: Array, own: dtype) -> _Format:
    """The format of `array`; chosen, as in torch, from those elements that will be seen."""
    seen = _seen(array)
    if own.is_complex:
        real, imaginary = _float_format(seen.real), _float_format(seen.imag)

        def write(value: Any) -> str:
            text = imaginary(value.imag).lstrip()
            return real(value.real) + ("" if text[0] in "+-" else "+") + text + "j"

        return _Format(write, real.width + imaginary.width + 1)
    if own.is_floating_point:
        return _float_format(seen)
    return _padded(str, max((len(str(each)) for each in seen.ravel().tolist()), default=0))


def _float_format(values: Array) -> _Format:
    # Zeros, infinities and NaNs have no say in style and width: [0, 1e-5] is as wide as [1e-5].
    finite = values[np.isfinite(values) & (values != 0)].astype(np.float64)
    scientific, integral = False, True
    if finite.size:
        largest, smallest = np.abs(finite).max(), np.abs(finite).min()
        scientific = bool(largest / smallest > 1000 or largest > 1e8 or smallest < 1e-4)
        integral = bool((finite == np.ceil(finite)).all())

    def write(value: float) -> str:
        if scientific:
            return f"{value:.{PRECISION}e}"
        if integral:
            return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"
        return f"{value:.{PRECISION}f}"

    return _padded(write, max((len(write(each)) for each in finite.tolist()), default=1))


def _seen(array: Array) -> Array:
    """The elements that a summary shows, or all."""
    if array.size <= THRESHOLD:
        return array
    for axis, size in enumerate(array.shape):
        if size > 2 * EDGE_ITEMS:
            array = np.take(array, [*range(EDGE_ITEMS), *range(size - EDGE_ITEMS, size)], axis)
    return array


def _block(array: Array, write: _Format, indent: int, summarise: bool) -> str:
    if array.ndim == 0:
        return write(array.item())
    cut = summarise and len(array) > 2 * EDGE_ITEMS
    head = array[:EDGE_ITEMS] if cut else array
    tail = array[-EDGE_ITEMS:] if cut else array[:0]
    if array.ndim == 1:
        parts = [write(each) for each in head.tolist()] + [" ..."] * cut + [write(each) for each in tail.tolist()]
        per_line = max(1, (LINE_WIDTH - indent) // (write.width + 2))
        lines = [", ".join(parts[start : start + per_line]) for start in range(0, len(parts), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    parts = [_block(each, write, indent + 1, summarise) for each in head]
    parts += ["..."] * cut
    parts += [_block(each, write, indent + 1, summarise) for each in tail]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"
