"""Attention with several heads, and transformers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from jaxvjp.amp.autocast_mode import is_autocast_enabled
from jaxvjp.autograd.modes import is_grad_enabled
from jaxvjp.library.creation import full
from jaxvjp.nn import functional as F
from jaxvjp.nn import init
from jaxvjp.nn.attention import added_mask, matched_masks
from jaxvjp.nn.modules import GELU, Dropout, ReLU
from jaxvjp.nn.modules.container import ModuleList
from jaxvjp.nn.modules.layer import BIAS, PLACE, Layer, register_empty
from jaxvjp.nn.modules.linear import Linear, NonDynamicallyQuantizableLinear
from jaxvjp.nn.modules.module import Module
from jaxvjp.nn.modules.normalization import LayerNorm
from jaxvjp.tensor.overriding import has_torch_function
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import bool_, int64
from jaxvjp.types.settings import settings
from jaxvjp.types.user_code import warn_user

UNDERNEATH = "functions of `nn.functional`"

Mask = Tensor | None
Activation = str | Callable[[Tensor], Tensor]


def _get_activation_fn(activation: str) -> Callable[[Tensor], Tensor]:
    """The function of that name, "relu" or "gelu"; torch's name, which models import."""
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return getattr(F, activation)


def for_inference(*tensors: Tensor) -> bool:
    """Whether torch may take a kernel for inference: nothing is recorded for `backward`, and there is no autocast."""
    if is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        return False
    return settings.fastpath and not is_autocast_enabled() and not has_torch_function(tensors)


GIVEN_ON = (
    *("num_heads", "in_proj_weight", "in_proj_bias", "bias_k", "bias_v", "add_zero_attn", "training"),
    *("q_proj_weight", "k_proj_weight", "v_proj_weight"),
)
"""What attention gives to its function under the same name."""


class MultiheadAttention(Layer):
    """`F.multi_head_attention_forward` with its parameters."""

    __given__ = "bias add_bias_kv device dtype"
    __settings__ = (
        f"embed_dim: int, num_heads: int, dropout: float = 0.0, {BIAS}, add_bias_kv: bool = False, "
        "add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False, "
        f"{PLACE}"
    )

    def __finish_init__(self, bias: bool, add_bias_kv: bool, device: Any, dtype: Any) -> None:
        embed_dim, num_heads = self.embed_dim, self.num_heads
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
                "instead"
            )
        self.kdim: Any = embed_dim if self.kdim is None else self.kdim
        self.vdim: Any = embed_dim if self.vdim is None else self.vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        same = self._qkv_same_embed_dim
        apart = {"q": embed_dim, "k": self.kdim, "v": self.vdim}
        shapes: dict[str, Any] = {"in_proj_weight": (3 * embed_dim, embed_dim) if same else None}
        shapes |= {f"{each}_proj_weight": None if same else (embed_dim, width) for each, width in apart.items()}
        shapes |= {"in_proj_bias": (3 * embed_dim,) if bias else None}
        shapes |= dict.fromkeys(("bias_k", "bias_v"), (1, 1, embed_dim) if add_bias_kv else None)
        register_empty(self, device, dtype, **shapes)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if getattr(self, name) is not None:
                init.xavier_uniform_(getattr(self, name))
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            assert self.out_proj.bias is not None
            init.zeros_(self.out_proj.bias)
        for each in (self.bias_k, self.bias_v):
            if each is not None:
                init.xavier_normal_(each)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Mask = None,
        need_weights: bool = True,
        attn_mask: Mask = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        if _takes_kernel(self, query, key, value):
            padding, mask = matched_masks(query, key_padding_mask=key_padding_mask, attn_mask=attn_mask)
            if all(each is None or each.dtype is bool_ for each in (key_padding_mask, attn_mask)):
                return _attend_by_kernel(self, query, padding, mask, need_weights, average_attn_weights)
        turned = self.batch_first and query.dim() == 3
        if turned:
            query, key, value = (each.transpose(1, 0) for each in (query, key, value))
        output, weights = F.multi_head_attention_forward(
            *(query, key, value, self.embed_dim),
            dropout_p=self.dropout,
            out_proj_weight=self.out_proj.weight,
            out_proj_bias=self.out_proj.bias,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
            **{name: getattr(self, name) for name in GIVEN_ON},
        )
        return (output.transpose(1, 0) if turned else output), weights


def _takes_kernel(attention: MultiheadAttention, query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether torch takes its kernel for inference here; `_attend_by_kernel` says what differs."""
    return (
        not attention.training
        and query is key is value
        and query.dim() == 3
        and _has_kernel(attention)
        and attention.bias_k is None
        and not attention.add_zero_attn
        and query.dtype is attention.in_proj_weight.dtype
        and for_inference(query, *attention.parameters())
    )


def _has_kernel(attention: MultiheadAttention) -> bool:
    """Whether torch's kernels for inference know such an attention."""
    return (
        attention.batch_first
        and attention.in_proj_bias is not None
        and attention._qkv_same_embed_dim
        and not attention.num_heads % 2
    )


def _attend_by_kernel(
    attention: MultiheadAttention,
    x: Tensor,
    padding: Mask,
    mask: Mask,
    need_weights: bool = False,
    average: bool = True,
) -> tuple[Tensor, Tensor | None]:
    """What torch's kernel for inference gives: it does not know of `is_causal`, takes each number but 0 in a mask
    for True, and gives NaN where a query may attend to nothing."""
    x = x.transpose(1, 0)
    output, weights = F.multi_head_attention_forward(
        *(x, x, x, attention.embed_dim, attention.num_heads, attention.in_proj_weight, attention.in_proj_bias),
        *(None, None, False, 0.0, attention.out_proj.weight, attention.out_proj.bias, False),
        key_padding_mask=None if padding is None else padding.bool(),
        attn_mask=None if mask is None else mask.bool(),
        average_attn_weights=average,
    )
    return output.transpose(1, 0), weights if need_weights else None


class _Block(Module):
    """What layers of encoders and decoders share: each part adds to its input, normalized before or after."""

    __attentions__: tuple[str, ...] = ("self_attn",)

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        own: dict[str, Any] = {"device": device, "dtype": dtype}
        for name in self.__attentions__:
            made = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **own)
            setattr(self, name, made)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **own)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **own)
        self.norm_first = norm_first
        numbers = range(1, len(self.__attentions__) + 2)
        for number in numbers:
            setattr(self, f"norm{number}", LayerNorm(d_model, layer_norm_eps, bias=bias, **own))
        for number in numbers:
            setattr(self, f"dropout{number}", Dropout(dropout))
        self.activation: Any = _get_activation_fn(activation) if isinstance(activation, str) else activation

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Earlier files have the name of a function of `nn.functional`."""
        super().__setstate__(state)
        if isinstance(self.__dict__.get("activation"), str):
            self.activation = getattr(F, self.__dict__["activation"])

    def _sa_block(self, x: Tensor, attn_mask: Mask, key_padding_mask: Mask, is_causal: bool = False) -> Tensor:
        attended = self.self_attn(x, x, x, key_padding_mask, False, attn_mask, is_causal=is_causal)[0]
        return self.dropout1(attended)

    def _ff_block(self, x: Tensor) -> Tensor:
        last = getattr(self, f"dropout{len(self.__attentions__) + 1}")
        return last(self.linear2(self.dropout(self.activation(self.linear1(x)))))


def _residual(layer: _Block, x: Tensor, number: int, block: Callable[[Tensor], Tensor]) -> Tensor:
    """`x` plus the block's result, which is normalized before or after."""
    norm = getattr(layer, f"norm{number}")
    return x + block(norm(x)) if layer.norm_first else norm(x + block(x))


class TransformerEncoderLayer(_Block):
    """Self-attention and a network of two layers."""

    __computed__ = ("activation_relu_or_gelu",)

    @property
    def activation_relu_or_gelu(self) -> int:
        """Which activation it is of those that torch's kernels for inference know: 1 for relu, 2 for gelu, else 0."""
        relu = self.activation is F.relu or isinstance(self.activation, ReLU)
        return 1 if relu else 2 * (self.activation is F.gelu or isinstance(self.activation, GELU))

    def forward(
        self, src: Tensor, src_mask: Mask = None, src_key_padding_mask: Mask = None, is_causal: bool = False
    ) -> Tensor:
        padding, mask = matched_masks(src, src_key_padding_mask=src_key_padding_mask, src_mask=src_mask)
        if _layer_takes_kernel(self, src):
            x = _residual(self, src, 1, lambda x: _attend_by_kernel(self.self_attn, x, padding, mask)[0])
        else:
            if not self.training:  # as in torch, where `self_attn` then takes no kernel for inference
                padding, mask = added_mask(padding, src), added_mask(mask, src)
            x = _residual(self, src, 1, lambda x: self._sa_block(x, mask, padding, is_causal))
        return _residual(self, x, 2, self._ff_block)


def _layer_takes_kernel(layer: TransformerEncoderLayer, src: Tensor) -> bool:
    """Whether torch takes its kernel for inference here, whose attention is `_attend_by_kernel`."""
    return (
        not layer.training
        and src.dim() == 3
        and _layer_has_kernel(layer)
        and not any(module._forward_hooks or module._forward_pre_hooks for module in layer.modules())
        and for_inference(src, *layer.parameters())
    )


def _layer_has_kernel(layer: TransformerEncoderLayer) -> bool:
    """Whether torch's kernels for inference know such a layer."""
    known = layer.activation_relu_or_gelu > 0
    return known and layer.norm1.eps == layer.norm2.eps and _has_kernel(layer.self_attn)


class TransformerDecoderLayer(_Block):
    """Self-attention, attention to the encoder's result, and a network of two layers."""

    __attentions__ = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Mask = None,
        memory_mask: Mask = None,
        tgt_key_padding_mask: Mask = None,
        memory_key_padding_mask: Mask = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        x = _residual(self, tgt, 1, lambda x: self._sa_block(x, *own))
        x = _residual(self, x, 2, lambda x: self._mha_block(x, *other))
        return _residual(self, x, 3, self._ff_block)

    def _mha_block(
        self, x: Tensor, mem: Tensor, attn_mask: Mask, key_padding_mask: Mask, is_causal: bool = False
    ) -> Tensor:
        attended = self.multihead_attn(x, mem, mem, key_padding_mask, False, attn_mask, is_causal=is_causal)[0]
        return self.dropout2(attended)


def _get_clones(module: Module, count: int) -> ModuleList:
    """Copies of a module, each with parameters of its own; torch's name, which models import."""
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


class _Stack(Module):
    def __init__(self, layer: Module, num_layers: int, norm: Module | None) -> None:
        super().__init__()
        self.layers = _get_clones(layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm


def _normed(stack: _Stack, x: Tensor) -> Tensor:
    return x if stack.norm is None else stack.norm(x)


def _no_nesting(layer: Module) -> str:
    """Why a stack of such layers has no nested tensors, in torch's words; empty where it has."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    attention = layer.self_attn
    for wrong, why in (
        (layer.norm_first, "norm_first was True"),
        (
            not attention.batch_first,
            "self_attn.batch_first was not True(use batch_first for better inference performance)",
        ),
        (not attention._qkv_same_embed_dim, "self_attn._qkv_same_embed_dim was not True"),
        (attention.in_proj_bias is None, "self_attn was passed bias=False"),
        (attention.num_heads % 2, "self_attn.num_heads is odd"),
        (layer.norm1.eps != layer.norm2.eps, "norm1.eps was not equal to encoder_layer.norm2.eps"),
        (not _layer_has_kernel(layer), "activation_relu_or_gelu was not True"),
    ):
        if wrong:
            return f"encoder_layer.{why}"
    return ""


class TransformerEncoder(_Stack):
    """Several layers of an encoder, copies of one.

    Args:
        enable_nested_tensor: whether, in `eval` without gradients, places that `src_key_padding_mask` says are padded
            shall be zeros, as they are where torch computes with a nested tensor. There are none here.
        mask_check: whether only if each sequence begins at the left; else its length alone counts.
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__(encoder_layer, num_layers, norm)
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check
        missing = _no_nesting(encoder_layer) if enable_nested_tensor else ""
        self.use_nested_tensor = enable_nested_tensor and not missing
        if missing:
            warn_user(f"enable_nested_tensor is True, but self.use_nested_tensor is False because {missing}")

    def forward(
        self, src: Tensor, mask: Mask = None, src_key_padding_mask: Mask = None, is_causal: bool | None = None
    ) -> Tensor:
        padding, mask = matched_masks(src, src_key_padding_mask=src_key_padding_mask, mask=mask)
        zeroed = None
        if padding is not None and mask is None and _makes_nested(self, src):
            padding, zeroed = _left_out(self, src, padding.bool())
        x = src
        for layer in self.layers:
            x = layer(x, src_mask=mask, src_key_padding_mask=padding, is_causal=is_causal is True)
        return _normed(self, x if zeroed is None else x.masked_fill(zeroed.unsqueeze(-1), 0.0))


def _left_out(encoder: TransformerEncoder, src: Tensor, padding: Tensor) -> tuple[Tensor, Tensor]:
    """Which keys torch leaves out, and where its result has zeros: where the sequences, that begin at the left,
    have ended. With `mask_check` there are none if one does not begin there; without, only its length counts."""
    if padding.dim() != 2:
        raise RuntimeError("Padding mask should be 2D")
    if padding.shape != src.shape[:2]:
        raise RuntimeError("Mask size should match input size")
    if encoder.mask_check:
        return padding, padding & (padding[:, 1:] >= padding[:, :-1]).all()
    beyond = padding.new_ones(src.shape[1], dtype=int64).cumsum(0) > padding.logical_not().sum(1, keepdim=True)
    return beyond, beyond


def _makes_nested(encoder: TransformerEncoder, src: Tensor) -> bool:
    """Whether torch leaves out what is padded: for inference it then has a nested tensor, of unequal lengths."""
    first = encoder.layers[0]
    used = encoder.use_nested_tensor and not first.training and src.dim() == 3
    return used and for_inference(src, *first.parameters())


class TransformerDecoder(_Stack):
    """Several layers of a decoder, copies of one."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Mask = None,
        memory_mask: Mask = None,
        tgt_key_padding_mask: Mask = None,
        memory_key_padding_mask: Mask = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        for layer in self.layers:
            tgt = layer(tgt, memory, *masks, tgt_is_causal=tgt_is_causal is True, memory_is_causal=memory_is_causal)
        return _normed(self, tgt)


class Transformer(Module):
    """An encoder and a decoder."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        own: dict[str, Any] = {"device": device, "dtype": dtype}
        settings = (dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        if custom_encoder is None:
            layer: Module = TransformerEncoderLayer(d_model, nhead, *settings, **own)
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, **own)
            custom_encoder = TransformerEncoder(layer, num_encoder_layers, norm)
        self.encoder = custom_encoder
        if custom_decoder is None:
            layer = TransformerDecoderLayer(d_model, nhead, *settings, **own)
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, **own)
            custom_decoder = TransformerDecoder(layer, num_decoder_layers, norm)
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """Minus infinity above the diagonal, zeros elsewhere: what comes later is not attended to."""
        return full((sz, sz), float("-inf"), dtype=dtype, device=device).triu(1)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Mask = None,
        tgt_mask: Mask = None,
        memory_mask: Mask = None,
        src_key_padding_mask: Mask = None,
        tgt_key_padding_mask: Mask = None,
        memory_key_padding_mask: Mask = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch) != tgt.size(batch):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
