"""`OptimizedModule`: what `torch.compile` makes of a module."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

from jaxvjp.nn.modules.module import Module
from jaxvjp.staging import Staged

UNDERNEATH = "`jax.jit` of the module's call, as by `jaxvjp.jit`"


class OptimizedModule(Module):
    """A module whose call is compiled: it holds that module as `_orig_mod`, and has its attributes and its mode.

    So the keys of its `state_dict` begin with `_orig_mod.`. Counterpart of `torch._dynamo.OptimizedModule`.

    Args:
        mod: the module.
        fullgraph: as for `jaxvjp.compile`.
    """

    def __init__(self, mod: Module, fullgraph: bool = False) -> None:
        super().__init__()
        del self.__dict__["training"]  # that of the module is read
        Module.__setattr__(self, "_orig_mod", mod)
        self.forward: Any = Staged(mod, fullgraph)

    @property
    def training(self) -> bool:
        """Whether the module is in training mode."""
        return bool(self._orig_mod.training)

    @training.setter
    def training(self, mode: bool) -> None:
        self._orig_mod.training = mode

    def __getattr__(self, name: str) -> Any:
        held = self.__dict__["_modules"]["_orig_mod"]
        return held if name == "_orig_mod" else getattr(held, name)

    def _owns(self, name: str) -> bool:
        return name in self.__dict__ or name == "_orig_mod" or hasattr(type(self), name)  # such as `forward`

    def __setattr__(self, name: str, value: Any) -> None:
        if self._owns(name):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if self._owns(name):
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __len__(self) -> int:
        if isinstance(self._orig_mod, Sized):
            return len(self._orig_mod)
        raise TypeError(f"{type(self._orig_mod).__name__} does not support len()")

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._orig_mod), *super().__dir__()})

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._orig_mod, self.forward._fullgraph)
