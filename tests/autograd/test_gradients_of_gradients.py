"""Which gradients require a gradient with `create_graph`, and which operands it reaches, as in torch."""

from __future__ import annotations

import pytest
from oracle import agree

X, Y = (3,), (2, 3)
IMAGE = (1, 2, 4, 4)


def vectors(torch, *shapes):
    """Leaves of these shapes, of numbers that differ."""
    leaves = []
    for place, shape in enumerate(shapes):
        count = 1
        for each in shape:
            count *= each
        numbers = 0.3 + 0.17 * torch.arange(count, dtype=torch.float64) + place / 10
        leaves.append(numbers.reshape(shape).requires_grad_())
    return leaves


def reached(torch, function, shapes):
    """For each operand: no gradient, one that requires none, or which operands the gradient of it reaches, and how."""
    leaves = vectors(torch, *shapes)
    result = function(torch, *leaves)
    weights = torch.linspace(1, 2, result.numel(), dtype=torch.float64).reshape(result.shape)
    first = torch.autograd.grad(result, leaves, weights, create_graph=True, allow_unused=True)
    told = []
    for each in first:
        if each is None or not each.requires_grad:
            told.append([each, None if each is None else each.requires_grad])
        else:
            scaled = (each * torch.linspace(1, 2, each.numel(), dtype=torch.float64).reshape(each.shape)).sum()
            told.append([each.detach(), torch.autograd.grad(scaled, leaves, allow_unused=True, retain_graph=True)])
    return told


def of(name, *arguments, **named):
    """The call of a function of `torch`, of `torch.nn.functional` where its name has a dot in front."""

    def call(torch, *leaves):
        module = torch.nn.functional if name.startswith(".") else torch
        return getattr(module, name.lstrip("."))(*leaves, *arguments, **named)

    return call


def ones(torch, *shape):
    return torch.ones(shape, dtype=torch.float64)


def batch_norm(torch, x, weight=None, bias=None, training=False):
    return torch.nn.functional.batch_norm(x, ones(torch, 3) / 2, ones(torch, 3), weight, bias, training)


CALLS = {
    **{
        f"{name}_of_{what}": (of(name), shapes)
        for name in ("maximum", "minimum", "fmax", "fmin", "fmod", "remainder")
        for what, shapes in (("vectors", (X, X)), ("a_matrix", (Y, X)))
    },
    **{name: (of(name), (X, X)) for name in ("xlogy", "copysign", "atan2", "hypot")},
    "max": (of("max"), (X, X)),
    "maximum_of_a_constant": (lambda torch, x: torch.maximum(ones(torch, 3) / 2, x), (X,)),
    "fmod_of_a_number": (of("fmod", 0.2), (X,)),
    "remainder_of_a_number": (of("remainder", 0.2), (X,)),
    "xlog1py": (lambda torch, x, y: torch.special.xlog1py(x, y), (X, X)),
    "polar": (lambda torch, r, angle: torch.view_as_real(torch.polar(r, angle)), (X, X)),
    "lerp": (of("lerp"), (X, X, X)),
    "angle": (of("angle"), (X,)),
    "div_trunc": (of("div", rounding_mode="trunc"), (X, X)),
    "clamp_by_tensors": (of("clamp"), (X, X, X)),
    "relu": (of(".relu"), (X,)),
    "prelu": (of(".prelu"), ((2, 4), (4,))),
    "diagonal": (of("diagonal"), ((3, 3),)),
    "diag": (of("diag"), ((3, 3),)),
    "linear": (of(".linear"), (Y, (4, 3), (4,))),
    **{f"avg_pool{n}d": (of(f".avg_pool{n}d", 2), ((1, 2) + (4,) * n,)) for n in (1, 2, 3)},
    **{
        f"adaptive_avg_pool{n}d_to_{size}": (of(f".adaptive_avg_pool{n}d", size), ((1, 2) + (4,) * n,))
        for n in (1, 2, 3)
        for size in (1, 2, 4)
    },
    **{
        f"adaptive_max_pool{n}d_to_{size}": (of(f".adaptive_max_pool{n}d", size), ((1, 2) + (4,) * n,))
        for n in (1, 2)
        for size in (2, 4)
    },
    "max_pool2d": (of(".max_pool2d", 2), (IMAGE,)),
    "lp_pool1d": (of(".lp_pool1d", 2.0, 2), ((1, 2, 4),)),
    **{
        f"pad_{mode}": (of(".pad", (1, 1), mode=mode), ((1, 2, 4),))
        for mode in ("constant", "reflect", "replicate", "circular")
    },
    **{
        f"interpolate_{mode}": (of(".interpolate", scale_factor=2, mode=mode), (IMAGE,))
        for mode in ("nearest", "nearest-exact", "area", "bilinear", "bicubic")
    },
    **{
        f"grid_sample_{mode}": (of(".grid_sample", mode=mode, align_corners=False), (IMAGE, (1, 3, 3, 2)))
        for mode in ("nearest", "bilinear")
    },
    **{
        f"nll_loss_{reduction}": (
            lambda torch, x, reduction=reduction: torch.nn.functional.nll_loss(
                x, torch.tensor([0, 2]), reduction=reduction
            ),
            (Y,),
        )
        for reduction in ("none", "mean", "sum")
    },
    "nll_loss_of_images": (
        lambda torch, x: torch.nn.functional.nll_loss(x, torch.zeros(1, 4, 4, dtype=torch.int64)),
        (IMAGE,),
    ),
    "cross_entropy": (lambda torch, x: torch.nn.functional.cross_entropy(x, torch.tensor([0, 2])), (Y,)),
    "batch_norm_in_eval": (batch_norm, ((4, 3), (3,), (3,))),
    "batch_norm_in_eval_alone": (batch_norm, ((4, 3),)),
    "batch_norm_in_training": (lambda torch, *leaves: batch_norm(torch, *leaves, training=True), ((4, 3), (3,), (3,))),
    "bias_of_batch_norm": (lambda torch, bias: batch_norm(torch, ones(torch, 4, 3), None, bias), ((3,),)),
    "weight_of_batch_norm": (lambda torch, w: batch_norm(torch, ones(torch, 4, 3), w), ((3,),)),
    "layer_norm": (lambda torch, x, w, b: torch.nn.functional.layer_norm(x, (3,), w, b), (Y, X, X)),
    "bias_of_layer_norm": (lambda torch, b: torch.nn.functional.layer_norm(ones(torch, 2, 3), (3,), None, b), (X,)),
    "group_norm": (lambda torch, x, w, b: torch.nn.functional.group_norm(x, 1, w, b), (Y, X, X)),
    "instance_norm": (lambda torch, x, w, b: torch.nn.functional.instance_norm(x, None, None, w, b), ((2, 3, 4), X, X)),
    **{f"conv{n}d": (of(f".conv{n}d"), ((1, 2) + (4,) * n, (3, 2) + (2,) * n, (3,))) for n in (1, 2, 3)},
    **{
        f"conv_transpose{n}d": (of(f".conv_transpose{n}d"), ((1, 2) + (3,) * n, (2, 3) + (2,) * n, (3,)))
        for n in (1, 2)
    },
    "conv_of_groups": (of(".conv2d", groups=4), ((1, 4, 4, 4), (4, 1, 2, 2), (4,))),
    "bias_of_conv": (lambda torch, b: torch.nn.functional.conv1d(ones(torch, 1, 2, 4), ones(torch, 3, 2, 2), b), (X,)),
    "input_and_bias_of_conv": (
        lambda torch, x, b: torch.nn.functional.conv1d(x, ones(torch, 3, 2, 2), b),
        ((1, 2, 4), X),
    ),
    "layers": (
        lambda torch, x, w, b, v: torch.nn.functional.conv1d(
            torch.nn.functional.avg_pool1d(x * v, 2), w, b * v.sum()
        ).relu(),
        ((1, 2, 8), (3, 2, 2), X, (1, 2, 8)),
    ),
    "stft": (lambda torch, x: torch.view_as_real(torch.stft(x, 4, return_complex=True)), ((10,),)),
    "stft_with_a_window": (
        lambda torch, x, w: torch.view_as_real(torch.stft(x, 4, window=w, return_complex=True)),
        ((10,), (4,)),
    ),
    "stft_without_padding": (
        lambda torch, x: torch.view_as_real(torch.stft(x, 4, center=False, return_complex=True)),
        ((10,),),
    ),
    **{
        f"scatter_reduce_{reduce}": (
            lambda torch, x, y, reduce=reduce: torch.scatter_reduce(x, 0, torch.tensor([0, 0]), y, reduce=reduce),
            (X, (2,)),
        )
        for reduce in ("sum", "prod", "mean", "amax")
    },
    "largest_of_bags": (
        lambda torch, w: torch.nn.functional.embedding_bag(torch.tensor([[0, 1]]), w, mode="max"),
        (Y,),
    ),
}
"""By name a call and the shapes of its operands."""


@pytest.mark.parametrize("name", CALLS)
def test_what_a_gradient_depends_on(name):
    function, shapes = CALLS[name]
    agree(lambda torch: reached(torch, function, shapes))


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("name", ["cdist", "pdist"])
def test_gradients_of_distances_require_a_gradient(name, p):
    """torch cannot differentiate these again."""

    def program(torch):
        leaves = vectors(torch, (3, 2), (4, 2))[: 2 if name == "cdist" else 1]
        distances = torch.cdist(*leaves, p=p) if name == "cdist" else torch.nn.functional.pdist(*leaves, p=p)
        return [each.requires_grad for each in torch.autograd.grad(distances.sum(), leaves, create_graph=True)]

    agree(program)


def test_a_penalty_on_gradients_of_a_linear_layer():
    def program(torch):
        (x,) = vectors(torch, (1, 2, 4))
        (gradient,) = torch.autograd.grad(torch.nn.functional.avg_pool1d(x, 2).sum(), x, create_graph=True)
        gradient.pow(2).sum().backward()
        return gradient.detach(), x.grad

    agree(program)


def test_a_bias_that_nothing_flows_on_from():
    """Its gradient requires a gradient, and backward from it reaches nothing."""

    def program(torch):
        x, w, b = vectors(torch, (1, 2, 4), (3, 2, 2), (3,))
        loss = torch.nn.functional.conv1d(x, w, b).pow(3).sum()
        of_bias = torch.autograd.grad(torch.nn.functional.conv1d(x, w, b).sum(), b, create_graph=True)[0]
        (of_bias * 2).sum().backward(retain_graph=True)
        reached_ = [x.grad, w.grad, b.grad]
        gradients = torch.autograd.grad(loss, [x, w, b], create_graph=True)
        (sum(each.pow(2).sum() for each in gradients) + of_bias.sum()).backward()
        return reached_, x.grad, w.grad, b.grad

    agree(program)


def test_a_bias_that_is_asked_for_by_name():
    def program(torch):
        x, w, b = vectors(torch, (1, 2, 4), (3, 2, 2), (3,))
        (of_bias,) = torch.autograd.grad(torch.nn.functional.conv1d(x, w, b).sum(), b, create_graph=True)
        torch.autograd.grad(of_bias.sum(), x)

    agree(program, raises=RuntimeError)


def test_gradients_that_are_walked_twice_alike():
    """The second walk is a remembered one."""

    def program(torch):
        told = []
        for _ in range(3):
            x, w, b = vectors(torch, (1, 2, 4), (3, 2, 2), (3,))
            found = torch.autograd.grad(torch.nn.functional.conv1d(x, w, b).sum(), [x, w, b], create_graph=True)
            told.append(
                [[each.requires_grad for each in found], torch.func.hessian(lambda b: (b * b).sum())(b.detach())]
            )
            sum(each.sum() for each in found).backward()
            told.append([x.grad, w.grad, b.grad])
        return told

    agree(program)
