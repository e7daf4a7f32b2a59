"""`python -m jaxvjp`: the table, one example in full, wrong names, exit statuses."""

from __future__ import annotations

import subprocess
import sys

import pytest
from oracle import needs_torch

from jaxvjp.__main__ import main
from jaxvjp.explain import terminal
from jaxvjp.tools import examples
from tools.opinfo import report


def test_the_table_holds_every_answer(capsys):
    assert main([]) == 0
    out = capsys.readouterr().out
    assert out.startswith("device: ")
    assert "22 examples, all agree" in out
    for expected in (
        "two_inputs_three_outputs",
        "[26 1240]",
        "[51.2 512 0.0512]",
        "[0.016667 0.14286 1.25e-05]",
        "[inf]",
    ):
        assert expected in out
    assert " NO" not in out


def test_one_example_in_full(capsys):
    assert main(["two_inputs_three_outputs"]) == 0
    out = capsys.readouterr().out
    assert "you wrote:" in out
    assert "    y[0] = 3 * x[0] ** 2" in out
    assert "jax.vjp(f" in out
    assert "J     x[0]  x[1]" in out
    assert "y[1]     2    24" in out
    assert "agree" in out


def test_an_unknown_name_lists_those_there_are(capsys):
    assert main(["two_inputs_three_output"]) == 2
    error = capsys.readouterr().err
    assert "Did you mean 'two_inputs_three_outputs'?" in error
    assert "matrix_product" in error


def test_disagreement_is_exit_status_1(monkeypatch, capsys):
    monkeypatch.setattr(examples.Answer, "agrees", property(lambda self: self.name != "b"))
    assert main([]) == 1
    out = capsys.readouterr().out
    assert "NO" in out
    assert "disagreeing: weighted_sum_of_rows, a_scalar_needs_no_gradient" in out
    assert main(["weighted_sum_of_rows"]) == 1


def test_who_reads_only_the_first_lines_gets_no_traceback():
    command = [sys.executable, "-m", "jaxvjp", "lesson", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        error = process.stderr.read()
    assert "Error" not in error
    assert process.returncode == 1


def test_as_a_process_elsewhere(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "jaxvjp", "scalar_to_scalar"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "agree" in done.stdout


@needs_torch
def test_the_report_runs_the_ops_named(capsys):
    pytest.importorskip("expecttest")
    assert report.main(["masked.argm", "fft.*shift"]) == 0
    assert "4 passed, 0 FAILED" in capsys.readouterr().out
    assert report.main(["masked.argmux"]) == 2
    assert "Like it: masked.argmax" in capsys.readouterr().out


@needs_torch
def test_the_report_gathers_what_processes_find(monkeypatch, capsys):
    pytest.importorskip("expecttest")
    monkeypatch.setattr(report, "WORTH_A_PROCESS", 1)
    assert report.main(["masked.argm", "--processes", "2"]) == 0
    told = capsys.readouterr()
    assert "2 passed, 0 FAILED" in told.out
    assert "torch's samples: 2 of 2" in told.err


@pytest.mark.parametrize("fancy", [False, True])
def test_tables_with_and_without_borders(monkeypatch, capsys, fancy):
    monkeypatch.setattr(terminal, "_fancy", lambda: fancy and terminal.HAS_RICH)
    terminal.heading("head")
    terminal.table(["a", "number"], [["[1 2]", "3"], ["x", "44"]])
    assert list(terminal.progress([1, 2], "counting")) == [1, 2]
    with terminal.status("beginning") as tell:
        tell("going on")
    out = capsys.readouterr().out
    assert "[1 2]" in out
    assert "44" in out
    assert fancy or "a      number\n[1 2]  3\n" in out


def test_matrices_are_labelled():
    shown = terminal.matrix("J", [[1.0, -0.0], [2.5, 300.0]], ["y[0]", "y[1]"], ["x[0]", "x[1]"])
    assert shown == "J     x[0]  x[1]\ny[0]     1     0\ny[1]   2.5   300"
