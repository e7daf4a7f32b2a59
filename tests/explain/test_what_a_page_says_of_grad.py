"""What a page says of `.grad`, which `autograd.grad` leaves as it is, and of a backward that failed."""

from __future__ import annotations

import re

import numpy as np
import pytest
from browsing import all_of, close, move, opened, steps, text_of
from test_source import run_lines

import jaxvjp
from jaxvjp.__main__ import main


def test_autograd_grad_leaves_grad_as_it_is(browser, tmp_path):
    found = run_lines("""
        with explain.recording() as story:
            x = torch.tensor([1.0, 2.0], requires_grad=True)
            y = torch.stack([x[0] * x[1], x[0] - x[1]])
            y.backward(torch.tensor([1.0, 1.0]), retain_graph=True)
            (first,) = torch.autograd.grad(y, x, torch.tensor([0.0, 5.0]))
    """)
    assert found["x"].grad.tolist() == [3.0, 0.0]
    opened(browser, found["story"], tmp_path / "page.html")
    assert "leaves .grad as it is" in text_of(browser, "#question")
    close(steps(browser)[1][0], found["first"].numpy())
    said = text_of(browser, "main").replace("\n", " ")
    assert "gradient for x = [5 -5]" in said
    assert "x.grad = [5 -5]" not in said
    assert ".grad at that moment" not in said
    assert ".grad = [5 -5]" not in text_of(browser, "#objects")
    all_of(browser, "#which option")[0].click()
    assert "x.grad = [3 0]" in text_of(browser, "#lines").replace("\n", " ")


def test_a_backward_that_failed_asks_which_v_and_has_no_grad(browser, tmp_path, capfd):
    script, page = tmp_path / "script.py", tmp_path / "page.html"
    script.write_text(
        "import torch\nx = torch.tensor([1.0, 2.0], requires_grad=True)\nheight = x * x\nheight.backward()\n",
        encoding="utf-8",
    )
    assert main(["explain", str(script), "--html", str(page)]) == 1
    assert "height[1].backward()" in capfd.readouterr().out
    browser.get(page.as_uri())
    assert text_of(browser, "#asked-head") == "backward() failed: which v?"
    assert "height has 2 numbers: which weights?" in text_of(browser, "#asked")
    assert "height[1].backward()" in text_of(browser, "#asked")
    assert text_of(browser, "#question").startswith("This backward failed.")
    assert text_of(browser, "#objects-note") == ""
    shown = text_of(browser, "main").replace(text_of(browser, "#asked"), "")
    assert "x.grad" not in shown
    assert not [each for each in browser.get_log("browser") if each["level"] == "SEVERE"]


def test_a_backward_that_failed_and_was_caught_is_where_it_was_called(browser, tmp_path):
    script, page = tmp_path / "script.py", tmp_path / "page.html"
    script.write_text(
        "import torch\nx = torch.tensor([1.0, 2.0], requires_grad=True)\nout = x * x\ntry:\n    out.backward()\n"
        "except RuntimeError:\n    pass\nout.backward(torch.tensor([1.0, 5.0]))\nprint(x.grad)\n",
        encoding="utf-8",
    )
    assert main(["explain", str(script), "--html", str(page)]) == 0
    browser.get(page.as_uri())
    labels = [each.text for each in all_of(browser, "#which option")]
    assert labels == ["1: line 5, out.backward(): failed", "2: line 8, out.backward(torch.tensor([1.0, 5.0]))"]
    close(" ".join(each.text for each in all_of(browser, "[data-product]")), [2.0, 20.0])
    assert "used up" in text_of(browser, "#graph")
    all_of(browser, "#which option")[0].click()
    assert "used up" not in text_of(browser, "#graph")
    assert "x.grad" not in text_of(browser, "#objects")
    lines = browser.execute_script("return moments().map(each => each.line ? run[each.ran].line : 'back')")
    assert [*lines[:4], lines[-1]] == [2, 3, 4, "back", 9]


def test_a_function_of_several_results_goes_back_once(browser, tmp_path):
    class Scale(jaxvjp.autograd.Function):
        @staticmethod
        def forward(ctx, x, s):
            ctx.save_for_backward(x, s)
            return x * s, s * 2, x + s

        @staticmethod
        def backward(ctx, of_x, of_s, of_sum):
            x, s = ctx.saved_tensors
            return of_x * s + of_sum, (of_x * x).sum() + 2 * of_s + of_sum.sum()

    for line in ("y = a.exp() * b + a * c", "y = c * 2", "y = a * 3 + b", "y = b + c.sin()"):
        found = run_lines(
            f"""
            with explain.recording() as story:
                x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
                s = torch.tensor(0.5, requires_grad=True)
                a, b, c = Scale.apply(x * 1, s)
                {line}
                y.backward(torch.tensor([1.0, -2.0, 0.5]))
            """,
            Scale=Scale,
        )
        sums = {}
        for link in found["story"].cotangents():
            for name, value in link.leaves:
                sums[name] = sums.get(name, 0) + value
        for name in ("x", "s"):
            np.testing.assert_allclose(sums[name], found[name].grad.numpy(), rtol=1e-5)
        opened(browser, found["story"], tmp_path / "page.html")
        for text, name in zip(steps(browser)[1], ("x", "s"), strict=True):
            close(text, found[name].grad.numpy())


def test_while_steps_go_back_the_names_are_those_where_backward_was_called(browser, tmp_path):
    class Square(jaxvjp.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (saved,) = ctx.saved_tensors
            twice = 2 * saved
            return twice * grad

    with jaxvjp.explain.recording(lines=True) as story:
        x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
        y = Square.apply(x) + x
        y.backward(jaxvjp.tensor([1.0, 0.5]))
    opened(browser, story, tmp_path / "page.html")
    names = [each.text for each in all_of(browser, "#objects .names code")]
    assert {"x", "y"} <= {*names}
    assert not {"saved", "twice", "grad"} & {*names}


ROUNDS = {
    "a break before it": """
        for i in range(20):
            f = x ** 2
            if i == 15:
                break
            f.backward()
    """,
    "a branch": """
        for i in range(20):
            f = x ** 2
            if i < 12:
                f.backward()
            else:
                x.grad = torch.tensor(1.0)
    """,
    "no branch": """
        for i in range(5):
            f = x ** 2
            f.backward()
    """,
}


@pytest.mark.parametrize("name", ROUNDS)
def test_the_objects_are_those_of_the_round_of_the_backward(browser, tmp_path, name):
    loop = re.sub(r"( +)f\.backward\(\)", r"\1f.backward()\n\1x.data.sub_(0.1)", ROUNDS[name])
    lines = f"""
    x = torch.tensor(5.0, requires_grad=True)
    with explain.recording(lines=True) as story:
        x.grad = None{loop}
    """
    opened(browser, run_lines(lines)["story"], tmp_path / "page.html")
    for _ in range(browser.execute_script("return story.walks.length")):
        (card,) = [each for each in all_of(browser, "#objects .memory") if each.text.startswith("x\n")]
        x, twice = card.find_element("css selector", ".cells").text, text_of(browser, "[data-product]")
        assert abs(2 * float(x) - float(twice)) < 1e-3
        browser.execute_script("place -= 1; if (place >= 0) drawWalk()")


def test_a_grad_that_raised_returned_nothing(browser, tmp_path, capfd):
    script, page = tmp_path / "script.py", tmp_path / "page.html"
    lines = "import torch\nx, z = (torch.tensor([k, 2.0], requires_grad=True) for k in (1.0, 3.0))\ny = (x**2).sum()\n"
    script.write_text(f"{lines}torch.autograd.grad(y, [x, z])\n", encoding="utf-8")
    assert main(["explain", "--html", str(page), str(script)]) == 1
    assert "appears to not have been used" in capfd.readouterr().err
    browser.get(page.as_uri())
    assert text_of(browser, "#question").startswith("The line raised an error after this backward pass")


def test_without_a_jacobian_the_page_says_why(browser, tmp_path):
    found = run_lines("""
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        with explain.recording() as story:
            y = x * 3
            x.data = torch.tensor([5.0, 6.0])
            z = (x * y).sum()
            z.backward()
    """)
    opened(browser, found["story"], tmp_path / "page.html")
    said = text_of(browser, "#picked")
    assert said.startswith("There is no Jacobian to show: a leaf was written between two of its uses")
    assert text_of(browser, "#question").startswith("What does the argument of z.backward(v) mean?")
    assert "Move v" not in text_of(browser, "#question")


def test_grad_is_written_once_with_all_that_arrives(browser, tmp_path):
    found = run_lines("""
        with explain.recording() as story:
            x = torch.tensor([1.0, 2.0], requires_grad=True)
            y = (x * 3).sin() + x * 5
            x.register_hook(lambda gradient: gradient * 100)
            y.backward(torch.tensor([1.0, 1.0]))
    """)
    opened(browser, found["story"], tmp_path / "page.html")
    shown = []
    for moment in range(int(browser.execute_script("return moments().length"))):
        browser.execute_script(f"go({moment})")
        shown += [browser.execute_script("return moment.line ? null : grads(step)[0][1]")]
    now = [each for each in shown if each is not None]
    assert now[:-1] == ["None"] * (len(now) - 1)
    close(now[-1], found["x"].grad.numpy())


def test_the_grad_is_that_of_the_tensor_not_of_its_name(browser, tmp_path, capfd):
    script, page = tmp_path / "script.py", tmp_path / "page.html"
    script.write_text(
        "import torch\nw = torch.tensor([1.0, -1.0], requires_grad=True)\n(w**2).sum().backward()\n"
        "w = w - 0.1 * w.grad\nh = w.detach()\n",
        encoding="utf-8",
    )
    assert main(["explain", str(script), "--html", str(page)]) == 0, capfd.readouterr().err
    browser.get(page.as_uri())
    browser.execute_script("go(1000)")
    assert "w\n" in text_of(browser, "#objects")
    assert ".grad" not in text_of(browser, "#objects")


def test_at_a_leaf_that_is_the_result_v_arrives(browser, tmp_path):
    script, page = tmp_path / "script.py", tmp_path / "page.html"
    script.write_text(
        "import torch\nx = torch.tensor([5.0, 6.0], requires_grad=True)\nx.backward(torch.tensor([1.0, 3.0]))\n"
        "print(x.grad)\n",
        encoding="utf-8",
    )
    assert main(["explain", str(script), "--html", str(page)]) == 0
    browser.get(page.as_uri())
    for moment in range(browser.execute_script("return moments().length")):
        browser.execute_script(f"go({moment})")
        assert "x.grad = None" not in text_of(browser, "main").replace("\n", " ")
    assert "x.grad = [1 3]" in text_of(browser, "#lines").replace("\n", " ")


def test_a_backward_to_a_leaf_that_is_gone_says_so(browser, tmp_path):
    found = run_lines("""
        with explain.recording() as story:
            x = torch.tensor([1.0, 2.0], requires_grad=True).double()
            y = (x * x).sum()
            y.backward()
    """)
    opened(browser, found["story"], tmp_path / "page.html")
    asked = text_of(browser, "#question")
    assert asked.startswith("What does the argument of y.backward(v) mean? It reaches a leaf that no name holds")
    assert "autograd.grad" not in asked


def test_a_leaf_without_elements_has_a_page(browser, tmp_path):
    found = run_lines("""
        with explain.recording() as story:
            x = torch.tensor([1.0, -2.0], requires_grad=True)
            e = torch.zeros(0, requires_grad=True)
            y = torch.cat([x.abs(), e]) * 3
            y.backward(torch.tensor([1.0, 2.0]))
            (e.sum() * 2).backward()
    """)
    opened(browser, found["story"], tmp_path / "page.html")
    assert "an array in it has no elements" in text_of(browser, "main")
    all_of(browser, "#which option")[0].click()
    move(browser, [5.0, 2.0])
    assert not [each for each in browser.get_log("browser") if each["level"] == "SEVERE"]


def test_an_infinite_v_leaves_zeros_of_j_zero(browser, tmp_path):
    found = run_lines("""
        with explain.recording() as story:
            x = torch.arange(1.0, 19.0).requires_grad_()
            y = x[:3] ** 2
            y[1:].backward(torch.tensor([float("inf"), 1.0]))
    """)
    opened(browser, found["story"], tmp_path / "page.html")
    assert "nan" not in text_of(browser, "main")
    assert "Of 18 numbers the first 16 can be moved." in text_of(browser, "main")


def test_lines_that_a_backward_runs_are_where_it_runs_them(browser, tmp_path, capfd):
    script, page = tmp_path / "script.py", tmp_path / "page.html"
    script.write_text(
        """import torch
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        twice = g * 2
        return twice
def half(g):
    return g / 2
x = torch.tensor([1.0, 2.0], requires_grad=True)
for _ in range(2):
    y = Double.apply(x)
    z = y * 3
    z.register_hook(half)
    z.sum().backward()
print(x.grad)
""",
        encoding="utf-8",
    )
    assert main(["explain", str(script), "--html", str(page)]) == 0
    browser.get(page.as_uri())
    assert "J has what the backward of Double gives, as you wrote it." in text_of(browser, "main")
    said = "return moments().map((_, k) => (go(k), get('told').textContent.replace(/^step [0-9]+ of [0-9]+, /, '')))"
    for number in range(2):
        all_of(browser, "#which option")[number].click()
        told = browser.execute_script(said)
        back = next(k for k, each in enumerate(told) if each.startswith("back"))
        assert [each.partition(", run")[0].partition(" (")[0] for each in told[back : back + 8]] == [
            "back through z.sum()",
            "your line 11 in half(): return g / 2",
            "back through the hook of z",
            "back through z",
            "your line 8 in backward(): twice = g * 2",
            "your line 9 in backward(): return twice",
            "back through y",
            "your line 17: z.sum().backward()",
        ], told
