"""One program under torch and under jaxvjp, and the difference: `compare`, `Report`, and `python -m jaxvjp compare`."""

from __future__ import annotations

from jaxvjp.tools.comparison.in_process import compare
from jaxvjp.tools.comparison.report import Report

__all__ = ["Report", "compare"]
