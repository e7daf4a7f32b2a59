"""`Aval`: what is known of an array before it is computed (shape, dtype, device). Equal ones are one object."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from typing import Any
from weakref import WeakValueDictionary

import jax

from jaxvjp.types.devices import Device, of
from jaxvjp.types.dtypes import dtype


class Aval:
    """An abstract value: the shape, dtype and device of an array. Equal ones are the same object.

    `number` marks a Python number that is an operand and no constant: `x * 0.1` and `x * 0.2` are one program. `device`
    is None for JAX's default device.
    """

    __slots__ = ("__weakref__", "device", "dtype", "number", "shape")

    shape: tuple[int, ...]
    dtype: Any  # a `dtype`; that name would here be this attribute
    number: bool
    device: Any  # the `device` of `devices`, or None

    def __new__(cls, shape: tuple[int, ...], own: dtype, number: bool = False, place: Device | None = None) -> Aval:
        # One object per abstract value: every operation looks up a signature, and hashing by identity is fastest.
        key = (shape, own, number, place)
        known = _avals.get(key)
        if known is None:
            made = object.__new__(cls)
            made.shape, made.dtype, made.number, made.device = key
            known = _avals.setdefault(key, made)
        return known

    def shaped(self, shape: tuple[int, ...]) -> Aval:
        """The same with another shape."""
        return Aval(shape, self.dtype, self.number, self.device)

    def on(self, place: Device | None) -> Aval:
        """The same on another device."""
        return Aval(self.shape, self.dtype, self.number, place)

    @property
    def nbytes(self) -> int:
        """The bytes that the array takes."""
        return math.prod(self.shape) * int(self.dtype.itemsize)

    @property
    def struct(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(self.shape, self.dtype.numpy)

    def __repr__(self) -> str:
        return f"{self.dtype.name}{list(self.shape)}{' number' if self.number else ''}"


_avals: WeakValueDictionary[tuple[tuple[int, ...], dtype, bool, Device | None], Aval] = WeakValueDictionary()


@cache
def number_aval(own: dtype, place: Device | None = None) -> Aval:
    """The abstract value of a Python number beside operands of dtype `own`."""
    return Aval((), own, True, place)


def common_device(avals: Iterable[Aval]) -> Device | None:
    """The one device that the operands are on; RuntimeError if they are on several. A Python number is on any."""
    places = list(dict.fromkeys([each.device for each in avals if not each.number or each.device is not None]))
    if len(places) > 1:
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{of(places[0])} and {of(places[1])}!\n"
            "Move one of them first: `x.to(y.device)`; gradients flow through that."
        )
    return places[0] if places else None
