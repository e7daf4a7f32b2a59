"""What every test may use. Tests state a program once (`oracle.agree`) and run it under torch and under jaxvjp."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import jaxvjp


@pytest.fixture(autouse=True)
def _undisturbed() -> Iterator[None]:
    """No test leaves a grad mode, a default dtype or a seed behind."""
    jaxvjp.manual_seed(0)
    yield
    assert jaxvjp.is_grad_enabled()
    assert jaxvjp.get_default_dtype() is jaxvjp.float32
