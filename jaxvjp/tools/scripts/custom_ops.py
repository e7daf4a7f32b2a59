"""`torch.library.custom_op`: an operator of one's own is an `autograd.Function`, which `torch.ops` has by its name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from jaxvjp.autograd import Function
from jaxvjp.tools.scripts.answers import answers, operator_of

OPERATORS: dict[str, CustomOpDef] = {}
"""Those of this process."""


class CustomOpDef:
    """An operator of one's own. Counterpart of `torch.library.CustomOpDef`."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self._parameters = inspect.signature(function)
        self._name, self._qualname = name.replace("::", "."), name
        names = self._parameters.parameters
        kept: dict[str, Callable[..., Any]] = {
            "forward": lambda *given: function(**dict(zip(names, given, strict=True))),
            "setup_context": lambda ctx, inputs, output: None,
            "backward": self._refuse,
        }
        self._own: Any = type(self._name, (Function,), {each: staticmethod(kept[each]) for each in kept})
        space, _, own = self._name.partition(".")
        setattr(answers("torch.ops").setdefault(space, SimpleNamespace()), own, self)
        OPERATORS[name] = self

    default = property(lambda self: self)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = self._parameters.bind(*args, **kwargs)
        given.apply_defaults()
        return self._own.apply(*given.arguments.values())

    def _refuse(self, ctx: Any, *cotangents: Any) -> Any:
        raise RuntimeError(
            f"Trying to backward through {self._name}.default but no autograd formula was registered. Please use "
            "register_autograd to add one."
        )

    def register_autograd(self, backward: Callable[..., Any], /, *, setup_context: Any = None) -> None:
        """Says what its derivative is, as an `autograd.Function` does."""
        self._own.backward = staticmethod(backward)
        if setup_context is not None:
            self._own.setup_context = staticmethod(
                lambda ctx, inputs, output: setup_context(ctx=ctx, inputs=inputs, output=output)
            )

    def register_fake(self, fn: Any, /) -> Any:
        """What it gives without values, which nothing here asks for."""
        return fn


def custom_op(name: str, fn: Any = None, /, *, mutates_args: Any, device_types: Any = None, schema: Any = None) -> Any:
    """Makes a function an operator."""
    return CustomOpDef(name, fn) if fn is not None else lambda function: CustomOpDef(name, function)


def register_autograd(op: Any, backward: Any, /, *, setup_context: Any = None, lib: Any = None) -> None:
    """The derivative of an operator that `custom_op` made; nothing for another one."""
    own = OPERATORS.get(op, op)
    if isinstance(own, CustomOpDef):
        own.register_autograd(backward, setup_context=setup_context)


class Library:
    """Operators by their schemas and what computes them. Counterpart of `torch.library.Library`.

    What is given for a CPU computes them here, as in `CustomOpDef`; what is made of torch's operators is differentiated
    through them. Other devices, autocast and shapes without values are accepted, and nothing asks for them.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema: str, *args: Any, **kwargs: Any) -> str:
        """Names an operator, which `impl` then makes; its name."""
        return schema.partition("(")[0]

    def impl(self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", **kwargs: Any) -> None:
        """Says what computes an operator."""
        name, key = str(op_name).rpartition("::")[2], dispatch_key or self.dispatch_key
        if key in ("CPU", "CompositeExplicitAutograd"):
            CustomOpDef(f"{self.ns}::{name}", fn)
        elif key in ("", "CompositeImplicitAutograd", "Autograd", "AutogradCPU"):
            setattr(answers("torch.ops").setdefault(self.ns, SimpleNamespace()), name, operator_of(fn))
