"""Reports as one self-contained HTML page: differing lines side by side, and a plot of the differences."""

from __future__ import annotations

import difflib
import itertools
import math
import re
from collections.abc import Collection, Sequence
from html import escape

from jaxvjp.tools.comparison.gradients import LEAF_HEADS, MARKS, CallPair, Leaf, cells
from jaxvjp.tools.comparison.outcome import SIDE_HEADS, Outcome
from jaxvjp.tools.comparison.text import DIFFERENT, SAME, Line

FEW = 6
"""A longer run of equal rows is folded."""
MOST_POINTS = 3000
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 720, 240, 56, 34, 12
LOWEST = 1e-9
"""The lower end of the plot's axis, where differences of 0 are drawn."""

STYLE = """
.jaxvjp { color-scheme: light dark;
  --text: #1f2328; --faint: #656d76; --line: #d0d7de; --page: #ffffff;
  --raised: #f6f8fa; --equal: #1a7f37; --close: #0969da; --different: #c4320a;
  --close-back: #ddf4ff; --different-back: #ffe8df;
  font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); max-width: 1100px; margin: auto;
  padding: 16px; }
@media (prefers-color-scheme: dark) { .jaxvjp {
  --text: #e6edf3; --faint: #8d96a0; --line: #3d444d; --page: #0d1117;
  --raised: #161b22; --equal: #3fb950; --close: #4493f8; --different: #ff8a65;
  --close-back: #12283f; --different-back: #40200f; }
  body { background: #0d1117; } }
body { margin: 0; }
.jaxvjp h2 { margin: 32px 0 8px; font-size: 20px; } .jaxvjp h3 { margin: 24px 0 8px; font-size: 16px; }
.jaxvjp .scroll { overflow-x: auto; }
.jaxvjp table { border-collapse: collapse; width: 100%; }
.jaxvjp th, .jaxvjp td { border: 1px solid var(--line); padding: 3px 8px; text-align: left; vertical-align: top;
  background: none; color: inherit; }
.jaxvjp th { background: var(--raised); font-weight: 600; }
.jaxvjp .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.jaxvjp pre, .jaxvjp code { font: 13px/1.45 ui-monospace, monospace; margin: 0; white-space: pre-wrap;
  overflow-wrap: anywhere; }
.jaxvjp tr.close { background: var(--close-back); } .jaxvjp tr.different { background: var(--different-back); }
.jaxvjp mark { background: none; color: inherit; font-weight: 700; text-decoration: underline; }
.jaxvjp tr.close mark { color: var(--close); } .jaxvjp tr.different mark { color: var(--different); }
.jaxvjp .verdict { font-weight: 700; } .jaxvjp .verdict.equal { color: var(--equal); }
.jaxvjp .verdict.different { color: var(--different); }
.jaxvjp details { margin: 4px 0; } .jaxvjp summary { cursor: pointer; color: var(--faint); }
.jaxvjp svg { max-width: 100%; height: auto; } .jaxvjp svg text { fill: var(--faint); font-size: 12px; }
.jaxvjp .axis { stroke: var(--line); } .jaxvjp .bound { stroke: var(--different); stroke-dasharray: 5 4; }
.jaxvjp circle.same { fill: none; stroke: var(--faint); } .jaxvjp circle.close { fill: var(--close); }
.jaxvjp circle.different { fill: var(--different); }
.jaxvjp .faint { color: var(--faint); }
"""


def page(reports: Sequence[Outcome]) -> str:
    """A whole page, which needs no network."""
    title = reports[0].summary if len(reports) == 1 else f"{sum(r.equal for r in reports)} of {len(reports)} agree"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>torch and jaxvjp: {escape(title)}</title></head>\n<body>{body(reports)}</body></html>\n"
    )


def body(reports: Sequence[Outcome]) -> str:
    """The reports as a part of a page, such as a notebook."""
    return f'<style>{STYLE}</style><main class="jaxvjp">' + "\n".join(_report(report) for report in reports) + "</main>"


def _report(report: Outcome) -> str:
    verdict, kind = report.verdict.lower(), "equal" if report.equal else "different"
    found = report.summary.partition(": ")[2].partition(", ")[2]
    parts = [
        f'<h2><code>{escape(report.name)}</code>: <span class="verdict {kind}">{verdict}</span></h2>',
        f"<p>{escape(report.answer)}</p>",
        f'<p class="faint">{escape(found)}; tolerance {report.tolerance:g}</p>',
        _table(
            SIDE_HEADS,
            [
                _row(each.cells, SAME if report.endings_agree else DIFFERENT, range(2, 6), tag="th")
                for each in (report.torch, report.jaxvjp)
            ],
        ),
    ]
    if report.lines:
        parts += ["<h3>Printed lines</h3>", _lines(report.lines)]
    if report.calls:
        parts += ["<h3>Gradients</h3>", _plot(report), _calls(report.calls)]
    if report.results:
        parts += ["<h3>Results</h3>", _table(LEAF_HEADS, [_leaf("", result) for result in report.results])]
    for side in (report.torch, report.jaxvjp):
        if side.errors.strip():
            parts.append(
                f"<details{'' if report.endings_agree else ' open'}><summary>what {side.module} wrote to standard error"
                f"</summary><pre>{escape(side.errors)}</pre></details>"
            )
    return "<section>" + "\n".join(parts) + "</section>"


def _row(
    cells: Sequence[str], verdict: str, numbers: Collection[int], names: Collection[int] = (), tag: str = "td"
) -> str:
    """A row of a table: in some places are `numbers`, and in some `names` of code; `tag` is that of the first cell."""
    shown, number = [], ' class="number"'
    for place, each in enumerate(cells):
        text = f"<code>{escape(each)}</code>" if place in names else escape(each)
        own = "td" if place else tag
        shown.append(f"<{own}{number * (place in numbers)}>{text}</{own}>")
    return f'<tr class="{verdict}">{"".join(shown)}</tr>'


def _table(heads: Sequence[str], rows: Sequence[str]) -> str:
    head = "".join(f'<th scope="col">{each}</th>' for each in heads)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _folded(rows: Sequence[tuple[str, str]], heads: Sequence[str], what: str) -> str:
    """Rows as tables, in which long runs of equal rows are folded; `rows` have a verdict and HTML each."""
    parts = []
    runs = [list(run) for _, run in itertools.groupby(rows, lambda row: row[0] == SAME)]
    pending: list[str] = []
    for run in runs:
        texts = [text for _, text in run]
        if run[0][0] != SAME or len(run) <= FEW or (len(runs) == 1 and len(run) <= 5 * FEW):
            pending += texts
            continue
        parts += [_table(heads, pending)] * bool(pending)
        parts.append(f"<details><summary>{len(run)} equal {what}</summary>{_table(heads, texts)}</details>")
        pending = []
    return "\n".join([*parts, *[_table(heads, pending)] * bool(pending)])


def _lines(lines: Sequence[Line]) -> str:
    rows = []
    for number, line in enumerate(lines, 1):
        sides = ["" if each is None else escape(each) for each in (line.torch, line.jaxvjp)]
        if line.verdict != SAME and line.torch is not None and line.jaxvjp is not None:
            sides = _marked(line.torch, line.jaxvjp)
        cells = "".join(f"<td>{each}</td>" for each in [*[f"<pre>{side}</pre>" for side in sides], MARKS[line.verdict]])
        rows.append((line.verdict, f'<tr class="{line.verdict}"><td class="number">{number}</td>{cells}</tr>'))
    return _folded(rows, ["line", "torch", "jaxvjp", ""], "lines")


def _marked(torch: str, jaxvjp: str) -> list[str]:
    """Two lines with the differing words marked."""
    theirs, ours = (re.findall(r"\s+|[^\s,()\[\]]+|.", each) for each in (torch, jaxvjp))
    marked = ["", ""]
    for kind, *bounds in difflib.SequenceMatcher(None, theirs, ours, autojunk=False).get_opcodes():
        for side, part in enumerate((theirs[slice(*bounds[:2])], ours[slice(*bounds[2:])])):
            text = escape("".join(part))
            marked[side] += f"<mark>{text}</mark>" if kind != "equal" and text else text
    return marked


def _calls(calls: Sequence[CallPair]) -> str:
    rows = []
    for number, call in enumerate(calls, 1):
        head = f"{number}: {call.kind}, line {call.line}"
        if call.note:
            note = Leaf("", (), "", call.verdict, note=call.note)
            rows.append((call.verdict, _leaf(head, note)))
        rows += [(each.verdict, _leaf("" if place else head, each)) for place, each in enumerate(call.leaves)]
    return _folded(rows, LEAF_HEADS, "gradients")


def _leaf(head: str, leaf: Leaf) -> str:
    return _row(cells(head, leaf), leaf.verdict, range(4, 7), [1])


def _plot(report: Outcome) -> str:
    """The `scaled` difference of every gradient over the backward passes, on a logarithmic axis."""
    points = [
        (number, leaf) for number, call in enumerate(report.calls, 1) for leaf in call.leaves if leaf.scaled is not None
    ]
    if not points:
        return ""
    points = sorted(points, key=lambda point: -_height(point[1]))[:MOST_POINTS]
    highest = max([10 * report.tolerance, *[_height(leaf) for _, leaf in points]])
    span = math.log10(highest / LOWEST)

    def across(number: float) -> float:
        return LEFT + (WIDTH - LEFT - 12) * (number - 0.5) / len(report.calls)

    def up(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * math.log10(max(value, LOWEST) / LOWEST) / span

    drawn = []
    for power in range(round(math.log10(LOWEST)), math.floor(math.log10(highest)) + 1, max(1, round(span / 6))):
        y = up(10.0**power)
        label = "equal" if 10.0**power <= LOWEST else f"1e{power}"
        drawn.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - 12}" y1="{y:.1f}" y2="{y:.1f}"/>')
        drawn.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    y = up(report.tolerance)
    drawn.append(f'<line class="bound" x1="{LEFT}" x2="{WIDTH - 12}" y1="{y:.1f}" y2="{y:.1f}"/>')
    drawn.append(f'<text x="{LEFT + 4}" y="{y - 5:.1f}">tolerance</text>')
    for number in sorted({1, len(report.calls)}):
        drawn.append(f'<text x="{across(number):.1f}" y="{HEIGHT - 14}" text-anchor="middle">{number}</text>')
    drawn.append(f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 2}" text-anchor="middle">backward pass</text>')
    for number, leaf in points:
        title = f"{number}: {leaf.name}, difference {leaf.scaled:.2g} of its largest number"
        drawn.append(
            f'<circle class="{leaf.verdict}" cx="{across(number):.1f}" cy="{up(_height(leaf)):.1f}" r="3.5">'
            f"<title>{escape(title)}</title></circle>"
        )
    return (
        f'<div class="scroll"><svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        'aria-label="difference of each gradient over the backward passes">' + "".join(drawn) + "</svg></div>"
    )


def _height(leaf: Leaf) -> float:
    assert leaf.scaled is not None
    return min(leaf.scaled, 1e6) if math.isfinite(leaf.scaled) else 1e6
