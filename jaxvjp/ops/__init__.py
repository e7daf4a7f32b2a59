"""The ops: pure JAX functions, one registry row each. Importing this package fills `op.REGISTRY`."""

from jaxvjp.ops import creation, elementary, identity, indexing, joining, linalg, pointwise, reduction, view  # noqa: F401
