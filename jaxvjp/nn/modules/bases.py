"""What rows of `rows` derive from, and what their calls name: the checks and the settings that no row says.

The files of torch that have only such layers, such as `nn.modules.activation`, are no files here: `layer.define` makes
the classes of one when its first name is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from jaxvjp.nn.dropout import check_probability
from jaxvjp.nn.modules.layer import LEGACY, Layer
from jaxvjp.nn.modules.utils import _ntuple
from jaxvjp.ops.neural.loss import chosen_reduction
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


class _ReLU6(Layer):
    def __finish_init__(self) -> None:
        self.min_val, self.max_val = 0.0, 6.0


def _checked_image(input: Tensor) -> Tensor:
    if input.dim() not in (3, 4):
        raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
    return input


class _Distance(Layer):
    def __finish_init__(self) -> None:
        self.norm = self.__dict__.pop("p")


class _DropoutNd(Layer):
    __printed__ = "p inplace"

    def __finish_init__(self) -> None:
        check_probability(self.p)


class _Loss(Layer):
    __settings__ = "size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean'"
    reduction: Any

    def __finish_init__(self, *given: Any, **named: Any) -> None:
        size_average, reduce = (self.__dict__.pop(each, None) for each in LEGACY)
        if size_average is not None or reduce is not None:
            self.reduction = chosen_reduction(size_average, reduce, self.reduction)


class _WeightedLoss(_Loss):
    __settings__ = f"weight: Tensor | None = None, {_Loss.__settings__}"
    weight: Tensor | None


class _HuberLoss(_Loss):
    def __finish_init__(self) -> None:
        if not isinstance(self.delta, float | int):
            raise TypeError(f"delta must be a float or int, got: {type(self.delta)}")


class _MarginLoss(_WeightedLoss):
    def __finish_init__(self) -> None:
        super().__finish_init__()
        if self.p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if self.weight is not None and self.weight.dim() != 1:
            raise ValueError(
                f"MultiMarginLoss: expected weight to be None or 1D tensor, got {self.weight.dim()}D instead"
            )


class _TripletLoss(_Loss):
    def __finish_init__(self) -> None:
        super().__finish_init__()
        if self.margin <= 0:
            name = type(self).__name__
            raise ValueError(f"{name}: expected margin to be greater than 0, got {self.margin} instead")
        if getattr(self, "distance_function", self) is None:
            self.distance_function: Any = import_module("jaxvjp.nn.modules").PairwiseDistance()


class _Pad(Layer):
    def __finish_init__(self) -> None:
        self.padding: Any = _ntuple(2 * self.__spatial_dims__)(self.padding)


class _ZeroPad(_Pad):
    def __finish_init__(self) -> None:
        super().__finish_init__()
        self.value = 0.0


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
    output_ratio: Any

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

    align_corners: bool | None

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
