"""torch's `nn`, as far as it is functions. `functional` comes before this room."""

from jaxvjp.nn import functional

__all__ = ["functional"]
