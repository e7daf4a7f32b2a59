# cython: annotation_typing=False
"""Reverse mode: `grad`, `grad_and_value`, `vjp`, `jacrev`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jaxvjp.autograd.backward_pass import Backward
from jaxvjp.autograd.saving import disable_saved_tensors_hooks
from jaxvjp.core.record.blocks import restored
from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.modes import outside_inference, tracking
from jaxvjp.func.arguments import (
    Argnums,
    assembled,
    check_real,
    check_tensors,
    chosen_of,
    required_tensor,
    with_aux,
    with_chosen,
    zeros_of,
)
from jaxvjp.tensor.jacobians import rows
from jaxvjp.tensor.levels import Guard, Variables
from jaxvjp.tensor.tensor import Tensor, wrap
from jaxvjp.tensor.trees import flattened, mapped, tensors_of, told, unflattened

NO_HOOKS = disable_saved_tensors_hooks(
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with your use "
    "case."
)


def _results(variables: Variables, tree: Any) -> Any:
    """`tree` as a reverse-mode transform returns it."""

    def result(value: Any) -> Tensor:
        if not isinstance(value, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(value)}")
        return variables.result(value)

    return mapped(result, tree)


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The gradient of `func`, which returns a scalar, as a function of the same arguments.

    Args:
        func: takes tensors, or tuples, lists and dicts of them, and returns a tensor of no dimensions.
        argnums: which positional arguments to differentiate with respect to: one, or a tuple of several.
        has_aux: whether `func` returns a pair, of which only the first is differentiated; then `(gradient, aux)` is
            returned.

    Returns:
        a function that gives the gradient, in the structure of the argument: zeros where `func` does not use it.

    Raises:
        RuntimeError: `func` returned something else than a scalar; an argument is an integer tensor.

    Counterpart of `torch.func.grad`. Underneath: `jax.grad` of the recorded program.
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        variables, gradient, _, aux = _differentiated(func, argnums, has_aux, args, kwargs)
        gradient = _results(variables, gradient)
        return (gradient, aux) if has_aux else gradient

    return wrapper


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """As `grad`, but gives `(gradient, value)`, or `(gradient, (value, aux))`.

    Counterpart of `torch.func.grad_and_value`. Underneath: `jax.value_and_grad`.
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        variables, gradient, output, aux = _differentiated(func, argnums, has_aux, args, kwargs)
        gradient, output = _results(variables, gradient), _results(variables, output)
        return (gradient, (output, aux)) if has_aux else (gradient, output)

    return wrapper


@restored
def _differentiated(
    func: Callable[..., Any], argnums: Argnums, has_aux: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Variables, Any, Tensor, Any]:
    """The level at which `func` was differentiated, its gradient and its value there, and aux as it is returned."""
    name = "grad_and_value(f)(*args)"
    with NO_HOOKS, Variables() as variables, Guard(tensors_of((*args, *kwargs.values()))):
        chosen = _fresh(variables, chosen_of(args, argnums))
        output, aux = with_aux(func(*with_chosen(args, argnums, chosen), **kwargs), has_aux, name)
        if not isinstance(output, Tensor):
            raise RuntimeError(f"{name}: Expected f(*args) to return a Tensor, got {type(output)}")
        if output.ndim:
            raise RuntimeError(
                f"{name}: Expected f(*args) to return a scalar Tensor, got tensor with {output.ndim} dims. Maybe you "
                "wanted to use the vjp or jacrev APIs instead?"
            )
    # Before the walk: where it met a tensor that the user holds, it would end a segment.
    aux = _results(variables, aux) if has_aux else None
    with outside_inference(), tracking(True):
        return variables, _pulled(variables, [output], [None], chosen), output, aux


def _fresh(variables: Variables, tree: Any) -> Any:
    """`tree` with a leaf of that level for each tensor."""
    return mapped(lambda each: variables.fresh(required_tensor(each)), tree)


def _pulled(variables: Variables, outputs: list[Tensor], cotangents: Sequence[Node | None], chosen: Any) -> Any:
    """The cotangents of the tensors in `chosen`, in its structure; zeros for one that no output depends on."""
    leaves, structure = flattened(chosen)
    inputs = [leaf.__node__ for leaf in leaves]
    roots = [output.__node__ for output in outputs]
    found = variables.pulled(lambda: Backward(roots, cotangents, inputs, True).recorded())
    return unflattened(structure, [wrap(found[each] if each in found else zeros_of(each)) for each in inputs])


@restored
def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """`func(*primals)`, and the function that takes cotangents of it to cotangents of `primals`.

    Args:
        func: takes `primals` and returns tensors in any structure; with `has_aux` a pair, whose first is that.
        primals: tensors, or tuples, lists and dicts of them.

    Returns:
        `(output, pullback)` or `(output, pullback, aux)`. `pullback(cotangents)` takes the structure of the output and
        gives a tuple with a cotangent for each of `primals`. It may be called again.

    Raises:
        RuntimeError: an output is not a floating point tensor; the cotangents have another structure or shape.
        TypeError: a cotangent is no tensor.

    Counterpart of `torch.func.vjp`. Underneath: `jax.vjp` of the recorded program.
    """
    with NO_HOOKS, Variables() as variables, Guard(tensors_of(primals)):
        chosen = _fresh(variables, primals)
        output, aux = with_aux(func(*chosen), has_aux, "vjp(f, *primals)")
        outputs, structure = flattened(output)
        check_tensors(outputs, "vjp(f, *primals)")
    _check_differentiable(outputs)

    @restored
    def pullback(cotangents: Any) -> Any:
        given, given_structure = flattened(cotangents)
        if given_structure != structure:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {told(given_structure)}, primal output: {told(structure)}"
            )
        for position, (cotangent, each) in enumerate(zip(given, outputs, strict=True)):
            if not isinstance(cotangent, Tensor):
                raise TypeError(f"gradients can be either Tensors or None, but got {type(cotangent).__name__}")
            if cotangent.shape != each.shape:
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{position}] has a shape of {cotangent.shape} and "
                    f"output[{position}] has a shape of {each.shape}."
                )
        with outside_inference(), tracking(True):
            nodes = [each.to(output.dtype).__node__ for each, output in zip(given, outputs, strict=True)]
            pulled = _pulled(variables, outputs, nodes, chosen)
        return _results(variables, pulled)

    shown = _results(variables, output)
    return (shown, pullback, _results(variables, aux)) if has_aux else (shown, pullback)


def _check_differentiable(outputs: list[Tensor]) -> None:
    for each in outputs:
        if not each.dtype.differentiable:
            raise RuntimeError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                f"{each.dtype}"
            )


def jacrev(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """The Jacobian of `func`, computed row by row, as a function of the same arguments.

    Args:
        func, argnums, has_aux: as for `grad`; `func` may return tensors of any shape, in any structure.
        chunk_size: how many rows are computed at once; None for all of them.
        _preallocate_and_copy: accepted and without effect: JAX lays out the rows.

    Returns:
        a function that gives, in the structure of the output, for each output in the structure of the chosen
        arguments, a tensor of shape output.shape + argument.shape.

    Counterpart of `torch.func.jacrev`. Underneath: `jax.jacrev` of the recorded program.
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    @restored
    def wrapper(*args: Any) -> Any:
        check_real("jacrev", args, "inputs")
        with NO_HOOKS, Variables() as variables, Guard(tensors_of(args)):
            chosen = _fresh(variables, chosen_of(args, argnums))
            output, aux = with_aux(func(*with_chosen(args, argnums, chosen)), has_aux, "vjp(f, *primals)")
            outputs, structure = flattened(output)
            check_tensors(outputs, "vjp(f, *primals)")
            check_real("jacrev", outputs, "outputs")
            _check_differentiable(outputs)
            inputs, chosen_structure = flattened(chosen)
            roots, leaves = [each.__node__ for each in outputs], [operand.__node__ for operand in inputs]
            found = variables.pulled(lambda: rows(roots, leaves, True, chunk_size))
            by_output = assembled(found, outputs, inputs, chosen_structure)
        blocks = _results(variables, unflattened(structure, by_output))
        return (blocks, _results(variables, aux)) if has_aux else blocks

    return wrapper
