"""Images resized by factors, and sampled at NaN; the types, sizes and words that `interpolate` takes."""

from __future__ import annotations

import warnings

import pytest
from oracle import Outcome, agree, theirs

import jaxvjp


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
@pytest.mark.parametrize("factor", [2.3, 1.7, 0.6, 1.2, 3.4, 2.0, (2.3, 1.3)])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_nearest_by_a_fraction(mode, factor, dtype):
    def program(torch):
        x = torch.arange(24).reshape(2, 1, 3, 4).to(getattr(torch, dtype))
        y = torch.nn.functional.interpolate(x, scale_factor=factor, mode=mode)
        if dtype == "uint8":
            return y
        x.requires_grad_()
        torch.nn.functional.interpolate(x, scale_factor=factor, mode=mode).square().sum().backward()
        return y, x.grad

    agree(program)


def test_the_gradient_of_lines_is_that_of_what_was_computed():
    """In one and three dimensions torch's backward takes the ratio of the sizes where its forward takes the factor."""

    def program(torch):
        x = torch.arange(3.0).reshape(1, 1, 3).requires_grad_()
        y = torch.nn.functional.interpolate(x, scale_factor=2.3, mode="nearest")
        y.backward(torch.arange(1.0, 7).reshape(1, 1, 6))
        return [y.flatten().tolist(), x.grad.flatten().tolist()]

    torch_s, given = theirs(program).value, Outcome(program, jaxvjp).value
    assert torch_s == [[0.0, 0.0, 0.0, 1.0, 1.0, 2.0], [3.0, 7.0, 11.0]]
    assert given == [[0.0, 0.0, 0.0, 1.0, 1.0, 2.0], [6.0, 9.0, 6.0]]


CALLS = {
    "16 bits, antialiased": lambda torch, resize: resize(
        torch.ones(1, 1, 4, 4).half(), (2, 3), mode="bilinear", antialias=True
    ),
    "16 bits, cubic": lambda torch, resize: resize(
        torch.ones(1, 1, 4, 4).bfloat16(), (2, 3), mode="bicubic", antialias=True
    ),
    "a size, and a factor of it": lambda torch, resize: resize(torch.ones(1, 1, 4, 4), 2, recompute_scale_factor=True),
    "a size, and no factor": lambda torch, resize: resize(torch.ones(1, 1, 4, 4), 2, recompute_scale_factor=False),
    "no channels": lambda torch, resize: resize(torch.zeros(1, 0, 2, 2), 3),
    "no channels of a line": lambda torch, resize: resize(torch.zeros(1, 0, 2), 3, mode="linear"),
    "no channels of a volume": lambda torch, resize: resize(torch.zeros(1, 0, 2, 2, 2), 3, mode="nearest"),
    "no channels, averaged": lambda torch, resize: resize(torch.zeros(1, 0, 2, 2), 3, mode="area"),
    "no images": lambda torch, resize: resize(torch.zeros(0, 1, 2, 2), 3, mode="bilinear"),
    "too many sizes": lambda torch, resize: resize(torch.ones(1, 1, 4, 4), (2, 3, 4)),
    "too many factors": lambda torch, resize: resize(torch.ones(1, 1, 4, 4), scale_factor=(1, 2, 3)),
    "too many fractions": lambda torch, resize: resize(torch.ones(1, 1, 4, 4), scale_factor=(1.5, 2, 3)),
    "corners of nearest": lambda torch, resize: resize(torch.ones(1, 1, 4, 4), 2, align_corners=False),
    "nothing left": lambda torch, resize: resize(torch.ones(1, 1, 4, 4), scale_factor=0.1),
}


@pytest.mark.parametrize("call", CALLS)
def test_what_is_taken(call):
    agree(lambda torch: CALLS[call](torch, torch.nn.functional.interpolate))


@pytest.mark.compiled
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("padding", ["border", "reflection"])
def test_samples_at_nan(padding, mode):
    """They are those at the first pixel. torch's backward writes beside the image there, so it is not asked for."""

    def program(torch):
        image = torch.arange(1.0, 10).reshape(1, 1, 3, 3)
        grid = torch.tensor([[[[float("nan"), 0.0], [0.3, float("nan")], [0.2, -0.4]]]])
        return torch.nn.functional.grid_sample(image, grid, mode, padding, align_corners=True)

    agree(program)


def test_maps_and_sizes():
    for maps, size in ((1, (2, 1, 2, 2)), (3, (2, 1, 2, 2)), (2, (2, 1, 2, 2))):
        agree(
            lambda torch, n=maps, s=size: torch.nn.functional.affine_grid(torch.ones(n, 2, 3), s, align_corners=False)
        )
    agree(
        lambda torch: torch.nn.functional.grid_sample(
            torch.ones(1, 1, 2, 2), torch.ones(1, 1, 1, 2, dtype=torch.float64), align_corners=False
        ),
        raises=RuntimeError,
    )


WARNED = {
    "upsample": lambda torch: torch.nn.functional.upsample(torch.ones(1, 1, 2, 2), 3),
    "upsample_nearest": lambda torch: torch.nn.functional.upsample_nearest(torch.ones(1, 1, 2, 2), 3),
    "upsample_bilinear": lambda torch: torch.nn.functional.upsample_bilinear(torch.ones(1, 1, 2, 2), 3),
    "kl_div": lambda torch: torch.nn.functional.kl_div(torch.eye(2), torch.eye(2)),
    "kl_div by batch": lambda torch: torch.nn.functional.kl_div(torch.eye(2), torch.eye(2), reduction="batchmean"),
    "cov": lambda torch: torch.cov(torch.ones(2, 1)),
    "cov of enough": lambda torch: torch.cov(torch.ones(2, 3)),
    "corrcoef": lambda torch: torch.corrcoef(torch.ones(2, 1)),
    "checkpoint": lambda torch: torch.utils.checkpoint.checkpoint(lambda a: a * 1, torch.ones(2, requires_grad=True)),
    "checkpoint_sequential": lambda torch: torch.utils.checkpoint.checkpoint_sequential(
        [lambda a: a * 1] * 2, 2, torch.ones(2, requires_grad=True)
    ),
}


@pytest.mark.parametrize("call", WARNED)
def test_warnings(call):
    def program(torch):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            WARNED[call](torch)
        return sorted({str(each.message).split("(Triggered")[0].strip() for each in told})

    agree(program)


ONCE = {
    "T": lambda torch: torch.ones(2, 3, 4).T,
    "T of a number": lambda torch: torch.ones(()).T,
    "T of a vector": lambda torch: torch.ones(2).T,
    "mT of a number": lambda torch: torch.ones(()).mT,
    "H of a number": lambda torch: torch.tensor(1j).H,
    "mH of a number": lambda torch: torch.tensor(1j).mH,
    "cross": lambda torch: torch.cross(torch.ones(3), torch.arange(3.0)),
    "cross along": lambda torch: torch.cross(torch.ones(3), torch.arange(3.0), dim=0),
    "chain_matmul": lambda torch: torch.chain_matmul(torch.eye(2), torch.ones(2, 2)),
}


@pytest.mark.parametrize("call", ONCE)
def test_what_is_warned_of_once(call):
    def program(torch):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            torch.set_warn_always(True)
            try:
                value = ONCE[call](torch)
            finally:
                torch.set_warn_always(False)
        return value, sorted({str(each.message).split("(Triggered")[0].strip() for each in told})

    agree(program)
