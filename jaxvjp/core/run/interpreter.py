"""A program run without a compiler: its jaxpr, equation by equation, by NumPy.

`Interpreter` turns a closed jaxpr into a function of NumPy's arrays. XLA takes some hundred milliseconds to compile
what NumPy computes in one, so a program that runs a few times is over before it is compiled.

Each equation becomes one call: of NumPy where it has a function that means the same (`primitives`), else of JAX's own
primitive, which JAX compiles alone. Calls of functions are opened, loops and branches are Python's. An example:
`x * 2 + 1` has the jaxpr `mul x 2.0; add _ 1.0`, which is run as `np.add(np.multiply(x, 2.0), 1.0)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextvars import Context
from typing import Any

import jax
import numpy as np

from jaxvjp.core.run.expansion import Expansion
from jaxvjp.core.run.primitives import numpys_function
from jaxvjp.core.run.primitives.kinds import Array, Call
from jaxvjp.core.run.program import Program
from jaxvjp.ops.identity import tuple_item
from jaxvjp.types.forks import check

FOLDED = 1 << 12
"""A result of constants with at most this many elements is computed once."""
LARGE = 1 << 12
"""A value with more elements is dropped after its last reader."""
ELEMENT, EQUATION, MULTIPLY, PRIMITIVE = 1e-9, 2e-6, 2e-10, 20e-3
"""Seconds that one element of a result takes, one equation, one multiplication in a product, and to compile one
primitive: about, to tell whether to begin."""
LONG = 10.0
"""`interpreted` begins nothing that is expected to take so many seconds."""
GUESSED_ROUNDS = 16
"""How many rounds a `while` loop is taken to have, where its time is estimated."""
QUIET = Context()
"""Where NumPy does not warn of a division by zero. To run in a copy of it takes 0.1 µs, `np.errstate` 1 to 2; the call
of an addition takes 0.4."""
QUIET.run(np.seterr, all="ignore")


class Interpreter:
    """A program, or a closed jaxpr, as a list of calls on a table of values.

    Of a `Program` it is composed op by op, from jaxprs that are known since the ops were recorded (`add_program`). A
    jaxpr as a whole is that of a loop (`interpreter_of`).

    Args:
        count: the number of operands.
        compose: adds the calls to the interpreter, given the slots of the operands; returns the slots of the outputs.

    Attributes:
        equations: how many there are, those of the functions called included.
        left_to_jax: how many of them NumPy has no function for: JAX compiles each alone.
        seconds: about how long one run takes.
    """

    def __init__(self, count: int, compose: Callable[[Interpreter, list[int]], list[int]]) -> None:
        self.equations = self.left_to_jax = 0
        self.seconds = 0.0
        self._table: list[Any] = []
        self._constant: list[bool] = []
        self._calls: list[tuple[Call, tuple[int, ...], int | tuple[int, ...], bool]] = []
        self._inputs = [self._slot(None) for _ in range(count)]
        self._large: set[int] = set()
        with np.errstate(all="ignore"):
            self._outputs = compose(self, self._inputs)
        live = {*self._outputs}
        self._steps: list[tuple[Call, tuple[int, ...], int | tuple[int, ...], tuple[int, ...]]] = []
        for call, reads, gives, pure in reversed(self._calls):
            if pure and live.isdisjoint([gives] if isinstance(gives, int) else gives):
                continue  # only a derivative would read it, as the numbers of elements that share an extreme
            self._steps.append((call, reads, gives, tuple(self._large.intersection(reads) - live)))
            live.update(reads)
        self._steps.reverse()

    def __call__(self, *operands: Any) -> list[Any]:
        """The outputs, as NumPy's arrays."""
        if self.left_to_jax:  # it may call the user's Python code, which has the context of its thread
            with np.errstate(all="ignore"):
                return self.run(*operands)
        return QUIET.copy().run(self.run, *operands)

    def run(self, *operands: Any) -> list[Any]:
        """The same, where NumPy warns of nothing."""
        table = self._table.copy()
        for slot, operand in zip(self._inputs, operands, strict=True):
            table[slot] = np.asarray(operand)
        for call, reads, gives, last in self._steps:
            result = call(*[table[each] for each in reads])
            for slot in last:
                table[slot] = None
            if isinstance(gives, int):
                table[gives] = result
            else:
                for slot, each in zip(gives, result, strict=True):
                    table[slot] = each
        return [_owned(table[each]) for each in self._outputs]

    def _slot(self, value: Any, constant: bool = False) -> int:
        self._table.append(value)
        self._constant.append(constant)
        return len(self._table) - 1

    def add_program(self, program: Program, arguments: Sequence[int]) -> list[int]:
        """Adds the operations of a program whose arguments are in the slots `arguments`; the slots of its outputs.

        The jaxprs of most are known since they were recorded, so that the program need not be traced as a whole.
        """
        written = Expansion(program.arguments)
        outputs = written.open(program, [-1 - each for each in range(len(arguments))])
        slots: list[Any] = []
        for (operation, static, inputs), aval, closed in zip(
            written.equations, written.avals, written.jaxprs, strict=True
        ):
            reads: list[Any] = [slots[operand] if operand >= 0 else arguments[-1 - operand] for operand in inputs]
            if closed is None:
                slots.append(reads[0][static[0]] if operation is tuple_item else reads[0])
            else:
                found = self._inline(closed.jaxpr, closed.consts, reads)
                slots.append(found if type(aval) is tuple else found[0])
        return [slots[output] if output >= 0 else arguments[-1 - output] for output in outputs]

    def add_entry(self, pack: int, index: int) -> int:
        """Adds the reading of one number of a pack; its slot."""
        slot = self._slot(None)
        self._calls.append((lambda numbers: numbers[index, ...], (pack,), slot, True))
        return slot

    def _inline(self, jaxpr: Any, constants: Sequence[Any], inputs: Sequence[int]) -> list[int]:
        """Adds the calls of a jaxpr whose arguments are in the slots `inputs`; the slots of its outputs."""
        slots = dict(zip(jaxpr.invars, inputs, strict=True))
        for variable, value in zip(jaxpr.constvars, constants, strict=True):
            slots[variable] = self._slot(_numpy(value), constant=True)

        def slot_of(each: Any) -> int:
            if hasattr(each, "val"):  # a literal
                return self._slot(np.asarray(each.val, each.aval.dtype), constant=True)
            slot: int = slots[each]
            return slot

        for equation in jaxpr.eqns:
            reads = [slot_of(each) for each in equation.invars]
            name = equation.primitive.name
            inner = next((equation.params[each] for each in CALLED.get(name, ()) if each in equation.params), None)
            if name == "custom_linear_solve":
                inner = equation.params["jaxprs"].solve
                before, after, constants_of_solve, others = equation.params["const_lengths"]
                start = before + after
                reads = reads[start : start + constants_of_solve] + reads[start + constants_of_solve + others :]
            if name == "cond" and self._constant[reads[0]]:  # such as which platform this is
                branches = equation.params["branches"]
                index = min(max(int(self._table[reads.pop(0)]), 0), len(branches) - 1)
                inner = branches[index]
            if inner is not None:
                outputs = self._inline(*_jaxpr_and_constants(inner), reads)
                slots.update(zip(equation.outvars, outputs, strict=True))
            else:
                slots.update(zip(equation.outvars, self._add_call(equation, name, reads), strict=True))
        return [slot_of(each) for each in jaxpr.outvars]

    def _add_call(self, equation: Any, name: str, reads: list[int]) -> list[int]:
        """Adds the call for one equation; the slots of its results."""
        several, before = equation.primitive.multiple_results, self.left_to_jax
        call = known = self._control(equation, name) or numpys_function(equation)
        self.equations += 1
        if call is None:
            call = jax_call(equation)
            self.left_to_jax += 1
        sizes = [math.prod(variable.aval.shape) for variable in equation.outvars]
        self.seconds += _seconds_of(equation, name, sizes)
        if all(self._constant[each] for each in reads) and sum(sizes) <= FOLDED and known:
            results = call(*[self._table[each] for each in reads])
            return [self._slot(each, constant=True) for each in (results if several else [results])]
        gives = [self._slot(None) for _ in equation.outvars]
        pure = self.left_to_jax == before  # no Python code of the user's
        self._calls.append((call, tuple(reads), tuple(gives) if several else gives[0], pure))
        self._large.update(slot for slot, size in zip(gives, sizes, strict=True) if size >= LARGE)
        return gives

    def _control(self, equation: Any, name: str) -> Call | None:
        """The function for a loop or a branch, whose bodies are interpreted."""
        params = equation.params
        if name == "cond":
            branches = [self._nested(each) for each in params["branches"]]
            return lambda index, *operands: branches[min(max(int(index), 0), len(branches) - 1)](*operands)
        if name == "while":
            return _while(
                self._nested(params["cond_jaxpr"], GUESSED_ROUNDS),
                self._nested(params["body_jaxpr"], GUESSED_ROUNDS),
                params["cond_nconsts"],
                params["body_nconsts"],
            )
        if name == "scan":
            return _scan(self._nested(params["jaxpr"], params["length"]), equation)
        return None

    def _nested(self, closed: Any, rounds: int = 1) -> Call:
        inner = interpreter_of(closed)
        self.equations += inner.equations
        self.left_to_jax += inner.left_to_jax
        self.seconds += rounds * inner.seconds
        return inner.run


def interpreter_of(closed: Any) -> Interpreter:
    """That of a closed jaxpr."""
    return Interpreter(len(closed.jaxpr.invars), lambda made, inputs: made._inline(closed.jaxpr, closed.consts, inputs))


def interpreted(function: Callable[..., Any], *operands: Any) -> Any:
    """What a function of JAX gives, traced as a whole and computed by NumPy: XLA would compile each of its operations.
    One that reads values, or takes NumPy long, is called as it is."""
    try:
        closed, shapes = jax.make_jaxpr(function, return_shape=True)(*operands)
        interpreter = interpreter_of(closed)
        if interpreter.seconds < LONG:
            return jax.tree.unflatten(jax.tree.structure(shapes), interpreter(*jax.tree.leaves(operands)))
    except (jax.errors.JAXTypeError, jax.errors.JAXIndexError, TypeError):
        pass  # a value decides something, or is no array
    return function(*operands)


def _seconds_of(equation: Any, name: str, sizes: list[int]) -> float:
    """What NumPy takes for one equation, about, by the number of elements of its results."""
    seconds = EQUATION + ELEMENT * sum(sizes)
    if name == "dot_general":
        (contracted, _), _ = equation.params["dimension_numbers"]
        seconds += MULTIPLY * sizes[0] * math.prod(equation.invars[0].aval.shape[each] for each in contracted)
    elif name == "conv_general_dilated":
        kernel = equation.invars[1].aval.shape
        features = equation.params["dimension_numbers"].rhs_spec[0]
        seconds += MULTIPLY * sizes[0] * math.prod(kernel) / max(1, kernel[features])
    return seconds


def _owned(value: Array) -> np.ndarray[Any, Any]:
    """The same as an array that is no view: it would keep, and show, the memory of another."""
    array = np.asarray(value)
    return array if array.flags.owndata and array.flags.c_contiguous else array.copy(order="C")


CALLED = {
    "pjit": ("jaxpr",),
    "jit": ("jaxpr",),
    "closed_call": ("call_jaxpr",),
    "core_call": ("call_jaxpr",),
    "custom_jvp_call": ("call_jaxpr",),
    "custom_vjp_call": ("call_jaxpr", "fun_jaxpr"),
    "custom_vjp_call_jaxpr": ("fun_jaxpr", "call_jaxpr"),
    "remat": ("jaxpr",),
    "remat2": ("jaxpr",),
    "checkpoint": ("jaxpr",),
}
"""Primitives that call a function, and the parameters that may hold it."""


def _jaxpr_and_constants(inner: Any) -> tuple[Any, Sequence[Any]]:
    return (inner.jaxpr, inner.consts) if hasattr(inner, "consts") else (inner, ())


def jax_call(equation: Any) -> Call:
    """JAX's own primitive, compiled for this equation alone, on arrays of NumPy's."""
    primitive = equation.primitive
    given = primitive.get_bind_params(equation.params)  # `shard_map` is bound to functions, and has jaxprs
    functions, params = given if isinstance(given, tuple) else ((), given)

    def call(*operands: Any) -> Any:
        check(f"`jax.lax`'s `{primitive.name}`")
        results = primitive.bind(*functions, *operands, **params)
        return [_numpy(result) for result in results] if primitive.multiple_results else _numpy(results)

    return call


def _numpy(value: Any) -> Any:
    """A value as NumPy's array; a key of `jax.random`, for which NumPy has no type, as it is."""
    own = getattr(value, "dtype", None)
    return value if own is not None and not isinstance(own, np.dtype) else np.asarray(value)


def _while(condition: Call, body: Call, of_condition: int, of_body: int) -> Call:
    def run(*operands: Array) -> list[Array]:
        of_both = of_condition + of_body
        read, given, state = operands[:of_condition], operands[of_condition:of_both], list(operands[of_both:])
        while np.any(on := condition(*read, *state)[0]):
            new = body(*given, *state)
            if on.ndim:  # of a batch, those go on for which the condition holds
                pairs = zip(new, state, strict=True)
                new = [np.where(on.reshape(on.shape + (1,) * (a.ndim - on.ndim)), a, b) for a, b in pairs]
            state = new
        return state

    return run


def _scan(body: Call, equation: Any) -> Call:
    params, results = equation.params, equation.outvars
    length, inner = params["length"], params["jaxpr"].jaxpr
    # What is stacked has a dimension more than in the body; versions of JAX tell the numbers in different ways.
    whole = sum(a.aval.ndim == b.aval.ndim for a, b in zip(equation.invars, inner.invars, strict=True))
    carried = sum(a.aval.ndim == b.aval.ndim for a, b in zip(results, inner.outvars, strict=True))
    constants = whole - carried
    order = range(length)[::-1] if params["reverse"] else range(length)

    def run(*operands: Array) -> list[Array]:
        given, state = operands[:constants], list(operands[constants : constants + carried])
        stacked = operands[constants + carried :]
        stacks = [np.zeros(result.aval.shape, result.aval.dtype) for result in results[carried:]]
        for each in order:
            outputs = body(*given, *state, *[stack[each] for stack in stacked])
            state = outputs[:carried]
            for stack, entry in zip(stacks, outputs[carried:], strict=True):
                stack[each] = entry
        return [*state, *stacks]

    return run
