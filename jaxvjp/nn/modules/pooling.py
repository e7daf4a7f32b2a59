"""Pooling: what its rows in `rows` derive from."""

from __future__ import annotations

from typing import Any

from jaxvjp.nn.modules.layer import Layer, define
from jaxvjp.nn.modules.utils import _ntuple


class _Pool(Layer):
    """Windows that by default do not overlap."""

    def __finish_init__(self) -> None:
        self.stride: Any = self.kernel_size if self.stride is None else self.stride


class _TuplePool(_Pool):
    """Its settings are kept as tuples."""

    def __finish_init__(self) -> None:
        super().__finish_init__()
        for name in ("kernel_size", "stride", "padding"):
            setattr(self, name, _ntuple(self.__spatial_dims__)(getattr(self, name)))


class _FractionalMaxPool(Layer):
    def __finish_init__(self) -> None:
        name, each = type(self).__name__, _ntuple(self.__spatial_dims__)
        if self.output_size is None and self.output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if self.output_size is not None and self.output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        self.kernel_size: Any = each(self.kernel_size)
        self.output_size: Any = None if self.output_size is None else each(self.output_size)
        if self.output_ratio is not None:
            given, self.output_ratio = self.output_ratio, each(self.output_ratio)
            if not all(0 < ratio < 1 for ratio in self.output_ratio):
                raise ValueError(f"output_ratio must be between 0 and 1 (got {given})")


define("pooling", globals())
