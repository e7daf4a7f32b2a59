"""What an op is: a pure JAX function and one row about it.

`@op(...)` over a function of arrays declares an op, and `REGISTRY` has all of them. `ops.tracing` tells the shapes and
dtypes of an op's results without computing anything.

A row is declared by decorating the function, whose Python signature is torch's: the same names and defaults, in torch's
order. A parameter that is annotated with a kind (`ops.arguments`) is *static*, a Python value that selects a program,
such as `dim`; the others are the *operands*, arrays (a keyword-only operand is annotated, too, as `Kept`)::

    @op(promotion=FLOAT, saves="input", inplace=True)
    def log(input):
        return jnp.log(input)

    @op(saves="index")
    def gather(input, dim: Index, index, *, sparse_grad: Flag = False):
        ...

    @op(returns=("values", "indices"), grad_fn="MaxBackward0")
    def max_dim(input, dim: Index, keepdim: Flag = False):
        ...

The function, the method, the in-place form, the operator, `out=`, the errors and `grad_fn`'s name all follow from that
row. An op has no derivative rule, but for five with a `defjvp`: `jax.vjp` differentiates the function.
"""

from __future__ import annotations

import inspect
import typing
from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import takewhile
from typing import Any, Literal, NamedTuple

import jax

from jaxvjp.ops.abstract_values import Aval as Aval
from jaxvjp.ops.abstract_values import number_aval as number_aval
from jaxvjp.ops.arguments import EITHER, KEPT, NEGATIVE_ZERO, SCALAR, SPREAD, TENSOR, TENSORS, Kind
from jaxvjp.ops.layouts import CHANNELS, ELEMENTWISE, SAME
from jaxvjp.types.dtypes import bfloat16, dtype, float16

KEEP, ARITHMETIC, FLOAT, DOUBLE, COMPARE = "keep", "arithmetic", "float", "double", "compare"
"""How operands of mixed dtypes are promoted: not at all; to their `result_type`; so, but integers to the default
floating dtype; so, and then to double precision; to their `result_type`, for an op whose result is bool."""

WRAPPED, OPMATH, CHECKED = "wrapped", "opmath", "checked"
"""What a Python number beside 16-bit operands becomes: WRAPPED, it is rounded to 16 bits, as in a tensor; OPMATH, it
stays in float32, in which torch's kernels compute; CHECKED, a number that does not fit is an error."""

LAYOUT_BY_MODULE = {
    **dict.fromkeys(("arithmetic", "bessel", "complex", "division", "elementary", "logic"), ELEMENTWISE),
    **dict.fromkeys(("pointwise", "polynomials", "neural.activation"), ELEMENTWISE),
    **dict.fromkeys(("neural.convolution", "neural.pooling", "neural.resampling"), CHANNELS),
    "identity": SAME,
}
"""How the results of most rows of a module are laid out; elsewhere they are contiguous."""

NAMESPACES = ("linalg", "fft", "special")
"""A row named `linalg_norm` is torch's `linalg.norm`."""

REQUIRED: Any = inspect.Parameter.empty
SHORT = (float16.numpy, bfloat16.numpy)


class Parameter(NamedTuple):
    """One parameter of an op, in torch's order.

    Attributes:
        kind: what it accepts, with the converter of a static one; None for a parameter that only jaxvjp passes.
        role: what an operand may be; "" for a static.
        default: REQUIRED where there is none.
        positional: False for one that can only be given by name.
        annotation: the type that the op's function declares it to have.
        optional: whether None may be given for it.
    """

    name: str
    kind: Kind | None
    role: str
    default: Any
    positional: bool
    annotation: Any
    optional: bool


class Saved(NamedTuple):
    """What a gradient is computed from: an operand's name or "result"; and the operand whose gradient that is."""

    name: str
    needed_for: str | None = None


class Op:
    """One row of the registry. The keywords of `@op` are the columns; the rest follows from the function.

    Columns:
        name: torch's name of it, by default the function's; `max.dim` is one of several rows that share the name
            `max`, as torch overloads it: a call goes to the first of them, in the order of declaration, that it fits.
        doc: its docstring, for a function that is made for several rows and has none.
        aliases: its other names, as text: `"absolute special.foo"`. A bare one is both a method and a function.
        public: where torch has it, as text: "method", "function", "nn.functional", "linalg", "fft", "special"; by
            default a method and a function, or for a name like `linalg_norm` a function in that namespace.
        promotion: KEEP, ARITHMETIC, FLOAT, DOUBLE or COMPARE.
        saves: what torch keeps for the backward pass, operands or "result", as text: `"input"`; `"other for input,
            input for other"` where it depends on which gradient is wanted. An op that saves nothing can be
            differentiated again after its graph was freed; what an op saves must not be written in place before the
            backward.
        slopes: the operands that torch's formulas of the gradients are differentiable functions of, as text like
            `saves`, or a function from (statics, avals) to it. None where these are the operands that JAX computes the
            gradients from. `avg_pool2d` has "input", as the gradient of its gradient is zeros in torch, and `maximum`
            has "", as the formulas have a mask. It tells which gradients require a gradient.
        in_one_step: whether torch computes all gradients in one step, so that each requires a gradient if an operand
            that is saved does: that of a convolution's bias, too, which is a function of the cotangents alone.
        grad_fn: the name that torch prints, or a function from (statics, avals) to it.
        arities: the least and largest number of arguments, `out` included, of each of torch's signatures, if they are
            not one per row; torch's error for a call that fits none depends on it.
        returns: for an op that returns several arrays, the names of the fields of torch's named tuple; without them
            it is a plain tuple.
        out: whether its functions take `out=`; by default those that are no views and not in `nn.functional` do; with
            True that in `nn.functional`, too.
        refuse_out: for an op with its own words in torch: a function of the dtypes of the result and of `out` that
            raises if the latter does not fit.
        exact_out: whether `out` must have the result's dtype, and memory of its own.
        operator: Python's operator, such as "*", from which the in-place one follows; "r-" for a number on its left,
            "neg" for `__neg__`.
        inplace: whether `name_` exists; in `nn.functional` that is the argument `inplace=True`.
        write: for a view, `(base, new, *other_operands, **statics) -> base` with the viewed part replaced.
        layout: for a view, the same view of a `Layout`, which tells strides; ValueError where torch needs a copy.
        keeps: for any other op, the rule by which its result is laid out, one of those of `ops.layouts`; by default
            that of the module which declares it (`LAYOUT_BY_MODULE`).
        one_of_several: for a view, whether torch returns several at once (`unbind`), which then refuse in-place
            changes.
        check_result: for an op that some values do not allow (a singular matrix), a function that raises torch's error.
            It is called with an extra last result of the op, which is read at once, as in torch; in a staged step at
            every call; inside `vmap` it is not called.
        check_values: an operand, by name, with a check of its values, as `(values, shapes of all operands, **statics)`:
            `("index", inside)`, where `inside` raises for positions out of range; after it maybe another operand and
            its check. The values are computed if need be; a staged step checks them in every call; inside `vmap`
            nothing is checked.
        rewrite: `(op, operands, static)` to the three that are recorded instead, such as `x ** 2` for a fixed power.
            If it asks a setting alone, it has the attribute `by_setting`, and who changes that has calls forgotten.
        differentiable: False for an op through which no gradient flows (comparisons, `detach`).
        rounds_once: whether operands of 16 bits are computed with, and their gradients summed up, in float32, and the
            results then rounded, as torch's kernels do (a sum of ones in bfloat16 never gets beyond 256); by default
            for ops that promote. Not for ops that only move elements, nor for those that depend on the dtype itself.
        moves: whether its first static is the place of its result.
        numbers: WRAPPED, OPMATH or CHECKED, as in torch's kernel. SCALAR parameters such as `alpha` are always checked;
            for OPMATH a 0-dim tensor in the place of a number counts as one, too.

    The function's signature is inspected at the first use of the row: of several hundred rows a program uses a few.
    `function` takes arrays and statics, and gives an array or a tuple of arrays; it is pure and traceable.
    """

    slopes: str | Callable[..., str | None] | None = None
    in_one_step: bool = False
    arities: tuple[tuple[int, int], ...] | None = None
    refuse_out: Callable[[dtype, dtype], None] | None = None
    exact_out: bool = False
    operator: str | None = None
    inplace: bool = False
    write: Callable[..., Any] | None = None
    layout: Callable[..., Any] | None = None
    one_of_several: bool = False
    check_result: Callable[..., None] | None = None
    check_values: tuple[Any, ...] | None = None
    rewrite: Callable[..., Any] | None = None
    moves: bool = False
    numbers: str = WRAPPED

    refuses_inputs_error = ""
    """The error of a backward pass through this op that asks for certain inputs (`backward(inputs=...)`, `grad`) and
    not for all leaves. "" for all ops but one: the reentrant checkpoint, which as in torch takes only the latter."""
    begin: Any = None
    """Of the one op that can be computed in two parts, the first part (`derive.pullback`)."""
    opened: Any = None
    """Of an op that stands for several: adds those to an `Expansion` (`run.expansion`), if it can, and returns the
    places of the results."""
    jaxpr: Any = None
    """Of an op that is a jaxpr: that, as a function of the static arguments."""
    depends: Any = None
    """Of an op for whose results a table tells what they depend on: a function from the static arguments, what the
    jaxpr tells, and what the operands depend on (`derive.dependences`)."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        doc: str = "",
        aliases: str = "",
        public: str | None = None,
        promotion: str = KEEP,
        saves: str = "",
        grad_fn: str | Callable[..., str] | None = None,
        returns: tuple[str, ...] = (),
        out: bool | None = None,
        keeps: str = "",
        differentiable: bool = True,
        rounds_once: bool | None = None,
        **columns: Any,
    ) -> None:
        unknown = columns.keys() - Op.__annotations__.keys()
        if unknown:
            raise TypeError(f"no columns: {', '.join(unknown)}")
        vars(self).update(columns)
        self.function = function
        if doc:
            function.__doc__ = doc
        self.name = name or function.__name__.rstrip("_")
        self.aliases = tuple(aliases.split())
        if public is None:
            public = self.namespace or "method function"
        self.public = frozenset(public.split())
        self.promotion = promotion
        self._saves = saves
        self._returns = returns
        self.grad_fn = grad_fn or backward_name(self.torch_name)
        self.out = self.write is None if out is None else out
        self.out_everywhere = out is True
        self.keeps = keeps or LAYOUT_BY_MODULE.get(function.__module__.removeprefix("jaxvjp.ops."), "")
        self.rewritten_by_call = self.rewrite is not None and not hasattr(self.rewrite, "by_setting")
        self.differentiable = differentiable and promotion != COMPARE
        self.rounds_once = promotion in (ARITHMETIC, FLOAT) if rounds_once is None else rounds_once

    @cached_property
    def saves(self) -> tuple[Saved, ...]:
        return _listed(self._saves)

    @cached_property
    def freed_for(self) -> Literal[True] | tuple[int, ...] | None:
        """Whether a backward pass frees each node of it, as it saves something; or the positions of the operands that
        do so where they require a gradient, if others do not; None where these differ from node to node."""
        needed_for = {each.needed_for for each in self.saves}
        if self.in_one_step or None in needed_for or (needed_for and needed_for >= {*self.operands}):
            return True
        leading = [each.name for each in takewhile(_always_one, self._taking)]
        if not needed_for <= {*leading}:
            return None
        return tuple(place for place, each in enumerate(leading) if each in needed_for)

    @cached_property
    def returns(self) -> Any:
        return return_type(self.torch_name, self._returns) if self._returns else None

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """All of them, in torch's order."""
        return tuple(map(_parameter, inspect.signature(self.function, eval_str=True).parameters.values()))

    @cached_property
    def _taking(self) -> list[Parameter]:
        return [parameter for parameter in self.parameters if parameter.role]

    @cached_property
    def operands(self) -> tuple[str, ...]:
        """Names of the array parameters; a name that starts with `*` takes any number."""
        return tuple(each.name for each in self._taking)

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """What each operand may be."""
        return tuple(each.role for each in self._taking)

    @cached_property
    def statics(self) -> tuple[Parameter, ...]:
        """The static parameters; their values, in this order, are a node's `static`."""
        return tuple(parameter for parameter in self.parameters if not parameter.role)

    @cached_property
    def static_names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.statics)

    @cached_property
    def structured(self) -> bool:
        """Whether operands may be left out or come as sequences.

        The static values then end with the *form*: for each operand None if it is left out, () for one array, n for a
        sequence of n. `inputs` has only those that are there.
        """
        return any(each.default is None or each.role in (TENSORS, SPREAD) for each in self._taking)

    @cached_property
    def by_name(self) -> bool:
        """Whether `call` has to pass operands by name, too, as they are not the first parameters."""
        leading = [parameter for parameter in self.parameters[: len(self._taking)] if parameter.positional]
        return self.structured or leading != self._taking

    @cached_property
    def mixed(self) -> bool:
        """Whether some operands take no part in promotion."""
        return any(each.role in (SCALAR, KEPT) for each in self._taking)

    @cached_property
    def carries_program(self) -> bool:
        """Whether it has a static argument `program`, as a pullback has."""
        return "program" in self.static_names

    @cached_property
    def torch_name(self) -> str:
        """The name that torch's messages have: `linalg_norm` for `linalg.norm`, `max` for each overload of it."""
        return self.name.partition(".")[0]

    @property
    def namespace(self) -> str:
        """`linalg` for `linalg_norm`, "" for most."""
        head = self.name.partition("_")[0]
        return head if head in NAMESPACES else ""

    @property
    def short_name(self) -> str:
        """The name inside its namespace: `norm` for `linalg_norm`."""
        return self.torch_name.removeprefix(self.namespace + "_") if self.namespace else self.torch_name

    def call(self, static: tuple[Any, ...], operands: Any) -> Any:
        """The function on arrays (or tracers), with `static` in the order of `statics`."""
        static = tuple([-0.0 if each is NEGATIVE_ZERO else each for each in static])
        if self.rounds_once and any(operand.dtype in SHORT for operand in operands):
            numbers = Op.numbers_among(self, static, len(operands))
            return rounded_once(lambda *wide: Op._call(self, static, wide), operands, numbers)
        return Op._call(self, static, operands)  # not `self._call`: `self` may be a stand-in for a row

    def _call(self, static: tuple[Any, ...], operands: Any) -> Any:
        if not self.by_name:
            return self.function(*operands, **dict(zip(self.static_names, static, strict=True)))
        if self.structured:
            rest = iter(operands)
            operands = [
                None if each is None else next(rest) if each == () else [next(rest) for _ in range(each)]
                for each in static[-1]
            ]
            static = static[:-1]
        by_name = zip((*self.operands, *self.static_names), (*operands, *static), strict=True)
        return self.function(**dict(by_name))

    def flattened(self, operands: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The operands of a structured op, flattened and without the missing ones; and their form."""
        flat: list[Any] = []
        form: list[Any] = []
        for operand in operands:
            if type(operand) is tuple:
                flat += operand
                form.append(len(operand))
            elif operand is None:
                form.append(None)
            else:
                flat.append(operand)
                form.append(())
        return tuple(flat), tuple(form)

    def positions(self, name: str, static: tuple[Any, ...], count: int) -> range:
        """The positions of the operand `name` among the `count` inputs of a node."""
        if "*" + name in self.operands:
            return range(self.operands.index("*" + name), count)
        position = self.operands.index(name)
        if not self.structured:
            return range(position, position + 1)
        lengths = [0 if each is None else 1 if each == () else each for each in static[-1]]
        start = sum(lengths[:position])
        return range(start, start + lengths[position])

    def differentiable_in(self, static: tuple[Any, ...], avals: tuple[Aval, ...]) -> list[frozenset[int]] | None:
        """By `slopes`, for the gradient of each operand: the positions of the operands that it is a function of."""
        slopes = self.slopes(static, avals) if callable(self.slopes) else self.slopes
        if slopes is None:
            return None
        count = len(avals)
        found: list[frozenset[int]] = [frozenset()] * count
        for name, of in _listed(slopes):
            for each in range(count) if of is None else self.positions(of, static, count):
                found[each] |= frozenset(self.positions(name, static, count))
        return found

    def read_in_one_step(self, static: tuple[Any, ...], count: int) -> list[int]:
        """By `in_one_step`: the positions of the operands that the step of all gradients reads."""
        names = [each.name for each in self.saves if self.in_one_step]
        return sorted({at for name in names for at in self.positions(name, static, count)})

    def roles_of(self, static: tuple[Any, ...], count: int) -> list[str]:
        """What each of the `count` inputs of a node may be."""
        roles = [""] * count
        for name, role in zip(self.operands, self.roles, strict=True):
            for position in self.positions(name.lstrip("*"), static, count):
                roles[position] = role
        return roles

    def numbers_among(self, static: tuple[Any, ...], count: int) -> list[bool]:
        """Which of the `count` inputs of a node may be numbers in float32 beside others of 16 bits."""
        return [self.numbers == OPMATH and role in (EITHER, SCALAR) for role in self.roles_of(static, count)]

    def gradient_name(self, static: tuple[Any, ...], avals: tuple[Aval, ...]) -> str:
        return self.grad_fn if isinstance(self.grad_fn, str) else self.grad_fn(static, avals)

    def __repr__(self) -> str:
        return f"<op {self.name}>"


def rounded_once(function: Callable[..., Any], operands: Sequence[Any], numbers: Sequence[bool] = ()) -> Any:
    """`function` of operands of which some have 16 bits, computed in float32; results are rounded to its own dtypes.

    `numbers` says which of them are numbers in float32; these do not widen the result.
    """
    types = counted_as(operands, numbers or [False] * len(operands))
    structs = [jax.ShapeDtypeStruct(each.shape, own) for each, own in zip(operands, types, strict=True)]
    own = jax.eval_shape(function, *structs)  # first, as its errors name the dtypes
    results = function(*[operand.astype("float32") if operand.dtype in SHORT else operand for operand in operands])
    return jax.tree.map(lambda each, like: each.astype(like.dtype), results, own)


def counted_as(operands: Sequence[Any], numbers: Sequence[bool]) -> list[Any]:
    """The operands' dtypes as they count in promotion: beside 16-bit ones, `numbers` count as those."""
    short = next((operand.dtype for operand in operands if operand.dtype in SHORT), None)
    wide = [short and number and not each.shape for each, number in zip(operands, numbers, strict=True)]
    return [short if number else each.dtype for each, number in zip(operands, wide, strict=True)]


def _parameter(parameter: inspect.Parameter) -> Parameter:
    """What a parameter of an op's function is, by its annotation: `Annotated[type, Kind]`, or that `| None`."""
    annotations = (parameter.annotation, *typing.get_args(parameter.annotation))
    marks = [each for annotation in annotations for each in getattr(annotation, "__metadata__", ())]
    kind = next((mark for mark in marks if isinstance(mark, Kind)), None)
    keyword_only = parameter.kind is parameter.KEYWORD_ONLY
    role = kind.role if kind is not None else "" if keyword_only else TENSOR
    name = "*" + parameter.name if parameter.kind is parameter.VAR_POSITIONAL else parameter.name
    optional = parameter.default is None or type(None) in annotations
    return Parameter(name, kind, role, parameter.default, not keyword_only, parameter.annotation, optional)


def return_type(name: str, fields: tuple[str, ...]) -> Any:
    """torch's named tuple for the results of an op, `torch.return_types.max`."""

    def told(self: Any) -> str:
        shown = ",\n".join(f"{field}={value!r}" for field, value in zip(fields, self, strict=True))
        return f"torch.return_types.{name}(\n{shown})"

    def made(cls: Any, *results: Any) -> Any:
        """Of the results or, as in torch, of a sequence of them, after which a pickle has a dict."""
        if results and results[1:] in ((), ({},)) and isinstance(results[0], tuple | list):
            results = tuple(results[0])
        return super(kind, cls).__new__(cls, *results)

    members = {"__new__": made, "__reduce__": lambda self: (kind, (tuple(self), {})), "__repr__": told, "__slots__": ()}
    kind: Any = type(name, (namedtuple(name, fields),), {**members, "__module__": "jaxvjp.return_types"})
    return kind


def _listed(text: str) -> tuple[Saved, ...]:
    return tuple(Saved(*each.split(" for ")) for each in text.split(", ") if each)


def _always_one(operand: Parameter) -> bool:
    """Whether an operand is one array that is never left out."""
    return operand.default is not None and operand.role not in (TENSORS, SPREAD)


REGISTRY: dict[str, Op] = {}


def op(**row: Any) -> Callable[[Callable[..., Any]], Op]:
    """Declares the decorated function as an op of the registry; keywords as in `Op`."""

    def declare(function: Callable[..., Any]) -> Op:
        declared = Op(function, **row)
        if declared.name in REGISTRY:
            raise ValueError(f"two rows for the op {declared.name}")
        REGISTRY[declared.name] = declared
        return declared

    return declare


def backward_name(name: str, variant: int = 0) -> str:
    """torch's name for an op's node in the backward graph: `index_select` gives `IndexSelectBackward0`.

    A word begins anew after a digit: `log1p` gives `Log1PBackward0`.
    """
    return "".join(part.title() for part in name.split("_")) + f"Backward{variant}"


def by_number(name: str, tensors: int, other: int, input: int | None = None) -> Callable[..., str]:
    """`grad_fn`'s name of an op with several in torch: for tensors only, for a number last, for a number first.

    For `by_number("pow", 1, 0, 2)` that is PowBackward1 for `x ** y`, PowBackward0 for `x ** 2`, PowBackward2 for
    `2 ** x`.
    """

    def named(static: tuple[Any, ...], avals: tuple[Aval, ...]) -> str:
        first = input is not None and avals[0].number
        return backward_name(name, input if first else other if avals[-1].number else tensors)  # type: ignore[arg-type]

    return named
