"""Rolls repeated lines into a `for` loop over what differs from round to round (`rolled`).

Rounds may differ in numbers, as in a user's loop over `x[i]` or over a list; numbers that form no `range` are listed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from jaxvjp.explain.block import Line
from jaxvjp.explain.names import loop_variable, numbered, safe

PERIOD = 64
"""The longest round, in lines."""
ROUNDS = 3
"""At least this many rounds are needed if they differ in a number; 2 of rounds of at least as many lines."""
LISTED, LONG = 32, 80
"""Numbers of at most LONG characters are listed, and only for at most LISTED lines."""


class Repeat(NamedTuple):
    """The lines of one round, under the head of a loop."""

    head: str
    lines: tuple[Any, ...]


class _Pattern(NamedTuple):
    """A line without its numbers, and the numbers; without its names as well, the names, and which of them it
    assigns."""

    template: str
    numbers: tuple[Any, ...]
    shape: str
    names: tuple[str, ...]
    stores: frozenset[int]


class _Loop(NamedTuple):
    """Rounds of `period` lines, and for each number that differs between rounds its sequence of values."""

    period: int
    rounds: int
    sequences: dict[tuple[int, int], list[Any]]
    listed: list[list[Any]]

    @property
    def worth(self) -> tuple[int, bool, bool]:
        """A key to compare loops: first the number of lines that they save, then simplicity."""
        return (self.period * self.rounds, not self.sequences, not self.listed)


def rolled(lines: Sequence[Line], taken: frozenset[str] | None = None) -> list[Line | Repeat]:
    """The lines, with repeated ones replaced by a `Repeat`."""
    if taken is None:
        taken = frozenset(word for each in lines for word in re.findall(r"[^\W\d]\w*", each.text))
    lines = list(lines)
    patterns = [_pattern(each.text) for each in lines]
    result: list[Line | Repeat] = []
    place = 0
    while place < len(lines):
        best = _best(lines, patterns, place)
        begun = _begun(lines, patterns, place)
        if begun is not None:
            begins, first = begun
            others = [*lines[:place], *first, *lines[place + len(first) :]]
            own = [*patterns[:place], *[_pattern(each.text) for each in first], *patterns[place + len(first) :]]
            found = _best(others, own, place)
            if found is not None and (best is None or found.worth > best.worth):
                best, lines, patterns = found, others, own
                result += [first[0]._replace(text=f"{new} = {old}", sources=(), note="") for new, old in begins.items()]
        if best is None:
            result.append(lines[place])
            place += 1
            continue
        plain = lines[place : place + best.period]
        depth = _depth(rolled(plain, taken)) if best.sequences and best.period > 3 else 0
        block, head, names = _headed(plain, best, depth, taken)
        inner = rolled(block, taken | names) if best.period > 3 else block
        result.append(Repeat(head, tuple(inner)))
        place += best.period * best.rounds
    return result


def _depth(lines: Sequence[Line | Repeat]) -> int:
    """How deep loops are nested."""
    return max([1 + _depth(each.lines) for each in lines if isinstance(each, Repeat)], default=0)


def _best(lines: Sequence[Line], patterns: Sequence[_Pattern], place: int) -> _Loop | None:
    """The loop from line `place` on that saves most lines."""
    best: _Loop | None = None
    for period in range(1, min(PERIOD, (len(lines) - place) // 2) + 1):
        if patterns[place].template == patterns[place + period].template:
            found = _same(patterns, place, period) or _differing(lines, patterns, place, period)
            if found is not None and (best is None or found.worth > best.worth):
                best = found
    return best


def _begun(lines: Sequence[Line], patterns: Sequence[_Pattern], place: int) -> tuple[dict[str, str], list[Line]] | None:
    """If the first round reads another variable, `h = x * 2` before `h = h * 2`: the start value of each such loop
    variable (h = x), and the first round rewritten like the others. None if that does not apply."""
    for period in range(1, min(PERIOD, (len(lines) - place) // 2) + 1):
        here, there = patterns[place : place + period], patterns[place + period : place + 2 * period]
        if here[0].shape != there[0].shape or here[-1].shape != there[-1].shape:
            continue
        if here[0].names == there[0].names and here[-1].names == there[-1].names:
            continue  # such a variable is read in the first line of a round, or assigned in the last
        names: dict[str, str] = {}
        stored: set[str] = set()
        first: list[Line] = []
        for one in range(place, place + period):
            old_line, new_line = patterns[one], patterns[one + period]
            if old_line.shape != new_line.shape or lines[one].sources != lines[one + period].sources:
                break
            other = {}
            for number, (old, new) in enumerate(zip(old_line.names, new_line.names, strict=True)):
                if old != new:
                    other[number] = new
                    if new in stored or names.setdefault(new, old) != old:
                        break
                elif old in names and old not in stored and number not in old_line.stores:
                    break
            else:
                stored |= {old_line.names[each] for each in old_line.stores}
                first.append(lines[one]._replace(text=_renamed(lines[one].text, other)) if other else lines[one])
                continue
            break
        if len(first) == period and names and {*names} <= stored and not {*names} & {*names.values()}:
            return names, first
    return None


def _same(patterns: Sequence[_Pattern], place: int, period: int) -> _Loop | None:
    count, block = 1, patterns[place : place + period]
    while patterns[place + count * period : place + (count + 1) * period] == block:
        count += 1
    return _Loop(period, count, {}, []) if count > 1 else None


def _differing(lines: Sequence[Line], patterns: Sequence[_Pattern], place: int, period: int) -> _Loop | None:
    """A loop whose rounds differ in numbers: in arithmetic sequences, or in one that is listed."""
    fewest = 2 if period >= ROUNDS else ROUNDS
    begins = [patterns[each] for each in range(place, min(place + fewest * period, len(lines)), period)]
    if len(begins) < fewest or any(each.template != begins[0].template for each in begins):
        return None
    if ROUNDS * period > LISTED and not _regular([each.numbers for each in begins]):
        return None
    rows: list[list[Any]] = []
    while (end := place + (len(rows) + 1) * period) <= len(lines):
        here = range(end - period, end)
        if any(
            patterns[each].template != patterns[each - len(rows) * period].template
            or lines[each].sources != lines[each - len(rows) * period].sources
            for each in here
        ):
            break
        rows.append([number for each in here for number in patterns[each].numbers])
        if len(rows) > 2 and len(rows) * period > LISTED and not _regular(rows[-3:]):
            break
    places = [(each, number) for each in range(period) for number in range(len(patterns[place + each].numbers))]
    if not any(lines[place + each].sources for each in range(period)):
        return None

    def loop(rounds: int) -> _Loop | None:
        columns = dict(zip(places, zip(*rows[:rounds], strict=True), strict=True))
        sequences = {key: list(each) for key, each in columns.items() if len({*map(repr, each)}) > 1}
        others = {repr(each): each for each in sequences.values() if not _regular([[number] for number in each])}
        listed = list(others.values())
        if listed and (len(listed) > 2 or rounds * period > LISTED or len(_row(listed)) > LONG):
            return None
        return _Loop(period, rounds, sequences, listed)

    for rounds in (len(rows), _regular_rounds(rows)):
        found = loop(rounds) if rounds >= fewest else None
        if found is not None:
            return found
    return None


def _regular(rows: Sequence[Sequence[Any]]) -> bool:
    """Whether each number is an arithmetic sequence over the rows."""
    for column in zip(*rows, strict=True):
        if all(repr(each) == repr(column[0]) for each in column):
            continue
        if any(type(each) is not int for each in column):
            return False
        if len({after - before for before, after in pairwise(column)}) > 1:
            return False
    return True


def _regular_rounds(rows: Sequence[Sequence[Any]]) -> int:
    """How many rows, from the first on, are arithmetic sequences."""
    count = min(2, len(rows))
    while count < len(rows) and _regular(rows[count - 2 : count + 1]):
        count += 1
    return count


def _headed(
    lines: Sequence[Line], loop: _Loop, depth: int, taken: frozenset[str]
) -> tuple[list[Line], str, frozenset[str]]:
    """The lines of one round in terms of the loop variables; the loop's head; and these variables."""
    if not loop.sequences:
        return list(lines), f"for _ in range({loop.rounds})", frozenset()
    sources = [source for each in lines for source in each.sources]
    steps = [each for each in loop.sequences.values() if each not in loop.listed]
    index, items = "", list[str]()

    def called(values: Sequence[Any], otherwise: str) -> str:
        known = loop_variable(*sources[0][:2], depth, values) if sources else None
        return numbered(safe(known or otherwise), taken | {index, *items})

    first, step = (0, 1) if loop.listed else _base(steps)
    if steps:
        index = called(range(first, first + step * loop.rounds, step), "i")
    if loop.listed:
        for each in loop.listed:
            items.append(called(each, "number"))
        names, values = ", ".join(items), f"({_row(loop.listed)})"
        several = len(items) > 1
        head = f"for {index}, {f'({names})' if several else names} in enumerate({values})"
        head = head if index else f"for {names} in {values}"
    else:
        last = first + step * loop.rounds
        bounds = f"{last}" if (first, step) == (0, 1) else f"{first}, {last}" + (f", {step}" if step != 1 else "")
        head = f"for {index} in range({bounds})"
    written: list[Line] = []
    for place, line in enumerate(lines):
        texts = {
            number: items[loop.listed.index(each)] if each in loop.listed else _in_terms(index, first, step, each)
            for (own, number), each in loop.sequences.items()
            if own == place
        }
        written.append(line._replace(text=_filled(line.text, texts)) if texts else line)
    return written, head, frozenset(each for each in (index, *items) if each)


def _row(listed: Sequence[Sequence[Any]]) -> str:
    """What a loop goes through: numbers, or pairs of them."""
    rows = zip(*listed, strict=True)
    return ", ".join(repr(each[0]) if len(each) == 1 else f"({', '.join(map(repr, each))})" for each in rows)


def _base(sequences: Sequence[list[int]]) -> tuple[int, int]:
    """Start and step of a range in which all sequences can be expressed: that of one of them, if possible."""
    for each in sequences:
        step = each[1] - each[0]
        if all((other[1] - other[0]) % step == 0 for other in sequences):
            return each[0], step
    return 0, 1


def _in_terms(index: str, first: int, step: int, sequence: list[int]) -> str:
    """A sequence as an expression of the loop variable: `2 * i + 1`."""
    factor = (sequence[1] - sequence[0]) // step
    rest = sequence[0] - factor * first
    text = index if factor == 1 else f"-{index}" if factor == -1 else f"{factor} * {index}"
    if factor < 0 < rest:
        return f"{rest} - {index}" if factor == -1 else f"{rest} - {-factor} * {index}"
    return text if not rest else f"{text} {'+' if rest > 0 else '-'} {abs(rest)}"


class _Holes(ast.NodeTransformer):
    """Replaces the numbers and the names of a statement."""

    def __init__(self, number: Callable[[int, Any], ast.expr | None], name: Callable[[int, str], str] | None) -> None:
        self.number = number
        self.name = name
        self.numbers: list[Any] = []
        self.names: list[ast.Name] = []

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if isinstance(node.op, ast.USub) and _is_number(node.operand):
            return self._met(node, -node.operand.value)  # type: ignore[attr-defined]
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return self._met(node, node.value) if _is_number(node) else node

    def visit_Slice(self, node: ast.Slice) -> ast.AST:
        if node.lower is None and node.upper is not None and _is_number(node.upper):
            start = ast.Constant(0)  # `x[:2]` in a row with `x[2:4]`
            node.lower, node.upper = self.visit(start), self.visit(node.upper)
            node.lower = None if node.lower is start else node.lower
            node.step = node.step and self.visit(node.step)
            return node
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        self.names.append(node)
        return node if self.name is None else ast.Name(self.name(len(self.names) - 1, node.id), node.ctx)

    def _met(self, node: ast.expr, number: Any) -> ast.AST:
        self.numbers.append(number)
        return self.number(len(self.numbers) - 1, number) or node


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float, complex)


@lru_cache(maxsize=4096)
def _pattern(text: str) -> _Pattern:
    holes = _Holes(lambda _, number: ast.Name(f"<{type(number).__name__}>", ast.Load()), None)
    template = ast.unparse(holes.visit(ast.parse(text)))
    nameless = _Holes(holes.number, lambda *_: "<name>")
    shape = ast.unparse(nameless.visit(ast.parse(text)))
    stores = frozenset(place for place, each in enumerate(holes.names) if isinstance(each.ctx, ast.Store))
    return _Pattern(template, tuple(holes.numbers), shape, tuple(each.id for each in holes.names), stores)


def _filled(text: str, texts: dict[int, str]) -> str:
    """A line with some of its numbers replaced by expressions."""
    fill = _Holes(lambda place, _: ast.parse(texts[place], mode="eval").body if place in texts else None, None)
    return _statement(fill.visit(ast.parse(text)))


def _renamed(text: str, names: dict[int, str]) -> str:
    """A line with some of its names replaced."""
    return _statement(_Holes(lambda *_: None, lambda place, name: names.get(place, name)).visit(ast.parse(text)))


def _statement(tree: ast.AST) -> str:
    """A statement as text in the style of `Block`: `(x,) = ...`."""
    return re.sub(r"^(\w+), = ", r"(\1,) = ", ast.unparse(tree))
