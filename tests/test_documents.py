"""Documents that are written from the code are what the code says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jaxvjp.tools.opinfo.report import document, table, written_into

ROOT = Path(__file__).parent.parent
SPEED = ROOT / "docs" / "speed.md"


def test_the_names_are_those_of_the_registry():
    page = (ROOT / "docs" / "operators.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert page == document(), "python -m jaxvjp.tools.opinfo.report"
    assert table() in readme, "python -m jaxvjp.tools.opinfo.report"
    assert written_into(readme.replace("| 457 |", "| 3 |", 1)) == readme


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", SPEED.read_text(encoding="utf-8"), re.DOTALL))
def test_every_python_block_about_speed_runs(block):
    exec(compile(block, "speed.md", "exec"), {"__name__": "speed"})
