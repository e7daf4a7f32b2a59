"""One side of a comparison: runs a program, and writes down the gradients of each backward pass.

It imports nothing of jaxvjp. Run as a script,

    python recorder.py RECORDS MODULE FOLDER SCRIPT [ARGUMENT ...]

runs SCRIPT on MODULE, "torch" or "jaxvjp" (found in FOLDER), and appends records, a pickle each, to the file RECORDS:
`ready`, a `call` for each `backward` or `grad` of the script, and `end`. The records survive a crash of the process.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import io
import os
import pickle
import random
import re
import runpy
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from importlib.machinery import SourceFileLoader
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import numpy as np

MOST_BYTES = 1 << 28
"""At most this many bytes of gradients are recorded in a run; later ones are recorded without their numbers."""
MOST_STEPS = 1_000_000
"""At most this many steps of a graph are searched for leaves."""
DEPTH = 6
"""How many levels of lists, dicts and objects are searched for a leaf's name: `net.body.layers[0].weight` has four."""
DOUBLE = "JAXVJP_COMPARE_IN_DOUBLE"
"""The environment variable that has a script compute in double precision, where it says nothing or float32."""

Write = Callable[[dict[str, Any]], None]
Values = tuple[tuple[int, ...], str, Any]
"""Shape, dtype, and numbers, or None."""


class Recorder:
    """In its `with` block, passes a record of every `backward` and `grad` that user code calls on `module` to `write`.

    A record has the `kind` of call, its `line` (of another file than the `script` with that file's name), the `leaves`
    (name, shape, dtype and numbers of each gradient), or the `error`. `overhead` counts the seconds that the recording
    itself took.
    """

    def __init__(self, module: Any, write: Write, script: str = "") -> None:
        self.overhead, self.script = 0.0, script
        self._write = write
        self._within = threading.local()
        self._alone = _alone(module)
        self._bytes = 0
        self._places = [(module.Tensor, "backward"), (module.autograd, "backward"), (module.autograd, "grad")]
        self._originals: list[Any] = []

    def __enter__(self) -> Recorder:
        self._originals = [getattr(owner, name) for owner, name in self._places]
        for (owner, name), original in zip(self._places, self._originals, strict=True):
            setattr(owner, name, self._recorded(name, original))
        return self

    def __exit__(self, *_: object) -> None:
        for (owner, name), original in zip(self._places, self._originals, strict=True):
            setattr(owner, name, original)

    def _recorded(self, kind: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(*arguments: Any, **named: Any) -> Any:
            frame = sys._getframe(1)
            if getattr(self._within, "call", False) or _library(frame):
                return original(*arguments, **named)
            self._within.call = True
            record = {"event": "call", "kind": kind, "line": _line(frame, frame.f_lineno, self.script)}
            leaves: list[Any] = []
            names: list[str] = []
            try:
                with (
                    self._uncounted(),
                    contextlib.suppress(Exception),
                ):  # an error in the recorder must not stop the user's program
                    leaves = _leaves(original, arguments, named, self._alone)
                    names = _names(leaves, frame)
                try:
                    result = original(*arguments, **named)
                except Exception as error:
                    self._write({**record, "error": described(error, self.script)})
                    raise
                with self._uncounted(), warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # reading the `grad` of a non-leaf warns
                    gradients = [leaf.grad for leaf in leaves] if kind == "backward" else result
                    self._write({**record, "leaves": list(map(self._encoded, names, gradients))})
                return result
            finally:
                self._within.call = False

        return call

    @contextlib.contextmanager
    def _uncounted(self) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.overhead += time.perf_counter() - start

    def _encoded(self, name: str, tensor: Any) -> tuple[str, Values | None]:
        if tensor is None:
            return name, None
        try:
            shape, own, array = encode(tensor)
        except Exception:  # for example, an example of a `vmap` has no numbers
            return name, (tuple(tensor.shape), str(tensor.dtype), None)
        self._bytes += array.nbytes
        return name, (shape, own, array if self._bytes <= MOST_BYTES else None)


def encode(tensor: Any) -> tuple[tuple[int, ...], str, np.ndarray[Any, Any]]:
    """A tensor of either side as shape, torch's dtype name and a NumPy array."""
    plain = tensor.detach()
    own = str(plain.dtype).removeprefix("torch.")
    if own == "bfloat16":  # NumPy has no such type
        plain = plain.float()
    for into in ("cpu", "to_dense", "resolve_conj", "resolve_neg"):
        if hasattr(type(plain), into):
            plain = getattr(plain, into)()
    return tuple(tensor.shape), own, np.array(plain.numpy(), order="C")


def _line(frame: FrameType, number: int, script: str) -> int | str:
    """A line of a script; of another file `12 of model.py`."""
    path = frame.f_code.co_filename
    alone = not script or os.path.realpath(path) == os.path.realpath(script)
    return number if alone else f"{number} of {os.path.basename(path)}"


def described(error: BaseException, script: str = "") -> dict[str, Any]:
    """An exception as its class, its text, and the line of user code that it passed through last.

    `own` says whether code of the library raised it, other than for a file; `unrun` that code could not be loaded.
    """
    line: int | str | None = None
    own, step = False, error.__traceback__
    while step is not None:
        if _of_user(step.tb_frame):
            line, own = _line(step.tb_frame, step.tb_lineno, script), False
        own = own or (line is not None and _library(step.tb_frame))
        step = step.tb_next
    own, unrun = own and not isinstance(error, OSError), isinstance(error, ImportError | SyntaxError)
    return {"kind": type(error).__name__, "text": str(error), "line": line, "own": own, "unrun": unrun}


def _of_user(frame: FrameType) -> bool:
    """Whether a frame runs user code: no library's, and not the code that starts the script."""
    starts = frame.f_globals is globals() or frame.f_globals.get("__name__") in ("runpy", "ast")
    return not starts and not _library(frame)


def _library(frame: FrameType) -> bool:
    """Whether a frame is torch's or jaxvjp's own."""
    name = str(frame.f_globals.get("__name__", ""))
    return name.partition(".")[0] in ("torch", "jaxvjp")


def _alone(module: Any) -> int:
    """The reference count of a leaf that only torch's graph holds; jaxvjp's graph then gives None for it."""
    with module.enable_grad():
        ((step, _),) = module.ones(1, requires_grad=True).sum().grad_fn.next_functions
    leaf = step.variable
    return 0 if leaf is None else sys.getrefcount(leaf)


def _leaves(original: Callable[..., Any], arguments: Any, named: Any, alone: int) -> list[Any]:
    """The tensors that a call gives gradients to: its `inputs`, or the leaves of the graph behind its roots.

    Leaves that user code does not hold are left out: nobody can read their gradient.
    """
    try:
        bound = inspect.signature(original).bind(*arguments, **named).arguments
    except TypeError:
        return []  # the call itself will raise
    inputs, roots = bound.get("inputs"), arguments[0] if arguments else bound.get("tensors")
    if inputs is not None:
        return list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    found: dict[int, Any] = {}
    stack: list[Any] = []
    seen: set[Any] = set()
    steps = 0
    for root in list(roots) if isinstance(roots, list | tuple) else [roots]:
        if (step := getattr(root, "grad_fn", None)) is not None:
            stack.append(step)
        elif getattr(root, "requires_grad", False):
            found[id(root)] = root
    stack.reverse()
    while stack and steps < MOST_STEPS:
        step = stack.pop()
        if step is None or step in seen:
            continue
        seen.add(step)
        steps += 1
        if "AccumulateGrad" in step.name():
            leaf = step.variable
            if leaf is not None and sys.getrefcount(leaf) > alone:
                found[id(leaf)] = leaf
        else:
            stack += [following for following, _ in reversed(step.next_functions)]
    return list(found.values())


def _names(tensors: list[Any], frame: FrameType) -> list[str]:
    """The names of these tensors in user code: a variable, an entry or an attribute; else "leaf 1" and so on."""
    names: dict[int, str] = {}
    wanted = {id(tensor) for tensor in tensors}
    level = _variables(frame)
    seen: set[int] = set()
    for _ in range(DEPTH + 1):
        for name, value in level:
            if id(value) in wanted:
                names.setdefault(id(value), name)
        if len(names) == len(wanted):
            break
        level = [part for name, value in level if id(value) not in seen for part in _parts(name, value, seen)]
    unnamed = [id(tensor) for tensor in tensors if id(tensor) not in names]
    return [
        names.get(id(tensor)) or ("leaf" if len(unnamed) == 1 else f"leaf {1 + unnamed.index(id(tensor))}")
        for tensor in tensors
    ]


def _variables(frame: FrameType | None) -> list[tuple[str, Any]]:
    """The variables of user code: of the frame, of those that called it, and global ones."""
    found: list[tuple[str, Any]] = []
    while frame is not None:
        if _of_user(frame):
            found += frame.f_locals.items()
            if frame.f_locals is not frame.f_globals:
                found += frame.f_globals.items()
        frame = frame.f_back
    return [(name, value) for name, value in found if not name.startswith("__")]


def _parts(name: str, value: Any, seen: set[int]) -> list[tuple[str, Any]]:
    seen.add(id(value))
    if isinstance(value, list | tuple):
        return [(f"{name}[{position}]", each) for position, each in enumerate(value[:1000])]
    if isinstance(value, dict):
        return [(f"{name}[{key!r}]", each) for key, each in list(value.items())[:1000]]
    if isinstance(value, ModuleType | type | FunctionType):
        return []
    attributes = {name: each for name, each in getattr(value, "__dict__", {}).items() if name[:2] != "__"}
    if "_parameters" in attributes and callable(getattr(value, "named_parameters", None)):  # a module
        attributes = {**attributes, **dict(value.named_parameters())}
    return [(f"{name}.{attribute}", each) for attribute, each in attributes.items()]


@contextlib.contextmanager
def widened(folder: str) -> Iterator[None]:
    """A context in which a script that is run, and what it imports from its `folder`, has float64 where the text says
    float32, as in `astype(np.float32)`."""
    opened, compiled = io.open_code, SourceFileLoader.get_code

    def wide(text: bytes) -> bytes:
        return re.sub(rb"\bfloat32\b", b"float64", text)

    def beside(path: str | None) -> bool:
        return path is not None and path.startswith(folder + os.sep) and "site-packages" not in path

    def get_code(loader: SourceFileLoader, name: str) -> CodeType | None:
        path = os.path.realpath(loader.get_filename(name))
        if not beside(path):
            return compiled(loader, name)
        return loader.source_to_code(wide(loader.get_data(path)), path)

    known = {name: each for name, each in sys.modules.items() if beside(getattr(each, "__file__", None))}
    for name in known:  # it is imported again
        del sys.modules[name]
    io.open_code = lambda path: io.BytesIO(wide(opened(path).read()))
    SourceFileLoader.get_code = get_code  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        io.open_code = opened
        del SourceFileLoader.get_code
        sys.modules.update(known)


def _double_for_users(name: str) -> property:
    """A dtype of a library that is float64 for user code; the library itself, as its `GradScaler`, has what it is."""
    return property(lambda module: vars(module)["float64" if not _library(sys._getframe(1)) else name])


def main(records: str, module: str, folder: str, script: str, *arguments: str) -> None:
    """Runs a script on a module and writes its records."""
    lock = threading.Lock()
    with open(records, "ab") as file, contextlib.ExitStack() as stack:

        def write(record: dict[str, Any]) -> None:
            with lock:
                pickle.dump(record, file)
                file.flush()

        start = time.perf_counter()
        sys.path.insert(0, os.path.dirname(os.path.realpath(script)))
        if module == "jaxvjp" and folder not in sys.path:
            sys.path.append(folder)
        library: Any = importlib.import_module(module)
        write({"event": "ready", "seconds": time.perf_counter() - start, "version": library.__version__})
        if module == "jaxvjp":
            stack.enter_context(library.as_torch())
        recorder = stack.enter_context(Recorder(library, write, script))
        if os.environ.get(DOUBLE):
            library.set_default_dtype(library.float64)
            floats = {name: _double_for_users(name) for name in ("float32", "float")}
            library.__class__ = type("Widened", (type(library),), floats)
            narrow = library.Tensor.float
            library.Tensor.float = lambda x, *rest, **named: (
                narrow if _library(sys._getframe(1)) else library.Tensor.double
            )(x, *rest, **named)
            library.FloatTensor = library.DoubleTensor
            stack.enter_context(widened(os.path.dirname(os.path.realpath(script))))
        sys.argv = [script, *arguments]
        end: dict[str, Any] = {"event": "end"}
        start = time.perf_counter()
        try:
            for seed in (library.manual_seed, np.random.seed, random.seed):  # for a script that sets none
                seed(0)
            if module == "jaxvjp":
                importlib.import_module("jaxvjp.tools.scripts.program").run_as_main(script)
            else:
                runpy.run_path(script, run_name="__main__")
        except SystemExit as error:
            if error.code is not None and not isinstance(error.code, int):
                print(error.code, file=sys.stderr)
            end["exit"] = error.code if isinstance(error.code, int) else int(error.code is not None)
        except BaseException as error:
            step = error.__traceback__
            while step is not None and not _of_user(step.tb_frame):
                step = step.tb_next
            traceback.print_exception(error.with_traceback(step))
            end["error"] = described(error, script)
        end["seconds"] = time.perf_counter() - start - recorder.overhead
        write(end)


if __name__ == "__main__":
    main(*sys.argv[1:])
