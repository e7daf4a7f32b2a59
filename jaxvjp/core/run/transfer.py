"""Moves a value to another device: `moved(node, device)`.

Over a mesh, and between a mesh and home, that is an op: `identity.redistributed`. Elsewhere it is none, as no compiled
program spans two devices: the value is computed first, then moved by `jax.device_put`. Its cotangent is moved back, by
a Python backward step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import ref

from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.modes import grad_mode, staging, transforming
from jaxvjp.core.record.record import node_of_value, record
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.ops.identity import function_result, redistributed
from jaxvjp.types.devices import Place, meet, put
from jaxvjp.types.meshes import Meshes, OnMesh, mesh_among


class Transfer:
    """The backward step of a tensor that was moved (`core.record.steps.PythonBackward`)."""

    name = "ToCopyBackward0"
    lifted = False

    def __init__(self, source: Node) -> None:
        self.device = source.device
        self.inputs: Sequence[Node] = [source] if source.requires_grad else []
        self.operands: list[Node | None] = [source] if transforming().forward else []
        self.output: ref[Node] | None = None

    @property
    def outputs(self) -> Sequence[Node | None]:
        return [None if self.output is None else self.output()]

    def jvp(self, tangents: Sequence[Node | None]) -> list[Node | None]:
        moved_to = self.outputs[0]
        return [None if each is None or moved_to is None else moved(each, moved_to.device) for each in tangents]

    def __call__(self, cotangents: list[Node | None], create_graph: bool) -> list[Node | None]:
        return [None if cotangent is None else moved(cotangent, self.device) for cotangent in cotangents]

    def free(self) -> None:
        """It saved nothing."""

    check_saved = free


def moved(node: Node, device: Place) -> Node:
    """`node`'s value on `device`, as a node through which gradients flow; `node`, if it is there."""
    here = node.device
    if here is device or (type(here) is OnMesh and device is here.anywhere):
        return node
    mesh = mesh_among((device, here))
    if mesh is not None and meet(here, device) and (len(Meshes.used) == 1 or None not in (here, device)):
        return record(redistributed, (node,), (device, mesh if device is mesh else mesh.replicated))
    if staging().journal is not None:
        staging().journal.refuse("moves a tensor to another device")
    evaluate((node,))
    value = node_of_value(put(node.value, device), node.aval.on(device))
    tracked = grad_mode().enabled and node.requires_grad
    if not (tracked or transforming().forward):
        return value
    step = Transfer(node)
    shown = Node(function_result, (), (value,), value.aval, tracked, value.value)
    shown.python, shown.edges = step, (node,)
    step.output = ref(shown)
    return shown


def on_device(operands: Sequence[Any], device: Place) -> list[Any]:
    """`operands`, with every node among them moved to `device`, but those that an operation there takes."""
    return [
        moved(each, device) if isinstance(each, Node) and not meet(each.device, device) else each for each in operands
    ]
