"""torch's `linalg`: linear algebra, one row of `ops` each."""

from jaxvjp.ops.matrices import LinAlgError
from jaxvjp.tensor.bindings import published

__all__ = ["LinAlgError"]
__getattr__, __dir__ = published("linalg", globals())
