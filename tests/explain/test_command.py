"""`python -m jaxvjp explain script.py`, with each of its flags."""

from __future__ import annotations

import pytest

from jaxvjp.__main__ import main
from jaxvjp.explain.picture import Picture
from jaxvjp.explain.refusal import Unshowable

SCRIPT = """
import sys

import jaxvjp as torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
for step in range(3):
    loss = ((w - 3) ** 2).sum()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
y = (w * w).sum()
y.backward()
print("arguments", sys.argv[1:])
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.lstrip(), encoding="utf-8")
    return path


def test_every_backward_of_a_script(script, capsys):
    assert main(["explain", str(script), "--", "one", "--two"]) == 0
    out, error = capsys.readouterr()
    assert error == "arguments ['one', '--two']\n"  # what is printed is a program, also in a file
    assert out.startswith("import jax\n")
    exec(out, {})
    assert "for _ in range(3):\n    loss, w_grad = jax.value_and_grad(f)(w)" in out
    assert "y, w_grad = jax.value_and_grad(f_2)(w)" in out


def test_a_script_that_imports_torch(script, capsys):
    script.write_text(SCRIPT.replace("import jaxvjp as torch", "import torch"), encoding="utf-8")
    assert main(["explain", str(script)]) == 0
    assert "y, w_grad = jax.value_and_grad(f_2)(w)" in capsys.readouterr().out


def test_one_line(script, capsys):
    assert main(["explain", str(script), "--line", "7"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert len(out) == 1
    assert out[0].startswith("return jnp.sum((w - 3) ** 2)")
    assert main(["explain", "--line", "1", str(script)]) == 0
    assert "nothing of the program comes from line 1" in capsys.readouterr().out


def test_jaxpr_hlo_picture_and_page(script, tmp_path, capsys):
    assert main(["explain", str(script), "--jaxpr"]) == 0
    assert "# f_2 and its pullback, as a jaxpr:\n{ lambda" in capsys.readouterr().out
    assert main(["explain", str(script), "--hlo"]) == 0
    assert "HloModule" in capsys.readouterr().out
    for name, begins in (("p.mmd", "flowchart TD"), ("p.txt", "value"), ("p.html", "<!DOCTYPE html>")):
        path = tmp_path / name
        flag = "--html" if name.endswith("html") else "--picture"
        assert main(["explain", str(script), flag, str(path)]) == 0
        assert path.read_text(encoding="utf-8").startswith(begins)


def test_the_style_is_that_of_a_script_too(script, capsys):
    assert main(["explain", str(script), "--style", "grad"]) == 0
    assert "for _ in range(3):\n    loss, w_grad = jax.value_and_grad(f)(w)" in capsys.readouterr().out


def test_a_long_program_is_whole(tmp_path, capsys):
    path = tmp_path / "script.py"
    lines = [f"y = (y * {number**2 % 1009}.5).sin()\ny{number} = y" for number in range(450)]
    lines = ["import jaxvjp as torch", "y = x = torch.ones(200, requires_grad=True)", *lines, "y.sum().backward()"]
    path.write_text("\n".join(lines), encoding="utf-8")
    assert main(["explain", str(path)]) == 0
    out = capsys.readouterr().out
    assert "more lines" not in out
    assert out.count("\n") > 450
    exec(out, {})


def test_a_part_that_cannot_be_made_takes_no_other_with_it(script, tmp_path, capsys, monkeypatch):
    def missing(picture):
        raise Unshowable("there is no room for it")

    monkeypatch.setattr(Picture, "svg", missing)
    page = tmp_path / "page.html"
    assert main(["explain", str(script), "--picture", str(tmp_path / "graph.svg"), "--html", str(page)]) == 1
    out, error = capsys.readouterr()
    assert "there is no room for it" in error
    assert out.startswith("import jax")
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("text", "status", "told"),
    [
        ("import jaxvjp as torch\ntorch.ones(2)\n", 1, "calls no backward and no autograd.grad that comes to its end"),
        ("import jaxvjp as torch\ntorch.ones(2) + torch.ones(3)\n", 1, "RuntimeError: The size of tensor a (2)"),
        ("raise SystemExit(3)\n", 1, "left with status 3"),
        ("import torch\ntorch.ones(2).sums()\n", 1, "Did you mean: 'sum'?"),
        ("def broken(:\n", 1, "SyntaxError"),
    ],
)
def test_scripts_that_have_nothing_to_show(tmp_path, capsys, text, status, told):
    path = tmp_path / "script.py"
    path.write_text(text, encoding="utf-8")
    assert main(["explain", str(path)]) == status
    error = capsys.readouterr().err
    assert told in error
    assert "jaxvjp/explain" not in error


def test_transforms_alone_are_explained(tmp_path, capsys):
    path, page = tmp_path / "script.py", tmp_path / "page.html"
    path.write_text(
        "import jaxvjp as torch\nx = torch.tensor([1.0, 2.0])\n"
        "g = torch.func.vmap(torch.func.grad(lambda x: x.sin()))(x)\n"
    )
    assert main(["explain", str(path), "--html", str(page), "--picture", str(tmp_path / "graph.svg")]) == 0
    out, error = capsys.readouterr()
    assert "g = jax.vmap(jax.grad(lambda x: jnp.sin(x)))(x)" in out
    assert error.endswith("graph.svg is not written: there is no backward pass to show\n")
    assert "jax.vmap(jax.grad" in page.read_text(encoding="utf-8")


def test_what_is_printed_and_not_kept_is_explained(tmp_path, capsys):
    path = tmp_path / "script.py"
    path.write_text(
        "import jaxvjp as torch\nfrom jaxvjp.autograd.functional import hvp\nx = torch.tensor([1.0, 2.0])\n"
        "f = lambda x: (x**3).sum()\nprint(torch.func.grad(f)(x))\nprint(hvp(f, x, torch.tensor([1.0, 10.0])))\n"
        "for _ in range(2):\n    h = torch.autograd.functional.hessian(f, x)\n"
        "print(torch.func.jacrev(torch.sin)(x), torch.func.jacfwd(f)(x), torch.func.hessian(f)(x))\n"
        "print(torch.func.grad(f)(x) @ x + 1)\n"
    )
    assert main(["explain", str(path)]) == 0
    out = capsys.readouterr().out
    assert "printed = jax.grad(lambda x: jnp.sum(x ** 3))(x)" in out
    assert " = jax.grad(lambda x: jnp.sum(x ** 3))(x) @ x + 1" in out
    assert "printed_2 = jax.jvp(jax.grad(lambda x: jnp.sum(x ** 3)), (x,), (jnp.array([1.0, 10.0]),))[1]" in out
    assert "(h,) = jax.vmap(pullback)(jnp.eye(2" in out
    for transform in ("jacrev", "jacfwd", "hessian"):
        assert f" = jax.{transform}(" in out


def test_a_script_that_is_not_there(capsys):
    with pytest.raises(SystemExit) as left:
        main(["explain", "nowhere.py"])
    assert left.value.code == 2
    assert "there is no script 'nowhere.py'" in capsys.readouterr().err
