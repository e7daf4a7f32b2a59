"""How a ported script reads: what is computed from a batch, dicts of parameters, one line for all of them, JAX's names.

Each program is ported and proved; what the text has, and has not, is compared.
"""

import re

import pytest

from jaxvjp.__main__ import main

HEAD = """
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
X, Y = torch.randn(40, 3), torch.randint(0, 4, (40,))
"""
LOOP = """
for step in range(6):
    index = torch.randperm(40)[:8]
    optimizer.zero_grad()
    loss = LOSS
    loss.backward()
    optimizer.step()
"""
NET = """
net = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 4))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
"""
CUBED = NET + LOOP.replace("LOSS", "(net(X[index] ** 3) - F.one_hot(Y[index], 4).float()).square().mean()")
SUMS = """
w, b = torch.zeros(3, requires_grad=True), torch.zeros(1, requires_grad=True)
for epoch in range(3):
    total = 0.0
    hits = 0
    for step in range(4):
        x, y = X[10 * step : 10 * step + 10], Y[10 * step : 10 * step + 10]
        out = x @ w + b
        loss = (out - y).square().mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
            b -= 0.1 * b.grad
        w.grad.zero_()
        b.grad.zero_()
        total += loss.detach()
        hits += ((out > 1) == (y > 1)).sum()
    print((total / 4).item(), hits.item() / 40)
"""
AGAIN = """
w, u = torch.randn(3, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True)
optimizer = torch.optim.SGD([w, u], lr=0.1)
for epoch in range(3):
    h = torch.zeros(10, 4)
    for step in range(4):
        out = (X[10 * step : 10 * step + 10] @ w + h.detach() @ u).tanh()
        h = out * 2
        loss = out.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
JOINED = """
net = nn.Linear(3, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(6):
    x = torch.stack([X[5 * step + k] for k in range(4)])
    y = torch.stack([Y[5 * step + k] for k in range(4)])
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
"""
NAMED = """
net = nn.Sequential(nn.Conv2d(1, 2, 2), nn.SiLU(), nn.BatchNorm2d(2), nn.Flatten(), nn.LayerNorm(8), nn.GELU(),
                    nn.Linear(8, 4), nn.Softplus())
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
images = torch.randn(40, 1, 3, 3)
""" + LOOP.replace("LOSS", "F.cross_entropy(net(images[index]), Y[index])")
IGNORED = NET + "Y[::3] = -100\n" + LOOP.replace("LOSS", "F.cross_entropy(net(X[index]), Y[index])")
SIGNS = """
class Signs(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {"lr": 0.01})

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            state = self.state[p]
            if not state:
                state["mean"] = torch.zeros_like(p)
            p.mul_(0.999).add_((0.9 * state["mean"] + 0.1 * p.grad).sign(), alpha=-0.01)
            state["mean"].mul_(0.99).add_(p.grad, alpha=0.01)


net = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 4))
optimizer = Signs(net.parameters())
""" + LOOP.replace("LOSS", "F.cross_entropy(net(X[index]), Y[index])")
AVERAGE = (
    NET
    + "ema_net = {name: each.detach().clone() for name, each in net.state_dict().items()}\n"
    + LOOP.replace("LOSS", "F.cross_entropy(net(X[index]), Y[index])")
    + """    with torch.no_grad():
        for name, each in net.state_dict().items():
            ema_net[name].mul_(0.9).add_(each, alpha=0.1)
"""
)
INNER = """
w = torch.randn(3, 4, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for step in range(5):
    inner = F.cross_entropy(X[:8] @ w, Y[:8])
    (slope,) = torch.autograd.grad(inner, w, create_graph=True)
    outer = F.cross_entropy(X[8:16] @ (w - 0.1 * slope), Y[8:16])
    optimizer.zero_grad()
    outer.backward()
    optimizer.step()
"""
TWO = """
a, b = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
first, second = torch.optim.SGD([a], lr=0.1), torch.optim.SGD([b], lr=0.1)
for step in range(5):
    first.zero_grad()
    loss_a = (a - b.detach()).square().sum()
    loss_a.backward()
    second.zero_grad()
    loss_b = (b - 0.5 * a.detach()).square().sum()
    loss_b.backward()
    first.step()
    second.step()
"""
ACCUMULATED = (
    NET
    + """
for k in range(6):
    loss = F.cross_entropy(net(X[4 * k : 4 * k + 4]), Y[4 * k : 4 * k + 4])
    loss.backward()
    if STEPS:
        optimizer.step()
        optimizer.zero_grad()
"""
)
MEANS = """
net = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 4))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
""" + LOOP.replace("loss = LOSS", "out = net(X[index])\n    loss = F.cross_entropy(out, Y[index])")
RECURRENT = """
net = nn.LSTM(3, 4)
head = nn.Linear(4, 1)
optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
state = (torch.zeros(1, 2, 4), torch.zeros(1, 2, 4))
for step in range(6):
    x = X[6 * step : 6 * step + 6].reshape(3, 2, 3)
    h, state = net(x, tuple(each.detach() for each in state))
    loss = (head(h) - x.sum(2, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
PENALTY = """
import copy
net = nn.Linear(3, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
weights = {name: torch.zeros_like(each) for name, each in net.named_parameters()}
F.cross_entropy(net(X), Y).backward()
for name, each in net.named_parameters():
    weights[name] += each.grad**2
begun = {name: each.data for name, each in copy.deepcopy(dict(net.named_parameters())).items()}


def penalty(net):
    loss = 0
    for name, each in net.named_parameters():
        loss += (weights[name] * (each - begun[name]) ** 2).sum()
    return loss
""" + LOOP.replace("LOSS", "F.cross_entropy(net(X[index]), Y[index]) + 10 * penalty(net)")
ROWS = """
for epoch in range(3):
    for k in range(0, 40, 10):
        optimizer.zero_grad()
        out = net(X[k : k + 10])
        loss = F.cross_entropy(out, Y[k : k + 10])
        loss.backward()
        optimizer.step()
"""
TARGET = (
    NET.replace("net =", "q_target = nn.Linear(3, 4)\nnet =").replace(
        "nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 4))", "nn.Linear(3, 4)"
    )
    + LOOP.replace("LOSS", "(net(X[index]) - q_target(X[index]).detach()).square().mean()")
    + """    for p_target, p in zip(q_target.parameters(), net.parameters()):
        p_target.data.copy_(p_target.data * 0.9 + p.data * 0.1)
"""
)
BEST = (
    NET.replace("0.1", "9.0")
    + ROWS
    + """    with torch.no_grad():
        valid = F.cross_entropy(net(X), Y).item()
    if epoch == 0 or valid < best:
        best = valid
        torch.save(net.state_dict(), FILE)
net.load_state_dict(torch.load(FILE))
last = F.cross_entropy(net(X), Y).detach()
"""
)
BEST_OF_STATISTICS = (
    BEST.replace("nn.ReLU()", "nn.BatchNorm1d(5)")
    .replace("if epoch == 0 or valid < best", "if epoch < 2")
    .replace("range(3):", "range(3):\n    net.train()")
    .replace("    with torch", "    net.eval()\n    with torch")
)
ROWS_USED = NET + ROWS + "probabilities = out.detach().softmax(1)\n"
CELL = """
class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.out = nn.Linear(7, 4), nn.Linear(7, 4)

    def forward(self, x, h):
        both = torch.cat((x, h), 1)
        return self.out(both), torch.tanh(self.hidden(both))


net = Cell()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for k in range(5):
    h, loss = torch.zeros(2, 4), 0
    x, y = X[8 * k : 8 * k + 8].reshape(4, 2, 3), Y[8 * k : 8 * k + 8].reshape(4, 2)
    for t in range(4):
        out, h = net(x[t], h)
        loss += F.cross_entropy(out, y[t])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
MASKED = """
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(3, 3))

    def forward(self, x):
        e = x @ self.w @ x.T
        out = -9e15 * torch.ones_like(e)
        return torch.softmax(torch.where(e > 0, e, out), 1) @ x


net = nn.Sequential(Layer(), Layer(), nn.Linear(3, 4))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
""" + LOOP.replace("LOSS", "F.cross_entropy(net(X[index]), Y[index])")
PARTIAL = (
    NET
    + """
data = torch.utils.data.TensorDataset(X, Y)
for epoch in range(3):
    for x, y in torch.utils.data.DataLoader(data, batch_size=12):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
"""
)
FROZEN = NET.replace("SGD", "Adam").replace("optimizer =", "net[0].requires_grad_(False)\noptimizer =") + LOOP.replace(
    "LOSS", "F.cross_entropy(net(X[index]), Y[index])"
)
DRAWN = NET + LOOP.replace(
    "LOSS", "F.cross_entropy(net(X[index] + torch.distributions.Normal(0, 1).sample((8, 3))), Y[index])"
)
TAUGHT = """
class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.last = nn.Linear(3, width), nn.Linear(width, 4)

    def forward(self, x):
        h = self.first(x).tanh()
        return self.last(h)


def distance(outputs, labels, wanted):
    return F.cross_entropy(outputs, labels) + (outputs - wanted).square().mean()


teacher, student = Net(6), Net(3)
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y), batch_size=10):
        with torch.no_grad():
            teacher_outputs = teacher(x)
        loss = distance(student(x), y, teacher_outputs)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    for x, y in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y), batch_size=20):
        student(x).argmax(1)
"""
FOLLOWED = (
    NET
    + """
import copy
target = copy.deepcopy(net)
for p in target.parameters():
    p.requires_grad = False
for step in range(5):
    index = torch.randperm(40)[:8]
    loss = (net(X[index]) - target(X[index]) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for a, b in zip(net.parameters(), target.parameters()):
        b.data = b.data * 0.9 + a.data * 0.1
"""
)
SHARP = NET.replace("lr=0.1", "lr=0.1, momentum=0.9") + LOOP.replace(
    "LOSS", "F.cross_entropy(net(X[index]), Y[index])"
).replace(
    "    optimizer.step()\n",
    """    with torch.no_grad():
        norm, old = torch.stack([p.grad.norm() for p in net.parameters()]).norm(), {}
        for p in net.parameters():
            old[p] = p.data.clone()
            p.add_(p.grad * (0.05 / (norm + 1e-12)))
    optimizer.zero_grad()
    F.cross_entropy(net(X[index]), Y[index]).backward()
    with torch.no_grad():
        for p in net.parameters():
            p.data = old[p]
    optimizer.step()
""",
)
ATTACKED = """
net = nn.Sequential(nn.Embedding(9, 4), nn.Flatten(), nn.Linear(12, 4))
words = torch.randint(9, (40, 3))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
""" + LOOP.replace("LOSS", "F.cross_entropy(net(words[index]), Y[index])").replace(
    "    optimizer.step()\n",
    """    kept = net[0].weight.data.clone()
    net[0].weight.data.add_(0.5 * net[0].weight.grad / torch.norm(net[0].weight.grad))
    F.cross_entropy(net(words[index]), Y[index]).backward()
    net[0].weight.data = kept
    optimizer.step()
""",
)
SPELLED = """
alphabet = "abcdefg"
def char_tensor(text):
    found = torch.zeros(len(text)).long()
    for k in range(len(text)):
        found[k] = alphabet.index(text[k])
    return found

net = nn.Sequential(nn.Embedding(7, 4), nn.Linear(4, 7))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(6):
    given, target = char_tensor("gabcde"[step:] + "fabcde"[:step]), char_tensor("abcdef"[step:] + "abcdeg"[:step])
    optimizer.zero_grad()
    loss = F.cross_entropy(net(given), target)
    loss.backward()
    optimizer.step()
"""
TURNED = """
def orthogonalize(g):
    x = g / (g.norm() + 1e-7)
    if g.size(0) > g.size(1):
        x = x.T
    for _ in range(5):
        a = x @ x.T
        x = 1.5 * x - 0.5 * a @ x
    return x.T if g.size(0) > g.size(1) else x

net = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 4))
matrices = [p for p in net.parameters() if p.dim() == 2]
for step in range(5):
    loss = F.cross_entropy(net(X), Y)
    net.zero_grad()
    loss.backward()
    with torch.no_grad():
        for p in matrices:
            p -= 0.05 * orthogonalize(p.grad)
"""
POOLED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two, self.head = nn.Conv1d(1, 4, 3), nn.Conv1d(4, 5, 3), nn.Linear(5, 4)

    def forward(self, x):
        x = F.max_pool1d(F.avg_pool1d(self.one(x), 2), 3, stride=2, padding=1)
        x = F.relu(self.two(x))
        return self.head(F.max_pool1d(x, x.size(2)).squeeze(2) + F.adaptive_avg_pool1d(x, 1).flatten(1))


net, rows = Net(), torch.randn(40, 1, 22)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
""" + LOOP.replace("LOSS", "F.cross_entropy(net(rows[index]), Y[index])")
SCANNED = """
class Scan(nn.Module):
    def __init__(self):
        super().__init__()
        self.gates = nn.Linear(3, 6)

    def forward(self, u):
        a, b = self.gates(u).split([3, 3], dim=-1)
        h, outputs = torch.zeros(1, 3), []
        for t in range(u.shape[1]):
            h = a[:, t].sigmoid() * h + u[:, t]
            outputs.append(h * b[:, t])
        return torch.stack(outputs, dim=1)


net = Scan()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
""" + LOOP.replace("LOSS", "(net(X[index][None]) - X[index]).square().mean()")
STEPPED = """
net = nn.Linear(3, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def step(x, h):
    z = torch.tanh(net(x))
    return z * 0.5 + h


def last_of(x):
    h = torch.zeros(3)
    for t in range(8):
        h = step(x[t], h)
    return h
""" + LOOP.replace("for step", "for number").replace("LOSS", "(last_of(X[index]) - 1).square().mean()")
AVERAGED = (
    "import copy\n"
    + NET
    + "mean = copy.deepcopy(net)\n"
    + LOOP.replace("LOSS", "F.cross_entropy(net(X[index]), Y[index])")
    + """    ours, theirs = net.state_dict(), mean.state_dict()
    for name in ours:
        theirs[name].copy_(theirs[name] * 0.9 + 0.1 * ours[name])
"""
)
KEPT = (
    NET.replace("nn.ReLU()", "nn.BatchNorm1d(5)")
    + ROWS
    + """    best = net.state_dict()
net.load_state_dict(best)
"""
)
GROUPED = """
net = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 4))
groups = [{"params": [p], "lr": 0.1 if p.ndim > 1 else 0.2} for p in net.parameters()]
optimizer = torch.optim.SGD(groups, momentum=0.9)
""" + LOOP.replace("LOSS", "F.cross_entropy(net(X[index]), Y[index])")
EQUAL = """
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(4):
    loss = 0
    for t in range(3):
        sign = torch.tensor(1.0 if t == 2 else (-1.0) ** (step // (t + 1)))
        loss = loss + F.softplus(net(X[3 * step + t]) * sign).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
SOMETIMES = (
    NET.replace("nn.ReLU()", "nn.BatchNorm1d(5)")
    + """
mean = torch.optim.swa_utils.AveragedModel(net)
for epoch in range(4):
    for x, y in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y), batch_size=10, shuffle=True):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
    if epoch > 1:
        mean.update_parameters(net)
"""
)
SMALLER = (
    NET.replace("nn.ReLU()", "nn.ReLU(), nn.Dropout(0.2)")
    + """
for epoch in range(2):
    for x, y in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y), batch_size=16, shuffle=True):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
"""
)
DISTANCES = """
weight = nn.Parameter(torch.randn(3, 2))
optimizer = torch.optim.SGD([weight], lr=0.1)
for step in range(3):
    rows = F.normalize(X[:6] @ weight, dim=1)
    apart = torch.cdist(rows, rows).max(1).values + (rows[:, None] - rows[None]).norm(dim=-1).max()
    optimizer.zero_grad()
    (apart.mean() + X.norm() * weight.norm()).backward()
    optimizer.step()
"""
PROGRAMS = {
    "dropout of a smaller last batch": (
        SMALLER,
        [r"def draws\(key, batch\)", r'bernoulli\(keys\[0\], 0\.8, \(len\(batch\["index"\]\), 5\)\)'],
        ["step_2"],
    ),
    "a mean that begins late": (SOMETIMES, [r"def step_2\(state, batch\)"], ['data["given']),
    "distances of which some are 0": (DISTANCES, [r"jnp\.where\(length == 0", r"jnp\.linalg\.norm\(params"], []),
    "pooling": (POOLED, [r"jnp\.max\(x, axis=2", r"jnp\.mean\(.*axis=2", r"jax\.lax\.add, .*/ 2"], ["slice_in_dim"]),
    "a list that is appended to": (
        SCANNED,
        [r"outputs = \[\]\n    for \w+ in range\(8\):", r"outputs\.append\(output\)", r"t\[:, :, 3:6\]"],
        ["dynamic_slice"],
    ),
    "a function that is called step": (STEPPED, [r"def inner_step\(", r"def step\(state"], ["step_2"]),
    "a mean by way of state_dict": (
        AVERAGED,
        [r"jax\.tree\.map\(lambda mean, net: mean \* 0\.9"],
        ['"theirs', "theirs_"],
    ),
    "weights that are kept and not copied": (KEPT, [r"net_1_running_mean = "], ["best_", "step_end"]),
    "a group for each parameter": (GROUPED, ["net_2_sgd = "], ["net_3_sgd", "params_2"]),
    "what is equal in all steps": (EQUAL, [r'"sign_3": jnp\.array\(\[1'], []),
    "arrays that are written letter by letter": (SPELLED, [r"def f\(net, given, target\)"], ['batch["rate', ".at["]),
    "a function in two forms": (
        TURNED,
        [r"def orthogonalize\(g\)", r"def orthogonalize_2\(g\)", r"    return x\.T"],
        [" if "],
    ),
    "a batch and what is computed from it": (
        CUBED,
        [r"X\[[^]]*\] \*\* 3", r"jax\.nn\.relu\("],
        ["given_", "jnp.where(t <= 0"],
    ),
    "batches that are joined from parts": (JOINED, [r'"x": jnp\.asarray', r'"y": jnp\.asarray'], ["jnp.stack"]),
    "the names of JAX": (
        NAMED,
        [r"jax\.nn\.silu\(", r"jax\.nn\.softplus\(", r"jax\.nn\.gelu\(", r"take_along_axis", r"\(-1, 8\)", "jnp.var"],
        ["-100", "erf", "(8, 8)"],
    ),
    "a class that is ignored": (IGNORED, [r"-100"], []),
    "an optimizer of the user's": (SIGNS, [r"jax\.tree\.map\(lambda .*jnp\.sign\(", r'"0_weight"'], ["net_grad["]),
    "a mean of all parameters": (AVERAGE, [r"jax\.tree\.map\(lambda .* 0\.9"], []),
    "a loss inside a step": (INNER, [r"\[outer\]"], []),
    "two losses": (TWO, [r'print\(f"step \{number\}  loss_a \{loss\[0\]:\.6f\}  loss_b'], []),
    "a dict that is given twice": (PENALTY, [r"def penalty\(net, net_2, "], []),
    "losses of one name": (ACCUMULATED.replace("STEPS", "k % 2"), [r"  loss \{loss\[0\].*  loss_2 \{loss\[1\]"], []),
    "losses of one name, not as many in each step": (
        ACCUMULATED.replace("STEPS", "k not in (0, 3, 4)"),
        [r"for each in loss\[:3\]", r'loss", \*shown'],
        [],
    ),
    "buffers of a module": (
        MEANS,
        [
            r"t, t_2, t_3 = standardized_batch\(",
            r"return loss, \(net_1_running_mean, net_1_running_var\)",
            "\n    out = .*net..3_weight",
        ],
        ["out_2"],
    ),
    "a target network": (
        TARGET,
        [r"jax.tree.map\(lambda q_target, net: ", "def step\\("],
        ["step_end"],
    ),
    "the best weights from a file": (BEST, [r'"saved": net,', r'"net": state\["saved"\]'], []),
    "best weights and running statistics": (
        BEST_OF_STATISTICS,
        [r'"saved_1_running_mean": ', r"net_1_running_mean = state\[.saved_1_running_mean.\]"],
        [],
    ),
    "rows in turn": (
        ROWS_USED,
        [r"jnp.stack\(\[X\[i : i \+ 10\] for i in \[\*range\(0, 40, 10\)\] \* 3\]"],
        ["step_2"],
    ),
    "a cell whose last state is not read": (CELL, [r"for t in range\(4\):\n        out, h = Cell\("], ["given"]),
    "sums that start again": (
        SUMS,
        [
            r"len\(losses\) % 4 == 0:\n        state\[.total.\] = ",
            r'"w_grad": jnp\.(zeros|array\(\[0)',
            r"def step\(state",
        ],
        ["step_1"],
    ),
    "a state that starts again": (AGAIN, [r"len\(losses\) % 4 == 0:\n        state\[.h.\] = jnp\.zeros"], ["step_1"]),
    "what a layer makes of ones": (MASKED, [r"def Layer\(w, x\):", r"jnp.ones\("], ["given_2"]),
    "batches of several sizes": (
        PARTIAL,
        [r"def step\(state, batch\)", r"for batch in batches:", r"X\[.*index"],
        ["step_2"],
    ),
    "an optimizer's frozen parameters": (FROZEN, [r"optax\.adam\("], ["exp_avg"]),
    "samples of a distribution": (DRAWN, [r"jax\.random\.normal\("], ["Random numbers of"]),
    "weight decay by way of .data": (
        SIGNS.replace("p.mul_(0.999).add_", "p.data.mul_(0.999)\n            p.add_"),
        [r"jax\.tree\.map\(lambda net: net \* 0\.999"],
        ["net_0_weight = p"],
    ),
    "a teacher": (
        TAUGHT,
        [r"    teacher_outputs = Net\(teacher, x\)", r'    x = X\[batch\["index"\]\]', r"    loss, student_grad = "],
        ["stop_gradient"],
    ),
    "a target that is assigned": (
        FOLLOWED,
        [r"b = jax\.tree\.map\(lambda target, net: target \* 0\.9 \+ net \* 0\.1, state\[\"target\"\], net\)"],
        [],
    ),
    "parameters that are moved for a second pass": (
        SHARP,
        [r"def step\(state, ", r"\(0\.05 / \(norm \+ 1e-12\)\)", r"net_grad = jax\.value_and_grad\(f\)\(net_2, "],
        ["def f_2", '"net_2": '],
    ),
    "one parameter that is moved for a second pass": (
        ATTACKED,
        [
            r"def step\(state, ",
            r"jax\.value_and_grad\(f\)\(\{\*\*state\[\"net\"\], \"0_weight\": ",
            r"net_adam\.update\(",
        ],
        ["def f_2"],
    ),
    "a recurrence runs once": (RECURRENT, [r"has_aux=True", r"jax\.lax\.scan"], []),
}


@pytest.mark.parametrize(("text", "wanted", "unwanted"), PROGRAMS.values(), ids=PROGRAMS)
def test_the_port_reads_like_this_and_is_proved(tmp_path, capsys, text, wanted, unwanted):
    script, output = tmp_path / "script.py", tmp_path / "script_jax.py"
    text = text.replace("FILE", repr(str(tmp_path / "best.pt")))
    script.write_text(HEAD.lstrip() + text, encoding="utf-8")
    status = main(["port", str(script), "-o", str(output), "--check"])
    assert status == 0, capsys.readouterr().err
    source = output.read_text(encoding="utf-8")
    assert [each for each in wanted if not re.search(each, source)] == []
    assert [each for each in unwanted if each in source] == []
    assert max(source.count(f"{each} = recurrence(") for each in ("t, t_2, t_3", "_, t, t_2")) <= 1


@pytest.mark.parametrize("name", ["draws", "optax", "net_adam_state"])
def test_a_variable_may_have_a_name_that_a_port_needs(tmp_path, capsys, name):
    script, output = tmp_path / "script.py", tmp_path / "script_jax.py"
    script.write_text(HEAD.lstrip() + USED.replace("NAME", name), encoding="utf-8")
    assert main(["port", str(script), "-o", str(output), "--check"]) == 0, capsys.readouterr().err


USED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(3, 4), nn.Linear(3, 4)

    def scaled(self, x):
        NAME = torch.exp(-torch.arange(3) / 2)
        return x * NAME + NAME.sum()

    def forward(self, x):
        return self.one(self.scaled(x)) + self.two(x)


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for NAME in X[:5]:
    x = NAME + 0.1 * torch.rand(8, 3)
    NAME = net(x).square().mean()
    optimizer.zero_grad()
    NAME.backward()
    optimizer.step()
NAME = net.one.bias.detach() * 2
"""


LOSSES_OF_ONE_NAME = """
def slope(x):
    x = torch.tensor(x, requires_grad=True)
    f = ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum()
    f.backward()
    return x.grad

x = [0.0, 0.5, 0.2]
for i in range(3):
    x = [a - 1e-3 * b for a, b in zip(x, slope(x).tolist())]
w = torch.zeros(2, requires_grad=True)
for i in range(3):
    f = ((w - 1) ** 2).sum()
    f.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad = None
"""
FUNCTION = """
w, b = torch.ones(3, requires_grad=True), torch.zeros(3, requires_grad=True)
def f(w, x):
    return ((w * x).sin() ** 2).sum()
for x in X[:4]:
    first, second = torch.autograd.grad(f(w, x) + f(b, x), [w, b])
    with torch.no_grad():
        w -= 0.1 * first
        b -= 0.1 * second
q = torch.func.grad(lambda u: f(u, x))(w)
"""


@pytest.mark.parametrize("text", [LOSSES_OF_ONE_NAME, FUNCTION], ids=["losses", "function"])
def test_what_the_user_names_f_is_no_function_of_the_port(tmp_path, capsys, text):
    script, output = tmp_path / "script.py", tmp_path / "script_jax.py"
    script.write_text(HEAD.lstrip() + text, encoding="utf-8")
    assert main(["port", str(script), "-o", str(output), "--check"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize(("number", "wanted"), [(4, "int32"), (2**40, "int64")])
def test_integers_have_the_32_bits_that_jax_gives_them(tmp_path, number, wanted):
    script, output = tmp_path / "script.py", tmp_path / "script_jax.py"
    text = f"""
w, counts = torch.ones(2, requires_grad=True), torch.tensor([{number}, 3])
for step in range(3):
    loss = (w * (counts % 7)).square().sum() + w[w.argmax()[None]].sum() * w[torch.tensor([step % 2])].sum()
    loss.backward()
    with torch.no_grad():
        w -= 0.01 * w.grad
    w.grad = None
"""
    script.write_text(HEAD.lstrip() + text, encoding="utf-8")
    assert main(["port", str(script), "-o", str(output), "--check"]) == 0
    source = output.read_text(encoding="utf-8")
    assert {*re.findall(r"int\d\d", source)} == {wanted}
    assert ("jax_enable_x64" in source) == (wanted == "int64")


def test_parameters_are_one_dict_in_every_function(tmp_path):
    script, output = tmp_path / "script.py", tmp_path / "script_jax.py"
    script.write_text(HEAD.lstrip() + MODULE, encoding="utf-8")
    assert main(["port", str(script), "-o", str(output), "--check"]) == 0
    source = output.read_text(encoding="utf-8")
    assert re.findall(r"^def (Net|Part)\((.*)\):", source, re.MULTILINE) == [
        ("Part", "a_weight, a_bias, x"),
        ("Net", "net, x"),
    ]


MODULE = """
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)

    def forward(self, x):
        return torch.tanh(self.a(x)) + x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two, self.head = Part(), Part(), nn.Linear(3, 4)

    def forward(self, x):
        return self.head(self.two(self.one(x)))


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
""" + LOOP.replace("LOSS", "F.cross_entropy(net(X[index]), Y[index])")
