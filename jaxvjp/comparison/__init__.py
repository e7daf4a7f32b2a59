"""One program under torch and under jaxvjp, and the difference: `compare`, `Report`, and `python -m jaxvjp compare`.

The public names of jaxvjp come before this room.
"""

from __future__ import annotations

from jaxvjp.comparison.functions import compare
from jaxvjp.comparison.report import Report

__all__ = ["Report", "compare"]
