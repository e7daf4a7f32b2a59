"""The models of `tools.bench_models` are trained alike by torch and jaxvjp, and by flax where it is installed."""

from __future__ import annotations

import importlib.util

import pytest
from oracle import agree

from tools.bench_models import workloads

WORKLOADS = workloads()


@pytest.mark.parametrize("workload", WORKLOADS, ids=[each.name for each in WORKLOADS])
def test_steps_are_those_of_torch(workload):
    def program(torch):
        torch.manual_seed(0)
        step = workload.imperative(torch, *workload.data)
        return [float(step()) for _ in range(4)]

    first, *_, last = agree(program, rtol=1e-4, atol=1e-4).value
    if importlib.util.find_spec("flax") is not None:
        step = workload.by_hand(*workload.data)
        by_hand = [float(step()) for _ in range(4)]
        assert by_hand[0] == pytest.approx(first, rel=0.3)
    assert last < first or workload.name == "variational autoencoder"
