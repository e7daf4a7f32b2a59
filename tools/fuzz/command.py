"""`python -m tools.fuzz --programs 500 --seed 0`: random programs under torch and under jaxvjp, and what differs.

Programs run in processes of their own, a hundred in each, so that a crash costs one program. Of each kind of
disagreement the command prints how often it occurs, and for the most frequent ones a program that is reduced to a few
lines. With `--journal FILE` every program is noted when it is done; the next run goes on where the last one ended. With
`--staged` programs are steps under `jit`.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import jax

from jaxvjp.tools.comparison.in_process import NO_TORCH
from tools.fuzz import staged
from tools.fuzz.comparing import Compare, Disagreement, disagreements, found_in
from tools.fuzz.programs import Program, program_of, reduced

SECONDS, AT_ONCE = 60, 100
"""How long a program may run, and how many run in one process."""

Kind = tuple[str, str, str]


class Stopped(BaseException):
    """A program took too long."""


def within(seconds: int, function: Callable[[], Any]) -> Any:
    """What it returns, or Stopped after so many seconds."""

    def stop(*_: object) -> None:
        raise Stopped

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1)  # again each second: in a callback of the collector it is ignored
    try:
        return function()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def prepare() -> None:
    """For a process that runs many small programs: XLA compiles fast, and `gc.collect()` searches little."""
    jax.config.update("jax_disable_most_optimizations", True)  # type: ignore[no-untyped-call]
    gc.freeze()


def way(options: argparse.Namespace) -> tuple[Callable[..., Program], Compare]:
    """What makes the program of a seed, and what compares it."""
    return (staged.staged_program_of, staged.disagreements) if options.staged else (program_of, disagreements)


def work(options: argparse.Namespace, seeds: range) -> None:
    """In a process of its own: a line of JSON for each program, with the kind of its disagreement if there is one."""
    prepare()
    importlib.import_module("torch")  # which takes long, but is no part of the first program's time
    made, compare = way(options)
    for seed in seeds:
        try:
            program = made(seed, options.without)
            found = within(SECONDS, partial(found_in, program, options.ignore, compare))
            kinds = [each.kind for _, each in found.values()]
        except Stopped:
            kinds = [("timeout", "", "")]
        except Exception as error:  # of the comparison, not of a statement
            kinds = [("error of a comparison", f"{type(error).__name__}: {error}"[:90], "")]
        print(json.dumps([seed, kinds]), flush=True)


def worked(options: argparse.Namespace, seeds: range) -> Iterator[tuple[int, list[Kind]]]:
    """The lines of such a process, and of the next where one crashes."""
    environment = {**os.environ, **({} if options.tier is None else {"JAXVJP_XLA": options.tier})}
    named = ["--without", ",".join(options.without), "--ignore", ",".join(options.ignore)]
    named += ["--staged"] * options.staged
    while seeds:
        share = ["--worker", "--seed", str(seeds.start), "--programs", str(len(seeds))]
        command = [sys.executable, "-m", "tools.fuzz", *share, *named]
        lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment).stdout.splitlines()
        for line in lines:
            seed, kinds = json.loads(line)
            yield seed, [tuple(kind) for kind in kinds]
        seeds = seeds[len(lines) :]
        if seeds:
            yield seeds[0], [("crash", "", "")]
            seeds = seeds[1:]


def smallest(seed: int, kind: tuple[str, str], options: argparse.Namespace) -> str:
    """The program of a seed, reduced to one disagreement, and both outcomes."""
    made, compare = way(options)
    there = found_in(made(seed, options.without), options.ignore, compare)
    if kind not in there:
        return f"seed {seed}: not seen again in this process"
    program, _ = there[kind]

    def found(shorter: Program) -> Disagreement | None:
        return next((each for each in compare(shorter, options.ignore) if each.kind[:2] == kind), None)

    program = reduced(program, lambda shorter: found(shorter) is not None)
    return f"{program}\n{found(program)}"


def shares(options: argparse.Namespace, done: set[int]) -> list[range]:
    """The seeds that are not done yet, in ranges for one process each."""
    seeds = range(options.seed, options.seed + options.programs)
    size = max(1, min(AT_ONCE, -(-len(seeds) // options.processes)))
    ranges = [seeds[at : at + size] for at in range(0, len(seeds), size)]
    return [each for each in ranges if not done.issuperset(each)]


def main(arguments: Sequence[str]) -> int:
    """The command; returns its exit status: 0 where all programs agree, 1 where one disagrees, 2 for a wrong call."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=200, help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="that of the first program; the next has the next number")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--reduce", type=int, default=10, help="of how many kinds of disagreement a program is reduced")
    parser.add_argument("--journal", type=Path, metavar="FILE", help="where done programs are noted, a line for each")
    parser.add_argument("--tier", choices=["never", "always"], help="whether XLA compiles; default: when it pays")
    names: dict[str, Any] = {"type": lambda text: frozenset(text.split(",")) - {""}, "default": frozenset()}
    parser.add_argument("--without", help="kinds of statements to leave out, with commas between them", **names)
    parser.add_argument("--ignore", help="what not to compare, such as _version,stride", **names)
    parser.add_argument(
        "--oracle",
        choices=["torch", "differences"],
        default="torch",
        help="what gradients are compared with: torch, or central differences and the explained text, without torch",
    )
    parser.add_argument("--staged", action="store_true", help="what stands in the loop is a function, under jit")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.oracle == "differences":
        from tools.fuzz import differences

        return differences.report(range(options.seed, options.seed + options.programs), options.without)
    if importlib.util.find_spec("torch") is None:
        print(NO_TORCH, file=sys.stderr)
        return 2
    if options.worker:
        work(options, range(options.seed, options.seed + options.programs))
        return 0
    if options.programs == 1:
        print(way(options)[0](options.seed, options.without))
    known = options.journal.read_text().splitlines() if options.journal and options.journal.exists() else []
    results: dict[int, list[Kind]] = {seed: [tuple(each) for each in kinds] for seed, kinds in map(json.loads, known)}
    seeds_of = run_all(options, results)
    print(summary(results))
    often = sorted(seeds_of, key=lambda kind: -len(seeds_of[kind]))
    for kind in often:
        print(f"{len(seeds_of[kind]):6}  {' | '.join(kind)}  {seeds_of[kind][:4]}")
    prepare()
    for kind in [each for each in often if each[1]][: options.reduce]:
        text = smallest(seeds_of[kind][0], kind[:2], options)
        print(f"\n## {len(seeds_of[kind])}: {' | '.join(kind)}\n{text}", flush=True)
    return 1 if seeds_of else 0


def summary(results: dict[int, list[Kind]]) -> str:
    """How many programs have run, and how many of them disagree."""
    return f"{len(results)} programs: {sum(map(bool, results.values()))} disagree"


def run_all(options: argparse.Namespace, results: dict[int, list[Kind]]) -> dict[Kind, list[int]]:
    """Runs the programs that have no result yet; the seeds of each kind of disagreement."""
    start, before = time.monotonic(), len(results)
    with ThreadPoolExecutor(options.processes) as pool:
        for share in pool.map(lambda share: list(worked(options, share)), shares(options, {*results})):
            results |= dict(share)
            if options.journal:
                with options.journal.open("a") as journal:
                    journal.writelines(json.dumps(each) + "\n" for each in share)
            rate = (len(results) - before) / (time.monotonic() - start)
            print(f"{summary(results)}, {rate:.1f} a second", flush=True)
    seeds_of: dict[Kind, list[int]] = defaultdict(list)
    for seed in sorted(results):
        for kind in results[seed]:
            seeds_of[kind].append(seed)
    return seeds_of
