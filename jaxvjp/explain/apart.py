"""Runs printed programs in another process, which has JAX and nothing of this package (`run_apart`).

The process is started once and runs one program after the other, each in a fresh namespace and with JAX's settings as
they are at first. This file is also its program, so it imports nothing of this package.
"""

from __future__ import annotations

import ast
import atexit
import os
import pickle
import subprocess
import sys
import threading
import traceback
from typing import Any

SETTINGS = ("jax_enable_x64", "jax_default_matmul_precision")
"""JAX's settings that printed programs change."""
_lock = threading.Lock()
_started: list[subprocess.Popen[bytes]] = []


def run_apart(source: str, wanted: list[str]) -> list[dict[str, Any]]:
    """The values of the expressions `wanted` after `source` has run: as it is, and with each function under `jax.jit`.

    RuntimeError, with the traceback, if it does not run there.
    """
    with _lock:
        if not _started or _started[0].poll() is not None:
            quiet = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
            command = [sys.executable, "-P", __file__]
            pipe = subprocess.PIPE
            process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=quiet, start_new_session=True)
            _started[:] = [process]
            atexit.register(_ended, _started[0])
        stdin, stdout = _started[0].stdin, _started[0].stdout
        assert stdin is not None
        assert stdout is not None
        pickle.dump((source, wanted), stdin)
        stdin.flush()
        answer = pickle.load(stdout)
    if isinstance(answer, str):
        raise RuntimeError(f"the printed program does not run by itself:\n{answer}")
    found: list[dict[str, Any]] = answer
    return found


def _ended(process: subprocess.Popen[bytes]) -> None:
    for each in (process.stdin, process.stdout):
        if each is not None:
            each.close()
    process.wait()


def staged(source: str) -> str:
    """The program with each of its functions under `jax.jit`; one with a derivative of its own after that is known."""
    tree = ast.parse(source)
    body: list[ast.stmt] = []
    for each in tree.body:
        if isinstance(each, ast.FunctionDef) and not each.decorator_list:
            each.decorator_list = [ast.parse("jax.jit", mode="eval").body]
        body.append(each)
        if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call):
            method = each.value.func
            if isinstance(method, ast.Attribute) and method.attr == "defvjp" and isinstance(method.value, ast.Name):
                body += ast.parse(f"{method.value.id} = jax.jit({method.value.id})").body
    tree.body = body
    return ast.unparse(ast.fix_missing_locations(tree))


def _serve() -> None:
    """Reads programs from standard input and writes what they compute to standard output, until that ends."""
    import jax
    import numpy as np

    settings = {each: getattr(jax.config, each) for each in SETTINGS}
    answers, sys.stdout = sys.stdout.buffer, sys.stderr
    while True:
        try:
            source, wanted = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer: Any = []
            for text in (source, staged(source)):
                for key, value in settings.items():
                    jax.config.update(key, value)  # type: ignore[no-untyped-call]
                namespace: dict[str, Any] = {"__name__": "explained"}
                exec(compile(text, "<explained>", "exec"), namespace)
                values = [eval(each, namespace) for each in wanted]
                arrays = [None if each is None else np.asarray(each) for each in values]
                answer.append(dict(zip(wanted, arrays, strict=True)))
        except Exception:
            answer = f"{traceback.format_exc()}\n{source}"
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    _serve()
