"""`skip_init`: a module whose parameters have no numbers in particular."""

from __future__ import annotations

import inspect
from typing import Any

from jaxvjp.nn.modules.module import Module


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Module:
    """The module `module_cls(*args, **kwargs)` without the time that drawing its parameters takes.

    `module_cls` takes `device` and makes its parameters and buffers there. Counterpart of `torch.nn.utils.skip_init`.
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **kwargs, device="meta").to_empty(device=device)
