"""Shows an imperative program as the functional JAX program that it is equivalent to.

`jaxvjp.explain(y)` (or `y.explain()`) shows how a result was computed and what its backward is; `with
jaxvjp.explain.recording() as story:` shows a block of code, backwards and updates included. Both give an `Explanation`,
which prints as source text that runs. The other modules are imported at first use.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from jaxvjp.tensor.tensor import Tensor

if TYPE_CHECKING:
    from jaxvjp.explain.explanation import Explanation, recording

__all__ = ["Explanation", "recording"]


class _Explain(ModuleType):
    """The class of this module, which makes it callable: `jaxvjp.explain(y)`."""

    def __call__(
        self, result: Tensor, gradient: Tensor | None = None, style: str = "vjp", exact: bool = False
    ) -> Explanation:
        from jaxvjp.explain.explanation import explain

        return explain(result, gradient, style, exact)

    def __getattr__(self, name: str) -> Any:
        if name in __all__:
            return getattr(importlib.import_module("jaxvjp.explain.explanation"), name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


def _method(self: Tensor, gradient: Tensor | None = None, style: str = "vjp") -> Explanation:
    """The functional JAX program that this tensor was computed by: `jaxvjp.explain` of it."""
    from jaxvjp.explain.explanation import explain

    return explain(self, gradient, style)


sys.modules[__name__].__class__ = _Explain
_method.__qualname__ = "Tensor.explain"
Tensor.explain = _method  # type: ignore[method-assign, assignment]
