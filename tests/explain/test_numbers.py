"""J, v and vᵀJ as tables; the chain rule step by step; the picture of a graph; the output in a notebook."""

from __future__ import annotations

import html
import itertools
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from test_source import run_lines

import jaxvjp
from jaxvjp import explain

LINES = """
x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([[1.0, 0.5], [2.0, -0.5]], requires_grad=True)
h = x @ w
y = h * 3 + x.detach()
"""


def explained(v):
    found = run_lines(f"{LINES}\ne = explain(y, torch.tensor({v}))")
    return found, found["e"]


def test_the_jacobian_is_labelled_and_says_what_v_does():
    found, explanation = explained([0.0, 1.0])
    jacobian = explanation.jacobian()
    assert str(jacobian).split("\n\n")[0].splitlines() == [
        "y has shape [2] and x [2], so J has shape [2, 2]",
        "v is one-hot: vᵀJ is the row y[1] of J",
        "J     x[0]  x[1]",
        "y[0]     3     6",
        "y[1]   1.5  -1.5",
        "vᵀ  y[0]  y[1]",
        "       0     1",
        "vᵀJ  x[0]  x[1]",
        "      1.5  -1.5",
    ]
    assert jacobian["w"].shape == (2, 2, 2)
    assert "laid out with a row for each element of y and a column for each of w" in str(jacobian)
    found["y"].backward(jaxvjp.tensor([0.0, 1.0]))
    for name in ("x", "w"):
        np.testing.assert_allclose(jacobian.product(name), found[name].grad.numpy(), rtol=1e-6)
    for v, said in (
        ([1.0, 1.0], "sum of the rows, the gradient of y.sum()"),
        ([2.0, 3.0], "each times its number in v"),
    ):
        assert said in str(explained(v)[1].jacobian())


def test_a_jacobian_says_where_a_hook_made_another_gradient():
    story = run_lines("""
        with explain.recording() as story:
            x = torch.tensor([1.0, 2.0], requires_grad=True)
            h = x * 1
            h.register_hook(lambda g: g * 10)
            y = h ** 2
            y.backward(torch.tensor([1.0, 10.0]))
    """)["story"]
    assert "which J leaves out: .grad is not vᵀJ" in str(story.jacobian())


def test_a_large_jacobian_is_refused_with_its_size():
    x = jaxvjp.ones(100, requires_grad=True)
    with pytest.raises(ValueError, match=r"shape \[100, 100\]: 10,000 numbers, more than the 4,096"):
        (x * 2).explain().jacobian()


def test_every_cotangent_of_a_recording_is_the_sum_of_what_left():
    found = run_lines(f"""
{LINES}
with explain.recording() as story:
    a = x * 2
    b = a * a + a.sin()
    b[0] = a[1] * 3
    (b.sum() + b[1]).backward()
    """)
    story = found["story"]
    chain = story.cotangents()
    arrived: dict = {}
    for link in chain:
        if link.node in arrived:
            np.testing.assert_allclose(link.arrives, arrived[link.node], rtol=1e-6)
        for target, (_, value) in zip(link.targets, link.leaves, strict=True):
            arrived[target] = arrived.get(target, 0) + value
    (x,) = (each for each in story.walks[0].gradients)
    np.testing.assert_allclose(arrived[x], found["x"].grad.numpy(), rtol=1e-6)
    assert str(chain).startswith("backwards through  step ")
    names = [each.name for each in chain]
    assert {"b.sum()", "b[0]", "a * a", "a.sin()", "b[1]", "a[1] * 3"} <= {*names}  # what has no name is what it says
    np.testing.assert_allclose(story.jacobian().product("x"), found["x"].grad.numpy(), rtol=1e-6)


def test_cotangents_of_several_results_functions_and_complex_numbers():
    found = run_lines("""
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2

with explain.recording() as story:
    x = torch.tensor([[1.0, 5.0], [4.0, 3.0]], requires_grad=True)
    values, places = x.max(0)
    y = Twice.apply(values) * torch.tensor([1 + 2j, 3j])
    y.backward(torch.tensor([1j, 2.0 + 1j]))
    """)
    chain = found["story"].cotangents()
    assert chain[0].name == "y"
    np.testing.assert_allclose(chain[-1].leaves[0][1], found["x"].grad.numpy(), rtol=1e-6)
    found["story"].check()


def test_the_picture_as_text_mermaid_and_svg():
    _, explanation = explained([1.0, 2.0])
    picture = explanation.picture()
    text = str(picture).splitlines()
    assert text[0].split() == ["value", "what", "it", "is", "made", "from", "cotangent", "line"]
    assert [each.split("  ")[0] for each in text[1:]] == ["x", "w", "h", "h * 3", "x.detach()", "y"]
    assert "¦x" in str(picture)  # no gradient goes back to where it was detached
    mermaid = picture.mermaid()
    assert mermaid.startswith("flowchart TD\n")
    assert "-.->" in mermaid
    assert '-->|"&#91;3 6&#93;"|' in mermaid  # what left the product by 3, to h
    assert picture.svg().startswith("<svg")
    assert picture.svg().count('class="node') == 6


def test_the_graph_is_laid_out_without_overlaps():
    _, explanation = explained([1.0, 2.0])
    picture = explanation.picture()
    svg = ElementTree.fromstring(picture.svg())
    boxes = [each for each in svg if each.get("class", "").startswith("node")]
    assert sorted({each.get("class").split()[1] for each in boxes}) == ["cut", "leaf", "operation"]
    places = [tuple(float(each[0].get(key)) for key in ("x", "y", "width", "height")) for each in boxes]
    assert len(places) == 6
    for (x, y, width, height), (other, below, wide, high) in itertools.combinations(places, 2):
        assert x + width <= other or other + wide <= x or y + height <= below or below + high <= y  # apart
    flows = {each.get("data-flow"): each.text for each in svg if each.get("class") == "flow"}
    assert flows[f"{picture.boxes[2].key} {picture.boxes[3].key}"] == "[3 6]"


def test_what_a_notebook_shows():
    _, explanation = explained([1.0, 2.0])
    text = re.sub(r"<[^>]*>", "", explanation._repr_html_())
    assert html.unescape(text).strip() == str(explanation)
    assert explanation.jacobian()._repr_html_().count("<table ") == 6
    assert explanation.jacobian()._repr_latex_().startswith("$$")
    assert ">h * 3</th>" in explanation.cotangents()._repr_html_()
    x = jaxvjp.ones(60, requires_grad=True)
    assert (x * 2).explain().jacobian()._repr_latex_() is None


def test_a_root_without_a_name_is_y():
    with explain.recording() as story:
        x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
        (x**2).sum().backward()
    jacobian = story.jacobian()
    assert (jacobian.root, [each.name for each in jacobian.matrices]) == ("y", ["x"])
    y = x * 3
    (x * y.detach()).sum().backward()
    assert story.names(story.walks[0])[story.walks[0].roots[0]] == "y"
