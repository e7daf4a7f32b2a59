"""Compares tensors of the two sides, number by number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxvjp.tools.comparison.text import CLOSE, DIFFERENT, FLOOR, SAME

Array = np.ndarray[Any, Any]
UNNAMED = r"leaf( \d+)?"
"""What `recorder` calls a leaf that no variable of the user's leads to."""
EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}
EPSILON |= {"complex64": EPSILON["float32"], "complex128": EPSILON["float64"]}
"""By dtype, the distance between 1 and the next number."""


MARKS = {SAME: "=", CLOSE: "≈", DIFFERENT: "≠"}
LEAF_HEADS = ("", "leaf", "shape", "dtype", "absolute", "relative", "ulps", "")
"""What stands above the `cells` of a leaf in a table."""


class Values(NamedTuple):
    """A tensor of one side: its shape and dtype, and its numbers unless they were too many to record."""

    shape: tuple[int, ...]
    dtype: str
    array: Array | None


class Leaf(NamedTuple):
    """One tensor of both sides, by the user's name, with the largest differences of its numbers.

    `absolute` is |a - b|; `relative` is that divided by the larger of |a| and |b|; `ulps` is the distance in steps of
    the dtype. `scaled`, which the tolerance bounds, is the largest `absolute` divided by the largest number of the
    tensor or, for a gradient, of all gradients of this leaf so far. They are None if the two cannot be subtracted;
    `note` says why.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    verdict: str
    absolute: float | None = None
    relative: float | None = None
    ulps: int | None = None
    scaled: float | None = None
    note: str = ""


class Call(NamedTuple):
    """A call of `backward` or `grad` on one side: its line, and its gradients or its error."""

    kind: str
    line: int | str
    leaves: tuple[tuple[str, Values | None], ...]
    error: dict[str, Any] | None


class CallPair(NamedTuple):
    """A call of `backward` or `grad` on both sides; `note` says what differs besides numbers."""

    kind: str
    line: int | str
    leaves: tuple[Leaf, ...]
    verdict: str
    note: str = ""
    one_sided: bool = False


def decoded(record: dict[str, Any]) -> Call:
    """A call decoded from its record (`comparison.recorder`)."""
    leaves = [(name, None if each is None else Values(*each)) for name, each in record.get("leaves", ())]
    return Call(record["kind"], record["line"], tuple(leaves), record.get("error"))


def compare_values(
    name: str, torch: Values | None, jaxvjp: Values | None, tolerance: float, scale: float = 0.0
) -> Leaf:
    """One tensor of both sides; `tolerance` is relative to its largest number, or to `scale` if that is larger.

    Numbers of 16 bits may differ by two steps of their dtype, whatever `tolerance` is.
    """
    if torch is None or jaxvjp is None:
        known = torch or jaxvjp
        note = "" if known is None else "None under " + ("torch" if torch is None else "jaxvjp")
        return Leaf(
            name, known.shape if known else (), known.dtype if known else "None", DIFFERENT if note else SAME, note=note
        )
    for what in ("shape", "dtype"):
        values = [getattr(each, what) for each in (torch, jaxvjp)]
        if values[0] != values[1]:
            note = f"{what} {values[0]} under torch, {values[1]} under jaxvjp"
            return Leaf(name, torch.shape, torch.dtype, DIFFERENT, note=note)
    if torch.array is None or jaxvjp.array is None:
        return Leaf(name, torch.shape, torch.dtype, SAME, note="numbers not recorded; only shape and dtype compared")
    a, b = torch.array, jaxvjp.array
    absolute, relative = _differences(a, b)
    same = bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))
    scaled = absolute / max(largest(torch), largest(jaxvjp), scale, FLOOR)
    near = torch.dtype in EPSILON and scaled <= max(tolerance, 2 * EPSILON[torch.dtype])
    verdict = SAME if same else CLOSE if near else DIFFERENT
    return Leaf(name, torch.shape, torch.dtype, verdict, absolute, relative, _ulps(a, b, torch.dtype), scaled)


def largest(values: Values | None) -> float:
    """The largest finite number by magnitude."""
    if values is None or values.array is None:
        return 0.0
    return float(np.abs(values.array[np.isfinite(values.array)]).max(initial=0))


def _differences(a: Array, b: Array) -> tuple[float, float]:
    if a.size == 0:
        return 0.0, 0.0
    if a.dtype.kind not in "fc":
        a, b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(all="ignore"):
        apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
        larger = np.maximum(np.maximum(np.abs(a), np.abs(b)), np.finfo(a.dtype).tiny)
        relative = np.where(apart == 0, 0.0, apart / larger)
    return tuple(float(np.where(np.isnan(each), np.inf, each).max()) for each in (apart, relative))  # type: ignore


def _ulps(a: Array, b: Array, dtype: str) -> int | None:
    """The largest distance in steps of the dtype; None if one is infinite or NaN and the other is not."""
    if dtype not in EPSILON or a.size == 0:
        return None if dtype not in EPSILON else 0
    if a.dtype.kind == "c":
        a, b = (np.stack([each.real, each.imag]) for each in (a, b))
    alike = (a == b) | (np.isnan(a) & np.isnan(b))
    if not (np.isfinite(a) & np.isfinite(b) | alike).all():
        return None
    ordered = [_ordered(np.where(alike, 0, each).astype(a.dtype)) for each in (a, b)]
    apart = max(abs(x - y) for x, y in zip(*ordered, strict=True)) if a.size else 0
    return apart >> 16 if dtype == "bfloat16" else apart


def _ordered(values: Array) -> list[int]:
    """An integer for each float, in the same order; adjacent floats have adjacent integers."""
    bits = values.ravel().view(f"i{values.dtype.itemsize}")
    lowest = np.iinfo(bits.dtype).min
    return [each if each >= 0 else int(lowest) - each for each in bits.tolist()]


def compare_calls(torch: Sequence[Call], jaxvjp: Sequence[Call], tolerance: float) -> list[CallPair]:
    """Compares the calls of two sides in order.

    Close to an optimum a gradient is a small sum of large terms, whose rounding error stays large. So a leaf's
    difference is measured relative to its largest gradient so far.
    """
    scales: dict[str, float] = {}
    pairs = [_compare_call(*each, tolerance, scales) for each in zip(torch, jaxvjp, strict=False)]
    shorter = min(len(torch), len(jaxvjp))
    for side, calls in (("torch", torch[shorter:]), ("jaxvjp", jaxvjp[shorter:])):
        pairs += [CallPair(call.kind, call.line, (), DIFFERENT, f"only under {side}", True) for call in calls]
    return pairs


def _compare_call(torch: Call, jaxvjp: Call, tolerance: float, scales: dict[str, float]) -> CallPair:
    notes = []
    if (torch.kind, torch.line) != (jaxvjp.kind, jaxvjp.line):
        notes.append(f"under jaxvjp it is {jaxvjp.kind} in line {jaxvjp.line}")
    errors = [_sentence(each.error) for each in (torch, jaxvjp)]
    if errors[0] != errors[1]:
        notes.append(f"torch: {errors[0] or 'no error'}; jaxvjp: {errors[1] or 'no error'}")
    theirs, ours = _named_alike(torch.leaves, jaxvjp.leaves)
    leaves = []
    for name, values in theirs.items():
        if name in ours:
            leaves.append(compare_values(name, values, ours[name], tolerance, scales.get(name, 0.0)))
            scales[name] = max(scales.get(name, 0.0), largest(values))
    for side, only in (
        ("torch", [each for each in theirs if each not in ours]),
        ("jaxvjp", [each for each in ours if each not in theirs]),
    ):
        if only and not any(errors):
            notes.append(f"{', '.join(only)} only under {side}")
    verdicts = {DIFFERENT} if notes else {leaf.verdict for leaf in leaves}
    worst = next((each for each in (DIFFERENT, CLOSE) if each in verdicts), SAME)
    same_error = f"both raise {errors[0]}" if errors[0] and not notes else ""
    return CallPair(torch.kind, torch.line, tuple(leaves), worst, "; ".join(notes) or same_error)


def _named_alike(*sides: Sequence[tuple[str, Values | None]]) -> list[dict[str, Values | None]]:
    """The gradients of each side by name; without those of nameless leaves, where the sides have not as many: a view of
    jaxvjp's holds its base, which torch's graph alone holds."""
    nameless = [{name for name, _ in side if re.fullmatch(UNNAMED, name)} for side in sides]
    left_out = set().union(*nameless) if len({*map(len, nameless)}) > 1 else set()
    return [{name: values for name, values in side if name not in left_out} for side in sides]


def _sentence(error: dict[str, Any] | None) -> str:
    """An exception as its class and first line; jaxvjp's errors continue with advice after that."""
    if error is None:
        return ""
    first = str(error["text"]).partition("\n")[0].rstrip(". ")
    return f"{error['kind']}: {first}"


def cells(head: str, leaf: Leaf) -> list[str]:
    """The row of a leaf in a table; `head` says of which backward pass it is."""
    numbers = ["" if each is None else f"{each:.2g}" for each in (leaf.absolute, leaf.relative)]
    numbers.append("" if leaf.ulps is None else str(leaf.ulps))
    shape = str(list(leaf.shape)) if leaf.name else ""
    return [head, leaf.name, shape, leaf.dtype, *numbers, f"{MARKS[leaf.verdict]} {leaf.note}".rstrip()]
