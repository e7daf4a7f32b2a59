"""Activations: what their rows in `rows` derive from."""

from __future__ import annotations

from jaxvjp.nn.modules.layer import Layer, define
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.user_code import warn_user


class _Bounded(Layer):
    def __finish_init__(self) -> None:
        for old, new in (("min_value", "min_val"), ("max_value", "max_val")):
            given = self.__dict__.pop(old)
            if given is not None:
                told = f"keyword argument `{old}` is deprecated and renamed to `{new}`"
                warn_user(told, FutureWarning)
                setattr(self, new, given)
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")


def _checked_image(input: Tensor) -> Tensor:
    if input.dim() not in (3, 4):
        raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
    return input


define("activation", globals())
