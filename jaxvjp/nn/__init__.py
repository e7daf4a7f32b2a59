"""torch's `nn`, as far as it is functions, and `Parameter`.

`functional`, `init` and `parameter` come before this room.
"""

from jaxvjp.nn import functional, init
from jaxvjp.nn.parameter import Parameter

__all__ = ["Parameter", "functional", "init"]
