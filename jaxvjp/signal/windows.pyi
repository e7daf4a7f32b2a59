# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from collections.abc import Iterable
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.devices import device
from jaxvjp.types.dtypes import dtype

def bartlett(M: int, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | int | None = None, requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None, sym: bool = True) -> Tensor:
    """A triangle that starts from 0."""
def blackman(M: int, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | int | None = None, requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None, sym: bool = True) -> Tensor:
    """A sum of two cosines that starts from 0."""
def cosine(M: int, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | int | None = None, requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None, sym: bool = True) -> Tensor:
    """The upper half of a cosine."""
def exponential(M: int, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | int | None = None, requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None, center: float | None = None, tau: float = 1.0, sym: bool = True) -> Tensor:
    """`exp(-|distance| / tau)` from the middle or, of one that is not symmetric, from `center`."""
def gaussian(M: int, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | int | None = None, requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None, std: float = 1.0, sym: bool = True) -> Tensor:
    """A bell of standard deviation `std`."""
def general_cosine(M: int, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | int | None = None, requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None, a: Iterable[float], sym: bool = True) -> Tensor:
    """The alternating sum of cosines of 0, 1, 2, … periods with the weights `a`."""
def general_hamming(M: int, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | int | None = None, requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None, alpha: float = 0.54, sym: bool = True) -> Tensor:
    """`alpha` minus a period of a cosine times `1 - alpha`."""
def hamming(M: int, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | int | None = None, requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None, sym: bool = True) -> Tensor:
    """A period of a cosine, raised so that it starts from 0.08."""
def hann(M: int, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | int | None = None, requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None, sym: bool = True) -> Tensor:
    """A period of a cosine, raised to start from 0."""
def kaiser(M: int, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | int | None = None, requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None, beta: float = 12.0, sym: bool = True) -> Tensor:
    """Kaiser's window, the narrower the larger `beta`."""
def nuttall(M: int, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | int | None = None, requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None, sym: bool = True) -> Tensor:
    """Nuttall's sum of three cosines."""
