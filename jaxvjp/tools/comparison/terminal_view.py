"""Prints a report: with colours on a terminal, plain when piped."""

from __future__ import annotations

import contextlib
import io
import itertools
from collections.abc import Iterable

from jaxvjp.explain import terminal
from jaxvjp.tools.comparison.gradients import LEAF_HEADS, MARKS, CallPair, Leaf, cells
from jaxvjp.tools.comparison.outcome import SIDE_HEADS, Outcome, Side
from jaxvjp.tools.comparison.text import CLOSE, DIFFERENT, SAME, Line

_RANK = {SAME: 0, CLOSE: 1, DIFFERENT: 2}
STYLES = {SAME: "", CLOSE: "yellow", DIFFERENT: "bold red"}
FEW = 40
"""Up to this many consecutive lines with the same verdict are shown; of more, only the first and the last ones."""
ENDS = {SAME: 2, CLOSE: 4, DIFFERENT: 10}
FEW_CALLS = 10
"""Up to this many backward passes are shown one by one; more are merged, with the worst differences."""


def text(report: Outcome) -> str:
    """The report as plain text."""
    with contextlib.redirect_stdout(io.StringIO()) as written:
        show(report)
    return written.getvalue().rstrip("\n")


def show(report: Outcome) -> None:
    """Prints the report."""
    terminal.heading(report.answer, style="bold green" if report.equal else "bold red")
    print(report.summary)
    sides = (report.torch, report.jaxvjp)
    terminal.table(list(SIDE_HEADS), [side.cells for side in sides], ["" if report.endings_agree else "bold red"] * 2)
    if report.lines:
        print()
        _show_lines(report.lines)
    if report.calls:
        print()
        _show_calls(report.calls)
    if report.results:
        print()
        _show_leaves("result", [("", result) for result in report.results])
    for side in sides:
        _show_errors(side, report.endings_agree and not report.unanswered)


def _shortened(verdicts: list[str]) -> Iterable[tuple[int, int]]:
    """The indices of the lines to show, each with the number of lines left out before it."""
    position = 0
    for verdict, group in itertools.groupby(verdicts):
        count, ends = len(list(group)), ENDS[verdict]
        skipped = count - 2 * ends if count > FEW else 0
        for place in range(count):
            if not skipped or place < ends or place >= ends + skipped:
                yield position + place, skipped if place == ends + skipped else 0
        position += count


def _show_lines(lines: list[Line]) -> None:
    rows, styles = [], []
    for number, skipped in _shortened([each.verdict for each in lines]):
        if skipped:
            rows.append(["", MARKS[lines[number].verdict], f"... {skipped} more"])
            styles.append("dim")
        line = lines[number]
        if line.verdict == SAME:
            rows.append([str(number + 1), "=", line.torch or ""])
            styles.append("")
            continue
        for side, printed in (("torch", line.torch), ("jaxvjp", line.jaxvjp)):
            shown = "(no such line)" if printed is None else printed
            rows.append([str(number + 1) if side == "torch" else "", MARKS[line.verdict], f"{side:<6} | {shown}"])
            styles.append(STYLES[line.verdict])
    terminal.table(["line", "", "printed"], rows, styles)


def _show_calls(calls: list[CallPair]) -> None:
    """Shows backward passes one by one; if they are many, merged by line, except the first that differ."""
    differing = [number for number, each in enumerate(calls) if each.verdict == DIFFERENT][: ENDS[DIFFERENT]]
    apart = differing if len(calls) > FEW_CALLS else list(range(len(calls)))
    apart = [number for number in apart if not calls[number].one_sided]
    shown = [(f"{number + 1}: {_place(calls[number])}", calls[number], calls[number].leaves) for number in apart]
    together: dict[str, list[CallPair]] = {}
    for number, call in enumerate(calls):
        if number not in apart:
            together.setdefault(_place(call), []).append(call)
    shown += [
        (f"{len(alike)} × {place}", max(alike, key=lambda call: (_RANK[call.verdict], bool(call.note))), _worst(alike))
        for place, alike in together.items()
    ]
    rows = [(head if not place else "", leaf) for head, _, leaves in shown for place, leaf in enumerate(leaves)]
    if rows:
        _show_leaves("backward pass", rows)
    for head, call, _ in shown:
        if call.note:
            print(f"{MARKS[call.verdict]} {head}: {call.note}")


def _place(call: CallPair) -> str:
    return f"{call.kind}, line {call.line}"


def _worst(calls: list[CallPair]) -> tuple[Leaf, ...]:
    """For each leaf, by name, its largest differences over all calls."""
    named: dict[str, list[Leaf]] = {}
    for call in calls:
        for leaf in call.leaves:
            named.setdefault(leaf.name, []).append(leaf)
    return tuple(
        max(leaves, key=lambda leaf: (_RANK[leaf.verdict], leaf.scaled or 0.0))._replace(
            absolute=max((each.absolute for each in leaves if each.absolute is not None), default=None),
            relative=max((each.relative for each in leaves if each.relative is not None), default=None),
            ulps=max((each.ulps for each in leaves if each.ulps is not None), default=None),
        )
        for leaves in named.values()
    )


def _show_leaves(head: str, leaves: list[tuple[str, Leaf]]) -> None:
    columns = [head, "" if head == "result" else LEAF_HEADS[1], *LEAF_HEADS[2:]]
    terminal.table(columns, [cells(*each) for each in leaves], [STYLES[leaf.verdict] for _, leaf in leaves])


def _show_errors(side: Side, agree: bool) -> None:
    """Shows the end of a side's standard error, unless the two sides end alike and gave an answer."""
    lines = side.errors.strip().splitlines()
    if lines and not agree:
        print()
        terminal.heading(f"{side.module} wrote to standard error" + (", at the end:" if len(lines) > FEW else ":"))
        print("\n".join(f"    {line}" for line in lines[-FEW:]))
