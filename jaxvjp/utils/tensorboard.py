"""torch's `utils.tensorboard`, over the library `tensorboardX`: logs of numbers and pictures for TensorBoard.

`pip install "jaxvjp[files]"` installs the library.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

import jax

from jaxvjp.tensor.tensor import Tensor

try:
    import tensorboardX
except ImportError as error:
    raise ImportError('TensorBoard\'s files need the library tensorboardX: pip install "jaxvjp[files]"') from error

__all__ = ["FileWriter", "SummaryWriter"]

FileWriter = tensorboardX.FileWriter


class SummaryWriter(tensorboardX.SummaryWriter):  # type: ignore[misc]  # that library has no types
    """Writes what training logs. Counterpart of `torch.utils.tensorboard.SummaryWriter`.

    Its methods, `add_scalar` and the others, take tensors, also those that require a gradient.
    """

    def add_graph(self, model: Any, input_to_model: Any = None, *more: Any, **options: Any) -> None:
        """NotImplementedError: torch traces a module with TorchScript. `jaxvjp.explain` prints its program."""
        raise NotImplementedError("add_graph needs TorchScript's trace; `jaxvjp.explain(model, x)` shows the program.")


def _number(value: Any) -> Any:
    return value.detach().cpu().numpy() if isinstance(value, Tensor) else value


def _of_tensors(name: str) -> Any:
    """The method of the base class, called with the numbers of tensors."""
    method = getattr(tensorboardX.SummaryWriter, name)

    @wraps(method)
    def of_tensors(self: Any, *given: Any, **named: Any) -> Any:
        given, named = jax.tree.map(_number, (given, named), is_leaf=lambda each: isinstance(each, Tensor | None))
        return method(self, *given, **named)

    return of_tensors


for _name in dir(tensorboardX.SummaryWriter):
    if _name.startswith("add_") and _name != "add_graph":
        setattr(SummaryWriter, _name, _of_tensors(_name))
