"""Tensors of random numbers: torch's own, for the same seed.

Numbers are drawn on the host and put on the device. Inside of `vmap` each example has numbers of its own where
`randomness="different"` says so.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from operator import index
from typing import Any, get_overloads, overload

import ml_dtypes
import numpy as np

from jaxvjp.core.record.modes import staging
from jaxvjp.core.record.record import record
from jaxvjp.library.creation import tensor
from jaxvjp.library.factories import drawn_by, laid, like, new_leaf, nothing, refuse_type, show_signature, sizes
from jaxvjp.library.generator import Generator, default_generator
from jaxvjp.ops.identity import unaffected
from jaxvjp.ops.layouts import preserve_format
from jaxvjp.ops.pointwise import check_broadcast
from jaxvjp.tensor.batched_randomness import drawn_from, per_example, refuse_out
from jaxvjp.tensor.batches import Batch
from jaxvjp.tensor.out_argument import write_out
from jaxvjp.tensor.published import public
from jaxvjp.tensor.tensor import Tensor, wrap
from jaxvjp.types.devices import META, place
from jaxvjp.types.dtypes import (
    BOOL,
    CTYPES,
    INTEGRAL,
    LARGEST,
    Dtype,
    float32,
    float64,
    get_default_dtype,
    int64,
    taken,
    uint8,
)
from jaxvjp.types.user_code import warn_user

UNDERNEATH = "numbers drawn by NumPy's MT19937 on the host, a leaf; no `jax.random`"

Array = np.ndarray[Any, Any]


def drawn_anew(made: Callable[[tuple[int, ...]], Tensor]) -> Callable[[tuple[int, ...]], Tensor]:
    """`made`, which draws a leaf of random numbers of a shape; in a staged step it draws anew at each call of the
    step."""

    def make(shape: tuple[int, ...]) -> Tensor:
        if staging().journal is None:
            return made(shape)
        return staging().journal.draw(partial(made, shape))

    return make


def drawn_leaf(
    draw: Callable[[Generator, int], Array],
    shape: tuple[int, ...],
    own: Dtype,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: Any = None,
    strides: tuple[int, ...] | None = None,
) -> Tensor:
    """A leaf of drawn numbers, for each example of a batch its own. They are drawn in the order of memory that
    `strides` say, without them in that of the elements."""
    refuse_out(out)

    def made(shape: tuple[int, ...]) -> Tensor:
        if place(device) is META:
            return new_leaf(nothing(shape, own.numpy), own, requires_grad, device)
        numbers = draw(generator or default_generator, math.prod(shape))
        if strides is None:
            return new_leaf(numbers.reshape(shape), own, requires_grad, device)
        order = sorted(range(len(shape)), key=lambda dim: -strides[dim])
        numbers = numbers.reshape([shape[dim] for dim in order]).transpose(np.argsort(order))
        return new_leaf(np.ascontiguousarray(numbers), own, requires_grad, device)

    return _drawn(shape, made, out)


def _drawn(shape: tuple[int, ...], made: Callable[[tuple[int, ...]], Tensor], out: Tensor | None) -> Tensor:
    result = per_example(shape, drawn_anew(made), Batch.random_differs)
    return result if out is None else write_out(out, result)


def _floats(
    name: str, kernel: str, draw: Callable[..., Array], scattered: Callable[..., Array], summary: str
) -> Callable[..., Tensor]:
    def create(
        *size: int | Sequence[int],
        generator: Generator | None = None,
        out: Tensor | None = None,
        dtype: Dtype | None = None,
        **named: Any,
    ) -> Tensor:
        shape = sizes(name, size or (named.pop("size"),))
        own = taken(name, dtype) or (get_default_dtype() if out is None else out.dtype)
        if not own.differentiable:
            raise NotImplementedError(
                f"\"{kernel}\" not implemented for '{own.legacy}'\nDraw floats and convert them: `{name}(...).long()`."
            )
        refuse_out(out)
        if out is not None and out.dtype is own and tuple(out.shape) == shape:
            return getattr(out, IN_PLACE[name])(generator=generator)
        chosen = (draw if named.get("strides") is None else scattered).__name__
        numbers = lambda source, count: getattr(source, chosen)(count, own)  # noqa: E731
        return drawn_leaf(numbers, shape, own, generator=generator, out=out, **named)

    show_signature(create, create, drawn_leaf, "draw", "shape", "own", "strides")
    create.__name__ = create.__qualname__ = name
    create.__doc__ = f"{summary}\n\nFor one seed the numbers are torch's. Counterpart of `torch.{name}`."
    return public("function", name)(create)


IN_PLACE = {"rand": "uniform_", "randn": "normal_"}
"""The method that fills a tensor given as `out`, in the order of its memory."""
rand = _floats(
    "rand", "check_uniform_bounds", Generator.__uniform__, Generator.__uniform__, "Uniform random numbers from [0, 1)."
)
randn = _floats(
    "randn",
    "normal_kernel_cpu",
    Generator.__normal__,
    Generator.__scattered_normal__,
    "Random numbers from the standard normal distribution.",
)
rand_like, randn_like = like(rand, random=True), like(randn, random=True)


@overload
def randint(high: int, size: Sequence[int], *, dtype: Dtype | None = None, **named: Any) -> Tensor: ...
@overload
def randint(low: int, high: int, size: Sequence[int], *, dtype: Dtype | None = None, **named: Any) -> Tensor: ...
@public("function")
def randint(*bounds: Any, generator: Generator | None = None, dtype: Dtype | None = None, **named: Any) -> Tensor:
    """Random integers from `low` (0) on, below `high`: `randint(low, high, size)`. Counterpart of `torch.randint`."""
    alone = len(bounds) < 3 and not isinstance(bounds[1:2] and bounds[1], int) and "high" not in named
    names = ("high", "size") if alone else None
    given = dict(zip(names or ("low", "high", "size"), bounds, strict=False)) | named
    low, high, size = given.pop("low", 0), given.pop("high"), given.pop("size")
    own = taken("randint", dtype) or int64
    draw, shape = partial(between, own=own, low=int(low), high=int(high)), sizes("randint", (size,))
    return drawn_leaf(draw, shape, own, generator=generator, **given)


@overload
def randint_like(input: Tensor, high: int, *, dtype: Dtype | None = None, **named: Any) -> Tensor: ...
@overload
def randint_like(input: Tensor, low: int, high: int, *, dtype: Dtype | None = None, **named: Any) -> Tensor: ...
@public("function")
def randint_like(input: Tensor, *bounds: Any, dtype: Dtype | None = None, **named: Any) -> Tensor:
    """As `randint(low, high)`, with the shape and dtype of `input`. Counterpart of `torch.randint_like`."""
    alone = len(bounds) == 1 and "high" not in named
    given = dict(zip(("high",) if alone else ("low", "high"), bounds, strict=False)) | named
    own = taken("randint_like", dtype) or input.dtype
    draw = partial(between, own=own, low=int(given.pop("low", 0)), high=int(given.pop("high")))
    form = given.pop("memory_format", None) or preserve_format
    made = drawn_leaf(draw, tuple(input.shape), own, **given, **drawn_by(input, form))
    return made if made.__node__.operation is not None else laid(made, form.strides(input.__layout__()))


for _form in [*get_overloads(randint), *get_overloads(randint_like)]:
    show_signature(_form, _form, drawn_leaf, "draw", "shape", "own", "strides")


DIGITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}
"""How many binary digits of each floating type are exact."""


def between(source: Generator, count: int, own: Dtype, low: int, high: int | None) -> Array:
    """Integers from `low` on, below `high` or up to the largest that the dtype tells apart.

    Bounds of floats that are no such numbers themselves are moved inwards, as torch moves them.
    """
    if own.is_complex:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if own.is_floating_point:
        least, most = -int(LARGEST[own.name] if own is not float64 else 2.0**1023), 1 << DIGITS[own.name]
        most = max(most, int(LARGEST[own.name] if own is not float64 else 2.0**1023)) if high is not None else most
    else:
        least, most = (0, 1) if own.category == BOOL else (int(np.iinfo(own.numpy).min), int(np.iinfo(own.numpy).max))
    if high is None:
        high = most + 1
    elif low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    for name, bound in (("from", low), ("to - 1", high - 1)):
        if not least <= bound <= most:
            raise RuntimeError(f"{name} is out of bounds for {CTYPES[own.name]}")
        if own.is_floating_point and abs(bound) > 1 << DIGITS[own.name]:
            range_ = f"[-(2^{DIGITS[own.name]}), 2^{DIGITS[own.name]}]"
            warn_user(
                f"{name} is out of bounds {range_}. Due to precision limitations {CTYPES[own.name]} can support "
                "discrete uniform distribution only within this range. This warning will become an error in version "
                "1.7 release, please fix the code in advance"
            )
    if own.is_floating_point:
        inward = DIGITS[own.name] - 1
        after, last = int(own.numpy.type(low + 1)), int(own.numpy.type(high - 1))
        if after < low:
            low = after + (1 << (abs(low + 1).bit_length() - 1 - inward))
        if last >= high:
            high = last - (1 << ((high - 1).bit_length() - 1 - inward))
    return source.__integers__(count, low, high)


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
    refuse_out(out)
    n = index(n)
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    own = taken("randperm", dtype) or (int64 if out is None else out.dtype)
    refuse_type("randperm", own, own.is_complex or own.category == BOOL)
    digits = ml_dtypes.finfo(own.numpy).nmant + 1 if own.is_floating_point else 63  # type: ignore[no-untyped-call]
    if own.is_floating_point and n > 2**digits + 1:
        told = 2**digits + 1 if digits < 24 else f"2^{digits}+1"
        raise RuntimeError(f"n cannot be greater than {told} for {own.legacy} type.")
    if own.category == INTEGRAL and n > np.iinfo(own.numpy).max + 1:
        raise RuntimeError(f"value cannot be converted to type {own.name}_t without overflow")

    def made(shape: tuple[int, ...]) -> Tensor:
        source = generator or default_generator
        shuffled = [source.__permutation__(n) for _ in range(math.prod(shape[:-1]))]
        return new_leaf(np.array(shuffled, np.int64).reshape(shape), own, requires_grad, device)

    return _drawn((n,), made, out)


@public("function")
def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Sequence[int] | None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Normal random numbers: `normal(mean, std)` of tensors, elementwise, or `normal(0.0, 1.0, (2, 3))`."""
    refuse_out(out)
    if not isinstance(std, Tensor) and std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    tensors = {name: each for name, each in (("mean", mean), ("std", std)) if isinstance(each, Tensor)}
    options = {"generator": generator, "device": device, "requires_grad": requires_grad, "out": out}
    if not tensors:
        if size is None:
            raise TypeError("normal() received an invalid combination of arguments - got (float, float)")
        own = taken("normal", dtype) or get_default_dtype()
        draw = lambda source, n: source.__normal__(n, own, mean, std)  # noqa: E731
        return drawn_leaf(draw, sizes("normal", (size,)), own, **options)
    shapes = [tuple(tensor.shape) for tensor in tensors.values()]
    check_broadcast(shapes[0], shapes[-1])
    own = next(iter(tensors.values())).dtype
    refuse_type("normal_kernel_cpu", own, own.category <= INTEGRAL)

    def drawn(*given: Tensor) -> Tensor:
        by_name = dict(zip(tensors, given, strict=True))
        if "std" in by_name and np.min(np.asarray(by_name["std"].__value__).real, initial=0) < 0:
            raise RuntimeError("normal expects all elements of std >= 0.0")
        draw = lambda source, n: source.__normal__(n, own)  # noqa: E731
        numbers = drawn_leaf(draw, tuple(given[0].shape), own, generator=generator)
        return numbers * by_name.get("std", std) + by_name.get("mean", mean)

    shape = np.broadcast_shapes(*shapes)
    found = drawn_from(drawn, *[tensor.expand(shape) for tensor in tensors.values()]).detach()
    result = constant(found, [*tensors.values()], "normal")
    return result if out is None else write_out(out, result)


def constant(drawn: Tensor, parameters: Sequence[Tensor], name: str) -> Tensor:
    """Drawn numbers as a function of `parameters`, with gradients of zeros."""
    nodes = tuple([parameter.__node__ for parameter in parameters])
    return wrap(record(unaffected, (drawn.__node__, *nodes), (name, 0)))


def _drawn_like(given: Tensor, draw: Callable[[Generator, int], Array], generator: Generator | None) -> Tensor:
    return drawn_leaf(draw, tuple(given.shape), given.dtype, generator=generator, device=given.device)


@public("function")
def bernoulli(
    input: Tensor, p: float | None = None, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """1 with the probability that each element says (or `p`), else 0. Counterpart of `torch.bernoulli`.

    RuntimeError for a probability outside of 0 to 1.
    """
    if p is not None:
        return drawn_from(partial(_drawn_like, draw=coins(p), generator=generator), input)
    refuse_type("bernoulli_tensor_cpu_self_", input.dtype, not input.dtype.is_floating_point)
    if input.is_meta:
        return input.detach().clone()
    refuse_out(out)
    own = input.dtype if out is None else out.dtype
    draws = own if own is float64 else float32

    def draw(given: Tensor) -> Tensor:
        chances = np.asarray(given.detach().__value__)
        if ((chances < 0) | (chances > 1)).any():
            raise RuntimeError(
                "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  "
                "If so, please report an enhancement request to PyTorch.)\nA probability is a number from 0 to 1."
            )

        def flips(source: Generator, count: int) -> Array:
            return source.__uniform__(count, draws).astype(np.float64) < np.broadcast_to(chances.reshape(-1), count)

        return drawn_leaf(flips, tuple(given.shape), own, generator=generator)

    drawn = drawn_from(draw, input)
    return constant(drawn, [input], "bernoulli") if out is None else write_out(out, drawn)


@public("method", "bernoulli")
def _bernoulli_method(self: Tensor, p: float | None = None, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability that each element says (or `p`), else 0. Counterpart of `torch.Tensor.bernoulli`."""
    return bernoulli(self, p, generator=generator)


@public("function")
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Counts from Poisson distributions of which each element is the rate; RuntimeError for a negative rate."""
    refuse_type("poisson_cpu", input.dtype, not input.dtype.is_floating_point)

    def draw(given: Tensor) -> Tensor:
        rates = np.asarray(given.detach().__value__).astype(np.float64).reshape(-1)
        if not (rates >= 0).all():
            raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")

        def counts(source: Generator, count: int) -> Array:
            return source.__poisson__(np.broadcast_to(rates, (count // max(len(rates), 1), len(rates))).reshape(-1))

        return _drawn_like(given, counts, generator)

    return constant(drawn_from(draw, input), [input], "poisson")


def coins(p: float) -> Callable[[Generator, int], Array]:
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    return lambda source, count: source.__coins__(count, p)


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
    refuse_out(out)
    result = drawn_from(lambda given: _positions(given, num_samples, replacement, generator), input)
    return result if out is None else write_out(out, result)


def _positions(input: Tensor, count: int, replacement: bool, generator: Generator | None) -> Tensor:
    weights = np.asarray(input.detach().__value__)
    if not np.isfinite(weights).all() or (weights < 0).any():
        if not replacement or count == 1:
            raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
        flat = weights.reshape(-1)
        first = flat[np.argmax((flat < 0) | ~np.isfinite(flat))]
        what = "entry < 0" if first < 0 else "entry = infinity or NaN"
        raise RuntimeError(f"invalid multinomial distribution (encountering probability {what})")
    if (weights.sum(-1) == 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    rows = weights.reshape(math.prod(weights.shape[:-1]), weights.shape[-1])
    source = generator or default_generator
    if replacement and count > 1:
        found = _by_sums(source, rows, count)
    else:  # one sample is drawn in the same way with and without replacement
        found = _by_waiting(source, rows, count, by_columns=input.ndim == 2 and 0 < input.stride(0) < input.stride(1))
    return new_leaf(found.reshape(*weights.shape[:-1], count), int64)


def _by_sums(source: Generator, rows: Array, count: int) -> Array:
    """Positions with replacement: those of uniform draws in the cumulative sums of the weights."""
    sums = np.cumsum(rows, -1, dtype=np.result_type(rows.dtype, np.float32))
    sums = sums / sums[:, -1:]
    draws = source.__doubles__(len(rows) * count).reshape(len(rows), count)
    found = [np.searchsorted(each, drawn) for each, drawn in zip(sums, draws, strict=True)]
    return np.array(found, np.int64).reshape(len(rows), count)


def _by_waiting(source: Generator, rows: Array, count: int, by_columns: bool) -> Array:
    """Positions without replacement: the first to arrive, by exponential waiting times whose rates are the weights.

    `by_columns`: the times are drawn column by column, as the weights lie in memory.
    """
    drawn = source.__doubles__(rows.size)
    drawn = drawn.reshape(rows.T.shape).T if by_columns else drawn.reshape(rows.shape)
    waiting = -np.log1p(-drawn).astype(rows.dtype)
    return np.argsort(-(rows / waiting), axis=-1, kind="stable")[:, :count]


# The state of the default generator: seeded, read, and gone back to.


@public("function")
def seed() -> int:
    """Seeds the default generator by what the machine's own source gives, and returns that."""
    return default_generator.seed()


def _state(self: Generator) -> Tensor:
    """The state that determines all later draws, as bytes. Counterpart of `torch.Generator.get_state`."""
    return tensor(self.__state__(), dtype=uint8)


def _set_state(self: Generator, new_state: Tensor) -> Generator:
    """Goes back to a state. Counterpart of `torch.Generator.set_state`."""
    if not isinstance(new_state, Tensor):
        raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
    if new_state.dtype is not uint8:
        raise TypeError("RNG state must be a torch.ByteTensor")
    self.__restore__(np.asarray(new_state.__value__))
    return self


setattr(Generator, "get_state", _state)  # noqa: B010 - mypy knows no such method
setattr(Generator, "set_state", _set_state)  # noqa: B010


_parts = lambda self: (Generator, (self.device,), (self.initial_seed(), None, _state(self)))  # noqa: E731
setattr(Generator, "__reduce__", _parts)  # noqa: B010
setattr(Generator, "__setstate__", lambda self, state: _set_state(self, state[2]))  # noqa: B010


@public("function")
def get_rng_state() -> Tensor:
    """The state of the default generator, as bytes; counterpart of `torch.get_rng_state`."""
    return _state(default_generator)


@public("function")
def set_rng_state(new_state: Tensor) -> None:
    """Goes back to a state of the generator; counterpart of `torch.set_rng_state`."""
    _set_state(default_generator, new_state)


@contextmanager
def fork_rng(
    devices: Any = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str | None = None,
) -> Iterator[None]:
    """A block after which the generator is as it was before; counterpart of `torch.random.fork_rng`.

    Args:
        devices, _caller, _devices_kw, device_type: accepted: one generator on the host draws for all devices.
        enabled: False for a block without effect.
    """
    state = default_generator.__state__()
    try:
        yield
    finally:
        if enabled:
            default_generator.__restore__(state)
