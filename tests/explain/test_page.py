"""The HTML page in a real browser: v is moved, and what follows it is compared with what jaxvjp computes for that v."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from browsing import WIDTHS, all_of, close, move, opened, steps, text_of, violations
from test_source import run_lines

import jaxvjp
from jaxvjp.explain.page import page_of

LINES = """
x = torch.tensor([1.0, 2.0], requires_grad=True)
with explain.recording() as story:
    h = x * 3
    y = h ** 2 + x[0]
    y.backward(torch.tensor([1.0, 0.0]), retain_graph=True)
    y.backward(torch.tensor([1.0, 10.0]))
"""
PASSES = """
x = torch.tensor([1.0, 2.0], requires_grad=True)
with explain.recording() as story:
    for k in range(9):
        (x * k).sum().backward()
    (x * x).sum().backward()
"""
PROGRAMS = {
    "views and writes": """
x = torch.tensor([[1.0, 2.0], [0.5, -1.0]], requires_grad=True)
h = x * 1
h[0] = x[1].sin()
h.t()[1] *= 2
y = h.sum(0) * x[0, 1]
""",
    "a product of matrices, and two leaves": """
x = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
w = torch.tensor([[1.0, 2.0, 0.0], [0.5, -1.0, 3.0]], requires_grad=True)
y = torch.tanh(w @ x) + w.detach()[:, 0]
""",
    "a loop, over one number": """
x = torch.tensor([0.3, 0.1], requires_grad=True)
h = x
for i in range(4):
    h = (h * x).cos()
y = h.sum()
""",
    "complex numbers inside": """
x = torch.tensor([1 + 2j, 0.5 - 1j], requires_grad=True)
y = (x * x.conj()).real + (x ** 2).imag
""",
    "a complex result": """
x = torch.tensor([1 + 2j, 0.5 - 1j], requires_grad=True)
y = x ** 2 * (1 - 1j) + x.conj()
""",
    "of many elements": """
x = torch.tensor([0.5, -1.0], requires_grad=True)
y = (torch.arange(40.0)[:, None] * x).sin().sum(1)
""",
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "lesson.html"
    explanation = run_lines(LINES)["story"]
    explanation.save(path)
    return path, explanation


@pytest.fixture
def page(browser, saved):
    browser.get(saved[0].as_uri())
    yield browser, saved[1]
    assert not [each for each in browser.get_log("browser") if each["level"] == "SEVERE"]


def test_data_of_any_kind_goes_into_a_page(tmp_path):
    lines = LINES.replace("h = x * 3", "h = x * 3  # no NaN, Infinity, </script> <!-- <script> \\u2028 STORY TITLE")
    explanation = run_lines(lines.replace("[1.0, 10.0]", "[float('nan'), -float('inf')]"))["story"]
    text = page_of(explanation)
    (data,) = re.findall(r'<script id="story" type="application/json">(.*?)</script>', text, re.DOTALL)
    story = json.loads(data, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert any("no NaN, Infinity, </script> <!-- <script>" in each["text"] for each in story["lines"])
    assert [each["value"] for each in story["walks"][1]["v"]] == ["NaN", "-Infinity"]
    assert "<" not in data


def test_the_page_needs_no_network(saved):
    text = saved[0].read_text(encoding="utf-8")
    assert not set(re.findall(r"https?://[\w./]+", text)) - {"http://www.w3.org/2000/svg"}
    assert "<link" not in text


def test_of_many_passes_of_a_line_the_first_three_and_the_last_are_shown():
    page = page_of(run_lines(PASSES)["story"])
    assert re.findall(r'"label": "(\d+): line', page) == ["1", "2", "3", "9", "10"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_everything_follows_v(browser, tmp_path, name):
    def explained(v):
        return run_lines(f"{PROGRAMS[name]}\ne = explain(y, v)", v=v)

    found = run_lines(PROGRAMS[name])
    y, rng = found["y"].detach(), np.random.default_rng(0)
    kind = complex if y.is_complex() else float
    given = np.array(rng.uniform(-2, 2, y.shape).round(2) + (0.5j if kind is complex else 0), y.numpy().dtype)
    opened(browser, explained(jaxvjp.tensor(given))["e"], tmp_path / "page.html")
    for _ in range(2):
        v = given
        if y.numel() > 16:
            assert text_of(browser, "#sliders label") == "v = what ran, times"
            assert "added up, is vᵀJ" in text_of(browser, "#picked")
            move(browser, [0.5])
            v = v / 2
        else:
            v = np.array(rng.uniform(-2, 2, y.shape).round(2) + (1j if kind is complex else 0), given.dtype)
            parts = [each for one in v.ravel() for each in ((one.real, one.imag) if kind is complex else (one,))]
            move(browser, [float(each) for each in parts])
        ran = explained(jaxvjp.tensor(v))
        chain = ran["e"].cotangents()
        shown, leaves = steps(browser)
        assert len(shown) == len(chain) > 2
        for texts, link in zip(shown, chain, strict=True):
            for text, value in zip(texts, [link.arrives, *(each for _, each in link.leaves)], strict=True):
                if "…" not in text:
                    close(text, value)
        ran["y"].backward(jaxvjp.tensor(v))
        expected = {each: ran[each].grad.numpy() for each in ("x", "w") if each in ran}
        for (leaf, grad), text in zip(expected.items(), leaves, strict=True):
            close(text, grad)
            product = all_of(browser, f'[data-product="{leaf}"]')
            close(" ".join(each.text for each in product), grad)
            assert f"{leaf}.grad = {text}" in text_of(browser, "#lines").replace("\n", " ")


def test_a_slider_moves_the_product_the_steps_the_graph_and_the_program(page):
    browser, explanation = page
    browser.find_element("tag name", "body").send_keys("\ue004")  # Tab
    first = browser.switch_to.active_element
    assert first.get_attribute("aria-label") == "v for y[0]"  # the first place that the keyboard reaches
    for _ in range(3):
        first.send_keys("\ue014")  # arrow to the right: each is a twentieth of the range
    v = [float(each.get_attribute("value")) for each in all_of(browser, "#sliders input[type=number]")]
    assert v == [4, 10]
    expected = np.array(v) @ explanation.jacobian()["x"]
    close(" ".join(each.text for each in all_of(browser, '[data-product="x"]')), expected)
    assert "v = [4 10]" in text_of(browser, "#lines")
    assert "y ← [4 10]" in text_of(browser, "#program")
    assert f"x.grad = [{19 + expected[0]:g} {expected[1]:g}]" in text_of(browser, "#program")
    flows = [each.text for each in all_of(browser, "#graph text.flow")]
    assert "[4 10]" in flows
    assert "[24 120]" in flows  # into the square, 2 h v
    assert "4 · row y[0] + 10 · row y[1]" in text_of(browser, "#picked")
    assert all_of(browser, "#jacobian svg.arrows path.sum")[0].get_attribute("d").startswith("M100.0 100.0L")


def test_a_box_shows_the_v_that_is_used_where_what_was_typed_is_no_number(page):
    page, _ = page
    move(page, [2.0, 3.0])
    box = page.find_element("css selector", "#sliders input[type=number]")
    for typed in ("", "e"):
        box.clear()
        box.send_keys(typed)
        page.execute_script("arguments[0].blur()", box)
        assert box.get_attribute("value") == "2"
        assert page.execute_script("return v") == [2, 3]


def test_choosing_a_line_shows_what_it_is(page):
    browser, _ = page
    (button,) = [each for each in all_of(browser, "#lines button") if "h = x * 3" in each.text]
    button.send_keys("\n")  # as with the keyboard
    assert button.get_attribute("aria-pressed") == "true"
    assert [each.text.strip().partition("  ")[0] for each in all_of(browser, "#program .marked")] == ["h = x * 3"]
    assert "through h (MulBackward0)" in text_of(browser, "#told")
    (backward,) = [each for each in all_of(browser, "#lines button") if "retain_graph=True" in each.text]
    backward.click()  # another backward than the one that is shown
    assert browser.find_element("id", "which").get_attribute("value") == "0"
    assert [each.get_attribute("value") for each in all_of(browser, "#sliders input[type=number]")] == ["1", "0"]
    assert "vᵀJ is the row y[0] of J" in text_of(browser, "#picked")


def test_stepping_back_and_forth_shows_the_gradient_and_hides_what_is_to_come(page):
    browser, explanation = page
    back, on = (browser.find_element("id", each) for each in ("back", "on"))
    while "through y" not in text_of(browser, "#told"):
        back.click()
    assert "x [19 0]" in all_of(browser, "#arrived table")[1].text  # what the first backward left
    assert len([each for each in all_of(browser, "#graph text.flow") if each.is_displayed()]) == 2
    assert "h ←" not in text_of(browser, "#lines")
    for link in explanation.cotangents():
        assert str(link.name) in text_of(browser, "#told")
        assert all(name in text_of(browser, "#arrived table") for name, _ in link.leaves)
        if on.is_enabled():
            on.click()
    assert "x [48 360]" in all_of(browser, "#arrived table")[1].text
    browser.find_element("tag name", "body").send_keys("\ue012")
    assert "through h ** 2" in text_of(browser, "#told")


def test_another_backward_can_be_chosen(page):
    browser, _ = page
    options = browser.find_element("id", "which").find_elements("tag name", "option")
    assert [each.text.split(":")[0] for each in options] == ["1", "2"]
    options[0].click()
    assert [each.get_attribute("value") for each in all_of(browser, "#sliders input[type=number]")] == ["1", "0"]


def test_a_backward_that_is_chosen_again_has_the_v_and_x_that_ran(page):
    def shown():
        return [text_of(browser, f"#{each}") for each in ("jacobian", "moved", "objects-note", "arrived")]

    browser, _ = page
    ran = shown()
    browser.execute_script(
        """const field = document.querySelectorAll('#inputs input[type="number"]')[0];
        field.value = 1.5; field.dispatchEvent(new Event("input"));"""
    )
    assert shown() != ran
    for k in (0, 1):
        browser.find_element("id", "which").find_elements("tag name", "option")[k].click()
    assert shown() == ran
    assert len(all_of(browser, "#inputs input[type=number]")) > 0


def test_a_gradient_that_is_added_to_counts_its_version(browser, tmp_path):
    lines = """
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        with explain.recording(lines=True) as story:
            (x ** 2).sum().backward()
            (x * x.exp()).sum().backward()
            version = x.grad._version
    """
    found = run_lines(lines)
    opened(browser, found["story"], tmp_path / "page.html")
    read = "go(arguments[0]); return get('objects').textContent.match(/x\\.grad→float32\\[2\\], version (\\d+)/)[1]"
    back = browser.execute_script("return moments().flatMap((each, k) => each.line ? [] : [k])")
    versions = [int(browser.execute_script(read, each)) for each in back]
    assert (versions[0], versions[-1]) == (found["version"] - 1, found["version"])


def test_many_operations_are_folded_by_loop_and_function(browser, tmp_path):
    lines = """
        w = torch.tensor([0.5, -0.2], requires_grad=True)
        def last(x):
            a = x.exp()
            b = a * w
            return b.sin()
        with explain.recording() as story:
            h = torch.ones(2)
            for t in range(170):
                h = torch.tanh(h * w)
                h = h + 0.01 * t
            y = last(h)
            y.backward(torch.tensor([1.0, -0.5]))
    """
    found = run_lines(lines)
    opened(browser, found["story"], tmp_path / "page.html")
    assert len(found["story"].cotangents()) > 500
    shown, leaves = steps(browser)
    assert len(shown) == 2
    close(leaves[0], found["w"].grad.numpy())
    assert "through 170 rounds of lines 9 to 10 (" in text_of(browser, "#told")
    boxes = [each.get_attribute("textContent") for each in all_of(browser, "#graph .node.operation")]
    assert [box.partition("line")[0] for box in boxes] == ["170 rounds", "last()"]
    browser.find_element("id", "whole").click()
    assert int(browser.find_element("id", "step").get_attribute("max")) > 500
    move(browser, [2.0, -1.0])
    close(text_of(browser, "#arrived > table:nth-child(2) td"), 2 * found["w"].grad.numpy())


NOT_FINITE = (
    "The derivative there is not finite, as that of sqrt at 0 or of what overflows, and no finite step moves by it."
)


def test_derivatives_that_are_not_finite_are_said(browser, tmp_path):
    story = run_lines("""
        x = torch.tensor([0.0, 1.0], requires_grad=True)
        with explain.recording() as story:
            y = x.sqrt() * 1
            y.backward(torch.tensor([1.0, 2.0]))
    """)["story"]
    opened(browser, story, tmp_path / "page.html")
    assert "not finite at the x that ran: v is scaled as a whole" in text_of(browser, "#note")
    assert [each.text for each in all_of(browser, "[data-product]")] == ["inf", "1"]
    assert "vᵀJ, for the v that ran and J = ∂y / ∂x" in text_of(browser, "#jacobian")
    assert [each.text for each in all_of(browser, '#jacobian th[scope="row"]')] == ["v · rows", "vᵀJ"]
    assert text_of(browser, "#moved").endswith("0.01 · inf = inf. " + NOT_FINITE)
    assert "Infinity" not in browser.execute_script("return document.querySelector('main').innerText")


def test_a_v_of_one_number_is_written_as_one(browser, tmp_path):
    class Twice(jaxvjp.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return jaxvjp.fft.fft(gradient).real * 2  # what x cannot be moved through

    for line, said in {"y.sum().backward()": "v = 1", "y.backward(torch.tensor([3.0]))": "v = [3]"}.items():
        lines = f"with explain.recording() as story:\n    y = Twice.apply(x)\n    {line}"
        story = run_lines(f"x = torch.tensor([1.0], requires_grad=True)\n{lines}", Twice=Twice)["story"]
        opened(browser, story, tmp_path / "page.html")
        assert browser.execute_script("return stays()")
        assert [each.text.strip() for each in all_of(browser, "#lines .tag") if "v =" in each.text] == [said]


def test_a_jacobian_that_the_lines_ask_for_is_that_of_x(browser, tmp_path):
    found = run_lines("""
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        with explain.recording(lines=True) as story:
            J = torch.autograd.functional.jacobian(lambda x: torch.stack([x[0] ** 2 * x[1], 5 * x[0] + x[1] ** 2]), x)
    """)
    opened(browser, found["story"], tmp_path / "page.html")
    assert "took 2 v at once" in text_of(browser, "#note")
    table = text_of(browser, "#jacobian table").splitlines()
    assert table[0].endswith("/ ∂x")
    assert table[1:] == ["v J x[0] x[1]", "1 y[0] 4 1", "0 y[1] 5 4", "vᵀJ 4 1"]
    move(browser, [1.0, 0.5])
    close(" ".join(each.text for each in all_of(browser, "[data-product]")), [6.5, 3.0])
    assert "jax.vmap(pullback)(jnp.eye(2" in text_of(browser, "#program")


def test_several_roots_are_rows_of_one_jacobian(browser, tmp_path):
    found = run_lines("""
        x = torch.tensor([0.5, 1.0], requires_grad=True)
        with explain.recording(lines=True) as story:
            h = x ** 2
            loss1 = h.sum()
            torch.autograd.backward([loss1, h * 3, loss1], [torch.tensor(2.0), torch.ones(2), torch.tensor(5.0)])
    """)
    opened(browser, found["story"], tmp_path / "page.html")
    assert "What is v in autograd.backward([loss1, h * 3, loss1], v)?" in text_of(browser, "#question")
    table = text_of(browser, "#jacobian table").splitlines()
    assert table[0] == "J = ∂[loss1, h * 3, loss1] / ∂x"
    assert [line.split(" ", 1)[1] for line in table[2:6]] == [
        "loss1 1 2",
        "(h * 3)[0] 3 0",
        "(h * 3)[1] 0 6",
        "loss1 1 2",
    ]
    shown, leaves = steps(browser)
    close(leaves[0], found["x"].grad.numpy())
    close(shown[0][0], [1.0, 1.0])
    close(shown[1][0], 7.0)
    move(browser, [1.0, 0.0, 10.0, 0.0])
    close(" ".join(each.text for each in all_of(browser, "[data-product]")), [1.0, 62.0])
    assert all_of(browser, "#graph text.flow")


def test_a_kink_on_the_way_is_said(browser, tmp_path):
    lines = """
        x = torch.tensor([1.0, -0.5], requires_grad=True)
        e = explain(torch.relu(x - 1).sum() + x.abs().prod())
    """
    opened(browser, run_lines(lines)["e"], tmp_path / "page.html")
    assert "on the way is a kink or a jump" in text_of(browser, "#moved")
    browser.execute_script(
        """const field = document.querySelectorAll('#inputs input[type="number"]')[0];
        field.value = 1.5; field.dispatchEvent(new Event("input"));"""
    )
    assert "kink" not in text_of(browser, "#moved")


def test_long_data_is_folded(browser, tmp_path):
    story = run_lines("""
        with explain.recording() as story:
            x = torch.tensor([[0.5, 0.25, 0.75]] * 10 + [[1.0, 2.0, 3.0]], requires_grad=True)
            w = torch.tensor([i / 2 for i in range(16)])
            y = (x ** 2).sum() + w.sum()
            y.backward()
    """)["story"]
    opened(browser, story, tmp_path / "page.html")
    rows, numbers = all_of(browser, "#program .fold")
    assert rows.text == "… 2 more lines"
    assert "[1.0, 2.0, 3.0]])" not in text_of(browser, "#program")
    rows.click()
    assert "[1.0, 2.0, 3.0]])" in text_of(browser, "#program")
    assert rows.get_attribute("aria-expanded") == "true"
    assert numbers.text.endswith("… 16 numbers]")
    numbers.click()
    assert numbers.text.endswith("7.5]")


def test_a_recording_without_a_backward_is_its_lines_alone(browser, tmp_path):
    story = run_lines("with explain.recording() as story:\n    y = torch.tensor([1.0, 2.0]) * 2")["story"]
    opened(browser, story, tmp_path / "bare.html")
    assert "y = jnp.array([1.0, 2.0]) * 2" in text_of(browser, "#program")
    assert not browser.find_element("id", "jacobian-head").is_displayed()
    (button,) = [each for each in all_of(browser, "#lines button") if each.is_enabled()]
    button.click()
    assert not [each for each in browser.get_log("browser") if each["level"] == "SEVERE"]


@pytest.mark.parametrize("width", WIDTHS)
def test_it_fits_a_phone_and_a_desk_and_v_is_above_the_fold(page, schemes, width):
    colours = set()
    for browser in schemes(width):
        colours.add(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        for selector in ("#sliders label:last-child", '#jacobian [data-product="x"]'):
            assert browser.find_element("css selector", selector).rect["y"] < 600
    assert len(colours) == 2


@pytest.mark.parametrize("width", WIDTHS)
def test_axe_finds_nothing_that_is_not_accessible(page, schemes, width):
    for browser in schemes(width):
        assert not violations(browser)
