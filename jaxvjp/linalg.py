"""torch's `linalg`: linear algebra, one row of `ops` each. `functions` comes before this room."""

from jaxvjp.functions import published
from jaxvjp.ops.matrices import LinAlgError as LinAlgError

__getattr__, __dir__ = published("linalg", globals())
