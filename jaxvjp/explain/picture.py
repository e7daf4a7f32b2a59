"""The recorded graph as a picture: SVG, Mermaid text, or plain text for a terminal.

It has leaves, operations with shapes and small values, and cotangents on the edges. It marks where no gradient flows:
at cuts (`detach`, `no_grad`), and in parts that a backward used up.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from jaxvjp.core.record.graph import Node, Number, reachable
from jaxvjp.explain import terminal
from jaxvjp.explain.chain import Cotangents
from jaxvjp.explain.folding import Fold, folded
from jaxvjp.explain.layered import USED_UP, Arrow, Box, drawn
from jaxvjp.explain.names import WORDS, operation_of, statement
from jaxvjp.explain.refusal import Unshowable
from jaxvjp.explain.story import used_up
from jaxvjp.ops.identity import detach, tuple_item

SMALL = 6
"""A value of at most this many numbers is shown."""
LARGEST = 300
"""A graph of more nodes than this is not drawn."""


class Picture:
    """A drawing of a graph: `print` shows it as text, a notebook as an image; `mermaid()` and `svg()` return text.

    Attributes:
        boxes, arrows: what is drawn.
        keys: for each node the key of its box.
    """

    def __init__(self, boxes: list[Box], arrows: list[Arrow], keys: dict[Node, str]) -> None:
        self.boxes = boxes
        self.arrows = arrows
        self.keys = keys

    def __str__(self) -> str:
        titles = {each.key: each.title for each in self.boxes}
        into: dict[str, list[Arrow]] = {}
        back: dict[str, list[str]] = {}
        for arrow in self.arrows:
            into.setdefault(arrow.end, []).append(arrow)
            if arrow.cotangent:
                back.setdefault(arrow.start, []).append(arrow.cotangent)
        rows = []
        for box in self.boxes:
            reads = ", ".join(
                ("" if each.differentiable else "¦") + titles[each.start] for each in into.get(box.key, [])
            )
            arrives = " + ".join(back.get(box.key, []))
            marks = f" ({', '.join(box.marks)})" if box.marks else ""
            line = f"line {box.line}" if box.line else ""
            rows.append([box.title + marks, "  ".join(box.details), f"← {reads}" if reads else "", arrives, line])
        return terminal.aligned(["value", "what it is", "made from", "cotangent", "line"], rows)

    __repr__ = __str__

    def mermaid(self) -> str:
        """The graph as a Mermaid flowchart, which many sites and editors draw."""
        opening = {"leaf": ("([", "])"), "constant": ("[/", "/]"), "operation": ("[", "]"), "cut": ("{{", "}}")}
        lines = ["flowchart TD"]
        for box in self.boxes:
            left, right = opening[box.kind]
            label = "<br/>".join(_quoted(each) for each in [box.title, *box.details, *box.marks])
            lines.append(f'    {box.key}{left}"{label}"{right}')
        for arrow in self.arrows:
            tip = "-->" if arrow.differentiable else "-.->"
            label = f'|"{_quoted(arrow.cotangent)}"|' if arrow.cotangent else ""
            lines.append(f"    {arrow.start} {tip}{label} {arrow.end}")
        gone = [box.key for box in self.boxes if USED_UP in box.marks]
        if gone:
            lines += ["    classDef gone stroke-dasharray: 4 4,opacity:0.6", f"    class {','.join(gone)} gone"]
        return "\n".join(lines)

    def svg(self) -> str:
        """The graph as SVG."""
        return drawn(self.boxes, self.arrows)

    def _repr_html_(self) -> str:
        """An image, which a notebook also shows when it is opened without being run; a bare SVG it does not."""
        data = base64.b64encode(self.svg().encode()).decode()
        said = html.escape("; ".join(" ".join([box.title, *box.details]) for box in self.boxes))
        return f'<img alt="the graph: {said}" style="max-width:100%" src="data:image/svg+xml;base64,{data}">'


def _quoted(text: str) -> str:
    return text.replace('"', "'").replace("[", "&#91;").replace("]", "&#93;")


def picture_of(
    roots: Sequence[Node],
    inputs: Callable[[Node], Iterable[Any]],
    called: Callable[[Node], str],
    cotangents: Cotangents | None,
    fold: int | None = None,
) -> Picture:
    """The picture of the graph that leads to `roots`, with the cotangents of a backward pass if given.

    With more than `fold` nodes the operations of a loop, or of a function, are one box.
    ValueError for a graph of more than LARGEST boxes.
    """
    nodes = [node for node in reachable(roots, inputs) if whole(node) is node]
    folds = folded([node for node in nodes if not _given(node)]) if fold is not None and len(nodes) > fold else []
    inner = {node: each for each in folds if each.said for node in each.nodes}
    read = [(each, node) for node in nodes for each in dict.fromkeys(_sources(inputs(node)))]
    inner.update(_absorbed(nodes, read, inner))
    if len({id(inner.get(node, node)) for node in nodes}) > LARGEST:
        raise Unshowable(
            f"a graph of {len(nodes):,} nodes is too large to be drawn (the limit is {LARGEST})\n"
            "Explain a part of it, an earlier result or fewer steps; the printed program rolls what repeats into loops."
        )
    keys: dict[Node, str] = {}
    boxes: list[Box] = []
    for place, node in enumerate(nodes):
        group = inner.get(node)
        if group is not None and group.nodes[0] in keys:
            keys[node] = keys[group.nodes[0]]
        elif group is not None and node is not group.nodes[0]:
            continue  # it was recorded before its group
        else:
            keys[node] = f"n{place}"
            detached = node.operation is None and any(inputs(node))
            boxes.append(
                _box(node, keys[node], called(node), detached) if group is None else _folded(group, keys[node])
            )
    keys.update({node: keys[group.nodes[0]] for node, group in inner.items()})
    flows: dict[tuple[str, str], dict[Node, Any]] = {}
    for link in cotangents or ():
        for target, (_, value) in zip(link.targets, link.leaves, strict=True):
            flow = flows.setdefault((keys[whole(target)], keys[link.node]), {})
            flow[target] = flow[target] + value if target in flow else value  # of a fold there are several
    arrows: dict[tuple[str, str], Arrow] = {}
    for each, node in read:
        ends = keys[each], keys[node]
        if ends[0] == ends[1]:
            continue
        known = arrows.get(ends)
        flowing = (each.requires_grad and node.requires_grad) or (known is not None and known.differentiable)
        arrows[ends] = Arrow(*ends, flowing, _flow([*flows.get(ends, {}).values()]))
    for ends, flow in flows.items():  # what a Function of the user's sends back, past what its forward recorded
        if ends[0] != ends[1]:
            arrows.setdefault(ends, Arrow(*ends, True, _flow([*flow.values()])))
    return Picture(boxes, list(arrows.values()), keys)


def _flow(cotangents: Sequence[Any]) -> str:
    """The text of an arrow at which these cotangents go back."""
    if len(cotangents) != 1:
        return f"{len(cotangents)} cotangents" if cotangents else ""
    (value,) = cotangents
    return terminal.numbers(value) if value.size <= SMALL else f"{list(value.shape)}"


def _given(node: Node) -> bool:
    """Whether a node is no operation: a leaf or a constant."""
    return node.operation is None or (node.is_leaf and node.requires_grad)


def _absorbed(nodes: Sequence[Node], read: Sequence[tuple[Node, Node]], inner: dict[Node, Fold]) -> dict[Node, Fold]:
    """The constants that are read by one fold only, and belong to it."""
    readers: dict[Node, set[int]] = {}
    folds = {id(fold): fold for fold in inner.values()}
    for each, node in read:
        readers.setdefault(each, set()).add(id(inner.get(node)))
    found = {}
    for node in nodes:
        by = readers.get(node, set())
        if node not in inner and _given(node) and not node.requires_grad and len(by) == 1 and by <= {*folds}:
            found[node] = folds[next(iter(by))]
    return found


def _folded(fold: Fold, key: str) -> Box:
    source = statement(fold.nodes[-1].where)
    details = [fold.lines, f"{len(fold.nodes)} operations"]
    return Box(
        key, "operation", fold.said, [detail for detail in details if detail], 0 if source is None else source.line, []
    )


def whole(node: Node) -> Node:
    """The node that an item of a tuple is taken from, which has its box."""
    source = node.inputs[0] if node.operation is tuple_item and node.inputs else node
    return source if isinstance(source, Node) else node


def _sources(inputs: Iterable[Any]) -> Iterable[Node]:
    return [whole(operand) for operand in inputs if type(operand) is Node]


def _box(node: Node, key: str, name: str, detached: bool) -> Box:
    source = statement(node.where)
    marks = [
        word
        for word, there in ((USED_UP, used_up(node)), ("hook", bool(node.hooks)), ("retains grad", node.retains))
        if there
    ]
    numbers = [terminal.numbers(np.asarray(operand.value)) for operand in node.inputs if type(operand) is Number]
    details = []
    if detached:  # a leaf that is the value of another node
        kind = "cut"
    elif node.operation is None:
        kind = "leaf" if node.requires_grad else "constant"
    else:
        cut = node.operation is detach or (not node.requires_grad and any(each.requires_grad for each in node.inputs))
        kind = "cut" if cut else "leaf" if node.is_leaf and node.requires_grad else "operation"
        own = operation_of(node)
        if kind != "leaf" and (name != own or numbers):
            details.append(" ".join([own, *([] if own in WORDS.values() else numbers)]))
    avals = node.aval if type(node.aval) is tuple else (node.aval,)
    details.append(", ".join(f"{aval.dtype.name}{list(aval.shape)}" for aval in avals))
    valued = type(node.aval) is not tuple and node.value is not None and np.size(node.value) <= SMALL
    if valued:
        details.append(terminal.numbers(node.value))
    return Box(key, kind, name, details, 0 if source is None else source.line, marks, valued)
