"""torch's `version`: what a script asks for the build that it runs on."""

from __future__ import annotations

import re

from jaxvjp.types.devices import count_of, device, jax_device

__all__ = ["cuda", "debug", "git_version", "hip", "xpu"]


def _cuda() -> str | None:
    """The version of CUDA that XLA runs on, as "12.8"; None without a GPU."""
    if not count_of("cuda"):
        return None
    told = re.search(r"cuda (\d+)", str(jax_device(device("cuda")).client.platform_version))
    return f"{int(told[1]) // 1000}.{int(told[1]) % 1000 // 10}" if told else "unknown"


cuda: str | None = _cuda()
debug = False
git_version = "unknown"
hip: str | None = None
xpu: str | None = None

__dir__ = __all__.copy
