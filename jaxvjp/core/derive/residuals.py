"""What torch would have saved for the derivative of `func.vmap(f)(x)` or `checkpoint(f, x)`: one node here, many there.

torch runs `f` operation by operation, and each saves what its row says (`Op.saves`). A write to such a tensor before a
backward pass is an error. Here the operations are in the `Program` that the node carries. The same holds for a
`pullback` that is itself differentiated. A trace tells which operands were saved; where that would take too long, all
are taken for saved.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from jaxvjp.core.derive.dependences import Positions
from jaxvjp.core.derive.pullback import dependences, pullback
from jaxvjp.core.derive.transforms import jvp, vmap
from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.saves import SAME_MEMORY, shows_overwritten
from jaxvjp.core.run.program import PROGRAM_CACHE, Program, intern
from jaxvjp.ops.identity import tuple_item
from jaxvjp.ops.op import Aval, Op
from jaxvjp.ops.tracing import abstract


def overwritten_residual(node: Node) -> Node | None:
    """The input of a transform that was written in place since, if torch would have saved it; None if nothing was."""
    if not (node.static and type(node.static[0]) is Program and type(node.aval) is tuple):
        return None
    kept = () if node.packed is None else node.packed.kept  # hooks were given it
    operands = [(at, each) for at, each in enumerate(node.inputs) if isinstance(each, Node) and at not in kept]
    written = [at for at, each in operands if _written_since(each, node)]
    if not written:
        return None
    tracked = tuple([at for at, each in enumerate(node.inputs) if each.requires_grad])
    operation: Any = node.operation
    residuals = _residuals(operation, node.static, tuple([operand.aval.plain for operand in node.inputs]), tracked)
    found = [node.inputs[at] for at in written if at in residuals]
    return found[0] if found and isinstance(found[0], Node) else None


def _written_since(read: Node, node: Node) -> bool:
    """Whether what `read` shows was written after `node` was recorded; before, its own program may have written it."""
    origin = shows_overwritten(read)
    return origin is not None and origin.versions is not None and origin.versions.last > node.serial


@lru_cache(maxsize=PROGRAM_CACHE)
def _residuals(operation: Op, static: tuple[Any, ...], avals: tuple[Aval, ...], tracked: Positions) -> frozenset[int]:
    """The positions of operands that are saved as they are, if the derivative with respect to `tracked` reads them."""
    results = abstract(operation, static, avals)
    equations = [(operation, static, tuple(range(-1, -1 - len(avals), -1)))]
    equations += [(tuple_item, (number,), (0,)) for number in range(len(results))]
    primal = len(static[0].outputs) if operation is pullback else 0  # nodes of their own have the primal outputs
    outputs = tuple(1 + at for at, each in enumerate(results) if at >= primal and each.dtype.differentiable)
    read = dependences(intern(avals, tuple(equations), outputs, 1), tracked)
    return frozenset(_kept(operation, static, len(avals))) & frozenset().union(*read)


def _kept(operation: Op, static: tuple[Any, ...], count: int) -> set[int]:
    """The positions of the operands that some operation saves as they are, among `count` of them."""
    if not (static and type(static[0]) is Program):
        named = [name for name, _ in operation.saves if name not in ("result", "residuals")]
        return {at for name in named for at in operation.positions(name, static, count)}
    if operation not in (pullback, jvp, vmap):
        return set(range(count))  # a checkpoint saves its arguments
    program: Program = static[0]
    own = len(program.arguments)
    beside = set(range(own, count))  # tangents, or cotangents, which the derivatives are multiplied by
    source: dict[int, int] = {-1 - at: at for at in range(own)}  # which argument an operand is, or is a view of
    kept: set[int] = set()
    for number, (each, its_static, inputs) in enumerate(program.equations):
        if inputs and inputs[0] in source and (each.write or each in SAME_MEMORY):
            source[number] = source[inputs[0]]
        kept |= {source[inputs[at]] for at in _kept(each, its_static, len(inputs)) if inputs[at] in source}
    return kept | beside
