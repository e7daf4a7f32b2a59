"""Compiles a `Program` with `jax.jit`, and for a program that is called often picks the fastest way to compile it.

`executable(program)` gives the compiled program. `counters` counts compiles and calls. `set_choosing(False)` switches
the picking off.

Why there is a choice: XLA on a CPU may fuse a chain of elementwise operations into each result that reads it, and so
compute the chain several times. The loss and the gradient of fifty links of `sin(z) * 1.1 + exp(-z)` take thirty times
as long compiled together as compiled apart. On two million floats, together is faster. So `_Trial` tries: it counts
the calls of a program, and from the eighth on (`HOT`) times the ways (`WAYS`) and XLA's options (`SETTINGS`) on the
arrays of that call.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeVar, cast

import jax
import numpy as np

from jaxvjp.core.record.user_lines import Where
from jaxvjp.core.run.program import Program, replay
from jaxvjp.core.run.tiers import Compiling, Waiting
from jaxvjp.ops.identity import item
from jaxvjp.types.devices import META, NO_DATA, jax_device
from jaxvjp.types.dtypes import dtype

Compiled = Callable[..., Sequence[Any]]
Compiler = Callable[..., Compiled]
"""`jax.jit`, or a function with the same arguments that adds options."""
TRIALS = 3
"""How many runs of each way are timed at least. The fastest run counts."""
ENOUGH = 0.05
"""Seconds. Timing goes on beyond `TRIALS` runs until this much time has passed."""
HOT = 8
"""How many calls make a program hot: worth being compiled in other ways, too."""
MADE = 4
"""Compiles that it takes to try all ways, about."""
WORTHWHILE = 100e-6
"""Seconds. For a program whose calls are quicker than this no other way is tried."""
PATIENCE = 5.0
"""Seconds. A program whose first compile took longer is not compiled in other ways."""
QUICK = 8
"""Operations. A program of at most this many is compiled at its first call, even if it may be called only once."""
LARGE = 1 << 25
"""Bytes. `unfused` keeps the result of every operation in memory. It is tried only if that takes at most this much,
counting each result as large as the largest operand."""
GAIN = 0.9
"""Another way is taken if it needs less than this part of the usual way's time."""

PASSES = "xla_disable_hlo_passes"
"""XLA's option that names compiler passes to leave out, separated by commas."""


class Counters:
    """Counts since the start of the process.

    Attributes:
        compiles: how often `jax.jit` traced a program.
        dispatches: how often a compiled program was called.
        donated: how many arrays were donated to those calls (`donate_argnums`), which may overwrite them.
    """

    def __init__(self) -> None:
        self.compiles = 0
        self.dispatches = 0
        self.donated = 0

    def __repr__(self) -> str:
        return f"{self.compiles} compiles, {self.dispatches} dispatches"


counters = Counters()


class Choosing:
    """Whether hot programs are timed in several ways. True, unless `JAXVJP_CHOOSE=0` is in the environment."""

    enabled = os.environ.get("JAXVJP_CHOOSE", "1") != "0"


def set_choosing(enabled: bool) -> None:
    """Says whether a hot program may be compiled in other ways, timed, and then run in the fastest one.

    That costs a few compiles of the program, once. Switched off, each program is compiled once, all outputs together.
    """
    Choosing.enabled = enabled


class Split(NamedTuple):
    """The places of a program's outputs in two groups.

    A program that holds a pullback returns gradients and, as `jax.vjp` does, primal outputs, such as the loss.

    Attributes:
        shown: the places of primal outputs of a pullback: the user may never look at them.
        others: all other places.
    """

    shown: tuple[int, ...]
    others: tuple[int, ...]


NOT_SPLIT = Split((), ())


class Apart:
    """One program compiled as two: `others` gives the gradients, `shown` the primal outputs (see `Split`).

    Both compute what they have in common. A backward pass whose loss nobody reads calls `others` alone.
    """

    def __init__(self, run: Compiled, split: Split, compiler: Compiler) -> None:
        self.split = split
        self.others = compiler(partial(run, outputs=split.others))
        self.shown = compiler(partial(run, outputs=split.shown))

    def __call__(self, *operands: Any) -> list[Any]:
        results = self.without_shown(*operands)
        for place, result in zip(self.split.shown, self.shown(*operands), strict=True):
            results[place] = result
        return results

    def without_shown(self, *operands: Any) -> list[Any]:
        """The outputs, with None in the places of `split.shown`."""
        results: list[Any] = [None] * (len(self.split.shown) + len(self.split.others))
        for place, result in zip(self.split.others, self.others(*operands), strict=True):
            results[place] = result
        return results


def together(run: Compiled, split: Split, compiler: Compiler = jax.jit) -> Compiled:
    """All outputs in one program."""
    return compiler(run)


def unfused(run: Compiled, split: Split, compiler: Compiler = jax.jit) -> Compiled:
    """All outputs in one program in which XLA fuses nothing: each operation writes its result to an array."""
    return compiler(run, compiler_options={PASSES: "fusion"})


def apart(run: Compiled, split: Split, compiler: Compiler = jax.jit) -> Compiled | None:
    """Gradients in one program, primal outputs in another; None if the program does not have both."""
    return Apart(run, split, compiler) if all(split) else None


Way = Callable[..., Compiled | None]
WAYS: dict[str, tuple[Way, ...]] = {"cpu": (apart, unfused)}
"""The ways to try besides `together`, by JAX's platform. For the others `together` is not known to be slow."""


class Setting(NamedTuple):
    """Options of XLA with which a program may run faster, whichever way it is compiled.

    Attributes:
        name: what `explain_program` calls it.
        options: XLA's options and their values.
        without: a compiler pass to leave out.
        most: it is tried for programs whose operands have at most this many bytes.
        spares: whether it uses one core instead of all. It is taken even where it is up to a tenth slower (`GAIN`), as
            other programs can use the cores meanwhile.
    """

    name: str
    options: dict[str, Any]
    without: str = ""
    most: float = math.inf
    spares: bool = False

    def __call__(self, compiler: Compiler) -> Compiler:
        """`compiler` with these options added."""

        def compile(function: Compiled, compiler_options: dict[str, Any] | None = None, **others: Any) -> Compiled:
            options = {**(compiler_options or {}), **self.options}
            if self.without:
                options[PASSES] = ",".join(filter(None, [options.get(PASSES), self.without]))
            return compiler(function, compiler_options=options, **others)

        return compile


SETTINGS: dict[str, tuple[Setting, ...]] = {
    "cpu": (
        # Vectors of 512 bits. XLA uses 256 by default, also on processors that have 512. Polynomials then take half the
        # time, and sines and exponentials are computed as polynomials.
        Setting("wide", {"xla_cpu_prefer_vector_width": 512}),
        # Each operation on one core. For 65,536 floats, waking a second core takes longer than half the work. For far
        # more floats several cores are faster, unless the machine is busy, as it may be while this is timed: so `most`.
        Setting(
            name="alone",
            options={"xla_cpu_experimental_ynn_fusion_type": ""},
            without="cpu-parallel-task-assigner",
            most=1 << 21,
            spares=True,
        ),
    )
}
"""The settings to try with the way chosen, by JAX's platform: the first, then the first and the second."""


Name = TypeVar("Name", str, tuple[str, ...])


class Choice(NamedTuple):
    """How a program is compiled.

    Attributes:
        way: the name of the way, such as "together".
        seconds: what each way and setting that was tried took.
        settings: the names of the settings.
    """

    way: str
    seconds: dict[str, float]
    settings: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ", ".join([self.way, *self.settings])


COMPLEX = frozenset([np.dtype(np.complex64), np.dtype(np.complex128)])


def packed_numbers(numbers: list[Any], own: Any) -> Any:
    """An array of Python numbers. An integer from 2**63 on wraps around, as it does in torch."""
    try:
        return np.array(numbers, own)
    except TypeError:  # bfloat16, of which NumPy knows nothing, takes no integer beyond 64 bits
        return np.array([float(each) for each in numbers], own)
    except OverflowError:
        return np.array([each % (1 << 64) for each in numbers], np.uint64).astype(own)


told_of_compiles: list[Callable[[Where, Executable], None]] = []
"""Who wants to know of each program that is compiled, and for which line."""


class Executable:
    """A compiled `Program`. Its operands are its arrays, then one array per dtype that holds its Python numbers.

    For a program of the arrays x, y and the numbers 2.0, 0.5 the operands are (x, y, [2.0, 0.5]). Packed like this, 20
    numbers add 2 µs to a call; as 20 operands they would add 32.

    Attributes:
        arrays: the positions of those leaves of the program that are arrays.
        packs: for each dtype, the positions of its Python numbers among the leaves.
        compiled: the function to call with those operands.
        choice: how it is compiled, once that was chosen.
        where: the user's line that needed it first.
        device: where it runs; None for JAX's default device.
        deferring: computes the gradients alone, and gives None for the primal outputs; None, if there is no such
            function or somebody has read a primal output (`evaluation.Deferred`).
        repeated: for each pack the numbers of the last call and, if those came twice in a row, their array on the
            device.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.arrays = [position for position, aval in enumerate(program.leaves) if not aval.number]
        self.packs: dict[dtype, list[int]] = {}
        for position, aval in enumerate(program.leaves):
            if aval.number:
                self.packs.setdefault(aval.dtype, []).append(position)
        self.repeated: list[tuple[Any, Any]] = [(None, None)] * len(self.packs)
        self.choice = Choice(together.__name__, {})
        usual = together(self.traced, NOT_SPLIT)
        self.compiled: Compiled = Waiting(self.run, _Trial(self, usual) if Choosing.enabled else usual, self._over)
        self.device: Any = None
        place = next((each.device for each in program.leaves if each.device is not None), None)
        if place is META:
            self.compiled = lambda *_: [NO_DATA] * len(program.outputs)
        elif place is not None:  # a program that reads no array, but for numbers, would run elsewhere
            self.device = jax_device(place)
            self.compiled = self._placed(usual)  # it does not wait: NumPy would run it on the CPU
        self.deferring: Compiled | None = None
        self.where: Where = None

    def traced(self, *operands: Any, outputs: tuple[int, ...] | None = None) -> tuple[Any, ...]:
        """What `jax.jit` traces: the program, or of its outputs only those at the places `outputs`."""
        counters.compiles += 1
        results = self.run(*operands)
        return results if outputs is None else tuple([results[each] for each in outputs])

    def run(self, *operands: Any) -> tuple[Any, ...]:
        """The outputs of the program, computed one operation after the other from the operands of `compiled`."""
        leaves: list[Any] = [None] * len(self.program.leaves)
        for position, array in zip(self.arrays, operands, strict=False):
            leaves[position] = array
        for positions, pack in zip(self.packs.values(), operands[len(self.arrays) :], strict=True):
            for index, position in enumerate(positions):
                leaves[position] = pack[index]
        return replay(self.program, leaves)

    def split(self) -> Split:
        """The outputs in two groups, for `apart`."""
        return split(self.program)

    def sample(self, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        """The operands to time the ways on. A subclass may take smaller ones."""
        return operands

    @property
    def settled(self) -> bool:
        """Whether the way to compile it has been chosen."""
        return not isinstance(self.compiled, _Trial | Waiting)

    def _placed(self, usual: Compiled) -> Compiled:
        placed = _on_device(self.device, usual)

        def first(*operands: Any) -> Sequence[Any]:
            self._over(placed)
            return placed(*operands)

        return first

    def _over(self, compiled: Compiled) -> None:
        self.compiled = compiled
        for tell in told_of_compiles:
            tell(self.where, self)

    def for_always(self, arrays: Sequence[Any], packs: Sequence[Any], donated: tuple[int, ...] = ()) -> Compiled:
        """Compiles, at once, a function of arrays like `arrays` alone. The numbers in `packs` become constants in it.

        Calls of it need no `enable_x64` around them. A call may overwrite the arrays at the places `donated`.
        """

        def run(*operands: Any, outputs: tuple[int, ...] | None = None) -> Any:
            return self.traced(*operands, *packs, outputs=outputs)

        def compiler(function: Compiled, **options: Any) -> Compiled:
            return jax.jit(function, donate_argnums=donated, **options).lower(*arrays).compile()

        way = next(each for each in (together, *WAYS.get("cpu", ())) if each.__name__ == self.choice.way)
        for setting in SETTINGS.get("cpu", ()):
            if setting.name in self.choice.settings:
                compiler = setting(compiler)
        with jax.enable_x64(True):
            compiled = way(run, self.split(), compiler)
        assert compiled is not None
        return compiled

    def may_run_eagerly(self) -> None:
        """Has the first call run operation by operation, without a compile, if the program is longer than `QUICK`."""
        if isinstance(self.compiled, Waiting) and self.compiled.calls == 0 and self.program.weight > QUICK:
            self.compiled.eagerly = True

    def packed(self, place: int, numbers: list[Any], own: Any) -> Any:
        """`numbers` as the array for the pack at `place`. If the last call had the same, it stays on the device."""
        known, array = self.repeated[place]
        told: Any = numbers
        if 0 in numbers or own in COMPLEX:  # 0.0 == -0.0, but 1 / 0.0 != 1 / -0.0: compare bit by bit
            told = packed_numbers(numbers, own).tobytes()
        if known != told:
            self.repeated[place] = (told, None)
            return packed_numbers(numbers, own)
        if array is None:
            with jax.enable_x64(True):
                array = jax.device_put(packed_numbers(numbers, own), self.device)
            self.repeated[place] = (told, array)
        return array

    def settle(self, compiled: Compiled, choice: Choice) -> None:
        """Notes the way that was chosen, and calls it from now on."""
        self.compiled, self.choice = compiled, choice
        if isinstance(compiled, Apart):
            self.deferring = compiled.without_shown


def _on_device(device: Any, compiled: Compiled) -> Compiled:
    def call(*operands: Any) -> Sequence[Any]:
        with jax.default_device(device):
            return compiled(*operands)

    return call


class _Trial:
    """What `Executable.compiled` is until the way to compile the program has been chosen.

    The first call compiles, the next `TRIALS` are timed. If they are quick (`WORTHWHILE`), the usual way is kept. If
    not, it is called `HOT` times and until it has run for ten times as long as the trials will take; the next call
    compiles the program in the other ways and times all of them on its operands.
    """

    def __init__(self, of: Executable, usual: Compiled) -> None:
        self.of = of
        self.usual = usual
        self.calls = 0
        self.first = 0.0
        self.seconds = float("inf")
        self.choosing = threading.Lock()

    def __call__(self, *operands: Any) -> Sequence[Any]:
        self.calls += 1
        if self.calls == 1:
            start = time.perf_counter()
            results = self.usual(*operands)
            self.first = time.perf_counter() - start
            return results
        if self.calls <= 1 + TRIALS:
            _finished(operands)
            start = time.perf_counter()
            results = _finished(self.usual(*operands))
            self.seconds = min(self.seconds, time.perf_counter() - start)
            if self.calls == 1 + TRIALS and (self.seconds < WORTHWHILE or self.first > PATIENCE):
                self.of.settle(self.usual, Choice(together.__name__, {together.__name__: self.seconds}))
            return results
        # All trials together may cost a tenth of what the program has run so far.
        paid = self.calls >= HOT and (Compiling.when == "always" or self.calls * self.seconds >= 10 * MADE * self.first)
        if paid and self.choosing.acquire(blocking=False):
            self.choose(operands)
            return self.of.compiled(*operands)
        return self.usual(*operands)

    def choose(self, operands: tuple[Any, ...]) -> None:
        """Times every way on `operands`, then the fastest way with each setting, and settles on the fastest of all."""
        operands = self.of.sample(operands)
        outputs = self.of.split()
        # A program that reads nothing but numbers has only NumPy's arrays as operands.
        array = next((each for each in operands if isinstance(each, jax.Array)), None)
        platform = jax.default_backend() if array is None else next(iter(array.devices())).platform
        size = sum(each.nbytes for each in operands)
        usual = together.__name__
        known = {usual: self.usual}
        ways: dict[str, Way] = {usual: together}
        kept = self.of.program.weight * max([each.nbytes for each in operands], default=0)
        for way in WAYS.get(platform, ()):
            if way is not unfused or kept <= LARGE:
                ways[way.__name__] = way
                known |= _usable(way.__name__, way(self.of.traced, outputs), operands)
        gradients = {
            f"{name}, nothing read": each.without_shown for name, each in known.items() if isinstance(each, Apart)
        }
        seconds = _seconds(known | gradients, operands)

        def weight(name: str) -> float:
            # The mean of the time with primal outputs and without, as the user may or may not read the loss.
            least = seconds.get(f"{name}, nothing read", seconds[name])
            return (seconds[name] + least) / 2 * (GAIN if name == usual else 1)

        best = min(known, key=weight)
        # Each setting is added to those before it. All are timed in turns, as the time of a short program on several
        # cores differs more from one minute to the next than from one setting to the next.
        compiler, settings = cast(Compiler, jax.jit), tuple[str, ...]()
        candidates, favoured = {settings: known[best]}, [settings]
        for setting in (each for each in SETTINGS.get(platform, ()) if size <= each.most):
            more = _usable((*settings, setting.name), ways[best](self.of.traced, outputs, setting(compiler)), operands)
            if more:
                compiler, settings = setting(compiler), (*settings, setting.name)
                candidates |= more
                if setting.spares:
                    favoured.append(settings)
        if settings:
            timed = _seconds(candidates, operands)
            settings = min(timed, key=lambda each: timed[each] * (GAIN if each in favoured else 1))
            seconds |= {" and ".join(each): took for each, took in timed.items() if each}
        self.of.settle(candidates[settings], Choice(best, seconds, settings))


def _usable(name: Name, compiled: Compiled | None, operands: tuple[Any, ...]) -> dict[Name, Compiled]:
    """{name: compiled}, after a first call has compiled it; empty if XLA does not know an option of it."""
    if compiled is None:
        return {}
    try:
        _finished(compiled(*operands))
    except jax.errors.JaxRuntimeError:
        return {}
    return {name: compiled}


def _seconds(known: dict[Name, Compiled], operands: tuple[Any, ...]) -> dict[Name, float]:
    """For each function the time of its fastest run. The functions take turns."""
    best = dict.fromkeys(known, float("inf"))
    begun, rounds = time.perf_counter(), 0
    while rounds < TRIALS or time.perf_counter() - begun < ENOUGH:
        rounds += 1
        for name, compiled in known.items():
            start = time.perf_counter()
            _finished(compiled(*operands))
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def _finished(arrays: Sequence[Any]) -> Sequence[Any]:
    """`arrays`, after waiting until they are computed."""
    for each in arrays:
        if isinstance(each, jax.Array):
            each.block_until_ready()
    return arrays


def split(program: Program) -> Split:
    """Finds the outputs of `program` that are primal outputs of a pullback in it."""
    shown = []
    for place, each in enumerate(program.outputs):
        if each >= 0:
            operation, static, inputs = program.equations[each]
            source = program.equations[inputs[0]] if operation is item and inputs[0] >= 0 else None
            # An op that carries a program, such as `pullback`, returns the outputs of that program first.
            if source is not None and source[0].carries_program and static[0] < len(source[1][0].outputs):
                shown.append(place)
    return Split(tuple(shown), tuple(place for place in range(len(program.outputs)) if place not in shown))


EXECUTABLES = 1024
executable: Callable[[Program], Executable] = lru_cache(maxsize=EXECUTABLES)(Executable)
