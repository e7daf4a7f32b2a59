"""A recorded graph as plain data, without values: `Program`. It is to a graph of nodes what a jaxpr is to a function.

`freeze(nodes, outputs)` makes a program of nodes. `replay(program, arrays)` computes its outputs: that is the pure
function that `jax.jit`, `jax.vjp`, `jax.jvp` and `jax.vmap` are applied to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from jaxvjp.core.record.graph import Node, Number
from jaxvjp.ops.identity import item
from jaxvjp.ops.op import Aval, Op

PROGRAM_CACHE = 4096
Equation = tuple[Op, tuple[Any, ...], tuple[int, ...]]
"""(op, its static arguments, its operands). An operand is a number: k is the result of equation k, -1 - k argument k.
`sin(x) * x` has the equations (sin, (), (-1,)) and (mul, (), (0, -1))."""


class Program:
    """A pure function as data. Graphs of equal structure make equal programs, whatever the values of their arguments.

    Attributes:
        arguments: the aval of each argument; `aval.number` marks a Python number.
        equations: the operations, each after those whose results it reads.
        outputs: the results that the function returns, numbered like the operands of an `Equation`.
        weight: the number of operations, counting also those in programs that an operation carries, as `pullback` does.
    """

    __slots__ = ("_hash", "arguments", "equations", "outputs", "weight")

    def __init__(
        self, arguments: tuple[Aval, ...], equations: tuple[Equation, ...], outputs: tuple[int, ...], weight: int
    ) -> None:
        self.arguments = arguments
        self.equations = equations
        self.outputs = outputs
        self.weight = weight
        self._hash = hash((arguments, equations, outputs))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Program)
            and self._hash == other._hash
            and self.outputs == other.outputs
            and self.arguments == other.arguments
            and self.equations == other.equations
        )

    def __repr__(self) -> str:
        lines = [f"argument {number}: {aval}" for number, aval in enumerate(self.arguments)]
        for number, (operation, static, inputs) in enumerate(self.equations):
            reads = ", ".join(f"e{each}" if each >= 0 else f"argument {-1 - each}" for each in inputs)
            lines.append(f"e{number} = {operation.name}({reads}) {static or ''}".rstrip())
        return "\n".join([*lines, f"return {self.outputs}"])


intern = lru_cache(maxsize=PROGRAM_CACHE)(Program)
"""`Program(...)`, giving the same object for equal arguments, so that comparing programs is quick."""


def freeze(nodes: Iterable[Node], outputs: Sequence[Node]) -> tuple[Program, list[Node | Number]]:
    """The program that computes `outputs` with the operations of `nodes`, and the arguments to call it with.

    `nodes` are in the order of recording. An input of theirs that is not among them becomes an argument.
    """
    number: dict[Node | Number, int] = {}
    arguments: list[Node | Number] = []
    equations: list[Equation] = []
    weight = 0
    node: Node
    for node in nodes:
        reads = []
        for each in node.inputs:
            position = number.get(each)
            if position is None:
                arguments.append(each)
                position = number[each] = -len(arguments)
            reads.append(position)
        number[node] = len(equations)
        operation: Any = node.operation
        equations.append((operation, node.static, tuple(reads)))
        weight += weight_of(node) if operation.carries_program else 1
    for each in outputs:
        if each not in number:  # an output that is not among `nodes`, and that none of them reads
            arguments.append(each)
            number[each] = -len(arguments)
    returned = tuple([number[each] for each in outputs])
    return intern(tuple([each.aval.plain for each in arguments]), tuple(equations), returned, weight), arguments


def weight_of(node: Node) -> int:
    """How many operations `node` counts as: several, if its op carries a program; none, if it is an item of a tuple."""
    operation = node.operation
    if operation is None or not operation.carries_program:
        return 0 if operation is item else 1
    return 1 + sum(each.weight for each in node.static if type(each) is Program)


def replay(program: Program, arguments: Sequence[Any]) -> tuple[Any, ...]:
    """The outputs of `program`, given an array for each argument. JAX can trace it."""
    results: list[Any] = []
    for operation, static, inputs in program.equations:
        operands = [results[each] if each >= 0 else arguments[-1 - each] for each in inputs]
        results.append(operation.call(static, operands))
    return tuple(results[each] if each >= 0 else arguments[-1 - each] for each in program.outputs)
