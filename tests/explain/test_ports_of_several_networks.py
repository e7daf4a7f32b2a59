"""`python -m jaxvjp port` of scripts that train several networks, or in steps of several forms: proved by `--check`."""

from __future__ import annotations

import re

import pytest

from jaxvjp.__main__ import main

HEAD = "import torch\ntorch.manual_seed(0)\nX = torch.randn(6, 1)\n"
AGAIN = """
for k in (1, 2):
    net = torch.nn.Linear(1, WIDTH)
    opt = torch.optim.OPTIMIZER(net.parameters(), lr=0.1)
    for _ in range(3):
        loss = (net(X) - 1).square().mean()
        opt.zero_grad(); loss.backward(); opt.step()
"""
EVALUATED = """
for lr in (0.1, 0.01):
    torch.manual_seed(5)
    net = torch.nn.Linear(1, 2)
    opt = torch.optim.OPTIMIZER(net.parameters(), lr=lr)
    for i in range(4):
        opt.zero_grad()
        loss = (net(X) - 1).square().mean()
        loss.backward(); opt.step()
        if i % 2:
            seen = net(X).detach()
            print(i, seen.mean())
"""
COPIED = """
import copy
net = torch.nn.Linear(1, 2)
for lr in (0.1, 0.01):
    net = copy.deepcopy(net)
    opt = torch.optim.OPTIMIZER(net.parameters(), lr=lr)
    for _ in range(TIMES):
        opt.zero_grad()
        loss = (net(X) - 1).square().mean()
        loss.backward(); opt.step()
"""
LAST_OF_FEW = """
inner = lambda z: z.tanh()
w = torch.nn.Parameter(torch.ones(1)); v = torch.nn.Parameter(torch.ones(1))
ow, ov = torch.optim.SGD([w], lr=0.1), torch.optim.Adam([v], lr=0.1)
for i in range(COUNT):
    ow.zero_grad()
    real = inner((w * X).mean())
    first = real + (w * v.detach() - 1).square().sum()
    first.backward(); ow.step()
    ov.zero_grad()
    if i % 2 == 0:
        fake = inner((v * w.detach() * X).mean())
        second = fake + (v - 1).square().sum()
        second.backward(); ov.step()
"""
BATCHES = """
w = torch.nn.Parameter(torch.ones(1))
opt = torch.optim.OPTIMIZER([w], lr=0.1)
for _ in range(2):
    for i in range(0, 6, 4):
        opt.zero_grad()
        (w * X[i:i+4] - 1).square().mean().backward()
        opt.step()
"""
MEAN = """
w = torch.nn.Parameter(torch.ones(3))
opt = torch.optim.SGD([w], lr=0.1)
mean = torch.zeros(3)
for _ in range(4):
    opt.zero_grad(); (w - mean - 1).square().sum().backward(); opt.step()
    with torch.no_grad():
        UPDATE
"""
IN_TURN = """
a = torch.nn.Parameter(torch.randn(3)); b = torch.nn.Parameter(torch.randn(3))
oa, ob = torch.optim.SGD([a], lr=0.1), torch.optim.Adam([b], lr=0.1)
for _ in range(3):
    for _ in range(TIMES):
        oa.zero_grad()
        la = (a * b.detach() - 1).square().sum()
        la.backward()
        oa.step()
    ob.zero_grad()
    lb = (a.detach() * b - 1).square().sum()
    lb.backward()
    ob.step()
"""
ROWS = """
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t, w):
        ctx.save_for_backward(t)
        return w * (t[1] - t[0])
    @staticmethod
    def backward(ctx, g):
        t, = ctx.saved_tensors
        return None, g * (t[1] - t[0])
w = torch.nn.Parameter(torch.ones(2))
opt = torch.optim.SGD([w], lr=0.1)
for k in range(4):
    opt.zero_grad()
    t = X[[0, 1, 4][:2 + k % 2]]
    loss = F.apply(t, w).square().sum()
    loss.backward()
    opt.step()
"""
VECTORS = """
w = torch.nn.Parameter(torch.ones(3))
opt = torch.optim.SGD([w], lr=0.1)
for k in range(4):
    opt.zero_grad()
    loss = (w - 3).square()
    (loss.backward(torch.ones(3)) if MANY else loss.sum().backward())
    opt.step()
"""
NAMELESS = """
given = lambda x, t: lambda: x * t
data = given(torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True))
w = torch.ones(3, requires_grad=True)
for _ in range(3):
    loss = (w * data() - 1).square().sum()
    (g,) = torch.autograd.grad(loss, w)
    with torch.no_grad():
        w -= 0.1 * g
"""
PENALTY = """
G, D = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)
og, od = torch.optim.SGD(G.parameters(), lr=0.1), torch.optim.SGD(D.parameters(), lr=0.1)
for k in range(4):
    fake = G(torch.randn(6, 1)).detach()
    mix = (0.5 * X + 0.5 * fake).requires_grad_()
    (slope,) = torch.autograd.grad(D(mix).tanh().sum(), mix, create_graph=True)
    loss = D(fake).mean() - D(X).mean() + (slope - 1).square().mean()
    od.zero_grad(); loss.backward(); od.step()
    if k % 2:
        loss = -D(G(torch.randn(6, 1))).mean()
        og.zero_grad(); loss.backward(); og.step()
"""
LEFT = """
G, D = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)
og, od = torch.optim.Adam(G.parameters(), lr=0.1), torch.optim.Adam(D.parameters(), lr=0.1)
for k in range(6):
    x = X + k
    loss = (D(x) - 1).square().mean()
    od.zero_grad(); loss.backward(); od.step()
    if k % 2:
        loss = -D(G(x)).mean()
        og.zero_grad(); loss.backward(); og.step()
"""
SCRIPTS = {
    "an input that requires a gradient": (PENALTY, 6),
    "leaves without a name": (NAMELESS, 3),
    "a second network of the same name": (AGAIN.replace("WIDTH", "1").replace("OPTIMIZER", "SGD"), 6),
    "one of another shape": (AGAIN.replace("WIDTH", "k").replace("OPTIMIZER", "Adam"), 6),
    "two from one seed, looked at between": (EVALUATED.replace("OPTIMIZER", "Adam"), 8),
    "two that begin alike": (EVALUATED.replace("OPTIMIZER", "SGD").replace("i % 2", "False"), 8),
    "a copy of what was trained": (COPIED.replace("TIMES", "3").replace("OPTIMIZER", "Adam"), 6),
    "a copy, with another optimizer": (COPIED.replace("TIMES", "4").replace("OPTIMIZER", "SGD"), 8),
    "values held of one of two": (LAST_OF_FEW.replace("COUNT", "5"), 8),
    "values held of the other": (LAST_OF_FEW.replace("COUNT", "6"), 9),
    "a smaller last batch": (BATCHES.replace("OPTIMIZER", "SGD"), 4),
    "with a state of the optimizer": (BATCHES.replace("OPTIMIZER", "RMSprop"), 4),
    "a mean that begins at zeros, in place": (MEAN.replace("UPDATE", "mean.mul_(0.9).add_(0.1 * w)"), 4),
    "a mean that begins at zeros": (MEAN.replace("UPDATE", "mean = 0.9 * mean + 0.1 * w"), 4),
    "two optimizers in turn": (IN_TURN.replace("TIMES", "1"), 6),
    "one of them twice": (IN_TURN.replace("TIMES", "2"), 9),
    "gradients that nobody reads": (LEFT, 9),
    "a Function of rows": (ROWS, 4),
    "no scalar loss": (VECTORS.replace("MANY", "True"), 4),
    "a scalar loss in some steps": (VECTORS.replace("MANY", "k % 2"), 4),
}


@pytest.mark.parametrize(("text", "steps"), SCRIPTS.values(), ids=SCRIPTS)
def test_the_port_is_proved(tmp_path, capsys, text, steps):
    script, output = tmp_path / "script.py", tmp_path / "script_jax.py"
    script.write_text(HEAD + text, encoding="utf-8")
    status = main(["port", str(script), "-o", str(output), "--check"])
    said = capsys.readouterr().err
    assert status == 0, said
    assert f"{steps} steps, " in said
    source = output.read_text(encoding="utf-8")
    functions = re.findall(r"^def (\w+)\(", source, re.MULTILINE)
    assert [each for each in functions if len(re.findall(rf"\b{each}\b", source)) < 2] == []  # each is called
    assert "def step_3(" not in source or text is not PENALTY
    assert ("loss[0]" in source) is ("MANY" not in text and "if True" not in text)
