"""`tools/soak.py`: every loop runs, and growth is seen."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "tools" / "soak.py"


def loaded():
    made = importlib.util.spec_from_file_location("soak", FILE)
    module = importlib.util.module_from_spec(made)
    made.loader.exec_module(module)
    return module


soak = loaded()


@pytest.mark.parametrize("name", soak.LOOPS)
def test_a_loop_leaves_no_nodes_behind(name, monkeypatch):
    monkeypatch.setattr(soak, "POINTS", 3)
    nodes = [each[soak.COLUMNS.index("nodes")] for each in soak.soaked(name, 90)]
    assert len(nodes) == 3
    assert nodes[-1] <= 2 * nodes[0] + 16


@pytest.mark.parametrize("name", soak.LARGE)
def test_a_large_step_computes_what_it_should(name):
    step = soak.LARGE[name](30)
    for number in range(3):
        step(number)


@pytest.mark.parametrize("column", soak.COLUMNS)
def test_growth_is_not_flat(column):
    still = [[100, 50, 200, 5, 2] for _ in range(soak.POINTS)]
    assert soak.flat(still)
    place = soak.COLUMNS.index(column)
    growing = [[each + 20 * number * (at == place) for at, each in enumerate(row)] for number, row in enumerate(still)]
    assert not soak.flat(growing)


@pytest.mark.long
def test_every_loop_is_flat(capsys):
    assert soak.main(["--steps", "5000"]) == 0, capsys.readouterr().out
