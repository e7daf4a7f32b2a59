"""A function evaluated at inputs, to be differentiated there: `Call` checks its inputs and outputs as torch does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jaxvjp.autograd.backward_pass import Backward, left_lazy
from jaxvjp.autograd.roots import Tensors
from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.modes import thread_modes, tracking, transforming
from jaxvjp.core.record.promotion import converted
from jaxvjp.core.record.record import constant, detached, record, variable_of
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.ops.identity import clone
from jaxvjp.tensor.refusals import inside
from jaxvjp.tensor.tensor import Tensor, wrap

Differentiable = Callable[..., Tensors]
LINEAR = (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is "
    "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
    "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for "
    "example)."
)


def as_tuple(value: Any, what: str, name: str) -> tuple[bool, tuple[Tensor, ...]]:
    """Whether `value` is a tuple, and the tuple (of one, for a single tensor); TypeError if it is neither."""
    listed = value if isinstance(value, tuple) else (value,)
    for position, each in enumerate(listed):
        if not isinstance(each, Tensor):
            which = f"value at index {position}" if isinstance(value, tuple) else f"given {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the {which} has type "
                f"{type(each)}."
            )
    return isinstance(value, tuple), listed


def check_differentiable(outputs: Sequence[Tensor]) -> None:
    for number, each in enumerate(outputs):
        if not each.requires_grad:
            raise RuntimeError(
                f"Output {number} of the user-provided function does not require gradients. The outputs must be "
                "computed in a differentiable manner from the input when running in strict mode."
            )


class Call:
    """A function evaluated once on fresh inputs, for `name` to differentiate: torch's checks, and the recorded graph.

    Attributes:
        inputs, outputs: the tensors that the function was given and returned, each as a tuple.
        single_input, single_output: whether there was a single tensor in place of a tuple.
    """

    def __init__(self, name: str, func: Differentiable, inputs: Any, create_graph: bool, strict: bool) -> None:
        self.name, self.create_graph, self.strict = name, create_graph, strict
        several, arguments = as_tuple(inputs, "inputs", name)
        self.single_input = not several
        self.inputs = [self._fresh(argument) for argument in arguments]
        self.func = func

    def run(self) -> None:
        several, self.outputs = as_tuple(self.func(*self.inputs), "outputs of the user-provided function", self.name)
        self.single_output = not several
        self.roots, self.leaves = [output.__node__ for output in self.outputs], [each.__node__ for each in self.inputs]
        if self.strict:
            check_differentiable(self.outputs)

    def _fresh(self, argument: Tensor) -> Tensor:
        node = argument.__node__
        if self.create_graph and node.requires_grad:
            with tracking(True):  # also under `no_grad`
                return wrap(record(clone, (node,)))
        if transforming().depth:
            raise RuntimeError(inside("requires_grad_()", " (or perhaps using torch.autograd.functional.* APIs)"))
        if not argument.dtype.differentiable:
            raise RuntimeError(
                "only Tensors of floating point dtype can require gradients\n"
                f"The input is torch.{argument.dtype.name}; convert it first, `x.float()`."
            )
        return wrap(variable_of(detached(node)))

    def scalar(self) -> None:
        """RuntimeError unless the function returned one tensor of one element."""
        if not self.single_output:
            raise RuntimeError(f"The function given to {self.name} should return a single Tensor")
        if self.outputs[0].numel() != 1:
            raise RuntimeError(
                f"The Tensor returned by the function given to {self.name} should contain a single element"
            )

    def vector(self, v: Any, like: Sequence[Tensor], single: bool, refusal: str) -> list[Node]:
        """The nodes of `v`, of the shapes of `like`; ones for None, where there is one tensor of one element."""
        if v is None:
            if len(like) != 1 or like[0].numel() != 1:
                raise RuntimeError(refusal)
            return [constant(1, like[0].__node__.aval)]
        _, given = as_tuple(v, "v", self.name)
        if len(given) != len(like):
            if single:
                raise RuntimeError("The given v should contain a single Tensor.")
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(given)}.")
        for position, (each, wanted) in enumerate(zip(given, like, strict=True)):
            if each.shape != wanted.shape:
                prefix = "" if single else f"Entry {position} in "
                raise RuntimeError(f"{prefix}v has invalid size: should be {wanted.shape} but got {each.shape}.")
        nodes = [each.__node__ if self.create_graph else detached(each.__node__) for each in given]
        return [converted(node, wanted.dtype) for node, wanted in zip(nodes, like, strict=True)]

    def pulled(self, roots: Sequence[Node], cotangents: Sequence[Node | None], create_graph: bool) -> list[Node | None]:
        found = Backward(roots, cotangents, self.leaves, create_graph).gradients()
        return [found.get(leaf) for leaf in self.leaves]

    def gradients(self) -> list[Node | None]:
        """The gradient of the scalar output, to be differentiated in turn; RuntimeError in strict mode."""
        found = self.pulled(self.roots, [None], True)
        if self.strict:
            for position, each in enumerate(found):
                if each is None:
                    raise RuntimeError(
                        f"The output of the user-provided function is independent of input {position}. This is not "
                        "allowed in strict mode."
                    )
                if not each.requires_grad:
                    raise RuntimeError(LINEAR.format(position))
        return found

    def filled(self, found: Sequence[Node | None], like: Sequence[Tensor], absent: str, what: str) -> list[Node]:
        """`found`, zeros for None; in strict mode RuntimeError for that, and for a constant with `create_graph`."""
        if self.strict:
            for position, each in enumerate(found):
                if each is None:
                    raise RuntimeError(absent.format(position))
                if self.create_graph and not each.requires_grad:
                    raise RuntimeError(
                        f"The {what} of the user-provided function is independent of input {position}. This is not "
                        "allowed in strict mode when create_graph=True."
                    )
        return [constant(0, one.__node__.aval) if each is None else each for each, one in zip(found, like, strict=True)]

    def returned(self, nodes: Sequence[Node], single: bool) -> Any:
        shown = tuple([wrap(node if self.create_graph else detached(node)) for node in nodes])
        return shown[0] if single else shown

    def with_value(self, nodes: Sequence[Node], single: bool) -> tuple[Any, Any]:
        """What the function returned, and the tensors of `nodes`: computed together, or with their graph."""
        if not left_lazy(self.create_graph, thread_modes()):
            evaluate([*self.roots, *nodes])
        return self.returned(self.roots, self.single_output), self.returned(nodes, single)
