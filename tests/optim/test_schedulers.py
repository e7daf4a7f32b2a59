"""Schedules of learning rates give torch's rates, warnings and errors."""

from __future__ import annotations

import warnings

import pytest
from oracle import agree

ROWS = {
    "LambdaLR": [{"lr_lambda": lambda epoch: 0.9**epoch}],
    "MultiplicativeLR": [{"lr_lambda": lambda epoch: 0.9 + 0.01 * epoch}],
    "StepLR": [{"step_size": 3}],
    "MultiStepLR": [{"milestones": [2, 5, 5], "gamma": 0.5}],
    "ConstantLR": [{}, {"factor": 0.5, "total_iters": 3}],
    "LinearLR": [{}, {"start_factor": 0.2, "end_factor": 0.7, "total_iters": 4}],
    "ExponentialLR": [{"gamma": 0.9}],
    "PolynomialLR": [{"total_iters": 7, "power": 2.0}],
    "CosineAnnealingLR": [{"T_max": 4, "eta_min": 0.01}],
    "CosineAnnealingWarmRestarts": [{"T_0": 3, "T_mult": 2}],
    "CyclicLR": [
        {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 3},
        {"base_lr": 0.01, "max_lr": [0.1, 0.2], "step_size_up": 2, "step_size_down": 3, "mode": "triangular2"},
        {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 3, "mode": "exp_range", "gamma": 0.9},
    ],
    "OneCycleLR": [
        {"max_lr": 0.1, "total_steps": 12},
        {"max_lr": 0.1, "epochs": 3, "steps_per_epoch": 4, "anneal_strategy": "linear", "three_phase": True},
    ],
}
CASES = [(name, options) for name, each in ROWS.items() for options in each]


def optimizer_of(torch, kind="SGD"):
    weights = [torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)]
    options = {"momentum": 0.9} if kind == "SGD" else {}
    return getattr(torch.optim, kind)([{"params": weights[:1]}, {"params": weights[1:], "lr": 0.05}], lr=0.1, **options)


def rates(optimizer):
    keys = ("lr", "momentum", "betas", "initial_lr", "max_lr", "min_lr")
    return [{key: group[key] for key in keys if key in group} for group in optimizer.param_groups]


def comparable(kept):
    """Of a scheduler's `state_dict()` what is no function, and all its keys."""
    return {key: value for key, value in kept.items() if key not in ("lr_lambdas", "milestones")}, [*kept]


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize(("name", "options"), CASES)
def test_rates(name, options, kind):
    def program(torch):
        optimizer = optimizer_of(torch, kind)
        scheduler = getattr(torch.optim.lr_scheduler, name)(optimizer, **options)
        seen = [rates(optimizer)]
        for _ in range(11):
            optimizer.step()
            scheduler.step()
            seen += [rates(optimizer), scheduler.get_last_lr()]
        again = getattr(torch.optim.lr_scheduler, name)(optimizer, **options)
        again.load_state_dict(scheduler.state_dict())
        if name not in ("OneCycleLR", "MultiplicativeLR"):
            again.step(4)
        return seen, rates(optimizer), comparable(scheduler.state_dict()), comparable(again.state_dict())

    agree(program, rtol=1e-12, atol=1e-15)


def test_a_rate_that_is_a_tensor_stays_that_tensor():
    def program(torch):
        rate = torch.tensor(0.1)
        optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=rate)
        scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        optimizer.step()
        scheduler.step()
        return rate, optimizer.param_groups[0]["lr"] is rate, scheduler.get_last_lr()

    agree(program)


@pytest.mark.parametrize(
    "options", [{}, {"mode": "max", "threshold_mode": "abs", "cooldown": 1, "min_lr": [0.01, 0.02]}]
)
def test_plateau(options):
    def program(torch):
        optimizer = optimizer_of(torch)
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1, **options)
        seen = []
        for metric in (1.0, 0.9, 0.9, 0.9, 0.9, 2.0, 0.5, 0.5, 0.5, 0.5):
            scheduler.step(metric)
            seen.append((rates(optimizer), scheduler.num_bad_epochs, scheduler.best))
        return seen, sorted(scheduler.state_dict().items())

    agree(program, rtol=1e-12)


def test_one_after_the_other_and_several_at_once():
    def program(torch):
        schedules = torch.optim.lr_scheduler
        seen = []
        for chained in (False, True):
            optimizer = optimizer_of(torch)
            parts = [schedules.LinearLR(optimizer, total_iters=3), schedules.ExponentialLR(optimizer, 0.8)]
            scheduler = schedules.ChainedScheduler(parts) if chained else schedules.SequentialLR(optimizer, parts, [4])
            for _ in range(8):
                optimizer.step()
                scheduler.step()
                seen.append((rates(optimizer), scheduler.get_last_lr()))
            seen.append(list(scheduler.state_dict()))
        return seen

    agree(program, rtol=1e-12)


def test_warnings():
    def program(torch):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            optimizer = optimizer_of(torch)
            scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
            scheduler.step()
            scheduler.step(3)
            scheduler.get_lr()
        return [(each.category.__name__, str(each.message)) for each in caught]

    agree(program)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("LambdaLR", {"lr_lambda": [abs]}),
        ("MultiplicativeLR", {"lr_lambda": 3}),
        ("ConstantLR", {"factor": 2.0}),
        ("LinearLR", {"start_factor": 0.0}),
        ("LinearLR", {"end_factor": 2.0}),
        ("StepLR", {"step_size": 2, "last_epoch": 3}),
        ("CosineAnnealingWarmRestarts", {"T_0": 0}),
        ("CyclicLR", {"base_lr": 0.1, "max_lr": [0.1]}),
        ("CyclicLR", {"base_lr": 0.1, "max_lr": 0.2, "mode": "other"}),
        ("OneCycleLR", {"max_lr": 0.1}),
        ("OneCycleLR", {"max_lr": 0.1, "total_steps": -1}),
        ("OneCycleLR", {"max_lr": 0.1, "total_steps": 3, "pct_start": 2.0}),
        ("ReduceLROnPlateau", {"factor": 1.0}),
        ("ReduceLROnPlateau", {"mode": "other"}),
        ("SequentialLR", {"schedulers": [], "milestones": []}),
    ],
)
def test_errors(name, options):
    def program(torch):
        getattr(torch.optim.lr_scheduler, name)(optimizer_of(torch), **options)

    outcome = agree(program)
    assert outcome.raised is not None
