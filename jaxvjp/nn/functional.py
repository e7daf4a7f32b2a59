"""torch's `nn.functional`: what layers compute. Most of it is one row of `ops.neural` each.

`attention`, `composed`, `drawn`, `numbered` and `running` come before this room: those functions that are more than a row.
"""

from jaxvjp.functions import functions_in
from jaxvjp.nn import attention, composed, drawn, numbered, running

__all__ = ["attention", "composed", "drawn", "numbered", "running"]
globals().update(functions_in("nn.functional"))
