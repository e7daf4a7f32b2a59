"""Picks the fastest way to compile a program that is called often. `set_choosing(False)` switches the picking off.

Why there is a choice: XLA on a CPU may fuse a chain of elementwise operations into each result that reads it, and so
compute the chain several times. The loss and the gradient of fifty links of `sin(z) * 1.1 + exp(-z)` take thirty times
as long compiled as one program as they take compiled as several. On two million floats one program is faster. So
`Trial` measures: from the eighth call of a program on (`HOT`) it compiles it in each of the ways (`WAYS`), and with
each of XLA's options (`SETTINGS`), and times each on the arrays of that call.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import jax

from jaxvjp.core.run.program import Program
from jaxvjp.core.run.tiers import Compiled, Compiling
from jaxvjp.ops.identity import tuple_item
from jaxvjp.types.accelerators import is_on
from jaxvjp.types.environment import from_environment, one_of

Compiler = Callable[..., Compiled]
"""`jax.jit`, or a function with the same arguments that adds options."""
TRIALS = 3
"""How many runs of each way are timed at least. The fastest run counts."""
ENOUGH = 0.05
"""Seconds. Timing goes on beyond `TRIALS` runs until this much time has passed."""
HOT = 8
"""How many calls make a program hot: worth being compiled in other ways, too."""
COMPILES_PER_TRIAL = 4
"""Compiles that it takes to try all ways, about."""
WORTHWHILE = 100e-6
"""Seconds. For a program whose calls are quicker than this no other way is tried."""
SLOWEST_COMPILE = 5.0
"""Seconds. A program whose first compile took longer is not compiled in other ways."""
UNFUSED_BYTES = 1 << 25
"""Bytes. `unfused` keeps the result of every operation in memory. It is tried only if that takes at most this much,
counting each result as large as the largest operand."""
GAIN = 0.9
"""Another way is taken if it needs less than this part of the usual way's time."""

PASSES = "xla_disable_hlo_passes"
"""XLA's option that names compiler passes to leave out, separated by commas."""


class Choosing:
    """Whether hot programs are timed in several ways. True, unless `JAXVJP_CHOOSE=0` is in the environment."""

    enabled = from_environment("JAXVJP_CHOOSE", "1", one_of("0", "1")) == "1" and is_on("choosing")


def set_choosing(enabled: bool) -> None:
    """Says whether a hot program may be compiled in other ways, timed, and then run in the fastest one.

    That costs a few compiles of the program, once. Switched off, each program is compiled once, all outputs together.
    """
    Choosing.enabled = enabled


class OutputGroups(NamedTuple):
    """A program's outputs, by their numbers, in two groups.

    A program that holds a pullback returns gradients and, as `jax.vjp` does, primal outputs, such as the loss.

    Attributes:
        primal_outputs: the primal outputs of a pullback: the user may never look at them.
        others: all others: the gradients.
    """

    primal_outputs: tuple[int, ...]
    others: tuple[int, ...]


ONE_GROUP = OutputGroups((), ())


class Apart:
    """One program compiled as two: `others` gives the gradients, `primal_outputs` the rest (see `OutputGroups`).

    Both compute what they have in common. A backward pass whose loss nobody reads calls `others` alone.
    """

    def __init__(self, run: Compiled, groups: OutputGroups, compiler: Compiler) -> None:
        self.groups = groups
        self.others = compiler(partial(run, outputs=groups.others))
        self.primal_outputs = compiler(partial(run, outputs=groups.primal_outputs))

    def __call__(self, *operands: Any) -> list[Any]:
        results = self.gradients_only(*operands)
        for number, result in zip(self.groups.primal_outputs, self.primal_outputs(*operands), strict=True):
            results[number] = result
        return results

    def gradients_only(self, *operands: Any) -> list[Any]:
        """The outputs, with None for `groups.primal_outputs`."""
        results: list[Any] = [None] * (len(self.groups.primal_outputs) + len(self.groups.others))
        for number, result in zip(self.groups.others, self.others(*operands), strict=True):
            results[number] = result
        return results


def together(run: Compiled, groups: OutputGroups, compiler: Compiler = jax.jit) -> Compiled:
    """All outputs in one program: the usual way, `jax.jit(run)`."""
    return compiler(run)


def unfused(run: Compiled, groups: OutputGroups, compiler: Compiler = jax.jit) -> Compiled:
    """All outputs in one program in which XLA fuses nothing: each operation writes its result to an array."""
    return compiler(run, compiler_options={PASSES: "fusion"})


def apart(run: Compiled, groups: OutputGroups, compiler: Compiler = jax.jit) -> Compiled | None:
    """Gradients in one program, primal outputs in another; None if the program does not have both."""
    return Apart(run, groups, compiler) if all(groups) else None


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


def ways_on_cpu() -> dict[str, Way]:
    """The ways to compile a program on a CPU, by name."""
    return {each.__name__: each for each in (together, *WAYS["cpu"])}


def with_settings(compiler: Compiler, names: Collection[str]) -> Compiler:
    """`compiler` with those settings for a CPU that have one of these names."""
    chosen = [each for each in SETTINGS["cpu"] if each.name in names]
    return reduce(lambda under, setting: setting(under), chosen, compiler)


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


class Chooser(Protocol):
    """What is compiled, and told of the choice: `compilation.Executable`."""

    program: Program
    call: Compiled

    def traced(self, *operands: Any, outputs: tuple[int, ...] | None = None) -> tuple[Any, ...]:
        """What `jax.jit` traces."""

    def output_groups(self) -> OutputGroups:
        """The outputs in two groups, for `apart`."""

    def take(self, compiled: Compiled, choice: Choice) -> None:
        """Notes the way that was chosen, and calls it from now on."""


class Trial:
    """What `Executable.call` is until the way to compile the program has been chosen.

    The first call compiles, the next `TRIALS` are timed. If they are quick (`WORTHWHILE`), the usual way is kept. If
    not, it is called `HOT` times and until it has run for ten times as long as the trials will take; the next call
    compiles the program in the other ways and times all of them on its operands.
    """

    def __init__(self, of: Chooser, usual: Compiled) -> None:
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
            if self.calls == 1 + TRIALS and (self.seconds < WORTHWHILE or self.first > SLOWEST_COMPILE):
                self.of.take(self.usual, Choice(together.__name__, {together.__name__: self.seconds}))
            return results
        # All trials together may cost a tenth of what the program has run so far.
        paid = self.calls >= HOT and (
            Compiling.when == "always" or self.calls * self.seconds >= 10 * COMPILES_PER_TRIAL * self.first
        )
        if paid and self.choosing.acquire(blocking=False):
            try:
                self.choose(operands)
            except BaseException:
                self.choosing.release()
                raise
            return self.of.call(*operands)
        return self.usual(*operands)

    def choose(self, operands: tuple[Any, ...]) -> None:
        """Times every way on `operands`, then the fastest way with each setting, and takes the fastest of all."""
        # A program that reads nothing but numbers has only NumPy's arrays as operands.
        array = next((operand for operand in operands if isinstance(operand, jax.Array)), None)
        platform = jax.default_backend() if array is None else next(iter(array.devices())).platform
        way, compiled, seconds = self._best_way(operands, platform)
        compiled, settings, further = self._best_settings(way, compiled, operands, platform)
        self.of.take(compiled, Choice(way.__name__, seconds | further, settings))

    def _best_way(self, operands: tuple[Any, ...], platform: str) -> tuple[Way, Compiled, dict[str, float]]:
        """The fastest way, the program compiled in that way, and the seconds that each way took."""
        groups = self.of.output_groups()
        unfused_bytes = self.of.program.weight * max([operand.nbytes for operand in operands], default=0)
        known: dict[str, Compiled] = {together.__name__: self.usual}
        ways: dict[str, Way] = {together.__name__: together}
        for way in WAYS.get(platform, ()):
            if way is not unfused or unfused_bytes <= UNFUSED_BYTES:
                ways[way.__name__] = way
                known |= _usable(way.__name__, way(self.of.traced, groups), operands)
        alone = {
            f"{name}, nothing read": each.gradients_only for name, each in known.items() if isinstance(each, Apart)
        }
        seconds = _seconds(known | alone, operands)

        def score(name: str) -> float:
            # The mean of the time with primal outputs and without, as the user may or may not read the loss.
            least = seconds.get(f"{name}, nothing read", seconds[name])
            return (seconds[name] + least) / 2 * (GAIN if name == together.__name__ else 1)

        best = min(known, key=score)
        return ways[best], known[best], seconds

    def _best_settings(
        self, way: Way, compiled: Compiled, operands: tuple[Any, ...], platform: str
    ) -> tuple[Compiled, tuple[str, ...], dict[str, float]]:
        """The program compiled with the fastest settings, their names, and the seconds that each of them took.

        Each setting is added to those before it. All are timed in turns, as the time of a short program on several
        cores differs more from one minute to the next than from one setting to the next.
        """
        groups, size = self.of.output_groups(), sum(operand.nbytes for operand in operands)
        compiler, settings = cast(Compiler, jax.jit), tuple[str, ...]()
        candidates, on_one_core = {settings: compiled}, [settings]
        for setting in (each for each in SETTINGS.get(platform, ()) if size <= each.most):
            more = _usable((*settings, setting.name), way(self.of.traced, groups, setting(compiler)), operands)
            if more:
                compiler, settings = setting(compiler), (*settings, setting.name)
                candidates |= more
                if setting.spares:
                    on_one_core.append(settings)
        if not settings:
            return compiled, settings, {}
        timed = _seconds(candidates, operands)
        settings = min(timed, key=lambda each: timed[each] * (GAIN if each in on_one_core else 1))
        return candidates[settings], settings, {" and ".join(each): took for each, took in timed.items() if each}


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
    for array in arrays:
        if isinstance(array, jax.Array):
            array.block_until_ready()
    return arrays


def output_groups(program: Program) -> OutputGroups:
    """Finds the outputs of `program` that are primal outputs of a pullback in it."""
    primal_outputs = []
    for number, each in enumerate(program.outputs):
        if each >= 0:
            operation, static, inputs = program.equations[each]
            source = program.equations[inputs[0]] if operation is tuple_item and inputs[0] >= 0 else None
            # An op that carries a program, such as `pullback`, returns the outputs of that program first.
            if source is not None and source[0].carries_program and static[0] < len(source[1][0].outputs):
                primal_outputs.append(number)
    others = tuple(number for number in range(len(program.outputs)) if number not in primal_outputs)
    return OutputGroups(tuple(primal_outputs), others)
