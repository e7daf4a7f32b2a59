"""torch's `masked`: reductions and normalisations of the elements that a mask keeps, from `library.masked`."""

from jaxvjp.tensor.bindings import published

__getattr__, __dir__ = published("masked", globals())
