"""`LazyModuleMixin`: what a layer has that makes its parameters at its first call, from the shape of its input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jaxvjp.autograd.modes import no_grad
from jaxvjp.nn.modules.module import Module
from jaxvjp.nn.parameter import is_lazy

if TYPE_CHECKING:
    Base = Module
else:
    Base = object


class LazyModuleMixin(Base):
    """Comes before the module in the bases of a lazy one, which writes `initialize_parameters(input)`.

    Attributes:
        cls_to_become: the class that it becomes once its parameters have shapes.
    """

    cls_to_become: type[Any] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _lazy_load_hook(self, state_dict: Mapping[str, Any], prefix: str, *_: Any) -> None:
        own: dict[str, Any] = {**self._parameters, **self._buffers}
        for name, each in own.items():
            given = state_dict.get(prefix + name)
            if is_lazy(each) and given is not None and not is_lazy(given):
                with no_grad():
                    each.materialize(given.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Gives its parameters their shapes, by the arguments of `forward`; for a subclass to write."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether it has parameters or buffers without a shape."""
        return any(map(is_lazy, [*self._parameters.values(), *self._buffers.values()]))

    def _infer_parameters(self, module: Any, args: Any, kwargs: Any = None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        for name in ("_initialize_hook", "_load_hook"):
            getattr(module, name).remove()
            delattr(module, name)
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become
