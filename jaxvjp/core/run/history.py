"""Which programs were compiled last, for which of the user's lines, and why a line needed another program.

`recompiles()` says why programs were compiled again, `explain_program()` how programs are compiled. With
`JAXVJP_LOG=recompiles` in the environment, each recompile prints a line on standard error.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from jaxvjp.core.record.user_lines import Location, UserLine, located
from jaxvjp.core.run.compilation import Executable, told_of_compiles
from jaxvjp.core.run.program import Equation, Program
from jaxvjp.types.environment import from_environment, one_of

REMEMBERED = 256


class Recompile(NamedTuple):
    """A program that was compiled for a line of the user's for which another one had been compiled before."""

    line: Location | None
    operations: int
    change: str

    def __str__(self) -> str:
        stands = "a program" if self.line is None else f"{self.line.filename}:{self.line.number}"
        return f"{stands} was compiled again ({self.operations} operations): {self.change}"


class History:
    """The programs compiled last, each with the line that asked for it, and the recompiles among them."""

    def __init__(self) -> None:
        self.programs: deque[tuple[UserLine, Executable]] = deque(maxlen=REMEMBERED)
        self.recompiles: deque[Recompile] = deque(maxlen=REMEMBERED)
        self.told = from_environment("JAXVJP_LOG", "", one_of("recompiles")) == "recompiles"

    def compiled(self, where: UserLine, executable: Executable) -> None:
        """Notes a program that is compiled for the line `where`."""
        before = next((each for line, each in reversed(self.programs) if line == where), None)
        self.programs.append((where, executable))
        if before is not None:
            change = difference(before.program, executable.program)
            self.recompiles.append(Recompile(located(where), executable.program.weight, change))
            if self.told:
                print(f"jaxvjp: {self.recompiles[-1]}", file=sys.stderr)


history = History()
told_of_compiles.append(history.compiled)


def recompiles() -> list[Recompile]:
    """The last recompiles (at most 256): the line, the size of the program, and what about it changed.

    A Python number that changes is no reason for one; a shape, a dtype, another operation, or another value that is
    still held are. torch's counterpart is `TORCH_LOGS=recompiles`.
    """
    return list(history.recompiles)


def difference(old: Program, new: Program) -> str:
    """The first difference between two programs, as a sentence."""
    if len(new.equations) != len(old.equations):
        return f"{_count(new)} where there were {_count(old)}"
    for number, (was, now) in enumerate(zip(old.equations, new.equations, strict=True)):
        if was != now:
            return _changed(number, was, now)
    for before, after in zip(old.arguments, new.arguments, strict=False):
        if before is not after:
            return f"an operand is {after} and was {before}"
    if len(new.outputs) != len(old.outputs):
        more = len(new.outputs) > len(old.outputs)
        return f"{len(new.outputs)} results are wanted where there were {len(old.outputs)}: " + (
            "one more tensor is still held" if more else "a tensor is no longer held"
        )
    return "other results are wanted"


def _changed(number: int, was: Equation, now: Equation) -> str:
    (old, old_static, _), (new, new_static, _) = was, now
    if new is not old:
        return f"operation {number} is {new.name} and was {old.name}"
    for name, before, after in zip((*new.static_names, "form"), old_static, new_static, strict=False):
        if before != after:
            if isinstance(after, Program):
                return difference(before, after)
            return f"{new.name} has {name}={after!r} and had {before!r}"
    return f"{new.name} (operation {number}) reads other operands"


def _count(program: Program) -> str:
    inside = [each for _, static, _ in program.equations for each in static if isinstance(each, Program)]
    return f"{max([program.weight, *[each.weight for each in inside]])} operations"


def explain_program(last: int = 10) -> str:
    """The programs compiled last, as text: the line, the number of operations, and how each is compiled.

    A hot program was timed in several ways; the microseconds of each way are told, and which one was taken. Where only
    one is named, there was no reason to look further, or not yet.
    """
    return "\n".join(_described(list(history.programs)[-last:]))


def _described(programs: Iterable[tuple[UserLine, Executable]]) -> Iterable[str]:
    for where, executable in programs:
        line = located(where)
        choice = executable.choice
        timed = ", ".join(f"{name} {each * 1e6:.0f} µs" for name, each in choice.seconds.items())
        stands = "?" if line is None else f"{line.filename}:{line.number}"
        yield f"{stands}: {executable.program.weight} operations, compiled {choice}" + (f" ({timed})" if timed else "")
