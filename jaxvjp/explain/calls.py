"""Notes the calls of the user's functions while a block is recorded: `Calls`, by `sys.setprofile`.

An operation knows its line, but not who called the function that the line is in. What a function has that trains, such
as `main`, is kept when it returns; no other tensor is kept alive.
"""

from __future__ import annotations

import bisect
import functools
import inspect
import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType
from typing import Any, NamedTuple

from jaxvjp.core.record.user_lines import UserLine, user_line
from jaxvjp.core.record.versions import next_serial
from jaxvjp.explain.names import all_names_in
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.user_code import in_package

MOST = 20_000
"""After so many calls no more are noted."""
INSTALLED = ("<frozen", *{path + os.sep for name, path in sysconfig.get_paths().items() if name.endswith("lib")})
"""Where Python's library and packages are."""
RESUMED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class FunctionCall(NamedTuple):
    """A call of a function of the user's.

    Attributes:
        code: the function's.
        where: the line that called it.
        first, last: it recorded the nodes with a `serial` between.
        names: what the function calls the nodes of tensors that it was given, by `serial`, in the order of its
            parameters: `w` for `self.w`.
        numbers: the Python numbers that it was given.
        returned: the nodes of tensors that it returned, by `serial`, and where each is: of `a, {"b": b}` at `(0,)` and
            `(1, "b")`.
    """

    code: CodeType
    where: UserLine
    first: int
    last: int
    names: Mapping[int, str]
    numbers: Mapping[str, Any]
    returned: Mapping[int, Sequence[Any]]

    @property
    def name(self) -> str:
        """The name of the function; of `forward` and `__call__` that of the class."""
        *outer, name = self.code.co_qualname.split(".")
        if name in ("forward", "__call__") and outer and outer[-1] != "<locals>":
            name = outer[-1]
        return name.strip("_") or "f"


class Calls:
    """Notes calls from `start` to `stop`, in `ended`; none if another profiler runs.

    Attributes:
        walks: when backward passes ended.
        left: the variables, when they returned, of functions that called several: those of `main` have their names.
    """

    def __init__(self) -> None:
        self.walks: list[int] = []
        self.left: dict[str, Any] = {}
        self.ended: list[FunctionCall] = []
        self.running: list[tuple[Any, FunctionCall]] = []

    def start(self) -> None:
        if sys.getprofile() is None:
            sys.setprofile(self._event)

    def stop(self) -> None:
        if sys.getprofile() == self._event:
            sys.setprofile(None)
        self.running.clear()

    def _event(self, frame: Any, event: str, given: Any) -> None:
        if event == "call":
            code = frame.f_code
            if _is_a_function(code):
                self.running.append((frame, _begun(frame)))
                if len(self.ended) + len(self.running) > MOST:
                    self.stop()
        elif event == "return" and self.running and self.running[-1][0] is frame:
            call = self.running.pop()[1]
            if bisect.bisect(self.walks, call.first) < len(self.walks) - 1:
                self.left = {**frame.f_locals, **self.left, **frame.f_locals}  # first those of what called others
            returned: dict[int, Sequence[Any]] = {}
            for place, tensor in _tensors(given):
                returned.setdefault(tensor.__shown__.serial, place)
            self.ended.append(call._replace(last=next_serial(), returned=returned))


@functools.lru_cache(maxsize=4096)
def _is_a_function(code: CodeType) -> bool:
    """Whether code is that of a function of the user's with a name, or of a method but for those like `__init__`."""
    named = code.co_name[0] != "<" and (code.co_name[:2] != "__" or code.co_name == "__call__")
    filename = code.co_filename
    return named and not code.co_flags & RESUMED and not in_package(filename) and not filename.startswith(INSTALLED)


def _begun(frame: Any) -> FunctionCall:
    variables = {name: each for name, each in frame.f_locals.items() if name.isidentifier()}
    try:
        names = _names_of(variables)
    except Exception:  # an object that is not ready yet, such as a module whose parameters are still to come
        names = {}
    numbers = {name: value for name, value in variables.items() if type(value) in (int, float)}
    return FunctionCall(frame.f_code, user_line(frame.f_back), next_serial(), 0, names, numbers, {})


def _names_of(variables: Mapping[str, Any]) -> dict[int, str]:
    places: dict[int, Any] = {}
    for place, (name, value) in enumerate(variables.items()):
        for part, (tensor, names) in enumerate(all_names_in({name: value}).items()):
            key = (not isinstance(value, Tensor), place, part)
            places[tensor.__shown__.serial] = min(places.get(tensor.__shown__.serial, (key, names[0])), (key, names[0]))
    in_order = sorted(places.items(), key=lambda item: item[1][0][1:])
    return {serial: name for serial, (_, name) in in_order}


def _tensors(value: Any, place: Sequence[Any] = ()) -> Iterator[tuple[Sequence[Any], Tensor]]:
    """The tensors in what a function returned, and where each is."""
    if isinstance(value, Tensor):
        yield place, value
    elif isinstance(value, tuple | list | dict):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _tensors(each, (*place, key))
