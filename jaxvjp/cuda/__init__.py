"""The functions of `torch.cuda`: what a script asks to choose a device, and what it says to one that is there."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from jaxvjp.library import generator, random_state
from jaxvjp.library.constructors import CUDA_TYPES
from jaxvjp.tensor.docstrings import complete_all
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types import devices
from jaxvjp.types.public import modules_later, public_names

globals().update(CUDA_TYPES)
__getattr__ = modules_later(__name__, "amp")


def is_available() -> bool:
    """Whether JAX has a GPU here; counterpart of `torch.cuda.is_available`."""
    return device_count() > 0


def device_count() -> int:
    """How many GPUs JAX has here; counterpart of `torch.cuda.device_count`."""
    return devices.count_of("cuda")


def current_device() -> int:
    """The number of the GPU that `device("cuda")` means; AssertionError where there is none."""
    where = devices.of(devices.place("cuda"))
    return where.index or 0


def _index(which: Any) -> int:
    """The number of a GPU, named as a number, "cuda:1" or a device; -1 for None."""
    if which is None:
        return -1
    return which if isinstance(which, int) else (devices.device(which).index or 0)


def _gpu(which: Any) -> Any:
    """A GPU, named as a number, "cuda:1" or a device; the one that is used for None."""
    return "cuda" if which is None else f"cuda:{which}" if isinstance(which, int) else which


def set_device(device: Any) -> None:
    """Has "cuda" mean another GPU in this thread; a negative number changes nothing. As `torch.cuda.set_device`.

    AssertionError without a GPU.
    """
    if _index(device) >= 0:
        devices.use("cuda", _index(device))


class device:  # noqa: N801 - torch's name
    """`set_device` for a block; with None nothing changes. Counterpart of `torch.cuda.device`."""

    def __init__(self, device: Any) -> None:
        self.idx = _index(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            self.prev_idx = current_device()
            set_device(self.idx)

    def __exit__(self, *_: object) -> None:
        set_device(self.prev_idx)


def get_device_name(device: Any = None) -> str:
    """The name of a GPU; AssertionError if there is none. Counterpart of `torch.cuda.get_device_name`."""
    return str(devices.jax_device(devices.place(_gpu(device))).device_kind)


class _CudaDeviceProperties(NamedTuple):
    """What `get_device_properties` gives: as much as JAX tells."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability of a GPU, as (9, 0). Counterpart of `torch.cuda.get_device_capability`."""
    told = devices.jax_device(devices.place(_gpu(device)))
    major, _, minor = str(getattr(told, "compute_capability", "0.0")).partition(".")
    return int(major), int(minor or 0)


def get_device_properties(device: Any = None) -> _CudaDeviceProperties:
    """Name, compute capability and memory of a GPU. Counterpart of `torch.cuda.get_device_properties`."""
    name, (major, minor) = get_device_name(device), get_device_capability(device)
    told = devices.jax_device(devices.place(_gpu(device)))
    total = devices.memory(_gpu(device)).get("bytes_limit", 0)
    return _CudaDeviceProperties(name, major, minor, total, int(getattr(told, "core_count", 0)))


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether there is a GPU: XLA emulates where one lacks it. As `torch.cuda.is_bf16_supported`.

    Args:
        including_emulation: False to ask for a compute capability of 8 or more.
    """
    return is_available() and (including_emulation or get_device_capability() >= (8, 0))


def is_initialized() -> bool:
    """Whether there is a GPU, which JAX has then set up. Counterpart of `torch.cuda.is_initialized`."""
    return is_available()


def init() -> None:
    """Accepted: JAX sets it up by itself. AssertionError without a GPU. Counterpart of `torch.cuda.init`."""
    devices.place("cuda")


def ipc_collect() -> None:
    """Accepted, without effect. AssertionError without a GPU. Counterpart of `torch.cuda.ipc_collect`."""
    devices.place("cuda")


def _told(which: Any, name: str) -> int:
    """A number that JAX tells of a GPU's memory; 0 where there is no GPU, as in torch."""
    return devices.memory(_gpu(which)).get(name, 0) if is_available() else 0


def memory_allocated(device: Any = None) -> int:
    """How many bytes are in use; 0 without a GPU. Counterpart of `torch.cuda.memory_allocated`."""
    return _told(device, "bytes_in_use")


def max_memory_allocated(device: Any = None) -> int:
    """How many bytes were in use at most; 0 without a GPU. Counterpart of `torch.cuda.max_memory_allocated`."""
    return _told(device, "peak_bytes_in_use")


def memory_reserved(device: Any = None) -> int:
    """How many bytes JAX has taken of the GPU; 0 without one. Counterpart of `torch.cuda.memory_reserved`."""
    return _told(device, "pool_bytes")


def max_memory_reserved(device: Any = None) -> int:
    """How many bytes JAX had taken at most; 0 without a GPU. Counterpart of `torch.cuda.max_memory_reserved`."""
    return _told(device, "peak_pool_bytes")


def memory_stats(device: Any = None) -> dict[str, int]:
    """What JAX tells of a GPU's memory, by its names; nothing without a GPU. As `torch.cuda.memory_stats`."""
    return dict(devices.memory(_gpu(device))) if is_available() else {}


def get_arch_list() -> list[str]:
    """Nothing: XLA compiles for the GPU that is there. Counterpart of `torch.cuda.get_arch_list`, without a GPU."""
    return []


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free bytes and all that JAX may use. AssertionError without a GPU. As `torch.cuda.mem_get_info`."""
    told = devices.memory(_gpu(device))
    total = told.get("bytes_limit", 0)
    return total - told.get("bytes_in_use", 0), total


def reset_peak_memory_stats(device: Any = None) -> None:
    """Accepted, without effect: JAX's peaks last. Counterpart of `torch.cuda.reset_peak_memory_stats`."""


reset_max_memory_allocated = reset_peak_memory_stats


class Event:
    """A time on the host, to measure between two. Counterpart of `torch.cuda.Event`.

    Values are computed when they are read: read one before `record`, or the time is that of recording operations.
    RuntimeError without a GPU.

    Args:
        enable_timing, blocking, interprocess: accepted, without effect.
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        if not is_available():
            raise RuntimeError("Tried to instantiate dummy base class Event\nThere is no GPU here.")
        self._at = 0.0

    def record(self, stream: Any = None) -> None:
        """Notes the time."""
        self._at = time.perf_counter()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to another."""
        return (end_event._at - self._at) * 1e3

    def query(self) -> bool:
        """True: it is over once it is recorded."""
        return True

    def synchronize(self) -> None:
        """Accepted, without effect."""


class Stream:
    """An order of work on a GPU: there is one, XLA's, in which everything is done. Counterpart of `torch.cuda.Stream`.

    RuntimeError without a GPU.

    Args:
        device, priority: accepted, without effect.
    """

    def __init__(self, device: Any = None, priority: int = 0) -> None:
        if not is_available():
            raise RuntimeError("torch.cuda.Stream requires CUDA support\nThere is no GPU here.")

    def record_event(self, event: Event | None = None) -> Event:
        """Notes the time, in an event."""
        event = Event() if event is None else event
        event.record()
        return event

    def query(self) -> bool:
        """True: reading a value waits for it."""
        return True

    def synchronize(self) -> None:
        """Accepted, without effect: reading a value waits for it."""

    def wait_event(self, event: Event) -> None:
        """Accepted, without effect: the order is that of the program."""

    def wait_stream(self, stream: Stream) -> None:
        """Accepted, without effect: the order is that of the program."""


def current_stream(device: Any = None) -> Stream:
    """The one order of work. AssertionError without a GPU. Counterpart of `torch.cuda.current_stream`."""
    devices.place(_gpu(device))
    return Stream()


default_stream = current_stream


def stream(stream: Stream | None) -> AbstractContextManager[None]:
    """A block without effect: there is one order of work. Counterpart of `torch.cuda.stream`.

    Args:
        stream: a `Stream`, or None.
    """
    return nullcontext()


def synchronize(device: Any = None) -> None:
    """Accepted, for scripts that time a GPU; here reading a value waits for it. AssertionError without a GPU."""
    devices.place(_gpu(device))


def empty_cache() -> None:
    """Accepted and without effect, as in torch without a GPU: JAX manages its memory itself."""


def manual_seed(seed: int) -> None:
    """Accepted and without effect: numbers are drawn on the host, by `manual_seed`'s generator."""


manual_seed_all = manual_seed


def seed() -> None:
    """Accepted and without effect, as `manual_seed`. Counterpart of `torch.cuda.seed`."""


seed_all = seed


def initial_seed() -> int:
    """The seed of `manual_seed`'s generator. AssertionError without a GPU. Counterpart of `torch.cuda.initial_seed`."""
    devices.place("cuda")
    return generator.initial_seed()


def get_rng_state(device: Any = "cuda") -> Tensor:
    """The state of the one generator, on the host. AssertionError without a GPU. As `torch.cuda.get_rng_state`."""
    devices.place(_gpu(device))
    return random_state.get_rng_state()


def get_rng_state_all() -> list[Tensor]:
    """`get_rng_state` for each GPU; an empty list without one. Counterpart of `torch.cuda.get_rng_state_all`."""
    return [random_state.get_rng_state() for _ in range(device_count())]


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Goes back to a state of the one generator; without a GPU nothing. Counterpart of `torch.cuda.set_rng_state`."""
    if is_available():
        random_state.set_rng_state(new_state)


def set_rng_state_all(new_states: Sequence[Tensor]) -> None:
    """`set_rng_state` with each of them. Counterpart of `torch.cuda.set_rng_state_all`.

    Args:
        new_states: what `get_rng_state_all` gave.
    """
    for each in new_states:
        set_rng_state(each)


__all__ = public_names(globals(), "amp", *CUDA_TYPES, home=__name__)
__dir__ = __all__.copy
complete_all(globals(), __all__, "cuda", "`jax.devices`")
