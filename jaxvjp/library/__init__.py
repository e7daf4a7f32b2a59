"""torch's functions that are more than one row of `ops`: creation, indexing, random numbers, views, conversions.

Importing a module of this package publishes its functions under torch's names (`tensor.published`).
"""

from jaxvjp.library import (  # noqa: F401 - importing a module publishes its functions
    constructors,
    creation,
    crossing,
    facts,
    generator,
    histograms,
    indexing,
    linear_algebra,
    masked,
    memory,
    properties,
    python_functions,
    random_gamma,
    random_in_place,
    random_tensors,
    ranges,
    selection,
    settings,
    splits,
    storages,
    strides,
    views,
    windows,
)
from jaxvjp.tensor import bindings, conversion, overriding
from jaxvjp.tensor.docstrings import complete_all
from jaxvjp.tensor.tensor import Tensor


def attach_methods() -> None:
    """Gives `Tensor` the methods that follow from the registry and from what is published."""
    for each in (bindings, conversion, indexing, memory, crossing, views, constructors, facts, overriding):
        each.attach_methods()
    own = [name for name in vars(Tensor) if not name.startswith("_")]
    complete_all(vars(Tensor), own, "method", "no recorded op; a value that is read is computed first")
