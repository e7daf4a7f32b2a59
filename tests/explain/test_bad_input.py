"""What cannot be explained raises an error that says what to write instead."""

from __future__ import annotations

import contextlib
import random

import numpy as np
import pytest
from test_source import run_lines

import jaxvjp
from jaxvjp import explain
from jaxvjp.__main__ import main
from jaxvjp.core.record.modes import listening


def test_a_leaf_a_constant_and_a_number():
    x = jaxvjp.tensor([1.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="there is nothing to explain: this tensor is a leaf"):
        explain(x)
    with pytest.raises(RuntimeError, match=r"no graph to explain(.|\n)*requires_grad=True"):
        explain(jaxvjp.ones(2) * 2)
    with pytest.raises(TypeError, match="takes a tensor, not float"):
        explain(2.0)
    with pytest.raises(RuntimeError, match=r"output\[0\] has a shape of torch.Size\(\[1\]\)"):
        explain(x * 2, jaxvjp.ones(3))
    for v in ([1.0], 1.0):
        with pytest.raises(TypeError, match=r"Make a tensor of v(.|\n)*jaxvjp.tensor\("):
            explain(x * 2, v)
    with pytest.raises(ValueError, match="there is no style 'forward': write 'vjp', 'grad', 'jacrev'"):
        str((x * 2).explain(style="forward"))


@pytest.mark.parametrize("dtype", ["int64", "float64", "bool", "bfloat16"])
def test_v_is_converted_to_the_dtype_of_the_result(dtype):
    x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
    v = jaxvjp.tensor([1, 0], dtype=getattr(jaxvjp, dtype))
    explained = (x * 2).explain(v)
    np.testing.assert_array_equal(explained.run()["x_grad"], [2.0, 0.0])
    explained.check()


def test_a_backward_of_a_leaf_has_the_identity_as_its_jacobian():
    story = run_lines("""
        x = torch.tensor([4.0, 1.0], requires_grad=True)
        with explain.recording() as story:
            y = x
            y.backward(torch.tensor([2.0, 3.0]))
    """)["story"]
    assert "x_grad = jnp.array([2.0, 3.0])" in story.source
    story.check()
    (matrix,) = story.jacobian().matrices
    np.testing.assert_array_equal(matrix.jacobian, np.eye(2))


def test_a_running_product_has_a_jacobian():
    story = run_lines("""
        x = torch.tensor([4.0, 1.0, 2.0], requires_grad=True)
        with explain.recording() as story:
            x.cumprod(0).backward(torch.ones(3))
    """)["story"]
    (matrix,) = story.jacobian().matrices
    np.testing.assert_array_equal(matrix.jacobian, [[1, 0, 0], [1, 4, 0], [2, 8, 4]])


def test_what_ran_before_a_script_failed_is_explained(tmp_path, capsys):
    script, page = tmp_path / "script.py", tmp_path / "page.html"
    script.write_text(
        "import torch\nx = torch.tensor([1.0, 2.0], requires_grad=True)\ny = x**3\n"
        "y.backward(torch.tensor([1.0, 0.0]))\ny.backward(torch.tensor([0.0, 1.0]))\n",
        encoding="utf-8",
    )
    assert main(["explain", str(script), "--html", str(page)]) == 1
    out, error = capsys.readouterr()
    assert "jax.vjp(f, x)" in out
    assert "line 4: y.backward(torch.tensor([1.0, 0.0]))" in out
    assert "Trying to backward through the graph a second time" in error
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert page.stat().st_size > 10_000


@pytest.mark.parametrize(
    ("given", "told"), [("a.ipynb", "a notebook explains itself"), ("a.py --picture a.png", "not to a.png")]
)
def test_files_that_explain_does_not_read_or_write(tmp_path, monkeypatch, capsys, given, told):
    monkeypatch.chdir(tmp_path)
    for name in ("a.py", "a.ipynb"):
        (tmp_path / name).write_text("", encoding="utf-8")
    with pytest.raises(SystemExit, match="2"):
        main(["explain", *given.split()])
    assert told in capsys.readouterr().err


def test_a_freed_graph_is_torchs_error_with_the_line():
    with pytest.raises(RuntimeError, match=r"second time(.|\n)*recorded by line 2 of(.|\n)*explain\.recording\(\)"):
        run_lines("""
            x = torch.tensor([1.0], requires_grad=True)
            y = (x * x).sum()
            y.backward()
            explain(y)
        """)


def test_a_function_is_used_up_if_what_it_saved_is_freed(tmp_path):
    class Square(jaxvjp.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, gradient):
            return 2 * ctx.saved_tensors[0] * gradient

    class Same(Square):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            return gradient

    x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
    with explain.recording() as story, contextlib.suppress(RuntimeError):
        y = Same.apply(Square.apply(x))
        y.sum().backward()
        y.backward()
    story.save(tmp_path / "page.html")
    assert "A backward before freed the graph of y" in str(story)
    assert [box.title for box in story.picture().boxes if "used up" in box.marks] == ["Square.apply(x)"]
    with pytest.raises(RuntimeError, match=r"second time(.|\n)*The freed node is SquareBackward"):
        explain(y)
    with explain.recording() as story, contextlib.suppress(RuntimeError):
        y = Square.apply(x)
        y.backward()
    assert "the backward of `y`, which is yours, has not run" in story.page()._repr_html_()


def test_a_recording_that_goes_on_and_one_without_a_backward():
    with explain.recording() as story:
        x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
        y = x * 2
        with pytest.raises(RuntimeError, match="the recording has not ended"):
            str(story)
    assert "y = x * 2" in str(story)
    assert story.run() == {}
    for each in (story.jacobian, story.cotangents, story.picture):
        with pytest.raises(ValueError, match="no backward took place"):
            each()
    assert y.shape == (2,)
    assert not listening()


def test_a_recording_that_raises_leaves_nothing_behind():
    with pytest.raises(ZeroDivisionError), explain.recording():
        1 / 0  # noqa: B018
    assert not listening()
    x = jaxvjp.tensor([1.0], requires_grad=True)
    y = x * x
    y.backward()
    assert y.__node__.inputs == () or y.__node__.freed


def test_ten_thousand_operations_are_a_loop_or_a_summary():
    x = jaxvjp.tensor([1.0], requires_grad=True)
    y = x
    for _ in range(5000):
        y = y * 1.0001
        y = y + 0.5
    assert "for _ in range(5000):" in str(y.explain())
    z = x
    for number in range(2000):
        z = z * (1 + number / 10_000)
    assert z.explain().source.count("for number") == 1  # over a list of them
    z, order = x, random.Random(0)
    for _ in range(2000):
        z = order.choice([jaxvjp.sin, jaxvjp.cos, jaxvjp.tanh, jaxvjp.atan])(z)
    explanation = z.explain()
    assert "more lines: `.source` has them all" in str(explanation)
    assert explanation.source.count("\n") > 400
    explanation.check(rtol=1e-3)


def test_a_value_too_long_for_a_literal_is_encoded():
    for x in (jaxvjp.randn(30, 40), jaxvjp.randn(200, dtype=jaxvjp.complex64), jaxvjp.randn(15, 10).bfloat16()):
        x.requires_grad_()
        explanation = (x * x).real.sum().explain()
        assert "...'), jnp." in str(explanation)
        exec(explanation.source, {})
        assert explanation.check()["x_grad"].shape == x.shape


def test_a_function_whose_backward_reads_values_needs_a_recording():
    source = """
        class Odd(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g * float(g.sum())

        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = Odd.apply(x)
    """
    with pytest.raises(RuntimeError, match="reads values, so it can only be shown in a recording"):
        str(run_lines(source)["y"].explain())


def test_a_function_whose_backward_reads_values_is_shown_where_no_backward_reaches_it():
    source = """
        class Odd(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g * float(g.sum())

        x = torch.tensor([1.0, 2.0], requires_grad=True)
        with explain.recording() as story:
            h = Odd.apply(x)
            y = Odd.apply(h * 3)
            y.register_hook(lambda g: g * 2)
            (slope,) = torch.autograd.grad((y**2).sum(), h)
    """
    story = run_lines(source)["story"]
    story.check()
    np.testing.assert_allclose(story.jacobian()["h"].shape, [2])


def test_special_numbers_are_written():
    x = jaxvjp.tensor([float("inf"), float("nan"), -float("inf"), 1e-30], requires_grad=True)
    assert "jnp.array([jnp.inf, jnp.nan, -jnp.inf, 1e-30])" in (x * 2).explain().source
