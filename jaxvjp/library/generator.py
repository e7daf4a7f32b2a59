"""Random numbers: torch's own, for the same seed.

torch draws on the CPU from an MT19937, as does NumPy's legacy generator, which is seeded in the same way; this module
turns its 32-bit draws into floats as torch does. Numbers are drawn on the host, whichever device they then go to.
"""

from __future__ import annotations

import copy
import math
import threading
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxvjp.core.record.modes import staging, transforming
from jaxvjp.core.record.record import TRACED, tracers
from jaxvjp.types import devices
from jaxvjp.types.dtypes import LEAST, MOST, dtype, float32, float64

UNDERNEATH = "NumPy's MT19937 on the host, as torch's on the CPU; no `jax.random`"

Array = np.ndarray[Any, Any]
DEFAULT_SEED = 67280421310721
"""torch's seed before anybody calls `manual_seed`."""
IMPURE = (
    "A pure function that JAX traces, or the body of a loop, must not draw random numbers: it would draw once, and "
    "have the same ones in each call and each round.\n"
    "Draw them outside and pass them in, or use `jax.random` by `torch.wrap`."
)
CHUNK = 16
"""From this many normal draws on, torch makes them 16 at a time."""
BLOCK = 1 << 14
"""So many normal draws are worked out at a time: what they come from stays in the processor's cache."""
FEW = 4096
"""So many numbers are shuffled one at a time."""


def compiling() -> bool:
    """Whether `jax.jit` or a loop of JAX's traces here: what is drawn would be a constant of it; or `jax.vmap` does, of
    which all rows would have the same."""
    return isinstance(jnp.zeros(()), jax.core.Tracer) or any(map(_batched, [*tracers.values()]))


def _batched(tracer: Any) -> bool:
    """Whether an array stands for the rows of `jax.vmap`; within `jax.grad` its primal does."""
    while isinstance(tracer, jax.core.Tracer):
        if type(tracer).__name__ == "BatchTracer":
            return True
        tracer = getattr(tracer, "primal", None)
    return False


class Generator:
    """A source of random numbers, as `torch.Generator` on the CPU; RuntimeError for a device that JAX lacks."""

    def __init__(self, device: Any = "cpu") -> None:
        self.device = devices.device(device)
        if self.device.type != "cpu":
            devices.place(self.device)
        self.manual_seed(DEFAULT_SEED)

    def seed(self) -> int:
        """Starts over from what the machine's own source gives, and returns that."""
        return self.manual_seed(int(np.random.SeedSequence().generate_state(1, np.uint64)[0])).initial_seed()

    def clone_state(self) -> Generator:
        """Another generator that draws the same numbers from here on."""
        return copy.deepcopy(self)

    def manual_seed(self, seed: int) -> Generator:
        """Starts over from `seed`; torch's generator takes its lowest 32 bits."""
        if not LEAST <= seed <= MOST:
            raise ValueError("Overflow when unpacking long long")
        if staging().journal is not None:
            staging().journal.refuse("seeds random numbers, from where each call would go on: seed outside of it")
        self.__seed__ = seed & MOST
        self.__draws__ = np.random.RandomState(seed & 0xFFFFFFFF)
        self.__spare__: float | None = None
        return self

    def initial_seed(self) -> int:
        return self.__seed__

    def __bits32__(self, count: int) -> Array:
        if staging().journal is not None and not staging().journal.drawing:
            staging().journal.refuse("draws random numbers, which would be the same at each call")
        if transforming().pure or (TRACED and compiling()):
            raise RuntimeError(IMPURE)
        return self.__draws__.randint(0, 1 << 32, size=count, dtype=np.uint32)

    def __bits64__(self, count: int) -> Array:
        pairs = self.__bits32__(2 * count).astype(np.uint64).reshape(count, 2)
        return (pairs[:, 0] << np.uint64(32)) | pairs[:, 1]

    def __doubles__(self, count: int) -> Array:
        """`count` draws from [0, 1) of 53 bits, from which torch makes most other distributions."""
        return (self.__bits64__(count) & np.uint64((1 << 53) - 1)) * 2.0**-53

    def __coins__(self, count: int, p: float) -> Array:
        """`count` truth values that hold with probability `p`."""
        return self.__doubles__(count) < p

    def __uniform__(self, count: int, own: dtype) -> Array:
        """`count` draws from [0, 1), bit for bit those of `torch.rand`."""
        if own.is_complex:
            part = float64 if own.itemsize == 16 else float32
            return self.__uniform__(2 * count, part).view(own.numpy)
        if own is float64:
            return self.__doubles__(count)
        drawn = (self.__bits32__(count) & np.uint32((1 << 24) - 1)).astype(np.float32)
        drawn *= np.float32(2.0**-24)
        if own.itemsize == 4:
            return drawn
        drawn = drawn.astype(own.numpy)
        return np.where(drawn == 1, np.zeros_like(drawn), drawn)  # a narrow dtype may round up to 1

    def __between__(self, count: int, own: dtype, low: float, high: float) -> Array:
        """`count` draws from `low` on, below `high`, as `uniform_` gives them."""
        if own is float64:
            return _fused64(self.__doubles__(count), high - low, low)
        drawn = _fused(self.__uniform__(count, float32), np.float32(high) - np.float32(low), np.float32(low))
        narrow = drawn.astype(own.numpy)
        return np.where(narrow == own.numpy.type(high), own.numpy.type(low), narrow)

    def __integers__(self, count: int, low: int, high: int) -> Array:
        """`count` integers from `low` on, below `high`: remainders of 32-bit draws, or of 64-bit ones for a range of
        2**28 or more."""
        span = high - low
        bits = self.__bits32__(count).astype(np.uint64) if span < 1 << 28 else self.__bits64__(count)
        return (bits if span == 1 << 64 else bits % np.uint64(span)).astype(np.int64) + np.int64(
            low if span < 1 << 64 else 0
        )

    def __remainders__(self, count: int, span: int) -> Array:
        """`count` draws below `span`, each of 32 bits."""
        return (self.__bits32__(count) % np.uint64(span)).astype(np.int64)

    def __permutation__(self, count: int) -> Array:
        """The numbers below `count`, shuffled: each is swapped with one after it, or stays."""
        order, draws = np.arange(count), self.__bits32__(max(count - 1, 0))
        place, first = 0, np.empty(count if count > FEW else 0, np.int64)
        while count - place > FEW:  # many swaps at once, up to the first that meets a place of one before it
            steps = np.arange(math.isqrt(count - place))
            places = place + steps
            others = places + draws[place : place + steps.size] % (count - places)
            first[others[::-1]] = steps[::-1]
            ahead = others[(others > places) & (others < place + steps.size)] - place
            until = min(ahead.min(initial=steps.size), np.flatnonzero(first[others] != steps).min(initial=steps.size))
            others = others[:until]
            order[place : place + until], order[others] = order[others], order[place : place + until].copy()
            place += int(until)
        rest = order[place:].tolist()
        for step, draw in enumerate(draws[place:].tolist()):
            other = step + draw % (len(rest) - step)
            rest[step], rest[other] = rest[other], rest[step]
        order[place:] = rest
        return order

    def __normal__(self, count: int, own: dtype, mean: float = 0.0, std: float = 1.0) -> Array:
        """`count` draws from a normal distribution, as `torch.randn` and `normal_` give them.

        Of fewer than 16, and of float32, they are torch's bit for bit; the others are within 2 ulp.
        """
        if own.is_complex:
            part = float64 if own.itemsize == 16 else float32
            return self.__normal__(2 * count, part, mean, std * math.sqrt(0.5)).view(own.numpy)
        if count < CHUNK:
            return np.array([self.__one_normal__() * std + mean for _ in range(count)], own.numpy)
        narrow = own.itemsize < 4
        full = count - count % CHUNK
        uniform = self.__uniform__(full if narrow else count, float32 if narrow else own)
        drawn = np.empty(count, uniform.dtype)
        for start in range(0, full, BLOCK):
            block = slice(start, min(start + BLOCK, full))
            drawn[block] = _box_muller(uniform[block], mean, std)
        if full < count:  # torch overwrites the last 16 by fresh draws
            drawn[-CHUNK:] = _box_muller(self.__uniform__(CHUNK, float32 if narrow else own), mean, std)
        return drawn.astype(own.numpy)

    def __scattered_normal__(self, count: int, own: dtype, mean: float = 0.0, std: float = 1.0) -> Array:
        """As `__normal__`, where torch fills a tensor that is not contiguous: without the kernel for 16 at a time."""
        if own.is_complex or count < CHUNK:
            return self.__normal__(count, own, mean, std)
        return self.__normals_one_by_one__(count) * std + mean

    def __normals_one_by_one__(self, count: int) -> Array:
        """`count` standard normal draws as torch makes them one by one for other distributions."""
        return np.array([self.__one_normal__() for _ in range(count)])

    def __one_normal__(self) -> float:
        if self.__spare__ is not None:
            drawn, self.__spare__ = self.__spare__, None
            return drawn
        angle, distance = (float(each) for each in self.__doubles__(2))
        radius = math.sqrt(-2.0 * math.log1p(-distance))
        self.__spare__ = radius * math.sin(2.0 * math.pi * angle)
        return radius * math.cos(2.0 * math.pi * angle)

    def __poisson__(self, rates: Array) -> Array:
        """A count for each rate, drawn from the Poisson distribution."""
        drawn = [self.__few__(rate) if rate < 10 else self.__many__(rate) for rate in rates.tolist()]
        return np.array(drawn, np.float64)

    def __few__(self, rate: float) -> int:
        """A Poisson draw for a small rate: one less than the number of uniform draws whose product reaches
        `exp(-rate)`."""
        count, product = 0, float(self.__doubles__(1)[0]) if rate else 0.0
        while product > math.exp(-rate):
            product *= float(self.__doubles__(1)[0])
            count += 1
        return count

    def __many__(self, rate: float) -> int:
        """A Poisson draw for a large rate, by the transformed rejection of W. Hörmann (1993)."""
        b = 0.931 + 2.53 * math.sqrt(rate)
        a = -0.059 + 0.02483 * b
        while True:
            u, v = (float(each) for each in self.__doubles__(2))
            u -= 0.5
            edge = 0.5 - abs(u)
            count = math.floor((2 * a / edge + b) * u + rate + 0.43)
            if edge >= 0.07 and v <= 0.9277 - 3.6224 / (b - 2):
                return count
            if count < 0 or (edge < 0.013 and v > edge):
                continue
            hat = math.log(v) + math.log(1.1239 + 1.1328 / (b - 3.4)) - math.log(a / (edge * edge) + b)
            if hat <= -rate + count * math.log(rate) - math.lgamma(count + 1.0):
                return count

    def __state__(self) -> Array:
        """The state that determines all later draws, byte for byte as torch writes it."""
        state: Any = self.__draws__.get_state(legacy=False)["state"]
        made, key, position = np.zeros(1, STATE), state["key"], state["pos"]
        fresh = position == 624 and key[0] == self.__seed__ & 0xFFFFFFFF
        made["seed"], made["left"], made["seeded"] = self.__seed__ & (1 << 64) - 1, 625 - position, 1
        made["position"], made["key"] = 0 if fresh else position, key
        made["spare"], made["has_spare"] = self.__spare__ or 0.0, self.__spare__ is not None
        return made.view(np.uint8)

    def __restore__(self, state: Array) -> None:
        """Sets the state."""
        if state.size == EARLIER_STATE.itemsize:
            found = np.frombuffer(state.tobytes(), EARLIER_STATE)[0]
            position, has_spare, fits = found["position"], not math.isnan(found["spare"]), True
        elif state.size == STATE.itemsize:
            found = np.frombuffer(state.tobytes(), STATE)[0]
            position, has_spare = 624 if found["left"] == 1 else found["position"], found["has_spare"]
            fits = found["seeded"] == 1 and 0 < found["left"] <= 624 and found["position"] <= 624
        else:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE.itemsize} but found the input RNG state size to be "
                f"{state.size}\nIt is no whole result of `get_rng_state()`, or that of another device."
            )
        if not fits:
            raise RuntimeError("Invalid mt19937 state\nNo generator has such a state: `get_rng_state()` gives one.")
        self.__draws__.set_state(("MT19937", found["key"].astype(np.uint32), int(position), 0, 0.0))
        self.__seed__ = int(found["seed"])
        self.__spare__ = float(found["spare"]) if has_spare else None


STATE = np.dtype(
    [
        *(("seed", "u8"), ("left", "i4"), ("seeded", "i4"), ("position", "u8"), ("key", "u8", 624)),
        *(("x", "f8"), ("spare", "f8"), ("radius", "f8"), ("has_spare", "u8"), ("float32", "u8")),
    ]
)
"""torch's state on the CPU: `left` numbers of the key are to come, 1 where the next draw makes a new key; the rest is
the second of two normal draws."""
EARLIER_STATE = np.dtype([("key", "u4", 624), ("position", "u8"), ("seed", "u8"), ("spare", "f8")])
"""What was written in its place by this package before; a spare that is no number is none."""


def _box_muller(uniform: Array, mean: float, std: float) -> Array:
    """Normal draws from uniform ones, sixteen at a time: the first eight give the radii, the others the angles."""
    near, far = uniform.reshape(-1, 2, CHUNK // 2).swapaxes(0, 1)
    kind = uniform.dtype.type
    logarithm, waves = (_log32, _waves32) if uniform.dtype == np.float32 else (np.log, lambda x: (np.sin(x), np.cos(x)))
    radius = np.sqrt(kind(-2) * logarithm(kind(1) - near))
    sine, cosine = waves(far * kind(2 * math.pi))
    drawn = np.stack([radius * cosine, radius * sine], 1).reshape(-1)
    if uniform.dtype == np.float32:
        return _fused(drawn, np.float32(std), np.float32(mean))
    return drawn * std + mean


# float32 logarithms, sines and cosines as torch's vectorized loops compute them, to the last bit: by the polynomials of
# the Cephes library (S. Moshier, 1989), whose products and sums are fused where x86 processors fuse them.


def _in_float32(*numbers: float) -> tuple[float, ...]:
    return tuple([float(np.float32(number)) for number in numbers])


LOG = _in_float32(
    *(7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1),
    *(2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1),
)
COSINE = _in_float32(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
SINE = _in_float32(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
LN2 = _in_float32(-2.12194440e-4, 0.693359375)
QUARTER = _in_float32(-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8)
"""-π/4 in three parts, so that multiples of it can be subtracted without rounding error."""


def _fused(a: Array, b: Any, c: Any) -> Array:
    """`a * b + c` in float32, rounded once. A number `b` or `c` is one of float32."""
    wide = a.astype(np.float64)
    wide *= b
    wide += c
    return wide.astype(np.float32)


def _polynomial(x: Array, coefficients: tuple[float, ...]) -> Array:
    """The polynomial with these coefficients, that of the highest power first, by Horner's rule in `_fused` steps. Few
    calls of NumPy, as most of the time for few numbers is theirs: a normal draw of 128 takes 0.82 of the time."""
    wide = x.astype(np.float64)
    y: Array = coefficients[0] * wide
    for coefficient in coefficients[1:-1]:
        y += coefficient
        y = y.astype(np.float32).astype(np.float64)
        y *= wide
    y += coefficients[-1]
    return y.astype(np.float32)


def _fused64(a: Array, b: float, c: float) -> Array:
    """`a * b + c` in float64, rounded once: the rounding errors of product and sum are added, too."""
    product, total = a * b, a * b + c
    split = float((1 << 27) + 1)
    high, factor = a * split - (a * split - a), b * split - (b * split - b)
    low, rest = a - high, b - factor
    left = ((high * factor - product) + high * rest + low * factor) + low * rest
    other = total - product
    return total + ((product - (total - other)) + (c - other) + left)


def _log32(number: Array) -> Array:
    bits = number.view(np.int32)
    exponent = ((bits >> 23) - 126).astype(np.float32)
    fraction = ((bits & np.int32(0x007FFFFF)) | np.int32(0x3F000000)).view(np.float32)
    low = fraction < np.float32(math.sqrt(0.5))
    exponent -= low
    x = fraction - np.float32(1) + np.where(low, fraction, np.float32(0))
    square = x * x
    y = _fused(_polynomial(x, LOG) * x, square, exponent * np.float32(LN2[0]))
    y = _fused(square, -0.5, y)
    return _fused(exponent, LN2[1], x + y)


def _waves32(angle: Array) -> tuple[Array, Array]:
    """Sine and cosine of angles that are not negative."""
    octant = (angle * np.float32(4 / math.pi)).astype(np.int32)
    octant = (octant + 1) & ~1
    x, turns = angle, octant.astype(np.float32)
    for part in QUARTER:
        x = _fused(turns, part, x)
    square = x * x
    cosine = _fused(_polynomial(square, COSINE) * square, square, -(square * np.float32(0.5))) + np.float32(1)
    sine = _fused(_polynomial(square, SINE) * square, x, x)
    straight = (octant & 2) == 0
    turned = np.where(straight, sine, cosine), np.where(straight, cosine, sine)
    return np.where(octant & 4, -turned[0], turned[0]), np.where((octant + 2) & 4, -turned[1], turned[1])


class _Own(threading.local):
    """The generator that a thread has in place of the default one."""

    instead: Generator | None = None


class _DefaultGenerator(Generator):
    """The generator that is meant where none is named: one for all threads but those that have started their own."""

    def __init__(self) -> None:
        self._own = _Own()
        self._shared = Generator()

    def start_own(self, generator: Generator) -> None:
        """Has this thread draw from `generator` from here on."""
        self._own.instead = generator


def _of_the_thread(name: str) -> Any:
    def read(self: _DefaultGenerator) -> Any:
        return getattr(self._own.instead or self._shared, name)

    def write(self: _DefaultGenerator, value: Any) -> None:
        setattr(self._own.instead or self._shared, name, value)

    return property(read, write)


for _name in ("__draws__", "__seed__", "__spare__"):
    setattr(_DefaultGenerator, _name, _of_the_thread(_name))

default_generator = _DefaultGenerator()


def manual_seed(seed: int) -> Generator:
    """Seeds the default generator and returns it; counterpart of `torch.manual_seed`."""
    return default_generator.manual_seed(int(seed))


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()
