"""Normalizations over a batch or over an instance, which keep running statistics."""

from __future__ import annotations

from typing import Any

from jaxvjp.library.creation import ones, tensor, zeros
from jaxvjp.nn import functional as F
from jaxvjp.nn.modules.layer import BIAS, PLACE
from jaxvjp.nn.modules.normalization import _Norm, register_affine
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import int64
from jaxvjp.types.user_code import warn_user

UNDERNEATH = "a function of `nn.functional`, which writes the running statistics in place"
SETTINGS = (
    "num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, "
    "track_running_stats: bool = True"
)


class _NormBase(_Norm):
    """What batch and instance norms share; `__input_dims__` has the numbers of dimensions that the input may have."""

    _version = 2
    __printed__ = "num_features! eps momentum affine bias track_running_stats"
    __settings__ = f"{SETTINGS}, {PLACE}, *, {BIAS}"
    __input_dims__: tuple[int, ...] = ()
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __finish_init__(self, bias: bool, device: Any, dtype: Any) -> None:
        tracks, count = self.track_running_stats, self.num_features
        self.register_buffer("running_mean", zeros(count, device=device, dtype=dtype) if tracks else None)
        self.register_buffer("running_var", ones(count, device=device, dtype=dtype) if tracks else None)
        self.register_buffer("num_batches_tracked", tensor(0, dtype=int64, device=device) if tracks else None)
        register_affine(self, (count,) if self.affine else None, bias, device, dtype)

    def reset_running_stats(self) -> None:
        if self.track_running_stats:
            for each, value in ((self.running_mean, 0), (self.running_var, 1), (self.num_batches_tracked, 0)):
                assert each is not None
                each.fill_(value)

    def reset_parameters(self) -> None:
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in self.__input_dims__:
            told = " or ".join(f"{each}D" for each in self.__input_dims__)
            raise ValueError(f"expected {told} input (got {input.dim()}D input)")

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], *further: Any, **named: Any
    ) -> None:
        old = (local_metadata.get("version") or 1) < 2
        if old and self.track_running_stats:  # written before the count of batches was
            count = self.num_batches_tracked
            count = tensor(0, dtype=int64) if count is None or count.is_meta else count
            state_dict.setdefault(f"{prefix}num_batches_tracked", count)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *further, **named)


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        factor = self.momentum or 0.0
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the mean over all batches
                factor = 1.0 / float(self.num_batches_tracked)
        tracks = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if tracks else None,
            self.running_var if tracks else None,
            self.weight,
            self.bias,
            self.training or (self.running_mean is None and self.running_var is None),
            factor,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """`F.batch_norm` of (batch, channels) or (batch, channels, length)."""

    __input_dims__ = (2, 3)


class BatchNorm2d(_BatchNorm):
    """`F.batch_norm` of (batch, channels, height, width)."""

    __input_dims__ = (4,)


class BatchNorm3d(_BatchNorm):
    """`F.batch_norm` of (batch, channels, depth, height, width)."""

    __input_dims__ = (5,)


class SyncBatchNorm(_BatchNorm):
    """`F.batch_norm` of (batch, channels, ...); a batch on several devices is one tensor, and its mean that of all.

    Args:
        process_group: kept as an attribute, without effect.
    """

    __settings__ = f"{SETTINGS}, process_group: Any = None, {PLACE}, *, {BIAS}"

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: Any = None) -> Any:
        """Puts a `SyncBatchNorm` with the same parameters and buffers in the place of each batch norm in a module.

        Args:
            module: the module, which is returned; a new one if it is a batch norm itself.
            process_group: kept as an attribute, without effect.
        """
        made = module
        if isinstance(module, _BatchNorm):
            kept = (module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats)
            made = cls(*kept, process_group)
            made._parameters.update(module._parameters)
            made._buffers.update(module._buffers)
            made.training = module.training
        for name, each in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(each, process_group))
        return made


class _InstanceNorm(_NormBase):
    __settings__ = (
        "num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False, "
        f"track_running_stats: bool = False, {PLACE}, *, {BIAS}"
    )

    @property
    def __input_dims__(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.__spatial_dims__ + 1, self.__spatial_dims__ + 2

    def _get_no_batch_dim(self) -> int:
        return self.__input_dims__[0]

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        alone = input.dim() == self._get_no_batch_dim()
        dim = 0 if alone else 1
        if input.size(dim) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: "
                    f"{input.size(dim)}."
                )
            warn_user(
                f"input's size at dim={dim} does not match num_features. You can silence this warning by not passing "
                "in num_features, which is not used because affine=False",
            )
        result = F.instance_norm(
            input.unsqueeze(0) if alone else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            self.momentum or 0.0,
            self.eps,
        )
        return result.squeeze(0) if alone else result


class InstanceNorm1d(_InstanceNorm):
    """`F.instance_norm` of (channels, length) or (batch, channels, length)."""


class InstanceNorm2d(_InstanceNorm):
    """`F.instance_norm` of (channels, height, width), or of a batch of them."""


class InstanceNorm3d(_InstanceNorm):
    """`F.instance_norm` of (channels, depth, height, width), or of a batch of them."""
