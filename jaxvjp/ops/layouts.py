"""How elements lie in torch's memory: sizes, strides and an offset (`Layout`), and what operations make of them.

JAX's arrays have no strides that a program sees. What is here is what torch would say of them; values do not depend on
it. An operation's result is laid out by a rule that its row names (`Op.keeps`):

* ELEMENTWISE: as torch's TensorIterator has it; `x.t() + 1` lies as `x.t()` does.
* LIKE: in the order of the first operand, without gaps, as a `clone` does.
* SAME: exactly as the first operand, of what changes only the graph, or part of the values.
* CHANNELS: by `torch.channels_last` if an operand is laid out so, such as the images or the weight of a convolution.
* VOLUMES: so, and an operand without a batch as if it was a batch of one.
* BATCHED: so, if the first operand is not contiguous; also where only the order of its elements is that of
  `torch.channels_last`, and not the strides of dimensions of size 1.
* JOINED: by `torch.channels_last` if all operands are laid out so.
* CONTIGUOUS: in the order of the dimensions, as most are.
* COLUMNS: matrices column after column, as LAPACK has them: results with as many dimensions as the first operand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

Numbers = tuple[int, ...]

ELEMENTWISE, LIKE, SAME = "elementwise", "like", "same"
CHANNELS, VOLUMES, BATCHED, JOINED = "channels", "volumes", "batched", "joined"
CONTIGUOUS, COLUMNS = "contiguous", "columns"
CHANNELS_LAST = {4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}
"""By the number of dimensions: their order in memory, outermost first."""


class Layout(NamedTuple):
    """Where in memory the elements are, counted in elements, which have `itemsize` bytes each."""

    shape: Numbers
    strides: Numbers
    offset: int = 0
    itemsize: int = 1

    @property
    def contiguous(self) -> bool:
        """Whether the elements lie in their order, without gaps."""
        return self.ordered(range(len(self.shape)))

    def ordered(self, order: Sequence[int]) -> bool:
        """Whether they lie without gaps in this order of the dimensions, outermost first."""
        expected = 1
        for dim in reversed(order):
            if self.shape[dim] != 1:
                if self.strides[dim] != expected and 0 not in self.shape:
                    return False
                expected *= self.shape[dim]
        return True

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def order(self) -> Numbers:
        """The dimensions from the largest stride to the smallest, those without a stride (of one index) last."""
        dims = range(len(self.shape))
        return tuple(sorted(dims, key=lambda dim: (self.shape[dim] < 2, -self.strides[dim])))

    @property
    def dense(self) -> bool:
        """Whether the elements fill a stretch of memory, in whichever order of the dimensions."""
        return 0 in self.shape or self.ordered(self.order)

    @property
    def overlapping(self) -> bool:
        """Whether it is sure that several elements share a place, as those of an expanded tensor do."""
        again = any(size > 1 and step == 0 for size, step in zip(self.shape, self.strides, strict=True))
        return again and 0 not in self.shape

    @property
    def overlaps(self) -> bool:
        """Whether several elements share a place, as far as the sizes of the steps tell."""
        least = 0
        for step, size in sorted((step, size) for size, step in self.extent):
            if step <= least:
                return 0 not in self.shape
            least += (size - 1) * step
        return False

    @property
    def extent(self) -> list[tuple[int, int]]:
        """Size and stride of each dimension that has more than one element."""
        return [each for each in zip(self.shape, self.strides, strict=True) if each[0] != 1]

    @property
    def taken(self) -> list[int]:
        """The strides, 0 for those of dimensions with one element, which no step takes."""
        return [0 if size == 1 else step for size, step in zip(self.shape, self.strides, strict=True)]

    @property
    def reach(self) -> tuple[int, int]:
        """The first byte and the one behind the last."""
        length = 0 if 0 in self.shape else 1 + sum((size - 1) * step for size, step in self.extent)
        return self.offset * self.itemsize, (self.offset + length) * self.itemsize

    def meets(self, other: Layout) -> bool:
        """Whether the stretches of one memory that they lie in have places in common."""
        return self.reach[0] < other.reach[1] and other.reach[0] < self.reach[1]

    # What views do.

    def permuted(self, order: Sequence[int]) -> Layout:
        """With the dimensions in another order."""
        return self._with([self.shape[dim] for dim in order], [self.strides[dim] for dim in order])

    def without(self, dims: Sequence[int]) -> Layout:
        """Without these dimensions, at their first index."""
        return self.permuted([dim for dim in range(len(self.shape)) if dim not in dims])

    def with_dim(self, dim: int, size: int, step: int) -> Layout:
        """Inserts a dimension of that size at `dim`; its elements lie `step` apart."""
        shape, strides = self.shape, self.strides
        return self._with((*shape[:dim], size, *shape[dim:]), (*strides[:dim], step, *strides[dim:]))

    def part(self, dim: int, start: int, size: int, step: int) -> Layout:
        """`size` indices of a dimension, from `start` on by `step`."""
        shape, strides = self.shape, self.strides
        begins = self.offset + start * strides[dim]
        steps = (*strides[:dim], strides[dim] * step, *strides[dim + 1 :])
        return self._with((*shape[:dim], size, *shape[dim + 1 :]), steps, begins)

    def expanded(self, shape: Numbers) -> Layout:
        """With dimensions of size 1 repeated, and further ones in front."""
        new = len(shape) - len(self.shape)
        strides: list[int] = []
        for dim in reversed(range(len(shape))):
            own = self.shape[dim - new] if dim >= new else 1
            step = self.strides[dim - new] if dim >= new else shape[dim + 1] * strides[0] if strides else 1
            strides.insert(0, step if own == shape[dim] else 0)
        return self._with(shape, strides)

    def viewed(self, shape: Numbers) -> Layout:
        """The same elements, in order, in another shape. ValueError where no strides lead to them."""
        if not self.shape:
            return self._with(shape, (1,) * len(shape))
        if 0 in self.shape:
            return self._with(shape, self.strides if shape == self.shape else contiguous_strides(shape))
        strides = [0] * len(shape)
        place = len(shape) - 1
        base, had, given = self.strides[-1], 1, 1
        for dim in reversed(range(len(self.shape))):
            had *= self.shape[dim]
            if dim and (self.shape[dim - 1] == 1 or self.strides[dim - 1] == had * base):
                continue
            while place >= 0 and (given < had or shape[place] == 1):
                strides[place] = given * base
                given *= shape[place]
                place -= 1
            if given != had:
                raise ValueError("no strides lead to these elements")
            if dim:
                base, had, given = self.strides[dim - 1], 1, 1
        return self._with(shape, strides)

    def resized(self, itemsize: int) -> Layout:
        """The same bytes as elements of another size, of which the last dimension has more or fewer."""
        if itemsize == self.itemsize:
            return self
        *sizes, offset = [
            each * self.itemsize // itemsize for each in (*self.strides[:-1], self.shape[-1], self.offset)
        ]
        *strides, last = sizes
        return Layout((*self.shape[:-1], last), (*strides, 1), offset, itemsize)

    def _with(self, shape: Sequence[int], strides: Sequence[int], offset: int | None = None) -> Layout:
        return Layout(tuple(shape), tuple(strides), self.offset if offset is None else offset, self.itemsize)


class layout:  # noqa: N801 - torch's name
    """How the elements of a tensor are kept; counterpart of `torch.layout`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __reduce__(self) -> str:
        return self.name  # a copy is the same

    def __repr__(self) -> str:
        return f"torch.{self.name}"


strided = layout("strided")
SPARSE = {name: layout(name) for name in ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")}
"""Layouts that are only names here: every tensor is strided."""
globals().update(SPARSE)


class memory_format:  # noqa: N801 - torch's name
    """An order of dimensions in memory; counterpart of `torch.memory_format`.

    Attributes:
        order: which dimension comes first there, which second, and so on; None for that in which they are.
    """

    def __init__(self, name: str, order: Numbers | None = None) -> None:
        self.name = name
        self.order = order

    __reduce__ = layout.__reduce__

    def strides(self, layout: Layout) -> Numbers:
        """Those that a tensor gets which is made like one laid out so."""
        if self.order is None:
            return like(layout) if self is preserve_format else contiguous_strides(layout.shape)
        if len(layout.shape) != len(self.order):
            raise RuntimeError(f"required rank {len(self.order)} tensor to use {self.name} format")
        return strides_in_order(layout.shape, self.order)

    def __repr__(self) -> str:
        return f"torch.{self.name}"


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last", CHANNELS_LAST[4])
channels_last_3d = memory_format("channels_last_3d", CHANNELS_LAST[5])


@lru_cache(maxsize=1 << 12)
def contiguous_strides(shape: Numbers) -> Numbers:
    """The strides of a tensor whose elements lie in their order."""
    return tuple([math.prod([max(each, 1) for each in shape[dim + 1 :]]) for dim in range(len(shape))])


def strides_in_order(shape: Numbers, order: Sequence[int]) -> Numbers:
    """The strides of elements that lie without gaps in this order of the dimensions, outermost first."""
    inner = contiguous_strides(tuple([shape[dim] for dim in order]))
    return tuple([inner[order.index(dim)] for dim in range(len(shape))])


def like(given: Layout) -> Numbers:
    """The strides of a copy: those of the original if it is dense, else dense ones in the same order."""
    return given.strides if given.dense else _iterated(given.shape, [given.strides])


def elementwise(shape: Numbers, operands: Sequence[Layout]) -> Numbers:
    """The strides of what an element-wise operation gives, as torch's TensorIterator decides."""
    if all(operand.shape == shape for operand in operands):
        if all(operand.contiguous for operand in operands):
            return contiguous_strides(shape)
        channels = CHANNELS_LAST.get(len(shape))
        if channels is not None and len(shape) == 4 and all(operand.ordered(channels) for operand in operands):
            return strides_in_order(shape, channels)
        if len({operand.strides for operand in operands}) == 1 and operands[0].dense:
            return operands[0].strides
    return _iterated(shape, [_broadcast(operand, shape) for operand in operands])


def _broadcast(layout: Layout, shape: Numbers) -> Numbers:
    """The strides of an operand that is broadcast to `shape`."""
    new = len(shape) - len(layout.shape)
    kept = [
        0 if size == 1 and full != 1 else step
        for size, step, full in zip(layout.shape, layout.strides, shape[new:], strict=True)
    ]
    return (*[0] * new, *kept)


def _iterated(shape: Numbers, operands: Sequence[Numbers]) -> Numbers:
    """Dense strides in that order of dimensions in which operands with these strides are gone through."""

    def later(first: int, second: int) -> int:
        for strides in operands:
            one, other = strides[first], strides[second]
            if one and other and one != other:
                return 1 if one > other else -1
            if one and other and shape[first] > shape[second]:
                return 1
        return 0

    order = list(reversed(range(len(shape))))  # innermost first
    for start in range(1, len(order)):
        moving = start
        for place in reversed(range(start)):
            answer = later(order[place], order[moving])
            if answer < 0:
                break
            if answer > 0:
                order[place], order[moving] = order[moving], order[place]
                moving = place
    if order == list(reversed(range(len(shape)))):
        return contiguous_strides(shape)
    strides, step = [0] * len(shape), 1
    for dim in order:
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)


def by_channels(layout: Layout) -> bool:
    """Whether torch takes the strides for those of `torch.channels_last`; not so where they may be others."""
    order = CHANNELS_LAST.get(len(layout.shape))
    if order is None or layout.strides[1] == 0 or 0 in layout.shape:
        return False
    least = 0
    for dim in reversed(order):
        step = layout.strides[dim]
        if step < least or (dim == 0 and least == layout.strides[1]):
            return False
        least = step * max(layout.shape[dim], 1)
    return True


def kept(rule: str, shape: Numbers, operands: Sequence[Layout]) -> Numbers:
    """The strides of a result of this shape, by a row's rule."""
    first = operands[0]
    if rule in (SAME, LIKE) and len(shape) == len(first.shape):
        if shape != first.shape:
            return _iterated(shape, [first.strides])
        return first.strides if rule == SAME else like(first)
    if rule == ELEMENTWISE:
        return elementwise(shape, operands)
    if rule == COLUMNS:
        count = len(shape)
        if count < 2 or count != len(first.shape):
            return contiguous_strides(shape)
        return strides_in_order(shape, (*range(count - 2), count - 1, count - 2))
    last: Numbers
    if rule == VOLUMES and len(shape) == 4:
        last = (1, 2, 3, 0)
        return strides_in_order(shape, last) if first.ordered(last) else contiguous_strides(shape)
    if rule == BATCHED and len(shape) in CHANNELS_LAST and shape == first.shape:
        last = CHANNELS_LAST[len(shape)]
        turned = not first.contiguous and (first.ordered(last) or by_channels(first))
        return strides_in_order(shape, last) if turned else contiguous_strides(shape)
    images = [by_channels(operand) for operand in operands if len(operand.shape) == len(shape)]
    if (rule in (CHANNELS, VOLUMES) and any(images)) or (rule == JOINED and images and all(images)):
        return strides_in_order(shape, CHANNELS_LAST[len(shape)])
    return contiguous_strides(shape)
