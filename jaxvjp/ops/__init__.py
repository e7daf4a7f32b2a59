"""The ops: pure JAX functions, one registry row each. Importing this package fills `op.REGISTRY`."""

from jaxvjp.ops import (  # noqa: F401
    arithmetic,
    complex,
    creation,
    cumulative,
    elementary,
    extremes,
    identity,
    indexing,
    joining,
    linalg,
    logic,
    neural,
    pointwise,
    rearrangement,
    reduction,
    scattering,
    sorting,
    statistics,
    strided,
    view,
)
