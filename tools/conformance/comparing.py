"""What `assertEqual` of a test compares: tensors, arrays, numbers and containers of them, within torch's tolerances."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence, Set
from numbers import Number
from typing import Any

import numpy as np
import torch

TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "complex32": (1e-3, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex128": (1e-7, 1e-7),
}
"""Relative and absolute, for each of torch's types; the others have to be equal."""
SEQUENCES = (Sequence, torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ParameterList)
MAPPINGS = (Mapping, torch.nn.ModuleDict, torch.nn.ParameterDict)
"""What is compared item by item."""


def is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def name_of(dtype: Any) -> str:
    """ "float32" for torch.float32."""
    return str(dtype).rpartition(".")[2]


def array(tensor: Any) -> Any:
    """A tensor's elements as a NumPy array, those of a type that NumPy lacks as float32."""
    kept = tensor.detach()
    if tensor._is_view():  # `numpy` shares the memory of the whole, which may be much more
        kept = kept.clone()
    if getattr(kept, "is_quantized", False):
        kept = kept.dequantize()
    for name in ("resolve_conj", "resolve_neg"):
        kept = getattr(kept, name)() if hasattr(kept, name) else kept
    narrow = name_of(kept.dtype)
    if narrow == "bfloat16" or narrow.startswith("float8"):
        kept = kept.to(torch.float32)
    elif narrow == "complex32":
        kept = kept.to(torch.complex64)
    home = kept.cpu()
    ours = hasattr(home, "_numbers") and home.device.type == "cpu"
    return home.__numbers__() if ours else home.numpy()  # `numpy` copies here, to share the memory


class Comparison:
    """One call of `assertEqual`: its options, and `difference`, which says what differs ("" for nothing)."""

    def __init__(
        self,
        rtol: float | None = None,
        atol: float | None = None,
        equal_nan: bool = True,
        exact_dtype: bool = True,
        exact_stride: bool = False,
        least: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        self.rtol, self.atol, self.equal_nan = rtol, atol, equal_nan
        self.exact_dtype, self.exact_stride, self.least = exact_dtype, exact_stride, least

    def tolerances(self, *names: str) -> tuple[float, float]:
        known = [TOLERANCES.get(name, (0.0, 0.0)) for name in names]
        if self.rtol is not None or self.atol is not None:
            known = [(self.rtol or 0.0, self.atol or 0.0)]
        rtol, atol = (max(each) for each in zip(*known, self.least, strict=True))
        return rtol, atol

    def difference(self, actual: Any, expected: Any) -> str:
        """What distinguishes the first from the second."""
        actual, expected = [
            list(each) if type(each).__name__.endswith("Storage") else each for each in (actual, expected)
        ]
        if isinstance(actual, np.ndarray | torch.Tensor) and _is_sequence(expected):
            expected = torch.as_tensor(expected, dtype=torch.as_tensor(actual).dtype)
        elif isinstance(expected, np.ndarray | torch.Tensor) and _is_sequence(actual):
            actual = torch.as_tensor(actual, dtype=torch.as_tensor(expected).dtype)
        arrays = [isinstance(each, np.ndarray | torch.Tensor) for each in (actual, expected)]
        if all(arrays):
            return self.of_tensors(actual, expected)
        numbers = [isinstance(each, Number | np.generic) for each in (actual, expected)]
        if all(one or other for one, other in zip(arrays, numbers, strict=True)):
            return self.of_numbers(actual, expected)
        if isinstance(actual, MAPPINGS) and isinstance(expected, MAPPINGS):
            if set(actual.keys()) != set(expected.keys()):
                return f"The keys differ: {list(actual)} and {list(expected)}"
            return self._of_items((key, actual[key], each) for key, each in expected.items())
        if _is_sequence(actual) and _is_sequence(expected):
            if len(actual) != len(expected):
                return f"The lengths differ: {len(actual)} and {len(expected)}"
            pairs = zip(actual, expected, strict=True)
            return self._of_items((index, one, other) for index, (one, other) in enumerate(pairs))
        if isinstance(actual, Set) and isinstance(expected, Set):
            return "" if actual == expected else f"The sets differ: {actual} and {expected}"
        return "" if actual == expected else f"{actual!r} is not {expected!r}"

    def _of_items(self, items: Any) -> str:
        for key, actual, expected in items:
            told = self.difference(actual, expected)
            if told:
                return f"At {key!r}: {told}"
        return ""

    def of_numbers(self, actual: Any, expected: Any) -> str:
        """Python's numbers, where a tensor or an array of one element is one too."""
        values = []
        for each in (actual, expected):
            if isinstance(each, np.ndarray | torch.Tensor):
                if math.prod(each.shape) != 1:
                    return f"{actual!r} is not a number as {expected!r} is"
                values.append(each.item())
            else:
                values.append(each.item() if isinstance(each, np.generic) else each)
        one, other = values
        exact = all(isinstance(value, bool | int) for value in values)
        rtol, atol = self.tolerances("int64" if exact else "float64")
        same = one == other or (self.equal_nan and one != one and other != other)
        with contextlib.suppress(OverflowError):
            same = same or (abs(one - other) <= atol + rtol * abs(other) < math.inf)
        return "" if same else f"{one} is not {other} (rtol {rtol}, atol {atol})"

    def of_tensors(self, actual: Any, expected: Any) -> str:
        """Shape, type, strides if asked for, and elements."""
        given = (actual, expected)
        one, other = [torch.as_tensor(each.copy()) if isinstance(each, np.ndarray) else each for each in given]
        if tuple(one.shape) != tuple(other.shape):
            return f"The shapes differ: {tuple(one.shape)} and {tuple(other.shape)}"
        if self.exact_dtype and one.dtype != other.dtype:
            return f"The types differ: {one.dtype} and {other.dtype}"
        if self.exact_stride and one.stride() != other.stride():
            return f"The strides differ: {one.stride()} and {other.stride()}"
        rtol, atol = self.tolerances(name_of(one.dtype), name_of(other.dtype))
        left, right = array(one), array(other)
        same = np.asarray(left == right)
        rest = ~same
        if rest.any() and (rtol or atol or "fc".find(left.dtype.kind) >= 0 or left.dtype != right.dtype):
            wide = np.complex128 if "c" in left.dtype.kind + right.dtype.kind else np.float64
            own, wanted = left[rest].astype(wide), right[rest].astype(wide)
            with np.errstate(all="ignore"):
                same[rest] = np.isclose(own, wanted, rtol, atol, equal_nan=self.equal_nan)
        if np.all(same):
            return ""
        first = tuple(int(each[0]) for each in np.nonzero(np.atleast_1d(~same)))
        values = f"{np.atleast_1d(left)[first]} is not {np.atleast_1d(right)[first]}"
        wrong = int(np.sum(~same))
        return f"{wrong} of {same.size} elements differ, the first at {first}: {values} (rtol {rtol}, atol {atol})"


def _is_sequence(value: Any) -> bool:
    return isinstance(value, SEQUENCES) and not isinstance(value, str | bytes)
