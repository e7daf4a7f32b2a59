"""The warm path of a staged step: Python source written for one of its programs, and compiled by `exec`.

`write_warm_path` writes it for a `Variant` that has been called often. It checks that nothing has changed, calls the
compiled program, and gives the results to their tensors. It has a line for each check and each tensor where
`Variant.run` has loops and look-ups: a step of eleven operations takes 14 µs with it and 69 µs by `Variant.run`, a step
of a two-layer network 32 µs and 161 µs; written by hand in JAX the first takes 4 µs.

Large arrays that the step overwrites, and that nothing else refers to, are donated: XLA writes the new contents in
their place.

An interrupt (Ctrl-C) comes before anything has changed, or is raised again when all has.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from operator import is_
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxvjp.core.record.modes import changes, count_change, grad_mode, listening, thread_modes
from jaxvjp.core.record.record import node_of_value
from jaxvjp.core.run.choosing import HOT, Apart
from jaxvjp.core.run.compilation import counters
from jaxvjp.core.run.tiers import pays, threads
from jaxvjp.ops.products import get_float32_matmul_precision
from jaxvjp.staging.interrupts import PutOff
from jaxvjp.staging.results import Returned, rewritten
from jaxvjp.staging.seen import Seen, checks
from jaxvjp.staging.variant import Variant
from jaxvjp.tensor.storage import holding_value
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.tensor.trees import flattened
from jaxvjp.types.accelerators import is_on
from jaxvjp.types.dtypes import get_default_dtype

DONATED = {"cpu": 1 << 26}
"""Arrays of this many bytes or more are donated, by backend; 256 KiB on accelerators, where memory is scarce. On a CPU
donation costs time where arrays are small: without it a step that wrote two arrays took 0.8 of the time if they had 1
to 32 MiB, and 1.2 if they had 128."""
WRITTEN = is_on("warm path")
MOST_DISPATCHES = 8
"""A step of more than this many dispatches gets no warm path: each dispatch is compiled anew, its numbers as
constants."""


def references_where(holders: int) -> int:
    """What `sys.getrefcount` gives for an object that one local variable and `holders` other objects refer to."""
    held = object()
    _ = [SimpleNamespace(attribute=held) for _ in range(holders)]
    return sys.getrefcount(held)


ARRAY_ALONE, NODE_ALONE = references_where(1), references_where(2)
"""The counts of an array that only its node refers to, and of a node that only a tensor and its storage refer to."""


class Miss:
    """Returned in place of a result if something has changed; the step has then done nothing yet."""


def cold(given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The warm path of a step that has none yet: it fits no call."""
    return Miss


class Form(NamedTuple):
    """The form of a call's arguments: how many are positional, the names of the others in order, and the tree of all;
    the tree is None if none of them is a list, dict or other container."""

    positional: int
    names: tuple[str, ...]
    tree: Any


def write_warm_path(
    variant: Variant, tensors: list[Tensor], arguments: list[Any], structure: Form
) -> Callable[..., Any] | None:
    """The warm path of a variant, written at a call with these tensors outside and these arguments.

    `arguments` are the leaves of the call's arguments, whose form is `structure`.

    None if `Variant.run` has to do: there are too many dispatches, it is not chosen yet how to compile them, or the
    step does something rare.
    """
    dispatches = variant.plan.dispatches
    if (
        not WRITTEN
        or variant.calls < HOT
        or not 1 <= len(dispatches) <= MOST_DISPATCHES
        or variant.replaced
        or variant.required
        or variant.counted
    ):
        return None
    mode = grad_mode()
    if mode.inference or mode.autocast or any(each.hooks or each.aval.device is not None for each in variant.outside):
        return None
    if not all(dispatch.executable.is_chosen and dispatch.executable.device is None for dispatch in dispatches):
        return None
    if not pays(variant.spent, len(dispatches), sum(dispatch.executable.program.weight for dispatch in dispatches)):
        return None
    if variant.graph is not None or any(each.alias is not None or each.tracked for each in variant.returned):
        return None
    if any(tensors[write.slot].__view_path__ for write in variant.writes):
        return None
    return _Writer(variant, tensors, arguments, structure).function()


def placed(value: Any) -> jax.Array:
    """`value`, maybe a NumPy array, as a JAX array: outside `enable_x64` JAX would make 32 bits of its 64."""
    with jax.enable_x64(True):
        array: jax.Array = jax.device_put(value)
    return array


def drawn(tensor: Tensor) -> Any:
    """The value of a tensor of random numbers drawn for one call, as an operand."""
    value = tensor.__value__ if tensor.__node__.value is None else tensor.__node__.value
    return placed(value) if value.dtype.itemsize == 8 else value


def modes_unchanged(enabled: bool, default: Any, precision: str) -> bool:
    """Whether this thread has the modes of before, and is inside no transform, recording or other staged step."""
    now = thread_modes()
    mode, transforms = now.grad_mode, now.transforming
    return not (
        transforms.depth
        or transforms.forward
        or now.staging.journal is not None
        or listening()
        or mode.enabled is not enabled
        or mode.inference
        or mode.autocast
        or mode.saving is not None
        or get_default_dtype() is not default
        or get_float32_matmul_precision() is not precision
    )


USED = (
    *(thread_modes, modes_unchanged, Miss, count_change, node_of_value, holding_value, Tensor, rewritten, drawn),
    *(np.asarray, is_, sys.getrefcount, threads, PutOff, flattened),
)
NAMES = {**{each.__name__: each for each in USED}, "changes": changes, "counters": counters}
"""What the source names, besides what `_Writer` adds."""


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


class _Writer:
    """Writes the source of the function, and the namespace that it runs in.

    In the source `a0` is the first argument. `t0` is the first tensor outside, `n0` its node, `s0` its storage, `g0`
    its new grad. The value of node 7 is `x7` if it comes from a tensor outside, `k7` if it is a constant, `r7` if it is
    a result.
    """

    def __init__(self, variant: Variant, tensors: list[Tensor], arguments: list[Any], structure: Form) -> None:
        self.variant = variant
        self.structure = structure
        self.tensors = tensors
        self.arguments = arguments
        self.varies = [variant.varies(slot, each) for slot, each in enumerate(tensors)]
        fixed = [each for each, varies in zip(tensors, self.varies, strict=True) if not varies]
        self.names: dict[str, Any] = {
            **NAMES,
            "default": get_default_dtype(),
            "precision": get_float32_matmul_precision(),
            "array": type(placed(0)),
            "known": -1,
            "thread": None,
            "fixed": frozenset(fixed),
            "storages": frozenset([each.__storage__ for each in fixed]),
        }
        self.owners = {each.owner for each in variant.outside}
        self.sources: dict[int, str] = {}
        self.ties: dict[int, list[str]] = {}
        self.differs: list[str] = []
        self._compile()

    def _compile(self) -> None:
        """Compiles each dispatch with its constants, for operands of the shapes and dtypes of now."""
        variant, table, dispatches = self.variant, self.variant.table, self.variant.plan.dispatches
        self.operands = {number: slot for slot, number in variant.reads}
        self.drawn = {number: draw for draw, number in variant.drawn}
        given = {each for dispatch in dispatches for each in dispatch.gives}
        now = {number: self.tensors[slot].__value__ for number, slot in self.operands.items()}
        for each in {array for dispatch in dispatches for array in dispatch.arrays}.difference(now, given):
            now[each] = self.names[f"k{each}"] = placed(table[each])
        if variant.compiled is None:
            variant.compiled = self._compiled(now)
        runs, self.names["run_over"], self.donated = variant.compiled
        self.names |= {f"run{number}": run for number, run in enumerate(runs)}

    def _compiled(self, now: dict[int, Any]) -> tuple[list[Any], Any, list[tuple[int, int]]]:
        """The compiled dispatches; if there is just one, a second form of it that donates; and the donated nodes with
        their slots."""
        overwritten = {write.slot for write in self.variant.writes}
        dispatches = self.variant.plan.dispatches
        enough = DONATED.get(jax.default_backend(), 1 << 18)
        runs: list[Any] = []
        for dispatch in dispatches:
            values = [now[array] for array in dispatch.arrays]
            constants = [np.array([self.variant.table[each] for each in of], own) for own, of in dispatch.packs]
            run: Any = dispatch.executable.with_constants(values, constants)
            # Bound methods: looking one up at each call takes a tenth of a microsecond.
            runs.append(run.__call__)
            if len(dispatches) > 1:  # the results are examples for the next one's operands
                now.update(zip(dispatch.gives, run(*values), strict=True))
                continue
            large = [
                at
                for at, each in enumerate(dispatch.arrays)
                if self.operands.get(each) in overwritten and now[each].nbytes >= enough
            ]
            # If a check of the results may fail, the arrays of before must survive.
            if large and not isinstance(run, Apart) and not self.variant.inspected_results:
                over: Any = dispatch.executable.with_constants(values, constants, tuple(large))
                donated = [dispatch.arrays[at] for at in large]
                return runs, over.__call__, [(each, self.operands[each]) for each in donated]
        return runs, None, []

    def function(self) -> Callable[..., Any]:
        exec("\n    ".join(["def step(given, named):", *self._lines()]), self.names)
        found: Callable[..., Any] = self.names["step"]
        return found

    def _lines(self) -> Iterator[str]:
        yield "global known, thread"
        yield "count = changes.count"
        yield "same = count == known and thread_modes() is thread"
        yield f"if not (same or modes_unchanged({grad_mode().enabled}, default, precision)): return Miss"
        unpacked = "".join(f"a{at}, " for at in range(len(self.arguments)))
        count, names, tree = self.structure
        several = f"len(given) != {count}" if count else "given"
        if names:
            yield f"if {several} or tuple(named) != {names}: return Miss"
            yield "given = (*given, *named.values())"
        else:
            yield f"if named or {several}: return Miss"
        if tree is not None:
            self.names["tree"] = tree
            yield "given, now = flattened(given)"
            yield "if now != tree: return Miss"
        if unpacked:
            yield f"{unpacked} = given"
        yield from self._arguments_checked()
        yield from self._surroundings_checked()
        for slot in range(len(self.variant.outside)):
            yield from self._tensor_checked(slot)
        if self.differs:
            yield f"if not same and ({' or '.join(self.differs)}): return Miss"
        for number, (slot, check) in enumerate(self.variant.inspected):
            self.names[f"check{number}"] = check
            yield f"i{number} = n{slot}.value"
            checked = f"check{number}(asarray(t{slot}.__value__ if i{number} is None else i{number}))"
            if self._overwrites([slot]):
                yield checked
                continue
            self.names[f"passed{number}"] = None  # the array that passed: to read an array is to wait for it
            yield f"global passed{number}"
            yield f"if i{number} is None or i{number} is not passed{number}:"
            yield f"    {checked}"
            yield f"    passed{number} = i{number}"
        inside = [*self._dispatched()]
        for number, (result, check, read) in enumerate(self.variant.inspected_results):
            self.names[f"check_result{number}"] = check
            checked = f"check_result{number}(asarray(r{self.variant.plan.outputs[result]}))"
            arrays = [each for each in read or () if each in self.operands]
            if read is None or self._overwrites([self.operands[array] for array in arrays]):
                inside.append(checked)
                continue
            self.names[f"passed_for{number}"] = (None,) * len(arrays)
            now = "".join([f"x{array}, " for array in arrays])
            inside += [f"global passed_for{number}", f"if not all(map(is_, passed_for{number}, ({now}))):"]
            inside += [f"    {checked}", f"    passed_for{number} = {now or '()'}"]
        owners: dict[int, str] = {}
        changes = [*self._changes(owners)]
        if changes:  # done twice, they give the same
            inside += ["try:", *_indented(changes), "except BaseException:", *_indented([*changes, "raise"])]
        if self.donated:
            yield "put_off = None"
            yield from ["try:", *_indented(inside), "finally:", "    if put_off is not None: put_off.end()"]
        else:
            yield from inside
        if self._as_before():  # the count from before the checks: a change by another thread since then was not seen
            if changes:
                yield "if not same: thread = thread_modes()"
                yield "known = count + 1"
            else:
                yield "if not same: thread, known = thread_modes(), count"
        results = []
        for at, each in enumerate(self.variant.returned):
            yield f"result{at} = {self._result(at, each, owners)}"
            if each.finished is not None:
                self.names[f"finished{at}"] = each.finished.made
                yield f"finished{at}(result{at})"
            results.append(f"result{at}")
        if self.variant.alone:
            yield f"return {results[0]}"
        else:
            self.names["structure"] = self.variant.structure
            yield f"return structure.unflatten([{', '.join(results)}])"

    def _overwrites(self, slots: list[int]) -> bool:
        """Whether the step gives one of these tensors new contents, so that their arrays are others at each step."""
        aliases = self.variant.aliases
        written = {aliases[each.slot] for each in self.variant.writes} | {slot for slot, *_ in self.variant.replaced}
        return any(aliases[each] in written for each in slots)

    def _changes(self, owners: dict[int, str]) -> Iterator[str]:
        """Gives the tensors outside their new contents and gradients. Adds the names of the gradients to `owners`."""
        for write in self.variant.writes:
            self.names[f"where{write.slot}"] = write.where
            yield from self._written(write.slot, f"r{self.variant.plan.outputs[write.output]}", write.times)
        for slot, output, where in self.variant.grads:
            if output is None:
                yield f"t{slot}._grad = None"
            else:
                owners[slot] = f"g{slot}"
                made = self._fresh(f"r{self.variant.plan.outputs[output]}", self.variant.outside[slot].aval, where)
                yield f"t{slot}._grad = g{slot} = {made}"
        if self.variant.writes or self.variant.grads:
            yield "count_change()"

    def _as_before(self) -> bool:
        """Whether the step leaves every checked property of the tensors outside as it was: no two share a storage, and
        it neither gives a grad to one without, nor takes one away."""
        outside = self.variant.outside
        apart = self.variant.aliases == [*range(len(outside))]
        return apart and all(outside[slot].has_grad is (output is not None) for slot, output, _ in self.variant.grads)

    def _arguments_checked(self) -> Iterator[str]:
        for at, value in enumerate(self.arguments):
            if isinstance(value, Tensor):
                before = next(each for each in range(at + 1) if self.arguments[each] is value)
                if before < at:
                    yield f"if a{at} is not a{before}: return Miss"
                continue
            self.names[f"v{at}"] = value
            same = f"a{at} is v{at}"
            if type(value) in (int, str) or (type(value) is float and value == value and value != 0):
                kind = type(value).__name__
                same = f"({same} or (type(a{at}) is {kind} and a{at} == v{at}))"
            yield f"if not {same}: return Miss"

    def _surroundings_checked(self) -> Iterator[str]:
        ties = [Seen(place, None) for place, slot in self.variant.tied if not self.varies[slot]]
        lines = [f"if {each}: return Miss" for each in checks([*self.variant.seen, *ties], self.names)]
        for number, (place, slot) in enumerate(self.variant.tied):
            if self.varies[slot]:
                self.names[f"around{number}"], self.names[f"named{number}"] = place[1:]
                lines.append(f"u{number} = {place.text(f'around{number}', f'named{number}')}")
                if self.variant.outside[slot].found == place:
                    self.sources[slot] = f"u{number}"
                else:
                    self.ties.setdefault(slot, []).append(f"u{number}")
        if lines:
            yield "try:"
            yield from [f"    {line}" for line in lines]
            yield "except (LookupError, AttributeError, ValueError): return Miss"

    def _tensor_checked(self, slot: int) -> Iterator[str]:
        outside, tensor = self.variant.outside[slot], self.tensors[slot]
        t, n, s = f"t{slot}", f"n{slot}", f"s{slot}"
        if self.varies[slot]:
            found = f"t{outside.owner}._grad" if outside.owner is not None else self.sources.get(slot)
            self.names[f"kind{slot}"] = type(tensor)
            yield f"{t} = {found if outside.argument is None else f'a{outside.argument}'}"
            yield f"if type({t}) is not kind{slot}: return Miss"
        else:
            self.names[t] = tensor
        self.names[f"aval{slot}"] = outside.aval
        yield f"{n} = {t}.__shown__"
        differs = [f"{n}.aval is not aval{slot}", f"{n}.requires_grad is not {outside.requires_grad}", f"{n}.special"]
        if outside.has_grad is not None:
            differs.append(f"{t}._grad is None" if outside.has_grad else f"{t}._grad is not None")
        if outside.requires_grad and (outside.has_grad is not None or slot in self.owners):
            differs.append(f"{t}.__after_accumulation__ is not None")
        differs += [f"{each} is not {t}" for each in self.ties.get(slot, ())]
        if not self.varies[slot]:
            self.names[f"storage{slot}"] = tensor.__storage__
            differs.append(f"{t}.__storage__ is not storage{slot}")
            if tensor.__storage__ is not None:
                differs.append(f"storage{slot}.version != {t}.__seen__")
                differs.append(f"storage{slot}.shared is not None")
            self.differs += differs
            return
        yield f"{s} = {t}.__storage__"
        yield f"if {s} is not None and {s}.shared is not None: {s}.look({t}.__view_path__)"  # what NumPy has written
        differs.append(f"({s} is not None and ({s}.version != {t}.__seen__ or {s} in storages))")
        if self.names["fixed"]:
            differs.append(f"{t} in fixed")
        for each in range(slot):
            if self.varies[each]:
                differs += [f"{t} is t{each}", f"({s} is s{each} is not None)"]
        yield f"if {' or '.join(differs)}: return Miss"

    def _dispatched(self) -> Iterator[str]:
        for number, draw in enumerate(self.variant.draws):
            self.names[f"draw{number}"] = draw
            yield f"d{number} = drawn(draw{number}())"
        for number, (at, check) in enumerate(self.variant.inspected_draws):
            self.names[f"check_draw{number}"] = check
            yield f"check_draw{number}(asarray(d{at}))"
        dispatches = self.variant.plan.dispatches
        yield f"counters.dispatches += {len(dispatches)}"
        names = {number: f"d{draw}" for number, draw in self.drawn.items()}
        for number, dispatch in enumerate(dispatches):
            for each in dispatch.arrays:
                if each in self.operands and each not in names:
                    names[each] = f"x{each}"
                    yield f"x{each} = n{self.operands[each]}.value"
                    # If nothing has changed, a value that was a JAX array still is one.
                    unless = "" if self.varies[self.operands[each]] else "not same and "
                    yield f"if {unless}type(x{each}) is not array: x{each} = t{self.operands[each]}.__value__"
            operands = ", ".join([names.get(array, f"k{array}") for array in dispatch.arrays])
            bound = "".join([f"r{each}, " for each in dispatch.gives]) + ("= " if dispatch.gives else "")
            names.update({each: f"r{each}" for each in dispatch.gives})
            if self.donated:
                # Anyone else who refers to the array or its node would find it deleted; so might another thread.
                alone = [
                    f"getrefcount(x{each}) == {ARRAY_ALONE} and getrefcount(n{slot}) == {NODE_ALONE}"
                    for each, slot in self.donated
                ]
                yield f"if threads() == 1 and {' and '.join(alone)}:"
                yield f"    counters.donated += {len(self.donated)}"
                yield "    put_off = PutOff()"
                yield f"    {bound}run_over({operands})"
                yield f"else: {bound}run{number}({operands})"
            else:
                yield f"{bound}run{number}({operands})"
            if dispatch.last_reads:
                yield f"del {', '.join([f'r{each}' for each in dispatch.last_reads])}"

    def _written(self, slot: int, value: str, count: int) -> Iterator[str]:
        """Gives the tensor its new contents: in its node if only the tensor and its storage refer to that, else in a
        new one."""
        t, n, s = f"t{slot}", f"n{slot}", f"s{slot}"
        yield f"{s}, c{slot} = {t}.__storage__, {t}.__own_versions__"
        yield (
            f"if {s} is not None and {s}.contents is {n} and getrefcount({n}) == {NODE_ALONE}"
            + (f" and c{slot} is not None:" if count else ":")
        )
        yield f"    {n}.value = {value}"
        yield f"    {s}.version = {t}.__seen__ = {s}.version + 1"
        if count:
            yield f"    c{slot}.count = {n}.version = c{slot}.count + {count}"
            yield f"    c{slot}.where = where{slot}"
        yield f"else: rewritten({t}, node_of_value({value}, aval{slot}, where=where{slot}), {count}, where{slot})"

    def _fresh(self, value: str, aval: Any, where: Any) -> str:
        """An expression for a new tensor with that value."""
        name = f"at{len(self.names)}"
        self.names[f"aval_{name}"], self.names[name] = aval, where
        return f"holding_value({value}, aval_{name}, {name}, Tensor)"

    def _result(self, at: int, returned: Returned, owners: dict[int, str]) -> str:
        if returned.slot is not None:
            return f"t{returned.slot}"
        if returned.owner is not None:
            return owners[returned.owner]
        if returned.output is not None:
            return self._fresh(f"r{self.variant.plan.outputs[returned.output]}", returned.aval, returned.where)
        self.names[constant := f"constant{at}"] = returned.value
        return constant if returned.aval is None else self._fresh(constant, returned.aval, returned.where)
