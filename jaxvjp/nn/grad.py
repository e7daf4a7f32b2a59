"""torch's `nn.grad`: the gradients of a convolution, as functions of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxvjp.func.reverse import vjp
from jaxvjp.library.creation import zeros
from jaxvjp.nn import functional
from jaxvjp.tensor.tensor import Tensor

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]

Amount = int | Sequence[int]


def _gradient(name: str, of_input: bool, summary: str) -> Callable[..., Tensor]:
    def pulled(
        place: int, size: Sequence[int], operand: Tensor, cotangent: Tensor, options: tuple[object, ...]
    ) -> Tensor:
        convolve = getattr(functional, name)

        def function(each: Tensor) -> Tensor:
            return convolve(*((operand, each) if place else (each, operand)), None, *options)

        pull = vjp(function, zeros(*size, dtype=operand.dtype, device=operand.device))[1]
        result: Tensor = pull(cotangent)[0]
        return result

    def input_gradient(
        input_size: Sequence[int],
        weight: Tensor,
        grad_output: Tensor,
        stride: Amount = 1,
        padding: Amount = 0,
        dilation: Amount = 1,
        groups: int = 1,
    ) -> Tensor:
        return pulled(0, input_size, weight, grad_output, (stride, padding, dilation, groups))

    def weight_gradient(
        input: Tensor,
        weight_size: Sequence[int],
        grad_output: Tensor,
        stride: Amount = 1,
        padding: Amount = 0,
        dilation: Amount = 1,
        groups: int = 1,
    ) -> Tensor:
        return pulled(1, weight_size, input, grad_output, (stride, padding, dilation, groups))

    function: Callable[..., Tensor] = input_gradient if of_input else weight_gradient
    function.__name__ = function.__qualname__ = f"{name}_{'input' if of_input else 'weight'}"
    function.__doc__ = f"""The gradient with respect to the {summary} of `{name}`, of a cotangent `grad_output`.

    The size of that operand is given in its place; the other arguments are those of `{name}`, and so are its errors.
    Counterpart of `torch.nn.grad.{function.__name__}`. Underneath: `jax.vjp`.
    """
    return function


conv1d_input, conv1d_weight = (_gradient("conv1d", each, ("weight", "input")[each]) for each in (True, False))
conv2d_input, conv2d_weight = (_gradient("conv2d", each, ("weight", "input")[each]) for each in (True, False))
conv3d_input, conv3d_weight = (_gradient("conv3d", each, ("weight", "input")[each]) for each in (True, False))
