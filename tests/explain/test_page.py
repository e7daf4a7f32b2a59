"""The HTML page in a real browser: stepping through, editing v, reading the numbers."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pytest
from test_source import run_lines

from jaxvjp.explain.page import page_of

try:
    import selenium.webdriver as selenium
except ImportError:
    selenium = None

LINES = """
x = torch.tensor([1.0, 2.0], requires_grad=True)
with explain.recording() as story:
    h = x * 3
    y = h ** 2
    y.backward(torch.tensor([1.0, 0.0]), retain_graph=True)
    y.backward(torch.tensor([1.0, 10.0]))
"""


@pytest.fixture(scope="module")
def browser():
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if binary is None or driver is None or selenium is None:
        pytest.skip("needs chromium, chromium-driver and pip install 'jaxvjp[test]'")
    options = selenium.ChromeOptions()
    options.binary_location = binary
    for each in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1300,1000"):
        options.add_argument(each)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = selenium.Chrome(options=options, service=selenium.ChromeService(driver))
    yield opened
    opened.quit()


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "lesson.html"
    explanation = run_lines(LINES)["story"]
    explanation.save(path)
    browser.get(path.as_uri())
    return browser, explanation, path


def test_data_of_any_kind_goes_into_a_page(tmp_path):
    lines = LINES.replace("h = x * 3", "h = x * 3  # no NaN, Infinity, </script> <!-- <script> \\u2028 STORY TITLE")
    explanation = run_lines(lines.replace("[1.0, 10.0]", "[float('nan'), -float('inf')]"))["story"]
    text = page_of(explanation)
    (data,) = re.findall(r'<script id="story" type="application/json">(.*?)</script>', text, re.DOTALL)
    story = json.loads(data, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert any("no NaN, Infinity, </script> <!-- <script>" in each["text"] for each in story["lines"])
    assert story["walks"][1]["v"] == ["NaN", "-Infinity"]
    assert "<" not in data


def all_of(browser, selector):
    return browser.find_elements("css selector", selector)


def text_of(browser, selector):
    return browser.find_element("css selector", selector).text


def test_the_page_needs_no_network_and_raises_nothing(page):
    browser, _, path = page
    text = path.read_text(encoding="utf-8")
    urls = set(re.findall(r"https?://[\w./]+", text)) - {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert not urls
    assert "<link" not in text
    assert not [each for each in browser.get_log("browser") if each["level"] == "SEVERE"]


def test_choosing_a_line_shows_what_it_is(page):
    browser, _, _ = page
    (button,) = [each for each in all_of(browser, "#lines button") if "h = x * 3" in each.text]
    button.send_keys("\n")  # as with the keyboard
    assert button.get_attribute("aria-pressed") == "true"
    assert [each.text.strip().partition("  ")[0] for each in all_of(browser, "#program .marked")] == ["h = x * 3"]
    assert "through h (MulBackward0)" in text_of(browser, "#told")
    (backward,) = [each for each in all_of(browser, "#lines button") if "retain_graph=True" in each.text]
    backward.click()  # another backward than the one that is shown
    assert browser.find_element("id", "which").get_attribute("value") == "0"
    assert [each.get_attribute("value") for each in all_of(browser, "#jacobian input")] == ["1", "0"]
    all_of(browser, "#which option")[1].click()


def test_stepping_back_and_forth_shows_the_cotangents_and_the_gradient(page):
    browser, explanation, _ = page
    chain = explanation.cotangents()
    back, on = (browser.find_element("id", each) for each in ("back", "on"))
    while back.is_enabled():
        back.click()
    seen = []
    for link in chain:
        arrived = text_of(browser, "#arrived table")
        assert str(link.name) in text_of(browser, "#told")
        assert all(name in arrived for name, _ in link.leaves)
        seen.append(all_of(browser, "#arrived table")[1].text)
        if on.is_enabled():
            on.click()
    assert "x [18 0]" in seen[0]  # what the first backward left
    assert "x [36 360]" in seen[-1]
    body = browser.find_element("tag name", "body")
    body.send_keys("\ue012")
    assert "step 1 of 2" in text_of(browser, "#told")


def test_editing_v_changes_the_product(page):
    browser, explanation, _ = page
    jacobian = explanation.jacobian()
    fields = all_of(browser, "#jacobian input")
    assert [float(each.get_attribute("value")) for each in fields] == [1.0, 10.0]
    assert all(each.get_attribute("aria-label") == f"v for y[{place}]" for place, each in enumerate(fields))
    for v in ([1.0, 10.0], [0.0, -2.0], [0.5, 0.25]):
        for field, each in zip(fields, v, strict=True):
            field.clear()
            field.send_keys(str(each))
        products = [float(each.text) for each in all_of(browser, '[data-product="x"]')]
        np.testing.assert_allclose(products, np.array(v) @ jacobian["x"], rtol=1e-4)


def test_another_backward_can_be_chosen(page):
    browser, _, _ = page
    choice = browser.find_element("id", "which")
    options = choice.find_elements("tag name", "option")
    assert [each.text.split(":")[0] for each in options] == ["1", "2"]
    options[0].click()
    assert [each.get_attribute("value") for each in all_of(browser, "#jacobian input")] == ["1", "0"]
    options[1].click()


def test_a_recording_without_a_backward_is_its_lines_alone(page, tmp_path):
    browser, _, path = page
    bare = tmp_path / "bare.html"
    run_lines("with explain.recording() as story:\n    y = torch.tensor([1.0, 2.0]) * 2")["story"].save(bare)
    browser.get(bare.as_uri())
    assert "y = jnp.array([1.0, 2.0]) * 2" in text_of(browser, "#program")
    assert not browser.find_element("id", "jacobian-head").is_displayed()
    (button,) = [each for each in all_of(browser, "#lines button") if each.is_enabled()]
    button.click()
    assert not [each for each in browser.get_log("browser") if each["level"] == "SEVERE"]
    browser.get(path.as_uri())


def test_it_fits_a_phone_and_reads_in_the_dark(page):
    browser, _, _ = page
    colours = set()
    for scheme in ("light", "dark"):
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )
        colours.add(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))
    assert len(colours) == 2
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 375, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    )
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 375
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_screen_reader_finds_names_for_everything(page):
    browser, _, _ = page
    tree = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})
    interactive = [
        each
        for each in tree["nodes"]
        if each.get("role", {}).get("value") in ("button", "slider", "spinbutton", "combobox", "table")
        and not each["ignored"]
    ]
    assert len(interactive) >= 10
    assert all(each.get("name", {}).get("value") for each in interactive), json.dumps(interactive)[:500]
