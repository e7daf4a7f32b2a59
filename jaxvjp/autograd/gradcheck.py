"""Checks of gradients against finite differences.

They tell whether `backward` gives the derivative of what the function computes; for a custom `Function` there is no
other check. VᵀJU is computed twice: with J U from differences of the function's values, and with VᵀJ from
`autograd.grad`. U and V are identities, so that VᵀJU is the Jacobian itself, or with `fast_mode` one random direction
each. A complex tensor counts as two real ones, its imaginary and its real part, which are checked in this order, as
torch does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxvjp.autograd.backward import grad
from jaxvjp.autograd.differences import (
    Direction,
    differences,
    directions,
    every_direction,
    flat,
    like,
    listed,
    parts_of,
    pulled_back,
    pushed_forward,
    random_direction,
    some_rows,
    stacked,
)
from jaxvjp.autograd.function import Function
from jaxvjp.autograd.roots import Tensors
from jaxvjp.core.record.observers import unheard
from jaxvjp.library.creation import zeros_like
from jaxvjp.tensor.batches import Batch
from jaxvjp.tensor.tensor import Tensor, wrap
from jaxvjp.types.dtypes import complex128, float64
from jaxvjp.types.user_code import warn_user

UNDEFINED = (
    "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break "
    "existing callers of this function. If this is true for you, you can call this function with "
    '"check_undefined_grad=False" to disable the feature'
)


class GradcheckError(RuntimeError):
    """What `gradcheck` and `gradgradcheck` raise where a check fails; as `torch.autograd.gradcheck.GradcheckError`."""


def gradcheck(
    func: Callable[..., Tensors],
    inputs: Tensors,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of `func` at `inputs` are those of its values; True, or GradcheckError.

    Args:
        func: takes the inputs and returns a tensor or a tuple of them.
        inputs: a tensor or a tuple; those that require a gradient are checked. float64: differences of float32 are
            too coarse, about which there is a warning.
        eps: how far an input is moved to each side for the central difference. It is moved in place, so that a
            function may also hold on to the tensor, as a layer does to its weight; afterwards it is as before.
        atol, rtol: how far the two may differ.
        raise_exception: False for a result of False instead of the GradcheckError.
        nondet_tol: how far two backward passes through one graph may differ.
        check_forward_ad: whether to compare the tangents of forward mode, too.
        check_backward_ad: whether to compare the backward pass.
        check_batched_grad: whether to check too that a batch of cotangents gives what each of them gives.
        check_batched_forward_grad: whether to check too that a batch of tangents does.
        check_undefined_grad: whether to check too that an output without a gradient, and an input without a tangent,
            counts as one with zeros.
        check_grad_dtypes: accepted; a gradient here always has the dtype of its input.
        fast_mode: compare one random combination of the Jacobian's entries instead of all of them.
        masked: accepted; it speaks of sparse tensors.

    Raises:
        GradcheckError: the Jacobians differ, or the backward pass is not deterministic, or not linear.
        ValueError: no input requires a gradient.
        AssertionError: no direction is to be checked, or batches of one that is not.

    Underneath: the rows of `jax.vjp`'s Jacobian, through any Python backward of a `Function`.
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    arguments = listed(inputs)
    leaves = _checked(arguments)
    direction = random_direction if fast_mode else every_direction
    try:
        with unheard():
            if check_backward_ad:
                _compare(func, arguments, leaves, direction, eps, atol, rtol, nondet_tol)
            if check_forward_ad:
                _compare_forward(func, arguments, leaves, direction, eps, atol, rtol)
                if check_batched_forward_grad:
                    _check_batched_forward(func, arguments, leaves)
            if check_backward_ad:
                if check_batched_grad:
                    _check_batched(_differentiable(func(*arguments)), leaves)
                _check_linear(_differentiable(func(*arguments)), leaves)
                if check_undefined_grad:
                    _check_undefined(func, arguments, leaves)
            if check_forward_ad and check_undefined_grad:
                _check_undefined_forward(func, arguments, leaves)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Tensors],
    inputs: Tensors,
    grad_outputs: Tensors | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Whether the gradients of the gradients of `func` are right: `gradcheck` of its pullback.

    Args:
        func, inputs: as for `gradcheck`.
        grad_outputs: the cotangents at which to check, one per output that requires a gradient; by default random
            ones. The pullback is a function of those that require a gradient, too.
        gen_non_contig_grad_outputs: accepted; where an array lies in memory is JAX's business.
        check_fwd_over_rev: whether to check the tangents of the pullback.
        check_rev_over_rev: whether to check its gradients.
        eps, atol, rtol, raise_exception, nondet_tol, check_undefined_grad, check_grad_dtypes: as for `gradcheck`.
        check_batched_grad, fast_mode, masked: as for `gradcheck`.

    The errors are those of `gradcheck`. Underneath: `jax.vjp` of `jax.vjp`.
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    for name, asked in (("check_undefined_grad", check_undefined_grad), ("check_batched_grad", check_batched_grad)):
        if asked and not check_rev_over_rev:
            raise AssertionError(f"Setting {name}=True requires check_rev_over_rev to be True")
    arguments = listed(inputs)
    if grad_outputs is None:
        outputs = _differentiable(func(*arguments))
        cotangents = [some_rows(output)[0].requires_grad_() for output in outputs]
    else:
        cotangents = listed(grad_outputs)

    def gradients(*given: Tensor) -> tuple[Tensor, ...]:
        for each, pattern in zip(given, (*arguments, *cotangents), strict=True):
            if isinstance(pattern, Tensor) and pattern.requires_grad and not each.requires_grad:
                each.requires_grad_()  # a dual tensor requires no gradient
        own, weights = given[: len(arguments)], given[len(arguments) :]
        leaves = [each for each in own if isinstance(each, Tensor) and each.requires_grad]
        found = grad(_differentiable(func(*own)), leaves, weights, create_graph=True, allow_unused=True)
        return tuple(each for each in found if each is not None)

    return gradcheck(
        gradients,
        (*arguments, *cotangents),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _differentiable(outputs: Tensors) -> list[Tensor]:
    return [each for each in listed(outputs) if each.requires_grad]


def _checked(arguments: Sequence[Any]) -> list[Tensor]:
    """The inputs that require a gradient."""
    leaves = []
    for position, each in enumerate(arguments):
        if isinstance(each, Tensor) and each.requires_grad:
            leaves.append(each)
            if each.dtype not in (float64, complex128):
                warn_user(
                    f"Input #{position} requires gradient and is not a double precision floating point or complex. "
                    "This check will likely fail if all the inputs are not of double precision floating point or "
                    f"complex. It is torch.{each.dtype.name}: give it as `x.double()`.",
                )
    if not leaves:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have "
            "requires_grad=True.\nMake one so: `x.requires_grad_()`."
        )
    return leaves


def _within(part: str, of: Tensor, what: str) -> str:
    return f"While considering the {part} part of complex {what} only, " if of.dtype.is_complex else ""


def _compare(
    func: Callable[..., Tensors],
    arguments: Sequence[Tensor],
    leaves: Sequence[Tensor],
    direction: Direction,
    eps: float,
    atol: float,
    rtol: float,
    nondet_tol: float,
) -> None:
    """GradcheckError unless, for each output and each input, both sides of VᵀJU agree."""
    us = [direction(flat(leaf).size) for leaf in leaves]
    slopes = [differences(func, arguments, each, u, eps) for each, u in zip(leaves, us, strict=True)]
    returned = listed(func(*arguments))
    if not any(output.requires_grad for output in returned):
        if any(slope.any() for of_leaf in slopes for slope in of_leaf):
            raise GradcheckError("Numerical gradient for function expected to be zero")
        return
    differentiable = [(number, output) for number, output in enumerate(returned) if output.requires_grad]
    for part in parts_of(returned):
        for i, (number, output) in enumerate(differentiable):
            v = directions(output, part, direction)
            pulled = [pulled_back(output, leaves, v) for _ in range(2)]
            if any(not np.allclose(a, b, 0, nondet_tol, equal_nan=True) for a, b in zip(*pulled, strict=True)):
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                    "gives different values, although analytical gradient matches numerical gradient."
                    f"The tolerance for nondeterminism was {nondet_tol}.\nTwo backward passes through one graph "
                    "differ: a backward that draws random numbers has to save them in forward."
                )
            for j, u in enumerate(us):
                numerical, analytical = v.T @ slopes[j][number], pulled[0][j] @ u
                tolerance = atol * np.outer(np.abs(v).sum(0), np.abs(u).sum(0)) + rtol * np.abs(numerical)
                if not (np.abs(analytical - numerical) <= tolerance).all():
                    raise GradcheckError(
                        f"{_within(part, output, 'outputs')}Jacobian mismatch for output {i} with respect to input "
                        f"{j},\nnumerical:{numerical}\nanalytical:{analytical}\n"
                        "A row per element of the output. The numerical one is the derivative, unless the function "
                        "has a kink within eps of here; the analytical one is what backward returns."
                    )


def _compare_forward(
    func: Callable[..., Tensors],
    arguments: Sequence[Tensor],
    leaves: Sequence[Tensor],
    direction: Direction,
    eps: float,
    atol: float,
    rtol: float,
) -> None:
    """GradcheckError unless, for each output and each input, both sides of JU agree, the one by `jax.jvp`."""
    zeros = {each: zeros_like(each) for each in leaves}
    for part in parts_of(leaves):
        for j, leaf in enumerate(leaves):
            u = directions(leaf, part, direction)
            pushed = [
                [flat(each) for each in pushed_forward(func, arguments, {**zeros, leaf: like(column, leaf)})]
                for column in u.T
            ]
            for i, numerical in enumerate(differences(func, arguments, leaf, u, eps)):
                analytical = np.stack([column[i] for column in pushed], 1) if pushed else np.zeros_like(numerical)
                if not (np.abs(analytical - numerical) <= atol * np.abs(u).sum(0) + rtol * np.abs(numerical)).all():
                    raise GradcheckError(
                        f"{_within(part, leaf, 'inputs')}Jacobian computed with forward mode mismatch for output {i} "
                        f"with respect to input {j},\nnumerical:{numerical}\nanalytical:{analytical}\n"
                        "A row per element of the output."
                    )


def _check_batched_forward(func: Callable[..., Tensors], arguments: Sequence[Tensor], leaves: Sequence[Tensor]) -> None:
    """GradcheckError unless a batch of tangents gives what each of them gives alone."""
    for leaf in leaves:
        tangents = some_rows(leaf)[:2]  # as many as torch takes
        alone = [pushed_forward(func, arguments, {leaf: tangent}) for tangent in tangents]
        try:
            with Batch(len(tangents), "error", None, of_function=False) as batch:
                pushed = pushed_forward(func, arguments, {leaf: batch.example(stacked(tangents), 0)})
                together = batch.batches([each.__node__ for each in pushed], [0] * len(pushed))
        except RuntimeError as error:
            raise GradcheckError(f"While computing batched gradients, got: {error}") from error
        _agree([wrap(node) for node in together], alone)


def _check_batched(outputs: Sequence[Tensor], leaves: Sequence[Tensor]) -> None:
    """GradcheckError unless a batch of cotangents gives what each of them gives alone."""
    for output in outputs:
        cotangents = some_rows(output)

        alone = [grad(output, leaves, v, True, allow_unused=True, materialize_grads=True) for v in cotangents]
        try:
            together = grad(output, leaves, stacked(cotangents), True, allow_unused=True, is_grads_batched=True)
        except RuntimeError as error:
            raise GradcheckError(f"While computing batched gradients, got: {error}") from error
        _agree(together, alone)


def _agree(together: Sequence[Tensor | None], alone: Sequence[Sequence[Tensor | None]]) -> None:
    for batch, rows in zip(together, zip(*alone, strict=True), strict=True):
        if batch is not None and not np.allclose(flat(batch), flat(stacked(rows))):
            raise GradcheckError(f"Batched gradients differ from those of each row:\n{batch}\n{stacked(rows)}")


def _check_linear(outputs: Sequence[Tensor], leaves: Sequence[Tensor]) -> None:
    """GradcheckError unless a cotangent of zeros gives zeros, which a backward that ignores its argument does not."""
    if outputs:
        found = grad(outputs, leaves, [zeros_like(output) for output in outputs], allow_unused=True)
        if any(flat(each).any() for each in found if each is not None):
            raise GradcheckError("backward not multiplied by grad_output")


class _Undefined(Function):
    """A step through which no cotangent comes back: None, not zeros."""

    @staticmethod
    def forward(ctx: Any, input: Tensor) -> Any:
        return input.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> None:
        return None


def _check_undefined(func: Callable[..., Tensors], arguments: Sequence[Tensor], leaves: Sequence[Tensor]) -> None:
    """GradcheckError unless outputs without a cotangent (all of them, and each alone) count as having zeros."""
    count = len(_differentiable(func(*arguments)))
    alone = [{position} for position in range(count)] if count > 1 else []
    for undefined in [set(range(count)), *alone] if count else []:
        outputs = _differentiable(func(*arguments))
        shown = [_Undefined.apply(each) if place in undefined else each for place, each in enumerate(outputs)]
        try:
            found = grad(shown, leaves, [zeros_like(each) for each in shown], allow_unused=True)
        except RuntimeError as error:
            warn_user(UNDEFINED)
            raise GradcheckError(
                'Expected backward function to handle undefined output grads. Please look at "Notes about undefined '
                f'output gradients" in "tools/autograd/derivatives.yaml"\n{error}'
            ) from error
        if any(flat(each).any() for each in found if each is not None):
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are undefined or zero. Please "
                'look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
            )


def _check_undefined_forward(
    func: Callable[..., Tensors], arguments: Sequence[Tensor], leaves: Sequence[Tensor]
) -> None:
    """GradcheckError unless an input without a tangent counts as one whose tangent is zero."""
    tangents = {leaf: some_rows(leaf)[0] for leaf in leaves}
    for leaf in leaves:
        without = pushed_forward(
            func, arguments, {each: tangent for each, tangent in tangents.items() if each is not leaf}
        )
        zero = pushed_forward(func, arguments, {**tangents, leaf: zeros_like(leaf)})
        for position, (got, expected) in enumerate(zip(zero, without, strict=True)):
            if not np.allclose(flat(got), flat(expected)):
                raise GradcheckError(
                    f"Mismatch in tangent values for output with index: {position} when input: {leaf} has an undefined "
                    f"tangent value. Got: {got} but expected: {expected}"
                )
