"""torch's `nn.functional`: what layers compute. Most of it is one row of `ops.neural` each.

`numbered`, `tables`, `drawn`, `attention`, `running` and `composed` come before this room: those functions that are
more than a row.
"""

from jaxvjp.functions import functions_in
from jaxvjp.nn import attention, composed, drawn, numbered, running, tables

__all__ = ["attention", "composed", "drawn", "numbered", "running", "tables"]
globals().update(functions_in("nn.functional"))
