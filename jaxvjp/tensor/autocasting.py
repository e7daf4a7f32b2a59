"""`autocast`: which ops cast their operands, inside its block, to a type of 16 bits or to float32, as torch's do.

The casts are recorded like the user's own `x.to(bfloat16)`, so a gradient has its parameter's type. Torch also keeps
each cast of a parameter for the block; here a compiled program has equal casts once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jaxvjp.core.record.modes import grad_mode
from jaxvjp.ops.neural.recurrence import recurrence
from jaxvjp.ops.op import Op
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.devices import of
from jaxvjp.types.dtypes import FLOATING, bfloat16, dtype, float16, float32, float64, forget_calls

LINEAR = (
    "addbmm addmm baddbmm bmm chain_matmul conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d "
    "einsum linalg_multi_dot linear matmul mm multi_head_attention prelu scaled_dot_product_attention tensordot"
)
FULL = (
    "binary_cross_entropy_with_logits cdist cosine_embedding_loss cross_entropy hinge_embedding_loss kl_div l1_loss "
    "margin_ranking_loss mse_loss multi_margin_loss multilabel_margin_loss nll_loss poisson_nll_loss prod "
    "smooth_l1_loss soft_margin_loss triplet_margin_loss"
)
ROWS = {
    "cpu": {
        "low": f"{LINEAR} linalg_vecdot lstm rnn_relu rnn_tanh",
        "full": f"{FULL} adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy cholesky "
        "cholesky_inverse cholesky_solve ctc_loss fractional_max_pool2d fractional_max_pool3d geqrf grid_sample "
        "huber_loss inverse linalg_cholesky linalg_cholesky_ex linalg_cond linalg_eig linalg_eigh linalg_eigvals "
        "linalg_eigvalsh linalg_householder_product linalg_inv linalg_inv_ex linalg_lstsq linalg_matrix_rank linalg_qr "
        "linalg_solve linalg_svd linalg_svdvals linalg_tensorinv linalg_tensorsolve lu_solve max_pool3d max_unpool2d "
        "max_unpool3d nanquantile ormqr pinverse polar qr quantile svd trace triangular_solve "
        "fft_fft fft_fft2 fft_fftn fft_hfft fft_ifft fft_ifft2 fft_ifftn fft_ihfft fft_irfft fft_irfft2 fft_irfftn "
        "fft_rfft fft_rfft2 fft_rfftn",
        "widest": "cat index_copy stack",
    },
    "cuda": {
        "low": f"{LINEAR} addmv addr lstm gru mv rnn_relu rnn_tanh",
        "full": f"{FULL} acos asin cosh cosine_similarity cumprod cumsum dist erfinv exp expm1 group_norm layer_norm "
        "linalg_matrix_norm linalg_norm linalg_vector_norm log log10 log1p log2 log_softmax norm normalize pdist pow "
        "reciprocal renorm rsqrt sinh softmax softmin softplus sum tan",
        "widest": "addcdiv addcmul atan2 bilinear cat cross dot grid_sample index_put scatter_add stack",
    },
}
"""By device, torch's names of the ops whose operands are cast to the block's type ("low"), to float32 ("full"), or to
the widest type among them ("widest")."""
WAYS = {kind: {name: way for way, names in rows.items() for name in names.split()} for kind, rows in ROWS.items()} | {
    "tpu": {}
}
WAYS["tpu"] = WAYS["cuda"]
DEFAULTS = {"cpu": bfloat16, "cuda": float16, "tpu": bfloat16}
"""The type that a block casts to if it names none."""


class Autocasting:
    """Whether any block was ever entered; until then no call looks for one. `looking` has torch's names of the ops
    whose calls do, those of the devices that there were blocks for."""

    used = False
    looking: frozenset[str] = frozenset()


def begin_autocasting(kind: str) -> None:
    """Has every call of an op that is listed for the device look for a block: such calls are no longer remembered."""
    if not Autocasting.looking.issuperset(WAYS.get(kind, {})):
        Autocasting.looking |= {*WAYS[kind]}
        Autocasting.used = True
        forget_calls()


def looks_for_a_block(operation: Op) -> bool:
    """Whether calls of the op depend on the block that they are in."""
    return operation.torch_name in Autocasting.looking


@contextmanager
def suspended() -> Iterator[None]:
    """No casts, where torch has none: in an operation that writes into a tensor of the caller's, `out=`."""
    mode = grad_mode()
    before, mode.autocast = mode.autocast, ()
    try:
        yield
    finally:
        grad_mode().autocast = before


def autocasted(operation: Op, operands: tuple[Any, ...], static: tuple[Any, ...]) -> tuple[Any, ...]:
    """`operands`, with tensors cast as the block of this thread asks; those of float64 and of no floating type stay."""
    name = static[0] if operation is recurrence else operation.torch_name  # "lstm", "gru"
    for kind, to in grad_mode().autocast:
        way = WAYS[kind].get(name)
        given = [each for each in tensors_of(operands) if _eligible(each, kind)]
        if way is not None and given:
            return tuple([cast_if_eligible(operand, kind, _target(way, to, given)) for operand in operands])
    return operands


def _target(way: str, to: dtype, given: list[Tensor]) -> dtype:
    if way == "widest":
        types = {each.dtype for each in given}
        return types.pop() if len(types) == 1 else float32
    return to if way == "low" else float32


def tensors_of(operands: tuple[Any, ...]) -> list[Tensor]:
    """The tensors among operands, and in tuples among them."""
    return [one for each in operands for one in (each if type(each) is tuple else (each,)) if isinstance(one, Tensor)]


def _eligible(tensor: Tensor, kind: str) -> bool:
    found = tensor.dtype
    return found.category == FLOATING and found is not float64 and of(tensor.__node__.device).type == kind


def cast_if_eligible(operand: Any, kind: str, to: dtype) -> Any:
    """A tensor, or those of a tuple, in `to`, if a block for devices of this kind casts it; anything else as it is."""
    if type(operand) is tuple:
        return tuple([cast_if_eligible(each, kind, to) for each in operand])
    return operand.to(to) if isinstance(operand, Tensor) and _eligible(operand, kind) else operand
