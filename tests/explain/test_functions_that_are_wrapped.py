"""A program has copies of the functions of the user's that are wrapped, where they need nothing but JAX."""

from __future__ import annotations

import numpy as np
import pytest

from jaxvjp.__main__ import main

pytestmark = pytest.mark.once
START = """import jax, jax.numpy as jnp
import jaxvjp as torch
k = 2.0
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
"""
COPIED = {
    "one in another": (
        "rows = torch.wrap(lambda x: jax.vmap(lambda y: y * 2)(x))\nz = rows(x)",
        "rows = lambda x: jax.vmap(lambda y: y * 2)(x)",
    ),
    "a lambda with a name": (
        "two = torch.wrap(lambda x: (x * 0.5, x * 2))\na, b = two(x)\nz = a + b",
        "two = lambda x:",
    ),
    "one within a line": ("z = x + torch.wrap(lambda x: jnp.sin(x).sum())(x)", "function = lambda x:"),
    "decorated": (
        "@torch.wrap\ndef cube(x: float, p=3) -> float:\n    return x**p\nz = cube(x, p=2)",
        "def cube(x, p=3):",
    ),
}
HANDED_OVER = {
    "it reads a number": "z = torch.wrap(lambda x: x * k)(x)",
    "a default is read": "z = torch.wrap(lambda x, by=k: x * by)(x)",
    "a closure": "def of(by):\n    return lambda x: x * by\nz = torch.wrap(of(3.0))(x)",
    "two in one line": "z = torch.wrap(lambda x: x * 2)(x) + torch.wrap(lambda x: x * 3)(x)",
}


def printed(tmp_path, capsys, lines):
    script = tmp_path / "script.py"
    script.write_text(f"{START}{lines}\nz.backward(torch.tensor([-1.0, 0.5, -2.0]))\n", encoding="utf-8")
    assert main(["explain", str(script)]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("name", COPIED)
def test_a_function_that_needs_nothing_but_jax_is_copied(name, tmp_path, capsys):
    lines, own = COPIED[name]
    out = printed(tmp_path, capsys, lines)
    assert own in out
    program, script = {}, {}
    exec(out, program)
    exec(compile((tmp_path / "script.py").read_text(encoding="utf-8"), str(tmp_path / "script.py"), "exec"), script)
    np.testing.assert_allclose(program["x_grad"], script["x"].grad.numpy(), rtol=1e-6)


@pytest.mark.parametrize("name", HANDED_OVER)
def test_another_is_handed_over(name, tmp_path, capsys):
    assert "a function of yours; run() hands it over" in printed(tmp_path, capsys, HANDED_OVER[name])
