"""Runs torch scripts on jaxvjp: torch's list of names, and jaxvjp under the name of torch.

In a program that is `as_torch`, on the command line `python -m jaxvjp run`.
"""

from __future__ import annotations

from jaxvjp.tools.scripts.stand_in import as_torch

__all__ = ["as_torch"]
