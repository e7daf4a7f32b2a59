"""Runs a script's file as the main program; errors of jaxvjp that it catches have torch's text.

Most of jaxvjp's errors have torch's sentence as their first line, and then advice. A script that prints a caught error
would print the advice, too. So `except` moves it to the exception's notes, which a traceback still shows. Where torch's
own text has several lines, all stay.
"""

from __future__ import annotations

import ast
import atexit
import io
import logging
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

SPAWNED = "jaxvjp.tools.scripts.spawned"
SCRIPT = "JAXVJP_SCRIPT"
"""The environment variable by which `spawned` finds the script."""
OF_TORCH = re.compile(
    r"\s|[\w.()]+:|(unparametrized|returned) \w+:|Original Traceback|This typically happens|WeightsUnpickler error"
)
"""How second lines begin that are torch's; advice is a sentence of its own."""


def quiet_jax() -> None:
    """Has JAX log warnings only, unless somebody chose another level: a script that logs all means its own lines.

    For processes that were started to run a script: this lasts until they end, where JAX still logs.
    """
    for each in map(logging.getLogger, ("jax", "jaxlib")):
        if each.level == logging.NOTSET:
            each.setLevel(logging.WARNING)


@contextmanager
def started_as(script: Path, arguments: Sequence[str] = ()) -> Iterator[None]:
    """A context with the `sys.argv` and the `sys.path` of `python script arguments`.

    The script's folder is in place of that of `python -m jaxvjp`. Where this package is in no other folder of
    `sys.path`, its folder becomes the last one: processes that the script starts import the package from there.
    """
    argv, path = sys.argv, sys.path[:]
    sys.argv = [str(script), *arguments]
    if not sys.flags.safe_path:
        sys.path[0] = str(script.resolve().parent)
    ours = str(Path(__file__).parents[3])
    sys.path += [] if ours in sys.path else [ours]
    try:
        yield
    finally:
        sys.argv, sys.path[:] = argv, path


@contextmanager
def to_standard_error() -> Iterator[None]:
    """A context in which a script's output goes to standard error, by a stream of its own: a logger that replaces
    `sys.stdout` may close it."""
    try:
        own: Any = open(os.dup(sys.stderr.fileno()), "w", 1, sys.stderr.encoding, sys.stderr.errors)  # noqa: SIM115
        atexit.register(own.close)  # a handler of the script's may log to it until then
    except (AttributeError, OSError, ValueError):  # no file
        own = sys.stderr
    with redirect_stdout(own), redirect_stderr(own):
        yield


def run_as_main(path: str) -> dict[str, Any]:
    """Runs the file as `python path` does, in a module named `__main__`; returns what it defined."""
    quiet_jax()
    code = _compiled(path)
    module, before = ModuleType("__main__"), sys.modules["__main__"]
    # By the name in `__spec__` a process that the script starts finds its main module, which runs the script on jaxvjp.
    os.environ[SCRIPT] = os.path.abspath(path)
    vars(module).update(__file__=path, __builtins__=__builtins__, __cached__=None, __spec__=ModuleSpec(SPAWNED, None))
    sys.modules["__main__"] = module
    try:
        exec(code, vars(module))
    finally:
        sys.modules["__main__"] = before
        del os.environ[SCRIPT]
    return vars(module)


def namespace_of(path: str, name: str) -> dict[str, Any]:
    """What the file defines when it is run under that name."""
    namespace: dict[str, Any] = {"__name__": name, "__file__": path, "__builtins__": __builtins__}
    exec(_compiled(path), namespace)
    return namespace


def _compiled(path: str) -> CodeType:
    with io.open_code(path) as file:  # as `runpy` does
        tree = ast.parse(file.read(), path)
    return compile(ast.fix_missing_locations(_Handlers().visit(tree)), path, "exec", dont_inherit=True)


def says_as_torch(error: BaseException) -> None:
    """Moves the advice in an exception of jaxvjp from its text to its notes."""
    raised = error.__traceback__
    while raised is not None and raised.tb_next is not None:
        raised = raised.tb_next
    if raised is None or str(raised.tb_frame.f_globals.get("__name__")).partition(".")[0] != "jaxvjp":
        return  # raised by the user or by JAX
    if error.args and isinstance(error.args[0], str):
        sentence, _, advice = error.args[0].partition("\n")
        if sentence and advice and not sentence.endswith(":") and not OF_TORCH.match(advice):
            error.args = (sentence, *error.args[1:])
            error.add_note(advice)


class _Handlers(ast.NodeTransformer):
    """Inserts `says_as_torch(error)` at the start of every `except ... as error:`."""

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> Any:
        self.generic_visit(node)
        if node.name:
            (call,) = ast.parse(f"__import__({__name__!r}, fromlist=['']).says_as_torch({node.name})").body
            node.body.insert(0, ast.copy_location(call, node))
            for each in ast.walk(call):
                ast.copy_location(each, node)
        return node
