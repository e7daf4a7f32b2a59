"""What a transform passes to the user's function, and how it gets derivatives or batches from what that returns.

There are three kinds: `Variables` (reverse mode: fresh leaves), `duals.Duals` (forward mode: tensors with a tangent)
and `batches.Batch` (`vmap`: tensors that stand for one example). Each is a context manager, so transforms nest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from jaxvjp.core.derive.between import between, inputs_of, leads_on
from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.modes import grad_mode, outside_inference, tracking, transforming
from jaxvjp.core.record.record import node_of_value
from jaxvjp.core.record.versions import next_serial
from jaxvjp.ops.identity import transform_argument, transform_result, variable
from jaxvjp.ops.op import ARITHMETIC, FLOAT, Op
from jaxvjp.ops.pointwise import assigned
from jaxvjp.tensor.tensor import Tensor, wrap

T = TypeVar("T")


class Guard:
    """Which tensors a function that is being differentiated may write: those it made, and its arguments."""

    def __init__(self, arguments: Iterable[Tensor]) -> None:
        self.first = next_serial()
        self.arguments = list(arguments)

    def __enter__(self) -> None:
        transforming().guards.append(self)

    def __exit__(self, *_: object) -> None:
        transforming().guards.remove(self)

    def owns(self, target: Tensor) -> bool:
        """Whether `target` was made by the function, or is one of its arguments."""
        made_inside = target.storage.contents.serial >= self.first
        return made_inside or any(argument.storage is target.storage for argument in self.arguments)

    def check(self, target: Tensor, operation: Op, others: int) -> None:
        """RuntimeError if `target` was made before the function ran and is none of its arguments."""
        if not self.owns(target):
            overload = ".Tensor" if others and operation.promotion in (ARITHMETIC, FLOAT) else ""
            name = "copy" if operation is assigned else operation.torch_name  # what `x[0] = 3` calls in torch
            raise RuntimeError(
                "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place "
                f"operation (aten::{name}_{overload}) that would mutate a captured Tensor. This is not "
                "supported; please rewrite the function being transformed to explicitly accept the mutated Tensor(s) "
                "as inputs.\nPass in what it writes, and return it. Running statistics of a layer are only read after "
                "`layer.eval()`."
            )


def refuse_second_derivatives(argument: Node) -> None:
    """RuntimeError for an argument that a function wrote while it was differentiated, if it requires a gradient."""
    if argument.requires_grad:
        raise RuntimeError(
            "the function that is differentiated wrote its argument under no_grad(), and this requires a gradient "
            "outside, too\nA second derivative would be that of the value before. Write a copy, `x = x.clone()`, or "
            "pass `x.detach()`."
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
        self.arguments: list[tuple[Tensor, Tensor]] = []
        self.first = next_serial()
        self.pulling = False

    def __enter__(self) -> Variables:
        transforming().depth += 1
        self.depth = transforming().depth
        transforming().variables.append(self)
        self._outside, self._mode = outside_inference(), tracking(True)
        self._outside.__enter__()
        self._mode.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._mode.__exit__()
        self._outside.__exit__()
        transforming().variables.remove(self)
        transforming().depth -= 1
        shorter = zip([*self.entries], self.arguments, strict=False)  # an interrupt may have come between both
        for (fresh, outer), (argument, own) in shorter:
            node = own.__node__
            if node is not fresh and node.operation is variable:  # the function wrote its argument, under `no_grad`
                refuse_second_derivatives(outer)
                written: Any = node.inputs[0]
                self.entries.append((node, written))
                with tracking(False):
                    argument.copy_(wrap(written))
        for fresh, outer in self.entries:
            fresh.operation, fresh.inputs = transform_argument, (outer,)
            fresh.edges = (outer,) if outer.requires_grad else ()
            fresh.inference = outer.inference

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
        argument.__check_current__()
        outer = argument.__node__
        node = Node(variable, (), (outer,), outer.aval, True, outer.value)
        own = wrap(node)
        self.arguments.append((argument, own))
        self.entries.append((node, outer))
        return own

    def pulled(self, pull: Callable[[], T]) -> T:
        """Runs `pull`, which pulls cotangents back to these leaves, and returns its result."""
        self.pulling = True
        try:
            return pull()
        finally:
            self.pulling = False

    def result(self, value: Tensor) -> Tensor:
        """`value` as the transform returns it: it requires a gradient only if a tensor from outside does."""
        node = value.__node__
        mode = grad_mode()
        if not node.requires_grad or (mode.enabled and not mode.inference and leads_on(node)):
            return value
        if node.value is not None and not transforming().forward:
            shown = node_of_value(node.value, node.aval)
        else:
            shown = Node(transform_result, (), (node,), node.aval, False, node.value)
        shown.inference = node.inference
        return wrap(shown)
