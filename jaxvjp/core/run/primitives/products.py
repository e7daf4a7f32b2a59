"""What NumPy computes of products of matrices and of convolutions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jaxvjp.core.run.primitives.kinds import Array, Call, computed_in, kind_of
from jaxvjp.core.run.primitives.shapes import padding


def product(equation: Any) -> Call | None:
    """`dot_general`: matrix products, after what is contracted has come last on the left and first on the right."""
    ((left, right), (left_batch, right_batch)) = equation.params["dimension_numbers"]
    x, y = (each.aval for each in equation.invars)
    out = equation.outvars[0].aval
    wide = computed_in(out.dtype)
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


def convolved(equation: Any) -> Call | None:
    """A convolution as a product of matrices: each window of x as a row, each kernel as a column."""
    params = equation.params
    numbers, groups = params["dimension_numbers"], params["feature_group_count"]
    batches, out = params["batch_group_count"], equation.outvars[0].aval
    x, w = (each.aval for each in equation.invars)
    if kind_of(equation) != "f" or not x.size or not w.size:
        return None
    wide = computed_in(x.dtype)
    config = [(0, 0, 0)] * 2
    config += [
        (low, high, each - 1) for (low, high), each in zip(params["padding"], params["lhs_dilation"], strict=True)
    ]
    pad = padding([x.shape[each] for each in numbers.lhs_spec], config)
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
