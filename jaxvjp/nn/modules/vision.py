"""Layers that move or repeat elements: what their rows in `rows` derive from."""

from __future__ import annotations

from typing import Any

from jaxvjp.nn.modules.layer import Layer, define


class _Upsample(Layer):
    scale_factor: Any

    def __finish_init__(self) -> None:
        self.name = type(self).__name__
        given = self.scale_factor
        self.scale_factor = tuple(map(float, given)) if isinstance(given, tuple) else float(given) if given else None

    def extra_repr(self) -> str:
        name = "size" if self.scale_factor is None else "scale_factor"
        return f"{name}={getattr(self, name)!r}, mode={self.mode!r}"


class _Fixed2d(_Upsample):
    """Upsampling whose mode its name tells."""

    def __finish_init__(self) -> None:
        super().__finish_init__()
        bilinear = "Bilinear" in self.name
        self.mode, self.align_corners = ("bilinear", True) if bilinear else ("nearest", None)
        self.recompute_scale_factor = None


class _Unflatten(Layer):
    def __finish_init__(self) -> None:
        given: Any = self.unflattened_size
        if not isinstance(given, tuple | list):
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(given).__name__}")
        for place, each in enumerate(given):
            if not isinstance(each, int):
                told = f"but found element of type {type(each).__name__} at pos {place}"
                raise TypeError(f"unflattened_size must be tuple of ints, {told}")


define("vision", globals())
