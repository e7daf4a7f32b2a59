"""An op in JAX's primitives, where its function cannot be run on symbols: it loops, say, over a function of its own.

In this room one can have any op written (`primitives`): what is traced is written equation by equation, which always
runs and is seldom read with joy. `symbols` comes before this room.
"""

from __future__ import annotations

import ast
from functools import cache
from typing import Any

import jax
import numpy as np
from jax.extend.core import Literal
from jax.extend.core import primitives as public

from jaxvjp.explain.literals import TABLE, Unwritable, array, dtype_name, literal
from jaxvjp.ops.op import Aval, Op

INLINED = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "core_call": "call_jaxpr",
}
"""Primitives that call a function, and where that is: it is written in their place."""


def primitives(operation: Op, static: tuple[Any, ...], avals: tuple[Aval, ...]) -> str:
    """A function, called NAME, that binds the primitives that `operation` is traced to; Unwritable for one that has
    none outside of JAX."""
    with jax.enable_x64(True):
        traced = jax.make_jaxpr(lambda *operands: operation.call(static, operands))(*[each.struct for each in avals])
    writer = _Writer()
    names = [f"x{place}" for place in range(len(avals))]
    try:
        results = writer.equations(traced.jaxpr, traced.consts, names)
    except Unwritable as error:
        what = str(error).partition("\n")[0][:120]
        raise Unwritable(
            f"the op {operation.name} cannot be written as JAX source: it is made of {what}\n"
            "Explain what comes before it or after it; `.cotangents()`, `.jacobian()` and `.picture()` go through it."
        ) from None
    returned = f"({', '.join(results)},)" if len(results) > 1 else results[0]
    head = [
        f"{name} = jnp.asarray({name}, {ast.unparse(dtype_name(each.dtype.numpy))})"
        for name, each in zip(names, avals, strict=True)
    ]
    return "\n".join(
        [
            f"def NAME({', '.join(names)}):",
            *[f"    {line}" for line in [*head, *writer.lines]],
            f"    return {returned}",
        ]
    )


class _Writer:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0

    def fresh(self) -> str:
        self.count += 1
        return f"t{self.count}"

    def equations(self, jaxpr: Any, consts: Any, arguments: list[str]) -> list[str]:
        """Writes a jaxpr's equations, given the names of its arguments; the names of its results."""
        names: dict[Any, str] = dict(zip(jaxpr.invars, arguments, strict=True))
        for variable, value in zip(jaxpr.constvars, consts, strict=True):
            names[variable] = self.fresh()
            self.lines.append(
                f"{names[variable]} = {ast.unparse(array(np.asarray(value), explicit=True, longest=TABLE))}"
            )

        def of(each: Any) -> str:
            if isinstance(each, Literal):
                own: Any = each.aval
                return ast.unparse(array(np.asarray(each.val, own.dtype), explicit=True))
            return names[each]

        for equation in jaxpr.eqns:
            read = [of(each) for each in equation.invars]
            inner = INLINED.get(equation.primitive.name)
            if inner is not None:
                closed = equation.params[inner]
                results = self.equations(closed.jaxpr, closed.consts, read)
                names.update(zip(equation.outvars, results, strict=True))
                continue
            made = [self.fresh() for _ in equation.outvars]
            names.update(zip(equation.outvars, made, strict=True))
            settings = [f"{key}={_parameter(value)}" for key, value in equation.params.items()]
            left = ", ".join(made) + ("," if equation.primitive.multiple_results and len(made) == 1 else "")
            self.lines.append(f"{left} = {_path(equation.primitive)}.bind({', '.join([*read, *settings])})")
        return [of(each) for each in jaxpr.outvars]


@cache
def _path(primitive: Any) -> str:
    """Where a primitive is in JAX's public modules."""
    for path, module in (("jax.lax", jax.lax), ("jax.extend.core.primitives", public)):
        for name in (f"{primitive.name}_p", f"{primitive.name.replace('-', '_')}_p"):
            if getattr(module, name, None) is primitive:
                return f"{path}.{name}"
    raise Unwritable(f"the primitive {primitive.name}")


def _parameter(value: Any) -> str:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        fields = [f"{name}={_parameter(each)}" for name, each in zip(value._fields, value, strict=True)]
        return f"jax.lax.{type(value).__name__}({', '.join(fields)})"
    if isinstance(value, tuple):
        return f"({', '.join(_parameter(each) for each in value)}{',' if len(value) == 1 else ''})"
    return ast.unparse(literal(value))
