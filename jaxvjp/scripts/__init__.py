"""torch's scripts on jaxvjp: what torch's names are, jaxvjp under the name of torch, and a script run so.

The public names of jaxvjp come before this room; here are `as_torch` and the command `python -m jaxvjp run`.
"""

from __future__ import annotations

from jaxvjp.scripts.stand_in import as_torch

__all__ = ["as_torch"]
