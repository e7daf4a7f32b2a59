"""`backward` and `grad`: torch's two ways to ask for vᵀJ.

Both walk the graph once (`engine.walk_back`), which records `jax.vjp` of the program that led to the roots, and compute
the result in one dispatch. All checks and all computation come before any `.grad` changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from typing import Any, overload

from jaxvjp.autograd.backward_pass import Backward, backward_of_one
from jaxvjp.autograd.graph import GradientEdge
from jaxvjp.autograd.roots import (
    Inputs,
    Tensors,
    check_tracked,
    checked_gradients,
    checked_inputs,
    checked_roots,
    given,
    roots_and_cotangents,
    targets_of,
)
from jaxvjp.core.record.graph import Node, Number
from jaxvjp.core.record.modes import transforming
from jaxvjp.core.record.record import constant, record
from jaxvjp.library.creation import zeros_like
from jaxvjp.ops.creation import one_hot
from jaxvjp.ops.op import Aval
from jaxvjp.tensor.tensor import Tensor, wrap
from jaxvjp.types.tracebacks import without_own_lines, without_own_lines_in_errors
from jaxvjp.types.user_code import own_name, warn_user

REFERENCE_CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
    "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you "
    "have to use this function, make sure to reset the .grad fields of your parameters to None after use to break the "
    "cycle and avoid the leak."
)


@without_own_lines_in_errors
def backward(
    tensors: Tensors,
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Tensor | Sequence[Tensor | None] | None = None,
    inputs: Inputs | None = None,
    *,
    broadcast: bool = False,
) -> None:
    """Adds vᵀJ to the `.grad` of every leaf that requires one: J the Jacobian of `tensors`, v `grad_tensors`.

    Args:
        tensors: the roots, each of any shape.
        grad_tensors: v, one for each root and of its shape; None stands for 1 where the root has one element.
        retain_graph: whether the graph may be walked again; by default as `create_graph`.
        create_graph: whether the gradients shall be differentiable in turn.
        grad_variables: the older name of `grad_tensors`.
        inputs: the tensors to accumulate into, instead of all leaves; they need not be leaves. One, several, or a dict.
        broadcast: lets a root of one element stand for as many as its `grad_tensor` has, as torch did before 0.4:
            v is summed.

    Raises:
        RuntimeError: a root without a graph, or one that was freed; a v that is missing, or of another shape.

    Counterpart of `torch.autograd.backward`. Underneath: `y, pullback = jax.vjp(f, *leaves); pullback(v)`.
    """
    if transforming().depth:
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
            "functorch.vjp instead or call backward() outside of functorch transforms."
        )
    if grad_variables is not None:
        warn_user("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only "
                "use `grad_tensors`."
            )
        grad_tensors = grad_variables
    roots = checked_roots(tensors)
    if inputs is not None:
        inputs = checked_inputs(given(inputs, "backward"), "backward")
    create_graph = bool(index(create_graph))
    retain_graph = create_graph if retain_graph is None else bool(index(retain_graph))
    if create_graph:
        warn_user(REFERENCE_CYCLE)
    nodes, cotangents = roots_and_cotangents(roots, checked_gradients(grad_tensors, roots), create_graph, broadcast)
    targets = None if inputs is None else targets_of(inputs, "can't retain_grad on Tensor that has requires_grad=False")
    for each in inputs or ():
        if not each.is_leaf:
            each.retain_grad()
    Backward(nodes, cotangents, targets, create_graph).run(retain_graph)


@overload
def grad(outputs: Tensors, inputs: dict[str, Tensor], *rest: Any, **options: Any) -> dict[str, Tensor]: ...


@overload
def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]: ...


@without_own_lines_in_errors
def grad(
    outputs: Tensors,
    inputs: Inputs,
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """vᵀJ for each of `inputs`, returned and not accumulated: J the Jacobian of `outputs`, v `grad_outputs`.

    Args:
        outputs, grad_outputs, retain_graph, create_graph: as for `backward`.
        inputs: what to differentiate with respect to: leaves or intermediate tensors. For a dict of them the result is
            a dict, too.
        only_inputs: accepted, as in torch; False has no effect but a FutureWarning.
        allow_unused: gives None for an input that no output depends on, instead of a RuntimeError.
        is_grads_batched: each of `grad_outputs` holds several v, one per index of a leading dimension, and each result
            as many vᵀJ; they are one batched pullback, `jax.vmap(pullback)`.
        materialize_grads: gives zeros instead of None.

    Counterpart of `torch.autograd.grad`. Underneath: `y, pullback = jax.vjp(f, *inputs); return pullback(v)`.
    """
    if not only_inputs:
        warn_user(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
            "other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
        )
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    allow_unused = bool(materialize_grads) if allow_unused is None else bool(index(allow_unused))
    roots, chosen = checked_roots(outputs), given(inputs, "grad")
    wanted = checked_inputs(chosen, "grad")
    create_graph = bool(index(create_graph))
    retain_graph = create_graph if retain_graph is None else bool(index(retain_graph))
    gradients = checked_gradients(grad_outputs, roots)
    nodes, cotangents = roots_and_cotangents(roots, gradients, create_graph, False, is_grads_batched)
    batch = (gradients[0].shape[0],) if is_grads_batched and gradients[0] is not None else ()
    targets = targets_of(wanted, "One of the differentiated Tensors does not require grad")
    backward_pass = Backward(nodes, cotangents, targets, create_graph, batch)
    pulled = backward_pass.gradients()
    for position, node in enumerate(targets):
        if node.lost:
            pulled.pop(node, None)
        if node not in pulled and not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {position} appears to not have been used in the graph. Set "
                "allow_unused=True if this is the desired behavior.\n"
                "Its gradient would be None, not zero: no output was computed from it."
            )
    backward_pass.end(retain_graph)
    if materialize_grads and not pulled.keys() >= {*targets}:
        for each, node in zip(chosen, targets, strict=True):
            if node not in pulled and isinstance(each, GradientEdge):
                raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
        for each, node in zip(wanted, targets, strict=True):
            if node not in pulled:
                pulled[node] = zeros_like(each, requires_grad=create_graph).__node__
    shown: dict[Any, Any] = {node: wrap(pulled[node]) for node in targets if node in pulled}
    found: Any = tuple([shown.get(node) for node in targets])
    # Typed as tensors, as in torch: None comes only with `allow_unused`.
    return dict(zip(inputs, found, strict=True)) if isinstance(inputs, dict) else found


@without_own_lines_in_errors
def jacobian(outputs: Tensor, inputs: Tensors, create_graph: bool = False) -> Any:
    """The whole Jacobian of a result that is already there, without running its Python again.

    Args:
        outputs: a computed tensor whose graph has not been freed; it stays usable.
        inputs: a tensor or several, leaves or intermediate.
        create_graph: whether the Jacobian shall be differentiable in turn.

    Returns:
        For one input a tensor of shape outputs.shape + input.shape, for several a tuple of them. Where `outputs` has
        one element per sample (the losses of a batch), the rows are the per-sample gradients.

    torch has no counterpart: `torch.autograd.functional.jacobian` runs the function again. Underneath: one pullback of
    the recorded program, batched over every one-hot cotangent, as `jax.jacrev` does it.
    """
    if not isinstance(outputs, Tensor):
        own = own_name()
        raise TypeError(
            f"jacobian() takes a computed tensor, not {type(outputs).__name__}\n"
            f"Of y computed from x, `{own}.autograd.jacobian(y, x)`; of a function, "
            f"`{own}.autograd.functional.jacobian(f, x)`."
        )
    targets = targets_of(
        checked_inputs(given(inputs), "jacobian"), "One of the differentiated Tensors does not require grad"
    )
    check_tracked(0, outputs.__node__)
    found = rows(outputs.__node__, targets, create_graph)
    shown = tuple([wrap(each) for each in filled(found, outputs.__node__.aval, targets)])
    return shown[0] if isinstance(inputs, Tensor) else shown


def rows(root: Node, targets: list[Node], create_graph: bool) -> list[Node | None]:
    """The Jacobian of `root` with respect to each of `targets`, of its shape and then theirs; None for one that it does
    not depend on. Underneath: `jax.vmap` of the pullback, over each dimension of the root."""
    aval = root.aval
    one_hots = record(one_hot, (Number(1, aval.dtype, aval.device),), (aval.shape, aval.shape, 0))
    backward_pass = Backward([root], [one_hots], targets, create_graph, aval.shape)
    found = backward_pass.gradients()
    backward_pass.end(retain_graph=True)
    return [found.get(target) for target in targets]


def filled(blocks: Iterable[Node | None], output: Aval, inputs: Iterable[Node], *, forward: bool = False) -> list[Node]:
    """One output's blocks of a Jacobian, zeros in place of None: of an input's dtype, `forward` of the output's."""
    return [
        constant(0, (output if forward else each.aval).shaped((*output.shape, *each.aval.shape)))
        if block is None
        else block
        for block, each in zip(blocks, inputs, strict=True)
    ]


def _method(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Inputs | None = None,
    *,
    broadcast: bool = False,
) -> None:
    """Adds vᵀJ to the `.grad` of every leaf that this tensor was computed from: J its Jacobian, v the `gradient`.

    `gradient` has this tensor's shape; it is the derivative of some later scalar with respect to each element here, and
    may be left out where there is one element, for then it is 1. The other arguments are those of `autograd.backward`.
    """
    plain = retain_graph is None and inputs is None and create_graph is False and not broadcast
    try:
        if not (plain and backward_of_one(self, gradient)):
            backward(self, gradient, retain_graph, create_graph, inputs=inputs, broadcast=broadcast)
    except Exception as error:
        raise without_own_lines(error)  # noqa: B904  # it is the same error


_method.__name__, _method.__qualname__ = "backward", "Tensor.backward"
Tensor.backward = _method  # type: ignore[method-assign, assignment]
