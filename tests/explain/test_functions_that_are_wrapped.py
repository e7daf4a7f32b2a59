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
    "it reads a number": ("z = torch.wrap(lambda x: x * k)(x)", "function = lambda x: x * 2.0"),
    "two in one line": (
        "z = torch.wrap(lambda x: x * 2)(x) + torch.wrap(lambda x: x * 3)(x)",
        "= lambda x: x * 3",
    ),
    "it calls another": (
        "def double(x):\n    return k * x\ndef mine(x):\n    return jnp.sin(double(x))\nz = torch.wrap(mine)(x)",
        "def double(x):\n    return 2.0 * x",
    ),
    "an attribute has the name of a variable": (
        "sin = 3\nz = torch.wrap(lambda x: jnp.sin(x))(x)",
        "function = lambda x: jnp.sin(x)",
    ),
    "compiled": ("z = torch.wrap(jax.jit(lambda x: x * 3))(x)", "function = lambda x: x * 3"),
    "compiled with a derivative": (
        "@jax.jit\n@jax.custom_jvp\ndef cube(x):\n    return x**3\n"
        "cube.__wrapped__.defjvp(lambda x, t: (x[0] ** 3, 5 * t[0]))\nz = torch.wrap(cube)(x)",
        "cube.defjvp(cube_jvp)",
    ),
    "with a derivative of its own": (
        "@jax.custom_vjp\ndef held(x):\n    return x\n"
        "held.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -0.1, 0.1),))\nz = torch.wrap(held)(x) ** 2",
        "held.defvjp(held_fwd, held_bwd)",
    ),
    "with a forward derivative": (
        "@jax.custom_jvp\ndef cube(x):\n    return x**3\n"
        "@cube.defjvp\ndef rule(x, t):\n    return cube(x[0]), 5 * x[0] ** 2 * t[0]\nz = torch.wrap(cube)(x)",
        "cube.defjvp(cube_jvp)",
    ),
}
HANDED_OVER = {
    "it reads a number that changes": "k = 3.0\nz = torch.wrap(lambda x: x * k)(x)",
    "it reads an array": "a = jnp.ones(3)\nz = torch.wrap(lambda x: x * a)(x)",
    "two that call each other": (
        "def a(x, n):\n    return b(x, n) * 2\ndef b(x, n):\n    return a(x, n - 1) if n else x\n"
        "z = torch.wrap(a)(x, 2)"
    ),
    "a policy of its own": "z = torch.wrap(jax.checkpoint(lambda x: x * 2))(x)",
    "a default is read": "z = torch.wrap(lambda x, by=k: x * by)(x)",
    "a closure": "def of(by):\n    return lambda x: x * by\nz = torch.wrap(of(3.0))(x)",
}


def printed(tmp_path, capsys, lines):
    script = tmp_path / "script.py"
    script.write_text(f"{START}{lines}\nz.backward(torch.tensor([-1.0, 0.5, -2.0]))\n", encoding="utf-8")
    assert main(["explain", str(script)]) == 0
    found = capsys.readouterr()
    assert ("there can be no copy of" in found.err) == ("hands it over" in found.out)
    return found.out


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


TRAINED = """for _ in range(3):
    loss = FUNCTION(x).sum()
    loss.backward()
    with torch.no_grad():
        x -= 0.1 * x.grad
    x.grad = None
"""


@pytest.mark.parametrize(
    ("lines", "status"),
    [("def function(x):\n    return jnp.sin(x) * k", 0), ("a = jnp.ones(3)\ndef function(x):\n    return x * a", 1)],
)
def test_a_port_has_a_copy_or_is_refused(lines, status, tmp_path, capsys):
    script = tmp_path / "script.py"
    text = TRAINED.replace("FUNCTION", "torch.wrap(function)")
    script.write_text(f"{START}{lines}\n{text}", encoding="utf-8")
    assert main(["port", str(script), "-o", str(tmp_path / "jax.py"), "--check"]) == status
    told = "line 9: there can be no copy of function, a wrapped function: "
    assert (told in capsys.readouterr().err) == bool(status)
