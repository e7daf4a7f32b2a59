"""The kinds of static argument that an op can take, each with its converter to a hashable value.

An op annotates a keyword-only parameter with one of them (`dim: Dims = None`), and every front of the op (method,
function, in-place form) then accepts what torch accepts there. Converters also tell apart what hashes alike, such as
2, 2.0 and True, so that one program never answers for another. Only `dtypes` comes before this room.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Annotated, Any

from jaxvjp.dtypes import dtype


def index(value: Any) -> int:
    return int(operator.index(value))


def dims(value: Any) -> tuple[int, ...] | int | None:
    """None (all of them), one dimension, or several."""
    if value is None:
        return None
    if isinstance(value, Sequence):
        return tuple(index(each) for each in value)
    return index(value)


def optional_dtype(value: Any) -> dtype | None:
    if value is None or isinstance(value, dtype):
        return value
    raise TypeError(f"argument 'dtype' must be torch.dtype, not {type(value).__name__}")


def size(value: Any) -> tuple[int, ...]:
    return (index(value),) if hasattr(value, "__index__") else tuple(index(each) for each in value)


def tagged(value: Any) -> Any:
    """A number with its type beside it: 2, 2.0 and True hash alike."""
    return type(value).__name__, value


Index = Annotated[int, index]
Dims = Annotated[tuple[int, ...] | int | None, dims]
Flag = Annotated[bool, bool]
Type = Annotated[dtype | None, optional_dtype]
TypeGiven = Annotated[dtype, optional_dtype]
Shape = Annotated[tuple[int, ...], size]
Exponent = Annotated[tuple[str, float], tagged]


def wrap(dim: int, ndim: int) -> int:
    """`dim` counted from the front; IndexError where there is no such dimension. A 0-dim tensor has dims 0 and -1."""
    bound = max(ndim, 1)
    if not -bound <= dim < bound:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but got {dim})\n"
            f"The tensor has {ndim} dimension{'' if ndim == 1 else 's'}."
        )
    return dim % bound


def axes(dim: tuple[int, ...] | int | None, ndim: int) -> tuple[int, ...]:
    """The axes that a `dim` argument names: all of them for None and, as torch has it, for ()."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    wrapped = [wrap(each, ndim) for each in ((dim,) if isinstance(dim, int) else dim)]
    for each in wrapped:
        if wrapped.count(each) > 1:
            raise RuntimeError(f"dim {each} appears multiple times in the list of dims")
    return tuple(wrapped) if ndim else ()
