"""Binds the arguments of a call to an op: which overload is meant, its operands, its static values.

`Signature.bind` binds them to one row of `ops` as torch's parser does, `chosen` to the first of several rows that they
fit. Errors have torch's words. `Signature.inspected` is the row's `inspect.Signature`.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Sequence
from functools import reduce
from types import GenericAlias, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import jax
import numpy as np

from jaxvjp.core.record.modes import transforming
from jaxvjp.core.record.record import constant
from jaxvjp.ops.arguments import EITHER, KEPT, SCALAR, SPREAD, TENSOR, TENSORS, Exact, dims, index, size
from jaxvjp.ops.op import REQUIRED, Aval, Op, Parameter
from jaxvjp.tensor.refusals import ARRAYS, advice_on
from jaxvjp.tensor.tensor import NUMBERS, ORDINARY, Tensor, wrap
from jaxvjp.types.dtypes import advice_on_type, float32, float64, of_number, python_number, typename
from jaxvjp.types.settings import warn_once

NUMERIC = (*NUMBERS, np.number, np.bool_)
OTHER_NAMES = {
    "axis": "dim",
    "keepdims": "keepdim",
    "x": "input",
    "a": "input",
    "x1": "input",
    "x2": "other",
    "sections": "indices_or_sections",
    "indices": "indices_or_sections",
    "tensor_indices_or_sections": "indices_or_sections",
    "element": "elements",
    "test_element": "test_elements",
}
"""Names that torch accepts for an argument beside its own: NumPy's, and those of overloads that are one here."""
X_ALONE = ("airy_ai", "spherical_bessel_j0", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1")
CALLED = {
    **{name: {"A": "input"} for name in ("det", "inverse", "slogdet")},
    **{f"special_{name}": {"input": "x"} for name in X_ALONE},
    "cholesky_solve": {"L": "input2"},
    "orgqr": {"tau": "input2"},
    "ormqr": {"tau": "input2", "other": "input3"},
}
"""What torch calls parameters of a function, where the row, which may have other names, too, calls them otherwise."""

TAKEN: dict[str, Any] = {
    **dict.fromkeys([TENSOR, KEPT], Tensor),
    **dict.fromkeys([TENSORS, SPREAD], Sequence[Tensor]),
    EITHER: Tensor | complex,
    SCALAR: complex,
}
"""The type annotation of an operand, by its role."""

Bound = tuple[tuple[Any, ...], tuple[Any, ...]]
UNPACKING = "failed to unpack the object at pos"
"""What the error says where the first of several integers fits, by which torch chooses the overload, and not all do."""


class Signature:
    """A row as torch's parser sees it: as a function, or as a method, whose tensor is no argument.

    A method's tensor is the parameter `input`, at whatever position (`x.where(condition, other)`), or else the first.
    """

    def __init__(self, row: Op, name: str, method: bool = False) -> None:
        self.row = row
        self.name = name
        called = CALLED.get(name, {})
        self.declared = [each._replace(name=called.get(each.name, each.name)) for each in row.parameters]
        self.parameters = list(self.declared)
        self.own = int(method)
        if method:
            self.parameters.sort(key=lambda each: each.name != "input")  # stable: the others keep their order
        taken = [parameter for parameter in self.parameters[self.own :] if not parameter.name.startswith("*")]
        self.most = len(taken)
        self.least = sum(each.default is REQUIRED for each in taken)
        own = ((self.least + self.own, self.most + self.own + row.out),) if row.arities is None else row.arities
        self.arities = [(least - self.own, most - self.own) for least, most in own]
        self.positional = self.own + sum(each.positional for each in taken)
        last = self.parameters[self.positional - 1] if self.positional else None
        self.spreads = last is not None and (
            last.role == SPREAD
            or (self.own == 1 and self.positional == 2 and last.kind is not None and last.kind.convert is size)
            or (self.own == 1 and len(self.parameters) == 2 and last.kind is not None and last.kind.convert is dims)
        )
        self.takes_one = last is not None and last.kind is not None and last.kind.convert is dims  # not `(1,)` for `1`
        self.numbers_first = row.roles[:1] == (EITHER,)
        self.plans: dict[tuple[Any, ...], list[tuple[Parameter, int | str | None]]] = {}
        """Bindings of valid calls, by the number of positional arguments and the names of the others."""
        self.plain = not row.statics and all(parameter.role == "tensor" for parameter in self.parameters)
        self.scalars = [place for place, role in enumerate(row.roles) if role == SCALAR]

    def bind(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> Bound:
        """The operands and static values of a call; TypeError, in torch's words, where they do not fit.

        Sizes may be spread out (`x.permute(1, 0)`), as in torch.
        """
        if self.plain and not named and len(arguments) == self.positional and {*map(type, arguments)} <= ORDINARY:
            return arguments, ()
        if self.spreads and len(arguments) >= self.positional + self.takes_one:
            first = arguments[self.positional - 1]
            if isinstance(first, Tensor) or (hasattr(first, "__index__") and not isinstance(first, bool)):
                arguments = (*arguments[: self.positional - 1], arguments[self.positional - 1 :])
        shape = (len(arguments), *named)
        plan = self.plans.get(shape)
        if plan is None:
            plan = self.plans[shape] = self._plan(arguments, named)
        operands: list[Any] = []
        static: list[Any] = []
        for parameter, source in plan:
            if source is None:
                value = parameter.default
            elif isinstance(source, int):
                value = self._checked(parameter, arguments[source], source + 1 - self.own)
            else:
                value = self._checked(parameter, named[source], None)
            (operands if parameter.role else static).append(value)
        if self.numbers_first and not any(isinstance(operand, Tensor) for operand in operands):
            raise TypeError(invalid([self], arguments, named))
        for place in self.scalars:
            if isinstance(operands[place], Tensor):
                operands[place] = _scalar(operands[place], operands)
        return tuple(operands), tuple(static)

    def _plan(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> list[tuple[Parameter, int | str | None]]:
        """Where each of the row's parameters comes from: a place among the arguments, a name, None for its default.

        TypeError, in torch's words, if that number of arguments and these names do not fit; of what is given first.
        """
        count = len(arguments)
        if count > self.positional:
            raise TypeError(self._too_many(count - self.own))
        sources: dict[str, int | str | None] = {}
        used = 0
        for place, parameter in enumerate(self.parameters):
            name = parameter.name
            known = name if name in named else next((each for each in named if OTHER_NAMES.get(each) == name), None)
            if place < count:
                sources[name] = place
            elif known is not None:
                used += 1
                sources[name] = known
            elif parameter.default is REQUIRED:
                self._check_given(arguments)
                raise TypeError(self._missing(place))
            else:
                sources[name] = None
        if used < len(named):
            self._check_given(arguments)
            raise TypeError(self._unexpected(count, named))
        return [(each, sources[each.name]) for each in self.declared]

    def _check_given(self, arguments: tuple[Any, ...]) -> None:
        for place in range(self.own, len(arguments)):
            self._checked(self.parameters[place], arguments[place], place + 1 - self.own)

    def _checked(self, parameter: Parameter, value: Any, position: int | None) -> Any:
        """`value` as converted for the parameter; TypeError if it does not fit."""
        role = parameter.role
        if value is None and parameter.optional:
            return None
        if not role:
            if parameter.kind is None or parameter.kind.convert is None:
                return value
            try:
                if isinstance(value, Tensor) and not parameter.kind.tensors and (value.ndim or value.requires_grad):
                    raise TypeError
                return parameter.kind.convert(value)
            except (TypeError, ValueError):
                raise TypeError(self._unfit(parameter, value, position)) from None
        if role in (TENSORS, SPREAD):
            if isinstance(value, tuple | list) and all(isinstance(each, Tensor) for each in value):
                return tuple(value)
        elif isinstance(value, Tensor):
            if role != SCALAR:
                return value
            if not value.ndim and not value.requires_grad:
                return value
        elif role in (EITHER, SCALAR) and isinstance(value, NUMERIC):
            return python_number(value)
        raise TypeError(self._unfit(parameter, value, position))

    def _unfit(self, parameter: Parameter, value: Any, position: int | None) -> str:
        word = "Tensor" if parameter.kind is None else parameter.kind.word
        place = "" if position is None else f" (position {position})"
        start = f"{self.name}(): argument '{parameter.name}'{place} must be {word}, "
        if word.startswith("tuple") and isinstance(value, tuple | list):
            tensors = parameter.role in (TENSORS, SPREAD)
            for number, each in enumerate(value):
                if tensors and not isinstance(each, Tensor):
                    argument = self.parameters.index(parameter) - self.own
                    told = f"expected Tensor as element {number} in argument {argument}, but got {typename(each)}"
                    return f"{told}\n{advice_on(each)}"
                if not tensors and not fits_at(number, each):
                    if number:
                        return (
                            f"{self.name}(): argument '{parameter.name}' {UNPACKING} {number + 1} with error "
                            f'"type must be {word},but got {typename(each)}"'
                        )
                    return f"{start}but found element of type {typename(each)} at pos {number}"
        advice = f"\n{advice_on(value)}" if word == "Tensor" or isinstance(value, jax.core.Tracer) else ""
        if word == "Number" and not advice and isinstance(value, ARRAYS):
            advice = "\nThe number of an array is `a.item()`."
        if word == "torch.dtype":
            advice = advice_on_type(value)
        if parameter.name == "size":
            advice = f"\nSuch as `{self.name}(2, 3)`."
        return f"{start}not {typename(value)}{advice}"

    def _too_many(self, given: int) -> str:
        most, name = self.positional - self.own, self.name
        if self.own and not self.most:
            return f"TensorBase.{name}() takes no arguments ({given} given)"
        if self.least != most:
            return f"{name}() takes from {self.least} to {most} positional arguments but {given} were given"
        plural = "" if most == 1 else "s"
        return f"{name}() takes {most} positional argument{plural} but {given} {'was' if given == 1 else 'were'} given"

    def _missing(self, place: int) -> str:
        lacking = [parameter.name for parameter in self.parameters[place:] if parameter.default is REQUIRED]
        quoted = ", ".join(f'"{each}"' for each in lacking)
        # torch's spelling of the plural
        return f"{self.name}() missing {len(lacking)} required positional argument{'s'[len(lacking) > 1 :]}: {quoted}"

    def _unexpected(self, given: int, named: dict[str, Any]) -> str:
        if self.own and not self.most:
            return f"TensorBase.{self.name}() takes no keyword arguments"
        before = [parameter.name for parameter in self.parameters[self.own : given]]
        names = [parameter.name for parameter in self.parameters[self.own :]]
        for each in named:
            if OTHER_NAMES.get(each, each) in before or each in before:
                return f"{self.name}() got multiple values for argument '{each}'"
            other = OTHER_NAMES.get(each)
            if each not in names and (other not in names or other in named):
                return f"{self.name}() got an unexpected keyword argument '{each}'\nIt takes {', '.join(names)}."
        return f"{self.name}(): invalid keyword arguments"

    def inspected(
        self, result: Any, *further: inspect.Parameter, spread: bool = False, at: int | None = None
    ) -> inspect.Signature:
        """The signature for `inspect.signature`, with types; `further` parameters follow, or stand before place `at`.

        With `spread` the last positional parameter becomes `*name`: `x.permute(1, 0)`.
        """
        shown = []
        for place, each in enumerate(self.parameters):
            default, taken = each.default, accepted(each)
            kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD if each.positional else inspect.Parameter.KEYWORD_ONLY
            if each.name.startswith("*") or (spread and place == self.positional - 1):
                kind, default = inspect.Parameter.VAR_POSITIONAL, REQUIRED
                taken = Tensor if each.role else int
            name = "self" if place < self.own else each.name.lstrip("*")
            shown.append(inspect.Parameter(name, kind, default=default, annotation=taken))
        at = len(shown) if at is None else at
        shown[at:at] = further
        return inspect.Signature(sorted(shown, key=lambda each: each.kind), return_annotation=result)

    def __str__(self) -> str:
        shown = []
        for parameter in self.parameters[self.own :]:
            if not parameter.positional and "*" not in shown:
                shown.append("*")
            word = "Tensor" if parameter.kind is None else parameter.kind.word
            default = "" if parameter.default is REQUIRED else f" = {parameter.default}"
            shown.append(f"{word} {parameter.name}{default}")
        return f"({', '.join(shown)})"


def _scalar(number: Tensor, operands: Sequence[Any]) -> Any:
    """A tensor without gradient that is given for a number such as `alpha`: itself where all operands have its type, so
    that it is not read, and the recorded program computes it; else its value, which is checked as other numbers are."""
    alike = all(each.dtype is number.dtype for each in operands if isinstance(each, Tensor))
    return number if alike and number.dtype in (float32, float64) and not transforming().duals else number.item()


def fits_at(place: int, value: Any) -> bool:
    """Whether a value is an integer for a sequence of them, at this place."""
    try:
        index(value, place)
    except (TypeError, ValueError):
        return False
    return True


def accepted(parameter: Parameter) -> Any:
    """The type that a call may pass for a parameter: `int | Sequence[int]` for sizes, which the op gets as a tuple."""
    taken = TAKEN[parameter.role] if parameter.role else _widened(parameter.annotation)
    return taken | None if parameter.default is None and taken is not Any else taken


def _widened(annotation: Any) -> Any:
    origin, inner = get_origin(annotation), get_args(annotation)
    if annotation is Exact:
        return complex
    if origin is Annotated:
        return _widened(inner[0])
    if origin in (Union, UnionType):
        each = [_widened(one) for one in inner]
        return Any if Any in each else reduce(operator.or_, each)
    return inner[0] | GenericAlias(Sequence, inner[0]) if origin is tuple else annotation


def chosen(signatures: Sequence[Signature], arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[Op, Bound]:
    """The first row that a call fits, and its arguments; TypeError, in torch's words, where it fits none."""
    last = signatures[-1]
    for signature in signatures[:-1]:
        try:
            return signature.row, signature.bind(arguments, named)
        except TypeError as error:
            if UNPACKING in str(error):
                raise
    try:
        return last.row, last.bind(arguments, named)
    except TypeError as error:
        if UNPACKING in str(error):
            raise
        modern = _modern(last, arguments, named)
        if modern is not None:
            return chosen(signatures, *modern)
        told = [arity for signature in signatures for arity in signature.arities]
        if len(told) == 1:
            raise
    # If just one signature takes this number of arguments, torch says why that one does not fit.
    count = len(arguments) - last.own + len(named)
    if sum(least <= count <= most for least, most in told) == 1:
        for each in signatures:
            if any(least <= count <= most for least, most in each.arities):
                each.bind(arguments, named)
    raise TypeError(invalid(signatures, arguments, named))


WITH_NUMBERS = frozenset(["add", "sub", "mul", "div", "true_divide", "floor_divide"])
"""Functions that take a number for their first tensor: `torch.add(1, 2)`."""
BETWEEN = {
    **dict.fromkeys(["add", "sub", "rsub"], ("alpha",)),
    **dict.fromkeys(["addcdiv", "addcmul"], ("value",)),
    **dict.fromkeys(["addmm", "addmv", "addr", "addbmm", "baddbmm"], ("beta", "alpha")),
}
"""The names of the numbers that torch's first versions took between the tensors: `x.addcdiv(2, y, z)`."""


def _modern(
    signature: Signature, arguments: tuple[Any, ...], named: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """A call as one writes it today; None where it is not an old way to write one."""
    name = signature.row.torch_name
    tensors = tuple(argument for argument in arguments if isinstance(argument, Tensor))
    numbers = [argument for argument in arguments if isinstance(argument, NUMBERS)]
    if len(tensors) + len(numbers) < len(arguments) or not numbers:
        return None
    names = BETWEEN.get(name, ())
    if name in BETWEEN and len(tensors) == 1 and len(numbers) == 2 and isinstance(arguments[0], Tensor):
        return (*tensors, numbers[0]), named | {"alpha": numbers[1]}
    complete = len(tensors) == signature.least + signature.own and isinstance(arguments[-1], Tensor)
    if complete and len(numbers) <= len(names) and not named.keys() & set(names):
        shown = ", ".join([f"{each}={number}" for each, number in zip(names, numbers, strict=False)])
        warn_once("overload", f"This overload of {signature.name} is deprecated:\nWrite its numbers last: `{shown}`.")
        return tensors, named | dict(zip(names, numbers, strict=False))
    if name in WITH_NUMBERS and arguments[0] is numbers[0] and len(arguments) == 2:
        first = constant(numbers[0], Aval((), of_number(numbers[0])))
        return (wrap(first), arguments[1]), named
    return None


def invalid(signatures: Sequence[Signature], arguments: tuple[Any, ...], named: dict[str, Any]) -> str:
    """torch's error for a call that fits no overload, with the list of overloads."""
    own = signatures[0].own
    given = [typename(argument) for argument in arguments[own:]]
    # In torch those given by name stand in a hash table, which gives them back last first.
    got = ", ".join([*given, *[f"{name}={typename(each)}" for name, each in reversed(named.items())]])
    if not given and named:
        got += ", "  # as torch has it
    start = f"{signatures[0].name}() received an invalid combination of arguments - got ({got}), but expected one of:"
    advice = [advice_on(each) for each in (*arguments, *named.values()) if isinstance(each, ARRAYS)]
    return "\n".join([start, *[f" * {signature}" for signature in signatures], *advice[:1]])
