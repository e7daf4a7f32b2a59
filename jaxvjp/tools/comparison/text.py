"""Compares printed lines: their numbers with a tolerance, the rest exactly.

`within` is the tolerance for printed numbers and for gradients.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Sequence
from typing import NamedTuple

SAME, CLOSE, DIFFERENT = "same", "close", "different"
TOLERANCE = 1e-5
FLOOR = 0.01
"""Smaller numbers are compared as if they were this large: rounding errors in place of 0 need not agree."""
ALIGNED = 2000
"""If the two sides print different numbers of lines, up to this many are aligned as a diff does."""
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|\.\d+(?:e[-+]?\d+)?|inf\b|nan\b)", re.IGNORECASE)
ADDRESS = re.compile(r"\b(?:0x[0-9a-f]{6,}|(?<!\.)1[34]\d{13}(?!\.\d))\b")
"""Addresses, as in `<Tensor object at 0x7f...>`, and as `id` gives them, differ from run to run; decimals do not."""
UNITS = r"(?:s|secs?|seconds?|mins?|minutes?|ms|µs|us|ns|\w+/s|s/\w+)\b"
NAMED = rf" ?=| ?:? ?(?:tensor\(|\[)?[-+]?\.?\d[\d.:]*+(?! ?{UNITS})"
UNIT = rf"(?={UNITS}| {UNITS}(?!{NAMED}))"
"""The unit of a time. A word that a number follows is a name, `s = 0.1` or `min 0.1`, but for `3 min 4 s`."""
CLOCK = r"\d\d?: ?\d\d: ?\d\d(?:\.\d+)?"
STAMP = r"(?<!\d)(?:\d{4}-?\d\d-?\d\d|\d{8}|[A-Z][a-z]{2}\d\d)[-_T ](?:\d\d[-_:.]?){2}\d\d(?!\d)"
TIMES = re.compile(
    rf"{STAMP}|(?<![\w.])[\d.]+(?:e[-+]?\d+)?{UNIT}|\b\d\d:\d\d(?= mins?\b)|\b{CLOCK}\b"
    rf"|\b[mµu]?s/\w+ ?[:=]? ?[\d.]+"
    rf"|\b(?:time|took|elapsed?)(?: for \w+)? ?[:=]? ?(?:{CLOCK}|\d\d:\d\d|[\d.]+(?:e[-+]?\d+)?)",
    re.IGNORECASE,
)
"""So do times: a number before `s`, `min`, `ms` or `it/s`, or after `ms/batch`, `time`, `took` or `elapsed`, a time of
day, and a folder or file that is named by the date and time."""


class Line(NamedTuple):
    """A line of each side (None if one has no more), their verdict, and the largest `difference` of their numbers.

    SAME lines are identical. In CLOSE ones numbers differ within the tolerance, or by one in the last printed digit of
    a number with at least four digits.
    """

    torch: str | None
    jaxvjp: str | None
    verdict: str
    difference: float = 0.0


def within(a: float, b: float, tolerance: float) -> bool:
    """Whether |a - b| is at most `tolerance` times the larger of the two, or of FLOOR."""
    return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance * FLOOR)


def compare_line(torch: str, jaxvjp: str, tolerance: float) -> Line:
    """The comparison of two lines."""
    left, right = map(_lasting, (torch, jaxvjp))
    if left == right:
        return Line(torch, jaxvjp, SAME)
    numbers = list(zip(NUMBER.findall(left), NUMBER.findall(right), strict=False))
    difference = max([_difference(*number) for number in numbers], default=0.0)
    if text(left) != text(right) or not all(_close(*number, tolerance) for number in numbers):
        return Line(torch, jaxvjp, DIFFERENT, difference)
    return Line(torch, jaxvjp, CLOSE, difference)


def _lasting(line: str) -> str:
    """A line without what differs from run to run."""
    return TIMES.sub("0:00", ADDRESS.sub("0x", line))


def text(line: str) -> str:
    """A line without its numbers and the spaces that align them."""
    return re.sub(r"\s+", " ", re.sub(r"\s*#\s*", "#", NUMBER.sub("#", _lasting(line))))


def _difference(a: str, b: str) -> float:
    difference = abs(float(a) - float(b))
    return 0.0 if a.lower() == b.lower() else math.inf if math.isnan(difference) else difference


def _close(a: str, b: str, tolerance: float) -> bool:
    if a == b:
        return True
    if _whole(a) and _whole(b):
        return int(a) == int(b)
    return within(float(a), float(b), tolerance) or _last_digit(a, b)


def _whole(number: str) -> bool:
    return number.lstrip("+-").isdigit()


def _last_digit(a: str, b: str) -> bool:
    """Whether two printed numbers differ by one in their last digit: 0.1234 and 0.1235."""
    written = [each.lower().partition("e") for each in (a, b)]
    (left, _, left_power), (right, _, right_power) = written
    digits = [each.lstrip("+-0.").replace(".", "") for each in (left, right)]
    places = [len(each.partition(".")[2]) for each in (left, right)]
    if left_power != right_power or places[0] != places[1] or min(map(len, digits)) < 4:
        return False
    return abs(float(left) - float(right)) < 1.5 * 10.0 ** -places[0]


def compare_lines(torch: Sequence[str], jaxvjp: Sequence[str], tolerance: float) -> list[Line]:
    """The lines of two sides, matched up and compared."""
    if len(torch) == len(jaxvjp) or max(len(torch), len(jaxvjp)) > ALIGNED:
        pairs = _in_order(torch, jaxvjp)
    else:
        pairs = []
        ours, theirs = ([text(line) for line in side] for side in (jaxvjp, torch))
        matcher = difflib.SequenceMatcher(None, theirs, ours, autojunk=False)
        for _, start, stop, other_start, other_stop in matcher.get_opcodes():
            pairs += _in_order(torch[start:stop], jaxvjp[other_start:other_stop])
    return [Line(a, b, DIFFERENT) if a is None or b is None else compare_line(a, b, tolerance) for a, b in pairs]


def _in_order(torch: Sequence[str], jaxvjp: Sequence[str]) -> list[tuple[str | None, str | None]]:
    count = max(len(torch), len(jaxvjp))
    return [(torch[i] if i < len(torch) else None, jaxvjp[i] if i < len(jaxvjp) else None) for i in range(count)]
