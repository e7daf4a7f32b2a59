"""`python -m jaxvjp explain script.py`: runs a script, and shows it as a functional JAX program."""

from __future__ import annotations

import argparse
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from operator import methodcaller
from pathlib import Path
from traceback import walk_tb
from typing import Any

import jax
import jax.numpy as jnp

from jaxvjp.core.record.user_lines import located
from jaxvjp.explain.decisions import DECIDED, decisions, said
from jaxvjp.explain.explanation import Explanation, recording
from jaxvjp.explain.names import told_at
from jaxvjp.explain.picture import LARGEST, Picture
from jaxvjp.explain.refusal import Refusal, line_of
from jaxvjp.explain.source import STYLES, Program, configured, executed
from jaxvjp.explain.wrapped import NO_COPY
from jaxvjp.tools.scripts.program import run_as_main, started_as, to_standard_error
from jaxvjp.tools.scripts.run import of_script
from jaxvjp.tools.scripts.stand_in import as_torch

FAULT = 3
"""The exit status where this package has failed."""
DRAWN: dict[str, Callable[[Picture], str]] = {".svg": methodcaller("svg"), ".mmd": methodcaller("mermaid"), ".txt": str}
"""How a picture is written, by the ending of the file."""


def main(arguments: Sequence[str]) -> int:
    """The command; returns its exit status: 1 where the script raised or has nothing to show, 2 for a wrong call, FAULT
    where this package has failed."""
    parser = argparse.ArgumentParser(
        prog="jaxvjp explain",
        description="Runs a script and prints it as a functional JAX program.",
    )
    parser.add_argument("--style", choices=STYLES, default="grad", help="how gradients are taken")
    parser.add_argument("--exact", action="store_true", help="ops with torch's derivatives also at edges")
    parser.add_argument("--line", type=int, metavar="N", help="only what became of this line of the script")
    parser.add_argument("--jaxpr", action="store_true", help="also the jaxpr of each function with its pullback")
    parser.add_argument("--hlo", action="store_true", help="also what XLA compiled of it")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page to step through")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the graph: .svg, .mmd (Mermaid) or .txt")
    parser.add_argument("script", type=Path)
    parser.add_argument("arguments", nargs="*", help="what the script finds in sys.argv, after --")
    given = parser.parse_intermixed_args(arguments)
    if not given.script.is_file():
        parser.error(f"there is no script {str(given.script)!r}")
    if given.script.suffix == ".ipynb":
        parser.error("a notebook explains itself: `with torch.explain.recording() as story:` and `story` in a cell")
    if given.picture is not None and given.picture.suffix not in DRAWN:
        parser.error(f"a picture is written to {', '.join(DRAWN)}, not to {given.picture.name}")
    explanation, status = recorded(
        given.script, given.arguments, given.style, given.html is not None, given.exact, asking=True
    )
    transforms = explanation is not None and (status == 1 or explanation.transforms)
    if explanation is None or not (explanation.walks or explanation.question):
        for each in filter(None, (None if transforms else given.html, given.picture)):
            print(f"{each} is not written: there is no backward pass to show", file=sys.stderr)
        given.picture = None
    if explanation is None:
        return status
    if not transforms:
        print(
            f"{given.script} calls no backward and no autograd.grad that comes to its end, and no transform of "
            "torch.func: there is no gradient to explain",
            file=sys.stderr,
        )
        return 1
    return max(status, show(explanation, given))


def show(explanation: Explanation, given: Any) -> int:
    """Prints and writes what was asked for. If a part of it cannot be, that is said, the rest is shown, and the status
    is that of the worst."""

    def text() -> None:
        program = explanation.program
        print(program.source if given.line is None else about_line(program, str(given.script), given.line), end="")
        if given.jaxpr or given.hlo:
            for name, text in lowered(program, given.hlo):
                print(f"\n# {name} and its pullback, {'compiled' if given.hlo else 'as a jaxpr'}:\n{text}")
        for each in program.handed_over:
            print(f"{given.script}: {NO_COPY.format(each)}", file=sys.stderr)
        last = {event.where: event.what for event in explanation.story.passes}  # of each line the last pass
        read = [each for walked in last.values() for each in explanation.read(walked)]
        decided = said(explanation.asked_of, str(given.script), read)
        if given.line is None and decided:
            print(f"\n# {DECIDED}", *[f"#     {each}" for each in decided], sep="\n")
        asked = explanation.question and located(explanation.question.where)
        of_line = given.line is None or (asked and (asked.filename, asked.number) == (str(given.script), given.line))
        if of_line and (remarks := explanation.remarks()):
            print(f"\n{remarks}")

    def picture() -> None:
        drawn = explanation.picture(fold=LARGEST)
        given.picture.write_text(DRAWN[given.picture.suffix](drawn) + "\n", encoding="utf-8")

    parts = [text]
    parts += [] if given.picture is None else [picture]
    parts += [] if given.html is None else [lambda: explanation.save(given.html)]
    return max([attempt(part, given.script) for part in parts])


def attempt(part: Callable[[], Any], script: Path) -> int:
    """Does a part of what was asked for: 0, or 1 with the reason where it is refused, 2 where a file cannot be written,
    FAULT with a report."""
    try:
        part()
    except Refusal as error:
        print(f"{script}: {told_at(error.where, str(script))}{error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        raise
    except OSError as error:
        print(f"{script}: {error}", file=sys.stderr)
        return 2
    except Exception as error:
        return fault(error, script)
    return 0


def fault(error: Exception, script: Path) -> int:
    """Reports an error of this package's own, which no one raised as a `Refusal`; FAULT, the status for it."""
    traceback.print_exception(error)
    print(
        f"{script}: {told_at(line_of(error), str(script))}{type(error).__name__}: {error}\n"
        "This is a fault of jaxvjp, and says nothing about the script. Please report it, with the traceback above.",
        file=sys.stderr,
    )
    return FAULT


def recorded(
    script: Path,
    arguments: Sequence[str],
    style: str,
    watched: bool = False,
    exact: bool = False,
    asking: bool = False,
    tell: Callable[..., None] | None = None,
) -> tuple[Explanation | None, int]:
    """The recording of a script, run as by `python script.py arguments`, and 0; None and the exit status if it raised,
    which `tell` prints, by itself as Python does; if `asking`, what ran before the error, if a backward did or has
    raised it.

    What the script prints goes to standard error, as standard output is the program that it was. Its lines are
    `watched` as they run for a page."""
    story = recording(style, lines=watched, exact=exact)
    try:
        with (
            to_standard_error(),
            as_torch(),
            started_as(script, arguments),
            story.of_a_script(str(script)),
            decisions() as story.asked_of,
        ):
            story.finish(run_as_main(str(script)))
    except SystemExit as leaving:
        if leaving.code not in (None, 0):
            print(f"{script} left with status {leaving.code}", file=sys.stderr)
            return story if asking and story.walks else None, 1
    except (Exception, KeyboardInterrupt) as error:
        raised = error.__traceback__
        shown = of_script(error, script).__traceback__
        if shown is None and not isinstance(error, SyntaxError):  # it was not raised by the script
            if isinstance(error, KeyboardInterrupt):
                raise
            return None, fault(error.with_traceback(raised), script)
        if re.search(r"^'(float|int|bool|complex|list|numpy\.\w+)' object has no attribute 'backward'$", str(error)):
            error.add_note(
                "It is numbers, as .item() and .numpy() copy them, which no gradient goes through: leave that out."
            )
        (tell or sys.excepthook)(type(error), error, shown)
        if not asking:
            return None, 1
        modules = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(raised)]
        failed = any(each.startswith("jaxvjp.autograd.") for each in modules)
        computed = any(each.inputs for each in story.story.shown)
        return (story if story.walks or story.question or (computed and failed) else None), 1
    return story, 0


def about_line(program: Program, script: str, number: int) -> str:
    """The lines of a program that come from one line of the script."""
    found = [
        text.strip()
        for text, sources in zip(program.source.splitlines(), program.lines, strict=True)
        if any(line == number and filename == script for filename, line, _ in sources)
    ]
    return "\n".join(dict.fromkeys(found) or [f"nothing of the program comes from line {number}"]) + "\n"


def lowered(program: Program, compiled: bool) -> list[tuple[str, str]]:
    """For each function with a pullback its name, and the jaxpr of function and pullback, or XLA's compiled program."""
    found = []
    namespace = executed(program)
    with configured(program):
        for name, (arguments, count) in program.calls.items():
            given = [eval(argument, namespace) for argument in arguments]

            def both(*own: Any, function: Any = namespace[name], rest: Any = given[count:]) -> Any:
                values, pullback, *_ = jax.vjp(lambda *own: function(*own, *rest), *own)
                return values, pullback(jax.tree.map(jnp.ones_like, values))

            given = given[:count]
            text = jax.jit(both).lower(*given).compile().as_text() if compiled else str(jax.make_jaxpr(both)(*given))
            found.append((name, text or ""))
    return found
