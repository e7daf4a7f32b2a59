"""Pooling: reductions over windows of the input.

A window is reduced one dimension after the other, the last one first: that takes 2k steps for k×k entries instead of
k², and of equal entries the first in reading order is still chosen. Each step is elementwise over slices of the input,
which XLA fuses; so is its derivative, where that of `reduce_window` would be a slow scatter on a CPU.
"""

import inspect
import math
import sys
from collections.abc import Iterator, Sequence
from functools import partial, wraps
from itertools import repeat
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxvjp.ops.arguments import Flag, Index, Kept, Kind, Real, index
from jaxvjp.ops.layouts import CHANNELS, VOLUMES
from jaxvjp.ops.neural.windows import LARGEST, Sizes, each_dim, shifted, spatially
from jaxvjp.ops.op import op
from jaxvjp.ops.pointwise import ALL_BUT_FLOATS, abs_, relu, supported

PLACES = {1: "nn.functional function", 2: "nn.functional", 3: "nn.functional"}
"""Where torch has the pooling of so many dimensions."""


class Column(NamedTuple):
    """The entry at one offset of each window along a dimension.

    Attributes:
        values: the array, with one entry per window along that dimension.
        positions: the entries' positions in the dimension.
        valid: for each window whether its entry is inside the input.
    """

    values: Any
    positions: Any
    valid: Any


class Sliding(NamedTuple):
    """`number` windows of `size` entries that are `dilation` apart; a window starts every `stride` entries."""

    size: int
    stride: int
    padding: int
    dilation: int
    number: int

    def edges(self, length: int) -> tuple[int, int, int]:
        """What `jax.lax.pad` adds to a dimension of that length."""
        reach = (self.number - 1) * self.stride + (self.size - 1) * self.dilation + 1
        return self.padding, max(reach - length - self.padding, 0), 0

    def columns(self, input: Any, axis: int, outside: Any) -> Iterator[Column]:
        length = input.shape[axis]
        edges = [(0, 0, 0)] * input.ndim
        edges[axis] = self.edges(length)
        padded = jax.lax.pad(input, jnp.asarray(outside, input.dtype), edges) if any(edges[axis]) else input
        for offset in range(0, self.size * self.dilation, self.dilation):
            positions = np.arange(self.number) * self.stride + offset - self.padding
            valid = (positions >= 0) & (positions < length)
            values = shifted(padded, axis, offset, self.stride, self.number)
            yield Column(values, positions, valid)


class Placed(NamedTuple):
    """Windows with given starts and lengths, as adaptive and fractional pooling need them."""

    starts: Any
    lengths: Any

    def columns(self, input: Any, axis: int, outside: Any) -> Iterator[Column]:
        for offset in range(self.lengths.max(initial=1)):
            valid = offset < self.lengths
            positions = self.starts + valid * offset
            yield Column(jnp.take(input, positions, axis, mode="clip"), positions, valid)


def _along(vector, axis, ndim):
    """A vector shaped to broadcast along one dimension."""
    return vector.reshape([-1 if dim == axis else 1 for dim in range(ndim)])


def _largest(input, windows: Sequence[Any], with_indices: bool):
    """The largest entry of each window over the last dimensions, and its flat position; the first of equal ones.

    A NaN is larger than anything, and of several the last one is reported, as in torch.
    """
    floats = jnp.issubdtype(input.dtype, jnp.floating)
    lowest = -jnp.inf if floats else jnp.iinfo(input.dtype).min
    first = input.ndim - len(windows)
    flat: Any = None
    counted = jnp.int32 if math.prod(input.shape[first:]) <= LARGEST else jnp.int64
    below = 1  # how many entries one step of this dimension skips
    for axis in reversed(range(first, input.ndim)):
        best: Any = None
        place: Any = None
        have: Any = None  # which windows have an entry yet: padding does not count
        window = windows[axis - first]
        length = input.shape[axis]
        inner: Any = repeat(None) if flat is None else window.columns(flat, axis, 0)
        for column, earlier in zip(window.columns(input, axis, lowest), inner, strict=False):
            values = column.values
            if with_indices:
                here = _along(jnp.asarray(column.positions, counted), axis, input.ndim) * below
                here = jnp.broadcast_to(here if earlier is None else here + earlier.values, values.shape)
            if best is None:
                best, have = values, column.valid
                place = here if with_indices else None
                continue
            larger = jax.lax.stop_gradient(values > best)
            if floats:
                larger |= jnp.isnan(values)
            if not have.all():
                larger |= _along(~have, axis, input.ndim)
            if not column.valid.all():
                larger &= _along(column.valid, axis, input.ndim)
            have = have | column.valid
            best = jnp.where(larger, values, best)
            if with_indices:
                place = jnp.where(larger, here, place)
        input, flat = best, place
        below *= length
    return input, None if flat is None else flat.astype(jnp.int64)


def window_sum(input, windows: Sequence[Any]):
    """The sum of each window over the last dimensions."""
    first = input.ndim - len(windows)
    for axis in reversed(range(first, input.ndim)):
        total = None
        for column in windows[axis - first].columns(input, axis, 0):
            values = column.values
            if not column.valid.all():
                values = jnp.where(_along(column.valid, axis, input.ndim), values, 0)
            total = values if total is None else total + values
        input = total
    return input


def _window_mean(input, windows: Sequence[Any], counts: Sequence[Any]):
    """The sum of each window, divided by the product of how many entries count along each dimension: a number, or one
    for each window of the dimension. Integers are rounded towards 0."""
    total = window_sum(input, windows)
    first = input.ndim - len(counts)
    entries = math.prod(_along(np.asarray(each), axis, input.ndim) for axis, each in enumerate(counts, first))
    if entries.size and entries.min() == entries.max():
        entries = int(entries.min())  # all have as many
    if jnp.issubdtype(total.dtype, jnp.floating):
        return total / (entries if isinstance(entries, int) else jnp.asarray(entries, total.dtype))
    return jax.lax.div(total, jnp.broadcast_to(jnp.asarray(entries, total.dtype), total.shape))


def _check_input(name, input):
    """Each pooling's own RuntimeError of torch for a wrong number of dimensions, or an empty one."""
    dims = int(name[-2])
    ranks = f"{dims + 1}D or {dims + 2}D"
    known = input.ndim in (dims + 1, dims + 2)
    empty = 0 in (input.shape[1:] if input.ndim == dims + 2 else input.shape)
    if known and not empty:
        return
    shape, mode = list(input.shape), " (batch mode)" if known or name.startswith("max") else ""
    if known and dims == 3:
        place = "max_pool3d_with_indices_out_cpu_template" if name.startswith("max") else name
        raise RuntimeError(
            f"{place}(): Expected input's non-batch dimensions to have positive length, but input has a shape of "
            f"{shape} and non-batch dimension 0 has length zero!"
        )
    if dims == 3:
        raise RuntimeError(f"non-empty {ranks} (batch mode) tensor expected for input\nIt is {shape}.")
    start = f"{name}: " if dims == 1 else ""
    if known and name == "avg_pool1d":  # which torch computes in two dimensions
        start, ranks, shape = "", "3D or 4D", [*shape[:-1], 1, shape[-1]]
    raise RuntimeError(
        f"{start}Expected {ranks}{mode} tensor with optional 0 dim batch size for input, but got:{shape}"
    )


def _check_amounts(name, kernel_size, stride, padding, dilation):
    """torch's errors for other numbers of amounts than there are dimensions, and for steps of no length."""
    dims = int(name[-2])
    words = ("kernel_size", "stride", "padding", "dilation")
    for word, values in zip(words, (kernel_size, stride, padding, dilation), strict=True):
        if values and len(values) not in (1, dims):
            omitted = "be omitted, a single int" if word == "stride" and dims > 1 else "be a single int"
            omitted = omitted if name == "avg_pool3d" else "either " + omitted
            raise RuntimeError(f"{name}: {word} must {omitted}, or a tuple of {('one', 'two', 'three')[dims - 1]} ints")
    if name != "max_pool1d" and 0 in (stride or kernel_size):
        raise RuntimeError("stride should not be zero")


def _sliding(name, input, kernel_size, stride, padding, dilation, ceil_mode) -> list[Sliding]:
    """The windows of each spatial dimension; errors in torch's words."""
    dims = int(name[-2])
    _check_amounts(name, kernel_size, stride, padding, dilation)
    kernel_size, padding, dilation = (each_dim(each, dims) for each in (kernel_size, padding, dilation))
    stride = each_dim(stride, dims) if stride else kernel_size
    windows = []
    for size, step, edge, gap, length in zip(kernel_size, stride, padding, dilation, input.shape[-dims:], strict=True):
        reach = gap * (size - 1) + 1
        count = (length + 2 * edge - reach + (step - 1 if ceil_mode else 0)) // step + 1
        if ceil_mode and (count - 1) * step >= length + edge:
            count -= 1  # a window has to start inside the input or its left padding
        windows.append(Sliding(size, step, edge, gap, count))
    return windows


def _check_sliding(name, input, kernel_size, stride, padding, dilation, ceil_mode, images=False):
    """The windows; torch's errors for sizes that make no sense. `images` says that torch adds a dimension to one."""
    dims = int(name[-2])
    _check_amounts(name, kernel_size, stride, padding, dilation)
    for word, values in (("kernel_size", kernel_size), ("stride", stride or (1,)), ("dilation", dilation)):
        if any(value <= 0 for value in values):
            raise RuntimeError(f"{name}() {word} must be greater than zero, but got {min(values)}")
    if any(each < 0 for each in padding):
        raise RuntimeError(f"pad must be non-negative, but got pad: {padding[0]}")
    sizes = zip(*(each_dim(each, dims) for each in (kernel_size, padding, dilation)), strict=True)
    for size, edge, gap in sizes:
        if edge > (gap * (size - 1) + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={edge}, kernel_size={size} and "
                f"dilation={gap}"
            )
    _check_input(name, input)
    windows = _sliding(name, input, kernel_size, stride, padding, dilation, ceil_mode)
    counts = [window.number for window in windows]
    if min(counts) < 1:
        if dims == 1 and not images:
            raise RuntimeError(f"{name}() Invalid computed output size: {counts[0]}")
        lead = input.shape[-dims - 1], *[1] * (dims == 1)
        own, computed = ("x".join(map(str, (*lead, *sizes))) for sizes in (input.shape[-dims:], counts))
        raise RuntimeError(f"Given input size: ({own}). Calculated output size: ({computed}). Output size is too small")
    return windows


def _pool(dims, what, **columns):
    """Declares a row of pooling over `dims` dimensions, of which torch computes a single one as two."""
    grad_fn = "SqueezeBackward1" if dims == 1 else f"{what}Backward0"
    return op(grad_fn=grad_fn, saves="input", **{"public": PLACES[dims], "slopes": "input", "out": False, **columns})


def _max_pool(dims):
    name = f"max_pool{dims}d"
    told = f"The largest entry of each window over {spatially(dims)}, and where it is."
    told_more = f"""{told}

    The gradient goes to the first of equal entries. `stride` is `kernel_size` by default; `return_indices` gives the
    positions too, flat over the spatial dimensions.
    """
    declared = partial(_pool, dims, f"MaxPool{dims}DWithIndices", keeps=VOLUMES if dims == 3 else CHANNELS)

    def pool(
        input,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = (0,),
        dilation: Sizes = (1,),
        ceil_mode: Flag = False,
        return_indices: Flag = False,
    ):
        windows = _check_sliding(name, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)
        if dims == 1 and not return_indices:
            supported("max_pool1d_impl", input, "bool integers", "")
        else:
            supported(f"max_pool{max(dims, 2)}d", input, "bool", "")
        values, indices = _largest(input, windows, return_indices)
        return (values, indices) if return_indices else values

    declared(name=name, public="nn.functional function", doc=told_more)(pool)
    declared(name=f"{name}_with_indices", doc=told)(_with_indices(pool))


def _with_indices(pool):
    """A pooling that gives the positions, too, in any case."""

    @wraps(pool)
    def both(*operands, **static):
        return pool(*operands, **{**static, "return_indices": True})

    return both


def _mean(name, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor):
    dims = int(name[-2])
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    windows = _check_sliding(name, input, kernel_size, stride, padding, (1,), ceil_mode, True)
    if input.dtype != jnp.int64:
        supported("avg_pool3d_out_frame" if dims == 3 else "avg_pool2d", input, "bool integers", "")
    counts: list[Any] = []
    for window, length in zip(windows, input.shape[input.ndim - dims :], strict=True):
        start = np.arange(window.number) * window.stride - window.padding
        end = np.minimum(start + window.size, length + window.padding)
        counts.append(end - start if count_include_pad else np.minimum(end, length) - np.maximum(start, 0))
    return _window_mean(input, windows, counts if divisor is None else [divisor])


def _avg_pool(dims):
    name = f"avg_pool{dims}d"

    def pool(
        input,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = (0,),
        ceil_mode: Flag = False,
        count_include_pad: Flag = True,
        divisor_override: Index | None = None,
    ):
        return _mean(name, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

    if dims == 1:  # without `divisor_override`
        vars(pool)["__signature__"] = inspect.Signature([*inspect.signature(pool).parameters.values()][:-1])
    told = f"""The mean of each window over {spatially(dims)}.

    The padding counts as zeros; with `count_include_pad=False` it does not count.
    """
    _pool(dims, f"AvgPool{dims}D", name=name, out=dims > 1, rounds_once=True, doc=told)(pool)


def _lp_pool(dims):
    name = f"lp_pool{dims}d"
    columns = {"public": "nn.functional", "grad_fn": "PowBackward0", "saves": "input", "rounds_once": True}

    @op(name=name, doc=f"The `norm_type`-norm of each window over {spatially(dims)}.", **columns)
    def pool(input, norm_type: Real, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: Flag = False):
        windows = _sliding(name, input, kernel_size, stride, (0,), (1,), ceil_mode)
        if math.isinf(norm_type):
            sign = math.copysign(1, norm_type)
            return sign * _largest(sign * abs_.function(input), windows, False)[0]
        size = math.prod(window.size for window in windows)
        powers = input ** (int(norm_type) if norm_type == int(norm_type) else norm_type)
        mean = _mean(f"avg_pool{dims}d", powers, kernel_size, stride, (0,), ceil_mode, True, None)
        # Composed as in torch: at 0 the sign, 0, times the infinite derivative of the root is NaN.
        return (jnp.sign(mean) * relu.function(abs_.function(mean)) * size) ** (1.0 / norm_type)


def output_size(value: Any) -> tuple[int | None, ...]:
    """One size, or one per dimension, of which None is the input's."""
    if value is None or not isinstance(value, tuple | list):
        return (None if value is None else index(value),)
    return tuple(None if each is None else index(each, place) for place, each in enumerate(value))


OutputSize = Annotated[tuple[int | None, ...], Kind("tuple of ints", output_size)]


def _adaptive(name, input, sizes):
    """The windows of adaptive pooling, which divide the input evenly."""
    dims = int(name[-2])
    maximum = "max" in name
    shape = list(input.shape)
    if len(sizes) > 1 and len(sizes) >= input.ndim:
        raise ValueError(f"Input dimension should be at least {len(sizes) + 1}\nThe input is {shape}.")
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {input.ndim}-dimensional tensor for argument #1 'self' (while "
            f"checking arguments for {name})"
            if dims == 1
            else f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got{':' * maximum} {shape}"
        )
    if len(sizes) not in (1, dims):
        raise RuntimeError(
            f"{name}() argument 'output_size' should contain one int (got {len(sizes)})"
            if dims == 1
            else f"{name}(): internal error: output_size.size() must be {dims}"
            if maximum
            else f"{name}: output_size must be {dims}"
        )
    two = name.replace("1d", "2d")  # torch computes one dimension as two, of which the first has length 1
    for dim in range(1 if input.ndim == dims + 2 and (maximum or dims == 3) else input.ndim - dims, input.ndim):
        if input.shape[dim] == 0:
            said, sized, place = name, shape, dim
            if dims == 1 and not maximum:
                said, sized, place = two, [*shape[:-1], 1, 0], dim + 1
            raise RuntimeError(
                f"{said}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                f"{sized} with dimension {place} being empty"
            )
    supported(f"{name}_cpu" if dims == 3 else two, input, ALL_BUT_FLOATS, "")
    spatial = input.shape[-dims:]
    counts = [length if each is None else each for each, length in zip(each_dim(sizes, dims), spatial, strict=True)]
    if any(each < 0 for each in counts):
        # torch adds a first dimension of length 1 for one dimension.
        asked = [1, *counts] if dims == 1 else counts
        if maximum:
            made = [*input.shape[:-dims], *asked]
            raise RuntimeError(f"Trying to create tensor with negative dimension {min(asked)}: {made}")
        listed = f"{asked[0]}, " + ",".join(map(str, asked[1:]))
        raise RuntimeError(
            f"adaptive_avg_pool{max(dims, 2)}d: elements of output_size must be greater than or equal to 0 but "
            f"received {{{listed}}}"
        )
    if math.prod([*input.shape[:-dims], *counts]) * input.dtype.itemsize > sys.maxsize:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={[*input.shape[:-dims], *([1] * (dims == 1)), *counts]}"
        )
    windows: list[Any] = []
    for count, length in zip(counts, spatial, strict=True):
        if count and length % count == 0:
            windows.append(Sliding(length // count, length // count, 0, 1, count))
            continue
        starts = np.arange(count) * length // max(count, 1)
        lengths = -(-(np.arange(1, count + 1) * length) // max(count, 1)) - starts
        windows.append(Placed(starts, lengths))
    return windows


def adaptive_mean(name, input, sizes):
    """The mean of each window of adaptive pooling."""
    windows = _adaptive(name, input, sizes)
    return _window_mean(input, windows, [each.size if isinstance(each, Sliding) else each.lengths for each in windows])


def _adaptive_pools(dims):
    spread = f"`output_size` windows that share {spatially(dims)} out evenly."
    largest = partial(_pool, dims, f"AdaptiveMaxPool{dims}D")

    @largest(name=f"adaptive_max_pool{dims}d", doc=f"The largest entry of each of {spread}")
    def maximum(input, output_size: OutputSize, return_indices: Flag = False):
        values, indices = _largest(input, _adaptive(f"adaptive_max_pool{dims}d", input, output_size), return_indices)
        return (values, indices) if return_indices else values

    told = f"The largest entry, and where it is, of each of {spread}"
    name = f"adaptive_max_pool{dims}d_with_indices"
    largest(name=name, public="nn.functional", doc=told)(_with_indices(maximum.function))

    def grad_fn(static, avals):
        mean = "MeanBackward1" if all(each == 1 for each in static[0]) else f"AdaptiveAvgPool{dims}DBackward0"
        return "SqueezeBackward1" if dims == 1 else mean

    def slopes(static, avals):
        return None if all(each == 1 for each in static[0]) else "input"

    columns: dict[str, Any] = {"slopes": slopes, "grad_fn": grad_fn, "public": PLACES[dims], "rounds_once": True}

    @op(name=f"adaptive_avg_pool{dims}d", doc=f"The mean of each of {spread}", saves="input", out=False, **columns)
    def mean(input, output_size: OutputSize):
        return adaptive_mean(f"adaptive_avg_pool{dims}d", input, output_size)


def _fractional(dims):
    name = f"fractional_max_pool{dims}d"

    told = f"The largest entries of windows whose starts are drawn, over {spatially(dims)}."
    columns = {"saves": "input, samples", "slopes": "input", "grad_fn": f"FractionalMaxPool{dims}DBackward0"}

    @op(name=name, public="", doc=told, **columns)
    def pool(input, kernel_size: Sizes, output_size: Sizes, return_indices: Flag, samples: Kept):
        told = name if dims == 2 else f"{name}_out"
        shape = list(input.shape)
        for word, values in (("kernel_size", kernel_size), ("output_size", output_size)):
            if len(values) != dims:
                raise RuntimeError(
                    f"{name}: {word} must either be a single Int or tuple of {'three ' * (dims == 3)}Ints\n"
                    f"It has {len(values)}."
                )
        if input.ndim not in (dims + 1, dims + 2):
            raise RuntimeError(f"{told}(): Expected {dims + 1}D or {dims + 2}D tensor, but got: {shape}")
        for dim in range(1, input.ndim):
            if input.shape[dim] == 0:
                raise RuntimeError(
                    f"{told}(): Expected input to have non-zero size for non-batch dimensions, but got{shape} with "
                    f"dimension {dim} being empty."
                )
        spatial = input.shape[-dims:]
        for length, size, count, letter in zip(spatial, kernel_size, output_size, "THW"[-dims:], strict=True):
            if count + size - 1 > length:
                word = {"T": "time", "H": "height", "W": "width"}[letter]
                raise RuntimeError(f"{told}(): pool {word} {size} too large relative to input {word} {length}")
        lead = input.shape[:-dims]
        if min(output_size) < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {min(output_size)}: {[*lead, *output_size]}"
            )
        batch = lead[0] if len(lead) == 2 else 1
        _check_samples(samples, input, batch, lead[-1], dims)
        planes = input.reshape(-1, *spatial)
        # torch draws for the width first in two dimensions, and for the time first in three.
        draws = samples[:batch].reshape(-1, dims)[:, :: -1 if dims == 2 else 1]

        def one(plane, draw):
            windows = [
                Placed(_starts(draw[dim], length, size, count), np.full(count, size))
                for dim, (length, size, count) in enumerate(zip(spatial, kernel_size, output_size, strict=True))
            ]
            values, indices = _largest(plane, windows, return_indices)
            return (values, indices) if return_indices else values

        results = jax.vmap(one)(planes, draws)
        result = (*lead, *output_size)
        return tuple(each.reshape(result) for each in results) if return_indices else results.reshape(result)


def _check_samples(samples, input, batch, channels, dims):
    """torch's errors for random numbers that are not one for each channel and dimension."""
    if samples.dtype != input.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples.ndim != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.ndim}")
    if samples.shape[0] < batch:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples.shape[1] != channels:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.shape[2] != dims:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {dims}; got {samples.shape[2]}.")


def _starts(draw, length, size, count):
    """Where `count` windows start, by one random number: steps of two sizes that differ by one."""
    if count <= 1:
        return jnp.full(count, length - size)
    alpha = jnp.asarray((length - size) / (count - 1), draw.dtype)
    steps = jnp.trunc((jnp.arange(count, dtype=draw.dtype) + draw) * alpha) - jnp.trunc(draw * alpha)
    return steps.astype(jnp.int64).at[-1].set(length - size)


def _unpool(dims):
    told = f"Zeros with `input` at `indices`, flat over {spatially(dims)}."
    grad_fn = "SqueezeBackward1" if dims == 1 else f"MaxUnpool{dims}DBackward0"

    @op(name=f"max_unpool{dims}d", public="", saves="indices", grad_fn=grad_fn, doc=told)
    def unpool(input, indices: Kept, output_size: Sizes):
        spatial = math.prod(output_size)
        lead = input.shape[:-dims]
        if 0 in input.shape[input.ndim == dims + 2 :]:
            place = input.shape.index(0, input.ndim == dims + 2)
            raise RuntimeError(
                f"max_unpooling{max(dims, 2)}d_forward_out_cpu(): Expected input to have non-zero size for non-batch "
                f"dimensions, but got {[*input.shape, *[1] * (dims == 1)]} with dimension {place} being empty."
            )
        entries = math.prod(input.shape[-dims:])
        planes, places = (each.reshape(math.prod(lead), entries) for each in (input, indices))
        # If two entries have one place, the last is kept, as in torch, and both get that place's gradient.
        put = jax.vmap(lambda zeros, place, values: zeros.at[place].set(values, unique_indices=True))
        return put(jnp.zeros((math.prod(lead), spatial), input.dtype), places, planes).reshape(*lead, *output_size)


for _dims in (1, 2, 3):
    _max_pool(_dims)
    _avg_pool(_dims)
    _lp_pool(_dims)
    _adaptive_pools(_dims)
    _unpool(_dims)
    if _dims > 1:
        _fractional(_dims)
