"""Rounds of a loop are one loop, and each call of a transform is one transform, whatever lives on or is printed."""

from __future__ import annotations

import pytest
from test_source import run_lines

HEAD = """
import jax
import jax.numpy as jnp
from jaxvjp.func import grad, grad_and_value, hessian, jacrev, jvp, vjp, vmap
def f(a, b, c):
    return a.sin() * b + c**2
def loss(w, x, t):
    return ((x @ w - t) ** 2).mean()
u = torch.tensor([1.0, -2.0])
def apart(w):
    return (w - u.mean()).sin().sum() * u.exp().sum()
a, b, c = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), torch.tensor([5.0, 6.0])
w, x, t = torch.tensor([1.0, 2.0]), torch.tensor([[3.0, 4.0], [1.0, 2.0]]), torch.tensor([1.0, 0.0])
p = torch.tensor([1.0, 2.0], requires_grad=True)
q = torch.tensor([0.5, -0.5], requires_grad=True)
"""
UPDATE = """
    loss.backward()
    with torch.no_grad():
        p -= 0.1 * p.grad
    p.grad = None
"""
WRITTEN = {
    "one pullback for all arguments, with the value": (
        "y, pull = vjp(f, a, b, c)\nda, db, dc = pull(torch.tensor([1.0, 10.0]))",
        ["y, pullback = jax.vjp(f, a, b, c)", "da, db, dc = pullback(jnp.array([1.0, 10.0]))"],
    ),
    "a value with its tangent": (
        "y, dy = jvp(f, (a, b, c), (torch.ones(2), torch.zeros(2), torch.ones(2)))",
        ["y, dy = jax.jvp(f, (a, b, c), ("],
    ),
    "several Jacobians": (
        "Ja, Jc = jacrev(f, argnums=(0, 2))(a, b, c)\nJ = jacrev(f, argnums=1)(a, b, c).squeeze()",
        ["Ja, Jc = jax.jacrev(f, argnums=(0, 2))(a, b, c)", "J = jax.jacrev(f, argnums=1)(a, b, c)"],
    ),
    "a value with its gradient, printed in each round": (
        "for _ in range(3):\n    g, l = grad_and_value(loss)(w, x, t)\n    w = w - 0.01 * g\n    print(l)",
        ["for _ in range(3):\n    l, g = jax.value_and_grad(loss)(w, x, t)"],
    ),
    "what a transform gave, printed in each round": (
        "for _ in range(3):\n    g = grad(loss)(w, x, t)\n    w = w - 0.01 * g\n"
        "    print(loss(w, x, t).item(), g.norm().item())",
        ["for _ in range(3):\n    g = jax.grad(loss)(w, x, t)", "    printed = loss(w, x, t)", "    printed_2 = "],
    ),
    "a gradient of something beside which aux is returned": (
        "def both(w):\n    h = (x @ w).tanh()\n    return (h**2).sum(), h\ng, h = grad(both, has_aux=True)(w)",
        ["g = jax.grad(both)(w, x)"],
    ),
    "nested, of what is computed from outside": (
        "H = hessian(apart)(w)\neach = vmap(lambda w: grad(apart)(w))(x)\ny, pull = vjp(grad(apart), w)\n"
        "(d,) = pull(w)\nn = grad(lambda w: grad(apart)(w).sum())(w)",
        [
            "H = jax.hessian(apart)(w, u)",
            "each = jax.vmap(jax.grad(apart), in_axes=(0, None))(x, u)",
            "_, pullback = jax.vjp(lambda w: jax.grad(apart)(w, u), w)",
            "n = jax.grad(lambda w, u: jnp.sum(jax.grad(apart)(w, u)))(w, u)",
        ],
    ),
    "a result that lives on, and another that is computed from it": (
        "def model(x):\n    h = x * p\n    return h.tanh(), h\nfor step in range(3):\n    y, h = model(u * step)\n"
        f"    loss = y.sum() + h.square().sum(){UPDATE}",
        ["for step in range(3):\n    loss, p_grad = jax.value_and_grad(f)(p, step)"],
    ),
    "a loss of a vmap that is printed": (
        "for k in range(4):\n    each = vmap(lambda w, x: ((w * x).sum() - 1) ** 2, (None, 0))(p, x * k)\n"
        f"    loss = each.mean(){UPDATE}    print(loss.item())",
        ["for k in range(4):\n    loss, p_grad = jax.value_and_grad(f)(p, k)"],
    ),
    "a gradient with ones as v within a function": (
        "def residual(q):\n    r = (p * q).sin()\n"
        "    (slope,) = torch.autograd.grad(r, q, torch.ones_like(r), create_graph=True)\n    return slope + r\n"
        f"for _ in range(4):\n    s = residual(q)\n    loss = s.pow(2).mean(){UPDATE}    q.grad = None",
        ["for _ in range(4):\n    loss, (p_grad, q_grad) = "],
    ),
    "two gradients of one name in a round": (
        "for _ in range(3):\n    y = w.clone().requires_grad_()\n    g = torch.autograd.grad((y**2).sum(), y)[0]\n"
        "    z = (w - 0.1 * g).requires_grad_()\n    g = torch.autograd.grad((z**3).sum(), z)[0]\n"
        "    w = (z - 0.05 * g).detach()",
        ["for _ in range(3):", "    g = jax.grad(f)(y)", "    g = jax.grad(f_2)(z)"],
    ),
    "running statistics of one pass": (
        "bn = torch.nn.BatchNorm1d(2)\nmoved = bn(x.clone().requires_grad_())\nloss = (moved * x).sum()\n"
        "loss.backward()",
        ["(loss, (bn_running_mean, bn_running_var)), ", "bn_weight = jnp.array([1.0, 1.0])  "],
    ),
    "a layer in 16 bits": (
        "h = (x * p).bfloat16()\ny = torch.nn.functional.layer_norm(h, (2,), p.bfloat16(), q.bfloat16())\n"
        "y.float().sum().backward()",
        ["input.astype(jnp.float32)", "return input.astype(jnp.bfloat16)"],
    ),
    "a list whose plural is a keyword": (
        "every = []\nx = u\nfor k in range(3):\n    a = torch.tanh(p * x + k)\n    every.append(a)\n"
        "    x = a.detach() + 1\nloss = torch.stack(every).sum()\nloss.backward()",
        ["jnp.stack(["],
    ),
    "the name that a result has where it is called": (
        "def predict(n):\n    v = torch.ones(n, 2)\n    v = v * p.detach()\n    return v\n"
        "loss = (p * p).sum()\nloss.backward()\ns = predict(2)",
        ["s = predict(p)"],
    ),
    "a dict by parameters": (
        "kept = {}\nfor _ in range(3):\n    loss = (p**2).sum()\n    loss.backward()\n    with torch.no_grad():\n"
        "        m = kept.setdefault(p, torch.zeros_like(p))\n        m.mul_(0.9).add_(p.grad)\n        p -= 0.1 * m\n"
        "    p.grad = None\ndel m",
        ["kept_p = "],
    ),
    "a batch with a name before it is taken apart": (
        "data = [(row, k) for k, row in enumerate(torch.randn(6, 2))]\n"
        "for batch in torch.utils.data.DataLoader(data, batch_size=2):\n    rows, _ = batch\n"
        "    loss = (rows @ p).square().sum()" + UPDATE,
        ["for i in range(3):\n    rows = all_rows[i]"],
    ),
    "what is printed after some rounds only": (
        "for epoch in range(3):\n    for k in range(4):\n        loss = (p * w[k % 2]).sum() ** 2"
        + UPDATE.replace("\n", "\n    ").rstrip()
        + "\n    total = p.sum() + loss\n    print(total.item())",
        ["    total = jnp.sum(p) + loss"],
    ),
    "sums that start again in each epoch": (
        "for epoch in range(3):\n    total, correct = 0.0, 0\n    for k in range(4):\n"
        "        loss = ((x @ p - t * k) ** 2).sum()"
        + UPDATE.replace("\n", "\n    ").rstrip()
        + "\n        total += loss.detach()\n        correct += (x @ p.detach() > 0).sum()\n"
        "    print((total / 4).item(), correct.item())",
        [
            "for _ in range(3):\n    total = 0.0\n    correct = 0\n    for k in range(4):\n",
            "        total = total + loss",
        ],
    ),
    "a sum that starts again, and a last batch that has fewer rows": (
        "data = torch.utils.data.TensorDataset(torch.randn(7, 2))\n"
        "loader = torch.utils.data.DataLoader(data, batch_size=2, shuffle=True)\nmeans = []\n"
        "for epoch in range(3):\n    total = 0\n    for (rows,) in loader:\n        loss = (rows @ p).square().mean()"
        + UPDATE.replace("\n", "\n    ").rstrip()
        + "\n        total += loss * len(rows)\n    means.append(total.item() / 7)",
        ["    total = 0.0\n    for i_2 in range(4):\n        if i_2 < 3:", "        rows = ", "    else:"],
    ),
    "a mean of weights in a dict, in place": (
        "mean = {'p': p.detach().clone()}\nfor k in range(4):\n    loss = (p * u * k).sum() ** 2"
        + UPDATE
        + "    mean['p'].mul_(0.9).add_(p.detach(), alpha=0.1)",
        ["mean_p = p  ", "    p = p - 0.1 * p_grad", "    mean_p = mean_p * 0.9 + 0.1 * p"],
    ),
    "a mean of weights that is bound anew": (
        "mean = {'p': p.detach().clone()}\nfor k in range(4):\n    loss = (p * u * k).sum() ** 2"
        + UPDATE
        + "    mean['p'] = 0.9 * mean['p'] + 0.1 * p.detach()",
        ["mean_p = p  ", "    p = p - 0.1 * p_grad", "    mean_p = 0.9 * mean_p + 0.1 * p"],
    ),
    "a new leaf in each round": (
        "r = torch.zeros(2, requires_grad=True)\nfor _ in range(5):\n    loss = ((r - u) ** 2).sum()\n"
        "    loss.backward()\n"
        "    r = (r - 0.1 * r.grad).detach().requires_grad_()",
        ["for _ in range(5):\n    loss, r_grad = jax.value_and_grad(f)(r)"],
    ),
    "what the last round alone shows": (
        "for k in range(4):\n    y = x @ p * k\n    loss = ((y - t) ** 2).sum()" + UPDATE + "    top, place = y.max(0)",
        ["for k in range(4):\n", "    top, place = "],
    ),
    "a name that something else has at the end": (
        "rows = torch.randn(4, 2)\nloader = torch.utils.data.DataLoader(rows, batch_size=2, shuffle=True)\n"
        "def value():\n    s = 0\n    for y in loader:\n        s = s + (y @ p.detach()).sum()\n    return s\n"
        f"for k in range(4):\n    y = u * k\n    loss = (p * y).sum(){UPDATE}    s = value()\n    print(s.item())",
        ["for i in range(4):\n    y = u * i  ", "    s = value(ys[2 * i], p, ys[2 * i + 1])"],
    ),
    "the indices of several tensors, once": (
        "data = torch.utils.data.TensorDataset(x, torch.tensor([1, 0]))\n"
        "for rows, t in torch.utils.data.DataLoader(data, batch_size=2, shuffle=True):\n"
        "    loss = ((rows @ p - t) ** 2).sum()" + UPDATE,
        ["t = jnp.array([1, 0])"],
    ),
    "a wrapped function with one inside": (
        "def rnn(w, xs):\n    def step(h, x):\n        return jnp.tanh(x * w + h), None\n"
        "    return jax.lax.scan(step, jnp.zeros(2), xs)[0]\nloss = torch.wrap(rnn)(p, x).sum()\nloss.backward()",
        ["def rnn(w, xs):", "return jax.lax.scan(step, jnp.zeros(2), xs)[0]"],
    ),
}


@pytest.mark.parametrize(("lines", "wanted"), WRITTEN.values(), ids=WRITTEN)
def test_it_is_written_once(lines, wanted):
    inside = "\n".join(f"    {each}" for each in lines.splitlines())
    story = run_lines(f"{HEAD}with explain.recording() as story:\n{inside}")["story"]
    for each in wanted:
        assert each in story.source, f"{each}\n\n{story.source}"
    story.check()


EPOCHS = """
torch.manual_seed(0)
rnn = torch.nn.RNN(2, 3)
rows = torch.randn(4, 5, 1, 2)
with explain.recording() as story:
    for epoch in range(3):
        h = torch.zeros(1, 1, 3)
        for x in rows:
            out, h = rnn(x, h.detach())
            loss = out.square().sum()
            loss.backward()
            with torch.no_grad():
                for p in rnn.parameters():
                    p -= 0.1 * p.grad
                    p.grad = None
"""


def test_a_state_that_starts_again_in_each_epoch_is_left_by_the_last_round_of_each():
    story = run_lines(EPOCHS)["story"]
    assert story.source.count("jax.value_and_grad") == 1, story.source
    story.check()


def test_a_recurrence_whose_state_is_carried_runs_once_in_a_round():
    story = run_lines("""
torch.manual_seed(0)
rnn = torch.nn.LSTM(2, 3)
rows = torch.randn(4, 5, 1, 2)
with explain.recording() as story:
    hidden = torch.zeros(1, 1, 3), torch.zeros(1, 1, 3)
    for x in rows:
        hidden = tuple(each.detach() for each in hidden)
        out, hidden = rnn(x, hidden)
        loss = out.square().sum()
        loss.backward()
        with torch.no_grad():
            for p in rnn.parameters():
                p -= 0.1 * p.grad
                p.grad = None
""")["story"]
    outside = [
        line for line in story.source.splitlines() if line.startswith(("for", "    ", "_", "out")) or "=" in line
    ]
    program = "\n".join(outside).rpartition("return ")[2]  # after the last function
    assert "recurrence(" not in program, story.source
    story.check()
