"""The state of the default generator of random numbers: seeded, read, and gone back to."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from jaxvjp.library.creation import tensor
from jaxvjp.library.generator import Generator, default_generator
from jaxvjp.library.random_tensors import UNDERNEATH as UNDERNEATH
from jaxvjp.tensor.published import public
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import uint8


@public("function")
def seed() -> int:
    """Seeds the default generator by what the machine's own source gives, and returns that."""
    return default_generator.seed()


def _state(self: Generator) -> Tensor:
    """The state that determines all later draws, as bytes. Counterpart of `torch.Generator.get_state`."""
    return tensor(self.__state__(), dtype=uint8)


def _set_state(self: Generator, new_state: Tensor) -> Generator:
    """Goes back to a state. Counterpart of `torch.Generator.set_state`."""
    if not isinstance(new_state, Tensor):
        raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
    if new_state.dtype is not uint8:
        raise TypeError("RNG state must be a torch.ByteTensor")
    self.__restore__(np.asarray(new_state.__value__))
    return self


setattr(Generator, "get_state", _state)  # noqa: B010 - mypy knows no such method
setattr(Generator, "set_state", _set_state)  # noqa: B010


_parts = lambda self: (Generator, (self.device,), (self.initial_seed(), None, _state(self)))  # noqa: E731
setattr(Generator, "__reduce__", _parts)  # noqa: B010
setattr(Generator, "__setstate__", lambda self, state: _set_state(self, state[2]))  # noqa: B010


@public("function")
def get_rng_state() -> Tensor:
    """The state of the default generator, as bytes; counterpart of `torch.get_rng_state`."""
    return _state(default_generator)


@public("function")
def set_rng_state(new_state: Tensor) -> None:
    """Goes back to a state of the generator; counterpart of `torch.set_rng_state`."""
    _set_state(default_generator, new_state)


@contextmanager
def fork_rng(
    devices: Any = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str | None = None,
) -> Iterator[None]:
    """A block after which the generator is as it was before; counterpart of `torch.random.fork_rng`.

    Args:
        devices, _caller, _devices_kw, device_type: accepted: one generator on the host draws for all devices.
        enabled: False for a block without effect.
    """
    state = default_generator.__state__()
    try:
        yield
    finally:
        if enabled:
            default_generator.__restore__(state)
