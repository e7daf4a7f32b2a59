"""Whole imperative steps as one compiled function: `jit`.

`jit` stages a function that computes with tensors, calls `backward` and updates parameters in place. It runs as Python
once, and what it records becomes one program. A later call that fits runs that program and no Python of the step; if
its result requires a gradient, the call is recorded as one node.

What the step reads (its arguments, and tensors from outside such as parameters and their `grad`) are the program's
inputs; what it returns and the new contents of tensors that it wrote are its outputs, which are put back into the same
tensors after each call. In JAX one writes `state, result = jax.jit(step)(state, *arguments)` and lists the state; here
the state is found by running the step.

`journal` notes what a step changes, `surroundings` what it reads besides tensors (`seen` and `purity` say how that is
compared). The `builder` makes of both a `variant`, one program with what it reads and writes outside; `results` and
`graphs` give back what it returns. `warm` writes the path of a variant that is called often, and `interrupts` keeps
Ctrl-C out of it.
"""

from __future__ import annotations

import functools
import gc
import sys
import time
from collections.abc import Callable
from types import MethodType
from typing import Any
from weakref import WeakSet

from jaxvjp.core.record.modes import grad_mode, listening, staging, transforming
from jaxvjp.core.run.choosing import HOT
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.core.run.tiers import threads
from jaxvjp.ops.products import get_float32_matmul_precision
from jaxvjp.staging.builder import Builder
from jaxvjp.staging.journal import Journal, UnstageableError
from jaxvjp.staging.seen import Identity
from jaxvjp.staging.surroundings import Surroundings
from jaxvjp.staging.variant import Variant
from jaxvjp.staging.warm import Form, Miss, cold, write_warm_path
from jaxvjp.tensor.refusals import is_traced
from jaxvjp.tensor.shared_memory import look_everywhere
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.tensor.trees import flattened, tensors_of
from jaxvjp.types.devices import device
from jaxvjp.types.dtypes import dtype, get_default_dtype
from jaxvjp.types.forks import in_child

__all__ = ["Staged", "UnstageableError", "compile", "jit"]

WARM_PATHS = 4
"""At most this many warm paths are tried, one after the other, for calls with the same `_quick_key`."""
VARIANTS = 64
"""At most this many programs are kept by one staged function (one for each shape, number, state); then all are
dropped."""


class Staged:
    """A staged function and the programs recorded from it. It is called as the function is. `__wrapped__` is the
    function itself; where that is an object such as a model, attributes are read and set on it.

    Attributes:
        _variants: for each signature of the arguments its programs, the last first; None where the function cannot be
            staged.
        _warm_paths: for each `_quick_key` of a call the warm paths of the programs that are called often.
        _hot: the warm path that the last call took.
        _left: whether the last run as Python left a tensor behind, for example in a list.
    """

    def __init__(self, function: Callable[..., Any], fullgraph: bool) -> None:
        functools.update_wrapper(self, function, updated=())
        self._function = function
        self._fullgraph = fullgraph
        self._forget()
        _steps.add(self)

    def _forget(self) -> None:
        """Drops all programs."""
        self._variants: dict[Any, list[Variant] | None] = {}
        self._warm_paths: dict[Any, list[Callable[..., Any]]] = {}
        self._hot: Callable[..., Any] = cold
        self._left = False

    def __getattr__(self, name: str) -> Any:
        if name in OWN_ATTRIBUTES or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._function, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in OWN_ATTRIBUTES or name.startswith("__"):
            object.__setattr__(self, name, value)
        else:
            setattr(self._function, name, value)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __call__(self, *given: Any, **named: Any) -> Any:
        result = self._hot(given, named)
        return result if result is not Miss else self._in_general(given, named)

    def _in_general(self, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        for warm_path in self._warm_paths.get(_quick_key(given, named), ()):
            if warm_path is not self._hot:
                result = warm_path(given, named)
                if result is not Miss:
                    self._hot = warm_path
                    return result
        if transforming().depth or transforming().forward or staging().journal is not None or listening():
            return self._function(*given, **named)
        arguments: list[Any] = [*given, *named.values()]
        structure = Form(len(given), tuple(named), None)
        if not all(type(argument) in PLAIN or isinstance(argument, Tensor) for argument in arguments):
            arguments, tree = flattened(tuple(arguments))
            structure = structure._replace(tree=tree)
        if any(isinstance(each, Tensor) and is_traced(each.__node__) for each in arguments):  # inside of `jax.jit`
            return self._function(*given, **named)
        first: dict[int, int] = {}
        kinds = [
            (type(each), first.setdefault(id(each), at)) if isinstance(each, Tensor) else _signature(each)
            for at, each in enumerate(arguments)
        ]
        mode = grad_mode()
        modes = (mode.enabled, mode.inference, mode.autocast, get_default_dtype(), get_float32_matmul_precision())
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
                    found = write_warm_path(variant, tensors, arguments, structure)
                    if found is not None:
                        self._keep(found, variant, _quick_key(given, named))
                return result
        return self._stage(key, arguments, given, named)

    def _keep(self, warm_path: Callable[..., Any], variant: Variant, look: Any) -> None:
        """Adds the warm path of a variant, in place of the one that the variant had before."""
        others = [each for each in self._warm_paths.get(look, ()) if each is not variant.warm_path]
        self._warm_paths[look] = [warm_path, *others][:WARM_PATHS]
        self._hot = variant.warm_path = warm_path

    def _stage(self, key: Any, arguments: list[Any], given: Any, named: Any) -> Any:
        """Runs the function as Python, and keeps what it recorded as one more program."""
        evaluate([argument.__node__ for argument in arguments if isinstance(argument, Tensor)])
        look_everywhere()
        journal, profile, collects = Journal(self._fullgraph), sys.getprofile(), gc.isenabled()
        try:
            staging().journal = journal
            surroundings = Surroundings(self._function, arguments, journal)
            try:
                gc.disable()  # objects made in the step stay in the youngest generation, where they are found
                with surroundings:
                    result = self._function(*given, **named)
                if journal.refused is None:
                    staging().journal = None
                    behind = self._leaves_behind(journal, result)
            finally:
                if collects:
                    gc.enable()
            variant = None
            if journal.refused is None:
                try:
                    builder = Builder(journal, surroundings, arguments, result)
                    variant = builder.variant()
                except RuntimeError as error:  # as for a view of several whose base was written: torch never reads it
                    if journal.refused is not None:
                        raise
                    journal.refuse(f"gives a tensor that cannot be read: {error}".partition("\n")[0].rstrip("."))
            if variant is not None:
                builder.compute()
                journal.inspect()
        except BaseException:
            staging().journal = None
            if sys.getprofile() != profile:  # an interrupt came just where the surroundings were left
                sys.setprofile(profile if callable(profile) else None)
            if journal.refused is None or self._fullgraph:  # a refused step ran as plain Python: its writes stay
                journal.undo()
            raise
        if sum(len(each or ()) for each in self._variants.values()) >= VARIANTS:
            self._forget()
        if variant is None:
            self._variants[key] = None
        elif not behind:
            self._variants[key] = [variant, *(self._variants.get(key) or ())]
        return result

    def _leaves_behind(self, journal: Journal, result: Any) -> bool:
        """Whether the step made a tensor that outlives it. At the first call that is allowed: an optimiser makes its
        state there, and the next call is staged. A step that does it a second time is refused."""
        results = tensors_of(result)
        behind = journal.left_behind({*results, *[each._grad for each in journal.grads if each._grad is not None]})
        if behind and self._left and threads() == 1:  # with more threads, another may have made them
            journal.refuse(
                "leaves a tensor behind that it made, which only a run of its Python would make anew: return it, or "
                "write into one that was there before (`h.copy_(...)`)",
                behind[0].__shown__.where,
            )
        self._left = bool(behind)
        return self._left


OWN_ATTRIBUTES = frozenset(["_function", "_fullgraph", "_variants", "_warm_paths", "_hot", "_left"])
PLAIN = frozenset([Tensor, int, float, bool, str, type(None)])
VALUES = frozenset([int, bool, str, bytes, type(None), dtype, device])
"""Types whose equal values are interchangeable: a program recorded for one `True` or `3` is right for another."""
SHOWN = frozenset([*VALUES, float])


def _quick_key(given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """A quick key of a call: its numbers and texts, and the types of its other arguments."""
    shown = [each if type(each) in SHOWN else type(each) for each in given]
    if named:
        shown += [(name, each if type(each) in SHOWN else type(each)) for name, each in named.items()]
    return tuple(shown)


_steps: WeakSet[Staged] = WeakSet()


def _forget_all() -> None:
    for each in [*_steps]:
        each._forget()


in_child.append(_forget_all)


def _signature(value: Any) -> Any:
    """The key of an argument that is no tensor: its type and value, or its identity. Another key needs another
    program."""
    if type(value) in (float, complex):
        return type(value), repr(value)  # by `==`, 0.0 is -0.0 and nan is not nan
    return (type(value), value) if type(value) in VALUES else Identity(value)


def jit(function: Callable[..., Any] | None = None, *, fullgraph: bool = True) -> Any:
    """A function that computes with tensors, compiled into one program; its later calls record nothing.

    The function may do what a training step does: compute, call `backward`, read and set `.grad`, write parameters in
    place under `no_grad`, draw random numbers. Its result may require a gradient, as that of a model does, and be
    differentiated outside. It runs as Python the first time, and again for arguments of other shapes, dtypes or
    numbers; each run gives one program, which reads and writes the same tensors. A run that makes state, as the first
    step of an optimizer does, gives none: such a step runs twice as Python.

    Other effects of its Python (prints, appends) happen in those runs only, as with `jax.jit`.

    A program is replayed only while everything that the step's code names is as it was: numbers and texts are compared
    by value, other objects by identity, and mutable ones (lists, dicts, attributes) by their contents as well. What
    cannot be compared (an iterator, an open file, a queue, the clock, a source of random numbers that is not ours)
    raises UnstageableError with the line. After a change of a number the step runs as Python again; another tensor in
    the same place is simply used.

    Large arrays that it overwrites are donated if nothing else refers to them.

    Args:
        function: what to stage: a function or a callable object. Without it, a decorator is returned.
        fullgraph: if True, a step that cannot be staged (it reads a value, advances an iterator, keeps tensors that it
            made) raises UnstageableError with the line, and changes nothing; if False, it runs as plain Python.

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
    backend: Any = None,
    mode: str | None = None,
    options: Any = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """`jit` with torch's name and default: what cannot be staged runs as plain Python. Counterpart of `torch.compile`.

    Args:
        model: what to stage; without it, a decorator is returned. Of an `nn.Module` the result is one, too, which holds
            it as `_orig_mod`.
        fullgraph: as for `jit`.
        dynamic, backend, mode, options, name, recompile_limit, isolate_recompiles, shapes_spec: accepted and without
            effect. XLA compiles for each shape anew.
        disable: if True, the model itself is returned.
    """
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph, disable=disable)
    if disable:
        return model
    as_module = getattr(type(model), "__as_compiled__", None)  # of an `nn.Module`
    return Staged(model, fullgraph) if as_module is None else as_module(model, fullgraph)
