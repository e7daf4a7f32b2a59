"""Records functions in torch's words as pure functions: `functional` for JAX's transforms, `Body` for loops too.

The function runs once, on tensors without values, as inside of `func.grad`; what it records is frozen as a `Program`.
A tensor from outside that it reads becomes one more argument.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np
from jax.tree_util import keystr, tree_leaves_with_path

from jaxvjp.core.derive.between import between, inputs_of
from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.modes import grad_mode, outside_inference, tracking, transforming
from jaxvjp.core.record.user_lines import located
from jaxvjp.library.crossing import argument_node, aval_of, is_array, node_of
from jaxvjp.ops.identity import transform_argument
from jaxvjp.ops.op import Aval
from jaxvjp.pure.arrays import (
    CONSTANT,
    arrays_of,
    narrow,
    refuse_hooks,
    refuse_lost,
    wide_types,
)
from jaxvjp.tensor.levels import Guard
from jaxvjp.tensor.refusals import is_key
from jaxvjp.tensor.tensor import Tensor, wrap

UNDERNEATH = "a pure function of JAX arrays, which replays what was recorded"
PLAIN = (bool, int, float, complex)


def is_tensor(value: Any) -> bool:
    """Whether `value` is a tensor: a leaf in the eyes of `jax.tree`."""
    return isinstance(value, Tensor)


@contextmanager
def recording() -> Iterator[Guard]:
    """A block in which a pure function is recorded: it has to leave alone all that it did not make."""
    state, guard = transforming(), Guard(())
    state.depth, state.pure = state.depth + 1, state.pure + 1
    try:
        with outside_inference(), guard, tracking(True):
            yield guard
    finally:
        state.depth, state.pure = state.depth - 1, state.pure - 1


class Body:
    """What a function in torch's words recorded of arguments without values.

    Attributes:
        name: the function's.
        arguments: nodes that stand for its array arguments.
        outputs: the nodes of what it returned.
        keys: what it returned of `jax.random`, by their places: no tensor has them, so they pass through.
        tree: the structure of all that.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        leaves: Sequence[Any],
        tree: Any,
        arrays: Sequence[Any] = (),
        with_keys: bool = False,
    ) -> None:
        """`leaves` are the leaves of `(args, kwargs)` of the structure `tree`: an `Aval` stands for an array, whose
        value may be among `arrays`; anything else is passed on. `with_keys` it may return keys of `jax.random`.

        RuntimeError for a function that writes what it did not make, or an argument that it does not return; TypeError
        for one that returns something else than tensors, arrays and numbers.
        """
        self.tree: Any
        self.name = getattr(function, "__name__", type(function).__name__)
        avals = [leaf for leaf in leaves if isinstance(leaf, Aval)]
        known = arrays or [None] * len(avals)
        with recording() as guard:
            self.first = guard.first
            self.arguments = [argument_node(each, array) for each, array in zip(avals, known, strict=True)]
            shown = [Node(transform_argument, (), (each,), each.aval, each.requires_grad) for each in self.arguments]
            tensors = [wrap(each) for each in shown]
            guard.arguments += tensors
            rest = iter(tensors)
            given, named = jax.tree.unflatten(tree, [next(rest) if isinstance(leaf, Aval) else leaf for leaf in leaves])
            found, self.tree = jax.tree.flatten(function(*given, **named), is_leaf=is_tensor)
            self._check_writes(shown, tensors, found, leaves, tree)
            self.keys = {place: each for place, each in enumerate(found) if with_keys and is_key(each)}
            self.outputs = [self._output(each) for place, each in enumerate(found) if place not in self.keys]

    def _check_writes(
        self, shown: list[Node], tensors: list[Tensor], found: list[Any], leaves: Sequence[Any], tree: Any
    ) -> None:
        kept = [each.storage for each in found if isinstance(each, Tensor)]
        places = [at for at, leaf in tree_leaves_with_path(jax.tree.unflatten(tree, leaves)) if isinstance(leaf, Aval)]
        for (_, argument, *inside), tensor, node in zip(places, tensors, shown, strict=True):
            if tensor.__node__ is not node and tensor.storage not in kept:
                where = located(tensor.__versions__.where)
                place = keystr((argument,), simple=True) + keystr(tuple(inside))
                raise RuntimeError(
                    f"{self.name} is to be pure, and writes to its argument {place} in place without returning it: the "
                    f"write would be lost\nIt was written by {where}\nReturn it, or write to a clone: "
                    "`x = x.clone()`."
                )

    def refuse_hooks(self) -> None:
        """RuntimeError where the function registered a hook of a gradient."""
        refuse_hooks(between(self.outputs, self.arguments, inputs_of), self.first)

    def _output(self, value: Any) -> Node:
        if isinstance(value, Tensor):
            return value.__node__
        if is_array(value):
            return node_of(value)
        if isinstance(value, PLAIN):
            return node_of(np.asarray(value, jax.dtypes.canonicalize_dtype(type(value))))
        raise TypeError(
            f"{self.name} returned a {type(value).__name__}: a function that JAX takes returns tensors, arrays and "
            "numbers, or tuples, lists and dicts of them"
        )


def functional(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function written in torch's words as a function of JAX arrays, which JAX can transform.

    `jax.jit`, `jax.grad`, `jax.vmap` and others take it: the function sees tensors, JAX sees a pure function.

    Args:
        function: takes tensors, in tuples, lists, dicts or other pytrees, and anything else; returns tensors, in such
            structures. It runs once for each call, on tensors without values, as inside `torch.func.grad`.

    Returns:
        a function of the same arguments with JAX's or NumPy's arrays (or tensors) for tensors, which returns JAX's
        arrays. Python's numbers are handed on as they are; `jax.jit` makes arrays of them.

    Raises:
        RuntimeError: when it is called: the function reads a value (`item`, `if`), draws random numbers, writes to a
            tensor that it has not made, or to an argument that it does not return; or it reads a tensor that requires a
            gradient, which would be lost: pass it in, or call under `torch.no_grad()`; or JAX traces it, and it has a
            hook or a custom `autograd.Function`.
        TypeError: it returns something else than tensors, arrays and numbers; or it computes in double precision while
            JAX's 64-bit types are off.

    Underneath: a replay of what was recorded. `detach` and `no_grad` are `jax.lax.stop_gradient`. What is traced must
    have no hook, as JAX's derivative calls none; that of `torch.func.grad` inside of the function does.
    """

    @functools.wraps(function)
    def pure(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = jax.tree.flatten((args, kwargs))
        if not wide_types():  # as JAX takes them
            leaves = [narrow(each, "iuf") if isinstance(each, np.ndarray) else each for each in leaves]
        arrays = [leaf for leaf in leaves if is_array(leaf)]
        body = Body(function, [aval_of(leaf) if is_array(leaf) else leaf for leaf in leaves], tree, arrays, True)
        if grad_mode().enabled:
            refuse_lost(body.outputs, CONSTANT)
        if any(isinstance(each, jax.core.Tracer) for each in arrays):
            body.refuse_hooks()
        else:
            for node, array in zip(body.arguments, arrays, strict=True):  # a graph like any other, which is remembered
                node.operation, node.inputs, node.value = None, (), node_of(array).value
        found = arrays_of(body.outputs)
        results = iter(found if wide_types() else [narrow(each) for each in found])
        whole = [body.keys[at] if at in body.keys else next(results) for at in range(body.tree.num_leaves)]
        return jax.tree.unflatten(body.tree, whole)

    return pure
