"""Whole imperative steps as one compiled function: `jit`.

In this room one can stage a function that computes with tensors, calls `backward` and updates parameters in place: it
runs once, what it records becomes one program, and every later call is that program with no recording at all.
`autograd` comes before this room.

What the step reads (its arguments, and tensors from outside such as parameters and their `grad`) are the program's
leaves; what it returns and what it leaves changed are its outputs, which are put back into the same tensors after each
call. By hand a JAX user writes it `state, result = jax.jit(step)(state, *arguments)`; here the state is found out.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.tree_util import tree_flatten, tree_unflatten

from jaxvjp.core.compilation import counters
from jaxvjp.core.evaluation import evaluate
from jaxvjp.core.graph import Node, Number, gradient_edges, leaf, next_serial, reachable
from jaxvjp.core.modes import grad_mode, recording, staging, transforming
from jaxvjp.core.places import Where, located, user_line
from jaxvjp.core.plan import plan_of, survey
from jaxvjp.dtypes import get_default_dtype
from jaxvjp.ops.op import Aval
from jaxvjp.tensor import Tensor, wrap

VARIANTS = 64
"""Programs that one staged function remembers at the most: for other shapes, numbers, states. Then it begins anew."""
ADVICE = (
    "A staged step runs as one compiled program, and Python looks at nothing on the way. Return such a tensor and read "
    "it outside the step, or let a step that cannot be staged run as it is: `jaxvjp.jit(step, fullgraph=False)`."
)


class UnstageableError(RuntimeError):
    """A step did what a compiled program cannot."""


class Journal:
    """What a step does, while it is staged, to tensors that were there before it.

    Attributes:
        start: when it began, in the order of recording; what is older comes from outside.
        nodes: for each tensor that shows another node by now, the one before.
        grads: for each tensor that has another `grad` by now, the one before.
        values: for roots of a backward pass, nodes that give their values from the same program.
        refused: why it cannot be staged, once that is known.
    """

    def __init__(self, strict: bool) -> None:
        self.start = next_serial()
        self.strict = strict
        self.nodes: dict[Tensor, Node] = {}
        self.grads: dict[Tensor, Tensor | None] = {}
        self.values: dict[Node, Node] = {}
        self.refused: UnstageableError | None = None

    def shows(self, tensor: Tensor) -> None:
        """`tensor` is about to show another node."""
        self.nodes.setdefault(tensor, tensor._node)

    def takes(self, tensor: Tensor) -> None:
        """`tensor` is about to get another `grad`."""
        self.grads.setdefault(tensor, tensor._grad)

    def refuse(self, what: str, where: Where = None) -> None:
        """Ends the staging because the step `what`: by an error if that was asked for, else it just goes on."""
        staging.journal = None
        line = located(user_line(sys._getframe(1)) if where is None else where)
        self.refused = UnstageableError(f"This step cannot be staged, for it {what}.\nThat is {line}\n{ADVICE}")
        if self.strict:
            raise self.refused

    def undo(self) -> None:
        """Puts back what the step changed."""
        for tensor, node in self.nodes.items():
            tensor.show_instead(node)
        for tensor, grad in self.grads.items():
            tensor._grad = grad


class Outside(NamedTuple):
    """A tensor from outside the step: where it is found at a call, and what must be as it was for the program to be
    right. It is an argument, the `grad` of another tensor outside, or always the same tensor.
    """

    argument: int | None
    owner: int | None
    tensor: Tensor | None
    aval: Aval
    requires_grad: bool
    has_grad: bool


class Variant:
    """One program of a staged function: for arguments of one signature, and tensors outside in one state.

    Tensors outside have places (in `outside`), outputs of the program have places of their own.

    Attributes:
        outside: the tensors that the step reads or changes.
        table: the values of the program's nodes, as far as they are always the same.
        reads: pairs of a place outside and the number of the node whose value it has.
        changes: pairs of a place outside and the output that it shows afterwards.
        grads: pairs of a place outside and the output that is its `grad` afterwards, or None.
        returned: for each leaf of the result a way to make it from the outputs and the tensors outside.
    """

    def __init__(self, journal: Journal, arguments: list[Any], result: Any) -> None:
        self.outside: list[Outside] = []
        self._journal = journal
        self._places: dict[Tensor, int] = {}
        leaves, self.structure = tree_flatten(result, is_leaf=_is_leaf)
        self.alone = len(leaves) == 1 and leaves[0] is result
        changed = [each for each, node in journal.nodes.items() if node.serial < journal.start]
        graded = [each for each in journal.grads if journal.nodes.get(each, each.node).serial < journal.start]
        grads = {each: each._grad for each in graded if each._grad is None or each._grad not in set(changed)}
        outputs = [self._node(each) for each in (*leaves, *changed, *grads.values()) if isinstance(each, Tensor)]
        _check_finished(outputs, journal)
        inside = reachable(outputs, lambda node: node.inputs if node.serial > journal.start else ())
        evaluate([node for node in inside if node.serial < journal.start])
        self.recorded = found = survey(outputs, outputs)
        self.plan = plan_of(found)
        for argument, each in enumerate(arguments):
            if isinstance(each, Tensor) and each not in self._places:
                self._add(each, argument=argument)
        for each in graded:  # before their grads can be met as tensors of no owner
            self._place(each)
        shown = {node: each for each, node in journal.nodes.items()}
        self.table: list[Any] = [None] * len(found.nodes)
        self.reads: list[tuple[int, int]] = []
        for number, node in enumerate(found.nodes):
            if node.value is not None:
                tensor = None if isinstance(node, Number) else shown.get(node, node.tensor)
                if tensor is None or node.serial > journal.start:
                    self.table[number] = node.value
                else:
                    self.reads.append((self._place(tensor), number))
        output = {number: place for place, number in enumerate(self.plan.outputs)}
        self.changes = [(self._place(each), output[found.number[self._node(each)]]) for each in changed]
        self.grads = [
            (self._place(each), None if grad is None else output[found.number[self._node(grad)]])
            for each, grad in grads.items()
        ]
        owners = {grad: self._place(each) for each, grad in grads.items() if grad is not None}
        self.returned = [self._maker(each, owners, output) for each in leaves]

    def _node(self, tensor: Tensor) -> Node:
        return self._journal.values.get(tensor.node, tensor.node)

    def _place(self, tensor: Tensor) -> int:
        if tensor not in self._places:
            self._add(tensor, tensor=tensor)
        return self._places[tensor]

    def _add(
        self, found: Tensor, argument: int | None = None, owner: int | None = None, tensor: Tensor | None = None
    ) -> None:
        node = self._journal.nodes.get(found, found.node)
        grad = self._journal.grads.get(found, found._grad)
        place = self._places[found] = len(self.outside)
        self.outside.append(Outside(argument, owner, tensor, node.aval, node.requires_grad, grad is not None))
        if grad is not None and grad not in self._places:
            self._add(grad, owner=place)

    def _maker(self, leaf_: Any, owners: dict[Tensor, int], output: dict[int, int]) -> Maker:
        if not isinstance(leaf_, Tensor):
            return lambda outputs, tensors: leaf_
        if leaf_ in self._places:
            place = self._places[leaf_]
            return lambda outputs, tensors: tensors[place]
        if leaf_ in owners:
            owner = owners[leaf_]
            return lambda outputs, tensors: tensors[owner]._grad
        node = self._node(leaf_)
        number, aval = self.recorded.number[node], node.aval
        if number not in output:
            constant = node.value
            return lambda outputs, tensors: wrap(leaf(constant, aval))
        at = output[number]
        return lambda outputs, tensors: wrap(leaf(outputs[at], aval))

    def tensors(self, arguments: list[Any]) -> list[Tensor] | None:
        """The tensors outside at this call; None if one of them is not as it was."""
        found: list[Any] = []
        for argument, owner, tensor, aval, requires_grad, has_grad in self.outside:
            if tensor is None:
                tensor = arguments[argument] if argument is not None else found[owner]._grad  # type: ignore[index]
            node = tensor.node
            if (
                node.aval is not aval
                or node.requires_grad is not requires_grad
                or (tensor._grad is not None) is not has_grad
            ):
                return None
            found.append(tensor)
        return found

    def first(self) -> None:
        """Computes what the step recorded, of which no value is known yet."""
        values = [each.value for each in self.recorded.nodes]
        self.plan.run(values)
        for number in self.plan.outputs:
            node = self.recorded.nodes[number]
            node.value = values[number]
            node.forget()
        del self.recorded, self._journal, self._places  # they hold what was computed
        self.direct = _Direct(self) if len(self.plan.dispatches) == 1 else None

    def run(self, tensors: list[Tensor]) -> Any:
        """Calls the program on the tensors outside, changes them as the step does, and returns its result."""
        if self.direct is not None:
            outputs = self.direct(tensors)
        else:
            values = self.table.copy()
            for place, number in self.reads:
                values[number] = tensors[place].value
            self.plan.run(values)
            outputs = [values[number] for number in self.plan.outputs]
        if self.changes:
            with recording(False):
                for place, at in self.changes:
                    tensor = tensors[place]
                    tensor.write(leaf(outputs[at], tensor.node.aval))
        for place, output in self.grads:
            tensor = tensors[place]
            tensor._grad = None if output is None else wrap(leaf(outputs[output], tensor.node.aval))
        leaves = [make(outputs, tensors) for make in self.returned]
        return leaves[0] if self.alone else tree_unflatten(self.structure, leaves)


Maker = Callable[[Any, list[Tensor]], Any]


class _Direct:
    """The one dispatch of a step that is no longer than one program: operands that never change are packed once."""

    def __init__(self, variant: Variant) -> None:
        ((self.executable, arrays, packs, gives, _),) = variant.plan.dispatches
        place_of = {number: place for place, number in variant.reads}
        self.operands = [variant.table[each] for each in arrays]
        self.feeds = [(at, place_of[each]) for at, each in enumerate(arrays) if each in place_of]
        with jax.enable_x64(True):
            for own, numbers in packs:
                self.operands.append(jax.device_put(np.array([variant.table[each] for each in numbers], own)))
        self.order = [gives.index(each) for each in variant.plan.outputs]
        self.ordered = self.order == list(range(len(gives)))

    def __call__(self, tensors: list[Tensor]) -> Any:
        operands = self.operands.copy()
        for at, place in self.feeds:
            operands[at] = tensors[place].value
        counters.dispatches += 1
        with jax.enable_x64(True):
            results = self.executable.compiled(*operands)
        return results if self.ordered else [results[each] for each in self.order]


def _is_leaf(value: Any) -> bool:
    return value is None or isinstance(value, Tensor)


def _check_finished(outputs: list[Node], journal: Journal) -> None:
    """Refuses a step that leaves a graph behind which could still be differentiated: it would not be there again."""
    for output in outputs:
        if output.requires_grad and not output.is_leaf:
            steps = [each for each in reachable([output], gradient_edges) if not each.is_leaf]
            if not any(each.freed for each in steps):
                journal.refuse(
                    "gives a tensor whose gradient could still be asked for, and outside it has none: call backward "
                    "in it, return `y.detach()`, or run it under no_grad()",
                    output.where,
                )


class Staged:
    """A function with its programs. Call it as the function; what it was made of is `__wrapped__`."""

    def __init__(self, function: Callable[..., Any], fullgraph: bool) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.fullgraph = fullgraph
        self.variants: dict[Any, list[Variant] | None] = {}

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *given: Any, **named: Any) -> Any:
        if transforming.depth or transforming.forward or staging.journal is not None:
            return self.function(*given, **named)
        arguments: list[Any]
        structure: Any = len(given)
        arguments = list(given)
        if named or not all(type(each) in PLAIN for each in given):
            arguments, structure = tree_flatten((given, named), is_leaf=_is_leaf)
        key = (structure, grad_mode.enabled, grad_mode.inference, get_default_dtype(), *map(_signature, arguments))
        known = self.variants.get(key, ())
        if known is None:
            return self.function(*given, **named)
        for variant in known:
            tensors = variant.tensors(arguments)
            if tensors is not None:
                return variant.run(tensors)
        return self._stage(key, arguments, given, named)

    def _stage(self, key: Any, arguments: list[Any], given: Any, named: Any) -> Any:
        """Runs the function itself, and remembers what it recorded as one more program."""
        evaluate([each.node for each in arguments if isinstance(each, Tensor)])
        staging.journal = journal = Journal(self.fullgraph)
        try:
            result = self.function(*given, **named)
            if journal.refused is None:
                staging.journal = None
                variant = Variant(journal, arguments, result)
        except BaseException:
            staging.journal = None
            journal.undo()
            raise
        if sum(len(each or ()) for each in self.variants.values()) >= VARIANTS:
            self.variants.clear()
        if journal.refused is not None:
            self.variants[key] = None
            return result
        variant.first()
        self.variants[key] = [*(self.variants.get(key) or ()), variant]
        return result


PLAIN = frozenset([Tensor, int, float, bool, str, type(None)])


def _signature(value: Any) -> Any:
    """What tells arguments apart that need programs of their own: of a tensor its type, of anything else its value."""
    if isinstance(value, Tensor):
        return Tensor
    if type(value) is float and value == 0:
        return float, math.copysign(1, value)  # zeros of either sign are equal
    return type(value), value


def jit(function: Callable[..., Any] | None = None, *, fullgraph: bool = True) -> Any:
    """A function that computes with tensors, as one compiled program with no recording in its later calls.

    The function may do what a training step does: compute, call `backward`, read and set `.grad`, write parameters in
    place under `no_grad`. It runs as Python the first time, and again for arguments of other shapes, dtypes or numbers;
    each time a program is remembered, which reads and writes the same tensors. Whatever else Python does in it (prints,
    appends, reads a number that is no argument) happens in those runs alone, as with `jax.jit`.

    Args:
        function: what to stage; without it, a decorator is returned.
        fullgraph: whether a step that cannot be staged (it reads a value, draws random numbers, or returns a tensor
            with a graph) is an UnstageableError that names the line; else it runs as it is.

    Counterpart of `torch.compile`, where `fullgraph` is False by default; so is it for `jaxvjp.compile`. Underneath:
    `jax.jit` of the step as a function of its arguments and of the state that it reads.
    """
    if function is None:
        return functools.partial(jit, fullgraph=fullgraph)
    return Staged(function, fullgraph)


def compile(function: Callable[..., Any] | None = None, *, fullgraph: bool = False) -> Any:
    """`jit` with torch's name and default: what cannot be staged runs as it is. Counterpart of `torch.compile`."""
    return functools.partial(compile, fullgraph=fullgraph) if function is None else Staged(function, fullgraph)
