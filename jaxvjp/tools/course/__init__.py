"""The lessons of `examples/lessons`: what a lesson's file says (`lesson`), the command that teaches it (`command`), the
check of an answer (`checking`, `answering`), and its page (`page`), the same on the site and as a file.

A lesson is one file, and everything about it stands there: its docstring, the function `imperative` and the function
`functional`, which agree, a `PREDICTION` and an `EXERCISE`.
"""

from __future__ import annotations

import runpy
import sys

from jaxvjp.tools.course.lesson import Exercise, Prediction

__all__ = ["Exercise", "Prediction", "teach"]


def teach(path: str) -> None:
    """What a lesson's file does when it is run: the same as `python -m jaxvjp lesson` with its number."""
    sys.argv[1:] = ["lesson", path, *sys.argv[1:]]
    runpy.run_module("jaxvjp", run_name="__main__")
