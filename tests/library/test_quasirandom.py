"""Sobol sequences, with torch's numbers. The direction numbers are SciPy's."""

from __future__ import annotations

import pytest
from oracle import agreement_of, programs_of, raises

import jaxvjp

pytest.importorskip("scipy")


def points(torch):
    engine = torch.quasirandom.SobolEngine(5)
    return engine.draw(3), engine.draw(), engine.draw(2, dtype=torch.float64), engine.num_generated, repr(engine)


def scrambled(torch):
    engine = torch.quasirandom.SobolEngine(3, scramble=True, seed=7)
    torch.manual_seed(3)
    other = torch.quasirandom.SobolEngine(2, scramble=True)
    return engine.draw(1), engine.draw(5), repr(engine), other.draw(4), torch.rand(1)


def many_dimensions(torch):
    return torch.quasirandom.SobolEngine(21201).draw(9)[:, ::500]


def forward_and_anew(torch):
    engine = torch.quasirandom.SobolEngine(2)
    made = [engine.fast_forward(4).draw(2), engine.fast_forward(3).draw(), engine.reset().draw_base2(2)]
    return made, engine.draw_base2(2, out=torch.empty(0)), engine.num_generated


@raises(ValueError)
def no_power_of_2(torch):
    engine = torch.quasirandom.SobolEngine(2)
    engine.draw(3)
    engine.draw_base2(2)


@raises(ValueError)
def too_many_dimensions(torch):
    torch.quasirandom.SobolEngine(21202)


test_agrees_with_torch = agreement_of(programs_of(globals()))


def test_direction_numbers_are_scipys(monkeypatch):
    monkeypatch.setattr(jaxvjp.quasirandom, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install scipy"):
        jaxvjp.quasirandom.SobolEngine(2)
