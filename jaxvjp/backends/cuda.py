"""torch's `backends.cuda`: the precision of products, and switches of attention kernels, of which XLA has its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from jaxvjp.ops.products import get_float32_matmul_precision, set_float32_matmul_precision
from jaxvjp.types.devices import count_of
from jaxvjp.types.public import public_names


class _Matmul:
    """Settings of products. The last two are remembered, without effect."""

    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False

    @property
    def allow_tf32(self) -> bool:
        """Whether products of float32 may be less precise: `set_float32_matmul_precision("high")`."""
        return get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        set_float32_matmul_precision("high" if value else "highest")


matmul: Any = _Matmul()


def is_built() -> bool:
    """Whether JAX has a GPU here. Counterpart of `torch.backends.cuda.is_built`."""
    return count_of("cuda") > 0


def is_flash_attention_available() -> bool:
    """False: attention is a composition that XLA fuses. As `torch.backends.cuda.is_flash_attention_available`."""
    return False


def _switch() -> tuple[Callable[[bool], None], Callable[[], bool]]:
    """Two functions: the first sets what the second tells, without other effect."""
    state = [True]

    def enable(enabled: bool) -> None:
        """Remembered, without effect: XLA has attention kernels of its own."""
        state[0] = bool(enabled)

    def enabled() -> bool:
        """What was last set."""
        return state[0]

    return enable, enabled


enable_flash_sdp, flash_sdp_enabled = _switch()
enable_math_sdp, math_sdp_enabled = _switch()
enable_mem_efficient_sdp, mem_efficient_sdp_enabled = _switch()
enable_cudnn_sdp, cudnn_sdp_enabled = _switch()


LIBRARIES = ("default", "cusolver", "magma")
_library = ["default"]


def preferred_linalg_library(backend: str | None = None) -> str:
    """The library for linear algebra that was asked for last: "default", "cusolver" or "magma".

    It is remembered, without effect: XLA has its own. RuntimeError for anything else. Counterpart of
    `torch.backends.cuda.preferred_linalg_library`, which gives a member of an enumeration.
    """
    if backend is not None:
        if not isinstance(backend, str):
            raise RuntimeError("Unknown input value type.")
        if backend not in LIBRARIES:
            raise RuntimeError(f"Unknown input value. Choose from: {', '.join(LIBRARIES)}.")
        _library[0] = backend
    return _library[0]


@contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[None]:
    """The four switches for a block. Counterpart of `torch.backends.cuda.sdp_kernel`."""
    switches = (enable_flash_sdp, enable_math_sdp, enable_mem_efficient_sdp, enable_cudnn_sdp)
    before = (flash_sdp_enabled(), math_sdp_enabled(), mem_efficient_sdp_enabled(), cudnn_sdp_enabled())
    for switch, value in zip(switches, (enable_flash, enable_math, enable_mem_efficient, enable_cudnn), strict=True):
        switch(value)
    try:
        yield
    finally:
        for switch, value in zip(switches, before, strict=True):
            switch(value)


__all__ = public_names(globals(), home=__name__)
