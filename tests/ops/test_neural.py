"""`nn.functional` beyond torch's samples: kinks, ties, seeds, running statistics, class numbers out of range."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest
from oracle import agree

import jaxvjp

EDGES = [-inf, -90.0, -6.0, -3.0, -2.5, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 3.0, 6.0, 21.0, 30.0, 90.0]
PLAIN = ["relu6", "elu", "selu", "celu", "silu", "mish", "hardtanh", "hardsigmoid", "hardswish", "hardshrink", "gelu"]
PLAIN += ["softshrink", "tanhshrink", "leaky_relu", "softplus", "softsign"]
KINKED: dict[str, tuple[float, ...]] = {**dict.fromkeys(PLAIN, ()), "threshold": (0.5, 2.0)}


def gradients(torch, result, *leaves):
    return result, torch.autograd.grad(result.sum(), leaves), result.grad_fn.name()


@pytest.mark.parametrize("name", KINKED)
def test_activations_at_their_kinks(name):
    def program(torch):
        x = torch.tensor(EDGES, requires_grad=True)
        return gradients(torch, getattr(torch.nn.functional, name)(x, *KINKED[name]), x)

    agree(program, 1e-5, 1e-6)


LOSSES = ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy_with_logits"]


@pytest.mark.parametrize("name", LOSSES)
def test_losses_of_every_pair_of_edges(name):
    def program(torch):
        x = torch.tensor([EDGES] * len(EDGES), requires_grad=True)
        y = torch.tensor([[each] * len(EDGES) for each in EDGES], requires_grad=True)
        return gradients(torch, getattr(torch.nn.functional, name)(x, y, reduction="none"), x, y)

    agree(program, 1e-5, 1e-6)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum", "most"])
def test_the_reductions_have_torchs_nodes(reduction):
    def program(torch):
        functional = torch.nn.functional
        x = torch.tensor([[0.5, -1.0, 2.0], [0.0, 1.5, -0.5]], requires_grad=True)
        y = torch.tensor([[0.25, 1.0, -2.0], [0.5, 0.5, 0.0]])
        ones, classes = torch.ones(2, 3), torch.tensor([2, -100])
        losses = [
            getattr(functional, name)(x, y, reduction=reduction) for name in [*LOSSES, "kl_div", "poisson_nll_loss"]
        ]
        losses += [
            functional.soft_margin_loss(x, ones, reduction=reduction),
            functional.hinge_embedding_loss(x, ones, reduction=reduction),
        ]
        losses += [functional.cross_entropy(x, classes, reduction=reduction, label_smoothing=0.1)]
        losses += [
            functional.cross_entropy(x, y, reduction=reduction),
            functional.nll_loss(x, classes, reduction=reduction),
        ]
        losses += [functional.triplet_margin_loss(x, y, ones, reduction=reduction)]
        return [(loss, loss.grad_fn.name()) for loss in losses]

    agree(program, 1e-5, 1e-6)


def test_the_last_of_several_operations_names_the_step():
    def program(torch):
        kl_div, x = torch.nn.functional.kl_div, torch.eye(2, requires_grad=True)
        steps = [kl_div(x, x.detach(), reduction=each, log_target=True) for each in ("none", "sum", "batchmean")]
        steps += [kl_div(x, x.detach(), reduction="batchmean")]
        steps += [torch.linalg.cond(x, each) for each in (None, 2, -2, "nuc", "fro", 1)]
        z = torch.ones(2, dtype=torch.complex64, requires_grad=True)
        return [each.grad_fn.name() for each in (*steps, z.real, z.imag, z[0].real, torch.imag(z * 1))]

    agree(program)


def test_probabilities_of_exactly_zero_and_one():
    def program(torch):
        p = torch.tensor([0.0, 0.0, 0.0, 0.5, 1.0, 1.0, 1.0, 1e-30], requires_grad=True)
        target = torch.tensor([0.0, 0.5, 1.0, 1.0, 0.0, 0.5, 1.0, 0.0])
        return gradients(torch, torch.nn.functional.binary_cross_entropy(p, target, reduction="none"), p)

    agree(program, 1e-5, 1e-6)


@pytest.mark.parametrize("kind", ["ties", "nan", "lowest", "integers"])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_the_maximum_of_a_window_is_its_first(dims, kind):
    numbers = np.random.RandomState(dims).randint(0, 3, (1, 2, *[6] * dims)).astype(np.float32)
    if kind == "nan":
        numbers.flat[::7] = nan
    elif kind == "lowest":
        numbers[:] = -inf
    elif kind == "integers":
        numbers = numbers.astype(np.int64)

    def program(torch):
        functional = torch.nn.functional
        x = torch.tensor(numbers, requires_grad=kind != "integers")
        pool, adaptive = (getattr(functional, f"{each}max_pool{dims}d") for each in ("", "adaptive_"))
        results = [pool(x, 3, 2, 1, ceil_mode=True, return_indices=True), pool(x, 2, 1, 0, 2, return_indices=True)]
        if kind == "integers":
            return results
        results.append(adaptive(x, 4, return_indices=True))
        return results, [torch.autograd.grad(values.sum(), x) for values, _ in results]

    agree(program)


@pytest.mark.parametrize(
    "name", ["dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout", "rrelu"]
)
def test_the_seed_drops_what_torch_drops(name):
    def program(torch):
        shape = (2, 3, 2, 2, 2) if name == "dropout3d" else (2, 3, 4) if name == "dropout1d" else (2, 3, 4, 5)
        x = torch.tensor(
            np.linspace(-1, 1, int(np.prod(shape))).reshape(shape), dtype=torch.float32, requires_grad=True
        )
        torch.manual_seed(7)
        function = getattr(torch.nn.functional, name)
        first, written = function(x, training=True), function(x.clone(), training=True, inplace=True)
        return first, written, torch.autograd.grad(first.sum() + written.sum(), x), torch.rand(2)

    agree(program, 1e-6, 1e-6)


def test_running_statistics_move():
    def program(torch):
        functional = torch.nn.functional
        x = torch.tensor(np.random.RandomState(0).randn(3, 2, 4).astype(np.float32), requires_grad=True)
        statistics = [torch.zeros(2), torch.ones(2), torch.zeros(2), torch.ones(2)]
        results = [functional.batch_norm(x, *statistics[:2], training=True, momentum=0.3)]
        results += [
            functional.instance_norm(x, *statistics[2:], momentum=0.3),
            functional.batch_norm(x, *statistics[:2]),
        ]
        return results, [torch.autograd.grad(each.sum(), x) for each in results], statistics

    agree(program, 1e-5, 1e-5)


BAD = {
    "a class": lambda functional, t: functional.cross_entropy(t.ones(2, 3), t.tensor([0, 3])),
    "a negative class": lambda functional, t: functional.nll_loss(t.ones(2, 3), t.tensor([0, -1])),
    "a row": lambda functional, t: functional.embedding(t.tensor([4]), t.ones(3, 2)),
    "a bag's row": lambda functional, t: functional.embedding_bag(t.tensor([[0, -1]]), t.ones(3, 2)),
    "a place": lambda functional, t: functional.one_hot(t.tensor([0, 5]), 3),
    "a label": lambda functional, t: functional.multi_margin_loss(t.ones(2, 3), t.tensor([0, 3])),
    "a batch": lambda functional, t: functional.cross_entropy(t.ones(2, 3), t.tensor([0])),
    "a target size": lambda functional, t: functional.cross_entropy(t.ones(2, 3, 4), t.tensor([[0], [0]])),
    "a target type": lambda functional, t: functional.nll_loss(t.ones(2, 3), t.tensor([0.0, 1.0])),
    "channels": lambda functional, t: functional.conv2d(t.ones(1, 2, 4, 4), t.ones(1, 3, 2, 2)),
    "output padding": lambda functional, t: functional.conv_transpose1d(
        t.ones(1, 1, 4), t.ones(1, 1, 3), output_padding=1
    ),
    "a probability": lambda functional, t: functional.dropout(t.ones(2), 1.5),
    "a mode": lambda functional, t: functional.interpolate(t.ones(1, 1, 4), 2, mode="bilinear"),
    "a reduction": lambda functional, t: functional.mse_loss(t.ones(2), t.ones(2), reduction="most"),
    "a shape": lambda functional, t: functional.layer_norm(t.ones(2, 3), [2]),
    "a linear layer": lambda functional, t: functional.linear(t.ones(2, 3), t.ones(4, 2)),
    "a gradient": lambda functional, t: functional.soft_margin_loss(t.ones(2), t.ones(2, requires_grad=True)),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_raises_at_the_call(what):
    assert agree(lambda torch: BAD[what](torch.nn.functional, torch)).error is not None


def test_sparse_gradients_are_refused():
    with pytest.raises(NotImplementedError, match="no sparse gradients"):
        jaxvjp.nn.functional.embedding(jaxvjp.tensor([0]), jaxvjp.ones(2, 2), sparse=True)


def test_what_cannot_be_read_under_vmap_is_taken_as_it_is():
    def program(torch):
        x = torch.tensor([[0.5, -1.0, 2.0], [0.0, 1.5, -0.5]])
        return torch.vmap(torch.nn.functional.cross_entropy)(x, torch.tensor([2, 0]))

    agree(program, 1e-5, 1e-6)


def test_embeddings_are_renormalized_in_place():
    def program(torch):
        weight = torch.tensor([[3.0, 4.0], [0.1, 0.2], [6.0, 8.0]], requires_grad=True)
        rows = torch.nn.functional.embedding(torch.tensor([0, 0, 1]), weight, 1, max_norm=1.0, scale_grad_by_freq=True)
        return rows, torch.autograd.grad(rows.sum(), weight), weight.detach()

    agree(program, 1e-5, 1e-6)


def test_a_row_that_attends_to_nothing_is_zero():
    def program(torch):
        x = torch.tensor(np.random.RandomState(0).randn(1, 2, 3, 4).astype(np.float32), requires_grad=True)
        mask = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
        return gradients(torch, torch.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=mask), x)

    agree(program, 1e-4, 1e-5)


def test_the_step_has_the_name_of_the_function():
    def program(torch):
        x = torch.ones(2, requires_grad=True)
        steps = [x.log1p(), x.deg2rad(), x.rad2deg(), torch.special.i0e(x)]
        steps += [x.clamp_min(0), x.clamp_max(x.detach()), x.clamp(min=0), x.clamp(x.detach()), torch.special.i1e(x)]
        steps += [torch.nn.functional.pad(x.view(1, 1, 2), (1, 1), "circular")]
        return [(each, type(each.grad_fn).__name__, each.grad_fn.name()) for each in steps]

    agree(program)


@pytest.mark.parametrize("blank", [0, 2])
def test_a_target_of_ctc_may_hold_the_blank(blank):
    def program(torch):
        scores = torch.arange(96.0, dtype=torch.float64).reshape(6, 4, 4).sin().log_softmax(-1)
        targets = torch.tensor([[3, 3, 0], [3, 0, 3], [0, 0, 1], [2, 2, 2]])
        return torch.nn.functional.ctc_loss(scores, targets, (6, 5, 6, 6), (3, 3, 3, 2), blank, "none")

    agree(program, 1e-9, 1e-9)
