"""torch's `signal.windows`; the formulas are in `library.windows`."""

from jaxvjp.tensor.bindings import published

__getattr__, __dir__ = published("signal.windows", globals())
