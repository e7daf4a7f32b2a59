"""A jaxpr run by NumPy gives XLA's results, primitive by primitive: at edges, in every dtype, of empty and 0-dim
arrays."""

import itertools
import tracemalloc
import warnings
import weakref
from contextvars import ContextVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxvjp.core.run.interpreter import interpreter_of
from jaxvjp.core.run.primitives import ROWS
from jaxvjp.ops.reduction import largest, shared

FLOATS = ["float32", "float64", "float16", "bfloat16"]
INTEGERS = ["int32", "int64", "int8", "uint8"]
EDGES = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    3.25,
    -7.0,
    12.0,
    100.0,
    float("inf"),
    float("-inf"),
    float("nan"),
]
WHOLE = [0, 1, -1, 2, -3, 7, 100, -128, 127, 64]


def values(name):
    dtype = jnp.dtype(name)
    if dtype.kind == "b":
        return np.array([True, False, False, True, True, False])
    if dtype.kind in "iu":
        return np.array(WHOLE).astype(dtype)
    if dtype.kind == "c":
        return np.array([complex(x, y) for x, y in itertools.product(EDGES[:10], repeat=2)]).astype(dtype)
    return np.array(EDGES).astype(dtype)


def both(function, *operands, exact=False):
    """What NumPy and XLA make of it, compared; the interpreter."""
    with jax.enable_x64(True):
        interpreter = interpreter_of(jax.make_jaxpr(function)(*operands))
        ours = interpreter(*operands)
        theirs = jax.tree.leaves(jax.jit(function)(*operands))
    for a, b in zip(ours, theirs, strict=True):
        b = np.asarray(b)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        assert type(a) is np.ndarray
        assert a.flags.c_contiguous
        if exact or a.dtype.kind in "biu":
            np.testing.assert_array_equal(a, b)
        else:
            unit = float(jnp.finfo(a.dtype).eps)
            wide = np.complex128 if a.dtype.kind == "c" else np.float64
            np.testing.assert_allclose(a.astype(wide), b.astype(wide), rtol=16 * unit, atol=unit / 4)
    return interpreter


UNARY = {
    "fc": "neg square",
    "f": "abs exp exp2 log log1p expm1 sin cos tan sinh cosh tanh sqrt cbrt asin acos atan asinh acosh atanh rsqrt "
    "logistic floor ceil sign is_finite",
    "i": "neg sign square bitwise_not",
    "b": "bitwise_not",
    "c": "real imag conj",
}
BINARY = {
    "f": "add sub mul div rem max min atan2 nextafter eq ne lt le gt ge",
    "i": "add sub mul div rem max min eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor shift_left "
    "shift_right_logical shift_right_arithmetic",
    "b": "eq ne bitwise_and bitwise_or bitwise_xor",
    "c": "add sub mul eq ne",
}
TYPES = {"f": FLOATS, "i": INTEGERS, "b": ["bool"], "c": ["complex64", "complex128"]}


def cases(table):
    for kinds, names in table.items():
        for kind in kinds:
            yield from itertools.product(names.split(), TYPES[kind])


@pytest.mark.parametrize(("name", "dtype"), [*cases(UNARY)])
def test_a_function_of_one(name, dtype):
    x = values(dtype)
    if name == "exp2":  # XLA's is inexact for large numbers
        x = x[[each == each and not abs(each) > 9 for each in x.tolist()]]
    function = getattr(lax, name)
    assert both(lambda *each: [*map(function, each)], x, x[4], x[:0]).left_to_jax == 0


@pytest.mark.parametrize(("name", "dtype"), [*cases(BINARY)])
def test_a_function_of_two(name, dtype):
    x = values(dtype)
    if TYPES["c"].count(dtype):
        x = x[np.isfinite(x)][:40]
    pairs = np.array([*itertools.product(x, repeat=2)])
    x, y = pairs[:, 0].astype(x.dtype), pairs[:, 1].astype(x.dtype)
    if name == "div" and dtype.startswith("int"):
        least = np.iinfo(x.dtype).min
        x, y = x[x != least], y[x != least]
    function = getattr(lax, name)
    left_to_jax = 3 * (name == "shift_right_arithmetic" and dtype == "uint8")
    assert (
        both(lambda x, y: [function(x, y), function(x[20], y[20]), function(x[:0], y[:0])], x, y).left_to_jax
        == left_to_jax
    )


ALL = [*FLOATS, *INTEGERS, "bool"]


@pytest.mark.parametrize(("before", "after"), [each for each in itertools.product(ALL, repeat=2) if each[0] != each[1]])
def test_casts(before, after):
    x = values(before)
    if before == "float64":  # what lies around the ends of the whole numbers
        x = np.concatenate(
            [x, [2.0**62, -(2.0**63), 2.0**63, 2.0**64, 1e300, 127.5, -128.5, 255.5, -1e300, 2.0**31 - 0.5]]
        )
    assert both(lambda x: lax.convert_element_type(x, after), x).left_to_jax == 0


REDUCTIONS = ["argmax", "argmin", "cumsum", "cumprod", "cummax", "cummin"]
REDUCTIONS += ["reduce_sum", "reduce_prod", "reduce_max", "reduce_min"]


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int32", "uint8"])
def test_reductions(name, dtype):
    x = (np.arange(24).reshape(2, 3, 4) % 7 - 2).astype(jnp.dtype(dtype))
    function = {"argmax": jnp.argmax, "argmin": jnp.argmin}.get(name) or getattr(lax, name)

    def program(x, empty):
        yield function(x, (0, 2)) if name.startswith("reduce") else function(x, 0)
        for axis in range(3):
            yield function(x, (axis,) if name.startswith("reduce") else axis)
            if name.startswith("cum"):
                yield function(x, axis, reverse=True)
        if name.startswith("reduce"):
            yield function(empty, (1,))

    both(lambda *operands: [*program(*operands)], x, x[:, :0])
    if dtype == "float32":
        x = x.copy()
        x[1, 1, 1] = np.nan
        both(lambda x: function(x, (1,) if name.startswith("reduce") else 1), x)


A = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
V = np.arange(4.0, dtype=np.float32)
X = (np.arange(2.0 * 4 * 5 * 6) % 7 - 3).reshape(2, 4, 5, 6)
K = (np.arange(6.0 * 4 * 3 * 2) % 5 - 2).reshape(6, 4, 3, 2)
I = np.array([[0, 2], [1, 0], [5, -1]])  # noqa: E741 - indices
ARRAYS = "AVIXK"
FORMS = {
    "reshape": lambda: jnp.reshape(A, (4, 6)),
    "transpose": lambda: (jnp.transpose(A, (2, 0, 1)), lax.reshape(A, (4, 6), (2, 0, 1))),
    "rev": lambda: lax.rev(A, (0, 2)),
    "broadcast": lambda: jnp.broadcast_to(V, (2, 3, 4)) * A[:, :, :1],
    "squeeze, expand_dims": lambda: jnp.squeeze(A[:1], 0)[:, None],
    "concatenate": lambda: jnp.concatenate([A, A[:, :1]], 1),
    "pad": lambda: lax.pad(A, np.float32(7), ((1, 2, 0), (-1, 1, 2), (0, -2, 1))),
    "slice": lambda: lax.slice(A, (0, 1, 0), (2, 3, 4), (1, 2, 3)),
    "dynamic_slice": lambda: lax.dynamic_slice(A, (jnp.sum(I), 0, -3), (1, 2, 2)),
    "dynamic_update_slice": lambda: lax.dynamic_update_slice(A, A[:1, :2] * 2, (jnp.sum(I), 9, 0)),
    "select_n": lambda: jnp.where(A > 3, A, -A) + jnp.where(A[0, 0, 0] > 0, A, 1.0),
    "select_n of whole numbers": lambda: lax.select_n(jnp.array([0, 2, 1]), V[:3], V[1:], V[:3] * 5),
    "clamp": lambda: lax.clamp(np.float32(2), A, np.float32(9)),
    "split": lambda: jnp.split(A, [1, 3], axis=2),
    "sort": lambda: (jnp.sort(-A, 1), jnp.argsort(A % 5, 2), lax.sort((A % 3, A), dimension=1, num_keys=2)),
    "round": lambda: (lax.round(A / 4), lax.round(A / 4, lax.RoundingMethod.TO_NEAREST_EVEN)),
    "powers": lambda: (
        A**3,
        lax.integer_pow(A, -2),
        lax.integer_pow(A, 0),
        A**1.5,
        lax.pow(A, 2),
        2.0**A,
        lax.pow(V - np.inf, np.float32(0.5)),
    ),
    "bits": lambda: lax.bitcast_convert_type(A, np.int32),
    "reduce_and, reduce_or, reduce_xor": lambda: (jnp.all(A > 3, 1), jnp.any(A > 3), lax.reduce_xor(I, (0,))),
    "iota": lambda: A + lax.broadcasted_iota(np.float32, (2, 3, 4), 1),
    "matrix products": lambda: (A[0] @ A[1].T, A @ V, V @ V, jnp.einsum("bij,bkj->bik", A, A), jnp.outer(V, V)),
    "a product of several axes": lambda: jnp.einsum("bij,cij->bc", A, A[:, ::-1]),
    "a product of nothing": lambda: A[:, :, :0] @ jnp.zeros((0, 5), np.float32),
    "a product of halves": lambda: A[0].astype(np.float16) @ A[1].T.astype(np.float16),
    "a product of whole numbers": lambda: I.T @ I,
    "take": lambda: jnp.take(A, I, axis=2, mode="clip"),
    "take, filled": lambda: jnp.take(A, I, axis=1, mode="fill"),
    "take, filled with whole numbers": lambda: jnp.take(I, I, axis=0, mode="fill"),
    "indexed": lambda: (A[I % 2, 1], A[:, I % 3, I % 4], A[0, :, I[0] % 4], jnp.take_along_axis(A, I[None] % 4, 2)),
    "batched": lambda: jax.vmap(lambda a, i: a[:, i])(A, I[:2] % 4),
    "set": lambda: A.at[I % 2, 1].set(7.0),
    "added": lambda: (A.at[:, I].add(1.0), A.at[0, :, I % 4].add(2.0), A.at[I].add(1.0, mode="clip")),
    "multiplied": lambda: (A.at[:, I].multiply(2.0), A.at[I % 2].max(9.0), A.at[:, :, I % 4].min(3.0)),
    "batched sets": lambda: jax.vmap(lambda a, i: a.at[:, i].add(1.0))(A, I[:2] % 4),
    "scan": lambda: lax.scan(lambda c, x: (c + x, c * x), jnp.zeros((3, 4), np.float32), A),
    "scan from the end": lambda: lax.scan(
        lambda c, x: (c * 0.5 + x, c), jnp.zeros((3, 4), np.float32), A, reverse=True
    ),
    "while_loop": lambda: lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] * 2), (0, A)),
    "cond": lambda: lax.cond(A[0, 0, 0] > 0, jnp.sin, jnp.cos, A),
    "switch": lambda: lax.switch(jnp.sum(I), [jnp.sin, jnp.cos, jnp.tan], A),
    "stacks": lambda: (jnp.stack([A, A * 2], 1), [*A]),
    "platforms": lambda: lax.platform_dependent(A, cpu=jnp.sin, default=lambda x: jnp.sin(x) * 1),
    "convolutions": lambda: [
        lax.conv_general_dilated(X, K, **options)
        for options in (
            {"window_strides": (1, 1), "padding": "SAME"},
            {"window_strides": (2, 1), "padding": ((0, 2), (-1, 1)), "rhs_dilation": (1, 2)},
            {"window_strides": (1, 1), "padding": ((1, 1), (2, 0)), "lhs_dilation": (2, 3)},
        )
    ],
    "convolutions in groups": lambda: (
        lax.conv_general_dilated(X, K[:, :2], (1, 1), "VALID", feature_group_count=2),
        lax.conv_general_dilated(X, K, (1, 1), "SAME", batch_group_count=2),
        lax.conv_general_dilated(X[:, :, 0], K[:, :, 0], (2,), "SAME"),
    ),
    "gradients of a convolution": lambda: jax.grad(
        lambda x, k: jnp.sum(jnp.square(lax.conv_general_dilated(x, k, (2, 1), "SAME", rhs_dilation=(1, 2)))), (0, 1)
    )(X, K),
    "gradients of a grouped convolution": lambda: jax.grad(
        lambda x, k: jnp.sum(jnp.square(lax.conv_general_dilated(x, k, (1, 2), "SAME", feature_group_count=2))), (0, 1)
    )(X, K[:, :2]),
    "kernels larger than what they are moved over": lambda: (
        lax.conv_general_dilated(K, X, (1, 1), ((3, 4), (5, 2))),
        lax.conv_general_dilated(K[:, :2], X[:, :1], (1, 1), ((4, 4), (5, 5)), feature_group_count=2),
        lax.conv_general_dilated(K, X, (1, 1), ((4, 4), (5, 5)), batch_group_count=2),
        lax.conv_general_dilated(K, X, (2, 1), ((4, 4), (5, 5))),
    ),
    "kernels of one entry, and as large as the image": lambda: (
        lax.conv_general_dilated(X, K[:, :, :1, :1], (1, 1), "VALID"),
        jax.grad(lambda x, k: jnp.sum(jnp.sin(lax.conv_general_dilated(x, k, (1, 1), "VALID"))), (0, 1))(
            X, K[:, :, :1, :1]
        ),
        lax.conv_general_dilated(X, X + 1, (1, 1), "VALID"),
        jax.grad(lambda x: jnp.sum(jnp.sin(lax.conv_general_dilated(x, X, (1, 1), "VALID"))))(X),
        lax.conv_general_dilated(K[:, :, :1, :1], X, (1, 1), ((4, 4), (5, 5))),
    ),
    "another order of dimensions": lambda: lax.conv_general_dilated(
        X.transpose(0, 2, 3, 1), K.transpose(2, 3, 1, 0), (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    ),
    "calls": lambda: jax.jit(jax.checkpoint(jax.nn.relu))(A - 5) + jax.nn.silu(A),
    "gradient": lambda: jax.grad(lambda a: jnp.sum(jnp.tanh(a @ V) ** 2 / (1 + jnp.exp(-a[..., 0]))))(A / 90),
    "hessian": lambda: jax.hessian(lambda v: jnp.sum(jnp.sin(v) * v[::-1]))(V),
}
UNKNOWN = {
    "erf": lambda: lax.erf(A),
    "cumulative": lambda: lax.cumlogsumexp(A, 1),
}


def as_arguments(function):
    """`function` reads the arrays above; traced, they are arguments, or all of it would be constants."""

    def traced(*given):
        saved = dict(globals())
        globals().update(zip(ARRAYS, given, strict=True))
        try:
            return function()
        finally:
            globals().update({each: saved[each] for each in ARRAYS})

    return traced


@pytest.mark.parametrize("name", FORMS)
def test_forms(name):
    assert both(as_arguments(FORMS[name]), A, V, I, X, K).left_to_jax == 0


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_numpy_has_not_is_left_to_jax(name):
    assert both(as_arguments(UNKNOWN[name]), A, V, I, X, K).left_to_jax > 0


def test_every_row_is_tried():
    tried = set()
    functions = [as_arguments(each) for each in FORMS.values()]
    for function in functions:
        tried |= _primitives(jax.make_jaxpr(function)(A, V, I, X, K).jaxpr)
    named = {each for table in (UNARY, BINARY) for names in table.values() for each in names.split()}
    named |= {each.replace("bitwise_", "") for each in named} | {*REDUCTIONS}
    assert {each.replace("-", "_") for each in tried} | named >= ROWS.keys() - NOT_MADE_BY_THESE


NOT_MADE_BY_THESE = {
    "one_minus_square",
    "copy",
    "empty2",
    "unstack",
    "copy_p",
    "stop_gradient",
    "optimization_barrier",
    "expand_dims",
    "convert_element_type",
    *("svd", "eigh", "eig", "qr", "geqrf", "cholesky", "lu", "lu_pivots_to_permutation", "triangular_solve"),
}
"""Names under which other versions of JAX have them, or that are tried above or in `test_decompositions`."""


def _primitives(jaxpr):
    found = set()
    for equation in jaxpr.eqns:
        found.add(equation.primitive.name)
        for each in jax.tree.leaves([*equation.params.values()], is_leaf=lambda each: hasattr(each, "eqns")):
            inner = getattr(each, "jaxpr", each)
            if hasattr(inner, "eqns"):
                found |= _primitives(inner)
    return found


def test_windows_of_a_large_kernel_take_little_memory():
    """As wide as the kernel they would be 500 MB, most of it padding."""
    shapes = [jax.ShapeDtypeStruct((8, 8, size, size), np.float64) for size in (3, 31)]
    with jax.enable_x64(True):
        traced = jax.make_jaxpr(lambda x, k: lax.conv_general_dilated(x, k, (1, 1), [(30, 30)] * 2))(*shapes)
    interpreter, operands = interpreter_of(traced), [np.ones(each.shape) for each in shapes]
    tracemalloc.start()
    (result,) = interpreter(*operands)
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()
    assert result[0, 0, 0, 0] == 8
    assert result[0, 0, 16, 16] == 72


def test_large_values_are_let_go_of(monkeypatch):
    """Of forty results in a row two are there at a time."""
    made, most = [], 0

    class Watched(np.ndarray):
        pass

    def watched(x):
        nonlocal most
        result = np.array(x * 0.5).view(Watched)
        made.append(weakref.ref(result))
        most = max(most, sum(each() is not None for each in made))
        return result

    monkeypatch.setitem(ROWS, "sin", lambda equation: watched)

    def forty(x):
        for _ in range(40):
            x = jnp.sin(x)
        return x

    x = np.ones((64, 64), np.float32)
    interpreter_of(jax.make_jaxpr(forty)(x))(x)
    assert 1 <= most <= 2


def test_a_wrong_row_is_seen(monkeypatch):
    monkeypatch.setitem(ROWS, "add", ROWS["sub"])
    with pytest.raises(AssertionError, match="Mismatched"):
        both(lambda x: x + 1, V)


def test_what_nobody_reads_is_not_computed():
    interpreter = both(lambda x: shared(x, largest, (0,)), np.ones(3))
    assert len(interpreter._steps) < 8 < interpreter.equations  # how many are equal is asked by the derivative alone
    seen = []

    def told(x):
        jax.debug.callback(seen.append, x)  # has no results, and is done all the same
        return x * 2

    assert interpreter_of(jax.make_jaxpr(told)(1.0))(np.float32(3))[0] == 6
    jax.effects_barrier()
    assert seen == [3]


def test_numpy_does_not_warn_and_a_callback_has_its_thread_s_context():
    def divided(x):
        return x / 0

    with warnings.catch_warnings(action="error"):
        assert np.isnan(interpreter_of(jax.make_jaxpr(divided)(0.0))(np.float32(0))[0])
    asked = ContextVar("asked")
    asked.set(5.0)

    def calling(x):
        return jax.pure_callback(lambda _: np.float32(asked.get()), jax.ShapeDtypeStruct((), "float32"), x)

    assert interpreter_of(jax.make_jaxpr(calling)(1.0))(np.float32(3))[0] == 5
    assert np.geterr()["divide"] == "warn"
