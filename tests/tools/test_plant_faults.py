"""`tools/plant_faults.py`: every text is where it belongs, and a planted fault is found."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "tools" / "plant_faults.py"
made = importlib.util.spec_from_file_location("plant_faults", FILE)
plant = importlib.util.module_from_spec(made)
made.loader.exec_module(plant)


def test_each_text_is_there_once_and_each_area_has_its_faults():
    assert len(plant.FAULTS) >= 60
    for each in plant.FAULTS:
        assert each.before != each.after
        compile(each.text(), each.file, "exec")
    assert {each.area for each in plant.FAULTS} == set(plant.TESTS)


@pytest.mark.parametrize("before", ["no such text", "self"])
def test_a_text_that_is_not_there_once_is_refused(before, monkeypatch):
    wrong = plant.Fault("core/run/memory.py", before, "pass", "")
    monkeypatch.setattr(plant, "FAULTS", [wrong])
    monkeypatch.setattr(plant, "first_failure", lambda folder, tests: pytest.fail("nothing may run"))
    with pytest.raises(ValueError, match="it has to be there once"):
        plant.main([])


def test_a_fault_is_found_and_a_change_of_nothing_is_not(monkeypatch, capsys):
    faults = [
        plant.Fault("core/run/plan.py", "counters.dispatches += 1", "counters.dispatches += 2", ""),
        plant.Fault("core/run/plan.py", "counters.dispatches += 1", "counters.dispatches += 2 - 1", ""),
        plant.Fault("core/run/plan.py", "counters.dispatches += 1", "counters.dispatches += 1 + 0", "zero"),
    ]
    monkeypatch.setattr(plant, "FAULTS", faults)
    monkeypatch.setitem(plant.TESTS, "core/run", "tests/core/test_core.py -k one_dispatch_and_brings")
    assert plant.main([]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "found by tests/" in lines[1]
    assert [line.strip() for line in lines[3::2]][:2] == ["NOT FOUND", "equivalent: zero"]
    assert lines[-1] == "3 faults: 1 found, 1 equivalent, 1 not found"
