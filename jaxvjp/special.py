"""torch's `special`: special functions, one row of `ops` each. `functions` comes before this room."""

from jaxvjp.functions import functions_in

globals().update(functions_in("special"))
