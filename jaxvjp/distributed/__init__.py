"""torch's `distributed`: processes that compute together, over `jax.distributed`, and tensors over several devices.

With one process nothing has to be initialized: `device_mesh`, `tensor` and `fsdp` work on all devices that JAX has.
Several processes hold the devices of all: what is on a mesh spans them, and every process runs the same lines. A tensor
on no mesh is each process' own, and has to be the same in all where it meets one on a mesh.

The collectives here are for what a script wants to know beside, such as the mean of a figure: gradients need none.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import jax
import numpy as np

from jaxvjp.distributed import device_mesh as device_mesh
from jaxvjp.distributed.device_mesh import DeviceMesh as DeviceMesh
from jaxvjp.distributed.device_mesh import init_device_mesh as init_device_mesh
from jaxvjp.library.creation import tensor as tensor_of
from jaxvjp.library.sharding import DTensor, agree, told_of
from jaxvjp.tensor.docstrings import complete_all
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.devices import device as device_named
from jaxvjp.types.meshes import of_all_processes
from jaxvjp.types.public import modules_later, public_names

UNDERNEATH = "jax.distributed, and jax.jit of a function between processes"
BACKENDS = {"cpu": "gloo", "cuda": "nccl"}
LAST_PORT = 65535
ROOMS = ("checkpoint", "fsdp", "tensor")
"""Modules that are imported at first use."""


class ReduceOp:
    """What `all_reduce` does: `SUM`, `AVG`, `PRODUCT`, `MIN`, `MAX`, and bit by bit `BAND`, `BOR`, `BXOR`.

    Counterpart of `torch.distributed.ReduceOp`.
    """

    SUM, AVG, PRODUCT, MIN, MAX = "sum", "mean", "prod", "min", "max"
    BAND, BOR, BXOR = "bitwise_and", "bitwise_or", "bitwise_xor"
    RedOpType = str


class _Group:
    """The process group: whether there is one, and whether JAX was initialized for it."""

    initialized = False
    backend = "gloo"


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    **ignored: Any,
) -> None:
    """Joins the processes of a run, before anything is computed: `jax.distributed.initialize`.

    Args:
        backend: torch's name of one, without effect: processes on CPUs talk by gloo, those on GPUs by NCCL.
        init_method: "env://", or "tcp://host:port" of the process of rank 0.
        timeout: within which the others end if a process dies: a collective that waits for it raises a RuntimeError at
            once, and JAX ends the process. 100 seconds if None.
        world_size, rank: how many processes there are, and which this is. With "env://" they and the address may be in
            the environment, where torchrun puts them: WORLD_SIZE, RANK, MASTER_ADDR, MASTER_PORT. As torchrun listens
            at that port itself, JAX takes the next one. Of several processes of a machine (LOCAL_WORLD_SIZE), each has
            the GPU of its LOCAL_RANK.
        ignored: torch's further arguments, without effect.

    Raises:
        ValueError: it was called before; a variable of the environment is missing.
        RuntimeError: JAX has computed already, or the others do not come within the time.
    """
    if _Group.initialized:
        raise ValueError("trying to initialize the default process group twice!")
    method = init_method or "env://"
    count = world_size if world_size >= 0 else int(_environment("WORLD_SIZE"))
    number = rank if rank >= 0 else int(_environment("RANK"))
    if not 0 <= number < count:
        raise ValueError(f"rank {number} is not below world_size, {count}\nRanks are counted from 0.")
    if method == "env://":
        address = f"{_environment('MASTER_ADDR')}:{_port(int(_environment('MASTER_PORT')))}"
    else:
        address = method.removeprefix("tcp://").rstrip("/")
    if count > 1:
        seconds = 100 if timeout is None else max(int(timeout.total_seconds()), 1)
        try:
            jax.distributed.initialize(
                address,
                count,
                number,
                _own_devices(),
                initialization_timeout=300 if timeout is None else seconds,
                heartbeat_timeout_seconds=seconds,
                shutdown_timeout_seconds=seconds,
            )
        except RuntimeError as error:
            raise RuntimeError(
                f"{error}\nCall init_process_group before a tensor is computed or a device asked for, and in "
                f"all {count} processes; the one of rank 0 has to be reachable at {address}."
            ) from error
    _Group.initialized, _Group.backend = True, backend or "gloo"


def _own_devices() -> list[int] | None:
    """The GPUs of this process: with several processes on a machine the one of its number, as under torch."""
    several = int(os.environ.get("LOCAL_WORLD_SIZE", "1")) > 1 and "JAX_LOCAL_DEVICE_IDS" not in os.environ
    return [int(os.environ["LOCAL_RANK"])] if several and "LOCAL_RANK" in os.environ else None


def _port(port: int) -> int:
    """Where the process of rank 0 listens: at the port all were told; where torchrun listens there, at the next one."""
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        return port
    return port + 1 if port < LAST_PORT else port - 1


def _environment(name: str) -> str:
    if name not in os.environ:
        raise ValueError(
            f"Error initializing torch.distributed using env:// rendezvous: environment variable {name} expected, but "
            "not set\nStart it by torchrun, or say `init_process_group(init_method='tcp://host:port', rank=0, "
            "world_size=2)`."
        )
    return os.environ[name]


def destroy_process_group(group: Any = None) -> None:
    """Leaves the other processes. AssertionError if there is no group. Counterpart of torch's."""
    assert _Group.initialized, "Process group cannot be None"
    if jax.process_count() > 1:
        jax.distributed.shutdown()  # type: ignore[no-untyped-call]
    _Group.initialized = False


def is_available() -> bool:
    """True. Counterpart of `torch.distributed.is_available`."""
    return True


def is_initialized() -> bool:
    """Whether `init_process_group` was called. Counterpart of `torch.distributed.is_initialized`."""
    return _Group.initialized


def is_torchelastic_launched() -> bool:
    """Whether torchrun started this process. Counterpart of `torch.distributed.is_torchelastic_launched`."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def _check_initialized() -> None:
    if not _Group.initialized:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")


def get_rank(group: Any = None) -> int:
    """The number of this process, from 0. ValueError before `init_process_group`."""
    _check_initialized()
    number: int = jax.process_index()
    return number


def get_world_size(group: Any = None) -> int:
    """How many processes there are. ValueError before `init_process_group`."""
    _check_initialized()
    count: int = jax.process_count()
    return count


def get_backend(group: Any = None) -> str:
    """The name that `init_process_group` was given. ValueError before."""
    _check_initialized()
    return _Group.backend


def get_default_backend_for_device(device: Any) -> str:
    """The name of the backend that processes talk by: "gloo" on CPUs, "nccl" on GPUs. ValueError for other devices."""
    kind = device_named(device).type
    if kind not in BACKENDS:
        raise ValueError(f"Default backend not registered for device : {kind}")
    return BACKENDS[kind]


def _gathered(tensor: Tensor, call: str) -> np.ndarray[Any, Any]:
    """The values of a tensor in all processes, along a new first dimension; `call` says what asks for them."""
    _check_initialized()
    if isinstance(tensor, DTensor):
        raise RuntimeError(
            f"{call}: found a DTensor. This is for tensors on no mesh, which each process has its own of.\n"
            "What is on a mesh is one tensor of all processes: `x.full_tensor()` is its value."
        )
    if jax.process_count() > 1:
        agree(f"{call}({told_of(tensor)})")
    return of_all_processes(np.asarray(tensor.detach().__value__))


def _take(tensor: Tensor, value: Any) -> None:
    tensor.detach().copy_(tensor_of(np.array(value), dtype=tensor.dtype))


def all_reduce(tensor: Tensor, op: str = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> None:
    """Writes the sum of a tensor over all processes, or what else `op` says, into it. It is done on return.

    ValueError before `init_process_group`; RuntimeError in all processes where they do not all call it with a tensor of
    this shape and dtype, and for one on a mesh. Counterpart of `torch.distributed.all_reduce`.
    """
    how: Callable[..., Any] = getattr(np, op)
    how = how.reduce if isinstance(how, np.ufunc) else how
    _take(tensor, how(_gathered(tensor, f"all_reduce {op}"), axis=0))


def broadcast(tensor: Tensor, src: int = 0, group: Any = None, async_op: bool = False) -> None:
    """Writes the value that the tensor has in process `src` into it, in all others. It is done on return.

    ValueError before `init_process_group`, or for a process that there is not. Counterpart of
    `torch.distributed.broadcast`.
    """
    _check_initialized()
    if not 0 <= src < jax.process_count():
        raise ValueError(f"Global rank {src} is not part of group\nThere are {jax.process_count()} processes.")
    _take(tensor, _gathered(tensor, f"broadcast from {src}")[src])


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> None:
    """Writes the values that a tensor has in all processes into the tensors of a list. It is done on return.

    ValueError before `init_process_group`, or where the list has another length than there are processes. Counterpart
    of `torch.distributed.all_gather`.
    """
    _check_initialized()
    if len(tensor_list) != jax.process_count():
        raise ValueError(
            f"ProcessGroup::all_gather: the list has {len(tensor_list)} tensors, and there are {jax.process_count()} "
            "processes."
        )
    for each, value in zip(tensor_list, _gathered(tensor, "all_gather"), strict=True):
        _take(each, value)


def barrier(group: Any = None, async_op: bool = False, **ignored: Any) -> None:
    """Returns when all processes have come here. ValueError before `init_process_group`; RuntimeError in all processes
    where one has called something else."""
    _check_initialized()
    if jax.process_count() > 1:
        agree("barrier")


OWN = public_names(globals(), home=__name__)
__all__ = sorted([*OWN, "DeviceMesh", "device_mesh", "init_device_mesh", *ROOMS])
complete_all(globals(), OWN, "distributed")


__getattr__ = modules_later(__name__, *ROOMS)


__dir__ = __all__.copy
