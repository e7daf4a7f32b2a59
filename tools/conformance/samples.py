"""Random tensors for tests: `torch.testing.make_tensor`, in words of our own and from NumPy's generator."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from tools.conformance.comparing import name_of

_generator = np.random.default_rng(1234)
WIDTHS = {"bfloat16": 3.3e38, "complex32": 65504.0}


def seeded(seed: int) -> None:
    """Starts the sequence anew."""
    global _generator
    _generator = np.random.default_rng(seed)


def generator() -> np.random.Generator:
    """What all random numbers of tests are drawn from."""
    return _generator


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any = "cpu",
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Any:
    """A tensor of numbers of [low, high): [-9, 9) unless told, or as much of it as the type has."""
    sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else tuple(shape)
    name = name_of(dtype)
    if name == "bool":
        values: Any = _generator.integers(0, 2, sizes).astype(bool)
    elif name.startswith(("int", "uint")):
        kind = np.iinfo(name)
        first = int(np.clip(max(-9, kind.min) if low is None else math.ceil(low), kind.min, kind.max))
        end = min(10 if high is None else math.ceil(high), int(kind.max) + 1)
        values = _generator.integers(first, max(end, first + 1), sizes, dtype=name)
        values = np.where(values == 0, np.array(1, name), values) if exclude_zero else values
    else:
        most = WIDTHS.get(name) or float(np.finfo(name).max)
        limits = [
            float(np.clip(each, -most, most)) for each in (-9 if low is None else low, 9 if high is None else high)
        ]
        share = [_generator.uniform(0, 1, sizes) for _ in range(2 if name.startswith("complex") else 1)]
        drawn = [limits[0] * (1 - each) + limits[1] * each for each in share]
        values = drawn[0] + 1j * drawn[1] if len(drawn) == 2 else drawn[0]
        values = np.where(values == 0, float(np.finfo(np.float16).tiny), values) if exclude_zero else values
    tensor = torch.tensor(np.asarray(values), dtype=dtype, device=device)
    if noncontiguous and tensor.numel() > 1:
        tensor = torch.repeat_interleave(tensor, 2, dim=-1)[..., ::2]
    elif memory_format is not None:
        tensor = tensor.clone(memory_format=memory_format)
    return tensor.requires_grad_() if requires_grad else tensor
