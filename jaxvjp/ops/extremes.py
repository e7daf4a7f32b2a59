"""The largest and smallest elements, and their positions.

torch shares the gradient of an extreme evenly among equal elements (`max`, `amax`), or gives it to the one whose index
it returns (`max(dim)`, `cummax`).
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxvjp.ops.arguments import Dims, Flag, Index, axes, wrap
from jaxvjp.ops.op import op
from jaxvjp.ops.pointwise import not_implemented, supported
from jaxvjp.ops.reduction import EVENLY, largest, shared, smallest

LONG = 1 << 24
"""The elements of a dimension from which on pairs of value and index are reduced on a CPU, too: without more memory."""


def _check(name, input, dim=None):
    """torch's errors for an empty tensor, and for complex numbers, which each function words its own way."""
    if name in ("amax", "amin"):
        supported(f"{name[1:]}_values", input, "complex")
    if jnp.iscomplexobj(input):
        if dim is None and not name.startswith("arg"):
            raise not_implemented(f"{name}_all", input, device="")
        raise RuntimeError(f"{name}(): does not support complex input\nComplex numbers have no order: `x.abs()`?")
    if name.startswith("arg") and input.dtype == bool:
        raise RuntimeError(f"{name}(): does not support bool input")
    dims = range(input.ndim) if dim is None else axes(dim, input.ndim)
    if dim is None and input.size == 0:
        sentence = f"{name}(): Expected reduction dim to be specified for input.numel() == 0."
        if name.startswith("arg"):
            raise IndexError(sentence)
        raise RuntimeError(f"{sentence} Specify the reduction dim with the 'dim' argument.")
    for each in dims:
        if input.ndim and input.shape[each] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {each} to have non-zero size.")


def chosen(input, position, dim):
    """The elements at `position` along `dim`; the result has the shape of `position`."""
    if input.ndim == 0:
        return input
    return jnp.take_along_axis(input, position, wrap(dim, input.ndim))


def _position(extreme: Callable[..., Any], arg: Callable[..., Any], input, dim):
    """The position of the first extreme along `dim`, which is kept as a dimension; NaN counts as an extreme."""
    dim = wrap(dim, input.ndim)

    def plain(constant):
        return arg(constant, dim, keepdims=True).astype("int64")

    def by_value(constant):
        reached = (constant == extreme(constant, dim, keepdims=True)) | (constant != constant)
        places = jax.lax.broadcasted_iota("int32", input.shape, dim)
        return jnp.min(jnp.where(reached, places, input.shape[dim]), dim, keepdims=True).astype("int64")

    # XLA reduces pairs of value and index. On a CPU two plain reductions, which are vectorized, take half the time,
    # until their arrays are larger than the caches.
    if input.shape[dim] >= LONG:
        return plain(jax.lax.stop_gradient(input))
    return jax.lax.platform_dependent(jax.lax.stop_gradient(input), cpu=by_value, default=plain)


def _along(extreme: Callable[..., Any], arg: Callable[..., Any], input, dim, keepdim):
    """The extremes along a dimension, and their positions."""
    if input.ndim == 0:
        return input, jnp.zeros((), "int64")
    position = _position(extreme, arg, input, dim)
    values = chosen(input, position, dim)
    return (values, position) if keepdim else (values.squeeze(dim), position.squeeze(dim))


def _declare(name: str, extreme: Callable[..., Any], arg: Callable[..., Any], what: str) -> None:
    title = name.capitalize()
    alike = f"The {what} element{{}}; elements that are equally so share the gradient."

    @op(name=name, saves="input, result", grad_fn=f"{title}Backward1", doc=alike.format(""))
    def whole(input):
        _check(name, input)
        return shared(input, extreme, tuple(range(input.ndim)), of_nan=EVENLY)

    @op(
        name=f"{name}.dim",
        returns=("values", "indices"),
        grad_fn=f"{title}Backward0",
        saves="result",
        doc=f"The {what} elements along `dim`, and where they are.",
    )
    def along(input, dim: Index, keepdim: Flag = False):
        _check(name, input, dim)
        return _along(extreme, arg, input, dim, keepdim)

    @op(name="a" + name, saves="input, result", doc=alike.format("s over `dim`"))
    def over(input, dim: Dims = (), keepdim: Flag = False):
        _check("a" + name, input, None if dim == () else dim)
        return shared(input, extreme, axes(dim, input.ndim), keepdim)

    told = f"Where the {what} element is, along `dim` or, without it, in the flattened tensor."

    @op(name="arg" + name, differentiable=False, doc=told)
    def position(input, dim: Index | None = None, keepdim: Flag = False):
        _check(f"arg{name}", input, dim)
        if input.ndim == 0:
            axes(dim, 0)
            return jnp.zeros((), "int64")
        if dim is None:
            shape = (1,) * input.ndim if keepdim else ()
            return _position(extreme, arg, input.reshape(-1), 0).reshape(shape)
        found = _position(extreme, arg, input, dim)
        return found if keepdim else found.squeeze(dim)


_declare("max", largest, jnp.argmax, "largest")
_declare("min", smallest, jnp.argmin, "smallest")


@op(returns=("min", "max"), saves="input, result")
def aminmax(input, *, dim: Index | None = None, keepdim: Flag = False):
    """The smallest and the largest element, over `dim` or all."""
    supported("aminmax", input, "complex")
    if dim is None and input.size == 0:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    if dim is not None and input.size == 0 and input.shape[wrap(dim, input.ndim)] == 0:
        raise IndexError(f"aminmax: Expected reduction dim {dim} to have non-zero size.")
    reduced = axes(dim, input.ndim)
    return tuple(shared(input, each, reduced, keepdim) for each in (smallest, largest))


def _declare_running(name: str, reaches: Callable[..., Any], what: str) -> None:
    meaning = f"The {what} element up to each place along `dim`, and where it is."

    @op(name=name, returns=("values", "indices"), saves="input, result", doc=meaning)
    def row(input, dim: Index):
        supported(name, input, "complex")
        if input.ndim == 0 and dim not in (-1, 0):
            raise IndexError(f"{name}(): Expected reduction dim -1 or 0 for scalar but got {dim}")
        dim = wrap(dim, input.ndim)
        if input.ndim == 0:
            return input, jnp.zeros((), "int64")

        def later(a, b):
            # Of equal elements the last; NaN stays the extreme from where it occurs.
            takes = reaches(b[0], a[0]) | jnp.isnan(b[0])
            takes &= ~jnp.isnan(a[0]) | jnp.isnan(b[0])
            return jnp.where(takes, b[0], a[0]), jnp.where(takes, b[1], a[1])

        places = jax.lax.broadcasted_iota("int64", input.shape, dim)
        _, position = jax.lax.associative_scan(later, (jax.lax.stop_gradient(input), places), axis=dim)
        return chosen(input, position, dim), position


_declare_running("cummax", jnp.greater_equal, "largest")
_declare_running("cummin", jnp.less_equal, "smallest")
