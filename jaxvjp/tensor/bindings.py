"""Makes torch's function, method, in-place form and operators from a row of the registry of ops.

Nothing here knows an op by name; a new row in `ops` is enough.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, get_args

import jax

from jaxvjp.core.record.graph import Node
from jaxvjp.ops.arguments import SCALAR
from jaxvjp.ops.op import COMPARE, REGISTRY, REQUIRED, Op
from jaxvjp.ops.pointwise import fill
from jaxvjp.tensor.apply import apply, apply_in_place, check_type, check_writable, recorded_in_place, written
from jaxvjp.tensor.autocasting import suspended, tensors_of
from jaxvjp.tensor.checked_calls import checked
from jaxvjp.tensor.docstrings import of_rows
from jaxvjp.tensor.out_argument import EXACT, OUT, writing_out, written_into
from jaxvjp.tensor.overriding import TOLD_AS, asking, handle_torch_function, saying
from jaxvjp.tensor.published import PUBLISHED, WRITING_OUT, names
from jaxvjp.tensor.refusals import advice_on
from jaxvjp.tensor.remembered_calls import remembering, remembering_in_place, remembering_operator
from jaxvjp.tensor.signatures import NUMERIC, Signature, chosen, invalid
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import CTYPES

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
    "//": "floordiv",
    "%": "mod",
    "&": "and",
    "|": "or",
    "^": "xor",
    "<<": "lshift",
    ">>": "rshift",
}
PARSED = {"function": "", "linalg": "linalg_", "fft": "fft_", "special": "special_"}
"""The places of which torch parses the arguments itself, and how it calls them; in the others Python does."""
PARSED_TOO = frozenset(["one_hot", "rrelu_", "scaled_dot_product_attention"])
"""Functions of `nn.functional` of which it does so as well, and that no row makes."""
OF_TENSOR = ("size", "stride", "reshape", "requires_grad_")
"""Methods that `Tensor` itself has, of which arguments are checked as those of published ones."""
REFLECTED = frozenset(["+", "*", "**", "@", "//", "%", "&", "|", "^", "<<", ">>"])
"""Operators whose row also serves with a number on the left: `2 * x`."""
OPERANDS = (Tensor, *NUMERIC)
BESIDE: dict[str, Callable[[Any], Any]] = {}
"""By operator, what makes an operand of another object beside a tensor, or gives it back as it is."""


@cache
def overloads() -> dict[tuple[str, str], list[Op]]:
    """The rows at each place of torch's ("function", "method", "linalg", ...) under each name, as declared."""
    found: dict[tuple[str, str], list[Op]] = {}
    for row in REGISTRY.values():
        for place in names(sorted(row.public), row.short_name, row.aliases):
            found.setdefault(place, []).append(row)
    return found


def function_of(rows: Sequence[Op], name: str, place: str = "function") -> Callable[..., Any]:
    """torch's function for the rows that share a name: `jaxvjp.sum(x, dim=0)`."""
    signatures = _signatures(rows, name, place)
    if place == "nn.functional" and any(row.inplace for row in rows):
        return _documented(_with_inplace(signatures), rows, name, place)

    takes_out = place != "nn.functional" or any(row.out_everywhere for row in rows)
    at = OUT_PLACES.get(name)

    def function(*arguments: Any, **named: Any) -> Any:
        if found := saying(arguments, named):
            return handle_torch_function(front, found, *arguments, **named)
        if at is not None and len(arguments) > at:
            arguments, named = (*arguments[:at], *arguments[at + 1 :]), {**named, "out": arguments[at]}
        if "out" in named and takes_out:
            return _into(named.pop("out"), signatures, arguments, named)
        row, (operands, static) = chosen(signatures, arguments, named)
        return apply(row, operands, static)

    front: Callable[..., Any] = _documented(_remembering(function, rows), rows, name, place)
    return front


def _signatures(rows: Sequence[Op], name: str, place: str) -> list[Signature]:
    if place == "method":
        return [Signature(row, name, method=True) for row in rows]
    inside = place != "function"
    return [Signature(row, row.torch_name if inside and name == row.short_name else name) for row in rows]


OUT_PLACES = {"norm": 4, "normalize": 4, "tensordot": 3}
"""Functions that torch has in Python, where `out` may be given by place."""
OUTS = OUT.replace(annotation=tuple[Tensor, ...] | None)
INPLACE = inspect.Parameter("inplace", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=False, annotation=bool)


def inspected(rows: Sequence[Op], name: str, place: str) -> list[inspect.Signature]:
    """The signatures of torch's function or method for the rows that share a name; in place if the name ends in `_`."""
    found = []
    in_place = name.endswith("_")
    for each in _signatures(rows, name, place):
        result: Any = Tensor if in_place or each.row.returns is None else each.row.returns
        if get_args(each.row.function.__annotations__.get("return")):
            result = tuple[Tensor, Tensor]
        further = []
        if in_place or place == "method":
            pass
        elif place == "nn.functional" and each.row.inplace:
            further = [INPLACE]
        elif each.row.out_everywhere or (place != "nn.functional" and each.row.out):
            further = [OUT if result is Tensor else OUTS]
        at = OUT_PLACES.get(name) if further else None
        if at is not None:
            further = [OUT.replace(kind=OUT.POSITIONAL_OR_KEYWORD)]
        spreading = [False, True][: 1 + each.spreads]
        found += [each.inspected(result, *further, spread=spread, at=at) for spread in spreading]
    return found


def _remembering(
    front: Callable[..., Any], rows: Sequence[Op], memory: Callable[..., Callable[..., Any]] = remembering
) -> Callable[..., Any]:
    # A number that the user passes must not be taken for an omitted default of the same value, as in `alpha=1`.
    defaults = any(each.role == SCALAR and each.default is not REQUIRED for row in rows for each in row.parameters)
    return memory(front, by_value=defaults or any(row.rewritten_by_call for row in rows))


def _with_inplace(signatures: list[Signature]) -> Callable[..., Any]:
    """A function of `torch.nn.functional` whose last parameter is `inplace`."""

    def function(*arguments: Any, inplace: bool = False, **named: Any) -> Any:
        if found := saying(arguments, named):
            return handle_torch_function(function, found, *arguments, inplace=inplace, **named)
        last = max(signature.positional for signature in signatures)
        if len(arguments) > last:
            arguments, inplace = arguments[:last], arguments[last]
        row, (operands, static) = chosen(signatures, arguments, named)
        return apply_in_place(row, operands[0], operands[1:], static) if inplace else apply(row, operands, static)

    return function


def method_of(rows: Sequence[Op], name: str) -> Callable[..., Any]:
    """torch's method for the rows that share a name: `x.sum(0)`."""
    signatures = _signatures(rows, name, "method")

    def method(*arguments: Any, **named: Any) -> Any:
        if found := saying(arguments[1:], named):
            return handle_torch_function(getattr(Tensor, name), found, *arguments, **named)
        row, (operands, static) = chosen(signatures, arguments, named)
        return apply(row, operands, static)

    return _documented(_remembering(method, rows), rows, name, "method")


def in_place_of(rows: Sequence[Op], name: str, place: str = "method") -> Callable[..., Any]:
    """torch's in-place method, or function, for the rows that share a name: `x.mul_(2)`, `torch.exp_(x)`."""
    signatures = _signatures(rows, name + "_", place)

    def method(*arguments: Any, **named: Any) -> tuple[Op, Node | None, Tensor]:
        row, (operands, static) = chosen(signatures, arguments, named)
        node = recorded_in_place(row, operands[0], operands[1:], static)
        return row, None if row.promotion == COMPARE else node, operands[0]

    return _documented(_remembering(method, rows, remembering_in_place), rows, name + "_", place)


def operators_of(row: Op) -> dict[str, Callable[..., Any]]:
    """Python's special methods for a row with an operator: `__mul__`, `__rmul__`, `__imul__`."""
    assert row.operator is not None
    if len(row.operands) == 1:
        return {f"__{row.operator}__": method_of([row], row.torch_name)}
    reflects = row.operator.startswith("r")
    name = OPERATORS[row.operator.removeprefix("r")]
    own = f"__r{name}__" if reflects else f"__{name}__"

    def forward(self: Tensor, other: Tensor | complex) -> Tensor:
        if not isinstance(other, OPERANDS):
            if found := saying((other,), {}):
                try:
                    return handle_torch_function(getattr(Tensor, TOLD_AS.get(own, own)), found, self, other)
                except TypeError:
                    return NotImplemented
            if row.operator in BESIDE:
                other = BESIDE[row.operator](other)
        if row.operator == "r/" and isinstance(other, Tensor):  # its dtype is promoted with the reciprocal's
            return self.reciprocal() * other
        if row.operator == "@" and isinstance(other, NUMERIC):
            raise TypeError(f"unsupported operand type(s) for @: 'Tensor' and '{type(other).__name__}'")
        result: Tensor = apply(row, (self, other)) if isinstance(other, OPERANDS) else NotImplemented
        return result

    def reflected(self: Tensor, other: Tensor | complex) -> Tensor:
        if row.operator == "@" and isinstance(other, NUMERIC):
            raise TypeError(f"unsupported operand type(s) for @: '{type(other).__name__}' and 'Tensor'")
        result: Tensor = apply(row, (other, self)) if isinstance(other, OPERANDS) else NotImplemented
        return result

    by_value = row.rewritten_by_call
    remembered = remembering_operator(forward, by_value)

    def in_place(self: Tensor, other: Tensor | complex) -> Tensor:
        if isinstance(other, jax.Array):  # which would make an array, and leave the tensor as it is
            told = f"unsupported operand type(s) for {row.operator}=: 'Tensor' and '{type(other).__name__}'"
            raise TypeError(f"{told}\n{advice_on(other)}")
        if not isinstance(other, OPERANDS):
            return NotImplemented
        check_writable(row, self, (other,))
        try:
            result = remembered(self, other)
        except NotImplementedError:
            check_type(row, self, (other,))
            raise
        return written(row, self, (other,), result.__node__)

    methods = {own: remembered}
    if row.operator == "r/":
        methods["__rdiv__"] = remembered  # from Python 2; torch still has it
    if row.operator in REFLECTED:
        methods[f"__r{name}__"] = remembering_operator(reflected, by_value)
    if row.inplace and row.promotion != COMPARE:
        methods[f"__i{name}__"] = in_place
    return {name: _documented(method, [row], name, "method") for name, method in methods.items()}


BY_OUT = frozenset(["sum", "prod", "nansum", "cumsum", "cumprod"])
"""What computes, unless it is told a `dtype`, in that of `out`."""


def _into(out: Any, signatures: list[Signature], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The result of a call written into `out`: `torch.add(x, y, out=z)`, which returns z.

    RuntimeError where a gradient would be asked of it, or where its dtype cannot hold the result.
    """
    row, (operands, static) = chosen(signatures, arguments, named)
    name = signatures[0].name
    if len(signatures) > 1 and not isinstance(out, Tensor | tuple | list | None):
        raise TypeError(invalid(signatures, arguments, {**named, "out": out}))
    if not row.out:
        raise TypeError(f"{name}() got an unexpected keyword argument 'out'")
    if row.name in BY_OUT and isinstance(out, Tensor) and static[-1] is None:
        static = (*static[:-1], out.dtype)

    asked = dict(zip(row.static_names, static, strict=False)).get("dtype")
    if asked is not None and isinstance(out, Tensor) and out.dtype is not asked and name not in EXACT:
        wanted, given = (CTYPES[each.name] for each in (asked, out.dtype))
        raise RuntimeError(f"Expected out tensor to have dtype {wanted}, but got {given} instead")

    if out is None:
        return apply(row, operands, static)

    def compute() -> Any:
        with suspended():
            result = apply(row, operands, static)
        if row.refuse_out is not None:
            row.refuse_out(result.dtype, out.dtype)
        return result

    return written_into(name, compute, out, tensors_of(operands), row.exact_out)


ANY = inspect.signature(lambda *arguments, **named: None)


def _documented(function: Callable[..., Any], rows: Sequence[Op], name: str, place: str) -> Callable[..., Any]:
    """`function` with the name, the docstring and the signature that follow from rows."""
    front: Any = function
    front.__name__ = front.__qualname__ = name
    if name.startswith("__"):  # an operator's signature is right as it is
        front.__doc__ = inspect.getdoc(rows[0].function)
        return function
    forms = inspected(rows, name, place)
    ways = [str(each) for each in _signatures(rows, name, place)] if len(rows) > 1 else []
    front.__doc__ = of_rows(rows, name, place, forms, ways)
    front.__signature__ = forms[0] if len(rows) == 1 else ANY
    return function


@cache
def in_place_forms() -> dict[str, list[Op]]:
    """The rows of each in-place method, by its name without the last `_`."""
    found: dict[str, list[Op]] = {}
    for (place, name), rows in overloads().items():
        if place == "method" and any(row.inplace for row in rows):
            found[name] = [row for row in rows if row.inplace]
    for row in REGISTRY.values():
        if row.inplace and not row.public & {"method", "nn.functional"} and not row.namespace:
            found.setdefault(row.torch_name, []).append(row)
    return found


def made(place: str, name: str) -> Callable[..., Any] | None:
    """The function that follows from the rows that torch has at a place under a name; None if there are none."""
    rows = overloads().get((place, name))
    if rows is not None:
        return function_of(rows, name, place)
    rows = in_place_forms().get(name[:-1]) if place == "function" and name.endswith("_") else None
    return asking(in_place_of(rows, name[:-1], place)) if rows is not None and _as_function(name[:-1], rows) else None


METHODS_ALONE = frozenset(
    [
        "absolute",
        "bitwise_not",
        "cumprod",
        "cumsum",
        "digamma",
        "erfinv",
        "lgamma",
        "logical_not",
        "mvlgamma",
        "polygamma",
        "renorm",
        "sgn",
        "sign",
        "tril",
        "triu",
    ]
)
"""Ops of one tensor whose in-place form torch has only as a method: there is no `torch.` function of that name."""


FUNCTIONS_TOO = frozenset(["addmv", "clamp", "clamp_max", "clamp_min", "clip", "gcd", "lcm", "ldexp", "xlogy"])
"""What is of several tensors, and yet torch has its in-place form as a function, too."""


def _as_function(name: str, rows: list[Op]) -> bool:
    """Whether torch has an in-place form as a function as well: `torch.exp_`."""
    return name in FUNCTIONS_TOO or (
        name not in METHODS_ALONE and all(len(row.operands) == 1 or row is fill for row in rows)
    )


def _importable(front: Any, name: str, module: dict[str, Any]) -> Any:
    """`front`, which `pickle` finds by its module and name."""
    home = sys.modules.get(getattr(front, "__module__", ""))
    if not isinstance(front, type) and getattr(home, getattr(front, "__qualname__", ""), None) is not front:
        front.__module__, front.__qualname__ = module["__name__"], name
    return front


def published(place: str, module: dict[str, Any]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Gives a module, whose namespace is `module`, every function that torch has at a place, such as "linalg".

    The two results are the module's `__getattr__` and `__dir__`. A function that follows from rows is made when it is
    first asked for: of several hundred a program uses a few. The module's `__all__` names what else is public there; it
    is removed, so that asking for it gives one with all names.
    """
    others = module.pop("__all__", ())
    for (where, name), function in PUBLISHED.items():
        if where == place:
            prefix = PARSED.get(place, "" if place == "nn.functional" and name in PARSED_TOO else None)
            front = function if prefix is None else checked(function, prefix + name)
            front = writing_out(front, name) if function in WRITING_OUT else front
            front = asking(front) if front is function or function in WRITING_OUT else front
            module[name] = _importable(front, name, module)

    def getattr_(name: str) -> Any:
        if name == "__all__":
            return [each for each in dir_() if not each.startswith("_")]
        function = made(place, name)
        if function is not None:
            module[name] = _importable(function, name, module)
            return function
        raise AttributeError(f"module '{module['__name__']}' has no attribute '{name}'")

    def dir_() -> list[str]:
        own = {name for where, name in (*overloads(), *PUBLISHED) if where == place and not name.startswith("_")}
        if place == "function":
            own |= {f"{name}_" for name, rows in in_place_forms().items() if _as_function(name, rows)}
        return sorted(own.union(others, [name for name in module if name.startswith("__")]))

    return getattr_, dir_


class LateMethod:
    """A placeholder on `Tensor` for a method that is made at its first use."""

    __slots__ = ("make", "name", "rows")

    def __init__(self, make: Callable[[Sequence[Op], str], Callable[..., Any]], rows: Sequence[Op], name: str) -> None:
        self.make = make
        self.rows = rows
        self.name = name

    def __get__(self, tensor: Tensor | None, owner: type) -> Any:
        method: Any = self.make(self.rows, self.name)
        setattr(Tensor, method.__name__, method)
        return method.__get__(tensor, owner)


def attach_methods() -> None:
    """Adds every method, in-place form and operator of the registry to `Tensor`."""
    for (place, name), function in PUBLISHED.items():
        if place == "method":
            setattr(Tensor, name, checked(function, name, method=True))
    for name in OF_TENSOR:
        setattr(Tensor, name, checked(getattr(Tensor, name), name, method=True))
    for (place, name), rows in overloads().items():
        if place == "method":
            setattr(Tensor, name, LateMethod(method_of, rows, name))
    for row in REGISTRY.values():
        if row.operator:
            for name, method in operators_of(row).items():
                setattr(Tensor, name, method)
    for name, rows in in_place_forms().items():
        setattr(Tensor, name + "_", LateMethod(in_place_of, rows, name))
