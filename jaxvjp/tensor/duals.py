"""Forward mode: dual tensors, which have a tangent, and the level that they belong to (`Duals`).

A dual tensor is a view of the tensor that it was made of: a write to one writes to the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from jaxvjp.core.derive.between import between, severed
from jaxvjp.core.derive.transforms import pushforward
from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.modes import outside_inference, tangents_stop, transforming
from jaxvjp.core.record.record import constant, record
from jaxvjp.core.record.steps import PythonBackward
from jaxvjp.core.record.versions import next_serial
from jaxvjp.ops.identity import dual, primal, rebind
from jaxvjp.ops.layouts import Layout
from jaxvjp.ops.op import Aval, Op
from jaxvjp.ops.view import alias
from jaxvjp.tensor.tensor import Tensor, view, wrap
from jaxvjp.tensor.view_steps import Step

FORWARD = "forward mode"


class Cut(NamedTuple):
    """From `start` to `end`, in the order of recording, no tangents go on, for levels from before `block` began."""

    block: int
    start: int
    end: float = math.inf


class Tangents:
    """A block in which tangents go on or, if it is not `enabled`, do not: then what is computed in it is constant to
    the levels of forward mode around it.

    A tensor that is written where they do not keeps the tangent that it had.
    """

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled

    def __enter__(self) -> None:
        self.before = [cut for cut in transforming().cuts if cut.end == math.inf]
        start = next_serial()
        if self.enabled:
            self._end(self.before)
        else:
            transforming().cuts.append(Cut(start, start))

    def __exit__(self, *_: object) -> None:
        cuts = transforming().cuts
        if self.enabled:
            cuts += [Cut(each.block, next_serial()) for each in self.before]
        else:
            self._end([cut for cut in cuts if cut.end == math.inf and cut not in self.before])

    @staticmethod
    def _end(open_: Sequence[Cut]) -> None:
        ended = [each._replace(end=next_serial()) for each in open_ if transforming().forward]
        transforming().cuts = [cut for cut in transforming().cuts if cut not in open_] + ended


class TangentStep(Step):
    """A step that gives or takes a tangent of a level, and shows the same elements."""

    def __init__(self, operation: Op, level: Duals) -> None:
        super().__init__(operation, ())
        self.level = level

    def layout(self, layout: Layout) -> Layout:
        return layout

    def plain(self) -> Step:
        return Step(alias, ())


class DualStep(TangentStep):
    """The step from a tensor to its dual, through which what is written also writes its tangent, in place as well."""

    def __init__(self, level: Duals, tangent: Tensor) -> None:
        super().__init__(dual, level)
        self.tangent: Tensor | None = tangent

    def read(self, node: Node) -> Node:
        shown = record(dual, (node,))
        if self.level.open and self.tangent is not None:
            self.level.tangents[shown] = self.tangent.__node__
        return shown

    def write(self, base: Node, new: Node) -> Node:
        if not self.level.open or self.tangent is None:
            self.tangent = None
            return record(alias, (new,))
        if not tangents_stop(self.level.first):
            (found,) = self.level.tangents_of([new])
            tangent = constant(0, new.aval) if found is None else found
            if self.level.of_function:
                self.tangent = wrap(tangent)
            else:
                self.tangent.__write__(tangent)
        return self.level.primal_of(new)


class PrimalStep(TangentStep):
    """The step from a dual tensor to its primal: what is written through it leaves the tangent as it is."""

    def read(self, node: Node) -> Node:
        return self.level.primal_of(node)

    def write(self, base: Node, new: Node) -> Node:
        written = record(dual, (new,))
        (tangent,) = self.level.tangents_of([base]) if self.level.open else (None,)
        if tangent is not None:
            self.level.tangents[written] = tangent
        return written


class Duals:
    """A level of forward mode, of `jvp` or of `dual_level`: it knows the tangent of each node.

    Attributes:
        of_function: whether it is that of a transform of a function, which is outside of inference mode.
        first: from where on in the order of recording `Tangents(False)` stops its tangents: in that of a transform they
            go on whatever is around it.
    """

    def __init__(self, of_function: bool = True) -> None:
        self.of_function = of_function
        self.first = next_serial() if of_function else 0
        self.tangents: dict[Node, Node] = {}
        self.primals: set[Node] = set()
        self.open = True

    def __enter__(self) -> Duals:
        transforming().depth += self.of_function
        transforming().forward += 1
        transforming().duals.append(self)
        if self.of_function:
            self._outside = outside_inference()
            self._outside.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self.of_function:
            self._outside.__exit__()
        transforming().forward -= 1
        transforming().duals.remove(self)
        transforming().depth -= self.of_function
        if not transforming().forward:
            transforming().cuts = [cut for cut in transforming().cuts if cut.end == math.inf]
        self.open = False
        self.tangents.clear()
        self.primals.clear()

    def make(self, argument: Tensor, tangent: Tensor) -> Tensor:
        """A view of `argument` with a tangent; RuntimeError or ValueError if the two do not fit."""
        for each, what in ((argument, "primal"), (tangent, "tangent")):
            if not (each.is_floating_point() or each.is_complex()):
                raise ValueError(f"Expected {what} to be floating point or complex, but got: {each.dtype}")
        if tangent.shape != argument.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is "
                f"not supported. Tensor is of size {list(argument.shape)} while the given forward gradient is of size "
                f"{list(tangent.shape)}."
            )
        if tangent.dtype is not argument.dtype:
            raise RuntimeError(
                f"a tensor of dtype {argument.dtype} takes a tangent of that dtype, not of {tangent.dtype}\n"
                "torch would go on with tangents of another precision than their tensors, which JAX has not. Convert "
                "it: `tangent.to(x.dtype)`."
            )
        return view(argument, DualStep(self, tangent))

    def edges(self, node: Node) -> Iterable[Any]:
        """The nodes from whose tangents that of `node` is computed."""
        aval = node.aval
        whole = type(aval) is not Aval
        stopped = any(self.first < cut.block and cut.start <= node.serial < cut.end for cut in transforming().cuts)
        if stopped and not (node.operation is rebind or (node.operation and node.operation.write)):  # a write; a view
            return ()
        if node in self.primals or (node.operation is not None and not node.operation.differentiable):
            return ()
        if node.python is not None:
            return [operand for operand in node.python.operands if operand is not None]
        return node.inputs if whole or aval.dtype.differentiable else ()

    def carries(self, node: Node) -> bool:
        """Whether `node` has a tangent."""
        return node in self.tangents or bool(between([node], self.tangents, self.edges))

    def tangents_of(self, nodes: Sequence[Node]) -> list[Node | None]:
        """The tangent of each node; None for one that depends on no dual tensor."""
        if all(node in self.tangents for node in nodes):
            return [self.tangents[node] for node in nodes]
        found = self.linear(nodes, True)(self.tangents)
        known_now = {node: tangent for node, tangent in zip(nodes, found, strict=True) if tangent is not None}
        self.tangents.update(known_now)
        self.primals.update(known_now.values())
        return found

    def linear(self, nodes: Sequence[Node], zeros: bool = False) -> Callable[[dict[Node, Node]], list[Node | None]]:
        """The function from the tangents of the duals made so far to those of `nodes`, as `tangents_of` gives them;
        `zeros` is that of `jvp`."""
        starts, steps = set(self.tangents), []
        for node in between(nodes, starts, self.edges):
            if node.python is not None:
                if node not in starts:
                    ends = [output for output in node.python.outputs if output is not None]
                    steps.append((ends, self._through(node.python, starts, zeros)))
                    starts.update(ends)
                continue
            # The user may differentiate a tangent with respect to this node, so it becomes an operand, too.
            if severed(node) or (node.requires_grad and (node.is_leaf or node.held())):
                steps.append(([node], pushforward([node], starts, self.edges, FORWARD, zeros)))
                starts.add(node)
        ends = [node for node in nodes if node not in starts]  # any other has the tangent that it was given
        steps.append((ends, pushforward(ends, starts, self.edges, FORWARD, zeros)))

        def push(tangents: dict[Node, Node]) -> list[Node | None]:
            reached = dict(tangents)
            for ends, step in steps:
                found = zip(ends, step(reached), strict=True)
                reached.update({end: tangent for end, tangent in found if tangent is not None})
            return [reached.get(node) for node in nodes]

        return push

    def _through(
        self, python: PythonBackward, starts: set[Node], zeros: bool
    ) -> Callable[[dict[Node, Node]], list[Node | None]]:
        """The linear function from the tangents of `starts` to those of a custom Function's outputs, by its own
        `jvp`."""
        operands = [operand for operand in python.operands if operand is not None and operand not in starts]
        push = pushforward(operands, set(starts), self.edges, FORWARD, zeros)

        def step(tangents: dict[Node, Node]) -> list[Node | None]:
            known = {**tangents, **dict(zip(operands, push(tangents), strict=True))}
            found = python.jvp([None if operand is None else known.get(operand) for operand in python.operands])
            return [tangent for output, tangent in zip(python.outputs, found, strict=True) if output is not None]

        return step

    def primal(self, tensor: Tensor) -> Tensor:
        """A view of a dual tensor without its tangent."""
        return view(tensor, PrimalStep(primal, self))

    def primal_of(self, node: Node) -> Node:
        """`node` without the tangent of this level."""
        plain = record(primal, (node,))
        self.primals.add(plain)
        return plain
