"""Whole imperative steps as one compiled function: `jit`.

`jit` stages a function that computes with tensors, calls `backward` and updates parameters in place: it runs once, what
it records becomes one program, and every later call is that program with no recording at all.

What the step reads (its arguments, and tensors from outside such as parameters and their `grad`) are the program's
leaves; what it returns and what it leaves changed are its outputs, which are put back into the same tensors after each
call. By hand a JAX user writes it `state, result = jax.jit(step)(state, *arguments)`; here the state is found out.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from types import MethodType
from typing import Any

from jaxvjp.core.record.modes import grad_mode, staging, transforming
from jaxvjp.core.record.observers import observers
from jaxvjp.core.run.compilation import HOT
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.core.run.tiers import threads
from jaxvjp.ops.products import get_float32_matmul_precision
from jaxvjp.staging.journal import Journal, UnstageableError, uncollected
from jaxvjp.staging.seen import Same
from jaxvjp.staging.surroundings import Surroundings
from jaxvjp.staging.variant import Variant
from jaxvjp.staging.warm import Form, Miss, cold
from jaxvjp.staging.warm import warm as warm_path
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.tensor.trees import flattened, tensors_of
from jaxvjp.types.devices import device
from jaxvjp.types.dtypes import dtype, get_default_dtype

__all__ = ["Staged", "UnstageableError", "compile", "jit"]

PATHS = 4
"""Warm paths that are tried one after the other, of calls that look alike."""
VARIANTS = 64
"""Programs that one staged function remembers at the most: for other shapes, numbers, states. Then it begins anew."""


class Staged:
    """A function with its programs. Call it as the function; what it was made of is `__wrapped__`, and where that is an
    object, such as a model, its attributes are had, and set, through this one.

    Attributes:
        _variants: for each signature of the arguments its programs, the last first; None where none can be.
        _warm: flat functions that stand for those of the programs that are hot, by what the calls look like.
        _hot: the one of them that fitted last.
        _left: whether the last run of the Python has left a tensor behind.
    """

    def __init__(self, function: Callable[..., Any], fullgraph: bool) -> None:
        functools.update_wrapper(self, function, updated=())
        self._function = function
        self._fullgraph = fullgraph
        self._forget()

    def _forget(self) -> None:
        """Begins anew: nothing is remembered."""
        self._variants: dict[Any, list[Variant] | None] = {}
        self._warm: dict[Any, list[Callable[..., Any]]] = {}
        self._hot: Callable[..., Any] = cold
        self._left = False

    def __getattr__(self, name: str) -> Any:
        if name in OWN or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._function, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in OWN or name.startswith("__"):
            object.__setattr__(self, name, value)
        else:
            setattr(self._function, name, value)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __call__(self, *given: Any, **named: Any) -> Any:
        result = self._hot(given, named)
        return result if result is not Miss else self._in_general(given, named)

    def _in_general(self, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        for warm in self._warm.get(_look(given, named), ()):
            if warm is not self._hot:
                result = warm(given, named)
                if result is not Miss:
                    self._hot = warm
                    return result
        if transforming().depth or transforming().forward or staging().journal is not None or observers.listening:
            return self._function(*given, **named)
        arguments: list[Any] = [*given, *named.values()]
        structure = Form(len(given), tuple(named), None)
        if not all(type(each) in PLAIN or isinstance(each, Tensor) for each in arguments):
            arguments, tree = flattened(tuple(arguments))
            structure = structure._replace(tree=tree)
        first: dict[int, int] = {}
        kinds = [
            (type(each), first.setdefault(id(each), at)) if isinstance(each, Tensor) else _signature(each)
            for at, each in enumerate(arguments)
        ]
        modes = (grad_mode().enabled, grad_mode().inference, get_default_dtype(), get_float32_matmul_precision())
        key = (structure, *modes, *kinds)
        known = self._variants.get(key, ())
        if known is None:
            return self._function(*given, **named)
        for variant in known:
            tensors = variant.tensors(arguments)
            if tensors is not None:
                begun = time.perf_counter()
                result = variant.run(tensors)
                variant.spent += time.perf_counter() - begun
                if variant.calls % HOT == 0:
                    found = warm_path(variant, tensors, arguments, structure)
                    if found is not None:
                        self._keep(found, variant, _look(given, named))
                return result
        return self._stage(key, arguments, given, named)

    def _keep(self, warm: Callable[..., Any], variant: Variant, look: Any) -> None:
        """Takes up the warm path of a variant, instead of its last one if that did not fit any more."""
        others = [each for each in self._warm.get(look, ()) if each is not variant.warm]
        self._warm[look] = [warm, *others][:PATHS]
        self._hot = variant.warm = warm

    def _stage(self, key: Any, arguments: list[Any], given: Any, named: Any) -> Any:
        """Runs the function itself, and remembers what it recorded as one more program."""
        evaluate([each.node for each in arguments if isinstance(each, Tensor)])
        staging().journal = journal = Journal(self._fullgraph)
        try:
            surroundings = Surroundings(self._function, arguments, journal)
            with uncollected():
                with surroundings:
                    result = self._function(*given, **named)
                if journal.refused is None:
                    staging().journal = None
                    behind = self._leaves_behind(journal, result)
            if journal.refused is None:
                variant = Variant(journal, surroundings, arguments, result)
            if journal.refused is None:
                variant.compute()
                journal.inspect()
        except BaseException:
            staging().journal = None
            if journal.refused is None or self._fullgraph:  # else it ran as it is, and what it wrote is written
                journal.undo()
            raise
        if sum(len(each or ()) for each in self._variants.values()) >= VARIANTS:
            self._forget()
        if journal.refused is not None:
            self._variants[key] = None
        elif not behind:
            self._variants[key] = [variant, *(self._variants.get(key) or ())]
        return result

    def _leaves_behind(self, journal: Journal, result: Any) -> bool:
        """Whether the step has made a tensor for later steps. One that does so at its first call only, such as an
        optimiser, is staged when it has what it needs; one that does it again cannot be."""
        results = tensors_of(result)
        behind = journal.left_behind({*results, *[each._grad for each in journal.grads if each._grad is not None]})
        if behind and self._left and threads() == 1:  # else it may be another thread that made them
            journal.refuse(
                "leaves a tensor behind that it made, which only a run of its Python would make anew: return it, or "
                "write into one that was there before (`h.copy_(...)`)",
                behind[0]._node.where,
            )
        self._left = bool(behind)
        return self._left


OWN = frozenset(["_function", "_fullgraph", "_variants", "_warm", "_hot", "_left"])
PLAIN = frozenset([Tensor, int, float, bool, str, type(None)])
VALUES = frozenset([int, bool, str, bytes, type(None), dtype, device])
"""Types whose values, where they are equal, mean the same to a step."""
SHOWN = frozenset([*VALUES, float])


def _look(given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """What a call looks like at a glance: its numbers and texts, and the types of what else it is given."""
    shown = [each if type(each) in SHOWN else type(each) for each in given]
    if named:
        shown += [(name, each if type(each) in SHOWN else type(each)) for name, each in named.items()]
    return tuple(shown)


def _signature(value: Any) -> Any:
    """What tells arguments apart that are no tensors and need programs of their own: a type and value, or an object."""
    if type(value) in (float, complex):
        return type(value), repr(value)  # zeros of either sign are equal, and what is no number is not
    return (type(value), value) if type(value) in VALUES else Same(value)


def jit(function: Callable[..., Any] | None = None, *, fullgraph: bool = True) -> Any:
    """A function that computes with tensors, as one compiled program with no recording in its later calls.

    The function may do what a training step does: compute, call `backward`, read and set `.grad`, write parameters in
    place under `no_grad`, draw random numbers. It may also leave that to others: a result that requires a gradient, say
    of a model, can be differentiated like any other. It runs as Python the first time, and again for arguments of other
    shapes, dtypes or numbers; each time a program is remembered, which reads and writes the same tensors.

    Whatever else Python does in it (prints, appends) happens in those runs alone, as with `jax.jit`.

    A step is replayed only while everything that the functions which ran could reach by the names in their code is as
    it was before: numbers and texts by their value, anything else by identity, and what can change in itself by its
    contents. What cannot be compared so (an iterator, an open file, a queue, the clock, a source of random numbers that
    is not ours) is refused: an UnstageableError with the line. Another number means another run; another tensor is just
    used.

    Arrays that it overwrites are donated, where they are large and nobody else holds them.

    Args:
        function: what to stage, also an object that can be called; without it, a decorator is returned.
        fullgraph: whether what cannot be staged (it reads a value, takes from an iterator, leaves tensors behind that
            it made) is an UnstageableError that names the line, and has changed nothing; else it runs as it is.

    Counterpart of `torch.compile`, where `fullgraph` is False by default; so is it for `jaxvjp.compile`. Underneath:
    `jax.jit` of the step as a function of its arguments and of the state that it reads.
    """
    if function is None:
        return functools.partial(jit, fullgraph=fullgraph)
    return Staged(function, fullgraph)


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    mode: str | None = None,
    options: Any = None,
    disable: bool = False,
) -> Any:
    """`jit` with torch's name and default: what cannot be staged runs as it is. Counterpart of `torch.compile`.

    Args:
        model: what to stage; without it, a decorator is returned.
        fullgraph: as for `jit`.
        dynamic, backend, mode, options: accepted and without effect. XLA compiles, and for each shape anew.
        disable: gives back the model itself.
    """
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph, disable=disable)
    return model if disable else Staged(model, fullgraph)
