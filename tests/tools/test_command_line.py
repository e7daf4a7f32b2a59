"""`python -m jaxvjp`: what v is, the table, one example in full, wrong names, exit statuses."""

from __future__ import annotations

import subprocess
import sys

import pytest
from oracle import needs_torch

from jaxvjp.__main__ import main
from jaxvjp.explain import terminal
from jaxvjp.tools import examples
from tools.opinfo import report


def test_it_teaches_v_in_ten_lines_and_has_a_line_for_each_example(capsys):
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    ten = "\n".join(lines[:10])
    for told in ("v in y.backward(v)", "J, the Jacobian", "  y[1]     0    12", "1 * [6 0] + 10 * [0 12] = [6 120]"):
        assert told in ten
    numbered = [line.split() for line in lines if line[:2].strip().isdigit() and line[2] == " "]
    rows = {cells[1]: cells for cells in numbered if len(cells) > 3}
    assert [*rows] == [*examples.examples()]
    assert {cells[-1] for cells in rows.values()} == {"yes"}
    assert rows["two_inputs_three_outputs"][2:] == ["[1", "10", "100]", "[26", "1240]", "yes"]
    assert "22 agree" in lines


@pytest.mark.parametrize("name", ["two_inputs_three_outputs", "20"])
def test_one_example_in_full(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main([name]) == 0
    out = capsys.readouterr().out
    assert "you wrote:" in out
    assert "    y[0] = 3 * x[0] ** 2" in out
    assert "jax.vjp(f" in out
    assert "J, a row for each number in y (3), a column for each in x (2):" in out
    assert "J     x[0]  x[1]" in out
    assert "y[1]     2    24" in out
    assert "agree" in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("wrong", "near"),
    [("two_inputs_three_output", "two_inputs_three_outputs"), ("lessn", "lesson"), ("doubling", "doubling_until_1000")],
)
def test_a_near_miss_is_suggested(wrong, near, capsys):
    assert main([wrong]) == 2
    told = capsys.readouterr().err
    assert f"Did you mean {near!r}?" in told
    assert "matrix_product" not in told


def test_a_command_with_arguments_is_suggested_too(capsys):
    assert main(["explian", "x.py", "--html", "y.html"]) == 2
    assert "Did you mean 'explain'?" in capsys.readouterr().err


def test_an_unknown_name_lists_those_there_are(capsys):
    assert main(["23"]) == 2
    assert "\n  8 matrix_product\n" in capsys.readouterr().err


def test_disagreement_is_exit_status_1(monkeypatch, capsys):
    monkeypatch.setattr(examples.Answer, "agrees", property(lambda self: self.name != "b"))
    assert main([]) == 1
    out = capsys.readouterr().out
    assert "NO" in out
    assert "18 agree; disagreeing: weighted_sum_of_rows, a_scalar_needs_no_gradient" in out
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
