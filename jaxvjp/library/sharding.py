"""Tensors over several devices, in torch's words: `DeviceMesh`, `Shard`, `Replicate`, `distribute_tensor`, `DTensor`.

A tensor on a mesh is one array that several devices hold between them, by a `jax.sharding.NamedSharding`. It is one
value: operations on it are recorded as on any tensor, XLA partitions the program and adds what is to be sent (GSPMD).
A tensor on no mesh beside it counts as replicated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any, ClassVar

import jax
import numpy as np
from jax.experimental.multihost_utils import broadcast_one_to_all
from jax.sharding import Mesh, NamedSharding

from jaxvjp.core.record.modes import grad_mode, tracking
from jaxvjp.core.record.record import node_of_value
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.core.run.transfer import moved
from jaxvjp.library.creation import tensor as tensor_of
from jaxvjp.ops.op import Aval
from jaxvjp.tensor.tensor import Tensor, wrap
from jaxvjp.types.devices import BACKENDS, Elsewhere, device_of
from jaxvjp.types.dtypes import int32
from jaxvjp.types.meshes import SPEC, OnMesh, of_all_processes, on_mesh

UNDERNEATH = "jax.sharding"


@dataclass(frozen=True, slots=True)
class Placement:
    """What becomes of a tensor over one dimension of a mesh. Counterpart of `torch.distributed.tensor.Placement`."""

    _short: ClassVar[str] = ""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether it is split; with `dim`, whether along that dimension."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether each device has all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether each device has a part of a sum."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)

    def __str__(self) -> str:
        return self._short.format(self)


@dataclass(frozen=True, slots=True)
class Shard(Placement):
    """Split along the tensor's dimension `dim`. Counterpart of `torch.distributed.tensor.Shard`."""

    dim: int
    _short = "S({0.dim})"


@dataclass(frozen=True, slots=True)
class Replicate(Placement):
    """A copy on each device. Counterpart of `torch.distributed.tensor.Replicate`."""

    _short = "R"


@dataclass(frozen=True, slots=True, repr=False)
class Partial(Placement):
    """A part of a sum on each device: a name only, as XLA adds sums up where they arise, and no tensor is left so.

    Counterpart of `torch.distributed.tensor.Partial`.
    """

    reduce_op: str = "sum"
    _short = "P({0.reduce_op})"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"


class DeviceMesh:
    """Devices in a grid. Counterpart of `torch.distributed.device_mesh.DeviceMesh`.

    Args:
        device_type: "cpu", "cuda" or "xla".
        mesh: the numbers of JAX's devices of that type, as a nested list or a tensor; of all processes together.
        mesh_dim_names: a name for each dimension.

    Attributes: `device_type`, `mesh` (the numbers, as a tensor), `mesh_dim_names`, `ndim`, `shape`.

    Raises:
        RuntimeError: there are not as many devices.
        ValueError: `mesh` has no device.
    """

    def __init__(self, device_type: str, mesh: Any, *, mesh_dim_names: tuple[str, ...] | None = None) -> None:
        numbers = np.asarray(mesh.tolist() if isinstance(mesh, Tensor) else mesh, np.int64)
        if not numbers.size:
            raise ValueError(f"A mesh has at least one device, and one of shape {numbers.shape} has none.")
        there = jax.devices(BACKENDS.get(device_type, device_type))
        if numbers.size > len(there) or numbers.max() >= len(there):
            raise RuntimeError(
                f"Mesh should not be bigger than default world size {len(there)}, but found {numbers.size} ranks!\n"
                f"JAX has {len(there)} of type {device_type}. To try it on one CPU: "
                "`python -m jaxvjp run --devices 8 script.py`."
            )
        if len({*numbers.flat}) != numbers.size:
            raise RuntimeError(f"Each device may be in a mesh once, and {numbers.tolist()} has one several times.")
        self.device_type, self._numbers = device_type, numbers
        self.mesh_dim_names = tuple(mesh_dim_names) if mesh_dim_names else None
        self._axes = self.mesh_dim_names or tuple(f"dim_{each}" for each in range(numbers.ndim))
        self._mesh = Mesh(np.array(there, dtype=object)[numbers], self._axes)

    @property
    def mesh(self) -> Any:
        """The numbers of the devices, as a tensor of the mesh's shape."""
        return tensor_of(self._numbers, dtype=int32)

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self._axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many devices there are along each dimension."""
        return tuple(self._mesh.shape[each] for each in self._axes)

    def size(self, mesh_dim: int | None = None) -> int:
        """How many devices there are, along one dimension or in all."""
        return math.prod(self.shape) if mesh_dim is None else self.shape[mesh_dim]

    def get_rank(self) -> int:
        """The number of this process."""
        return jax.process_index()

    def jax(self) -> Mesh:
        """JAX's mesh."""
        return self._mesh

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        """Some dimensions of the mesh: what is placed on them is replicated over the others.

        RuntimeError if the dimensions have no names, KeyError for a name that none has.
        """
        if self.mesh_dim_names is None:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        if not {*names} <= {*self.mesh_dim_names}:
            told = f"Valid mesh_dim_names are {list(self.mesh_dim_names)}."
            raise KeyError(f"Invalid mesh_dim_names {names} specified. {told}")
        part = object.__new__(DeviceMesh)
        part.device_type, part._mesh, part.mesh_dim_names, part._axes = self.device_type, self._mesh, names, names
        kept = [self._axes.index(name) for name in names]
        rest = [at for at in range(self.ndim) if at not in kept]
        part._numbers = np.transpose(self._numbers, [*rest, *kept]).reshape(-1, *part.shape)[0]
        return part

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and (self._mesh, self._axes) == (other._mesh, other._axes)

    def __hash__(self) -> int:
        return hash((self._mesh, self._axes))

    def __repr__(self) -> str:
        names = self.mesh_dim_names or [""] * self.ndim
        sizes = ", ".join(f"{name}={size}" if name else str(size) for name, size in zip(names, self.shape, strict=True))
        return f"DeviceMesh(({sizes}), '{self.device_type}')"


def init_device_mesh(
    device_type: str, mesh_shape: tuple[int, ...], *, mesh_dim_names: tuple[str, ...] | None = None
) -> DeviceMesh:
    """A mesh of this shape of JAX's first devices of a type, of all processes together.

    Raises:
        RuntimeError: there are fewer devices; a name is there twice; there are more names than dimensions, or fewer.
        ValueError: a size is 0 or less.

    Counterpart of `torch.distributed.device_mesh.init_device_mesh`, where a device is a process.
    """
    if mesh_dim_names is not None:
        if len({*mesh_dim_names}) != len(mesh_dim_names):
            raise RuntimeError(
                "Each mesh_dim_name must be unique. "
                f"Found repeated mesh_dim_name in mesh_dim_names {tuple(mesh_dim_names)}"
            )
        if len(mesh_dim_names) != len(mesh_shape):
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length! "
                f"Found len(mesh_dim_names): {len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}."
            )
    if not device_type.isalpha():
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. \n"
            "A mesh takes the first devices of the type; `DeviceMesh(type, numbers)` says which."
        )
    if min(mesh_shape, default=1) < 1:
        raise ValueError(f"A mesh has at least one device along each dimension, and mesh_shape is {(*mesh_shape,)}.")
    numbers = np.arange(math.prod(mesh_shape)).reshape(mesh_shape)
    return DeviceMesh(device_type, numbers, mesh_dim_names=mesh_dim_names)


def place_on(shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement] | None) -> OnMesh:
    """Where a tensor of this shape is put; ValueError, RuntimeError or IndexError where it cannot be."""
    given = [Replicate()] * mesh.ndim if placements is None else list(placements)
    if len(given) != mesh.ndim:
        raise ValueError(
            "`placements` must have the same length as `device_mesh.ndim`! "
            f"Found placements length: {len(given)}, and device_mesh.ndim: {mesh.ndim}."
        )
    axes: list[list[str]] = [[] for _ in shape]
    for idx, each in enumerate(given):
        if isinstance(each, Shard):
            if not -len(shape) <= each.dim < len(shape):
                raise IndexError(
                    f"Dimension out of range (expected to be in range of [{-max(len(shape), 1)}, "
                    f"{max(len(shape), 1) - 1}], but got {each.dim})\nThe tensor has shape {list(shape)}."
                )
            axes[each.dim].append(mesh._axes[idx])
        elif not isinstance(each, Replicate):
            raise RuntimeError(
                f"Trying to distribute tensor with unsupported placements {each} on device mesh dimension {idx}!\n"
                "There are `Shard(dim)` and `Replicate()`. XLA adds up partial sums where they arise."
            )
    for dim, names in enumerate(axes):
        count = reduce(mul, map(mesh._mesh.shape.__getitem__, names), 1)
        if shape[dim] % count:
            fitting = [f"Shard({place})" for place, size in enumerate(shape) if size % count == 0 and size]
            raise ValueError(
                f"Dimension {dim} of a tensor of shape {list(shape)} cannot be split over {count} devices: "
                f"{shape[dim]} is not divisible by {count}\ntorch would give the last devices less; JAX's arrays have "
                f"equal shards. Pad the dimension, or split another: {' or '.join([*fitting, 'Replicate()'])}."
            )
    while axes and not axes[-1]:
        axes.pop()
    return on_mesh(mesh._mesh, SPEC(*[tuple(names) if len(names) > 1 else next(iter(names), None) for names in axes]))


def distribute(tensor: Tensor, place: OnMesh) -> Tensor:
    """`tensor` at that place, as an operation through which gradients flow."""
    Elsewhere.used = True
    return wrap(moved(tensor.__node__, place))


def distribute_tensor(
    tensor: Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Tensor:
    """A leaf that has the value of a leaf and lies on a mesh.

    Args:
        tensor: a leaf on no mesh; or on this one and placed so, and then it is returned.
        device_mesh: the mesh; that of the first `init_device_mesh((number of devices,))` if None.
        placements: for each dimension of the mesh `Shard(dim)` or `Replicate()`, the latter if None.
        src_data_rank: the process whose value counts; None if all have the same.

    Raises:
        RuntimeError: not a leaf; a `Partial` placement; or, in all processes, if they give different shapes or dtypes.
        ValueError: another number of placements than dimensions; a dimension that does not divide into equal shards.

    Counterpart of `torch.distributed.tensor.distribute_tensor`.
    """
    mesh = current_mesh() if device_mesh is None else device_mesh
    if not tensor.is_leaf:
        raise RuntimeError(
            "`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!\n"
            "`DTensor.from_local(x, mesh, placements)` passes gradients."
        )
    place = place_on(tensor.shape, mesh, placements)
    if type(tensor.__node__.device) is OnMesh:
        if tensor.__node__.device.mesh != mesh._mesh:
            raise ValueError(
                f"Cannot distribute a DTensor with device mesh {mesh_of(tensor)} to a different device mesh {mesh}.\n"
                "Take its value from there first: `distribute_tensor(x.full_tensor(), mesh, placements)`."
            )
        if tensor.__node__.device is not place:
            raise ValueError(
                f"Cannot distribute a DTensor with placements {placements_of(tensor)} "
                f"to a different placements {placements}. do you want to call `redistribute` instead?"
            )
        return tensor
    requires_grad = tensor.requires_grad
    if jax.process_count() > 1 and src_data_rank is not None:
        evaluate([tensor.__node__])
        agree(f"distribute_tensor({told_of(tensor)})")
        with jax.enable_x64(True):
            value = broadcast_one_to_all(np.asarray(tensor.__value__), jax.process_index() == src_data_rank)
        tensor = tensor_of(np.asarray(value), dtype=tensor.dtype)
    with tracking(False):
        return distribute(tensor, place).detach().requires_grad_(requires_grad)


SAID = 96
"""Bytes of what processes tell each other before they exchange values."""


def told_of(tensor: Tensor) -> str:
    """The dtype and shape of a tensor, as in errors."""
    return f"{tensor.dtype} of shape {list(tensor.shape)}"


def agree(call: str) -> None:
    """RuntimeError in every process, if not all come here with the same call.

    What exchanges values next would else end the process, or give one of them what another one sent for something else.
    """
    own = np.frombuffer(call.encode()[:SAID].ljust(SAID), np.uint8)
    calls = [bytes(each).decode(errors="replace").strip() for each in of_all_processes(own)]
    if len({*calls}) > 1:
        each = "; ".join(f"process {rank} {said}" for rank, said in enumerate(calls))
        raise RuntimeError(f"The processes called different functions, or with different tensors: {each}")


def current_mesh() -> DeviceMesh:
    """A mesh of all of JAX's devices, along one dimension."""
    return init_device_mesh(device_of(jax.devices()[0]).type, (jax.device_count(),))


def _laid_out(tensor: Tensor) -> NamedSharding:
    """How a tensor on a mesh is laid out; where XLA chose, it is computed first."""
    node: Any = tensor.__node__
    if node.device.spec is not None:
        return node.device.sharding
    evaluate([node])
    return node.value.sharding


def mesh_of(self: Tensor) -> DeviceMesh:
    """The mesh that a tensor is on."""
    own = self.__node__.device.mesh
    first = {each: at for at, each in enumerate(jax.devices(own.devices.flat[0].platform))}
    numbers = np.vectorize(first.__getitem__)(own.devices)
    named = not all(name == f"dim_{at}" for at, name in enumerate(own.axis_names))
    return DeviceMesh(device_of(own.devices.flat[0]).type, numbers, mesh_dim_names=own.axis_names if named else None)


def placements_of(self: Tensor) -> tuple[Placement, ...]:
    """The placements of a tensor over each dimension of its mesh."""
    sharding = _laid_out(self)
    dims: dict[str, int] = {}
    for dim, names in enumerate(sharding.spec):
        for name in () if names is None else (names,) if isinstance(names, str) else names:
            dims[name] = dim
    return tuple(Shard(dims[each]) if each in dims else Replicate() for each in self.__node__.device.mesh.axis_names)


class OfMesh:
    """An attribute that tensors on a mesh have. Others have none of that name, as in torch."""

    def __init__(self, name: str, function: Any, is_method: bool) -> None:
        self.name, self.function, self.is_method = name, function, is_method
        self.__doc__ = function.__doc__

    def __get__(self, tensor: Any, owner: type) -> Any:
        if tensor is None:
            return self
        if type(tensor.__node__.device) is not OnMesh:
            raise AttributeError(
                f"'{owner.__name__}' object has no attribute '{self.name}'\n"
                "The tensor is on no mesh: `distribute_tensor(x, mesh, placements)` puts it on one."
            )
        return self.function.__get__(tensor) if self.is_method else self.function(tensor)


def full_tensor(self: Tensor, *, grad_placements: Any = None) -> Tensor:
    """The whole value as a tensor on no mesh, through which gradients flow.

    Counterpart of `torch.distributed.tensor.DTensor.full_tensor`.
    """
    return wrap(moved(self.__node__, None))


def to_local(self: Tensor, *, grad_placements: Any = None) -> Tensor:
    """This process' part, on no mesh and without a gradient: with one process, the whole value.

    RuntimeError where a gradient would be lost. Counterpart of `torch.distributed.tensor.DTensor.to_local`.
    """
    if jax.process_count() == 1:
        return full_tensor(self)
    if self.requires_grad and grad_mode().enabled:
        raise RuntimeError("to_local() of several processes passes no gradient here\nWrite `x.detach().to_local()`.")
    evaluate([self.__node__])
    value: Any = self.__node__.value
    pieces = {tuple([at.start or 0 for at in shard.index]): shard.data for shard in value.addressable_shards}
    low = np.min(list(pieces), axis=0)
    high = np.max([np.add(start, piece.shape) for start, piece in pieces.items()], axis=0)
    local = np.empty(high - low, value.dtype)
    for start, piece in pieces.items():
        local[tuple(map(slice, start - low, start - low + piece.shape))] = np.asarray(piece)
    return tensor_of(local, dtype=self.dtype)


def redistribute(
    self: Tensor, device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None, **_: Any
) -> Tensor:
    """The same value laid out otherwise, through which gradients flow.

    RuntimeError without `placements`, for `Partial` and for another mesh. Counterpart of
    `torch.distributed.tensor.DTensor.redistribute`.
    """
    if placements is None:
        raise RuntimeError("placements is needed for redistribute!")
    mesh = mesh_of(self) if device_mesh is None else device_mesh
    place = place_on(self.shape, mesh, placements)
    if place.mesh != self.__node__.device.mesh:
        raise RuntimeError("Cross device mesh redistribution is not supported!\nWrite `distribute_tensor(...)`.")
    return wrap(moved(self.__node__, place))


def from_local(
    local_tensor: Tensor, device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None, **_: Any
) -> Tensor:
    """A tensor on a mesh, of which `local_tensor` is this process' part: with one process, all of it.

    With one process gradients flow through it. RuntimeError if it is on a mesh, or would lose a gradient; and in all
    processes, if their parts have different shapes or dtypes.
    Counterpart of `torch.distributed.tensor.DTensor.from_local`.
    """
    if type(local_tensor.__node__.device) is OnMesh:
        kind = "<class 'torch.distributed.tensor.DTensor'>"
        raise RuntimeError(f"the local_tensor argument only accepts torch.Tensor but got {kind} value.")
    mesh = current_mesh() if device_mesh is None else device_mesh
    count = jax.process_count()
    if count == 1:
        return distribute(local_tensor, place_on(local_tensor.shape, mesh, placements))
    if local_tensor.requires_grad and grad_mode().enabled:
        raise RuntimeError("from_local() of several processes passes no gradient here\nGive it `x.detach()`.")
    agree(f"from_local({told_of(local_tensor)})")
    evaluate([local_tensor.__node__])
    place = on_mesh(mesh._mesh, place_on([size * count for size in local_tensor.shape], mesh, placements).spec)
    Elsewhere.used = True
    made: Any = jax.make_array_from_process_local_data
    with jax.enable_x64(True):
        value = made(place.sharding, np.asarray(local_tensor.__node__.value))
    own = local_tensor.__node__.aval
    return wrap(node_of_value(value, Aval(value.shape, own.dtype, place=place)))


class _DTensorMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and type(instance.__node__.device) is OnMesh


class DTensor(metaclass=_DTensorMeta):
    """A tensor on a mesh: what `isinstance(x, DTensor)` asks. Its class is Tensor, or Parameter.

    Such a tensor has `placements`, `device_mesh`, `full_tensor()`, `to_local()` and `redistribute()`. Counterpart of
    `torch.distributed.tensor.DTensor`.
    """

    from_local = staticmethod(from_local)


PROPERTIES = {"device_mesh": mesh_of, "placements": placements_of}
ATTRIBUTES = {"full_tensor": full_tensor, "redistribute": redistribute, "to_local": to_local, **PROPERTIES}


def names_of(tensor: Tensor) -> list[str]:
    """What `dir` lists of a tensor: of one on no mesh not the attributes that it does not have."""
    on_a_mesh = type(tensor.__node__.device) is OnMesh
    return [name for name in object.__dir__(tensor) if on_a_mesh or name not in ATTRIBUTES]


def attach_methods() -> None:
    """Gives tensors the attributes of those on a mesh."""
    setattr(Tensor, "__dir__", names_of)  # noqa: B010 - mypy takes no assignment to a method
    for name, function in ATTRIBUTES.items():
        attribute = OfMesh(name, function, name not in PROPERTIES)
        setattr(Tensor, name, attribute)
        setattr(DTensor, name, attribute)


attach_methods()
