"""Images resized (`interpolate`), and sampled at given points (`grid_sample`).

Interpolation takes one dimension after the other: each output entry is a weighted sum of a few input entries, with
weights that depend only on the sizes and are constants of the program.
"""

import math
import sys
from functools import partial
from itertools import product
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxvjp.ops.arguments import Flag, Kind, Real, Shape, Text, index, real, size
from jaxvjp.ops.matrices import one_scalar_type
from jaxvjp.ops.neural.pooling import adaptive_mean
from jaxvjp.ops.neural.windows import LARGEST
from jaxvjp.ops.op import op
from jaxvjp.ops.pointwise import ALL_BUT_FLOATS, supported
from jaxvjp.types.dtypes import from_numpy
from jaxvjp.types.user_code import warn_of_call

EXACTLY = jax.lax.Precision.HIGHEST
LINEAR = {3: "linear", 4: "bilinear", 5: "trilinear"}
"""torch's name for linear interpolation, by the number of the input's dimensions."""
SHARP, SMOOTH = -0.75, -0.5
"""The parameter of the cubic kernel: torch's own, and with `antialias` that of PIL."""


def factors(value: Any) -> tuple[float, ...]:
    return tuple(map(real, value)) if isinstance(value, tuple | list) else (real(value),)


Factors = Annotated[tuple[float, ...], Kind("tuple of floats", factors)]


def lengths(value: Any) -> tuple[Any, ...]:
    """One length or several; what is none is refused by `interpolate`, in torch's words, and is its type here."""
    return tuple(map(_length, value)) if isinstance(value, tuple | list) else size(value)


def _length(value: Any) -> Any:
    try:
        return index(value, 1)  # Python checks it in torch, to which True is an int
    except TypeError:
        return type(value)


Lengths = Annotated[tuple[int, ...], Kind("tuple of ints", lengths)]


def _cubic(distance, a):
    """The cubic convolution kernel of Keys (1981)."""
    x = np.abs(distance)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


def _step(length, count, factor, align_corners, own):
    """How far apart in the input neighbouring output entries are."""
    if align_corners:
        return own((length - 1) / (count - 1)) if count > 1 else own(0)
    return own(1 / factor) if factor else own(length) / own(count)


def _taps(mode, length, count, factor, align_corners, own):
    """The input entries and their weights for the output entries: pairs of vectors."""
    step, places = _step(length, count, factor, align_corners, own), np.arange(count, dtype=own)
    if mode.startswith("nearest"):
        places += own(0.5) if mode == "nearest-exact" else own(0)
        return [(np.minimum(np.floor(places * step).astype(np.int64), length - 1), None)]
    places = places * step if align_corners else (places + own(0.5)) * step - own(0.5)
    if mode == "bicubic":
        first = np.floor(places)
        offset = places - first
        return [
            (np.clip(first.astype(np.int64) + tap, 0, length - 1), _cubic(offset - own(tap), SHARP).astype(own))
            for tap in (-1, 0, 1, 2)
        ]
    places = np.maximum(places, own(0))
    first = np.minimum(places.astype(np.int64), length - 1)
    offset = np.clip(places - first, 0, 1).astype(own)
    return [(first, own(1) - offset), (np.minimum(first + 1, length - 1), offset)]


def _antialiased(mode, length, count, factor, align_corners, own):
    """The matrix of weights of input entries for output entries: a kernel as wide as an output entry."""
    step = _step(length, count, factor, align_corners, own)
    wide = max(step, own(1))
    support = (1 if mode == "bilinear" else 2) * wide
    center = step * (np.arange(count, dtype=own) + own(0.5))
    low = np.maximum((center - support + own(0.5)).astype(np.int64), 0)
    high = np.minimum((center + support + own(0.5)).astype(np.int64), length)
    entries = np.arange(length)
    distance = (entries - center[:, None] + own(0.5)) / wide
    kernel = np.maximum(1 - np.abs(distance), 0) if mode == "bilinear" else _cubic(distance, SMOOTH)
    kernel = np.where((entries >= low[:, None]) & (entries < high[:, None]), kernel, 0)
    return (kernel / kernel.sum(1, keepdims=True)).astype(own)


def _resized(input, axis, mode, count, factor, align_corners, antialias):
    """`input` with `count` entries along one dimension."""
    own: Any = np.float64 if input.dtype == np.float64 else np.float32
    length = input.shape[axis]
    if antialias:
        matrix = jnp.asarray(_antialiased(mode, length, count, factor, align_corners, own))
        return jnp.moveaxis(jnp.tensordot(input, matrix, ((axis,), (1,)), precision=EXACTLY), -1, axis)
    taps = _taps(mode, length, count, factor, align_corners, own)
    total = None
    for positions, weights in taps:
        if count % length == 0 and np.array_equal(positions, np.arange(count) // (count // length)):
            entries = jnp.repeat(input, count // length, axis)
        else:
            entries = jnp.take(input, positions, axis)
        if weights is not None:
            entries = entries * weights.reshape([-1 if dim == axis else 1 for dim in range(input.ndim)])
        total = entries if total is None else total + entries
    return total


def _resized_bytes(input, axis, mode, count, factor, align_corners, antialias):
    """As in torch's kernel for uint8 images: the weights are fixed-point numbers of 16 bits."""
    length = input.shape[axis]
    if antialias:
        weights = _antialiased(mode, length, count, factor, align_corners, np.float64)
    else:
        weights = np.zeros((count, length))
        for positions, each in _taps(mode, length, count, factor, align_corners, np.float64):
            np.add.at(weights, (np.arange(count), positions), each)
    bits = next(each for each in range(23) if each == 22 or int(0.5 + weights.max() * (2 << each)) >= 1 << 15)
    whole = np.trunc(weights * (1 << bits) + np.copysign(0.5, weights)).astype(np.int32)
    total = jnp.tensordot(input.astype("int32"), whole, ((axis,), (1,)))
    rounded = jnp.clip((total + (1 << (bits - 1))) >> bits, 0, 255)
    return jnp.moveaxis(rounded, -1, axis).astype(input.dtype)


def _interpolation_name(static, avals):
    mode, antialias = static[2], True in static[5:]
    dims = len(avals[0].shape) - 2
    if mode == "area":
        return "SqueezeBackward1" if dims == 1 else f"AdaptiveAvgPool{dims}DBackward0"
    words = {"nearest-exact": "NearestExact"}.get(mode, mode.capitalize())
    return f"Upsample{words}{dims}D{'Aa' * antialias}Backward0"


def _by_mode(row, operands, static):
    return (of_areas if static[2] == "area" else row), operands, static


RESIZING: dict[str, Any] = {"grad_fn": _interpolation_name, "rounds_once": True}


@op(public="nn.functional", rewrite=_by_mode, **RESIZING)
def interpolate(
    input,
    size: Lengths | None = None,
    scale_factor: Factors | None = None,
    mode: Text = "nearest",
    align_corners: Flag | None = None,
    recompute_scale_factor: Flag | None = None,
    antialias: Flag = False,
):
    """`input` with its spatial dimensions in another `size`, or `scale_factor` times as long.

    `mode` is "nearest", "nearest-exact", "linear" (of two dimensions "bilinear", of three "trilinear"), "bicubic" or
    "area". With `align_corners` the outermost entries stay where they are.
    """
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | "
                "trilinear"
            )
        align_corners = False
    dims = input.ndim - 2
    counts, scale = _counts(input, dims, size, scale_factor, recompute_scale_factor)
    if antialias and not (mode in ("bilinear", "bicubic") and input.ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if mode == "lanczos":
        raise NotImplementedError("jaxvjp has no mode='lanczos'\n'bicubic' with antialias=True is close to it.")
    if (
        input.ndim not in (3, 4, 5)
        or mode not in (*LINEAR.values(), "nearest", "nearest-exact", "area", "bicubic")
        or (mode == "bicubic" and input.ndim != 4)
    ):
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D) for the modes: nearest | "
            f"linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
        )
    if mode in LINEAR.values() and mode != LINEAR[input.ndim]:
        needs = next(each for each, name in LINEAR.items() if name == mode)
        raise NotImplementedError(f"Got {input.ndim}D input, but {mode} mode needs {needs}D input")
    if min(counts) <= 0 or 0 in input.shape[2:]:
        pairs = (zip("DHW"[-dims:], lengths, strict=True) for lengths in (input.shape[2:], counts))
        given, made = (", ".join(f"{letter}: {length}" for letter, length in each) for each in pairs)
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input ({given}) output ({made})")
    _check_type(input, mode, dims, antialias)
    if 0 in input.shape[1:2] and mode != "area":
        told = f"Non-empty {input.ndim}D data tensor expected but got a tensor with sizes"
        raise RuntimeError(f"{told} {list(input.shape)}")
    if mode == "area":
        return adaptive_mean(f"adaptive_avg_pool{dims}d", input, counts)
    result = input
    resize = _resized_bytes if input.dtype == "uint8" and mode in ("bilinear", "bicubic") else _resized
    for axis, count, factor in reversed(list(zip(range(2, input.ndim), counts, scale, strict=True))):
        if mode == "nearest" and dims == 2 and count in (input.shape[axis], 2 * input.shape[axis]):
            factor = None  # torch's kernel for images doubles each entry then, whatever the factor is
        result = resize(result, axis, mode, count, factor, bool(align_corners), antialias)
        if resize is _resized and not jnp.issubdtype(input.dtype, jnp.inexact):
            # torch rounds integers to their dtype after each dimension.
            limits = jnp.iinfo(input.dtype)
            result = jnp.clip(jnp.floor(result + 0.5), limits.min, limits.max).astype(input.dtype)
    return result.astype(input.dtype)


# For areas torch takes `adaptive_avg_pool`.
of_areas = op(name="interpolate.area", public="", saves="input", slopes="input", **RESIZING)(interpolate.function)


@op(public="function", grad_fn="UpsampleBilinear2DAaBackward0", out=False, rounds_once=True)
def _upsample_bilinear2d_aa(
    input,
    output_size: Shape | None = None,
    align_corners: Flag = False,
    scales_h: Real | None = None,
    scales_w: Real | None = None,
    *,
    scale_factors: Factors | None = None,
):
    """`interpolate` with "bilinear" and `antialias`, to a size, with scale factors for the entries' positions."""
    counts, scale = _counts(input, 2, output_size, scale_factors, None)
    if output_size is not None:
        scale = (scales_h, scales_w)
    resize = _resized_bytes if input.dtype == "uint8" else _resized
    for axis, count, factor in ((3, counts[1], scale[1]), (2, counts[0], scale[0])):
        input = resize(input, axis, "bilinear", count, factor, align_corners, True)
    return input


def _older(name):
    warn_of_call(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.")


@op(public="nn.functional", **RESIZING)
def upsample(
    input,
    size: Lengths | None = None,
    scale_factor: Factors | None = None,
    mode: Text = "nearest",
    align_corners: Flag | None = None,
):
    """torch's older name for `interpolate`."""
    _older("upsample")
    return interpolate.function(input, size, scale_factor, mode, align_corners)


def _upsample(mode: str, grad_fn: Any, aligned: bool | None, told: str = "") -> None:
    """Declares torch's older name for one mode."""
    meaning = f'torch\'s older name for `interpolate` in the mode "{mode}"{told}.'

    @op(name=f"upsample_{mode}", public="nn.functional", grad_fn=grad_fn, rounds_once=True, doc=meaning)
    def row(input, size: Shape | None = None, scale_factor: Factors | None = None):
        _older(f"upsample_{mode}")
        return interpolate.function(input, size, scale_factor, mode, aligned)


_upsample("nearest", lambda static, avals: f"UpsampleNearest{len(avals[0].shape) - 2}DBackward0", None)
_upsample("bilinear", "UpsampleBilinear2DBackward0", True, " with `align_corners`")


def _check_type(input, mode, dims, antialias):
    """torch's NotImplementedError for a type that the kernel of a mode does not take."""
    if mode == "area" or (input.dtype == "uint8" and mode not in ("linear", "trilinear")):
        return
    kind = {"bicubic": "cubic", "nearest": "nearest", "nearest-exact": "nearest"}.get(mode, "linear")
    kernel = f"compute_indices_weights_{kind}"
    if antialias:
        kernel = "compute_index_ranges_weights"
    elif dims == 2 and kind != "cubic":
        kernel = f"upsample_{kind.replace('linear', 'bilinear')}2d_channels_last"
    supported(kernel, input, ALL_BUT_FLOATS + " short" * antialias, "")


def _counts(input, dims, size, scale_factor, recompute):
    """The output's sizes, and the scale factors for its entries' positions (None: the ratio of the sizes)."""
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if recompute is not None and recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        if not all(isinstance(each, int) for each in size):
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size "
                f"with types {[type(each) if isinstance(each, int) else each for each in size]}"
            )
        if len(size) not in (1, dims):
            raise ValueError(
                "Input and output must have the same number of spatial dimensions, but got input with spatial "
                f"dimensions of {list(input.shape[2:])} and output size of {tuple(size)}. Please provide input tensor "
                "in (N, C, d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) format."
            )
        return (size * dims if len(size) == 1 else size), (None,) * dims
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if len(scale_factor) not in (1, dims):
        # As a user wrote them, most likely: whole ones without a point.
        written = tuple(int(each) if each == int(each) else each for each in scale_factor)
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, but got input with spatial "
            f"dimensions of {list(input.shape[2:])} and scale_factor of shape {written}. Please provide "
            "input tensor in (N, C, d1, d2, ...,dK) format and scale_factor in (s1, s2, ...,sK) format."
        )
    scale = scale_factor * dims if len(scale_factor) == 1 else scale_factor
    counts = tuple(math.floor(length * each) for length, each in zip(input.shape[2:], scale, strict=True))
    if any(abs(count) > sys.maxsize for count in counts):
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    return counts, (None,) * dims if recompute else scale


@op(public="nn.functional", grad_fn="AffineGridGeneratorBackward0", rounds_once=True)
def affine_grid(theta, size: Shape, align_corners: Flag | None = None):
    """The points, from -1 to 1, to which affine maps (batch, dims, dims + 1) send the pixels of images of `size`."""
    align_corners = _aligned(align_corners)
    if not jnp.issubdtype(theta.dtype, jnp.floating):
        raise ValueError(f"Expected theta to have floating point type, but got {from_numpy(theta.dtype)}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. "
            f"Got size {list(size)}."
        )
    dims = len(size) - 2
    if theta.ndim != 3 or theta.shape[1:] != (dims, dims + 1):
        raise ValueError(
            f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {list(size)}. Got "
            f"torch.Size({list(theta.shape)})."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {list(size)}")
    if theta.shape[0] != size[0]:
        raise RuntimeError(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"{[size[0], dims + 1]} but got: {[theta.shape[0], dims + 1]}.\n`size` begins with the number of maps."
        )
    if align_corners and min(size[2:]) == 1:
        warn_of_call(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This "
            "is not an intended use case of affine_grid. See the documentation of affine_grid for details."
        )
    lines = [np.linspace(-1, 1, count) if count > 1 else np.zeros(1) for count in size[2:]]
    if not align_corners:
        lines = [line * (len(line) - 1) / len(line) for line in lines]
    points = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(size[2:])], -1)
    base = jnp.asarray(points, theta.dtype)
    return jnp.einsum("...k,njk->n...j", base, theta, precision=EXACTLY)


def _aligned(align_corners):
    if align_corners is None:
        warn_of_call(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please "
            "specify align_corners=True if the old behavior is desired. See the documentation of grid_sample for "
            "details."
        )
    return bool(align_corners)


def _clipped(places, length):
    """Positions clamped into the image, NaN to 0; no gradient passes for those outside or at the edge."""
    return jnp.where(places > 0, jnp.where(places >= length - 1, length - 1, places), 0)


def _reflected(places, length, align_corners):
    """Positions outside the image, reflected at its border until they are inside."""
    low, span = (0.0, length - 1.0) if align_corners else (-0.5, float(length))
    if span == 0:
        return jnp.zeros_like(places)
    offset = places - low
    offset = offset * jnp.where(jax.lax.stop_gradient(offset) < 0, -1, 1)
    turns = jax.lax.stop_gradient(jnp.floor(offset / span))
    rest = offset - turns * span
    return jnp.where(turns % 2 == 0, rest + low, span - rest + low)


def _inside(places, length, padding_mode, align_corners):
    """The positions to read, for positions that may be outside the image."""
    if padding_mode == "reflection":
        places = _reflected(places, length, align_corners)
    return places if padding_mode == "zeros" else _clipped(places, length)


@op(
    public="nn.functional",
    saves="input, grid",
    slopes=lambda static, avals: "grid for input" if static[0] == "nearest" else None,
    in_one_step=True,
    grad_fn=lambda static, avals: f"GridSampler{len(avals[0].shape) - 2}DBackward0",
    rounds_once=True,
)
def grid_sample(input, grid, mode: Text = "bilinear", padding_mode: Text = "zeros", align_corners: Flag | None = None):
    """`input` sampled at the points of `grid`, whose last dimension has x, y (and z) from -1 to 1.

    `mode` is "bilinear", "nearest" or "bicubic"; `padding_mode` says what is outside: "zeros", "border" or
    "reflection".
    """
    for word, given, (one, two, three), mark in (
        ("mode", mode, ("bilinear", "nearest", "bicubic"), ""),
        ("padding_mode", padding_mode, ("zeros", "border", "reflection"), ","),
    ):
        if given not in (one, two, three):
            told = f"expected {word} to be '{one}', '{two}'{mark} or '{three}', but got: '{given}'"
            raise ValueError(f"nn.functional.grid_sample(): {told}")
    align_corners = _aligned(align_corners)
    _check_grid(input, grid, mode)
    dims = input.ndim - 2
    spatial = input.shape[2:]
    points = [(grid[..., dims - 1 - dim] + 1, length) for dim, length in enumerate(spatial)]
    places = [at / 2 * (length - 1) if align_corners else (at * length - 1) / 2 for at, length in points]
    inside = partial(_inside, padding_mode=padding_mode, align_corners=align_corners)
    flat = input.reshape(*input.shape[:2], math.prod(spatial))
    counted = jnp.int32 if flat.shape[2] <= LARGEST else jnp.int64

    def read(whole):
        """The entries at integer positions (batch, ...), 0 outside: (batch, channels, ...)."""
        number: Any = 0
        valid: Any = True
        for place, length in zip(whole, spatial, strict=True):
            valid &= (place >= 0) & (place <= length - 1)
            number = number * length + jnp.clip(jnp.nan_to_num(place), 0, length - 1).astype(counted)
        entries = jax.vmap(lambda image, index: image[:, index])(flat, number)
        return jnp.where(valid[:, None], entries, 0)

    if mode == "bicubic":
        first = [jax.lax.stop_gradient(jnp.floor(place)) for place in places]
        offset = [place - whole for place, whole in zip(places, first, strict=True)]
        total = 0
        for tap in product((-1, 0, 1, 2), repeat=dims):
            whole = [inside(start + step, length) for start, step, length in zip(first, tap, spatial, strict=True)]
            weight = math.prod(_cubic_weight(each - step, step) for each, step in zip(offset, tap, strict=True))
            total += read(whole) * weight[:, None]
        return total
    places = [inside(place, length) for place, length in zip(places, spatial, strict=True)]
    if mode == "nearest":
        return read([jax.lax.stop_gradient(jnp.round(place)) for place in places])
    first = [jax.lax.stop_gradient(jnp.floor(place)) for place in places]
    total = 0
    for corner in product((0, 1), repeat=dims):
        steps = list(zip(places, first, corner, strict=True))
        weight = math.prod(place - start if step else start + 1 - place for place, start, step in steps)
        total += read([start + step for _, start, step in steps]) * weight[:, None]
    return total


def _cubic_weight(distance, tap):
    """The cubic kernel at a traced distance; `tap` says which of its pieces applies."""
    x = distance if tap <= 0 else -distance
    if tap in (0, 1):
        return ((SHARP + 2) * x - (SHARP + 3)) * x * x + 1
    return ((x - 5) * x + 8) * x * SHARP - 4 * SHARP


def _check_grid(input, grid, mode):
    one_scalar_type(input, grid, "\nConvert the grid: `grid.to(x.dtype)`.")
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with sizes "
            f"{list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if grid.shape[-1] != input.ndim - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {input.ndim - 2} in last dimension, but got grid with sizes "
            f"{list(grid.shape)}"
        )
    for dim in range(2, input.ndim):
        if input.shape[dim] == 0:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                f"{list(input.shape)} with dimension {dim} being empty"
            )
    if input.ndim not in (4, 5) or input.ndim != grid.ndim:
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with sizes "
            f"{list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if mode == "bicubic" and input.ndim != 4:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
