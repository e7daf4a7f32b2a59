"""torch's `amp`: `autocast` casts operands of some operations to 16 bits, `GradScaler` scales losses for float16."""

from __future__ import annotations

from jaxvjp.amp import autocast_mode
from jaxvjp.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from jaxvjp.amp.grad_scaler import GradScaler
from jaxvjp.tensor.docstrings import complete_all

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

complete_all(globals(), __all__, "amp", "casts, recorded like the user's own")
ANSWERS = """
    get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype is_autocast_cpu_enabled is_autocast_enabled
    clear_autocast_cache is_autocast_cache_enabled set_autocast_cache_enabled
"""
complete_all(vars(autocast_mode), ANSWERS.split(), "function", "no JAX: a mode of this thread")

__dir__ = __all__.copy
