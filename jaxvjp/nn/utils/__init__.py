"""torch's `nn.utils`. `FILES` says in which file each function is; a file is imported when first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from jaxvjp.tensor.docstrings import complete

FILES = {
    "clip_grad": "clip_grad_norm clip_grad_norm_ clip_grad_value_ clip_grads_with_norm_ get_total_norm",
    "convert_parameters": "parameters_to_vector vector_to_parameters",
    "fusion": "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights",
    "old_norms": "remove_spectral_norm remove_weight_norm spectral_norm weight_norm",
    "parametrizations": "",
    "parametrize": "",
    "prune": "",
    "init": "skip_init",
    "stateless": "",
}
"""By file in this folder, the names in it that `nn.utils` has."""

LATER = {name: f"jaxvjp.nn.utils.{file}" for file, names in FILES.items() for name in names.split()}
__all__ = sorted([*LATER, "parametrizations", "parametrize", "prune", "stateless"])


def __getattr__(name: str) -> Any:
    if name not in LATER:
        try:
            return import_module(f"jaxvjp.nn.utils.{name}")
        except ModuleNotFoundError:
            raise AttributeError(f"module '{__name__}' has no attribute '{name}'") from None
    found = globals()[name] = getattr(import_module(LATER[name]), name)
    complete(found, "nn.utils", name)
    return found


__dir__ = __all__.copy
