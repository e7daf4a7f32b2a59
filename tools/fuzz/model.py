"""What is known of the variables of a program that is being made: `Model`; and what stands in its texts: `Holes`."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

Shape = tuple[int, ...]


@dataclass(eq=False)
class Name:
    """What the model believes of a variable. It may be wrong: an invalid statement is welcome now and then."""

    text: str
    shape: Shape
    base: Name | None = None  # what it is a view of
    memory: object = field(default_factory=object)  # the same object for all that share memory
    leaf: bool = False
    freed: bool = False  # a backward pass freed its part of the graph
    filled: bool = False  # it has a .grad
    stays: bool = False  # it was made before the loop
    history: set[Name] = field(default_factory=set)  # what it was differentiably computed from, and itself

    @property
    def root(self) -> Name:
        return self if self.base is None else self.base.root


class Holes(dict[str, str]):
    """What stands in the braces of a text, drawn when asked for: `{x}` is the tensor that the statement is about."""

    def __init__(self, model: Model, x: Name | None) -> None:
        self.model, self.inputs = model, [x] if x else []
        self.x: Any = x  # statements that are about no variable have no hole for one
        if x:
            self.update(x=x.text, shape=str(x.shape))

    def __missing__(self, hole: str) -> str:
        self[hole] = str(getattr(self, hole)())
        return self[hole]

    def new(self) -> str:
        """A variable to assign to: mostly a new one."""
        old = [name.text for name in self.model.names.values() if not name.stays and name not in self.inputs]
        if old and self.model.random.random() < 0.15:
            return self.model.random.choice(old)
        return str(next(self.model.fresh))

    def number(self) -> str:
        return self.model.random.choice(("0.5", "2.", "-1."))

    def y(self) -> str:
        """An operand of x's shape."""
        return self.operand(self.x.shape)

    def row(self) -> str:
        """An operand of the shape of x[0]."""
        return self.operand(self.x.shape[1:])

    def operand(self, shape: Shape) -> str:
        names = [name for name in self.model.names.values() if name.shape in (shape, ())]
        if not names or self.model.random.random() < 0.3:
            return self.number()
        y = self.model.random.choice(names)
        self.inputs.append(y)
        # Tensors that partly share memory may not be written from one another: torch does not say what happens.
        apart = y.memory is not self.x.memory
        return self.model.random.choice(("{0}", "{0}", "0.5 * {0}")[0 if apart else 2 :]).format(y.text)

    def other(self) -> str:
        """A tensor to differentiate with respect to."""
        other = self.model.random.choice([name for name in self.model.names.values() if name.root.history] or [self.x])
        return str(other.text)

    def handle(self) -> str:
        return self.model.another("handle")

    def a_handle(self) -> str:
        return self.model.one_of("handle")

    def array(self) -> str:
        return self.model.another("array")

    def an_array(self) -> str:
        return self.model.one_of("array")


class NotThereError(Exception):
    """There is nothing to put into a hole."""


class Model:
    """The variables of a program that is being made."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.names: dict[str, Name] = {}
        self.counts: dict[str, int] = {}
        self.fresh = iter([*"abcdefghijklmnopqrstu", *(f"a{number}" for number in range(1000))])

    def bind(self, new: Name) -> Name:
        self.names[new.text] = new
        return new

    def another(self, kind: str) -> str:
        """A variable for what is no tensor: `handle1`, `handle2` and so on."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return f"{kind}{self.counts[kind]}"

    def one_of(self, kind: str) -> str:
        if kind not in self.counts:
            raise NotThereError
        return f"{kind}{self.random.randint(1, self.counts[kind])}"
