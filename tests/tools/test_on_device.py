"""`python tools/on_device.py`: a part that has no time left costs no other part, and what it had found is kept."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools" / "on_device.py"


def test_each_part_has_its_section_whatever_became_of_the_others(tmp_path):
    page = tmp_path / "page.md"
    command = [sys.executable, str(TOOL), str(page), "--seconds", "100", "--parts", "examples", "machine"]
    ended = subprocess.run([*command, "--limits", "examples=1"], capture_output=True, text=True, check=False)
    assert ended.returncode == 1, "the examples have no time: " + ended.stderr
    assert [line.partition(":")[0] for line in ended.stdout.splitlines()] == ["examples", "machine"]
    first, second = page.read_text(encoding="utf-8").split("\n## ")[1:]
    assert "ended at its limit of 1 s" in first
    assert "| devices | cpu:0" in second


def test_operators_are_those_of_the_cpu():
    """However many there is time for."""
    command = [sys.executable, str(TOOL), "--part", "operators", str(time.monotonic() + 8)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.rstrip().endswith(" calls compared: 0 differ")
