"""`nn.DataParallel`, for scripts that wrap their model in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxvjp.nn.modules.module import Module
from jaxvjp.tensor.docstrings import complete_all

UNDERNEATH = "no JAX: the module is called as it is"

__all__ = ["DataParallel"]


class DataParallel(Module):
    """Calls `module`, with the whole batch, on the device where it is.

    torch splits the batch over all GPUs that it has, and does this where it has none. The names of parameters begin
    with `module.`, as in torch.

    Args:
        module: what is called.
        device_ids, output_device, dim: no effect, as one program here runs on one device.
    """

    def __init__(
        self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[Any] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


complete_all(globals(), __all__, "nn")
