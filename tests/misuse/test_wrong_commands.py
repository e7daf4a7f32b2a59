"""Wrong command lines: exit status 2 for a wrong call, 1 for a script that fails, and a line that says why."""

from __future__ import annotations

import pytest
from oracle import needs_torch

from jaxvjp.__main__ import main
from tools.conformance import command as conformance
from tools.fuzz import command as fuzz
from tools.opinfo import report

SCRIPTS = {"wrong.py": b"def f(:\n", "raises.py": b"1 / 0\n", "bytes.py": b"\xff\xfe(", "empty.py": b""}

# One line each: the command, its exit status, and what it says at last.
COMMANDS = """
nothing                         | 2 | 22 sum_with_a_vector_gradient
--unknown                       | 2 | unrecognized arguments: --unknown
two three                       | 2 | Did you mean 'two_inputs_three_outputs'?
run                             | 2 | which script?
run nowhere.py                  | 2 | there is no script 'nowhere.py'
run .                           | 2 | there is no script '.'
run wrong.py                    | 1 | SyntaxError
run bytes.py                    | 1 | SyntaxError
run raises.py                   | 1 | ZeroDivisionError: division by zero
run --unknown                   | 2 | unrecognized arguments: --unknown
run --check nowhere.py          | 2 | there is no script 'nowhere.py'
run --check wrong.py            | 2 | line 1: SyntaxError
explain                         | 2 | required: script
explain nowhere.py              | 2 | there is no script 'nowhere.py'
explain .                       | 2 | there is no script '.'
explain wrong.py                | 1 | SyntaxError
explain bytes.py                | 1 | SyntaxError
explain raises.py               | 1 | ZeroDivisionError: division by zero
explain empty.py                | 1 | there is no gradient to explain
compare                         | 2 | required: script
compare nowhere.py              | 2 | there is no script 'nowhere.py'
compare .                       | 2 | there is no script '.'
compare empty.py --unknown      | 2 | unrecognized arguments: --unknown
bench --unknown                 | 2 | unrecognized arguments: --unknown
bench nothing_of_that_name      | 2 | no workload
tools.opinfo no_such_op         | 2 | no op like no_such_op
tools.opinfo --unknown          | 2 | unrecognized arguments: --unknown
tools.conformance               | 2 | required: folder
tools.conformance nowhere       | 2 | there is no folder 'nowhere'
tools.conformance wrong.py      | 2 | there is no folder 'wrong.py'
doctor --unknown                | 2 | unrecognized arguments: --unknown
doctor a                        | 2 | unrecognized arguments: a
cache --unknown                 | 2 | unrecognized arguments: --unknown
cache a                         | 2 | unrecognized arguments: a
tools.fuzz --programs a         | 2 | invalid int value: 'a'
tools.fuzz --seed a             | 2 | invalid int value: 'a'
tools.fuzz --tier sideways      | 2 | invalid choice: 'sideways'
tools.fuzz --unknown            | 2 | unrecognized arguments: --unknown
"""
NEED_TORCH = ("tools.opinfo no_such_op",)
MAINS = {"tools.opinfo": report.main, "tools.conformance": conformance.main, "tools.fuzz": fuzz.main}
ROWS = [
    pytest.param(command, status, says, id=command, marks=[needs_torch] * (command in NEED_TORCH))
    for command, status, says in [[part.strip() for part in line.split("|")] for line in COMMANDS.strip().splitlines()]
]


@pytest.mark.parametrize(("command", "status", "says"), ROWS)
def test_a_wrong_command_says_why(command, status, says, tmp_path, monkeypatch, capsys):
    for name, content in SCRIPTS.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    try:
        first, *rest = command.split()
        ended = MAINS[first](rest) if first in MAINS else main([first, *rest])
    except SystemExit as stopped:
        ended = stopped.code
    shown = capsys.readouterr()
    assert ended == int(status)
    assert says in (shown.err.strip() or shown.out.strip()).splitlines()[-1]
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir() if each.is_file()} == SCRIPTS
