"""Writes the signatures of the installed torch's public functions, classes and methods to `tests/torch_signatures.txt`.

Run it where torch is installed, when the torch that jaxvjp follows changes: `python tools/list_torch_signatures.py`
(`--print` to look first). A line is a way to call a name, with defaults and without types; an overloaded name has
several. Functions in Python are inspected. Of those in C++ torch's stubs tell, and the schemas of its operators.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, MethodDescriptorType, MethodWrapperType, WrapperDescriptorType
from typing import Any

from list_torch_names import INNER, LISTED, modules_of, public_names

TARGET = Path(__file__).parent.parent / "tests" / "torch_signatures.txt"
SCHEMAS = {"torch.linalg": "linalg_", "torch.fft": "fft_", "torch.special": "special_", "torch.nn.functional": ""}
"""Modules of functions in C++ that no stub describes, and what their operators' names begin with."""
LEFT_OUT = re.compile(
    r"torch\.((autograd\.)?profiler|backends|cuda\.|distributed|jit|multiprocessing|return_types|sparse|utils\.benchmark"
    r"|distributions\.(kl|constraint_registry)|\w*Tensor$)"
)
"""Modules and classes that are about torch's own machinery, or that have nothing for users to call."""
NATIVE = (BuiltinFunctionType, MethodDescriptorType, MethodWrapperType, WrapperDescriptorType)
Signature = inspect.Signature
Parameter = inspect.Parameter


class Default:
    """A default as it is written."""

    def __init__(self, value: Any) -> None:
        self.text = repr(tuple(value) if isinstance(value, list) else value)
        try:
            ast.literal_eval(self.text)
        except (ValueError, SyntaxError):
            self.text = "..."

    def __repr__(self) -> str:
        return self.text


@cache
def stubs() -> dict[tuple[str, str], list[Signature]]:
    """Signatures by "torch" or "torch.Tensor" and name, from the stubs that are installed with torch."""
    import torch

    folder = Path(torch._C.__file__).parent / "_C"
    functions = ast.parse((folder / "_VariableFunctions.pyi").read_text(encoding="utf-8")).body
    base = ast.parse((folder / "__init__.pyi").read_text(encoding="utf-8")).body
    methods = next(each.body for each in base if isinstance(each, ast.ClassDef) and each.name == "TensorBase")
    found: dict[tuple[str, str], list[Signature]] = {}
    for owner, nodes in (("torch", functions), ("torch.Tensor", methods)):
        for node in nodes:
            if isinstance(node, ast.FunctionDef) and not (owner == "torch" and older(node)) and not by_names(node):
                found.setdefault((owner, node.name), []).append(written(node.args))
    return found


def older(node: ast.FunctionDef) -> bool:
    """Whether it is a form that torch deprecates, with its tensor as `self`: `torch.addmm(2, x, y, z)`."""
    return any(argument.arg == "self" for argument in node.args.args)


def by_names(node: ast.FunctionDef) -> bool:
    """Whether it is a form for named dimensions."""
    every = [*node.args.args, *node.args.kwonlyargs]
    named = [each.annotation for each in every if each.annotation and each.arg.startswith("dim")]
    return any("str" in ast.unparse(each) for each in named) or any(each.arg == "names" for each in every)


def written(arguments: ast.arguments) -> Signature:
    """The signature that `def` shows."""
    positional = [*arguments.posonlyargs, *arguments.args]
    missing = len(positional) - len(arguments.defaults)
    defaults = [*[None] * missing, *arguments.defaults]
    found = []
    for place, (each, default) in enumerate(zip(positional, defaults, strict=True)):
        kind = Parameter.POSITIONAL_ONLY if place < len(arguments.posonlyargs) else Parameter.POSITIONAL_OR_KEYWORD
        found.append(Parameter(each.arg, kind, default=_default(default)))
    if arguments.vararg:
        found.append(Parameter(arguments.vararg.arg, Parameter.VAR_POSITIONAL))
    for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append(Parameter(each.arg, Parameter.KEYWORD_ONLY, default=_default(default)))
    if arguments.kwarg:
        found.append(Parameter(arguments.kwarg.arg, Parameter.VAR_KEYWORD))
    return Signature(found)


def _default(node: ast.expr | None) -> Any:
    if node is None:
        return Parameter.empty
    try:
        return Default(ast.literal_eval(node))
    except ValueError:
        return Default(Default)


def of_schemas(name: str) -> Iterator[Signature]:
    """The ways to call a function in C++, whose first tensor torch calls `self` in schemas and `input` in Python."""
    import torch

    out = Parameter("out", Parameter.KEYWORD_ONLY, default=Default(None))
    found = []
    for schema in torch._C._jit_get_schemas_for_operator(f"aten::{name}"):
        if any("Tensor" in str(argument.type) for argument in schema.arguments):
            known = [argument for argument in schema.arguments if not argument.is_out]
            form = [
                Parameter(
                    "input" if each.name == "self" else each.name,
                    Parameter.KEYWORD_ONLY if each.kwarg_only else Parameter.POSITIONAL_OR_KEYWORD,
                    default=Default(each.default_value) if each.has_default_value() else Parameter.empty,
                )
                for each in known
            ]
            found.append(Signature([*form, out] if len(known) < len(schema.arguments) else form))
    written = [str(each) for each in found if "out" in each.parameters]
    for each in found:
        if "out" in each.parameters or not any(_same(str(each), other) for other in written):
            yield each


def _same(shown: str, writing: str) -> bool:
    """Whether the second is the first with `out`."""
    return writing in (shown[:-1] + ", out=None)", shown[:-1] + ", *, out=None)")


def inspected(value: Any) -> list[Signature]:
    """What Python knows of a signature; none if that says nothing."""
    inner = inspect.getclosurevars(value).nonlocals if inspect.isfunction(value) and value.__closure__ else {}
    value = inner.get("if_false", value)  # of two functions, between which `return_indices` chooses
    try:
        found = inspect.signature(value)
    except (ValueError, TypeError):
        return []
    kinds = [parameter.kind for parameter in found.parameters.values()]
    if kinds == [Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD]:
        return []
    shown = [
        parameter.replace(
            annotation=Parameter.empty,
            default=parameter.default if parameter.default is Parameter.empty else Default(parameter.default),
        )
        for parameter in found.parameters.values()
    ]
    return [Signature(shown)]


def signatures(owner: str, name: str, value: Any) -> list[Signature]:
    """The ways to call what `owner` has under a name."""
    if (owner, name) in stubs() and isinstance(value, NATIVE):
        return stubs()[owner, name]
    if isinstance(value, NATIVE) and owner in SCHEMAS:
        return list(of_schemas(SCHEMAS[owner] + value.__name__.removeprefix(SCHEMAS[owner])))
    if isinstance(value, NATIVE):
        return []
    return inspected(value)


def lines() -> Iterator[str]:
    import torch

    warnings.simplefilter("ignore")
    owners = [each for each in {*LISTED, *filter(INNER.match, modules_of(torch))} if not LEFT_OUT.match(each)]
    seen = {id(torch.Tensor)}
    for owner in sorted(owners, key=lambda each: (each.count("."), each)):  # a class under its shortest name
        module = importlib.import_module(owner)
        for name in [each for each in public_names(module) if not each.startswith("_")]:
            value = getattr(module, name, None)
            if inspect.isclass(value):
                if id(value) not in seen and not LEFT_OUT.match(f"{owner}.{name}"):
                    yield from shown(f"{owner}.{name}", inspected(value))
                    yield from of_class(value, f"{owner}.{name}")
                seen.add(id(value))
            elif callable(value) and (id(value) not in seen or owner in SCHEMAS):
                yield from shown(f"{owner}.{name}", signatures(owner, name, value))
                seen.add(id(value))
    for name in public_names(torch.Tensor):
        if callable(value := getattr(torch.Tensor, name)):
            yield from shown(f"torch.Tensor.{name}", signatures("torch.Tensor", name, value))


def of_class(value: type, owner: str) -> Iterator[str]:
    """The methods that a class itself defines."""
    for name, each in sorted(vars(value).items()):
        if not name.startswith("_") and inspect.isfunction(inspect.unwrap(getattr(each, "__func__", each))):
            yield from shown(f"{owner}.{name}", inspected(getattr(value, name)))


def shown(name: str, found: list[Signature]) -> Iterator[str]:
    yield from dict.fromkeys(f"{name}{each.replace(return_annotation=Signature.empty)}" for each in found)


if __name__ == "__main__":
    text = "\n".join(dict.fromkeys(lines())) + "\n"
    if sys.argv[1:] == ["--print"]:
        print(text, end="")
    else:
        TARGET.write_text(text, encoding="utf-8")
