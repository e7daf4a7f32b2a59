"""Makes random programs as text, from the table `kinds.KINDS`: `program_of(17)` is always the same program.

`reduced` deletes the statements that a program does not need to go wrong.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from tools.fuzz.kinds import KINDS, Kind
from tools.fuzz.model import Holes, Model, NotThereError


class Statement(NamedTuple):
    kind: str
    text: str


@dataclass(frozen=True)
class Program:
    """Statements that run once, and statements that run in each round of a loop.

    To compare is to compute, so some programs are compared after each "statement", some after each "round" and some
    at the "end": what goes wrong only where nothing was computed yet shows in the latter.
    """

    before: tuple[Statement, ...]
    inside: tuple[Statement, ...]
    rounds: int = 3
    compared: str = "statement"

    def __str__(self) -> str:
        loop = f"for round in range({self.rounds}):  # compared: {self.compared}"
        inside = textwrap.indent("\n".join([each.text for each in self.inside] or ["pass"]), "    ")
        return "\n".join([*(each.text for each in self.before), loop, inside])


def statement_of(model: Model, kind: Kind) -> Statement | None:
    """A statement of this kind, or None where it does not apply; one in twenty is made all the same."""
    x = None
    if kind.when is not None:
        wild = model.random.random() < 0.05
        if not (xs := [name for name in model.names.values() if wild or kind.when(name)]):
            return None
        x = model.random.choice(xs)
    texts = {text: shape for text, to in kind.texts.items() if (shape := to(x.shape if x else ())) is not None}
    if not texts:
        return None
    text = model.random.choice(list(texts))
    holes = Holes(model, x)
    try:
        statement = Statement(kind.name, text.format_map(holes))
    except NotThereError:
        return None
    kind.after(holes, texts[text])
    return statement


def statements_of(model: Model, kinds: list[Kind], number: int) -> Iterator[Statement]:
    """So many statements, or fewer where hardly any kind applies: then the program is short."""
    for kind in model.random.choices(kinds, [each.weight for each in kinds], k=100 * number):
        if number and (statement := statement_of(model, kind)):
            yield statement
            number -= 1


def program_of(seed: int, without: frozenset[str] = frozenset()) -> Program:
    """The program of this seed. Each leaves out some of the kinds of statements, so that others meet more often."""
    model = Model(seed)
    usual = {"arithmetic", "backward"}
    kinds = [each for each in KINDS if each.name in usual or model.random.random() < 0.6]
    kinds = [kind for kind in kinds if kind.name not in without]
    start = [each for each in KINDS if each.name in ("leaf", "plain")]
    before = (*statements_of(model, start[1:], 1), *statements_of(model, start, model.random.randint(0, 2)))
    for name in model.names.values():
        name.stays = True
    inside = tuple(statements_of(model, kinds, model.random.randint(3, 14)))
    return Program(before, inside, 3, model.random.choice(("statement", "statement", "round", "end")))


def reduced(program: Program, disagrees: Callable[[Program], bool]) -> Program:
    """The program without what it does not need to disagree: statements in halves, quarters and so on, and rounds."""
    for rounds in range(1, program.rounds):
        if disagrees(shorter := replace(program, rounds=rounds)):
            program = shorter
            break
    for part in ("inside", "before", "inside"):
        size = len(getattr(program, part))
        while size:
            at = 0
            while at < len(kept := getattr(program, part)):
                shorter = replace(program, **{part: kept[:at] + kept[at + size :]})
                if disagrees(shorter):
                    program = shorter
                else:
                    at += size
            size //= 2
    return program
