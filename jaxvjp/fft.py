"""torch's `fft`: Fourier transforms, one row of `ops` each, and the frequencies, which are in `library.frequencies`."""

from jaxvjp.tensor.bindings import published

__getattr__, __dir__ = published("fft", globals())
