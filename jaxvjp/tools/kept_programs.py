"""The folder in which the command line keeps what XLA has compiled: `python -m jaxvjp cache`.

`keep` has this process use JAX's persistent compilation cache, so that XLA compiles nothing in a second
`python -m jaxvjp run script.py`. Only the command line calls it: importing jaxvjp changes no setting of JAX. Whoever
imports it sets JAX's own variable, `JAX_COMPILATION_CACHE_DIR`, which comes first here too.

JAX compiles anew, with a warning, what cannot be read. As it would run whatever code is in a file, a folder that
somebody else could write to is not used.
"""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

import jax

from jaxvjp.types.environment import from_environment

MOST = 1 << 29
"""Bytes that are kept at the most. Beyond, those go that were written first."""


def folder() -> Path | None:
    """Where programs are kept: `$JAXVJP_CACHE`, by default `jaxvjp` in the user's folder for caches; None for "0"."""
    named = from_environment("JAXVJP_CACHE", "", str)
    if named == "0":
        return None
    return Path(named or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jaxvjp")


def keep() -> None:
    """Has JAX keep what this process compiles, unless it was told where to by its own variable."""
    where = folder()
    if where is None or jax.config.jax_compilation_cache_dir is not None:  # type: ignore[attr-defined]
        return
    try:
        where.mkdir(mode=0o700, parents=True, exist_ok=True)
        mine = is_mine(where)
        if mine:
            prune(where)
    except OSError as error:
        print(f"Compiled programs are not kept: {error}", file=sys.stderr)
        return
    if not mine:
        print(f"Compiled programs are not kept: others can write to {where}", file=sys.stderr)
        return
    jax.config.update("jax_compilation_cache_dir", str(where))  # type: ignore[no-untyped-call]
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)  # type: ignore[no-untyped-call]


def is_mine(where: Path) -> bool:
    """Whether nobody but this user can write to a folder."""
    if not hasattr(os, "getuid"):  # Windows gives each user folders of their own
        return True
    known = where.stat()
    return known.st_uid == os.getuid() and not known.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def files(where: Path) -> list[tuple[float, int, Path]]:
    """When each file was written, its bytes, and where it is; the oldest first."""
    found = []
    for each in where.glob("*") if where.is_dir() else ():
        try:
            known = each.stat()
        except OSError:  # another process has removed it
            continue
        if stat.S_ISREG(known.st_mode):
            found.append((known.st_mtime, known.st_size, each))
    return sorted(found)


def prune(where: Path, most: int = MOST) -> None:
    """Removes the oldest files, until the others have at most so many bytes."""
    found = files(where)
    size = sum(each for _, each, _ in found)
    for _, bytes_, path in found:
        if size <= most:
            return
        path.unlink(missing_ok=True)
        size -= bytes_


def main(arguments: Sequence[str] = ()) -> int:
    """Says where programs are kept and how many bytes they have; with `--clear` removes them."""
    parser = argparse.ArgumentParser(
        prog="jaxvjp cache", description="Compiled programs that `python -m jaxvjp` keeps for its next run."
    )
    parser.add_argument("--clear", action="store_true", help="remove them")
    clear = parser.parse_args(arguments).clear
    where = folder()
    if where is None:
        print("off: JAXVJP_CACHE is 0")
        return 0
    if clear:
        prune(where, 0)
    found = files(where)
    print(f"{where}: {len(found)} files, {sum(each for _, each, _ in found) / 1e6:.1f} of at most {MOST / 1e6:.0f} MB")
    return 0
