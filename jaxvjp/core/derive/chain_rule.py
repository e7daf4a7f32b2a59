"""The pullback of a program, operation by operation: how NumPy computes it.

XLA gets `jax.vjp` of the whole program. JAX takes 1.5 ms to differentiate each of its operations, and a program that
runs a few times mostly has operations that others had: rounds of a loop, equal layers, the same step with an update
more in it. So here `jax.vjp` is traced once for each operation alone (a `Step`), and `opened` joins steps by the chain
rule.

For `y = sin(x) * x` that is: sin forward, mul forward, mul back, sin back, and the sum of the two cotangents of x.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxvjp.core.derive.dependences import Positions
from jaxvjp.core.derive.vjp import begin
from jaxvjp.core.run.expansion import Expansion, Place
from jaxvjp.core.run.program import Equation, Program
from jaxvjp.ops.abstract_values import Aval
from jaxvjp.ops.identity import tuple_item
from jaxvjp.ops.op import Op, op
from jaxvjp.ops.pointwise import add
from jaxvjp.ops.tracing import has_any, trace

STEPS = 1 << 10
"""How many steps are remembered."""
WITH_RULES = frozenset(["custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr"])


class Step:
    """`jax.vjp` of one operation as two jaxprs, which `forward_step` and `backward_step` run.

    Attributes:
        forward: from the operands to the results, then the residuals.
        backward: from the residuals, then a cotangent for each of the results that have one, to cotangents of operands.
        results: how many results the operation has.
        reaches: the positions of these operands. One whose cotangent is zero in any case, as that of `floor`, has none.
        differentiable: whether its jaxprs can be differentiated. A rule of `jax.custom_jvp` in one may refer to values
            of the trace that it was made in, as that of `jnp.linalg.pinv` does.
        formulas: for each of `reaches` the operands of `backward` that torch's formula is differentiable in, besides
            cotangents, or None; and those that come with it `in_one_step` (`ops.op`).
    """

    def __init__(
        self,
        closed: Any,
        operands: int,
        results: int,
        wrt: Positions,
        slopes: Sequence[frozenset[int]] | None,
        together: Sequence[int],
    ) -> None:
        whole = closed.jaxpr
        given, cotangents = whole.invars[:operands], whole.invars[operands:]
        of_zero = _zeros(whole)
        self.results = results
        self.reaches, arriving = [], []
        for position, variable in zip(wrt, whole.outvars[results:], strict=True):
            told = together or (slopes is not None and slopes[position])
            if told or not (_is_zero(variable) or variable in of_zero):
                self.reaches.append(position)
                arriving.append(variable)
        late = set(cotangents)
        first, then = [], []
        for equation in whole.eqns:
            if late.isdisjoint(_variables(equation.invars)):
                first.append(equation)
            else:
                then.append(equation)
                late.update(equation.outvars)
        then = _needed(then, arriving)
        read = dict.fromkeys(each for equation in then for each in _variables(equation.invars))
        read.update(dict.fromkeys(_variables(arriving)))
        read.update(dict.fromkeys(given[each] for each in sorted(frozenset(together).union(*(slopes or ())))))
        residuals = [each for each in read if each not in late and each not in whole.constvars]
        place = residuals.index
        self.formulas = [
            (
                None if slopes is None else tuple([place(given[each]) for each in slopes[position]]),
                tuple([place(given[each]) for each in together]),
            )
            for position in self.reaches
        ]
        self.residuals = len(residuals)
        outputs = [*whole.outvars[:results], *residuals]
        self.forward = _part(closed, given, _needed(first, outputs), outputs)
        self.backward = _part(closed, [*residuals, *cotangents], then, arriving)
        self.differentiable = not has_any(whole, WITH_RULES)


def _variables(several: Sequence[Any]) -> list[Any]:
    """Those that are no literals, which cannot be hashed."""
    return [each for each in several if not hasattr(each, "val")]


def _is_zero(variable: Any) -> bool:
    return hasattr(variable, "val") and not np.any(np.asarray(variable.val))


def _zeros(jaxpr: Any) -> set[Any]:
    """The variables that are zeros: JAX writes a cotangent that it knows to be zero as `broadcast_in_dim 0.0`."""
    filled = [each for each in jaxpr.eqns if each.primitive.name == "broadcast_in_dim" and _is_zero(each.invars[0])]
    return {each.outvars[0] for each in filled}


def _needed(equations: list[Any], outputs: Sequence[Any]) -> list[Any]:
    """Those of the equations that `outputs` depend on."""
    wanted = set(_variables(outputs))
    kept = []
    for equation in reversed(equations):
        if not wanted.isdisjoint(equation.outvars):
            kept.append(equation)
            wanted.update(_variables(equation.invars))
    return kept[::-1]


def _part(closed: Any, arguments: Sequence[Any], equations: list[Any], outputs: Sequence[Any]) -> Any:
    """A closed jaxpr of some of the equations of `closed`."""
    names = closed.jaxpr.debug_info._replace(arg_names=None, result_paths=None)
    part = closed.jaxpr.replace(invars=[*arguments], outvars=[*outputs], eqns=equations, debug_info=names)
    return closed.replace(jaxpr=part, consts=closed.consts)


@lru_cache(maxsize=STEPS)
def step_of(
    operation: Op,
    static: tuple[Any, ...],
    avals: tuple[Aval, ...],
    results: tuple[Aval, ...] | Aval,
    wrt: Positions,
    reached: Positions,
    batch: tuple[int, ...],
) -> Step:
    """The step of an operation for operands and results of these avals.

    A cotangent arrives at those of the results whose numbers are `reached`, and goes to the operands at `wrt`. Each has
    the dimensions `batch` in front of its own.
    """
    items: list[Equation] = []
    if isinstance(results, tuple):
        items = [(tuple_item, (each,), (0,)) for each in range(len(results))]
    own: Equation = (operation, static, tuple([-1 - each for each in range(len(avals))]))
    outputs = tuple(range(1, 1 + len(items))) or (0,)
    arriving = [outputs[each] for each in reached]
    program = Program(avals, (own, *items), tuple(arriving), 1)

    def run(*given: Any) -> tuple[Any, ...]:
        found, outputs_and_cotangents = begin((program, wrt, len(batch)), given[: len(avals)], outputs)
        return (*found, *outputs_and_cotangents(given[len(avals) :])[len(arriving) :])

    with_cotangent = [results[each] for each in reached] if isinstance(results, tuple) else [results]
    structs = [each.struct for each in (*avals, *[each.shaped((*batch, *each.shape)) for each in with_cotangent])]
    closed, _ = trace(run, structs, operation)
    together = operation.read_in_one_step(static, len(avals))
    return Step(closed, len(avals), len(outputs), wrt, operation.differentiable_in(static, avals), together)


@op(public="")
def forward_step(*operands: Any, step: Any) -> tuple[Any, ...]:
    """The results of an operation, then what its `backward_step` reads besides cotangents."""
    return _run(step.forward, operands)


@op(public="")
def backward_step(*operands: Any, step: Any) -> tuple[Any, ...]:
    """Cotangents of operands of an operation, from the residuals and the cotangents of its results."""
    return _run(step.backward, operands)


def _run(closed: Any, operands: Sequence[Any]) -> tuple[Any, ...]:
    from jax.extend.core import jaxpr_as_fun  # takes 12 ms to import, and only a derivative of a step needs it

    return tuple(jaxpr_as_fun(closed)(*operands))


forward_step.jaxpr = lambda static: static[0].forward
backward_step.jaxpr = lambda static: static[0].backward


def _by_torchs_formulas(
    static: tuple[Step], found: Sequence[frozenset[int]], given: Sequence[frozenset[int]]
) -> list[frozenset[int]]:
    """What the results of a `backward_step` depend on, where the operation's row tells it: see `dependences`."""
    (step,) = static
    cotangents = frozenset[int]().union(*given[step.residuals :])
    results = []
    for each, (slopes, together) in zip(found, step.formulas, strict=True):
        if slopes is not None:
            each = cotangents.union(*[given[at] for at in slopes])
        beside = frozenset[int]().union(*[given[at] for at in together])
        results.append(each | {at if at < 0 else ~at for at in beside})
    return results


backward_step.depends = _by_torchs_formulas


@op(public="")
def zero_cotangent(*, aval: Any) -> Any:
    """That of an argument which no output depends on."""
    return jnp.zeros(aval.shape, aval.dtype.numpy)


def opened(made: Expansion, static: tuple[Any, ...], operands: list[Place]) -> list[Place] | None:
    """Adds the equations of a pullback to `made`; the places of its results. None where JAX has to trace it as a whole,
    as it contains the pullback of an operation whose step cannot be differentiated (`Step.differentiable`)."""
    program, wrt, batched = static
    count = len(program.arguments)
    cotangents = operands[count:]
    batch = made.aval(cotangents[0]).shape[:batched] if cotangents else ()
    inner = Expansion(program.arguments)
    outputs = inner.open(program, [-1 - each for each in range(count)])
    steps = _steps(inner, outputs, [-1 - each for each in wrt], batch)
    if steps is None:
        return None

    # Forward. Of a step that gives a tuple the place is a list, of other operations that do the place of the tuple.
    at: dict[Place, Any] = {-1 - each: operands[each] for each in range(count)}
    residuals: dict[Place, list[Place]] = {}
    for place, (operation, static, reads) in enumerate(inner.equations):
        step = steps.get(place)
        if step is not None:
            found = made.add_several(forward_step, (step,), [at[each] for each in reads])
            residuals[place] = found[step.results :]
            at[place] = found[: step.results] if type(inner.avals[place]) is tuple else found[0]
        elif operation is tuple_item and isinstance(at[reads[0]], list):
            at[place] = at[reads[0]][static[0]]
        else:
            at[place] = made.add(operation, static, [at[each] for each in reads])

    # Back. The cotangent of item k of the tuple at a place is that of (place, k).
    arrived: dict[Any, Place] = {}

    def arrive(target: Any, cotangent: Place) -> None:
        before = arrived.get(target)
        arrived[target] = cotangent if before is None else made.add(add, (), [before, cotangent])

    for place, cotangent in zip(outputs, cotangents, strict=True):
        arrive(place, cotangent)
    for place in reversed(range(len(inner.equations))):
        operation, static, reads = inner.equations[place]
        if operation is tuple_item:
            if place in arrived:
                arrive((reads[0], static[0]), arrived[place])
        elif place in steps:
            step = steps[place]
            several = type(inner.avals[place]) is tuple
            keys = [(place, each) for each in range(step.results)] if several else [place]
            given = [arrived[key] for key in keys if key in arrived]
            found = made.add_several(backward_step, (step,), [*residuals[place], *given])
            for position, cotangent in zip(step.reaches, found, strict=True):
                arrive(reads[position], cotangent)

    def cotangent_of(position: int) -> Place:
        if -1 - position in arrived:
            return arrived[-1 - position]
        own = program.arguments[position]
        return made.add(zero_cotangent, (own.shaped((*batch, *own.shape)),), [])

    return [*[at[output] for output in outputs], *map(cotangent_of, wrt)]


def _steps(
    inner: Expansion, outputs: list[Place], sources: list[Place], batch: tuple[int, ...]
) -> dict[Place, Step] | None:
    """The steps that cotangents of `outputs` take to `sources`, by the places of their equations; None where one of
    them cannot be differentiated."""
    depends = set(sources)
    for place, (_, _, reads) in enumerate(inner.equations):
        own = inner.avals[place]
        if not depends.isdisjoint(reads) and (type(own) is tuple or own.dtype.differentiable):
            depends.add(place)
    reached: set[Any] = {*outputs}
    items: dict[Place, set[int]] = {}
    steps: dict[Place, Step] = {}
    for place in reversed(range(len(inner.equations))):
        operation, static, reads = inner.equations[place]
        if place not in reached or place not in depends:
            continue
        if operation is tuple_item:
            reached.add(reads[0])
            items.setdefault(reads[0], set()).add(static[0])
            continue
        if operation in (forward_step, backward_step) and not static[0].differentiable:
            return None
        avals = tuple([inner.aval(each) for each in reads])
        wrt = tuple([position for position, each in enumerate(reads) if each in depends])
        arriving = tuple(sorted(items.get(place, (0,))))
        steps[place] = step_of(operation, static, avals, inner.avals[place], wrt, arriving, batch)
        reached.update([reads[each] for each in steps[place].reaches])
    return steps
