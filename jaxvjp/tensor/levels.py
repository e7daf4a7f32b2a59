"""What a transform passes to the user's function, and how it gets derivatives or batches from what that returns.

There are three kinds: `Variables` (reverse mode: fresh leaves), `Duals` (forward mode: tensors with a tangent) and
`Batch` (`vmap`: tensors that stand for one example). Each is a context manager, so transforms nest like blocks.

A dual tensor and an example are views of the tensor they were made of: a write to one writes to the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from jaxvjp.core.derive.transforms import between, example_of, inputs_of, leads_on, pushforward, record_vmap, severed
from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.modes import tracking, transforming
from jaxvjp.core.record.record import constant, node_of_value, record
from jaxvjp.core.record.steps import PythonBackward
from jaxvjp.core.record.versions import next_serial
from jaxvjp.ops.identity import clone, dual, example, primal, transform_argument, transform_result, variable
from jaxvjp.ops.layouts import Layout
from jaxvjp.ops.op import ARITHMETIC, FLOAT, Aval, Op
from jaxvjp.ops.pointwise import assigned
from jaxvjp.ops.view import alias, permute
from jaxvjp.tensor.tensor import Tensor, view, wrap
from jaxvjp.tensor.view_steps import Step, has_layout

T = TypeVar("T")
FORWARD = "forward mode"
UNSUPPORTED = (
    "vmap: We do not yet support calling random operations inside of vmap. Please perform random operations outside of "
    "vmap as a workaround"
)


class Guard:
    """Which tensors a function that is being differentiated may write: those it made, and its arguments."""

    def __init__(self, arguments: Iterable[Tensor]) -> None:
        self.first = next_serial()
        self.arguments = list(arguments)

    def __enter__(self) -> None:
        transforming().guards.append(self)

    def __exit__(self, *_: object) -> None:
        transforming().guards.remove(self)

    def check(self, target: Tensor, operation: Op, others: int) -> None:
        """RuntimeError if `target` was made before the function ran and is none of its arguments."""
        made_inside = target.storage.contents.serial >= self.first
        if not made_inside and all(each.storage is not target.storage for each in self.arguments):
            overload = ".Tensor" if others and operation.promotion in (ARITHMETIC, FLOAT) else ""
            name = "copy" if operation is assigned else operation.torch_name  # what `x[0] = 3` calls in torch
            raise RuntimeError(
                "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place "
                f"operation (aten::{name}_{overload}) that would mutate a captured Tensor. This is not "
                "supported; please rewrite the function being transformed to explicitly accept the mutated Tensor(s) "
                "as inputs."
            )


class Variables:
    """The leaves that a reverse-mode transform differentiates with respect to.

    While the function runs, each is a leaf; afterwards it is an identity step from the tensor that it was made from, so
    that an outer transform, or `backward`, differentiates through it.

    Attributes:
        first: where it began in the order of recording: nodes from inside come after.
        pulling: whether cotangents are being pulled back to these leaves. Hooks set inside the function run only then.
    """

    def __init__(self) -> None:
        self.entries: list[tuple[Node, Node]] = []
        self.first = next_serial()
        self.pulling = False

    def __enter__(self) -> Variables:
        transforming().depth += 1
        self.depth = transforming().depth
        transforming().variables.append(self)
        self._mode = tracking(True)
        self._mode.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._mode.__exit__()
        transforming().variables.remove(self)
        transforming().depth -= 1
        for fresh, outer in self.entries:
            fresh.operation, fresh.inputs = transform_argument, (outer,)
            fresh.edges = (outer,) if outer.requires_grad else ()

    def peeled(self, node: Node) -> tuple[str, Node] | None:
        """What torch calls a tensor inside of this level, and what it is outside; None where it is from outside."""
        name = f"GradTrackingTensor(lvl={self.depth}, "
        for fresh, outer in self.entries:
            if fresh is node:
                return name, outer
        if not between([node], {fresh for fresh, _ in self.entries}, inputs_of):
            return None
        return name, Node(transform_result, (), (node,), node.aval, False, node.value)

    def fresh(self, argument: Tensor) -> Tensor:
        """A leaf with the value of `argument`; RuntimeError for an integer tensor."""
        if not argument.dtype.differentiable:
            raise RuntimeError(
                "only Tensors of floating point dtype can require gradients\n"
                f"The argument is torch.{argument.dtype.name}; convert it first, `x.float()`, or leave it out of "
                "`argnums`."
            )
        argument.check_current()
        outer = argument.node
        node = Node(variable, (), (outer,), outer.aval, True, outer.value)
        self.entries.append((node, outer))
        return wrap(node)

    def pulled(self, pull: Callable[[], T]) -> T:
        """Runs `pull`, which pulls cotangents back to these leaves, and returns its result."""
        self.pulling = True
        try:
            return pull()
        finally:
            self.pulling = False

    def result(self, value: Tensor) -> Tensor:
        """`value` as the transform returns it: it requires a gradient only if a tensor from outside does."""
        node = value.node
        if not node.requires_grad or leads_on(node):
            return value
        if node.value is not None and not transforming().forward:
            return wrap(node_of_value(node.value, node.aval))
        return wrap(Node(transform_result, (), (node,), node.aval, False, node.value))


class NoTangents:
    """A block in which no tangents go on: what is computed in it is constant to the levels of forward mode around it.

    A tensor that is written in it keeps the tangent that it had.
    """

    def __enter__(self) -> None:
        self.start = next_serial()
        transforming().cuts.append((self.start, math.inf))

    def __exit__(self, *_: object) -> None:
        transforming().cuts.remove((self.start, math.inf))
        if transforming().forward:
            transforming().cuts.append((self.start, next_serial()))

    @staticmethod
    def now() -> bool:
        """Whether such a block is open."""
        return any(end == math.inf for _, end in transforming().cuts)


class DualStep(Step):
    """The step from a tensor to its dual, through which what is written also writes its tangent, in place as well."""

    def __init__(self, level: Duals, tangent: Tensor) -> None:
        super().__init__(dual, ())
        self.level = level
        self.tangent: Tensor | None = tangent

    def read(self, node: Node) -> Node:
        shown = record(dual, (node,))
        if self.level.open and self.tangent is not None:
            self.level.tangents[shown] = self.tangent.node
        return shown

    def write(self, base: Node, new: Node) -> Node:
        if not self.level.open or self.tangent is None:
            self.tangent = None
            return record(alias, (new,))
        if not NoTangents.now():
            (found,) = self.level.tangents_of([new])
            tangent = constant(0, new.aval) if found is None else found
            if self.level.of_function:
                self.tangent = wrap(tangent)
            else:
                self.tangent.write(tangent)
        return self.level.primal_of(new)

    def layout(self, layout: Layout) -> Layout:
        return layout

    def plain(self) -> Step:
        return Step(alias, ())


class PrimalStep(Step):
    """The step from a dual tensor to its primal: what is written through it leaves the tangent as it is."""

    def __init__(self, level: Duals) -> None:
        super().__init__(primal, ())
        self.level = level

    def read(self, node: Node) -> Node:
        return self.level.primal_of(node)

    def write(self, base: Node, new: Node) -> Node:
        written = record(dual, (new,))
        (tangent,) = self.level.tangents_of([base]) if self.level.open else (None,)
        if tangent is not None:
            self.level.tangents[written] = tangent
        return written

    def layout(self, layout: Layout) -> Layout:
        return layout

    def plain(self) -> Step:
        return Step(alias, ())


class Duals:
    """A level of forward mode, of `jvp` or of `dual_level`: it knows the tangent of each node."""

    def __init__(self, of_function: bool = True) -> None:
        self.of_function = of_function
        self.first = next_serial()
        self.tangents: dict[Node, Node] = {}
        self.primals: set[Node] = set()
        self.open = True

    def __enter__(self) -> Duals:
        transforming().depth += self.of_function
        transforming().forward += 1
        return self

    def __exit__(self, *_: object) -> None:
        transforming().forward -= 1
        transforming().depth -= self.of_function
        if not transforming().forward:
            transforming().cuts = [each for each in transforming().cuts if each[1] == math.inf]
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
        if any(self.first < start <= node.serial < end for start, end in transforming().cuts):
            return ()
        if node in self.primals or (node.operation is not None and not node.operation.differentiable):
            return ()
        if node.python is not None:
            return [each for each in node.python.operands if each is not None]
        return node.inputs if whole or aval.dtype.differentiable else ()

    def carries(self, node: Node) -> bool:
        """Whether `node` has a tangent."""
        return node in self.tangents or bool(between([node], self.tangents, self.edges))

    def tangents_of(self, nodes: Sequence[Node]) -> list[Node | None]:
        """The tangent of each node; None for one that depends on no dual tensor."""
        if all(node in self.tangents for node in nodes):
            return [self.tangents[node] for node in nodes]
        found = self.linear(nodes)(self.tangents)
        known_now = {node: tangent for node, tangent in zip(nodes, found, strict=True) if tangent is not None}
        self.tangents.update(known_now)
        self.primals.update(known_now.values())
        return found

    def linear(self, nodes: Sequence[Node]) -> Callable[[dict[Node, Node]], list[Node | None]]:
        """The function from the tangents of the duals made so far to those of `nodes`, as `tangents_of` gives them."""
        starts, steps = set(self.tangents), []
        for node in between(nodes, starts, self.edges):
            if node.python is not None:
                if node not in starts:
                    ends = [each for each in node.python.outputs if each is not None]
                    steps.append((ends, self._through(node.python, starts)))
                    starts.update(ends)
                continue
            # The user may differentiate a tangent with respect to this node, so it becomes an operand, too.
            if severed(node) or (node.requires_grad and (node.is_leaf or node.held)):
                steps.append(([node], pushforward([node], starts, self.edges, FORWARD)))
                starts.add(node)
        ends = [node for node in nodes if node not in starts]  # any other has the tangent that it was given
        steps.append((ends, pushforward(ends, starts, self.edges, FORWARD)))

        def push(tangents: dict[Node, Node]) -> list[Node | None]:
            reached = dict(tangents)
            for ends, step in steps:
                found = zip(ends, step(reached), strict=True)
                reached.update({end: tangent for end, tangent in found if tangent is not None})
            return [reached.get(node) for node in nodes]

        return push

    def _through(self, python: PythonBackward, starts: set[Node]) -> Callable[[dict[Node, Node]], list[Node | None]]:
        """The linear function from the tangents of `starts` to those of a custom Function's outputs, by its own
        `jvp`."""
        operands = [each for each in python.operands if each is not None and each not in starts]
        push = pushforward(operands, set(starts), self.edges, FORWARD)

        def step(tangents: dict[Node, Node]) -> list[Node | None]:
            known = {**tangents, **dict(zip(operands, push(tangents), strict=True))}
            found = python.jvp([None if each is None else known.get(each) for each in python.operands])
            return [tangent for output, tangent in zip(python.outputs, found, strict=True) if output is not None]

        return step

    def primal(self, tensor: Tensor) -> Tensor:
        """A view of a dual tensor without its tangent."""
        return view(tensor, PrimalStep(self))

    def primal_of(self, node: Node) -> Node:
        """`node` without the tangent of this level."""
        plain = record(primal, (node,))
        self.primals.add(plain)
        return plain


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
        taken = output._steps if output.follows_base else ()
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
        viewed = self.viewed(output, 0, self.holds(output.node))
        return wrap(self.batches([output.node], [0])[0]) if viewed is None else viewed

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
                (batch,) = record_vmap(
                    between([node], examples, inputs_of), [node], examples, [0], self.size, self.chunk
                )
            examples[node] = batch, 0
        if len(examples) > len(self.examples):
            inside = between(nodes, examples, inputs_of)
        return record_vmap(inside, nodes, examples, out_axes, self.size, self.chunk)


def drawn_from(draw: Callable[..., Tensor], *parameters: Tensor) -> Tensor:
    """`draw(*parameters)`, random numbers for each element of parameters of one shape, whose values it reads.

    Inside `vmap` it is called once, with the parameters of all examples.
    """
    if not transforming().batches:
        return draw(*parameters)
    batch: Batch = transforming().batches[-1]
    differs = batch.random_differs()
    if not differs and any(batch.holds(each.node) for each in parameters):
        raise RuntimeError(
            "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with "
            'functorch\nWhat is drawn depends on the example: `vmap(f, randomness="different")`.'
        )
    given = [(batch.whole(each) if differs else each).detach() for each in parameters]
    with batch.outside():
        drawn = drawn_from(draw, *given)
    return wrap(record(clone, (batch.example(drawn, 0).node,))) if differs else drawn


def drawn_into(fill: Callable[[Tensor], Tensor], target: Tensor) -> Tensor:
    """`fill(target)`, which writes random numbers there; inside `vmap`, into all examples of `target`."""
    if not transforming().batches:
        return fill(target)
    batch: Batch = transforming().batches[-1]
    if not batch.random_differs():
        return fill(target)
    check_target(batch, target)
    whole = batch.viewed(target, 0, True)
    if whole is None:
        return fill(target)
    with batch.outside():
        drawn_into(fill, whole)
    return target


def check_target(batch: Batch, target: Tensor) -> None:
    """RuntimeError where each example draws numbers of its own for a tensor that all of them share."""
    if not batch.holds(target.node):
        raise RuntimeError(
            "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same "
            "randomness. If this is necessary for your usage, please file an issue with functorch.\n"
            'One for all examples is drawn with `randomness="same"`, or before vmap.'
        )


def refuse_out(out: Tensor | None) -> None:
    """RuntimeError for random numbers that are written to `out` inside of `vmap`."""
    if out is not None and transforming().batches:
        raise RuntimeError(
            "vmap: We do not support calling out variants of random operations inside of vmap. Please use non-out "
            "variants as a workaround"
        )


def per_example(
    shape: tuple[int, ...],
    make: Callable[[tuple[int, ...]], Tensor],
    differs: Callable[[Batch], bool],
    depth: int | None = None,
    copied: bool = True,
) -> Tensor:
    """`make(shape)` inside `vmap`: a tensor of its own for each example of the `vmap`s that `differs` picks, and the
    same one for all examples of the others. `copied`: a write into it, which may have a gradient, stays in the
    example."""
    depth = len(transforming().batches) if depth is None else depth
    if depth == 0:
        return make(shape)
    batch: Batch = transforming().batches[depth - 1]
    if not differs(batch):
        return per_example(shape, make, differs, depth - 1, copied)
    example = batch.example(per_example((batch.size, *shape), make, differs, depth - 1, copied), 0)
    return wrap(record(clone, (example.node,))) if copied else example
