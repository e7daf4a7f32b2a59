"""Rolls repeated lines into a `for` loop over what differs from round to round (`rolled`).

Rounds may differ in numbers, as in a user's loop over `x[i]` or over a list: numbers that are no arithmetic of the
round's number are listed. They may also be of a few kinds, as those of `if step % 10 == 0:`; then what not all have
stands under an `if` on the round's number. Of all loops that begin at a line the one is taken that saves most lines.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import chain, groupby, islice, pairwise
from typing import Any, NamedTuple

from jaxvjp.explain.block import Line
from jaxvjp.explain.rounds import LONG, Headed, headed_by, regular

ROUNDS = 3
"""At least this many rounds are needed if they differ in a number; 2 if that saves as many lines as ENOUGH."""
ENOUGH = 2
KINDS, PERIOD = 4, 256
"""At most so many kinds of rounds, and lines in a round of one, are in a loop with an `if`."""
PERIODS = 16
"""So many lengths of a round are tried at a line."""


class Repeat(NamedTuple):
    """The lines of one round, under the head of a loop; or those under an `if`."""

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
    """Lines up to `end` as a loop after the lines `begins`, as `h = x`, and how many lines that saves."""

    saved: float
    end: int
    begins: list[Line]
    repeat: Repeat

    @property
    def worth(self) -> tuple[float, int]:
        """A key to compare loops: of two that save as much the one that has each line once is better."""
        return self.saved, -_longest(self.repeat)


Rows = list[list[int | None]]
"""For each line of a loop its places in the rounds, None where a round does not have it."""


def words(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(word for text in texts for word in re.findall(r"[^\W\d]\w*", text))


def rolled(lines: Sequence[Line], taken: frozenset[str] = frozenset()) -> list[Line | Repeat]:
    """The lines, with repeated ones replaced by a `Repeat`, whose variables are none of the names `taken`."""
    taken |= words(line.text for line in lines)
    own = _Lines(lines, taken)
    result: list[Line | Repeat] = []
    place = 0
    while place < len(lines):
        best = own.best(place)
        if best is None or own.later(place, best):
            result.append(lines[place])
            place += 1
            continue
        result += [*best.begins, best.repeat]
        place = best.end
    return result


def size(lines: Sequence[Line | Repeat]) -> float:
    """How many lines are printed."""
    return sum(
        1 + len(line.head) // LONG + size(line.lines) if isinstance(line, Repeat) else 1 + line.text.count("\n")
        for line in lines
    )


def _depth(lines: Sequence[Line | Repeat]) -> int:
    """How deep loops are nested."""
    loops = [line for line in lines if isinstance(line, Repeat)]
    return max([loop.head.startswith("for ") + _depth(loop.lines) for loop in loops], default=0)


class _Lines:
    """Lines, and the loops that they can be written as."""

    def __init__(self, lines: Sequence[Line], taken: frozenset[str]) -> None:
        self.lines, self.taken = list(lines), taken
        self.patterns = [_pattern(each.text) for each in lines]
        self.texts = [(pattern.template, line.sources) for pattern, line in zip(self.patterns, lines, strict=True)]
        self.known: dict[int, _Loop | None] = {}
        self.places: dict[Any, list[int]] = {}
        self.begun: dict[Any, list[int]] = {}  # the first lines of those that are one line of the user's
        self.marks: dict[str, list[int]] = {"template": [], "numbers": [], "sources": [], "shape": []}
        self.same: dict[tuple[str, int], tuple[int, int]] = {}
        for place, (each, line) in enumerate(zip(self.patterns, lines, strict=True)):
            keys = (each.template, each, line.sources, (each.shape, line.sources))
            for mark, key in zip(self.marks.values(), keys, strict=True):
                self.places.setdefault(key, []).append(place)
                mark.append(self.places[key][0])  # numbers are compared quicker
            self.places.setdefault((line.sources[:1],), []).append(place)
            if place == 0 or lines[place - 1].sources[:1] != line.sources[:1]:
                self.begun.setdefault(line.sources[:1], []).append(place)

        self.distinct = [0] * (len(lines) + 1)  # how many kinds of lines there are from each place on
        for place in range(len(lines) - 1, -1, -1):
            last = self.places[self.patterns[place].template][-1] == place
            self.distinct[place] = self.distinct[place + 1] + last

    def until(self, mark: str, begin: int, period: int) -> int:
        """The first line from `begin` on that is not the same, in what `mark` says, as the one `period` before."""
        first, end = self.same.get((mark, period), (0, -1))
        if not first <= begin <= end:
            own, end = self.marks[mark], begin
            while end < len(own) and own[end] == own[end - period]:
                end += 1
            self.same[mark, period] = begin, end
        return end

    def periods(self, place: int, alike: Any) -> list[int]:
        """How far the lines are away that are alike, and begin a second round."""
        places = self.places[alike]
        return [each - place for each in places[bisect(places, place) : bisect(places, (place + len(self.lines)) // 2)]]

    def best(self, place: int, least: float = 0) -> _Loop | None:
        """The loop from line `place` on that saves most lines; any or None if none saves `least`."""
        if place not in self.known:
            best = self._best(place, least)
            begun = self._begun(place)
            if begun is not None:
                begins, first = begun
                other = _Lines([*first, *self.lines[place + len(first) :]], self.taken)
                found = other._best(0, least)
                if found is not None and found.saved - 0.25 * len(begins) > (0 if best is None else best.saved):
                    start = [
                        first[0]._replace(text=f"{new} = {old}", sources=(), note="") for new, old in begins.items()
                    ]
                    best = found._replace(saved=found.saved - 0.25 * len(start), end=place + found.end, begins=start)
            if least and (best is None or best.saved < least):
                return best
            self.known[place] = best
        return self.known[place]

    def later(self, place: int, best: _Loop) -> bool:
        """Whether a loop that begins at a later line of the first round saves more, or as much and begins with the
        user's first line of a round."""
        for k in range(place + 1, min(place + _longest(best.repeat), best.end)):
            if len(self.lines) - k - self.distinct[k] <= best.saved:
                return False  # each of the lines after it is printed at least once
            other = self.best(k, best.saved)
            if other is not None and (
                other.saved > best.saved
                or (other.saved == best.saved and other.end > best.end and self._line(k) < self._line(place))
            ):
                return True
        return False

    def _line(self, place: int) -> int:
        return min([line for _, line, _ in self.lines[place].sources], default=0)

    def _best(self, place: int, least: float) -> _Loop | None:
        best: _Loop | None = None
        tried: list[int] = []  # periods of lines that come again
        whole: list[tuple[int, int]] = []  # those of loops that need no more than a range, and where they end
        for period in self.periods(place, self.patterns[place].template):
            end = self._end(place, period)
            if end == place + period or any(not period % known and end <= last for known, last in whole):
                continue
            shorter = next((each for each in tried if not period % each), None)
            if len(tried) == PERIODS or (shorter is not None and not self._goes_on(place, period, shorter)):
                continue
            tried.append(period)
            distinct = len({self.patterns[each].template for each in range(place, place + period)})
            for rows in self._periodic(place, period):
                most = period * len(rows[0]) - 1 - distinct  # each of these lines is printed at least once
                if most < least or (best is not None and most <= best.saved):
                    continue
                found, simple = self._loop(place, rows)
                if found is not None and simple:
                    whole.append((period, found.end))
                if found is not None and (best is None or found.worth > best.worth):
                    best = found
        several = self._of_kinds(place)
        fewer = several is None or sum(each is not None for row in several for each in row) - len(several) <= least
        found = None if several is None or fewer else self._loop(place, several)[0]
        return best if found is None or (best is not None and found.worth <= best.worth) else found

    def _goes_on(self, place: int, period: int, count: int) -> bool:
        """Whether the numbers of the first `count` lines are the same a period later, or go on as they went before.

        If not, the lines are taken as rounds of `count` lines, and not as loops of loops of them: of 2,000 lines with
        numbers that do not repeat there would be as many ways as numbers.
        """
        rounds = [*range(place, min(place + 3 * period, len(self.lines) - count + 1), period)]
        begin = [pattern.template for pattern in self.patterns[place : place + count]]
        rounds = [k for k in rounds if [pattern.template for pattern in self.patterns[k : k + count]] == begin]
        for at in range(count):
            for column in zip(*[self.patterns[each + at].numbers for each in rounds], strict=True):
                if regular(column) < len(column) or (len(column) < ROUNDS and len({*map(repr, column)}) > 1):
                    return False
        return True

    def _end(self, place: int, period: int) -> int:
        """Where lines end that are the same as `period` lines before, but for numbers."""
        end = self.until("template", place + period, period)
        return end - (end - place) % period

    def _periodic(self, place: int, period: int) -> Iterator[Rows]:
        """Rounds of `period` lines: as many as there are with the same numbers; with any; in arithmetic sequences."""
        end = self._end(place, period)
        if end == place + period:
            return
        lines, patterns = self.lines, self.patterns
        same = min(self.until("numbers", place + period, period), end)
        rows = [list(range(each, end, period)) for each in range(place, place + period)]
        counts = [(same - place) // period]
        if same < end and any(line.sources for line in lines[place : place + period]):
            count = (min(self.until("sources", place + period, period), end) - place) // period
            counts.append(count)
            columns = [
                [patterns[each].numbers[number] for each in row[:count]]
                for row in rows
                for number in range(len(patterns[row[0]].numbers))
            ]
            counts.append(min([regular(column) for column in columns], default=count))
        for count in dict.fromkeys(counts):
            if count > 1:
                yield [list(row[:count]) for row in rows]

    def _of_kinds(self, place: int) -> Rows | None:
        """Rounds of several kinds, which begin at the user's line of line `place`."""
        source = self.lines[place].sources[:1]
        # Of several lines one after another that are the user's one line the first begins the round, or each does.
        ways = [self.begun.get(source, []), self.places[source,]] if source else []
        found = (self._by_begins(place, known) for known in ways if known and known[-1] > place)
        return next((each for each in found if each is not None), None)

    def _by_begins(self, place: int, places: list[int]) -> Rows | None:
        """The same, if they begin at line `place` and at those of `places` that come after it."""
        begins = chain([place], islice(places, bisect(places, place), None))
        texts = self.texts
        rounds: list[range] = []
        kinds: dict[tuple[Any, ...], None] = {}
        for begin, after in pairwise(chain(begins, (None,))):
            assert begin is not None
            # The last round has the user's lines of another.
            fits = [after] if after is not None else []
            for kind in kinds if after is None else ():
                end = begin + len(kind)
                fits += [end] * ([each for _, each in texts[begin:end]] == [each for _, each in kind])
            if not fits or max(fits) - begin > PERIOD:
                break
            known = {**kinds, tuple(texts[begin : max(fits)]): None}
            if len(known) > KINDS:
                break
            kinds = known
            rounds.append(range(begin, max(fits)))
        if len(kinds) < 2 or len(rounds) <= len(kinds) + (len(kinds) > 2):
            return None
        slots: list[Any] = []
        for kind in kinds:  # each is aligned with those before
            matcher = SequenceMatcher(None, slots, kind, autojunk=False)
            merged: list[Any] = []
            for _, first, last, begin, end in matcher.get_opcodes():
                merged += (
                    slots[first:last]
                    if slots[first:last] == [*kind[begin:end]]
                    else [*slots[first:last], *kind[begin:end]]
                )
            slots = merged
        rows: Rows = [[] for _ in slots]
        for own in rounds:
            matcher = SequenceMatcher(None, slots, texts[own.start : own.stop], autojunk=False)
            here = {a + k: own.start + b + k for a, b, size in matcher.get_matching_blocks() for k in range(size)}
            if len(here) < len(own):
                return None
            for slot, row in enumerate(rows):
                row.append(here.get(slot))
        return [row for row in rows if any(each is not None for each in row)]

    def _loop(self, place: int, rows: Rows) -> tuple[_Loop | None, bool]:
        """Rounds as a loop, and whether it needs no more than a range; None if it cannot be written, or is longer."""
        rounds = len(rows[0])
        firsts = [next(each for each in row if each is not None) for row in rows]
        plain = [self.lines[each] for each in firsts]
        columns: dict[tuple[int, int], list[Any]] = {}
        for slot, row in enumerate(rows):
            for number in range(len(self.patterns[firsts[slot]].numbers)):
                own = [None if each is None else self.patterns[each].numbers[number] for each in row]
                if len({repr(each) for each in own if each is not None}) > 1:
                    columns[slot, number] = own
        kinds = [tuple(each is not None for each in row) for row in rows]
        several = not all(map(all, kinds))
        covered = sum(each is not None for row in rows for each in row)
        if not columns and not several:
            headed: Headed | None = Headed(f"for _ in range({rounds})", {}, {}, frozenset(), 0)
        else:
            depth = _depth(rolled(plain, self.taken)[:1]) if len(plain) > 3 and not several else 0
            headed = headed_by(plain, rounds, columns, {each for each in kinds if not all(each)}, depth, self.taken)
        if headed is None:
            return None, False
        head, texts, flags, names, dear = headed
        written = [
            line._replace(text=_filled(line.text, texts[slot])) if slot in texts else line
            for slot, line in enumerate(plain)
        ]
        body: list[Line | Repeat] = []
        before: tuple[bool, ...] = ()
        for kind, group in groupby(range(len(rows)), key=lambda slot: kinds[slot]):
            block = [written[slot] for slot in group]
            inner = rolled(block, self.taken | names) if len(block) > 3 else block
            if all(kind):
                body += inner
            else:
                other = before == tuple(not each for each in kind)
                body.append(Repeat("else" if other else f"if {flags[kind]}", tuple(inner)))
            before = kind
        repeat = _tidied(Repeat(head, tuple(body)), names)
        saved = covered - size([repeat]) - dear
        differs = bool(columns) or several
        enough = saved >= ENOUGH if (differs and rounds < ROUNDS) or several else saved > 0
        end = max(each for row in rows for each in row if each is not None) + 1
        return (_Loop(saved, end, [], repeat) if enough else None), not dear and not several

    def _begun(self, place: int) -> tuple[dict[str, str], list[Line]] | None:
        """If the first round reads another variable, `h = x * 2` before `h = h * 2`: the start value of each such loop
        variable (h = x), and the first round rewritten like the others. None if that does not apply."""
        lines, patterns = self.lines, self.patterns
        for period in self.periods(place, (patterns[place].shape, lines[place].sources)):
            if self.until("shape", place + period, period) < place + 2 * period:
                continue
            ends = (place, place + period - 1)
            if all(patterns[each].names == patterns[each + period].names for each in ends):
                continue  # such a variable is read in the first line of a round, or assigned in the last
            names: dict[str, str] = {}
            stored: set[str] = set()
            others: list[dict[int, str]] = []
            for one in range(place, place + period):
                old_line, new_line = patterns[one], patterns[one + period]
                pairs = list(enumerate(zip(old_line.names, new_line.names, strict=True)))
                other = {number: new for number, (old, new) in pairs if old != new}
                if any(
                    new in stored or number in old_line.stores or names.setdefault(new, old) != old
                    for number, (old, new) in pairs
                    if old != new
                ):
                    break
                kept = [old for number, (old, new) in pairs if old == new and number not in old_line.stores]
                if any(old in names and old not in stored for old in kept):
                    break
                stored |= {old_line.names[each] for each in old_line.stores}
                others.append(other)
            if len(others) == period and names and {*names} <= stored and not {*names} & {*names.values()}:
                first = zip(lines[place : place + period], others, strict=True)
                return names, [
                    line._replace(text=_renamed(line.text, other)) if other else line for line, other in first
                ]
        return None


def _tidied(line: Any, names: frozenset[str]) -> Any:
    """A line with `i` in the place of `i + 0`, which is like `i + 1` until inner loops are found."""
    if isinstance(line, Repeat):
        return Repeat(line.head, tuple([_tidied(each, names) for each in line.lines]))
    text = _Sums(names).visit(ast.parse(line.text)) if "+ 0" in line.text else None
    return line if text is None else line._replace(text=statement_text(text))


class _Sums(ast.NodeTransformer):
    """Rewrites `i + 0` for variables i."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        zero = isinstance(node.right, ast.Constant) and type(node.right.value) is int and node.right.value == 0
        own = {each.id for each in ast.walk(node.left) if isinstance(each, ast.Name)}
        return node.left if zero and isinstance(node.op, ast.Add) and own and own <= self.names else node


def _longest(repeat: Repeat) -> int:
    """How many lines a round has at most."""
    return sum(_longest(line) if isinstance(line, Repeat) else 1 for line in repeat.lines)


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
    return _Pattern(template, tuple(holes.numbers), shape, tuple(name.id for name in holes.names), stores)


def _filled(text: str, texts: dict[int, str]) -> str:
    """A line with some of its numbers replaced by expressions."""
    fill = _Holes(lambda place, _: ast.parse(texts[place], mode="eval").body if place in texts else None, None)
    return statement_text(fill.visit(ast.parse(text)))


def _renamed(text: str, names: dict[int, str]) -> str:
    """A line with some of its names replaced."""
    return statement_text(_Holes(lambda *_: None, lambda place, name: names.get(place, name)).visit(ast.parse(text)))


def statement_text(tree: ast.AST) -> str:
    """A statement as text in the style of `Block`: `(x,) = ...`."""
    return re.sub(r"^(\w+), = ", r"(\1,) = ", ast.unparse(tree))
