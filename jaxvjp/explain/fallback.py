"""An op in JAX's primitives, where its function cannot be run on symbols: `symbols` comes before this room."""

from __future__ import annotations

from typing import Any

from jaxvjp.explain.literals import Unwritable
from jaxvjp.ops.op import Aval, Op


def primitives(operation: Op, static: tuple[Any, ...], avals: tuple[Aval, ...]) -> str:
    """A function, called NAME, that binds the primitives that `operation` is traced to."""
    raise Unwritable(f"{operation.name} cannot be written yet")
