"""A test file loaded statement by statement: what fails is left out, and the rest of the file stays.

Each statement of the file and of its classes is put in a `try`. Where it fails, say for a name that jaxvjp lacks, the
names it would have bound are noted with the error, and a test among them becomes one that raises this error.

Files of other accelerators say `npu` where PyTorch's say `cuda`. A device "npu" becomes "cpu", `x.npu()` becomes
`x.cpu()`, and `torch.npu`, `torch_npu.npu` and `x.is_npu` become those of `cuda`, which is not there. What they import
from `torch_npu.testing` is what PyTorch's import from its own test internals.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

LOST, LOST_TEST, OPTIONAL = "__lost__", "__lost_test__", "__optional__"
DROPPED = ("torch_npu", "__future__")
NPU_TESTING, TESTING = "torch_npu.testing", "torch.testing._internal.common_utils"


def load(path: Path, name: str) -> tuple[ModuleType, dict[str, BaseException]]:
    """The module that the file is, and the names that it lacks with the error for which they were left out."""
    source = ast.parse(path.read_bytes(), str(path))
    tree = ast.fix_missing_locations(_Statements().visit(_Devices().visit(source)))
    module = ModuleType(name)
    lost: dict[str, BaseException] = {}
    told = {LOST: lost.setdefault, LOST_TEST: _losing(lost), OPTIONAL: lambda owner, name: getattr(owner, name, None)}
    vars(module).update(__file__=str(path), **told)
    exec(compile(tree, str(path), "exec", dont_inherit=True), vars(module))
    return module, lost


def _losing(lost: dict[str, BaseException]) -> Callable[[str, BaseException], Any]:
    def losing(name: str, error: BaseException) -> Any:
        """Stands for a test whose definition failed, most often in a decorator."""

        def test(self: Any, *args: Any, **kwargs: Any) -> None:
            raise error

        test.__name__ = test.__qualname__ = name
        return test

    return losing


class _Devices(ast.NodeTransformer):
    """Reads `npu`."""

    def visit_Compare(self, node: ast.Compare) -> Any:
        return node  # `device_type == "npu"` asks for what another device does

    def visit_Constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, str) and node.value.partition(":")[0] in ("npu", "cuda"):
            return ast.copy_location(ast.Constant("cpu"), node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self.generic_visit(node)
        if node.attr == "npu":
            node.attr = "cuda" if isinstance(node.value, ast.Name) and node.value.id == "torch" else "cpu"
        elif node.attr == "is_npu":
            node.attr = "is_cuda"
        return node

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id == "torch_npu":
            node.id = "torch"
        return node


class _Statements(ast.NodeTransformer):
    """Puts each statement of a module and of its classes in a `try`; takes imports apart."""

    def visit_Module(self, node: ast.Module) -> Any:
        node.body = self._kept(node.body)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        node.body = self._kept(node.body) or [ast.Pass()]
        return node

    def _kept(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [self._guarded(self.visit(part)) for statement in body for part in _parts(statement)]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.decorator_list = [_Dtypes().visit(each) if _is_dtypes(each) else each for each in node.decorator_list]
        return node

    def _guarded(self, node: ast.stmt) -> ast.stmt:
        is_test = isinstance(node, ast.FunctionDef) and node.name.startswith("test")
        call = f"{node.name} = {LOST_TEST}({node.name!r}, error)" if is_test else ""  # type: ignore[attr-defined]
        body = ast.parse(call or "\n".join(f"{LOST}({name!r}, error)" for name in _bound(node)) or "pass").body
        kinds = ast.Name("Exception", ast.Load())
        guarded = ast.Try([node], [ast.ExceptHandler(kinds, "error", body)], [], [])
        for each in [guarded, *ast.walk(guarded.handlers[0])]:
            ast.copy_location(each, node)
        return guarded


def _parts(statement: ast.stmt) -> list[ast.stmt]:
    """The statement, or each name of an import by itself."""
    if isinstance(statement, ast.ImportFrom):
        if (statement.module or "").startswith(NPU_TESTING):
            statement.module = TESTING
        if (statement.module or "").partition(".")[0] in DROPPED:
            return []
        return [
            ast.copy_location(ast.ImportFrom(statement.module, [name], statement.level), statement)
            for name in statement.names
        ]
    if isinstance(statement, ast.Import):
        kept = [name for name in statement.names if name.name.partition(".")[0] not in DROPPED]
        return [ast.copy_location(ast.Import([each]), statement) for each in kept]
    return [statement]


def _bound(node: ast.stmt) -> list[str]:
    """The names that a statement binds."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [name.asname or name.name.partition(".")[0] for name in node.names]
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        return [node.name]
    stored = [each for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]
    return [each.id for each in stored]


def _is_dtypes(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and "dtypes" in ast.unparse(node.func).lower()


class _Dtypes(ast.NodeTransformer):
    """A type that jaxvjp lacks is None in the list of those for which a test is run, and is passed over there."""

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        if isinstance(node.value, ast.Name) and node.value.id == "torch":
            name = ast.Constant(node.attr)
            return ast.copy_location(ast.Call(ast.Name(OPTIONAL, ast.Load()), [node.value, name], []), node)
        return node
