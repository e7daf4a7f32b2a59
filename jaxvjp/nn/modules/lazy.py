"""Layers that learn the size of their input, and so the shapes of their parameters, at their first call."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jaxvjp.autograd.modes import no_grad
from jaxvjp.library.creation import tensor
from jaxvjp.nn.modules import batchnorm, conv
from jaxvjp.nn.modules.linear import Linear
from jaxvjp.nn.modules.module import Module
from jaxvjp.nn.parameter import is_lazy
from jaxvjp.nn.uninitialized import UninitializedBuffer, UninitializedParameter
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import int64

UNDERNEATH = "as the layer that it becomes"

if TYPE_CHECKING:
    Base = Module
else:
    Base = object


class LazyModuleMixin(Base):
    """Comes before the module in the bases of a lazy one, which writes `initialize_parameters(input)`.

    Attributes:
        cls_to_become: the class that it becomes once its parameters have shapes.
    """

    cls_to_become: type[Any] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _lazy_load_hook(self, state_dict: Mapping[str, Any], prefix: str, *_: Any) -> None:
        own: dict[str, Any] = {**self._parameters, **self._buffers}
        for name, each in own.items():
            given = state_dict.get(prefix + name)
            if is_lazy(each) and given is not None and not is_lazy(given):
                with no_grad():
                    each.materialize(given.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Gives its parameters their shapes, by the arguments of `forward`; for a subclass to write."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether it has parameters or buffers without a shape."""
        return any(map(is_lazy, [*self._parameters.values(), *self._buffers.values()]))

    def _infer_parameters(self, module: Any, args: Any, kwargs: Any = None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        for name in ("_initialize_hook", "_load_hook"):
            getattr(module, name).remove()
            delattr(module, name)
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become


class _Lazy(LazyModuleMixin):
    """What lazy layers share: each is a class of this file and the layer that it becomes.

    Attributes:
        __inferred__: the setting that the first input tells.
    """

    __inferred__ = ""

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        if cls.__module__ == __name__ and not cls.__name__.startswith("_"):
            cls.cls_to_become = cls.__bases__[1]
            cls.__doc__ = f"`{cls.cls_to_become.__name__}` that learns `{cls.__inferred__}` from its first input."

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and getattr(self, self.__inferred__) != 0:
            super().reset_parameters()  # type: ignore[misc]


def _materialize(layer: Any, name: str, shape: tuple[int, ...]) -> None:
    each = getattr(layer, name)
    if isinstance(each, UninitializedParameter | UninitializedBuffer):
        each.materialize(shape)


def _defer(layer: Any, bias: bool, device: Any, dtype: Any) -> None:
    layer.weight = UninitializedParameter(device=device, dtype=dtype)
    if bias:
        layer.bias = UninitializedParameter(device=device, dtype=dtype)


class LazyLinear(_Lazy, Linear):
    __inferred__ = "in_features"

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        _defer(self, bias, device, dtype)

    def initialize_parameters(self, input: Tensor) -> None:
        if self.has_uninitialized_params():
            self.in_features = input.shape[-1]
            _materialize(self, "weight", (self.out_features, self.in_features))
            _materialize(self, "bias", (self.out_features,))
            self.reset_parameters()
        self.in_features = self.in_features or input.shape[-1]


class _LazyConv(_Lazy, conv._ConvNd):
    """A convolution that learns `in_channels` from its first input."""

    __inferred__ = "in_channels"

    def __init__(self, out_channels: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None:
        # The positions of `groups` and `bias` differ between a convolution and a transposed one.
        names = list(inspect.signature(self.cls_to_become or conv._ConvNd).parameters)[3:]
        settings = dict(zip(names, args, strict=False)) | kwargs
        own = {name: settings.get(name) for name in ("device", "dtype")}
        bias = settings.get("bias", True)
        super().__init__(0, 0, kernel_size, **settings | {"bias": False})
        self.out_channels = out_channels
        _defer(self, bias, **own)

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        if not self.has_uninitialized_params():
            return
        dims = len(self.kernel_size)
        if input.dim() not in (dims + 1, dims + 2):
            raise RuntimeError(
                f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {type(self).__name__}, "
                f"but got input of size: {input.shape}"
            )
        self.in_channels = input.shape[-dims - 1]
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        _materialize(self, "weight", conv.weight_shape(self))
        _materialize(self, "bias", (self.out_channels,))
        self.reset_parameters()


class LazyConv1d(_LazyConv, conv.Conv1d): ...


class LazyConv2d(_LazyConv, conv.Conv2d): ...


class LazyConv3d(_LazyConv, conv.Conv3d): ...


class LazyConvTranspose1d(_LazyConv, conv.ConvTranspose1d): ...


class LazyConvTranspose2d(_LazyConv, conv.ConvTranspose2d): ...


class LazyConvTranspose3d(_LazyConv, conv.ConvTranspose3d): ...


class _LazyNormBase(_Lazy, batchnorm._NormBase):
    """A norm that learns `num_features` from its first input."""

    __inferred__ = "num_features"

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine, self.track_running_stats = affine, track_running_stats
        own: dict[str, Any] = {"device": device, "dtype": dtype}
        if self.affine:
            _defer(self, bias, **own)
        if self.track_running_stats:
            self.running_mean = UninitializedBuffer(**own)
            self.running_var = UninitializedBuffer(**own)
            self.num_batches_tracked = tensor(0, dtype=int64, device=device)

    def initialize_parameters(self, input: Tensor) -> None:
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            for name in ("weight", "bias", "running_mean", "running_var"):
                _materialize(self, name, (self.num_features,))
            self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, batchnorm.BatchNorm1d): ...


class LazyBatchNorm2d(_LazyNormBase, batchnorm.BatchNorm2d): ...


class LazyBatchNorm3d(_LazyNormBase, batchnorm.BatchNorm3d): ...


class LazyInstanceNorm1d(_LazyNormBase, batchnorm.InstanceNorm1d): ...


class LazyInstanceNorm2d(_LazyNormBase, batchnorm.InstanceNorm2d): ...


class LazyInstanceNorm3d(_LazyNormBase, batchnorm.InstanceNorm3d): ...
