"""`explain` of a script whose `backward()` fails for its v: the program, J, and the gradient for each choice of v."""

from __future__ import annotations

import re

import numpy as np
import pytest
from oracle import agree

import jaxvjp
from jaxvjp.__main__ import main

START = """import torch as t
x = t.tensor([1.0, 2.0], requires_grad=True)
b = t.tensor(1.0, requires_grad=True)
"""
WRONG = {
    "no v": ("y = 3 * x**2 + b", "y.backward()", "y has 2 numbers"),
    "a list": ("y = 3 * x**2 + b", "y.backward([1.0, 2.0])", "y has 2 numbers"),
    "a plain number": ("y = 3 * x**2 + b", "y.backward(1.0)", "y has 2 numbers"),
    "a v too long": ("y = 3 * x**2 + b", "y.backward(t.ones(3))", "The v has shape [3], and needs [2]."),
    "a v of another shape": ("y = 3 * x**2 + b", "y.backward(t.ones(2, 1))", "The v has shape [2, 1]"),
    "in a function": ("def go(z):\n    z.backward()\nz = 3 * x**2 + b", "go(z)", "z has 2 numbers"),
    "by autograd.grad": ("y = 3 * x**2 + b\nd = t.autograd", "d.grad(y, [x, b])", "y has 2 numbers"),
    "a matrix": ("y = x[:, None] * x + b", "y.backward()", "y has 4 numbers"),
    "several, one v": ("y = [3 * x**2 + b, x[0] * b]", "t.autograd.backward(y, [t.ones(2)])", "y[1] has 1 number"),
    "several, a v too short": ("y, z = x**2, x[0] * b", "t.autograd.grad([y, z], [x, b], [t.ones(1)] * 2)", "z has 1 "),
    "a number": ("y = (x * x).sum() + b", "y.backward(t.ones(2))", "The v has shape [2], and needs []."),
}


def explained(tmp_path, capsys, *lines, options=()):
    script = tmp_path / "script.py"
    script.write_text(START + "\n".join(lines), encoding="utf-8")
    status = main(["explain", *options, str(script)])
    return status, *capsys.readouterr()


@pytest.mark.parametrize("name", WRONG)
def test_each_choice_of_v_gives_the_gradient_that_is_told(name, tmp_path, capsys):
    line, call, told = WRONG[name]
    status, out, error = explained(tmp_path, capsys, line, call)
    assert status == 1
    assert f"line {4 + line.count(chr(10)) + 1}, in <module>\n    {call}" in error
    assert told in out
    assert "jaxvjp/" not in error
    assert max(len(each) for each in out.splitlines() if each.startswith("#")) <= (110 if "several" in name else 80)
    space = {}
    exec(out, space)  # it is still a program; what is asked is in comments
    assert {"x_grad", "b_grad"} <= space.keys()
    choices = re.findall(
        r"^# (\w[\w.\[\], ()]*\.(?:backward|grad)\(.*?\)) {2,}(\[.*\]|\S+)  +(\S+)  ", out, re.MULTILINE
    )
    assert len(choices) == (1 if "a number" in name else 5 if "matrix" in name else 3 if "several" in name else 4)
    for written, x_grad, b_grad in choices:
        space = {"t": jaxvjp}
        exec(f"{START.replace('import torch as t', '')}{line}\nfound = {written} or (x.grad, b.grad)", space)
        shown = [float(each) for each in x_grad.strip("[]").split()]
        np.testing.assert_allclose(space["found"][0].numpy(), shown, rtol=1e-4)
        np.testing.assert_allclose(space["found"][1].numpy(), float(b_grad), rtol=1e-4)


def test_a_large_jacobian_is_not_laid_out(tmp_path, capsys):
    status, out, _ = explained(tmp_path, capsys, "y = t.zeros(9000) + x.sum()", "y.backward()")
    assert status == 1
    assert "# y has 9000 numbers: which weights?" in out
    assert "# y[0].backward()             y[0] alone: its row of J" in out


def test_a_page_and_no_words_where_one_line_is_asked_for(tmp_path, capsys):
    page = tmp_path / "page.html"
    options = ["--html", str(page), "--line", "4"]
    status, out, _ = explained(tmp_path, capsys, "y = 3 * x**2 + b", "y.backward()", options=options)
    assert (status, out) == (1, "return 3 * x ** 2 + b                   # line 4: y = 3 * x**2 + b\n")
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_of_the_line_that_failed_the_pullback_and_the_question_are_shown(tmp_path, capsys):
    _, out, _ = explained(tmp_path, capsys, "y = 3 * x**2 + b", "y.backward()", options=["--line", "5"])
    assert out.startswith("y, pullback = jax.vjp(f, x, b)")
    assert "# y has 2 numbers: which weights? v has one for each." in out


@pytest.mark.parametrize("call", ["y.backward()", "y.backward(t.ones(3))"])
def test_of_a_graph_that_was_freed_it_is_asked_and_said(call, tmp_path, capsys):
    page = tmp_path / "page.html"
    lines = ["y = (3 * x**2).relu() + b", "y.sum().backward()", call]
    status, out, error = explained(tmp_path, capsys, *lines, options=["--html", str(page)])
    assert status == 1
    assert "During handling" not in error
    assert "A backward before freed the graph of y: give that one `retain_graph=True`." in out
    assert "# y[1]     0    12" in out
    space = {}
    exec(out, space)
    np.testing.assert_allclose(space["x_grad"], [6, 12])
    assert page.exists()


def test_a_gradient_that_is_there_already_is_added_and_its_backward_is_shown(tmp_path, capsys):
    lines = ["for i in range(2):", "    (x**2 * (i + 1)).sum().backward()", "y = 3 * x + b", "y.backward()"]
    status, out, _ = explained(tmp_path, capsys, *lines)
    assert status == 1
    assert "# x.grad is [6 12], from a backward before: vᵀJ is added to that." in out
    assert re.search(r"^# y\.backward\(t\.ones\(\[2\]\)\) +\[9 15\] +2 ", out, re.MULTILINE)
    space = {}
    exec(out, space)
    np.testing.assert_allclose(space["x_grad"], [6, 12])
    np.testing.assert_allclose(space["y"], [4, 7])


@pytest.mark.parametrize("call", ["grad(y, b", "grad(outputs=y, inputs=b, grad_outputs=t.ones(1)"])
def test_where_grad_was_called_the_choices_call_it_too(call, tmp_path, capsys):
    _, out, _ = explained(tmp_path, capsys, "y = 3 * x**2 + b", f"t.autograd.{call}, retain_graph=True)")
    choices = out.partition("# write")[2]
    assert choices.split()[:5] == ["b_grad", "the", "gradient", "of", "#"]
    assert re.search(r"^# t.autograd.grad\(y, b, t.ones\(\[2\]\), retain_graph=True\) +2 ", choices, re.MULTILINE)
    assert "# t.autograd.grad(y[1], b, retain_graph=True)" in choices


def test_it_is_asked_too_where_the_script_goes_on(tmp_path, capsys):
    lines = ["y = 3 * x**2 + b", "try:", "    y.backward()", "except RuntimeError as error:", "    print(error)"]
    status, out, _ = explained(tmp_path, capsys, *lines)
    assert status == 0
    assert "y has 2 numbers: which weights?" in out
    status, out, _ = explained(tmp_path, capsys, *lines, "y.backward(t.ones(2))")
    assert status == 0
    assert "freed the graph" not in out
    assert "# y.backward(t.ones([2]))  [6 12]  2 " in out  # as it was when the backward was refused


@pytest.mark.parametrize("call", ["t.ones(2).backward()", "raise ValueError('mine')", "(x + t.ones(3)).backward()"])
def test_another_error_asks_nothing(call, tmp_path, capsys):
    status, out, error = explained(tmp_path, capsys, call)
    assert (status, out) == (1, "")
    assert "Error" in error


def test_port_has_no_question(tmp_path, capsys):
    script = tmp_path / "script.py"
    script.write_text(START + "(x * 2).backward()", encoding="utf-8")
    assert main(["port", str(script)]) == 1
    assert "grad can be implicitly created" in capsys.readouterr().err


@pytest.mark.parametrize("imported", ["import jaxvjp", "import jaxvjp as torch", "import jaxvjp as jt"])
def test_hints_have_the_name_by_which_the_library_was_imported(imported):
    name = imported.split()[-1]
    space = {}
    exec(f"{imported}\nx = {name}.ones(2, requires_grad=True)\ndef call():\n    x.backward()", space)
    said = f"to `x.backward(v)` or `{name}.autograd.grad(x, inputs, v)`:\n    v = {name}.ones([2])"
    with pytest.raises(RuntimeError, match=re.escape(said)):
        space["call"]()


COMPLEX = "z = t.tensor([1.0 + 2j, 3.0], requires_grad=True)\ny = z * x\n"
PASTED = [
    "y.backward(t.ones([2], dtype=t.complex64))",
    "y.real.mean().backward()",
    "y[0].real.backward()",
    "y[0].imag.backward()",
    "y[1].real.backward()",
    "y[1].imag.backward()",
]


def gradients_of_what_is_pasted(torch):
    found = []
    for line in PASTED:
        space = {"t": torch}
        exec(START.replace("import torch as t", "") + COMPLEX + line, space)
        found.append([space["x"].grad, space["z"].grad])
    return found


@pytest.mark.parametrize("call", ["y.backward()", "y.backward(t.ones(2))"])
def test_of_a_complex_result_each_part_has_a_row_and_a_choice(call, tmp_path, capsys):
    _, out, _ = explained(tmp_path, capsys, COMPLEX, call)
    assert "# Re y[0]     1     0\n# Im y[0]     2     0\n# Re y[1]     0     3" in out
    rows = re.findall(r"^# (\w[\w.\[\], ()=]*\.backward\(.*?\)) {2,}(\[.*?\]) +(\[.*?\])  ", out, re.MULTILINE)
    assert [line for line, *_ in rows] == PASTED
    agree(gradients_of_what_is_pasted)
    for (_, *told), gradients in zip(rows, gradients_of_what_is_pasted(jaxvjp), strict=True):
        for text, gradient in zip(told, gradients, strict=True):
            numbers = [complex(each) for each in text.strip("[]").split()]
            np.testing.assert_allclose(numbers, gradient.numpy(), rtol=1e-4)


def test_what_has_no_name_is_given_one_and_a_table_that_ends_says_so(tmp_path, capsys):
    _, out, _ = explained(tmp_path, capsys, "(x[:, None] * x).backward()")
    assert "# Call the result y first: `y = ...`." in out
    assert re.search(r"^# \.\.\. +and so on, 4 elements in all$", out, re.MULTILINE)


def the_number_of_a_complex_result(torch):
    z = torch.tensor(1.0 + 2j, requires_grad=True)
    (z * z).imag.backward()
    return z.grad


def test_one_complex_number_is_asked_for_a_part(tmp_path, capsys):
    _, out, _ = explained(tmp_path, capsys, "z = t.tensor(1.0 + 2j, requires_grad=True)", "y = z * z", "y.backward()")
    agree(the_number_of_a_complex_result)
    assert the_number_of_a_complex_result(jaxvjp).item() == 4 + 2j
    assert "# y.imag.backward()  4+2j    y.imag" in out
