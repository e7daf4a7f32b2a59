"""torch's `nn`, as far as it is functions. `functional` and `init` come before this room."""

from jaxvjp.nn import functional, init

__all__ = ["functional", "init"]
