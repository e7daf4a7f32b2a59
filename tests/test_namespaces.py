"""torch's namespaces that are made of rows: how they are found, and when they are filled. What they answer is in
`test_settings`."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
import traceback

import pytest

import jaxvjp
from jaxvjp.namespaces.rows import SPACES
from jaxvjp.tensor.answers import define, rows_of
from jaxvjp.tools.scripts.names import torch_names

FORMS = """
import jaxvjp.cuda.amp
import jaxvjp.backends.cudnn as cudnn
from jaxvjp.backends import mkldnn
from jaxvjp.mps import *
import jaxvjp.random, importlib.util, sys

assert jaxvjp.backends.cudnn is cudnn is sys.modules["jaxvjp.backends.cudnn"]
assert not is_available() and device_count() == 0
assert importlib.util.find_spec("jaxvjp.mps") is not None
assert "jaxvjp.amp" not in sys.modules
assert jaxvjp.cuda.amp.GradScaler.__module__ == "jaxvjp.cuda.amp" and "jaxvjp.amp" in sys.modules
try:
    import jaxvjp.cuda.nothing
except ModuleNotFoundError:
    print("refused")
"""
FIRST = """
import jaxvjp
vars(jaxvjp.backends.cudnn).keys() >= {"flags"} and print("filled")
jaxvjp.backends.cudnn.benchmark = True  # before anything is read there
with jaxvjp.backends.cudnn.flags(enabled=False):
    inside = jaxvjp.backends.cudnn.benchmark
print(inside, jaxvjp.backends.cudnn.benchmark, jaxvjp.backends.cudnn.benchmark_limit, jaxvjp.backends.cudnn.enabled)
"""


@pytest.mark.parametrize(("code", "printed"), [(FORMS, "refused"), (FIRST, "False True None True")])
def test_in_a_new_process(code, printed):
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == printed


@pytest.mark.parametrize("place", SPACES)
def test_a_namespace_has_torchs_names_and_says_of_others_that_it_has_none(place):
    own = getattr(jaxvjp, place) if "." not in place else sys.modules[f"jaxvjp.{place}"]
    assert f"torch.{place}" in torch_names().modules
    assert own.__all__ == dir(own)
    assert all(getattr(own, each) is getattr(own, each) for each in dir(own))
    assert own.__all__ == sorted(each for each in vars(own) if not each.startswith("__"))  # not what its code uses
    with pytest.raises(AttributeError, match=rf"module 'jaxvjp\.{place}' has no attribute 'nothing'"):
        own.nothing  # noqa: B018


@pytest.mark.parametrize("name", ["cuda.is_available", "cuda.Stream", "mps.synchronize", "backends.cudnn.flags"])
def test_functions_are_pickled_by_name(name):
    place, _, own = name.rpartition(".")
    function = getattr(sys.modules[f"jaxvjp.{place}"], own)
    assert pickle.loads(pickle.dumps(function)) is function


def test_the_source_of_a_row_is_shown_where_it_fails():
    with pytest.raises(RuntimeError) as raised:
        jaxvjp.mps.synchronize()
    assert traceback.extract_tb(raised.tb)[-1].line.startswith("raise RuntimeError(")
    assert inspect.getsource(jaxvjp.mps.synchronize).startswith("def synchronize() -> None:")


def test_rows():
    text = """
    number() -> int = 1  # One.
    of(x: float = 2.0, *, twice: bool = False) -> float = x + factor if twice else x
        The number, or more.
    also = of
    setting: int | None = None
    from math import floor, ceil,
        sqrt
    """
    made = define(rows_of(text), {"__name__": "tests", "factor": 3.0})
    assert list(made) == ["number", "of", "also", "setting", "floor", "ceil", "sqrt"]
    assert (made["number"](), made["of"](), made["also"](1.0, twice=True), made["setting"]) == (1, 2.0, 4.0, None)
    assert made["of"].__doc__ == "The number, or more."
    assert str(inspect.signature(made["of"], eval_str=True)) == "(x: float = 2.0, *, twice: bool = False) -> float"
    with pytest.raises(ValueError, match="no row: number -> int"):
        rows_of("number -> int")
