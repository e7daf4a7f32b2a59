"""Documents that are written from the code are what the code says."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from jaxvjp.tools.opinfo.report import document

ROOT = Path(__file__).parent.parent
SPEED = ROOT / "docs" / "speed.md"
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_names_are_those_of_the_registry():
    page = (ROOT / "docs" / "operators.md").read_text(encoding="utf-8")
    assert page == document(), "python -m jaxvjp.tools.opinfo.report"


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", SPEED.read_text(encoding="utf-8"), re.DOTALL))
def test_every_python_block_about_speed_runs(block):
    exec(compile(block, "speed.md", "exec"), {"__name__": "speed"})


def test_the_architecture_is_of_the_rooms_that_are_there():
    rooms = {str(path.relative_to(ROOT / "jaxvjp").with_suffix("")) for path in (ROOT / "jaxvjp").rglob("*.py")}
    named = re.findall(r"\b(?:autograd|core|library|ops|tensor)(?:/\w+)+", ARCHITECTURE)
    assert len({*named}) > 15
    assert {*named} <= rooms
    for storey in ("record", "run", "derive"):
        inside = {room.rpartition("/")[2] for room in rooms if room.startswith(f"core/{storey}/")} - {"__init__"}
        listed = re.search(rf"^\d\. `{storey}`: (.*?)(?=^\d|^\n)", ARCHITECTURE, re.MULTILINE | re.DOTALL)
        assert inside <= {*re.findall(r"`(\w+)`", listed[1])}


def test_the_picture_of_the_architecture_is_what_its_text_says():
    """Where Mermaid is not drawn the SVG is shown: `mmdc -b white -i docs/architecture.md -o docs/architecture.svg`."""
    text = re.search(r"```mermaid\n(.*?)```", ARCHITECTURE, re.DOTALL)[1]
    picture = (ROOT / "docs" / "architecture-1.svg").read_text(encoding="utf-8")
    shown = "".join(unescape(re.sub(r"<style>.*?</style>|<[^>]*>", "", picture, flags=re.DOTALL)).split())
    labels = [label for each in re.findall(r'["(\[]"(.*?)"', text) for label in each.split("<br>")]
    assert len(labels) > 20
    for label in labels:
        assert "".join(label.split()) in shown
