"""torch's `nn.common_types`: what annotations say of sizes, `kernel_size: _size_2_t`."""

from __future__ import annotations

from typing import Any

from jaxvjp.tensor.tensor import Tensor

_size_any_t: Any = int | tuple[int, ...]
_size_any_opt_t: Any = int | None | tuple[int | None, ...]
_ratio_any_t: Any = float | tuple[float, ...]
_tensor_list_t: Any = Tensor | list[Tensor]
_maybe_indices_t: Any = Tensor | tuple[Tensor, Tensor]

for _name, _kind, _most in (("size_{}_t", int, 6), ("size_{}_opt_t", int | None, 3), ("ratio_{}_t", float, 3)):
    for _count in range(1, _most + 1):
        _several: Any = tuple.__class_getitem__((_kind,) * _count)
        globals()["_" + _name.format(_count)] = _kind | _several
