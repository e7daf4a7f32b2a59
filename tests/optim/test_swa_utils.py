"""Averages of weights, and the schedule that goes with them."""

from __future__ import annotations

import pytest
from oracle import agree

RULES = {
    "mean": lambda swa: {},
    "mean_of_one": lambda swa: {"avg_fn": swa.get_swa_avg_fn()},
    "mean_of_many": lambda swa: {"multi_avg_fn": swa.get_swa_multi_avg_fn()},
    "exponential": lambda swa: {"avg_fn": swa.get_ema_avg_fn(0.9)},
    "exponential_of_many": lambda swa: {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.9)},
    "with_buffers": lambda swa: {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.9), "use_buffers": True},
}


@pytest.mark.parametrize("rule", RULES)
def test_averages(rule):
    def program(torch):
        torch.manual_seed(0)
        nn, swa = torch.nn, torch.optim.swa_utils
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
        averaged = swa.AveragedModel(model, **RULES[rule](swa))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        x = torch.randn(8, 3)
        for _ in range(4):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
            averaged.update_parameters(model)
        swa.update_bn([x[:4], [x[4:]]], averaged)
        averaged.eval()
        return averaged(x), averaged.state_dict(), averaged.training

    agree(program)


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 1, 5])
def test_the_rates_go_to_the_one_of_averaging(strategy, epochs):
    def program(torch):
        optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=0.5)
        schedule = torch.optim.swa_utils.SWALR(optimizer, 0.05, epochs, strategy)
        rates = []
        for _ in range(8):
            optimizer.step()
            schedule.step()
            rates.append(schedule.get_last_lr())
        return rates

    agree(program)


@pytest.mark.parametrize(
    "call",
    [
        lambda torch, optimizer: torch.optim.swa_utils.SWALR(optimizer, 0.05, anneal_strategy="quick"),
        lambda torch, optimizer: torch.optim.swa_utils.SWALR(optimizer, 0.05, anneal_epochs=-1),
        lambda torch, optimizer: torch.optim.swa_utils.get_ema_avg_fn(1.5),
    ],
    ids=["strategy", "epochs", "decay"],
)
def test_wrong_settings(call):
    agree(lambda torch: call(torch, torch.optim.SGD([torch.ones(1)], lr=0.1)), raises=ValueError)
