"""What a program gave or raised under one module, in plain values that can be compared with another module's."""

from __future__ import annotations

import math
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import jaxvjp


class Outcome:
    """What a program did: returned a value, or raised."""

    def __init__(self, program: Callable[[Any], Any], module: Any) -> None:
        self.value: Any = None
        self.error: Exception | None = None
        self.raised: tuple[str, str] | None = None
        """The error's class and first sentence: what torch says; jaxvjp goes on with what to write instead."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self.value = plain(program(module))
            except Exception as error:
                kind = type(error)
                name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
                self.error, self.raised = error, (name, of_any_python(str(error).partition("\n")[0].rstrip(". ")))

    def difference(self, other: Outcome, rtol: float, atol: float) -> str:
        """What distinguishes the outcome from another, floats within tolerance; nothing where they are the same."""
        if self.raised is not None or other.raised is not None:
            return "" if self.raised == other.raised else f"{self}\n{other}"
        return "" if same(self.value, other.value, rtol, atol) else f"{self}\n{other}"

    def __repr__(self) -> str:
        return f"returns {self.value}" if self.raised is None else "raises {}: {}".format(*self.raised)


def of_any_python(text: str) -> str:
    """A sentence of Python's as 3.11 has it: since 3.12 and 3.13 some are longer."""
    text = re.sub(r" without an implementation for abstract method '(\w+)'", r" with abstract method \1", text)
    return re.sub(r"\. Did you mean '\w+'\?$", "", text)


def _classes() -> tuple[Any, ...]:
    """Both modules' tensors; torch's only where something has imported it."""
    torch = sys.modules.get("torch")
    return (jaxvjp.Tensor,) if torch is None else (jaxvjp.Tensor, torch.Tensor)


def plain(value: Any) -> Any:
    """Tensors as (shape, dtype, requires_grad, elements), so that both modules' can be compared; the rest as it is."""
    if isinstance(value, _classes()):
        return ("tensor", tuple(value.shape), repr(value.dtype), value.requires_grad, value.detach().tolist())
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value


def same(a: Any, b: Any, rtol: float = 2e-6, atol: float = 1e-6) -> bool:
    """Whether two plain values are equal, floats within tolerance."""
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or a == b or math.isclose(a, b, rel_tol=rtol, abs_tol=atol)
    if isinstance(a, complex) and isinstance(b, complex):
        return same(a.real, b.real, rtol, atol) and same(a.imag, b.imag, rtol, atol)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(same(x, y, rtol, atol) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[key], b[key], rtol, atol) for key in a)
    return type(a) is type(b) and a == b
