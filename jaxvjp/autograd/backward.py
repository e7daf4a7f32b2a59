"""`backward` and `grad`: torch's two ways to ask for vᵀJ.

Both walk the graph once (`engine.walk_back`), which records `jax.vjp` of the program that led to the roots, and compute
the result in one dispatch. All checks and all computation come before any `.grad` changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from typing import Any

from jaxvjp.autograd.accumulation import accumulated, backward_of_one, end, gradients_of
from jaxvjp.autograd.graph import GradientEdge
from jaxvjp.core.derive.saved import release
from jaxvjp.core.record.graph import Node, Number
from jaxvjp.core.record.modes import restored, staging, tracking, transforming
from jaxvjp.core.record.promotion import converted
from jaxvjp.core.record.record import constant, record
from jaxvjp.library.creation import zeros_like
from jaxvjp.ops.creation import one_hot
from jaxvjp.ops.op import Aval
from jaxvjp.ops.pointwise import add
from jaxvjp.ops.reduction import sum_
from jaxvjp.tensor.tensor import Tensor, wrap
from jaxvjp.types.devices import meet
from jaxvjp.types.size import Size
from jaxvjp.types.user_code import warn_user

Tensors = Tensor | GradientEdge | Sequence[Tensor | GradientEdge]

REFERENCE_CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
    "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you "
    "have to use this function, make sure to reset the .grad fields of your parameters to None after use to break the "
    "cycle and avoid the leak."
)


def backward(
    tensors: Tensors,
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Tensor | Sequence[Tensor | None] | None = None,
    inputs: Tensors | None = None,
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
        inputs: the tensors to accumulate into, instead of all leaves; they need not be leaves.
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
    roots = _roots(tensors)
    if inputs is not None:
        inputs = _inputs(inputs, "backward")
    create_graph = bool(index(create_graph))
    retain_graph = create_graph if retain_graph is None else bool(index(retain_graph))
    if create_graph:
        warn_user(REFERENCE_CYCLE)
    nodes, cotangents = _roots_and_cotangents(roots, _gradients(grad_tensors, roots), create_graph, broadcast)
    targets = None if inputs is None else _targets(inputs, "can't retain_grad on Tensor that has requires_grad=False")
    for each in inputs or ():
        if not each.is_leaf:
            each.retain_grad()
    receivers, walked, met = accumulated(nodes, cotangents, targets, create_graph)
    end(receivers, walked, met, retain_graph, create_graph)


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
) -> tuple[Tensor, ...]:
    """vᵀJ for each of `inputs`, returned and not accumulated: J the Jacobian of `outputs`, v `grad_outputs`.

    Args:
        outputs, grad_outputs, retain_graph, create_graph: as for `backward`.
        inputs: what to differentiate with respect to: leaves or intermediate tensors.
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
    roots, wanted = _roots(outputs), _inputs(inputs, "grad")
    create_graph = bool(index(create_graph))
    retain_graph = create_graph if retain_graph is None else bool(index(retain_graph))
    gradients = _gradients(grad_outputs, roots)
    nodes, cotangents = _roots_and_cotangents(roots, gradients, create_graph, False, is_grads_batched)
    batch = (gradients[0].shape[0],) if is_grads_batched and gradients[0] is not None else ()
    targets = _targets(wanted, "One of the differentiated Tensors does not require grad")
    pulled, walked, met = gradients_of(nodes, cotangents, targets, create_graph, batch)
    if staging().journal is not None:
        staging().journal.note_walk(walked)
    for position, node in enumerate(targets):
        if node.lost:
            pulled.pop(node, None)
        if node not in pulled and not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {position} appears to not have been used in the graph. Set "
                "allow_unused=True if this is the desired behavior.\n"
                "Its gradient would be None, not zero: no output was computed from it."
            )
    if not retain_graph:
        release(walked, met)
    given = [inputs] if isinstance(inputs, Tensor | GradientEdge) else inputs
    if materialize_grads and not pulled.keys() >= {*targets}:
        for each, node in zip(given, targets, strict=True):
            if node not in pulled and isinstance(each, GradientEdge):
                raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
        for each, node in zip(wanted, targets, strict=True):
            if node not in pulled:
                pulled[node] = zeros_like(each, requires_grad=create_graph).node
    found: tuple[Any, ...] = tuple(wrap(pulled[node]) if node in pulled else None for node in targets)
    return found  # typed as tensors, as in torch: None comes only with `allow_unused`


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
    wanted = _listed(inputs)
    targets = _targets(wanted, "One of the differentiated Tensors does not require grad")
    _check_tracked(0, outputs.node)
    found = rows(outputs.node, targets, create_graph)
    shown = tuple([wrap(each) for each in filled(found, outputs.node.aval, targets)])
    return shown[0] if isinstance(inputs, Tensor) else shown


def rows(root: Node, targets: list[Node], create_graph: bool) -> list[Node | None]:
    """The Jacobian of `root` with respect to each of `targets`, of its shape and then theirs; None for one that it does
    not depend on. Underneath: `jax.vmap` of the pullback, over each dimension of the root."""
    aval = root.aval
    one_hots = record(one_hot, (Number(1, aval.dtype, aval.device),), (aval.shape, aval.shape, 0))
    found, walked, _ = gradients_of([root], [one_hots], targets, create_graph, aval.shape)
    if staging().journal is not None:
        staging().journal.note_walk(walked)
    return [found.get(each) for each in targets]


def filled(blocks: Iterable[Node | None], output: Aval, inputs: Iterable[Node]) -> list[Node]:
    """One output's blocks of a Jacobian, with zeros in place of None."""
    return [
        constant(0, output.shaped((*output.shape, *each.aval.shape))) if block is None else block
        for block, each in zip(blocks, inputs, strict=True)
    ]


def _listed(tensors: Tensors) -> list[Tensor]:
    listed = [tensors] if isinstance(tensors, Tensor | GradientEdge) else list(tensors)
    return [each.tensor() if isinstance(each, GradientEdge) else each for each in listed]


def _roots(tensors: Tensors) -> list[Tensor]:
    roots = _listed(tensors)
    for each in roots:
        if not isinstance(each, Tensor):
            raise AssertionError(f"Expected output to be a torch.Tensor\nIt is {type(each).__name__}.")
    return roots


def _inputs(tensors: Tensors, function: str) -> list[Tensor]:
    inputs = _listed(tensors)
    if not inputs:
        raise RuntimeError(f"`inputs` argument to `{function}()` cannot be empty.")
    for each in inputs:
        if not isinstance(each, Tensor):
            raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(each).__name__}")
    return inputs


def _targets(tensors: list[Tensor], refusal: str) -> list[Node]:
    for position, each in enumerate(tensors):
        if not each.requires_grad:
            raise RuntimeError(
                f"{refusal}\nInput {position} has shape {list(each.shape)}; call `requires_grad_()` on it before the "
                "computation that is to be differentiated."
            )
        each.check_current()
    return [each.gradient_node for each in tensors]


def _gradients(gradients: Any, roots: list[Tensor]) -> list[Tensor | None]:
    if gradients is None:
        return [None] * len(roots)
    listed = [gradients] if isinstance(gradients, Tensor) else list(gradients)
    for each in listed:
        if each is not None and not isinstance(each, Tensor):
            raise TypeError(
                f"gradients can be either Tensors or None, but got {type(each).__name__}\n"
                f"Make a tensor of it: `y.backward(jaxvjp.tensor({each!r}))`, with one number per element of y."
            )
    if len(listed) < len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(listed)} gradients")
    return listed[: len(roots)]


@restored
def _roots_and_cotangents(
    roots: list[Tensor],
    gradients: list[Tensor | None],
    create_graph: bool,
    broadcast: bool,
    batched: bool = False,
) -> tuple[list[Node], list[Node | None]]:
    """The nodes of the roots and, checked and in the roots' dtypes, those of their cotangents; None stands for 1."""
    nodes: list[Node] = []
    cotangents: list[Node | None] = []
    for root in roots:
        root.check_current()
    with tracking(create_graph):
        for position, (root, gradient) in enumerate(zip(roots, gradients, strict=True)):
            node = root.node
            if gradient is None:
                if node.requires_grad and root.numel() != 1:
                    raise RuntimeError(_not_scalar(root))
                if node.requires_grad and root.dtype.is_complex:
                    raise RuntimeError(
                        f"grad can be implicitly created only for real scalar outputs but got {root.dtype}\n"
                        "Which part is to be differentiated? `y.real.backward()`, or `y.backward(v)` with v complex."
                    )
                if batched:
                    raise RuntimeError("If `is_grads_batched=True`, every output needs a grad_output.")
                cotangent = None
            else:
                cotangent = gradient.node
                usual = node.requires_grad and node.leaf is None  # the usual case
                if usual and _fits(cotangent.aval, node.aval, batched):
                    nodes.append(node)
                    cotangents.append(cotangent)
                    continue
                if broadcast and root.numel() == 1:
                    summed = record(sum_, (cotangent,), (None, False, None))
                    cotangent = summed if not root.shape else _like_root(summed, node)
                if not meet(cotangent.device, node.device):
                    raise RuntimeError(
                        f"invalid gradient at index {position} - expected device {root.device} but got "
                        f"{gradient.device}\nMove it first: `y.backward(v.to(y.device))`."
                    )
                _check_gradient(position, Size(cotangent.aval.shape), gradient, root, batched)
                cotangent = converted(cotangent, root.dtype)
            _check_tracked(position, node)
            nodes.append(node)
            cotangents.append(cotangent)
    return nodes, cotangents


def _fits(cotangent: Aval, root: Aval, batched: bool) -> bool:
    if not batched:
        return cotangent is root
    same = cotangent.dtype is root.dtype and cotangent.device is root.device
    return same and bool(cotangent.shape) and cotangent.shape[1:] == root.shape


def _check_tracked(position: int, node: Node) -> None:
    if not node.requires_grad or node.lost:
        raise RuntimeError(
            f"element {position} of tensors does not require grad and does not have a grad_fn\n"
            "Nothing that it was computed from requires a gradient, or it was computed under no_grad() or "
            "from x.detach(). Make the input a leaf that does: `x = tensor([1., 2.], requires_grad=True)`."
        )


def _like_root(scalar: Node, root: Node) -> Node:
    return record(add, (constant(0, root.aval), scalar))


def _check_gradient(position: int, shape: Size, gradient: Tensor, root: Tensor, batched: bool) -> None:
    if batched:
        if not shape:
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                f"convert a 0-dim tensor to a number\ngrad_output[{position}] needs a leading dimension: one v each."
            )
        if shape[1:] != root.shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                "dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                f"output, but a mismatch was detected: grad_output[{position}] has a shape of {Size(shape[2:])} "
                f"and output[{position}] has a shape of {root.shape}. If you only want some tensors in `grad_output` "
                f"to be considered batched, consider using vmap.\nThis grad_output has the shape {list(shape)}; it "
                f"should have [N, {str(list(root.shape))[1:-1]}]."
            )
    elif shape != root.shape:
        advice = f"v needs one number per element of y: `y.backward(jaxvjp.ones({list(root.shape)}))`"
        if root.numel() == 1:
            advice += ". To repeat y for each number in v, as torch once did: `y.backward(v, broadcast=True)`"
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{position}] has a shape of {shape} and output[{position}] has a shape of "
            f"{root.shape}.\n{advice}."
        )
    if gradient.dtype.is_complex != root.dtype.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{position}] has a dtype of {gradient.dtype} and output[{position}] has a dtype of "
            f"{root.dtype}.\nA real output takes a real gradient, a complex one a complex gradient."
        )


def _not_scalar(root: Tensor) -> str:
    shape = list(root.shape)
    lines = [
        "grad can be implicitly created only for scalar outputs",
        f"y has shape {shape}: which weighted sum of its elements is to be differentiated? Say it as `gradient`:",
        f"    y.backward(jaxvjp.ones({shape}))            # all elements: the gradient of y.sum()",
    ]
    if root.ndim == 1 and root.numel():
        one_hot = str([1.0] + [0.0] * (root.numel() - 1)) if root.numel() <= 6 else f"one_hot of {root.numel()}"
        lines.append(f"    y.backward(jaxvjp.tensor({one_hot}))   # one element: one row of the Jacobian")
    lines.append("    jaxvjp.autograd.functional.jacobian(f, x)   # every row: the whole Jacobian")
    return "\n".join(lines)


def _method(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
    *,
    broadcast: bool = False,
) -> None:
    """Adds vᵀJ to the `.grad` of every leaf that this tensor was computed from: J its Jacobian, v the `gradient`.

    `gradient` has this tensor's shape; it is the derivative of some later scalar with respect to each element here,
    and may be left out where there is one element, for then it is 1. The other arguments are those of
    `autograd.backward`. Counterpart of `torch.Tensor.backward`.
    """
    plain = retain_graph is None and inputs is None and create_graph is False and not broadcast
    if not (plain and backward_of_one(self, gradient)):
        backward(self, gradient, retain_graph, create_graph, inputs=inputs, broadcast=broadcast)


Tensor.backward = _method  # type: ignore[method-assign, assignment]
