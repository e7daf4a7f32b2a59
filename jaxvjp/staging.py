"""Whole imperative steps as one compiled function: `jit`.

In this room one can stage a function that computes with tensors, calls `backward` and updates parameters in place: it
runs once, what it records becomes one program, and every later call is that program with no recording at all.
`autograd` comes before this room.

What the step reads (its arguments, and tensors from outside such as parameters and their `grad`) are the program's
leaves; what it returns and what it leaves changed are its outputs, which are put back into the same tensors after each
call. It is what a JAX user writes by hand, `state, result = jax.jit(step)(state, *arguments)`, with the state found out.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from jax.tree_util import tree_flatten, tree_unflatten

from jaxvjp.core.engine import gradient_edges
from jaxvjp.core.evaluation import evaluate
from jaxvjp.core.graph import Node, Number, leaf, next_serial, reachable
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


class Unstageable(RuntimeError):
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
        self.refused: Unstageable | None = None

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
        self.refused = Unstageable(f"This step cannot be staged, for it {what}.\nThat is {line}\n{ADVICE}")
        if self.strict:
            raise self.refused

    def undo(self) -> None:
        """Puts back what the step changed."""
        for tensor, node in self.nodes.items():
            tensor.show_instead(node)
        for tensor, grad in self.grads.items():
            tensor._grad = grad


class Whence(NamedTuple):
    """Where a tensor from outside is found at a call: an argument, the grad of another one, or always the same."""

    argument: int | None = None
    owner: int | None = None
    tensor: Tensor | None = None


class Guard(NamedTuple):
    """What must be as it was when the step was staged, for its program to be right."""

    aval: Aval
    requires_grad: bool
    has_grad: bool


class Variant:
    """One program of a staged function: for arguments of one signature, and tensors outside in one state.

    Attributes:
        outside: where to find the tensors that it reads or changes, and what must hold of each.
        reads: pairs of a place among `outside` and a number in the program's table.
        changes: the same for what shows another value afterwards.
        grads: the same for what has another `grad` afterwards; None where it has none.
        table: the program's values, as far as they are always the same.
    """

    def __init__(self, journal: Journal, arguments: list[Any], result: Any) -> None:
        self.outside: list[Whence] = []
        self.guards: list[Guard] = []
        self._places: dict[Tensor, int] = {}
        leaves, self.structure = tree_flatten(result, is_leaf=_is_leaf)
        changed = [each for each, node in journal.nodes.items() if node.serial < journal.start]
        graded = [each for each in journal.grads if journal.nodes.get(each, each.node).serial < journal.start]

        def node_of(tensor: Tensor) -> Node:
            return journal.values.get(tensor.node, tensor.node)

        outputs = [node_of(each) for each in (*leaves, *changed) if isinstance(each, Tensor)]
        outputs += [node_of(each._grad) for each in graded if each._grad is not None]
        _check_finished(outputs, journal)
        inside = reachable(outputs, lambda node: node.inputs if node.serial > journal.start else ())
        evaluate([node for node in inside if node.serial < journal.start])
        self.found = found = survey(outputs, outputs)
        self.plan = plan_of(found)
        number = found.number
        self._place_outside(journal, arguments)
        shown = {node: each for each, node in journal.nodes.items()}
        self.table: list[Any] = [None] * len(found.nodes)
        self.reads: list[tuple[int, int]] = []
        for place, node in enumerate(found.nodes):
            if node.value is not None:
                tensor = None if isinstance(node, Number) else shown.get(node, node.tensor)
                if tensor is None or node.serial > journal.start:
                    self.table[place] = node.value
                else:
                    self.reads.append((self._outside(tensor, journal), place))
        self.returned = [
            (number[node_of(each)], each.node.aval) if isinstance(each, Tensor) else (None, each) for each in leaves
        ]
        self.changes = [(self._outside(each, journal), number[each.node]) for each in changed]
        self.grads = [
            (self._outside(each, journal), None if each._grad is None else number[node_of(each._grad)])
            for each in graded
            if each._grad is None or each._grad not in changed
        ]

    def _place_outside(self, journal: Journal, arguments: list[Any]) -> None:
        """Numbers the arguments, and the `grad` of each tensor that had one, before all other tensors from outside."""
        for place, each in enumerate(arguments):
            if isinstance(each, Tensor) and each not in self._places:
                self._add(each, Whence(argument=place), journal)
        for each in journal.grads:
            self._outside(each, journal)

    def _outside(self, tensor: Tensor, journal: Journal) -> int:
        if tensor not in self._places:
            self._add(tensor, Whence(tensor=tensor), journal)
        return self._places[tensor]

    def _add(self, tensor: Tensor, whence: Whence, journal: Journal) -> None:
        node = journal.nodes.get(tensor, tensor.node)
        grad = journal.grads.get(tensor, tensor._grad)
        place = self._places[tensor] = len(self.outside)
        self.outside.append(whence)
        self.guards.append(Guard(node.aval, node.requires_grad, grad is not None))
        if grad is not None and grad not in self._places:
            self._add(grad, Whence(owner=place), journal)

    def tensors(self, arguments: list[Any]) -> list[Tensor] | None:
        """The tensors outside at this call; None if one of them is not as it was."""
        found: list[Any] = []
        for (argument, owner, tensor), guard in zip(self.outside, self.guards, strict=True):
            each = tensor if tensor is not None else arguments[argument] if owner is None else found[owner]._grad
            node = each.node
            if node.aval is not guard.aval or node.requires_grad is not guard.requires_grad:
                return None
            if (each._grad is not None) is not guard.has_grad:
                return None
            found.append(each)
        return found

    def first(self) -> None:
        """Computes what the step recorded, of which no value is known yet."""
        found, self.found = self.found, None
        values = [each.value for each in found.nodes]
        self.plan.run(values)
        for number in self.plan.outputs:
            node = found.nodes[number]
            node.value = values[number]
            node.forget()

    def run(self, tensors: list[Tensor]) -> Any:
        """Calls the program on the tensors outside, changes them as the step does, and returns its result."""
        values = self.table.copy()
        for place, number in self.reads:
            values[number] = tensors[place].value
        self.plan.run(values)
        with recording(False):
            for place, number in self.changes:
                tensor = tensors[place]
                tensor.write(leaf(values[number], tensor.node.aval))
        for place, number in self.grads:
            tensor = tensors[place]
            tensor._grad = None if number is None else wrap(leaf(values[number], tensor.node.aval))
        leaves = [own if number is None else wrap(leaf(values[number], own)) for number, own in self.returned]
        return tree_unflatten(self.structure, leaves)


def _is_leaf(value: Any) -> bool:
    return value is None or isinstance(value, Tensor)


def _check_finished(outputs: list[Node], journal: Journal) -> None:
    """Refuses a step that leaves a graph behind which could still be differentiated: it would not be there again."""
    for output in outputs:
        if output.requires_grad and not output.is_leaf:
            steps = [each for each in reachable([output], gradient_edges) if not each.is_leaf]
            if not any(each.freed for each in steps):
                journal.refuse(
                    "gives a tensor whose gradient could still be asked for, and it has no graph outside: call backward "
                    "inside the step, return `y.detach()`, or run it under no_grad()",
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
            with a graph) is an error, Unstageable, that names the line; else it runs as it is.

    Counterpart of `torch.compile`, where `fullgraph` is False by default; so is it for `jaxvjp.compile`. Underneath:
    `jax.jit` of the step as a function of its arguments and of the state that it reads.
    """
    if function is None:
        return functools.partial(jit, fullgraph=fullgraph)
    return Staged(function, fullgraph)


def compile(function: Callable[..., Any] | None = None, *, fullgraph: bool = False) -> Any:
    """`jit` with torch's name and default: what cannot be staged runs as it is. Counterpart of `torch.compile`."""
    return functools.partial(compile, fullgraph=fullgraph) if function is None else Staged(function, fullgraph)
