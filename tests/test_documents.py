"""Documents that are written from the code are what the code says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jaxvjp.opinfo.report import document

SPEED = Path(__file__).parent.parent / "docs" / "speed.md"


def test_the_page_of_names_is_current():
    page = Path(__file__).parent.parent / "docs" / "operators.md"
    assert page.read_text(encoding="utf-8") == document(), "python -m jaxvjp.opinfo.report > docs/operators.md"


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", SPEED.read_text(encoding="utf-8"), re.DOTALL))
def test_every_python_block_about_speed_runs(block):
    exec(compile(block, "speed.md", "exec"), {"__name__": "speed"})
