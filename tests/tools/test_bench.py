"""The benchmarks run and print what they measured; their figures are not checked."""

from __future__ import annotations

import json
import sys

import pytest
from oracle import needs_torch

import jaxvjp as torch
from jaxvjp.__main__ import main
from jaxvjp.core.run.tiers import Compiling
from jaxvjp.tools import bench
from jaxvjp.tools.bench import cold

SCRIPT = """
import torch

x = torch.ones(3, requires_grad=True)
(x * x).sum().backward()
print(x.grad)
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "square.py"
    path.write_text(SCRIPT, encoding="utf-8")
    return path


@needs_torch
def test_a_cold_script_under_both(script, capsys, monkeypatch):
    monkeypatch.setenv("JAXVJP_XLA", "always")
    assert main(["bench", "--cold", "--rounds", "1", "--json", str(script.parent)]) == 0
    out, told = capsys.readouterr()
    figures = json.loads(out)
    (result,) = figures["results"]
    assert (figures["rounds"], result["script"]) == (1, "square")
    assert all(result[each].keys() == {"torch", "first", "again"} for each in ("seconds", "user"))
    assert min(result["seconds"].values()) > 0.05
    assert min(result["user"].values()) > 0.05
    assert result["compiles"] == {"first": 1, "again": 1}
    assert told == "measuring: 1 of 1\n"


def test_a_cold_script_without_torch(script, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    wrong = script.with_name("wrong.py")
    wrong.write_text("1 / 0")
    assert main(["bench", "--cold", "--rounds", "1", str(script), str(wrong)]) == 1
    out, told = capsys.readouterr()
    message, head, row = out.splitlines()
    assert "pip install 'jaxvjp[compare]'" in message
    assert head.split("  ")[0] == "script"
    cells = row.split()
    assert (cells[0], len(cells), cells.count("-")) == ("square", len(cold.COLUMNS), 6)
    assert f"{wrong}: ended with status 1" in told
    assert "ZeroDivisionError" in told


def test_wrong_cold_calls(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(cold, "SCRIPTS", tmp_path / "none")
    for arguments, said in (
        ([], "the examples are in a checkout only"),
        ([str(tmp_path / "script.py")], "there is no"),
        ([str(tmp_path)], "no scripts in"),
        (["--rounds", "0"], "--rounds is at least 1"),
    ):
        with pytest.raises(SystemExit) as caught:
            main(["bench", "--cold", *arguments])
        assert caught.value.code == 2
        assert said in capsys.readouterr().err


def test_warm_steps_are_of_compiled_programs(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    when, thread = Compiling.when, Compiling.thread
    assert main(["bench", "--json", "Hessian-vector"]) == 0  # no other test compiles it
    assert (Compiling.when, Compiling.thread) == (when, thread)
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert result["way"]  # which is told of what was compiled
    assert (result["compiles"], result["dispatches"]) == (0, 1)
    for other in ([], ["--cold"], ["--first-use"]):
        with pytest.raises(SystemExit) as caught:
            main(["bench", *other, "--help"])
        assert caught.value.code == 0
        assert f"bench {' '.join(other)}".strip() in capsys.readouterr().out


def test_xla_may_compute_in_the_calling_thread(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torch", None)
    set_to = {}
    monkeypatch.setattr(bench.jax.config, "update", set_to.__setitem__)  # other tests keep JAX's threads
    assert main(["bench", "--inline", "--json", "3a + 2b"]) == 0
    assert json.loads(capsys.readouterr().out)["results"]
    assert set_to == {"jax_cpu_enable_async_dispatch": False}


def test_a_step_may_give_a_tensor_that_requires_a_gradient():
    w = torch.ones(3, requires_grad=True)
    figures = bench.measure({bench.OURS: lambda: (w * w).sum()}, warm=2)
    assert figures["dispatches"] > 0
