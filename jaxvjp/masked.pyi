# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from collections.abc import Sequence
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import dtype

def amax(input: Tensor, dim: int | Sequence[int] | None = None, *, keepdim: bool | None = False, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The largest of what is kept, over all dimensions or those that `dim` names. Counterpart of `torch.masked.amax`."""
def amin(input: Tensor, dim: int | Sequence[int] | None = None, *, keepdim: bool | None = False, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The smallest of what is kept, over all dimensions or those that `dim` names. Counterpart of `torch.masked.amin`."""
def argmax(input: Tensor, dim: int | None = None, *, keepdim: bool | None = False, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Where the largest is of what is kept, over all dimensions or those that `dim` names. Counterpart of `torch.masked.argmax`."""
def argmin(input: Tensor, dim: int | None = None, *, keepdim: bool | None = False, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Where the smallest is of what is kept, over all dimensions or those that `dim` names. Counterpart of `torch.masked.argmin`."""
def cumprod(input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The running product of what is kept along `dim`. Counterpart of `torch.masked.cumprod`."""
def cumsum(input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The running sum of what is kept along `dim`. Counterpart of `torch.masked.cumsum`."""
def log_softmax(input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The logarithm of the softmax of what is kept along `dim`. Counterpart of `torch.masked.log_softmax`."""
def logaddexp(input: Tensor, other: Tensor, *, dtype: dtype | None = None, input_mask: Tensor | None = None, other_mask: Tensor | None = None) -> Tensor:
    """`log(exp(input) + exp(other))` of what either mask keeps. Counterpart of `torch.masked.logaddexp`."""
def logsumexp(input: Tensor, dim: int | Sequence[int] | None = None, *, keepdim: bool | None = False, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The logarithm of the sum of the exponentials of what is kept, over all dimensions or those that `dim` names. Counterpart of `torch.masked.logsumexp`."""
def mean(input: Tensor, dim: int | Sequence[int] | None = None, *, keepdim: bool | None = False, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The mean of what is kept, NaN where that is nothing; ValueError for integers."""
def median(input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The median of what is kept along `dim`, of two the lower one, NaN where nothing is."""
def norm(input: Tensor, ord: float | None = 2.0, dim: int | Sequence[int] | None = None, *, keepdim: bool | None = False, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The norm of order `ord` of the vectors that are kept. Counterpart of `torch.masked.norm`."""
def normalize(input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """What is kept divided by its norm along `dim`, or by `eps` if that is more."""
def prod(input: Tensor, dim: int | Sequence[int] | None = None, *, keepdim: bool | None = False, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The product of what is kept, over all dimensions or those that `dim` names. Counterpart of `torch.masked.prod`."""
def softmax(input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The softmax of what is kept along `dim`. Counterpart of `torch.masked.softmax`."""
def softmin(input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The softmax of the negative of what is kept along `dim`. Counterpart of `torch.masked.softmin`."""
def std(input: Tensor, dim: int | Sequence[int] | None = None, unbiased: bool | None = None, *, correction: float | None = None, keepdim: bool | None = False, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The root of `var`. Counterpart of `torch.masked.std`."""
def sum(input: Tensor, dim: int | Sequence[int] | None = None, *, keepdim: bool | None = False, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The sum of what is kept, over all dimensions or those that `dim` names. Counterpart of `torch.masked.sum`."""
def var(input: Tensor, dim: int | Sequence[int] | None = None, unbiased: bool | None = None, *, correction: float | None = None, keepdim: bool | None = False, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The variance of what is kept, divided by its number less `correction` (1, or 0 if not `unbiased`)."""
