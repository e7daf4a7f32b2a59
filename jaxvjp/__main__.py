"""The command line: `python -m jaxvjp` runs every example and compares four answers.

`python -m jaxvjp NAME` shows one example in full; `COMMANDS` lists the other commands.
"""

from __future__ import annotations

import argparse
import difflib
import gc
import importlib
import os
import sys
from collections.abc import Callable, Sequence

import jax

from jaxvjp.explain import terminal
from jaxvjp.tools import kept_programs
from jaxvjp.tools.examples import Run, documents, examples

COMMANDS = {
    "lesson": ("jaxvjp.tools.course.command", "teach JAX to those who know torch"),
    "bench": ("jaxvjp.tools.bench", "measure a warm step"),
    "explain": ("jaxvjp.tools.explain", "show the functional program that a script was"),
    "run": ("jaxvjp.tools.scripts.run", "run a torch script on jaxvjp, or check what it uses"),
    "doctor": ("jaxvjp.tools.doctor", "say what JAX finds here, and whether examples, operators and steps are right"),
    "port": ("jaxvjp.tools.port", "write a torch training script as a JAX script, and prove it"),
    "compare": ("jaxvjp.tools.comparison.command", "run torch scripts under both and compare line by line"),
    "cache": ("jaxvjp.tools.kept_programs", "say where compiled programs are kept, or remove them"),
}
"""By command, its module, which has a `main` and is imported when needed, and its help."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit status: 1 if something disagrees, 2 for a wrong call."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given and given[0] in COMMANDS:
        status: int = importlib.import_module(COMMANDS[given[0]][0]).main(given[1:])
        return status
    commands = [f"  {name:<11} {does}" for name, (_, does) in COMMANDS.items()]
    parser = argparse.ArgumentParser(
        prog="jaxvjp",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Runs the examples: what backward(gradient) gives, what jax.vjp gives, and vᵀJ.",
        epilog="\n".join(["commands:", *commands, "", "examples:", *[f"  {name}" for name in examples()]]),
    )
    parser.add_argument("name", nargs="?", help="an example to show in full, or a command; without it all examples run")
    name = parser.parse_args(given).name
    known = examples()
    if name is None:
        return run_all()
    if name not in known:
        print(f"There is no example {name!r}.", file=sys.stderr)
        close = difflib.get_close_matches(name, known, n=1)
        if close:
            print(f"Did you mean {close[0]!r}?", file=sys.stderr)
        print("Examples: " + ", ".join(known), file=sys.stderr)
        return 2
    return show(known[name].run())


def run_all() -> int:
    """Runs every example and prints a table for each document, one line for each gradient."""
    terminal.heading(f"device: {device()}")
    runs = [each.run() for each in terminal.progress(list(examples().values()), "running the examples")]
    for document in documents().values():
        terminal.heading(f"\n{document.question}")
        print(document.title + "\n")
        rows = [
            [
                run.example.name,
                answer.name,
                *[terminal.numbers(each) for each in (answer.backward, answer.vjp, answer.product, answer.number)],
                "yes" if answer.agrees else "NO",
            ]
            for run in runs
            if document in run.documents
            for answer in run.answers
        ]
        terminal.table(["example", "gradient", "backward", "jax.vjp", "vᵀJ", "the document", "agree"], rows)
    disagreeing = [run.example.name for run in runs if not run.agrees]
    print(f"\n{len(runs)} examples, " + (f"disagreeing: {', '.join(disagreeing)}" if disagreeing else "all agree"))
    return 1 if disagreeing else 0


def show(run: Run) -> int:
    """Prints one example in full: its text, both forms, and the matrices."""
    terminal.heading(run.example.title)
    print(f"\n{run.example.text}\n")
    for document in run.documents:
        print(f"It is from {document.title[0].lower() + document.title[1:]}")
    print(f"The numbers below are computed on {device()}.\n")
    for head, function in (("you wrote", "imperative"), ("this is", "functional")):
        terminal.heading(f"{head}:")
        print("\n".join("    " + line if line else "" for line in run.example.source(function).splitlines()) + "\n")
    for answer in run.answers:
        terminal.heading(f"{answer.name}:")
        print("\n".join("    " + line for line in answer.matrices.splitlines()))
        verdict = "agree" if answer.agrees else "DISAGREE"
        print(
            f"    backward {terminal.numbers(answer.backward)}, jax.vjp {terminal.numbers(answer.vjp)}, the document "
            f"{terminal.numbers(answer.number)}: {verdict}\n"
        )
    return 0 if run.agrees else 1


def device() -> str:
    """JAX's default device, by platform and name."""
    first = jax.devices()[0]
    platform = {"cpu": "CPU", "gpu": "GPU", "tpu": "TPU"}.get(first.platform, first.platform)
    return platform if first.device_kind.lower() == first.platform else f"{platform} ({first.device_kind})"


def process(run: Callable[[], int] = main) -> int:
    """`main`, or another command, in a process of its own, which keeps what it compiles.

    The garbage collector does not look again at what the imports made, 150,000 objects: a script that traces much, or
    records 10,000 operations, takes a tenth less.
    """
    kept_programs.keep()
    gc.freeze()
    try:
        status = run()
        sys.stdout.flush()
    except BrokenPipeError:  # `python -m jaxvjp lesson 1 | head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python writes the rest at its end
        return 1
    return status


if __name__ == "__main__":
    sys.exit(process())
