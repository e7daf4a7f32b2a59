"""`docs/jax.md`: its blocks run in their order, and each line of its tables gives what stands beside it."""

from __future__ import annotations

import re
from pathlib import Path

import jax
import pytest

import jaxvjp

PAGE = (Path(__file__).parents[2] / "docs" / "jax.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(.+)` \| `(.+)` \|$", re.MULTILINE)
PARTS = re.split(r"```python\n", PAGE)[1:]
LINES = [(place, *row) for place, part in enumerate(PARTS) for row in ROW.findall(part)]


@pytest.fixture(scope="module")
def spaces():
    """The names that each block's lines may use: those of all blocks up to it."""
    namespace, found = {}, []
    for part in PARTS:
        exec(compile(part.partition("```")[0], "jax.md", "exec"), namespace)
        found.append(dict(namespace))
    return found


@pytest.mark.parametrize(("place", "line", "gives"), LINES, ids=[row[1] for row in LINES])
def test_each_line_gives_what_it_says(spaces, place, line, gives):
    error, _, sentence = gives.partition(": ")
    if error.endswith("Error"):
        with pytest.raises(Exception, match=re.escape(sentence)) as caught:
            eval(line, spaces[place])
        assert caught.type.__name__ == error
    else:
        given = str(eval(line, spaces[place]))
        assert given.startswith(gives) if gives.startswith("<") else given == gives


def test_all_rows_are_executed():
    rows, heads, measured = re.findall(r"^\| [^|-].*", PAGE, re.MULTILINE), 6, 4
    assert len(rows) == heads + measured + len(LINES)
    assert len(LINES) > 50


def test_the_recurrence_takes_the_memory_that_the_table_says(spaces):
    rows = re.findall(r"^\| `(\w+)` \| ([\d.]+) \| [\d.]+ \| [\d.]+ \|$", PAGE, re.MULTILINE)
    names, told = [each for each, _ in rows], [float(each) for _, each in rows]
    xs, weights = jaxvjp.ones(64, 16, 64) * 0.1, spaces[-1]["weights"]
    memory, values = [], []
    for name in names:
        y = spaces[-1][name](xs)
        function = jaxvjp.as_function(y, weights)
        compiled = jax.jit(jax.grad(function, (0, 1))).lower(*function.operands).compile()
        memory.append(compiled.memory_analysis().temp_size_in_bytes)
        values.append(float(compiled(*function.operands)[0].sum()))
    assert names == ["unrolled", "scanned", "scanned_with_checkpoints", "scanned_in_chunks"]
    assert memory == sorted(memory, reverse=True)
    assert [each / memory[0] for each in memory] == pytest.approx(told, abs=0.1)  # another XLA may need a little more
    assert values == pytest.approx([values[0]] * 4, rel=1e-4)
