"""`tools/count_instructions.py` adds up what functions took themselves, without those that wait."""

from __future__ import annotations

import importlib.util
from pathlib import Path

FILE = Path(__file__).parents[2] / "tools" / "count_instructions.py"
made = importlib.util.spec_from_file_location("count_instructions", FILE)
count = importlib.util.module_from_spec(made)
made.loader.exec_module(count)

TOLD = """\
events: Ir
fl=(1) graph.c
fn=(1) record
12 100
+3 20
cfn=(2) user_line
calls=4 0
* 1000
fn=(2)
7 900
fn=(3) Eigen::ThreadPoolTempl::WaitForWork()
9 5000
fn=(1)
-2 3
totals: 6023
"""


def test_calls_and_waiting_are_left_out():
    assert count.counted(TOLD.splitlines()) == 100 + 20 + 900 + 3
