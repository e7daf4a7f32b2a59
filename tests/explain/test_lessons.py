"""The lessons of `examples/lessons`: both forms agree, and the explanation of the imperative one runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_source import run_lines

import jaxvjp
from jaxvjp.tools.course.lesson import lessons

ROOT = Path(__file__).parent.parent.parent
LESSONS = {each.path.stem: each for each in lessons()}
SHOWS = {
    "01": "jax.vjp(f, x)",
    "03": "jax.jvp(",
    "05": "jax.lax.stop_gradient(",
    "06": "@jax.custom_vjp",
    "07": "jax.checkpoint(",
    "08": "for _ in range(",
    "10": ".at[0].",
    "14": "for _ in range(",
}
"""What has to be in the program that is printed of a lesson."""


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson(name):
    lesson = LESSONS[name]
    with jaxvjp.explain.recording() as story:
        given = lesson.module.imperative()
    jaxvjp.testing.assert_close(given, lesson.module.functional())
    if story.walks or SHOWS.get(name[:2]):
        story.check()
        assert SHOWS.get(name[:2], "") in story.source
    assert lesson.title.startswith("You wrote ")


def test_the_document_shows_what_is_printed():
    text = (ROOT / "docs" / "explain.md").read_text(encoding="utf-8")
    shown = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert len(shown) == text.count("```text") == 2
    for code, printed in shown:
        assert str(run_lines(code)["story"]) == printed.rstrip()
