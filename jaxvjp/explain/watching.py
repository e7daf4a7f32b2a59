"""Watches the user's lines run: after each, which names refer to which tensors, and which of those share one memory.

A `Watch` notes a `Moment` after each line, by `sys.settrace`. No tensor is kept alive, none is read in a way that
changes it, and nothing is computed: of a small memory that nobody has read yet the node is kept that will have its
numbers. As Python then calls us at each line and each call, only who asks for it has lines watched, and of a long run
only the beginning is.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.modes import transforming
from jaxvjp.core.record.user_lines import UserLine
from jaxvjp.core.record.versions import next_serial
from jaxvjp.explain.names import UnlistableError, all_names_in, variables_of
from jaxvjp.ops.layouts import Layout
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.tensor.view_steps import has_layout, memory_of

LINES, CALLS = 2_000, 1_000_000
"""After so many lines of the user's, or so many calls of any function, nothing more is watched."""
ROUNDS = 3
"""Of a line that runs again and again, so many first rounds are kept, and the last, with what was there before it."""
NAMED = 24
"""At most so many tensors are noted after a line."""
CELLS = 12
"""The first so many numbers of a memory are noted, and of a tensor the places of so many elements."""
QUICK = 1024
"""Of a memory of more numbers than this nothing is noted, if they are not known or on another device."""


class Alias(NamedTuple):
    """A tensor, as one of those that show a memory.

    Attributes:
        names: the user's; `x.grad` for the gradient of x.
        shape, dtype: its shape, and the name of its dtype.
        requires_grad, leaf, grad_fn: as in torch; `grad_fn` is the name of the step, "" for a leaf.
        version: torch's `_version`; None if it is not known.
        places: where in the memory its first elements are; None where that says nothing about its numbers.
        grad: whether it has a `grad`; None for one that gets none, as it is no leaf, or requires none.
    """

    names: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: str
    requires_grad: bool
    leaf: bool
    grad_fn: str
    version: int | None
    places: tuple[int, ...] | None
    grad: bool | None


class Memory(NamedTuple):
    """A storage.

    Attributes:
        size: how many numbers it has.
        numbers: the first of them, if they were known.
        contents: else the node that will have them; None if there are too many.
        computed: whether they were computed.
        shared: whether NumPy has this memory, too.
        aliases: the tensors that show it.
    """

    size: int
    numbers: np.ndarray[Any, Any] | None
    contents: Node | None
    computed: bool
    shared: bool
    aliases: list[Alias]


class Moment(NamedTuple):
    """What was there when a line had run.

    Attributes:
        number: counts the lines as they ran.
        round: how often this line had run by then.
        where: the line, None for the end of the recording.
        frame: tells runs of one function apart.
        order: when it was, in the order of recording.
        memories: those that the names of the line's function lead to.
        left_out: how many tensors are not among them, for want of room.
    """

    number: int
    round: int
    where: UserLine
    frame: int
    order: float
    memories: list[Memory]
    left_out: int


class Watch:
    """Watches the lines of one file run, from `start` to `stop`; then `moments` has what was noted.

    Attributes:
        file: the name of the file.
        ended: why nothing more was watched from some line on; "" if all were.
        fault: what was raised in watching, for which whoever asks what was seen gets it; None if nothing was.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.ended = ""
        self.fault: Exception | None = None
        self.first: list[Moment] = []
        self.last: dict[UserLine, tuple[Moment | None, Moment]] = {}
        self.latest: dict[int, Moment] = {}  # by frame
        self.rounds: dict[UserLine, int] = {}
        self.running: dict[Any, tuple[int, int]] = {}
        self.entered: tuple[Any, int] = (None, 0)
        self.lines = self.calls = 0
        self.importing: Any = None  # the frame of an import that runs
        self.known: dict[int, np.ndarray[Any, Any]] = {}

    @property
    def moments(self) -> list[Moment]:
        """The first rounds of each line and its last, each after the moment before it in its frame, in order."""
        kept = {each.number: each for pair in self.last.values() for each in pair if each is not None}
        kept.update((each.number, each) for each in self.first)
        return [kept[number] for number in sorted(kept)]

    def start(self, frame: Any = None) -> None:
        """Begins, also with the lines that are still to run of a `frame` that has begun."""
        if sys.gettrace() is not None:
            self.ended = "Something else follows this thread's lines, such as a debugger: they were not watched."
            return
        if frame is not None:
            frame.f_trace = self._ran
            self.entered = frame, frame.f_lineno
        sys.settrace(self._called)

    def stop(self, variables: Mapping[str, Any]) -> None:
        """Ends. If it had ended before, what is there now is noted as one more moment."""
        frame, line = self.entered
        if not self.ended and frame in self.running and self.running[frame][1] != line:
            self._note(frame)  # else the line is the end of the `with` block itself
        if self.ended and self.lines:
            self.first.append(Moment(self.lines + 1, 1, None, 0, next_serial(), *self._memories(variables)))
        self._end("")

    def _end(self, why: str) -> None:
        if sys.gettrace() == self._called:
            sys.settrace(None)
        for frame in [self.entered[0], *self.running]:
            if frame is not None:
                frame.f_trace = None
        self.running.clear()
        self.entered = (None, 0)
        self.ended = self.ended or why

    def _called(self, frame: Any, event: str, _: Any) -> Any:
        self.calls += self.importing is None  # an import may make a million
        code: CodeType = frame.f_code
        if self.importing is None and code.co_name == "_find_and_load" and code.co_filename[:17] == "<frozen importlib":
            self.importing = frame
            return self._imported
        if self.calls > CALLS:
            self._end(f"Only the first {self.lines:,} lines were watched.")
        watched = code.co_filename == self.file and (code.co_name[0] != "<" or code.co_name == "<module>")
        return self._ran if watched and not self.ended else None

    def _imported(self, frame: Any, event: str, _: Any) -> Any:
        if event == "return":
            self.importing = None
        return self._imported

    def _ran(self, frame: Any, event: str, _: Any) -> Any:
        if event not in ("line", "return") or self.ended:
            return self._ran
        try:
            if frame in self.running and not (transforming().depth or transforming().pure):
                self._note(frame)
        except UnlistableError as error:
            self._end(f"Nothing more was watched: {error}")
        except Exception as error:  # what is drawn may not break what is run
            self.fault = error
            self._end("Nothing more was watched.")
        if self.lines >= LINES:
            self._end(f"Only the first {LINES:,} lines were watched.")
        elif event == "line":
            self.running[frame] = frame.f_lasti, frame.f_lineno
        else:
            self.running.pop(frame, None)
        return self._ran

    def _note(self, frame: Any) -> None:
        """Notes what is there now that the line that `frame` was at has run."""
        where = frame.f_code, self.running[frame][0]
        self.add(where, id(frame), next_serial(), *self._memories(variables_of(frame)))

    def add(self, where: UserLine, frame: int, order: float, memories: list[Memory], left_out: int) -> None:
        """Adds a moment; of those of one line the first ROUNDS are kept, the last, and the one before that."""
        self.lines += 1
        seen = self.rounds[where] = self.rounds.get(where, 0) + 1
        moment = Moment(self.lines, seen, where, frame, order, memories, left_out)
        if seen <= ROUNDS:
            self.first.append(moment)
        else:
            self.last[where] = self.latest.get(frame), moment
        self.latest[frame] = moment

    def _memories(self, variables: Mapping[str, Any]) -> tuple[list[Memory], int]:
        """The memories that variables lead to, and how many tensors were left out."""
        named: dict[int, tuple[Tensor, list[str]]] = {}
        for tensor, names in all_names_in(variables, 2).items():
            named.setdefault(id(tensor), (tensor, []))[1].extend(names)
            if tensor._grad is not None:
                named.setdefault(id(tensor._grad), (tensor._grad, []))[1].append(f"{names[0]}.grad")
        shown = list(named.values())
        memories: dict[int, Memory] = {}
        for tensor, names in shown[:NAMED]:
            key = tensor if tensor.__storage__ is None else tensor.__storage__
            if id(key) not in memories:
                memories[id(key)] = self._memory(tensor)
            memories[id(key)].aliases.append(alias_of(tensor, names))
        return list(memories.values()), max(0, len(shown) - NAMED)

    def _memory(self, tensor: Tensor) -> Memory:
        contents = tensor.__shown__ if tensor.__storage__ is None else tensor.__storage__.contents
        shared = (
            None
            if tensor.__storage__ is None or tensor.__storage__.shared is None
            else tensor.__storage__.shared.bytes()
        )
        size, value = memory_of(contents).size, contents.value
        if shared is not None:  # NumPy may have written it since
            return Memory(size, shared.view(contents.aval.dtype.numpy)[:CELLS].copy(), None, True, True, [])
        meta = tensor.device.type == "meta"  # which has no numbers
        if value is None or meta or isinstance(value, jax.core.Tracer):
            return Memory(size, None, contents if size <= QUICK and not meta else None, False, False, [])
        if contents.serial not in self.known and _near(value):
            self.known[contents.serial] = in_memory(contents)
        return Memory(size, self.known.get(contents.serial), None, True, False, [])


def _near(value: Any) -> bool:
    """Whether a value is in this process's memory, or moves there quickly."""
    if isinstance(value, np.ndarray):
        return True
    return bool(value.is_fully_addressable) and (
        value.size <= QUICK or all(device.platform == "cpu" for device in value.devices())
    )


def in_memory(contents: Node) -> np.ndarray[Any, Any]:
    """The first CELLS numbers of a storage, in the order in which they lie there; `contents` has a value."""
    memory = memory_of(contents)
    values = np.asarray(contents.value)
    return np.array((values if memory.contiguous else values.transpose(memory.order)).reshape(-1)[:CELLS])


def alias_of(tensor: Tensor, names: Sequence[str]) -> Alias:
    """What is seen of a tensor, without having it notice what others have written to its memory."""
    node, base, storage = tensor.__shown__, tensor.__base_tensor__, tensor.__storage__
    versions = (tensor if base is None else base).__own_versions__
    requires_grad = node.requires_grad
    anew = False
    if base is not None and base.__shown__.requires_grad and node.aval.dtype.differentiable:
        requires_grad = True
        written = storage is not None and storage.version != tensor.__seen__
        anew = (
            written and versions is not None and versions.count != tensor.__counted__ and not tensor.__marked__
        )  # it is taken again when it is read
    leaf = node.is_leaf and not anew
    grad_fn = "" if leaf else "AsStridedBackward0" if anew else node.gradient_name
    places = None
    if has_layout(tensor.__view_path__) and not tensor.__conjugated__():
        own, whole = tensor.__layout__(), memory_of(node if storage is None else storage.contents)
        places = None if own.itemsize != whole.itemsize else places_of(own)
    count = 0 if versions is None else versions.count
    seen = tuple(node.aval.shape), node.aval.dtype.name, requires_grad, leaf, grad_fn, count
    gets = tensor._grad is not None or (leaf and requires_grad) or tensor.__retained__ or node.retains
    return Alias(tuple(names), *seen, places, tensor._grad is not None if gets else None)


@lru_cache(maxsize=4096)
def places_of(layout: Layout) -> tuple[int, ...]:
    """Where in its memory the first CELLS elements of a tensor are."""
    index = np.unravel_index(np.arange(min(layout.size, CELLS)), layout.shape) if layout.shape else ()
    places = sum((each * stride for each, stride in zip(index, layout.strides, strict=True)), np.zeros(1, int))
    return tuple((layout.offset + places).tolist()) if layout.size else ()
