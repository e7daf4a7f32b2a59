"""Attention: averages of values, weighted by the products of their keys with a query."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from jaxvjp.ops.arguments import Flag, Index, Kept, Real
from jaxvjp.ops.neural.convolution import EXACTLY, linear
from jaxvjp.ops.op import SHORT, op
from jaxvjp.types.dtypes import from_numpy


def _attention_name(static, avals):
    fused = len(avals[0].shape) == 4 and static[-1][4] is None  # without dropout
    return "ScaledDotProductFlashAttentionForCpuBackward0" if fused else "UnsafeViewBackward0"


@op(public="", saves="query, key, value", grad_fn=_attention_name)
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
    for each in (query, key, value):
        if each.ndim < 2:
            raise RuntimeError(
                "scaled_dot_product_attention: Expected query, key, and value to all be  at least 2 dimensional, but "
                f"got query.dim: {query.ndim}, key.dim: {key.ndim} and value.dim: {value.ndim} instead."
            )
        if each.dtype != query.dtype:
            kinds = [from_numpy(array.dtype).name for array in (query, key, value)]
            raise RuntimeError(
                "Expected query, key, and value to have the same dtype, but got query.dtype: "
                f"{_ctype(kinds[0])} key.dtype: {_ctype(kinds[1])} and value.dtype: {_ctype(kinds[2])} instead."
            )
    if is_causal and attn_mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if enable_gqa:
        key, value = (jnp.repeat(each, query.shape[-3] // each.shape[-3], -3) for each in (key, value))
    _check_product(query.shape, (*key.shape[:-2], key.shape[-1], key.shape[-2]))
    _check_product((*query.shape[:-1], key.shape[-2]), value.shape)
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    wide = jnp.float32 if query.dtype in SHORT else query.dtype
    products = partial(jnp.einsum, precision=EXACTLY, preferred_element_type=wide)
    scores = products("...le,...se->...ls", query, key) * factor
    if is_causal:
        scores = jnp.where(jnp.tri(scores.shape[-2], scores.shape[-1], dtype=bool), scores, -jnp.inf)
    if attn_mask is not None:
        # A bool mask is added, too, as in torch: NaN stays NaN.
        added = jnp.where(attn_mask, 0, -jnp.inf) if attn_mask.dtype == bool else attn_mask
        scores = scores + added.astype(scores.dtype)
    weights = safe_softmax(scores)
    if kept is not None:
        weights = weights * (kept.astype(weights.dtype) / (1 - dropout_p))
    return products("...ls,...sv->...lv", weights.astype(value.dtype), value).astype(value.dtype)


def _ctype(name):
    return {"float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16"}.get(
        name, name
    )


def safe_softmax(scores):
    """The softmax over the last dimension; a row of only minus infinity gives zeros."""
    largest = jax.lax.stop_gradient(jnp.max(scores, -1, keepdims=True, initial=-jnp.inf))
    powers = jnp.exp(scores - jnp.where(jnp.isneginf(largest), 0, largest))
    total = jnp.sum(powers, -1, keepdims=True)
    return powers / jnp.where(total == 0, 1, total)


@op(public="", saves="query, key, value", grad_fn="ViewBackward0")
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
    scores = jnp.einsum("hle,hse->hls", query / math.sqrt(query.shape[-1]), key, precision=EXACTLY)
    if attn_mask is not None:
        scores = scores + _added(attn_mask, added, scores.dtype)
    if key_padding_mask is not None:
        scores = scores + jnp.repeat(_added(key_padding_mask, added, scores.dtype), num_heads, 0)[:, None]
    if causal:
        scores = jnp.where(jnp.tri(scores.shape[1], scores.shape[2], dtype=bool), scores, -jnp.inf)
    weights = safe_softmax(scores) if safe else jax.nn.softmax(scores, -1)
    if kept is not None:
        weights = weights * (kept.astype(weights.dtype) / (1 - dropout_p))
    result = jnp.einsum("hls,hsv->lhv", weights, value, precision=EXACTLY).reshape(length, batch, features)
    result = linear.function(result, out_proj_weight, out_proj_bias)
    return result, weights.reshape(batch, num_heads, length, weights.shape[-1])


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
