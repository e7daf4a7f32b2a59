"""The text of errors that a script catches under `python -m jaxvjp run`, where torch's has several lines."""

from __future__ import annotations

import subprocess
import sys

from oracle import needs_torch

LINES = """
import io, torch, torch.nn as nn
from fractions import Fraction
from torch.utils.data import DataLoader, Dataset
class Halved(nn.Module):
    def forward(self, x): return x.half()
class Failing(Dataset):
    def __init__(self, error): self.error = error
    def __len__(self): return 2
    def __getitem__(self, index): raise self.error
def saved(what):
    file = io.BytesIO()
    torch.save(what, file)
    file.seek(0)
    return file
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 2
    @staticmethod
    def backward(ctx, g): return g * 3
P = lambda: nn.Parameter(torch.zeros(1))
D = lambda: torch.ones(2, dtype=torch.double, requires_grad=True)
for action in (
    lambda: torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.1])),
    lambda: nn.Linear(2, 3).load_state_dict(nn.Linear(2, 4).state_dict()),
    lambda: nn.Sequential(nn.Linear(2, 3)).load_state_dict({"0.weight": torch.ones(2, 2), "x": torch.ones(1)}),
    lambda: list(DataLoader(Failing(ValueError("one\\nTwo\\nthree")), num_workers=1)),
    lambda: list(DataLoader(Failing(KeyError("missing")), num_workers=1)),
    lambda: list(DataLoader(Failing(ValueError("one\\nTwo")))),
    lambda: torch.load(saved(Fraction(1, 2))),
    lambda: nn.utils.parametrize.register_parametrization(nn.Linear(1, 1), "weight", Halved()),
    lambda: torch.distributions.Normal(torch.tensor([0.0, 1.0]), torch.tensor([-1.0, 1.0])),
    lambda: torch.optim.lr_scheduler.StepLR(torch.optim.SGD([P()], 1.0), 2, last_epoch=4),
    lambda: torch.utils.data.default_collate([torch.ones(2), torch.ones(3)]),
    lambda: torch.autograd.gradcheck(Twice.apply, (D(),)),
    lambda: torch.func.functional_call(nn.Linear(1, 1), {"weight": 3}, torch.ones(1)),
    lambda: nn.Linear(1, 1).to(1, 2, 3, 4),
    lambda: torch.ones(2).to("a", "b", "c"),
    lambda: torch.eye(),
    lambda: torch.ones(2, 3).sum().backward(),
    lambda: torch.mm(torch.ones(2), torch.ones(2)),
    lambda: torch.ones(2)[5],
):
    try:
        action()
    except Exception as error:
        print(f"== {type(error).__name__}")
        print(error)
"""
DIFFERENT_LINES = ("  ", " * ", "numerical", "analytical", "[", " [")


@needs_torch
def test_no_line_of_torch_is_lost(tmp_path):
    """Of the errors whose text has several lines, all are there; tracebacks, arrays and lists of forms are our own."""
    path = tmp_path / "script.py"
    path.write_text(LINES, encoding="utf-8")

    def texts(*command):
        done = subprocess.run([sys.executable, *command, path], capture_output=True, text=True, cwd=tmp_path)
        return [each.splitlines() for each in done.stdout.split("== ")[1:]]

    for told, given in zip(texts(), texts("-m", "jaxvjp", "run"), strict=True):
        assert given[:2] == told[:2]
        wanted = [line for line in told if line.strip() and not line.startswith(DIFFERENT_LINES)]
        assert [line for line in wanted if line not in given] == []
