"""torch's `fft`: Fourier transforms, one row of `ops` each, and frequencies, from `library.windows`."""

from jaxvjp.tensor.bindings import published

__getattr__, __dir__ = published("fft", globals())
