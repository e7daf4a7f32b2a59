"""Finds torch's names in a script by parsing it, without running it.

A name is followed through the script's imports (`import torch.nn.functional as F`) and plain assignments (`relu =
torch.relu`). A variable that is assigned an object of a class of torch's, or of the script's own subclass of one, has
that class's methods (`optimizer = torch.optim.Adam(...)`). Other types are not known, so every attribute with the name
of a method of torch's `Tensor` counts as one, except on other imports, `self` and literals, and except names that other
objects often have (`values` of a dict, `name` of a `grad_fn`, `indices` of what `topk` gives).
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from jaxvjp.tools.scripts.names import (
    TENSOR,
    covers,
    is_module,
    lacks,
    nearest,
    ours,
    stand_in_kind,
    takes,
    torch_names,
)

Literal = ast.Constant | ast.JoinedStr | ast.List | ast.Tuple | ast.Dict | ast.Set
NOT_TENSORS = {"self", "cls", "ctx"}
OTHERS_TOO = {"name", "indices", *[name for kind in (str, list, dict, set, int, float) for name in dir(kind)]}
"""Attributes that builtin types and others have, too."""


class Use(NamedTuple):
    """A name of torch's that a script uses: its place (a module, class or function), and the lines.

    Of a function it is the name of an argument, "dim=".
    """

    place: str
    name: str
    lines: tuple[int, ...]

    @property
    def qualified(self) -> str:
        return f"{self.place}.{self.name}" if self.name else self.place

    @property
    def is_torchs(self) -> bool:
        """Whether torch has such a name."""
        return self.name in torch_names().modules.get(self.place, ()) or is_module(self.qualified)

    @property
    def covered(self) -> bool:
        if self.name.endswith("="):
            return takes(self.place, self.name.removesuffix("="))
        special = self.name.startswith("__")
        if (special or self.place != TENSOR) and isinstance(kind := ours(self.place), type):
            return hasattr(kind, self.name)
        if stand_in_kind(self.place, self.name) not in (None, "error"):
            return True
        return covers(self.place, self.name) or self.qualified in ("torch", "torch.__version__")

    @property
    def verdict(self) -> str:
        """Whether it is covered and, if not, the nearest name that is."""
        kind = stand_in_kind(self.place, self.name)
        if self.covered:
            return f"a stand-in: {kind}" if kind else "yes"
        if kind == "error":
            return "NO: a stand-in, an error when it is used"
        if self.name.endswith("="):
            return "NO: there is no such argument here"
        if needed := lacks(self.place):
            return f"NO: {needed}"
        known = torch_names().modules.get(self.place) and self.name[:1] != "_"  # private names are mostly not listed
        if not self.is_torchs and known:
            return "NO: torch has no such name either, that we know of"
        near = nearest(self.place, self.name) if self.place in torch_names().modules else None
        return (
            "NO" + (" if this is a tensor's" if self.place == TENSOR else "") + (f"; nearest: {near}" if near else "")
        )


def names_used(source: str, path: str = "<script>") -> list[Use]:
    """Every name of torch's in a script, by first use; SyntaxError where it is not Python."""
    reader = _Reader()
    try:
        tree = ast.parse(source, path)
    except ValueError as error:  # a null byte, in Python 3.11
        raise SyntaxError(str(error), (path, None, None, None)) from None
    reader.visit(tree)
    return [Use(place, name, tuple(sorted(lines))) for (place, name), lines in reader.found.items()]


class _Reader(ast.NodeVisitor):
    def __init__(self) -> None:
        self.meanings: dict[str, str] = {}
        """What the script's names stand for: "torch.nn.functional", or another imported module."""
        self.found: dict[tuple[str, str], set[int]] = {}
        self.objects: dict[str, str] = {}
        """The class of torch's that a variable of the script has an object of."""
        self.subclasses: dict[str, str] = {}
        """The class of torch's that a class of the script is derived from."""
        self.own: set[str] = set()
        """Variables with objects of the script's own classes, which have more methods."""

    def use(self, dotted: str, line: int) -> None:
        """Notes a dotted name of torch's, split into module (or `torch.Tensor`) and name."""
        place, *rest = dotted.split(".")
        while rest and is_module(f"{place}.{rest[0]}") and not (len(rest) == 1 and covers(place, rest[0])):
            place += "." + rest.pop(0)
        if len(rest) > 1 and f"{place}.{rest[0]}" == TENSOR:
            place, rest = TENSOR, rest[1:]
        if rest or not covers(*place.rpartition(".")[::2]):
            self.found.setdefault((place, rest[0]) if rest else _split(place), set()).add(line)

    def visit_Import(self, node: ast.Import) -> None:
        for each in node.names:
            whole, first = each.name, each.name.partition(".")[0]
            self.meanings[each.asname or first] = whole if each.asname else first
            if first == "torch" and whole != "torch":
                self.found.setdefault(_split(whole), set()).add(node.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        torchs = module.partition(".")[0] == "torch" and not node.level
        for each in node.names:
            if each.name == "*":
                if torchs:
                    self.meanings.update({name: f"{module}.{name}" for name in torch_names().modules.get(module, ())})
                continue
            self.meanings[each.asname or each.name] = f"{module}.{each.name}"
            if torchs:
                self.found.setdefault((module, each.name), set()).add(node.lineno)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        meaning = self.meaning(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.meanings.pop(target.id, None)
                self.objects.pop(target.id, None)
                self.own.discard(target.id)
                if isinstance(node.value, ast.Call):
                    self._made(target.id, node.value.func)
                if meaning is not None:
                    self.meanings[target.id] = meaning

    def _made(self, variable: str, maker: ast.expr) -> None:
        """Notes that a variable has what a call gives, if that is an object of a known class."""
        if isinstance(maker, ast.Name) and maker.id in self.subclasses:
            self.objects[variable] = self.subclasses[maker.id]
            self.own.add(variable)
        elif (kind := self.meaning(maker) or "").startswith("torch.") and isinstance(ours(kind), type):
            self.objects[variable] = kind

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        bases = [self.subclasses.get(base.id, "") if isinstance(base, ast.Name) else "" for base in node.bases]
        bases += [self.meaning(base) or "" for base in node.bases]
        kind = next((base for base in bases if base.startswith("torch.") and isinstance(ours(base), type)), None)
        if kind is not None:
            self.subclasses[node.name] = kind
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        meaning = self.meaning(node.func) or ""
        if meaning.startswith("torch.") and ours(meaning) is not None:
            for keyword in node.keywords:
                if keyword.arg and not takes(meaning, keyword.arg):
                    self.found.setdefault((meaning, f"{keyword.arg}="), set()).add(node.lineno)
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            kind, method = self.objects.get(node.func.value.id), node.func.attr
            if kind is not None and not (node.func.value.id in self.own and not hasattr(ours(kind), method)):
                self.found.setdefault((kind, method), set()).add(node.lineno)
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        meaning = self.meanings.get(node.id, "")
        if meaning.startswith("torch.") and isinstance(node.ctx, ast.Load):
            self.use(meaning, node.lineno)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        meaning = self.meaning(node)
        if meaning is not None:
            if meaning.startswith("torch."):
                self.use(meaning, node.lineno)
            return
        self.generic_visit(node)
        not_a_tensor = isinstance(node.value, Literal) or (
            isinstance(node.value, ast.Name) and (node.value.id in NOT_TENSORS or node.value.id in self.objects)
        )
        if not not_a_tensor and node.attr not in OTHERS_TOO and node.attr in torch_names().modules[TENSOR]:
            self.found.setdefault((TENSOR, node.attr), set()).add(node.lineno)

    def meaning(self, node: ast.expr) -> str | None:
        """The dotted name that a name or a chain of attributes stands for; None unless it starts at an import."""
        if isinstance(node, ast.Name):
            return self.meanings.get(node.id)
        if isinstance(node, ast.Attribute):
            before = self.meaning(node.value)
            return None if before is None else f"{before}.{node.attr}"
        return None


def _split(module: str) -> tuple[str, str]:
    place, _, name = module.rpartition(".")
    return place, name
