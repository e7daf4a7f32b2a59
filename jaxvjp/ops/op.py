"""What an op is: a pure JAX function and one row about it.

In this room one can declare an op (`@op(...)` over a function of arrays), look one up (`REGISTRY`), and ask what it
would return for given shapes and dtypes (`abstract`) without computing anything. `dtypes` comes before it.

A row is declared by decorating the function. Its positional parameters are the operands (arrays), its keyword-only
parameters are static (Python values that select a program, such as `dim`), each with a converter as its annotation::

    @op(promotion=FLOAT, saves="input", inplace=True)
    def log(input):
        return jnp.log(input)

The function, the method, the in-place form, the operator, the errors and `grad_fn`'s name all follow from that row.
No op has a derivative rule: `jax.vjp` differentiates the function.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import jax

from jaxvjp.devices import device, of
from jaxvjp.dtypes import dtype, from_numpy

KEEP, ARITHMETIC, FLOAT, COMPARE = "keep", "arithmetic", "float", "compare"
"""How operands of mixed types meet: not at all; by `result_type`; so, and integers become the default floating type;
so, for an op whose own result is boolean."""

ABSTRACT_CACHE = 1 << 16
REQUIRED: Any = inspect.Parameter.empty


class Aval(NamedTuple):
    """An abstract value: what is known of an array before it is computed.

    `number` marks a Python number: an operand whose value is given anew at each call, so that `x * 0.1` and `x * 0.2`
    are one program. `device` says where the array is, None for the device that JAX prefers.
    """

    shape: tuple[int, ...]
    dtype: dtype
    number: bool = False
    device: device | None = None

    @property
    def struct(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(self.shape, self.dtype.numpy)


class Static(NamedTuple):
    """One static parameter of an op: its name, the converter to a hashable value, its default."""

    name: str
    converter: Callable[[Any], Any] | None
    default: Any


class Saved(NamedTuple):
    """Something kept for the backward pass: an operand's name or "result", and the operand whose gradient needs it."""

    name: str
    needed_for: str | None = None


class Op:
    """One row of the registry.

    Attributes:
        name: torch's name of it.
        function: arrays and keyword statics to an array (or a tuple of arrays); pure and traceable.
        operands: names of the array parameters; a name that starts with `*` takes any number.
        optional: the defaults of those operands that may be left out; the row's `rewrite` deals with them.
        statics: the static parameters, in torch's positional order.
        promotion: KEEP, ARITHMETIC, FLOAT or COMPARE.
        saves: what torch keeps for the backward pass, operands or "result", as text: `"input"`; `"other for input,
            input for other"` where it depends on which gradient is wanted. An op that saves nothing can be
            differentiated again after its graph was freed; what it saves must not be changed in place before.
        grad_fn: the name that torch prints, or a function from (statics, avals) to it.
        operator: Python's operator, such as "*", from which the in-place one follows; "r-" for a number on its left,
            "neg" for `__neg__`.
        inplace: whether `name_` exists.
        write: for a view, `(base, new, *other_operands, **statics) -> base` with the viewed part replaced.
        layout: for a view, the same view of a NumPy array, which tells strides; ValueError where torch needs a copy.
        several: for a view, whether torch hands out several at once, which then refuse in-place changes.
        rewrite: `(op, operands, static)` to the three that are recorded instead, such as `x ** 2` for a fixed power.
        public: "method", "function", both or neither: where torch has it.
        carries_program: whether a static argument may be a whole program, as that of a pullback is.
        differentiable: False for an op through which no gradient flows (comparisons, `detach`).
    """

    __slots__ = (
        "carries_program",
        "differentiable",
        "function",
        "grad_fn",
        "inplace",
        "layout",
        "name",
        "operands",
        "operator",
        "optional",
        "promotion",
        "public",
        "rewrite",
        "saves",
        "several",
        "static_names",
        "statics",
        "write",
    )

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        promotion: str = KEEP,
        saves: str = "",
        grad_fn: str | Callable[..., str] | None = None,
        operator: str | None = None,
        inplace: bool = False,
        write: Callable[..., Any] | None = None,
        layout: Callable[..., Any] | None = None,
        several: bool = False,
        rewrite: Callable[..., Any] | None = None,
        public: str = "method function",
        differentiable: bool = True,
    ) -> None:
        self.function = function
        self.name = name or function.__name__.rstrip("_")
        self.promotion = promotion
        self.saves = tuple(Saved(*each.split(" for ")) for each in saves.split(", ") if each)
        self.grad_fn = grad_fn or backward_name(self.name)
        self.operator = operator
        self.inplace = inplace
        self.write = write
        self.layout = layout
        self.several = several
        self.rewrite = rewrite
        self.public = frozenset(public.split())
        self.differentiable = differentiable and promotion != COMPARE
        operands: list[str] = []
        statics: list[Static] = []
        self.optional: dict[str, Any] = {}
        for parameter in inspect.signature(function, eval_str=True).parameters.values():
            if parameter.kind is parameter.KEYWORD_ONLY:
                # `Annotated[type, converter]`; an op that only the house calls may leave the converter out.
                converter = next(iter(getattr(parameter.annotation, "__metadata__", ())), None)
                statics.append(Static(parameter.name, converter, parameter.default))
            elif parameter.kind is parameter.VAR_POSITIONAL:
                operands.append("*" + parameter.name)
            else:
                operands.append(parameter.name)
                if parameter.default is not REQUIRED:
                    self.optional[parameter.name] = parameter.default
        self.operands = tuple(operands)
        self.statics = tuple(statics)
        self.static_names = tuple(each.name for each in statics)
        self.carries_program = any(each.converter is None for each in statics)

    def call(self, static: tuple[Any, ...], operands: Any) -> Any:
        """The function on arrays (or tracers), with `static` in the order of `statics`."""
        return self.function(*operands, **dict(zip(self.static_names, static, strict=True)))

    def gradient_name(self, static: tuple[Any, ...], avals: tuple[Aval, ...]) -> str:
        return self.grad_fn if isinstance(self.grad_fn, str) else self.grad_fn(static, avals)

    def __repr__(self) -> str:
        return f"<op {self.name}>"


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
    """torch's name for an op's node in the backward graph: `index_select` gives `IndexSelectBackward0`."""
    return "".join(part.capitalize() for part in name.split("_")) + f"Backward{variant}"


@lru_cache(maxsize=ABSTRACT_CACHE)
def abstract(operation: Op, static: tuple[Any, ...], avals: tuple[Aval, ...]) -> Any:
    """The abstract value (a tuple of them for a tuple) that `operation` gives; errors of shape and device rise here.

    Computed once per signature: it costs JAX 200 µs, and the look-up 0.2. 64-bit types are enabled for its duration,
    for torch's integers are 64 bits wide.
    """
    place = common_device(avals)
    with jax.enable_x64(True):
        result = jax.eval_shape(lambda *operands: operation.call(static, operands), *[each.struct for each in avals])
    if isinstance(result, tuple):
        return tuple(Aval(each.shape, from_numpy(each.dtype), device=place) for each in result)
    return Aval(result.shape, from_numpy(result.dtype), device=place)


def common_device(avals: Iterable[Aval]) -> device | None:
    """Where operands are, and so their result; RuntimeError where they are not all there. A number is anywhere."""
    places = list(dict.fromkeys([each.device for each in avals if not each.number or each.device is not None]))
    if len(places) > 1:
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{of(places[0])} and {of(places[1])}!\n"
            "Move one of them first: `x.to(y.device)`; gradients flow through that."
        )
    return places[0] if places else None
