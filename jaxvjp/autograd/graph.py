"""The backward graph, to walk and to hook: `y.grad_fn`, gradient edges, and `torch.autograd.graph`'s other names."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple
from weakref import ReferenceType, WeakKeyDictionary, ref

from jaxvjp.autograd.context import BackwardCFunction, aliased
from jaxvjp.autograd.function_step import FunctionStep
from jaxvjp.autograd.other_steps import other_step
from jaxvjp.autograd.saving import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    increment_version,
    save_on_cpu,
    saved_tensor_of_step,
    saved_tensors_hooks,
)
from jaxvjp.core.derive.engine import walk_back
from jaxvjp.core.derive.reach import whole
from jaxvjp.core.derive.saved import FREED, changed_error
from jaxvjp.core.record.graph import Node as Recorded
from jaxvjp.core.record.graph import gradient_edges, leaf_identity_of
from jaxvjp.core.record.lifetime import original_of
from jaxvjp.core.record.modes import grad_mode, thread_modes
from jaxvjp.core.record.record import items
from jaxvjp.core.record.saves import saved_positions, shows_overwritten
from jaxvjp.core.record.steps import Cotangents, StepHooks, hook_of_level
from jaxvjp.ops.arguments import KEPT, SCALAR
from jaxvjp.ops.identity import rebind
from jaxvjp.ops.op import KEEP, Aval
from jaxvjp.tensor.docstrings import complete_all
from jaxvjp.tensor.tensor import Tensor, checked_replacement, users_tensor, wrap, wrap_unlinked
from jaxvjp.types.hooks import RemovableHandle

UNDERNEATH = "no JAX: the recorded graph, whose steps `jax.vjp` differentiates"

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
    "set_warn_on_accumulate_grad_stream_mismatch",
]


class Node(metaclass=ABCMeta):  # noqa: B024 - for `register`
    """A step of the backward graph, as torch's `grad_fn`: it turns the cotangent of a result into those of its inputs.

    Underneath it is a node of the recorded graph. There is one for each step, as long as somebody holds it. Its class
    has the name of the step; that of a custom Function's step says that it is the class of the Function's `ctx`.
    """

    __slots__ = ("__weakref__", "_node")

    def __init__(self, node: Recorded) -> None:
        self._node = node

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict to keep notes in, which lasts as long as the graph."""
        return _metadata.setdefault(_identity(self._node), {})

    def name(self) -> str:
        """torch's name for it, such as `MulBackward0`."""
        return self._node.qualified_name

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The steps that the cotangents of the inputs go to, in the order of the inputs; None for a constant."""
        node = self._node
        if node.is_leaf:
            return ()
        node = whole(node)
        for _ in range(node.retaken - 1):  # torch takes it anew in one step
            node = node.inputs[0] if node.inputs and isinstance(node.inputs[0], Recorded) else node
        edges: Sequence[Any] = [node.inputs[each] for each in _differentiated(node)]
        if node.edges is not None:
            edges = node.edges[:1] if node.operation is not None and node.operation.write is not None else node.edges
        reached = [original_of(edge) if isinstance(edge, Recorded) and edge.requires_grad else None for edge in edges]
        reached = [None if each is None or each.lost else each for each in reached]
        return tuple((None, 0) if each is None else (step_of(each), each.output_number) for each in reached)

    @property
    def variable(self) -> Any:
        """The leaf that an `AccumulateGrad` step adds to; AttributeError for any other step."""
        if not self._node.is_leaf:
            raise AttributeError(f"'{self.name()}' object has no attribute 'variable'")
        return self._node.tensor

    def __call__(self, *cotangents: Any) -> Any:
        """The cotangents of the inputs from those of the results, by this step alone, in the order of
        `next_functions`: a tuple where there are several."""
        node = whole(self._node)
        outputs = node.python.outputs if node.python is not None else [node]
        if type(node.aval) is tuple:
            outputs = items(node)
        if len(cotangents) != len(outputs):
            raise TypeError(f"expected {len(outputs)} arguments, got {len(cotangents)} instead")
        for position, each in enumerate(cotangents):
            if not isinstance(each, Tensor):
                raise TypeError(f"argument {position} is not a Variable")
        inputs = [edge for edge in gradient_edges(node) if isinstance(edge, Recorded)]
        pairs = [(root, each.__node__) for root, each in zip(outputs, cotangents, strict=True) if root is not None]
        roots, given = zip(*pairs, strict=True)
        found = walk_back(roots, given, list(dict.fromkeys(inputs)), grad_mode().enabled).gradients
        shown = tuple([wrap(found[operand]) if operand in found else None for operand in inputs])
        return shown[0] if len(shown) == 1 else shown

    def register_prehook(self, fn: Callable[[tuple[Any, ...]], Any]) -> RemovableHandle:
        """Calls `fn(grad_outputs)` before this step; a tuple that it returns replaces them.

        Before an `AccumulateGrad` step is when `backward` has the leaf's gradient complete, after its tensor hooks.
        """
        return RemovableHandle(self._hooks().before, hook_of_level(self._node, fn))

    def register_hook(self, fn: Callable[[tuple[Any, ...], tuple[Any, ...]], Any]) -> RemovableHandle:
        """Calls `fn(grad_inputs, grad_outputs)` after this step; a tuple that it returns replaces `grad_inputs`.

        After an `AccumulateGrad` step there are no `grad_inputs`, and the leaf has its new `grad`.
        """
        before, fn = other_step(whole(self._node), fn)
        hooks = self._hooks()
        return RemovableHandle(hooks.before if before else hooks.after, hook_of_level(self._node, fn))

    def _hooks(self) -> StepHooks:
        known = whole(self._node).step_hooks
        if known is not None:
            return known
        hooks = StepHooks({}, {}, _called)
        python = self._node.python
        same: list[Recorded | None] = [whole(self._node)] if python is None else [self._node, *python.outputs]
        for each in same:
            if each is not None:
                each.step_hooks = hooks
        return hooks

    def __getattr__(self, name: str) -> Any:
        """Attributes of a custom Function's `ctx`, which in torch is this object; and `_saved_result` and the like."""
        ctx = getattr(self._node.python, "ctx", None)
        if ctx is not None:
            return getattr(ctx, name)
        operation = self._node.operation
        if operation is not None and name.startswith("_saved_") and self._node.python is None:
            wanted = name.removeprefix("_saved_").replace("self", "input")
            if wanted in {each.name for each in operation.saves}:
                return self._saved(wanted)
        if operation is not None and name.startswith("_raw_saved_") and self._node.python is None:
            wanted = name.removeprefix("_raw_saved_").replace("self", "input")
            for position in saved_positions(self._node):
                if position in self._positions(wanted):
                    return saved_tensor_of_step(self._node, position)
        raise AttributeError(f"'{self._node.gradient_name}' object has no attribute '{name}'")

    def _positions(self, name: str) -> Sequence[int | None]:
        """Which operands of the step have this name; None stands for its result."""
        node, operation = self._node, self._node.operation
        if name == "result" or operation is None:
            return [None]
        positions: Sequence[int] = operation.positions(name, node.static, len(node.inputs))
        return positions

    def _saved(self, name: str) -> Tensor | None:
        """The operand or result that torch would have saved under this name; None if its backward does not need it."""
        node = self._node
        if node.freed:
            raise RuntimeError(FREED)
        for position in saved_positions(node):
            saved = node if position is None else node.inputs[position]
            if position not in self._positions(name) or not isinstance(saved, Recorded):
                continue
            if shows_overwritten(saved) is not None and not (position == 0 and node.in_place):
                raise changed_error(node, saved)
            unpacked: Tensor | None = None if node.packed is None else node.packed.shown(position)
            if unpacked is not None:
                return unpacked
            if position is not None:
                return users_tensor(saved)
            return wrap_unlinked(node) if node.tensor is None else aliased(node.tensor, node)
        return None

    def __repr__(self) -> str:
        place = type(self).__module__.removeprefix("builtins")
        return f"<{place}{'.' if place else ''}{self._node.gradient_name} object at {id(self):#x}>"


NUMBERS_AS_TENSORS = frozenset(["add", "sub", "mul", "div", "rdiv", "where"])
"""Ops for which torch turns a number into a tensor, which then counts as an operand; others have forms for a number."""


def _differentiated(node: Recorded) -> list[int]:
    """The positions of the operands that may have a gradient in torch: no indices, no masks, no `alpha`.

    For a number and a tensor, `2 * x` or `1 + x`, torch has the tensor first.
    """
    operation = node.operation
    if operation is None or node.edges is not None or node.python is not None or not node.inputs:
        return list(range(len(node.inputs)))
    if operation.write is not None:
        return [0]  # the start of a view is no operand in torch

    def counts(each: Any, role: str) -> bool:
        if role == SCALAR:
            return False
        if not isinstance(each, Recorded):
            return operation.torch_name in NUMBERS_AS_TENSORS
        apart = role == KEPT or operation.promotion == KEEP
        return not apart or type(each.aval) is not Aval or each.aval.dtype.differentiable

    roles = operation.roles_of(node.static, len(node.inputs))
    found = [place for place, role in enumerate(roles) if counts(node.inputs[place], role)]
    if operation.torch_name in ("add", "mul"):
        found.sort(key=lambda place: not isinstance(node.inputs[place], Recorded))
    return found


_steps: WeakKeyDictionary[object, ReferenceType[Node]] = WeakKeyDictionary()  # a hook may hold the value
_metadata: WeakKeyDictionary[object, dict[Any, Any]] = WeakKeyDictionary()


def step_of(node: Recorded) -> Node:
    """The step that made a node; the same for all results of one step."""
    while node.operation is rebind and node.inputs and isinstance(node.inputs[0], Recorded):
        node = node.inputs[0]  # contents written under `no_grad`: the gradient is that of the node before
    step = _identity(node)
    known = _steps.get(step)
    found = None if known is None else known()
    if found is None:
        context: Any = type(getattr(node.python, "ctx", None))
        found = _class_of(node.gradient_name, context)(node)
        _steps[step] = ref(found)
    return found


def _identity(node: Recorded) -> object:
    """What is the same for all nodes of a step."""
    return leaf_identity_of(node) if node.is_leaf else node.python or whole(node)


@lru_cache(maxsize=1024)
def _class_of(name: str, context: type) -> type[Node]:
    shown: dict[str, Any] = {"__module__": "builtins"}  # as in torch, where C++ makes them
    if context is not type(None):
        shown = {"__module__": context.__module__, "__class__": property(lambda _: context)}
    return type(name, (Node,), {"__slots__": (), **shown})


def _called(
    node: Recorded | None, hook: Callable[..., Any], cotangents: Cotangents, arrived: Cotangents | None
) -> Cotangents:
    """The result of a hook of a node's step (None for a leaf) for the cotangents; `arrived` are the `grad_outputs` for
    a hook that sees both sides.

    Of the operands' cotangents the hook sees those in `next_functions`.
    """
    node = None if node is None else whole(node)
    of_operands = node is not None and arrived is not None and len(cotangents) == len(node.inputs)
    places = _differentiated(node) if node is not None and of_operands else []
    every = list(cotangents)
    edges: Sequence[Any] = ()
    if node is not None and arrived is not None and isinstance(node.python, FunctionStep):
        edges = node.edges or ()  # the hook also sees what `backward` returned for tensors without a gradient
        given, unused = iter(every), node.python.unused
        cotangents = [next(given) if each.requires_grad else unused.get(place) for place, each in enumerate(edges)]
    elif places:
        cotangents = [every[place] for place in places]
    sides = [
        tuple([None if each is None else users_tensor(each) for each in side]) for side in (cotangents, arrived or [])
    ]
    returned = hook(sides[0]) if arrived is None else hook(*sides)
    if returned is None:  # it may have written to what it was given
        returned = sides[0]
    if arrived:
        arrived[:] = [None if each is None else each.__node__ for each in sides[1]]
    if not isinstance(returned, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(returned).__name__}'")
    if len(returned) != len(cotangents):
        raise RuntimeError(
            f"hook '{getattr(hook, '__name__', type(hook).__name__)}' has returned an incorrect number of values (got "
            f"{len(returned)}, but expected {len(cotangents)})"
        )
    if any(each is None and new is not None for each, new in zip(cotangents, returned, strict=True)):
        raise RuntimeError("can't replace a None gradient with a non-None value")
    replaced = [
        None if new is None or each is None else checked_replacement(hook, new, each)
        for each, new in zip(cotangents, returned, strict=True)
    ]
    if edges:
        return [new for each, new in zip(edges, replaced, strict=True) if each.requires_grad]
    if not places:
        return replaced
    for place, new in zip(places, replaced, strict=True):
        every[place] = new
    return every


class GradientEdge(NamedTuple):
    """A place in the backward graph: a step, and which of its results; `backward` and `grad` take it for the tensor."""

    node: Node
    output_nr: int
    ownership_token: Any = None

    def tensor(self) -> Tensor:
        """A tensor that shows the result; RuntimeError if that is gone."""
        if isinstance(self.ownership_token, Recorded):
            return wrap_unlinked(self.ownership_token)
        node = self.node._node
        if node.python is not None:
            output = node.python.outputs[self.output_nr]
        else:
            output = node if node.output_number == self.output_nr else None
        if output is None:
            raise RuntimeError(
                f"nothing is left of output {self.output_nr} of {self.node.name()}\n"
                "`get_gradient_edge(tensor)` gives an edge that keeps it."
            )
        return wrap_unlinked(output)


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Where the gradient of `tensor` is computed; for a leaf, where it is accumulated. It may outlive the tensor.

    RuntimeError for one that requires no gradient. Counterpart of `torch.autograd.graph.get_gradient_edge`.
    """
    tensor.__check_current__()
    node = tensor.__node__
    if not node.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(step_of(node), node.output_number, node)


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Any], None], *, mode: str = "all"
) -> MultiGradHandle:
    """Calls `fn` once in each backward, with the gradients of those `tensors` that take part in it.

    With `mode="all"` that is when the last of them is there, and `fn` gets a sequence, None for one that takes no
    part; with "any" when the first is, and `fn` gets that. Returns a handle whose `remove()` undoes it. As in torch,
    "all" does not count the tensor of `y.backward()` itself: with the others it gets a call of its own, alone none.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if mode == "any":
        tensors = [each for each in tensors if each.requires_grad]
    elif not all(each.requires_grad and not each.__node__.lost for each in tensors):
        raise AssertionError(
            "Expected gradient function to be set\nOne of the tensors requires no gradient, or is a view taken under "
            "`no_grad`."
        )
    # A leaf may be written before the backward, so its node is looked up then.
    nodes = [ref(each) if each.is_leaf else each.__gradient_node__ for each in tensors]
    arrived: WeakKeyDictionary[Any, list[Tensor | None]] = WeakKeyDictionary()
    missing: WeakKeyDictionary[Any, int] = WeakKeyDictionary()

    def node_of(kept: Any) -> Recorded | None:
        tensor = kept() if isinstance(kept, ref) else None
        return kept if isinstance(kept, Recorded) else None if tensor is None else tensor.__node__

    def seen(place: int, gradient: Tensor) -> None:
        walk = thread_modes().walk
        if walk not in arrived:
            arrived[walk] = [None] * len(nodes)
            alone = walk.roots[0] if len(walk.roots) == 1 else None  # which torch does not count
            missing[walk] = sum(each in walk.on_the_way and each is not alone for each in map(node_of, nodes))
            if mode == "any":
                fn(gradient)
        arrived[walk][place] = gradient
        missing[walk] -= 1
        if mode == "all" and not missing[walk]:
            fn(arrived.pop(walk))

    def hook_at(place: int) -> Callable[[Tensor], None]:
        return lambda gradient: seen(place, gradient)

    return MultiGradHandle([each.register_hook(hook_at(place)) for place, each in enumerate(tensors)])


class MultiGradHandle:
    """What `register_multi_grad_hook` returns: `remove()` takes the hook out, as does leaving a `with` block."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self._handles = handles

    def remove(self) -> None:
        """Takes the hook out; a second call does nothing."""
        for each in self._handles:
            each.remove()

    def __enter__(self) -> MultiGradHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Accepted and without effect: there are no streams to warn of."""


def _grad_fn(self: Tensor) -> Node | None:
    """The step of the backward graph that made this tensor; None for a leaf."""
    self.__check_current__()
    node = self.__node__
    return None if node.is_leaf else step_of(node)


def _output_nr(self: Tensor) -> int:
    """Which result of its step this tensor is."""
    return 0 if self.__node__.is_leaf else self.__node__.output_number


def _deleted(self: Tensor) -> None:
    raise RuntimeError("Deletion of _grad_fn not allowed. Detach tensor instead!")


Tensor.grad_fn = property(_grad_fn)  # type: ignore[method-assign, assignment]
Tensor._grad_fn = property(_grad_fn, fdel=_deleted)  # type: ignore[method-assign, assignment]
Tensor.output_nr = property(_output_nr)  # type: ignore[method-assign, assignment]


Node.register(BackwardCFunction)
complete_all(globals(), [*__all__, "MultiGradHandle", "RemovableHandle"], "autograd.graph", UNDERNEATH)
