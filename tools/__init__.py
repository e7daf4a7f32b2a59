"""What the developers of jaxvjp run, from the folder of a checkout, such as `python -m tools.fuzz`; no wheel has it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial

from jaxvjp.__main__ import process


def command(main: Callable[[Sequence[str]], int]) -> None:
    """Runs a command with the words that follow it, as those of `jaxvjp` are run, and ends with its status."""
    sys.exit(process(partial(main, sys.argv[1:])))
