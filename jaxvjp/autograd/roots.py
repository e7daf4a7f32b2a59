"""What `backward` and `grad` were given: roots, cotangents and inputs, checked and turned into nodes.

`y.backward(v)`: the node of y, and that of v in y's dtype; torch's error where v has another shape, or y no graph.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from shlex import quote
from typing import Any

from jaxvjp.autograd.graph import GradientEdge
from jaxvjp.core.derive.pullback import pullback
from jaxvjp.core.record.blocks import restored
from jaxvjp.core.record.graph import Node, reachable
from jaxvjp.core.record.modes import listening, tracking
from jaxvjp.core.record.observers import Unclear, tell
from jaxvjp.core.record.promotion import converted
from jaxvjp.core.record.record import constant, record
from jaxvjp.ops.op import Aval
from jaxvjp.ops.pointwise import add
from jaxvjp.ops.reduction import sum_
from jaxvjp.tensor.refusals import ARRAYS, advice_on, advice_on_array, advice_on_update
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.devices import meet
from jaxvjp.types.size import Size
from jaxvjp.types.user_code import own_name, user_frame, users_name

Tensors = Tensor | GradientEdge | Sequence[Tensor | GradientEdge]
Inputs = Tensors | dict[str, Tensor]
SHOWN = 4
"""For at most so many tensors an error writes out what to give each."""


def given(tensors: Any, function: str = "") -> list[Tensor | GradientEdge]:
    """One, several, or as the inputs of a `function` the values of a dict, as a list."""
    if isinstance(tensors, Tensor | GradientEdge):
        return [tensors]
    if function and isinstance(tensors, Mapping):
        if type(tensors) is not dict:
            raise TypeError(
                f"`inputs` argument to `{function}()` must be a dict, not {type(tensors).__name__}. Other Mapping "
                "types are not supported."
            )
        return list(tensors.values())
    return list(tensors)


def listed(tensors: Tensors) -> list[Tensor]:
    return [each.tensor() if isinstance(each, GradientEdge) else each for each in given(tensors)]


def checked_roots(tensors: Tensors) -> list[Tensor]:
    roots = listed(tensors)
    for root in roots:
        if not isinstance(root, Tensor):
            raise AssertionError(f"Expected output to be a torch.Tensor\nIt is {type(root).__name__}.")
    return roots


def checked_inputs(tensors: Sequence[Tensor | GradientEdge], function: str) -> list[Tensor]:
    inputs = listed(tensors)
    if not inputs:
        raise RuntimeError(f"`inputs` argument to `{function}()` cannot be empty.")
    for operand in inputs:
        if not isinstance(operand, Tensor):
            told = f"all inputs have to be Tensors or GradientEdges, but got {type(operand).__name__}"
            raise RuntimeError(told + advice_on_array(operand))
    return inputs


def targets_of(tensors: list[Tensor], refusal: str) -> list[Node]:
    for position, each in enumerate(tensors):
        if not each.requires_grad:
            raise RuntimeError(
                f"{refusal}\nInput {position} has shape {list(each.shape)}; call `requires_grad_()` on it before the "
                "computation that is to be differentiated."
            )
        each.__check_current__()
    return [tensor.__gradient_node__ for tensor in tensors]


def checked_gradients(gradients: Any, roots: list[Tensor]) -> list[Tensor | None]:
    if gradients is None:
        return [None] * len(roots)
    try:
        given = [gradients] if isinstance(gradients, Tensor) else list(gradients)
    except TypeError as error:
        raise _unclear(roots, roots[0], None, f"{error}\n{_advice_on_v(gradients, roots[0])}", TypeError) from None
    for position, each in enumerate(given):
        if each is not None and not isinstance(each, Tensor):
            inside = isinstance(each, ARRAYS) and not isinstance(gradients, ARRAYS)
            root, whole = roots[min(position, len(roots) - 1)], each if inside or len(roots) > 1 else gradients
            told = f"gradients can be either Tensors or None, but got {type(each).__name__}\n"
            raise _unclear(roots, root, None, told + _advice_on_v(whole, root), TypeError)
    if len(given) < len(roots):
        written = ", ".join(ones_for(each, own_name()) for each in roots) if len(roots) <= SHOWN else "v, w, ..."
        advice = f"Each tensor needs a v of its own, of its shape, in a list: `[{written}]`."
        raise _unclear(roots, roots[len(given)], None, f"got {len(roots)} tensors and {len(given)} gradients\n{advice}")
    return given[: len(roots)]


def _advice_on_v(v: Any, root: Tensor) -> str:
    """What to write in place of a v that is no tensor."""
    if isinstance(v, ARRAYS):
        return advice_on(v)
    own, shape = own_name(), list(root.shape)
    number = isinstance(v, int | float | complex)
    if number and root.numel() != 1:
        written = f"{own}.full({shape}, {v!r})"
    else:
        written = f"{own}.tensor({v!r})" if number or isinstance(v, list | tuple) else ones_for(root, own)
    return f"Make a tensor of v, with one number for each element of {users_name(root, 'y')}: `{written}`."


@restored
def roots_and_cotangents(
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
        root.__check_current__()
    with tracking(create_graph):
        for position, (root, gradient) in enumerate(zip(roots, gradients, strict=True)):
            node = root.__node__
            if gradient is None:
                if node.requires_grad and root.numel() != 1:
                    raise _unclear(roots, root, None, _not_scalar(root))
                if node.requires_grad and root.dtype.is_complex:
                    raise _unclear(
                        roots,
                        root,
                        None,
                        f"grad can be implicitly created only for real scalar outputs but got {root.dtype}\n"
                        "Which part is to be differentiated? `y.real.backward()`, or `y.backward(v)` with v complex.",
                    )
                if batched:
                    raise RuntimeError("If `is_grads_batched=True`, every output needs a grad_output.")
                cotangent = None
            else:
                cotangent = gradient.__node__
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
                _check_gradient(position, Size(cotangent.aval.shape), gradient, roots, batched)
                cotangent = converted(cotangent, root.dtype)
            check_tracked(position, node)
            nodes.append(node)
            cotangents.append(cotangent)
    return nodes, cotangents


def _fits(cotangent: Aval, root: Aval, batched: bool) -> bool:
    if not batched:
        return cotangent is root
    same = cotangent.dtype is root.dtype and cotangent.device is root.device
    return same and bool(cotangent.shape) and cotangent.shape[1:] == root.shape


def check_tracked(position: int, node: Node) -> None:
    if not node.requires_grad or node.lost:
        raise RuntimeError(
            f"element {position} of tensors does not require grad and does not have a grad_fn\n{_why_untracked(node)}"
        )


def _why_untracked(node: Node) -> str:
    """Where the gradient ends that would go through `node`, if that is known, and what to write instead."""
    behind = reachable([node], lambda each: () if each.requires_grad else each.inputs)
    cut = [each for each in behind if not each.requires_grad]
    ends = [each for each in cut if any(isinstance(one, Node) and one.requires_grad for one in each.inputs)]
    if not node.inputs and node.operation is None and not node.requires_grad:
        own = own_name()
        return (
            f"It has numbers and no graph: `{own}.tensor(y)`, `.item()`, `.numpy()` and `.detach()` copy numbers, and "
            "no gradient goes through them. Compute it from tensors, as `y.sum()` is. If it is itself what is to be "
            f"differentiated, make it a leaf: `x = {own}.tensor([1., 2.], requires_grad=True)`."
        )
    if not ends or node.requires_grad:
        return (
            "Nothing that it was computed from requires a gradient; or it was computed under no_grad(), from "
            "x.detach(), from a gradient that was taken without `create_graph=True` or is constant, as that of 2x, or "
            "from integers or bools, as a comparison gives them, or from numbers, as .item() copies them. Make the "
            f"input a leaf that does: `x = {own_name()}.tensor([1., 2.], requires_grad=True)`."
        )
    last = max(ends, key=lambda each: each.serial)
    line = str(last.location)
    if last.operation is pullback:
        told = f"It is computed from a gradient that has no graph, taken by {line}\n"
        if "create_graph=True" in line:
            return f"{told}It is constant, as that of 2x is: it depends on nothing that requires a gradient."
        return (
            f"{told}Take it so that it has a graph: `{own_name()}.autograd.grad(y, x, create_graph=True)`. One that is "
            "constant, as that of 2x is, has none."
        )
    end = f"The gradient ends at {last.forward_name}, recorded by {line}\n"
    dtype = getattr(last.aval, "dtype", None)
    if dtype is None or dtype.differentiable:
        end += "It was computed under no_grad(), or is an operation without a derivative, such as detach()."
        update = advice_on_update(line)
        return end + (f" {update}." if update else "")
    return (
        f"{end}Its result is {dtype}, and no gradient goes through integers or bools. Call backward() of a loss that "
        f"is computed without them, such as `{own_name()}.nn.functional.cross_entropy(scores, classes)`."
    )


def _like_root(scalar: Node, root: Node) -> Node:
    return record(add, (constant(0, root.aval), scalar))


def _check_gradient(position: int, shape: Size, gradient: Tensor, roots: list[Tensor], batched: bool) -> None:
    root = roots[position]
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
        y = users_name(root, "y")
        v, own = users_name(gradient, "v"), list(root.shape)
        if gradient.numel() == root.numel():
            advice = f"{v} has shape {list(shape)}, and {y} has {own}: give it that shape, `{v}.reshape({y}.shape)`"
        else:
            advice = f"v needs one number for each element of {y}: `{ones_for(root, own_name())}`"
        if root.numel() == 1:
            advice += f". To repeat {y} for each number in v, as torch once did: `{y}.backward(v, broadcast=True)`"
        raise _unclear(
            roots,
            root,
            gradient,
            f"Mismatch in shape: grad_output[{position}] has a shape of {shape} and output[{position}] has a shape of "
            f"{root.shape}.\n{advice}.",
        )
    if gradient.dtype.is_complex != root.dtype.is_complex:
        raise _unclear(
            roots,
            root,
            gradient,
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{position}] has a dtype of {gradient.dtype} and output[{position}] has a dtype of "
            f"{root.dtype}.\nA real output takes a real gradient, a complex one a complex gradient.",
        )


def ones_for(root: Tensor, own: str) -> str:
    """The expression for a v of ones, where this package is called `own`."""
    kind = f", dtype={own}.{root.dtype.name}" if root.dtype.is_complex else ""
    return f"{own}.ones({list(root.shape)}{kind})"


def _unclear(
    roots: list[Tensor], root: Tensor, gradient: Tensor | None, text: str, kind: type[Exception] = RuntimeError
) -> Exception:
    """An error about v, of which `explain` is told, to say more."""
    if root.requires_grad and listening():
        tell(Unclear(roots, root, gradient, text))
    return kind(text)


def _not_scalar(root: Tensor) -> str:
    shape, own, y = list(root.shape), own_name(), users_name(root, "y")
    real = ".real" if root.dtype.is_complex else ""
    lines = [
        "grad can be implicitly created only for scalar outputs",
        f"{y} has shape {shape}: which weighted sum of its elements is to be differentiated? Give the weights, v, to "
        f"`{y}.backward(v)` or `{own}.autograd.grad({y}, inputs, v)`:",
        f"    v = {ones_for(root, own)}   # all elements: the gradient of {y}{real}.sum()",
    ]
    if root.ndim and root.numel():
        first = f"{y}[{', '.join('0' * root.ndim)}]{real}"
        lines.append(f"One element, one row of the Jacobian, is `{first}.backward()`.")
    frame = user_frame()
    if frame is not None and os.path.isfile(frame.f_code.co_filename):
        script = quote(os.path.relpath(frame.f_code.co_filename))
        lines.append(f"`python -m jaxvjp explain {script}` shows the Jacobian of {y}, and what each choice gives.")
    return "\n".join(lines)
