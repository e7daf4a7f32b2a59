"""The stubs for editors and type checkers, and what mypy, pyright and completion report with them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.stubs import texts

ROOT = Path(__file__).parents[2]
USER_CODE = Path(__file__).parent / "user_code.py"
WRONG = {
    number
    for number, line in enumerate(USER_CODE.read_text(encoding="utf-8").splitlines(), 1)
    if line.endswith("  # wrong")
}


def run(*command):
    environment = {**os.environ, "MYPYPATH": str(ROOT), "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, cwd=ROOT, env=environment)


def test_the_stubs_are_those_of_the_registry():
    stale = [str(path) for path, text in texts().items() if path.read_text(encoding="utf-8") != text]
    assert not stale, "run `python -m tools.stubs`"
    assert {str(path) for path in texts()} == {str(path) for path in (ROOT / "jaxvjp").rglob("*.pyi")}
    assert (ROOT / "jaxvjp" / "py.typed").exists()  # without it checkers read no types of an installed package


def test_mypy_reports_what_is_wrong_in_user_code_and_nothing_else():
    ran = run("mypy", f"--config-file={os.devnull}", "--follow-imports=silent", "--check-untyped-defs", str(USER_CODE))
    found = {int(number): told for number, told in re.findall(r"user_code\.py:(\d+): error: (.*)", ran.stdout)}
    assert found.keys() == WRONG, ran.stdout + ran.stderr


def test_pyright_reports_the_same():
    pytest.importorskip("pyright", reason="pyright is not installed: pip install pyright")
    ran = run("pyright", "--outputjson", "--pythonpath", sys.executable, str(USER_CODE))
    if not ran.stdout.startswith("{"):
        pytest.skip(f"pyright does not run here, for which it needs node: {ran.stdout}{ran.stderr}")
    errors = [each for each in json.loads(ran.stdout)["generalDiagnostics"] if each["severity"] == "error"]
    found = {each["range"]["start"]["line"] + 1: each["message"] for each in errors}
    assert found.keys() == WRONG, found


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("x.su", "sum"),
        ("x.mul", "mul_"),
        ("x.requires", "requires_grad_"),
        ("x.sum(0).exp().si", "sin"),
        ("(x * 2).t", "tanh"),
        ("x.max(0).val", "values"),
        ("F.re", "relu"),
        ("torch.float", "float32"),
        ("torch.lin", "linalg"),
        ("torch.linalg.sv", "svdvals"),
        ("torch.zeros(2).back", "backward"),
    ],
)
def test_an_editor_completes(line, offered, monkeypatch, tmp_path_factory):
    jedi = pytest.importorskip("jedi", reason="jedi is not installed: pip install jedi")
    cache = tmp_path_factory.getbasetemp() / "jedi"  # it reads what another process is still writing
    monkeypatch.setattr(jedi.settings, "cache_directory", str(cache))
    code = f"import jaxvjp as torch\nimport jaxvjp.nn.functional as F\nx = torch.tensor([1.0])\n{line}"
    found = {each.name for each in jedi.Script(code, project=jedi.Project(ROOT)).complete()}
    assert offered in found
    assert not found & {"Any", "annotations", "published", "importlib", "import_module"}
