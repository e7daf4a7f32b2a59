"""`python -m jaxvjp doctor`: what it finds is right, and it notices an operator that is not."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import jaxvjp
from jaxvjp.__main__ import main
from jaxvjp.tools import doctor


@pytest.fixture
def shorter(monkeypatch):
    """Few examples and operators, and no benchmark."""
    two = dict(list(doctor.all_examples().items())[:2])
    monkeypatch.setattr(doctor, "all_examples", lambda: two)
    monkeypatch.setattr(doctor, "OPERATORS", {name: doctor.OPERATORS[name] for name in ("x @ y", "x[0] = y", "sort")})
    monkeypatch.setattr(doctor, "steps", list)
    return doctor.OPERATORS


def test_the_whole_table_is_printed_and_written(shorter, tmp_path, capsys):
    assert main(["doctor", "--json", str(tmp_path / "found.json")]) == 0
    found = json.loads((tmp_path / "found.json").read_text())
    assert set(found["examples"].values()) == {True}
    assert found["operators"].keys() == shorter.keys()
    said = capsys.readouterr().out
    for each in (found["machine"]["jax"], "2 examples, all agree", "four warm steps under jit"):
        assert each in said


def test_a_large_tensor_is_written_where_it_is():
    # In a process of its own: a thread that an earlier test left might read what it overwrites.
    code = "from jaxvjp.tools import doctor; print(doctor.memory()['places'])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "1\n"


def test_an_operator_that_is_wrong_in_float32_is_found(shorter, capsys):
    shorter["wrong"] = lambda x, y: x * y + (0.01 if x.dtype is jaxvjp.float32 else 0.0)
    assert main(["doctor"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if line.endswith("NO")] == ["wrong"]


@pytest.mark.parametrize("name", doctor.OPERATORS)
def test_every_operator_has_gradients_and_agrees(name):
    matrices = doctor.np.random.default_rng(1).normal(size=(2, 64, 64))
    exact = doctor.value_and_gradients(name, *matrices, **doctor.EXACT)
    given = doctor.value_and_gradients(name, *matrices, dtype=jaxvjp.float32)
    assert len(exact) == len(given) >= 2
    assert max(map(doctor.distance_between, exact, given)) <= doctor.TOLERANCE
