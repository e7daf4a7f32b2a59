"""The backward step of a custom Function: the user's Python in place of `jax.vjp`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import ref

from jaxvjp.autograd.context import BackwardCFunction, free
from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.modes import grad_mode, tracking, transforming
from jaxvjp.core.record.promotion import converted
from jaxvjp.core.record.record import constant, node_of_value, record, tracks
from jaxvjp.ops.identity import function_result
from jaxvjp.ops.op import Aval
from jaxvjp.ops.reduction import expandable, sum_to
from jaxvjp.tensor.tensor import Tensor, wrap
from jaxvjp.types.dtypes import float32

NO_GRADIENT = node_of_value(None, Aval((), float32))


class PythonStep:
    """A backward step in Python (`core.record.steps.PythonBackward`) and the nodes of its outputs.

    The nodes hold the step; the step has only weak references to them, and makes a new node if the old one is gone.
    """

    lifted = False

    def __init__(self, name: str, edges: Sequence[Node], tracked: bool = True) -> None:
        self.name = name
        self.tracked = tracked
        self.edges = tuple(edges)
        self.inputs: Sequence[Node] = [edge for edge in edges if edge.requires_grad]
        self.operands: list[Node | None] = []
        self.output_avals: list[Aval | None] = []
        self._values: dict[int, Node] = {}
        self._references: list[ref[Node] | None] = []

    @property
    def outputs(self) -> list[Node | None]:
        """The node of each output; None for one without a gradient, or that nobody holds any more."""
        return [None if reference is None else reference() for reference in self._references]

    def add_output(self, aval: Aval | None, value: Node | None = None) -> None:
        """Adds an output of the abstract value `aval` (None for no tensor), with its `value` if it has a gradient."""
        if value is not None:
            self._values[len(self._references)] = value
        self.output_avals.append(aval)
        self._references.append(None)

    def output_node(self, position: int) -> Node:
        """The node of an output: its value, with this step as its gradient."""
        reference = self._references[position]
        node = None if reference is None else reference()
        if node is None:
            value = self._values[position]
            node = Node(function_result, (), (value,), value.aval, self.tracked, value.value)
            node.python = self
            node.edges = self.edges
            self._references[position] = ref(node)
        return node

    def __call__(self, cotangents: list[Node | None], create_graph: bool) -> list[Node | None]:
        raise NotImplementedError

    def jvp(self, tangents: Sequence[Node | None]) -> list[Node | None]:
        """The tangents of the outputs, from those of `operands`."""
        raise NotImplementedError

    def free(self) -> None:
        """Drops what the backward pass needed."""

    def check_saved(self) -> None:
        """RuntimeError where a tensor that it saved was written since."""


class FunctionStep(PythonStep):
    """The backward step of one call of a Function, and what other transforms need of that call.

    Attributes:
        ctx: the context of this call.
        input_avals: the abstract value of each argument; None for one that is no tensor.
        lifted: whether the outputs come from a rule for the whole batch, so that only a derivative inside of the
            vmap goes through here.
        aliased: for the position of each output that is a view, that of the argument that it is a view of, and whether
            that is a view itself; None where there is no such argument.
        written: for the position of each output that is an argument, that `forward` has written, that argument's.
        unfilled: those of the outputs without a gradient for which `backward` gets None, not zeros.
        unused: by their place, gradients that `backward` returned for tensors that require none, for hooks of the step.
        views: by their place, tangents that `jvp` returned as views: kept, as who asks for one sees its `_base`.
        operands: the nodes of the arguments, where forward mode may ask for their tangents; None for no tensor.
    """

    def __init__(self, ctx: BackwardCFunction, arguments: Sequence[Any], lifted: bool = False) -> None:
        nodes = [argument.__node__ if isinstance(argument, Tensor) else None for argument in arguments]
        tensors = [node for node in nodes if node is not None]
        edges = [tensor if tensor.requires_grad else NO_GRADIENT for tensor in tensors]
        tracked = grad_mode().enabled and tracks(tuple(tensors))
        super().__init__(ctx.name(), edges, tracked)
        self.ctx = ctx
        self.lifted = lifted
        if transforming().forward:
            self.operands = nodes
        self.input_avals: list[Aval | None] = [None if node is None else node.aval for node in nodes]
        self.aliased: dict[int, tuple[int, bool] | None] = {}
        self.written: dict[int, int] = {}
        self.unfilled: set[int] = set()
        self.unused: dict[int, Node] = {}
        self.views: dict[int, Tensor] = {}
        ctx.needs_input_grad = tuple(node is not None and node.requires_grad for node in nodes)
        ctx.__step__ = ref(self)

    def __call__(self, cotangents: list[Node | None], create_graph: bool) -> list[Node | None]:
        """The cotangents of `inputs` by the user's `backward`, given one (or None) per output of `forward`."""
        function = self.ctx._forward_cls
        with tracking(create_graph):
            avals = [None if place in self.unfilled else each for place, each in enumerate(self.output_avals)]
            given: Any = self._filled(avals, cotangents)
            returned = function.__backward_method__()(self.ctx, *([given] if function.boxed_grads_call else given))
            return self._gradients(returned)

    def jvp(self, tangents: Sequence[Node | None]) -> list[Node | None]:
        """The tangents of the outputs by the user's `jvp`, for forward-mode transforms.

        Args:
            tangents: one per argument of `forward`, of its shape and dtype; None for an argument that is no tensor or
                has no tangent (the user's `jvp` gets zeros, or None after `set_materialize_grads(False)`).

        Returns:
            One per output of `forward`, of its shape and dtype, zeros where the user's `jvp` gave None; None for an
            output without a derivative.

        Raises:
            NotImplementedError: the Function has no `jvp`.
            RuntimeError: a wrong number, type or shape of tangents, in torch's words; a freed graph.
        """
        ctx = self.ctx
        ctx.__in_jvp__ = True
        try:
            avals = [each if each is not None and each.dtype.differentiable else None for each in self.input_avals]
            given = self._filled(avals, tangents)
            before = [None if each is None else each._version for each in given]
            returned = ctx._forward_cls.jvp(ctx, *given)
        finally:
            ctx.__in_jvp__ = False
        listed = returned if isinstance(returned, tuple) else (returned,)
        if len(listed) != len(self.output_avals):
            raise RuntimeError(
                "Function's jvp returned an invalid number of forward gradients (expected "
                f"{len(self.output_avals)} but got {len(listed)})"
            )
        for output, argument in self.written.items():
            tangent = given[argument]
            if tangent is not None and (tangents[argument] is not None) and tangent._version == before[argument]:
                raise RuntimeError(
                    "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is "
                    "modifying an input inplace, then the jvp function must modify the corresponding gradient inplace."
                )
            if tangent is not None and tangents[argument] is not None and listed[output] is not tangent:
                raise RuntimeError(
                    "An inplace custom Function is not returning the forward mode gradients as-is. If the forward is "
                    "modifying an input inplace, then the jvp function must modify the gradient inplace and return it "
                    "as-is."
                )
        return [self._tangent(position, each, given) for position, each in enumerate(listed)]

    def check_saved(self) -> None:
        self.ctx.saved_tensors  # noqa: B018 - which looks at each

    def free(self) -> None:
        self.unused.clear()
        free(self.ctx)

    def _filled(self, avals: list[Aval | None], given: Sequence[Node | None]) -> list[Tensor | None]:
        """Tensors for cotangents or tangents, zeros for those that are missing unless the user asked for None."""
        filled: list[Tensor | None] = []
        for aval, each in zip(avals, given, strict=True):
            if each is None and aval is not None and self.ctx.materialize_grads:
                each = constant(0, aval)
            filled.append(None if each is None else shown_tensor(each))
        return filled

    def _gradients(self, returned: Any) -> list[Node | None]:
        """What `backward` returned, checked, for the tensors that require a gradient."""
        gradients = returned if isinstance(returned, tuple) else (returned,)
        wanted = len(self.input_avals)
        if len(gradients) < wanted or any(each is not None for each in gradients[wanted:]):
            raise RuntimeError(
                f"function {self.name} returned an incorrect number of gradients (expected {wanted}, got "
                f"{len(gradients)})\n"
                "backward returns a tuple of one gradient, or None, for each argument of forward after ctx."
            )
        results: list[Node | None] = []
        hooked = any(output is not None and output.step_hooks is not None for output in self.outputs)
        place = 0
        for position, (aval, gradient) in enumerate(zip(self.input_avals, gradients, strict=False)):
            if aval is None:
                if gradient is not None:
                    raise RuntimeError(
                        f"function {self.name} returned a gradient different than None at position {position + 1}, "
                        "but the corresponding forward input was not a Variable"
                    )
                continue
            if gradient is not None and not isinstance(gradient, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type_name(gradient)})")
            if self.edges[place] is not NO_GRADIENT:
                results.append(None if gradient is None else self._gradient(place, aval, gradient.__node__))
            elif hooked and gradient is not None:
                self.unused[place] = gradient.__node__
            place += 1
        return results

    def _gradient(self, place: int, aval: Aval, node: Node) -> Node:
        """A gradient in the shape and dtype of its input; an error in torch's words if it does not fit."""
        if node.aval.shape != aval.shape:
            if not expandable(aval.shape, node.aval.shape):
                raise RuntimeError(
                    f"Function {self.name} returned an invalid gradient at index {place} - got "
                    f"{list(node.aval.shape)} but expected shape compatible with {list(aval.shape)}"
                )
            node = record(sum_to, (node,), (aval.shape,))
        own, given = aval.dtype, node.aval.dtype
        if own.is_complex != given.is_complex and not given.is_floating_point:
            raise RuntimeError(
                "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) to be true, but "
                "got false.  (Could this error message be improved?  If so, please report an enhancement request to "
                f"PyTorch.)\nThe gradient at index {place} is torch.{given.name}, its input torch.{own.name}."
            )
        return converted(node, own)

    def _tangent(self, position: int, tangent: Any, given: Sequence[Tensor | None]) -> Node | None:
        if tangent is not None and not isinstance(tangent, Tensor):
            raise RuntimeError(f"expected Variable or None (got {type_name(tangent)}) for grad output {position}.")
        aval = self.output_avals[position]
        if tangent is None:
            return constant(0, aval) if aval is not None and position in self._values else None
        if aval is None or position not in self._values:
            raise RuntimeError(
                f"Function's jvp returned a gradient at position {position}, but  the corresponding forward output is "
                "not a differentiable Tensor.You should return None at that position instead."
            )
        if position in self.aliased and tangent.__base_tensor__ is None:
            raise RuntimeError(
                "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a "
                "view."
            )
        source = self.aliased.get(position)
        of = None if source is None else given[source[0]]
        if (
            source is not None
            and of is not None
            and tangent.__base_tensor__ is not (of if of.__base_tensor__ is None else of.__base_tensor__)
        ):
            wanted = "same base as the given grad input" if source[1] else "given grad input"
            raise RuntimeError(
                f"A custom Function is returning a view but the jvp is not returning a view of the {wanted}."
            )
        if tangent.shape != aval.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is "
                f"not supported. Tensor is of size {list(aval.shape)} while the given forward gradient is of size "
                f"{list(tangent.shape)}."
            )
        if position in self.aliased:
            self.views[position] = tangent
        return converted(tangent.__node__, aval.dtype)


class OnceStep(PythonStep):
    """The step of the gradients from a `@once_differentiable` backward: it raises, as there is no second derivative."""

    def __init__(self, given: Sequence[Any], returned: Sequence[Any]) -> None:
        tensors = [isinstance(each, Tensor) for each in returned]
        super().__init__(
            "Error", [node_of_value(None, Aval((), float32), True) if tensor else NO_GRADIENT for tensor in tensors]
        )
        self.operands = [each.__node__ for each in given if isinstance(each, Tensor)]

    def __call__(self, cotangents: list[Node | None], create_graph: bool) -> list[Node | None]:
        raise self._refusal()

    def jvp(self, tangents: Sequence[Node | None]) -> list[Node | None]:
        raise self._refusal()

    def _refusal(self) -> RuntimeError:
        return RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable\n"
            "Its backward ran without recording. Where it only computes with tensors, remove the decorator."
        )


def shown_tensor(node: Node) -> Tensor:
    """The tensor that shows `node`: the user's own, where there is one."""
    held: Tensor = node.tensor if node.held() else wrap(node)
    return held


def type_name(value: Any) -> str:
    """The name of a value's type as torch writes it: `float`, `numpy.ndarray`."""
    own = type(value)
    return own.__name__ if own.__module__ == "builtins" else f"{own.__module__}.{own.__name__}"
