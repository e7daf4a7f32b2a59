"""Layers that multiply by weights: linear, bilinear, and the convolutions.

float32 products keep float32's precision on every device, as in `linalg`.
"""

import math
from functools import partial
from itertools import product
from typing import Annotated, Any

import jax
import jax.numpy as jnp

from jaxvjp.ops.arguments import Index, Kind, size
from jaxvjp.ops.layouts import CONTIGUOUS
from jaxvjp.ops.matrices import ctype, legacy, one_scalar_type, one_type_of_products
from jaxvjp.ops.neural.windows import Sizes, each_dim, shifted, spatially, widened
from jaxvjp.ops.op import SHORT, op, rounded_once
from jaxvjp.ops.pointwise import broadcast, supported
from jaxvjp.ops.products import at_setting, precision
from jaxvjp.ops.view import expand


def _linear_name(static, avals):
    form = static[-1]
    flat, vector = len(avals[0].shape) == 2, len(avals[0].shape) == 1
    if form[2] is None:
        return "MmBackward0" if flat else "SqueezeBackward4" if vector else "UnsafeViewBackward0"
    return "AddmmBackward0" if flat else "ViewBackward0"


@op(
    public="nn.functional",
    saves="weight for input, input for weight",
    grad_fn=_linear_name,
    out=True,
    keeps=CONTIGUOUS,
    rewrite=at_setting,
)
def linear(input, weight, bias=None):
    """`input @ weight.T + bias`, over the last dimension of `input`."""
    if not input.ndim or not weight.ndim:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {input.ndim}D and {weight.ndim}D"
        )
    if weight.ndim not in (1, 2):
        raise RuntimeError(f"linear(): weight must be 1-D or 2-D, got {weight.ndim}-D")
    if weight.ndim == 1 and bias is not None and (bias.ndim or input.ndim == 2):
        raise RuntimeError("mat2 must be a matrix, got 1-D tensor\nA weight of one row: `weight[None]`.")
    if bias is not None:
        _same_types(input, weight, bias)
    if input.shape[-1:] != weight.shape[-1:]:
        rows = math.prod(input.shape[:-1])
        columns = weight.shape[::-1]
        raise RuntimeError(
            "mat1 and mat2 shapes cannot be multiplied "
            f"({rows}x{input.shape[-1]} and {'x'.join(map(str, columns))})\n"
            f"The last dimension of the input ({input.shape[-1]}) must be that of the weight ({weight.shape[-1]})."
        )
    if bias is None:
        one_type_of_products(input, weight)
    result = jnp.matmul(input, weight.T, precision=precision())
    if bias is not None and bias.shape != result.shape[-1:]:
        bias = _fitting(bias, result)
    return _biased(result, bias)


def _fitting(bias, result):
    """A bias that broadcasts to the result; torch's errors for any other, which come of how it adds one."""
    if result.ndim == 2 or bias.ndim == 1:
        rows = math.prod(result.shape[:-1])
        return expand.function(bias, (rows, *result.shape[-1:])).reshape(result.shape)
    whole = jnp.broadcast_shapes(*[each.shape for each in broadcast(result, bias)])
    if math.prod(whole) != result.size:
        raise RuntimeError(f"output with shape {list(result.shape)} doesn't match the broadcast shape {list(whole)}")
    return jnp.broadcast_to(bias, whole).reshape(result.shape)


def _same_types(mat1, weight, bias):
    for first, each in (("self", bias), ("mat1", mat1)):
        if each.dtype != weight.dtype:
            told = f"{first} and mat2 must have the same dtype, but got"
            raise RuntimeError(f"{told} {legacy(each)} and {legacy(weight)}")


@op(
    public="nn.functional function",
    saves="input2 for input1, weight for input1, input1 for input2, weight for input2, input1 for weight, "
    "input2 for weight",
    grad_fn=lambda static, avals: "ViewBackward0" if static[-1][3] is None else "AddBackward0",
    out=False,
    rewrite=at_setting,
)
def bilinear(input1, input2, weight, bias=None):
    """`input1 @ weight[k] @ input2`, for each k, over the last dimensions; plus the bias."""
    if input1.ndim != input2.ndim:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}")
    for dim, (a, b) in enumerate(zip(input1.shape[:-1], input2.shape[:-1], strict=True)):
        if a != b:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {dim}: got {a} and {b}")
    for place, each in enumerate((input1, input2), 1):
        if each.shape[-1] != weight.shape[place]:
            raise RuntimeError(
                f"bilinear(): input{place} size does not match weight size: got {each.shape[-1]} but expected "
                f"{weight.shape[place]}"
            )
    given = {"input1": input1, "input2": input2, "weight": weight, **({} if bias is None else {"bias": bias})}
    if len({each.dtype for each in given.values()}) > 1:
        types = ", ".join(f"{name}: {ctype(each)}" for name, each in given.items())
        raise RuntimeError(f"All tensors must have the same dtype, got {types}")
    result = jnp.einsum("...i,kij,...j->...k", input1, weight, input2, precision=precision())
    return _biased(result, bias)


def padding(value: Any) -> tuple[int, ...] | str:
    return value if isinstance(value, str) else size(value)


Padding = Annotated[tuple[int, ...] | str, Kind("tuple of ints", padding)]
"""The padding on both sides, or "same" or "valid"."""
LETTERS = "DHW"


def _checked(name, dims, input, weight, bias, amounts, transposed=False):
    """The arguments of a convolution with one amount per spatial dimension; errors in torch's words."""
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input of size: "
            f"{list(input.shape)}"
        )
    for word, values in amounts.items():
        if isinstance(values, tuple) and len(values) not in (1, dims):
            raise RuntimeError(
                f"expected {word} to be a single integer value or a list of {dims} values to match the convolution "
                f"dimensions, but got {word}={list(values)}"
            )
    if bias is not None and bias.dtype != input.dtype and not transposed:
        raise RuntimeError(f"Input type ({ctype(input)}) and bias type ({ctype(bias)}) should be the same")
    for each in (weight, bias):
        one_scalar_type(input, input if each is None else each)
    return [each_dim(values, dims) if isinstance(values, tuple) else values for values in amounts.values()]


def _check_sizes(input, weight, bias, stride, dilation, groups, transposed, pads):
    """torch's errors for sizes that do not fit together, in torch's order."""
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if isinstance(pads, tuple) and min(pads, default=0) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(dilation) <= 0:
        shown = (1, *dilation) if len(dilation) == 1 else tuple(dilation)
        sides = ("depth", "height", "width")[-len(shown) :]
        named = ", ".join(f"dilation_{side}: {each}" for side, each in zip(sides, shown, strict=True))
        told = "" if min(shown) < 0 else f", but got {named if transposed else [*shown]}"
        raise RuntimeError(f"dilation should be greater than zero{told}")
    if weight.ndim < 3:
        raise RuntimeError("weight should have at least three dimensions")
    if weight.ndim != input.ndim:
        raise RuntimeError(
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight{list(weight.shape)}, but "
            f"got {input.ndim}-dimensional input of size {list(input.shape)} instead"
        )
    if weight.shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
            f"{list(weight.shape)} instead"
        )
    if weight.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of "
            f"size {list(weight.shape)} instead"
        )
    channels = weight.shape[0] if transposed else weight.shape[1] * groups
    if input.shape[1] != channels:
        word = "transposed=1" if transposed else f"groups={groups}"
        raise RuntimeError(
            f"Given {word}, weight of size {list(weight.shape)}, expected input{list(input.shape)} to have {channels} "
            f"channels, but got {input.shape[1]} channels instead"
        )
    features = weight.shape[1] * groups if transposed else weight.shape[0]
    if bias is not None and bias.shape != (features,):
        word = "transposed=1" if transposed else f"groups={groups}"
        raise RuntimeError(
            f"Given {word}, weight of size {list(weight.shape)}, expected bias to be 1-dimensional with {features} "
            f"elements, but got bias of size {list(bias.shape)} instead"
        )


def _in_windows(input, weight, stride, edges, dilation, groups):
    """The convolution as products with shifted inputs: XLA's own is slow for groups on a CPU.

    For each kernel position there is an elementwise product (one channel per group), or a matrix product per group.
    """
    spatial = range(2, input.ndim)
    input = widened(input, [low for low, _ in edges], [high for _, high in edges], 0)
    kernel = weight.shape[2:]
    counts = [
        (input.shape[dim] - dilation[dim - 2] * (kernel[dim - 2] - 1) - 1) // stride[dim - 2] + 1 for dim in spatial
    ]
    columns = []
    for place in product(*map(range, kernel)):
        column = input
        for dim in spatial:
            column = shifted(column, dim, place[dim - 2] * dilation[dim - 2], stride[dim - 2], counts[dim - 2])
        columns.append(column)
    flat = weight.reshape(*weight.shape[:2], -1)
    if weight.shape[1] == 1:
        each = weight.shape[0] // groups
        factors = jnp.moveaxis(flat[:, 0], -1, 0).reshape(-1, weight.shape[0], *[1] * len(kernel))
        return sum(
            (jnp.repeat(column, each, 1) if each > 1 else column) * factor
            for column, factor in zip(columns, factors, strict=True)
        )
    batch = input.shape[0]
    stacked = jnp.stack(columns, 2).reshape(batch, groups, weight.shape[1] * len(columns), math.prod(counts))
    matrix = flat.reshape(groups, weight.shape[0] // groups, -1)
    result = jnp.einsum("gok,bgkn->bgon", matrix, stacked, precision=precision())
    return result.reshape(batch, weight.shape[0], *counts)


def _convolved(input, weight, stride, edges, dilation, groups, spread=None):
    """The convolution of checked arguments; `spread` puts zeros between the input's entries, for a transposed one."""
    alone = groups == 1 or input.size == 0 or weight.size == 0
    if spread is not None and not alone:
        gaps = [(low, high, each - 1) for (low, high), each in zip(edges, spread, strict=True)]
        input = jax.lax.pad(input, jnp.zeros((), input.dtype), [(0, 0, 0), (0, 0, 0), *gaps])
        edges, spread = [(0, 0)] * len(edges), None
    native = partial(
        jax.lax.conv_general_dilated,
        window_strides=stride,
        padding=edges,
        lhs_dilation=spread,
        rhs_dilation=dilation,
        feature_group_count=groups,
        precision=precision(),
    )
    windows = partial(_in_windows, stride=stride, edges=edges, dilation=dilation, groups=groups)
    return _summed_up(native if alone else windows, native, input, weight)


def _summed_up(on_cpu, elsewhere, input, weight):
    """The product by the function for the device; 16-bit types are widened, as XLA on a CPU would sum in 16 bits."""
    if input.dtype in SHORT:
        return jax.lax.platform_dependent(
            input, weight, cpu=lambda *operands: rounded_once(on_cpu, operands), default=elsewhere
        )
    if on_cpu is elsewhere:
        return on_cpu(input, weight)
    return jax.lax.platform_dependent(input, weight, cpu=on_cpu, default=elsewhere)


def _biased(result, bias):
    """`result` plus the bias, if there is one; the bias's gradient, a long sum, is computed in a wider type."""
    if bias is None:
        return result
    return rounded_once(jnp.add, (result, bias)) if result.dtype in SHORT else result + bias


MEANINGS = {
    "conv": """The convolution of `input` with the kernels of `weight` over {spatial}.

    `input` has batch (which may be left out), channels and {letters}; `weight` has a kernel per output channel,
    of `channels / groups`. `padding` may be "same" or "valid". Underneath: `jax.lax.conv_general_dilated`.
    """,
    "conv_transpose": """The way back of a convolution over {spatial}: from its outputs to its inputs.

    `weight` is that of the convolution, (input channels, output channels / groups, ...kernel); `output_padding` tells
    apart the sizes that the convolution would make the same. Underneath: `jax.lax.conv_general_dilated` with
    `lhs_dilation`.
    """,
}


def _declared(name, dims):
    """Declares a convolution over `dims` spatial dimensions."""
    return op(
        name=name,
        public="nn.functional function",
        grad_fn=lambda static, avals: "SqueezeBackward1" if len(avals[0].shape) == dims + 1 else "ConvolutionBackward0",
        doc=MEANINGS[name[:-2]].format(spatial=spatially(dims), letters=LETTERS[-dims:]),
        **dict.fromkeys(("saves", "slopes"), "weight for input, input for weight"),
        in_one_step=True,
        out=False,
        rewrite=at_setting,
    )


def _convolution(dims):
    """torch's convolution over `dims` spatial dimensions."""
    name = f"conv{dims}d"

    @_declared(name, dims)
    def convolve(
        input,
        weight,
        bias=None,
        stride: Sizes = (1,),
        padding: Padding = (0,),
        dilation: Sizes = (1,),
        groups: Index = 1,
    ):
        amounts = {"stride": stride, "padding": padding, "dilation": dilation}
        stride, padding, dilation = _checked(name, dims, input, weight, bias, amounts)
        batched = input if input.ndim == dims + 2 else input[None]
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise RuntimeError("Invalid padding string: '" + padding + "'")
            if padding == "same" and any(each != 1 for each in stride):
                raise RuntimeError("padding='same' is not supported for strided convolutions")
        _check_sizes(batched, weight, bias, stride, dilation, groups, False, padding)
        reach = [each * (size - 1) for each, size in zip(dilation, weight.shape[2:], strict=True)]
        if padding == "same":
            edges = [(each // 2, each - each // 2) for each in reach]
        else:
            edges = [(each, each) for each in ((0,) * dims if padding == "valid" else padding)]
        padded = [size + low + high for size, (low, high) in zip(batched.shape[2:], edges, strict=True)]
        if any(each < span + 1 for each, span in zip(padded, reach, strict=True)):
            inner, kernel = (" x ".join(map(str, sizes)) for sizes in (padded, [each + 1 for each in reach]))
            raise RuntimeError(
                f"Calculated padded input size per channel: ({inner}). Kernel size: ({kernel}). Kernel size can't be "
                "greater than actual input size"
            )
        if not batched.shape[1]:  # torch has no channels then, also with a bias
            lengths = [(size - span - 1) // by + 1 for size, span, by in zip(padded, reach, stride, strict=True)]
            return jnp.zeros((*input.shape[: input.ndim - dims - 1], 0, *lengths), input.dtype)
        result = _convolved(batched, weight, stride, edges, dilation, groups)
        result = _biased(result, None if bias is None else bias.reshape(-1, *[1] * dims))
        return result if input.ndim == dims + 2 else result[0]


def _transposed(dims):
    """torch's transposed convolution over `dims` spatial dimensions."""
    name = f"conv_transpose{dims}d"

    @_declared(name, dims)
    def convolve(
        input,
        weight,
        bias=None,
        stride: Sizes = (1,),
        padding: Sizes = (0,),
        output_padding: Sizes = (0,),
        groups: Index = 1,
        dilation: Sizes = (1,),
    ):
        amounts = {"stride": stride, "padding": padding, "output_padding": output_padding, "dilation": dilation}
        stride, padding, output_padding, dilation = _checked(name, dims, input, weight, bias, amounts, transposed=True)
        batched = input if input.ndim == dims + 2 else input[None]
        _check_sizes(batched, weight, bias, stride, dilation, groups, True, padding)
        if any(more >= max(each, wide) for more, each, wide in zip(output_padding, stride, dilation, strict=True)):
            told: Any = (("output_padding", output_padding), ("stride", stride), ("dilation", dilation))
            if dims == 1:  # torch adds a first dimension of length 1 for one dimension
                told = tuple((word, (int(word != "output_padding"), *values)) for word, values in told)
            shown = " ".join(
                f"{word}_{side}: {value}"
                for word, values in told
                for side, value in zip(("depth", "height", "width")[-len(values) :], values, strict=True)
            )
            raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {shown}")
        # The transpose of a convolution: zeros between the input's entries, and reversed kernels.
        kernel = weight.shape[2:]
        grouped = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
        swapped = jnp.swapaxes(grouped, 1, 2).reshape(groups * weight.shape[1], weight.shape[0] // groups, *kernel)
        turned = jnp.flip(swapped, range(2, dims + 2))
        edges, counts = [], []
        for length, step, each, span, wide, more in zip(
            batched.shape[2:], stride, padding, kernel, dilation, output_padding, strict=True
        ):
            low = wide * (span - 1) - each
            edges.append((low, low + more))
            counts.append((length - 1) * step - 2 * each + wide * (span - 1) + more + 1)
        if min(counts) < 1:
            sizes, left = (" x ".join(map(str, (1,) * (dims == 1) + (*each,))) for each in (batched.shape[2:], counts))
            raise RuntimeError(
                f"Given input size per channel: ({sizes}). Calculated output size per channel: ({left}). Output size "
                "is too small"
            )
        result = _convolved(batched, turned, (1,) * dims, edges, dilation, groups, stride)
        result = _biased(result, None if bias is None else bias.reshape(-1, *[1] * dims))
        return result if input.ndim == dims + 2 else result[0]


for _dims in (1, 2, 3):
    _convolution(_dims)
    _transposed(_dims)


@op(public="nn.functional function", saves="bias, input, weight", out=False, keeps=CONTIGUOUS, rewrite=at_setting)
def conv_tbc(input, weight, bias, pad: Index = 0):
    """The convolution of (time, batch, channels) over time; `weight` has (kernel, channels, output channels).

    `pad` zeros are put at both ends. Underneath: `jax.lax.conv_general_dilated`.
    """
    if input.ndim != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if weight.ndim != 3:
        raise RuntimeError("Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    if bias.ndim != 1:
        raise RuntimeError("Bias must be 1-D")
    if input.shape[2] != weight.shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if bias.shape != weight.shape[2:]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    length = input.shape[0] + 2 * pad - weight.shape[0] + 1
    if length < 0:
        made = [length, input.shape[1], weight.shape[2]]
        raise RuntimeError(f"Trying to create tensor with negative dimension {length}: {made}")
    supported("addmm_impl_cpu_", input, "bool", "")
    _same_types(input, weight, input)
    native = partial(
        jax.lax.conv_general_dilated,
        window_strides=(1,),
        padding=[(pad, pad)],
        dimension_numbers=("WNC", "WIO", "WNC"),
        precision=precision(),
    )
    return _biased(_summed_up(native, native, input, weight), bias.astype(input.dtype))
