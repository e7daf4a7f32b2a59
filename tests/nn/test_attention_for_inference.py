"""Layers of attention in `eval` without gradients, where torch takes kernels for inference: what differs there.

They do not know of `is_causal`, give NaN where a query may attend to nothing, take each number but 0 in a mask for
True, and leave zeros where sequences in a `TransformerEncoder` have ended.
"""

from __future__ import annotations

import warnings

import pytest
from oracle import agree, agreement_of, programs_of

import jaxvjp

PADDING = {
    "ragged": [[0, 0, 0, 1], [0, 0, 1, 1]],
    "all shorter": [[0, 0, 1, 1], [0, 0, 1, 1]],
    "one empty": [[0, 0, 1, 1], [1, 1, 1, 1]],
    "none": [[0, 0, 0, 0], [0, 0, 0, 0]],
    "at the left": [[1, 0, 0, 0], [0, 0, 1, 1]],
    "a hole": [[0, 1, 0, 0], [0, 0, 1, 1]],
}
KINDS = ("bool", "infinite", "numbers")
LATER = [[0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0]]


def filled(torch, module):
    with torch.no_grad():
        for at, each in enumerate(module.parameters()):
            each.copy_(torch.linspace(-0.8, 1, each.numel()).reshape(each.shape) * (at % 5 + 1) / 3)
    return module.eval()


def encoder_of(torch, heads=2, batch_first=True, layers=2, norm=False, nested=True, check=True, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layer = torch.nn.TransformerEncoderLayer(4, heads, 6, batch_first=batch_first, **options)
        last = torch.nn.LayerNorm(4) if norm else None
        return filled(torch, torch.nn.TransformerEncoder(layer, layers, last, nested, check))


def sequences(torch):
    return torch.linspace(-1, 1, 32).reshape(2, 4, 4).sin()


def masked(torch, rows, kind="bool"):
    mask = torch.tensor(rows).bool()
    if kind == "bool":
        return mask
    return torch.zeros(mask.shape).masked_fill(mask, -float("inf") if kind == "infinite" else 2.0)


def told(run):
    try:
        return run()
    except (RuntimeError, AssertionError) as error:
        return type(error).__name__, str(error).partition("\n")[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("padding", PADDING)
def test_an_encoder(padding, kind):
    def program(torch):
        warnings.simplefilter("ignore")
        x, ended = sequences(torch), masked(torch, PADDING[padding], kind)
        later = masked(torch, LATER)
        encoders = [{"norm": True}, {"check": False}, {"nested": False}, {"activation": torch.nn.GELU(), "layers": 1}]
        encoders += [{"layers": 1, **each} for each in ({"norm_first": True}, {"heads": 1}, {"activation": torch.tanh})]
        found = []
        with torch.no_grad():
            for options in encoders:
                found.append(encoder_of(torch, **options)(x, src_key_padding_mask=ended))
            found.append(told(lambda: encoder_of(torch)(x, src_key_padding_mask=ended, is_causal=True)))
            found.append(told(lambda: encoder_of(torch)(x, later, ended)))
            turned = x.transpose(0, 1)
            found.append(encoder_of(torch, batch_first=False)(turned, src_key_padding_mask=ended))
            found.append(encoder_of(torch, dropout=0.0).train()(x, src_key_padding_mask=ended))
        found.append(encoder_of(torch)(x, src_key_padding_mask=ended).detach())  # recorded: all places
        found.append(encoder_of(torch).requires_grad_(False)(x, src_key_padding_mask=ended))
        found.append(encoder_of(torch).requires_grad_(False)(x * 1, src_key_padding_mask=ended))
        return found

    with warnings.catch_warnings():
        agree(program, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("padding", [*PADDING, None])
def test_attention_and_a_layer(padding):
    def program(torch):
        warnings.simplefilter("ignore")
        x, found = sequences(torch), []
        attention = filled(torch, torch.nn.MultiheadAttention(4, 2, batch_first=True))
        layer = encoder_of(torch, layers=1).layers[0]
        nothing = [[1, 1, 1, 1], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]  # the first query attends to nothing
        later = masked(torch, LATER)
        plain = [None, later, masked(torch, nothing), torch.stack([later] * 4)]
        with torch.no_grad():
            for mask in plain:
                for causal in (False, True):
                    ended = None if padding is None else masked(torch, PADDING[padding])
                    for options in ({}, {"need_weights": False}, {"average_attn_weights": False}):
                        given = {"attn_mask": mask, "key_padding_mask": ended, "is_causal": causal, **options}
                        found.append(attention(x, x, x, **given))
                        found.append(told(lambda given=given: attention(x, x * 1, x, **given)))
            for mask in (*plain, torch.linspace(-1, 1, 16).reshape(4, 4), masked(torch, LATER, "infinite")):
                for kind in KINDS:
                    ended = None if padding is None else masked(torch, PADDING[padding], kind)
                    found.append([layer(x, mask, ended, causal) for causal in (False, True)])
        return found

    with warnings.catch_warnings():
        agree(program, rtol=1e-4, atol=1e-5)


def when_torch_takes_its_kernels(torch):
    """`is_causal` alone is an error where it does not."""
    x, found = sequences(torch), []

    def of(module, *given):
        with torch.no_grad():
            found.append(told(lambda: module(*given, is_causal=True)))

    def attention(**options):
        return filled(torch, torch.nn.MultiheadAttention(4, **{"num_heads": 2, "batch_first": True, **options}))

    for options in ({}, {"num_heads": 1}, {"batch_first": False}, {"bias": False}, {"add_bias_kv": True}):
        of(attention(**options), x, x, x)
    of(attention(add_zero_attn=True), x, x, x)
    of(attention(kdim=4), x, x, x)
    of(attention().train(), x, x, x)
    of(attention(), x[0], x[0], x[0])
    of(attention(), x, x * 1, x)
    found.append(told(lambda: attention()(x, x, x, is_causal=True)))
    found.append(told(lambda: attention().requires_grad_(False)(x, x, x, is_causal=True)))
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        of(attention(), x, x, x)
        found.append(torch.backends.mha.get_fastpath_enabled())
    finally:
        torch.backends.mha.set_fastpath_enabled(True)
    for options in ({}, {"heads": 1}, {"activation": torch.tanh}, {"bias": False}, {"norm_first": True}):
        of(encoder_of(torch, **options), x)
    hooked = encoder_of(torch)
    hooked.layers[1].norm1.register_forward_hook(lambda *_: None)
    of(hooked, x)
    unequal = encoder_of(torch)
    unequal.layers[0].norm2.eps = 0.1
    of(unequal, x)
    found.append(told(lambda: encoder_of(torch)(x, is_causal=True)))
    return found


def decoders_and_whole_transformers(torch):
    x = sequences(torch)
    later, ended = masked(torch, LATER), masked(torch, PADDING["ragged"])
    whole = filled(torch, torch.nn.Transformer(4, 2, 1, 1, 6, batch_first=True))
    layer = whole.decoder.layers[0]
    with torch.no_grad():
        return [
            told(lambda: whole(x, x, src_is_causal=True)),
            told(lambda: whole(x, x, tgt_is_causal=True)),
            told(lambda: whole(x, x, memory_is_causal=True)),
            whole(x, x, src_key_padding_mask=ended, tgt_key_padding_mask=ended, memory_key_padding_mask=ended),
            layer(x, x, tgt_is_causal=True),
            told(lambda: layer(x, x + 1, memory_is_causal=True)),
            layer(x, x, tgt_key_padding_mask=masked(torch, PADDING["one empty"])),
            layer(x, x + 1, later, tgt_is_causal=True),
            whole.decoder(x, x + 1, torch.nn.Transformer.generate_square_subsequent_mask(4)),
        ]


def the_hint_in_place_of_a_mask(torch):
    """While it trains, the hint counts and the mask does not, unless weights or padding are wanted."""
    x, none = sequences(torch), torch.zeros(4, 4)
    layer = filled(torch, torch.nn.MultiheadAttention(4, 2, batch_first=True)).train()
    ended = masked(torch, PADDING["ragged"], "infinite")
    return [
        layer(x, x, x, attn_mask=none, is_causal=True, need_weights=False),
        layer(x, x, x, attn_mask=none, is_causal=True),
        layer(x, x, x, attn_mask=none, is_causal=True, need_weights=False, key_padding_mask=ended),
        layer(x, x, x, attn_mask=torch.zeros(7, 7), is_causal=True, need_weights=False),  # not looked at
    ]


def masks_that_do_not_fit(torch):
    x = sequences(torch)
    with torch.no_grad():
        shapes = ((2, 3), (4,), (1, 4), (3, 4), (2, 4, 1))
        found = [told(lambda each=each: encoder_of(torch)(x, None, torch.zeros(each).bool())) for each in shapes]
        return [*found, told(lambda: encoder_of(torch)(x, None, torch.zeros(2, 4).int()))]


def warnings_of_encoders(torch):
    found = []
    for options in ({}, {"nhead": 1}, {"batch_first": False}, {"bias": False}, {"norm_first": True}):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            layer = torch.nn.TransformerEncoderLayer(4, **{"nhead": 2, "batch_first": True, **options})
            encoder = torch.nn.TransformerEncoder(layer, 1)
        found.append((encoder.use_nested_tensor, [str(each.message) for each in caught]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(4, 2), 1, enable_nested_tensor=False)
    return found, len(caught)


test_agrees_with_torch = agreement_of(programs_of(globals(), sequences), rtol=1e-4, atol=1e-5)


def test_nothing_but_padding():
    """torch refuses a batch of empty sequences; here their places are zeros, as those of one of them are."""
    with jaxvjp.no_grad():
        found = encoder_of(jaxvjp)(sequences(jaxvjp), src_key_padding_mask=jaxvjp.ones(2, 4, dtype=jaxvjp.bool))
    assert not found.any()


def test_a_step_that_is_staged():
    """No value is read: the same program leaves zeros, or not."""
    encoder, x = encoder_of(jaxvjp), sequences(jaxvjp)
    step = jaxvjp.jit(lambda x, ended: encoder(x, src_key_padding_mask=ended))
    with jaxvjp.no_grad():
        for each in PADDING.values():
            ended = masked(jaxvjp, each)
            for _ in range(2):
                assert jaxvjp.equal(step(x, ended).isnan(), encoder(x, src_key_padding_mask=ended).isnan())
                jaxvjp.testing.assert_close(step(x, ended), encoder(x, src_key_padding_mask=ended), equal_nan=True)
