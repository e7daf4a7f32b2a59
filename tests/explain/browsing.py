"""What the tests of pages do in a browser (the fixtures `browser` and `schemes` of conftest.py)."""

from __future__ import annotations

import re

import numpy as np
import pytest

WIDTHS = (390, 800, 1440)


def opened(browser, explanation, path):
    explanation.save(path)
    browser.get(path.as_uri())


def all_of(browser, selector):
    return browser.find_elements("css selector", selector)


def text_of(browser, selector):
    return browser.find_element("css selector", selector).text


def move(browser, v):
    """Types the numbers of v."""
    browser.execute_script(
        """const fields = document.querySelectorAll('#sliders input[type="number"]');
        arguments[0].forEach((each, k) => { fields[k].value = each; fields[k].dispatchEvent(new Event("input")); });""",
        v,
    )


def numbers(text):
    """The numbers in a text of the page, without their brackets."""
    return np.array([complex(each) for each in re.sub(r"[\[\]]", " ", text).split()])


def close(text, expected):
    np.testing.assert_allclose(numbers(text), np.ravel(expected), rtol=2e-4, atol=1e-5)


def steps(browser):
    """What the page shows of each step of the backward pass: what arrives, what goes on; of the leaves at the end."""
    back = browser.execute_script("return moments().flatMap((each, k) => each.line ? [] : [k])")
    read = "return [...document.querySelectorAll('#arrived > table:%s td')].map(each => each.textContent)"
    found = []
    for number in back:
        browser.execute_script(f"go({number})")
        found.append(browser.execute_script(read % "first-child"))
    return found, browser.execute_script(read % "nth-child(2)")


def violations(browser):
    """What axe-core finds that is not accessible."""
    axe = pytest.importorskip("selenium_axe_python").Axe(browser)
    axe.inject()
    wrong = axe.run()["violations"]
    return axe.report(wrong) if wrong else ""


def go_through(browser):
    """Chooses each backward of a page, moves v and x, and goes through all moments."""
    for number in range(browser.execute_script("return story.walks.length")):
        browser.execute_script("get('which').value = arguments[0]; get('which').onchange()", number)
        yield number
        browser.execute_script(
            """const fields = '#sliders input[type="number"], #inputs input[type="number"]';
            for (const each of document.querySelectorAll(fields)) {
              each.value = Number(each.value) + .25; each.dispatchEvent(new Event("input")); }
            moments().forEach((_, k) => go(k));"""
        )
        yield number
