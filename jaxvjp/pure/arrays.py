"""JAX's arrays as tensors and tensors as JAX's arrays, without a copy; tensors in JAX's pytrees.

To JAX a tensor is a pytree node with one array: `jnp.sin(x)` and `jax.tree.map` take it, and what comes back in its
place is a tensor again. What requires a gradient does not cross, as JAX would lose the gradient unnoticed.

While JAX traces, a tensor stands for a tracer: its node has no value, and `tracers` knows the tracer. What is computed
of it is recorded, and `arrays_of` replays that on the tracers.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import jax
import numpy as np

from jaxvjp.core.derive.between import frozen_for_jax
from jaxvjp.core.record.graph import Node, Number, gradient_edges, reachable
from jaxvjp.core.record.modes import grad_mode, staging, transforming
from jaxvjp.core.record.record import tracers
from jaxvjp.core.record.steps import level_of
from jaxvjp.core.run.compilation import packed_numbers
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.core.run.program import Program, replay
from jaxvjp.core.run.values import array_of
from jaxvjp.library.crossing import is_array, node_of
from jaxvjp.ops.identity import traced, transform_argument, variable
from jaxvjp.ops.op import Aval
from jaxvjp.tensor.refusals import refuse_tangent, unreadable
from jaxvjp.tensor.tensor import Tensor, wrap
from jaxvjp.types.devices import META, NO_DATA
from jaxvjp.types.dtypes import float32
from jaxvjp.types.meshes import OnMesh, on_axes_of

UNDERNEATH = "the array itself"
LOST = (
    "Can't make a JAX array of a Tensor that requires grad: JAX would lose its gradient. Use tensor.detach() instead.\n"
)
CROSSES = (
    "Beside an array, `x * torch.from_jax(array)`. For a JAX function with its gradient, `torch.wrap(function)(x)`. "
    "For its value, `jnp.sin(x.detach())`; for optax and `jax.tree`, `{name: each.detach() for name, each in "
    "model.named_parameters()}`."
)
CONSTANT = "JAX takes it for a constant here. Pass it in as an argument; under `torch.no_grad()` it may be one."
WITHIN = (
    "JAX transforms a function of arrays. Of one that takes and returns tensors, `torch.functional(f)` is that: "
    "`jax.grad(torch.functional(f))(x)`."
)
NUMBER = Aval((), float32)
ENDED = (
    "JAX's trace of a tensor has ended, so what was recorded of it can't be computed in it\n"
    "A value is computed when it is asked for. `jax.jvp` and `jax.jacfwd` ask after the function has returned; "
    "or the function kept a tensor elsewhere. Of one that takes and returns tensors, `torch.functional(f)` is one of "
    "arrays: `jax.jacfwd(torch.functional(f))(x)`."
)


class Replayed:
    """A part of a graph as a JAX function of the values of `starts`; all else that it reads is bound, as it is now.

    TypeError, when it is called in a trace, if it computes in double precision where JAX's 64-bit types are off.
    """

    def __init__(self, outputs: Sequence[Node], starts: dict[Node, int]) -> None:
        """`starts` maps nodes to places among the arguments of `__call__`; several may have one place."""
        self.program, self.read, self.wide = frozen_for_jax(outputs, starts)
        bound = [each for each in self.read if isinstance(each, Node) and each not in starts]
        values = dict(zip(bound, arrays_of(bound), strict=True))
        self.places = [starts.get(each) if isinstance(each, Node) else None for each in self.read]
        self.given = [each.value if isinstance(each, Number) else values.get(each) for each in self.read]

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        operands = [
            (packed_numbers([value], aval.dtype.numpy)[0] if aval.number else value) if place is None else arrays[place]
            for value, place, aval in zip(self.given, self.places, self.program.arguments, strict=True)
        ]
        return run(self.program, operands, self.wide)


def run(program: Program, operands: Sequence[Any], wide: bool) -> tuple[Any, ...]:
    """The outputs of a program, in whichever trace JAX is. `wide` says whether it computes in double precision.

    A program's integers have 64 bits, as torch's do. In a trace where JAX's 64-bit types are off they have 32, as all
    of JAX's have there. A program with an op that insists on 64 is traced with them: JAX compiles most of these.
    """
    if not wide_types() and any(isinstance(each, jax.core.Tracer) for each in operands):
        if wide:
            raise TypeError(
                "This function computes in double precision, for which JAX's 64-bit types have to be on while it is "
                "traced.\nCall it in `with jax.enable_x64(True):`, or compute in float32."
            )
        for each in operands:
            _check_narrow(each)
        with warnings.catch_warnings(), suppress(Exception):
            warnings.filterwarnings("ignore", "Explicitly requested dtype")
            return replay(program, operands)
    with jax.enable_x64(True):
        return replay(program, operands)


def _check_narrow(value: Any) -> None:
    """TypeError for a constant integer that needs 64 bits, which JAX would cut to 32 without a word."""
    if isinstance(value, jax.core.Tracer) or getattr(value, "dtype", None) not in (np.int64, np.uint64):
        return
    numbers = np.asarray(value).reshape(-1)
    large = numbers[numbers != numbers.astype(np.int32)]
    if large.size:
        raise TypeError(
            f"This function computes with {large[0]}, an integer of more than 32 bits, for which JAX's 64-bit types "
            "have to be on while it is traced.\nCall it in `with jax.enable_x64(True):`."
        )


def wide_types() -> bool:
    """Whether JAX's 64-bit types are on in this thread."""
    return bool(jax.dtypes.canonicalize_dtype(np.int64) == np.int64)


def narrow(array: Any, kinds: str = "iu") -> Any:
    """An array of integers, or of `kinds`, in JAX's type for them: of 32 bits where its 64-bit types are off."""
    return array.astype(jax.dtypes.canonicalize_dtype(array.dtype)) if array.dtype.kind in kinds else array


def arrays_of(nodes: Sequence[Node]) -> list[Any]:
    """The arrays of nodes: their values, computed where need be, or what JAX traces for them."""
    behind = reachable(nodes, lambda node: () if node.value is not None or node in tracers else node.inputs)
    starts = [each for each in behind if each.value is None and each in tracers]
    if not starts:
        if staging().journal is not None:  # a staged step would go on with the value of its first call
            staging().journal.refuse("gives JAX the value of a tensor (`torch.wrap(jnp.sin)(x)` is recorded)")
        with jax.ensure_compile_time_eval():
            evaluate(nodes)
            return [_given(each) for each in nodes]
    computed = [each for each in nodes if each not in starts]
    refuse_hooks(behind, min(each.serial for each in starts))
    replayed = Replayed(computed, {each: place for place, each in enumerate(starts)})
    try:
        results = dict(zip(computed, replayed(*[tracers[each] for each in starts]), strict=True)) if computed else {}
    except jax.errors.UnexpectedTracerError:
        raise jax.errors.UnexpectedTracerError(ENDED) from None
    return [results[each] if each in results else tracers[each] for each in nodes]


def refuse_hooks(nodes: Iterable[Node], first: int) -> None:
    """RuntimeError where the function registered a hook of a gradient: JAX's derivative would not call it.

    The transforms of `torch.func` have called what was registered inside of them: after `first`, where it began.
    """
    for node in nodes:
        own, steps = node.hooks or {}, node.step_hooks
        hooks = [*own.values()] + ([*steps.before.values(), *steps.after.values()] if steps else [])
        if any(level_of(each) < first for each in hooks):
            argument = node.operation in (transform_argument, variable)
            of = "an argument of the function" if argument else f"what was recorded by {node.location}"
            raise RuntimeError(
                f"a JAX function cannot go through the hook on {of}\n"
                "JAX's derivative would not call it. Differentiate inside of the function, by `torch.func.grad`, "
                "which calls hooks; or leave it out where JAX traces."
            )


def _given(node: Node) -> Any:
    """The value of a node as JAX gets it."""
    array = NO_DATA.__array__() if node.device is META else array_of(node)
    return on_axes_of(node.device.given, array) if type(node.device) is OnMesh else array


def crossing(tensors: Collection[Tensor]) -> list[Any]:
    """The arrays of tensors as JAX gets them; RuntimeError, with the line, where a gradient would be lost unnoticed."""
    nodes = [tensor.__node__ for tensor in tensors]
    if grad_mode().enabled:
        refuse_lost(nodes)
    for node in nodes if transforming().depth or transforming().duals else ():
        unreadable(node, f"Can't make a JAX array of a Tensor that differs from example to example\n{CROSSES}")
        refuse_tangent(node, f"Can't make a JAX array of a Tensor with a tangent\n{CROSSES}")
    return arrays_of(nodes)


def refuse_lost(nodes: Sequence[Node], advice: str = CROSSES) -> None:
    """RuntimeError, with the user's line, where a gradient of `nodes` leads elsewhere than to what JAX traces."""
    for node in reachable([each for each in nodes if each.requires_grad], gradient_edges):
        if node not in tracers and not gradient_edges(node):
            done = "last written" if node.operation is variable else "made"
            inside = any(each in tracers for each in reachable(nodes, lambda each: each.inputs))
            told = CONSTANT if inside else advice
            raise RuntimeError(f"{LOST}Its gradient is that of what was {done} by {node.location}\n{told}")


def jax_array(self: Tensor) -> Any:
    """The value as a JAX array that shares the tensor's memory.

    Inside of a function that JAX traces it is the tracer that the tensor stands for.

    Raises:
        RuntimeError: the tensor requires a gradient, which JAX would lose: `x.detach().jax()`.

    Underneath: the array itself.
    """
    (array,) = crossing([self])
    return array


def operand(self: Tensor) -> Any:
    """`jax_array`, for a function of `jax.numpy`: where JAX's 64-bit types are off, integers have 32 bits."""
    return narrow(jax_array(self))


class Operand:
    """`Tensor.__jax_array__`. The functions of `jax.numpy` call it; `jax.grad` and an array's index ask whether it is
    there only to refuse a tensor."""

    def __get__(self, tensor: Tensor | None, kind: type[Tensor] | None = None) -> Callable[..., Any]:
        if tensor is None:
            return operand
        if sys._getframe(1).f_code.co_name == "typeof":
            raise ValueError(f"JAX needs an array here, not a tensor: `jnp.asarray(x)`.\n{WITHIN}")
        return partial(operand, tensor)


def numpy_dtype(self: Tensor) -> Any:
    """`Tensor.__numpy_dtype__`: NumPy's dtype, for which `jnp.zeros_like` and others ask NumPy 2.4 and later."""
    return self.dtype.numpy


placeholders: WeakKeyDictionary[Node, Any] = WeakKeyDictionary()
"""What stands in the array's place in tensors that JAX makes to have a structure, for `custom_vjp` and `lower`."""


def _flattened(tensor: Tensor) -> tuple[tuple[Any], None]:
    node = tensor.__node__
    stands = node.operation is traced and node in placeholders
    return (placeholders[node] if stands else jax_array(tensor),), None


def _unflattened(_: None, children: Sequence[Any]) -> Any:
    """A tensor of an array. Anything else, such as a shape that `jax.tree.map` was asked for, stays what it is."""
    (child,) = children
    if type(child) is object or isinstance(child, jax.stages.ArgInfo):
        node = Node(traced, (), (), NUMBER)
        placeholders[node] = child
        return wrap(node)
    return wrap(node_of(child)) if is_array(child) else child


def register(kind: type[Tensor]) -> None:
    """Makes a class of tensors a node of JAX's pytrees."""
    jax.tree_util.register_pytree_node(kind, _flattened, _unflattened)
