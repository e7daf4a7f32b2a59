"""A backward pass for every v at once: `directed`.

Cotangents are linear in v. So one of each is computed for every element of v, as if v were 1 there and 0 elsewhere; the
cotangent of any v is their sum, each times its number in v. For a leaf these rows are the Jacobian.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxvjp.core.record.graph import gradient_edges, reachable
from jaxvjp.core.record.observers import Walked
from jaxvjp.explain import terminal
from jaxvjp.explain.chain import Cotangents
from jaxvjp.explain.explained import Explained
from jaxvjp.explain.jacobian import begun
from jaxvjp.explain.refusal import Refusal, Unshowable

Array = np.ndarray[Any, Any]
STEPS = 1000
"""A backward pass of more steps than this is not shown step by step."""
ROWS = 16
"""A v of more numbers than this is not moved in each of them, but scaled as a whole."""
SHOWN = 12
"""A cotangent of more elements than this is shown by its first ones."""
SCALE = "v = what ran, times"


class Directed(NamedTuple):
    """A backward pass for every v.

    Attributes:
        labels, values: what v is made of: a label and the number for each direction in which it can move.
        steps: the steps; each cotangent has a dimension in front, the directions, or of 1 if `fixed`.
        jacobian: for each leaf its name and the rows: the directions, then the leaf's shape.
        note: what is to be said about the directions, or "".
        fixed: whether the steps are those of the v that ran, and do not follow v.
        whole: whether the only direction is the v that ran.
    """

    labels: list[str]
    values: list[float]
    steps: Cotangents
    jacobian: list[tuple[str, Array]]
    note: str
    fixed: bool = False
    whole: bool = False


def directed(explanation: Explained, number: int, room: int) -> Directed:
    """Backward pass `number` for every v, with `room` numbers to show."""
    walked = explanation.walks[number]
    roots, given = begun(walked)
    with explanation.story.told():
        nodes = [node for node in reachable(roots, gradient_edges) if not node.is_leaf]
    labels, values, directions = _elements(explanation.results(walked), given)
    alone = [v[None] for v in given]
    if len(nodes) > STEPS:
        note = f"This backward pass has {len(nodes)} steps, too many to step through."
        return _fixed(explanation, number, labels, values, Cotangents(), note)
    if explanation.hooked(walked) or any(node.python is not None or node.hooks for node in nodes):
        note = (
            "A hook or a Function of yours computed with the v that ran. J and vᵀJ follow the sliders; the steps, the "
            "graph and .grad stay those of that v."
        )
        return _fixed(explanation, number, labels, values, explanation.cotangents(number, alone), note)
    count = sum(v.size for v in given)
    whose = " and ".join(explanation.results(walked))
    note = f"The elements of {whose} are {count}, too many for a slider each: v is scaled as a whole."
    if len(values) <= ROWS:
        chain = explanation.cotangents(number, directions)
        arrays = [each for link in chain for each in (link.arrives, *(value for _, value in link.leaves))]
        if sum(min(array.size, SHOWN * len(array)) for array in arrays) > room:
            note = "The steps have too many numbers for a slider for each element of v: v is scaled as a whole."
        elif not all(np.isfinite(array).all() for array in arrays):
            note = "Some derivatives are not finite at the x that ran: v is scaled as a whole."
        else:
            return Directed(labels, values, chain, _totals(explanation, walked, chain, directions), "")
    chain = explanation.cotangents(number, alone)
    rows = _rows(explanation, number)
    if not rows or not all(np.isfinite(each).all() for _, each in rows):
        rows = _totals(explanation, walked, chain, alone)
    return Directed([SCALE], [1.0], chain, rows, note, whole=True)


def _elements(names: list[str], given: list[Array]) -> tuple[list[str], list[float], list[Array]]:
    """The directions of v: one for each element, for a complex one two, its real and its imaginary part."""
    labels = [label for name, v in zip(names, given, strict=True) for label in terminal.labels(name, v.shape)]
    flat = np.concatenate([v.ravel() for v in given])
    if not flat.size:
        raise Unshowable("what this backward began at has no elements: J has no rows, and vᵀJ is zero")
    if flat.size > ROWS:
        ones = [v[None] for v in given]
    else:
        parts = np.split(np.eye(flat.size), np.cumsum([v.size for v in given])[:-1], axis=1)
        ones = [part.reshape(-1, *v.shape).astype(v.dtype) for part, v in zip(parts, given, strict=True)]
    if not np.iscomplexobj(flat):
        return labels, [float(each) for each in _numbers(flat)], ones
    both = [f"{part} {label}" for label in labels for part in ("Re", "Im")]
    values = [float(each) for number in flat for each in _numbers(np.array([number.real, number.imag]))]
    twice = [np.stack([each, 1j * each], 1).reshape(-1, *each.shape[1:]).astype(each.dtype) for each in ones]
    return both, values, twice


def _numbers(values: Array) -> list[Any]:
    """Python's numbers with the fewest digits: 0.1 for a float32 0.1."""
    return [float(str(value)) for value in values]


def _fixed(
    explanation: Explained, number: int, labels: list[str], values: list[float], steps: Cotangents, note: str
) -> Directed:
    """A pass whose steps do not follow v; its Jacobian is that of the printed program, where there is one."""
    rows = _rows(explanation, number)
    note = note if rows else "These are the numbers of the v that ran; its J is not laid out here."
    return Directed(labels if rows else [], values if rows else [], steps, rows, note, fixed=True)


def _rows(explanation: Explained, number: int) -> list[tuple[str, Array]]:
    """J of the printed program, with a row for each element of the result; none where there is no such J."""
    try:
        found = explanation.jacobian(number)
    except Refusal:
        return []
    ndim = found.v.ndim
    return [(each.name, each.jacobian.reshape(-1, *each.jacobian.shape[ndim:])) for each in found.matrices]


def _totals(
    explanation: Explained, walked: Walked, chain: Cotangents, directions: list[Array]
) -> list[tuple[str, Array]]:
    """For each leaf the sum of all that goes on to it."""
    names = explanation.names(walked)
    totals = []
    for leaf in walked.gradients:
        parts: Sequence[Array] = [
            value
            for link in chain
            for target, (_, value) in zip(link.targets, link.leaves, strict=True)
            if target is leaf
        ]
        parts = [*parts, *[each for root, each in zip(walked.roots, directions, strict=True) if root is leaf]]
        none = np.zeros((len(directions[0]), *leaf.aval.shape))
        totals.append((names[leaf], np.asarray(sum(parts) if parts else none)))
    return totals
