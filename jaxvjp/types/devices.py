"""Devices: torch's names for them, and the JAX device behind each.

torch puts new tensors on the CPU; here they go to JAX's default device, which is called **home**. An aval has the
device of its tensor; None means home. `cpu` is JAX's CPU backend, `cuda` its GPU backend, `xla` or `tpu` its TPU one.
On `meta` a tensor has a shape and a dtype, and `NO_DATA` for its value.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

import jax
from jax.sharding import NamedSharding

from jaxvjp.types.forks import Fork, check
from jaxvjp.types.meshes import Meshes, OnMesh, on_mesh

BACKENDS = {"cpu": "cpu", "cuda": "gpu", "xla": "tpu"}
"""The JAX backend of each device type of torch's that JAX has one for."""
TYPES = (
    "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, "
    "privateuseone"
)


class device:  # noqa: N801 - torch's own spelling
    """Where a tensor is: a type such as "cpu" or "cuda", and which of several. Counterpart of `torch.device`.

    `device("cuda:1")`, `device("cuda", 1)` and `device(1)` are one object. In `with device("cuda"):` tensors are made
    there. RuntimeError for a type that torch does not have, and for an index that is negative or no integer.

    Attributes: `type`, and `index`, None where none was named.
    """

    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __new__(cls, type: Any, index: int | None = None) -> device:
        if isinstance(type, device):
            return type
        if isinstance(type, int) and not isinstance(type, bool):
            accelerator = home()
            if accelerator.type == "cpu":
                raise RuntimeError("Cannot access accelerator device when none is available.\n" + _there_is())
            return _device(accelerator.type, type)
        if not isinstance(type, str):
            raise TypeError(
                f"device() received an invalid combination of arguments - got ({type.__class__.__name__}), but "
                "expected one of:\n * (torch.device device)\n * (str type, int index = -1)\n"
            )
        name, colon, number = type.partition(":")
        name = "xla" if name == "tpu" else name
        if name not in TYPES.split(", "):
            raise RuntimeError(f"Expected one of {TYPES} device type at start of device string: {name}")
        if colon and not number.isdecimal():
            raise RuntimeError(f"Invalid device string: '{type}'")
        if colon and index is not None:
            raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {type}")
        if index is not None and index < 0:
            raise RuntimeError("Device index must not be negative")
        return _device(name, int(number) if colon else index)

    def __enter__(self) -> device:
        _default.stack.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _default.stack.pop()

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f"device(type='{self.type}'" + (")" if self.index is None else f", index={self.index})")

    def __reduce__(self) -> Any:
        return device, (str(self),)


class MeshDevice(device):
    """The `device` of a tensor on a mesh: a type, as of any tensor; what is made there is on the mesh, too."""

    __slots__ = ("place",)

    place: OnMesh

    def __new__(cls, place: OnMesh) -> MeshDevice:
        made = object.__new__(cls)
        own = device_of(place.mesh.devices.flat[0])
        made.type, made.index, made.place = own.type, own.index, place.anywhere
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash(_device(self.type, self.index))


Device = device
"""The class, under a name for functions with an argument `device`."""


Place = device | OnMesh | None
"""What an aval has for a device: a device, a place on a mesh, or None for home. (In `core` a place is something else:
the index of a node in a survey.)"""


class _Default(threading.local):
    """A stack of this thread's default devices: new tensors go to the last one, or home if it is empty."""

    def __init__(self) -> None:
        self.stack: list[device | None] = [None]
        self.current: dict[str, int] = {}  # for each type, which of several "cuda" means; 0 where none was chosen


_default = _Default()


class Elsewhere:
    """Whether any tensor was ever put on another device than JAX's own; until then devices are not compared."""

    used = False


@cache
def _device(type: str, index: int | None) -> device:
    made = object.__new__(device)
    made.type, made.index = type, index
    return made


META = _device("meta", None)


class NoData:
    """The value of each tensor on the device `meta`."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")


NO_DATA = NoData()


def _there_is() -> str:
    return f"JAX has only {', '.join(sorted({device_of(each).type for each in jax.devices()}))} here."


def device_of(each: Any) -> device:
    """The device for one of JAX's."""
    kind = next((type for type, backend in BACKENDS.items() if backend == each.platform), "privateuseone")
    return _device(kind, None if kind == "cpu" else each.local_hardware_id or 0)


@cache
def home() -> device:
    """JAX's default device."""
    return device_of(jax.local_devices()[0])


def of(place: Place) -> device:
    """The device for an abstract value's `device`: home for None."""
    if type(place) is OnMesh:
        return MeshDevice(place)
    return home() if place is None else place  # type: ignore[return-value]


def meet(one: Place, other: Place) -> bool:
    """Whether an operation takes tensors at these two places as they are: what is at home is copied to a mesh."""
    if one is other:
        return True
    if type(one) is OnMesh:
        return other is None or (type(other) is OnMesh and one.mesh == other.mesh)
    return one is None and type(other) is OnMesh


def program_place(place: Place) -> Any:
    """What nodes at a place must have in common to be of one program: that at home may be in one with that on a mesh,
    as long as there is one mesh."""
    if type(place) is not OnMesh:
        return place
    return None if len(Meshes.used) == 1 else place.mesh


def count_of(type: str) -> int:
    """How many devices of a type JAX has here."""
    return len(_all(type))


@cache
def _all(type: str) -> list[Any]:
    if type not in BACKENDS:
        return []
    try:
        return list(jax.local_devices(backend=BACKENDS[type]))
    except RuntimeError:  # no such backend
        return []


def place(requested: Any = None) -> Place:
    """An abstract value's `device` for a tensor on `requested`: a device, its name or number; None is the default.

    Raises:
        AssertionError: "cuda" where JAX has no GPU, as in a torch built without CUDA.
        RuntimeError: a type that torch does not have, or a number that no device has.
        NotImplementedError: another type for which JAX has nothing here.
    """
    wanted = _default.stack[-1] if requested is None else device(requested)
    if wanted is None:
        return None
    if type(wanted) is MeshDevice:
        return wanted.place
    if wanted.type == "meta":
        Elsewhere.used = True
        return META
    count = count_of(wanted.type)
    if not count:
        if wanted.type == "cuda":
            raise AssertionError(
                f"Torch not compiled with CUDA enabled\n{_there_is()} Write for both: "
                '`device = "cuda" if torch.cuda.is_available() else "cpu"`; for a GPU install `jaxvjp[cuda]`.'
            )
        raise NotImplementedError(
            f"Could not run 'aten::empty.memory_format' with arguments from the '{wanted.type.upper()}' backend.\n"
            f"{_there_is()} `torch.get_default_device()` is what every tensor goes to unless told otherwise."
        )
    if wanted.type == "cpu":
        concrete = _device("cpu", None)
    else:
        concrete = _device(wanted.type, current(wanted.type) if wanted.index is None else wanted.index)
        if (concrete.index or 0) >= count:
            raise RuntimeError(f"CUDA error: invalid device ordinal\nThere are {count} of type {wanted.type} here.")
    if concrete is home():
        return None
    Elsewhere.used = True
    return concrete


def jax_device(place: Place) -> Any:
    """The JAX device behind an abstract value's `device`, or the sharding on a mesh."""
    if type(place) is OnMesh:
        return place.sharding
    where = of(place)
    return _all(where.type)[where.index or 0]


def place_of(array: jax.Array) -> Place:
    """An abstract value's `device` for a tensor whose value is `array`."""
    if isinstance(array.sharding, NamedSharding) and array.sharding.mesh.size > 1:
        Elsewhere.used = True
        return on_mesh(array.sharding.mesh, array.sharding.spec)
    return place(device_of(next(iter(array.devices()))))


def put(array: Any, place: Place) -> jax.Array:
    """`array` on that device, as a `jax.Array`; a NumPy array put at home stays uncommitted, so JAX may move it.

    NotImplementedError, in torch's words, for what is on `meta`.
    """
    if place is META:
        return NO_DATA  # type: ignore[return-value]
    if array is NO_DATA:
        NO_DATA.__array__()
    here = place is None and not isinstance(array, jax.Array)
    if here and Fork.without:
        return array  # type: ignore[no-any-return]
    check("A copy on another device")
    Fork.start()
    moved: jax.Array = jax.device_put(array) if here else jax.device_put(array, jax_device(place))
    return moved


def current(type: str) -> int:
    """The number of the device of a type that is meant where no number is said."""
    return _default.current.get(type, 0)


def use(type: str, index: int) -> None:
    """Has a type without a number mean that device in this thread."""
    place(_device(type, index))  # which says so if there is none
    _default.current[type] = index


def memory(which: Any) -> dict[str, int]:
    """What JAX tells of the memory of a device, by JAX's names; nothing where it does not tell."""
    found: dict[str, int] = jax_device(place(which)).memory_stats() or {}
    return found


def get_default_device() -> device:
    """Where new tensors go; counterpart of `torch.get_default_device`, which starts at "cpu"."""
    return of(_default.stack[-1])


def set_default_device(device: Any) -> None:
    """Has this thread make new tensors on `device`; None for JAX's own choice, as at the start.

    That it is there is checked when a tensor is made. Counterpart of `torch.set_default_device`.
    """
    _default.stack[0] = None if device is None else Device(device)
