"""What NumPy computes of JAX's primitives.

`numpys_function` looks up the function of NumPy's arrays that means the same as an equation of a jaxpr. There is none
where NumPy has no such function (`erf`), or one that differs on edges.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import jax
import numpy as np

Array = Any
"""NumPy's array, or its scalar: what NumPy's functions make of arrays without dimensions."""
Call = Callable[..., Any]
Row = Callable[[Any], Call | None]
"""From an equation the function that computes it; None where NumPy has none that means the same."""
BOOL = np.dtype(bool)


def numpys_function(equation: Any) -> Call | None:
    """The function of NumPy's arrays that computes what an equation does; None where there is none."""
    row = ROWS.get(equation.primitive.name.replace("-", "_"))
    return None if row is None else row(equation)


def _kind(equation: Any, place: int = 0) -> str:
    """ "f" for real floating point, "c" for complex, "i" for integers, "b" for booleans, "k" for keys and the like."""
    dtype = equation.invars[place].aval.dtype
    if dtype == BOOL:
        return "b"
    for kind, of in (("f", np.floating), ("c", np.complexfloating), ("i", np.integer)):
        if jax.numpy.issubdtype(dtype, of):
            return kind
    return "k"


def _own(dtype: Any) -> bool:
    """Whether a type is NumPy's own, and not one such as bfloat16 of which it knows arithmetic only."""
    return np.dtype(dtype).kind in "biufc"


def _for(kinds: str, function: Call) -> Row:
    """A function of arrays alone, where their elements are of those kinds."""
    return lambda equation: function if _kind(equation) in kinds else None


def _computed_in(dtype: Any) -> Any:
    """The type to compute in: 32 bits for real numbers of 16, which are then rounded once; else their own."""
    narrow = jax.numpy.issubdtype(dtype, np.floating) and dtype.itemsize <= 2
    return np.dtype(np.float32 if narrow else dtype)


def _wide(kinds: str, function: Call) -> Row:
    """The same; 16 bits are computed in 32, and rounded once."""

    def row(equation: Any) -> Call | None:
        if _kind(equation) not in kinds:
            return None
        dtype = equation.outvars[0].aval.dtype
        wide = _computed_in(equation.invars[0].aval.dtype)
        if wide == equation.invars[0].aval.dtype:
            return function
        return lambda *operands: function(*[each.astype(wide) for each in operands]).astype(dtype)

    return row


def _divide(equation: Any) -> Call | None:
    kind = _kind(equation)
    if kind != "i":
        return np.divide if kind == "f" else None

    def divide(x: Array, y: Array) -> Array:
        by = np.where(y == 0, 1, y).astype(y.dtype)
        quotient = x // by
        quotient = quotient + ((x % by != 0) & ((x < 0) != (by < 0))).astype(x.dtype)
        return np.where(y == 0, np.array(-1).astype(x.dtype), quotient)

    return divide


def _remainder(equation: Any) -> Call | None:
    kind = _kind(equation)
    if kind != "i":
        return _wide("f", np.fmod)(equation)
    return lambda x, y: np.where(y == 0, x, np.fmod(x, np.where(y == 0, 1, y).astype(y.dtype)))


def _sign(equation: Any) -> Call | None:
    kind = _kind(equation)
    if kind == "f":
        return lambda x: np.where((x == 0) | np.isnan(x), x, np.sign(x))
    return np.sign if kind == "i" else None


def _round(equation: Any) -> Call | None:
    if equation.params["rounding_method"] == jax.lax.RoundingMethod.TO_NEAREST_EVEN:
        return np.rint

    def away(x: Array) -> Array:
        whole = np.trunc(x)
        return np.where(np.abs(x - whole) >= 0.5, whole + np.sign(x), whole).astype(x.dtype)

    return away


def _integer_pow(equation: Any) -> Call | None:
    y = equation.params["y"]
    kind = _kind(equation)
    if kind not in "fi" or (kind == "i" and y < 0) or abs(y) > 64:
        return None

    def power(x: Array) -> Array:
        result, square, left = None, x, abs(y)
        while left:
            if left & 1:
                result = square if result is None else np.multiply(result, square)
            left >>= 1
            if left:
                square = np.multiply(square, square)
        if result is None:
            return np.ones_like(x)
        return np.divide(np.ones((), x.dtype), result) if y < 0 else result

    return power


def _power(equation: Any) -> Call | None:
    if _kind(equation) != "f" or _kind(equation, 1) not in "fi":
        return None

    def power(x: Array, y: Array) -> Array:
        # Of one exponent for all NumPy would take the square root, which is another power of -inf and of -0.
        shape = np.broadcast_shapes(x.shape, y.shape)
        return np.power(x, np.array(np.broadcast_to(y, shape or (1,)), x.dtype)).reshape(shape)

    return power


def _cast(equation: Any) -> Call | None:
    before, after = equation.invars[0].aval.dtype, np.dtype(equation.outvars[0].aval.dtype)
    kind = _kind(equation)
    if kind == "k" or (kind == "c" and after.kind != "c"):
        return None
    if after == BOOL:
        return lambda x: np.not_equal(x, np.zeros((), before))
    if kind != "f" or not jax.numpy.issubdtype(after, np.integer):
        return lambda x: x.astype(after)
    least, most = np.iinfo(after).min, np.iinfo(after).max

    def whole(x: Array) -> Array:
        """What is too large becomes the largest, as XLA has it, and what is no number 0."""
        x = x.astype(np.float64)
        inside = (x > least) & (x < most)
        result = np.where(inside, x, 0).astype(after)
        return np.where(x >= most, np.array(most, after), np.where(x <= least, np.array(least, after), result))

    return whole


def _reduced(function: Any, initial: Callable[[Any], Any]) -> Row:
    def row(equation: Any) -> Call | None:
        dtype, axes = equation.invars[0].aval.dtype, tuple(equation.params["axes"])
        start = initial(np.dtype(dtype))
        if start is None:
            return None
        wide = _computed_in(dtype)
        start = start.astype(wide)
        return lambda x: function.reduce(x.astype(wide, copy=False), axis=axes, dtype=wide, initial=start).astype(dtype)

    return row


def _number(value: Any) -> Callable[[Any], Any]:
    """That number, in the type asked for; None for types that are no numbers."""
    return lambda dtype: None if dtype == BOOL else np.array(value).astype(dtype)


def _extreme(sign: int) -> Callable[[Any], Any]:
    """The least number of a type for -1, the largest for 1."""

    def initial(dtype: Any) -> Any:
        if dtype == BOOL or dtype.kind == "c":
            return None
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            return np.array(info.max if sign > 0 else info.min, dtype)
        return np.array(sign * np.inf).astype(dtype)

    return initial


def _bitwise(function: Any, all_ones: bool) -> Row:
    def row(equation: Any) -> Call | None:
        dtype, axes = np.dtype(equation.invars[0].aval.dtype), tuple(equation.params["axes"])
        start = np.array(all_ones) if dtype == BOOL else np.array(-1 if all_ones else 0).astype(dtype)
        return lambda x: function.reduce(x, axis=axes, initial=start)

    return row


def _place_of(function: Any) -> Row:
    """`argmax` and its kin: where the first of the extreme elements is; a NaN is one."""

    def row(equation: Any) -> Call | None:
        (axis,), dtype = equation.params["axes"], equation.params["index_dtype"]
        if _kind(equation) not in "fi" or not equation.invars[0].aval.shape[axis]:
            return None
        wide = _computed_in(equation.invars[0].aval.dtype)
        return lambda x: np.asarray(function(x.astype(wide, copy=False), axis=axis)).astype(dtype)

    return row


def _running(function: Any) -> Row:
    def row(equation: Any) -> Call | None:
        axis, reverse, dtype = equation.params["axis"], equation.params["reverse"], equation.invars[0].aval.dtype
        if _kind(equation) not in "fi":
            return None
        turned = (slice(None),) * axis + (slice(None, None, -1),)
        wide = _computed_in(dtype)

        def run(x: Array) -> Array:
            x = x[turned] if reverse else x
            x = function.accumulate(x.astype(wide), axis=axis, dtype=wide).astype(dtype)
            return x[turned] if reverse else x

        return run

    return row


def _product(equation: Any) -> Call | None:
    """`dot_general`: matrix products, after what is contracted has come last on the left and first on the right."""
    ((left, right), (left_batch, right_batch)) = equation.params["dimension_numbers"]
    x, y = (each.aval for each in equation.invars)
    out = equation.outvars[0].aval
    wide = _computed_in(out.dtype)
    if wide.kind in "biu" and wide.itemsize <= 2:
        return None
    free_left = [each for each in range(x.ndim) if each not in (*left, *left_batch)]
    free_right = [each for each in range(y.ndim) if each not in (*right, *right_batch)]
    batch = [x.shape[each] for each in left_batch]
    inner = math.prod(x.shape[each] for each in left)
    to_left = (*left_batch, *free_left, *left)
    to_right = (*right_batch, *right, *free_right)
    shape_left = (*batch, math.prod(x.shape[each] for each in free_left), inner)
    shape_right = (*batch, inner, math.prod(y.shape[each] for each in free_right))

    def product(x: Array, y: Array) -> Array:
        x = x.transpose(to_left).reshape(shape_left).astype(wide, copy=False)
        y = y.transpose(to_right).reshape(shape_right).astype(wide, copy=False)
        return np.matmul(x, y).reshape(out.shape).astype(out.dtype, copy=False)

    return product


def _reshaped(equation: Any) -> Call:
    shape, order = equation.params["new_sizes"], equation.params["dimensions"]
    return (lambda x: x.reshape(shape)) if order is None else lambda x: x.transpose(order).reshape(shape)


def _broadcast(equation: Any) -> Call:
    shape, axes = equation.params["shape"], equation.params["broadcast_dimensions"]
    given = equation.invars[0].aval.shape
    between = [1] * len(shape)
    for axis, size in zip(axes, given, strict=True):
        between[axis] = size
    if tuple(between) == tuple(shape):
        return lambda x: x.reshape(shape)
    return lambda x: np.broadcast_to(x.reshape(between), shape)


Padding = Sequence[tuple[int, int, int]]
"""For each dimension what comes before, after, and between each two: negative before and after take away."""


def _padding(shape: Sequence[int], config: Padding) -> Call | None:
    """What pads an array of that shape with a value; None where more is taken away than there is."""
    spread = [max(0, size + (size - 1) * inner) for size, (_, _, inner) in zip(shape, config, strict=True)]
    if any(low + size + high < 0 for size, (low, high, _) in zip(spread, config, strict=True)):
        return None
    room = [max(low, 0) + size + max(high, 0) for size, (low, high, _) in zip(spread, config, strict=True)]
    inside = tuple(
        slice(max(low, 0), max(low, 0) + size, inner + 1) for size, (low, _, inner) in zip(spread, config, strict=True)
    )
    kept = tuple(slice(max(-low, 0), size - max(-high, 0)) for size, (low, high, _) in zip(room, config, strict=True))

    def pad(x: Array, value: Array) -> Array:
        result = np.full(room, value, x.dtype)
        result[inside] = x
        return result[kept]

    return pad


def _padded(equation: Any) -> Call | None:
    return _padding(equation.invars[0].aval.shape, equation.params["padding_config"])


def _convolved(equation: Any) -> Call | None:
    """A convolution as a product of matrices: each window of x as a row, each kernel as a column."""
    params = equation.params
    numbers, groups = params["dimension_numbers"], params["feature_group_count"]
    batches, out = params["batch_group_count"], equation.outvars[0].aval
    x, w = (each.aval for each in equation.invars)
    if _kind(equation) != "f" or not x.size or not w.size:
        return None
    wide = _computed_in(x.dtype)
    config = [(0, 0, 0)] * 2
    config += [
        (low, high, each - 1) for (low, high), each in zip(params["padding"], params["lhs_dilation"], strict=True)
    ]
    pad = _padding([x.shape[each] for each in numbers.lhs_spec], config)
    if pad is None:
        return None
    kernel = [w.shape[each] for each in numbers.rhs_spec]
    reach = [(size - 1) * each + 1 for size, each in zip(kernel[2:], params["rhs_dilation"], strict=True)]
    spatial = tuple(range(2, x.ndim))
    steps = (slice(None), slice(None), *[slice(None, None, each) for each in params["window_strides"]])
    steps += tuple(slice(None, None, each) for each in params["rhs_dilation"])
    back = np.argsort(numbers.out_spec)

    def convolve(x: Array, w: Array) -> Array:
        x = pad(x.transpose(numbers.lhs_spec).astype(wide, copy=False), wide.type(0))
        windows = np.lib.stride_tricks.sliding_window_view(x, reach, spatial)[steps]
        places = windows.shape[2 : 2 + len(spatial)]
        # One of the two numbers of groups is 1: of the batch, or of the features.
        windows = windows.reshape(batches, -1, groups, kernel[1], *windows.shape[2:])
        windows = np.moveaxis(windows, (2, 3), (1, 3 + len(spatial)))  # groups, batch, places, features, kernel
        rows = windows.reshape(batches * groups, -1, math.prod(kernel[1:]))
        columns = w.transpose(numbers.rhs_spec).astype(wide, copy=False).reshape(batches * groups, -1, rows.shape[-1])
        result = np.matmul(rows, columns.transpose(0, 2, 1))  # groups, batch and places, features
        result = result.reshape(batches * groups, -1, *places, result.shape[-1])
        result = np.moveaxis(result, (0, -1), (1, 2))
        shape = (result.shape[0], -1, *places)
        return result.reshape(shape).transpose(back).astype(out.dtype, copy=False)

    return convolve


def _sliced(equation: Any) -> Call:
    params = equation.params
    strides = params["strides"] or [1] * len(params["start_indices"])
    taken = tuple(map(slice, params["start_indices"], params["limit_indices"], strides))
    return lambda x: x[taken]


def _starts(shape: Sequence[int], sizes: Sequence[int], starts: Sequence[Array]) -> tuple[slice, ...]:
    """A window at those places, moved to where it lies inside."""
    begun = [min(max(int(each), 0), room - size) for each, room, size in zip(starts, shape, sizes, strict=True)]
    return tuple(slice(each, each + size) for each, size in zip(begun, sizes, strict=True))


def _updated(x: Array, update: Array, *starts: Array) -> Array:
    result = np.array(x)
    result[_starts(x.shape, update.shape, starts)] = update
    return result


def _stacked(equation: Any) -> Call:
    return lambda *each: np.stack(each, axis=equation.params["axis"])


def _unstacked(equation: Any) -> Call:
    return lambda x: [*np.moveaxis(x, equation.params["axis"], 0)]


def _platform(equation: Any) -> Call:
    """Which of several ways to compute the same is taken: not that for XLA on a CPU, if there is a general one."""
    platforms = equation.params["platforms"]
    of_cpu = [at for at, names in enumerate(platforms) if names is None or "cpu" in names]
    return lambda: np.int32(of_cpu[-1])


def _selected(equation: Any) -> Call:
    if _kind(equation) == "b":
        return lambda which, no, yes: np.where(which, yes, no)

    def select(which: Array, *cases: Array) -> Array:
        result = cases[0]
        for number, case in enumerate(cases[1:], 1):
            result = np.where(which == number, case, result)
        return result

    return select


def _split(equation: Any) -> Call:
    axis = equation.params["axis"]
    cuts = [*accumulate(equation.params["sizes"])][:-1]
    return lambda x: np.split(x, cuts, axis=axis)


def _sorted(equation: Any) -> Call | None:
    axis, keys = equation.params["dimension"], equation.params["num_keys"]
    if any(not _own(each.aval.dtype) or each.aval.dtype.kind == "c" for each in equation.invars[:keys]):
        return None

    def sort(*operands: Array) -> list[Array]:
        if len(operands) == 1:
            return [np.sort(operands[0], axis=axis, kind="stable")]
        order = np.lexsort(operands[:keys][::-1], axis=axis)
        return [np.take_along_axis(each, order, axis) for each in operands]

    return sort


def _shifted(logical: bool, left: bool) -> Row:
    def row(equation: Any) -> Call | None:
        dtype = np.dtype(equation.invars[0].aval.dtype)
        if dtype.kind == "u" and not left and not logical:
            return None
        bits = dtype.itemsize * 8
        unsigned = np.dtype(f"u{dtype.itemsize}")

        def shift(x: Array, by: Array) -> Array:
            far = (by < 0) | (by >= bits)
            by = np.where(far, 0 if left or logical else bits - 1, by).astype(dtype)
            if left:
                return np.where(far, np.zeros((), dtype), np.left_shift(x, by))
            if logical:
                moved = np.right_shift(np.asarray(x).view(unsigned), by.view(unsigned)).view(dtype)
                return np.where(far, np.zeros((), dtype), moved)
            return np.right_shift(x, by)

        return shift

    return row


class _Window:
    """Where the windows of a gather or a scatter lie: for each entry of the indices one, of those sizes."""

    def __init__(
        self, shape: Sequence[int], sizes: Sequence[int], named: Sequence[int], batches: Any, mode: Any
    ) -> None:
        self.shape = shape
        self.sizes = sizes
        self.named = named
        self.batches = batches
        self.clips = mode == jax.lax.GatherScatterMode.CLIP

    def places(self, indices: Array, within: Sequence[int]) -> tuple[list[Array], Array]:
        """For each dimension where the elements of all windows are, and which windows lie inside.

        The dimensions `within` are those that a window has of its own; of the others it has one entry each.
        """
        entries = indices.shape[:-1]
        starts: list[Any] = [np.zeros((1,) * len(entries), np.int64) for _ in self.shape]
        for number, axis in enumerate(self.named):
            starts[axis] = indices[..., number].astype(np.int64)
        for axis, entry in self.batches:
            shape = [1] * len(entries)
            shape[entry] = entries[entry]
            starts[axis] = np.arange(entries[entry]).reshape(shape)
        inside: Any = np.ones(entries, bool)
        for axis, start in enumerate(starts):
            most = self.shape[axis] - self.sizes[axis]
            inside = inside & (start >= 0) & (start <= most)
            starts[axis] = np.clip(start, 0, max(most, 0))
        if self.clips:
            inside = np.ones(entries, bool)
        for axis, start in enumerate(starts):
            start = start.reshape(start.shape + (1,) * len(within))
            if axis in within:
                shape = [1] * start.ndim
                shape[len(entries) + within.index(axis)] = self.sizes[axis]
                start = start + np.arange(self.sizes[axis]).reshape(shape)
            starts[axis] = start
        return starts, inside


def _gathered(equation: Any) -> Call | None:
    params = equation.params
    numbers, sizes, mode = params["dimension_numbers"], params["slice_sizes"], params["mode"]
    operand, out = equation.invars[0].aval, equation.outvars[0].aval
    batches = [*zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)]
    apart = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    within = [each for each in range(operand.ndim) if each not in apart]
    window = _Window(operand.shape, sizes, numbers.start_index_map, batches, mode)
    fills = mode == jax.lax.GatherScatterMode.FILL_OR_DROP
    value = params["fill_value"]
    if value is None and fills:
        if out.dtype == BOOL:
            value = True
        elif np.dtype(out.dtype).kind in "iu":
            info = np.iinfo(out.dtype)
            value = info.max if np.dtype(out.dtype).kind == "u" else info.min
        else:
            value = np.nan
    if 0 in operand.shape:
        return None

    def gather(x: Array, indices: Array) -> Array:
        places, inside = window.places(indices, within)
        entries = indices.ndim - 1
        found = np.broadcast_to(x[tuple(places)], (*indices.shape[:-1], *[sizes[each] for each in within]))
        if fills and not inside.all():
            found = np.where(
                inside.reshape(inside.shape + (1,) * len(within)), found, np.array(value).astype(out.dtype)
            )
        return np.moveaxis(found, range(entries, entries + len(within)), numbers.offset_dims)

    return gather


def _scattered(function: Any) -> Row:
    def row(equation: Any) -> Call | None:
        params = equation.params
        numbers, mode = params["dimension_numbers"], params["mode"]
        operand, updates = equation.invars[0].aval, equation.invars[2].aval
        if len(equation.invars) != 3 or 0 in operand.shape:
            return None
        batches = [*zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True)]
        apart = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
        within = [each for each in range(operand.ndim) if each not in apart]
        sizes = [1] * operand.ndim
        for axis, place in zip(within, numbers.update_window_dims, strict=True):
            sizes[axis] = updates.shape[place]
        window = _Window(operand.shape, sizes, numbers.scatter_dims_to_operand_dims, batches, mode)

        def scatter(x: Array, indices: Array, updates: Array) -> Array:
            places, inside = window.places(indices, within)
            entries = indices.ndim - 1
            updates = np.moveaxis(updates, numbers.update_window_dims, range(entries, entries + len(within)))
            result = np.array(x)
            if not inside.all():
                places = [np.broadcast_to(each, updates.shape)[inside] for each in places]
                updates = updates[inside]
            if function is None:
                result[tuple(places)] = updates
            else:
                function.at(result, tuple(places), updates)
            return result

        return scatter

    return row


def _iota(equation: Any) -> Call:
    dtype, shape, axis = (equation.params[each] for each in ("dtype", "shape", "dimension"))

    def iota() -> Array:
        numbers = np.arange(shape[axis]).astype(dtype)
        return np.broadcast_to(numbers.reshape([-1 if each == axis else 1 for each in range(len(shape))]), shape)

    return iota


def _bits(equation: Any) -> Call | None:
    before, after = np.dtype(equation.invars[0].aval.dtype), np.dtype(equation.outvars[0].aval.dtype)
    return (lambda x: np.asarray(x).view(after)) if before.itemsize == after.itemsize else None


def _reciprocal_root(x: Array) -> Array:
    return np.divide(np.ones((), x.dtype), np.sqrt(x))


def _logistic(x: Array) -> Array:
    one = np.ones((), x.dtype)
    return np.divide(one, np.add(one, np.exp(np.negative(x))))


def _one_minus_square(x: Array) -> Array:
    return np.subtract(np.ones((), x.dtype), np.square(x))


def _clamp(least: Array, x: Array, most: Array) -> Array:
    return np.minimum(np.maximum(x, least), most)


def _itself(x: Array) -> Array:
    return x


ELEMENTWISE: dict[str, dict[str, Call]] = {
    "fci": {
        "neg": np.negative,
        "square": np.square,
        "add": np.add,
        "add_any": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
    },
    "fcib": {"eq": np.equal, "ne": np.not_equal, "copy": _itself, "copy_p": _itself, "stop_gradient": _itself},
    "fi": {
        "abs": np.abs,
        "max": np.maximum,
        "min": np.minimum,
        "clamp": _clamp,
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
    },
    "bi": {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert},
    "f": {"is_finite": np.isfinite},
    "c": {"real": np.real, "imag": np.imag, "conj": np.conj},
}
"""For which kinds of elements which functions."""
ROUNDED: dict[str, Call] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "atan2": np.arctan2,
    "sqrt": np.sqrt,
    "cbrt": np.cbrt,
    "rsqrt": _reciprocal_root,
    "logistic": _logistic,
    "one_minus_square": _one_minus_square,
    "floor": np.floor,
    "ceil": np.ceil,
}
"""Functions of real numbers that round."""
ROWS: dict[str, Row] = {
    **{name: _for(kinds, function) for kinds, of in ELEMENTWISE.items() for name, function in of.items()},
    **{name: _wide("f", function) for name, function in ROUNDED.items()},
    "optimization_barrier": lambda equation: lambda *operands: list(operands),
    "div": _divide,
    "rem": _remainder,
    "sign": _sign,
    "round": _round,
    "integer_pow": _integer_pow,
    "pow": _power,
    "shift_left": _shifted(False, True),
    "shift_right_logical": _shifted(True, False),
    "shift_right_arithmetic": _shifted(False, False),
    "convert_element_type": _cast,
    "bitcast_convert_type": _bits,
    "reduce_sum": _reduced(np.add, _number(0)),
    "reduce_prod": _reduced(np.multiply, _number(1)),
    "reduce_max": _reduced(np.maximum, _extreme(-1)),
    "reduce_min": _reduced(np.minimum, _extreme(1)),
    "reduce_and": _bitwise(np.bitwise_and, True),
    "reduce_or": _bitwise(np.bitwise_or, False),
    "reduce_xor": _bitwise(np.bitwise_xor, False),
    "argmax": _place_of(np.argmax),
    "argmin": _place_of(np.argmin),
    "cumsum": _running(np.add),
    "cumprod": _running(np.multiply),
    "cummax": _running(np.maximum),
    "cummin": _running(np.minimum),
    "dot_general": _product,
    "conv_general_dilated": _convolved,
    "stack": _stacked,
    "unstack": _unstacked,
    "empty2": lambda equation: lambda: np.zeros(equation.outvars[0].aval.shape, equation.outvars[0].aval.dtype),
    "platform_index": _platform,
    "reshape": _reshaped,
    "transpose": lambda equation: lambda x: x.transpose(equation.params["permutation"]),
    "broadcast_in_dim": _broadcast,
    "squeeze": lambda equation: lambda x: x.reshape(equation.outvars[0].aval.shape),
    "expand_dims": lambda equation: lambda x: x.reshape(equation.outvars[0].aval.shape),
    "rev": lambda equation: lambda x: np.flip(x, equation.params["dimensions"]),
    "concatenate": lambda equation: lambda *each: np.concatenate(each, axis=equation.params["dimension"]),
    "pad": _padded,
    "slice": _sliced,
    "dynamic_slice": lambda equation: lambda x, *at: x[_starts(x.shape, equation.params["slice_sizes"], at)],
    "dynamic_update_slice": lambda equation: _updated,
    "select_n": _selected,
    "split": _split,
    "sort": _sorted,
    "iota": _iota,
    "gather": _gathered,
    "scatter": _scattered(None),
    "scatter_add": _scattered(np.add),
    "scatter_mul": _scattered(np.multiply),
    "scatter_min": _scattered(np.minimum),
    "scatter_max": _scattered(np.maximum),
}
"""NumPy's functions by the names of JAX's primitives."""
