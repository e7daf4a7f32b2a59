"""What the developers of jaxvjp run, from the folder of a checkout, such as `python -m tools.fuzz`; no wheel has it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence

from jaxvjp.tools import kept_programs


def command(main: Callable[[Sequence[str]], int]) -> None:
    """Ends the process with the status of a command, which keeps what it compiles, as those of `jaxvjp` do."""
    kept_programs.keep()
    gc.freeze()
    sys.exit(main(sys.argv[1:]))
