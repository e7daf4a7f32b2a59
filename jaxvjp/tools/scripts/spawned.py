"""What a process that a script has started by `multiprocessing` imports as its main module: the script, on jaxvjp."""

from __future__ import annotations

import atexit
import os
from contextlib import ExitStack

from jaxvjp.tools.scripts.program import SCRIPT, namespace_of, quiet_jax
from jaxvjp.tools.scripts.stand_in import as_torch

if __name__ == "__mp_main__":
    quiet_jax()
    _until_exit = ExitStack()
    atexit.register(_until_exit.close)
    _until_exit.enter_context(as_torch())
    globals().update(namespace_of(os.environ[SCRIPT], __name__))
