"""Every command on every script that is shipped: each succeeds, or is in `UNABLE` with what the command says.

Here training loops take few steps: what a command does of a script is the same, and a page of many steps takes long.
The scripts run in this process, one after the other.
"""

from __future__ import annotations

import contextlib
import re
import warnings

import pytest
from oracle import live, needs_torch

import jaxvjp
from jaxvjp.__main__ import main
from jaxvjp.core.run.tiers import Compiling
from jaxvjp.tools.examples import examples, folder
from jaxvjp.tools.scripts.program import run_as_main, started_as

SCRIPTS = {each.stem: each for each in sorted(folder().glob("*_scripts/*.py"))}
EXAMPLES = {each.name: each.path for each in examples().values()}
LOOP = re.compile(r"(?m)^(for \w+ in range\((?:1, )?)\d+\):")
"""The training loop of a script."""
STEPS = 4
FEWER = {"gated_recurrence": 3, "hessian": 6, "polynomial_by_function": 10}  # steps of the first have a length each
LOOSER = {"adversarial_networks": 1e-4}
"""Scripts whose gradients end further apart: two networks that follow each other make rounding errors grow."""

NO_STEPS = "there are no two training steps: no parameter is written between two backward passes"
UNABLE = {
    **{(name, "port"): NO_STEPS for name in EXAMPLES},
    **{(name, "port"): NO_STEPS for name in ("double_backward", "forward_mode", "per_sample_gradients")},
    **{(name, "port"): NO_STEPS for name in ("polynomial_by_hand", "saved_tensor_hooks")},
    ("lstm_with_lbfgs", "port"): "this line did another thing in step",
    ("polynomial_by_hand", "explain"): "calls no backward and no autograd.grad that comes to its end, and no transform",
}
"""By script and command, what the command says where it cannot do what is asked. A stale entry fails."""


@pytest.fixture(autouse=True)
def _settings():
    """Some scripts compute in double precision."""
    yield
    for module in filter(None, (jaxvjp, live)):
        module.set_default_dtype(module.float32)


@pytest.fixture
def quickly(monkeypatch):
    """Nearly all of the time is XLA's, which compiles each operation. A page has the last passes."""
    monkeypatch.setattr("jaxvjp.explain.page.WALKS", 2)


def test_there_are_scripts():
    assert (len(SCRIPTS), len(EXAMPLES)) == (34, 22)
    assert {name for name, _ in UNABLE} <= {*SCRIPTS, *EXAMPLES}


def shortened(path, to):
    program = LOOP.sub(rf"\g<1>{FEWER.get(path.stem, STEPS)}):", path.read_text(encoding="utf-8"))
    to.write_text(program, encoding="utf-8")
    return str(to)


def succeeds(name, command, given, capsys):
    """Whether a command does; what it says is that of `UNABLE`, if there is one."""
    status = main([command, *given])
    out, error = capsys.readouterr()
    told = UNABLE.get((name, command))
    assert (status == 0) == (told is None), error[-2000:]
    assert told is None or told in error
    return out, error


@pytest.mark.parametrize("name", [*SCRIPTS, *EXAMPLES])
@pytest.mark.usefixtures("quickly")
def test_it_runs_and_is_explained_drawn_and_ported(name, tmp_path, capsys):
    script = shortened({**SCRIPTS, **EXAMPLES}[name], tmp_path / "script.py")
    succeeds(name, "run", [script], capsys)
    page, picture, output = tmp_path / "page.html", tmp_path / "picture.svg", tmp_path / "ported.py"
    out, _ = succeeds(name, "explain", [script, "--html", str(page), "--picture", str(picture)], capsys)
    if (name, "explain") not in UNABLE:
        compile(out, "explained", "exec")
        assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
        assert "<svg" in picture.read_text(encoding="utf-8")
    _, error = succeeds(name, "port", ["--check", "-o", str(output), script], capsys)
    assert (name, "port") in UNABLE or "agree; largest relative difference" in error


@needs_torch
@pytest.mark.parametrize("name", SCRIPTS)
def test_it_compares_equal(name, monkeypatch):
    """As a user runs it, also under `--xla`: a whole script compiles for minutes what it runs once."""
    monkeypatch.setattr(Compiling, "when", "when it pays")

    def script(torch):
        as_torch = jaxvjp.as_torch() if torch is jaxvjp else contextlib.nullcontext()
        with as_torch, started_as(SCRIPTS[name]), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's, which pytest makes errors
            torch.manual_seed(0)
            run_as_main(str(SCRIPTS[name]))

    report = jaxvjp.compare(script, tolerance=LOOSER.get(name, 1e-5))
    assert report.equal, report
