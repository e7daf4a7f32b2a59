"""The ops: pure JAX functions, one registry row each. Importing this package fills `op.REGISTRY`."""

from jaxvjp.ops import (  # noqa: F401
    contractions,
    creation,
    decompositions,
    fft,
    identity,
    indexing,
    joining,
    norms,
    pointwise,
    products,
    reduction,
    solving,
    spectrograms,
    view,
)
