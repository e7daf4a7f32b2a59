"""`python -m jaxvjp run script.py`: runs a script that says `import torch` on jaxvjp."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import jax

from jaxvjp.explain import terminal
from jaxvjp.tools.scripts.check import names_used
from jaxvjp.tools.scripts.many import check_all
from jaxvjp.tools.scripts.names import TABLE, advise, table
from jaxvjp.tools.scripts.processes import run_together
from jaxvjp.tools.scripts.program import run_as_main, started_as
from jaxvjp.tools.scripts.stand_in import as_torch
from jaxvjp.types.tracebacks import without_own_lines


def main(arguments: Sequence[str]) -> int:
    """The command; returns its exit status: the script's own, 1 if it raised, 2 for a wrong call.

    With `--check`: 0 if every name is covered, else 1.
    """
    parser = argparse.ArgumentParser(
        prog="jaxvjp run", description="Runs a script that imports torch on jaxvjp, as it is.", epilog=TABLE
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="do not run it: list every name of torch's that it uses, and whether jaxvjp covers it; without a script, "
        "every name that is covered; of a folder, how many of its scripts and notebooks are",
    )
    parser.add_argument(
        "--devices",
        type=int,
        metavar="N",
        help="have JAX make N devices of this CPU, to try a script for several",
    )
    parser.add_argument(
        "--processes",
        type=int,
        metavar="N",
        help="start it N times, each of which finds in its environment what torchrun would say: its rank and others",
    )
    parser.add_argument("script", nargs="?", type=Path)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what the script finds in sys.argv")
    given = parser.parse_args(arguments)
    if given.script is None:
        if not given.check:
            parser.error("which script?")
        print(table())
        return 0
    if given.check and given.script.is_dir():
        return check_all(given.script)
    if not given.script.is_file():
        parser.error(f"there is no script {str(given.script)!r}")
    if given.check:
        return check(given.script)
    if given.processes is not None:
        if given.processes < 1:
            parser.error(f"--processes {given.processes}: there has to be one")
        devices = [] if given.devices is None else ["--devices", str(given.devices)]
        command = [sys.executable, "-m", "jaxvjp", "run", *devices, str(given.script), *given.arguments]
        return run_together(given.processes, command)
    if given.devices is not None:
        try:
            jax.config.update("jax_num_cpu_devices", given.devices)  # type: ignore[no-untyped-call]
        except (RuntimeError, ValueError) as error:
            parser.error(f"--devices {given.devices}: {error}")
    return run(given.script, given.arguments)


def check(script: Path) -> int:
    """Prints torch's names in the script and whether each is covered; returns 1 if one is not."""
    try:
        used = names_used(script.read_text(encoding="utf-8", errors="replace"), str(script))
    except SyntaxError as error:
        print(f"{script}, line {error.lineno}: SyntaxError: {error.msg}", file=sys.stderr)
        return 2
    rows = [[each.qualified, _lines(each.lines), each.verdict] for each in used]
    terminal.table(["name", "lines", "covered"], rows)
    missing = [each for each in used if not each.covered]
    print(f"{len(used)} names of torch's, {len(missing)} not covered." + (f"\n{TABLE}." if missing else ""))
    return 1 if missing else 0


def _lines(lines: tuple[int, ...]) -> str:
    shown = ", ".join(str(line) for line in lines[:5])
    return shown + (f", ... ({len(lines)})" if len(lines) > 5 else "")


def run(script: Path, arguments: Sequence[str] = ()) -> int:
    """Runs a script as `python script.py arguments` does, with jaxvjp as torch; returns its exit status."""
    try:
        with as_torch(), started_as(script, arguments):
            run_as_main(str(script))
    except SystemExit:
        raise
    except BaseException as error:
        advise(error)
        told = of_script(error, script)
        sys.excepthook(type(told), told, told.__traceback__)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def of_script(error: BaseException, script: Path) -> BaseException:
    """`error` with the part of its traceback that is the script's; without a traceback, where it raised nothing."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename != str(script):
        traceback = traceback.tb_next
    return without_own_lines(error.with_traceback(traceback), also_of_jax=True)
