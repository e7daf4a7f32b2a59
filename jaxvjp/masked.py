"""torch's `masked`: reductions and normalisations of what a mask keeps, which are in `library.masked`."""

from jaxvjp.tensor.bindings import published

__getattr__, __dir__ = published("masked", globals())
