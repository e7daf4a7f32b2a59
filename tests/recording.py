"""Keeps the results of live torch in `tests/recorded`, for comparison where torch is not installed.

Each test module has a file there with the outcomes of each test's programs, in the order of the runs, one on a line.
`python -m pytest --record` runs the tests under live torch and writes new and changed outcomes; with names of test
modules, or `-k`, only for those tests. These files are never edited by hand.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from zlib import compress, decompress

import numpy as np

from jaxvjp.tools.scripts.names import torch_names

FOLDER = Path(__file__).parent / "recorded"
VERSION = torch_names().version
"""The torch whose outcomes these are."""
COMMAND = f"python -m pytest --record  (with torch {VERSION} installed)"
PACKED = 24
"""Arrays of more elements are packed: zlib of their bytes, as base64."""


class RecordError(Exception):
    """The record lacks an outcome, or has another than live torch gives: no reason for an expected failure."""


# Plain values (`oracle.plain`) as JSON, and back. What JSON lacks is an object of one tag: an array has its dtype's.


def encoded(value: Any) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is complex:
        return {"complex": [value.real, value.imag]}
    if type(value) is tuple and value[:1] == ("tensor",):
        _, shape, dtype, requires_grad, elements = value
        array = np.array(elements, _held(name := dtype.removeprefix("torch."))).reshape(shape)
        return _array(name, array) | ({"requires_grad": True} if requires_grad else {})
    if type(value) is tuple:  # the key of a dict
        return {"tuple": [encoded(each) for each in value]}
    if type(value) is list:
        if len(value) > PACKED and all(type(each) is float for each in value):
            return {"list": _array("float64", np.array(value))}
        return [encoded(each) for each in value]
    if type(value) is dict:
        return {"dict": [[encoded(key), encoded(each)] for key, each in value.items()]}
    raise TypeError(f"a {type(value).__name__} cannot be recorded: return its repr, or what matters of it: {value!r}")


def decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [decoded(each) for each in value]
    if not isinstance(value, dict):
        return value
    ((tag, held), *more) = value.items()
    if tag == "complex":
        return complex(*held)
    if tag == "tuple":
        return tuple(decoded(each) for each in held)
    if tag == "dict":
        return {decoded(key): decoded(each) for key, each in held}
    if tag == "list":
        return decoded(held)[-1]
    rest = dict(more)
    dtype = np.dtype(_held(tag))
    if isinstance(held, str):
        array = np.frombuffer(decompress(b64decode(held)), dtype.newbyteorder("<"))
    else:
        array = np.array(held, dtype.char.lower() if dtype.kind == "c" else dtype)
    shape = rest.get("shape", array.shape[: -1 if dtype.kind == "c" else None])
    array = np.ascontiguousarray(array).view(dtype).reshape(shape)
    return "tensor", array.shape, f"torch.{tag}", "requires_grad" in rest, array.tolist()


def _held(name: str) -> str:
    """The NumPy type that holds a dtype exactly."""
    return {"bfloat16": "float32"}.get(name, name)


def _array(name: str, array: np.ndarray) -> dict[str, Any]:
    if array.size > PACKED:
        raw = array.astype(array.dtype.newbyteorder("<")).tobytes()
        return {name: b64encode(compress(raw, 9)).decode(), "shape": list(array.shape)}
    shape = {} if array.size else {"shape": list(array.shape)}
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], -1)
    if array.dtype.kind != "f":
        return {name: array.tolist(), **shape}
    shortest = np.empty(array.size, object)  # of a float32 0.1, not 0.10000000149011612
    shortest[:] = [float(str(each)) for each in array.ravel()]
    return {name: shortest.reshape(array.shape).tolist(), **shape}


# The files.


def file_of(module: str) -> Path:
    """`tests/ops/test_ops.py` has `tests/recorded/ops/test_ops.json`."""
    return (FOLDER / module.partition("/")[2]).with_suffix(".json")


@cache
def entries(module: str) -> dict[str, list[Any]]:
    """By test of a module the encoded outcomes of its programs."""
    file = file_of(module)
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def write(module: str, tests: dict[str, list[Any]]) -> None:
    def text(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    file = file_of(module)
    file.unlink(missing_ok=True)
    if tests:
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"{text(test)}:[" + ",\n".join(map(text, tests[test])) + "]" for test in sorted(tests)]
        file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    entries.cache_clear()


class Session:
    """A run of pytest: whether it records, which test is running, and what was found."""

    def __init__(self) -> None:
        self.recording = False
        self.collected: set[str] = set()
        """Every test that was collected, also of those that were not selected then."""
        self.found: dict[str, dict[str, list[Any]]] = defaultdict(dict)
        self.begin("")

    def begin(self, test: str) -> None:
        module, _, name = test.partition("::")
        self.test, self.known, self.asked, self.new = test, entries(module).get(name, []), 0, []

    def next(self) -> Any:
        """The encoded outcome of the test's next program; an empty tuple where there is none."""
        self.asked += 1
        return self.known[self.asked - 1] if self.asked <= len(self.known) else ()

    def lacking(self, why: str) -> RecordError:
        return RecordError(f"{self.test}, program {self.asked}: {why}\nTo record anew: {COMMAND}")

    def end(self) -> None:
        """After a test that passed."""
        if not self.recording and self.asked < len(self.known):
            raise self.lacking(f"the record has {len(self.known)} programs")

    def gather(self, test: str, outcomes: list[Any]) -> None:
        module, _, name = test.partition("::")
        self.found[module][name] = outcomes

    def gone(self) -> Iterator[str]:
        """The recorded tests that their modules, where these were collected whole, do not have any more."""
        modules = {each.partition("::")[0] for each in self.collected}
        for file in sorted(FOLDER.rglob("*.json")):
            module = f"tests/{file.relative_to(FOLDER).with_suffix('.py').as_posix()}"
            if module in modules or not (FOLDER.parents[1] / module).exists():
                tests = (f"{module}::{name}" for name in entries(module))
                yield from (each for each in tests if each not in self.collected)

    def finish(self) -> None:
        """Writes what was found; a test without programs, or that is gone, loses its lines."""
        for module, tests in self.found.items():
            write(module, {name: lines for name, lines in (entries(module) | tests).items() if lines})


session = Session()
