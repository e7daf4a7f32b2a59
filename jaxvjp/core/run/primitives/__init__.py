"""What NumPy computes of JAX's primitives.

`numpys_function` looks up the function of NumPy's arrays that means the same as an equation of a jaxpr. There is none
where NumPy has no such function (`erf`), or one that differs on edges.

The table `ROWS` has a `Row` for each primitive: a function of the equation that returns a `Call`, a function of arrays.
So modules beside this one have functions of three kinds: rows (`divided(equation)`), calls (`clamp(least, x, most)`),
and those that make rows (`shifted(logical, left)`), which the table calls.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxvjp.core.run.primitives.arithmetic import (
    cast,
    clamp,
    divided,
    integer_power,
    itself,
    logistic,
    one_minus_square,
    powered,
    reciprocal_root,
    remainder,
    rounded,
    same_bits,
    shifted,
    sign,
)
from jaxvjp.core.run.primitives.decompositions import (
    cholesky,
    eig,
    eigh,
    lu,
    order_of_rows,
    qr,
    raw_qr,
    svd,
    triangular_solution,
)
from jaxvjp.core.run.primitives.indexing import gathered, scattered, sliced, updated, window_at
from jaxvjp.core.run.primitives.kinds import Call, Row, of_kinds, rounded_once
from jaxvjp.core.run.primitives.products import convolved, product
from jaxvjp.core.run.primitives.reductions import bitwise, extreme, number, place_of, reduced, running
from jaxvjp.core.run.primitives.shapes import (
    broadcast,
    counted,
    in_order,
    padded,
    reshaped,
    selected,
    separated,
    stacked,
    unstacked,
)


def numpys_function(equation: Any) -> Call | None:
    """The function of NumPy's arrays that computes what an equation does; None where there is none."""
    row = ROWS.get(equation.primitive.name.replace("-", "_"))
    return None if row is None else row(equation)


def _platform(equation: Any) -> Call:
    """Which of several ways to compute the same is taken: not that for XLA on a CPU, if there is a general one."""
    platforms = equation.params["platforms"]
    of_cpu = [at for at, names in enumerate(platforms) if names is None or "cpu" in names]
    return lambda: np.int32(of_cpu[-1])


ELEMENTWISE: dict[str, dict[str, Call]] = {
    "fci": {
        "neg": np.negative,
        "square": np.square,
        "add": np.add,
        "add_any": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
    },
    "fcib": {"eq": np.equal, "ne": np.not_equal, "copy": itself, "copy_p": itself, "stop_gradient": itself},
    "fi": {
        "abs": np.abs,
        "max": np.maximum,
        "min": np.minimum,
        "clamp": clamp,
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
    },
    "bi": {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert},
    "f": {"is_finite": np.isfinite, "nextafter": np.nextafter},
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
    "rsqrt": reciprocal_root,
    "logistic": logistic,
    "one_minus_square": one_minus_square,
    "floor": np.floor,
    "ceil": np.ceil,
}
"""Functions of real numbers that round."""
ROWS: dict[str, Row] = {
    **{name: of_kinds(kinds, function) for kinds, of in ELEMENTWISE.items() for name, function in of.items()},
    **{name: rounded_once("f", function) for name, function in ROUNDED.items()},
    "optimization_barrier": lambda equation: lambda *operands: list(operands),
    "div": divided,
    "rem": remainder,
    "sign": sign,
    "round": rounded,
    "integer_pow": integer_power,
    "pow": powered,
    "shift_left": shifted(False, True),
    "shift_right_logical": shifted(True, False),
    "shift_right_arithmetic": shifted(False, False),
    "convert_element_type": cast,
    "bitcast_convert_type": same_bits,
    "reduce_sum": reduced(np.add, number(0)),
    "reduce_prod": reduced(np.multiply, number(1)),
    "reduce_max": reduced(np.maximum, extreme(-1)),
    "reduce_min": reduced(np.minimum, extreme(1)),
    "reduce_and": bitwise(np.bitwise_and, True),
    "reduce_or": bitwise(np.bitwise_or, False),
    "reduce_xor": bitwise(np.bitwise_xor, False),
    "argmax": place_of(np.argmax),
    "argmin": place_of(np.argmin),
    "cumsum": running(np.add),
    "cumprod": running(np.multiply),
    "cummax": running(np.maximum),
    "cummin": running(np.minimum),
    "svd": svd,
    "eigh": eigh,
    "eig": eig,
    "qr": qr,
    "geqrf": raw_qr,
    "cholesky": cholesky,
    "lu": lu,
    "lu_pivots_to_permutation": order_of_rows,
    "triangular_solve": triangular_solution,
    "dot_general": product,
    "conv_general_dilated": convolved,
    "stack": stacked,
    "unstack": unstacked,
    "empty2": lambda equation: lambda: np.zeros(equation.outvars[0].aval.shape, equation.outvars[0].aval.dtype),
    "platform_index": _platform,
    "reshape": reshaped,
    "transpose": lambda equation: lambda x: x.transpose(equation.params["permutation"]),
    "broadcast_in_dim": broadcast,
    "squeeze": lambda equation: lambda x: x.reshape(equation.outvars[0].aval.shape),
    "expand_dims": lambda equation: lambda x: x.reshape(equation.outvars[0].aval.shape),
    "rev": lambda equation: lambda x: np.flip(x, equation.params["dimensions"]),
    "concatenate": lambda equation: lambda *each: np.concatenate(each, axis=equation.params["dimension"]),
    "pad": padded,
    "slice": sliced,
    "dynamic_slice": lambda equation: lambda x, *at: x[window_at(x.shape, equation.params["slice_sizes"], at)],
    "dynamic_update_slice": lambda equation: updated,
    "select_n": selected,
    "split": separated,
    "sort": in_order,
    "iota": counted,
    "gather": gathered,
    "scatter": scattered(None),
    "scatter_add": scattered(np.add),
    "scatter_mul": scattered(np.multiply),
    "scatter_min": scattered(np.minimum),
    "scatter_max": scattered(np.maximum),
}
"""NumPy's functions by the names of JAX's primitives."""
