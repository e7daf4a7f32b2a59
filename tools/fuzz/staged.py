"""Random programs as steps under `jit`: where one disagrees with torch, but does not without `jit`.

What stands in a program's loop becomes the body of a function `step`. Its parameters are the variables from before the
loop, and it returns the variables that it binds. It is called often enough to run as Python, as a program and, where
XLA compiles, in its warm path; the last calls are without `jit`. Arguments and results of each call are compared.
"""

from __future__ import annotations

import ast
import importlib
import textwrap
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jaxvjp
from tools.fuzz.comparing import COMPARED, Disagreement, UndefinedError, close, general, seen, sort_of_error
from tools.fuzz.exceptions import REFUSED
from tools.fuzz.programs import Program, Statement, program_of
from tools.fuzz.running import Failure, Run

STAGED, UNSTAGED = 12, 2
"""So many calls are under `jit`, and so many follow without. From the ninth on a step may be warm."""
LEFT_OUT = frozenset(
    [
        *("hook", "hook of grad_fn", "hook after accumulation", "hook removed", "retain_grad", "del", "collect"),
        *("hook that writes", "NumPy", "array of NumPy"),
        *("leaf of a tensor", "deepcopy", "set_", "resize_", "other modes"),
    ]
)
"""Kinds of statements with which a step would run as Python, or that leave a variable unbound."""
OF_RESULTS = ("shape", "dtype", "requires_grad", "is_leaf", "value")
OF_ARGUMENTS = (*OF_RESULTS, "grad", "grad's value", "_version")
"""What is compared, by its name in `COMPARED`."""
STEP = "<step>"


@dataclass(frozen=True)
class StagedProgram(Program):
    """Statements that run once, and the statements of a step, which is called `rounds` times under `jit`."""

    def __str__(self) -> str:
        return "\n".join([*(each.text for each in self.before), self.step])

    @property
    def step(self) -> str:
        """The text of the function."""
        body = "\n".join([*(each.text for each in self.inside), f"return [{', '.join(bound(self.inside))}]"])
        return f"def step({', '.join(bound(self.before))}):\n{textwrap.indent(body, '    ')}"

    def run(self, module: Any) -> Run:
        """The variables before the first call; `step` is among them."""
        run = Run(module)
        module.manual_seed(0)
        for each in self.before:
            exec(each.text, run.names)
        exec(compile(self.step, STEP, "exec"), run.names)
        return run

    def call(self, run: Run, step: Callable[..., Any]) -> list[Any]:
        results: list[Any] = step(*[run.names[each] for each in bound(self.before)])
        return results


def bound(statements: Iterable[Statement]) -> list[str]:
    """The variables to which they assign, in order."""
    nodes = [node for statement in statements for node in ast.walk(ast.parse(statement.text))]
    return list(
        dict.fromkeys([each.id for each in nodes if isinstance(each, ast.Name) and type(each.ctx) is ast.Store])
    )


def staged_program_of(seed: int, without: frozenset[str] = frozenset()) -> StagedProgram:
    """The program of this seed, without the statements of the step that raise an error in torch."""
    made = program_of(seed, without | LEFT_OUT)
    program = StagedProgram(made.before, made.inside, STAGED)
    torch = importlib.import_module("torch")
    while program.inside:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                run = program.run(torch)
                for _ in range(STAGED + UNSTAGED):
                    program.call(run, run.names["step"])
            break
        except Exception as error:
            lines = [at for at, each in enumerate(program.inside) for _ in each.text.splitlines()]
            at = [each.lineno or 0 for each in traceback.extract_tb(error.__traceback__) if each.filename == STEP]
            place = lines[at[-1] - 2] if at and at[-1] - 2 < len(lines) else 0
            program = replace(program, inside=(*program.inside[:place], *program.inside[place + 1 :]))
    return program


def disagreements(program: StagedProgram, ignored: Iterable[str] = ()) -> Iterator[Disagreement]:
    """The first disagreement, if there is one and the same calls without `jit` have none."""
    found = next(_disagreements(program, set(ignored), partial(jaxvjp.jit, fullgraph=False)), None)
    if found is not None and next(_disagreements(program, set(ignored), lambda step: step), None) is None:
        yield found


def _disagreements(
    program: StagedProgram, ignored: set[str], stage: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> Iterator[Disagreement]:
    theirs, ours = program.run(importlib.import_module("torch")), program.run(jaxvjp)
    unstaged = ours.names["step"]
    staged = stage(unstaged)
    for number in range(program.rounds + UNSTAGED):
        under_jit = number < program.rounds
        where = f"call {number + 1}" + ("" if under_jit else ", without jit")
        returned: list[list[Any]] = []

        def called(_: Any, run: Run, step: Callable[..., Any], returned: list[list[Any]] = returned) -> None:
            returned.append(program.call(run, step))  # a result of `tried` would be in plain values

        expected = theirs.tried(partial(called, run=theirs, step=theirs.names["step"]))
        given = ours.tried(partial(called, run=ours, step=staged if under_jit else unstaged))
        if isinstance(expected, Failure) or (isinstance(given, Failure) and given.sentence.startswith(REFUSED)):
            return
        if isinstance(given, Failure):
            yield Disagreement(sort_of_error(expected, given), f"jaxvjp {general(given)}", "", where, expected, given)
            return
        results = zip(bound(program.inside), *returned, strict=True)
        pairs = [(f"the result's {name}", *both, OF_RESULTS) for name, *both in results]
        pairs += [(name, theirs.names[name], ours.names[name], OF_ARGUMENTS) for name in bound(program.before)]
        try:
            for name, x, mine, compared in pairs:
                for what in [each for each in compared if each not in ignored]:
                    sort, see = COMPARED[what]
                    expected = theirs.tried(partial(seen, see, x))
                    given = ours.tried(partial(seen, see, mine))
                    if not close(expected, given):
                        yield Disagreement(f"{sort}, staged", what, "", f"{name}.{what}, {where}", expected, given)
                        return
        except UndefinedError:
            return
