"""`Layer`, which is printed with its settings, and `define`, which makes the classes of the rows in `rows`."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from jaxvjp.library.creation import empty
from jaxvjp.nn import functional
from jaxvjp.nn.modules.module import Module
from jaxvjp.nn.modules.rows import ROWS, SAME, Row, expanded
from jaxvjp.nn.parameter import Parameter
from jaxvjp.tensor.bindings import made
from jaxvjp.tensor.published import PUBLISHED
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.constructors import add_constructor

UNDERNEATH = "a function of `nn.functional`"

Size = int | tuple[int, ...]
BIAS, PLACE = "bias: bool = True", "device: Any = None, dtype: Any = None"
"""Parameters of most layers that have parameters themselves."""


class Layer(Module):
    """A module that is printed with the attributes named in `__printed__`.

    `name` gives `name=value`; `name!` the value alone; `name?` is left out where it has the constructor's default. A
    parameter, or what is made of one, is shown as whether there is one.

    Attributes:
        __settings__: the parameters of the constructor, as they are written. The one that is made of them keeps each as
            an attribute, a tensor as a buffer, but those named in `__given__`, which it gives to `__finish_init__`.
    """

    __printed__ = ""
    __given__ = "bias device dtype"
    __settings__: str
    __tensors__: list[str]
    __spatial_dims__ = 0
    """How many dimensions it slides over, if its name tells: that of a layer here."""

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        if cls.__module__.startswith("jaxvjp.nn.modules.") and cls.__name__[-2].isdigit():
            cls.__spatial_dims__ = int(cls.__name__[-2])
        if "__settings__" in vars(cls):
            add_constructor(cls, cls.__settings__, globals())
            kinds = settings(cls.__settings__).items()
            cls.__tensors__ = [name for name, kind in kinds if kind.startswith("Tensor") and name not in cls.__given__]

    def __construct__(self, own: dict[str, Any]) -> None:
        Module.__init__(self)
        given = {name: own.pop(name) for name in self.__given__.split() if name in own}
        for name in self.__tensors__:
            self.register_buffer(name, own.pop(name))
        vars(self).update(own)
        self.__finish_init__(**given)

    def extra_repr(self) -> str:
        return ", ".join(_settings_shown(self))

    def __finish_init__(self, *given: Any, **named: Any) -> None:
        """Completes or checks the settings once the constructor has kept them."""


def register_empty(layer: Module, device: Any, dtype: Any, **shapes: Any) -> None:
    """Registers parameters of these shapes, without values yet; None where the shape is None."""
    for name, shape in shapes.items():
        made = None if shape is None else Parameter(empty(shape, device=device, dtype=dtype))
        layer.register_parameter(name, made)


def _settings_shown(layer: Layer) -> Iterator[str]:
    for each in layer.__printed__.split():
        name, value = each.rstrip("?!"), getattr(layer, each.rstrip("?!"))
        if name in layer._parameters or isinstance(value, Tensor):  # that of a parametrization is no parameter
            value = value is not None
        if each.endswith("!"):
            yield str(value)
        elif not each.endswith("?"):
            yield f"{name}={value!r}"
        else:
            default = _default(type(layer), name)
            if value != default and value != (default,) * (len(value) if isinstance(value, tuple) else 0):
                yield f"{name}={value}"


def _default(kind: type, name: str) -> Any:
    """The default of a setting, in the first constructor that has it; 0 if none has."""
    found = (inspect.signature(base.__init__).parameters.get(name) for base in kind.__mro__)  # type: ignore[misc]
    return next((each.default for each in found if each is not None), 0)


def settings(signature: str) -> dict[str, str]:
    """The names of parameters and their annotations."""
    (function,) = ast.parse(f"def f({signature}): ...").body
    assert isinstance(function, ast.FunctionDef)
    parameters = [*function.args.args, *function.args.kwonlyargs]
    return {each.arg: ast.unparse(each.annotation) if each.annotation else "Any" for each in parameters}


LEGACY = ("size_average", "reduce")
"""Settings of losses that only choose the `reduction`."""


def source(name: str, row: Row) -> str:
    """The class of a row, as Python."""
    own = settings(row.signature)
    given = settings(row.input)
    call = row.call
    if "(" not in call:
        named = [f"{each}=self.{each}" for each in own if each not in LEGACY]
        named += [f"{each}={each}" for each in list(given)[1:] if f"{each}: Tensor" not in row.input]
        call = f"F.{call}({', '.join([each for each in given if f'{each}: Tensor' in row.input] + named)})"
    lines = [
        f"class {name}({row.base}):",
        f"    '''`{call.replace('self.', '')}`.'''",
        f"    __printed__ = {row.shown!r}",
        f"    __settings__ = {row.signature!r}",
        f"    def forward(self, {row.input}) -> Any:",
        f"        return {call}",
    ]
    return "\n".join(lines)


def rows_of(file: str) -> Iterator[tuple[str, Row]]:
    """The rows of a file, with the parameters of their functions in the place of `SAME`."""
    for name, row in expanded(ROWS[file]):
        if row.signature == SAME:
            given, kept = [], []
            place = ("nn.functional", row.call)  # the module may have a function of the program's in its place
            function: Any = PUBLISHED.get(place) or made(*place)
            for parameter in inspect.signature(function).parameters.values():
                kind = re.sub(r"'|\b(jaxvjp|torch)\.", "", inspect.formatannotation(parameter.annotation))
                if parameter.default is parameter.empty:
                    given.append(f"{parameter.name}: {kind}")
                else:
                    kept += ["*"] * (parameter.kind is parameter.KEYWORD_ONLY and "*" not in kept)
                    kept.append(f"{parameter.name}: {kind} = {parameter.default!r}")
            row = row._replace(signature=", ".join(kept), input=", ".join(given))
        yield name, row


NAMES = {
    "Any": Any,
    "Layer": Layer,
    "Callable": Callable,
    "F": functional,
    "Sequence": Sequence,
    "Size": Size,
    "Tensor": Tensor,
    "UNDERNEATH": UNDERNEATH,
}
"""What rows name in their calls and annotations."""


def define(file: str, space: dict[str, Any]) -> None:
    """Makes the classes of a file's rows in its namespace, beside what they derive from."""
    text = "\n".join(["from __future__ import annotations", *[source(*each) for each in rows_of(file)]])
    bases = vars(import_module("jaxvjp.nn.modules.bases"))
    space.update(NAMES | {name: each for name, each in bases.items() if re.match("_[^_]", name)})
    exec(compile(text, __file__, "exec"), space)
