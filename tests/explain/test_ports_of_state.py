"""`python -m jaxvjp port` of training that carries state from step to step: each is proved equal by `--check`."""

from __future__ import annotations

import pytest

from jaxvjp.__main__ import main

HEAD = """
import copy
import torch
from torch import nn

torch.manual_seed(0)
X, Y = torch.randn(24, 3), torch.randn(24, 1)
"""
CARRIED = """
h = None
w, u = torch.randn(3, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True)
for step in range(6):
    h = torch.zeros(4, 4) if h is None else h.detach()
    for k in range(2):
        h = (X[4 * step : 4 * step + 4] @ w + h @ u).tanh()
    loss = (h.sum(1, keepdim=True) - Y[4 * step : 4 * step + 4]).square().mean()
    loss.backward()
    with torch.no_grad():
        for p in (w, u):
            p -= 0.1 * p.grad
            p.grad = None
"""
BY_DATA = CARRIED.replace("p -= 0.1 * p.grad", "p.data.add_(p.grad, alpha=-0.1)")
LAYERS = """
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
for step in range(6):
    loss = (net(X) - Y).square().mean()
    loss.backward()
    for p in net.parameters():
        p.data.sub_(0.1 * p.grad)
        p.grad = None
"""
EPOCHS = """
w, u = torch.randn(3, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True)
optimizer = torch.optim.SGD([w, u], lr=0.1)
for epoch in range(3):
    h = torch.zeros(4, 4)
    for step in range(4):
        h = (X[4 * step : 4 * step + 4] @ w + h.detach() @ u).tanh()
        loss = h.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
STATISTICS = """
net = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.Linear(5, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(6):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(net(X[4 * step : 4 * step + 4]), Y[4 * step : 4 * step + 4])
    loss.backward()
    optimizer.step()
"""
TARGET = """
net = nn.Linear(3, 1)
target = copy.deepcopy(net)
optimizer = torch.optim.OPTIMIZER(net.parameters(), lr=0.1)
for step in range(9):
    x = X[step : step + 8]
    with torch.no_grad():
        wanted = Y[step : step + 8] + 0.9 * target(x.flip(0))
    loss = (net(x) - wanted).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    UPDATE
"""
HARD = "if step % 3 == 2:\n        target.load_state_dict(net.state_dict())"
SOFT = """with torch.no_grad():
        for p, t in zip(net.parameters(), target.parameters()):
            t.mul_(0.9).add_(p, alpha=0.1)"""
MEAN = """
w = torch.zeros(3, 1, requires_grad=True)
mean = w.detach().clone()
for step in range(6):
    loss = (X[step : step + 8] @ w - Y[step : step + 8]).square().mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
    mean = 0.9 * mean + 0.1 * w.detach()
"""
PENALTY = """
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(5):
    x = torch.randn(4, 3, requires_grad=True)
    (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    loss = (slope - x.detach().cos()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
LION = """
class Lion(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {"lr": 0.01})

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            state = self.state[p]
            if not state:
                state[0] = torch.zeros_like(p)
                state["2nd"] = torch.ones_like(p)
            p.add_((0.9 * state[0] + p.grad).sign() * state["2nd"], alpha=-0.01)
            state[0].mul_(0.9).add_(p.grad)
            state["2nd"] = 0.5 * state["2nd"] + 0.5


w, b = torch.randn(3, 1, requires_grad=True), torch.zeros(1, requires_grad=True)
optimizer = Lion([w, b])
for step in range(5):
    loss = (X[step : step + 8] @ w + b - Y[step : step + 8]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
LASTING = """
x = X.clone().requires_grad_().double().float() * 2
t = torch.ones(24, 1, requires_grad=True).view(-1, 1)
net = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(4):
    optimizer.zero_grad()
    y = net(torch.cat([x, t], 1))
    (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    loss = (slope.sum(1, keepdim=True) - y + Y).square().mean()
    loss.backward(retain_graph=True)
    optimizer.step()
"""
LATE = """
w = torch.ones(3, 1, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.01)
for step in range(5):
    loss = (X[step : step + 8] @ w - Y[step : step + 8]).square().mean()
    optimizer.step()
    optimizer.zero_grad()
    loss.backward()
"""
FEWER = """
w = torch.ones(3, 1, requires_grad=True)
for step in range(4):
    loss = (X[7 * step : 7 * step + 7] @ w - Y[7 * step : 7 * step + 7]).square().mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
"""
OF_DATA = """
w, mean, means, seen = torch.ones(3, 1, requires_grad=True), torch.zeros(3), [], torch.tensor(0)
for step in range(6):
    x = X[step : step + 8]
    UPDATE
    seen += 1
    loss = ((x - mean) @ w - Y[step : step + 8]).square().mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
"""
RATIO = """
net = nn.Linear(3, 1)
for step in range(6):
    loss = (net(X) - Y).square().mean()
    net.zero_grad()
    loss.backward()
    for p in net.parameters():
        p.data.add_(p.grad, alpha=-0.1 * p.data.norm() / p.grad.norm())
"""
LABELS = """
net, labels = nn.Linear(3, 4), torch.randint(4, (24,))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(5):
    scores, own = net(X[4 * step : 4 * step + 4]), labels[4 * step : 4 * step + 4]
    loss = scores.logsumexp(1).sum()
    for t in range(4):
        loss = loss - scores[t, own[t]]
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
REVERSED = """
class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, amount):
        ctx.amount = amount
        return x.view_as(x)

    @staticmethod
    def backward(ctx, cotangent):
        return cotangent.neg() * ctx.amount, None


net, domain = nn.Linear(3, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*net.parameters(), *domain.parameters()], lr=0.1)
for step in range(5):
    h = net(X)
    h = Reversed.apply(h, step / 5)
    loss = (domain(h) - Y).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
FROZEN = """
net, mean = nn.Linear(3, 1), nn.Linear(3, 1)
for p in mean.parameters():
    p.requires_grad = False
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(6):
    with torch.no_grad():
        wanted = mean(X)
    loss = (net(X) - Y).square().mean() + (net(X) - wanted).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for p, q in zip(mean.parameters(), net.parameters()):
        p.data.mul_(0.9).add_(q.data, alpha=0.1)
"""
ONCE = """
w = torch.ones(5, 1, requires_grad=True)
for n in 8, 8, 4:
    rows = torch.zeros(n, 1, 5)
    rows[torch.arange(n), 0, torch.from_numpy(__import__("numpy").random.RandomState(n).randint(5, size=n))] = 1.0
    loss = (rows.view(n, -1) @ w - Y[:n]).square().mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
"""
HOOKED = REVERSED.replace("h = Reversed.apply(h, step / 5)", "h.register_hook(lambda g, amount=step / 5: -g * amount)")
SCRIPTS = {
    "a mean of data, in place": (OF_DATA.replace("UPDATE", "mean.mul_(0.9).add_(0.1 * x.mean(0))"), ["mean", "seen"]),
    "a mean of data, by weight": (OF_DATA.replace("UPDATE", "mean.lerp_(x.mean(0), 0.1)"), ["mean", "seen"]),
    "a mean of data, each in a list": (
        OF_DATA.replace("UPDATE", "mean = 0.9 * mean + 0.1 * x.mean(0); means.append(mean)"),
        ["mean", "seen"],
    ),
    "a carried state that is none at first": (CARRIED, ["h"]),
    "a carried state that starts again": (EPOCHS, ["h"]),
    "running statistics": (STATISTICS, ["net_kept", "1_running_mean", "1_running_var"]),
    "a target that is copied": (TARGET.replace("UPDATE", HARD).replace("OPTIMIZER", "Adam"), ["target"]),
    "a target that follows": (TARGET.replace("UPDATE", SOFT).replace("OPTIMIZER", "SGD"), ["target"]),
    "a mean of weights": (MEAN, ["mean"]),
    "a gradient's gradient": (PENALTY, []),
    "an optimizer's state under odd keys": (LION, []),
    "a graph that was made before the loop": (LASTING, []),
    "a backward pass after the update": (LATE, ["w"]),
    "a last batch that has fewer rows": (FEWER, ["w"]),
    "an update of .data, in place": (BY_DATA, ["h"]),
    "an update of .data of layers": (LAYERS, ["net"]),
    "a rate that is computed": (RATIO, []),
    "labels that say where": (LABELS, []),
    "a number that a Function's backward reads": (REVERSED, []),
    "a number that a hook reads": (HOOKED, []),
    "a frozen mean by way of .data": (FROZEN, ["mean"]),
    "rows that are written, in a step that runs once": (ONCE, []),
}


@pytest.mark.parametrize(("text", "state"), SCRIPTS.values(), ids=SCRIPTS)
def test_the_port_is_proved(tmp_path, capsys, text, state):
    script, output = tmp_path / "script.py", tmp_path / "script_jax.py"
    script.write_text(HEAD.lstrip() + text, encoding="utf-8")
    status = main(["port", str(script), "-o", str(output), "--check"])
    assert status == 0, capsys.readouterr().err
    source = output.read_text(encoding="utf-8")
    for each in state:
        assert f'"{each}": ' in source
        assert f'"{each}_2": ' not in source  # a parameter's last value is where the others were
    if text in (RATIO, LABELS, FROZEN):
        assert source.count("def step") == 1
    if text in (RATIO, LABELS):  # nothing is a number that was recorded
        assert "0.1 * jnp.linalg.norm(" in source or "scores[t, own[t]]" in source
    assert ('"rate": ' in source) == (text in (REVERSED, HOOKED))


LAST = {
    "mean": (MEAN, "mean"),
    "copied": (SCRIPTS["a target that is copied"][0], "target.weight"),
    "follows": (SCRIPTS["a target that follows"][0], "target.weight"),
}


@pytest.mark.parametrize(("text", "name"), LAST.values(), ids=LAST)
def test_what_is_written_after_the_last_step_belongs_to_it(tmp_path, monkeypatch, text, name):
    """The state at the end is what the script leaves, which is printed here."""
    from jaxvjp.explain.draws import Draws
    from jaxvjp.explain.optimizers import Updates
    from jaxvjp.explain.ported import ported
    from jaxvjp.tools.explain import recorded

    script = tmp_path / "script.py"
    script.write_text(f"{HEAD.lstrip()}{text}\nleft = {name}.detach().tolist()\n", encoding="utf-8")
    found = {}
    finish = "jaxvjp.explain.explanation.recording.finish"
    from jaxvjp.explain.explanation import recording

    own = recording.finish
    monkeypatch.setattr(finish, lambda self, variables: found.update(variables) or own(self, variables))
    with Updates() as updates, Draws() as draws:
        explanation, _ = recorded(script, [], "grad")
    port = ported(explanation.story, updates.found, draws, "", "")
    assert any(each.shape and each.tolist() == found["left"] for each in port.state.values())


DRAWN = """
w, last, buffer = torch.ones(3, requires_grad=True), torch.zeros(3), []
for step in range(6):
    x = torch.randn(3)
    LINES
    loss.backward()
    with torch.no_grad():
        w -= 0.01 * w.grad
    w.grad = None
    noted = loss.item()
    last = x
"""
KEPT = {
    "a mask": "loss = (w[:1] * x[x > x.median()]).sum()",
    "a masked write": "y = torch.zeros(3); y[x < 1] = (x * w)[x < 1]; loss = y.sum()",
    "a place": "y = torch.zeros(3); y[x.argmax()] = 1.0; loss = (w * x * y).sum()",
    "a mask of what is trained": "r = w * x; loss = r[r > r.median()].sum()",
    "a condition": "loss = (w * x).sum() * (1.0 if x.sum() > 0 else -1.0)",
    "a place in a list": "loss = (w * x).sum() * [1.0, 2.0, 3.0][x.argmax()]",
    "what Python computed": "y = w * x; loss = y.sum() * torch.tensor(y.sum().item() ** 2)",
    "the step before": "loss = (w * (x - last)).sum()",
    "some steps before": "buffer = [*buffer[-2:], x]; loss = (w - torch.stack(buffer)).square().sum()",
    "nothing": "y = x - x.mean(); loss = (w * y * (x > 0)).sum()",
}


@pytest.mark.parametrize("lines", KEPT.values(), ids=KEPT)
def test_random_numbers_stay_where_something_that_is_recorded_was_computed_from_them(tmp_path, lines):
    script, output = tmp_path / "script.py", tmp_path / "script_jax.py"
    script.write_text(HEAD.lstrip() + DRAWN.replace("LINES", lines), encoding="utf-8")
    assert main(["port", str(script), "-o", str(output), "--check"]) == 0
    source, stays = output.read_text(encoding="utf-8"), lines != KEPT["nothing"]
    assert ("jax.random" in source, "What line 10 draws stays torch's" in source) == (not stays, stays)


def test_what_is_carried_of_data_and_has_no_common_form_is_told(tmp_path, capsys):
    script, output = tmp_path / "script.py", tmp_path / "script_jax.py"
    text = OF_DATA.replace("UPDATE", "mean = torch.stack([mean, *x[: step + 1]]).mean(0)")
    script.write_text(HEAD.lstrip() + text, encoding="utf-8")
    assert main(["port", str(script), "-o", str(output), "--check"]) == 0
    assert "What line 11, 12 carries from step to step is as recorded." in capsys.readouterr().err


def test_what_an_older_value_is_read_of_is_refused_with_its_line(tmp_path, capsys):
    """Of one list the values of two steps before: they are no state of one name."""
    text = """
w = torch.zeros(3, 1, requires_grad=True)
seen = [torch.zeros(8, 1), torch.zeros(8, 1)]
for step in range(8):
    out = X[step : step + 8] @ w
    loss = (out - Y[step : step + 8] + 0.1 * seen[-2] + 0.2 * seen[-1]).square().mean()
    seen.append(out.detach())
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
"""
    script, output = tmp_path / "script.py", tmp_path / "script_jax.py"
    script.write_text(HEAD.lstrip() + text, encoding="utf-8")
    status = main(["port", str(script), "-o", str(output), "--check"])
    said = capsys.readouterr().err
    assert status == 1
    assert "line 13: what is read here is not what the step before left" in said
