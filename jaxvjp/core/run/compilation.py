"""Makes a `Program` callable: `executable(program)` is an `Executable`, which takes its Python numbers packed into
one array for each dtype.

What is called, `Executable.call`, changes over time:

1. On a CPU `tiers.Waiting` runs the program in NumPy until compiling it pays. On a GPU or TPU nothing waits.
2. `choosing.Trial` has it compiled by `jax.jit`, and times the calls.
3. If it is called often, `choosing` finds out how to compile it best; from then on that function is called.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import getitem
from typing import Any
from weakref import WeakSet

import jax
import numpy as np
from jax.sharding import NamedSharding

from jaxvjp.core.record.user_lines import UserLine
from jaxvjp.core.run.choosing import (
    ONE_GROUP,
    Apart,
    Choice,
    Choosing,
    OutputGroups,
    Trial,
    output_groups,
    together,
    ways_on_cpu,
    with_settings,
)
from jaxvjp.core.run.interpreter import Interpreter
from jaxvjp.core.run.program import Program, device_of_program, replay
from jaxvjp.core.run.tiers import Compiled, Waiting
from jaxvjp.ops.identity import redistributed
from jaxvjp.types.devices import META, NO_DATA, jax_device
from jaxvjp.types.dtypes import dtype
from jaxvjp.types.forks import Fork, in_child
from jaxvjp.types.meshes import OnMesh, of_all_processes

QUICK = 8
"""Operations. Where programs do not wait in NumPy, one of at most this many is compiled at its first call, even if it
may be called only once."""


class Counters:
    """Counts since the start of the process.

    Attributes:
        compiles: how often `jax.jit` traced a program.
        dispatches: how often an `Executable` was called, be it compiled or still run by NumPy.
        donated: how many arrays were donated to those calls (`donate_argnums`), which may overwrite them.
    """

    def __init__(self) -> None:
        self.compiles = 0
        self.dispatches = 0
        self.donated = 0

    def __repr__(self) -> str:
        return f"{self.compiles} compiles, {self.dispatches} dispatches"


counters = Counters()


def packed_numbers(numbers: list[Any], own: Any) -> Any:
    """An array of Python numbers. An integer from 2**63 on wraps around, as it does in torch."""
    try:
        return np.array(numbers, own)
    except TypeError:  # bfloat16, of which NumPy knows nothing, takes no integer beyond 64 bits
        return np.array([float(number) for number in numbers], own)
    except OverflowError:
        return np.array([number % (1 << 64) for number in numbers], np.uint64).astype(own)


told_of_compiles: list[Callable[[UserLine, Executable], None]] = []
"""Who wants to know of each program that is compiled, and for which line."""


executables: WeakSet[Executable] = WeakSet()
"""All that there are."""


class Executable:
    """A `Program` that can be called. Its operands are its arrays, then one array per dtype of its Python numbers.

    For a program of the arrays x, y and the numbers 2.0, 0.5 the operands are (x, y, [2.0, 0.5]). Packed like this, 20
    numbers add 2 µs to a call; as 20 operands they would add 32.

    Programs on a mesh or on a device other than JAX's default begin compiled by `jax.jit`, and those on the device
    "meta" compute nothing (`_call_on`).

    Attributes:
        arrays: the positions of those arguments of the program that are arrays.
        packs: for each dtype, the positions of its Python numbers among the arguments.
        call: the function to call with those operands (see the docstring of the module).
        choice: how it is compiled, once that was chosen.
        where: the user's line that needed it first.
        device: where it runs; None for JAX's default device.
        deferring: usually None. Of a backward pass that runs faster as two functions (`choosing.Apart`): the one that
            computes the gradients, and gives None for the outputs of the forward run, such as a loss; None again once
            somebody has read such an output (`evaluation.Deferred`).
        complex: for each pack whether its numbers are complex.
        repeated: for each pack a pair: the numbers of the last call, in a form to compare them by, and their array on
            the device, if the call before had the same numbers; else None.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.arrays = [position for position, aval in enumerate(program.arguments) if not aval.number]
        self.packs: dict[dtype, list[int]] = {}
        for position, aval in enumerate(program.arguments):
            if aval.number:
                self.packs.setdefault(aval.dtype, []).append(position)
        self.repeated: list[tuple[Any, Any]] = [(None, None)] * len(self.packs)
        self.complex = [each.is_complex for each in self.packs]
        self.choice = Choice(together.__name__, {})
        usual = together(self.traced, ONE_GROUP)
        self.call: Compiled = self._waiting(usual)
        executables.add(self)
        self.device: Any = None
        device = device_of_program(program)
        if device is not None:
            self._call_on(device, usual)
        self.deferring: Compiled | None = None
        self.where: UserLine = None

    def _waiting(self, usual: Compiled) -> Waiting:
        return Waiting(self, Trial(self, usual) if Choosing.enabled else usual, self._switch_to)

    def _call_on(self, device: Any, usual: Compiled) -> None:
        """Sets `call` and `device` of a program that does not run on JAX's default device. It does not wait in NumPy,
        which would run it on the CPU."""
        if device is META:
            self.call = lambda *_: [NO_DATA] * len(self.program.outputs)
        elif type(device) is OnMesh:
            self.device = device.replicated.sharding
            self.call = self._first(_on_mesh(device, self.program, self.arrays, usual))
        else:  # a program that reads no array, but for numbers, would run elsewhere
            self.device = jax_device(device)
            self.call = self._first(_on_device(self.device, usual))

    def traced(self, *operands: Any, outputs: tuple[int, ...] | None = None) -> tuple[Any, ...]:
        """What `jax.jit` traces: the program, or of its outputs only those with the numbers `outputs`."""
        counters.compiles += 1
        results = self.replayed(*operands)
        return results if outputs is None else tuple([results[output] for output in outputs])

    def replayed(self, *operands: Any) -> tuple[Any, ...]:
        """The outputs of the program, computed one operation after the other from the operands of `call`."""
        return replay(self.program, self.spread(operands, operands[len(self.arrays) :], getitem))

    def spread(self, arrays: Sequence[Any], packs: Sequence[Any], entry: Callable[[Any, int], Any]) -> list[Any]:
        """For each argument of the program what stands for it: one of `arrays`, or the `entry(pack, index)` of a pack.

        Of `arrays` the first are taken.
        """
        arguments: list[Any] = [None] * len(self.program.arguments)
        for position, array in zip(self.arrays, arrays, strict=False):
            arguments[position] = array
        for positions, pack in zip(self.packs.values(), packs, strict=True):
            for index, position in enumerate(positions):
                arguments[position] = entry(pack, index)
        return arguments

    def interpreter(self, operands: Sequence[Any]) -> Interpreter:
        """The program, to be run by NumPy on such operands."""

        def compose(made: Interpreter, slots: list[int]) -> list[int]:
            return made.add_program(self.program, self.spread(slots, slots[len(self.arrays) :], made.add_entry))

        return Interpreter(len(self.arrays) + len(self.packs), compose)

    def output_groups(self) -> OutputGroups:
        """The outputs in two groups, for `apart`."""
        return output_groups(self.program)

    @property
    def is_chosen(self) -> bool:
        """Whether the way to compile it has been chosen."""
        return not isinstance(self.call, Trial | Waiting)

    def _first(self, placed: Compiled) -> Compiled:
        def first(*operands: Any) -> Sequence[Any]:
            self._switch_to(placed)
            return placed(*operands)

        return first

    def _switch_to(self, compiled: Compiled) -> None:
        self.call = compiled
        for tell in told_of_compiles:
            tell(self.where, self)

    def with_constants(self, arrays: Sequence[Any], packs: Sequence[Any], donated: tuple[int, ...] = ()) -> Compiled:
        """Compiles, at once, a function of arrays like `arrays` alone. The numbers in `packs` become constants in it.

        Calls of it need no `enable_x64` around them. A call may overwrite the arrays `donated`, by their positions.
        """

        def run(*operands: Any, outputs: tuple[int, ...] | None = None) -> Any:
            return self.traced(*operands, *packs, outputs=outputs)

        def compiler(function: Compiled, **options: Any) -> Compiled:
            return jax.jit(function, donate_argnums=donated, **options).lower(*arrays).compile()

        way = ways_on_cpu()[self.choice.way]
        with jax.enable_x64(True):
            compiled = way(run, self.output_groups(), with_settings(compiler, self.choice.settings))
        assert compiled is not None
        return compiled

    def may_run_eagerly(self) -> None:
        """Has the first call run operation by operation, without a compile, if the program is longer than `QUICK`."""
        if isinstance(self.call, Waiting) and self.call.calls == 0 and self.program.weight > QUICK:
            self.call.eagerly = True

    def packed(self, pack: int, numbers: list[Any], own: Any) -> Any:
        """`numbers` as the array for the pack of this number. If the last call had the same, it is kept: on the device,
        unless NumPy runs the program."""
        known, array = self.repeated[pack]
        told: Any = numbers
        if self.complex[pack] or 0 in numbers:  # 0.0 == -0.0, but 1 / 0.0 != 1 / -0.0: compare bit by bit
            told = packed_numbers(numbers, own).tobytes()
        if known != told:
            self.repeated[pack] = (told, None)
            return packed_numbers(numbers, own)
        if array is None and isinstance(self.device, NamedSharding) and jax.process_count() > 1:
            return packed_numbers(numbers, own)  # JAX would compare it in all processes
        waits = Fork.without or (type(self.call) is Waiting and self.call.interpreter is not None)
        if array is None or not (waits or isinstance(array, jax.Array)):
            array = packed_numbers(numbers, own)
            if not waits:
                with jax.enable_x64(True):
                    array = jax.device_put(array, self.device)
            self.repeated[pack] = (told, array)
        return array

    def take(self, compiled: Compiled, choice: Choice) -> None:
        """Notes the way that was chosen, and calls it from now on."""
        self.call, self.choice = compiled, choice
        if isinstance(compiled, Apart):
            self.deferring = compiled.gradients_only


NO_MESH = jax.sharding.AbstractMesh((), ())


def _on_mesh(mesh: OnMesh, program: Program, arrays: list[int], compiled: Compiled) -> Compiled:
    """`compiled` for a program on a mesh, which may have operands and results at home."""
    at_home = [at for at, position in enumerate(arrays) if program.arguments[position].device is None]
    moves = [program.equations[output] for output in program.outputs if output >= 0]
    home = [at for at, (operation, static, _) in enumerate(moves) if operation is redistributed and static[0] is None]

    def call(*operands: Any) -> Sequence[Any]:
        given = list(operands)
        for at in at_home:
            if not (isinstance(given[at], np.ndarray) or mesh.holds(given[at])):
                given[at] = mesh.home(given[at]) if given[at].sharding.num_devices > 1 else np.asarray(given[at])
        numbers = given[len(arrays) :]
        if (at_home or numbers) and jax.process_count() > 1:
            _check_alike([*[given[at] for at in at_home], *numbers])
        with jax.sharding.use_abstract_mesh(NO_MESH):  # one with `Explicit` axes may be set, by `jax.set_mesh`
            results = list(compiled(*given))
        for at in home:
            results[at] = mesh.home(results[at])
        return results

    return call


def _check_alike(values: Sequence[Any]) -> None:
    """RuntimeError in every process if one of these values, which are on no mesh, is another one in some process."""
    own = np.array([zlib.crc32(np.ascontiguousarray(value)) for value in values], np.uint32)
    different = np.flatnonzero((of_all_processes(own) != own).any(axis=0))
    if different.size:
        shape = list(np.shape(values[different[0]]))
        raise RuntimeError(
            f"The processes have different values for a tensor on no mesh, of shape {shape}, that meets one on a mesh\n"
            "A tensor on no mesh has to be the same in all processes. `distribute_tensor(x, mesh, placements)` takes "
            "that of rank 0; `DTensor.from_local(x, mesh, [Shard(0)])` makes one batch of what each process has."
        )


def _on_device(device: Any, compiled: Compiled) -> Compiled:
    def call(*operands: Any) -> Sequence[Any]:
        with jax.default_device(device):
            return compiled(*operands)

    return call


def _begin_again() -> None:
    """Has all programs run in NumPy: what was compiled of them may need threads that are not in this process."""
    for each in [*executables]:
        if device_of_program(each.program) is None:
            each.call, each.deferring = each._waiting(together(each.traced, ONE_GROUP)), None


in_child.append(_begin_again)

EXECUTABLES = 1024
executable: Callable[[Program], Executable] = lru_cache(maxsize=EXECUTABLES)(Executable)
