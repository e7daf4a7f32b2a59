"""The environment variables of the user's that say how jaxvjp runs: `JAXVJP_XLA` and others."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def from_environment(name: str, unset: T, read: Callable[[str], T]) -> T:
    """What `read` makes of the variable; `unset` where it is not set, or empty.

    Raises:
        ValueError: `read` raised one: the variable and its value, and then what `read` said.
    """
    written = os.environ.get(name, "").strip()
    try:
        return read(written) if written else unset
    except ValueError as error:
        raise ValueError(f"{name}={written} in the environment: {error}") from None


def one_of(*words: str) -> Callable[[str], str]:
    """Takes one of these words; ValueError for another."""

    def read(written: str) -> str:
        if written not in words:
            raise ValueError(f"{' or '.join(words)} expected")
        return written

    return read
