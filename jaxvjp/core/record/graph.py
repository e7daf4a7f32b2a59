"""The recorded graph: one `Node` per operation, in the order in which the user's lines ran.

In this room one can hold a node and look at it, and walk a graph of any depth (`reachable`). `record`
makes nodes. Nothing is computed here: a node knows its abstract value at once and its value
only when `evaluation` has filled it in.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from operator import attrgetter
from typing import Any, NamedTuple, Protocol, cast
from weakref import ref

from jaxvjp.core.record.modes import COMPILED, changed, grad_mode, transforming
from jaxvjp.core.record.user_lines import Location, Where, located, user_line
from jaxvjp.core.record.versions import Versions, next_serial
from jaxvjp.ops.identity import detach, item, rebind, variable
from jaxvjp.ops.op import Aval, Op, number_aval
from jaxvjp.ops.view import placed, unbind_one
from jaxvjp.types.devices import device
from jaxvjp.types.dtypes import LEAST, MOST, within_64_bits

Hook = Callable[["Node"], "Node | None"]


class Number:
    """A Python number as an operand: no node, for its value is handed over at each call.

    OverflowError, in torch's words, for an integer that takes more than 64 bits.
    """

    requires_grad = False
    inference = False
    holder = None

    def __init__(self, value: complex, number_dtype: Any, device: device | None = None) -> None:
        if type(value) is int and not LEAST <= value <= MOST:
            within_64_bits(value)
        self.value = value
        self.aval = number_aval(number_dtype, device)

    def again(self) -> Number:
        """The same number as another operand."""
        number: Number = Number.__new__(Number)
        number.value = self.value
        number.aval = self.aval
        return number


Cotangents = list["Node | None"]


class StepHooks(NamedTuple):
    """Hooks of a step of the backward graph: before it, on the cotangents that arrive; after it, on both sides.

    They are the user's functions of tensors; `call` is how the engine, which knows none, has them called on nodes.
    """

    before: dict[int, Callable[..., Any]]
    after: dict[int, Callable[..., Any]]
    call: Callable[[Callable[..., Any], Cotangents, Cotangents | None], Cotangents]


class Packed(Protocol):
    """What saved-tensor hooks keep in the place of the tensors that a node saves."""

    def __call__(self, create_graph: bool) -> dict[Node, Node]:
        """Unpacks them: for each saved operand, the node to use in its stead."""


class SavingHooks(Protocol):
    """Saved-tensor hooks that are on: called with a node that saves tensors, or used for a single saved tensor."""

    def __call__(self, node: Node) -> Packed: ...

    def packed(self, node: Node) -> Any: ...

    def unpacked(self, kept: Any) -> Any: ...


class PythonBackward(Protocol):
    """A backward step that is Python code, not a JAX function: the user's `Function.backward`.

    `inputs` are the nodes that get cotangents from it and `outputs` those that bring theirs to it, None for one that
    has gone or brings none; `name` is what torch calls the node; `lifted` says that its value may be batched, for it
    is a batch's already. `jvp` gives the tangents of the outputs from those of
    `operands`, which are kept while forward mode is on.
    """

    name: str
    lifted: bool
    inputs: Sequence[Node]
    operands: list[Node | None]

    @property
    def outputs(self) -> Sequence[Node | None]: ...

    def jvp(self, tangents: Sequence[Node | None]) -> list[Node | None]: ...

    def __call__(self, cotangents: list[Node | None], create_graph: bool) -> list[Node | None]: ...

    def free(self) -> None: ...


class Leaf:
    """What stays the same of a leaf that requires a gradient while its contents change: `w -= 0.1 * w.grad`.

    Each write makes a node with the new contents. All these nodes have one `Leaf`, and a gradient that arrives at any
    of them is that of the one tensor, whose hooks these are.

    Attributes:
        hooks, step_hooks: as a node has them.
        lost: whether it is a view taken under `no_grad` of what requires a gradient, which nobody accumulates.
    """

    __slots__ = ("__weakref__", "hooks", "lost", "step_hooks")

    def __init__(self, lost: bool = False) -> None:
        self.hooks: dict[int, Hook] | None = None
        self.step_hooks: StepHooks | None = None
        self.lost = lost


def leaf_of(node: Node) -> Leaf:
    """The `Leaf` of a node that is one, made when it is first asked for."""
    if node.leaf is None:
        node.leaf = Leaf()
    return node.leaf


class Rare(property):
    """An attribute that few nodes have, kept under the name `hidden`. To set it makes a node `special`: what is
    remembered of graphs of the same structure does not apply to it."""

    def __init__(self, hidden: str, default: Any) -> None:
        def assign(node: Node, value: Any) -> None:
            if value is not default:
                node.special = True
            changed()
            setattr(node, hidden, value)

        super().__init__(attrgetter(hidden), assign)


class Hooks(Rare):
    """Hooks of a node; those of a leaf belong to its `Leaf`, whichever contents it has."""

    def __init__(self, name: str) -> None:
        def read(node: Node) -> Any:
            return getattr(node, f"_{name}") if node.leaf is None else getattr(node.leaf, name)

        def assign(node: Node, value: Any) -> None:
            node.special = True
            changed()
            if ends_here(node):
                setattr(leaf_of(node), name, value)
            else:
                setattr(node, f"_{name}", value)

        property.__init__(self, read, assign)


def rare(hidden: str, default: Any = None) -> Any:
    """`Rare`, for the eyes of a type checker of the attribute's own type."""
    return Rare(hidden, default)


def hooks_of_leaf_or_node(name: str) -> Any:
    """`Hooks`, for the eyes of a type checker of the attribute's own type."""
    return Hooks(name)


class Node:
    """One recorded operation, or a leaf.

    Attributes:
        operation, static, inputs: what computes the value; a leaf with a value has no operation.
        aval: the abstract value (a tuple of them where the op returns several arrays).
        value: the `jax.Array`, once it is known.
        requires_grad: whether a cotangent may flow to it.
        edges: the nodes to which it passes cotangents on, where those are not simply `inputs`.
        python: the Python code that is its backward step, if it is not `jax.vjp` of the operation.
        freed: whether a backward without `retain_graph` has been through it.
        serial: its place in the order of recording; inputs always come before users.
        holder: a weak reference to the Tensor that shows this node to the user.
        hooks: what `Tensor.register_hook` put here: each takes the cotangent's node and may return another.
        in_place: whether it was recorded by an in-place operation, which keeps the old value of its first operand.
        packed: what saved-tensor hooks made of the tensors that torch would have saved.
        inference: whether it was recorded in inference mode, and so must not be saved for a gradient.
        special: whether it has, or had, any of what is `Rare` (hooks, edges, a Python step, a gradient to retain), or
            is freed: what is remembered of graphs of the same structure does not apply.
        retains: whether the tensor wants the cotangent in its `grad` though it is no leaf.
        step_hooks: what `grad_fn.register_hook` and `register_prehook` put here.
        versions, version: the count of writes to the storage whose contents it shows, and where that stood when it
            came to show them; without a count nobody asked yet.
        retaken: of a view that was taken anew, for its base had been written: by how many steps.
        leaf: of a leaf that requires a gradient, what it has in common with those that show its other contents.
        stale: whether it is a leaf whose tensor shows another node by now.
        original: of what `release` keeps of a step, a weak reference to the node that it was stripped of.
        passed: what it led to once: known of a node that is freed and lets go of its inputs.
        input_avals: what was known of the inputs, once they are forgotten.
        where: code object and instruction of the user's line that recorded it.
    """

    edges: tuple[Node, ...] | None = rare("_edges")
    python: PythonBackward | None = rare("_python")
    hooks: dict[int, Hook] | None = hooks_of_leaf_or_node("hooks")
    packed: Packed | None = rare("_packed")
    step_hooks: StepHooks | None = hooks_of_leaf_or_node("step_hooks")
    retains: bool = rare("_retains", False)
    # The rest of what few nodes have: see UNLESS_SET.
    special: bool
    freed: bool
    in_place: bool
    inference: bool
    stale: bool
    retaken: int
    version: int
    holder: ref[Any] | None
    passed: Passed | None
    input_avals: tuple[Aval, ...] | None
    versions: Versions | None
    leaf: Leaf | None
    original: ref[Node] | None

    def __init__(
        self,
        operation: Op | None,
        static: tuple[Any, ...],
        inputs: tuple[Node | Number, ...],
        aval: Any,
        requires_grad: bool = False,
        value: Any = None,
        where: Where = None,
    ) -> None:
        self.operation = operation
        self.static = static
        self.inputs = inputs
        self.aval = aval
        self.requires_grad = requires_grad
        self.value = value
        self.serial = next_serial()
        self.where = user_line(sys._getframe()) if where is None else where
        if grad_mode().inference:
            self.inference = True

    @property
    def is_leaf(self) -> bool:
        """Whether gradients stop here: nothing that requires one was used to make it."""
        return ends_here(self)

    @property
    def tensor(self) -> Any:
        """The Tensor that shows this node to the user; None once there is none."""
        return None if self.holder is None else self.holder()

    @property
    def held(self) -> bool:
        """Whether the user may still read this node."""
        return is_held(self)

    @property
    def gradient_name(self) -> str:
        """torch's name for the node in the backward graph, `MulBackward0`."""
        if self.python is not None:
            return self.python.name
        if self.operation is None or self.operation is variable:
            return "AccumulateGrad"
        if self.retaken:
            return "AsStridedBackward0"
        if (self.operation is item or self.operation is rebind) and self.inputs:
            return cast(Node, self.inputs[0]).gradient_name
        return self.operation.gradient_name(self.static, self.avals_read())

    def avals_read(self) -> tuple[Aval, ...]:
        """The abstract values of the inputs, also once they are forgotten: what `grad_fn`'s name goes by."""
        return tuple([each.aval for each in self.inputs]) if self.input_avals is None else self.input_avals

    @property
    def device(self) -> device | None:
        """Where the value is, as an abstract value says it."""
        place: device | None = (self.aval if type(self.aval) is Aval else self.aval[0]).device
        return place

    @property
    def output_number(self) -> int:
        """Which result of its step this is: 1 for the second of several."""
        if self.python is not None:
            return list(self.python.outputs).index(self)
        if self.operation is unbind_one:
            return cast(int, cast(Number, self.inputs[1]).value)
        return cast(int, self.static[0]) if self.operation is item else 0

    @property
    def qualified_name(self) -> str:
        """What torch's `grad_fn.name()` says: four steps carry their C++ namespace."""
        name = self.gradient_name
        return (
            f"torch::autograd::{name}" if name in ("AccumulateGrad", "CopySlices", "CopyBackwards", "Error") else name
        )

    def forget(self) -> None:
        """Lets go of what the value was computed from, once no gradient can flow through here any more."""
        if self.value is not None and (self.freed or self.is_leaf) and not transforming().forward:
            if self.freed:
                self.input_avals = self.avals_read()
                self.passed = self.passed or Passed(reachable([self], gradient_edges))
            elif self.versions is None and self.inputs:  # a view goes on being told of writes
                origin = self.origin()
                if origin is not self:
                    if origin.versions is None and origin.tensor is not None:
                        origin.tensor.begin_count()
                    self.versions, self.version = origin.versions, origin.version
            self.inputs = self.inputs[:1] if self.operation is rebind else ()  # a gradient to retain is the first's
            if self.edges is not None:
                self.edges = ()

    @property
    def stands_alone(self) -> bool:
        """Whether its backward step has to be taken by itself: it is Python, or has hooks of its own."""
        return not (self.python is None and self.step_hooks is None and self.packed is None)

    def saved(self) -> list[int | None]:
        """What torch would have saved for this node's backward: places among `inputs`, None for its own result."""
        operation = self.operation
        if operation is None:
            return []
        places: list[int | None] = []
        for name, needed_for in operation.saves:
            count = len(self.inputs)
            if needed_for is not None and not any(
                self.inputs[place].requires_grad for place in operation.places(needed_for, self.static, count)
            ):
                continue
            if name == "result":
                places.append(None)
            elif name != "residuals":
                places += operation.places(name, self.static, count)
        return list(dict.fromkeys(places))

    def changed_in_place(self) -> Node | None:
        """What this node's backward needs (a saved operand or its own result) and an in-place write has replaced."""
        for place in () if self.packed else self.saved():
            if place == 0 and self.in_place:
                continue
            saved = self if place is None else self.inputs[place]
            if isinstance(saved, Node) and saved.shows_overwritten() is not None:
                return saved
        return None

    def shows_overwritten(self) -> Node | None:
        """Whose contents an in-place write has replaced since this node showed them: its own, or those it is a view
        of."""
        node = self.origin()
        return node if node.versions is not None and node.versions.count > node.version else None

    def origin(self) -> Node:
        """The node whose contents this one shows: itself, or what it is a view of, back to one that counts writes."""
        node = self
        while node.versions is None and node.operation is not None and node.inputs:
            operation = node.operation
            if not (operation.write or operation in (detach, variable, placed)):
                break
            behind = node.inputs[1 if operation is placed else 0]  # beside what was placed something is read, not saved
            if not isinstance(behind, Node):
                break
            node = behind
        return node

    @property
    def location(self) -> Location | None:
        """The user's line that recorded this node."""
        return located(self.where)

    def __repr__(self) -> str:
        name = "leaf" if self.operation is None else self.operation.name
        return f"<Node {self.serial} {name} {self.aval}>"


class Holder:
    """What shows a node to the user, as far as the graph knows it: a `tensor.Tensor`."""

    _node: Node


def hold(node: Node, holder: Holder) -> None:
    """Notes that the user holds `node` by `holder`."""
    if COMPILED:
        node.holder = PyWeakref_NewRef(holder, None)  # type: ignore[name-defined]  # noqa: F821 - see graph.pxd
    else:
        node.holder = ref(holder)


def ends_here(node: Node) -> bool:
    """`node.is_leaf`, faster."""
    return not node.requires_grad or node.operation is None or node.operation is variable


def is_held(node: Node) -> bool:
    """`node.held`, faster."""
    if node.holder is None:
        return False
    holder: Holder | None = node.holder()
    return holder is not None and holder._node is node


UNLESS_SET = {
    **dict.fromkeys(("special", "freed", "in_place", "inference", "stale", "_retains"), False),
    **dict.fromkeys(("_edges", "_python", "_hooks", "_packed", "_step_hooks")),
    **dict.fromkeys(("holder", "passed", "input_avals", "versions", "leaf", "original")),
    "retaken": 0,
    "version": 0,
}
"""What few nodes have, as the others have it. Python looks it up on the class, for to set it on each would double what
recording one costs; C has it at its place in each node."""
if not COMPILED:
    for _name, _value in UNLESS_SET.items():
        setattr(Node, _name, _value)


def recorded(
    operation: Op | None,
    static: tuple[Any, ...],
    inputs: tuple[Node | Number, ...],
    aval: Any,
    tracked: bool,
    where: Where,
) -> Node:
    """`Node(...)` without a value, faster."""
    if not COMPILED:
        return Node(operation, static, inputs, aval, tracked, None, where)
    node: Node = Node.__new__(Node)
    node.operation = operation
    node.static = static
    node.inputs = inputs
    node.aval = aval
    node.requires_grad = tracked
    node.serial = next_serial()
    node.where = where
    if grad_mode().inference:
        node.inference = True
    return node


def hook_of_level(node: Node, hook: Callable[..., Any]) -> Callable[..., Any]:
    """`hook` as it is kept for `node`: one that the function of a transform recorded has it called only while that
    transform pulls back. `func.grad(func.grad(f))` walks twice through what f records, and a hook inside of f is about
    the inner gradient."""
    level = next((each for each in reversed(transforming().variables) if node.serial >= each.first), None)
    if level is None:
        return hook

    @wraps(hook)
    def of_level(*given: Any) -> Any:
        return hook(*given) if level.pulling else None

    return of_level


def reachable(roots: Iterable[Node], onward: Callable[[Node], Iterable[Any]]) -> list[Node]:
    """The roots and all that `onward` leads to from them, each once, in the order of recording.

    Iterative, for a graph may be 100,000 nodes deep. Whatever is not a node (a `Number`) is passed over.
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
    """The nodes to which `node` passes cotangents on; none for a leaf."""
    if ends_here(node):
        return []
    onward = node.edges if node.special and node.edges is not None else node.inputs
    return [each for each in onward if each.requires_grad]


def stripped_of(node: Node, passed: Passed | None) -> Node:
    """A step of the backward graph without what its value is computed from, which led to what had `passed`."""
    copy = recorded(node.operation, node.static, (), node.aval, node.requires_grad, node.where)
    copy.serial = node.serial
    copy.passed = passed
    copy.original = ref(node)
    copy.special = True
    if node.special and node.retains:
        copy.retains, copy.holder = True, node.holder
    if node.freed:  # what was not gets inputs, stripped ones
        copy.freed = True
        copy.input_avals = node.avals_read()
    return copy


def meant(node: Node) -> Node:
    """The node at which a gradient of `node` arrives: of what is stripped the original, while it is there."""
    original = None if node.original is None else node.original()
    return node if original is None else original


class Passed:
    """What may lie behind a freed node that has let go of what it was made from: all that a walk had met.

    So a freed node may be taken to lead to an older tensor of the same walk that it does not lead to, which raises the
    error for a freed graph where torch would go on; never the reverse.
    """

    def __init__(self, met: Iterable[Node | Number]) -> None:
        self.holders = [each.holder for each in met if each.holder is not None]

    def leads(self, node: Node, targets: Iterable[Node]) -> bool:
        """Whether `node` may lead to one of `targets`."""
        known = {id(each) for each in self.holders}  # by identity: == is the tensors' own
        return any(id(each.holder) in known and (each.is_leaf or each.serial < node.serial) for each in targets)
