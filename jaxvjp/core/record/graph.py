# cython: annotation_typing=False
"""The recorded graph: one `Node` per operation, in the order in which the user's lines ran.

`y = x * 2` is a node with the op `mul` and the inputs (node of x, `Number` 2). It has an aval (shape and dtype) at
once, and a value only after `evaluation` has computed it. `record` makes nodes, `reachable` walks over them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, cast
from weakref import ref

import jax
import numpy as np

from jaxvjp.core.record.collector import leave_uncollected, let_collector_visit, uncollected_ref
from jaxvjp.core.record.modes import count_change, grad_mode
from jaxvjp.core.record.steps import Hook, Packed, PythonBackward, StepHooks
from jaxvjp.core.record.user_lines import Location, UserLine, located, user_line
from jaxvjp.core.record.versions import Versions, serials
from jaxvjp.ops.identity import rebind, tuple_item, variable
from jaxvjp.ops.op import Aval, Op, number_aval
from jaxvjp.ops.view import unbind_one
from jaxvjp.types.compiled import CYTHONIZED
from jaxvjp.types.dtypes import LEAST, MOST, within_64_bits

Value = jax.Array | np.ndarray[Any, Any]
"""What a node's value is kept as: a `jax.Array`, or, of a new tensor of at most 64 KB, a NumPy array.

`np.asarray(value)` reads either. `run.values` says why there are two kinds.
"""


class Number:
    """A Python number as an operand, such as the 2 of `x * 2`. Its value is an argument of the compiled program:
    `x * 3` runs the same program. A number that selects a program is a static argument instead, as in `x ** 2`.
    """

    # As a `Node` has them, so that a walk need not ask which of the two an operand is.
    requires_grad = False
    inference = False
    detached_in_place = False
    holder = passed = None
    serial = 0

    def __init__(self, value: complex, number_dtype: Any, device: Any = None) -> None:
        if type(value) is int and not LEAST <= value <= MOST:
            within_64_bits(value)  # OverflowError, in torch's words
        self.value = value
        self.aval = number_aval(number_dtype, device)
        leave_uncollected(self)

    def like(self, value: complex) -> Number:
        """Another operand of the same dtype, also for an equal `value`: a survey tells operands apart by identity."""
        if type(value) is int and not LEAST <= value <= MOST:
            within_64_bits(value)  # OverflowError, in torch's words
        number: Number = Number.__new__(Number)
        number.value = value
        number.aval = self.aval
        leave_uncollected(number)
        return number


def rare(hidden: str, default: Any = None) -> Any:
    """A property of `Node` that few nodes have, kept in the attribute `hidden`.

    Setting it also sets `node.special`, has Python's garbage collector visit the node, which may be in a cycle now, and
    is counted, for `staging`, as a change of a tensor.
    """

    def assign(node: Node, value: Any) -> None:
        if value is not default:
            node.special = True
            let_collector_visit(node, node.inputs)
        count_change()
        setattr(node, hidden, value)

    return property(attrgetter(hidden), assign)


def hooks_of_leaf_or_node(name: str) -> Any:
    """Such a property for hooks. A leaf's are kept in its `LeafIdentity`, so they stay when the leaf is written."""
    hidden = f"_{name}"

    def read(node: Node) -> Any:
        return getattr(node, hidden) if node.leaf is None else getattr(node.leaf, name)

    def assign(node: Node, value: Any) -> None:
        node.special = True
        let_collector_visit(node, node.inputs)
        count_change()
        if node.is_leaf:
            setattr(leaf_identity_of(node), name, value)
        else:
            setattr(node, hidden, value)

    return property(read, assign)


class Node:
    """One recorded operation, or a leaf.

    Attributes, of which these eight are enough at first (the others are in comments below, by who reads them):
        operation, static, inputs: the op, its static arguments such as `dim`, its operands. Given data has no op.
        aval: the abstract value: shape, dtype, device. If the op returns several arrays, a tuple of theirs; each array
            is then a node of its own, with the op `tuple_item`.
        value: the value (see `Value`) once it has been computed or given; None before.
        requires_grad: whether a cotangent may flow to it.
        serial: its number in the order of recording; the inputs of a node have smaller ones.
        freed: set by a backward pass without `retain_graph`, if the op is declared to save something, as `mul` is,
            even for `x * 2`: a second backward through it raises torch's error.
    """

    freed: bool

    # The user's line and tensor, for errors and to tell what must be kept.
    #   where: the line that recorded it, as `user_lines.user_line` gives it.
    #   holder: a weak reference to the Tensor that shows this node to the user.
    holder: ref[Any] | None

    # A backward step that is not just `jax.vjp` of the op: `derive.engine`.
    #   edges: the nodes to which it passes cotangents, where those are not all of `inputs`.
    #   python: the Python code that is its backward step.
    #   hooks: those of `Tensor.register_hook`, by a number that is in the handle.
    #   step_hooks: those of `grad_fn.register_hook` and `grad_fn.register_prehook`.
    #   packed: what saved-tensor hooks made of the tensors that torch would have saved.
    #   retains: whether its tensor keeps the gradient in `grad` although it is no leaf (`retain_grad`).
    #   special: whether one of these six, or `mutation`, was ever set; or the node is freed, or is a copy with an
    #       `original`, or shows a leaf that has hooks. A walk visits thousands of nodes, and each test of one counts:
    #       it tests this flag first. `survey` then looks whether its key tells all about the node; if it does not, no
    #       plan is remembered for the graph.
    edges: tuple[Node, ...] | None = rare("_edges")
    python: PythonBackward | None = rare("_python")
    hooks: dict[int, Hook] | None = hooks_of_leaf_or_node("hooks")
    step_hooks: StepHooks | None = hooks_of_leaf_or_node("step_hooks")
    packed: Packed | None = rare("_packed")
    retains: bool = rare("_retains", False)
    special: bool
    _edges: tuple[Node, ...] | None
    _python: PythonBackward | None
    _hooks: dict[int, Hook] | None
    _step_hooks: StepHooks | None
    _packed: Packed | None
    _retains: bool

    # Writes in place, by torch's rules: `saves`, `derive.saved`, `tensor.storage`.
    #   in_place: whether it was recorded by an in-place operation, whose first input is the value before.
    #   versions, version: the count of in-place writes to the memory that it shows, and what that was when it began to
    #       show it. None, until somebody needs the count.
    #   leaf: the `LeafIdentity` of a leaf that requires a gradient and was written or has hooks.
    #   stale: whether it is a leaf that was written since: its tensor shows another node.
    #   outdated: whether its tensor is a view that torch does not take again after its base was written: it may be
    #       read, but nothing recorded that has a gradient (`record.tracks`).
    #   retaken: of a view that was taken again after its base was written, from how many view ops; else 0.
    #   detached_in_place: whether its tensor left it by `detach_()`: a backward step that has saved it raises an error.
    in_place: bool
    versions: Versions | None
    version: int
    leaf: LeafIdentity | None
    stale: bool
    outdated: bool
    retaken: int
    detached_in_place: bool

    # The modes that it was recorded in: `saves`, `derive.saved`.
    #   inference: whether in inference mode; it must not be saved for a gradient.
    #   mutation: of what was recorded inside `allow_mutation_on_saved_tensors`, the block (`GradMode.mutation`).
    inference: bool
    mutation: Any = rare("_mutation")
    _mutation: Any

    # Between two reads: `run.survey`.
    #   passed_by: whether its value was computed, on the way to one that was read, and not kept.
    passed_by: bool

    # After it has dropped its inputs: `lifetime`, `derive.saved`.
    #   input_avals: the avals of the inputs.
    #   passed: of a freed node, which tensors it may have been computed from, a `lifetime.TensorsBehind`.
    #   original: of a copy without inputs, which `saved.release` makes of a step, weakly the original.
    input_avals: tuple[Aval, ...] | None
    passed: Any
    original: ref[Node] | None

    def __init__(
        self,
        operation: Op | None,
        static: tuple[Any, ...],
        inputs: tuple[Node | Number, ...],
        aval: Any,
        requires_grad: bool = False,
        value: Value | None = None,
        where: UserLine = None,
    ) -> None:
        self.operation = operation
        self.static = static
        self.inputs = inputs
        self.aval = aval
        self.requires_grad = requires_grad
        self.value = value
        self.serial = next(serials)
        self.where = user_line() if where is None else where
        mode = grad_mode()
        if mode.inference:
            self.inference = True
        if mode.mutation is not None:
            self.mutation = mode.mutation
            mode.mutation.recorded.add(self)

    @property
    def is_leaf(self) -> bool:
        """Whether gradients stop here: `Tensor.is_leaf`.

        It requires none, or was given (it has no op), or is a leaf that was written: then its op is `variable`, which
        passes on a value that earlier operations compute, and no gradient.
        """
        return not self.requires_grad or self.operation is None or self.operation is variable

    @property
    def lost(self) -> bool:
        """Whether it is a leaf whose gradient is added to no `grad` (`LeafIdentity.lost`)."""
        return self.leaf is not None and self.leaf.lost

    @property
    def tensor(self) -> Any:
        """The Tensor (a `Holder`) that shows, or showed, this node to the user; None if there is none any more."""
        return None if self.holder is None else self.holder()

    def held(self) -> bool:  # a method, as properties are slower, compiled
        """Whether the user has a tensor that shows this node."""
        holder = None if self.holder is None else self.holder()
        return holder is not None and holder.__shown__ is self

    @property
    def gradient_name(self) -> str:
        """torch's name for the node in the backward graph, `MulBackward0`."""
        if self.python is not None:
            return self.python.name
        if self.operation is None or self.operation is variable:
            return "AccumulateGrad"
        if self.retaken:
            return "AsStridedBackward0"
        if (self.operation is tuple_item or self.operation is rebind) and self.inputs:
            return cast(Node, self.inputs[0]).gradient_name
        return self.operation.gradient_name(self.static, self.avals_read())

    @property
    def forward_name(self) -> str:
        """How torch's errors name the operation of `grad_fn`: `Mul` for `MulBackward0`, `Fill2` for `FillBackward2`."""
        return re.sub(r"Backward0?(?=\d*$)", "", self.qualified_name)

    def avals_read(self) -> tuple[Aval, ...]:
        """The avals of the inputs, also after those were dropped (`lifetime`); `gradient_name` needs them."""
        return tuple([operand.aval for operand in self.inputs]) if self.input_avals is None else self.input_avals

    @property
    def device(self) -> Any:
        """The device of the value, a `Place`; None for JAX's default device."""
        return (self.aval if type(self.aval) is Aval else self.aval[0]).device

    @property
    def output_number(self) -> int:
        """`Tensor.output_nr`: 1 for the second result of an op that returns several, 0 for a leaf."""
        if self.is_leaf:
            return 0
        if self.python is not None:
            return list(self.python.outputs).index(self)
        if self.operation is unbind_one:
            return cast(int, cast(Number, self.inputs[1]).value)
        return cast(int, self.static[0]) if self.operation is tuple_item else 0

    @property
    def qualified_name(self) -> str:
        """What torch's `grad_fn.name()` says: four steps carry their C++ namespace."""
        name = self.gradient_name
        return (
            f"torch::autograd::{name}" if name in ("AccumulateGrad", "CopySlices", "CopyBackwards", "Error") else name
        )

    @property
    def stands_alone(self) -> bool:
        """Whether its backward step cannot be part of a longer `jax.vjp`: it is Python code, or has hooks of the step
        or of saved tensors. Hooks of its tensor do not matter here: they only end a segment (`derive.engine`)."""
        return not (self.python is None and self.step_hooks is None and self.packed is None)

    @property
    def location(self) -> Location | None:
        """The user's line that recorded this node."""
        return located(self.where)

    def __repr__(self) -> str:
        name = "leaf" if self.operation is None else self.operation.name
        return f"<Node {self.serial} {name} {self.aval}>"


class LeafIdentity:
    """A leaf that requires a gradient, whichever contents it has: after `w -= 0.1 * w.grad` w shows another node.

    All nodes that a leaf has shown have the same `LeafIdentity`. A gradient that arrives at any of them is added to the
    `grad` of that tensor.

    Attributes:
        hooks, step_hooks: those of the tensor; see `Node`.
        lost: whether its gradient is added to no `grad`: it is a view of a tensor that requires a gradient, and was
            written or taken under `no_grad`.
        tensor: the tensor, if it has hooks after accumulation: a graph calls them also when the user has dropped it.
    """

    __slots__ = ("__weakref__", "hooks", "lost", "step_hooks", "tensor")

    def __init__(self, lost: bool = False) -> None:
        self.hooks: dict[int, Hook] | None = None
        self.step_hooks: StepHooks | None = None
        self.lost = lost
        self.tensor: Any = None

    def found_again(self) -> LeafIdentity:
        """One with the same hooks, for the view that is asked to require a gradient of its own."""
        found = LeafIdentity()
        found.hooks, found.step_hooks = self.hooks, self.step_hooks
        return found


def leaf_identity_of(node: Node) -> LeafIdentity:
    """The `LeafIdentity` of a leaf's node, made when it is first needed."""
    let_collector_visit(node, node.inputs)
    if node.leaf is None:
        node.leaf = LeafIdentity()
    return node.leaf


class Holder:
    """The part of a `tensor.Tensor` that the graph knows: `__shown__`, the node that it shows.

    Of `Node.tensor`, which is one, `core` uses four more, for which `tensor.storage` looks after views and writes:
    `__node__` (the node that it shows now), `__gradient_node__` (where its gradient arrives), `__begin_count__()` (of
    writes) and `__check_current__()` (torch's error for a view that is out of date).
    """

    __slots__ = ("__shown__", "__weakref__")

    __shown__: Node


def hold(node: Node, holder: Holder) -> None:
    """Notes that the user holds `node` by the tensor `holder`."""
    node.holder = uncollected_ref(holder)


def hooks_of(node: Node) -> dict[int, Hook] | None:
    """`node.hooks`, if they are called: not those of a leaf whose gradient is added to no `grad`."""
    if node.leaf is None:
        return node._hooks
    return None if node.leaf.lost else node.leaf.hooks


UNLESS_SET = {
    **dict.fromkeys(
        (
            "special",
            "freed",
            "in_place",
            "inference",
            "detached_in_place",
            "stale",
            "outdated",
            "_retains",
            "passed_by",
        ),
        False,
    ),
    **dict.fromkeys(("_edges", "_python", "_hooks", "_packed", "_step_hooks", "_mutation")),
    **dict.fromkeys(("holder", "passed", "input_avals", "versions", "leaf", "original")),
    "retaken": 0,
    "version": 0,
}
"""What a new node does not set, with the value that it has until somebody does. These are attributes of the class:
setting them on each node would double the time to record one. The compiled form has them in each node (`graph.pxd`)."""
if not CYTHONIZED:
    for _name, _value in UNLESS_SET.items():
        setattr(Node, _name, _value)


def reachable(roots: Iterable[Node], onward: Callable[[Node], Iterable[Any]]) -> list[Node]:
    """The roots and all nodes that `onward` leads to from them, in the order of recording.

    Numbers are left out. It is iterative, as a graph may be 100,000 nodes deep.
    """
    seen = set(roots)
    pending = list(seen)
    while pending:
        for each in onward(pending.pop()):
            if each not in seen and type(each) is Node:
                seen.add(each)
                pending.append(each)
    return sorted(seen, key=recording_order)


recording_order = attrgetter("serial")


def gradient_edges(node: Node) -> list[Any]:
    """The nodes to which `node` passes cotangents; none for a leaf."""
    if not node.requires_grad or node.operation is variable:  # a leaf; what was given has no inputs
        return []
    onward = node.edges if node.special and node.edges is not None else node.inputs
    return [each for each in onward if each.requires_grad]
