"""Keeps how each program is compiled best, so that `choosing` tries it on a machine and not in each process.

A choice is a small text file in the folder of JAX's compilation cache, `JAX_COMPILATION_CACHE_DIR`, beside what XLA
compiled: the command line sets it, a library import does not. Where JAX keeps nothing, nothing is kept here.
The file is named by what the choice depends on: the program in StableHLO, JAX and XLA, and the machine. A file that is
cut off or holds something else counts as none: it names ways and settings, never code.

A choice that was timed while other programs kept the machine busy may be a bad one, and would be kept for ever. So it
is taken once a second process has chosen the same, or a third has chosen.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import jax
from jaxlib import version

from jaxvjp.types.accelerators import is_on

KEPT = is_on("kept choices")
ENOUGH = 3
"""After so many processes have chosen, the last choice is taken."""


def file_of(compiled: Any, operands: Sequence[Any]) -> Path | None:
    """Where the choice for what `jax.jit` returned and such operands is kept; None where JAX keeps nothing."""
    folder = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
    if not (folder and KEPT and jax.config.jax_enable_compilation_cache):  # type: ignore[attr-defined]
        return None
    machine = [jax.__version__, version.__version__, platform.node(), platform.processor(), str(os.cpu_count())]
    told = "\n".join([*machine, compiled.lower(*operands).as_text()])
    return Path(folder) / f"{hashlib.sha256(told.encode()).hexdigest()}.choice"


def read(file: Path | None) -> tuple[str, list[str]] | None:
    """The way and the settings that a file names and that are to be taken; None if there are none."""
    kept = _kept(file)
    return None if kept is None or kept[2] is not None else kept[:2]


def write(file: Path | None, way: str, settings: Sequence[str]) -> None:
    """Keeps a choice, as a whole file or not at all."""
    if file is None:
        return
    before = _kept(file)
    chosen = 1 if before is None or before[2] is None else before[2] + 1
    agreed = chosen == ENOUGH or (before is not None and before[:2] == (way, list(settings)))
    part = file.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        part.write_text(json.dumps({"way": way, "settings": list(settings), "chosen": None if agreed else chosen}))
        os.replace(part, file)


def _kept(file: Path | None) -> tuple[str, list[str], int | None] | None:
    """The way and the settings in a file, and how many processes have chosen so far, if they have not agreed yet."""
    with suppress(OSError, ValueError, TypeError, AttributeError):
        known = json.loads(file.read_text()) if file else {}
        way, settings, chosen = known.get("way"), known.get("settings"), known.get("chosen")
        if isinstance(way, str) and isinstance(settings, list) and (chosen is None or isinstance(chosen, int)):
            return way, settings, chosen
    return None
