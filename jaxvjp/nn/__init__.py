"""The functions of torch's `nn`, and `Parameter`."""

from jaxvjp.nn import functional, init
from jaxvjp.nn.parameter import Parameter
from jaxvjp.tensor.docstrings import complete_all

__all__ = ["Parameter", "functional", "init"]


complete_all(globals(), __all__, "nn")


def __dir__() -> list[str]:
    return __all__
