"""`vmap`: examples, tensors that stand for one element of a batch, and the level that they belong to (`Batch`).

An example is a view of the batch: a write to one writes to the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from jaxvjp.core.derive.between import between, inputs_of, severed
from jaxvjp.core.derive.transforms import example_of, record_vmap
from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.modes import tracking, transforming
from jaxvjp.core.record.versions import next_serial
from jaxvjp.ops.identity import example
from jaxvjp.ops.layouts import Layout
from jaxvjp.ops.op import Op
from jaxvjp.ops.view import permute
from jaxvjp.tensor.tensor import Tensor, view, wrap
from jaxvjp.tensor.view_steps import Step, has_layout

UNSUPPORTED = (
    "vmap: We do not yet support calling random operations inside of vmap. Please perform random operations outside of "
    "vmap as a workaround"
)


def _moved(ndim: int, start: int, end: int) -> tuple[int, ...]:
    """The order of dimensions in which the one at `start` is at `end`."""
    others = [each for each in range(ndim) if each != start]
    return (*others[:end], start, *others[end:])


class ExampleStep(Step):
    """The view step from a batch to one example, which stands for all of them."""

    def __init__(self, level: Batch, axis: int, source: Tensor) -> None:
        super().__init__(example, ())
        self.level = level
        self.axis = axis
        self.source = source

    def read(self, node: Node) -> Node:
        return self.shown(self.level, node, self.axis)

    @staticmethod
    def shown(level: Batch, node: Node, axis: int) -> Node:
        """A node that stands for one example of `node` at this level."""
        shown = Node(example, (), (node,), example_of(node.aval, axis), node.requires_grad)
        shown.edges = ()
        level.examples[shown] = node, axis
        return shown

    def write(self, base: Node, new: Node) -> Node:
        (batch,) = self.level.batches([new], [self.axis])
        return batch

    def layout(self, layout: Layout) -> Layout:
        return layout.without((self.axis,))


class BatchedStep(Step):
    """The view of a batch that a step is of each of its examples: after `vmap(lambda row: row[:2])(x)`, that of x.

    Attributes:
        axis, out_axis: where the batch is before and after the step.
    """

    def __init__(self, step: Step, axis: int, out_axis: int) -> None:
        super().__init__(step.operation, step.static, step.operands)
        self.step, self.axis, self.out_axis = step, axis, out_axis

    def _mapped(
        self, whole: Node, others: list[tuple[Node, int]], out: int, each: Callable[[list[Node]], Node]
    ) -> Node:
        """`each` of the examples of `whole` and of `others`, each with its axis, as a batch along `out`."""
        level = Batch(whole.aval.shape[self.axis], "same", None, of_function=False)
        shown = [ExampleStep.shown(level, node, axis) for node, axis in [(whole, self.axis), *others]]
        (batch,) = level.batches([each(shown)], [out])
        return batch

    def read(self, node: Node) -> Node:
        return self._mapped(node, [], self.out_axis, lambda shown: self.step.read(shown[0]))

    def put(self, base: Node, new: Node, operation: Op) -> Node:
        given = [(new, self.out_axis)]
        return self._mapped(base, given, self.axis, lambda shown: self.step.put(shown[0], shown[1], operation))

    def anew(self) -> Step:
        return BatchedStep(self.step.anew(), self.axis, self.out_axis)

    def layout(self, layout: Layout) -> Layout:
        size, apart = layout.shape[self.axis], layout.strides[self.axis]
        shown = self.step.layout(layout.without((self.axis,)))
        return shown.with_dim(self.out_axis, size, apart * layout.itemsize // shown.itemsize)


class Batch:
    """A `vmap` under way over `size` examples.

    Attributes:
        randomness: what a random tensor made inside is: "error", the "same" or a "different" one for each example.
        first: where it began in the order of recording: nodes from inside come after.
        of_function: True for `vmap` of a user's function, False for a batched backward pass.
    """

    def __init__(self, size: int, randomness: str, chunk: int | None, of_function: bool = True) -> None:
        self.of_function = of_function
        self.size = size
        self.randomness = randomness
        self.chunk = chunk
        self.first = next_serial()
        self.examples: dict[Node, tuple[Node, int]] = {}

    def __enter__(self) -> Batch:
        transforming().depth += self.of_function
        self.depth = transforming().depth
        transforming().batches.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        transforming().batches.pop()
        transforming().depth -= self.of_function

    def example(self, batch: Tensor, axis: int) -> Tensor:
        """A view of `batch` that stands for one example, along `axis`, counted from the front."""
        return view(batch, ExampleStep(self, axis, batch))

    def viewed(self, output: Tensor, out_axis: int, differs: bool) -> Tensor | None:
        """The view of an argument's batch of which `output` is one example; None if it is a view of none.

        `differs` says whether it differs from example to example, as `holds` does. What shows an argument as it is
        becomes the argument, and what is the same for all examples is repeated.
        """
        if not differs:
            return output.unsqueeze(out_axis).expand(*output.shape[:out_axis], self.size, *output.shape[out_axis:])
        taken = output.__steps__ if output.__follows_base__ else ()
        places = [n for n, each in enumerate(taken) if isinstance(each, ExampleStep) and each.level is self]
        if not places or not has_layout(taken[places[0] + 1 :]):
            return None
        first: Any = taken[places[0]]
        rest = taken[places[0] + 1 :]
        source: Tensor = first.source
        axes = [first.axis, *[0] * (len(rest) - 1), out_axis]
        steps = [BatchedStep(each, *axes[n : n + 2]) for n, each in enumerate(rest)]
        if not rest:
            return (
                source
                if first.axis == out_axis
                else view(source, Step(permute, (_moved(source.ndim, first.axis, out_axis),)))
            )
        return view(source, *steps)

    def whole(self, output: Tensor) -> Tensor:
        """The batch of which `output` is one example, along the first dimension: a view where it is one."""
        viewed = self.viewed(output, 0, self.holds(output.__node__))
        return wrap(self.batches([output.__node__], [0])[0]) if viewed is None else viewed

    def peeled(self, node: Node) -> tuple[str, Node] | None:
        """What torch calls a tensor that differs from example to example, and the whole batch."""
        if not self.of_function or not self.holds(node):
            return None
        batch, axis = self.examples.get(node) or (self.batches([node], [0])[0], 0)
        return f"BatchedTensor(lvl={self.depth}, bdim={axis}, ", batch

    def holds(self, node: Node) -> bool:
        """Whether `node` differs from example to example."""
        return node in self.examples or bool(self.inside([node]))

    def inside(self, nodes: Sequence[Node]) -> list[Node]:
        """The nodes on the way from the examples to `nodes`."""
        return between(nodes, self.examples, inputs_of)

    @contextmanager
    def outside(self) -> Iterator[None]:
        """A block that is run as if it were outside of the innermost level, which this is."""
        transforming().batches.pop()
        try:
            yield
        finally:
            transforming().batches.append(self)

    def random_differs(self) -> bool:
        """Whether a random tensor is to be another one for each example; RuntimeError where none is allowed."""
        if not self.of_function:
            raise RuntimeError(UNSUPPORTED)
        if self.randomness == "error":
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
                "'different' randomness flags on vmap or perform the randomness operation out of vmap"
            )
        return self.randomness == "different"

    def batches(self, nodes: Sequence[Node], out_axes: Sequence[int], inside: list[Node] | None = None) -> list[Node]:
        """For each node of one example the node of the whole batch, stacked along the given axis. `inside` are the
        nodes on the way to these, if the caller has them."""
        examples = dict(self.examples)
        inside = self.inside(nodes) if inside is None else inside
        for node in filter(severed, inside):
            with tracking(False):
                axis = dict(zip(nodes, out_axes, strict=True)).get(node, 0)
                within = between([node], examples, inputs_of)
                (batch,) = record_vmap(within, [node], examples, [axis], self.size, self.chunk)
            examples[node] = batch, axis
        if len(examples) > len(self.examples):
            inside = between(nodes, examples, inputs_of)
        found = {(node, axis): batch for node, (batch, axis) in examples.items() if node not in self.examples}
        rest = [each for each in zip(nodes, out_axes, strict=True) if each not in found]
        if rest:
            outputs, axes = zip(*rest, strict=True)
            found.update(zip(rest, record_vmap(inside, outputs, examples, axes, self.size, self.chunk), strict=True))
        batches = [found[each] for each in zip(nodes, out_axes, strict=True)]
        for node, batch in zip(nodes, batches, strict=True):
            batch.inference = node.inference
        return batches
