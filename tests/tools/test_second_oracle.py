"""Gradients of random programs agree with central differences and with `jax.grad` of the explained text, without torch;
and a wrong gradient is noticed."""

from __future__ import annotations

from typing import Any

import pytest

import jaxvjp
from tools.fuzz import differences
from tools.fuzz.differences import TEXT, USED
from tools.fuzz.kinds import KINDS


def found(seeds: range) -> list[Any]:
    return [each for seed in seeds for each in differences.differences(seed)]


@pytest.mark.parametrize("seed", [1, 6, 10, 13])
def test_both_agree(seed: int) -> None:
    assert not found(range(seed, seed + 1))


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 1000, 50))
def test_both_agree_on_many_programs(first: int) -> None:
    assert differences.report(range(first, first + 50), frozenset()) == 0


def test_a_program_with_an_error_of_its_own_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert differences.report(range(15, 16), frozenset()) == 0
    assert "1 programs: the gradients of 0 disagree, 1 have an error of their own" in capsys.readouterr().out


def test_a_wrong_gradient_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = jaxvjp.autograd.grad

    def doubled(*given: Any, **named: Any) -> Any:
        return tuple([each if each is None else each * 2 for each in asked(*given, **named)])

    monkeypatch.setattr(jaxvjp.autograd, "grad", doubled)
    assert any(each.oracle == differences.DIFFERENCES for each in found(range(12, 14)))


def test_a_small_bend_has_no_slope() -> None:
    step = differences.STEP
    assert differences.slope(0.004 * step, 0.0, 0.0) is None
    assert differences.slope(3 * step, 0.0, -3 * step) == pytest.approx(3)


def test_another_text_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences, "near", lambda given, expected: False)
    assert {each.oracle for each in found(range(12, 14))} == {TEXT}


def test_the_kinds_of_statements_are_there() -> None:
    assert {each.name for each in KINDS} >= USED
