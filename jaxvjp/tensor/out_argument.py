"""`out=`: a result written into a tensor that the caller gives, as `torch.add(x, y, out=z)` writes it into z."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from jaxvjp.core.record.modes import grad_mode, transforming
from jaxvjp.core.record.promotion import converted
from jaxvjp.ops.layouts import contiguous_strides
from jaxvjp.tensor.apply import castable
from jaxvjp.tensor.autocasting import tensors_of
from jaxvjp.tensor.storage import OVERLAP
from jaxvjp.tensor.tensor import Tensor, wrap
from jaxvjp.tensor.view_steps import strided_step
from jaxvjp.types.dtypes import CTYPES, bool_, uint8
from jaxvjp.types.user_code import own_name, warn_user

OUT = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Tensor | None)


RESIZED = (
    "An output with one or more elements was resized since it had shape {own}, which does not match the required "
    "output shape {new}. This behavior is deprecated, and in a future PyTorch release outputs will not be resized "
    "unless they have zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero "
    "elements with t.resize_(0)."
)
COUNTED = (
    "The number of elements in the out tensor of shape {own} is {count} which does not match the computed number of "
    "elements {needed}. Note that this may occur as a result of rounding error. The out tensor will be resized to a "
    "tensor of shape ({needed},)."
)
"""What torch says of an `out` of another size; `arange` has words of its own."""


TYPE = "Expected out tensor to have dtype {}, but got {} instead"
FOUND = "Found dtype {out} but expected {own}"
_NAMES = {
    TYPE: "mm bmm matmul addmm baddbmm linalg_cross cross linalg_vector_norm norm softmax log_softmax linalg_inv "
    "linalg_solve linalg_det linalg_cholesky linalg_svdvals linalg_eigvalsh take_along_dim tril triu diag "
    "slice_scatter slice_copy msort alias_copy permute_copy t_copy transpose_copy unsqueeze_copy squeeze_copy "
    "diagonal_copy argmax argmin isin inverse linalg_matrix_exp mv addmv lu_solve linalg_lu_solve linalg_ldl_solve "
    "linalg_matrix_power matrix_power",
    FOUND: "neg abs clamp_min clamp_max clamp ceil floor trunc round frac sign sgn conj_physical hardshrink",
    "result dtype {out} does not match input dtype {own}": "dot vdot",
    "tensordot: Expected the output tensor to have dtype {own}, but got an output tensor with dtype {out}": "inner "
    "tensordot",
    "Expected the dtype for input and out to match, but got {own} for input's dtype and {out} for out's dtype.": "amax "
    "amin",
    "expected scalar_type {own} but found {out}": "logcumsumexp cummax cummin",
    "nan_to_num: dtype of out: {out} should be same as input: {own}": "nan_to_num",
    "linalg.vecdot: Expected out of dtype{own} but found {out}": "linalg_vecdot",
    "linalg.matrix_norm expected out tensor dtype {own} but got: {out}": "linalg_matrix_norm nuclear_norm",
    "linalg.norm expected out tensor dtype {own} but got: {out}": "linalg_norm",
    "multi_dot(): expected out tensor to have dtype {} but got {}": "linalg_multi_dot chain_matmul",
    "expected scalar type {own} but found {out}": "linalg_solve_triangular",
    "torch.ormqr: Expected input and result to have the same dtype, but input has dtype{own} and result has dtype "
    "{out}": "ormqr",
    "self and mat2 must have the same dtype, but got {out} and {own}": "addbmm",
    "the output given to float_power has dtype {out} but the operation's result requires dtype {own}": "float_power",
    "{name} does not support non-boolean outputs.": "isposinf isneginf signbit",
    "{name} only supports bool tensor for result, got: {out}": "all any",
    "quantile() out tensor must be same dtype as the input tensor": "quantile nanquantile",
    "torch.frexp() expects mantissa to have dtype {} but got {}|"
    "torch.frexp() expects exponent to have int dtype but got {1}": "frexp",
    "expected scalar type '{own}' but got '{out}' for values output|"
    "expected scalar type '{own}' but got '{out}' for indices output": "mode",
    "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {} and hist {}|"
    "torch.histogram: input tensor and bin_edges tensor should have the same dtype, but got input {} and bin_edges {} "
    "for dimension 0": "histogram",
    "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type torch.{out}Tensor "
    "does not equal torch.{own}Tensor (while checking arguments for median)|"
    "Expected tensor for argument #1 'indices' to have scalar type {own}; but got torch.{out}Tensor instead (while "
    "checking arguments for median)": "median nanmedian",
    "output values must be of same type as input|output indices must be of scalar type Long": "kthvalue",
}
EXACT = {name: words for words, names in _NAMES.items() for name in names.split()}
"""Functions whose `out` has to be of the result's type, and what torch says where it is of another; of several
results it says one thing for each."""
CAST = "{name}: Expected {part} to be safely castable from {own} dtype, but got {part} with dtype {out}"
UNCAST = {
    "cholesky": ("cholesky", "result"),
    "cholesky_inverse": ("cholesky_inverse", "result"),
    "cholesky_solve": ("cholesky_solve", "result"),
    "geqrf": ("torch.geqrf", "a", "tau"),
    **dict.fromkeys(("linalg_householder_product", "orgqr"), ("torch.linalg.householder_product", "result")),
    "linalg_eig": ("torch.linalg.eig", "eigenvalues", "eigenvectors"),
    "linalg_eigvals": ("torch.linalg.eigvals", "eigenvalues"),
    "lstsq": ("torch.linalg.lstsq", "solution", "solution", "rank", "singular_values"),
    "linalg_pinv": ("linalg.pinv", "result"),
    "linalg_cond": ("linalg.cond", "result"),
    "linalg_matrix_rank": ("torch.linalg.matrix_rank", "result"),
    **dict.fromkeys(("linalg_matrix_power", "matrix_power"), ("matrix_power", "result")),
    "linalg_tensorinv": ("tensorinv", "result"),
    "linalg_tensorsolve": ("tensorsolve", "result"),
}
"""Functions with words of their own where `out` cannot hold the result: what they call themselves and each result.
Their several results may be of other types."""
BOOLEANS = frozenset(["all", "any"])
"""Functions that write their truth values into a tensor of uint8, too."""


def writing_out(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """`function` with the additional argument `out=`."""

    @wraps(function)
    def with_out(*arguments: Any, out: Any = None, **named: Any) -> Any:
        given = tensors_of((*arguments, *named.values()))
        return written_into(name, lambda: function(*arguments, **named), out, given, exact=True)

    own = inspect.signature(function, eval_str=True)
    with_out.__signature__ = own.replace(parameters=[*own.parameters.values(), OUT])  # type: ignore[attr-defined]
    return with_out


def written_into(name: str, compute: Callable[[], Any], out: Any, given: list[Tensor], exact: bool) -> Any:
    """The result of `compute`, written into `out` if there is one."""
    if out is None:
        return compute()
    if not isinstance(out, Tensor | tuple | list):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    targets = (out,) if isinstance(out, Tensor) else tuple(out)
    if grad_mode().enabled and any(each.requires_grad for each in (*targets, *given)):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad.\nWrite `y = ...` for a new tensor, or switch recording off: "
            f"`with {own_name()}.no_grad():`."
        )
    level = transforming().level
    if level is not None and any(level.carries(each.__node__) for each in (*targets, *given)):
        raise NotImplementedError(
            f"Trying to use forward AD with {name}_out that does not support it because it is an out= function\n"
            "Write `y = ...` for a new tensor."
        )
    computed = compute()
    results = computed if isinstance(computed, tuple) else (computed,)
    for place, (target, result) in enumerate(zip(targets, results, strict=True)):
        target.__check_writable__()
        _check_cast(name, target, result, place)
        if (name not in UNCAST and (exact or len(targets) > 1)) or _alike(name, given):
            _check_type(name, target, result, place)
        if exact:
            _check_apart(target, result, given)
        elif target.shape == result.shape:
            target.__check_apart__()
            for each in given:
                target.__check_overlap__(each)
    for target, result in zip(targets, results, strict=True):
        write_out(target, result)
    if isinstance(out, Tensor):
        return out
    return type(computed)(*targets) if hasattr(computed, "_fields") else targets


def _alike(name: str, given: list[Tensor]) -> bool:
    """Whether the `out` of a function has to be of the result's type: for some if they are of one real tensor."""
    words = EXACT.get(name)
    return words is not None and (words is not FOUND or (len(given) == 1 and not given[0].dtype.is_complex))


def _check_cast(name: str, target: Tensor, result: Tensor, place: int) -> None:
    own, out = result.dtype, target.dtype
    if name in UNCAST and not castable(own, out):
        said, *parts = UNCAST[name]
        told = CAST.format(name=said, part=parts[place], own=own.legacy, out=out.legacy)
        raise RuntimeError(f"{told}\nMake the tensor given as `out` with dtype={own}.")


def _check_type(name: str, target: Tensor, result: Tensor, place: int) -> None:
    own, out = result.dtype, target.dtype
    if own is not out and not (name in BOOLEANS and out in (bool_, uint8)):
        words = EXACT.get(name, TYPE).split("|")
        text = words[min(place, len(words) - 1)]
        raise RuntimeError(text.format(CTYPES[own.name], CTYPES[out.name], own=own.legacy, out=out.legacy, name=name))


def _check_apart(target: Tensor, result: Tensor, given: list[Tensor]) -> None:
    target.__check_apart__()
    # If it has to grow, it would overwrite the rest of its storage.
    grows = target.shape != result.shape
    if any(each.storage is target.storage and (grows or each.__shares_memory__(target)) for each in given):
        raise RuntimeError(OVERLAP)


def write_out(target: Tensor, result: Tensor, told: str = RESIZED) -> Tensor:
    """Writes `result` into `target`, which is resized where it has another shape, and returns it.

    `told` is the warning for one that had elements; none, where it is empty.
    """
    if not castable(result.dtype, target.dtype):
        raise RuntimeError(
            f"result type {result.dtype.legacy} can't be cast to the desired output type {target.dtype.legacy}\n"
            f"The tensor given as `out` is {target.dtype}; make it with dtype={result.dtype}."
        )
    node = converted(result.__node__, target.dtype)
    if target.shape == result.shape:
        target.__write__(node)
        return target
    if target.numel() and told:
        sizes = {"own": list(target.shape), "count": target.numel(), "new": list(result.shape)}
        warn_user(told.format(**sizes, needed=result.numel()))
    begins = target.storage_offset()
    if begins + result.numel() <= target.__contents__.aval.layout.size and target._base is not None:
        step = strided_step(target.__contents__, tuple(result.shape), contiguous_strides(tuple(result.shape)), begins)
        target.__move__(target.storage, (step,))
        target.__write__(node)
    else:
        target.__count_write__(node.where)
        target.data = wrap(node)
    return target
