"""A program written out operation by operation, for NumPy: `Expansion`.

Some operations stand for several: `called` for a program, `pullback` for the derivative of one. Their rows say by which
operations NumPy computes them (`Op.opened`), so that it needs the jaxprs of operations only, which many programs share.
XLA gets programs as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxvjp.core.run.program import Equation, Program
from jaxvjp.ops.abstract_values import Aval
from jaxvjp.ops.identity import UNCHANGED, tuple_item
from jaxvjp.ops.op import Op
from jaxvjp.ops.tracing import avals_like, jaxpr_of

Place = int
"""As the operands of an `Equation` are numbered: k is the result of equation k, -1 - k argument k."""


class Expansion:
    """Equations of which none stands for others.

    Attributes:
        arguments: the avals of the arguments.
        equations: the equations.
        avals: the aval of each result, a tuple of them for a tuple.
        jaxprs: the closed jaxpr of each operation; None for one that gives what it is given.
    """

    def __init__(self, arguments: Sequence[Aval]) -> None:
        self.arguments = arguments
        self.equations: list[Equation] = []
        self.avals: list[Any] = []
        self.jaxprs: list[Any] = []

    def aval(self, place: Place) -> Any:
        """The aval of an argument or a result."""
        return self.avals[place] if place >= 0 else self.arguments[-1 - place]

    def add(self, operation: Op, static: tuple[Any, ...], reads: Sequence[Place]) -> Place:
        """Adds an equation; the place of its result."""
        avals = tuple([self.aval(each) for each in reads])
        closed = None
        if operation is tuple_item:
            result = avals[0][static[0]]
        elif operation in UNCHANGED:
            result = avals[0]
        else:
            closed, structs = jaxpr_of(operation, static, avals)
            result = avals_like(structs)
        self.equations.append((operation, static, tuple(reads)))
        self.avals.append(result)
        self.jaxprs.append(closed)
        return len(self.equations) - 1

    def add_several(self, operation: Op, static: tuple[Any, ...], reads: Sequence[Place]) -> list[Place]:
        """Adds an equation that gives a tuple; the place of each item."""
        whole = self.add(operation, static, reads)
        return [self.add(tuple_item, (each,), [whole]) for each in range(len(self.avals[whole]))]

    def open(self, program: Program, arguments: Sequence[Place]) -> list[Place]:
        """Adds the equations of a program whose arguments are at those places; the places of its outputs."""
        places: list[Any] = []
        for operation, static, inputs in program.equations:
            reads = [places[operand] if operand >= 0 else arguments[-1 - operand] for operand in inputs]
            if operation is tuple_item and isinstance(reads[0], list):
                places.append(reads[0][static[0]])
            else:
                places.append(self.opened(operation, static, reads))
        return [places[output] if output >= 0 else arguments[-1 - output] for output in program.outputs]

    def opened(self, operation: Op, static: tuple[Any, ...], reads: list[Place]) -> Place | list[Place]:
        """Adds what an operation stands for, or itself: the places of its items, or that of its result."""
        items: list[Place] | None = None if operation.opened is None else operation.opened(self, static, reads)
        return self.add(operation, static, reads) if items is None else items
