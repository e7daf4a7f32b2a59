"""Tensors as text, in torch's form: four digits, aligned columns, scientific notation where torch uses it.

`set_printoptions` changes the form. This module formats NumPy arrays and knows nothing of graphs.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxvjp.types.dtypes import bool_, default_complex_dtype, dtype, get_default_dtype, int64

Array = np.ndarray[Any, Any]


class Options(NamedTuple):
    """How tensors are written.

    Attributes: `precision` (digits after the point), `threshold` (a tensor of more elements is summarised), `edgeitems`
    (how many elements a summary shows at each end of a dimension), `linewidth` (characters), `sci_mode` (scientific
    notation: always, never, or, for None, where the numbers call for it).
    """

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PROFILES = {"default": Options(), "short": Options(precision=2, edgeitems=2), "full": Options(threshold=math.inf)}
options = Options()


CELLS = 400
"""A tensor of at most this many elements is a table in a notebook."""


def as_html(text: str, values: Any = None) -> str:
    """The text for a notebook, above a table of the values if they are given: blue above 0, red below, and a row for
    each place in the dimensions before the last."""
    array = np.asarray(values)
    shown = f'<pre style="margin:0">{html.escape(text)}</pre>'
    if values is None or array.dtype.kind not in "fi" or not array.ndim or not array.size:
        return shown
    largest = max(np.abs(array[np.isfinite(array)]).max(initial=0.0), 1e-30)

    def cell(value: Any) -> str:
        colour = "11,99,197" if value > 0 else "196,60,30"
        strength = 0.35 * min(1.0, abs(value) / largest) if np.isfinite(value) else 0.0
        return f'<td style="background:rgba({colour},{strength:.2f})">{value:.4g}</td>'

    rows = [
        f'<tr><th scope="row">{list(place) if place else ""}</th>{"".join(map(cell, array[place]))}</tr>'
        for place in np.ndindex(array.shape[:-1])
    ]
    return f'{shown}<table style="margin:.2em 0">{"".join(rows)}</table>'


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Sets how tensors are written (see `Options`). Omitted options keep their values, except `sci_mode`, which becomes
    None.

    `profile` first sets all of them: to "default", "short" (two digits, two elements at each end) or "full" (no
    summaries); any other name does nothing. Counterpart of `torch.set_printoptions`.
    """
    global options
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    chosen = PROFILES.get(profile or "", options)
    options = chosen._replace(
        **{name: value for name, value in given.items() if value is not None},  # type: ignore[arg-type]
        sci_mode=sci_mode,
    )


def tensor(
    array: Array, own: dtype, suffixes: Sequence[str] = (), device: str | None = None, name: str = "tensor"
) -> str:
    """`tensor(...)` for an array: its elements, then device, size and dtype where torch shows them, then `suffixes`.

    `device` is where the tensor is, or None for where new tensors go, which torch does not show.
    """
    prefix = f"{name}("
    shown = [] if device is None else [f"device='{device}'"]
    empty = array.size == 0
    if (empty and array.ndim != 1) or (not empty and not options.edgeitems):
        shown.append(f"size={tuple(array.shape)}")
    # An empty tensor has no element that implies the dtype.
    implied = (get_default_dtype(),) if empty else (get_default_dtype(), default_complex_dtype(), int64, bool_)
    if own not in implied:
        shown.append(f"dtype={own}")
    body = "[]" if empty else _block(array, _format(array, own), len(prefix), array.size > options.threshold)
    return with_suffixes(prefix + body, [*shown, *suffixes], len(prefix))


def without_data(shape: tuple[int, ...], own: dtype, why: list[str], suffixes: Sequence[str], name: str) -> str:
    """`tensor(..., device='meta', size=(2, 3))`, for a tensor on that device, or whose numbers nobody has yet."""
    shown = [*why, f"size={shape}", *([] if own is get_default_dtype() else [f"dtype={own}"])]
    return with_suffixes(f"{name}(...", [*shown, *suffixes], len(name) + 1)


def with_suffixes(text: str, suffixes: Sequence[str], indent: int, new_line: bool = False) -> str:
    """What `text` begins, with words about it, each on a new line where it would be too long; the first if asked."""
    last_line = len(text) - text.rfind("\n") + 1  # torch counts the last line of the elements two characters longer
    for at, suffix in enumerate(suffixes):
        if (new_line and not at) or last_line + len(suffix) + 2 > options.linewidth:
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
    # Zeros, infinities and NaNs do not affect style and width: [0, 1e-5] is as wide as [1e-5].
    finite = values[np.isfinite(values) & (values != 0)].astype(np.float64)
    scientific, integral = False, True
    if finite.size:
        largest, smallest = np.abs(finite).max(), np.abs(finite).min()
        # A product, as the quotient of a large and a tiny number overflows.
        calls_for_it = bool(largest > 1000 * smallest or largest > 1e8 or smallest < 1e-4)
        scientific = calls_for_it if options.sci_mode is None else options.sci_mode
        integral = bool((finite == np.ceil(finite)).all())
    digits = options.precision

    def write(value: float) -> str:
        if scientific:
            return f"{value:.{digits}e}"
        if integral:
            return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"
        return f"{value:.{digits}f}"

    return _padded(write, max((len(write(each)) for each in finite.tolist()), default=1))


def _seen(array: Array) -> Array:
    """The elements that a summary shows, or all."""
    if array.size <= options.threshold:
        return array
    edge = options.edgeitems
    for axis, size in enumerate(array.shape):
        if size > 2 * edge:
            array = np.take(array, [*range(edge), *range(size - edge, size)], axis)
    return array


def _block(array: Array, write: _Format, indent: int, summarise: bool) -> str:
    if array.ndim == 0:
        return write(array.item())
    edge = options.edgeitems
    cut = summarise and len(array) > 2 * edge
    head, tail = (array[:edge], array[len(array) - edge :]) if cut else (array, array[:0])
    if array.ndim == 1:
        dots = [" ..." if edge else "..."] * cut
        parts = [write(each) for each in head.tolist()] + dots + [write(each) for each in tail.tolist()]
        per_line = max(1, (options.linewidth - indent) // (write.width + 2))
        lines = [", ".join(parts[start : start + per_line]) for start in range(0, len(parts), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    parts = [_block(each, write, indent + 1, summarise) for each in head]
    parts += ["..."] * cut
    parts += [_block(each, write, indent + 1, summarise) for each in tail]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"
