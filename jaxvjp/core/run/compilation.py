"""Programs compiled by `jax.jit`, in the way that is fastest, and what that took.

In this room one can compile a program (`executable`), count compiles and dispatches (`counters`), and say whether a hot
program may be measured to choose between ways of compiling it (`choosing`).

XLA on a CPU recomputes a chain of elementwise operations for each result that it fuses it into: the loss and the
gradient of fifty links of `sin(z) * 1.1 + exp(-z)`, compiled together, take thirty times as long as compiled apart. On
two million floats it is the other way round, so which way is best is found out by trying, once the program has proved
hot, on the values it is called with. So is what settings of XLA's it gains by: of wider vectors, or of one core.
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
from jaxvjp.types.devices import jax_device
from jaxvjp.types.dtypes import dtype

Compiled = Callable[..., Sequence[Any]]
Compiler = Callable[..., Compiled]
"""`jax.jit`, or what takes a function and options as it does."""
TRIALS = 3
"""How often a way is timed at least; the fastest run counts."""
ENOUGH = 0.05
"""Seconds of timing after which no more runs than those are made."""
HOT = 8
"""Calls after which a program is hot."""
MADE = 4
"""Compiles that it takes to try all ways, about."""
WORTHWHILE = 100e-6
"""Seconds that a call must take, for another way to be worth looking for."""
PATIENCE = 5.0
"""Seconds that the first compile may have taken, for others to be made."""
QUICK = 8
"""Operations of a program that is compiled at its first call, whether or not there will be a second."""
LARGE = 1 << 25
"""Bytes up to which a program is tried in a way that keeps every result in memory, were each as large as the largest
operand: more would show in what the whole process takes."""
GAIN = 0.9
"""What part of the time another way must do with, to be taken."""

PASSES = "xla_disable_hlo_passes"
"""The option of XLA's that names, with commas between them, passes to leave out."""


class Counters:
    """What has been done since the start: programs compiled, calls of compiled programs, and arrays that those calls
    were given to overwrite."""

    def __init__(self) -> None:
        self.compiles = 0
        self.dispatches = 0
        self.donated = 0

    def __repr__(self) -> str:
        return f"{self.compiles} compiles, {self.dispatches} dispatches"


counters = Counters()


class Choosing:
    """Whether hot programs are measured; from the start on unless `JAXVJP_CHOOSE=0` is in the environment."""

    enabled = os.environ.get("JAXVJP_CHOOSE", "1") != "0"


def set_choosing(enabled: bool) -> None:
    """Says whether a hot program may be compiled in other ways, timed, and then run in the fastest one.

    It costs as much as a few compiles of that program, once. Off, every program is one `jax.jit` of all it gives.
    """
    Choosing.enabled = enabled


class Split(NamedTuple):
    """The outputs of a program: those for the values that a pullback shows beside its gradients, and all others."""

    shown: tuple[int, ...]
    others: tuple[int, ...]


NOT_SPLIT = Split((), ())


class Apart:
    """Two programs for one: what a pullback shows in a second, which computes again what it needs of the first."""

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
        """The outputs, None for those that are only shown."""
        results: list[Any] = [None] * (len(self.split.shown) + len(self.split.others))
        for place, result in zip(self.split.others, self.others(*operands), strict=True):
            results[place] = result
        return results


def together(run: Compiled, split: Split, compiler: Compiler = jax.jit) -> Compiled:
    """All outputs in one program."""
    return compiler(run)


def unfused(run: Compiled, split: Split, compiler: Compiler = jax.jit) -> Compiled:
    """All outputs in one program, each operation of it for itself, with an array for each of their results."""
    return compiler(run, compiler_options={PASSES: "fusion"})


def apart(run: Compiled, split: Split, compiler: Compiler = jax.jit) -> Compiled | None:
    """Gradients in one program, the values shown beside them in another; None if there are not both."""
    return Apart(run, split, compiler) if all(split) else None


Way = Callable[..., Compiled | None]
WAYS: dict[str, tuple[Way, ...]] = {"cpu": (apart, unfused)}
"""The ways to try besides `together`, for each of JAX's platforms; none where that one is not known to go wrong."""


class Setting(NamedTuple):
    """Options of XLA's with which a program may run faster, whichever way it is compiled."""

    name: str
    options: dict[str, Any]
    without: str = ""
    most: float = math.inf
    """Bytes of operands up to which it is tried."""
    spares: bool = False
    """Whether it leaves the other cores to whoever needs them, which counts as much as a tenth of the time."""

    def __call__(self, compiler: Compiler) -> Compiler:
        """The compiler with these options, and without the pass named."""

        def compile(function: Compiled, compiler_options: dict[str, Any] | None = None, **others: Any) -> Compiled:
            options = {**(compiler_options or {}), **self.options}
            if self.without:
                options[PASSES] = ",".join(filter(None, [options.get(PASSES), self.without]))
            return compiler(function, compiler_options=options, **others)

        return compile


SETTINGS: dict[str, tuple[Setting, ...]] = {
    "cpu": (
        # Vectors of 512 bits, where XLA takes half of that although the processor has them: polynomials, such as those
        # that sines and exponentials are, then take half the time.
        Setting("wide", {"xla_cpu_prefer_vector_width": 512}),
        # Each operation on one core: of 65,536 floats, waking another core takes longer than its half of the work.
        # Of many floats it is never right but while the machine has other work, as it may have when it is measured.
        Setting(
            name="alone",
            options={"xla_cpu_experimental_ynn_fusion_type": ""},
            without="cpu-parallel-task-assigner",
            most=1 << 21,
            spares=True,
        ),
    )
}
"""The settings to try one after the other with the way chosen, for each of JAX's platforms."""


Name = TypeVar("Name", str, tuple[str, ...])


class Choice(NamedTuple):
    """How a program is compiled: the way, the settings, and the seconds that each was seen to take."""

    way: str
    seconds: dict[str, float]
    settings: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ", ".join([self.way, *self.settings])


COMPLEX = frozenset([np.dtype(np.complex64), np.dtype(np.complex128)])


def packed_numbers(numbers: list[Any], own: Any) -> Any:
    """An array of Python numbers. Of integers that take 64 bits without a sign the bits count."""
    try:
        return np.array(numbers, own)
    except TypeError:  # bfloat16, of which NumPy knows nothing, takes no integer beyond 64 bits
        return np.array([float(each) for each in numbers], own)
    except OverflowError:
        return np.array([each % (1 << 64) for each in numbers], np.uint64).astype(own)


told_of_compiles: list[Callable[[Where, Executable], None]] = []
"""Who wants to know of each program that is compiled, and for which line."""


class Executable:
    """A program compiled for calling: its arrays as they are, its Python numbers packed into one array per dtype.

    Packed, 20 numbers cost a call 2 µs; as operands of their own they cost 32.

    Attributes:
        arrays: the positions of the leaves that are arrays, which are the first operands of `compiled`.
        packs: for each dtype, the positions of its numbers, which are packed into one more operand.
        compiled: the compiled function of those operands.
        choice: how it is compiled, once that was chosen.
        where: the line that needed it first.
        device: where it runs; None where JAX puts arrays anyway.
        deferring: gives the outputs without those that are only shown, as long as nobody has wanted them.
        repeated: for each pack what was in the last one and, once that came twice, the array of it on the device.
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
        if place is not None:  # a program that reads no array, but for numbers, would run elsewhere
            self.device = jax_device(place)
            self.compiled = _on_device(self.device, usual)
        self.deferring: Compiled | None = None
        self.where: Where = None

    def traced(self, *operands: Any, outputs: tuple[int, ...] | None = None) -> tuple[Any, ...]:
        """What `jax.jit` traces: the program, or those of its outputs."""
        counters.compiles += 1
        results = self.run(*operands)
        return results if outputs is None else tuple([results[each] for each in outputs])

    def run(self, *operands: Any) -> tuple[Any, ...]:
        """The outputs of the program, one operation after the other."""
        leaves: list[Any] = [None] * len(self.program.leaves)
        for position, array in zip(self.arrays, operands, strict=False):
            leaves[position] = array
        for positions, pack in zip(self.packs.values(), operands[len(self.arrays) :], strict=True):
            for index, position in enumerate(positions):
                leaves[position] = pack[index]
        return replay(self.program, leaves)

    def split(self) -> Split:
        """The outputs, of which some may be wanted without the others."""
        return split(self.program)

    def sample(self, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        """Operands on which ways can be compared, as good as these for that and perhaps quicker."""
        return operands

    @property
    def settled(self) -> bool:
        """Whether it is known how to compile it."""
        return not isinstance(self.compiled, _Trial | Waiting)

    def _over(self, compiled: Compiled) -> None:
        self.compiled = compiled
        for tell in told_of_compiles:
            tell(self.where, self)

    def for_always(self, arrays: Sequence[Any], packs: Sequence[Any], donated: tuple[int, ...] = ()) -> Compiled:
        """A function of the arrays alone, for arrays like `arrays` and always the same `packs`, compiled here and now.

        The numbers become constants, which XLA computes with, and calls of it need no `enable_x64` around them. The
        arrays at the places `donated` may be overwritten by a call. Two programs for one have no use for that.
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
        """Lets the first call go without a compile, unless that is quick: it may be the only one."""
        if isinstance(self.compiled, Waiting) and self.compiled.calls == 0 and self.program.weight > QUICK:
            self.compiled.eagerly = True

    def packed(self, place: int, numbers: list[Any], own: Any) -> Any:
        """The operand for the pack at `place`. Numbers that stay the same from call to call stay on the device."""
        known, array = self.repeated[place]
        told: Any = numbers
        if 0 in numbers or own in COMPLEX:  # zeros of either sign are equal, and not the same: compared bit by bit
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
        """Ends the choosing."""
        self.compiled, self.choice = compiled, choice
        if isinstance(compiled, Apart):
            self.deferring = compiled.without_shown


def _on_device(device: Any, compiled: Compiled) -> Compiled:
    def call(*operands: Any) -> Sequence[Any]:
        with jax.default_device(device):
            return compiled(*operands)

    return call


class _Trial:
    """Stands in for a program's compiled function until it is known how to compile it.

    The first call compiles, the next are timed; a program that is called HOT times, takes long enough and has run for
    longer than the trials will take is then compiled in the other ways and timed on the operands of that call.
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
        """Times every way on `operands`, then the fastest with settings, and settles on what was fastest."""
        operands = self.of.sample(operands)
        outputs = self.of.split()
        # Of a program that reads nothing but numbers, the operands are NumPy's.
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
            # Half of what it takes to show values counts, for they are computed only where somebody reads them.
            least = seconds.get(f"{name}, nothing read", seconds[name])
            return (seconds[name] + least) / 2 * (GAIN if name == usual else 1)

        best = min(known, key=weight)
        # Each setting on top of those before. All are timed together: over several cores the time of a short program
        # differs more from one minute to the next than by a setting.
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
    """The function by its name, once it has compiled; nothing if there is none or XLA knows no such option."""
    if compiled is None:
        return {}
    try:
        _finished(compiled(*operands))
    except jax.errors.JaxRuntimeError:
        return {}
    return {name: compiled}


def _seconds(known: dict[Name, Compiled], operands: tuple[Any, ...]) -> dict[Name, float]:
    """The fastest of a few runs of each function, which take turns."""
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
    """The arrays, once they are computed."""
    for each in arrays:
        if isinstance(each, jax.Array):
            each.block_until_ready()
    return arrays


def split(program: Program) -> Split:
    """Which outputs of a program are values that a pullback in it shows."""
    shown = []
    for place, each in enumerate(program.outputs):
        if each >= 0:
            operation, static, inputs = program.equations[each]
            source = program.equations[inputs[0]] if operation is item and inputs[0] >= 0 else None
            # Of what an op that carries a program returns, the program's own outputs come first.
            if source is not None and source[0].carries_program and static[0] < len(source[1][0].outputs):
                shown.append(place)
    return Split(tuple(shown), tuple(place for place in range(len(program.outputs)) if place not in shown))


EXECUTABLES = 1024
executable: Callable[[Program], Executable] = lru_cache(maxsize=EXECUTABLES)(Executable)
