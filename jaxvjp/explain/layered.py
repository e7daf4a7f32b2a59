"""A graph as SVG by a small layered layout of our own, which needs no program: `drawn`.

Each box stands below those that it is made from. An arrow over several layers bends around the boxes between, by a
point in each layer. A box keeps near the middle of its neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

LETTER, LINE = 6.6, 15.0
"""The width of a letter and the height of a line of text, at least."""
BETWEEN, BELOW, ROW = 22.0, 34.0, 15.0
"""The room beside a box, that below a layer, and what each row of cotangents adds to it."""
WIDEST = 26
"""So many letters of a cotangent are shown beside its arrow."""
SWEEPS = 12
LOOKS = {
    "leaf": ("#e6f3e8", "#4b8b57", 16),
    "constant": ("#f1f1f1", "#8a8a8a", 0),
    "operation": ("#eaf1fb", "#4a7ab8", 5),
    "cut": ("#fdf0e0", "#c0782a", 0),
}
"""For each kind of box its background, its line's colour and how round its corners are."""
USED_UP = "used up"
"""The mark of what a backward without `retain_graph` went through."""
FORWARD, BACKWARD = "#767676", "#b3400f"


class Box(NamedTuple):
    """One node of the picture.

    Attributes:
        key: an identifier.
        kind: "leaf", "constant", "operation" or "cut".
        title: its name, or its operation.
        details: its operation, shape, value.
        line: the user's line, 0 for none.
        marks: USED_UP, "hook", "retains grad" and the like.
        valued: whether the last of the details is its value.
    """

    key: str
    kind: str
    title: str
    details: list[str]
    line: int
    marks: list[str]
    valued: bool = False


class Arrow(NamedTuple):
    """An edge: from which box to which, whether a gradient may flow back, and the cotangent that did."""

    start: str
    end: str
    differentiable: bool
    cotangent: str


def drawn(boxes: Sequence[Box], arrows: Sequence[Arrow]) -> str:
    """The SVG. A box has the class `line-5` of the user's line; the cotangent's text of an arrow from box n0 to n1 has
    `data-flow="n0 n1"`. What belongs to boxes, which are not there before their lines have run, has their keys in
    `data-way`."""
    texts = {box.key: [box.title, *box.details, *box.marks] for box in boxes}
    half = {key: max(map(len, lines)) * LETTER / 2 + 10 for key, lines in texts.items()}
    height = {key: len(lines) * LINE + 10 for key, lines in texts.items()}
    level = _levels([box.key for box in boxes], arrows)
    layers: list[list[str]] = [[] for _ in range(max(level.values(), default=0) + 1)]
    for box in boxes:
        layers[level[box.key]].append(box.key)
    near: dict[str, list[str]] = {key: [] for key in texts}
    ways = []
    for arrow in arrows:
        way = [arrow.start]
        for depth in range(level[arrow.start] + 1, level[arrow.end]):
            way.append(point := f"{arrow.start}-{arrow.end}-{depth}")
            near[point], half[point], height[point] = [], 4.0, 0.0
            layers[depth].append(point)
        way.append(arrow.end)
        for one, other in pairwise(way):
            near[one].append(other)
            near[other].append(one)
        ways.append(way)
    across = _across(layers, near, half)
    beside = _beside(arrows, ways, level, across)
    more = max(0.0, 8 - min([left for _, _, left, *_ in beside.values()], default=8))  # room on the left
    across = {each: x + more for each, x in across.items()}
    down, top, rooms = {}, 8.0, []
    for depth, layer in enumerate(layers):
        tall = max(height[each] for each in layer)
        down.update(dict.fromkeys(layer, top + tall / 2))
        rooms.append(top + tall + ROW)
        top += tall + BELOW + ROW * max([row + 1 for gap, row, *_ in beside.values() if gap == depth], default=0)
    ends = [across[each] + half[each] for layer in layers for each in layer]
    wide = max([*ends, *[right + more for *_, right, _ in beside.values()]]) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{top - BELOW + 8:.0f}" '
        f'viewBox="0 0 {wide:.0f} {top - BELOW + 8:.0f}" font-family="sans-serif" font-size="12" role="img" '
        'aria-label="the graph: values go down, cotangents go up">',
        '<rect class="paper" width="100%" height="100%" fill="#ffffff"/>',
        *[
            f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
            f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 8 4 0 8z" fill="{colour}"/></marker>'
            for name, colour in (("forward", FORWARD), ("backward", BACKWARD))
        ],
    ]
    labels = []
    for arrow, way in zip(arrows, ways, strict=True):
        points = [(across[way[0]], down[way[0]] + height[way[0]] / 2)]
        points += [(across[each], down[each]) for each in way[1:-1]]
        points.append((across[way[-1]], down[way[-1]] - height[way[-1]] / 2))
        dotted = "" if arrow.differentiable else ' stroke-dasharray="2 4"'
        parts.append(
            f'<path class="forward" data-way="{arrow.start} {arrow.end}" d="{_curve(points)}" fill="none" '
            f'stroke="{FORWARD}"{dotted} marker-end="url(#forward)"/>'
        )
        if arrow.cotangent:
            back = [(x + 7, y) for x, y in reversed(points)]
            gap, row, left, right, outside = beside[arrow.start, arrow.end]
            at_x, anchor = (right, ' text-anchor="end"') if outside else (left, "")
            flow = f'data-flow="{arrow.start} {arrow.end}"'
            parts.append(
                f'<path class="backward" {flow} d="{_curve(back)}" fill="none" stroke="{BACKWARD}" '
                'marker-end="url(#backward)"/>'
            )
            labels.append(
                f'<text class="flow"{anchor} x="{at_x + more:.1f}" y="{rooms[gap] + ROW * row:.1f}" '
                f'fill="{BACKWARD}" {flow}>{escape(_brief(arrow.cotangent))}</text>'
            )
    for box in boxes:
        fill, line, corner = LOOKS[box.kind]
        x, y, lines = across[box.key], down[box.key] - height[box.key] / 2, texts[box.key]
        dashed = ' stroke-dasharray="4 3"' if USED_UP in box.marks else ""
        valued, value = len(box.details) if box.valued else -1, ' class="value"'
        words = "".join(
            f'<text{value if place == valued else ""} x="{x:.1f}" y="{y + LINE * (place + 1):.1f}" '
            'fill="#1b1f24" text-anchor="middle">'
            f"{escape(each)}</text>"
            for place, each in enumerate(lines)
        )
        parts.append(
            f'<g class="node {box.kind} line-{box.line}" data-way="{box.key}">'
            f'<rect x="{x - half[box.key]:.1f}" y="{y:.1f}" '
            f'width="{2 * half[box.key]:.1f}" height="{height[box.key]:.1f}" rx="{corner}" fill="{fill}" '
            f'stroke="{line}"{dashed}/>{words}</g>'
        )
    return "\n".join([*parts, *labels, "</svg>"])


def _brief(text: str) -> str:
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def _beside(
    arrows: Sequence[Arrow], ways: Sequence[list[str]], level: dict[str, int], across: dict[str, float]
) -> dict[tuple[str, str], tuple[int, int, float, float, bool]]:
    """Where each cotangent stands: below which layer, in which row there, from where to where, and whether it is on the
    left of its arrow, as that of the first of two that meet is: so it is at one arrow only. None is over another or
    over a box. As v moves texts become longer: there is room for that."""
    found: dict[tuple[str, str], tuple[int, int, float, float, bool]] = {}
    taken: list[tuple[int, int, float, float, bool]] = []
    labelled = [each for each in arrows if each.cotangent]
    for arrow, way in sorted(zip(arrows, ways, strict=True), key=lambda each: across[each[1][0]] + across[each[1][1]]):
        if arrow.cotangent:
            many = sum(bool(each.cotangent) for each in arrows if each.start == arrow.start) > 1
            gap = level[arrow.end] - 1 if many else level[arrow.start]  # at the end that is less crowded
            one, other = way[-2:] if many else way[:2]
            letters = min(WIDEST, max(len(arrow.cotangent), 8 * len(arrow.cotangent.split())))
            lean, row = 0.3 * (across[other] - across[one]), 0  # how far the arrow is from the upper box, at the text
            left = across[one] + 12 + max(0, lean)
            meets = [each for each in labelled if (each.start == arrow.start) is not (each.end == arrow.end)]
            others = [across[each.start] + across[each.end] for each in meets]
            outside = across[arrow.start] + across[arrow.end] < min(others, default=-math.inf)
            if outside:
                left = across[one] - 6 + min(0, lean) - letters * LETTER
            right = left + letters * LETTER
            while any(each[:2] == (gap, row) and each[2] < right + 4 and left < each[3] + 4 for each in taken):
                row += 1
            found[arrow.start, arrow.end] = (gap, row, left, right, outside)
            taken.append(found[arrow.start, arrow.end])
    return found


def _levels(keys: Sequence[str], arrows: Sequence[Arrow]) -> dict[str, int]:
    """For each box its layer: below all that it is made from; one that is made from nothing is just above its use.
    `keys` are in the order of recording, so what a box is made from comes before it."""
    level = dict.fromkeys(keys, 0)
    place = {key: number for number, key in enumerate(keys)}
    for arrow in sorted(arrows, key=lambda each: place[each.end]):
        level[arrow.end] = max(level[arrow.end], level[arrow.start] + 1)
    made = {arrow.end for arrow in arrows}
    for key in keys:
        below = [level[arrow.end] for arrow in arrows if arrow.start == key]
        if key not in made and below:
            level[key] = min(below) - 1
    return level


def _across(layers: list[list[str]], near: dict[str, list[str]], half: dict[str, float]) -> dict[str, float]:
    """For everything in a layer its middle: first in order, then again and again near the mean of its neighbours."""
    x: dict[str, float] = {}
    for layer in layers:
        edge = 0.0
        for each in layer:
            x[each] = edge + half[each]
            edge += 2 * half[each] + BETWEEN
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 else reversed(layers):
            wish = {
                each: sum(x[other] for other in near[each]) / len(near[each]) if near[each] else x[each]
                for each in layer
            }
            if sweep < SWEEPS // 2:
                layer.sort(key=wish.__getitem__)
            to_right = _apart(layer, wish, half, 1)
            to_left = _apart(layer[::-1], wish, half, -1)
            x.update({each: (to_right[each] + to_left[each]) / 2 for each in layer})
    left = min(x[each] - half[each] for layer in layers for each in layer) - 8
    return {each: value - left for each, value in x.items()}


def _apart(layer: Sequence[str], wish: dict[str, float], half: dict[str, float], sign: int) -> dict[str, float]:
    """Where each would be, pushed in one direction until none overlaps."""
    found: dict[str, float] = {}
    edge = None
    for each in layer:
        at = sign * wish[each]
        at = at if edge is None else max(at, edge + half[each])
        found[each] = sign * at
        edge = at + half[each] + BETWEEN
    return found


def _curve(points: Sequence[tuple[float, float]]) -> str:
    """A path through the points that is upright in each of them."""
    (x, y), *rest = points
    text = f"M{x:.1f} {y:.1f}"
    for other, below in rest:
        text += f"C{x:.1f} {(y + below) / 2:.1f} {other:.1f} {(y + below) / 2:.1f} {other:.1f} {below:.1f}"
        x, y = other, below
    return text
