"""torch's `special`: special functions, one row of `ops` each. `functions` comes before this room."""

from jaxvjp.functions import published

__getattr__, __dir__ = published("special", globals())
