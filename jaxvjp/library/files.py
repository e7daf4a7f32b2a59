"""Tensors on the memory of a mapped file: `torch.from_file`."""

import os
from typing import Any

import numpy as np

from jaxvjp.library.creation import empty
from jaxvjp.library.crossing import from_numpy
from jaxvjp.tensor.published import public
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import Dtype, get_default_dtype

UNDERNEATH = "`numpy.memmap`, whose memory the tensor shares as that of any NumPy array"


def _length(filename: str, shared: bool, least: int) -> int:
    """How many bytes a file has; one that is shared is made, or made longer, where it has fewer than `least`."""
    try:
        with open(filename, "ab" if shared else "rb") as file:
            found = os.fstat(file.fileno()).st_size
            if found < least and shared:
                file.truncate(least)
    except OSError as error:
        mode = "read-write" if shared else "read-only"
        raise RuntimeError(
            f"unable to open file <{filename}> in {mode} mode: {error.strerror} ({error.errno})"
        ) from None
    return found


@public("function")
def from_file(
    filename: str,
    shared: bool | None = None,
    size: int = 0,
    *,
    dtype: Dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor on the memory of a file. Counterpart of `torch.from_file`.

    What is written to it is in the file, too, if it is `shared`; what others write to the file is in it. On an
    accelerator it is a copy.

    Args:
        filename: which file; if it is `shared` it is made, or made longer, where that is needed.
        shared: whether the file is written.
        size: how many elements.
        dtype: their dtype, by default the default dtype.

    RuntimeError where there is no such file, or it is too short.
    """
    own = dtype or get_default_dtype()
    length = size * int(own.itemsize)
    if length < 0:
        raise RuntimeError(f"unable to mmap {length} bytes from file <{filename}>: Cannot allocate memory (12)")
    found = _length(filename, bool(shared), length)
    if found < length and not shared:
        raise RuntimeError(
            f"file <{filename}> size <{found}> is smaller than the required mapping size <{length}>\n"
            "With `shared=True` it is made longer."
        )
    if not length:
        return empty(0, dtype=own, device=device, requires_grad=requires_grad)
    memory = np.memmap(filename, np.uint8, "r+" if shared else "c", shape=(length,))
    known = own.numpy.kind != "V"
    made = from_numpy(memory.view(own.numpy) if known else memory)
    return (made if known else made.view(own)).to(device=device).requires_grad_(requires_grad)
