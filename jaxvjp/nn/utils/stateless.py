"""torch's `nn.utils.stateless`, the place of `functional_call` before it was in `func`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jaxvjp.func import parameters
from jaxvjp.tensor.docstrings import complete_all
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.user_code import warn_user

__all__ = ["functional_call"]


def functional_call(
    module: Any,
    parameters_and_buffers: Mapping[str, Tensor],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """`func.functional_call` under its old name, which warns; as `torch.nn.utils.stateless.functional_call`.

    Args:
        parameters_and_buffers: tensors by name, in the place of the module's own.
    """
    warn_user(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future "
        "version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
    )
    return parameters.functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )


complete_all(globals(), __all__, "nn.utils.stateless", parameters.UNDERNEATH)
