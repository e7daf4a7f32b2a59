"""The one derivative: `jax.vjp` of a program.

`pullback` is an op that does both parts of it, for a program of any length; `chain_rule` takes that of one operation
apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxvjp.core.derive.dependences import Positions
from jaxvjp.core.run.program import Program, replay


def function_of(program: Program, arguments: Sequence[Any], wrt: Positions) -> tuple[Callable[..., Any], list[Any]]:
    """`program` as a function of its arguments `wrt` alone, and the primals: the values of those arguments."""

    def primal(*differentiated: Any) -> tuple[Any, ...]:
        given = list(arguments)
        for position, each in zip(wrt, differentiated, strict=True):
            given[position] = each
        return replay(program, given)

    return primal, [arguments[position] for position in wrt]


def begin(
    static: tuple[Program, Positions, int], arguments: Sequence[Any], equations: Sequence[int]
) -> tuple[list[Any], Callable[[Sequence[Any]], tuple[Any, ...]]]:
    """Runs the program of a pullback forward. Returns the results of `equations` of it; and a function, from the
    cotangents to all results of the pullback, which is the rest.

    A program may have some of the pullback's equations outside of it as well: it takes the results of these `equations`
    from the forward run, so that none is computed twice (`program.in_pullbacks`).
    """
    program, wrt, batched = static
    within = Program(program.arguments, program.equations, (*program.outputs, *equations), program.weight)
    primal, primals = function_of(within, arguments, wrt)

    def outputs_and_shared(*differentiated: Any) -> tuple[tuple[Any, ...], list[Any]]:
        results = primal(*differentiated)
        return results[: len(program.outputs)], list(results[len(program.outputs) :])

    outputs, pull, shared = jax.vjp(outputs_and_shared, *primals, has_aux=True)
    for _ in range(batched):
        pull = jax.vmap(pull)

    def outputs_and_cotangents(cotangents: Sequence[Any]) -> tuple[Any, ...]:
        results = pull(tuple(_conjugated(cotangent) for cotangent in cotangents))
        return (*outputs, *[_conjugated(result) for result in results])

    return shared, outputs_and_cotangents


def _conjugated(cotangent: Any) -> Any:
    """torch's cotangent of a complex value is the conjugate of JAX's."""
    return jnp.conj(cotangent) if jnp.iscomplexobj(cotangent) else cotangent
