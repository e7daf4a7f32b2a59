"""A script that ended with an error: its page says where and with which, and where there is no page, that is said."""

from __future__ import annotations

import contextlib
import re

import pytest
from browsing import all_of, text_of

import jaxvjp
from jaxvjp.__main__ import main

HEAD = "import jaxvjp as torch\nx = torch.tensor([1.0, 2.0], requires_grad=True)\n"
AFTER = {
    "an own error": ("(x * x).sum().backward()\ny = None * 2", "line 4: TypeError: unsupported operand type(s) for *"),
    "a first backward": (
        "h = x * 2\ny = h**2\nh += 1\ny.backward(torch.ones(2))",
        "line 6: RuntimeError: one of the variables needed for gradient computation has been modified",
    ),
    "a second backward": (
        "y = (x * x).sum()\ny.backward()\ny.backward()",
        "line 5: RuntimeError: Trying to backward through the graph a second time",
    ),
    "no graph": (
        "y = (x * 2).detach()\ny.sum().backward()",
        "line 4: RuntimeError: element 0 of tensors does not require grad",
    ),
    "in a function": (
        "(x * x).sum().backward()\ndef half(x):\n    return x / None\nhalf(x)",
        "line 5: TypeError: unsupported operand type(s) for /",
    ),
}


@pytest.mark.parametrize("case", AFTER)
def test_the_page_says_where_the_script_ended(case, browser, tmp_path, capsys):
    text, told = AFTER[case]
    script, page = tmp_path / "script.py", tmp_path / "page.html"
    script.write_text(HEAD + text, encoding="utf-8")
    assert main(["explain", str(script), "--html", str(page)]) == 1
    browser.get(page.as_uri())
    assert text_of(browser, "#asked-head") == "The script ended with an error"
    assert text_of(browser, "#asked").startswith(told)
    assert all_of(browser, "#asked-box")[0].is_displayed()
    browser.execute_script("go(1000)")
    assert text_of(browser, "#told").endswith("(it raised the error above)")
    out, error = capsys.readouterr()
    assert "is not written" not in error
    assert "x = jnp.array([1.0, 2.0])" in out
    assert f"# The script ended with an error at {told}"[:70] in out


def test_of_a_script_that_did_not_fail_nothing_is_said(browser, tmp_path):
    script, page = tmp_path / "script.py", tmp_path / "page.html"
    script.write_text(f"{HEAD}(x * x).sum().backward()\n", encoding="utf-8")
    assert main(["explain", str(script), "--html", str(page)]) == 0
    browser.get(page.as_uri())
    assert not all_of(browser, "#asked-box")[0].is_displayed()


@pytest.mark.parametrize("text", ["y = x * 2", "torch.ones(2).sum().backward()", "raise SystemExit(3)", "def f(:"])
def test_where_no_page_is_written_that_is_said(text, tmp_path, capsys):
    script, page = tmp_path / "script.py", tmp_path / "page.html"
    script.write_text(HEAD + text, encoding="utf-8")
    assert main(["explain", str(script), "--html", str(page)]) == 1
    assert f"{page} is not written: there is no backward pass to show" in capsys.readouterr().err
    assert not page.exists()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("h += 1", "`h = h + 1` instead of `h += 1`"),
        ("h *= x[0] - 1", "`h = h * (x[0] - 1)` instead of `h *= (x[0] - 1)`"),
        ("h.add_(1)", "`h = h.add(1)` instead of `h.add_(1)`"),
        ("h.zero_()", "`y = y + 1` instead of `y += 1`"),
    ],
)
def test_the_advice_has_the_names_of_the_line(line, told, tmp_path, capsys):
    script = tmp_path / "script.py"
    script.write_text(f"{HEAD}h = x * 2\ny = h**2\n{line}\ny.sum().backward()\n", encoding="utf-8")
    assert main(["run", str(script)]) == 1
    advice = re.search(r"^Make a new tensor there.*$", capsys.readouterr().err, re.MULTILINE)[0]
    assert advice == f"Make a new tensor there, {told}, or change a copy, from `.clone()`."


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("h = x * 2\ny = h**2\nh[0] = h[1]\n", "Write into a copy there, `new = h.clone()` and `new[0] = h[1]`"),
        ("h = x * 2\ny = h**2\nh[:1] += 1\n", "Write into a copy there, `new = h.clone()` and `new[:1] = h[:1] + 1`"),
        (
            "opt = torch.optim.SGD([x], lr=0.1)\ny = x**2\ny.sum().backward(retain_graph=True)\nopt.step()\n",
            "Compute the result anew after that line",
        ),
        ("with torch.no_grad():\n    x = x - 0.1\ny = x * 2\n", "`x -= 0.1` changes x in place, and it stays a leaf"),
        (
            "y = torch.tensor((x**2).detach().numpy().sum())\ny.backward()\n",
            "`torch.tensor(y)`, `.item()`, `.numpy()` and",
        ),
        ("y = torch.tensor(x.sum().item()) * 2\n", "or from numbers, as .item() copies them"),
        ("x.sum().backward()\nx = x - 0.1 * x.grad\nx.grad * 2\n", "Under no_grad(), `x -= 0.1 * x.grad` changes x"),
        ("(x**2).sum().item().backward()\n", "It is numbers, as .item() and .numpy() copy them"),
        ("x.detach().numpy().backward()\n", "It is numbers, as .item() and .numpy() copy them"),
        ("(y,) = torch.autograd.grad((3 * x).sum(), x, create_graph=True)\n", "It is constant, as that of 2x is"),
    ],
)
def test_the_advice_is_on_what_was_written(lines, told, tmp_path, capsys):
    script = tmp_path / "script.py"
    script.write_text(f"{HEAD}{lines}y.sum().backward()\n", encoding="utf-8")
    assert main(["explain", str(script)]) == 1
    assert told in capsys.readouterr().err


def test_the_lines_that_caught_an_error_are_steps(tmp_path, capsys):
    script, page = tmp_path / "script.py", tmp_path / "page.html"
    lines = "try:\n    x += 1\nexcept RuntimeError as error:\n    caught = x * 2\n(x**2).sum().backward()\n"
    script.write_text(HEAD + lines, encoding="utf-8")
    assert main(["explain", str(script), "--html", str(page)]) == 0
    steps = re.findall(r'"line": (\d+), "text": "([^"]*)"', page.read_text(encoding="utf-8"))
    wanted = [("3", "try:"), ("4", "x += 1"), ("5", "except RuntimeError as error:"), ("6", "caught = x * 2")]
    assert steps[1:5] == wanted
    assert ("3", "try:") not in steps[5:]


def test_a_script_that_leaves_with_a_status_is_explained(tmp_path, capsys):
    script, page = tmp_path / "script.py", tmp_path / "page.html"
    script.write_text(f"{HEAD}(x * x).sum().backward()\nraise SystemExit(3)\n", encoding="utf-8")
    assert main(["explain", str(script), "--html", str(page)]) == 1
    said = capsys.readouterr()
    assert "left with status 3" in said.err
    assert "jax.grad(f)(x)" in said.out
    assert page.is_file()


def test_a_recording_whose_backward_was_refused_asks_for_v():
    x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
    with jaxvjp.explain.recording() as story, contextlib.suppress(RuntimeError):
        y = x * 3
        y.backward()
    assert re.search(r"^# y.mean\(\).backward\(\) +\[1.5 1.5\]", str(story), re.MULTILINE)
    assert story.jacobian()["x"].tolist() == [[3.0, 0.0], [0.0, 3.0]]
    assert "y has 2 numbers: which weights?" in story.page()
    assert story.picture().boxes


@pytest.mark.parametrize("v", ["", "torch.ones(0)"])
def test_a_result_without_elements(v, tmp_path, capsys):
    script, page = tmp_path / "script.py", tmp_path / "page.html"
    script.write_text(f"{HEAD.replace('jaxvjp as ', '')}y = x[x > 5] * 2\ny.backward({v})\n", encoding="utf-8")
    assert main(["explain", str(script), "--html", str(page)]) == (0 if v else 1)
    assert "fault" not in capsys.readouterr().err
    assert not v or "J has no rows" in page.read_text(encoding="utf-8")


def test_what_ran_before_an_interrupt_is_explained(tmp_path, capsys):
    script = tmp_path / "script.py"
    lines = "x = torch.ones(2, requires_grad=True)\n(x * 2).sum().backward()\nraise KeyboardInterrupt\n"
    script.write_text(f"import torch\n{lines}", encoding="utf-8")
    assert main(["explain", str(script)]) == 1
    said = capsys.readouterr()
    assert "x_grad = jax.grad(f)(x)" in said.out
    assert said.err.rstrip().endswith("KeyboardInterrupt")
