"""torch's `linalg`: linear algebra, one row of `ops` each. `functions` comes before this room."""

from jaxvjp.functions import functions_in
from jaxvjp.ops.matrices import LinAlgError as LinAlgError

globals().update(functions_in("linalg"))
