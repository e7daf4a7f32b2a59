"""Calls of functions that are written over tensors, checked as torch's parser checks those of its own.

A row's call is bound by `signatures`; here the same binding is made of a Python function's annotations, so that
`torch.flatten(x, 1.5)` is refused in torch's words. What fits is checked once for each combination of types.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache, wraps
from itertools import product
from types import SimpleNamespace, UnionType
from typing import Any, Union, get_args, get_origin, get_overloads

from jaxvjp.ops.arguments import SCALAR, TENSOR, TENSORS, Kind, dims, flag, index, real, size, text, type_
from jaxvjp.ops.op import Parameter
from jaxvjp.tensor.overriding import handle_torch_function, saying
from jaxvjp.tensor.signatures import OTHER_NAMES, Signature, chosen
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.devices import device
from jaxvjp.types.dtypes import FROM_PYTHON, dtype
from jaxvjp.types.tracebacks import without_own_lines

IN_PYTHON = frozenset(
    [
        *("atleast_1d", "atleast_2d", "atleast_3d", "broadcast_shapes", "broadcast_tensors", "einsum", "finfo"),
        *("get_float32_matmul_precision", "get_rng_state", "iinfo", "is_tensor", "lobpcg", "lu", "meshgrid"),
        *("pca_lowrank", "seed", "set_float32_matmul_precision", "set_rng_state", "split", "stft", "svd_lowrank"),
        *("unique", "unique_consecutive", "unravel_index"),
        *("set_deterministic_debug_mode", "set_warn_always", "use_deterministic_algorithms"),
    ]
)
"""What torch has in Python as well: there Python itself checks the arguments, and so it does here."""


SEVERAL_FORMS = {
    **dict.fromkeys(["rand", "randn"], ((1, 7), (2, 9))),
    **dict.fromkeys(["eye", "randperm"], ((1, 7), (2, 8))),
    **dict.fromkeys(["rand_like", "randn_like", "randint_like", "bernoulli"], ((1, 6), (2, 7))),
    **{f"{name}_window": ((1, 6), (2, 7)) for name in ("bartlett", "blackman", "hamming", "hann", "kaiser")},
}
"""The numbers of arguments of torch's overloads (`Op.arities`), where a function here is one for several."""
SEVERAL = frozenset([list, tuple])


def sequence(value: Any) -> tuple[int, ...]:
    """Several sizes; a single one is refused, which `torch.reshape(x, 6)` has to be."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise TypeError(value)
    return size(value)


def of_class(value: Any, classes: tuple[type, ...]) -> Any:
    if not isinstance(value, classes) or isinstance(value, bool):
        raise TypeError(value)
    return value


KINDS: dict[frozenset[Any], Kind] = {
    frozenset([Tensor]): Kind("Tensor", None, TENSOR),
    frozenset([complex]): Kind("Number", None, SCALAR),
    frozenset([int]): Kind("int", index),
    frozenset([float]): Kind("float", real),
    frozenset([bool]): Kind("bool", flag),
    frozenset([str]): Kind("str", text),
    frozenset([dtype]): Kind("torch.dtype", type_),
    frozenset([Sequence[int]]): Kind("tuple of ints", sequence),
    frozenset([int, Sequence[int]]): Kind("tuple of ints", dims),
    frozenset([Sequence[Tensor]]): Kind("tuple of Tensors", None, TENSORS),
    frozenset([device, str, int]): Kind("torch.device", lambda value: of_class(value, (device, str, int))),
}
"""What torch's parser calls a parameter, and how it takes one, by the types that its annotation names. A parameter of
other types takes anything here: the function itself says what is wrong."""


def checked(function: Callable[..., Any], name: str, method: bool = False) -> Callable[..., Any]:
    """`function` that raises TypeError, in torch's words, for arguments which do not fit its annotations."""
    if name in IN_PYTHON:
        return function
    code = inspect.unwrap(function).__code__
    count = code.co_argcount + code.co_kwonlyargcount
    own = frozenset(code.co_varnames[:count])
    spread = code.co_varnames[count] if code.co_flags & inspect.CO_VARARGS else ""
    fitting: set[tuple[Any, ...]] = set()

    def check(arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        signatures, known = _signatures(function, name, method)
        if known is not None:
            named = {each: value for each, value in named.items() if each in known}
        try:
            if signatures:
                chosen(signatures, arguments, named)
        except TypeError as error:
            raise error from None

    @wraps(function)
    def front(*arguments: Any, **named: Any) -> Any:
        form: tuple[Any, ...] = tuple(map(type, arguments))
        if named:
            form = (*form, *named, *map(type, named.values()))
        fits = form in fitting
        if not method and not (fits and SEVERAL.isdisjoint(form)) and (found := saying(arguments, named)):
            return handle_torch_function(front, found, *arguments, **named)
        if not fits:
            check(arguments, named)
            fitting.add(form)
        if named:
            named = {each if each in own else OTHER_NAMES.get(each, each): value for each, value in named.items()}
            if spread in named:  # `x.reshape(shape=(3, 2))`
                arguments = (*arguments, named.pop(spread))
            if type in form and named.get("dtype") in FROM_PYTHON:
                named["dtype"] = type_(named["dtype"])
        try:
            return function(*arguments, **named)
        except Exception as error:
            if isinstance(error, TypeError | ValueError | AttributeError | LookupError):
                # Of one combination of types some values fit and some do not: `[1]` and `[1.5]`.
                check(arguments, named)
            raise without_own_lines(error)  # noqa: B904  # it is the same error

    return front


@cache
def _signatures(function: Callable[..., Any], name: str, method: bool) -> tuple[list[Signature], set[str] | None]:
    """The ways to call a function, and, where it takes others as well, the names that they know."""
    forms = [
        inspect.signature(each, eval_str=True).parameters.values() for each in get_overloads(function) or [function]
    ]
    signatures = [each for form in forms for each in _of_form(form, name, method)]
    closed = all(each.kind is not each.VAR_KEYWORD for form in forms for each in form)
    return signatures, None if closed else {parameter.name for one in signatures for parameter in one.parameters}


def _of_form(shown: Collection[inspect.Parameter], name: str, method: bool) -> Iterator[Signature]:
    """torch has an overload for each type of `int | Tensor`. None where any number of anything may be given."""
    if any(each.kind is each.VAR_POSITIONAL and Sequence[int] not in get_args(each.annotation) for each in shown):
        return
    for parameters in product(*[_parameters(each) for each in shown if each.kind is not each.VAR_KEYWORD]):
        row: Any = SimpleNamespace(
            torch_name=name,
            parameters=parameters,
            out=False,
            roles=(),
            statics=parameters,
            arities=SEVERAL_FORMS.get(name),
        )
        signature = Signature(row, name, method)
        signature.spreads = any(each.kind is each.VAR_POSITIONAL for each in shown)
        yield signature


def _parameters(shown: inspect.Parameter) -> list[Parameter]:
    """What a parameter takes, or each of several things that it may take."""
    union = get_origin(shown.annotation) in (Union, UnionType)
    types = get_args(shown.annotation) if union else (shown.annotation,)
    optional = type(None) in types and shown.default is shown.empty
    default = None if optional else shown.default
    taken = [each for each in types if each is not type(None)]
    if shown.kind is shown.VAR_POSITIONAL:
        kinds: list[Kind | None] = [Kind("tuple of ints", size)]
    elif taken == [complex, Tensor]:
        kinds = [KINDS[frozenset([complex])]]  # of no dimensions
    else:
        whole = _kind(*taken)
        kinds = [whole] if whole is not None or None in map(_kind, taken) else [_kind(each) for each in taken]
    by_place, none = shown.kind is not shown.KEYWORD_ONLY, type(None) in types or shown.default is None
    return [
        Parameter(shown.name, kind, kind.role if kind else "", default, by_place, shown.annotation, none)
        for kind in kinds
    ]


def _kind(*types: Any) -> Kind | None:
    """What a parameter is called that takes these types; None where it may take anything."""
    known = KINDS.get(frozenset(types))
    if known is None and len(types) == 1 and getattr(types[0], "__module__", "").startswith("jaxvjp"):
        return Kind(f"torch.{types[0].__name__}", lambda value: of_class(value, types))
    return known
