"""Derivatives of a function rather than of a graph, as `torch.autograd.functional` has them.

Each takes a function of tensors, and a tensor or a tuple of them to evaluate it at, and returns results in the same
form. `func` has the same derivatives as functions of functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxvjp.autograd.backward import filled, grad, rows
from jaxvjp.autograd.evaluated_functions import LINEAR, Call, Differentiable, as_tuple, check_differentiable
from jaxvjp.autograd.roots import Tensors
from jaxvjp.core.derive.between import between
from jaxvjp.core.derive.engine import walk_back
from jaxvjp.core.derive.transforms import pushforward
from jaxvjp.core.record.graph import Node, gradient_edges, reachable
from jaxvjp.core.record.modes import tracking
from jaxvjp.core.record.record import constant, record, variable_of
from jaxvjp.library.creation import tensor
from jaxvjp.ops.identity import shaped
from jaxvjp.ops.joining import stack
from jaxvjp.tensor.docstrings import complete_all
from jaxvjp.tensor.jacobians import columns
from jaxvjp.tensor.tensor import Tensor, wrap

STRATEGIES = ("forward-mode", "reverse-mode")
NO_V = (
    "The vector v can only be None if the input to the user-provided function is a single Tensor with a single element."
)


def vjp(
    func: Differentiable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """`func(*inputs)`, and vᵀJ: J the Jacobian of `func` at `inputs`, v of the shape of the outputs.

    Args:
        func: takes as many tensors as there are `inputs` and returns a tensor or a tuple of them.
        inputs: a tensor or a tuple of them.
        v: a tensor for each output; None stands for 1 where there is one output of one element.
        create_graph: whether the results shall be differentiable in turn.
        strict: RuntimeError for an input that no output depends on, instead of zeros.

    Returns:
        the outputs and, in the form of `inputs`, a tensor of each input's shape and dtype.

    Raises:
        TypeError: something else than tensors.
        RuntimeError: a `v` that is missing, or of another shape.

    Counterpart of `torch.autograd.functional.vjp`. Underneath: `jax.vjp` of the program that `func` recorded.
    """
    call = Call("vjp", func, inputs, create_graph, strict)
    with tracking(True):
        call.run()
        cotangents = call.vector(
            v,
            call.outputs,
            call.single_output,
            "The vector v can only be None if the user-provided function returns a single Tensor with a single "
            "element.",
        )
    found = call.pulled(call.roots, cotangents, create_graph)
    absent = "The output of the user-provided function is independent of input {}. This is not allowed in strict mode."
    return call.with_value(call.filled(found, call.inputs, absent, "jacobian"), call.single_input)


def jvp(
    func: Differentiable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """`func(*inputs)`, and Jv: J the Jacobian of `func` at `inputs`, v of the shape of the inputs.

    Arguments and errors are those of `vjp`, `v` aside. Returns the outputs and, in their form, their tangents.

    Counterpart of `torch.autograd.functional.jvp`. Underneath: `jax.jvp` of the program that `func` recorded.
    """
    call = Call("jvp", func, inputs, create_graph, strict)
    with tracking(True):
        tangents = call.vector(v, call.inputs, call.single_input, NO_V)
        call.run()
        if strict:
            reached = set(reachable(call.roots, gradient_edges))
            for position, each in enumerate(call.leaves):
                if each not in reached:
                    raise RuntimeError(
                        f"The output of the user-provided function is independent of input {position}. This is not "
                        "allowed in strict mode."
                    )
    with tracking(create_graph):
        found = _pushed(call, call.roots, tangents)
    absent = (
        "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double "
        "backward trick to compute forward mode gradients. This is not allowed in strict mode."
    )
    return call.with_value(call.filled(found, call.outputs, absent, "jacobian"), call.single_output)


def _pushed(call: Call, nodes: Sequence[Node], tangents: Sequence[Node]) -> list[Node | None]:
    """The tangents of `nodes`. If the backward pass calls Python, which has no `jax.jvp`, they come from a double
    transpose: the pullback is linear in its cotangents, so its own pullback takes tangents to tangents."""
    if not _has_python_steps(nodes, call.leaves):
        push = pushforward(nodes, call.leaves, gradient_edges, call.name)
        return push(dict(zip(call.leaves, tangents, strict=True)))
    cotangents = [variable_of(constant(0, node.aval)) for node in nodes]
    pulled = walk_back(nodes, cotangents, call.leaves, create_graph=True).gradients
    roots = [leaf for leaf in call.leaves if leaf in pulled]
    given = [tangent for each, tangent in zip(call.leaves, tangents, strict=True) if each in pulled]
    found = walk_back([pulled[root] for root in roots], given, cotangents, call.create_graph).gradients
    return [found.get(cotangent) for cotangent in cotangents]


def _has_python_steps(nodes: Sequence[Node], leaves: Sequence[Node]) -> bool:
    steps = {node for node in reachable(nodes, gradient_edges) if node.special and node.python is not None}
    return bool(steps) and not steps.isdisjoint(between(nodes, leaves, gradient_edges))


def jacobian(
    func: Differentiable,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of `func` at `inputs`: every row that a one-hot `gradient` would give, at once.

    Args:
        func: takes as many tensors as there are `inputs` and returns a tensor or a tuple of them.
        inputs: a tensor or a tuple of them.
        create_graph: whether the Jacobian shall be differentiable in turn.
        strict: RuntimeError for an output that does not depend on an input, instead of zeros.
        vectorize: accepted, and torch's errors with it; here all rows are always computed at once.
        strategy: "reverse-mode" computes rows; "forward-mode" columns, and needs `vectorize`.

    Returns:
        For one output and one input a tensor of shape output.shape + input.shape; a tuple of those where there are
        several inputs, and of those where there are several outputs.

    Underneath: `jax.jacrev` or `jax.jacfwd` of the program that `func` recorded.
    """
    if strategy not in STRATEGIES:
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs '
            'than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        return _jacobian_by_columns(func, inputs, create_graph, strict, vectorize)
    call = Call("jacobian", func, inputs, create_graph, strict)
    with tracking(True):
        call.run()
    if vectorize and strict:
        raise RuntimeError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
            "Please either set `strict=False` or `vectorize=False`."
        )
    found = _rows(call)
    if strict:
        for i, row in enumerate(found):
            for j, each in enumerate(row):
                if each is None:
                    raise RuntimeError(
                        f"Output {i} of the user-provided function is independent of input {j}. This is not allowed in "
                        "strict mode."
                    )
                if create_graph and not each.requires_grad:
                    raise RuntimeError(
                        f"The jacobian of the user-provided function is independent of input {i}. This is not allowed "
                        "in strict mode when create_graph=True."
                    )
    return _blocks(call, found)


def _blocks(call: Call, found: list[list[Node | None]]) -> Any:
    """The Jacobian in torch's form, with zeros in place of None."""
    per_output = tuple(
        [
            call.returned(filled(row, root.aval, call.leaves), call.single_input)
            for root, row in zip(call.roots, found, strict=True)
        ]
    )
    return per_output[0] if call.single_output else per_output


def _rows(call: Call) -> list[list[Node | None]]:
    """For each output its Jacobian with respect to each input, None where it does not depend on it."""
    if _has_python_steps(call.roots, call.leaves):
        return [[_row_by_row(output, operand, call.create_graph) for operand in call.inputs] for output in call.outputs]
    del call.outputs  # their values are never read
    nothing: list[Node | None] = [None] * len(call.leaves)
    return [rows(root, call.leaves, call.create_graph) if root.requires_grad else nothing for root in call.roots]


def _row_by_row(output: Tensor, argument: Tensor, create_graph: bool) -> Node | None:
    """The Jacobian of a graph with Python in its backward pass: one pullback per element of the output."""
    pulled = []
    for one_hot in np.eye(output.numel()):
        v = tensor(one_hot.reshape(output.shape), dtype=output.dtype)
        (row,) = grad(output, argument, v, retain_graph=True, create_graph=create_graph, allow_unused=True)
        if row is None:
            return None
        pulled.append(row.__node__)
    with tracking(create_graph):
        stacked = record(stack, tuple(pulled), (0, (len(pulled),)))
        return record(shaped, (stacked,), ((*output.shape, *argument.shape),))


def _jacobian_by_columns(func: Differentiable, inputs: Any, create_graph: bool, strict: bool, vectorize: bool) -> Any:
    if create_graph:
        raise NotImplementedError(
            'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported '
            'together (yet). Please either set `create_graph=False` or `strategy="reverse-mode"`.'
        )
    if strict:
        raise RuntimeError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported '
            'together (yet). Please either set `strict=False` or `strategy="reverse-mode"`.'
        )
    several_inputs, arguments = as_tuple(inputs, "inputs", "jacobian")
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for "
            "`vectorize=True`."
        )
    several_outputs = False
    outputs: tuple[Tensor, ...] = ()

    def run(duals: list[Tensor]) -> tuple[Tensor, ...]:
        nonlocal several_outputs, outputs
        several_outputs, outputs = as_tuple(func(*duals), "outputs of the user-provided function", "jacobian")
        return outputs

    found = columns(run, arguments)
    leaves = [argument.__node__ for argument in arguments]
    per_output = [
        tuple([wrap(each) for each in filled(row, output.__node__.aval, leaves, forward=True)])
        for row, output in zip(found, outputs, strict=True)
    ]
    by_output = tuple([row if several_inputs else row[0] for row in per_output])
    return by_output if several_outputs else by_output[0]


def hessian(
    func: Differentiable,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The matrix of second derivatives of `func`, which returns one element, at `inputs`.

    The arguments are those of `jacobian`, whose strategy here is that of the outer one: "forward-mode" is forward
    over reverse. Returns, for one input, a tensor of shape input.shape + input.shape; for several a tuple of tuples,
    [i][j] of shape inputs[i].shape + inputs[j].shape. RuntimeError for an output of more than one element.

    Counterpart of `torch.autograd.functional.hessian`. Underneath: `jax.hessian` of the program that `func` recorded.
    """
    several, arguments = as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in STRATEGIES:
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def element(*given: Tensor) -> Tensor:
        output = func(*given)
        _, outputs = as_tuple(output, "outputs of the user-provided function", "hessian")
        if strict:
            check_differentiable(outputs)
        if not isinstance(output, Tensor):
            raise RuntimeError("The function given to hessian should return a single Tensor")
        if output.numel() != 1:
            raise RuntimeError("The Tensor returned by the function given to hessian should contain a single element")
        scalar: Tensor = output.squeeze()
        return scalar

    def gradients(*given: Tensor) -> Any:
        if outer_jacobian_strategy == "forward-mode":
            given = tuple([each if each.requires_grad else wrap(variable_of(each.__node__)) for each in given])
        found = jacobian(element, given, create_graph=True)
        if strict:
            for position, each in enumerate(found):
                if not each.requires_grad:
                    raise RuntimeError(LINEAR.format(position))
        return found

    blocks = jacobian(gradients, arguments, create_graph, strict, vectorize, outer_jacobian_strategy)
    return blocks if several else blocks[0][0]


def vhp(
    func: Differentiable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """`func(*inputs)`, and vᵀH: H the matrix of second derivatives of `func`, which returns one element.

    Arguments and errors are those of `vjp`, but `v` has the shapes of the inputs. Returns the output and, in the form
    of `inputs`, a tensor of each input's shape.

    Counterpart of `torch.autograd.functional.vhp`. Underneath: `jax.vjp` of `jax.grad`.
    """
    call, v_nodes, gradients = _gradient_of_scalar("vhp", func, inputs, v, create_graph, strict)
    given = [(each, cotangent) for each, cotangent in zip(gradients, v_nodes, strict=True) if each is not None]
    given = [(each, cotangent) for each, cotangent in given if each.requires_grad]
    found = call.pulled([each for each, _ in given], [cotangent for _, cotangent in given], create_graph)
    absent = (
        "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode."
    )
    return call.with_value(call.filled(found, call.inputs, absent, "hessian"), call.single_input)


def hvp(
    func: Differentiable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """`func(*inputs)`, and Hv: H the matrix of second derivatives of `func`, which returns one element.

    Arguments, results and errors are those of `vhp`. Underneath: `jax.jvp` of `jax.grad`, forward over reverse.
    """
    call, tangents, gradients = _gradient_of_scalar("hvp", func, inputs, v, create_graph, strict)
    known_ones = [gradient for gradient in gradients if gradient is not None]
    with tracking(create_graph):
        pushed = iter(_pushed(call, known_ones, tangents))
    found = [None if gradient is None else next(pushed) for gradient in gradients]
    absent = (
        "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. This is not "
        "allowed in strict mode as it prevents from using the double backward trick to replace forward mode AD."
    )
    return call.with_value(call.filled(found, call.inputs, absent, "hessian"), call.single_input)


def _gradient_of_scalar(
    name: str, func: Differentiable, inputs: Any, v: Any, create_graph: bool, strict: bool
) -> tuple[Call, list[Node], list[Node | None]]:
    call = Call(name, func, inputs, create_graph, strict)
    with tracking(True):
        vector = call.vector(v, call.inputs, call.single_input, NO_V)
        call.run()
        call.scalar()
        return call, vector, call.gradients()


complete_all(globals(), ["vjp", "jvp", "jacobian", "hessian", "vhp", "hvp"], "autograd.functional")
