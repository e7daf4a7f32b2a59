"""The lessons of `examples/lessons`: both forms agree, and the explanation of the imperative one runs."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from test_source import run_lines

import jaxvjp

ROOT = Path(__file__).parent.parent.parent
LESSONS = sorted((ROOT / "examples" / "lessons").glob("*.py"))
SHOWS = {
    "01": "jax.vjp(f, x)",
    "03": "jax.jvp(",
    "05": "jax.lax.stop_gradient(",
    "06": "@jax.custom_vjp",
    "07": "jax.checkpoint(",
    "08": "for _ in range(",
}
"""What has to be in the program that is printed of a lesson."""


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson(path):
    spec = importlib.util.spec_from_file_location(f"lesson_{path.stem}", path)
    lesson = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(lesson)
    with jaxvjp.explain.recording() as story:
        given = lesson.imperative()
    jaxvjp.testing.assert_close(given, lesson.functional())
    story.check()
    assert SHOWS.get(path.stem[:2], "") in story.source
    assert lesson.__doc__.startswith("You wrote ")


def test_the_document_shows_what_is_printed():
    text = (ROOT / "docs" / "explain.md").read_text(encoding="utf-8")
    shown = zip(
        re.findall(r"```python\n(.*?)```", text, re.DOTALL),
        re.findall(r"```text\n(.*?)```", text, re.DOTALL),
        strict=True,
    )
    for code, printed in shown:
        assert str(run_lines(code)["story"]) == printed.rstrip()
