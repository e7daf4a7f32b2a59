"""What docstrings and comments refer to in backquotes, such as `engine.walk_back`, is there."""

from __future__ import annotations

import ast
import inspect
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import jaxvjp
from jaxvjp.ops.op import Op

PACKAGE = Path(jaxvjp.__file__).parent
DOTTED = re.compile(r"`([a-z_]+(?:\.\w+)+)(?:\(.*?\))?`")
COLUMN = re.compile(r"column\s+`(\w+)`")
USERS = frozenset(
    [
        "data",
        "device",
        "device_mesh",
        "distributed",
        "dtypes",
        "functional",
        "grad_mode",
        "layer",
        "linalg",
        "loss",
        "losses",
        "module",
        "modules",
        "nn",
        "multiprocessing",
        "optimizer",
        "profiler",
        "random",
        "safetensors",
        "signal",
        "source",
        "special",
        "tools",
        "types",
        "utils",
        "values",
    ]
)
"""First parts that are modules of torch's or Python's as well, or a reader's variables."""


def names_in(tree: ast.AST) -> set[str]:
    """All that a module or a class defines, also what its methods set on `self`."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            found.add(node.value)  # a slot, a row's name
        elif isinstance(node, ast.keyword) and node.arg:
            found.add(node.arg)
    return found


@cache
def modules() -> dict[str, list[tuple[Path, set[str]]]]:
    """By its last name, the files of a module or package with what they define."""
    found: dict[str, list[tuple[Path, set[str]]]] = defaultdict(list)
    for path in PACKAGE.rglob("*.py"):
        name = path.parent.name if path.stem == "__init__" else path.stem
        names = names_in(ast.parse(path.read_text(encoding="utf-8")))
        if path.stem == "__init__":
            names |= {each.stem for each in path.parent.iterdir() if each.suffix == ".py" or each.is_dir()}
        found[name].append((path, names))
    return found


def is_there(reference: str) -> bool:
    """Whether what a dotted name says is defined where it says; True where its first part is no module of ours."""
    first, *rest = reference.removeprefix("jaxvjp.").split(".")
    homes = modules().get(first, [])
    if not homes or not rest or first in USERS or rest[0].startswith("__") or rest[-1] in ("pxd", "txt"):
        return True
    within = any(rest[0] in names and path.stem == "__init__" for path, names in homes)
    if len(rest) > 1 and within and rest[0] in modules():
        return is_there(".".join(rest))
    return any(set(rest) <= names for _, names in homes)


def references(text: str) -> list[str]:
    return [each for each in DOTTED.findall(text) if not is_there(each)]


def test_what_the_sources_refer_to_is_there():
    columns = {*inspect.signature(Op.__init__).parameters, *vars(Op)}
    gone = {}
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        found = references(text) + [each for each in COLUMN.findall(text) if each not in columns]
        if found:
            gone[str(path.relative_to(PACKAGE))] = found
    assert not gone


def test_a_reference_to_what_is_gone_is_found():
    assert references("see `engine.walk_forth` and `core.derive.engine.walk_back`, `tensor.gone`, `x.grad`") == [
        "engine.walk_forth",
        "tensor.gone",
    ]
