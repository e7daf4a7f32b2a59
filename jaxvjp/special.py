"""torch's `special`: special functions, one row of `ops` each."""

from jaxvjp.tensor.bindings import published

__getattr__, __dir__ = published("special", globals())
