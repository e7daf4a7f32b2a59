"""From a registry row to what the user calls: torch's function, method, in-place form and operators.

`tensor` comes before this room. Nothing here knows an op by name; a new row in `ops` is enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jaxvjp.application import apply, apply_in_place
from jaxvjp.indexing import CUTS
from jaxvjp.ops.arguments import size
from jaxvjp.ops.op import COMPARE, REGISTRY, REQUIRED, Op
from jaxvjp.tensor import NUMBERS, Tensor

OPERATORS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "**": "pow",
    "@": "matmul",
    "==": "eq",
    "!=": "ne",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
}
COMMUTING = frozenset(["+", "*", "**", "@"])
"""Those of which a number on the left needs no row of its own."""
OPERANDS = (Tensor, *NUMBERS)


def function_of(row: Op) -> Callable[..., Any]:
    """torch's function for a row: `jaxvjp.sum(x, dim=0)`."""

    def function(*arguments: Any, **named: Any) -> Tensor:
        operands, static = bind(row, arguments, named)
        for position, (name, operand) in enumerate(zip(row.operands, operands, strict=True), 1):
            allowed = isinstance(operand, NUMBERS) or (operand is None and name in row.optional)
            if not isinstance(operand, Tensor) and (position == 1 or not allowed):
                raise TypeError(
                    f"{row.name}(): argument '{name}' (position {position}) must be Tensor, not "
                    f"{type(operand).__name__}\nMake one of it first: `jaxvjp.tensor({operand!r})`."
                )
        return apply(row, operands, static)

    return _documented(function, row, row.name, f"torch.{row.name}")


def method_of(row: Op) -> Callable[..., Any]:
    """torch's method for a row, `x.sum(0)`: the function, whose first operand is the tensor."""
    return _documented(function_of(row), row, row.name, f"torch.Tensor.{row.name}")


def in_place_of(row: Op) -> Callable[..., Any]:
    """torch's in-place method for a row: `x.mul_(2)`."""

    def method(self: Tensor, *arguments: Any, **named: Any) -> Tensor:
        operands, static = bind(row, (self, *arguments), named)
        return apply_in_place(row, self, operands[1:], static)

    return _documented(method, row, row.name + "_", f"torch.Tensor.{row.name}_", "In place: ")


def operators_of(row: Op) -> dict[str, Callable[..., Any]]:
    """Python's special methods for a row with an operator: `__mul__`, `__rmul__`, `__imul__`."""
    assert row.operator is not None
    if len(row.operands) == 1:
        return {f"__{row.operator}__": method_of(row)}
    reflects = row.operator.startswith("r")
    name = OPERATORS[row.operator.removeprefix("r")]

    def forward(self: Tensor, other: Any) -> Tensor:
        return apply(row, (self, other)) if isinstance(other, OPERANDS) else NotImplemented

    def reflected(self: Tensor, other: Any) -> Tensor:
        return apply(row, (other, self)) if isinstance(other, OPERANDS) else NotImplemented

    def in_place(self: Tensor, other: Any) -> Tensor:
        return apply_in_place(row, self, (other,)) if isinstance(other, OPERANDS) else NotImplemented

    methods: dict[str, Callable[..., Any]] = {f"__r{name}__" if reflects else f"__{name}__": forward}
    if row.operator in COMMUTING:
        methods[f"__r{name}__"] = reflected
    if row.inplace and row.promotion != COMPARE:
        methods[f"__i{name}__"] = in_place
    return {name: _documented(method, row, name, f"torch.Tensor.{name}") for name, method in methods.items()}


def bind(row: Op, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The operands and static values of a call, by torch's positional order; TypeError where they do not fit.

    Sizes may be spread out (`x.permute(1, 0)`), as in torch.
    """
    count = len(row.operands)
    if not row.statics:
        if len(arguments) == count and not named:
            return arguments, ()
    elif len(arguments) > count + 1 and row.statics[0].converter is size and hasattr(arguments[count], "__index__"):
        arguments = (*arguments[:count], arguments[count:])
    names = (*row.operands, *row.static_names)
    if len(arguments) > len(names):
        raise TypeError(
            f"{row.name}() takes from 1 to {len(names)} positional arguments but {len(arguments)} were given"
        )
    given = dict(zip(names, arguments, strict=False))
    for name, value in named.items():
        if name not in names or name in given:
            problem = "multiple values for" if name in given else "an unexpected keyword"
            raise TypeError(f"{row.name}() got {problem} argument '{name}'\nIt takes {', '.join(names)}.")
        given[name] = value
    values: list[Any] = []
    for name in row.operands:
        if name not in given and name not in row.optional:
            raise TypeError(f'{row.name}() missing 1 required positional arguments: "{name}"')
        values.append(given[name] if name in given else row.optional[name])
    static = []
    for each in row.statics:
        value = given.get(each.name, each.default)
        if value is REQUIRED:
            raise TypeError(f'{row.name}() missing 1 required positional arguments: "{each.name}"')
        static.append(value if each.converter is None else each.converter(value))
    return tuple(values), tuple(static)


def _documented(
    function: Callable[..., Any], row: Op, name: str, counterpart: str, prefix: str = ""
) -> Callable[..., Any]:
    function.__name__ = name
    function.__qualname__ = name
    function.__doc__ = f"{prefix}{row.function.__doc__}\n\nCounterpart of `{counterpart}`."
    return function


def public_functions() -> dict[str, Callable[..., Any]]:
    """Every function of the registry by torch's name, and those that cut a tensor up."""
    return CUTS | {row.name: function_of(row) for row in REGISTRY.values() if "function" in row.public}


def attach_methods() -> None:
    """Hangs every method, in-place form and operator of the registry on `Tensor`."""
    for row in REGISTRY.values():
        if "method" in row.public:
            setattr(Tensor, row.name, method_of(row))
        if row.inplace:
            setattr(Tensor, row.name + "_", in_place_of(row))
        if row.operator:
            for name, method in operators_of(row).items():
                setattr(Tensor, name, method)
