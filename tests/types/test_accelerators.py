"""What is only fast is off where `JAXVJP_WITHOUT` names it; the results are the same."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import jaxvjp
from jaxvjp.types.accelerators import ACCELERATORS, named

PACKAGE = Path(jaxvjp.__file__).parent
STEPS = """
import json

import jaxvjp as torch
from jaxvjp.core.derive import remembered_walks
from jaxvjp.core.run import evaluation, plan
from jaxvjp.core.run.choosing import Choosing
from jaxvjp.core.run.tiers import Compiling
from jaxvjp.tensor.apply import remembered

w = torch.tensor([0.5, -1.5], requires_grad=True)
seen = []

def step(x):
    w.grad = None
    y = x
    for _ in range(15):
        y = torch.sin(y * 0.9) + w
    loss = (y * y).sum()
    loss.backward()
    with torch.no_grad():
        w.sub_(w.grad, alpha=0.01)
    return loss.detach()

def differentiated(x):
    (first,) = torch.autograd.grad((w * x).exp().sum(), w, create_graph=True)
    return torch.autograd.grad((first * first).sum(), w)[0]

staged = torch.jit(step)
for number in range(20):
    x = torch.tensor([1.0, 2.0]) * number
    seen += [step(x).tolist(), staged(x).tolist(), differentiated(x * 0.01).tolist(), w.tolist()]
memories = [remembered_walks.memory, evaluation.plans, plan.long_graphs]
kept = [*[bool(each.known) for each in memories], bool(remembered), bool(staged._warm_paths)]
kept += [Choosing.enabled, Compiling.when == "always"]
print(json.dumps([seen, kept]))
"""


def outcome(without):
    environment = {key: each for key, each in os.environ.items() if not key.startswith("JAXVJP_")}
    environment["JAXVJP_XLA"] = "" if without else "always"
    run = subprocess.run(
        [sys.executable, "-c", STEPS],
        env=environment | {"JAXVJP_WITHOUT": without},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(run.stdout)


def test_all_of_them_off():
    seen, kept = outcome("")
    plainly, nothing = outcome("all")
    assert kept == [True] * 7
    assert nothing == [False] * 6 + [True]
    for one, other in zip(seen, plainly, strict=True):
        assert one == pytest.approx(other, rel=1e-5, abs=1e-6)


def test_names():
    assert named("all") == ACCELERATORS.keys()
    assert named(" plans ,warm path,") == {"plans", "warm path"}
    with pytest.raises(ValueError, match="all expected, or some of: remembered calls, "):
        named("plans, all")


def test_each_of_them_is_asked_for():
    asked = {name for file in PACKAGE.rglob("*.py") for name in re.findall(r'is_on\("([^"]+)"\)', file.read_text())}
    assert asked == ACCELERATORS.keys()
