"""torch's `utils.dlpack`: tensors from and to any library with DLPack."""

from __future__ import annotations

from typing import Any

from jaxvjp.library.crossing import from_dlpack
from jaxvjp.tensor.docstrings import complete_all
from jaxvjp.tensor.tensor import Tensor

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule of the value, which can be read once. Counterpart of `torch.utils.dlpack.to_dlpack`.

    Args:
        tensor: one that requires no gradient.
    """
    return tensor.__dlpack__()


complete_all(globals(), __all__, "utils.dlpack")
