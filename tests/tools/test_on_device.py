"""`python tools/on_device.py`: a part that has no time left costs no other part, and what it had found is kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools" / "on_device.py"


def test_each_part_has_its_section_whatever_became_of_the_others(tmp_path):
    page = tmp_path / "page.md"
    command = [sys.executable, str(TOOL), str(page), "--seconds", "24", "--parts", "machine", "examples", "operators"]
    ended = subprocess.run([*command, "--limits", "examples=1"], capture_output=True, text=True, check=False)
    assert ended.returncode == 1, "the examples have no time: " + ended.stderr
    assert [line.partition(":")[0] for line in ended.stdout.splitlines()] == ["machine", "examples", "operators"]
    first, second, third = page.read_text(encoding="utf-8").split("\n## ")[1:]
    assert "| devices | cpu:0" in first
    assert "ended at its limit of 1 s" in second
    assert " calls compared" in third
    assert third.rstrip().endswith(": 0 differ")
