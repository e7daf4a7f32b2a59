"""`python -m jaxvjp port`: training scripts as JAX scripts, which train to the same losses and parameters."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import jax
import numpy as np
import pytest

import jaxvjp as torch
from jaxvjp.__main__ import main
from jaxvjp.explain.optimizers import chained, rule_of

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
CLIPPED = "optax.chain(optax.clip_by_global_norm(0.5), optax.sgd(lambda count: net_sgd_rates[count], momentum=0.9"
CYCLED = """
    import torch

    X = torch.linspace(-1.0, 1.0, 8)[:, None]
    net = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=8)
    for step in range(8):
        optimizer.zero_grad()
        (net(X) - X.exp()).square().mean().backward()
        optimizer.step()
        schedule.step()
"""
GROUPS = """
    import torch

    torch.manual_seed(0)
    X = torch.randn(12, 3)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    groups = [{"params": net[0].parameters(), "lr": 0.05}, {"params": net[2].parameters(), "weight_decay": 0.1}]
    optimizer = torch.optim.AdamW(groups, lr=0.01)
    for step in range(6):
        optimizer.zero_grad()
        (net(X).squeeze(1) - X.sum(1)).square().mean().backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 0.3)
        optimizer.step()
"""
UNFROZEN = """
    import torch

    torch.manual_seed(0)
    X = torch.randn(12, 3)
    body, head = torch.nn.Linear(3, 4).requires_grad_(False), torch.nn.Linear(4, 1)
    optimizer = torch.optim.RULE(head.parameters(), lr=0.05)
    for step in range(6):
        if step == 3:
            optimizer.add_param_group({"params": body.requires_grad_(True).parameters(), "lr": 0.01})
        optimizer.zero_grad()
        (head(body(X).tanh()).squeeze(1) - X.sum(1)).square().mean().backward()
        optimizer.step()
"""
HOOKS = """
    import torch

    torch.manual_seed(0)
    X, seen = torch.randn(6, 3), []
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
    net[1].register_full_backward_hook(lambda module, inputs, outputs: (inputs[0] * 0.5,))
    net[2].register_full_backward_hook(lambda module, inputs, outputs: seen.append(outputs[0].abs().sum()))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(5):
        optimizer.zero_grad()
        net(X).square().mean().backward()
        optimizer.step()
"""
COINCIDENT = """
    import torch

    w = torch.tensor([0.5, 1.0], requires_grad=True)
    for step in range(8):
        first, second = torch.tensor(step % 2), torch.tensor((step + 1) % 2)
        loss = (w * 2.0 - first).square().sum() + (w * second).sum()
        loss.backward()
        with torch.no_grad():
            w -= 0.05 * w.grad
        w.grad = None
"""
LENGTHS = """
    import torch

    w = torch.tensor([0.5, -0.3], requires_grad=True)
    for step in range(20):
        x = w
        for _ in range(1 + step % 5):
            x = torch.tanh(x + w)
        x.square().sum().backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
        w.grad = None
"""
UNREACHED = """
    import torch

    torch.manual_seed(0)
    x = torch.randn(16, 4)
    q, k = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
    optimizer = torch.optim.Adam([*q.parameters(), *k.parameters()], lr=0.01)
    for step in range(12):
        optimizer.zero_grad()
        ((q(x) @ k(x).T).softmax(1) @ x - x.flip(0)).square().mean().backward()
        optimizer.step()
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
        (
            MODULES,
            ["optax.chain(optax.add_decayed_weights(0.01), optax.adam(0.02, 0.9", '"norm_running_mean": jnp.zeros('],
        ),
        (BATCHES, ["def step(state, batch, key):", 'X[batch["index"]]', "jax.random.bernoulli(keys[0], 0.8", CLIPPED]),
        (
            RECORDED,
            ["def step_1(state", "optax.trace(0.5)", "line 9: while y.norm() < 10: true 24 times, false 6 times"],
        ),
        (RECURRENT, ["jax.lax.scan", "optax.adam("]),
        (GENERATIVE, ["optax.adamw(", "optax.sgd(", '"netG"', "jax.random.normal(keys[0], (4, 2))"]),
    ],
    ids=["regression", "modules", "batches", "recorded", "recurrent", "generative"],
)
def test_a_training_script_is_ported_and_proved(tmp_path, capsys, text, wanted):
    status, source = ported(tmp_path, text, "--check")
    said = capsys.readouterr().err
    assert status == 0, said
    assert "agree; largest relative difference" in said
    for each in wanted:
        assert each in " ".join(source.split())
    ast.parse(source)
    assert not re.search(r"^\s*(import|from) (torch|jaxvjp)", source, re.MULTILINE)


def test_the_example_of_the_documents(tmp_path):
    """`docs/port.md`: the script, and what it becomes."""
    page = (ROOT / "docs" / "port.md").read_text(encoding="utf-8")
    script = re.search(r"```python\n(.*?)```", page, re.DOTALL)[1]
    shown = re.search(r"```text\n(.*?)```", page, re.DOTALL)[1]
    status, source = ported(tmp_path, script, "--check")
    assert status == 0
    assert source == shown


@pytest.mark.parametrize("optimizer", ["SGD([w], lr=0.1, momentum=0.9)", "Adam([w], lr=0.1)"])
def test_an_optimizer_may_step_twice_in_a_step(tmp_path, optimizer):
    status, source = ported(
        tmp_path,
        f"""
import torch
w = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
optimizer = torch.optim.{optimizer}
for _ in range(4):
    optimizer.zero_grad()
    ((w - 1) ** 2).sum().backward()
    optimizer.step()
    optimizer.step()
""",
        "--check",
    )
    assert status == 0
    assert source.count(".update(params_grad, ") == 2


@pytest.mark.parametrize("first", ["net[2]", "net"])
def test_two_optimizers_of_the_same_parameters(tmp_path, capsys, first):
    """A head is trained alone, and then the whole; or the other way round."""
    text = f"""
import torch
torch.manual_seed(0)
x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
net = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))
for trained in ({first}, net if "{first}" == "net[2]" else net[2]):
    optimizer = torch.optim.SGD(trained.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01)
    for _ in range(4):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
"""
    status, script = ported(tmp_path, text, "--check")
    assert (status, "agree" in capsys.readouterr().err) == (0, True)
    assert '"net": net,' in script
    assert '"net_2": net_2,' not in script  # its arrays are those of net


def test_what_cannot_be_ported_is_listed_with_its_line(tmp_path, capsys):
    status, source = ported(tmp_path, GROWING)
    assert status == 1
    listed = "line 8: the 6 steps have more than 3 forms"
    assert listed in capsys.readouterr().err
    assert listed in ast.get_docstring(ast.parse(source))


def test_a_line_search_is_refused_as_one(tmp_path, capsys):
    text = """
        import torch
        w = torch.zeros(2, requires_grad=True)
        opt = torch.optim.LBFGS([w], max_iter=5, line_search_fn="strong_wolfe")
        def closure():
            opt.zero_grad()
            loss = (w.exp() - torch.tensor([2.0, 5.0])).square().sum()
            loss.backward()
            return loss
        for _ in range(3):
            opt.step(closure)
    """
    assert ported(tmp_path, text)[0] == 1
    assert "so LBFGS has decided by values what runs, as its line search does, or" in capsys.readouterr().err


LOGGED = """
import sys

class Logger:
    def __init__(self):
        self.console = sys.stdout

    def write(self, text):
        self.console.write(text)

    def flush(self):
        self.console.flush()

    def __del__(self):
        self.console.close()

sys.stdout = Logger()
"""


def test_a_script_may_close_what_it_prints_to(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(LOGGED + textwrap.dedent(REGRESSION), encoding="utf-8")
    command = [sys.executable, "-m", "jaxvjp", "port", "--check", str(script)]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert ended.returncode == 0
    assert "agree; largest relative difference" in ended.stderr
    assert "lost sys.stderr" not in ended.stderr


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


OTHERS = {"lstm_with_lbfgs": "have more than 12 forms"}
"""The training scripts that are not ported, and what is said of them."""
PORTED = sorted({each.stem for each in SCRIPTS.glob("*.py")} - {*OTHERS})
"""Those that are proved."""


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


def test_twelve_training_scripts_are_proved():
    assert len(PORTED) == 12


def test_steps_of_more_forms_are_functions_in_the_order_in_which_they_ran(tmp_path, capsys):
    status, source = ported(tmp_path, LENGTHS, "--check")
    assert status == 0, capsys.readouterr().err
    assert "def step_5(state):" in source


def test_equal_values_at_other_places_are_data_and_no_constants(tmp_path, capsys):
    status, source = ported(tmp_path, COINCIDENT, "--check")
    assert status == 0, capsys.readouterr().err
    assert "def step(state, batch):" in source


def test_hooks_of_modules_backward_passes(tmp_path, capsys):
    """One that returns a gradient is in the program; one that looks is not."""
    status, source = ported(tmp_path, HOOKS, "--check")
    assert status == 0, capsys.readouterr().err
    assert source.count("@jax.custom_vjp") == 1
    assert "* 0.5" in source


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (CYCLED, 'batch["rate'),  # OneCycleLR varies the momentum: the formula, as it was recorded
        (GROUPS, "optax.clip_by_global_norm(0.3).update((net_0_grad, net_2_grad), optax.EmptyState())[0]"),
        (UNFROZEN.replace("RULE", "Adam"), "def step_2(state):"),
        (UNFROZEN.replace("RULE", "SGD"), "def step_2(state):"),
    ],
    ids=["cycled", "groups", "a group added to Adam", "a group added to SGD"],
)
def test_settings_of_optimizers(tmp_path, capsys, text, wanted):
    status, source = ported(tmp_path, text, "--check")
    assert status == 0, capsys.readouterr().err
    assert wanted in source
    assert ("import optax" in source) == (text is GROUPS)


@pytest.mark.parametrize(("size", "optax"), [(1.0, True), (1e-3, False)])
def test_a_clip_is_optaxs_where_the_script_trains_the_same_with_it(tmp_path, size, optax):
    """Torch divides by the norm + 1e-6, which counts if gradients are small."""
    text = GROUPS.replace("AdamW(groups,", "SGD(groups, momentum=0.9,").replace("0.3)", f"{0.3 * size})")
    status, source = ported(tmp_path, text.replace(".square().mean()", f".square().mean().mul({size})"), "--check")
    assert status == 0
    assert ("optax.clip_by_global_norm(" in source, "1e-06" in source) == (optax, not optax)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("SGD", {}),
        ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1, "maximize": True}),
        ("Adam", {"betas": (0.8, 0.99), "eps": 1e-3, "weight_decay": 0.1}),
        ("Adam", {"maximize": True}),
        ("AdamW", {"weight_decay": 0.3}),
        ("Adamax", {"weight_decay": 0.1}),
        ("Adadelta", {"rho": 0.8}),
        ("RMSprop", {"alpha": 0.9}),
        ("RMSprop", {"centered": True, "weight_decay": 0.1}),
        ("RMSprop", {"centered": True, "momentum": 0.9}),
    ],
)
def test_transforms_of_optax_are_the_steps_of_torch(name, settings):
    import optax

    w = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64, requires_grad=True)
    optimizer = getattr(torch.optim, name)([w], lr=0.02, **settings)
    text = chained(rule_of(optimizer, optimizer.param_groups[0])).format(rate="0.02")
    with jax.enable_x64(True):
        transform = eval(text, {"optax": optax})
        params = jax.numpy.array(w.tolist())
        kept = transform.init(params)
        for _ in range(20):
            optimizer.zero_grad()
            (w.sin() * w).sum().backward()
            grads = jax.grad(lambda w: (jax.numpy.sin(w) * w).sum())(params)
            updates, kept = transform.update(grads, kept, params)
            params = optax.apply_updates(params, updates)
            optimizer.step()
    np.testing.assert_allclose(params, w.tolist(), rtol=1e-10)


@pytest.mark.parametrize(
    ("name", "settings"),
    [("Adam", {"amsgrad": True}), ("SGD", {"momentum": 0.9, "dampening": 0.1}), ("NAdam", {}), ("Adagrad", {})],
)
def test_optimizers_that_optax_does_not_have(name, settings):
    optimizer = getattr(torch.optim, name)([torch.ones(2, requires_grad=True)], lr=0.02, **settings)
    assert rule_of(optimizer, optimizer.param_groups[0]) is None


@pytest.mark.parametrize(("optimizer", "optax"), [("Adam", False), ("RMSprop", False), ("SGD", True)])
def test_an_optimizer_of_complex_numbers(tmp_path, capsys, optimizer, optax):
    status, source = ported(tmp_path, COMPLEX.replace("NAME", optimizer), "--check")
    assert status == 0, capsys.readouterr().err
    assert ("import optax" in source) == optax


COMPLEX = """
    import torch

    torch.manual_seed(0)
    x = torch.randn(8, 4, dtype=torch.cfloat)
    w = torch.randn(4, dtype=torch.cfloat, requires_grad=True)
    optimizer = torch.optim.NAME([w], lr=0.1)
    for step in range(6):
        optimizer.zero_grad()
        (x @ w - 1).abs().square().mean().backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    "returned", ["g * 2 + x.sin()", "g * 2 + 0.01 * torch.randn(3)", "torch.as_tensor(x.numpy() * 2) * g", "x"]
)
def test_what_a_backward_reads_differs_from_step_to_step(tmp_path, capsys, returned):
    status, source = ported(tmp_path, WITH_DATA.replace("RETURNED", returned), "--check")
    assert status == 0, capsys.readouterr().err
    assert "@jax.custom_vjp" in source


@pytest.mark.parametrize("tensor", ["w", "h"])
def test_what_a_hook_reads_differs_from_step_to_step(tmp_path, capsys, tensor):
    hooked = f"h = w * 2\n        mask = torch.rand(3)\n        {tensor}.register_hook(lambda g: g * mask)\n"
    text = REGRESSION.replace("        loss = ((X @ w", f"        {hooked}        loss = ((X @ h")
    status, source = ported(tmp_path, text.replace("range(10)", "range(3)"), "--check")
    assert status == 0, capsys.readouterr().err
    assert source.count("def step") == (3 if tensor == "w" else 1)  # each step gives w one hook more


def test_a_gradient_of_numpys_is_said_to_be_as_recorded(tmp_path, capsys):
    text = WITH_DATA.replace("RETURNED", "torch.as_tensor(g.numpy() * x.numpy())")
    status, source = ported(tmp_path, text, "--check")
    assert status == 1
    assert "k: Python has computed its numbers, which are as recorded" in source
    assert "NOT ALL IS IN IT; largest relative difference" in capsys.readouterr().err


WITH_DATA = """
    import torch

    torch.manual_seed(0)


    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, k):
            ctx.save_for_backward(x)
            return torch.as_tensor(x.numpy() * k.detach().numpy())

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return None, RETURNED


    k = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([k], 0.1)
    for step in range(4):
        optimizer.zero_grad()
        Scaled.apply(torch.rand(3), k).square().mean().backward()
        optimizer.step()
"""


@pytest.mark.parametrize("unseeded", [False, True])
def test_rounding_is_told_from_another_formula_in_double_precision(tmp_path, capsys, monkeypatch, unseeded):
    """The gradient of a key's bias is zero but for rounding, and Adam takes steps of full length of it."""
    by_numpy = "torch.from_numpy(__import__('numpy').random.randn(16, 4).astype('float32'))"
    text = UNREACHED.replace("torch.randn(16, 4)", by_numpy) if unseeded else UNREACHED
    status, _ = ported(tmp_path, text, "--check")
    said = capsys.readouterr().err
    assert status == 0, said
    assert re.search(r"in double precision.* agree;.*\nIn single precision: .* differs;.*k_bias", said)
    from jaxvjp.tools import port

    whole = port.ported

    def spoiled(*given):
        found = whole(*given)
        return found._replace(source=found.source.replace("0.999", "0.9"))

    monkeypatch.setattr(port, "ported", spoiled)
    status, _ = ported(tmp_path, text, "--check")
    said = capsys.readouterr().err
    assert status == 1
    assert re.search(r"in double precision.* DISAGREE", said)


NORMED = """
    import torch
    torch.manual_seed(0)
    X = torch.randn(32, 3)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    torch.nn.init.constant_(net[0].bias, BIAS)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01, eps=1e-11)
    for _ in range(4):
        optimizer.zero_grad()
        (net(X) - 1).square().mean().backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("bias", "factor", "verdict"), [("0.0", 1, "agree; .*; but for .*0_bias"), ("0.2", 1.0003, "D")]
)
def test_what_is_made_of_rounding_in_double_precision_too(tmp_path, capsys, monkeypatch, bias, factor, verdict):
    """The gradient of a bias before a normalization is zero, and all that Adam makes of 0 is rounding."""
    from jaxvjp.tools import port

    whole, name = port.ported, 'state["net"]["0_bias"]'

    def moved(*given):
        found = whole(*given)
        return found._replace(state={**found.state, name: factor * found.state[name]})

    monkeypatch.setattr(port, "ported", moved)
    status, _ = ported(tmp_path, NORMED.replace("BIAS", bias), "--check")
    assert status == (factor != 1)
    assert re.search(f"in double precision.* {verdict}", capsys.readouterr().err)


STORED = """
    import numpy as np
    import torch
    torch.manual_seed(0)
    x = torch.from_numpy(np.eye(3).astype(DTYPE))
    net = torch.nn.Linear(3, 2)
    net.bias.data.mul_(0.01)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001)
    for _ in range(3):
        optimizer.zero_grad()
        loss = (net(x) - 1).square().mean()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("place", "apart", "verdict"),
    [
        ("state", 2e-4, "differs by no more than rounding in single precision does"),
        ("state", 1, None),
        ("loss", 1, None),
    ],
)
def test_what_cannot_be_repeated_in_double_precision_is_not_proved(
    tmp_path, capsys, monkeypatch, place, apart, verdict
):
    from jaxvjp.tools import port

    whole = port.ported

    def moved(*given):
        found = whole(*given)
        name = 'state["net"]["bias"]'
        if place == "loss":
            return found._replace(losses=[[each + apart for each in row] for row in found.losses])
        return found._replace(state={**found.state, name: found.state[name] * (1 + apart)})

    monkeypatch.setattr(port, "ported", moved)
    status, _ = ported(tmp_path, STORED.replace("DTYPE", "'f'"), "--check")
    first, second = capsys.readouterr().err.strip().splitlines()
    failed = (
        "the script could not be repeated in double precision (line 11: RuntimeError: mat1 and mat2 must have the same"
    )
    assert f"script_jax.py {verdict or 'is not proved'}, and {failed} dtype, but got Float and Double)." in first
    assert ("WITHIN ROUNDING" if verdict else "DISAGREE") in second
    assert status == 1


def test_float32_by_the_scripts_own_words_is_double_there(tmp_path, capsys, monkeypatch):
    from jaxvjp.tools import port, proof

    monkeypatch.setattr(port, "check", lambda *given: proof.check(*given)._replace(good=len(given) > 2))
    status, _ = ported(tmp_path, STORED.replace("DTYPE", "np.float32"), "--check")
    assert (
        "in double precision, where rounding is not seen: 3 steps, 2 arrays at the end: agree"
        in capsys.readouterr().err
    )
    assert status == 0


def test_other_steps_in_double_precision_prove_nothing(tmp_path, capsys, monkeypatch):
    from jaxvjp.tools import port, proof

    monkeypatch.setattr(port, "check", lambda *given: proof.check(*given)._replace(good=len(given) > 2))
    line = "        loss = (net(x) - 1).square().mean()\n"
    mixed = f'        with torch.autocast("cpu", enabled=_ % 2 == 0):\n    {line}        loss = loss * share\n'
    mixed = f"        share = torch.distributions.Beta(0.4, 0.4).sample()\n{mixed}"
    script = STORED.replace("DTYPE", "np.float32").replace(line, mixed).replace("range(3)", "range(6)")
    ported(tmp_path, script, "--check")
    assert ", and in double precision the script's steps have another form." in capsys.readouterr().err


def test_a_loss_that_a_port_does_not_tell_is_a_verdict(tmp_path, capsys, monkeypatch):
    from jaxvjp.tools import port

    whole = port.ported

    def longer(*given):
        found = whole(*given)
        return found._replace(losses=[*found.losses[:-1], [*found.losses[-1], np.zeros(())]])

    monkeypatch.setattr(port, "ported", longer)
    status, _ = ported(tmp_path, REGRESSION, "--check")
    assert "DISAGREE; the ported script tells no loss 9 1" in capsys.readouterr().err
    assert status == 1


def test_random_numbers_are_drawn_from_keys_or_are_torchs(tmp_path):
    ported(tmp_path, GENERATIVE)
    command = [sys.executable, str(tmp_path / "script_jax.py")]
    drawn = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    exact = subprocess.run([*command, "--exact-random"], capture_output=True, text=True, check=True).stdout
    assert drawn != exact
    assert len(drawn.splitlines()) == len(exact.splitlines())


@pytest.mark.parametrize(
    ("drawn", "wanted"),
    [
        ("torch.empty(1, 3).bernoulli_(0.5)", "jax.random.bernoulli(keys[0], 0.5, (1, 3)).astype(float)"),
        ("torch.empty(1, 3).normal_(0, 0.5)", "0.5 * jax.random.normal(keys[0], (1, 3))"),
        ("torch.bernoulli(torch.full((1, 3), 0.8))", "jax.random.bernoulli(keys[0], 0.8, (1, 3)).astype(float)"),
        ("torch.bernoulli(w.detach().sigmoid()[None])", "Samples of line 7 are torch's, from the weights of then"),
        (
            "torch.nn.init.trunc_normal_(torch.empty(1, 3))",
            "jax.random.truncated_normal(keys[0], -2.0, 2.0, (1, 3))",
        ),
        (
            "torch.nn.init.trunc_normal_(torch.empty(1, 3), 1.0, 2.0, -0.5, 0.5)",
            "1.0 + 2.0 * jax.random.truncated_normal(keys[0], -0.75, -0.25, (1, 3))",
        ),
        ("torch.empty(1, 3).exponential_()", "Random numbers of line 7 are torch's, as recorded."),
        ("torch.nn.functional.gumbel_softmax(w, 0.7)", "jax.random.gumbel(keys[0], (3,))"),
        ("torch.nn.functional.rrelu(X, training=True)", "Random numbers of line 7 are torch's, as recorded."),
        ("w[torch.randperm(3)].exp()", "Random numbers of line 7 are torch's, as recorded."),
    ],
)
def test_how_random_numbers_are_drawn_is_told(tmp_path, drawn, wanted):
    text = f"""
        import torch

        torch.manual_seed(0)
        X, w = torch.randn(20, 3), torch.zeros(3, requires_grad=True)
        for step in range(4):
            mask = {drawn}
            loss = ((X * mask) @ w - 1).square().mean()
            loss.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
            w.grad = None
    """
    status, source = ported(tmp_path, text, "--check")
    assert status == 0
    assert wanted in source


def test_random_numbers_of_a_step_that_ran_once_are_drawn_as_those_of_others(tmp_path, capsys):
    text = """
        import torch
        torch.manual_seed(0)
        w = torch.ones(3, requires_grad=True)
        for k in range(3):
            first = (w * torch.randn(3)).square().sum()
            second = (w - 1).square().sum()
            loss = first + second
            w.grad = None
            first.backward(); second.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
    """
    status, source = ported(tmp_path, text, "--check")
    assert status == 0
    assert source.count("jax.random.normal(") == source.count("\ndef step(") == 1  # the last one leaves a loss
    assert "Random numbers of" not in source


def test_a_check_without_optax_says_what_to_install(tmp_path, capsys, monkeypatch):
    from jaxvjp.tools import proof

    monkeypatch.setattr(proof, "APART", "import no_such_library")
    status, _ = ported(tmp_path, UNREACHED, "--check")
    said = capsys.readouterr().err
    assert status == 1
    assert "script_jax.py is not checked: it needs no_such_library, `pip install 'jaxvjp[port]'`." in said
    assert "Traceback" not in said
