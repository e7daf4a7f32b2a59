"""Attention with dropout, which draws random numbers; and the choice among torch's kernels, where XLA has its own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import Any

from jaxvjp.library.creation import zeros
from jaxvjp.nn.dropout import kept_with
from jaxvjp.ops.neural import attention
from jaxvjp.tensor.apply import apply
from jaxvjp.tensor.published import public
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import bool_
from jaxvjp.types.settings import for_a_block, settings
from jaxvjp.types.user_code import warn_user

UNDERNEATH = "ops of `jaxvjp.ops.neural.attention`, and `jax.vjp` of them; dropout is drawn on the host"

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(Enum):
    """torch's kernels for attention. Counterpart of `torch.nn.attention.SDPBackend`."""

    ERROR, MATH, FLASH_ATTENTION, EFFICIENT_ATTENTION, CUDNN_ATTENTION, OVERRIDEABLE = range(-1, 5)


@contextmanager
def sdpa_kernel(backends: Sequence[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[None]:
    """Sets for a block which of its kernels torch may take, which `torch.backends.cuda` tells; XLA compiles its own.

    Args:
        backends: one, or several.
        set_priority: accepted, without effect.

    AssertionError for what is no `SDPBackend`. Counterpart of `torch.nn.attention.sdpa_kernel`.
    """
    if not isinstance(backends, SDPBackend | list):
        told = "Backend must be an instance of SDPBackend or a list of SDPBackend instances"
        raise AssertionError(f"{told}, got {type(backends).__name__}")
    names = ("FLASH_ATTENTION", "MATH", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION")
    chosen = [backends] if isinstance(backends, SDPBackend) else backends
    wanted = [SDPBackend[name] in chosen for name in names]
    with for_a_block(settings.kernels, dict(zip(settings.kernels, wanted, strict=True))):
        yield


def _kept(shape: tuple[int, ...], p: float, refusal: type[Exception], device: Any) -> Any:
    """Which weights dropout keeps; None for all of them. Where it keeps none nothing is drawn, as in torch."""
    if p > 1:
        raise refusal(f"dropout probability has to be between 0 and 1, but got {p}")
    if p == 1:
        return zeros((), dtype=bool_, device=device)
    return kept_with(shape, p, bool_, device) if p > 0 else None


@public("nn.functional")
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """`softmax(query @ key.T * scale + attn_mask) @ value`.

    Args:
        query: (..., L, E); `key` is (..., S, E) and `value` (..., S, V). The result is (..., L, V).
        attn_mask: broadcastable to (..., L, S): bool, True where a query attends, or numbers added to the scores.

    RuntimeError for operands or a mask whose shapes or dtypes do not fit, and for no probability.
    """
    kept = None
    if dropout_p:
        check: Any = attention.check_attention
        scores = check((query, key, value, attn_mask), is_causal, dropout_p, enable_gqa)
        kept = _kept(scores, dropout_p, RuntimeError, query.device)
    static = (is_causal, None if scale is None else float(scale), enable_gqa, float(dropout_p))
    return apply(attention.scaled_dot_product_attention, (query, key, value, attn_mask, kept), static)


@public("nn.functional")
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Multi-head attention, as in `nn.MultiheadAttention`; and its weights if `need_weights`.

    Args:
        query: (L, batch, E) or (L, E); `key` and `value` are (S, batch, ...) or (S, ...).
        in_proj_weight: the three projections into the heads, (3E, E); or, with `use_separate_proj_weight`, each alone.
        bias_k: an additional key, with `bias_v` as its value; `add_zero_attn` adds one of zeros.
        key_padding_mask: (batch, S), True for keys to be ignored; `attn_mask` is (L, S) or (batch·heads, L, S).
        static_k, static_v: keys and values in place of the projected ones, (batch·heads, S, E / heads).
        is_causal: a hint that `attn_mask` is the causal one.

    AssertionError or RuntimeError for what does not fit; ValueError, without weights RuntimeError, for no probability.
    """
    batched = query.ndim == 3
    if query.ndim not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.ndim}-D query tensor"
        )
    if not key.ndim == value.ndim == query.ndim:
        kind = "batched (3-D)" if batched else "unbatched (2-D)"
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {query.ndim}-D but found {key.ndim}-D and "
            f"{value.ndim}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.ndim != query.ndim - 1:
        kind, dims = ("batched (3-D)", "2-D") if batched else ("unbatched (2-D)", "1-D")
        raise AssertionError(
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {dims} but found "
            f"{key_padding_mask.ndim}-D tensor instead"
        )
    if attn_mask is not None and attn_mask.ndim not in (2, 3):
        kind = "batched (3-D)" if batched else "unbatched (2-D)"
        raise AssertionError(
            f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.ndim}-D tensor "
            "instead"
        )
    if not batched and attn_mask is not None and attn_mask.ndim == 3:
        wanted = (num_heads, query.shape[0], key.shape[0])
        if attn_mask.shape != wanted:
            raise AssertionError(f"Expected `attn_mask` shape to be {wanted} but got {attn_mask.shape}")
    key_padding_mask, attn_mask = matched_masks(query, key_padding_mask=key_padding_mask, attn_mask=attn_mask)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    causal = is_causal and key_padding_mask is None and not need_weights
    attn_mask = None if causal else attn_mask  # the hint stands for it
    if query.shape[-1] != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {query.shape[-1]}")
    if query.shape[-1] % num_heads:
        raise AssertionError(f"embed_dim {query.shape[-1]} not divisible by num_heads {num_heads}")
    if not use_separate_proj_weight and key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    if not batched:
        query, key, value = (each.unsqueeze(1) for each in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch = query.shape[:2]
    heads = batch * num_heads
    if attn_mask is not None and attn_mask.shape not in ((length, key.shape[0]), (heads, length, key.shape[0])):
        expected = (length, key.shape[0]) if attn_mask.ndim == 2 else (heads, length, key.shape[0])
        raise RuntimeError(
            f"The shape of the {attn_mask.ndim}D attn_mask is {attn_mask.shape}, but should be {expected}."
        )
    _check_further_keys(bias_k, bias_v, (heads, query.shape[-1] // num_heads), static_k=static_k, static_v=static_v)
    if key_padding_mask is not None:
        for place, (wanted, got) in enumerate(zip((batch, key.shape[0]), key_padding_mask.shape, strict=True)):
            if wanted != got:
                raise AssertionError(f"Expected key_padded_mask.shape[{place}] to be {wanted}, but got {got}")
    kept = None
    if training and dropout_p > 0:
        keys = (key.shape[0] if static_k is None else static_k.shape[1]) + (bias_k is not None) + add_zero_attn
        kept = _kept((heads, length, keys), dropout_p, ValueError if need_weights else RuntimeError, query.device)
    if (
        in_proj_bias is not None
        and in_proj_bias.dtype is not query.dtype
        and not any(each.is_contiguous() for each in (query, key, value))
    ):
        in_proj_bias = in_proj_bias.to(query.dtype)  # torch adds it to the products, as `add_` does: `batch_first=True`
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else (None,) * 3
    operands = (
        *(query, key, value, None if use_separate_proj_weight else in_proj_weight, in_proj_bias, bias_k, bias_v),
        *(out_proj_weight, out_proj_bias, attn_mask, key_padding_mask),
        *(*separate, static_k, static_v, kept),
    )
    static = (num_heads, add_zero_attn, float(dropout_p), causal, not need_weights)
    result, weights = apply(attention.multi_head_attention, operands, static)
    if average_attn_weights:
        weights = weights.mean(1)
    if not batched:
        result, weights = result.squeeze(1), weights.squeeze(0)
    return result, weights if need_weights else None


def matched_masks(query: Tensor, **masks: Tensor | None) -> list[Tensor | None]:
    """The two masks, both bool or both to be added; AssertionError for another type, a warning for unequal ones."""
    (padding_name, padding), (name, mask) = masks.items()
    for which, each in masks.items():
        if each is not None and each.dtype is not bool_ and not each.dtype.is_floating_point:
            raise AssertionError(f"only bool and floating types of {which} are supported")
    if padding is None or mask is None or padding.dtype is mask.dtype:
        return [padding, mask]
    warn_user(f"Support for mismatched {padding_name} and {name} is deprecated. Use same type for both instead.")
    return [added_mask(padding, query), added_mask(mask, query)]


def added_mask(mask: Tensor | None, query: Tensor) -> Tensor | None:
    """A mask as numbers to be added to scores."""
    if mask is None or mask.dtype is not bool_:
        return mask
    return zeros(mask.shape, dtype=query.dtype, device=mask.device).masked_fill(mask, -math.inf)


def _check_further_keys(
    bias_k: Tensor | None, bias_v: Tensor | None, sizes: tuple[int, int], **static: Tensor | None
) -> None:
    """AssertionError for one bias without the other, beside given keys or values, or for such of another shape."""
    if (bias_k is None) != (bias_v is None):
        there, missing = ("bias_k", "bias_v") if bias_v is None else ("bias_v", "bias_k")
        raise AssertionError(f"{there} is set but {missing} is None")
    for (name, given), what in zip(static.items(), ("key", "value"), strict=True):
        if given is not None and bias_k is not None:
            raise AssertionError(f"bias cannot be added to static {what}.")
        for dim, wanted in zip((0, 2), sizes, strict=True):
            if given is not None and given.shape[dim] != wanted:
                raise AssertionError(f"expecting {name}.size({dim}) of {wanted}, but got {given.shape[dim]}")
