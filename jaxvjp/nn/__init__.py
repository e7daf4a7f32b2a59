"""torch's `nn`, as far as it is functions, and `Parameter`. `functional` and `parameter` come before this room."""

from jaxvjp.nn import functional
from jaxvjp.nn.parameter import Parameter

__all__ = ["Parameter", "functional"]
