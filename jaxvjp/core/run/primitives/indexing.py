"""What NumPy computes of slices, gathers and scatters: which elements of an array their windows have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from jaxvjp.core.run.primitives.kinds import BOOL, Array, Call, Row


def sliced(equation: Any) -> Call:
    params = equation.params
    strides = params["strides"] or [1] * len(params["start_indices"])
    taken = tuple(map(slice, params["start_indices"], params["limit_indices"], strides))
    return lambda x: x[taken]


def window_at(shape: Sequence[int], sizes: Sequence[int], starts: Sequence[Array]) -> tuple[slice, ...]:
    """A window at those places, moved to where it lies inside."""
    begun = [min(max(int(each), 0), room - size) for each, room, size in zip(starts, shape, sizes, strict=True)]
    return tuple(slice(each, each + size) for each, size in zip(begun, sizes, strict=True))


def updated(x: Array, update: Array, *starts: Array) -> Array:
    result = np.array(x)
    result[window_at(x.shape, update.shape, starts)] = update
    return result


class Windows:
    """Where the windows of a gather or a scatter lie: for each entry of the indices one, of those sizes."""

    def __init__(
        self, shape: Sequence[int], sizes: Sequence[int], named: Sequence[int], batches: Any, mode: Any
    ) -> None:
        self.shape = shape
        self.sizes = sizes
        self.named = named
        self.batches = batches
        self.clips = mode == jax.lax.GatherScatterMode.CLIP

    def places(self, indices: Array, within: Sequence[int]) -> tuple[list[Array], Array]:
        """For each dimension where the elements of all windows are, and which windows lie inside.

        The dimensions `within` are those that a window has of its own; of the others it has one entry each.
        """
        entries = indices.shape[:-1]
        starts: list[Any] = [np.zeros((1,) * len(entries), np.int64) for _ in self.shape]
        for number, axis in enumerate(self.named):
            starts[axis] = indices[..., number].astype(np.int64)
        for axis, entry in self.batches:
            shape = [1] * len(entries)
            shape[entry] = entries[entry]
            starts[axis] = np.arange(entries[entry]).reshape(shape)
        inside: Any = np.ones(entries, bool)
        for axis, start in enumerate(starts):
            most = self.shape[axis] - self.sizes[axis]
            inside = inside & (start >= 0) & (start <= most)
            starts[axis] = np.clip(start, 0, max(most, 0))
        if self.clips:
            inside = np.ones(entries, bool)
        for axis, start in enumerate(starts):
            start = start.reshape(start.shape + (1,) * len(within))
            if axis in within:
                shape = [1] * start.ndim
                shape[len(entries) + within.index(axis)] = self.sizes[axis]
                start = start + np.arange(self.sizes[axis]).reshape(shape)
            starts[axis] = start
        return starts, inside


def gathered(equation: Any) -> Call | None:
    params = equation.params
    numbers, sizes, mode = params["dimension_numbers"], params["slice_sizes"], params["mode"]
    operand, out = equation.invars[0].aval, equation.outvars[0].aval
    batches = [*zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)]
    apart = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    within = [each for each in range(operand.ndim) if each not in apart]
    window = Windows(operand.shape, sizes, numbers.start_index_map, batches, mode)
    fills = mode == jax.lax.GatherScatterMode.FILL_OR_DROP
    value = params["fill_value"]
    if value is None and fills:
        if out.dtype == BOOL:
            value = True
        elif np.dtype(out.dtype).kind in "iu":
            info = np.iinfo(out.dtype)
            value = info.max if np.dtype(out.dtype).kind == "u" else info.min
        else:
            value = np.nan
    if 0 in operand.shape:
        return None

    def gather(x: Array, indices: Array) -> Array:
        places, inside = window.places(indices, within)
        entries = indices.ndim - 1
        found = np.broadcast_to(x[tuple(places)], (*indices.shape[:-1], *[sizes[each] for each in within]))
        if fills and not inside.all():
            found = np.where(
                inside.reshape(inside.shape + (1,) * len(within)), found, np.array(value).astype(out.dtype)
            )
        return np.moveaxis(found, range(entries, entries + len(within)), numbers.offset_dims)

    return gather


def scattered(function: Any) -> Row:
    def row(equation: Any) -> Call | None:
        params = equation.params
        numbers, mode = params["dimension_numbers"], params["mode"]
        operand, updates = equation.invars[0].aval, equation.invars[2].aval
        if len(equation.invars) != 3 or 0 in operand.shape:
            return None
        batches = [*zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True)]
        apart = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
        within = [each for each in range(operand.ndim) if each not in apart]
        sizes = [1] * operand.ndim
        for axis, place in zip(within, numbers.update_window_dims, strict=True):
            sizes[axis] = updates.shape[place]
        window = Windows(operand.shape, sizes, numbers.scatter_dims_to_operand_dims, batches, mode)

        def scatter(x: Array, indices: Array, updates: Array) -> Array:
            places, inside = window.places(indices, within)
            entries = indices.ndim - 1
            updates = np.moveaxis(updates, numbers.update_window_dims, range(entries, entries + len(within)))
            result = np.array(x)
            if not inside.all():
                places = [np.broadcast_to(each, updates.shape)[inside] for each in places]
                updates = updates[inside]
            if function is None:
                result[tuple(places)] = updates
            else:
                function.at(result, tuple(places), updates)
            return result

        return scatter

    return row
