"""Padding, and rearrangements of pixels, channels and windows."""

import math
import operator
from functools import reduce
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np

from jaxvjp.ops.arguments import Index, Real, Text
from jaxvjp.ops.layouts import CHANNELS
from jaxvjp.ops.neural.windows import Sizes, each_dim, shifted, widened
from jaxvjp.ops.op import op
from jaxvjp.ops.pointwise import supported
from jaxvjp.types.dtypes import fitted, from_numpy

ADDED = {"reflect": "ReflectionPad", "replicate": "ReplicationPad"}


def _pad_name(static, avals):
    amounts, mode, _ = static
    if mode == "constant":
        return "ConstantPadNdBackward0"
    return "CopySlices" if mode == "circular" else f"{ADDED.get(mode)}{len(amounts) // 2}DBackward0"


def _by_mode(row, operands, static):
    return (constant_pad if static[1] == "constant" else row), operands, static


def _slopes(static, avals):
    return "input" if static[1] in ADDED else None


@op(public="nn.functional", grad_fn=_pad_name, saves="input", slopes=_slopes, rewrite=_by_mode, keeps=CHANNELS)
def pad(input, pad: Sizes, mode: Text = "constant", value: Real | None = None):
    """`input` padded by pairs of amounts, for the last dimension first; negative amounts crop.

    `mode` says with what: "constant" (`value`), "reflect", "replicate" (the edge) or "circular".
    """
    if len(pad) % 2:
        raise RuntimeError(f"Padding length must be divisible by 2\nThere are {len(pad)} amounts.")
    if len(pad) > 2 * input.ndim:
        raise RuntimeError(
            f"Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {input.ndim}"
        )
    before, after = pad[-2::-2], pad[::-1][::2]
    if mode == "constant":
        lengths = input.shape[input.ndim - len(before) :]
        for place, (length, low, high) in enumerate(zip(lengths, before, after, strict=True), input.ndim - len(before)):
            if length + min(low, 0) + min(high, 0) < 0:
                raise RuntimeError(
                    "narrow(): length must be non-negative.\n"
                    f"Dimension {place} has {length} elements; the padding {low} and {high} cuts off more."
                )
        return widened(input, before, after, fitted(0 if value is None else value, from_numpy(input.dtype)))
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in (*ADDED, "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    dims = len(before)
    if input.ndim not in (dims + 1, dims + 2) or dims > 3:
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {input.ndim}D input tensor.\nAn image (N, C, H, W) is "
            "padded by four amounts, or an unbatched one."
        )
    if mode != "circular":
        refuse_empty(input.shape, dims)
    for axis, (low, high) in enumerate(zip(before, after, strict=True), input.ndim - dims):
        length = input.shape[axis]
        if mode == "reflect" and max(low, high) >= length:
            raise RuntimeError(
                "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({low}, {high}) at dimension {axis} of input {list(input.shape)}"
            )
        if mode == "circular" and max(low, high) > length:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        left = length + low + high
        if mode == "circular" and left < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
        if mode != "circular" and dims == 1 and left < 1:
            raise RuntimeError(f"input (W: {length}) is too small. Calculated output W: {left}")
        if left < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {left}: "
                f"{[*input.shape[:axis], left, *input.shape[axis + 1 :]]}"
            )
        if mode == "replicate" and min(low, high) < 0:  # the edge is replicated even where it is cut off
            input = jnp.take(input, np.clip(np.arange(-low, length + high), 0, length - 1), axis)
            continue
        cut = jax.lax.slice_in_dim(input, max(-low, 0), length - max(-high, 0), axis=axis)
        edges = [(0, 0)] * input.ndim
        edges[axis] = (max(low, 0), max(high, 0))
        input = jnp.pad(cut, edges, mode={"replicate": "edge", "circular": "wrap"}.get(mode, mode))
    return input


constant_pad = op(name="pad.constant", public="", grad_fn=_pad_name, keeps=CHANNELS)(pad.function)  # it saves nothing


def refuse_empty(shape, dims):
    """torch's RuntimeError for another number of dimensions, or where one has no elements that is not the batch."""
    if len(shape) not in (dims + 1, dims + 2) or 0 in shape[len(shape) - dims - 1 :]:
        raise RuntimeError(
            f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(shape)}"
        )


def _factor(name, input, word, factor):
    """`factor`; torch's errors for one that is not positive, and for an input that is no image."""
    if input.ndim < 3:
        told = f"{name} expects input to have at least 3 dimensions, but got input with"
        raise RuntimeError(f"{told} {input.ndim} dimension(s)")
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {word}, but got {factor}")
    return factor


@op(public="nn.functional function", out=False, keeps=CHANNELS)
def pixel_shuffle(input, upscale_factor: Index):
    """(..., C·r², H, W) as (..., C, H·r, W·r): channels become pixels."""
    r = _factor("pixel_shuffle", input, "upscale_factor", upscale_factor)
    *lead, channels, height, width = input.shape
    if channels % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={channels} is not divisible by {r * r}"
        )
    split = input.reshape(*lead, channels // (r * r), r, r, height, width)
    n = len(lead)
    moved = split.transpose(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return moved.reshape(*lead, channels // (r * r), height * r, width * r)


@op(public="nn.functional function", out=False, keeps=CHANNELS)
def pixel_unshuffle(input, downscale_factor: Index):
    """(..., C, H·r, W·r) as (..., C·r², H, W): pixels become channels."""
    r = _factor("pixel_unshuffle", input, "downscale_factor", downscale_factor)
    *lead, channels, height, width = input.shape
    for word, length, place in (("height", height, -2), ("width", width, -1)):
        if length % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {word} to be divisible by downscale_factor, but input.size({place})={length} "
                f"is not divisible by {r}"
            )
    split = input.reshape(*lead, channels, height // r, r, width // r, r)
    n = len(lead)
    moved = split.transpose(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return moved.reshape(*lead, channels * r * r, height // r, width // r)


@op(public="nn.functional function", aliases="nn.functional.native_channel_shuffle", out=False)
def channel_shuffle(input, groups: Index):
    """The channels (dimension 1) interleaved: one of each group in turn."""
    if input.ndim < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    channels = input.shape[1]
    if channels % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups."
        )
    split = input.reshape(input.shape[0], groups, channels // groups, *input.shape[2:])
    return jnp.swapaxes(split, 1, 2).reshape(input.shape)


def _blocks(shape, kernel_size, dilation, padding, stride):
    """How many windows there are in each of the two dimensions."""
    for name, told, each in (
        ("kernel size", "kernel_height: {} kernel_width: {}", kernel_size),
        ("stride", "stride_height: {} stride_width: {}", stride),
        ("dilation", "dilation_height: {} dilation_width: {}", dilation),
    ):
        if min(each) <= 0:
            raise RuntimeError(f"{name} should be greater than zero, but got {told.format(*each)}")
    if min(padding) < 0:
        raise RuntimeError("padding should be non-negative, but got pad_height: {} pad_width: {}".format(*padding))
    return [
        (length + 2 * edge - gap * (size - 1) - 1) // step + 1
        for length, size, gap, edge, step in zip(shape, kernel_size, dilation, padding, stride, strict=True)
    ]


@op(name="unfold.im2col", public="nn.functional", grad_fn="Im2ColBackward0")
def unfold(input, kernel_size: Sizes, dilation: Sizes = (1,), padding: Sizes = (0,), stride: Sizes = (1,)):
    """The windows of an image as columns: (N, C, H, W) to (N, C·k·k, number of windows)."""
    refuse_empty(input.shape, 2)
    kernel_size, dilation, padding, stride = (each_dim(each, 2) for each in (kernel_size, dilation, padding, stride))
    counts = _blocks(input.shape[-2:], kernel_size, dilation, padding, stride)
    if min(counts) < 1:
        raise RuntimeError(
            f"Given input with spatial size {(*input.shape[-2:],)}, kernel_size={(*kernel_size,)}, dilation="
            f"{(*dilation,)}, padding={(*padding,)}, calculated shape of the array of sliding blocks as {(*counts,)}, "
            "but its components must be at least one."
        )
    supported("im2col", input, "integers", "_out_cpu")
    padded = widened(input, padding, padding, 0)
    rows = [shifted(padded, padded.ndim - 2, row * dilation[0], stride[0], counts[0]) for row in range(kernel_size[0])]
    columns = [
        shifted(row, row.ndim - 1, column * dilation[1], stride[1], counts[1])
        for row, column in product(rows, range(kernel_size[1]))
    ]
    return jnp.stack(columns, -3).reshape(*input.shape[:-3], input.shape[-3] * len(columns), math.prod(counts))


@op(public="nn.functional", grad_fn="Col2ImBackward0")
def fold(
    input, output_size: Sizes, kernel_size: Sizes, dilation: Sizes = (1,), padding: Sizes = (0,), stride: Sizes = (1,)
):
    """Columns of windows summed into an image: the transpose of `unfold`."""
    output_size, kernel_size, dilation, padding, stride = (
        each_dim(each, 2) for each in (output_size, kernel_size, dilation, padding, stride)
    )
    if input.ndim not in (2, 3):
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(input.shape)}"
        )
    places = math.prod(kernel_size)
    if places and input.shape[-2] % places:
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)="
            f"{input.shape[-2]} and kernel_size={(*kernel_size,)}."
        )
    counts = _blocks(output_size, kernel_size, dilation, padding, stride)
    if input.shape[-1] != math.prod(counts):
        raise RuntimeError(
            f"Given {output_size=}, {kernel_size=}, {dilation=}, {padding=}, {stride=}, expected size of input's "
            f"dimension 2 to match the calculated number of sliding blocks {counts[0]} * {counts[1]} = "
            f"{math.prod(counts)}, but got input.size(2)={input.shape[-1]}."
        )
    windows = input.reshape(*input.shape[:-2], input.shape[-2] // places, places, *counts)
    lead, zero = [(0, 0, 0)] * (input.ndim - 1), jnp.asarray(0, input.dtype)
    moved = []
    for place, offsets in enumerate(product(*map(range, kernel_size))):
        starts = [each * gap - edge for each, gap, edge in zip(offsets, dilation, padding, strict=True)]
        ends = [
            size - start - (count - 1) * step - 1
            for size, start, count, step in zip(output_size, starts, counts, stride, strict=True)
        ]
        edges = [*lead, *zip(starts, ends, [step - 1 for step in stride], strict=True)]
        moved.append(jax.lax.pad(windows[..., place, :, :], zero, edges))
    return reduce(operator.add, moved)
