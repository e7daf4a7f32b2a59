"""The ops: pure JAX functions, one registry row each. Importing this package fills `op.REGISTRY`."""

from jaxvjp.ops import (  # noqa: F401
    creation,
    identity,
    indexing,
    joining,
    linalg,
    pointwise,
    rearrangement,
    reduction,
    scattering,
    sorting,
    strided,
    view,
)
