"""Tensors filled with random numbers in place (`uniform_`, `normal_`): torch's numbers for the same seed."""

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxvjp.core.record.modes import transforming
from jaxvjp.library.factories import new_leaf, nothing, refuse_type
from jaxvjp.library.generator import Generator
from jaxvjp.library.random_tensors import DIGITS, Array, bernoulli, between, coins, drawn_leaf
from jaxvjp.library.random_tensors import UNDERNEATH as UNDERNEATH
from jaxvjp.ops.pointwise import copy
from jaxvjp.tensor.apply import apply_in_place
from jaxvjp.tensor.batched_randomness import check_target, drawn_into
from jaxvjp.tensor.published import public
from jaxvjp.tensor.storage import INCOMPATIBLE
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import BOOL, INTEGRAL, LARGEST, Dtype, complex128, float32, float64, int64


def _in_batches(fill: Callable[[Tensor], Tensor], self: Tensor) -> Tensor:
    """`fill(self)`; inside `vmap` as `randomness` says. What is the same for all examples is drawn in their order."""
    inside = transforming().batches
    if inside and not inside[-1].random_differs() and inside[-1].holds(self.__node__):
        return apply_in_place(
            copy, self, (fill(new_leaf(nothing(tuple(self.shape), self.dtype.numpy), self.dtype)),), (False,)
        )
    return drawn_into(fill, self)


def _filled(self: Tensor, numbers: Callable[[Generator, int], Array], generator: Generator | None) -> Tensor:
    """Writes drawn numbers to `self`, in the order of its elements in memory, and returns it."""
    order = sorted(range(self.ndim), key=lambda dim: -self.stride(dim))
    shape, device = tuple([self.shape[dim] for dim in order]), self.device
    drawn = drawn_leaf(numbers, shape, self.dtype, generator=generator, device=device)
    if order != sorted(order):
        drawn = drawn.permute([order.index(dim) for dim in range(self.ndim)])
    return apply_in_place(copy, self, (drawn,), (False,))


def _in_place(
    name: str, summary: str, scattered: Callable[..., Array] | None = None
) -> Callable[[Callable[..., Array]], Callable[..., Tensor]]:
    """Makes torch's method `name` from a function that draws a count of numbers, given a dtype and parameters.

    For a tensor that is not contiguous, `scattered` draws them.
    """

    def declare(draw: Callable[..., Array]) -> Callable[..., Tensor]:
        def method(self: Tensor, *parameters: Any, generator: Generator | None = None, **named: Any) -> Tensor:
            def fill(target: Tensor) -> Tensor:
                chosen = draw if scattered is None or target.is_contiguous() else scattered

                def numbers(source: Generator, count: int) -> Array:
                    return chosen(source, count, target.dtype, *parameters, **named)

                return _filled(target, numbers, generator)

            return _in_batches(fill, self)

        own, taken = inspect.signature(method, eval_str=True), inspect.signature(draw, eval_str=True)
        listed = [own.parameters["self"], *list(taken.parameters.values())[3:], own.parameters["generator"]]
        shown = own.replace(parameters=sorted(listed, key=lambda each: each.kind))
        method.__signature__ = shown  # type: ignore[attr-defined]
        method.__name__ = method.__qualname__ = name
        method.__doc__ = f"{summary} In place. Counterpart of `torch.Tensor.{name}`."
        return public("method", name)(method)

    return declare


def _bounds(name: str, names: tuple[str, ...], bounds: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """By `names` the bounds, those by place and those by name: `from` is none that a parameter may have in Python."""
    if len(bounds) > 2:
        raise TypeError(f"{name}() takes from 0 to 2 positional arguments but {len(bounds)} were given")
    for each in named:
        if each not in ("from", "to"):
            raise TypeError(f"{name}() got an unexpected keyword argument '{each}'\nIt takes from, to, generator.")
    return dict(zip(names, bounds, strict=False)) | named


@_in_place("uniform_", "Uniform random numbers from `from` on, below `to`.")
def uniform_(source: Generator, count: int, own: Dtype, *bounds: float, **named: float) -> Array:
    part = float64 if own is complex128 else float32 if own.is_complex else own
    refuse_type("check_uniform_bounds", part, not part.is_floating_point)
    given = {"from": 0.0, "to": 1.0, **_bounds("uniform_", ("from", "to"), bounds, named)}
    low, high = given["from"], given["to"]
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > LARGEST[part.name] or high - low == math.inf:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{part.legacy}>::max(), but found to={high:g} and "
            f"from={low:g} which result in to-from to exceed the limit"
        )
    drawn = source.__between__(count if part is own else 2 * count, part, low, high)
    return drawn if part is own else drawn.view(own.numpy)


def _normals(name: str) -> Callable[..., Array]:
    def numbers(source: Generator, count: int, own: Dtype, mean: float = 0.0, std: float = 1.0) -> Array:
        if std < 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
        refuse_type("normal_kernel_cpu", own, not own.differentiable)
        drawn: Array = getattr(source, name)(count, own, mean, std)
        return drawn

    return numbers


scattered = _normals("__scattered_normal__")
normal_ = _in_place("normal_", "Normal random numbers.", scattered)(_normals("__normal__"))


@_in_place("exponential_", "Exponential random numbers.")
def exponential_(source: Generator, count: int, own: Dtype, lambd: float = 1.0) -> Array:
    refuse_type("exponential_cpu", own, not own.is_floating_point)
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    return -1.0 / lambd * np.log1p(-source.__doubles__(count))


@_in_place("cauchy_", "Random numbers from the Cauchy distribution.")
def cauchy_(source: Generator, count: int, own: Dtype, median: float = 0.0, sigma: float = 1.0) -> Array:
    refuse_type("cauchy_cpu", own, not own.is_floating_point)
    if sigma <= 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    return median + sigma * np.tan(np.pi * (source.__doubles__(count) - 0.5))


@_in_place("geometric_", "How many tries a success takes whose probability is `p`.")
def geometric_(source: Generator, count: int, own: Dtype, p: float) -> Array:
    refuse_type("geometric_cpu", own, own.category == BOOL)
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    return np.ceil(np.log(source.__doubles__(count)) / math.log1p(-p))


@_in_place("log_normal_", "Numbers whose logarithms are normal.")
def log_normal_(source: Generator, count: int, own: Dtype, mean: float = 1.0, std: float = 2.0) -> Array:
    refuse_type("log_normal_cpu", own, not own.is_floating_point)
    if std <= 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    return np.exp(source.__normals_one_by_one__(count) * std + mean)


@_in_place("random_", "Integers from `from` on, below `to`; without them all that the dtype tells apart.")
def random_(source: Generator, count: int, own: Dtype, *bounds: int, **named: Any) -> Array:
    names = ("to",) if len(bounds) == 1 and "to" not in named else ("from", "to")
    given = _bounds("random_", names, bounds, named)
    if given.get("to") is not None or given.get("from") is not None:
        return between(source, count, own, given.get("from", 0), given.get("to"))
    refuse_type("random_kernel_cpu", own, own.is_complex)
    if own.category == INTEGRAL and own is not int64:
        return source.__remainders__(count, int(np.iinfo(own.numpy).max) + 1)
    most = 1 << 63 if own is int64 else 2 if own.category == BOOL else (1 << DIGITS[own.name]) + 1
    return source.__integers__(count, 0, most)


@public("method")
def bernoulli_(self: Tensor, p: Tensor | float = 0.5, *, generator: Generator | None = None) -> Tensor:
    """1 with probability `p`, which may be a tensor, else 0. In place. Counterpart of `torch.Tensor.bernoulli_`."""
    if isinstance(p, Tensor):
        for batch in transforming().batches[-1:]:
            differs = batch.random_differs()
            if batch.holds(p.__node__):
                if differs and not batch.holds(self.__node__):
                    raise RuntimeError(INCOMPATIBLE.format("bernoulli"))
            elif differs:
                check_target(batch, self)
        return apply_in_place(copy, self, (bernoulli(p.expand(self.shape), generator=generator),), (False,))
    return _in_batches(lambda target: _filled(target, coins(p), generator), self)
