# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from collections.abc import Sequence
from contextlib import AbstractContextManager
from jaxvjp.cuda import amp as amp
from jaxvjp.namespaces.accelerators import Event as Event
from jaxvjp.namespaces.accelerators import Stream as Stream
from jaxvjp.namespaces.accelerators import device as device
from jaxvjp.namespaces.accelerators import get_device_capability as get_device_capability
from jaxvjp.namespaces.accelerators import get_device_properties as get_device_properties
from jaxvjp.namespaces.accelerators import mem_get_info as mem_get_info
from jaxvjp.tensor.tensor import Tensor

def current_device() -> int:
    """The number of the GPU that `device("cuda")` means; AssertionError where there is none."""
def current_stream(device: Any = None) -> Stream:
    """The one order of work. AssertionError without a GPU."""
def default_stream(device: Any = None) -> Stream:
    """The one order of work. AssertionError without a GPU."""
def device_count() -> int:
    """How many GPUs JAX has here."""
def empty_cache() -> None:
    """Accepted, without effect, as in torch without a GPU: JAX manages its memory itself."""
def get_arch_list() -> list[str]:
    """Nothing: XLA compiles for the GPU that is there."""
def get_device_name(device: Any = None) -> str:
    """The name of a GPU. AssertionError if there is none."""
def get_rng_state(device: Any = "cuda") -> Tensor:
    """The state of the one generator, on the host. AssertionError without a GPU."""
def get_rng_state_all() -> list[Tensor]:
    """`get_rng_state` for each GPU; an empty list without one."""
def init() -> None:
    """Accepted: JAX sets it up by itself. AssertionError without a GPU."""
def initial_seed() -> int:
    """The seed of `manual_seed`'s generator. AssertionError without a GPU."""
def ipc_collect() -> None:
    """Accepted, without effect. AssertionError without a GPU."""
def is_available() -> bool:
    """Whether JAX has a GPU here."""
def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether there is a GPU: XLA emulates where one lacks it."""
def is_initialized() -> bool:
    """Whether there is a GPU, which JAX has then set up."""
def manual_seed(seed: int) -> None:
    """Accepted, without effect: numbers are drawn on the host."""
def manual_seed_all(seed: int) -> None:
    """Accepted, without effect: numbers are drawn on the host."""
def memory_stats(device: Any = None) -> dict[str, int]:
    """What JAX tells of a GPU's memory, by its names; nothing without a GPU."""
def memory_allocated(device: Any = None) -> int:
    """How many bytes are in use; 0 without a GPU."""
def max_memory_allocated(device: Any = None) -> int:
    """How many bytes were in use at most; 0 without a GPU."""
def memory_reserved(device: Any = None) -> int:
    """How many bytes JAX has taken of the GPU; 0 without one."""
def max_memory_reserved(device: Any = None) -> int:
    """How many bytes JAX had taken at most; 0 without a GPU."""
def reset_peak_memory_stats(device: Any = None) -> None:
    """Accepted, without effect: JAX's peaks last."""
def reset_max_memory_allocated(device: Any = None) -> None:
    """Accepted, without effect: JAX's peaks last."""
def seed() -> None:
    """Accepted, without effect, as `manual_seed`."""
def seed_all() -> None:
    """Accepted, without effect, as `manual_seed`."""
def set_device(device: Any) -> None:
    """Has "cuda" mean another GPU in this thread; a negative number changes nothing. AssertionError without a GPU."""
def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Goes back to a state of the one generator; without a GPU nothing."""
def set_rng_state_all(new_states: Sequence[Tensor]) -> None:
    """`set_rng_state` with each."""
def stream(stream: Stream | None) -> AbstractContextManager[None]:
    """A block without effect: there is one order of work."""
def synchronize(device: Any = None) -> None:
    """Accepted, for scripts that time a GPU; here reading a value waits for it. AssertionError without a GPU."""
BoolTensor: Any
ByteTensor: Any
CharTensor: Any
ShortTensor: Any
IntTensor: Any
LongTensor: Any
HalfTensor: Any
BFloat16Tensor: Any
FloatTensor: Any
DoubleTensor: Any
