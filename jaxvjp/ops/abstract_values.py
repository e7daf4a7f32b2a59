"""`Aval`: what is known of an array before it is computed (shape, dtype, device). Equal ones are one object."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from typing import Any
from weakref import WeakValueDictionary

import jax

from jaxvjp.ops.layouts import Layout, contiguous_strides
from jaxvjp.types.devices import Place, meet, of
from jaxvjp.types.dtypes import dtype
from jaxvjp.types.meshes import OnMesh, mesh_among


class Aval:
    """An abstract value: the shape, dtype and device of an array. Equal ones are the same object.

    `number` marks a Python number: an operand whose value is given anew at each call, so that `x * 0.1` and `x * 0.2`
    are one program. `device` says where the array is, None for the device that JAX prefers. `strides` are those that
    torch would have, None where the elements lie in their order.
    """

    __slots__ = ("__weakref__", "device", "dtype", "number", "shape", "strides")

    shape: tuple[int, ...]
    dtype: Any  # a `dtype`; that name would here be this attribute
    number: bool
    device: Any  # a `Place` of `devices`
    strides: tuple[int, ...] | None

    def __new__(
        cls,
        shape: tuple[int, ...],
        own: dtype,
        number: bool = False,
        place: Place = None,
        strides: tuple[int, ...] | None = None,
    ) -> Aval:
        # One object per abstract value: every operation looks signatures up, and an identity is the quickest hash.
        key = (shape, own, number, place, strides)
        known = _avals.get(key)
        if known is None:
            made = object.__new__(cls)
            made.shape, made.dtype, made.number, made.device, made.strides = key
            known = _avals.setdefault(key, made)
        return known

    def shaped(self, shape: tuple[int, ...]) -> Aval:
        """The same of another shape, whose elements lie in their order."""
        place = self.device
        if type(place) is OnMesh and shape != self.shape:  # which dimensions are split, is another question there
            place = place.anywhere
        return Aval(shape, self.dtype, self.number, place)

    def on(self, place: Place) -> Aval:
        """The same on another device."""
        return Aval(self.shape, self.dtype, self.number, place, self.strides)

    def laid(self, strides: tuple[int, ...]) -> Aval:
        """The same with these strides."""
        own = None if strides == contiguous_strides(self.shape) else strides
        return self if own == self.strides else Aval(self.shape, self.dtype, self.number, self.device, own)

    @property
    def plain(self) -> Aval:
        """The same with its elements in their order: all that a program depends on."""
        return self if self.strides is None else Aval(self.shape, self.dtype, self.number, self.device)

    @property
    def layout(self) -> Layout:
        """Its sizes and strides."""
        strides = contiguous_strides(self.shape) if self.strides is None else self.strides
        return Layout(self.shape, strides, 0, int(self.dtype.itemsize))

    @property
    def nbytes(self) -> int:
        """The bytes that the array takes."""
        return math.prod(self.shape) * int(self.dtype.itemsize)

    @property
    def struct(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(self.shape, self.dtype.numpy)

    def __repr__(self) -> str:
        return f"{self.dtype.name}{list(self.shape)}{' number' if self.number else ''}"


_avals: WeakValueDictionary[Any, Aval] = WeakValueDictionary()


@cache
def number_aval(own: dtype, place: Place = None) -> Aval:
    """The abstract value of a Python number beside operands of dtype `own`."""
    return Aval((), own, True, place)


def common_device(avals: Iterable[Aval]) -> Place:
    """The one device that the operands are on; RuntimeError if they are on several. A Python number is on any.

    Beside operands on a mesh, others may be at home: a copy of them goes to each device.
    """
    places = list(dict.fromkeys([aval.device for aval in avals if not aval.number or aval.device is not None]))
    if len(places) > 1:
        mesh = mesh_among(places)
        if mesh is not None and all(meet(mesh, place) for place in places):
            return mesh.anywhere
        meshes = [place.mesh for place in places if type(place) is OnMesh]
        if len(meshes) == len(places):
            raise RuntimeError(
                f"DTensor does not support cross-mesh operation yet! Got meshes: {meshes[0]} {meshes[1]}\n"
                "Bring one of them to the other mesh first: `distribute_tensor(x.full_tensor(), mesh, placements)`."
            )
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{of(places[0])} and {of(places[1])}!\n"
            "Move one of them first: `x.to(y.device)`; gradients flow through that."
        )
    return places[0] if places else None
