"""What every test may use. Tests state a program once (`oracle.agree`) and run it under torch and under jaxvjp."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import jax
import pytest

import jaxvjp
from jaxvjp.core.compilation import counters

# A quarter of the suite's time is XLA's costlier optimisations of what runs but once.
jax.config.update("jax_disable_most_optimizations", True)

TESTS_BETWEEN_CLEARING = 100
"""Each test may compile dozens of programs, and a process can map but so many: then XLA crashes."""
_tests = count(1)


@pytest.fixture(autouse=True)
def _undisturbed() -> Iterator[None]:
    """No test leaves a grad mode, a default dtype or a seed behind, nor too many programs."""
    jaxvjp.manual_seed(0)
    yield
    if next(_tests) % TESTS_BETWEEN_CLEARING == 0:
        jax.clear_caches()
    assert jaxvjp.is_grad_enabled()
    assert jaxvjp.get_default_dtype() is jaxvjp.float32


@pytest.fixture
def counted() -> Callable[[], tuple[int, int]]:
    """How many compiles and dispatches a block took: call it again for those since the last call."""
    seen = [counters.compiles, counters.dispatches]

    def since() -> tuple[int, int]:
        now = [counters.compiles, counters.dispatches]
        difference = now[0] - seen[0], now[1] - seen[1]
        seen[:] = now
        return difference

    return since
