"""torch's `backends`: settings that scripts make and ask back, and whether a backend is there. JAX compiles by XLA."""

from jaxvjp.backends import cuda, cudnn, mha, mkl, mkldnn, mps, openmp

__all__ = ["cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "openmp"]
__dir__ = __all__.copy
