"""`docs/scale.md`: its lines on eight devices, its table from XLA, the dispatches that it counts."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from pathlib import Path

import pytest
from test_meshes import run

import jaxvjp
from tools import scale

PATH = Path(__file__).parents[2] / "docs" / "scale.md"
PAGE = PATH.read_text(encoding="utf-8")


def test_each_line_gives_what_it_says():
    found = run(8, "lines_of_document.py", str(PATH))
    assert len(found) == 22
    for line, gives, given in found:
        assert given.startswith(gives) if "Error: " in gives else given == gives, line


def figures(count, kind):
    command = [sys.executable, "-m", "tools.scale", str(count), kind]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def told(count, kind):
    """The line of the page's table, but for its last cell: XLA's count of operations may change by a little."""
    (line,) = re.findall(rf"^\| {kind} \| {count} \|.*$", PAGE, re.MULTILINE)
    return line.rsplit("|", 2)[0]


@pytest.mark.parametrize("kind", ["replicated", "sharded"])
def test_the_table_is_what_xla_says_of_eight_devices(kind):
    assert scale.row(figures(8, kind)).rsplit("|", 2)[0] == told(8, kind)


@pytest.mark.long
@pytest.mark.parametrize("count", [each for each in scale.COUNTS if each != 8])
@pytest.mark.parametrize("kind", ["replicated", "sharded"])
def test_the_table_is_what_xla_says(count, kind):
    assert scale.row(figures(count, kind)).rsplit("|", 2)[0] == told(count, kind)


def figures_of(name):
    command = [sys.executable, "-m", "tools.scale", name]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def told_of(row):
    """The numbers in a line of the page's tables of ratios."""
    (line,) = re.findall(rf"^\| {row} \| (.*) \|$", PAGE, re.MULTILINE)
    return [float(each) for each in line.split(" | ")]


@pytest.mark.long
def test_the_host_takes_for_ten_thousand_operations_what_the_page_says():
    """About: other work on the machine disturbs one of the two more than the other, but not by a factor of two."""
    found = figures_of("host")
    assert found["dispatches"] == 2 * math.ceil(10_000 / 256) - 1
    ratios = [found[each] / found["jax"] for each in ("record", "back")]
    told = [*told_of("recorded"), *told_of("gone back through, and all computed")]
    assert [each / one for each, one in zip(ratios, told, strict=True)] == pytest.approx([1, 1], abs=0.9)


@pytest.mark.long
def test_a_mesh_of_256_devices_costs_to_compile_what_the_page_says():
    for kind, (few, many) in figures_of("compiling").items():
        assert [b / a for a, b in zip(few, many, strict=True)] == pytest.approx(told_of(f"parameters {kind}"), abs=0.6)


@pytest.mark.long
def test_a_step_on_eight_devices_takes_what_it_takes_written_in_jax():
    """The better of two runs, as other work on the machine is in the way of either."""
    runs = [figures_of("beside") for _ in range(2)]
    assert min(each["replicated"] for each in runs) < 1.1
    assert min(each["sharded"] for each in runs) < 1.15


def test_bytes_of_collectives_are_read_off_a_compiled_text():
    text = """
  %all-reduce.1 = (f32[4,2]{1,0}, f32[]) all-reduce(%a, %b), channel_id=1
  ROOT %g = bf16[8]{0} all-gather-start(%c), dimensions={0}
  %h = f32[8]{0} add(%all-reduce.1, %g)"""
    assert scale.collectives(text) == {"all-reduce": [36], "all-gather": [16], "reduce-scatter": [], "all-to-all": []}


@pytest.mark.compiled
@pytest.mark.parametrize("count", [600, 1100])
def test_dispatches_of_a_long_graph(count):
    x = jaxvjp.ones(2, requires_grad=True)
    for _ in range(3):
        y = x
        for at in range(count - 1):  # never the same twice in a row, and not in rounds: it is no loop
            y = y.sin() if at * at % 7 < 3 else y * (1 + at % 3)
        before = jaxvjp.counters.dispatches
        y.sum().backward()
        x.grad = None
    assert jaxvjp.counters.dispatches - before == 2 * math.ceil(count / 256) - 1
