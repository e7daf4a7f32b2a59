"""Attention: averages of values, weighted by the products of their keys with a query."""

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from numpy import broadcast_shapes

from jaxvjp.ops import arguments
from jaxvjp.ops.arguments import Flag, Index, Kept, Real
from jaxvjp.ops.neural.convolution import linear
from jaxvjp.ops.op import SHORT, Aval, op
from jaxvjp.ops.pointwise import check_broadcast
from jaxvjp.ops.products import at_setting, precision
from jaxvjp.types.dtypes import BOOL, CTYPES, WIDTHS, bool_, float32, from_numpy


def fused(shapes, enable_gqa):
    """Whether torch's fused kernel takes operands of these shapes, without dropout; None is that of no mask."""
    query, key, value, mask = shapes
    if not len(query) == len(key) == len(value) == 4 or not query[3] == key[3] == value[3]:
        return False
    batches_fit = query[0] == key[0] == value[0] and (enable_gqa or query[1] == key[1] == value[1])
    if batches_fit and mask is not None and len(mask) < 2:
        arguments.wrap(-2, len(mask))  # torch's IndexError
    scores = (*query[:3], key[2])
    return batches_fit and (
        mask is None
        or (len(mask) in (2, 4) and all(a in (1, b) for a, b in zip(mask[::-1], scores[::-1], strict=False)))
    )


def _attention_name(static, avals):
    given = static[-1]  # which of the operands there are
    shapes = [aval.shape for aval in avals]
    is_fused = given[4] is None and fused([*shapes[:3], None if given[3] is None else shapes[3]], static[2])
    return "ScaledDotProductFlashAttentionForCpuBackward0" if is_fused else "UnsafeViewBackward0"


def check_attention(avals, is_causal, dropout_p, enable_gqa):
    """The shape of the scores of operands with these abstract values; torch's error where they do not fit."""
    *operands, mask = avals
    query = operands[0]
    kinds = [CTYPES.get(operand.dtype.name, operand.dtype.name) for operand in operands]
    if len({*kinds}) > 1:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{kinds[0]} key.dtype: {kinds[1]} and value.dtype: {kinds[2]} instead."
        )
    shapes = [operand.shape for operand in operands]
    if min(map(len, shapes)) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{len(shapes[0])} key.dim: {len(shapes[1])} and value.dim: {len(shapes[2])} instead."
        )
    if mask is not None:
        check_mask_type(mask.dtype, query.dtype)
    one_kernel = not dropout_p > 0 and fused([*shapes, None if mask is None else mask.shape], enable_gqa)
    if is_causal and mask is not None and not one_kernel:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if one_kernel and dropout_p:
        raise RuntimeError("scaled_dot_product_attention_flash_attention: Currently do not support dropout > 0")
    if not query.dtype.differentiable:
        if mask is not None and mask.dtype.category == BOOL != query.dtype.category:
            name = query.dtype.name
            raise RuntimeError(f"value cannot be converted to type {WIDTHS.get(name, 'int')} without overflow")
        raise RuntimeError(f"expected scalar type Float but found {query.dtype.legacy}")
    if query.dtype.is_complex:
        raise NotImplementedError(f"\"softmax_lastdim_kernel_impl\" not implemented for '{query.dtype.legacy}'")
    query, key, value = shapes
    if enable_gqa:
        heads = [shape[arguments.wrap(-3, len(shape))] for shape in shapes]
        if any(not head or heads[0] % head for head in heads[1:]):
            raise RuntimeError(
                "Number of heads in key and value must divide the number of heads in \n"
                f"They have {heads[1]} and {heads[2]}, and query has {heads[0]}."
            )
        key, value = ((*each[:-3], heads[0], *each[-2:]) for each in (key, value))
    check_broadcast(query[:-2], key[:-2])
    _check_product(query, (*key[:-2], key[-1], key[-2]))
    scores = (*broadcast_shapes(query[:-2], key[:-2]), query[-2], key[-2])
    if mask is not None:
        check_broadcast(scores, mask.shape)
        widest = broadcast_shapes(scores, mask.shape)
        if widest != scores:
            raise RuntimeError(f"output with shape {list(scores)} doesn't match the broadcast shape {list(widest)}")
    check_broadcast(scores[:-2], value[:-2])
    _check_product(scores, value)
    return scores


def check_mask_type(mask, query):
    """RuntimeError for a mask of another type than the scores take."""
    if mask is not query and mask not in (bool_, float32):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{CTYPES.get(mask.name, mask.name)} and  query.dtype: {CTYPES.get(query.name, query.name)} instead."
        )


def _avals(*arrays):
    return [None if array is None else Aval(array.shape, from_numpy(array.dtype)) for array in arrays]


@op(public="", saves="query, key, value", grad_fn=_attention_name, rewrite=at_setting)
def scaled_dot_product_attention(
    query,
    key,
    value,
    attn_mask: Kept = None,
    kept: Kept = None,
    is_causal: Flag = False,
    scale: Real | None = None,
    enable_gqa: Flag = False,
    dropout_p: Real = 0.0,
):
    """`softmax(query @ key.T * scale + attn_mask) @ value`; with dropout, `kept` are the weights that remain.

    A row in which everything is masked gives zeros.
    """
    check_attention(_avals(query, key, value, attn_mask), is_causal, dropout_p, enable_gqa)
    if enable_gqa:
        key, value = (jnp.repeat(each, query.shape[-3] // each.shape[-3], -3) for each in (key, value))
    factor = 1 / math.sqrt(query.shape[-1] or 1) if scale is None else scale
    wide = jnp.float32 if query.dtype in SHORT else query.dtype
    products = partial(jnp.einsum, precision=precision(), preferred_element_type=wide)
    scores = products("...le,...se->...ls", query, key) * factor
    if is_causal:
        scores = jnp.where(jnp.tri(scores.shape[-2], scores.shape[-1], dtype=bool), scores, -jnp.inf)
    if attn_mask is not None:
        # A bool mask is added, too, as in torch: NaN stays NaN.
        added = jnp.where(attn_mask, 0, -jnp.inf) if attn_mask.dtype == bool else attn_mask
        scores = scores + added.astype(scores.dtype)
    weights = safe_softmax(scores)
    if kept is not None:
        weights = weights * (kept.astype(weights.dtype) / (1 - dropout_p or 1))
    return products("...ls,...sv->...lv", weights.astype(value.dtype), value).astype(value.dtype)


def safe_softmax(scores):
    """The softmax over the last dimension; a row of only minus infinity gives zeros."""
    largest = jax.lax.stop_gradient(jnp.max(scores, -1, keepdims=True, initial=-jnp.inf))
    powers = jnp.exp(scores - jnp.where(jnp.isneginf(largest), 0, largest))
    total = jnp.sum(powers, -1, keepdims=True)
    return powers / jnp.where(total == 0, 1, total)


@op(public="", saves="query, key, value", grad_fn="ViewBackward0", rewrite=at_setting)
def multi_head_attention(
    query,
    key,
    value,
    in_proj_weight=None,
    in_proj_bias=None,
    bias_k=None,
    bias_v=None,
    out_proj_weight=None,
    out_proj_bias=None,
    attn_mask: Kept = None,
    key_padding_mask: Kept = None,
    q_proj_weight=None,
    k_proj_weight=None,
    v_proj_weight=None,
    static_k=None,
    static_v=None,
    kept: Kept = None,
    *,
    num_heads: Index,
    add_zero_attn: Flag,
    dropout_p: Real,
    causal: Flag,
    safe: Flag,
):
    """Multi-head attention with its input and output projections; and the weights of each head.

    `query` is (L, batch, E), `key` and `value` (S, batch, ...). Positions whose mask is true are ignored. With `safe`,
    a row in which everything is masked gives zeros and not NaN.
    """
    length, batch, features = query.shape
    projections: Any = (q_proj_weight, k_proj_weight, v_proj_weight)
    if in_proj_weight is not None:
        projections = jnp.split(in_proj_weight, 3)
    biases = (None,) * 3 if in_proj_bias is None else jnp.split(in_proj_bias, 3)
    query, key, value = (
        linear.function(each, weight, bias)
        for each, weight, bias in zip((query, key, value), projections, biases, strict=True)
    )
    added = 0
    if bias_k is not None:
        key, value = (
            jnp.concatenate([each, jnp.broadcast_to(bias, (1, batch, features))])
            for each, bias in ((key, bias_k), (value, bias_v))
        )
        added += 1
    heads = batch * num_heads

    def split(array):
        return jnp.swapaxes(array.reshape(array.shape[0], heads, features // num_heads), 0, 1)

    query = split(query)
    key = split(key) if static_k is None else static_k
    value = split(value) if static_v is None else static_v
    if add_zero_attn:
        key, value = (jnp.pad(each, ((0, 0), (0, 1), (0, 0))) for each in (key, value))
        added += 1
    scores = jnp.einsum("hle,hse->hls", query / math.sqrt(query.shape[-1] or 1), key, precision=precision())
    _check_mask_types(attn_mask, key_padding_mask, query, safe)
    if attn_mask is not None:
        scores = scores + _added(attn_mask, added, scores.dtype)
    if key_padding_mask is not None:
        scores = scores + jnp.repeat(_added(key_padding_mask, added, scores.dtype), num_heads, 0)[:, None]
    if causal:
        scores = jnp.where(jnp.tri(scores.shape[1], scores.shape[2], dtype=bool), scores, -jnp.inf)
    weights = safe_softmax(scores) if safe else jax.nn.softmax(scores, -1)
    if kept is not None:
        weights = weights * (kept.astype(weights.dtype) / (1 - dropout_p or 1))
    result = jnp.einsum("hls,hsv->lhv", weights, value, precision=precision()).reshape(length, batch, features)
    result = linear.function(result, out_proj_weight, out_proj_bias)
    return result, weights.reshape(batch, num_heads, length, weights.shape[-1])


def _check_mask_types(attn_mask, key_padding_mask, query, safe):
    """RuntimeError for masks of another type than torch adds to the scores; bool ones have the type of `query`."""
    types = [
        query.dtype if each.dtype == bool else each.dtype for each in (attn_mask, key_padding_mask) if each is not None
    ]
    if not types:
        return
    own, found = from_numpy(query.dtype), from_numpy(jnp.result_type(*types))
    if safe:
        check_mask_type(found, own)
    elif found is not own:
        kinds = CTYPES[found.name], CTYPES[own.name]
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {kinds[0]}, batch1: {kinds[1]}, batch2: {kinds[1]}"
        )


def _added(mask, added, dtype):
    """A mask as a term of the scores: minus infinity where it is true. `added` further keys are never masked."""
    if mask.dtype == bool:
        mask = jnp.where(mask, -jnp.inf, jnp.zeros((), dtype))
    return jnp.pad(mask, [(0, 0)] * (mask.ndim - 1) + [(0, added)])


def _check_product(first, second):
    """RuntimeError unless matrices of these shapes, or batches of them, can be multiplied."""
    if first[-1] == second[-2]:
        return
    if len(first) == 2:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({first[0]}x{first[1]} and {second[0]}x{second[1]})"
        )
    batch = math.prod(first[:-2])
    raise RuntimeError(
        f"Expected size for first two dimensions of batch2 tensor to be: [{batch}, {first[-1]}] but got: "
        f"[{math.prod(second[:-2])}, {second[-2]}]."
    )
