"""Meshes: several JAX devices that hold one array between them, by a `jax.sharding.NamedSharding`.

An aval's `device` is then an `OnMesh`. What a program computes on a mesh, XLA partitions (GSPMD); it decides where the
pieces of results are, but for those whose place is said. A program may read and give tensors at home, too: those it
reads are copied to every device of the mesh. Programs do not wait in NumPy, and no program spans two meshes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

SPEC: Any = PartitionSpec
"""The class, whose `__new__` has no types."""


class OnMesh:
    """A place on a mesh. Equal ones are one object (`on_mesh`).

    Attributes:
        given: the user's mesh, whose axes may be `Explicit` to JAX: its types then say how an array is split, and not
            each function of JAX takes that.
        mesh: the same with axes that are all `Auto`. Values are there, and GSPMD splits what is computed.
        spec: the axes of the mesh over which each dimension is split; None where that is left to XLA.
        sharding: how arrays put there are laid out; a copy on each device where XLA has the choice.
    """

    __slots__ = ("devices", "given", "mesh", "sharding", "spec")

    def __init__(self, given: Mesh, spec: PartitionSpec | None) -> None:
        self.given = given
        self.mesh = Mesh(given.devices, given.axis_names) if AxisType.Explicit in given.axis_types else given
        self.spec = spec
        self.sharding = NamedSharding(self.mesh, SPEC() if spec is None else spec)
        self.devices: frozenset[Any] = frozenset(given.devices.flat)

    @property
    def anywhere(self) -> OnMesh:
        """The same mesh, with the layout left to XLA."""
        return on_mesh(self.given, None)

    @property
    def replicated(self) -> OnMesh:
        """The same mesh, with a copy on each device."""
        return on_mesh(self.given, SPEC())

    def holds(self, array: Any) -> bool:
        """Whether an array is on the devices of this mesh."""
        return isinstance(array, jax.Array) and array.sharding.device_set == self.devices

    def home(self, array: Any) -> Any:
        """An array of which each device has a copy, as one that is on no mesh."""
        return np.asarray(array) if self.mesh.devices.flat[0].platform == "cpu" else array.addressable_data(0)

    def __repr__(self) -> str:
        return f"{self.mesh.devices.flat[0].platform} x {math.prod(self.mesh.devices.shape)}"


@cache
def on_mesh(mesh: Mesh, spec: PartitionSpec | None) -> OnMesh:
    """The place of arrays that are laid out over `mesh` by `spec`."""
    Meshes.used.add(frozenset(mesh.devices.flat))
    return OnMesh(mesh, spec)


def on_axes_of(mesh: Mesh, array: Any) -> Any:
    """The same shards of an array, on another mesh of the same devices and names."""
    own = getattr(array, "sharding", None)
    if not isinstance(own, NamedSharding) or own.mesh == mesh:
        return array
    shards = [shard.data for shard in array.addressable_shards]
    return jax.make_array_from_single_device_arrays(array.shape, NamedSharding(mesh, own.spec), shards)


class Meshes:
    """The sets of devices of all meshes that tensors were ever put on. Until there is one, nothing asks for places."""

    used: set[frozenset[Any]] = set()  # noqa: RUF012 - one for the process


def mesh_among(places: Iterable[Any]) -> OnMesh | None:
    """The first place on a mesh."""
    return next((place for place in places if type(place) is OnMesh), None)


def of_all_processes(own: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array of each process, along a new first dimension. All call it, with arrays of one shape and dtype.

    RuntimeError where another process has ended.

    One device of each process takes part: `multihost_utils.process_allgather` has all of them do the same, returns
    when the first is done, and so may leave a process without the connections that the next call waits for.
    """
    sharding, gather = _between_processes()
    try:
        with jax.enable_x64(True):
            shape = (jax.process_count(), *own.shape)
            whole = jax.make_array_from_process_local_data(sharding, own[None], shape)  # type: ignore[no-untyped-call]
            return np.asarray(gather(whole))
    except (ValueError, jax.errors.JaxRuntimeError) as error:  # of either class, by when it failed
        raise RuntimeError(
            f"Another process did not answer: {error}\nMost likely it has ended; what it printed says why."
        ) from error


@cache
def _between_processes() -> tuple[NamedSharding, Any]:
    first = {device.process_index: device for device in reversed(jax.devices())}
    mesh = Mesh(np.array([first[number] for number in range(jax.process_count())]), ("process",))
    return NamedSharding(mesh, SPEC("process")), jax.jit(lambda x: x, out_shardings=NamedSharding(mesh, SPEC()))
