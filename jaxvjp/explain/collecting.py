"""Writes `[h, h_2, h_3]`, of values that one line computes round by round, as a list that is appended to.

`collected` does so in a function's lines, which `rolling` can then roll: after `hs = []` each round is
`h = jnp.tanh(x[i] + h @ W)` and `hs.append(h)`, and `jnp.stack([h, h_2, h_3])` is `jnp.stack(hs)`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

from jaxvjp.explain.block import ROUNDS, Line
from jaxvjp.explain.names import numbered, safe
from jaxvjp.explain.rolling import Repeat, rolled, size, statement_text, words


def collected(body: Sequence[Line], returned: Line) -> list[Line | Repeat]:
    """The lines of a function, rolled, with lists that are appended to where that saves lines."""
    lines, found = [*body, returned], _once([*body, returned])
    plain: list[Line | Repeat] = [*rolled(body), returned]
    while found:
        lines, found = found, _once(found)
    if len(lines) == len(body) + 1:
        return plain
    written = _begun_late([*rolled(lines[:-1]), lines[-1]])
    return written if size(written) < size(plain) else plain


def _begun_late(lines: list[Line | Repeat]) -> list[Line | Repeat]:
    """The lines, with each `hs = []` before the first line, or loop, that reads it."""
    found: list[Line | Repeat] = []
    for line in reversed(lines):
        name = None if isinstance(line, Repeat) else re.fullmatch(r"(\w+) = \[\]", line.text)
        readers = [at for at, each in enumerate(found) if name is not None and _reads(each, name[1])]
        found.insert(readers[0] if readers else 0, line)
    return found


def _reads(line: Line | Repeat, name: str) -> bool:
    if isinstance(line, Repeat):
        return name in words([line.head]) or any(_reads(each, name) for each in line.lines)
    return name in words([line.text])


def _once(lines: Sequence[Line]) -> list[Line] | None:
    """The lines, in which the last list that can be appended to is; None if there is none."""
    places = [(place, names) for place in range(len(lines) - 1, -1, -1) for names in _lists(lines[place].text)]
    return next((found for place, names in places if (found := _appended(lines, place, names))), None)


@lru_cache(maxsize=4096)
def _lists(text: str) -> list[list[str]]:
    """The names in each list of a statement that has nothing but names, and none of them twice."""
    lists = [each.elts for each in ast.walk(ast.parse(text)) if isinstance(each, ast.List) and len(each.elts) >= ROUNDS]
    named = [[each.id for each in own if isinstance(each, ast.Name)] for own in lists]
    return [names for names, own in zip(named, lists, strict=True) if len({*names}) == len(own)]


@lru_cache(maxsize=16384)
def _names(text: str, kind: type[ast.expr_context]) -> list[str]:
    """The names that a statement reads (`ast.Load`, also as an argument of a lambda) or assigns (`ast.Store`)."""
    nodes = [*ast.walk(ast.parse(text))]
    arguments = [each.arg for each in nodes if isinstance(each, ast.arg)] * 2  # twice: they have no other name
    return [each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, kind)] + arguments


def _appended(lines: Sequence[Line], place: int, names: list[str]) -> list[Line]:
    """The lines, in which what a list at `place` names has one name, and is appended; none where a line reads one of
    these values when the next has been computed, or they are not computed each by a line of its own."""
    bases = {re.sub(r"_\d+$", "", name) for name in names}
    stored, read = ([_names(line.text, kind) for line in lines] for kind in (ast.Store, ast.Load))
    made = [[k for k, own in enumerate(stored) if name in own] for name in names]
    if len(bases) == 1 and names[0] in bases:
        made[0] = made[0][-1:]  # what has the name before is another value, that the first is computed of
    if len(bases) > 1 or any(
        len(each) != 1 or stored[each[0]] != [name] for name, each in zip(names, made, strict=True)
    ):
        return []
    (base,), at, words = bases, [each for (each,) in made], {name for each in (*stored, *read) for name in each}
    if any(one >= other for one, other in pairwise([*at, place])) or base in (*names[1:], *words - {names[0]}):
        return []
    ends = [*at[1:], len(lines)]  # a value is read until the next one is computed, the last one to the end
    for name, start, end in zip(names, at, ends, strict=True):
        others = [k for k, own in enumerate(read) for each in own if each == name and not start < k <= end]
        before = [k for k in others if k <= start and name == base]  # another value, from before the first
        if len(others) - len(before) != (name != names[-1]) or (name != names[-1] and place not in others):
            return []
    item, own = (base, f"{base}{'es' if base[-1] == 's' else 's'}") if base in names else (base.removesuffix("s"), base)
    own = numbered(safe(own if own != item else f"{own}s"), words)
    if item != base and item in words:
        return []
    found = [lines[at[0]]._replace(text=f"{own} = []", sources=(), note="")]
    spans = [*zip(names, at, ends, strict=True)]
    for k, line in enumerate(lines):
        known = {name: item for name, start, end in spans if start < k <= end}
        text = _Renamed(known, names if k == place else [], own, item if k in at else "").written(line.text)
        found.append(line._replace(text=text))
        if k in at:
            found.append(line._replace(text=f"{own}.append({item})", note=""))
    return found


class _Renamed(ast.NodeTransformer):
    """Gives names that are read others, a list of `whole` the name `own`, and what is assigned the name `base`."""

    def __init__(self, known: Mapping[str, str], whole: list[str], own: str, base: str) -> None:
        self.known, self.whole, self.own, self.base = known, whole, own, base

    def written(self, text: str) -> str:
        return statement_text(self.visit(ast.parse(text))) if self.known or self.whole or self.base else text

    def visit_List(self, node: ast.List) -> Any:
        if self.whole and [getattr(each, "id", None) for each in node.elts] == self.whole:
            return ast.Name(self.own, ast.Load())
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> Any:
        if isinstance(node.ctx, ast.Store):
            return ast.Name(self.base or node.id, node.ctx)
        return ast.Name(self.known.get(node.id, node.id), node.ctx)
