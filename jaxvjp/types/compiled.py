"""Whether this package was compiled by Cython: `CYTHONIZED`."""

from __future__ import annotations

from types import FunctionType


def _here() -> None:
    """A function of this module: of Python's kind, or of Cython's."""


CYTHONIZED = not isinstance(_here, FunctionType)
"""Whether this module, and with it the others that `hatch_build.py` lists, was compiled by Cython."""
FUNCTIONS = (FunctionType, type(_here))
"""The classes of functions: Python's, and that of compiled ones."""
