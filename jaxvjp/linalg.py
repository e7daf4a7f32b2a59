"""torch's `linalg`: linear algebra, one row of `ops` each."""

from jaxvjp.ops.matrices import LinAlgError as LinAlgError
from jaxvjp.tensor.bindings import published

__getattr__, __dir__ = published("linalg", globals())
