"""A command refuses with a true reason, exit status 1; an error inside jaxvjp is a fault, status 3, with a report."""

from __future__ import annotations

import textwrap

import pytest

from jaxvjp.__main__ import main
from jaxvjp.explain.literals import Unwritable
from jaxvjp.explain.picture import Picture
from jaxvjp.explain.refusal import Refusal, line_of
from jaxvjp.explain.source import Writer
from jaxvjp.explain.steps import NotPortable, Steps
from jaxvjp.explain.story import Recorder
from jaxvjp.explain.watching import Watch

TRAINING = """
    import torch

    w = torch.tensor([1.0, 2.0], requires_grad=True)
    for step in range(3):
        loss = ((w - step) ** 2).sum()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
        w.grad = None
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(TRAINING).lstrip(), encoding="utf-8")
    return path


def raising(error):
    def method(self, *given, **named):
        raise error

    return method


COMMANDS = {
    "explain": ["explain"],
    "page": ["explain", "--html", "page.html"],
    "picture": ["explain", "--picture", "graph.txt"],
    "port": ["port", "-o", "ported.py"],
}
BROKEN = [
    ("explain", Writer, "walk"),
    ("explain", Recorder, "_told"),
    ("page", Watch, "_note"),
    ("page", Picture, "__init__"),
    ("picture", Picture, "__str__"),
    ("port", Steps, "_entries"),
    ("port", Writer, "walk"),
    ("port", Recorder, "_told"),
]


@pytest.mark.parametrize(
    "error", [KeyError("k"), IndexError(3), ValueError("zip()"), RuntimeError("r"), AssertionError()]
)
@pytest.mark.parametrize(("command", "owner", "name"), BROKEN, ids=lambda each: getattr(each, "__name__", each))
def test_an_error_inside_is_a_fault_and_no_reason(script, tmp_path, capsys, monkeypatch, command, owner, name, error):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(owner, name, raising(error))
    assert main([*COMMANDS[command], str(script)]) == 3
    said = capsys.readouterr().err
    assert "Traceback (most recent call last)" in said
    assert f"{type(error).__name__}: {error}\nThis is a fault of jaxvjp" in said
    assert not (tmp_path / "ported.py").exists()


def test_a_fault_names_the_line_that_was_worked_on(script, capsys, monkeypatch):
    monkeypatch.setattr("jaxvjp.explain.scope.Scope._operation", raising(KeyError("k")))
    assert main(["explain", str(script)]) == 3
    assert f"{script}: line 5: KeyError: 'k'\n" in capsys.readouterr().err


def test_an_error_without_a_line():
    assert line_of(KeyError("never raised")) is None


@pytest.mark.parametrize(
    ("command", "owner", "name"), [each for each in BROKEN if each[1] is not Watch][:1] + BROKEN[3:7]
)
def test_a_refusal_is_told_with_its_line_and_without_a_traceback(
    script, tmp_path, capsys, monkeypatch, command, owner, name
):
    line = compile("\n\n\n\nx = 1", str(script), "exec"), 0
    monkeypatch.chdir(tmp_path)
    kind = NotPortable if command == "port" else Unwritable
    monkeypatch.setattr(owner, name, raising(kind("there is no such thing in JAX", line)))
    status = main([*COMMANDS[command], str(script)])
    said = capsys.readouterr().err
    assert "Traceback" not in said
    if command == "page":  # the page has the reason in the place of the picture
        assert status == 0
        assert "there is no such thing in JAX" in (tmp_path / "page.html").read_text(encoding="utf-8")
    else:
        assert status == 1
        assert "there is no such thing in JAX" in said


def test_the_worst_of_several_parts_is_the_status_and_the_others_are_shown(script, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Picture, "__str__", raising(KeyError("k")))
    assert main(["explain", "--picture", "graph.txt", "--html", "page.html", str(script)]) == 3
    assert capsys.readouterr().out.startswith("import jax\n")
    assert (tmp_path / "page.html").exists()


def test_a_file_that_cannot_be_written_is_no_fault(script, tmp_path, capsys):
    assert main(["explain", "--html", str(tmp_path / "no" / "page.html"), str(script)]) == 2
    said = capsys.readouterr().err
    assert "No such file or directory" in said
    assert "fault" not in said


@pytest.mark.parametrize("command", ["explain", "port"])
@pytest.mark.parametrize("line", ["x = [", "raise KeyError('k')", "import torch; torch.ones(2) @ torch.ones(3)"])
def test_an_error_of_the_script_is_no_fault(script, tmp_path, capsys, command, line):
    script.write_text(line + "\n", encoding="utf-8")
    assert main([command, str(script)]) == 1
    said = capsys.readouterr().err
    assert "script.py" in said
    assert "fault" not in said


def test_only_a_refusal_is_told_as_a_reason():
    assert issubclass(Unwritable, Refusal)
    assert issubclass(NotPortable, Refusal)
    assert not issubclass(Refusal, ValueError | RuntimeError)  # not caught by accident, but by its name


def test_numbers_of_the_device_meta_are_refused(script, capsys):
    text = 'import torch\nw = torch.ones(3, device="meta", requires_grad=True)\n(w * 2).sum().backward()\n'
    script.write_text(text, encoding="utf-8")
    assert main(["explain", str(script)]) == 1
    assert "line 2: a tensor on the device meta has no numbers" in capsys.readouterr().err


def test_a_hook_of_a_step_that_replaces_a_cotangent_is_refused(script, capsys):
    text = "import torch\nw = torch.ones(3, requires_grad=True)\ny = w * 2\n"
    script.write_text(
        f"{text}y.grad_fn.register_prehook(lambda g: (g[0] * 2,))\ny.sum().backward()\n", encoding="utf-8"
    )
    assert main(["explain", str(script)]) == 1
    assert "line 3: a hook of the step MulBackward0 changes what goes through it" in capsys.readouterr().err
