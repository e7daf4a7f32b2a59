"""`python -m jaxvjp compare script.py ...`: each script under torch and under jaxvjp, and what differs."""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from jaxvjp.explain import terminal
from jaxvjp.tools.comparison.in_process import NO_TORCH
from jaxvjp.tools.comparison.outcome import Side
from jaxvjp.tools.comparison.page import page
from jaxvjp.tools.comparison.process import Input, run_side
from jaxvjp.tools.comparison.report import Report
from jaxvjp.tools.comparison.terminal_view import show
from jaxvjp.tools.comparison.text import TOLERANCE


def main(arguments: Sequence[str]) -> int:
    """The command; returns its exit status: 0 where all scripts agree, 1 where one does not, 2 for a wrong call."""
    parser = argparse.ArgumentParser(
        prog="jaxvjp compare",
        description="Runs each script under torch and under jaxvjp, with the same arguments, working directory, "
        "environment and standard input, and compares what they print, their gradients and their errors.",
        epilog="What comes after -- is for the scripts: jaxvjp compare fit.py -- --steps 3",
    )
    parser.add_argument("scripts", nargs="+", type=Path, metavar="script")
    parser.add_argument(
        "--tolerance",
        type=float,
        default=TOLERANCE,
        help="how far numbers may be apart, relative to the larger one (default: %(default)g)",
    )
    told = "compute in double precision, as is done by itself where numbers differ first: was it rounding?"
    parser.add_argument("--double", action="store_true", help=told)
    parser.add_argument("--timeout", type=float, help="seconds after which a script is stopped, for each side")
    parser.add_argument("--json", action="store_true", help="print a JSON list, with an entry for each script")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write one self-contained page")
    place = list(arguments).index("--") if "--" in arguments else len(arguments)
    given, scripts_own = parser.parse_args(arguments[:place]), arguments[place + 1 :]
    for script in given.scripts:
        if not script.is_file():
            parser.error(f"there is no script {str(script)!r}")
    if importlib.util.find_spec("torch") is None:
        print(f"{NO_TORCH}\n`python -m jaxvjp run {quote(str(given.scripts[0]))}` runs it without.", file=sys.stderr)
        return 2
    reports, standard_input = [], Input()
    for script in given.scripts:
        report = compare_scripts(script, scripts_own, given.timeout, given.tolerance, standard_input, given.double)
        reports.append(report)
        if not given.json:
            if len(reports) > 1:
                print()
            show(report)
    if given.json:
        print(json.dumps([each.as_dict() for each in reports], indent=2))
    elif len(reports) > 1:
        print(f"\n{sum(each.equal for each in reports)} of {len(reports)} scripts agree")
    if given.html:
        given.html.write_text(page(reports), encoding="utf-8")
    return 0 if all(each.equal for each in reports) else 1


def compare_scripts(
    script: Path,
    arguments: Sequence[str] = (),
    timeout: float | None = None,
    tolerance: float = TOLERANCE,
    given: Input | None = None,
    double: bool = False,
) -> Report:
    """Runs one script under both, in two processes, and compares; once more in double precision if numbers differ."""
    with terminal.status(f"{script}") as tell:

        def side(module: str) -> Side:
            under = f"{script} in double precision under" if double else f"{script} under"
            return run_side(module, script, arguments, timeout, given, lambda told: tell(f"{under} {told}"), double)

        report = Report(str(script), side("torch"), side("jaxvjp"), tolerance, double=double)
    if report.differs_in_numbers and not double:
        repeated = compare_scripts(script, arguments, timeout, tolerance, given, True)
        if repeated.torch.comparable == report.torch.comparable:
            report.repeated = repeated
        else:
            report.unrepeated = repeated.torch.ending
    return report
