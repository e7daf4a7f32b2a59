"""`x[key]` and `x[key] = value`, as steps of views. `tensor` comes before this room.

A key of integers, slices, `None` and `...` is a chain of view ops, one per part, as torch records it: `x[0, 1:]` is
`select` and then `slice`. Integers and slice bounds are operands of the program, so that a loop over `x[i]` is one
program for every i.
"""

from __future__ import annotations

from typing import Any

from jaxvjp.core.graph import Number
from jaxvjp.dtypes import int32
from jaxvjp.ops.pointwise import assigned
from jaxvjp.ops.view import alias, select, slice_, unsqueeze
from jaxvjp.tensor import Step, Tensor, apply_in_place, view

SCALAR = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
    "tensor to a number"
)


def getitem(self: Tensor, key: Any) -> Tensor:
    """The part of the tensor that `key` names: a view; IndexError where there is no such part."""
    return view(self, *_steps(self.shape, key))


def setitem(self: Tensor, key: Any, value: Any) -> None:
    """Writes `value`, expanded and converted, into the part of the tensor that `key` names."""
    apply_in_place(assigned, getitem(self, key), (value,))


def _steps(shape: tuple[int, ...], key: Any) -> list[Step]:
    parts = list(key) if isinstance(key, tuple) else [key]
    consumed = sum(part is not None and part is not ... for part in parts)
    if consumed > len(shape):
        if not shape:
            raise IndexError(SCALAR)
        raise IndexError(
            f"too many indices for tensor of dimension {len(shape)}\n"
            f"The index names {consumed} dimensions of a tensor of shape {list(shape)}."
        )
    if ... in [part for part in parts if not isinstance(part, Tensor)]:
        position = next(place for place, part in enumerate(parts) if part is ...)
        parts[position : position + 1] = [slice(None)] * (len(shape) - consumed)
    steps: list[Step] = []
    dim = 0  # of the view as it stands
    rest = list(shape)
    for part in parts:
        if part is None:
            steps.append(Step(unsqueeze, (dim,)))
            dim += 1
        elif isinstance(part, slice):
            size = rest.pop(0)
            if part.step is not None and part.step <= 0:
                raise ValueError("step must be greater than zero\n`x.flip(0)` turns a tensor around.")
            start, stop, step = part.indices(size)
            length = max(0, -(-(stop - start) // step))
            if length != size:
                steps.append(Step(slice_, (dim, length, step), (Number(start, int32),)))
            dim += 1
        elif hasattr(part, "__index__") and not isinstance(part, bool):
            size, position = rest.pop(0), part.__index__()
            if not -size <= position < size:
                raise IndexError(
                    f"index {position} is out of bounds for dimension {len(shape) - len(rest) - 1} with size {size}"
                )
            steps.append(Step(select, (dim,), (Number(position % size, int32),)))
        else:
            raise TypeError(
                f"jaxvjp indexes with integers, slices, None and ..., not yet with {type(part).__name__}; torch would "
                "take a tensor or a list of positions, or a mask."
            )
    return steps or [Step(alias, ())]


def attach_methods() -> None:
    """Hangs `x[key]` and `x[key] = value` on `Tensor`."""
    for method in (getitem, setitem):
        setattr(Tensor, f"__{method.__name__}__", method)
