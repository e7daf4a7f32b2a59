"""Looks over a graph: numbers its nodes, and makes a key that is equal for graphs of equal structure.

Nodes have **places**: a survey numbers the nodes that it meets 0, 1, 2 and so on, and a plan reads and writes a list of
values in that order. As it names no nodes, the same plan runs on the next graph of the same structure: the second step
of a training loop costs the survey and a look-up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from jaxvjp.core.record.graph import Node, Number
from jaxvjp.core.run.program import called, results_of
from jaxvjp.ops.identity import variable

KEPT, KEPT_AND_TRACKED, HELD, COMPUTED = 2, 3, 4, 5
"""Marks of an operation in a key. KEPT: its value is kept. KEPT_AND_TRACKED: so it is, and a cotangent may flow to it.
HELD: the user holds it, in a backward pass with `create_graph`. COMPUTED: it has a value, which the plan may read, and
a cotangent may flow to it. Others have False or True: whether a cotangent may flow to them."""


class Survey:
    """The result of `survey`: a graph, from the nodes that it starts at back to nodes that have values, or, for a
    backward pass, to leaves.

    Attributes:
        nodes: its nodes and numbers, in the order of their places.
        place_of: the place of each node and number.
        operations: the nodes to be computed or differentiated; the others, given or computed already, are read.
        kept: the places of the operations whose values are kept, on their nodes: what was asked for, and what the user
            holds.
        key: equal for graphs of equal structure of which the same values are kept. To read `y = x * 0.5` with x given,
            the nodes are y, x, 0.5, and the key is (mul, (), 1, 2, KEPT, aval of x, aval of 0.5): y is a mul without
            static arguments, of the nodes at 1 and 2, and its value is kept.
        key_is_complete: whether a walk back may be remembered by the key. False if a node has something that is not in
            the key, such as a hook. To compute values, the key is always enough.
    """

    def __init__(
        self,
        nodes: list[Any],
        place_of: dict[Node | Number, int],
        operations: list[Node],
        kept: list[int],
        key: tuple[Any, ...],
        key_is_complete: bool,
    ) -> None:
        self.nodes = nodes
        self.place_of = place_of
        self.operations = operations
        self.kept = kept
        self.key = key
        self.key_is_complete = key_is_complete

    def continued(self, later: Survey) -> Survey | None:
        """`later`, which looked over nodes that were recorded on this graph since, in places that go on from this
        survey's. None if it reads values that are not of this graph."""
        nodes, place_of = [*self.nodes], dict(self.place_of)
        for node in later.nodes:
            if node not in place_of:
                if type(node) is Node and (node.value is not None or node.operation is None):
                    return None
                place_of[node] = len(nodes)
                nodes.append(node)
        kept = [place_of[later.nodes[each]] for each in later.kept]
        return Survey(nodes, place_of, later.operations, kept, later.key, later.key_is_complete)


def survey(
    start: Iterable[Node],
    wanted: Iterable[Node],
    key_prefix: Iterable[Any] = (),
    grad_node_of: Callable[[Node], Node | str] | None = None,
    walks_behind_values: bool = False,
    create_graph: bool = False,
    reading: bool = False,
) -> Survey:
    """Surveys the nodes that `start` is computed from, back to nodes that have values.

    The key is `key_prefix`, then for each node, in the order of places: of an operation its op, static arguments, the
    places that it reads, and a mark (`KEPT` and others); of a leaf or number its aval. A leaf that a gradient arrives
    at adds the place of its `grad`, or a word if it has none, and a node that is `special` adds more.
    `autograd.backward_pass` shows the key of a backward pass.

    The key is not complete, besides what `_tells_all` says, where a node has hooks and is not a leaf with
    `grad_node_of` given; or where a gradient goes to the old node of a leaf that was written since (`stale`): that
    gradient belongs to the node which its tensor shows now.

    Args:
        start: the nodes to begin at.
        wanted: the nodes whose values are to be kept, besides those of nodes that the user holds.
        key_prefix: what the key begins with: what else the caller's plan depends on.
        grad_node_of: called for each leaf that requires a gradient. It returns the node that its gradient will be added
            to, which then belongs to the graph, or a word that goes into the key.
        walks_behind_values: whether to walk on, also behind nodes that have values, as far as a gradient flows.
        create_graph: whether the key also tells which nodes the user holds: a pullback is cut there (`engine`).
        reading: whether values are read, one after another: then the value of a node that was `passed_by` before, and
            that something recorded since reads, is kept. Else a loop that carries a state on and reads another value in
            each round, as generation of text does, would compute all rounds again in each.
    """
    sought = set(wanted)
    nodes: list[Any] = list(dict.fromkeys(start))
    place_of: dict[Any, int] = {node: place for place, node in enumerate(nodes)}
    operations: list[Node] = []
    kept: list[int] = []
    key: list[Any] = [*key_prefix]
    key_is_complete = True
    calls: list[Node] = []
    stale: set[Node] = set()
    late: list[int] = []
    for place, found in enumerate(nodes):  # `nodes` grows while the loop runs
        if type(found) is Number:
            key.append(found.aval)
            continue
        node: Node = found
        operation = node.operation
        tracked = walks_behind_values and node.requires_grad
        if operation is not None and (node.value is None or (tracked and operation is not variable)):
            operations.append(node)
            if operation is called:
                calls.append(node)
            key.append(operation)
            key.append(node.static)
            for operand in node.inputs:
                read = place_of.get(operand)
                if read is None:
                    read = place_of[operand] = len(nodes)
                    nodes.append(operand)
                key.append(read)
                if reading and not node.passed_by and type(operand) is Node:
                    behind: Node = operand
                    if behind.passed_by and behind.value is None:
                        sought.add(node if type(behind.aval) is tuple else behind)  # no program returns a tuple's node
                        if read < place:
                            late.append(read)
            if node.special:
                key_is_complete = key_is_complete and (operation is variable or not node.hooks) and _tells_all(node)
                key.append(None if node.edges is None else tuple([place_of.get(edge) for edge in node.edges]))
            if node.value is None and (node.held() or node in sought):
                kept.append(place)
                key.append(KEPT_AND_TRACKED if tracked else KEPT)
            elif create_graph and node.held():
                key.append(HELD)  # the pullback is cut there
            else:
                key.append(tracked if node.value is None else COMPUTED)
            if operation is not variable:
                continue
        else:
            key.append(node.aval)
        if tracked:  # a leaf that a gradient arrives at
            if node.stale:
                stale.add(node)
            key_is_complete = _note_leaf(node, grad_node_of, nodes, place_of, key) and key_is_complete
    for place in late:
        if place not in kept and type(nodes[place].aval) is not tuple:
            key += (KEPT, place)
            kept.append(place)
    for node in calls:
        for reference in results_of.get(node, ()):
            result = reference()
            if result is not None and result.value is None and result not in place_of:
                key += (result.operation, result.static, place_of[node], KEPT)
                kept.append(len(nodes))
                place_of[result] = len(nodes)
                nodes.append(result)
                operations.append(result)
    if stale and key_is_complete:  # `w -= 0.1 * g` reads the old w as well, and passes no gradient to it
        key_is_complete = not _read_for_a_gradient(operations, stale)
    return Survey(nodes, place_of, operations, kept, tuple(key), key_is_complete)


def _note_leaf(
    node: Node,
    grad_node_of: Callable[[Node], Node | str] | None,
    nodes: list[Any],
    place_of: dict[Any, int],
    key: list[Any],
) -> bool:
    """Adds to the key what matters of a leaf that a gradient arrives at; whether that is all that matters."""
    key_is_complete = True
    hooked = node.special and node.hooks
    if node.special:
        key_is_complete = _tells_all(node) and not (hooked and grad_node_of is None)
        key.append(bool(hooked))
    into = "" if grad_node_of is None or hooked else grad_node_of(node)
    if type(into) is Node:
        if into not in place_of:
            place_of[into] = len(nodes)
            nodes.append(into)
        key.append(place_of[into])
    else:
        key.append(into)
    return key_is_complete


def _tells_all(node: Node) -> bool:
    """Whether a key says all that matters of a special node: it only has hooks, or `edges` among its inputs."""
    # Attributes and not properties, which are calls of Python: the survey of a step with a hook asks this twice.
    if node._python or node._packed or node.step_hooks or node._retains or node.freed or node.original:
        return False
    if node._mutation is not None:
        return False
    return node._edges is None or set(node.inputs).issuperset(node._edges)


def _read_for_a_gradient(operations: list[Node], stale: set[Node]) -> bool:
    """Whether one of `operations` passes a gradient to one of `stale`."""
    return any(operand in stale for node in operations if node.requires_grad for operand in node.inputs)
