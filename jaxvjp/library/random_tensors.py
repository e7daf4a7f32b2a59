"""Tensors of random numbers: torch's own, for the same seed.

Numbers are drawn on the host and put on the device. Inside of `vmap` each example has numbers of its own where
`randomness="different"` says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, overload

import numpy as np

from jaxvjp.core.record.modes import staging
from jaxvjp.core.record.record import record
from jaxvjp.library.creation import like, new_leaf, sizes, tensor
from jaxvjp.library.generator import Generator, default_generator
from jaxvjp.ops.identity import unaffected
from jaxvjp.ops.pointwise import copy
from jaxvjp.tensor.apply import apply_in_place
from jaxvjp.tensor.levels import Batch, per_example
from jaxvjp.tensor.out_argument import write_out
from jaxvjp.tensor.published import public
from jaxvjp.tensor.tensor import Tensor, wrap
from jaxvjp.types.dtypes import BOOL, INTEGRAL, complex128, float32, float64, get_default_dtype, int64, uint8
from jaxvjp.types.dtypes import dtype as Dtype  # noqa: N812 - `dtype` is an argument's name here

Array = np.ndarray[Any, Any]


def drawn_anew(made: Callable[[tuple[int, ...]], Tensor]) -> Callable[[tuple[int, ...]], Tensor]:
    """What makes a leaf of random numbers of a shape, as `made` does; where a step is staged, at each of its calls."""

    def make(shape: tuple[int, ...]) -> Tensor:
        if staging().journal is None:
            return made(shape)
        drawn: Tensor = staging().journal.drawn(partial(made, shape))
        return drawn

    return make


def _drawn(
    draw: Callable[[Generator, int], Array],
    shape: tuple[int, ...],
    own: Dtype,
    generator: Generator | None,
    device: Any = None,
    requires_grad: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """A leaf of drawn numbers, for each example of a batch its own."""

    def made(shape: tuple[int, ...]) -> Tensor:
        numbers = draw(generator or default_generator, math.prod(shape))
        return new_leaf(numbers.reshape(shape), own, requires_grad, device)

    result = per_example(shape, drawn_anew(made), Batch.random_differs)
    return result if out is None else write_out(out, result)


def _floats(name: str, kernel: str, draw: Callable[..., Array], summary: str) -> Callable[..., Tensor]:
    def create(
        *size: int | Sequence[int],
        generator: Generator | None = None,
        out: Tensor | None = None,
        dtype: Dtype | None = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        **named: Any,
    ) -> Tensor:
        shape = sizes(name, size or (named.pop("size"),))
        own = dtype or (get_default_dtype() if out is None else out.dtype)
        if not own.differentiable:
            raise NotImplementedError(
                f"\"{kernel}\" not implemented for '{own.legacy}'\nDraw floats and convert them: `{name}(...).long()`."
            )
        if out is not None and out.dtype is own and tuple(out.shape) == shape:
            return fill(out, generator=generator)
        return _drawn(lambda source, n: draw(source, n, own), shape, own, generator, device, requires_grad, out)

    def fill(out: Tensor, generator: Generator | None) -> Tensor:
        filled: Tensor = getattr(out, IN_PLACE[name])(generator=generator)
        return filled

    create.__name__ = create.__qualname__ = name
    create.__doc__ = f"{summary}\n\nFor one seed the numbers are torch's. Counterpart of `torch.{name}`."
    return public("function", name)(create)


IN_PLACE = {"rand": "uniform_", "randn": "normal_"}
"""The method that fills a tensor given as `out`, whose layout in memory decides about the order."""
rand = _floats("rand", "check_uniform_bounds", Generator.uniform, "Uniform random numbers from [0, 1).")
randn = _floats("randn", "normal_kernel_cpu", Generator.normal, "Random numbers from the standard normal distribution.")
rand_like, randn_like = like(rand, random=True), like(randn, random=True)


@overload
def randint(
    high: int, size: Sequence[int], *, generator: Generator | None = None, dtype: Dtype | None = None, **named: Any
) -> Tensor: ...
@overload
def randint(
    low: int,
    high: int,
    size: Sequence[int],
    *,
    generator: Generator | None = None,
    dtype: Dtype | None = None,
    **named: Any,
) -> Tensor: ...
@public("function")
def randint(*bounds: Any, generator: Generator | None = None, dtype: Dtype | None = None, **named: Any) -> Tensor:
    """Random integers from `low` (0) on, below `high`: `randint(low, high, size)`. Counterpart of `torch.randint`."""
    names = ("high", "size") if len(bounds) < 3 and not isinstance(bounds[1:2] and bounds[1], int) else None
    given = dict(zip(names or ("low", "high", "size"), bounds, strict=False)) | named
    low, high, size = given.pop("low", 0), given.pop("high"), given.pop("size")
    return _integers(int(low), int(high), sizes("randint", (size,)), generator, dtype or int64, **given)


@public("function")
def randint_like(input: Tensor, *bounds: Any, dtype: Dtype | None = None, **named: Any) -> Tensor:
    """As `randint(low, high)`, with the shape and dtype of `input`. Counterpart of `torch.randint_like`."""
    given = dict(zip(("high",) if len(bounds) == 1 else ("low", "high"), bounds, strict=False)) | named
    low, high = int(given.pop("low", 0)), int(given.pop("high"))
    return _integers(low, high, tuple(input.shape), given.pop("generator", None), dtype or input.dtype, **given)


def _integers(
    low: int,
    high: int,
    shape: tuple[int, ...],
    generator: Generator | None,
    own: Dtype,
    out: Tensor | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: Any = None,
) -> Tensor:
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")

    def draw(source: Generator, count: int) -> Array:
        return source.integers(count, low, high)

    return _drawn(draw, shape, own, generator, device, requires_grad, out)


@public("function")
def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """The integers below `n`, shuffled. Counterpart of `torch.randperm`."""
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")

    def made(shape: tuple[int, ...]) -> Tensor:
        source = generator or default_generator
        shuffled = [source.permutation(n) for _ in range(math.prod(shape[:-1]))]
        return new_leaf(np.array(shuffled, np.int64).reshape(shape), dtype or int64, requires_grad, device)

    result = per_example((n,), drawn_anew(made), Batch.random_differs)
    return result if out is None else write_out(out, result)


@public("function")
def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Sequence[int] | None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    **named: Any,
) -> Tensor:
    """Normal random numbers: `normal(mean, std)` of tensors, elementwise, or `normal(0.0, 1.0, (2, 3))`.

    Counterpart of `torch.normal`.
    """
    for name, each in (("std", std),):
        lowest = float(np.min(np.asarray(each.value), initial=0)) if isinstance(each, Tensor) else each
        if lowest < 0:
            raise RuntimeError(f"normal expects {name} >= 0.0, but found {name} {lowest:g}")
    tensors = [each for each in (mean, std) if isinstance(each, Tensor)]
    if not tensors:
        if size is None:
            raise TypeError("normal() received an invalid combination of arguments - got (float, float)")
        own = dtype or get_default_dtype()
        shape = sizes("normal", (size,))
        return _drawn(lambda source, n: source.normal(n, own, mean, std), shape, own, generator, out=out, **named)
    shape = tuple(np.broadcast_shapes(*[each.shape for each in tensors]))
    own = tensors[0].dtype
    drawn = _drawn(lambda source, n: source.normal(n, own), shape, own, generator)
    result: Tensor = _constant((drawn * std + mean).detach(), tensors, "normal")
    return result if out is None else write_out(out, result)


def _constant(drawn: Tensor, parameters: Sequence[Tensor], name: str) -> Tensor:
    """What was drawn, as a result of tensors to which it passes no gradient but zeros."""
    nodes = tuple([each.node for each in parameters])
    return wrap(record(unaffected, (drawn.node, *nodes), (name, 0)))


@public("function")
def bernoulli(
    input: Tensor, p: float | None = None, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """1 with the probability that each element says (or `p`), else 0. Counterpart of `torch.bernoulli`."""
    if p is not None:
        return _drawn(_coins(p), tuple(input.shape), input.dtype, generator, input.device)
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"\"bernoulli_tensor_cpu_self_\" not implemented for '{input.dtype.legacy}'")
    chances = np.asarray(input.detach().value)
    if ((chances < 0) | (chances > 1)).any():
        raise RuntimeError(
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If "
            "so, please report an enhancement request to PyTorch.)\nA probability is a number from 0 to 1."
        )
    own = input.dtype
    draws = own if own is float64 else float32

    def draw(source: Generator, count: int) -> Array:
        return source.uniform(count, draws).astype(np.float64) < np.broadcast_to(chances.reshape(-1), count)

    drawn = _drawn(draw, tuple(input.shape), own, generator)
    return _constant(drawn, [input], "bernoulli") if out is None else write_out(out, drawn)


@public("method", "bernoulli")
def _bernoulli_method(self: Tensor, p: float | None = None, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability that each element says (or `p`), else 0. Counterpart of `torch.Tensor.bernoulli`."""
    return bernoulli(self, p, generator=generator)


@public("function")
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Counts from Poisson distributions of which each element is the rate. Counterpart of `torch.poisson`."""
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"\"poisson_cpu\" not implemented for '{input.dtype.legacy}'")
    rates = np.asarray(input.detach().value).astype(np.float64).reshape(-1)
    if not (rates >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")

    def draw(source: Generator, count: int) -> Array:
        return source.poisson(np.broadcast_to(rates, (count // max(len(rates), 1), len(rates))).reshape(-1))

    return _constant(_drawn(draw, tuple(input.shape), input.dtype, generator, input.device), [input], "poisson")


def _coins(p: float) -> Callable[[Generator, int], Array]:
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    return lambda source, count: source.doubles(count) < p


@public()
def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """`num_samples` positions of each row, drawn by the weights that it holds. Counterpart of `torch.multinomial`."""
    if input.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if not input.dtype.is_floating_point:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {input.dtype.legacy}")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > input.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if input.shape[-1] > 1 << 24:
        raise RuntimeError("number of categories cannot exceed 2^24")
    if out is not None and out.dtype is not int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {out.dtype.legacy}")
    weights = np.asarray(input.detach().value)
    if not np.isfinite(weights).all() or (weights < 0).any():
        if not replacement:
            raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
        flat = weights.reshape(-1)
        first = flat[np.argmax((flat < 0) | ~np.isfinite(flat))]
        what = "entry < 0" if first < 0 else "entry = infinity or NaN"
        raise RuntimeError(f"invalid multinomial distribution (encountering probability {what})")
    if (weights.sum(-1) == 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    rows = weights.reshape(-1, weights.shape[-1])
    source = generator or default_generator
    if replacement or num_samples == 1:
        found = _by_sums(source, rows, num_samples) if replacement else _by_waiting(source, rows, 1)
    else:
        found = _by_waiting(source, rows, num_samples)
    result = new_leaf(found.reshape(*weights.shape[:-1], num_samples), int64)
    return result if out is None else write_out(out, result)


def _by_sums(source: Generator, rows: Array, count: int) -> Array:
    """Positions of uniform draws among the running sums."""
    sums = np.cumsum(rows, -1, dtype=np.result_type(rows.dtype, np.float32))
    sums = sums / sums[:, -1:]
    draws = source.doubles(len(rows) * count).reshape(len(rows), count)
    return np.stack([np.searchsorted(each, drawn) for each, drawn in zip(sums, draws, strict=True)])


def _by_waiting(source: Generator, rows: Array, count: int) -> Array:
    """The positions that come first, if each waits exponentially long by its weight."""
    waiting = -np.log1p(-source.doubles(rows.size)).reshape(rows.shape).astype(rows.dtype)
    return np.argsort(-(rows / waiting), axis=-1, kind="stable")[:, :count]


# In place.


def _filled(self: Tensor, numbers: Callable[[Generator, int], Array], generator: Generator | None) -> Tensor:
    """`self` with drawn numbers written into it, in the order in which its elements are in memory."""
    order = sorted(range(self.ndim), key=lambda dim: -self.stride(dim))
    drawn = _drawn(numbers, tuple([self.shape[dim] for dim in order]), self.dtype, generator, self.device)
    if order != sorted(order):
        drawn = drawn.permute([order.index(dim) for dim in range(self.ndim)])
    return apply_in_place(copy, self, (drawn,))


def _in_place(
    name: str, summary: str, scattered: Callable[..., Array] | None = None
) -> Callable[[Callable[..., Array]], Callable[..., Tensor]]:
    """torch's method `name` of a function that draws so many numbers of a dtype, with the distribution's parameters.

    Of a tensor whose elements are not in a row in memory they come from `scattered`.
    """

    def declare(draw: Callable[..., Array]) -> Callable[..., Tensor]:
        def method(self: Tensor, *parameters: Any, generator: Generator | None = None, **named: Any) -> Tensor:
            own = self.dtype

            chosen = draw if scattered is None or self.is_contiguous() else scattered

            def numbers(source: Generator, count: int) -> Array:
                return chosen(source, count, own, *parameters, **named)

            return _filled(self, numbers, generator)

        method.__name__ = method.__qualname__ = name
        method.__doc__ = f"{summary} In place. Counterpart of `torch.Tensor.{name}`."
        return public("method", name)(method)

    return declare


def _floating(name: str, own: Dtype) -> None:
    if not own.is_floating_point:
        raise NotImplementedError(f"\"{name}\" not implemented for '{own.legacy}'")


@_in_place("uniform_", "Uniform random numbers from `from` on, below `to`.")
def uniform_(source: Generator, count: int, own: Dtype, *bounds: float, **named: float) -> Array:
    part = float64 if own is complex128 else float32 if own.is_complex else own
    _floating("check_uniform_bounds", part)
    given = {"from": 0.0, "to": 1.0, **dict(zip(("from", "to"), bounds, strict=False)), **named}
    low, high = given["from"], given["to"]
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    drawn = source.between(count if part is own else 2 * count, part, low, high)
    return drawn if part is own else drawn.view(own.numpy)


def _scattered_normals(source: Generator, count: int, own: Dtype, mean: float = 0.0, std: float = 1.0) -> Array:
    if own.is_complex or count < 16 or std < 0:
        return _normals(source, count, own, mean, std)
    _floating("normal_kernel_cpu", own)
    return source.normals_one_by_one(count) * std + mean


def _normals(source: Generator, count: int, own: Dtype, mean: float = 0.0, std: float = 1.0) -> Array:
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if not own.is_complex:
        _floating("normal_kernel_cpu", own)
    return source.normal(count, own, mean, std)


normal_ = _in_place("normal_", "Normal random numbers.", _scattered_normals)(_normals)


@_in_place("exponential_", "Exponential random numbers.")
def exponential_(source: Generator, count: int, own: Dtype, lambd: float = 1.0) -> Array:
    _floating("exponential_cpu", own)
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    return -1.0 / lambd * np.log1p(-source.doubles(count))


@_in_place("cauchy_", "Random numbers from the Cauchy distribution.")
def cauchy_(source: Generator, count: int, own: Dtype, median: float = 0.0, sigma: float = 1.0) -> Array:
    _floating("cauchy_cpu", own)
    if sigma <= 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    return median + sigma * np.tan(np.pi * (source.doubles(count) - 0.5))


@_in_place("geometric_", "How many tries a success takes whose probability is `p`.")
def geometric_(source: Generator, count: int, own: Dtype, p: float) -> Array:
    if own.category == BOOL:
        raise NotImplementedError("\"geometric_cpu\" not implemented for 'Bool'")
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    return np.ceil(np.log(source.doubles(count)) / math.log1p(-p))


@_in_place("log_normal_", "Numbers whose logarithms are normal.")
def log_normal_(source: Generator, count: int, own: Dtype, mean: float = 1.0, std: float = 2.0) -> Array:
    _floating("log_normal_cpu", own)
    if std <= 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    return np.exp(source.normals_one_by_one(count) * std + mean)


@_in_place("random_", "Integers from `from` on, below `to`; without them all that the dtype tells apart.")
def random_(source: Generator, count: int, own: Dtype, *bounds: int, **named: Any) -> Array:
    names = ("to",) if len(bounds) == 1 else ("from", "to")
    given = dict(zip(names, bounds, strict=False)) | named
    if given.get("to") is not None:
        low, high = given.get("from", 0), given["to"]
        if low >= high:
            raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
        return source.integers(count, low, high)
    if own.category == BOOL:
        return source.integers(count, 0, 2)
    if own.category == INTEGRAL:
        most = int(np.iinfo(own.numpy).max) + (own is not int64)
        return source.integers(count, 0, 1 << 63) if own is int64 else source.remainders(count, most)
    if own.itemsize == 8:
        return source.integers(count, 0, (1 << 53) + 1)
    digits = {"float32": 24, "float16": 11, "bfloat16": 8}[own.name]
    return source.integers(count, 0, (1 << digits) + 1)


@public("method")
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """1 with probability `p`, which may be a tensor, else 0. In place. Counterpart of `torch.Tensor.bernoulli_`."""
    if isinstance(p, Tensor):
        return apply_in_place(copy, self, (bernoulli(p.expand(self.shape), generator=generator),))
    return _filled(self, _coins(p), generator)


# The state of the generator.


@public("function")
def seed() -> int:
    """Seeds the default generator by what the machine's own source gives, and returns that."""
    drawn = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    default_generator.manual_seed(drawn)
    return drawn


@public("function")
def get_rng_state() -> Tensor:
    """All that decides about the random numbers to come, as bytes; counterpart of `torch.get_rng_state`."""
    return tensor(default_generator.state().copy(), dtype=uint8)


@public("function")
def set_rng_state(new_state: Tensor) -> None:
    """Goes back to a state of the generator; counterpart of `torch.set_rng_state`."""
    default_generator.restore(np.asarray(new_state.value))


@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True) -> Iterator[None]:
    """A block after which the generator is as it was before; counterpart of `torch.random.fork_rng`."""
    state = default_generator.state()
    yield
    if enabled:
        default_generator.restore(state)
