"""What explaining leaves alone: JAX's settings, and the variables of the script that it follows."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import jax
import pytest

import jaxvjp
from jaxvjp.explain.names import variables_of


@pytest.mark.parametrize("dtype", [jaxvjp.float32, jaxvjp.float64])
def test_a_check_in_this_process_keeps_the_settings(dtype):
    before = jax.config.jax_enable_x64, jax.config.jax_default_matmul_precision
    x = jaxvjp.ones(2, 2, dtype=dtype, requires_grad=True)
    y = (jaxvjp.wrap(lambda x: jax.numpy.sin(x) @ x)(x) @ x).sum()
    found = jaxvjp.explain(y).check()
    assert (jax.config.jax_enable_x64, jax.config.jax_default_matmul_precision) == before
    assert [each.dtype.name for each in found.values()] == [dtype.name]


class Frame(SimpleNamespace):
    @property
    def f_locals(self):
        raise AssertionError("CPython 3.12 then loses variables of a comprehension that is traced")


def test_variables_outside_of_functions_are_those_of_the_module():
    codes = {each.co_name: each for each in compile("class A: pass", "", "exec").co_consts if hasattr(each, "co_name")}
    for code in (compile("", "", "exec"), codes["A"]):
        assert variables_of(Frame(f_code=code, f_globals={"x": 3})) == {"x": 3}


COMPREHENSIONS = """
import torch
x = torch.ones(3, requires_grad=True)
ys = [
    x * i
    for i in range(1, 3)
]
class C:
    doubled = [
        p * 2
        for p in (1, 2)
    ]
    places = {
        k: v
        for k, v in enumerate(doubled)
    }
def f(y):
    return [
        a + y
        for a in ys
    ]
z = sum(
    y.sum()
    for y in f(x)
)
try:
    raise ValueError
except ValueError as e:
    again = [e for e in ys]
z.backward()
print(C.places, x.grad.tolist())
"""


def test_comprehensions_of_a_script_that_is_followed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(COMPREHENSIONS, encoding="utf-8")
    page = tmp_path / "page.html"
    command = [sys.executable, "-W", "error", "-m", "jaxvjp", "explain", "--html", page, script]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "{0: 2, 1: 4} [5.0, 5.0, 5.0]\n")
    assert page.exists()
