"""A backward pass as arithmetic on single numbers, which a page can do again for another x: `tape_of`.

Each operation is traced by JAX. What only moves numbers (a reshape, a slice, a write) is run on their places.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from jaxvjp.core.record.graph import Node, Number, reachable
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.explain.chain import Cotangents
from jaxvjp.ops.pointwise import assigned

Array = np.ndarray[Any, Any]
LONGEST = 4000
"""A tape of more entries than this is refused."""
ARITHMETIC = (
    "|add|sub|mul|div|neg|sign|pow|exp|log|sin|cos|tan|tanh|sqrt|rsqrt|logistic|abs|max|min|log1p|expm1|copy|square|"
    "lt|le|gt|ge|eq|ne|select_n|stop_gradient|"
)
"""The operations that the page's script has, too, in `OPS`."""
MOVES = (
    "|reshape|transpose|slice|squeeze|broadcast_in_dim|gather|dynamic_slice|rev|concatenate|scatter|select_n|"
    "dynamic_update_slice|expand_dims|copy_p|split|"
)
REDUCED = {"reduce_sum": "add", "reduce_prod": "mul", "reduce_max": "max", "reduce_min": "min"}


class UnknownError(Exception):
    """The page cannot compute this."""


class Entry(int):
    """The place of a number on a tape; NumPy's products and sums of such are new entries."""

    tape: Tape

    def __mul__(self, other: int) -> Entry:
        return self.tape.add("mul", self, other)

    def __add__(self, other: int) -> Entry:
        return self.tape.add("add", self, other)

    def __radd__(self, _: int) -> Entry:
        return self  # to the nothing that a sum begins with


class Tape(list[list[Any]]):
    """Entries: ["x", 2.0] for a number of a leaf, ["constant", 3.0], and operations on earlier ones, ["mul", 0, 1]."""

    def add(self, operation: str, *operands: Any) -> Entry:
        if len(self) >= LONGEST:
            raise UnknownError
        self.append([operation, *[int(each) if isinstance(each, Entry) else each for each in operands]])
        return self.entry(len(self) - 1)

    def entry(self, place: int) -> Entry:
        made = Entry(place)
        made.tape = self
        return made

    def each(self, function: Callable[..., Entry], *arrays: Array) -> Array:
        """An array of entries, one for each element of arrays that broadcast."""
        found = np.asarray(
            np.frompyfunc(function, len(arrays), 1)(*[np.asarray(each, object) for each in arrays]), object
        )
        return found if found.shape else np.asarray(found[()], object)

    def numbers(self, values: Array, kind: str = "constant") -> Array:
        """Entries for values, if they are none yet."""
        return values if values.dtype == object else self.each(lambda each: self.add(kind, float(each)), values)

    def mapped(self, name: str, *arrays: Array) -> Array:
        return self.each(lambda *each: self.add(name, *each), *arrays)

    def recorded(self, node: Node, known: dict[Node, Array], inputs: Callable[[Node], Iterable[Any]]) -> Array:
        """The entries of what a node computes. An operand that no x reaches is constant."""
        if node.python is not None or node.operation is None or type(node.aval) is tuple:
            raise UnknownError
        operands = []
        for each in node.inputs:
            if isinstance(each, Number) or (node.operation is assigned and each not in known):
                operands.append(np.asarray(each.value, each.aval.dtype.numpy))  # of an overwritten array the shape
                continue
            if each not in known and not known.keys().isdisjoint(reachable([each], inputs)):
                if each.aval.dtype.name != "bool":
                    raise UnknownError  # cut from the graph: it moves with x, but no derivative tells
                known[each] = self.recorded(each, known, inputs)
            operands.append(known[each] if each in known else np.asarray(each.value, each.aval.dtype.numpy))
        avals = [
            jax.ShapeDtypeStruct(value.shape, each.aval.dtype.numpy)  # type: ignore[no-untyped-call]
            for each, value in zip(node.inputs, operands, strict=True)
        ]
        call, static = node.operation.call, node.static
        traced = jax.make_jaxpr(lambda *given: call(static, list(given)))(*avals)
        return self.numbers(self.read(traced.jaxpr, traced.consts, operands)[0])

    def read(self, jaxpr: Jaxpr, constants: Sequence[Any], operands: Sequence[Array]) -> list[Array]:
        """The results of a jaxpr; arrays of entries are of objects, and constants are as they are."""
        known: dict[Any, Array] = dict(zip(jaxpr.constvars, map(np.asarray, constants), strict=True))
        known.update(zip(jaxpr.invars, operands, strict=True))

        def value(atom: Any) -> Array:
            return np.asarray(atom.val) if isinstance(atom, Literal) else known[atom]

        for equation in jaxpr.eqns:
            given, params = [value(each) for each in equation.invars], equation.params
            inner = params.get("jaxpr") or params.get("call_jaxpr")
            if all(each.dtype != object for each in given):
                found = equation.primitive.bind(*given, **params)  # type: ignore[no-untyped-call]
                results = [np.asarray(each) for each in (found if equation.primitive.multiple_results else [found])]
            elif isinstance(inner, ClosedJaxpr) and equation.primitive.name not in ("while", "scan"):
                results = self.read(inner.jaxpr, inner.consts, given)
            else:
                results = [self.done(equation, given, params)]
            known.update(zip(equation.outvars, results, strict=True))
        return [value(each) for each in jaxpr.outvars]

    def done(self, equation: Any, given: list[Array], params: Any) -> Array:
        """The entries that one primitive gives."""
        name = equation.primitive.name
        if name == "convert_element_type":
            return given[0]
        if f"|{name}|" in MOVES and (name != "select_n" or given[0].dtype != object):
            data = [each.aval.dtype.kind == "f" for each in equation.invars]
            places = [self.numbers(each).astype(float) if own else each for each, own in zip(given, data, strict=True)]
            return self.each(lambda each: self.entry(int(each)), np.asarray(equation.primitive.bind(*places, **params)))
        given = [self.numbers(each) for each in given]
        if name == "integer_pow":
            return self.mapped("pow", *given, np.asarray(self.add("constant", params["y"]), object))
        if name in REDUCED:
            rows = np.moveaxis(given[0], params["axes"], range(len(params["axes"])))
            rows = rows.reshape(-1, *rows.shape[len(params["axes"]) :])
            return np.asarray(reduce(lambda one, other: self.mapped(REDUCED[name], one, other), rows), object)
        if name == "cumsum" and not params["reverse"]:
            return np.add.accumulate(given[0], params["axis"])
        if name == "dot_general":
            (summed, batched), letters = params["dimension_numbers"], iter(string.ascii_letters)
            one, other = ([next(letters) for _ in each.shape] for each in given)
            for left, right in zip([*summed[0], *batched[0]], [*summed[1], *batched[1]], strict=True):
                other[right] = one[left]
            kept = [one[each] for each in batched[0]] + sorted({*one} ^ {*other}, key=string.ascii_letters.index)
            return np.asarray(np.einsum(f"{''.join(one)},{''.join(other)}->{''.join(kept)}", *given), object)
        if f"|{name}|" in ARITHMETIC:
            return self.mapped(name, *given)
        raise UnknownError


def tape_of(
    chain: Cotangents, root: Node, leaves: Sequence[Node], inputs: Callable[[Node], Iterable[Any]]
) -> dict[str, Any] | None:
    """The tape of a backward pass; None for one that the page cannot do again.

    Each of `steps` has where its entries begin and end, the entries of its result, and of those that get a cotangent.
    """
    tape, known, steps = Tape(), dict[Node, Array](), []
    try:
        with jax.enable_x64(True):
            evaluate(leaves)
            for leaf in leaves:
                known[leaf] = tape.numbers(np.asarray(leaf.value), "x")
            for link in reversed(chain):
                begin, seen = len(tape), set[int]()
                result = tape.recorded(link.node, known, inputs)
                own = []
                for (
                    each
                ) in result.flat:  # each gets a cotangent of its own: it is no other value's, and not there twice
                    own.append(tape.add("copy", each) if each < begin or each in seen else each)
                    seen.add(each)
                known[link.node] = np.reshape(np.array(own, object), result.shape)
                steps.append([begin, len(tape), own, [[*known[each].flat] for each in link.targets]])
    except UnknownError:
        return None
    places = {"root": [*known[root].flat], "leaves": [[*known[each].flat] for each in leaves]}
    return {"entries": tape, "steps": steps[::-1], **places}
