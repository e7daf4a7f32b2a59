"""A recorded graph as plain data, without values: `Program`. It is to a graph of nodes what a jaxpr is to a function.

`freeze(nodes, outputs)` makes a program of nodes. `replay(program, arrays)` computes its outputs: that is the pure
function that `jax.jit`, `jax.vjp`, `jax.jvp` and `jax.vmap` are applied to."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

from jaxvjp.core.record.graph import Node, Number
from jaxvjp.ops.identity import redistributed, tuple_item
from jaxvjp.ops.op import Aval, Op, op
from jaxvjp.types.meshes import Meshes, OnMesh, mesh_among

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
        weight: the number of equations, with those of the programs that operations carry, as `pullback` does.
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
            reads = ", ".join(f"e{operand}" if operand >= 0 else f"argument {-1 - operand}" for operand in inputs)
            lines.append(f"e{number} = {operation.name}({reads}) {static or ''}".rstrip())
        return "\n".join([*lines, f"return {self.outputs}"])


intern = lru_cache(maxsize=PROGRAM_CACHE)(Program)
"""`Program(...)`, giving the same object for equal arguments, so that comparing programs is quick."""


def freeze(nodes: Iterable[Node], outputs: Sequence[Node]) -> tuple[Program, list[Node | Number]]:
    """The program that computes `outputs` with the operations of `nodes`, and the arguments to call it with.

    `nodes` are in the order of recording. An input of theirs that is not among them becomes an argument: a node or a
    number. `Program.arguments` has its aval, and `replay` is given its value.
    """
    position_of: dict[Node | Number, int] = {}
    arguments: list[Node | Number] = []
    equations: list[Equation] = []
    weight = 0
    node: Node
    for node in nodes:
        reads = []
        for operand in node.inputs:
            position = position_of.get(operand)
            if position is None:
                arguments.append(operand)
                position = position_of[operand] = -len(arguments)
            reads.append(position)
        position_of[node] = len(equations)
        operation: Any = node.operation
        equations.append((operation, node.static, tuple(reads)))
        weight += weight_of(node) if operation.carries_program else 1
    if Meshes.used:  # rare: several devices
        _fit_to_mesh(outputs, position_of, equations, arguments)
    for output in outputs:
        if output not in position_of:  # rare: no node computes or reads it, as of `lambda x, y: y` (`pure`, `func`)
            arguments.append(output)
            position_of[output] = -len(arguments)
    returned = tuple([position_of[output] for output in outputs])
    # `plain`, without strides: no program depends on them
    avals = tuple([argument.aval if argument.aval.strides is None else argument.aval.plain for argument in arguments])
    return intern(avals, tuple(equations), returned, weight), arguments


class Frozen(NamedTuple):
    """What `freeze` made of `nodes` and `outputs`."""

    nodes: Sequence[Node]
    outputs: list[Node]
    program: Program
    arguments: list[Node | Number]


def weight_of(node: Node) -> int:
    """How many operations `node` counts as where a graph is cut: several, if its op carries a program.

    A `tuple_item` counts as none, so that no cut comes between it and its tuple. In `Program.weight` it counts: that
    estimates what compiling takes, and it is an equation.
    """
    operation = node.operation
    if operation is None or not operation.carries_program:
        return 0 if operation is tuple_item else 1
    return 1 + sum([each.weight for each in node.static if type(each) is Program])


def replay(program: Program, arguments: Sequence[Any]) -> tuple[Any, ...]:
    """The outputs of `program`, given an array for each argument. JAX can trace it."""
    shared = in_pullbacks(program)
    if shared:  # rare: a staged step that returns its loss, whose pullback computes the loss as well
        return _replay_sharing(program, arguments, shared)
    results: list[Any] = []
    for operation, static, inputs in program.equations:
        operands = [results[operand] if operand >= 0 else arguments[-1 - operand] for operand in inputs]
        results.append(operation.call(static, operands))
    return tuple(results[output] if output >= 0 else arguments[-1 - output] for output in program.outputs)


@op(saves="residuals", public="", grad_fn="CompiledFunctionBackward")
def called(*arguments: Any, program: Program) -> tuple[Any, ...]:
    """The outputs of `program`: a staged function, or an optimizer's update, as one operation."""
    return replay(program, arguments)


called.opened = lambda made, static, reads: made.open(static[0], reads)


results_of: WeakKeyDictionary[Node, list[ref[Node]]] = WeakKeyDictionary()
"""Of a node that calls a program, weakly, its results that are to be computed as soon as one of them is: the program
would run again for each that is left out."""


# Of a program whose pullbacks compute some of its equations as well.


def _replay_sharing(program: Program, arguments: Sequence[Any], shared: dict[int, tuple[int, int]]) -> tuple[Any, ...]:
    """`replay` with each equation of `shared` read off its pullback. The forward pass of that runs when the first of
    these values is needed, and the rest of it where it stands."""
    equations = program.equations
    results: dict[int, Any] = {}
    begun: dict[int, Callable[..., Any] | None] = {}

    def read(places: Iterable[int]) -> list[Any]:
        return [results[place] if place >= 0 else arguments[-1 - place] for place in places]

    def begin(at: int) -> None:
        operation, static, inputs = equations[at]
        reads = inputs[: len(static[0].arguments)]
        begun[at] = None
        compute(sorted(_behind(reads, equations, results)))
        same = [(each, inner) for each, (pullback, inner) in shared.items() if pullback == at]
        values, begun[at] = operation.begin(static, read(reads), [inner for _, inner in same])
        for (each, _), value in zip(same, values, strict=True):
            results.setdefault(each, value)

    def compute(places: Iterable[int]) -> None:
        for at in places:
            if at in shared and shared[at][0] not in begun:
                begin(shared[at][0])
            if at in results:
                continue
            operation, static, inputs = equations[at]
            rest = begun.get(at)
            if rest is None:
                results[at] = operation.call(static, read(inputs))
            else:
                results[at] = rest(read(inputs[len(static[0].arguments) :]))

    compute(range(len(equations)))
    return tuple(read(program.outputs))


def in_pullbacks(program: Program) -> dict[int, tuple[int, int]]:
    """For each equation that a pullback in the program computes as well: the number of the pullback, and that of the
    equation in the pullback's own program. Of several pullbacks the last: it may hold the others.

    So the forward pass of a step that returns its loss is there once. XLA finds equal operations, but not equal
    loops, nor what it has first rewritten in different ways. Without this the programs of `tools.bench_models`
    have, by XLA's own count, 1.33 (GPT) and 1.22 (convnet) times the arithmetic and 1.88 times the transcendentals
    (tagger, whose loop runs once more). On a mesh shards would be gathered twice.
    """
    seen: dict[Any, int] = {}
    found: dict[int, tuple[int, int]] = {}
    for at, (operation, static, inputs) in enumerate(program.equations):
        if operation.begin is not None:
            outside: list[int | None] = []
            for number, (inner, own, reads) in enumerate(static[0].equations):
                operands = tuple([outside[each] if each >= 0 else inputs[-1 - each] for each in reads])
                same = seen.get((inner, own, operands))
                outside.append(same)
                if same is not None:
                    found[same] = at, number
        seen.setdefault((operation, static, inputs), at)
    return found


def _behind(places: Iterable[int], equations: Sequence[Equation], known: Container[int]) -> set[int]:
    """The equations that those at `places` are computed from, with these, as far as they are not `known`."""
    pending, found = list(places), set[int]()
    while pending:
        each = pending.pop()
        if each >= 0 and each not in found and each not in known:
            found.add(each)
            pending += equations[each][2]
    return found


# Over a mesh of devices.


@lru_cache(maxsize=PROGRAM_CACHE)
def device_of_program(program: Program) -> Any:
    """Where a program runs, as an aval says it: the mesh if one is involved, else the first device that is not home."""
    devices = [argument.device for argument in program.arguments]
    mesh = mesh_among(devices) or mesh_among([mesh_within(equation[0], equation[1]) for equation in program.equations])
    return mesh or next((device for device in devices if device is not None), None)


def mesh_within(operation: Any, static: tuple[Any, ...]) -> OnMesh | None:
    """The mesh that an operation works on, as it moves something there or carries a program that does."""
    if operation.moves:
        over: OnMesh = static[1]
        return over
    if not operation.carries_program:
        return None
    return mesh_among([device_of_program(each) for each in static if type(each) is Program])


def _fit_to_mesh(
    outputs: Sequence[Node],
    position_of: dict[Any, int],
    equations: list[Equation],
    arguments: Sequence[Node | Number],
) -> None:
    """Adds what `freeze` has to for a program that works on a mesh; nothing to another."""
    mesh = mesh_among([each.aval.device for each in arguments] + [mesh_within(each[0], each[1]) for each in equations])
    if mesh is not None:
        _lay_out(outputs, position_of, equations, mesh)


def _lay_out(outputs: Sequence[Node], position_of: dict[Any, int], equations: list[Equation], mesh: OnMesh) -> None:
    """Adds equations that lay outputs out over the mesh as their avals say. One that is at home, each device gets."""
    for output in outputs:
        device = output.device
        at = position_of.get(output, -1)
        if at < 0 or equations[at][0] is redistributed or type(output.aval) is tuple:
            continue
        if device is None or (type(device) is OnMesh and device.spec is not None):
            position_of[output] = len(equations)
            equations.append((redistributed, (device, mesh.replicated if device is None else device), (at,)))
