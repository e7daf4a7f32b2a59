"""torch's `nn`, as far as it is functions, and `Parameter`."""

from jaxvjp.nn import functional, init
from jaxvjp.nn.parameter import Parameter

__all__ = ["Parameter", "functional", "init"]


def __dir__() -> list[str]:
    return __all__
