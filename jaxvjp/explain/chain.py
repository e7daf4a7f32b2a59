"""The chain rule in numbers: a backward pass step by step, with the cotangents that go into and out of each step.

`cotangents_of` computes it, and the result prints as a table. Each step is `jax.vjp` of one operation at its recorded
values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxvjp.core.record.graph import Node, gradient_edges, reachable
from jaxvjp.core.record.observers import Walked
from jaxvjp.core.record.user_lines import UserLine
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.core.run.interpreter import interpreted
from jaxvjp.explain import terminal
from jaxvjp.explain.jacobian import begun
from jaxvjp.explain.names import statement, told_line
from jaxvjp.explain.notebook import table
from jaxvjp.explain.refusal import Unshowable
from jaxvjp.ops.identity import detach, rebind, tuple_item
from jaxvjp.ops.pointwise import assigned

Array = np.ndarray[Any, Any]
LONG = 60
"""A cotangent whose numbers make a longer text than this is shown by its shape."""
HOOK = "hook"
"""The operation of a step that is a hook."""
REPLACED = "other numbers"
"""The operation of a step that only replaces numbers, as a write to `y.detach()` does: what arrives goes on."""
LONGEST = 10_000
"""A backward pass of more steps than this is refused."""


class Link(NamedTuple):
    """One step of a backward pass.

    Attributes:
        node: the recorded node that it differentiates.
        name: the user's name of its result, else the expression in the user's line, else the operation.
        operation: torch's name of the step, `MulBackward0`, or HOOK or REPLACED.
        line: the user's line, None where there is none.
        text: the text of that line.
        file: the file that it is in.
        arrives: the cotangent of the result; of several results those at which one arrives, in one row.
        leaves: for each operand that gets one, its name and its cotangent.
        targets: the nodes of those operands.
    """

    node: Node
    name: str
    operation: str
    line: int | None
    text: str
    file: str
    arrives: Array
    leaves: list[tuple[str, Array]]
    targets: list[Node]


class Cotangents(list[Link]):
    """The steps of a backward pass in order; `print` shows the numbers."""

    def __str__(self) -> str:
        return terminal.aligned(COLUMNS, self._table())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return table("", COLUMNS, self._table(), "left")

    def _table(self) -> list[list[str]]:
        script = next((link.file for link in self if link.file), None)
        return [row for link in self for row in _rows(link, script)]


COLUMNS = ["backwards through", "step", "arrives", "goes on to", "with", "line"]


def _rows(link: Link, script: str | None) -> list[list[str]]:
    """A step as rows of a table, one for each operand that gets a cotangent. Of another file than that of the first
    step the line has its name."""
    place = "" if link.line is None else told_line(link.file, link.line, script).removeprefix("line ")
    first = [link.name, link.operation, shortened(link.arrives)]
    went = [[name, shortened(value)] for name, value in link.leaves] or [["", ""]]
    return [[*(["", "", ""] if number else first), *each, "" if number else place] for number, each in enumerate(went)]


def shortened(value: Array) -> str:
    """A cotangent for a table: its numbers, or its shape if they are too many."""
    text = terminal.numbers(value)
    return text if len(text) <= LONG else f"{value.dtype.name}{list(value.shape)}"


def cotangents_of(
    walked: Walked,
    called: Callable[[Node], str],
    steps: dict[Any, Any],
    hooked: Mapping[Any, Any],
    directions: Sequence[Array] | None = None,
) -> Cotangents:
    """The steps of a backward pass.

    `called` gives the name of a node; `steps` maps each Python backward step to the gradients that it returned, and
    `hooked` each node with hooks to what they made of its cotangent. Both are of the v that ran. `directions` are other
    v's, stacked, for each root: then each cotangent has their dimension in front, by one `jax.vmap` over them.
    ValueError for more than LONGEST steps.
    """
    roots, given = begun(walked)
    targets = set(walked.gradients)
    nodes = reachable(roots, gradient_edges)
    way = set(targets)
    for node in nodes:
        if any(edge in way for edge in gradient_edges(node)):
            way.add(node)
    order = [node for node in reversed(nodes) if node in way]
    if len(order) > LONGEST:
        raise Unshowable(
            f"this backward pass has {len(order):,} steps, more than the {LONGEST:,} that are shown one by one"
        )
    operands = [operand for node in order if not node.is_leaf for operand in node.inputs if type(operand) is Node]
    evaluate([each for each in dict.fromkeys(operands) if type(each.aval) is not tuple])
    names = {node: called(node) for node in order}
    evaluate([each for each in hooked.values() if type(each) is Node])
    links: list[Link] = []

    def numbers(v: Any) -> list[Any]:
        links[:] = _chain(roots, v, order, way, names, steps, hooked)
        return [(link.arrives, [value for _, value in link.leaves]) for link in links]

    with jax.enable_x64(True):
        arrays: list[Any] = [jnp.asarray(each) for each in (given if directions is None else directions)]
        found = interpreted(numbers if directions is None else jax.vmap(numbers), arrays)
    return Cotangents(
        link._replace(
            arrives=np.asarray(arrives),
            leaves=[(name, np.asarray(value)) for (name, _), value in zip(link.leaves, values, strict=True)],
        )
        for link, (arrives, values) in zip(links, found, strict=True)
    )


def _chain(
    roots: Sequence[Node],
    given: Sequence[Any],
    order: Sequence[Node],
    way: set[Node],
    names: Mapping[Node, str],
    steps: dict[Any, Any],
    hooked: Mapping[Any, Any],
) -> list[Link]:
    """The steps, whose cotangents are JAX's arrays."""
    arrived: dict[Node, Any] = {}
    for root, v in zip(roots, given, strict=True):
        arrived[root] = v if root not in arrived else arrived[root] + v
    parts: dict[Node, dict[int, Any]] = {}
    links: list[Link] = []
    # Of several results of one Function the last in order goes back through it, for all of them.
    last: dict[Any, Node] = {node.python: node for node in order if node.python is not None}
    for node in order:
        if type(node.aval) is tuple:
            arrived[node] = parts.pop(node, {})
        another = last.get(node.python) is node and any(each.python is node.python for each in arrived)
        if node not in arrived and another:
            arrived[node] = jnp.zeros(node.aval.shape, node.aval.dtype.numpy)
        if node not in arrived:
            continue
        if node in hooked:
            after = jnp.asarray(hooked[node].value)
            name = f"the hook of {names[node]}"
            went: list[tuple[str, Any]] = [(names[node], after)]
            links.append(Link(node, name, HOOK, *_place(hooked[node].where), arrived[node], went, [node]))
            arrived[node] = after
        if node.is_leaf:
            continue
        cotangent = arrived[node]
        leaves: list[tuple[str, Any]] = []
        targets: list[Node] = []
        for each, value in _pulled(node, cotangent, steps) if last.get(node.python, node) is node else ():
            if each not in way or value is None:
                continue
            if node.operation is tuple_item:
                parts.setdefault(each, {})[node.static[0]] = value
                continue
            arrived[each] = value if each not in arrived else arrived[each] + value
            leaves.append((names[each], value))
            targets.append(each)
        if node.operation is tuple_item:
            continue
        written: Any = node
        while written.operation in (rebind, detach) and written.inputs:
            written = written.inputs[-1]
        shown: Any = cotangent
        if isinstance(cotangent, dict):
            several = [each for _, each in sorted(cotangent.items())] or [jnp.zeros(())]
            shown = several[0] if len(several) == 1 else jnp.concatenate([jnp.ravel(each) for each in several])
        links.append(
            Link(
                node,
                names[node],
                REPLACED if node.operation is rebind else node.gradient_name,
                *_place(written.where if node.operation is rebind else node.where),
                shown,
                leaves,
                targets,
            )
        )
    return links


def _place(where: UserLine) -> tuple[int | None, str, str]:
    """A line's number, text and file."""
    source = statement(where)
    return (None, "", "") if source is None else (source.line, source.text, source.filename)


def _pulled(node: Node, cotangent: Any, steps: dict[Any, Any]) -> list[tuple[Node, Any]]:
    """The operands of one step and their cotangents."""
    if node.python is not None:
        known = steps.get(node.python)
        if known is None:
            return []
        evaluate([each for each in known if each is not None])
        return [
            (each, None if result is None else result.value)
            for each, result in zip(node.python.inputs, known, strict=True)
        ]
    operation = node.operation
    assert operation is not None
    if operation is tuple_item:
        source = node.inputs[0]
        return [(source, cotangent)] if isinstance(source, Node) else []
    places = [place for place, each in enumerate(node.inputs) if isinstance(each, Node) and each.requires_grad]
    if operation is assigned and len(places) > 1:
        places = [1]  # an overwritten array gets no cotangent
    values = [
        jnp.asarray(operand.value, operand.aval.dtype.numpy)  # its own value stays: what shares one is known by that
        for operand in node.inputs
    ]

    def function(*differentiated: Any) -> Any:
        filled = list(values)
        for place, each in zip(places, differentiated, strict=True):
            filled[place] = each
        return operation.call(node.static, filled)

    result, pull = jax.vjp(function, *[values[place] for place in places])
    if isinstance(result, tuple):
        given: Any = tuple(_zero_or(cotangent.get(place), each) for place, each in enumerate(result))
    else:
        given = _conjugated(jnp.asarray(cotangent, result.dtype))
    pulled = [_conjugated(each) for each in pull(given)]
    found: dict[Node, Any] = {}
    for place, value in zip(places, pulled, strict=True):
        each = node.inputs[place]
        if isinstance(each, Node):
            found[each] = value if each not in found else found[each] + value
    return list(found.items())


def _zero_or(cotangent: Any, like: Any) -> Any:
    if jnp.issubdtype(like.dtype, jnp.inexact):
        return jnp.zeros_like(like) if cotangent is None else _conjugated(cotangent)
    return np.zeros(like.shape, jax.dtypes.float0)


def _conjugated(cotangent: Any) -> Any:
    return jnp.conj(cotangent) if jnp.iscomplexobj(cotangent) else cotangent
