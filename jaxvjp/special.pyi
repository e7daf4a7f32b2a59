# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from collections.abc import Sequence
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import dtype

def airy_ai(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Airy's function Ai, the solution of `y'' = x y` that falls to 0."""
def bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind, of order 0."""
def bessel_j1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind, of order 1."""
def bessel_y0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind, of order 0."""
def bessel_y1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind, of order 1."""
def chebyshev_polynomial_t(x: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the first kind of order `n`, cut to a whole number; 0 where that is negative."""
def chebyshev_polynomial_u(x: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the second kind of order `n`, cut to a whole number; 0 where that is negative."""
def chebyshev_polynomial_v(x: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the third kind of order `n`, cut to a whole number; 0 where that is negative."""
def chebyshev_polynomial_w(x: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the fourth kind of order `n`, cut to a whole number; 0 where that is negative."""
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of `lgamma`."""
def entr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The entropy `-x log(x)`, 0 at 0 and minus infinity below."""
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function."""
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`1 - erf(input)`."""
def erfcx(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`exp(x²) * erfc(x)`."""
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose error function is `input`."""
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 to the power of `input`."""
def expit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`1 / (1 + exp(-input))`."""
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`exp(input) - 1`, precise near 0."""
def gammainc(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The regularized lower incomplete gamma function."""
def gammaincc(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The regularized upper incomplete gamma function."""
def gammaln(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the magnitude of the gamma function."""
def hermite_polynomial_h(x: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None) -> Tensor:
    """The physicist's Hermite polynomial of order `n`, cut to a whole number; 0 where that is negative."""
def hermite_polynomial_he(x: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None) -> Tensor:
    """The probabilist's Hermite polynomial of order `n`, cut to a whole number; 0 where that is negative."""
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind, of order 0."""
def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`exp(-|x|) * i0(x)`."""
def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind, of order 1."""
def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`exp(-|x|) * i1(x)`."""
def laguerre_polynomial_l(x: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None) -> Tensor:
    """The Laguerre polynomial of order `n`, cut to a whole number; 0 where that is negative."""
def legendre_polynomial_p(x: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None) -> Tensor:
    """The Legendre polynomial of order `n`, cut to a whole number; 0 where that is negative."""
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`log(1 + input)`, precise near 0."""
def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of that area."""
def log_softmax(input: Tensor, dim: int, dtype: dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of softmax over `dim`."""
def logit(input: Tensor, eps: float | None = None, *, out: Tensor | None = None) -> Tensor:
    """`log(x / (1 - x))`, with x clamped to between `eps` and `1 - eps`."""
def logsumexp(input: Tensor, dim: int | Sequence[int] | None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the sum of `exp(input)` over `dim`."""
def modified_bessel_i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind, of order 0."""
def modified_bessel_i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind, of order 1."""
def modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind, of order 0."""
def modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind, of order 1."""
def multigammaln(input: Tensor, p: int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension `p`."""
def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The area under the standard normal density up to `input`."""
def ndtri(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number up to which that area is `input`."""
def polygamma(n: int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of order `n` of `digamma`."""
def psi(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of `lgamma`."""
@overload
def round(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The nearest integer, of two equally near the even one."""
@overload
def round(input: Tensor, *, decimals: int, out: Tensor | None = None) -> Tensor: ...
def scaled_modified_bessel_k0(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`exp(input)` times the modified Bessel function of the second kind, of order 0."""
def scaled_modified_bessel_k1(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`exp(input)` times the modified Bessel function of the second kind, of order 1."""
def shifted_chebyshev_polynomial_t(x: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None) -> Tensor:
    """The shifted Chebyshev polynomial of the first kind of order `n`, cut to a whole number; 0 where that is negative."""
def shifted_chebyshev_polynomial_u(x: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None) -> Tensor:
    """The shifted Chebyshev polynomial of the second kind of order `n`, cut to a whole number; 0 where that is negative."""
def shifted_chebyshev_polynomial_v(x: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None) -> Tensor:
    """The shifted Chebyshev polynomial of the third kind of order `n`, cut to a whole number; 0 where that is negative."""
def shifted_chebyshev_polynomial_w(x: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None) -> Tensor:
    """The shifted Chebyshev polynomial of the fourth kind of order `n`, cut to a whole number; 0 where that is negative."""
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`sin(πx) / (πx)`, and 1 at 0."""
def softmax(input: Tensor, dim: int, dtype: dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """`exp(input)`, scaled to a sum of 1 over `dim`."""
def spherical_bessel_j0(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The spherical Bessel function of the first kind, of order 0: sin(x)/x."""
def xlog1py(input: Tensor | complex, other: Tensor | complex, *, out: Tensor | None = None) -> Tensor:
    """`input * log(1 + other)`, 0 where `input` is."""
def xlogy(input: Tensor | complex, other: Tensor | complex, *, out: Tensor | None = None) -> Tensor:
    """`input * log(other)`, 0 where `input` is."""
def zeta(input: Tensor | complex, other: Tensor | complex, *, out: Tensor | None = None) -> Tensor:
    """The Hurwitz zeta function: the sum of `(k + other) ** -input` over k from 0 on."""
