"""torch's `nn.functional`: what layers compute. Most of it is one row of `ops.neural` each.

`numbered`, `tables`, `drawn`, `attention`, `running`, `native` and `composed` come before this room: those functions
that are more than a row.
"""

# For what they publish:
import jaxvjp.nn.attention
import jaxvjp.nn.composed
import jaxvjp.nn.drawn
import jaxvjp.nn.native
import jaxvjp.nn.numbered
import jaxvjp.nn.running
import jaxvjp.nn.tables  # noqa: F401
from jaxvjp.functions import published

__getattr__, __dir__ = published("nn.functional", globals())
