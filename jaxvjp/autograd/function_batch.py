"""A custom Function under `vmap`: by its own `vmap` method, or by a rule made from its other methods.

Either way `lifted` calls the Function on whole batches and returns an example of each result, so that a gradient from
outside of the vmap goes through the rule. A derivative inside of the vmap goes through the Function's `backward` or
`jvp` of one example, which is batched like everything else.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from jaxvjp.autograd.context import BackwardCFunction
from jaxvjp.autograd.function_step import shown_tensor
from jaxvjp.core.record.graph import Node, gradient_edges, reachable
from jaxvjp.core.record.modes import transforming
from jaxvjp.core.record.record import record
from jaxvjp.ops.reduction import expandable, sum_to
from jaxvjp.tensor.batches import Batch
from jaxvjp.tensor.tensor import Tensor, wrap
from jaxvjp.tensor.trees import flattened, unflattened

Axes = tuple[int | None, ...]


class VmapInfo(NamedTuple):
    """What `Function.vmap` is told about the batch: its size, and `torch.func.vmap`'s `randomness`."""

    batch_size: int
    randomness: str


def batch_of(arguments: Sequence[Any]) -> Batch | None:
    """The innermost `vmap` under way in which one of the arguments differs from example to example."""
    if not transforming().batches:
        return None
    nodes = [each.__node__ for each in flattened(arguments)[0] if isinstance(each, Tensor)]
    batches = [each for each in transforming().batches if each.of_function]
    return next((batch for batch in reversed(batches) if any(batch.holds(node) for node in nodes)), None)


def differentiated_inside(batch: Batch, arguments: Sequence[Any]) -> bool:
    """Whether the function inside of the `vmap` differentiates through this call: `arguments` depend on a leaf that was
    made since the `vmap` began. In forward mode that cannot be told, and the answer is yes."""
    reached = reachable([argument.__node__ for argument in arguments if isinstance(argument, Tensor)], gradient_edges)
    inside = any(each.is_leaf and each.requires_grad and each.serial > batch.first for each in reached)
    return inside or bool(transforming().forward)


def lifted(name: str, rule: Callable[..., Any], batch: Batch, arguments: Sequence[Any]) -> Any:
    """The results of `rule` for the whole batch, as tensors that stand for one example again."""
    given, structure = flattened(tuple(arguments))
    in_dims: list[int | None] = [None] * len(given)
    for position, each in enumerate(given):
        if isinstance(each, Tensor) and batch.holds(each.__node__):
            source, axis = batch.examples.get(each.__node__) or (batch.batches([each.__node__], [0])[0], 0)
            given[position], in_dims[position] = shown_tensor(source), axis
    depth = transforming().batches.index(batch)
    inside = transforming().batches[depth:]
    del transforming().batches[depth:]
    try:
        returned = rule(
            VmapInfo(batch.size, batch.randomness), unflattened(structure, in_dims), *unflattened(structure, given)
        )
    finally:
        transforming().batches.extend(inside)
    outputs, out_dims = _outputs_and_dims(returned)
    examples: list[Any] = []
    for position, (output, out_dim) in enumerate(zip(outputs, out_dims, strict=True)):
        leaves, form = flattened(output)
        dims = flattened(out_dim)[0] if isinstance(out_dim, list) else [out_dim] * len(leaves)
        for place, (each, dim) in enumerate(zip(leaves, dims, strict=True)):
            if dim is None or not isinstance(each, Tensor):
                continue
            if each.shape[dim] != batch.size:
                raise RuntimeError(
                    f"The vmap staticmethod of {name} returned {each.shape[dim]} examples in dimension {dim} "
                    f"of output {position}, where the batch has {batch.size}."
                )
            leaves[place] = batch.example(each, dim % each.ndim)
        examples.append(unflattened(form, leaves))
    return tuple(examples) if isinstance(returned[0], tuple) else examples[0]


def _outputs_and_dims(returned: Any) -> tuple[list[Any], list[int | None]]:
    """What a `vmap` method returned, as a list of outputs and one of their batch dimensions."""
    expected = (
        "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible "
        "with the output. "
    )
    if not isinstance(returned, tuple):
        raise RuntimeError(f"{expected}Got a {type(returned)} instead")
    if len(returned) != 2:
        raise RuntimeError(f"{expected}Got {len(returned)} returns instead")
    output, out_dims = returned
    outputs = list(output) if isinstance(output, tuple) else [output]
    if not isinstance(out_dims, tuple):
        return outputs, [out_dims] * len(outputs)
    if not isinstance(output, tuple) or len(out_dims) != len(outputs):
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
            f"out_dims={out_dims} to be compatible with the structure of `output`.\n"
            f"There are {len(out_dims)} dimensions for {len(outputs)} outputs. {EXTENDING}"
        )
    return outputs, list(out_dims)


EXTENDING = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class GeneratedRule:
    """The methods of the Function that `generate_vmap_rule` makes from another one: the same methods, batched.

    `function` is that other one, `in_dims` its arguments' batch dimensions. The batch dimension of outputs is 0.
    """

    def __init__(self, function: Any, info: VmapInfo, in_dims: Axes) -> None:
        self.function = function
        self.info = info
        self.in_dims = in_dims

    def methods(self) -> dict[str, Any]:
        """The namespace for `type(name, bases, namespace)`."""
        methods = {name: staticmethod(getattr(self, name)) for name in ("forward", "setup_context", "backward", "jvp")}
        return {**methods, "generate_vmap_rule": True}

    def forward(self, *arguments: Any) -> Any:
        with self._level() as level:
            returned = self.function.forward(*_examples(level, arguments, self.in_dims))
            outputs = list(returned) if isinstance(returned, tuple) else [returned]
            whole = _whole(level, {place: (each, 0) for place, each in enumerate(outputs) if isinstance(each, Tensor)})
            outputs = [whole.get(place, each) for place, each in enumerate(outputs)]
            return tuple(outputs) if isinstance(returned, tuple) else outputs[0]

    def setup_context(self, ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Runs the Function's own `setup_context` for one example, and keeps batches of the tensors that it saves."""
        inner: BackwardCFunction = self.function._backward_cls()
        inner.needs_input_grad = ctx.needs_input_grad
        outputs = output if isinstance(output, tuple) else (output,)
        dims = [*self.in_dims, *[0 if isinstance(each, Tensor) else None for each in outputs]]
        with self._level() as level:
            shown = _examples(level, (*inputs, *outputs), dims)
            outs = shown[len(inputs) :]
            self.function.setup_context(
                inner, tuple(shown[: len(inputs)]), tuple(outs) if isinstance(output, tuple) else outs[0]
            )
            source = {id(each): place for place, each in enumerate(shown)}

            def kept(tensors: tuple[Any, ...]) -> tuple[list[Any], list[int | None]]:
                """The batches of these examples and their axes; for arguments and outputs, those themselves."""
                new = {
                    place: (each, 0)
                    for place, each in enumerate(tensors)
                    if isinstance(each, Tensor) and id(each) not in source and level.holds(each.__node__)
                }
                made = _whole(level, new)
                whole: list[Any] = [made.get(place, each) for place, each in enumerate(tensors)]
                axes: list[int | None] = [0 if place in new else None for place in range(len(tensors))]
                for place, each in enumerate(tensors):
                    if id(each) in source:
                        whole[place] = (*inputs, *outputs)[source[id(each)]]
                        axes[place] = dims[source[id(each)]]
                return whole, axes

            saved, ctx.saved_dims = kept(inner.to_save)
            saved_for_forward, ctx.saved_for_forward_dims = kept(inner.saved_for_forward)
        if inner.dirty_tensors:
            raise RuntimeError(
                f"mark_dirty cannot be batched by the generated vmap rule of {self.function.__name__}\n"
                "Write a vmap staticmethod, or return a new tensor from forward."
            )
        ctx.save_for_backward(*saved)
        ctx.save_for_forward(*saved_for_forward)
        ctx.mark_non_differentiable(*[(*inputs, *outputs)[source[id(each)]] for each in inner.non_differentiable])
        ctx.set_materialize_grads(inner.materialize_grads)
        inner.to_save = inner.saved_for_forward = inner.non_differentiable = ()
        ctx.inner = inner
        ctx.shapes = [each.shape if isinstance(each, Tensor) else None for each in shown[: len(inputs)]]

    def backward(self, ctx: Any, *gradients: Any) -> Any:
        with self._level() as level:
            inner = self._context(level, ctx, ctx.saved_dims)
            given: Any = _examples(level, gradients, [0] * len(gradients))
            returned = self.function.__backward_method__()(
                inner, *([given] if self.function.boxed_grads_call else given)
            )
            listed = list(returned) if isinstance(returned, tuple) else [returned]
            whole: dict[int, tuple[Tensor, int]] = {}
            for place, (each, dim, shape) in enumerate(zip(listed, self.in_dims, ctx.shapes, strict=False)):
                if isinstance(each, Tensor) and shape is not None:
                    node = each.__node__
                    if node.aval.shape != shape and expandable(shape, node.aval.shape):
                        listed[place] = each = wrap(record(sum_to, (node,), (shape,)))
                    if dim is not None or level.holds(each.__node__):
                        whole[place] = each, 0 if dim is None else dim
            for place, batch in _whole(level, whole).items():
                # The gradient of an argument that all examples share is the sum over the examples.
                listed[place] = batch.sum(0) if self.in_dims[place] is None else batch
            return tuple(listed)

    def jvp(self, ctx: Any, *tangents: Any) -> Any:
        with self._level() as level:
            inner = self._context(level, ctx, ctx.saved_for_forward_dims)
            inner.__in_jvp__ = True
            returned = self.function.jvp(inner, *_examples(level, tangents, self.in_dims))
            listed = list(returned) if isinstance(returned, tuple) else [returned]
            whole = _whole(level, {place: (each, 0) for place, each in enumerate(listed) if isinstance(each, Tensor)})
            return tuple([whole.get(place, each) for place, each in enumerate(listed)])

    def _level(self) -> Batch:
        return Batch(self.info.batch_size, self.info.randomness, None)

    def _context(self, level: Batch, ctx: Any, dims: Sequence[int | None]) -> BackwardCFunction:
        """The Function's own context, with one example of each saved tensor."""
        inner: BackwardCFunction = copy.copy(ctx.inner)
        inner.needs_input_grad = ctx.needs_input_grad
        saved: Any = tuple([_Shown(each) for each in _examples(level, ctx.saved_tensors, dims)])
        inner.__saved__ = inner.__saved_for_forward__ = saved
        return inner


class _Shown(NamedTuple):
    """Stands for a `context.SavedTensor` whose tensor is at hand."""

    tensor: Tensor | None

    def unpacked(self, step: Any) -> Tensor | None:
        return self.tensor


def _examples(level: Batch, values: Sequence[Any], dims: Sequence[int | None]) -> list[Any]:
    return [
        each if dim is None or each is None else level.example(each, dim)
        for each, dim in zip(values, dims, strict=True)
    ]


def _whole(level: Batch, examples: Mapping[int, tuple[Tensor, int]]) -> dict[int, Tensor]:
    """The batch of each example, along the axis given with it."""
    if not examples:
        return {}
    nodes: list[Node] = [each.__node__ for each, _ in examples.values()]
    batches = level.batches(nodes, [dim for _, dim in examples.values()])
    return {place: wrap(node) for place, node in zip(examples, batches, strict=True)}
