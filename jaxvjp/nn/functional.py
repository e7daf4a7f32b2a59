"""torch's `nn.functional`: what layers compute, one row of `ops` each. `functions` comes before this room."""

from jaxvjp.functions import functions_in

globals().update(functions_in("nn.functional"))
