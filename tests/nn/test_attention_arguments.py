"""What attention refuses, in torch's words, and dropout with every probability."""

from __future__ import annotations

import warnings

import pytest
from oracle import agree, agreement_of, programs_of

TYPES = ("bool", "uint8", "int8", "int32", "int64", "complex64", "float16", "bfloat16", "float32", "float64")
PROBABILITIES = (0.0, 0.5, 1.0, 1, 1.5, -0.5, float("nan"))
MASKS = [(2, 3), (1, 3), (2, 1), (3,), (1,), (2,), (2, 2), (3, 2), (2, 2, 3), (1, 2, 3), (5, 2, 3), (2, 1, 2, 3)]
MASKS += [(1, 2, 2, 3), (1, 1, 1, 2, 3), (7, 1, 2, 2, 3)]


def told(torch, run):
    """What a call gives, or its error: class and first sentence."""
    try:
        return run()
    except (RuntimeError, ValueError, AssertionError, IndexError, NotImplementedError) as error:
        return type(error).__name__, str(error).partition("\n")[0]


def operands(torch, lead=(1, 2), lengths=(2, 3, 3), widths=(2, 2, 2)):
    generator = torch.Generator().manual_seed(1)
    return [torch.rand(*lead, *sizes, generator=generator) * 2 for sizes in zip(lengths, widths, strict=True)]


@pytest.mark.parametrize("lead", [(1, 2), (2,)], ids=str)
def test_types_of_masks(lead):
    def program(torch):
        q, k, v = operands(torch, lead)
        attention, found = torch.nn.functional.scaled_dot_product_attention, []
        for name in TYPES:
            mask = torch.tensor([[1, 0, 1], [1, 1, 0]]).to(getattr(torch, name))
            found.append(told(torch, lambda mask=mask: attention(q, k, v, mask)))
            found.append(told(torch, lambda mask=mask: attention(q.double(), k.double(), v.double(), mask)))
        return found

    agree(program)


@pytest.mark.parametrize("name", [each for each in TYPES if "16" not in each])
def test_types_of_operands(name):
    def program(torch):
        own = getattr(torch, name)
        q, k, v = [each.to(own) for each in operands(torch)]
        attention, bools = torch.nn.functional.scaled_dot_product_attention, torch.ones(2, 3, dtype=torch.bool)
        return [
            told(torch, lambda: attention(q, k, v)),
            told(torch, lambda: attention(q, k, v, bools)),
            told(torch, lambda: attention(q, k, v, bools.to(own))),
            told(torch, lambda: attention(q, k.to(torch.int16), v)),
        ]

    agree(program)


@pytest.mark.parametrize("shape", MASKS, ids=str)
@pytest.mark.parametrize("lead", [(1, 2), (2,), ()], ids=str)
def test_shapes_of_masks(shape, lead):
    def program(torch):
        q, k, v = operands(torch, lead)
        attention = torch.nn.functional.scaled_dot_product_attention
        return [
            told(torch, lambda: attention(q, k, v, torch.zeros(shape))),
            told(torch, lambda: attention(q, k, v, torch.ones(shape, dtype=torch.bool))),
            told(torch, lambda: attention(q, k, v, torch.zeros(shape), is_causal=True)),
        ]

    agree(program)


def shapes_of_operands(torch):
    def of(*shapes, **options):
        given = [torch.ones(each) for each in shapes]
        return told(torch, lambda: torch.nn.functional.scaled_dot_product_attention(*given, **options))

    grouped = {"enable_gqa": True}
    return [
        of((3,), (3,), (3,)),
        of((2, 3, 4), (2, 5, 6), (2, 5, 4)),
        of((2, 3, 4), (2, 5, 4), (2, 6, 4)),
        of((2, 3, 4), (3, 5, 4), (3, 5, 4)),
        of((1, 2, 3, 4), (1, 3, 5, 4), (1, 3, 5, 4)),
        of((2, 3, 0), (2, 5, 0), (2, 5, 4)),
        of((2, 3, 4), (2, 0, 4), (2, 0, 4)),
        of((1, 4, 3, 4), (1, 3, 5, 4), (1, 3, 5, 4), **grouped),
        of((1, 2, 3, 4), (1, 4, 5, 4), (1, 4, 5, 4), **grouped),
        of((1, 4, 3, 4), (1, 2, 5, 4), (1, 4, 5, 4), **grouped),
        of((3, 4), (5, 4), (5, 4), **grouped),
    ]


def causal_with_a_mask(torch):
    """torch's fused kernel takes both; elsewhere both are refused."""
    attention = torch.nn.functional.scaled_dot_product_attention
    q, k, v = [each.double() for each in operands(torch, (2, 3), (4, 6, 6), (5, 5, 5))]
    mask = torch.linspace(-1, 1, 24, dtype=torch.float64).reshape(4, 6)
    x = q.clone().requires_grad_()
    result = attention(x, k, v, mask, is_causal=True)
    result.square().sum().backward()
    return [
        result,
        x.grad,
        attention(q, k, v, mask > 0, is_causal=True),
        attention(q, k[:, :1], v[:, :1], mask, is_causal=True, enable_gqa=True),
        told(torch, lambda: attention(q[0], k[0], v[0], mask, is_causal=True)),
        told(torch, lambda: attention(q, k, v, mask, 0.5, is_causal=True)),
        told(torch, lambda: attention(q, k, v[..., :3], mask, is_causal=True)),
        told(torch, lambda: attention(q, k[:1], v[:1], mask, is_causal=True)),
        told(torch, lambda: attention(q, k, v, mask.int(), is_causal=True)),
        [
            type(attention(*given).grad_fn).__name__
            for given in ((x, k, v), (x, k, v[..., :3]), (x, k[:1], v[:1]), (x[0], k[0], v[0]), (x, k, v, None, 0.5))
        ],
    ]


def drawn_after(torch, run):
    """What a call gives, its gradient's gradient, and whether it drew random numbers: by the number that comes next."""
    torch.manual_seed(3)

    def found():
        x = torch.linspace(-1, 1, 16).reshape(2, 2, 4).requires_grad_()
        result = run(x)
        (first,) = torch.autograd.grad((result**3).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.square().sum() + first.sum(), x)
        return result.detach(), first.detach(), second

    return told(torch, found), torch.rand(1)


@pytest.mark.parametrize("p", PROBABILITIES)
def test_probabilities(p):
    def program(torch):
        functional = torch.nn.functional

        def modules(x):
            layer = torch.nn.MultiheadAttention(4, 2, dropout=p)
            for each in layer.parameters():
                torch.nn.init.constant_(each, 0.3)
            return layer

        return [
            drawn_after(torch, lambda x: functional.scaled_dot_product_attention(x, x, x, dropout_p=p)),
            drawn_after(torch, lambda x: modules(x)(x, x, x)[0]),
            *[drawn_after(torch, lambda x, name=name: getattr(functional, name)(x, p, True)) for name in NAMES],
            *[drawn_after(torch, lambda x, name=name: getattr(torch, name)(x, p, True)) for name in KERNELS],
            *[drawn_after(torch, lambda x, name=name: getattr(torch, f"{name}_")(x * 1, p, True)) for name in KERNELS],
            [told(torch, lambda name=name: getattr(torch, name)(torch.ones(2, 2), p, False)) for name in KERNELS],
        ]

    agree(program, rtol=1e-4, atol=1e-5)


NAMES = ("dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d")
KERNELS = ("dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout")


def nothing_is_kept(torch):
    """With p=1 also where there are no weights to be had, in layers and in recurrent networks."""
    functional = torch.nn.functional
    q, k, v = operands(torch)
    whole = [
        torch.nn.TransformerEncoderLayer(4, 2, 4, dropout=1.0),
        torch.nn.TransformerDecoderLayer(4, 2, 4, dropout=1.0),
    ]
    recurrent = [getattr(torch.nn, name)(2, 2, 2, dropout=1.0) for name in ("RNN", "LSTM", "GRU")]
    for layer in (*whole, *recurrent):
        for each in layer.parameters():
            torch.nn.init.constant_(each, 0.3)
    x = torch.linspace(0, 1, 8).reshape(2, 4)
    attention = torch.nn.MultiheadAttention(4, 2, dropout=1.0)
    for each in attention.parameters():
        torch.nn.init.constant_(each, 0.3)
    return [
        functional.scaled_dot_product_attention(q * float("nan"), k, v, dropout_p=1.0),
        functional.scaled_dot_product_attention(q[0, 0], k[0, 0], v[0, 0], dropout_p=1.0),
        functional.scaled_dot_product_attention(q, k, v, torch.tensor([[False] * 3, [True] * 3]), 1.0),
        attention(x, x, x),
        attention(x, x, x, need_weights=False)[0],
        whole[0](x),
        whole[1](x, x),
        [layer(x.reshape(2, 2, 2))[0] for layer in recurrent],
    ]


def a_refused_call_draws_nothing(torch):
    q, k, v = operands(torch)
    attention, found = torch.nn.functional.scaled_dot_product_attention, []
    for mask, p in ((torch.ones(2, 3).int(), 0.5), (torch.ones(2, 2), 0.5), (None, 1.5)):
        torch.manual_seed(1)
        error = told(torch, lambda mask=mask, p=p: attention(q, k, v, mask, p))
        found.append((error, torch.rand(1)))
    return found[0], found[2], found[1][0]


@pytest.mark.parametrize("need_weights", [True, False])
def test_masks_of_several_heads(need_weights):
    def program(torch):
        layer, x, found = torch.nn.MultiheadAttention(4, 2), torch.linspace(-1, 1, 24).reshape(3, 2, 4), []
        for each in layer.parameters():
            torch.nn.init.constant_(each, 0.3)

        def of(**masks):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                result = told(torch, lambda: layer(x, x, x, need_weights=need_weights, **masks))
            return result, str(caught[0].message) if caught and result[0] != "AssertionError" else ""

        plain, padding = torch.tensor([[0, 0, 0], [0, 0, 0], [1, 0, 0]]), torch.tensor([[0, 1, 0], [0, 0, 0]])
        for name in TYPES:
            own = getattr(torch, name)
            found += [of(attn_mask=plain.to(own)), of(key_padding_mask=padding.to(own))]
            found += [of(attn_mask=plain.to(own), key_padding_mask=padding.bool())]
            found += [of(attn_mask=plain.bool(), key_padding_mask=padding.to(own))]
            found += [of(attn_mask=plain.float(), key_padding_mask=padding.to(own))]
        for shape in ((3,), (2, 2), (1, 3), (4, 3, 3), (2, 3, 3), (3, 1), (1, 1, 3, 3)):
            found += [of(attn_mask=torch.zeros(shape)), of(attn_mask=torch.zeros(shape), is_causal=True)]
        for shape in ((3,), (2, 2), (3, 2), (2, 3, 1), (2, 1), ()):
            found += [of(key_padding_mask=torch.zeros(shape)), of(key_padding_mask=torch.zeros(shape), is_causal=True)]
        return found

    agree(program)


test_agrees_with_torch = agreement_of(programs_of(globals()), rtol=1e-5)
