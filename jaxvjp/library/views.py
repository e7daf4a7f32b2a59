"""torch's functions that are one or several views: `flatten`, `movedim`, `meshgrid`, `real`.

Each is a chain of view ops of `ops.view`, or one of `ops.complex`, made by `tensor.view`.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxvjp.ops.arguments import size as size_argument
from jaxvjp.ops.arguments import wrap as wrap_dim
from jaxvjp.ops.complex import conjugate, imaginary_part, real_part
from jaxvjp.ops.pointwise import check_broadcast
from jaxvjp.ops.view import alias, permute, transpose, unsqueeze
from jaxvjp.tensor.answers import define, publish, rows_of
from jaxvjp.tensor.published import public
from jaxvjp.tensor.tensor import Tensor, view
from jaxvjp.tensor.view_steps import Step
from jaxvjp.types.dtypes import bool_
from jaxvjp.types.settings import warn_once
from jaxvjp.types.size import Size

UNDERNEATH = "view ops of `jaxvjp.ops.view` or `jaxvjp.ops.complex`, and `jax.vjp` of them"


VIEWS = {
    "function": """
    reshape(input: Tensor, shape: Sequence[int]) -> Tensor = input.reshape(shape)
        The same elements in another shape, a view where torch has one.
    """,
    "method": """
    reshape_as(self: Tensor, other: Tensor) -> Tensor = self.reshape(other.shape)
        The same elements in the shape of another tensor.
    view_as(self: Tensor, other: Tensor) -> Tensor = self.view(other.shape)  # A view in the shape of another tensor.
    expand_as(self: Tensor, other: Tensor) -> Tensor = self.expand(other.shape)
        A view expanded to the shape of another tensor.
    """,
    "method function": """
    ravel(input: Tensor) -> Tensor = input.contiguous().reshape(-1)
        The elements in one dimension: a view where torch has one.
    swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor = view(input, Step(transpose, (axis0, axis1)))
        Two dimensions exchanged: a view.
    adjoint(input: Tensor) -> Tensor = _turned("adjoint()", input, conjugate=True)
        The last two dimensions exchanged, and of complex numbers the conjugates.
    """,
}
publish(VIEWS, globals())


@public()
def positive(input: Tensor) -> Tensor:
    """The tensor itself; RuntimeError for booleans. Counterpart of `torch.positive`."""
    if input.dtype is bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@public()
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dimensions from `start_dim` to `end_dim` made one. Counterpart of `torch.flatten`."""
    first, last = wrap_dim(start_dim, input.ndim), wrap_dim(end_dim, input.ndim)
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if first == last and input.ndim:
        return input
    shape = input.shape
    return input.reshape(*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :])


@public()
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """One dimension made several, of the given sizes, one of which may be -1: a view. As `torch.unflatten`."""
    dim = wrap_dim(dim, input.ndim)
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    size = input.shape[dim]
    known = math.prod(each for each in sizes if each != -1)
    if (known != size and -1 not in sizes) or (-1 in sizes and (known == 0 or size % known)):
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({size}) in the input "
            "tensor"
        )
    filled = [size // known if each == -1 else each for each in sizes]
    return input.view(*input.shape[:dim], *filled, *input.shape[dim + 1 :])


@public(aliases="moveaxis")
def movedim(input: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Dimensions moved to other places, the others keeping their order: a view. Counterpart of `torch.movedim`."""
    moved, places = size_argument(source), size_argument(destination)
    if len(moved) != len(places):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(moved)} dims) should contain the same number "
            f"of dims as destination ({list(places)} dims)"
        )
    for name, given in (("source", moved), ("destination", places)):
        wrapped = [wrap_dim(each, input.ndim) for each in given]
        if len(set(wrapped)) < len(wrapped):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(given)})")
    taken = [wrap_dim(each, input.ndim) for each in moved]
    rest = iter([each for each in range(input.ndim) if each not in taken])
    put = {wrap_dim(place, input.ndim): each for place, each in zip(places, taken, strict=True)}
    return view(input, Step(permute, (tuple(put[each] if each in put else next(rest) for each in range(input.ndim)),)))


def _turned(name: str, self: Tensor, conjugate: bool) -> Tensor:
    if not self.ndim and name != "adjoint()":
        _alone(name)
        return self.conj() if conjugate else view(self, Step(alias, ()))
    if self.ndim < 2:
        told = f"tensor.{name} is only supported on matrices or batches of matrices."
        raise RuntimeError(f"{told} Got {self.ndim}-D tensor.")
    turned = view(self, Step(transpose, (-2, -1)))
    return turned.conj() if conjugate and self.dtype.is_complex else turned


def _alone(name: str) -> None:
    means = "Consider using x.conj()." if "H" in name else "This function is the identity in these cases."
    warn_once(f"{name} of a number", f"Tensor.{name} is deprecated on 0-D tensors. {means}")


def _hermitian(self: Tensor) -> Tensor:
    """The conjugate transpose of a matrix."""
    if not self.ndim:
        _alone("H")
        return self.conj() if self.dtype.is_complex else view(self, Step(alias, ()))
    if self.ndim not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor."
            + " For batches of matrices, consider using tensor.mH" * (self.ndim > 2)
        )
    return _turned("H", self, conjugate=True)


PROPERTIES = """
    mT(self: Tensor) -> Tensor = _turned("mT", self, conjugate=False)  # The last two dimensions exchanged, as a view.
    mH(self: Tensor) -> Tensor = _turned("mH", self, conjugate=True)
        The last two dimensions exchanged, and each element its conjugate.
"""


def _given(tensors: tuple[Any, ...]) -> Any:
    """The tensors of a call, spread out or in one sequence."""
    return tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors


def _raised(name: str, least: int, places: Callable[[int], Sequence[int]]) -> None:
    """Publishes `atleast_2d` and its like: `places(ndim)` says where missing dimensions are inserted."""

    def function(*tensors: Tensor | Sequence[Tensor]) -> Tensor | tuple[Tensor, ...]:
        given, raised = _given(tensors), []
        for each in given:
            steps = [Step(unsqueeze, (place,)) for place in places(each.ndim)] if each.ndim < least else []
            raised.append(view(each, *steps) if steps else each)
        return raised[0] if len(given) == 1 else tuple(raised)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Tensors as views with {least} dimensions or more. Counterpart of `torch.{name}`."
    public("function")(function)


_raised("atleast_1d", 1, lambda ndim: (0,))
_raised("atleast_2d", 2, lambda ndim: (0,) * (2 - ndim))
_raised("atleast_3d", 3, lambda ndim: ((0, 0, 0), (0, 2), (2,))[ndim])


@public("function")
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes broadcast to; RuntimeError where there is none. As in torch."""
    sizes = [size_argument(each) for each in shapes]
    for size in sizes:
        if min(size, default=0) < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension ({min(size)}): ({min(size)})")
    common = [1] * max(map(len, sizes), default=0)
    for number, shape in enumerate(sizes):
        for dim in range(-1, -len(shape) - 1, -1):
            if shape[dim] in (1, common[dim]):
                continue
            if common[dim] != 1:
                given = shape if isinstance(shapes[number], int) else shapes[number]
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {shape[dim]} at {dim}! Mismatching argument at "
                    f"index {number} had {given}; but expected shape should be broadcastable to {common}"
                )
            common[dim] = shape[dim]
    return Size(common)


@public("function")
def broadcast_tensors(*tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Tensors expanded to the shape that they broadcast to: views. Counterpart of `torch.broadcast_tensors`."""
    given = _given(tensors)
    shape: tuple[int, ...] = ()
    for each in given:
        check_broadcast(shape, tuple(each.shape))
        shape = np.broadcast_shapes(shape, each.shape)
    return tuple(each if each.shape == shape else each.expand(shape) for each in given)


@public("function")
def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: str | None = None) -> tuple[Tensor, ...]:
    """Vectors expanded along a dimension of its own each: views. Counterpart of `torch.meshgrid`.

    With `indexing="xy"` the first two dimensions change places; else it is "ij".
    """
    given = _given(tensors)
    if not given:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for each in given:
        if each.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {each}")
        if each.dtype is not given[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
        if each.device != given[0].device:
            raise RuntimeError("meshgrid expects all tensors to have the same device")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    if indexing is None:
        told = "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument."
        warn_once("meshgrid", told)
    if indexing == "xy" and len(given) > 1:
        first, second, *others = meshgrid(given[1], given[0], *given[2:], indexing="ij")
        return second, first, *others
    shape = [each.numel() for each in given]
    rows = [each.view(*(-1 if place == own else 1 for place in range(len(given)))) for own, each in enumerate(given)]
    return tuple(row.expand(shape) for row in rows)


@public("function")
def real(input: Tensor) -> Tensor:
    """The real part: a view of a complex tensor, a real tensor itself. Counterpart of `torch.real`."""
    return view(input, Step(real_part, ())) if input.dtype.is_complex else input


@public("function")
def imag(input: Tensor) -> Tensor:
    """The imaginary part, as a view; RuntimeError for a real tensor. Counterpart of `torch.imag`."""
    if not input.dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return view(input, Step(imaginary_part, ()))


@public()
def conj(input: Tensor) -> Tensor:
    """The complex conjugate, as a view; a real tensor itself. Counterpart of `torch.conj`."""
    return view(input, Step(conjugate, ())) if input.dtype.is_complex else input


def attach_methods() -> None:
    """Adds `mT`, `mH`, `H`, `real`, `imag` and `+x` to `Tensor`."""
    setattr(Tensor, "__pos__", positive)  # noqa: B010 - mypy knows no such method
    for name, function in {"H": _hermitian, **define(rows_of(PROPERTIES), globals())}.items():
        setattr(Tensor, name, property(function))
    for part in (real, imag):

        def write(self: Tensor, value: Tensor, part: Callable[[Tensor], Tensor] = part) -> None:
            part(self).copy_(value)

        setattr(Tensor, part.__name__, property(part, write))
