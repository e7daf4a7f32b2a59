"""What `cuda` and `accelerator` know of JAX's devices, and `backends` of switches: what their rows call."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from jaxvjp.library import generator, random_tensors
from jaxvjp.library.constructors import CUDA_TYPES
from jaxvjp.ops.products import get_float32_matmul_precision, set_float32_matmul_precision
from jaxvjp.types import devices
from jaxvjp.types.settings import for_a_block, settings, switched

__all__ = ["CUDA_TYPES", "for_a_block", "generator", "nullcontext", "switched"]


def current_accelerator(check_available: bool = False) -> devices.device | None:
    """The type of JAX's GPU or TPU as a device; None where there is only the CPU. As in `torch.accelerator`."""
    kind = devices.home().type
    return None if kind == "cpu" else devices.device(kind)


def accelerator() -> str:
    """The type of the accelerator; RuntimeError where there is none."""
    found = current_accelerator()
    if found is None:
        raise RuntimeError(
            "Cannot access accelerator device when none is available.\n"
            "`torch.accelerator.is_available()` tells; JAX has only the CPU here."
        )
    return found.type


def gpu() -> str:
    """ "cuda"; AssertionError without a GPU."""
    devices.place("cuda")
    return "cuda"


def there_is_a_gpu() -> bool:
    """Whether JAX has a GPU here."""
    return devices.count_of("cuda") > 0


def number(which: Any) -> int:
    """The number of a device, named as a number, "cuda:1" or a device; -1 for None."""
    if which is None:
        return -1
    return which if isinstance(which, int) else (devices.device(which).index or 0)


def device_of(kind: Callable[[], str], which: Any) -> Any:
    """JAX's device of a type, named as a number, "cuda:1" or a device; the one that is used for None."""
    wanted = kind() if which is None else f"{kind()}:{which}" if isinstance(which, int) else which
    return devices.jax_device(devices.place(wanted))


def of_gpu(which: Any) -> Any:
    """`device_of`, for a GPU."""
    return device_of(gpu, which)


def memory_of(kind: Callable[[], str], which: Any) -> dict[str, int]:
    """What JAX tells of the memory of a device, by its names."""
    return dict(device_of(kind, which).memory_stats() or {})


def choose(kind: Callable[[], str], which: Any) -> None:
    """Has a type of device mean another one in this thread; a negative number changes nothing."""
    if number(which) >= 0:
        devices.use(kind(), number(which))


class device_index:  # noqa: N801 - torch's name
    """`set_device_index` for a block; with None nothing changes. Counterpart of `torch.accelerator.device_index`."""

    kind = staticmethod(accelerator)

    def __init__(self, device: Any) -> None:
        self.idx = number(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            self.prev_idx = devices.current(self.kind())
            choose(self.kind, self.idx)

    def __exit__(self, *_: object) -> None:
        choose(self.kind, self.prev_idx)


class device(device_index):  # noqa: N801 - torch's name
    """`set_device` for a block; with None nothing changes. Counterpart of `torch.cuda.device`."""

    kind = staticmethod(gpu)


class DeviceProperties(NamedTuple):
    """What `get_device_properties` gives: as much as JAX tells."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability of a GPU, as (9, 0). Counterpart of `torch.cuda.get_device_capability`."""
    major, _, minor = str(getattr(of_gpu(device), "compute_capability", "0.0")).partition(".")
    return int(major), int(minor or 0)


def get_device_properties(device: Any = None) -> DeviceProperties:
    """Name, compute capability and memory of a GPU. Counterpart of `torch.cuda.get_device_properties`."""
    told, total = of_gpu(device), memory_of(gpu, device).get("bytes_limit", 0)
    cores = int(getattr(told, "core_count", 0))
    return DeviceProperties(str(told.device_kind), *get_device_capability(device), total, cores)


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free bytes and all that JAX may use. AssertionError without a GPU. As `torch.cuda.mem_get_info`."""
    told = memory_of(gpu, device)
    total = told.get("bytes_limit", 0)
    return total - told.get("bytes_in_use", 0), total


def has_bf16(including_emulation: bool) -> bool:
    """Whether a GPU has the dtype, itself or, if that counts, by XLA's emulation."""
    return there_is_a_gpu() and (including_emulation or get_device_capability() >= (8, 0))


def set_state(*states: Any) -> None:
    """Goes back to states of the one generator; without a GPU nothing."""
    for each in states if there_is_a_gpu() else ():
        random_tensors.set_rng_state(each)


class _Recorded:
    """What is over once it is recorded."""

    def query(self) -> bool:
        """True: reading a value waits for it."""
        return True

    def synchronize(self) -> None:
        """Accepted, without effect: reading a value waits for it."""


class Event(_Recorded):
    """A time on the host, to measure between two. Counterpart of `torch.cuda.Event`.

    Values are computed when they are read: read one before `record`, or the time is that of recording operations.
    RuntimeError without a GPU.

    Args:
        enable_timing, blocking, interprocess: accepted, without effect.
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        if not there_is_a_gpu():
            raise RuntimeError("Tried to instantiate dummy base class Event\nThere is no GPU here.")
        self._at = 0.0

    def record(self, stream: Any = None) -> None:
        """Notes the time."""
        self._at = time.perf_counter()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to another."""
        return (end_event._at - self._at) * 1e3


class Stream(_Recorded):
    """An order of work on a GPU: there is one, XLA's, in which everything is done. Counterpart of `torch.cuda.Stream`.

    RuntimeError without a GPU.

    Args:
        device, priority: accepted, without effect.
    """

    def __init__(self, device: Any = None, priority: int = 0) -> None:
        if not there_is_a_gpu():
            raise RuntimeError("torch.cuda.Stream requires CUDA support\nThere is no GPU here.")

    def record_event(self, event: Event | None = None) -> Event:
        """Notes the time, in an event."""
        event = Event() if event is None else event
        event.record()
        return event

    def wait_event(self, event: Event) -> None:
        """Accepted, without effect: the order is that of the program."""

    def wait_stream(self, stream: Stream) -> None:
        """Accepted, without effect: the order is that of the program."""


class Matmul:
    """Settings of products. The last three are remembered, without effect."""

    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False

    @property
    def allow_tf32(self) -> bool:
        """Whether products of float32 may be less precise: `set_float32_matmul_precision("high")`."""
        return get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        set_float32_matmul_precision("high" if value else "highest")


LIBRARIES = ("default", "cusolver", "magma")


def preferred_linalg_library(backend: str | None = None) -> str:
    """The library for linear algebra that was asked for last: "default", "cusolver" or "magma".

    It is remembered, without effect: XLA has its own. RuntimeError for anything else. Counterpart of
    `torch.backends.cuda.preferred_linalg_library`, which gives a member of an enumeration.
    """
    if backend is not None:
        if not isinstance(backend, str):
            raise RuntimeError("Unknown input value type.")
        if backend not in LIBRARIES:
            raise RuntimeError(f"Unknown input value. Choose from: {', '.join(LIBRARIES)}.")
        settings.linalg_library = backend
    return settings.linalg_library


def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> AbstractContextManager[None]:
    """The four switches for a block. Counterpart of `torch.backends.cuda.sdp_kernel`."""
    return for_a_block(settings.kernels, locals())


def cuda_version() -> str | None:
    """The version of CUDA that XLA runs on, as "12.8"; None without a GPU."""
    if not there_is_a_gpu():
        return None
    told = re.search(r"cuda (\d+)", str(devices.jax_device(devices.device("cuda")).client.platform_version))
    return f"{int(told[1]) // 1000}.{int(told[1]) % 1000 // 10}" if told else "unknown"
