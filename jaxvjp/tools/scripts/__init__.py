"""torch's scripts on jaxvjp: what torch's names are, jaxvjp under the name of torch, and a script run so.

It is `as_torch` in a program, and the command `python -m jaxvjp run`.
"""

from __future__ import annotations

from jaxvjp.tools.scripts.stand_in import as_torch

__all__ = ["as_torch"]
