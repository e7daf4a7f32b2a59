"""Exceptions for single ops: tolerances, and deliberate differences.

Names are those in torch's database.
"""

from __future__ import annotations

TOLERANCE: dict[str, dict[str, tuple[float, float]]] = {
    "*": {
        "float64": (1e-7, 1e-9),
        "complex128": (1e-7, 1e-9),
        "float32": (1e-4, 1e-5),
        "complex64": (1e-4, 1e-5),
        "float16": (2e-2, 2e-2),
        "bfloat16": (1e-1, 5e-2),
    },
    # torch's own rounding error of these two is up to 14 times the common tolerance, measured against float64; ours is
    # less.
    "linalg.householder_product": {"float32": (1e-3, 1e-4), "complex64": (1e-3, 1e-4)},
    "matrix_exp": {"float32": (1e-3, 1e-3)},
    "linalg.matrix_exp": {"float32": (1e-3, 1e-3)},
    "native_layer_norm": {"float32": (1e-4, 5e-4)},  # at a variance of 0 torch's result is rounding noise
    "grid_sampler_2d": {"float32": (1e-4, 1e-4)},
    "grid_sampler_3d": {"float32": (1e-4, 1e-4)},
    # Five decompositions one after the other: torch's gradients in single precision are off by 2e-4 of the largest,
    # ours by 1e-5 at most.
    "svd_lowrank": {"complex128": (1e-6, 1e-8), "complex64": (1e-3, 1e-3)},
    "pca_lowrank": {"complex64": (1e-3, 1e-3)},
    # torch's own have only seven correct digits near their zeros; ours have twelve, as a test against SciPy shows.
    **{f"special.{name}": {"float64": (1e-5, 2e-6)} for name in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1")},
    "special.airy_ai": {"float64": (1e-5, 1e-5)},
    # Sums of hundreds of products of up to 81: if they cancel, torch's own are off by 2e-4, measured against float64.
    "nn.functional.conv_transpose3d": {"float32": (1e-4, 3e-4)},
    "nn.functional.ctc_loss": {"float32": (1e-3, 1e-4)},
    "nn.functional.grid_sample": {"float32": (1e-4, 1e-4)},
    # If one weight of the softmax is 1, gradients of hundreds cancel: to 0, or to rounding errors, by the order of
    # summation.
    "nn.functional.multi_head_attention_forward": {"float32": (1e-4, 2e-2), "float64": (1e-7, 1e-7)},
    "nn.functional.layer_norm": {"float32": (1e-4, 5e-4)},
    "nn.functional.scaled_dot_product_attention": {"float32": (1e-4, 1e-4)},
    # The samples' weights are float32, and so are some sums of them.
    "cov": dict.fromkeys(("float64", "complex128", "float32", "complex64"), (1e-4, 5e-4)),
    "logcumsumexp": {"float32": (1e-3, 1e-4), "complex64": (2e-3, 1e-4)},  # torch's own cumulative sum is less precise
    "logsumexp": {"complex64": (5e-2, 1e-4)},  # torch takes the exponential of a small difference of large phases
    # Its gradient divides by differences of singular values: torch's is as far from that in double precision.
    "svd": {"float32": (1e-3, 1e-4)},
    "linalg.svd": {"float32": (1e-3, 1e-4)},
    # For nearly singular matrices torch's gradients are off by 1.7 times the common tolerance, ours by 0.6 times.
    "linalg.lstsq": {"float32": (1e-3, 1e-4)},
}
"""Relative and absolute tolerances by op and dtype; integers and bools have to be equal."""

COSTLY = frozenset(["grid_sampler_3d", "pca_lowrank", "svd_lowrank"])
"""Ops that take seconds to compile: one sample of each dtype is run, unless all are asked for."""

UNDEFINED_VALUES = frozenset(
    ["empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"]
)
"""Ops that return uninitialized memory."""

ANY_OF_EQUAL: dict[str, int | None] = {
    "argsort": None,
    "kthvalue": 0,
    "median": 0,
    "mode": 0,
    "msort": 0,
    "nanmedian": 0,
    "sort": 0,
    "topk": 0,
}
"""Ops whose indices torch does not determine if elements are equal, as they often are in small dtypes; with the
position of the result that is determined."""

NO_GRADIENT = frozenset(
    ["linalg.householder_product", "linalg.norm", "linalg.vector_norm", "masked.norm", "masked.normalize", "norm"]
)
"""Ops for which torch gives None in place of a zero gradient, such as a norm of order 0, or a product of no
reflections; jaxvjp gives zeros."""

UNDEFINED: dict[tuple[str, str], str] = {
    ("renorm", "complex64"): "torch looks for the largest magnitude, taken in double precision, among those in single",
}
"""By op and dtype, why torch gives NaN by its own rounding; there is nothing to compare with."""

OTHER_WORDS: dict[str, str] = {
    "amax": "torch has a rule of its own for the dtype of `out` here; ours is that of most ops",
    "amin": "as for amax",
    "aminmax": "as for amax",
    "complex": "as for amax",
    "cov": "whether weights are negative would have to be read",
    "arange": "torch looks at the step before the dtype of `out`",
    "__rdiv__": "torch tells which method of a number it looked for",
    "narrow_copy": "torch gives the text of an assertion in its source",
    "multinomial": "torch looks at a row's entries in another order",
    "bernoulli": "torch refuses an expanded `out`; here the one sample's is resized first",
}
"""Ops, by name, whose error messages for bad input differ from torch's, and why."""

DIFFERS: dict[str, str] = {
    "as_strided_scatter": "torch's gradient of the first argument is that of the part which is replaced",
    "chalf": "JAX has no complex32; `torch.complex32` is only a name here",
}
"""Ops, by title (`max.reduction_with_dim`), that deliberately differ from torch somewhere, and why."""

NOT_DENSE = ("sparse.*", "jiterator*", "torch.*", "to_sparse")
"""Ops for sparse tensors, CUDA kernels or torch's internals, which do not count as missing."""

WHAT_IT_TAKES: dict[str, str] = {
    "slice": "torch has it as an operator of its compiler only; here it is `x[a:b:c]`",
    "linalg.ldl_*": "LAPACK's factors L and D with pivots of two rows, which JAX has not; torch has no gradient either",
    "ldl_*": "as linalg.ldl_factor",
    "sparse.*": "sparse tensors",
    "hash_tensor": "integers of 64 bits without sign, which the library has not",
    "max_pool2d_with_indices_backward": "torch's samples call `torch.ops.aten`; here: the gradient of `max_pool2d`",
    "jiterator*": "CUDA kernels given as text",
    "to_sparse": "sparse tensors",
    "torch.*": "torch's samples call `torch.ops.aten`: kernels of its compiler, and of 8-bit types",
    "chalf": "a complex type of 32 bits, which JAX has not",
}
"""For missing ops that need more than a row: what they need."""

EDGES = (
    "`linspace` between bounds whose difference overflows is finite, `gelu` at infinity infinite, for however many "
    "elements, and the slope of `special.i1` at NaN is NaN; torch's are not.",
    "`nan_to_num` of complex numbers has a derivative, which torch refuses.",
    "`float16` and `bfloat16`: of a formula of several steps only the result is rounded; torch rounds some steps too "
    "(`xlogy`, `addr`, `addmv`, `trapezoid`), but not the product in `addmm`, `linear` and convolutions before the "
    "bias is added, which is here. And "
    "`torch.mul(0.1, x)` is `0.1 * x`, where torch first rounds the number.",
    "Integers divided by a tensor that holds 0 raise torch's error; inside `vmap`, where nobody looks at values, they"
    " give some integer.",
    "The index of one of several equal elements (`kthvalue`, `topk`, unstable `sort`) is torch's only where torch "
    "says which; and `mode` among NaN, which torch's sorting leaves anywhere, is that of the numbers.",
    "`prod` and `cumprod` of factors among which are both 0 and infinity or NaN: slopes are products of the others; "
    "torch's depend on `create_graph`.",
    "Second derivatives where torch's formula of the first is masked or overflows (`atan2` and `angle` at 0, "
    "`copysign`, `logaddexp` of an infinity, `gelu` at 1e200, `sinc` at 0, norms of orders other than 1, 2 and 3 at "
    "elements that are 0, `renorm` of NaN) are mostly 0, and torch's NaN; that of a norm is NaN where the norm is 0, "
    "as torch's.",
    "`logsumexp` and `logcumsumexp` of numbers beside which 1 is nothing, such as 1e30: the slopes add up to 1; "
    "torch's `exp(input - result)` do not, for the result is rounded.",
    "At their poles `digamma` and `polygamma` have infinite slopes, and the latter infinite values; torch's are the "
    "large numbers that come of a rounded π. The slope of `special.zeta` is NaN for an `other` that is not positive; "
    "torch's is infinite.",
    "A fractional power is derived by itself; torch takes roots for the exponents 0.5 and -0.5 and C's `pow` for "
    "others, in its formulas, too, and so slopes at minus infinity and curvatures at -0 may differ.",
    "The mean beside an infinity that `var_mean` and `std_mean` give is infinite, as `mean`'s; torch's is NaN unless "
    "the infinity is the last number.",
    "`cdist` is computed by differences, and has derivatives of any order; torch multiplies matrices from 26 rows on,"
    " so that of infinities it is NaN, and the distance of a row from itself not 0. For order infinity NaN makes a "
    "distance NaN; torch passes over it.",
    "The slopes of `logit` at -0 and of `hardtanh`, `relu6`, `hardshrink` and `softshrink` at NaN: torch's depend on "
    "the place in memory.",
    "XLA's exponential of a float32 is finite before it is rounded, and so in one program with `x.exp()` the "
    "difference `x.exp() - x` is minus infinity at infinity; torch's is NaN.",
    "The gradient of a norm of order 0 is zeros; torch's is None.",
    "The slope of `polar` in the magnitude is that of forward mode, in torch as well; torch's backward pass has 0 for "
    "a magnitude of 0, and the opposite sign for a negative one.",
    "Derivatives of `x ** y` at x = 0, for y a tensor with 0 or 1, are those of the numbers 0 and 1: 0. torch's are "
    "NaN from the second order on for y = 0, and from the third for y = 1.",
    "If several elements of the source go to one place and are not added up (`x[i] = y`, `index_put`, `put`, "
    "`scatter`, `index_copy`), the one that stays, which is the last one on a CPU, has the gradient of that place, "
    "and the others 0. torch gives all of them that gradient.",
    "Equal elements in `scatter_reduce` and `index_reduce` with `amax` or `amin` share the gradient. Without "
    "`include_self` they share all of it; torch counts the element of `input`, if that is equal, and gives it 0.",
    "A complex number divided by zero is NaN in both parts, also in slopes (`sqrt` at 0, `atanh` at -1); in torch one"
    " may be infinite, by the instructions that divide.",
    "The slope of `ldexp` is the power of two; torch computes that in the exponent's integer type, in which `2 ** -1`"
    " is 0.",
    "What `zero_`, `fill_`, `copy_` or an indexed write has replaced gets zeros; torch sends zeros on, which become "
    "NaN where a slope further back is infinite.",
    '`interpolate` of lines and volumes with "nearest": the gradient goes to the elements that were read; torch\'s '
    "goes to others where a length doubles by a factor that is not 2.",
    "`searchsorted` takes NaN for the largest number, as `sort` does; in torch a NaN among the boundaries leads its "
    "search astray.",
    "The gradient of `det` at a singular matrix is that of the adjugate; torch's is 0 where its factors are exact.",
    "The triangle that `cholesky_ex` gives for what is not positive-definite is NaN; torch's is what LAPACK left. "
    "`lstsq` of a singular matrix is the shortest solution, whatever the driver. NaN in a matrix is no LinAlgError for "
    "`cond` and norms, which read no values.",
    "`embedding_bag` with offsets that decrease, or with numbers behind the last offset: torch divides by their count"
    " or reads memory that nobody wrote, by the mode. With `scale_grad_by_freq` and numbers that repeat in one bag it"
    " divides the gradients of other rows.",
)
"""Deliberate differences from torch at the edges, as listed in the documentation."""
