"""`autograd.Function`: a backward step in the user's own Python. `backward` comes before this room.

Underneath it is what `jax.custom_vjp` is to a JAX function. Both methods work on lazy tensors: a backward that only
computes with them is recorded like everything else and stays in the one program; one that reads a value
(`.numpy()`, `if`) is computed up to there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxvjp.core.engine import FREED
from jaxvjp.core.graph import Node, grad_mode, known, record, recording, transforming
from jaxvjp.core.promotion import converted
from jaxvjp.ops.identity import outcome
from jaxvjp.ops.reduction import expandable, sum_to
from jaxvjp.tensor import Tensor, wrap


class FunctionCtx:
    """What `forward` leaves for `backward`: saved tensors, and whatever attributes the user sets.

    Attributes:
        needs_input_grad: for each argument of `forward`, whether its gradient will be used.
    """

    needs_input_grad: tuple[bool, ...] = ()
    _saved: tuple[Tensor | None, ...] = ()
    _freed = False

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps inputs or outputs of `forward` for `backward`, until the graph is freed."""
        for each in tensors:
            if each is not None and not isinstance(each, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument 0 is of type {type(each).__name__}\n"
                    "Other values go into attributes: `ctx.exponent = 2`."
                )
        self._saved = tensors

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What `save_for_backward` kept; RuntimeError once the graph is freed."""
        if self._freed:
            raise RuntimeError(FREED)
        return self._saved


class _Step:
    """The backward step of one call of a Function (`core.graph.PythonBackward`)."""

    def __init__(self, function: type[Function], ctx: FunctionCtx, arguments: Sequence[Any]) -> None:
        self.function = function
        self.ctx = ctx
        self.name = function.__name__ + "Backward"
        self.slots = [each.node if isinstance(each, Tensor) else None for each in arguments]
        self.inputs: Sequence[Node] = [each for each in self.slots if each is not None and each.requires_grad]
        self.outputs: list[Node] = []

    def __call__(self, cotangents: list[Node | None], create_graph: bool) -> list[Node | None]:
        given = [
            wrap(known(0, output.aval) if cotangent is None else cotangent)
            for output, cotangent in zip(self.outputs, cotangents, strict=True)
        ]
        with recording(create_graph):
            returned = self.function.backward(self.ctx, *given)
        gradients = list(returned) if isinstance(returned, tuple | list) else [returned]
        wanted = len(self.slots)
        if len(gradients) < wanted or any(each is not None for each in gradients[wanted:]):
            raise RuntimeError(
                f"function {self.name} returned an incorrect number of gradients (expected {wanted}, got "
                f"{len(gradients)})\nbackward returns one gradient, or None, for each argument of forward after ctx."
            )
        with recording(create_graph):
            return [
                self._checked(position, slot, gradients[position])
                for position, slot in enumerate(self.slots)
                if slot is not None and slot.requires_grad
            ]

    def output(self, value: Node, tracked: bool) -> Tensor:
        """An output of `forward`: its value, with this step as its gradient."""
        node = Node(outcome, (), (value,), value.aval, tracked, value.value)
        node.python = self
        node.edges = tuple(self.inputs)
        self.outputs.append(node)
        return wrap(node)

    def _checked(self, position: int, slot: Node, gradient: Any) -> Node | None:
        if gradient is None:
            return None
        if not isinstance(gradient, Tensor):
            raise TypeError(f"expected Variable or None (got {type(gradient).__name__})")
        node = gradient.node
        shape = slot.aval.shape
        if node.aval.shape != shape:
            if not expandable(shape, node.aval.shape):
                raise RuntimeError(
                    f"Function {self.name} returned an invalid gradient at index {position} - got "
                    f"{list(node.aval.shape)} but expected shape compatible with {list(shape)}"
                )
            node = record(sum_to, (node,), (shape,))
        return converted(node, slot.aval.dtype)

    def free(self) -> None:
        if self.ctx._saved:
            self.ctx._saved = ()
            self.ctx._freed = True


class Function:
    """A differentiable function with its own derivative; subclass it and call `apply`.

    Write `forward(ctx, *arguments)`, which returns a tensor or a tuple of them, and `backward(ctx, *gradients)`, which
    gets the cotangent of each output and returns that of each argument, None for those that have none::

        class Square(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, gradient):
                (x,) = ctx.saved_tensors
                return gradient * 2 * x

        y = Square.apply(x)

    Counterpart of `torch.autograd.Function`; the functional form is `jax.custom_vjp`.
    """

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Any:
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    @classmethod
    def apply(cls, *arguments: Any) -> Any:
        """Runs `forward` without recording its inside, and records this Function as the step that goes back."""
        ctx = FunctionCtx()
        step = _Step(cls, ctx, arguments)
        ctx.needs_input_grad = tuple(each is not None and each.requires_grad for each in step.slots)
        tracked = bool(step.inputs) and grad_mode.enabled
        with recording(False):
            returned = cls.forward(ctx, *arguments)
        if not tracked and not transforming.forward:  # forward mode has to meet this step, gradient or not
            return returned
        outputs = returned if isinstance(returned, tuple) else (returned,)
        shown = {id(each): step.output(each.node, tracked) for each in outputs if _differentiable(each)}
        ctx._saved = tuple(shown.get(id(each), each) for each in ctx._saved)
        results = tuple(shown.get(id(each), each) for each in outputs)
        return results if isinstance(returned, tuple) else results[0]


def _differentiable(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype.differentiable
