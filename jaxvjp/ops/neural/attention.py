"""Attention: values averaged by how well their keys fit a query. `convolution` comes before this room."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from jaxvjp.dtypes import from_numpy
from jaxvjp.ops.arguments import Flag, Kept, Real
from jaxvjp.ops.neural.convolution import EXACTLY
from jaxvjp.ops.op import op


def _attention_name(static, avals):
    batched = len(avals[0].shape) == 4
    return "ScaledDotProductFlashAttentionForCpuBackward0" if batched else "UnsafeViewBackward0"


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
    """`softmax(query @ key.T * scale + attn_mask) @ value`, of weights of which dropout left those that are `kept`.

    A row of which everything is masked gives zeros.
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
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = jnp.einsum("...le,...se->...ls", query * factor, key, precision=EXACTLY)
    if is_causal:
        attn_mask = jnp.tri(*scores.shape[-2:], dtype=bool)
    if attn_mask is not None and attn_mask.dtype == bool:
        scores = jnp.where(attn_mask, scores, -jnp.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask.astype(scores.dtype)
    weights = safe_softmax(scores)
    if kept is not None:
        weights = weights * (kept.astype(weights.dtype) / (1 - dropout_p))
    return jnp.einsum("...ls,...sv->...lv", weights, value, precision=EXACTLY)


def _ctype(name):
    return {"float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16"}.get(name, name)


def safe_softmax(scores):
    """The softmax over the last dimension, of which a row of nothing but minus infinity gives zeros."""
    largest = jax.lax.stop_gradient(jnp.max(scores, -1, keepdims=True, initial=-jnp.inf))
    powers = jnp.exp(scores - jnp.where(jnp.isneginf(largest), 0, largest))
    total = jnp.sum(powers, -1, keepdims=True)
    return powers / jnp.where(total == 0, 1, total)
