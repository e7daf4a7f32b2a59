"""Loops of training are printed as one loop, whatever differs between their rounds."""

from __future__ import annotations

import re
import sys
import textwrap

import pytest
from test_source import run_lines

from jaxvjp.explain.source import executed
from jaxvjp.tools import explain

HEAD = """
X = torch.tensor([[1.0, 2.0], [0.5, -1.0], [2.0, 0.0], [-1.0, 0.3]])
w = torch.tensor([0.5, -0.5], requires_grad=True)
"""
STEP = """
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
"""


def optimized(optimizer, *before, epochs=1):
    """Lines that train with an optimizer; those `before` a step stand in the loop over steps."""
    lines = [f"opt = torch.optim.{optimizer}", "for step in range(4):", *[f"    {each}" for each in before]]
    lines += [
        "    opt.zero_grad()",
        "    loss = ((X[step] * w).sum() - 1) ** 2",
        "    loss.backward()",
        "    opt.step()",
    ]
    return "\n".join(lines if epochs == 1 else [f"for epoch in range({epochs}):", *[f"    {each}" for each in lines]])


LOOPS = {
    "momentum": (
        optimized("SGD([w], lr=0.1, momentum=0.9)"),
        "opt_0_momentum_buffer = jnp.array([0.0, 0.0])",
        "for step in range(4):\n    loss, w_grad = jax.value_and_grad(f)(w, X[step])",
        "    opt_0_momentum_buffer = opt_0_momentum_buffer * 0.9 + w_grad",
    ),
    "an optimizer for each epoch": (
        optimized("Adam([w], lr=0.1)", epochs=3),
        "for _ in range(3):\n    opt_0_step = jnp.array(0.0",
        "    for step in range(4):\n        loss, w_grad = jax.value_and_grad(f)(w, X[step])",
    ),
    "momentum for each epoch": (
        optimized("SGD([w], lr=0.1, momentum=0.9, nesterov=True)", epochs=2),
        "for _ in range(2):\n    opt_0_momentum_buffer = jnp.array([0.0, 0.0])",
    ),
    "an optimizer that is gone": (
        "def train(w):\n" + textwrap.indent(optimized("Adam([w], lr=0.1)"), "    ") + "\n    del opt\ntrain(w)",
        "for step in range(4):\n    loss, w_grad = jax.value_and_grad(f)(w, X[step])",
        "    state = state + 1",
    ),
    "a place that comes again": (
        "for step in range(8):\n    i = step % 2\n    loss = ((X[i] * w).sum() - 1) ** 2" + STEP,
        "for step in range(8):\n    loss, w_grad = jax.value_and_grad(f)(w, X[step % 2])",
    ),
    "two parameters of one optimizer": (
        "b = torch.tensor(0.1, requires_grad=True)\nopt = torch.optim.Adam([w, b], lr=0.01)\nfor step in range(5):\n"
        "    opt.zero_grad()\n    loss = ((X @ w + b) ** 2).mean()\n    loss.backward()\n    opt.step()",
        "for _ in range(5):\n    loss, (w_grad, b_grad) = ",
        "\nopt_1_step = opt_0_step ",
    ),
    "parts of a permutation": (
        """
for epoch in range(3):
    order = torch.randperm(4)
    for part in order.split(2):
        loss = ((X[part] @ w) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
        w.grad = None
""",
        "for epoch in range(3):\n    order = orders[epoch]  ",
        "    for i in range(0, 4, 2):\n        part = order[i:i + 2]  ",
    ),
    "many numbers in many lines": (
        """
starts = [(3 * k * k + 5 * k) % 11 for k in range(24)]
data = torch.arange(24.0) / 10
for start, rate in zip(starts, [0.1 / (k + 1) for k in range(24)]):
    second, third = start * 2 % 7, start * 3 % 5
    x = torch.stack([data[start:start + 4], data[second:second + 4], data[third:third + 4]])
    h = torch.tanh(x[:, :2] * w)
    h = torch.cos(h) + torch.sin(x[:, 2:]) * h
    loss = h.pow(2).mean()
    loss.backward()
    with torch.no_grad():
        w -= rate * w.grad
        w *= 1 - rate / 10
    w.grad = None
""",
        "for number, number_2, number_3, number_4, number_5 in ((",
        "data[number:number + 4]",
    ),
    "a slice": (
        "for k in range(4):\n    loss = ((X[k : k + 1] * w).sum() - 1) ** 2" + STEP,
        "def f(w, x):\n    return (jnp.sum(x * w) - 1) ** 2",
    ),
    "a rate that changes once": (
        "lr = 0.1\nfor step in range(9):\n    loss = ((X[step % 4] * w).sum() - 1) ** 2"
        + STEP.replace("0.1", "lr")
        + "    if step == 4:\n        lr = 0.01\n",
        "    w = w - (0.1 if step < 5 else 0.01) * w_grad",
    ),
    "rates of a schedule": (
        "opt = torch.optim.SGD([w], lr=0.1)\nplan = torch.optim.lr_scheduler.ExponentialLR(opt, 0.9)\n"
        "for step in range(20):\n    opt.zero_grad()\n    loss = ((X * w).sum() - 1) ** 2\n    loss.backward()\n"
        "    opt.step()\n    plan.step()\n",
        "for number in (0.1, 0.09,",
    ),
    "rounds of two kinds": (
        "for step in range(12):\n    loss = ((X[step % 4] * w).sum() - 1) ** 2\n"
        "    if step % 5 == 0:\n        loss = loss + w.abs().sum()\n" + STEP,
        "for step in range(12):\n    if step % 5 == 0:\n        loss, w_grad = jax.value_and_grad(f)(w, X[step % 4])",
        "    else:\n        loss, w_grad = jax.value_and_grad(f_2)(w, X[step % 4])",
    ),
    "batches in a list": (
        "data = [(torch.rand(2, 2), torch.rand(2)) for _ in range(4)]\nfor epoch in range(3):\n    for x, t in data:\n"
        "        loss = ((x @ w - t) ** 2).mean()" + STEP.replace("\n", "\n    "),
        "def f(w, x, t):\n    return jnp.mean((x @ w - t) ** 2)",
        "    for i in range(4):\n",
        "jax.value_and_grad(f)(w, xs[i], ts[i])",
    ),
    "slices in a list": (
        "data = [(X[k : k + 1], X[k : k + 1, 0]) for k in range(4)]\nfor epoch in range(3):\n"
        "    for x, t in data:\n        loss = ((x @ w - t) ** 2).mean()" + STEP.replace("\n", "\n    "),
        "jax.value_and_grad(f)(w, X[",
    ),
    "what goes through all of an unnamed tensor": (
        "for x in torch.eye(2) * 3:\n    loss = ((x * w).sum() - 1) ** 2" + STEP,
        "x = xs[i]",
    ),
    "a constant at a place that varies": (
        "for j in torch.tensor([2, 0, 1, 3]):\n    loss = (w.sum() - X[j, 0]) ** 2" + STEP,
        "j = js[i]",
    ),
    "gradients in a list that is stacked": (
        "gs = []\nfor x in X:\n    loss = ((x * w).sum() - 1) ** 2\n    loss.backward()\n    gs.append(w.grad)\n"
        "    w.grad = None\nG = torch.stack(gs)\n",
        "    gs.append(w_grad)",
        "G = jnp.stack(gs)",
    ),
    "gradients in a list that is differentiated": (
        "gs = []\nfor x in X:\n    g, = torch.autograd.grad(((x * w).sum() - 1) ** 2, w)\n    gs.append(g.clone())\n"
        "G = torch.stack(gs)\n(G.mean(0) * w).sum().backward()\n",
        "    gs.append(g)",
        "G = jnp.stack(gs)",
    ),
    "an accuracy that stands at the end": (
        "for step in range(6):\n    out = X @ w\n    loss = (out**2).mean()\n    share = (out > 0.5).float().mean()"
        + STEP,
        "return loss, share",
        "(loss, share), w_grad = jax.value_and_grad(f, has_aux=True)(w)",
    ),
    "an average that is bound anew": (
        "mean = torch.zeros(4)\nfor step in range(4):\n    h = X @ w\n    with torch.no_grad():\n"
        "        mean = 0.9 * mean + 0.1 * h\n    loss = (h**2).sum()" + STEP,
        "(loss, mean), w_grad = ",
    ),
    "a momentum that is bound anew": (
        "ps = [w]\nm = [torch.zeros_like(p) for p in ps]\nfor step in range(4):\n"
        "    g = torch.autograd.grad(((X * w).sum() - 1) ** 2, ps)\n    with torch.no_grad():\n"
        "        m[0] = 0.9 * m[0] + g[0]\n        w -= 0.1 * m[0]\n",
        "m_0 = jnp.array([0.0, 0.0])",
        "for _ in range(4):\n    g_0 = jax.grad(f)(w)",
    ),
    "a sparse matrix of trained values": (
        "S = torch.sparse_coo_tensor(torch.tensor([[0, 1], [1, 0]]), w, (2, 2))\nfor step in range(4):\n"
        "    loss = (torch.sparse.mm(S, X.t()) ** 2).sum()" + STEP,
        "jnp.zeros((2, 4)).at[S_indices[0]].add(",
    ),
    "what only some rounds do": (
        "kept = w.detach().clone()\nfor step in range(10):\n    loss = ((X[step % 4] * w).sum() - 1) ** 2"
        + STEP
        + "    if step in (2, 3, 7):\n        kept = kept + w.detach()\n",
        "kept = w ",
        "    if step in (2, 3, 7):\n        kept = kept + w",  # the round begins in the middle of the script's
    ),
    "noise": (
        "torch.manual_seed(0)\nfor step in range(5):\n    noise = torch.randn(2)\n"
        "    loss = (((X[0] + noise) * w).sum() - 1) ** 2" + STEP,
        "noises = jnp.array([[",
        "for step in range(5):\n    noise = noises[step]",
    ),
    "values in a list": (
        "losses = []\nfor step in range(4):\n    loss = ((X[step] * w).sum() - 1) ** 2"
        + STEP
        + "    losses.append(loss.detach())\n",
        "losses = []\n",
        "    losses.append(loss) ",
    ),
    "gradients that are returned": (
        "for step in range(4):\n    loss = ((X[step] * w).sum() - 1) ** 2\n"
        "    (g,) = torch.autograd.grad(loss, w)\n    with torch.no_grad():\n        w -= 0.1 * g\n",
        "for step in range(4):\n    loss, g = jax.value_and_grad(f)(w, X[step])",
    ),
    "parameters made anew": (
        "for fold in range(3):\n    w = torch.zeros(2, requires_grad=True)\n    for step in range(4):\n"
        + textwrap.indent("    loss = ((X[fold] * w).sum() - 1) ** 2" + STEP, "    "),
        ":\n    w = jnp.array([0.0, 0.0])",
        "    for _ in range(4):\n        loss, w_grad = jax.value_and_grad(f)(w, X[",
    ),
}
"""Lines that train, and parts of what is printed of them."""


def told(lines):
    body = textwrap.indent(HEAD + lines, "    ")
    return run_lines("with explain.recording() as story:\n" + body)["story"]


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_is_printed_whole(name):
    lines, *parts = LOOPS[name]
    story = told(lines)
    for part in parts:
        assert part in story.source
    assert len(re.findall(r"^ *for ", story.source, re.M)) == 1 + ("epoch" in lines or "fold" in lines)
    story.check()


def test_a_first_momentum_that_is_no_sum_stays_apart():
    story = told(optimized("SGD([w], lr=0.1, momentum=0.9, dampening=0.5)"))
    assert "jnp.array([0.0, 0.0])" not in story.source
    story.check()


def test_variables_of_loops_end_as_the_users_do():
    lines = (
        "for k in range(6):\n    loss = ((X * w).sum() - 9) ** 2\n    loss.backward()\n    norm = w.grad.norm()\n"
        "    if k < 2:\n        w.grad.mul_(0.1 / norm)\n    w.data -= 0.01 * w.grad\n    w.grad = None\n"
    )
    story = told(lines)
    assert executed(story.program)["k"] == 5
    story.check()


def test_a_view_shows_at_the_end_what_was_written():
    story = told("part = w.data[1:]\npart.mul_(3)\n((X * w).sum() ** 2).backward()\n")
    assert "w = w.at[1:2].set(part * 3)" in story.source
    assert story.source.splitlines()[-1].startswith("part = w[1:2]")
    story.check()


def test_only_the_result_of_a_line_has_its_name():
    story = told(
        "net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))\ny = net(X)\n"
        "y.backward(X)\n"
    )
    assert "return jax.nn.relu(" in story.source
    story.check()


def test_values_of_a_list_that_are_read_later_have_their_names():
    story = told("h = [torch.tanh(X[k] * w) for k in range(3)]\ny = (h[0] * h[1] + h[2]).sum()\ny.backward()")
    assert ".append(" not in story.source
    story.check()


STRAIGHT = "".join(f"h = torch.tanh(h * X[{k % 4}]) + {k}.5 * w\n" for k in range(160))
LOOP = "for step in range(SIZE):\n    loss = ((X[step % 4] * w).tanh().sum() - 1) ** 2" + STEP


@pytest.mark.parametrize("kind", ["straight", "loop"])
def test_the_work_grows_with_the_length_of_a_program(kind):
    """Counted are the calls of Python functions, of a program and of one that is twice as long."""

    def calls(size):
        lines = "h = X[0]\n" + "".join(STRAIGHT.splitlines(True)[:size]) + "h.sum().backward()\n"
        story = told(lines if kind == "straight" else LOOP.replace("SIZE", str(size)))
        count = 0

        def note(frame, event, given):
            nonlocal count
            count += event == "call"

        sys.setprofile(note)
        try:
            assert story.source
        finally:
            sys.setprofile(None)
        return count

    calls(20)  # what is remembered of ops is not counted
    assert calls(160) < 4 * calls(80)


def test_noise_in_a_gradient_penalty_is_rows_of_one_array():
    lines = """
for step in range(5):
    noise = torch.rand(4, 2)
    mix = (noise * X).requires_grad_()
    (slope,) = torch.autograd.grad(((mix * w).sum(1) ** 2).sum(), mix, create_graph=True)
    loss = ((slope.norm(dim=1) - 1) ** 2).mean()
"""
    story = told(lines + STEP)
    assert "for step in range(5):\n    noise = noises[step]  " in story.source
    story.check()


def test_what_values_decided_is_said(tmp_path, capsys):
    script = tmp_path / "clip.py"
    script.write_text(
        "import torch\n"
        + HEAD
        + "for k in range(6):\n    loss = ((X * w).sum() - 9) ** 2\n    loss.backward()\n"
        + "    if w.grad.norm() > 5:\n        w.grad.mul_(0.1)\n    w.data -= 0.01 * w.grad\n    w.grad = None\n",
        encoding="utf-8",
    )
    assert explain.main([str(script)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-2] == "# Values decided what ran; here it is as it was recorded:"
    assert re.fullmatch(
        r"#     line 8: if w.grad.norm\(\) > 5: true \d times, false \d times; see jax.lax.cond", said[-1]
    )


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (
            "y = x * 2\nwhile y.norm() < 9:\n    y = y * 2\n",
            "line 4: while y.norm() < 9: true 2 times, false 1 times; see jax.lax.while_loop, or jax.lax.scan with "
            "jax.lax.cond where a gradient goes back through it",
        ),
        ("mask = x > 1\ny = x[mask]\n", "line 4: y = x[mask]: what it read, indices or numbers, is written out"),
        (
            "y = x * x.max().item()\n",
            "line 3: y = x * x.max().item(): what it read, indices or numbers, is written out",
        ),
    ],
)
def test_what_lines_read_is_said_and_what_the_gradient_needs(lines, told, tmp_path, capsys):
    script = tmp_path / "reads.py"
    text = f"import torch\nx = torch.tensor([0.5, 1.5], requires_grad=True)\n{lines}y.sum().backward()\nprint(x.grad)\n"
    script.write_text(text, encoding="utf-8")
    assert explain.main([str(script)]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-2:] == ["# Values decided what ran; here it is as it was recorded:", f"#     {told}"]
