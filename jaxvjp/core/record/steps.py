"""What a node's backward step may have beside or instead of `jax.vjp`: hooks, packed tensors, Python code.

These are the types, and `hook_of_level`. `autograd` has the classes: `autograd.saving` that of saved-tensor hooks,
`autograd.function_step` that of a custom `Function`. A node keeps them in `Node.hooks`, `step_hooks`, `packed` and
`python`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from typing import Any, NamedTuple, Protocol

from jaxvjp.core.record.modes import transforming

Node = Any  # a `graph.Node`: that module imports this one
Hook = Callable[[Node | None], Any]
"""What `Tensor.register_hook` keeps. It gets the node of a cotangent (None for none), and returns two: that of the same
cotangent, after what it has written to it in place, and that of the one to go on with."""
Cotangents = list[Node | None]
"""One cotangent for each output of a step, or for each input; None where there is none."""


class StepHooks(NamedTuple):
    """Hooks of a step of the backward graph, as `grad_fn.register_prehook` and `grad_fn.register_hook` add them.

    Attributes:
        before: functions of the cotangents of the step's outputs.
        after: functions of the cotangents of its inputs and of those of its outputs.
        call: calls such a function for a step (None for that of a leaf). It is a function of tensors, and the engine
            has nodes: `call` converts. It does not hold the step, which holds the hooks.
    """

    before: dict[int, Callable[..., Any]]
    after: dict[int, Callable[..., Any]]
    call: Callable[[Node | None, Callable[..., Any], Cotangents, Cotangents | None], Cotangents]


class Packed(Protocol):
    """What saved-tensor hooks made of the tensors that a node saves.

    Attributes:
        kept: that, by the position of the operand; by None of the result.
    """

    kept: Mapping[int | None, Any]

    def __call__(self, create_graph: bool) -> dict[int, Node]:
        """Calls the unpack hook: maps the position of each saved operand to the node to use instead."""

    def shown(self, position: int | None) -> Any:
        """The tensor that the unpack hook makes of the operand of that position, or, with None, of the result."""


class SavingHooks(Protocol):
    """A pair of saved-tensor hooks: called with a node it packs all that the node saves (or the operands of the given
    positions), `packed` packs one tensor."""

    def __call__(self, node: Node, positions: Sequence[int | None] | None = None) -> Packed: ...

    def packed(self, node: Node) -> Any: ...

    def unpacked(self, kept: Any) -> Any: ...


class PythonBackward(Protocol):
    """A backward step that is Python code, such as the user's `Function.backward`. Called, it maps cotangents of
    `outputs` to cotangents of `inputs`.

    Attributes:
        name: torch's name of the step, such as "MyFunctionBackward".
        lifted: whether `vmap` may go through it, as its value is that of the whole batch.
        inputs: the nodes that it gives cotangents to.
        outputs: the nodes whose cotangents it gets; None for one that is gone or has none.
        operands: the nodes whose tangents `jvp` gets, kept while forward mode is on.
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

    def check_saved(self) -> None: ...


def hook_of_level(node: Node, hook: Callable[..., Any]) -> Callable[..., Any]:
    """`hook`, wrapped if the function of a `func.grad` recorded `node`: then only that `func.grad` calls it.

    `func.grad(func.grad(f))` walks twice through what f records. A hook inside f is called for the inner gradient.
    """
    level = next((level for level in reversed(transforming().variables) if node.serial >= level.first), None)
    if level is None:
        return hook

    @wraps(hook)
    def of_level(*given: Any) -> Any:
        return hook(*given) if level.pulling else None

    vars(of_level)["__first__"] = level.first
    return of_level


def level_of(hook: Any) -> int:
    """Where the `func.grad` began whose hook it is, in the order of recording; -1 for what no `func.grad` calls."""
    first: int = getattr((*hook.args, hook)[0] if isinstance(hook, partial) else hook, "__first__", -1)
    return first
