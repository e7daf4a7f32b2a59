"""What differs between the rounds of a loop, in terms of its variable: `headed_by`.

Such as `2 * i + 1`, `i % 3`, `0.1 if i < 5 else 0.2`; numbers that are no arithmetic of it are listed by the head of
the loop, `for rate in (0.1, 0.05, 0.02)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from jaxvjp.explain.block import Line
from jaxvjp.explain.names import loop_names, loop_variable, numbered, safe

LISTED, MANY, LONG = 3, 20, 100
"""At most LISTED numbers of a round are listed, or depend on a condition, and one more for each MANY lines in the loop;
of a list each LONG characters count as a line."""
SHORT = 60
"""A condition on the round's number is not longer."""


def regular(column: Sequence[Any]) -> int:
    """How many numbers, from the first on, are the same, or an arithmetic sequence."""
    if len(column) < 2 or repr(column[1]) == repr(column[0]):
        return next((k for k, each in enumerate(column) if repr(each) != repr(column[0])), len(column))
    if any(type(each) is not int for each in column[:2]):
        return 1
    step = column[1] - column[0]
    after = (k for k in range(2, len(column)) if type(column[k]) is not int or column[k] - column[k - 1] != step)
    return next(after, len(column))


class Headed(NamedTuple):
    """The head of a loop; by line, the expressions of its numbers; for kinds of rounds the condition; the variables;
    and what the head costs beside a range, in lines."""

    head: str
    texts: dict[int, dict[int, str]]
    flags: dict[tuple[bool, ...], str]
    names: frozenset[str]
    dear: float


def headed_by(
    lines: Sequence[Line],
    rounds: int,
    columns: dict[tuple[int, int], list[Any]],
    kinds: set[tuple[bool, ...]],
    depth: int,
    taken: frozenset[str],
) -> Headed | None:
    """The head of a loop over the numbers `columns`; None if it cannot be written."""
    sources = [source for line in lines for source in line.sources]
    straight = [found for each in columns.values() if (found := _straight(each, range(rounds))) is not None]
    first, step = _base(straight)
    index, items, listed = "", list[str](), list[list[Any]]()

    # A round that begins in the middle of the user's is none of the user's: it has none of its variables.
    turned = any(each[:1] == sources[0][:1] and each[1] < sources[0][1] for each in sources)
    taken |= loop_names(sources[0][0]) if turned else frozenset()

    def called(values: Sequence[Any], otherwise: str) -> str:
        known = loop_variable(*sources[0][:2], depth, values) if sources and not turned else None
        return numbered(safe(known or otherwise), taken | {index, *items})

    def numbers(first: int, step: int) -> range:
        return range(first, first + step * rounds, step)

    curved = len(straight) < len(columns)
    if curved or kinds:
        known = sources and loop_variable(*sources[0][:2], depth, numbers(1, 1))
        counted = kinds and known and not loop_variable(*sources[0][:2], depth, numbers(0, 1))
        first, step = (1, 1) if counted else (0, 1)
    index = called(numbers(first, step), "i")
    values = numbers(first, step)
    flags = {kind: said for kind in kinds if (said := _condition(kind, values, index)) is not None}
    if len(flags) < len(kinds):
        return None
    texts: dict[int, dict[int, str]] = {}
    dear, used, conditions = 0.0, bool(kinds), list[str]()
    for (slot, number), column in columns.items():
        text, cost = _in_terms(column, values, index)
        dear += cost
        used |= text is not None
        conditions += [text] if text is not None and " if " in text else []
        if text is None:
            full = _complete(column)
            apart = [_apart(full, each) for each in listed]
            at = next((at for at, each in enumerate(apart) if each is not None), len(listed))
            if at == len(listed):
                listed.append(full)
                apart.append(0)
                dear += 1.25 * (len({*map(repr, full)}) < len(full))  # more than `i % 3`
                items.append(called(full, "number"))
            more = apart[at]
            text = _linear(items[at], 1, more) if more else items[at]
        if max(len(listed), len({*conditions})) > LISTED + rounds * len(lines) // MANY:
            return None
        texts.setdefault(slot, {})[number] = text
    bounds = f"{values.stop}" if (first, step) == (0, 1) else f"{first}, {values.stop}" + f", {step}" * (step != 1)
    head = f"for {index} in range({bounds})"
    if listed:
        names = ", ".join(items)
        every = ", ".join(
            repr(each[0]) if len(each) == 1 else f"({', '.join(map(repr, each))})" for each in zip(*listed, strict=True)
        )
        counts = f", {first}" * bool(first)
        head = f"for {names} in ({every})"
        if used:
            head = f"for {index}, {f'({names})' if len(items) > 1 else names} in enumerate(({every}){counts})"
        dear += 0.25
    return Headed(head, texts, flags, frozenset([index, *items]), dear)


def _complete(column: Sequence[Any]) -> list[Any]:
    """A sequence with the numbers before in place of those that are not there."""
    full: list[Any] = []
    for each in column:
        full.append(each if each is not None or not full else full[-1])
    return [next(other for other in column if other is not None) if each is None else each for each in full]


def _apart(column: list[Any], other: list[Any]) -> int | None:
    """By how much a sequence is more than another, in each of its integers; 0 for the same numbers, None if neither."""
    if column == other and [*map(type, column)] == [*map(type, other)]:
        return 0
    if any(type(each) is not int for each in (*column, *other)):
        return None
    found = {one - two for one, two in zip(column, other, strict=True)}
    return found.pop() if len(found) == 1 else None


def _straight(column: Sequence[Any], values: Sequence[int]) -> tuple[int, int] | None:
    """The numbers a and b for which a sequence is a * value + b; None if there are none."""
    known = [(value, each) for value, each in zip(values, column, strict=True) if each is not None]
    if any(type(each) is not int for _, each in known):
        return None
    value, start = known[0]
    other, after = next(((other, each) for other, each in known if other != value), (value + 1, start))
    factor = (after - start) // (other - value)
    rest = start - factor * value
    return (factor, rest) if all(each == factor * value + rest for value, each in known) else None


def _base(sequences: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Start and step of a range in which all sequences can be expressed: that of one of them, if possible."""
    for step, start in sequences:
        if step and all(not other % step for other, _ in sequences):
            return start, step
    return 0, 1


def _in_terms(column: Sequence[Any], values: range, index: str) -> tuple[str | None, float]:
    """A sequence as an expression of the loop variable, `2 * i + 1`, `i % 3` or `0.1 if i < 5 else 0.2`, and what that
    costs beside the first of these; None if it is none."""
    full = _complete(column)
    straight = _straight(column, values)
    if straight is not None:
        return _linear(index, *straight), 0
    for period in range(2, len(full) // 2 + 1 if (values.start, values.step) == (0, 1) else 0):
        for sign, own in (("%", [value % period for value in values]), ("//", [value // period for value in values])):
            found = _straight(column, own)
            if found is not None:
                return _linear(f"({index} {sign} {period})", *found), 1.1
    both = list({repr(each): each for each in full}.values())
    if len(both) == 2:
        condition = _condition([repr(each) == repr(both[0]) for each in full], values, index)
        if condition is not None:
            return f"{both[0]!r} if {condition} else {both[1]!r}", 0.5
    return None, 0


def _condition(flags: Sequence[bool], values: range, index: str) -> str | None:
    """A condition on the loop variable that holds in the rounds with a flag; None if it is too long."""
    true, false = ([value for value, flag in zip(values, flags, strict=True) if flag is each] for each in (True, False))
    if len(true) == 1:
        return f"{index} == {true[0]}"
    if true[-1] < false[0]:
        return f"{index} < {false[0]}"
    if false[-1] < true[0]:
        return f"{index} >= {true[0]}"
    for sign, own in (("==", true), ("!=", false)):
        if len(own) == 1:
            return f"{index} {sign} {own[0]}"
        period = own[1] - own[0]
        if period > 1 and own == [each for each in values if each % period == own[0] % period]:
            return f"{index} % {period} {sign} {own[0] % period}"
    sign, own = ("in", true) if len(true) <= len(false) else ("not in", false)
    text = f"{index} {sign} {tuple(own)}"
    return text if len(text) <= SHORT else None


def _linear(index: str, factor: int, rest: int) -> str:
    """`2 * i + 1`."""
    if not factor:
        return f"{rest}"
    text = index if factor == 1 else f"-{index}" if factor == -1 else f"{factor} * {index}"
    if factor < 0 < rest:
        return f"{rest} - {index}" if factor == -1 else f"{rest} - {-factor} * {index}"
    return f"{text} {'+' if rest >= 0 else '-'} {abs(rest)}"
