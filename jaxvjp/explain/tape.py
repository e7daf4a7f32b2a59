"""A backward pass as arithmetic on single numbers, which a page can do again for another x: `tape_of`.

Each operation is traced by JAX. What only moves numbers (a reshape, a slice, a write) is run on their places.
"""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import accumulate
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from jaxvjp.core.record.graph import Node, gradient_edges, reachable
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.core.run.interpreter import jax_call
from jaxvjp.explain.chain import HOOK, Cotangents, Link
from jaxvjp.explain.literals import shortest
from jaxvjp.explain.names import operation_of
from jaxvjp.ops.identity import tuple_item
from jaxvjp.ops.pointwise import assigned
from jaxvjp.ops.view import put, select

Array = np.ndarray[Any, Any]
LONGEST = 4000
"""A tape of more entries than this is refused."""
ARITHMETIC = (
    "|add|sub|mul|div|neg|sign|pow|exp|log|sin|cos|tan|tanh|sqrt|rsqrt|logistic|abs|max|min|log1p|expm1|copy|square|"
    "lt|le|gt|ge|eq|ne|select_n|stop_gradient|erf|erfc|sinh|cosh|asin|acos|atan|asinh|acosh|atanh|cbrt|exp2|floor|ceil|"
    "round|clamp|atan2|rem|and|or|not|is_finite|lgamma|erf_inv|"
)
"""The operations that the page's script has, too, in `OPS`."""
CUMULATED = {"cumsum": "add", "cumprod": "mul", "cummax": "max", "cummin": "min"}
MOVES = (
    "|reshape|transpose|slice|squeeze|broadcast_in_dim|gather|dynamic_slice|rev|concatenate|scatter|select_n|"
    "dynamic_update_slice|expand_dims|copy_p|split|pad|stack|"
)
DATA = {"gather": [0], "dynamic_slice": [0], "dynamic_update_slice": [0, 1], "scatter": [0, 2], "select_n": range(1, 9)}
"""Which operands of such an operation are moved; the others say where from and to. Of those not listed it is all."""
REDUCED = {
    "reduce_sum": "add",
    "reduce_prod": "mul",
    "reduce_max": "max",
    "reduce_min": "min",
    "reduce_or": "or",
    "reduce_and": "and",
}


PLACED = {select: 1, put: 2}
"""From which operand on the positions of a view come, which stay as they were read: `x[x.argmax()]`."""
EXTREMES = {"max.dim": "first_max", "min.dim": "first_min"}


class UnknownError(Exception):
    """The page cannot compute this, for the reason that is said."""


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
    """Entries: ["x", 2.0] for a number of a leaf, ["constant", 3.0], and operations on earlier ones, ["mul", 0, 1].

    Attributes:
        operation: the user's, to which what is recorded now belongs.
    """

    operation: str

    def add(self, operation: str, *operands: Any) -> Entry:
        if len(self) >= LONGEST:
            raise UnknownError(f"this takes more than {LONGEST:,} operations on single numbers")
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
        if values.dtype == object:
            return values
        short = np.array([float(shortest(each)) for each in values.ravel()], object).reshape(values.shape)
        return self.each(lambda each: self.add(kind, each), short)

    def mapped(self, name: str, *arrays: Array) -> Array:
        return self.each(lambda *each: self.add(name, *each), *arrays)

    def operand(self, node: Any, known: dict[Node, Array], inputs: Callable[[Node], Iterable[Any]]) -> Array:
        """The entries of a node; its value where no x reaches it."""
        if node not in known and isinstance(node, Node) and not known.keys().isdisjoint(reachable([node], inputs)):
            known[node] = self.recorded(node, known, inputs)
            many = type(node.aval) is tuple
            if node.operation is not tuple_item and (many or node.aval.dtype.name != "bool"):
                # It is cut from the graph: it moves with x, but no gradient goes back.
                known[node] = self.mapped("cut", self.numbers(known[node]))
        if node in known:
            return known[node]
        if node.value is None:  # what nobody has read yet, as the v of a backward before
            evaluate([node])
        return np.asarray(node.value, node.aval.dtype.numpy)

    def recorded(self, node: Node, known: dict[Node, Array], inputs: Callable[[Node], Iterable[Any]]) -> Array:
        """The entries of what a node computes; of several results they follow one another."""
        if node.operation is None:
            (source,) = inputs(node)
            return self.operand(source, known, inputs)
        if node.operation is tuple_item:
            (source,) = node.inputs
            if source.operation is not None and source.operation.name in EXTREMES and node.static[0]:  # type: ignore[union-attr]
                raise UnknownError(f"where `{operation_of(source)}` finds its number depends on x")  # type: ignore[arg-type]
            return self.operand(source, known, inputs)[places_of(node)].reshape(node.aval.shape)
        operands = []
        for place, each in enumerate(node.inputs):
            stays = node.operation is assigned and each not in known  # of an overwritten array the shape
            if stays or (node.operation in PLACED and place >= PLACED[node.operation]):
                operands.append(np.asarray(each.value, each.aval.dtype.numpy))
            else:
                operands.append(self.operand(each, known, inputs))
        avals = [
            jax.ShapeDtypeStruct(value.shape, each.aval.dtype.numpy)  # type: ignore[no-untyped-call]
            for each, value in zip(node.inputs, operands, strict=True)
        ]
        call, static, self.operation = node.operation.call, node.static, operation_of(node)
        if node.operation.name in EXTREMES and operands[0].dtype == object and operands[0].ndim:
            return self.extremes(node, operands[0])
        traced = jax.make_jaxpr(lambda *given: call(static, list(given)))(*avals)
        results = [self.numbers(each) for each in self.read(traced.jaxpr, traced.consts, operands)]
        return np.concatenate([each.reshape(-1) for each in results]) if type(node.aval) is tuple else results[0]

    def extremes(self, node: Node, rows: Array) -> Array:
        """The entries of `x.max(dim)`: the values, and zeros in place of the positions, which nothing may read."""
        dim, name = dict(zip(node.operation.static_names, node.static, strict=True))["dim"], node.operation.name  # type: ignore[union-attr]
        values = reduce(lambda one, other: self.mapped(EXTREMES[name], one, other), np.moveaxis(rows, dim, 0))
        found = np.asarray(values, object).reshape(-1)
        return np.concatenate([found, self.numbers(np.zeros(found.shape))])

    def read(self, jaxpr: Jaxpr, constants: Sequence[Any], operands: Sequence[Array]) -> list[Array]:
        """The results of a jaxpr; arrays of entries are of objects, and constants are as they are."""
        known: dict[Any, Array] = dict(zip(jaxpr.constvars, map(np.asarray, constants), strict=True))
        known.update(zip(jaxpr.invars, operands, strict=True))

        def value(atom: Any) -> Array:
            return np.asarray(atom.val) if isinstance(atom, Literal) else known[atom]

        for equation in jaxpr.eqns:
            given, params = [value(each) for each in equation.invars], equation.params
            inner: Any = params.get("jaxpr") or params.get("call_jaxpr")
            if all(each.dtype != object for each in given):
                results = called(equation, given)
            elif equation.primitive.name == "custom_jvp_call" and inner.jaxpr.outvars == inner.jaxpr.invars[1:]:
                # `rebind`: the second value, with the derivative of the first
                results = [self.mapped("rebind", *map(self.numbers, given))]
            elif equation.primitive.name == "custom_jvp_call" and "sqrt" in [e.primitive.name for e in inner.eqns[:1]]:
                results = [self.mapped("root", self.numbers(given[0]))]  # a norm's, whose derivative at 0 is 0
            elif equation.primitive.name == "optimization_barrier":
                results = given
            elif equation.primitive.name == "cond":  # where x decides all branches, and then a choice
                chosen = params["branches"] if given[0].dtype == object else [params["branches"][int(given[0])]]
                ways = [self.read(each.jaxpr, each.consts, given[1:]) for each in chosen]
                results = ways[0]
                if len(ways) > 1:
                    results = [
                        self.mapped("select_n", given[0], *map(self.numbers, each)) for each in zip(*ways, strict=True)
                    ]
            elif equation.primitive.name == "scan":
                results = self.rounds(params, given)
            elif inner is not None and equation.primitive.name != "while":
                inner = inner if isinstance(inner, ClosedJaxpr) else ClosedJaxpr(inner, ())
                results = self.read(inner.jaxpr, inner.consts, given)
            else:
                done = self.done(equation, given, params)
                results = done if isinstance(done, list) else [done]
            known.update(zip(equation.outvars, results, strict=True))
        return [value(each) for each in jaxpr.outvars]

    def done(self, equation: Any, given: list[Array], params: Any) -> Array | list[Array]:
        """The entries that one primitive gives; of several results, one by one."""
        if not all(each.size for each in given):
            raise UnknownError("an array in it has no elements")
        name = {"add_any": "add"}.get(equation.primitive.name, equation.primitive.name)
        if name == "convert_element_type":
            return given[0]
        if f"|{name}|" in MOVES and (name != "select_n" or given[0].dtype != object):
            data = DATA.get(name, range(len(given)))
            if any(each.dtype == object for place, each in enumerate(given) if place not in data):
                raise UnknownError(f"which numbers `{self.operation}` takes depends on x")
            places = [self.numbers(each).astype(float) if at in data else each for at, each in enumerate(given)]
            return [self.each(lambda each: self.entry(int(each)), each) for each in called(equation, places)]
        moving = [place for place, each in enumerate(given) if each.dtype == object]
        if name == "scatter-add" or (name == "conv_general_dilated" and len(moving) == 1):
            return self.sums(equation, given, moving)
        given = [self.numbers(each) for each in given]
        if name == "integer_pow":
            return self.mapped("pow", *given, np.asarray(self.add("constant", params["y"]), object))
        if name in REDUCED:
            rows = np.moveaxis(given[0], params["axes"], range(len(params["axes"])))
            rows = rows.reshape(-1, *rows.shape[len(params["axes"]) :])
            return np.asarray(reduce(lambda one, other: self.mapped(REDUCED[name], one, other), rows), object)
        if name in CUMULATED:
            way = slice(None, None, -1 if params["reverse"] else 1)
            rows = np.moveaxis(given[0], params["axis"], 0)[way]
            added = accumulate(rows, lambda one, other: self.mapped(CUMULATED[name], one, other))
            return np.moveaxis(np.stack([*added])[way], 0, params["axis"])
        if name == "dot_general":
            (summed, batched), letters = params["dimension_numbers"], iter(string.ascii_letters)
            one, other = ([next(letters) for _ in each.shape] for each in given)
            for left, right in zip([*summed[0], *batched[0]], [*summed[1], *batched[1]], strict=True):
                other[right] = one[left]
            kept = [one[each] for each in batched[0]] + sorted({*one} ^ {*other}, key=string.ascii_letters.index)
            return np.asarray(np.einsum(f"{''.join(one)},{''.join(other)}->{''.join(kept)}", *given), object)
        if f"|{name}|" in ARITHMETIC:
            return self.mapped(name, *given)
        raise UnknownError(f"the page has no arithmetic for `{self.operation}`")

    def rounds(self, params: Any, given: list[Array]) -> list[Array]:
        """The entries of a loop: each round is read for itself."""
        body, kept, carried = params["jaxpr"], params["num_consts"], params["num_carry"]
        fixed, carry, rows = given[:kept], given[kept : kept + carried], given[kept + carried :]
        way = slice(None, None, -1 if params["reverse"] else 1)
        told = []
        for each in range(params["length"])[way]:
            found = self.read(body.jaxpr, body.consts, [*fixed, *carry, *[np.asarray(row[each]) for row in rows]])
            carry = found[:carried]
            told.append([self.numbers(each) for each in found[carried:]])
        return [*carry, *[np.stack(each)[way] for each in zip(*told, strict=True)]]

    def sums(self, equation: Any, given: list[Array], moving: list[int]) -> Array:
        """The entries of what is linear in its moving operands: each result is a weighted sum."""
        still = [
            np.zeros(each.shape, of.aval.dtype) if place in moving else each
            for place, (each, of) in enumerate(zip(given, equation.invars, strict=True))
        ]
        (fixed,) = called(equation, still)
        found = self.numbers(fixed)
        for place in moving:
            for at, entry in np.ndenumerate(given[place]):
                still[place][at] = 1
                (now,) = called(equation, still)
                still[place][at] = 0
                for out in zip(*np.nonzero(now - fixed), strict=True):
                    found[out] += entry * self.add("constant", float((now - fixed)[out]))
        return found


def called(equation: Any, given: Sequence[Any]) -> list[Array]:
    """What a primitive gives for numbers."""
    found = jax_call(equation)(*given)
    return found if equation.primitive.multiple_results else [np.asarray(found)]


def places_of(item: Node) -> slice:
    """Where the numbers of an item of a tuple are, among those of all items."""
    avals: Any = item.inputs[0].aval
    sizes = [math.prod(each.shape) for each in avals]
    begin = sum(sizes[: item.static[0]])
    return slice(begin, begin + sizes[item.static[0]])


def tape_of(
    chain: Cotangents,
    roots: Sequence[Node],
    leaves: Sequence[Node],
    inputs: Callable[[Node], Iterable[Any]],
    python: Callable[[Link], tuple[Sequence[Any], Sequence[Any]] | None],
) -> dict[str, Any]:
    """The tape of a backward pass; UnknownError for one that the page cannot do again.

    Each of `steps` has where its entries begin and end, the entries of its result, and of those that get a cotangent;
    of a step that ran the user's code on cotangents, also the entries of those, and of what it returned: `python` gives
    the nodes of both.
    """
    tape, known, steps = Tape(), dict[Node, Array](), []
    items = [node for node in reachable(roots, gradient_edges) if node.operation is tuple_item]
    with jax.enable_x64(True):
        evaluate(leaves)
        for leaf in leaves:
            known[leaf] = tape.numbers(np.asarray(leaf.value), "x")
        for link in reversed(chain):
            if link.operation == HOOK:
                steps.append([0, 0, [*known[link.node].flat], [[*known[link.node].flat]]])
                continue
            if link.node in leaves and not link.targets:  # the pass ends here: it moves as a leaf does
                steps.append([0, 0, [*known[link.node].flat], []])
                continue
            begin, seen = len(tape), set[int]()
            result = tape.recorded(link.node, known, inputs)
            own = []
            for each in result.flat:  # each gets a cotangent of its own: it is no other value's, and not there twice
                own.append(tape.add("copy", each) if each < begin or each in seen else each)
                seen.add(each)
            known[link.node] = np.reshape(np.array(own, object), result.shape)
            if type(link.node.aval) is tuple:  # at some of its results nothing arrives
                of = {each.static[0]: own[places_of(each)] for each in items if each.inputs[0] is link.node}
                own = [each for _, part in sorted(of.items()) for each in part]
            steps.append([begin, len(tape), own, [[*known[each].flat] for each in link.targets]])
        steps.reverse()
        for link, step in zip(chain, steps, strict=True):
            ran = python(link)
            if ran is not None:
                begin, (before, after) = len(tape), ran
                arrives = {each: tape.numbers(np.zeros(each.aval.shape), "arrives") for each in before}
                made = [tape.numbers(tape.operand(each, known | arrives, inputs)) for each in after]
                step += [[*next(iter(arrives.values())).flat], [[*each.flat] for each in made], begin, len(tape)]
    ends = [one for root in roots for one in tape.operand(root, known, inputs).flat]
    places = {"root": ends, "leaves": [[*known[each].flat] for each in leaves]}
    return {"entries": tape, "steps": steps, **places}
