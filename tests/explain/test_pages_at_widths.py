"""Each kind of page on a phone, a tablet and a desk, in light, in dark and on paper: all fits, axe finds nothing."""

from __future__ import annotations

import pytest
from browsing import WIDTHS, all_of, go_through, opened, text_of, violations
from test_source import run_lines
from test_what_moves_on_a_page import HOOKED, OVERLAPS, SEVERAL

import jaxvjp
from jaxvjp.tools.course.lesson import lessons
from jaxvjp.tools.course.page import save
from jaxvjp.tools.examples import examples

LEAF = "x = torch.tensor([1.0, 2.0, 5.0], requires_grad=True)\n"
PAGES = {
    "sums of several cotangents": SEVERAL,
    "a hook": HOOKED,
    "a hook that the page cannot run": HOOKED.replace("grad.clamp(max=1.0)", "grad.sort()[0]"),
    "a J of many rows": "x = torch.ones(20, requires_grad=True)\ny = x * x\ne = explain(y)",
    "the plane of outputs": f"{LEAF}y = x * x.sum()\ne = explain(y)",
    "complex numbers": "x = torch.tensor([1 + 2j, 0.5 - 1j], requires_grad=True)\ny = x ** 2\ne = explain(y)",
    "autograd.grad, twice": f"""
{LEAF}with explain.recording() as story:
    y = (x ** 3).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    torch.autograd.grad(g, x, torch.ones(3))
""",
    "no backward": "with explain.recording(lines=True) as story:\n    y = torch.tensor([1.0, 2.0]) * 2",
    "names of many letters": """
speed_of_the_ball = torch.tensor([10.0, 12.0, 15.0], requires_grad=True)
height_over_the_ground = speed_of_the_ball * 1.5 - 9.81 / 2 * 1.5**2
e = explain(height_over_the_ground)
""",
}
PAPER = """
const cut = [...document.querySelectorAll("main section")].filter(each => {
  const {left, right} = each.getBoundingClientRect();
  return left < -1 || right > document.documentElement.clientWidth + 1;
});
return cut.map(each => each.textContent.slice(0, 40));"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """By kind the file of a page, written when it is asked for."""
    folder, written = tmp_path_factory.mktemp("pages"), {}

    def page(kind):
        if kind not in written:
            written[kind] = folder / f"{len(written)}.html"
            if kind == "a lesson":
                save(lessons()[0], written[kind])
            elif kind == "a backward that failed":
                asked(folder / "script.py").save(written[kind])
            else:
                found = run_lines(PAGES[kind])
                (found.get("story") or found["e"]).save(written[kind])
        return written[kind]

    return page


def asked(script):
    source = "x = torch.tensor([1.0, 2.0], requires_grad=True)\ny = x * x\n"
    source += "y.backward(torch.ones(2), retain_graph=True)\ny.backward()\n"
    script.write_text(source, encoding="utf-8")
    with jaxvjp.explain.recording() as story, pytest.raises(RuntimeError, match="scalar outputs"):
        exec(compile(source, str(script), "exec"), {"torch": jaxvjp})
    return story


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", [*PAGES, "a lesson", "a backward that failed"])
def test_all_fits_and_can_be_read(browser, schemes, pages, kind, width):
    browser.get_log("browser")
    browser.get(pages(kind).as_uri())
    if kind == "the plane of outputs":
        all_of(browser, "#jacobian select")[0].send_keys("outputs")
    for shown in schemes(width):
        assert shown.execute_script("return document.documentElement.scrollWidth") <= width
        assert shown.execute_script(OVERLAPS) == []
        assert not violations(shown)
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert browser.execute_script(PAPER) == []
        assert not [each for each in all_of(browser, ".controls button") if each.is_displayed()]
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert not [each for each in browser.get_log("browser") if each["level"] == "SEVERE"]


@pytest.mark.long
@pytest.mark.parametrize("each", [*lessons(), *examples().values()], ids=lambda each: each.path.stem)
def test_the_page_of_each_lesson_and_example_is_gone_through(browser, tmp_path, each):
    browser.get_log("browser")
    with jaxvjp.explain.recording() as story:
        each.module.imperative()
    opened(browser, story, tmp_path / "page.html")
    for _ in go_through(browser):
        assert "undefined" not in text_of(browser, "main")
    assert not [log for log in browser.get_log("browser") if log["level"] == "SEVERE"]
