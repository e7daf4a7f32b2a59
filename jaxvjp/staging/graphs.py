"""Staged functions whose results can be differentiated: `Graph`.

A staged function whose result requires a gradient is recorded as one node, or as a few if it is long. A backward pass
outside takes `jax.vjp` of it, as of any other node: `loss = compiled(x); loss.backward()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from jaxvjp.core.derive.between import severed
from jaxvjp.core.record.graph import Node, Number, gradient_edges, reachable, recording_order
from jaxvjp.core.record.record import node_of_value, tracks
from jaxvjp.core.run.pieces import in_pieces, read_across
from jaxvjp.core.run.program import Program, called, freeze
from jaxvjp.ops.identity import detach, tuple_item


class Call(NamedTuple):
    """One node of a staged function.

    Attributes:
        program: the program that the node runs.
        reads: its operands: Python numbers, nodes that are the same at each call, and keys of nodes that are not.
        edges: positions in `reads` to which a gradient flows.
        gives: a key for each result, and whether a gradient flows through it.
    """

    program: Program
    reads: tuple[Node | Number, ...]
    edges: tuple[int, ...]
    gives: tuple[tuple[Node, bool], ...]

    def record(self, today: dict[Any, Node]) -> None:
        """Records the call; `today` maps keys to the nodes of this call, and gets the results as well."""
        inputs = tuple([today.get(each, each) for each in self.reads])
        avals = tuple([each.aval for each, _ in self.gives])
        node = Node(called, (self.program,), inputs, avals, requires_grad=bool(self.edges))
        edges = [inputs[edge] for edge in self.edges]
        if edges and any(tracks((operand,)) and operand not in edges for operand in inputs):
            node.edges = tuple([edge for edge in edges if isinstance(edge, Node)])
        for number, (each, tracked) in enumerate(self.gives):
            today[each] = Node(tuple_item, (number,), (node,), each.aval, tracked)


class Graph:
    """What a function recorded, folded into a few nodes.

    Each result that requires a gradient comes from a node of its own, which reads other results if it was computed from
    them. So a tensor on which a result does not depend gets None as its gradient, as in torch, and not zeros. What was
    computed under `no_grad` stays without a gradient.
    """

    def __init__(self, outputs: Sequence[Node], inside: Iterable[Node], sources: Mapping[Any, Any]) -> None:
        """Folds `inside`, the nodes recorded from those of `sources` on the way to `outputs`, in the order of
        recording."""
        stands: dict[Any, Node] = {}
        for node in inside:
            if node in sources:
                stands[node] = node_of_value(None, node.aval, node.requires_grad)
            elif node.operation is not None and node.inputs:
                inputs = tuple([stands.get(operand, operand) for operand in node.inputs])
                copy = Node(node.operation, node.static, inputs, node.aval, node.requires_grad, where=node.where)
                stands[node] = Node(detach, (), (copy,), node.aval, where=node.where) if severed(node) else copy
        self.sources = {stands[node]: source for node, source in sources.items() if node in stands}
        self.outputs = [stands[output] for output in outputs]
        self.calls: list[Call] = []
        tracked = sorted({output for output in self.outputs if output.requires_grad}, key=recording_order)
        for each in tracked[:-1]:
            self._add([each])
        self._add([*tracked[-1:], *[output for output in self.outputs if not output.requires_grad]])

    def _add(self, wanted: list[Node]) -> None:
        """Adds calls that compute the `wanted`: one, or for a long function one for each piece compiled apart."""
        known = {each for call in self.calls for each, _ in call.gives}.difference(wanted)
        edges = reachable(wanted, lambda node: () if node in known else gradient_edges(node))
        differentiable = {edge for edge in edges if edge in known or edge in self.sources}
        reached = reachable(wanted, lambda node: () if node in known else node.inputs)
        pieces = in_pieces([each for each in reached if each.operation is not None and each not in known])
        needed = read_across(pieces).union(wanted)
        for piece in pieces:
            outputs = [node for node in piece if node in needed]
            program, read = freeze(piece, outputs)
            places = tuple([place for place, each in enumerate(read) if each in differentiable])
            gives = tuple([(output, output.requires_grad and output.aval.dtype.differentiable) for output in outputs])
            self.calls.append(Call(program, tuple(read), places, gives))
            differentiable.update([each for each, tracked in gives if tracked])

    def record(self, node_of: Callable[[Any], Node]) -> list[Node]:
        """A node for each output, recorded with `node_of(source)` as the operand for each source."""
        today = {stand: node_of(source) for stand, source in self.sources.items()}
        for call in self.calls:
            call.record(today)
        return [today[output] for output in self.outputs]
