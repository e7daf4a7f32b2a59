"""What works in a child made by `fork`: JAX's threads are not in it, and what needs them would wait for ever.

If JAX had computed before the fork, NumPy runs all programs in the child, also those that were compiled. What NumPy has
no function for is refused. A child made before the first computation is a process like any other.
"""

from __future__ import annotations

import os
from collections.abc import Callable


class Fork:
    """Whether JAX has `started` its threads, and whether this child was made after that, `without` them."""

    started = False
    without = False

    @classmethod
    def start(cls) -> None:
        """Notes that JAX starts its threads.

        Once: setting an attribute of a class, even to what it is, has Python forget what it has looked up on the class.
        """
        if not cls.started:
            cls.started = True


in_child: list[Callable[[], None]] = []
"""What is done in such a child before anything else."""


def check(what: str) -> None:
    """RuntimeError in such a child, for something that JAX would have to compute."""
    if Fork.without:
        raise RuntimeError(
            f"{what} needs JAX's threads, which are not in a process that was made by fork after JAX had computed\n"
            'Start the process by `multiprocessing.get_context("spawn")`, or before the first computation.'
        )


def _after_fork() -> None:
    if Fork.started:
        Fork.without = True
        for each in in_child:
            each()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
