"""Documents that are written from the code are what the code says."""

from __future__ import annotations

from pathlib import Path

from jaxvjp.opinfo.report import document


def test_the_page_of_names_is_current():
    page = Path(__file__).parent.parent / "docs" / "operators.md"
    assert page.read_text(encoding="utf-8") == document(), "python -m jaxvjp.opinfo.report > docs/operators.md"
