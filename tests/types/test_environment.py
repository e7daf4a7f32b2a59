"""The environment variables `JAXVJP_*`: unset or empty is as usual, and a wrong value is an error that names it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from jaxvjp.types.environment import from_environment, one_of

SAYS = """
import jaxvjp
from jaxvjp.core.run.choosing import Choosing
from jaxvjp.core.run.history import History
from jaxvjp.core.run.tiers import Compiling
from jaxvjp.tools.kept_programs import folder
print(Compiling.when, Choosing.enabled, History().told, folder() == folder().parent / "jaxvjp")
"""
NAMES = ("JAXVJP_XLA", "JAXVJP_CHOOSE", "JAXVJP_LOG", "JAXVJP_CACHE", "JAXVJP_WITHOUT")


def told(**variables):
    known = {key: each for key, each in os.environ.items() if key not in NAMES}
    ended = subprocess.run([sys.executable, "-c", SAYS], env=known | variables, capture_output=True, text=True)
    return ended.stdout.split() or ended.stderr.splitlines()[-1]


def test_an_empty_variable_is_as_none():
    assert told() == told(**dict.fromkeys(NAMES, "")) == ["when", "it", "pays", "True", "False", "True"]


def test_what_is_set_counts():
    assert told(JAXVJP_XLA=" 3 ", JAXVJP_CHOOSE="0", JAXVJP_LOG="recompiles", JAXVJP_CACHE="") == [
        *("3", "False", "True", "True")
    ]


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("JAXVJP_XLA", "sometimes", '"when it pays", "always", "never" or the number of a call expected'),
        ("JAXVJP_XLA", "0", "the number of a call expected, not 0"),
        ("JAXVJP_CHOOSE", "false", "0 or 1 expected"),
        ("JAXVJP_LOG", "everything", "recompiles expected"),
        ("JAXVJP_WITHOUT", "plans, caches", "all expected, or some of: remembered calls, remembered walks, "),
    ],
)
def test_a_wrong_value_is_named(name, value, wanted):
    last = told(**{name: value})
    assert last.startswith(f"ValueError: {name}={value} in the environment: ")
    assert wanted in last


def test_reading(monkeypatch):
    monkeypatch.delenv("JAXVJP_TEST", raising=False)
    assert from_environment("JAXVJP_TEST", 7, int) == 7
    for empty in ("", "  "):
        monkeypatch.setenv("JAXVJP_TEST", empty)
        assert from_environment("JAXVJP_TEST", 7, int) == 7
    monkeypatch.setenv("JAXVJP_TEST", "b")
    assert from_environment("JAXVJP_TEST", "", one_of("a", "b")) == "b"
    with pytest.raises(ValueError, match="JAXVJP_TEST=b in the environment: a or c expected"):
        from_environment("JAXVJP_TEST", "", one_of("a", "c"))
