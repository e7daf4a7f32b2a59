"""Whole imperative steps as one compiled function: `jit`.

In this room one can stage a function that computes with tensors, calls `backward` and updates parameters in place: it
runs once, what it records becomes one program, and every later call is that program with no recording at all.
`autograd` comes before this room.

What the step reads (its arguments, and tensors from outside such as parameters and their `grad`) are the program's
leaves; what it returns and what it leaves changed are its outputs, which are put back into the same tensors after each
call. By hand a JAX user writes it `state, result = jax.jit(step)(state, *arguments)`; here the state is found out.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from types import MethodType
from typing import Any

from jax.tree_util import tree_flatten, tree_leaves

from jaxvjp.core.compilation import HOT
from jaxvjp.core.evaluation import evaluate
from jaxvjp.core.modes import grad_mode, staging, transforming
from jaxvjp.core.observers import observers
from jaxvjp.dtypes import get_default_dtype
from jaxvjp.staging.journal import Journal, UnstageableError
from jaxvjp.staging.surroundings import Surroundings
from jaxvjp.staging.variant import Variant, is_leaf
from jaxvjp.staging.warm import Miss, cold
from jaxvjp.staging.warm import warm as warm_path
from jaxvjp.tensor import Tensor

__all__ = ["Staged", "UnstageableError", "compile", "jit"]

PATHS = 4
"""Warm paths that are tried one after the other."""
VARIANTS = 64
"""Programs that one staged function remembers at the most: for other shapes, numbers, states. Then it begins anew."""


class Staged:
    """A function with its programs. Call it as the function; what it was made of is `__wrapped__`.

    Attributes:
        variants: for each signature of the arguments its programs, the last that fitted first; None where none can be.
        warm: flat functions that stand for those of the programs that are hot.
        hot: the one of them that fitted last.
    """

    def __init__(self, function: Callable[..., Any], fullgraph: bool) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.fullgraph = fullgraph
        self.forget()

    def forget(self) -> None:
        """Begins anew: nothing is remembered."""
        self.variants: dict[Any, list[Variant] | None] = {}
        self.warm: list[Callable[..., Any]] = []
        self.hot: Callable[..., Any] = cold
        self.left_behind = False

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __call__(self, *given: Any, **named: Any) -> Any:
        result = self.hot(given, named)
        return result if result is not Miss else self._in_general(given, named)

    def _in_general(self, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        for warm in self.warm:
            if warm is not self.hot:
                result = warm(given, named)
                if result is not Miss:
                    self.hot = warm
                    return result
        if transforming.depth or transforming.forward or staging.journal is not None or observers.listening:
            return self.function(*given, **named)
        arguments: list[Any]
        structure: Any = len(given)
        arguments = list(given)
        if named or not all(type(each) in PLAIN for each in given):
            arguments, structure = tree_flatten((given, named), is_leaf=is_leaf)
        first: dict[int, int] = {}
        kinds = [
            (type(each), first.setdefault(id(each), at)) if isinstance(each, Tensor) else _signature(each)
            for at, each in enumerate(arguments)
        ]
        key = (structure, grad_mode.enabled, grad_mode.inference, get_default_dtype(), *kinds)
        known = self.variants.get(key, ())
        if known is None:
            return self.function(*given, **named)
        for variant in known:
            tensors = variant.tensors(arguments)
            if tensors is not None:
                result = variant.run(tensors)
                if type(structure) is int and variant.calls % HOT == 0:
                    self._write_down(variant, tensors, arguments)
                return result
        return self._stage(key, arguments, given, named)

    def _write_down(self, variant: Variant, tensors: list[Any], arguments: list[Any]) -> None:
        """Makes the warm path of a variant that is hot, anew if its last one did not fit any more."""
        found = warm_path(variant, tensors, arguments)
        if found is not None:
            self.warm = [found, *[each for each in self.warm if each is not variant.warm]][:PATHS]
            self.hot = variant.warm = found

    def _stage(self, key: Any, arguments: list[Any], given: Any, named: Any) -> Any:
        """Runs the function itself, and remembers what it recorded as one more program."""
        evaluate([each.node for each in arguments if isinstance(each, Tensor)])
        surroundings = Surroundings(self.function, arguments)
        staging.journal = journal = Journal(self.fullgraph)
        if surroundings.refused is not None:
            journal.refuse(surroundings.refused)
        try:
            result = self.function(*given, **named)
            if journal.refused is None:
                staging.journal = None
                behind = self._left_behind(journal, result)
            if journal.refused is None:
                variant = Variant(journal, surroundings, arguments, result)
        except BaseException:
            staging.journal = None
            journal.undo()
            raise
        if sum(len(each or ()) for each in self.variants.values()) >= VARIANTS:
            self.forget()
        if journal.refused is not None:
            self.variants[key] = None
            return result
        variant.compute()
        if not behind:
            self.variants[key] = [variant, *(self.variants.get(key) or ())]
        return result

    def _left_behind(self, journal: Journal, result: Any) -> bool:
        """Whether the step has made a tensor for later steps. One that does so at its first call only, such as an
        optimiser, is staged when it has what it needs; one that does it again cannot be."""
        results = [each for each in tree_leaves(result, is_leaf=is_leaf) if isinstance(each, Tensor)]
        behind = journal.left_behind({*results, *[each._grad for each in journal.grads if each._grad is not None]})
        if behind and self.left_behind:
            journal.refuse(
                "leaves a tensor behind that it made, which only a run of its Python would make anew: return it, or "
                "write into one that was there before (`h.copy_(...)`)",
                behind[0]._node.where,
            )
        self.left_behind = bool(behind)
        return self.left_behind


PLAIN = frozenset([Tensor, int, float, bool, str, type(None)])


def _signature(value: Any) -> Any:
    """What tells arguments apart that are no tensors and need programs of their own: their type and value."""
    if type(value) is float and value == 0:
        return float, math.copysign(1, value)  # zeros of either sign are equal
    return type(value), value


def jit(function: Callable[..., Any] | None = None, *, fullgraph: bool = True) -> Any:
    """A function that computes with tensors, as one compiled program with no recording in its later calls.

    The function may do what a training step does: compute, call `backward`, read and set `.grad`, write parameters in
    place under `no_grad`. It runs as Python the first time, and again for arguments of other shapes, dtypes or numbers;
    each time a program is remembered, which reads and writes the same tensors. Whatever else Python does in it (prints,
    appends, reads a number that is no argument) happens in those runs alone, as with `jax.jit`.

    Args:
        function: what to stage; without it, a decorator is returned.
        fullgraph: whether a step that cannot be staged (it reads a value, draws random numbers, or returns a tensor
            with a graph) is an UnstageableError that names the line; else it runs as it is.

    Counterpart of `torch.compile`, where `fullgraph` is False by default; so is it for `jaxvjp.compile`. Underneath:
    `jax.jit` of the step as a function of its arguments and of the state that it reads.
    """
    if function is None:
        return functools.partial(jit, fullgraph=fullgraph)
    return Staged(function, fullgraph)


def compile(function: Callable[..., Any] | None = None, *, fullgraph: bool = False) -> Any:
    """`jit` with torch's name and default: what cannot be staged runs as it is. Counterpart of `torch.compile`."""
    return functools.partial(compile, fullgraph=fullgraph) if function is None else Staged(function, fullgraph)
