"""What an op gives for operands of given shapes and dtypes: found by `jax.make_jaxpr`, so that nothing is computed.

`abstract(mul, (), (float32[3], float32[]))` is float32[3]; where shapes do not fit, the op's own check raises torch's
error. `laid_out` adds the strides of torch's result. `jaxpr_of` gives the jaxpr, which NumPy runs before XLA compiles.
"""

from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

import jax

from jaxvjp.ops.abstract_values import Aval, common_device
from jaxvjp.ops.layouts import COLUMNS, CONTIGUOUS, ELEMENTWISE, LIKE, SAME, kept
from jaxvjp.ops.op import Op
from jaxvjp.types.dtypes import from_numpy
from jaxvjp.types.meshes import OnMesh
from jaxvjp.types.tracebacks import without_own_lines_in_errors

TRACES = 1 << 10
"""How many jaxprs of ops are remembered. What was recorded last is what NumPy runs next."""


@without_own_lines_in_errors
def abstract(operation: Op, static: tuple[Any, ...], avals: tuple[Aval, ...]) -> Any:
    """The abstract value (a tuple of them for a tuple) that `operation` gives; errors of shape and device rise here.

    JAX takes 200 µs for it, so `record.signature_of` remembers the result.
    """
    place = static[0] if operation.moves else common_device(avals)
    result = jaxpr_of(operation, static, avals)[1]
    if type(place) is OnMesh and not operation.moves:
        place = place.anywhere if isinstance(result, tuple) else laid_over(operation, avals, result.shape, place)
    return avals_like(result, place)


def avals_like(result: Any, place: Any = None) -> Any:
    """The aval, without strides, of what has that shape and dtype; a tuple of them for a tuple."""
    if isinstance(result, tuple):
        return tuple([avals_like(each, place) for each in result])
    return Aval(result.shape, from_numpy(result.dtype), place=place)


def jaxpr_of(operation: Op, static: tuple[Any, ...], avals: tuple[Aval, ...]) -> tuple[Any, Any]:
    """The jaxpr of an op for such operands; and the shape and dtype of its result, a tuple of them for a tuple."""
    if operation.jaxpr is not None:
        closed = operation.jaxpr(static)
        return closed, tuple([variable.aval for variable in closed.jaxpr.outvars])
    find = _jaxpr_of.__wrapped__ if operation.carries_program else _jaxpr_of  # that of a program may be long
    return find(operation, static, avals)


@lru_cache(maxsize=TRACES)
def _jaxpr_of(operation: Op, static: tuple[Any, ...], avals: tuple[Aval, ...]) -> tuple[Any, Any]:
    return trace(lambda *operands: operation.call(static, operands), [aval.struct for aval in avals], operation)


def trace(function: Callable[..., Any], structs: Sequence[Any], operation: Op) -> tuple[Any, Any]:
    """The jaxpr of a function that calls an op; and the shapes and dtypes of its results.

    64-bit types are enabled meanwhile, as torch's integers have 64 bits.

    Many functions of `jax.numpy` are jitted, and JAX keeps the jaxpr of each, for each shape, in a cache without bound.
    So an op in whose first jaxpr there is no loop is traced with `disable_jit` from then on. That is faster, too: a
    step of shapes that were never seen takes three quarters of the time.
    """
    make = jax.make_jaxpr(function, return_shape=True)
    found: tuple[Any, Any]
    with jax.enable_x64(True):
        if operation in _without_loops:
            with suppress(Exception), jax.disable_jit():  # an error is raised below
                found = make(*structs)
                return found
        found = make(*structs)
    if not has_any(found[0], LOOPS):
        _without_loops.add(operation)
    return found


LOOPS = frozenset(["cond", "scan", "while"])
"""Primitives that JAX runs as Python while `jit` is disabled: loops would be unrolled, conditions have to be known."""
_without_loops: set[Op] = set()


def has_any(jaxpr: Any, primitives: Container[str]) -> bool:
    """Whether one of these primitives, by their names, is in a jaxpr, or in one that it calls."""
    for equation in jaxpr.eqns:
        if equation.primitive.name in primitives:
            return True
        for parameter in equation.params.values():
            inside = parameter if isinstance(parameter, tuple | list) else (parameter,)  # `cond` has several
            if any(has_any(inner, primitives) for inner in inside if hasattr(inner, "eqns")):
                return True
    return False


def laid_over(operation: Op, avals: tuple[Aval, ...], shape: tuple[int, ...], place: OnMesh) -> OnMesh:
    """Where the result of an op is on the mesh: where an operand of its shape is, if the op is elementwise. For the
    others that is left to XLA."""
    if operation.keeps in (ELEMENTWISE, SAME, LIKE):
        for aval in avals:
            if type(aval.device) is OnMesh and aval.device.spec is not None and (aval.shape == shape or aval.number):
                return aval.device
    return place.anywhere


def laid_out(operation: Op, static: tuple[Any, ...], avals: tuple[Aval, ...], result: Any) -> Any:
    """`result`, what `abstract` gives, with the strides that torch's result has."""
    if type(result) is tuple:
        return tuple([laid_out(operation, static, avals, each) for each in result])
    if operation.layout is not None:
        named = dict(zip(operation.static_names, static, strict=True))
        try:  # where it begins does not matter here
            layout = operation.layout(avals[0].layout, *[0 for _ in avals[1:]], **named)
        except (ValueError, RuntimeError):  # torch would not make this view, but a program may read it
            return result
        return result.laid(layout.strides)
    strided = operation.keeps == COLUMNS or any(aval.strides is not None for aval in avals)
    if operation.keeps not in ("", CONTIGUOUS) and strided:
        return result.laid(kept(operation.keeps, result.shape, [aval.layout for aval in avals]))
    return result
