"""torch's `overrides`: what a class that inherits from `Tensor` says of the functions that it is given to."""

from jaxvjp.tensor.docstrings import complete_all
from jaxvjp.tensor.overriding import (
    DisableTorchFunctionSubclass,
    handle_torch_function,
    has_torch_function,
    is_tensor_like,
)

__all__ = ["DisableTorchFunctionSubclass", "handle_torch_function", "has_torch_function", "is_tensor_like"]


complete_all(globals(), __all__, "overrides")

__dir__ = __all__.copy
