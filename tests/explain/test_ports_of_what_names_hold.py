"""`python -m jaxvjp port`: all that a script's names hold at its end is in the port and compared, or is named."""

from __future__ import annotations

import re

import pytest

from jaxvjp.__main__ import main
from jaxvjp.explain import ported
from jaxvjp.explain.refusal import Refusal

HEAD = """
import copy
import torch
from torch import nn

torch.manual_seed(0)
X, Y = torch.randn(24, 3), torch.randn(24, 1)
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.05)


def update(optimizer=optimizer):
    loss = (net(X) - Y).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss
"""
IN_MAIN = """
def main():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    average = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(5):
        optimizer.zero_grad()
        (model(X) - Y).square().mean().backward()
        optimizer.step()
        with torch.no_grad():
            for a, p in zip(average.parameters(), model.parameters()):
                a.mul_(0.9).add_(p, alpha=0.1)


main()
"""
BEST = """
best = float("inf")
for step in range(8):
    update()
    with torch.no_grad():
        error = (net(X[:5]) - Y[:5]).abs().mean().item()
    if error < best and step < 4:
        best, saved = error, SAVED
net.load_state_dict(saved)
"""
AFTER = """
for step in range(4):
    update()
guess = net(X[:3]).detach()
"""
SLOPE = """
for step in range(4):
    update()
x = X[:2].clone().requires_grad_()
(slope,) = torch.autograd.grad(net(x).sum(), x)
"""
TOLD = """
errors, weights = [], []
for step in range(6):
    update()
    with torch.no_grad():
        errors.append((net(X) - Y).abs().mean())
    if step % 3 == 2:
        weights.append(net[0].weight.detach().clone())
"""
RESUMED = """
for step in range(3):
    update()
kept = copy.deepcopy(optimizer.state_dict())
net.load_state_dict(copy.deepcopy(net.state_dict()))
optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
optimizer.load_state_dict(kept)
for step in range(3):
    update(optimizer)
"""
ANEW = """
for epoch in range(2):
    own = torch.optim.Adam(net.parameters(), lr=0.01)
    for step in range(4):
        update(own)
"""
MOVED = """
sgd = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for step in range(4):
    (net(X) - Y).square().mean().backward()
    with torch.no_grad():
        old = [p.clone() for p in net.parameters()]
        for p in net.parameters():
            p.add_(0.05 * p.grad)
    net.zero_grad()
    (net(X) - Y).square().mean().backward()
    with torch.no_grad():
        for p, before in zip(net.parameters(), old):
            p.data = before
    sgd.step()
    net.zero_grad()
"""
NEW_LEAVES = """
w, m = torch.randn(3, 1, requires_grad=True), torch.zeros(3, 1)
for step in range(6):
    (g,) = torch.autograd.grad((X @ w - Y).square().mean(), w)
    m = 0.9 * m + g
    w = (w - 0.1 * m).detach().requires_grad_()
"""
AUTOCAST = """
for start in range(0, 24, 6):
    x, y = X[start : start + 6], Y[start : start + 6]
    with torch.autocast(AUTOCAST):
        error = net(x).float() - y
        loss = error.square().mean() + torch.rand(6, 1).bfloat16().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
NAMED_AS_MOMENTS = """
class Gauss(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu, self.nu = nn.Parameter(torch.zeros(3)), nn.Parameter(torch.ones(3))

    def forward(self, x):
        return ((x - self.mu) / self.nu).square().mean()


gauss = Gauss()
moments = torch.optim.Adam(gauss.parameters(), lr=0.1)
for step in range(4):
    moments.zero_grad()
    gauss(X).backward()
    moments.step()
"""
TARGET = """
target = copy.deepcopy(net).requires_grad_(False)
sgd = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(8):
    if step % 4 == 0:
        target = copy.deepcopy(net).requires_grad_(False)
    sgd.zero_grad()
    (net(X) - 0.9 * target(X + 1) - Y).square().mean().backward()
    sgd.step()
"""
COPIES = """
for step in range(6):
    update()
second, alias = torch.tensor(net[0].weight.tolist(), requires_grad=True), copy.copy(net[0].weight)
turned = copy.deepcopy([net[0].weight.data.t(), net[0].weight.grad])
sgd = torch.optim.SGD([second], lr=0.1)
for step in range(6):
    sgd.zero_grad()
    (X @ second.T).square().mean().backward()
    sgd.step()
"""
AVERAGE = """
for step in range(4):
    update()
    own = net[0].weight.detach().numpy()
    mean = own.copy() if step == 0 else 0.9 * mean + 0.1 * own
with torch.no_grad():
    net[0].weight.copy_(torch.from_numpy(mean))
"""
STACKED = """
losses, sizes = [], []
for step in range(4):
    r = net(X) - Y
    loss = r.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.detach())
    sizes.append(r.detach().abs().mean())
losses = torch.stack(losses)
sizes = torch.stack(sizes)
"""
LOADED = """
ema, best = copy.deepcopy(net).requires_grad_(False), float("inf")
for step in range(5):
    update()
    with torch.no_grad():
        for own, p in zip(ema.parameters(), net.parameters()):
            own.mul_(0.9).add_(p, alpha=0.1)
        error = (ema(X) - Y).abs().mean().item()
    if error < best:
        best, best_state = error, copy.deepcopy(ema.state_dict())
ema.load_state_dict(best_state)
"""
SAVED = "copy.deepcopy(net.state_dict())"
SCRIPTS = {
    "a target that is copied again and again": (TARGET, ['(state["net"], state["net"])']),
    "copies of several kinds": (COPIES, ['"alias":', '"second": ', '"turned_0": ']),
    "the best weights of a net with dropout": (
        BEST.replace("SAVED", SAVED).replace("best =", "net.insert(2, nn.Dropout(0.2))\nbest =", 1),
        ['"saved": state["net"]'],
    ),
    "parameters with the names of moments": (NAMED_AS_MOMENTS, ['"mu"', "optax.adam"]),
    "what a function has that trains": (IN_MAIN, ['"model_kept"', '"average_0_weight"']),
    "the best weights": (
        BEST.replace("SAVED", "{k: v.clone() for k, v in net.state_dict().items()}"),
        ['"saved": '],
    ),
    "a copy that no operation made": (BEST.replace("SAVED", "copy.deepcopy(net.state_dict())"), ['"saved": ']),
    "what is computed after the last step": (AFTER, ['"guess"', "def step_end"]),
    "a gradient after the last step": (SLOPE, ['"slope"']),
    "an average that is kept and loaded again": (LOADED, ["ema = jax.tree.map(lambda ema", '"best_state": best_state']),
    "values in a list that is one tensor then": (STACKED, ["of all steps is left out: they are in losses.", "[loss, "]),
    "values in a list": (TOLD, ["loss, errors_0]", "loss, errors_2, net["]),
    "a training that is resumed": (RESUMED, []),
    "an optimizer made anew": (ANEW, ["net_adam_2_state"]),
    "weights that are moved and set back": (MOVED, ["net_sgd_state"]),
    "parameters that are new leaves in each step": (NEW_LEAVES, ['"w"', '"m"']),
    "bfloat16": (AUTOCAST.replace("AUTOCAST", '"cpu"'), ["x.astype(jnp.bfloat16) @"]),
    "bfloat16 that is asked for": (AUTOCAST.replace("AUTOCAST", '"cpu", dtype=torch.bfloat16'), ["jnp.bfloat16"]),
}


def port(tmp_path, text):
    script, output = tmp_path / "script.py", tmp_path / "script_jax.py"
    script.write_text(HEAD.lstrip() + text, encoding="utf-8")
    return main(["port", str(script), "-o", str(output), "--check"]), output


@pytest.mark.parametrize(("text", "wanted"), SCRIPTS.values(), ids=SCRIPTS)
def test_the_port_has_it_and_is_proved(tmp_path, capsys, text, wanted):
    status, output = port(tmp_path, text)
    said = capsys.readouterr().err
    assert status == 0, said
    assert "not in it" not in said
    source = output.read_text(encoding="utf-8")
    assert [each for each in wanted if each not in source] == []


def test_what_optimizers_keep_is_compared(tmp_path, capsys, monkeypatch):
    """A wrong moment is found, though losses and parameters agree, and called what it is."""
    kept_by = ported.kept_by
    monkeypatch.setattr(
        ported, "kept_by", lambda *given: {each.replace("'nu'", "'mu'"): node for each, node in kept_by(*given).items()}
    )
    status, _ = port(tmp_path, "for step in range(3):\n    update()\n")
    assert status == 1
    assert re.search(r"DISAGREE; .* \(Adam's exp_avg_sq of \w+, nu in \w+_state\)", capsys.readouterr().err)


def test_what_is_not_in_the_port_is_named_and_raises_there(tmp_path, capsys, monkeypatch):
    function = ported._Script.function

    def refusing(self, kind):
        if self.steps.end is not None and kind == self.steps.end.kind:
            raise Refusal("a reason")
        return function(self, kind)

    monkeypatch.setattr(ported._Script, "function", refusing)
    status, output = port(tmp_path, AFTER)
    said = capsys.readouterr().err
    assert status == 1
    assert "not in it: line 20: guess: a reason" in said
    assert "NOT ALL IS IN IT" in said
    assert "agree;" not in said
    assert output.read_text(encoding="utf-8").endswith("raise NotImplementedError('line 20: guess: a reason')\n")


def test_what_numpy_made_of_parameters_is_not_called_equal(tmp_path, capsys):
    status, output = port(tmp_path, AVERAGE)
    said = capsys.readouterr().err
    named = "line 23: net_0_weight: Python has computed its numbers, which are as recorded"
    assert status == 1
    assert f"not in it: {named}" in said
    assert "NOT ALL IS IN IT" in said
    assert f"Not in it, {named}" in output.read_text(encoding="utf-8")


def test_what_is_computed_after_the_last_step_is_no_step(tmp_path, capsys):
    _, output = port(tmp_path, AFTER)
    assert ": 4 steps, " in capsys.readouterr().err
    assert "if loss" not in output.read_text(encoding="utf-8")


def test_how_often_a_condition_held(tmp_path, capsys):
    text = """
ready = torch.tensor(False)
for step in range(4):
    if not ready:
        ready.fill_(True)
    if (ready or step) and step == 0:
        pass
    missing = not ready
    update()
"""
    port(tmp_path, text)
    said = capsys.readouterr().err
    assert "line 20: if not ready: true 1 times, false 3 times; see jax.lax.cond" in said
    assert "line 22: if (ready or step) and step == 0: read 4 times; see" in said
    assert "line 24: missing = not ready read 4 times; see" in said


DECIDED = """
state = 1.0
for step in range(4):
    r = (net(X[:5]) - Y[:5])[:, 0]
    loss = LOSS
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
TAKES = "Values decided what ran in line 21: its places are as recorded; see jnp.where, x[jnp.argmax(x)]."
SAMPLES = "Samples of line 21 are torch's, from the weights of then: see jax.random.categorical."
READS = "What Python computes of the values that line 22 reads is as recorded."


@pytest.mark.parametrize(
    ("loss", "wanted"),
    [
        ("r[r > r.median()].square().sum()", [TAKES]),
        ("r[r.argmax()].square()", []),
        ("r[int(r.argmax())].square()", []),  # said is that Python reads this line
        ("r[torch.multinomial(r.softmax(0), 2)].square().sum()", [SAMPLES]),
        ("torch.multinomial(r.softmax(0), 1)\n    loss = r.sum() * (state := state + loss.item())", [READS]),
        ("(r * (r > 0)).sum() + X[X > 0].sum() * r[2]", []),
    ],
)
def test_what_values_of_the_training_decided_is_noted(tmp_path, loss, wanted):
    text = port(tmp_path, DECIDED.replace("LOSS", loss))[1].read_text(encoding="utf-8")
    assert [each for each in (TAKES, SAMPLES, READS) if each in text] == wanted


RATES = """
from torch.optim.lr_scheduler import ReduceLROnPlateau
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
plateau = ReduceLROnPlateau(optimizer, factor=0.5, patience=0, threshold=0.9)
scale, group = 1.0, optimizer.param_groups[0]
for step in range(4):
    loss = scale * (net(X) - Y).square().mean()
    optimizer.zero_grad()
    loss.backward()
    MADE
    optimizer.step()
    print(step, loss.item())
"""


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("group['lr'] = 0.02 * loss.item()", True),
        ("plateau.step(loss.item())", True),
        ("plateau.step(loss.detach())", True),
        ("scale = float(loss)", True),
        ("seen = loss.item()", False),  # no number varies
        ("group['lr'] *= 0.9", False),  # the loss is only printed
    ],
)
def test_a_rate_or_a_factor_that_python_made_of_a_loss_is_noted(tmp_path, capsys, made, told):
    assert port(tmp_path, RATES.replace("MADE", made))[0] == 0
    said = "What Python computes of the values that line 26 reads is as recorded."
    assert (said in capsys.readouterr().err) == told


@pytest.mark.parametrize(("place", "status"), [("int(J)", 1), ("J.tolist()", 1), ("J", 0), ("J[None]", 0)])
def test_an_index_that_makes_too_many_forms_is_named_where_it_is_read(tmp_path, capsys, place, status):
    text = "turn = 9 * torch.eye(5)[[0, 1, 2, 3, 4, 0]] + 1\n" + DECIDED.replace("range(4)", "range(6)")
    part = f"r[{place}].sum()".replace("J", "(r * turn[step]).argmax()")
    text = text.replace("(net", "(9 - net").replace("LOSS", part)
    assert port(tmp_path, text)[0] == status
    told = "so what line 22 reads has decided which part is taken; `x[j]`, of a tensor j, reads none"
    assert (told in capsys.readouterr().err) == bool(status)


VARYING = """
memory, tau = [], 1.0
for step in range(10):
    best = net(X[step : step + 5]).argmax()
    memory.append(best)
    tau *= 0.9
    loss = LOSS
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
SLOPED = "nn.functional.leaky_relu(net(X), tau).mean()"
OLDER = "(net(X[:1]) * (1 + PICKED)).mean()"
KEPT = "it reads what another step has computed, as an entry of a list; a number that is kept there, by `.item()`,"


@pytest.mark.parametrize(
    ("loss", "told"),
    [
        (SLOPED, "so a setting of `leaky_relu` varies, which selects a program"),
        (
            OLDER.replace("PICKED", "memory[(0, 0, 1, 0, 2, 4, 1, 3, 6, 2)[step]]"),
            "or is older, as an entry of a list is; a",
        ),
        (OLDER.replace("PICKED", "torch.stack([memory[step * k % 7 % (step + 1)] for k in (2, 3, 5)])"), KEPT),
        (SLOPED.replace("leaky_relu(net(X), tau)", "gumbel_softmax(net(X), tau).square()"), ""),
    ],
)
def test_what_differs_between_steps_is_told(tmp_path, capsys, loss, told):
    assert port(tmp_path, VARYING.replace("LOSS", loss))[0] == bool(told)
    assert told in " ".join(capsys.readouterr().err.split())


def test_lines_of_another_file_than_the_script_have_its_name(tmp_path, capsys):
    text = "def loss(x):\n    y = x.square().sum()\n    if y < 3:\n        print(y)\n    return 2 * y\n"
    (tmp_path / "losses_of_a_port.py").write_text(text, encoding="utf-8")
    script, output = tmp_path / "script.py", tmp_path / "script_jax.py"
    text = "import torch\nfrom losses_of_a_port import loss\nw = torch.ones(3, requires_grad=True)\n"
    text += "opt = torch.optim.SGD([w], lr=0.01)\nfor _ in range(9):\n    opt.zero_grad(); loss(w).backward()\n"
    script.write_text(text + "    opt.step(); print(w.sum())\n", encoding="utf-8")
    assert main(["port", str(script), "-o", str(output)]) == 0
    assert "\nlosses_of_a_port.py:3: if y < 3: true" in capsys.readouterr().err
    source = output.read_text(encoding="utf-8")
    assert "# losses_of_a_port.py:2" in source
    assert "# line 6: loss(w).backward()" in source
    assert "Left out is what only Python reads, of line 7, losses_of_a_port.py:2, losses_of_a_port.py:3; " in source
    assert main(["explain", str(script)]) == 0
    source = capsys.readouterr().out
    assert ("# losses_of_a_port.py:2" in source, "# line 6" in source) == (True, True)


def test_what_a_value_decided_and_what_is_only_read_is_noted_at_its_line(tmp_path, capsys):
    text = BEST.replace("SAVED", "{k: v.clone() for k, v in net.state_dict().items()}")
    port(tmp_path, text.replace("if error <", "if net[0].bias[0].item() < 9 and error <"))
    said = capsys.readouterr().err
    assert "line 23: if net[0].bias[0].item() < 9 and error < best and step < 4: read 8 times; see jax.lax.cond" in said
    assert "Left out is what only Python reads, of line 22, 23; what it decided is as in this run." in said


FED_BACK = """import torch
w, X = torch.tensor([1.0, -2.0], requires_grad=True), torch.tensor([[1.0, 2.0], [3.0, 1.0]])
opt, k = torch.optim.SGD([w], lr=0.01), 0.5
for step in range(5):
    opt.zero_grad()
    loss = (X @ w).square().mean() + k * w.abs().sum()
    loss.backward()
    opt.step()
    k = k + 0.1 * w.abs().mean().item()
with torch.no_grad():
    final = (X @ w).square().mean()
print(final)
"""


def test_what_follows_the_last_step_is_no_part_of_it_though_it_is_printed(tmp_path, capsys):
    port(tmp_path, FED_BACK)
    said = capsys.readouterr().err
    assert "of line 25; what it decided, and numbers made of it, are as in this run." in said
    source = next(tmp_path.glob("*_jax.py")).read_text(encoding="utf-8")
    assert ("def step(state, batch):" in source, "def step_end(state):" in source) == (True, True)
    assert source.count("value_and_grad") == 1
