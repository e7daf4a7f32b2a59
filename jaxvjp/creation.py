"""Tensors made from data, from a shape, or from random numbers. `tensor` and `random` come before this room.

Each returns a leaf. `requires_grad=True` makes it one that `backward` accumulates into.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from jaxvjp.core.graph import leaf
from jaxvjp.devices import Device, place, put
from jaxvjp.dtypes import dtype as Dtype  # noqa: N812 - `dtype` is an argument's name here
from jaxvjp.dtypes import float32, from_numpy, get_default_dtype, of_number
from jaxvjp.levels import Batch, per_example
from jaxvjp.ops.op import Aval
from jaxvjp.random import Generator, default_generator
from jaxvjp.tensor import NUMBERS, Tensor, wrap

__all__ = [
    "FloatTensor",
    "empty",
    "empty_like",
    "full",
    "ones",
    "ones_like",
    "rand",
    "rand_like",
    "randn",
    "randn_like",
    "tensor",
    "zeros",
    "zeros_like",
]


def _leaf(array: Any, own: Dtype, requires_grad: bool = False, device: Any = None) -> Tensor:
    if requires_grad and not own.differentiable:
        raise RuntimeError(
            "Only Tensors of floating point and complex dtype can require gradients\n"
            f"The data is torch.{own.name}; write the numbers with a point, [1., 2.], or pass dtype=torch.float32."
        )
    where = place(device)
    with jax.enable_x64(True):
        value = put(np.asarray(array, own.numpy), where)
    return wrap(leaf(value, Aval(value.shape, own, place=where), requires_grad))


def tensor(
    data: Any,
    *,
    dtype: Dtype | None = None,
    device: Device | str | int | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A leaf with a copy of `data`: a number, nested sequences of numbers, an array or a tensor.

    Args:
        data: floats give the default dtype, ints int64, bools bool; an array keeps its own dtype.
        dtype: the dtype to use instead.
        device: where it shall be; by default where a tensor among `data` is, or `get_default_device()`.
        requires_grad: whether `backward` shall accumulate into its `.grad`; RuntimeError for an integer dtype.
        pin_memory: accepted and without effect: JAX moves memory itself.

    Counterpart of `torch.tensor`.
    """
    if isinstance(data, Tensor):
        array: Any = np.asarray(data.value)
        own = data.dtype
        device = data.device if device is None else device
    elif isinstance(data, np.ndarray | np.generic | jax.Array):
        array = np.asarray(data)
        own = from_numpy(array.dtype)
    else:
        array, own = _nested(data)
    return _leaf(array, dtype or own, requires_grad, device)


def _nested(data: Any) -> tuple[Any, Dtype]:
    _rectangular(data)
    array = np.array(_plain(data))
    if array.size == 0:
        return array, get_default_dtype()
    return array, of_number(array.ravel()[0].item())


def _plain(data: Any) -> Any:
    """Nested lists of Python numbers, single tensors among them read."""
    if isinstance(data, Tensor):
        return data.tolist()
    return [_plain(each) for each in data] if isinstance(data, Sequence) and not isinstance(data, str) else data


def _rectangular(data: Any, dim: int = 0) -> tuple[int, ...]:
    if isinstance(data, Tensor | np.ndarray):
        return tuple(data.shape)
    if isinstance(data, (*NUMBERS, np.generic)):
        return ()
    if isinstance(data, str) or not isinstance(data, Sequence):
        raise TypeError(
            f"new(): invalid data type '{type(data).__name__}'\nA tensor is made of numbers, in lists of equal length."
        )
    shapes = [_rectangular(each, dim + 1) for each in data]
    for shape in shapes[1:]:
        if shape != shapes[0]:
            wanted, got = (len(each) and each[0] for each in (shapes[0], shape))
            raise ValueError(
                f"expected sequence of length {wanted} at dim {dim + 1} (got {got})\n"
                "The rows of a tensor are equally long."
            )
    return (len(data), *(shapes[0] if shapes else ()))


def _sizes(name: str, size: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape that `size` means, whether spread out or in one sequence."""
    if len(size) == 1 and isinstance(size[0], Sequence):
        size = tuple(size[0])
    for position, each in enumerate(size, 1):
        if isinstance(each, bool) or not hasattr(each, "__index__"):
            raise TypeError(
                f"{name}(): argument 'size' (position {position}) must be tuple of ints, not {type(each).__name__}\n"
                f"Such as `{name}(2, 3)`."
            )
        if each < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {each}: {list(size)}")
    return tuple(int(each) for each in size)


def _from_shape(name: str, fill: Callable[[tuple[int, ...], Any], Any], summary: str) -> Callable[..., Tensor]:
    """A function of torch's that makes a tensor of a given shape, such as `ones(2, 3, dtype=...)`."""

    def create(
        *size: Any,
        dtype: Dtype | None = None,
        device: Device | str | int | None = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
    ) -> Tensor:
        own = dtype or get_default_dtype()
        return _leaf(fill(_sizes(name, size), own.numpy), own, requires_grad, device)

    create.__name__ = create.__qualname__ = name
    create.__doc__ = f"{summary}\n\n`pin_memory` is accepted and without effect. Counterpart of `torch.{name}`."
    return create


def _like(create: Callable[..., Tensor], random: bool = False) -> Callable[..., Tensor]:
    """The `_like` form of such a function: shape, dtype and device of another tensor."""

    def create_like(
        input: Tensor,
        *,
        dtype: Dtype | None = None,
        device: Device | str | int | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        where = input.device if device is None else device

        def filled(shape: tuple[int, ...]) -> Tensor:
            made: Tensor = create(shape, dtype=dtype or input.dtype, device=where, requires_grad=requires_grad)
            return made

        if random:  # which `create` itself makes per example
            return filled(input.shape)
        return per_example(input.shape, filled, lambda batch: batch.holds(input.node))

    create_like.__name__ = create_like.__qualname__ = f"{create.__name__}_like"
    create_like.__doc__ = f"As `{create.__name__}`, with the shape, dtype and device of `input`, unless told otherwise."
    return create_like


ones = _from_shape("ones", np.ones, "Ones.")
zeros = _from_shape("zeros", np.zeros, "Zeros.")
empty = _from_shape("empty", np.zeros, "Memory that nobody has filled yet; here always zeros, in torch what was there.")
ones_like, zeros_like, empty_like = _like(ones), _like(zeros), _like(empty)


def full(
    size: Sequence[int],
    fill_value: complex,
    *,
    dtype: Dtype | None = None,
    device: Device | str | int | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """`fill_value` everywhere, by default in the number's own dtype; counterpart of `torch.full`."""
    own = dtype or of_number(fill_value)
    return _leaf(np.full(_sizes("full", (size,)), fill_value, own.numpy), own, requires_grad, device)


def _random(name: str, summary: str) -> Callable[..., Tensor]:
    draw = {"rand": Generator.uniform, "randn": Generator.normal}[name]
    kernel = {"rand": "check_uniform_bounds", "randn": "normal_kernel_cpu"}[name]

    def create(
        *size: Any,
        generator: Generator | None = None,
        dtype: Dtype | None = None,
        device: Device | str | int | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        shape, own = _sizes(name, size), dtype or get_default_dtype()
        if not own.is_floating_point:
            raise NotImplementedError(
                f"\"{kernel}\" not implemented for '{own.legacy}'\nDraw floats and convert them: `{name}(...).long()`."
            )

        def drawn(shape: tuple[int, ...]) -> Tensor:
            count = int(np.prod(shape, dtype=np.int64))
            return _leaf(draw(generator or default_generator, count, own).reshape(shape), own, requires_grad, device)

        return per_example(shape, drawn, Batch.random_differs)

    create.__name__ = create.__qualname__ = name
    create.__doc__ = f"{summary}\n\nFor one seed the numbers are torch's. Counterpart of `torch.{name}`."
    return create


rand = _random("rand", "Uniform random numbers from [0, 1).")
randn = _random("randn", "Random numbers from the standard normal distribution.")
rand_like, randn_like = _like(rand, random=True), _like(randn, random=True)


def FloatTensor(*data: Any) -> Tensor:  # noqa: N802 - torch's name
    """torch's old constructor: `FloatTensor([1, 2])` of data, `FloatTensor(2, 3)` of sizes, always float32."""
    if len(data) == 1 and isinstance(data[0], Sequence):
        return tensor(data[0], dtype=float32)
    if len(data) == 1 and isinstance(data[0], np.ndarray | Tensor):
        return tensor(data[0], dtype=float32)
    if data and not all(hasattr(each, "__index__") for each in data):
        raise TypeError(
            f"new(): data must be a sequence (got {type(data[0]).__name__})\n`FloatTensor([2.5])`, or today "
            "`tensor([2.5])`."
        )
    return empty(*data, dtype=float32) if data else empty(0, dtype=float32)
