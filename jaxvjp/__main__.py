"""The command line: `python -m jaxvjp` says what the v of `backward(v)` is, and runs every example.

`python -m jaxvjp 18` shows one example in full; `COMMANDS` lists the other commands.
"""

from __future__ import annotations

import argparse
import difflib
import gc
import importlib
import os
import sys
import textwrap
from collections.abc import Callable, Sequence

import jax

from jaxvjp.explain import terminal
from jaxvjp.tools import kept_programs
from jaxvjp.tools.examples import Answer, Run, examples

COMMANDS = {
    "lesson": ("jaxvjp.tools.course.command", "teach JAX to those who know torch"),
    "bench": ("jaxvjp.tools.bench", "measure a warm step"),
    "explain": ("jaxvjp.tools.explain", "show a script as a functional JAX program; or why its backward() failed"),
    "run": ("jaxvjp.tools.scripts.run", "run a torch script on jaxvjp, or check what it uses"),
    "doctor": ("jaxvjp.tools.doctor", "say what JAX finds here, and whether examples, operators and steps are right"),
    "port": ("jaxvjp.tools.port", "write a torch training script as a JAX script, and prove it"),
    "compare": ("jaxvjp.tools.comparison.command", "run torch scripts under both and compare line by line"),
    "cache": ("jaxvjp.tools.kept_programs", "say where compiled programs are kept, or remove them"),
}
"""By command, its module, which has a `main` and is imported when needed, and its help."""

TAUGHT = "vector_to_vector_with_a_gradient"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit status: 1 if something disagrees, 2 for a wrong call."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given and given[0] in COMMANDS:
        status: int = importlib.import_module(COMMANDS[given[0]][0]).main(given[1:])
        return status
    commands = [f"  {name:<11} {does}" for name, (_, does) in COMMANDS.items()]
    known = examples()
    listed = [f"{each.number:>3} {name}" for name, each in known.items()]
    parser = argparse.ArgumentParser(
        prog="jaxvjp",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Says what the v in y.backward(v) is, and runs the examples: backward, jax.vjp and vᵀJ agree.",
        epilog="\n".join(["commands:", *commands, "", "examples:", *listed]),
    )
    parser.add_argument("name", nargs="?", help="the number or name of an example to show in full, or a command")
    parsed, more = parser.parse_known_args(given)
    name = parsed.name
    if name is None and not more:
        return run_all()
    named = known | {str(each.number): each for each in known.values()}
    if more and (name is None or name in named):
        parser.error(f"unrecognized arguments: {' '.join(more)}")
    if name not in named:
        print(f"There is no example or command {name!r}.", file=sys.stderr)
        parts = [] if name.lstrip("-").isdigit() else [each for each in known if name in each]
        close = difflib.get_close_matches(name, [*known, *COMMANDS], n=1) or parts
        print(f"Did you mean {close[0]!r}?" if close else "\n".join(["Examples:", *listed]), file=sys.stderr)
        return 2
    return show(named[name].run())


def run_all() -> int:
    """Says what v, J and vᵀJ are, in the numbers of one example; then runs every example, one line for each."""
    known = examples()
    terminal.heading("What is v in y.backward(v)? Take x = [1, 2], y = 3 * x**2 and v = [1, 10].")
    print(taught(known[TAUGHT].run().answers[0]))
    print(f"\nBy backward, by jax.vjp, as vᵀJ, and with a document's numbers, on {device()}:\n")
    runs = [each.run() for each in terminal.progress(list(known.values()), "running the examples")]
    rows = []
    for run in runs:
        first = run.answers[0]
        shown = [(terminal.numbers(each), each.size) for each in (first.v, first.product)]
        cells = [text if len(text) < 18 else f"{size} numbers" for text, size in shown]
        rows.append([f"{run.example.number:>2}", run.example.name, *cells, "yes" if run.agrees else "NO"])
    print(terminal.aligned(["", "example", "v", "vᵀJ", "agree"], rows))
    disagreeing = [run.example.name for run in runs if not run.agrees]
    print(f"\n{len(runs) - len(disagreeing)} agree" + f"; disagreeing: {', '.join(disagreeing)}" * bool(disagreeing))
    print("In full, with J: python -m jaxvjp 18. A course: python -m jaxvjp lesson 1")
    return 1 if disagreeing else 0


def taught(answer: Answer) -> str:
    """J, v and vᵀJ in words and in the numbers of an answer."""
    columns, rows = (terminal.labels(name, size) for name, size in (("x", (2,)), ("y", (2,))))
    drawn = terminal.matrix("J", answer.jacobian, rows, columns).splitlines()
    said = ["   J, the Jacobian: its row y[0] says how fast y[0] grows", "   with x[0], and how fast with x[1].", ""]
    weighted = " + ".join(
        f"{weight:g} * {terminal.numbers(row)}" for weight, row in zip(answer.v, answer.jacobian, strict=True)
    )
    return "\n".join(
        [
            "",
            *[f"  {one:19}{other}".rstrip() for one, other in zip(drawn, said, strict=True)],
            "",
            "v has a weight for each row of J: how much that element of y is to count.",
            "backward adds the weighted rows up. x.grad has a number for each column of J:",
            f"  x.grad = vᵀJ = {weighted} = {terminal.numbers(answer.backward)}",
            "A loss is one number: J has one row, v is 1, and loss.backward() needs no v.",
        ]
    )


def show(run: Run) -> int:
    """Prints one example in full: its text, both forms, and the matrices."""
    terminal.heading(run.example.title)
    print("\n" + "\n\n".join(map(terminal.wrapped, run.example.text.split("\n\n"))) + "\n")
    for document in run.documents:
        print(terminal.wrapped(f"It is from {document.title[0].lower() + document.title[1:]}"))
    print(f"The numbers below are computed on {device()}.\n")
    for head, function in (("you wrote", "imperative"), ("this is", "functional")):
        terminal.heading(f"{head}:")
        print(textwrap.indent(run.example.source(function), "    ") + "\n")
    for answer in run.answers:
        terminal.heading(f"{answer.name}:")
        print(textwrap.indent(answer.matrices, "    "))
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
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `python -m jaxvjp lesson 1 | head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python writes the rest at its end
        return 1
    return status


if __name__ == "__main__":
    sys.exit(process())
