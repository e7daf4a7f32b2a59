"""Writes the stubs, which tell editors and type checkers of functions that are made at first use.

Run `python -m tools.stubs` after a change to the registry, or to a published signature; a test fails if that was
forgotten. Functions and methods come from the rows of `ops` and from `PUBLISHED`, with the types that
`bindings.inspected` and the annotations give; the other names of `jaxvjp` are imported as `__init__.py` does it.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_overloads

import jaxvjp
from jaxvjp.explain.explanation import Explanation
from jaxvjp.library.sharding import OfMesh
from jaxvjp.namespaces.rows import SPACES
from jaxvjp.nn.modules.layer import LEGACY, rows_of, settings
from jaxvjp.nn.modules.rows import ROWS
from jaxvjp.ops.op import REQUIRED
from jaxvjp.pure.arrays import Operand
from jaxvjp.tensor.bindings import LateMethod, in_place_forms, inspected, overloads
from jaxvjp.tensor.published import PUBLISHED
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import dtype

ROOT = Path(inspect.getfile(jaxvjp)).parent
PLACES = {
    "__init__": "function",
    "autograd/__init__": "autograd",
    "distributions/__init__": "distributions",
    "fft": "fft",
    "func/__init__": "func",
    "linalg": "linalg",
    "masked": "masked",
    "nn/__init__": "nn",
    "nn/functional": "nn.functional",
    "nn/modules/__init__": "nn.modules",
    "nn/utils/__init__": "nn.utils",
    "optim/__init__": "optim",
    "signal/windows": "signal.windows",
    "special": "special",
    "utils/data/__init__": "utils.data",
}
"""Modules whose functions are made at first use, and their places in the registry."""

HEADER = """# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
"""
HOMES = {"jaxvjp": "jaxvjp.tensor.tensor"}
"""The real module of classes whose `__module__` names another one."""
BUILTINS = frozenset(["bool", "complex", "dict", "float", "int", "list", "str", "tuple", "type"])
Forms = Iterable[inspect.Signature]


class Text:
    """A string whose `repr` has no quotes, for use in a signature."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


class Stub:
    """The text of one stub, line by line; `defined` has the names that it defines.

    `results` collects the named tuples in its annotations.
    """

    def __init__(self, defined: Iterable[str], results: dict[str, type]) -> None:
        self.results = results
        self.shadowed = BUILTINS & {*defined}
        self.imports: set[str] = set()
        self.lines: list[str] = []

    def typed(self, annotation: Any) -> str:
        """An annotation as text; the stub imports its names."""
        if hasattr(annotation, "_fields"):
            self.results[annotation.__name__] = annotation
        text = inspect.formatannotation(annotation).replace("NoneType", "None")
        text = re.sub(r"(?<![\w.])((?:\w+\.)+)(\w+)", lambda found: self._named(found[1][:-1], found[2]), text)
        for each in self.shadowed:
            text = re.sub(rf"(?<![\w.]){each}\b(?!:)", f"builtins.{each}", text)
        return text

    def _named(self, module: str, name: str) -> str:
        module = HOMES.get(module, module)
        if module == "jaxvjp.return_types":  # a named tuple with the name of a function
            self.imports.add("from jaxvjp import return_types")
            return f"return_types.{name}"
        if module == "typing":
            return name
        if module.startswith(("jaxvjp", "collections")):
            self.imports.add(f"from {module} import {name}")
            return name
        self.imports.add(f"import {module}")
        return f"{module}.{name}"

    def function(self, name: str, forms: Forms, live: Any, method: bool = False) -> None:
        """Writes a function or method with one or several signatures."""
        indent = "    " if method else ""
        summary = (inspect.getdoc(live) or "").partition("\n\n")[0].replace("\n", " ").replace("\\", "\\\\")
        body = f'\n{indent}    """{summary}"""' if summary else " ..."
        shown = list(dict.fromkeys(self._signature(each, method) for form in forms for each in _spread(form)))
        if method and (re.fullmatch(r"[^_].*[^_]_", name) or (name[:3] == "__i" and hasattr(Tensor, f"__{name[3:]}"))):
            shown = [re.sub(r"-> Tensor$", "-> Self", each) for each in shown]
        for signature in shown:
            if len(shown) > 1:
                self.lines.append(f"{indent}@overload")
            self.lines.append(f"{indent}def {name}{signature}:{body}")
            body = " ..."

    def _signature(self, form: inspect.Signature, method: bool) -> str:
        shown = []
        for place, each in enumerate(form.parameters.values()):
            if method and not place:
                each = inspect.Parameter("self", each.POSITIONAL_OR_KEYWORD)
            else:
                unknown = Tensor if each.name == "self" else Any
                text = self.typed(unknown if each.annotation is REQUIRED else each.annotation)
                each = each.replace(annotation=Text(text), default=_default(each.default))
            shown.append(each)
        returned = Text(self.typed(form.return_annotation))
        return str(inspect.Signature(shown, return_annotation=returned))

    def __str__(self) -> str:
        if self.shadowed:
            self.imports.add("import builtins")
        public = {each.rpartition(" as ")[0] for each in self.imports}
        return "\n".join([HEADER + "\n".join(sorted(self.imports - public)), "", *self.lines, ""])


def _default(value: Any) -> Any:
    plain = value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value))
    plain = plain or (isinstance(value, tuple) and all(isinstance(each, int) for each in value))
    return value if plain or value is REQUIRED else Text("...")


def _spread(form: inspect.Signature) -> Forms:
    """The two signatures for `*size: int | Sequence[int]`, which may be one sequence or spread out; other forms
    unchanged.

    A function with `return_indices` has two signatures as well.
    """
    given = form.parameters
    for each in given.values():
        one = next((kind for kind in (int, Tensor) if each.annotation == kind | Sequence[kind]), None)  # type: ignore[valid-type]
        if each.kind is each.VAR_POSITIONAL and one is not None:
            others = [other for other in given.values() if other.kind is not other.VAR_KEYWORD]
            kinds = {each.name: each.replace(kind=each.POSITIONAL_OR_KEYWORD)}
            yield form.replace(parameters=[kinds.get(other.name, other) for other in others])
            kinds = {each.name: each.replace(annotation=one)}
            yield form.replace(parameters=[kinds.get(other.name, other) for other in others])
            return
    if "return_indices" not in given:
        yield form
        return
    for answer, result in ((False, Tensor), (True, tuple[Tensor, Tensor])):
        asked = given["return_indices"].replace(annotation=Literal[answer])
        if answer:
            asked = asked.replace(kind=asked.KEYWORD_ONLY, default=REQUIRED)
        others = [asked if each.name == "return_indices" else each for each in given.values()]
        yield form.replace(parameters=sorted(others, key=lambda each: each.kind), return_annotation=result)


def forms_of(place: str, name: str, live: Any) -> Forms:
    """The signatures of the function with that name at a place."""
    if (place, name) not in PUBLISHED:
        rows = overloads().get((place, name)) or (in_place_forms().get(name[:-1]) if name.endswith("_") else None)
        if rows is not None:
            return inspected(rows, name, place)
    ways = get_overloads(inspect.unwrap(live)) or [live]
    return [inspect.signature(each, eval_str=True, locals={"Explanation": Explanation}) for each in ways]


def methods(results: dict[str, type]) -> str:
    """The stub of a class with all methods that are added to `Tensor`; type checkers take it as its base class."""
    hung: dict[str, tuple[Any, bool]] = {}
    for name, each in vars(Tensor).items():
        if isinstance(each, classmethod | staticmethod):
            continue
        if isinstance(each, OfMesh):
            hung[name] = each.function, not each.is_method
            continue
        made: Any = getattr(Tensor, name) if isinstance(each, LateMethod | Operand) else getattr(each, "fget", each)
        if getattr(made, "__module__", "").startswith("jaxvjp") and made.__module__ != "jaxvjp.tensor.tensor":
            hung[name] = made, isinstance(each, property)
    stub = Stub(hung, results)
    stub.imports.add("from jaxvjp.tensor.storage import Stored")
    stub.lines.append("class Methods(Stored):")
    for name, (made, is_property) in sorted(hung.items()):
        if is_property:
            stub.lines.append("    @property")
        stub.function(name, forms_of("method", name, made), made, method=True)
    return str(stub)


def module(path: str, place: str, results: dict[str, type]) -> str:
    """The stub of a module with the functions at a place of the registry."""
    own = importlib.import_module(".".join(["jaxvjp", *path.split("/")]).removesuffix(".__init__"))
    made = {name for where, name in PUBLISHED if where == place}
    source = ast.parse((ROOT / f"{path}.py").read_text(encoding="utf-8"))
    beside = [each.asname for node in source.body if isinstance(node, ast.ImportFrom) for each in node.names]
    names = sorted(each for each in {*dir(own), *beside} if each and not each.startswith("_"))
    stub = Stub(names, results)
    imported = {
        name: node.module
        for node in ast.walk(source)
        if isinstance(node, ast.ImportFrom) and node.module
        for each in node.names
        for name in (importlib.import_module(node.module).__all__ if each.name == "*" else [each.name])
    }
    later = own.later() if hasattr(own, "later") else getattr(own, "LATER", {})
    for name in names:
        live = getattr(own, name)
        if isinstance(live, dtype):
            stub.lines.append(f"{name}: {stub.typed(dtype)}")
        elif isinstance(live, ModuleType) and (own.__name__ != "jaxvjp" or name in SPACES):
            stub.imports.add(f"from {own.__name__} import {name} as {name}")
        elif path == "nn/__init__" and name in importlib.import_module("jaxvjp.nn.modules").later():
            stub.imports.add(f"from jaxvjp.nn.modules import {name} as {name}")
        elif _of_settings(live):
            stub.imports.add(f"from {live.__module__.rpartition('.')[0]} import {live.__module__.rpartition('.')[2]}")
            stub.lines.append(f"class {name}({live.__module__.rpartition('.')[2]}.{name}):")
            made_of = inspect.signature(live.__init__, eval_str=True)
            stub.function("__init__", [made_of], None, method=True)
        elif isinstance(live, type) and name in made:
            stub.imports.add(f"from {live.__module__} import {name} as {name}")
        elif name in later or (name in imported and name not in made):
            stub.imports.add(f"from {later.get(name) or imported[name]} import {name} as {name}")
        elif callable(live):
            stub.function(name, forms_of(place, name, live), live)
        else:
            stub.lines.append(f"{name}: {stub.typed(type(live))}")
    return str(stub)


def _of_settings(live: Any) -> bool:
    """Whether it is a class whose constructor is made of a text, and no layer of a row, whose file has a stub."""
    text = getattr(live, "__settings__", None)
    return isinstance(live, type) and isinstance(text, str) and live.__module__.rpartition(".")[2] not in ROWS


def layers(file: str) -> str:
    """The stub of a file of `nn/modules` with rows."""
    stub = Stub([], {})
    stub.imports |= {
        "from collections.abc import Callable",
        "from jaxvjp.nn.modules.layer import Size",
        "from jaxvjp.tensor.tensor import Tensor",
    }
    for name, row in rows_of(file):
        home = "layer" if row.base == "Layer" else "bases"
        stub.imports.add(f"from jaxvjp.nn.modules.{home} import {row.base} as {row.base}")
        kept = [f"    {each}: {kind}" for each, kind in settings(row.signature).items() if each not in LEGACY]
        made = f"    def __init__(self, {row.signature}) -> None: ..."
        stub.lines += [f"class {name}({row.base}):", *kept, made, f"    def forward(self, {row.input}) -> Any: ..."]
    return str(stub)


def namespace(place: str) -> tuple[str, str]:
    """The path and the stub of a namespace that is made of rows."""
    rows = SPACES[place].rows
    stub = Stub(rows, {})
    stub.imports |= {
        "from collections.abc import Sequence",
        "from contextlib import AbstractContextManager",
        "from jaxvjp.tensor.tensor import Tensor",
    }
    inner = [each.rpartition(".")[2] for each in SPACES if each.rpartition(".")[0] == place]
    stub.imports |= {f"from jaxvjp.{place} import {each} as {each}" for each in inner}
    for name, row in rows.items():
        _, form, _, doc = rows.get(row.answer, row)
        if form.startswith("from "):
            stub.imports.add(f"{form} import {name} as {name}")
        else:
            stub.lines.append(f'def {name}{form}:\n    """{doc}"""' if form.startswith("(") else f"{name}{form}")
    return f"{place.replace('.', '/')}{'/__init__' if inner else ''}.pyi", str(stub)


def texts() -> dict[Path, str]:
    """The text of each stub, by its path."""
    results: dict[str, Any] = {}
    found = {f"{path}.pyi": module(path, place, results) for path, place in PLACES.items()}
    found |= {f"nn/modules/{file}.pyi": layers(file) for file in ROWS}
    found |= dict(map(namespace, SPACES))
    found["tensor/methods.pyi"] = methods(results)
    stub = Stub([], {})
    for name, each in sorted(results.items()):
        stub.lines += [f"class {name}(NamedTuple):", *[f"    {field}: {stub.typed(Tensor)}" for field in each._fields]]
    found["return_types.pyi"] = str(stub)
    return {ROOT / path: text for path, text in found.items()}


if __name__ == "__main__":
    for path, text in texts().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path)
