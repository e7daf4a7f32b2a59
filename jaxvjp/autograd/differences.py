"""Products with a Jacobian: J U column by column, VᵀJ row by row, in real numbers.

J U comes from differences of a function's values (`differences`) or from forward mode (`pushed_forward`),
and VᵀJ from the backward pass (`pulled_back`). A complex tensor counts as twice as many real components, the imaginary
parts first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxvjp.autograd.backward import grad
from jaxvjp.autograd.forward_ad import dual_level, make_dual, unpack_dual
from jaxvjp.autograd.roots import Tensors
from jaxvjp.library.creation import tensor, zeros_like
from jaxvjp.tensor.tensor import Tensor

Array = np.ndarray[Any, Any]
Direction = Callable[[int], Array]


def listed(tensors: Tensors) -> list[Tensor]:
    return list(tensors) if isinstance(tensors, tuple | list) else [tensors]  # type: ignore[list-item]


def every_direction(count: int) -> Array:
    return np.eye(count)


def random_direction(count: int) -> Array:
    drawn = np.random.RandomState(0).standard_normal((count, 1))
    return np.asarray(drawn / (np.linalg.norm(drawn) or 1))


def parts_of(tensors: Sequence[Tensor]) -> tuple[str, ...]:
    return ("imaginary", "real") if any(each.dtype.is_complex for each in tensors) else ("",)


def directions(tensor: Tensor, part: str, direction: Direction) -> Array:
    """Columns of real components: directions in one part of a complex tensor, or in a real one as a whole."""
    columns = direction(tensor.numel())
    if not tensor.dtype.is_complex:
        return columns
    return np.concatenate([np.zeros_like(columns), columns][:: -1 if part == "imaginary" else 1])


def flat(values: Tensor) -> Array:
    """The real components as one vector: of a complex tensor the imaginary parts, then the real ones."""
    array = np.asarray(values.detach().__value__).ravel()
    return np.concatenate([array.imag, array.real]) if values.dtype.is_complex else array.astype(np.float64)


def like(components: Array, pattern: Tensor) -> Tensor:
    """The tensor of the shape and dtype of `pattern` with these real components."""
    if pattern.dtype.is_complex:
        imaginary, real = np.split(components, 2)
        components = real + 1j * imaginary
    return tensor(components.reshape(pattern.shape), dtype=pattern.dtype, device=pattern.device)


def differences(
    func: Callable[..., Tensors], arguments: Sequence[Tensor], leaf: Tensor, directions: Array, eps: float
) -> list[Array]:
    """J U of each output, column by column, from central differences of its values."""
    start = flat(leaf)

    def moved(step: Array) -> list[Array]:
        leaf.data.__write__(like(start + step, leaf).__node__)
        outputs = [each for each in listed(func(*arguments)) if isinstance(each, Tensor)]
        for what, own in (("shape", [output.shape for output in outputs]), ("dtype", [each.dtype for each in outputs])):
            if (first := seen.setdefault(what, own)) != own:
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {what} when inputs are perturbed by {eps}, but "
                    f"got: {what}s {first} and {own}."
                )
        return [flat(output) for output in outputs]

    seen: dict[str, list[Any]] = {}
    try:
        columns = [
            [(ahead - behind) / (2 * eps) for ahead, behind in zip(moved(eps * u), moved(-eps * u), strict=True)]
            for u in directions.T
        ]
        sizes = [len(each) for each in moved(np.zeros_like(start))]
    finally:
        leaf.data.__write__(like(start, leaf).__node__)
    return [
        np.stack([column[number] for column in columns], 1) if columns else np.zeros((size, 0))
        for number, size in enumerate(sizes)
    ]


def pulled_back(output: Tensor, leaves: Sequence[Tensor], cotangents: Array) -> list[Array]:
    """VᵀJ with respect to each leaf, row by row."""
    rows = []
    for v in cotangents.T:
        found = grad(output, leaves, like(v, output), retain_graph=True, allow_unused=True, materialize_grads=True)
        rows.append([flat(each) for each in found if each is not None])
    return [np.array([row[j] for row in rows]).reshape(len(rows), flat(leaf).size) for j, leaf in enumerate(leaves)]


def pushed_forward(
    func: Callable[..., Tensors], arguments: Sequence[Tensor], tangents: Mapping[Tensor, Tensor]
) -> list[Tensor]:
    """J u of each output, as forward mode has it: zeros where an output depends on none of the leaves."""
    with dual_level():
        duals = {leaf: make_dual(leaf.detach(), tangent) for leaf, tangent in tangents.items()}
        given = [each.detach() if isinstance(each, Tensor) and each not in tangents else each for each in arguments]
        outputs = listed(func(*[duals.get(each, each) if isinstance(each, Tensor) else each for each in given]))
        found = [unpack_dual(each).tangent for each in outputs]
        return [
            zeros_like(output) if tangent is None else tangent for output, tangent in zip(outputs, found, strict=True)
        ]


def some_rows(pattern: Tensor) -> list[Tensor]:
    draws = np.random.RandomState(0).standard_normal((4, flat(pattern).size))
    return [like(each, pattern) for each in draws]


def stacked(tensors: Sequence[Tensor]) -> Tensor:
    return tensor(np.stack([np.asarray(each.__value__) for each in tensors]), device=tensors[0].device)
