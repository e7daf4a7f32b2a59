"""The ops: pure JAX functions, one registry row each. Importing this package fills `op.REGISTRY`."""

from jaxvjp.ops import creation, identity, indexing, joining, linalg, neural, pointwise, reduction, view  # noqa: F401
