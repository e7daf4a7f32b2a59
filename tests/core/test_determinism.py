"""Which runs give equal bits: see docs/reliability_journal.md."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import hashlib
import jaxvjp as torch

torch.manual_seed(3)
net = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.GELU(), torch.nn.Dropout(0.2), torch.nn.Linear(30, 5))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
x, y = torch.randn(64, 20), torch.randn(64, 5)

def step():
    optimizer.zero_grad()
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
    return loss.detach()

steps = {"eager": step, "jit": torch.jit(step)}[HOW]
bits = hashlib.sha256()
for _ in range(25):
    bits.update(steps().numpy().tobytes())
for each in net.parameters():
    bits.update(each.detach().numpy().tobytes())
print(bits.hexdigest())
"""


def bits(how: str, tier: str, seed: str) -> str:
    environment = {**os.environ, "JAXVJP_XLA": tier, "JAXVJP_CHOOSE": "0", "PYTHONHASHSEED": seed}
    command = [sys.executable, "-c", f"HOW = {how!r}\n{PROGRAM}"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


@pytest.mark.parametrize(("how", "tier"), [("eager", "never"), ("eager", "always"), ("jit", "always")])
def test_two_processes_give_equal_bits_where_the_tier_is_said(how: str, tier: str) -> None:
    assert bits(how, tier, "0") == bits(how, tier, "1")
