"""Padding, one row for each mode."""

from __future__ import annotations

from typing import Any

from jaxvjp.nn import functional as F  # noqa: F401 - for calls of rows
from jaxvjp.nn.modules.layer import Layer, Row, Size, define  # noqa: F401
from jaxvjp.nn.modules.utils import _ntuple
from jaxvjp.tensor.tensor import Tensor  # noqa: F401 - for annotations of rows

SIZE = "padding: Size"


class _Pad(Layer):
    def _settle(self) -> None:
        self.padding: Any = _ntuple(2 * self.dims)(self.padding)


ROWS = {
    "CircularPad{d}d": Row("F.pad(input, self.padding, 'circular')", SIZE, "padding!", "_Pad"),
    "ConstantPad{d}d": Row(
        "F.pad(input, self.padding, 'constant', self.value)", f"{SIZE}, value: float", "padding value", "_Pad"
    ),
    "ReflectionPad{d}d": Row("F.pad(input, self.padding, 'reflect')", SIZE, "padding!", "_Pad"),
    "ReplicationPad{d}d": Row("F.pad(input, self.padding, 'replicate')", SIZE, "padding!", "_Pad"),
    "ZeroPad{d}d": Row("F.pad(input, self.padding)", SIZE, "padding!", "_Pad"),
}
define(ROWS, globals())
