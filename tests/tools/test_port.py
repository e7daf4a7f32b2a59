"""`python -m jaxvjp port`: training scripts as JAX scripts, which train to the same losses and parameters."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from jaxvjp.__main__ import main

ROOT = Path(__file__).parent.parent.parent
SCRIPTS = ROOT / "examples" / "training_scripts"
REGRESSION = """
    import torch

    torch.manual_seed(0)
    X = torch.randn(20, 3)
    Y = X @ torch.tensor([1.0, -2.0, 0.5])
    w = torch.zeros(3, requires_grad=True)
    for step in range(10):
        loss = ((X @ w - Y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
        w.grad = None
"""
MODULES = """
    import torch
    from torch import nn

    torch.manual_seed(0)
    X = torch.linspace(-1, 1, 12)[:, None]


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.norm, self.last = nn.Linear(1, 8), nn.BatchNorm1d(8), nn.Linear(8, 1)

        def forward(self, x):
            return self.last(self.norm(self.first(x).tanh()))


    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02, weight_decay=0.01)
    for step in range(8):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(X), X**2)
        loss.backward()
        optimizer.step()
"""
BATCHES = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    X = torch.randn(24, 2)
    Y = (X[:, 0] > 0).long()
    net = nn.Sequential(nn.Linear(2, 6), nn.ReLU(), nn.Dropout(0.2), nn.Linear(6, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    for epoch in range(4):
        for x, y in DataLoader(TensorDataset(X, Y), batch_size=8, shuffle=True):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            optimizer.step()
        schedule.step()
"""
RECORDED = """
    import torch

    w = torch.tensor([1.0, -2.0], requires_grad=True)
    optimizer = torch.optim.RMSprop([w], lr=0.05, momentum=0.5)
    for step in range(6):
        optimizer.zero_grad()
        y = w * 1.0
        while y.norm() < 10:
            y = y * 2
        (y - 1).square().sum().backward()
        optimizer.step()
"""
RECURRENT = """
    import torch
    from torch import nn

    torch.manual_seed(0)
    cells, out = nn.LSTM(1, 4), nn.Linear(4, 1)
    waves = torch.sin(torch.arange(12.0)).reshape(12, 1, 1)
    optimizer = torch.optim.Adam([*cells.parameters(), *out.parameters()], lr=0.02)
    for step in range(4):
        optimizer.zero_grad()
        outputs, _ = cells(waves[:-1])
        loss = (out(outputs) - waves[1:]).abs().mean()
        loss.backward()
        optimizer.step()
"""
GENERATIVE = """
    import torch
    from torch import nn

    torch.manual_seed(1)
    netG, netD = nn.Linear(2, 2), nn.Linear(2, 1)
    stepG = torch.optim.AdamW(netG.parameters(), lr=0.01)
    stepD = torch.optim.SGD(netD.parameters(), lr=0.05, weight_decay=0.01)
    for step in range(6):
        netD.zero_grad()
        netD(torch.randn(4, 2) + 2).mean().neg().backward()
        fake = netG(torch.randn(4, 2))
        netD(fake.detach()).exp().mean().backward()
        stepD.step()
        netG.zero_grad()
        netD(fake).square().mean().backward()
        stepG.step()
"""
GROWING = """
    import torch

    w = torch.tensor([1.0, 2.0], requires_grad=True)
    for step in range(6):
        y = w
        for _ in range(step):
            y = y.sin()
        y.sum().backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
        w.grad = None
"""


def ported(tmp_path, text, *options):
    """The exit status, and the text of the ported script."""
    script, output = tmp_path / "script.py", tmp_path / "script_jax.py"
    script.write_text(textwrap.dedent(text), encoding="utf-8")
    status = main(["port", str(script), "-o", str(output), *options])
    return status, output.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (REGRESSION, ["def step(state):", "jax.value_and_grad(f)", "for number in range(10):"]),
        (MODULES, ["def adam(params, grads, moments, rate):", "jax.tree.map", '"net_norm_running_mean"']),
        (BATCHES, ["def step(state, batch):", "X[index]", "def sgd(", 'batch["net_sgd_rate"]', "nesterov=True"]),
        (RECORDED, ["def step_1(state", "line 9: while y.norm() < 10: true 24 times, false 6 times"]),
        (RECURRENT, ["jax.lax.scan", "def adam("]),
        (GENERATIVE, ["def adamw(", "def sgd(", '"netG"', '"netD"']),
    ],
    ids=["regression", "modules", "batches", "recorded", "recurrent", "generative"],
)
def test_a_training_script_is_ported_and_proved(tmp_path, capsys, text, wanted):
    status, source = ported(tmp_path, text, "--check")
    said = capsys.readouterr().err
    assert status == 0, said
    assert "agree; largest relative difference" in said
    for each in wanted:
        assert each in source
    ast.parse(source)
    assert not re.search(r"^\s*(import|from) (torch|jaxvjp|optax)", source, re.MULTILINE)


def test_the_example_of_the_documents(tmp_path):
    """`docs/port.md`: the script, and what it becomes."""
    page = (ROOT / "docs" / "port.md").read_text(encoding="utf-8")
    script = re.search(r"```python\n(.*?)```", page, re.DOTALL)[1]
    shown = re.search(r"```text\n(.*?)```", page, re.DOTALL)[1]
    status, source = ported(tmp_path, script, "--check")
    assert status == 0
    assert source == shown


def test_what_cannot_be_ported_is_listed_with_its_line(tmp_path, capsys):
    status, source = ported(tmp_path, GROWING)
    assert status == 1
    listed = "line 8: the 6 steps have more than 3 forms"
    assert listed in capsys.readouterr().err
    assert listed in ast.get_docstring(ast.parse(source))


def test_a_check_says_what_differs(tmp_path, capsys, monkeypatch):
    from jaxvjp.tools import port

    whole = port.ported

    def spoiled(*given):
        found = whole(*given)
        return found._replace(source=found.source.replace("0.1 * w_grad", "0.2 * w_grad"))

    monkeypatch.setattr(port, "ported", spoiled)
    status, _ = ported(tmp_path, REGRESSION, "--check")
    assert status == 1
    assert "DISAGREE" in capsys.readouterr().err


def test_a_script_without_training_has_no_steps(tmp_path, capsys):
    status, _ = ported(tmp_path, "import torch\nx = torch.ones(2, requires_grad=True)\nx.sum().backward()\n")
    assert status == 1
    assert "no two training steps" in capsys.readouterr().err


PORTED = [
    "adversarial_networks",
    "convnet_with_modules",
    "gated_recurrent_tagger",
    "graph_convolutions",
    "meta_learning",
    "neural_ode",
    "variational_autoencoder_with_modules",
    "wasserstein_gradient_penalty",
]
"""The training scripts that are proved."""
NEARLY = "character_gpt"
"""The one that is ported, and whose check finds more than 1e-4."""
OTHERS = {
    "checkpointed_modules": "changes what goes through it",
    "lstm_with_lbfgs": "have more than 3 forms",
    "policy_gradient": "have more than 3 forms",
}
"""Those that are not, and what is said of them."""


def checked(tmp_path, name):
    """The exit status and what is said; a process of its own, as a script may change settings."""
    command = [sys.executable, "-m", "jaxvjp", "port", "--check", str(SCRIPTS / f"{name}.py")]
    ended = subprocess.run([*command, "-o", str(tmp_path / "ported.py")], capture_output=True, text=True)
    return ended.returncode, ended.stderr


@pytest.mark.long
@pytest.mark.parametrize("name", PORTED)
def test_the_training_scripts_that_are_proved(tmp_path, name):
    status, said = checked(tmp_path, name)
    assert status == 0, said
    assert "agree; largest" in said


@pytest.mark.long
@pytest.mark.parametrize("name", OTHERS)
def test_the_training_scripts_that_are_not(tmp_path, name):
    status, said = checked(tmp_path, name)
    assert status == 1
    assert OTHERS[name] in said


@pytest.mark.long
def test_a_transformer_is_ported_and_nearly_proved(tmp_path):
    """The gradients of the biases of keys are rounding errors, and Adam makes steps of full length of them."""
    _, said = checked(tmp_path, NEARLY)
    assert float(re.search(r"largest relative difference (\S+) ", said)[1]) < 1e-3
    assert "attn_qkv_bias" in said


def test_every_training_script_is_in_a_list():
    assert sorted([*PORTED, NEARLY, *OTHERS]) == sorted(each.stem for each in SCRIPTS.glob("*.py"))
