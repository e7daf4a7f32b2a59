"""What is printed as somebody who knows JAX writes it: plain forms of ops, loops in functions, transforms as such."""

from __future__ import annotations

import re
import warnings

import jax.numpy as jnp
import pytest
from test_source import run_lines

import jaxvjp
from jaxvjp.__main__ import main
from jaxvjp.explain.short_forms import WORDED
from jaxvjp.explain.writing import written
from jaxvjp.ops.neural.loss import mse_loss

START = "inf, nan = float('inf'), float('nan')\n"
START += "x = torch.tensor([{}, -2.0, 3.0], requires_grad=True)\nwith explain.recording() as story:\n    "


@pytest.mark.parametrize(
    ("lines", "plain", "edge"),
    [
        ("y = x.abs().sum()", "jnp.abs(x)", 0.0),
        ("y = (x[:1] * 2).norm()", "jnp.linalg.norm(", 0.0),
        ("y = x.clamp(-1.0, 1.0).sum()", "jnp.clip(x, -1.0, 1.0)", 1.0),
        ("y = x.prod()", "jnp.prod(x)", float("inf")),
        ("y = x.relu().sum()", "jax.nn.relu(x)", float("nan")),
    ],
)
def test_an_op_is_plain_but_at_its_edge(lines, plain, edge):
    away = run_lines(f"{START.format(0.5)}{lines}\n    y.backward()")["story"]
    assert plain in away.source
    away.check()
    there = run_lines(f"{START.format(edge)}{lines}\n    y.backward()")["story"]
    assert plain not in there.source
    assert "# Rounding" not in there.source
    there.check()


def test_what_only_rounding_decides_leaves_ops_plain_and_is_said():
    story = run_lines("""
        net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.BatchNorm1d(16), torch.nn.ReLU())
        with torch.no_grad():
            for k, each in enumerate(net.parameters()):
                each.copy_(torch.linspace(-1, 2, each.numel()).view(each.shape).sin() + k)
        x = torch.linspace(0, 9, 16).sin().view(8, 2)
        opt = torch.optim.Adam(net.parameters(), lr=0.1)
        with explain.recording() as story:
            for _ in range(3):
                opt.zero_grad()
                net(x).square().mean().backward()
                opt.step()
    """)["story"]
    rounding, gives, *_ = story.source.splitlines()
    assert re.match(r"# Rounding decides net_0_\w+ here, as it does where a gradient is zero but", rounding)
    assert gives == "# This program may give another number there than your lines did."
    assert "jax.nn.relu(" in story.source


@pytest.mark.parametrize("flags", [{"size_average": False}, {"reduce": False}, {"reduction": "sum"}], ids=str)
def test_a_loss_has_the_reduction_that_older_flags_mean(flags):
    x, y = jaxvjp.tensor([0.5, -2.0], requires_grad=True), jaxvjp.tensor([0.2, 0.9])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loss = jaxvjp.nn.functional.mse_loss(x, y, **flags).sum()
    explanation = loss.explain()
    explanation.check()
    assert "jnp.sum((x - y) ** 2)" in explanation.source


def test_a_program_that_gives_something_else_says_so(monkeypatch):
    x, y = jaxvjp.tensor([0.5, -2.0], requires_grad=True), jaxvjp.tensor([0.2, 0.9])

    def other(input, target, **_):
        return jnp.mean((input - target) ** 2) * 3

    other.__module__ = WORDED[mse_loss].__module__  # it is run on symbols
    monkeypatch.setitem(WORDED, mse_loss, other)
    written.cache_clear()
    first, *_ = jaxvjp.explain(jaxvjp.nn.functional.mse_loss(x, y, reduction="sum"), exact=True).source.splitlines()
    written.cache_clear()
    assert first.startswith("# This program gives another x_grad than your lines did. ")


def test_exact_keeps_what_has_torchs_derivatives_at_edges(tmp_path, capsys):
    x = jaxvjp.tensor([1.0, -2.0], requires_grad=True)
    assert "jnp.abs(x)" in x.abs().sum().explain().source
    assert "jnp.abs(x)" not in jaxvjp.explain(x.abs().sum(), exact=True).source
    script = tmp_path / "script.py"
    script.write_text("import torch\nx = torch.tensor([1.0, -2.0], requires_grad=True)\nx.abs().sum().backward()\n")
    for options, plain in ([], True), (["--exact"], False):
        assert main(["explain", str(script), *options]) == 0
        assert ("jnp.abs(x)" in capsys.readouterr().out) == plain


def test_numbers_of_rounds_are_arguments_of_one_function():
    story = run_lines("""
        w = torch.tensor([0.5, -0.5], requires_grad=True)
        with explain.recording() as story:
            for step in range(4):
                loss = ((w * step - 1.0) ** 2).sum()
                loss.backward()
                with torch.no_grad():
                    w -= 0.1 * w.grad
                w.grad = None
    """)["story"]
    assert "def f(w, step):" in story.source
    assert "for step in range(4):\n    loss, w_grad = jax.value_and_grad(f)(w, step)" in story.source
    assert "None" not in story.source
    story.check()


def test_rows_that_a_function_goes_through_are_a_loop_in_it():
    story = run_lines("""
        w = torch.tensor([0.5, -0.5], requires_grad=True)
        rows = torch.tensor([[1.0, 2.0], [0.5, -1.0], [2.0, 0.0]])
        with explain.recording() as story:
            total = 0.0
            for row in rows:
                total = total + (w * row).sin().sum()
            total.backward()
    """)["story"]
    lines = [line.partition("  #")[0].rstrip() for line in story.source.splitlines()]
    begins = lines.index("def f(w):")
    assert lines[begins + 1 : begins + 6] == [
        "    total = 0.0",
        "    for i in range(3):",
        "        row = rows[i]",
        "        total = total + jnp.sum(jnp.sin(w * row))",
        "    return total",
    ]
    story.check()


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        ("y = torch.func.hessian(lambda a: (a**3).sum() * a[0])(x)", "jax.hessian(lambda x: "),
        ("y = torch.func.jacrev(lambda a: a.sin() * a[0])(x)", "jax.jacrev(lambda x: "),
        ("y = torch.func.jacfwd(lambda a: a.sin() * a[0])(x)", "jax.jacfwd(lambda x: "),
        ("y = torch.vmap(torch.func.grad(lambda a: a.sin() * a))(x)", "jax.vmap(jax.grad(lambda x: "),
        ("(y,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)", "y = jax.grad("),
    ],
)
def test_transforms_are_written_as_such(lines, wanted):
    story = run_lines(f"{START.format(0.5)}{lines}\n    (y**2).sum().backward()")["story"]
    assert wanted in story.source
    assert "vjp" not in story.source
    story.check()


@pytest.mark.parametrize(("numbers", "plain"), [([[3.0, -1.0], [1.0, 5.0]], True), ([[3.0, 3.0], [1.0, 5.0]], False)])
def test_extremes_are_those_of_jax_where_no_two_are_alike(numbers, plain):
    found = run_lines(f"""
        x = torch.tensor({numbers}, requires_grad=True)
        y = x.amax(1).sum() * x.min() + x.max() + x.max(1)[0].sum()
        e = explain(y)
    """)["e"]
    found.check()
    assert ("custom_jvp" not in found.source) == plain
    assert ("jnp.sum(jnp.max(x, axis=1)) * jnp.min(x) + jnp.max(x)" in found.source) == plain


def test_an_optimizers_state_has_its_name_in_each_round():
    story = run_lines("""
        w = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
        optimizer = torch.optim.Adam([w], lr=0.1)
        with explain.recording() as story:
            for _ in range(6):
                optimizer.zero_grad()
                loss = ((w - 1) ** 2).sum()
                loss.backward()
                optimizer.step()
    """)["story"]
    assert "for _ in range(6):" in story.source  # none is apart: what it begins with is an input
    assert story.source.count("optimizer_0_exp_avg = ") == 2
    story.check()


@pytest.mark.parametrize(
    "equation", ["ij, jk -> ik", "ij,jk", "...j,jk->k...", "ij,lj->", "ij,jk->ijk", "...,...->...", "...j,jk->k"]
)
def test_einsum_keeps_its_equation(equation):
    """But for what JAX has no equation for: a sum over `...`, and a size of 1 beside a longer one."""
    x = jaxvjp.tensor([[0.5, 1.0, -2.0], [1.5, 0.25, 1.0]], requires_grad=True)
    for w in jaxvjp.tensor([[0.3, -1.0, 2.0]] * 3), jaxvjp.tensor([[0.3, -1.0, 2.0]]):
        if w.shape[0] == 3 and equation == "...,...->...":
            continue
        explanation = jaxvjp.einsum(equation, x, w).explain()
        explanation.check()
        own = w.shape[0] == 3 and equation != "...j,jk->k"
        assert (f"jnp.einsum('{equation}', x, w)" in explanation.source) == (own or equation == "ij,lj->")
