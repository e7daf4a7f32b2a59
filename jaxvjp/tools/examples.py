"""The examples as objects: find them, run them, compare their answers.

An example is a file of `examples/` with the names of the documents that it is from (`DOCUMENTS`), the gradients in it
(`NUMBERS`), and three functions that compute these: `imperative` by `backward`, `functional` by `jax.vjp`, and
`jacobian`, which returns v and J, whose product vᵀJ NumPy computes. `OUTPUTS` names what a gradient is of, where that
is not y. A document has a page in `examples/documents`, whose head is the question that it answers.
"""

from __future__ import annotations

import ast
import importlib.util
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from jaxvjp.explain import terminal
from jaxvjp.testing import assert_close

Array = np.ndarray[Any, Any]
TOLERANCE = 1e-5
RESULTS = {"NUMBERS", "DOCUMENTS", "OUTPUTS"}


class Answer(NamedTuple):
    """One gradient of an example, from four sources; `output` is what it is the gradient of."""

    name: str
    output: str
    backward: Array
    vjp: Array
    v: Array
    jacobian: Array
    number: Array
    tolerance: float

    @property
    def product(self) -> Array:
        """vᵀJ: v contracted with the first dimensions of J."""
        return np.tensordot(self.v, self.jacobian, self.v.ndim)

    @property
    def agrees(self) -> bool:
        """Whether `backward`, `jax.vjp` and vᵀJ all equal the document's number."""
        try:
            for each in (self.backward, self.vjp, self.product):
                assert_close(each, self.number, rtol=self.tolerance, atol=1e-5)
        except AssertionError:
            return False
        return True

    @property
    def matrices(self) -> str:
        """J, with a row for each element of the output and a column for each of x, v, and their product, as text."""
        y_shape, x_shape = self.v.shape, self.jacobian.shape[self.v.ndim :]
        x = self.name if len(self.name) == 1 else "x"  # the leaf, or what was asked: "v = [1, 0]"
        rows, columns = terminal.labels(self.output, y_shape), terminal.labels(x, x_shape)
        return "\n".join(
            [
                f"J, a row for each number in {self.output} ({len(rows)}), a column for each in {x} ({len(columns)}):",
                terminal.matrix("J", self.jacobian.reshape(len(rows), len(columns)), rows, columns),
                terminal.matrix("vᵀ", self.v.reshape(1, -1), [""], rows),
                terminal.matrix("vᵀJ", self.product.reshape(1, -1), [""], columns),
            ]
        )


@dataclass(frozen=True)
class ExampleFile:
    """One file of `examples/`: its name on the command line, its docstring, its functions."""

    name: str
    path: Path

    @property
    def number(self) -> int:
        """Its place in the order in which to read them."""
        return int(self.path.stem.partition("_")[0])

    @property
    def title(self) -> str:
        """The first line of the docstring."""
        return self._docstring.partition("\n")[0]

    @property
    def text(self) -> str:
        """The docstring without its first line."""
        return self._docstring.partition("\n")[2].strip()

    @property
    def _docstring(self) -> str:
        return ast.get_docstring(ast.parse(self.path.read_text(encoding="utf-8"))) or ""

    def source(self, function: str) -> str:
        """The source of one of the functions, with the functions and constants of the file that it uses."""
        return source(self.path, function)

    @cached_property
    def module(self) -> ModuleType:
        """The file, imported."""
        spec = importlib.util.spec_from_file_location(f"jaxvjp_example_{self.name}", self.path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


class Example(ExampleFile):
    """One of the examples that are from the documents."""

    def run(self) -> Run:
        """Runs its three functions."""
        module = self.module
        backward, vjp, pairs = module.imperative(), module.functional(), module.jacobian()
        tolerance = getattr(module, "TOLERANCE", TOLERANCE)
        outputs, answers = getattr(module, "OUTPUTS", {}), []
        for name, number in module.NUMBERS.items():
            v, matrix = pairs[name]
            given, pulled, output = _array(backward[name]), _array(vjp[name]), outputs.get(name, "y")
            answers.append(Answer(name, output, given, pulled, _array(v), _array(matrix), _array(number), tolerance))
        return Run(self, module, tuple(answers))


@dataclass(frozen=True)
class Document:
    """One of the documents that examples are from: its name, and its page in Markdown."""

    name: str
    path: Path

    @property
    def question(self) -> str:
        """The head of its page: the question that it answers."""
        return self.path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")

    @property
    def title(self) -> str:
        """What it is called, and what kind of a text it is: the first paragraph of its page."""
        return " ".join(self.path.read_text(encoding="utf-8").split("\n\n")[1].split())


@dataclass(frozen=True)
class Run:
    """The results of running an example."""

    example: Example
    module: ModuleType
    answers: tuple[Answer, ...]

    @property
    def documents(self) -> tuple[Document, ...]:
        """The documents that it is from."""
        return tuple(documents()[each] for each in self.module.DOCUMENTS)

    @property
    def agrees(self) -> bool:
        return all(each.agrees for each in self.answers)


def source(path: Path, function: str) -> str:
    """The source of a function, after the top-level statements that it uses, without imports and results."""
    text = path.read_text(encoding="utf-8")
    statements = [each for each in ast.parse(text).body if not isinstance(each, ast.Import | ast.ImportFrom)]
    needed = {function}
    shown: set[ast.stmt] = set()
    while True:
        found = {statement for statement in statements if _defined(statement) & needed} - shown
        if not found:
            break
        shown |= found
        needed |= {name.id for each in found for name in ast.walk(each) if isinstance(name, ast.Name)} - RESULTS
    lines = text.splitlines()
    parts = []
    for each in statements:
        if each in shown:
            first = min([each.lineno, *[decorator.lineno for decorator in getattr(each, "decorator_list", ())]])
            parts.append("\n".join(lines[first - 1 : each.end_lineno]))
    return "\n\n".join(parts)


def _defined(statement: ast.stmt) -> set[str]:
    """The names that a top-level statement defines, or completes, as `square.defvjp(...)` does `square`."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        targets = [statement.value.func]
    return {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}


def _array(value: Any) -> Array:
    return np.asarray(value.detach() if hasattr(value, "detach") else value, dtype=np.float64)


def folder() -> Path:
    """Where the examples are: inside an installed package, beside it in a checkout."""
    package = Path(__file__).parent.parent
    installed = package / "examples"
    return installed if installed.is_dir() else package.parent / "examples"


def examples() -> dict[str, Example]:
    """Every example by its name, in the order in which to read them."""
    found = [Example(path.stem.partition("_")[2], path) for path in sorted(folder().glob("[0-9]*.py"))]
    return {each.name: each for each in found}


def documents() -> dict[str, Document]:
    """Every document by its name, in order."""
    found = [Document(path.stem.partition("_")[2], path) for path in sorted(folder().glob("documents/[0-9]*.md"))]
    return {each.name: each for each in found}
