"""What stands in the tables of a report, on a terminal and in a page."""

from __future__ import annotations

from jaxvjp.tools.comparison.gradients import Leaf
from jaxvjp.tools.comparison.text import CLOSE, DIFFERENT, SAME

MARKS = {SAME: "=", CLOSE: "≈", DIFFERENT: "≠"}
SIDE_HEADS = ("", "version", "loading", "run", "lines", "backward passes", "end")
LEAF_HEADS = ("", "leaf", "shape", "dtype", "absolute", "relative", "ulps", "")
"""What stands above `Side.cells`, and above the `cells` of a leaf."""


def cells(head: str, leaf: Leaf) -> list[str]:
    """The row of a leaf in a table; `head` says of which backward pass it is."""
    numbers = ["" if each is None else f"{each:.2g}" for each in (leaf.absolute, leaf.relative)]
    numbers.append("" if leaf.ulps is None else str(leaf.ulps))
    shape = str(list(leaf.shape)) if leaf.name else ""
    return [head, leaf.name, shape, leaf.dtype, *numbers, f"{MARKS[leaf.verdict]} {leaf.note}".rstrip()]
