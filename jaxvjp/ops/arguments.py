"""The kinds of argument that an op can take: an op annotates its parameters with them.

`dim: Dims = None` makes a *static* argument, a Python value that selects a program. Its kind has torch's name of the
type, for errors, and a converter to a hashable value, so that the op's method, function and in-place form accept what
torch accepts. Converters also distinguish values that hash alike, such as 2, 2.0 and True, as each needs a program of
its own. A parameter without a kind is an *operand*, a tensor; the last kinds in this file make other sorts of operands.
A default of None means that the argument may be omitted.
"""

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Annotated, Any, NamedTuple

import numpy as np

from jaxvjp.types.dtypes import dtype, taken, within_64_bits


class Kind(NamedTuple):
    """What a parameter accepts: torch's name of the type, and a converter to a hashable value, which raises TypeError.

    An operand has no converter; its `role` says what it may be. A tensor of several numbers is given to a converter
    of `tensors` only.
    """

    word: str
    convert: Callable[[Any], Any] | None
    role: str = ""
    tensors: bool = False


TENSOR, EITHER, SCALAR, KEPT, TENSORS, SPREAD = "tensor", "either", "scalar", "kept", "tensors", "spread"
"""What an operand may be: a tensor; a tensor or a number; a number; a tensor that takes no part in promotion; a
sequence of tensors; such a sequence that may also be spread out in the call."""


def index(value: Any, place: int = 0) -> int:
    """An integer; at any place of a sequence but the first, which alone torch's parser looks at, also True or False."""
    if isinstance(value, float) or (isinstance(value, bool) and not place):
        raise TypeError(value)
    return int(operator.index(value))


def integers(values: Iterable[Any]) -> tuple[int, ...]:
    return tuple(map(index, values, count()))


def dims(value: Any) -> tuple[int, ...] | int | None:
    """None (all of them), one dimension, or several."""
    if value is None:
        return None
    if isinstance(value, Sequence):
        return integers(value)
    return index(value)


def size(value: Any) -> tuple[int, ...]:
    return (index(value),) if hasattr(value, "__index__") else integers(value)


def flag(value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise TypeError(value)
    return bool(value)


class _NegativeZero(float):
    """-0.0, told apart from 0.0: what is remembered for `threshold(x, 0.0, 0.0)` is no answer to (x, 0.0, -0.0)."""

    __slots__ = ()
    __hash__ = float.__hash__

    def __eq__(self, other: object) -> bool:
        return type(other) is not float and float.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other


NEGATIVE_ZERO = _NegativeZero(-0.0)


def real(value: Any) -> float:
    if isinstance(value, str):
        raise TypeError(value)
    number = float(value)
    return number if number or math.copysign(1, number) > 0 else NEGATIVE_ZERO


def number(value: Any) -> float:
    return real(within_64_bits(value))


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def type_(value: Any) -> dtype:
    if value is None:
        raise TypeError(value)
    return taken("", value)


def tagged(value: Any) -> Any:
    """A number together with its type, as 2, 2.0 and True hash alike."""
    return type(value).__name__, within_64_bits(value)


Index = Annotated[int, Kind("int", index)]
Dims = Annotated[tuple[int, ...] | int | None, Kind("tuple of ints", dims)]
Shape = Annotated[tuple[int, ...], Kind("tuple of ints", size)]
Flag = Annotated[bool, Kind("bool", flag)]
Real = Annotated[float, Kind("float", real)]
Fixed = Annotated[float, Kind("Number", number)]
"""A number that becomes part of the program."""
Text = Annotated[str, Kind("str", text)]
Type = Annotated[dtype, Kind("torch.dtype", type_)]
Exact = Annotated[tuple[str, Any], Kind("Number", tagged)]
"""A number that becomes part of the program, with its type: `("int", 2)`."""
Either = Annotated[Any, Kind("Tensor", None, EITHER)]
Scalar = Annotated[Any, Kind("Number", None, SCALAR)]
"""A number that is an operand, such as `alpha=0.1`: another value needs no other program."""
Kept = Annotated[Any, Kind("Tensor", None, KEPT)]
Tensors = Annotated[Any, Kind("tuple of Tensors", None, TENSORS)]
Spread = Annotated[Any, Kind("tuple of Tensors", None, SPREAD)]


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
