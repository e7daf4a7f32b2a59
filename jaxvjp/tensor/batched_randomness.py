"""Random tensors inside `vmap`: one for each example, or the same for all."""

from __future__ import annotations

from collections.abc import Callable

from jaxvjp.core.record.modes import transforming
from jaxvjp.core.record.record import record
from jaxvjp.ops.identity import clone
from jaxvjp.tensor.batches import Batch
from jaxvjp.tensor.tensor import Tensor, wrap


def drawn_from(draw: Callable[..., Tensor], *parameters: Tensor) -> Tensor:
    """`draw(*parameters)`, random numbers for each element of parameters of one shape, whose values it reads.

    Inside `vmap` it is called once, with the parameters of all examples.
    """
    if not transforming().batches:
        return draw(*parameters)
    batch: Batch = transforming().batches[-1]
    differs = batch.random_differs()
    if not differs and any(batch.holds(parameter.__node__) for parameter in parameters):
        raise RuntimeError(
            "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with "
            'functorch\nWhat is drawn depends on the example: `vmap(f, randomness="different")`.'
        )
    given = [(batch.whole(parameter) if differs else parameter).detach() for parameter in parameters]
    with batch.outside():
        drawn = drawn_from(draw, *given)
    return wrap(record(clone, (batch.example(drawn, 0).__node__,))) if differs else drawn


def drawn_into(fill: Callable[[Tensor], Tensor], target: Tensor) -> Tensor:
    """`fill(target)`, which writes random numbers there; inside `vmap`, into all examples of `target`."""
    if not transforming().batches:
        return fill(target)
    batch: Batch = transforming().batches[-1]
    if not batch.random_differs():
        return fill(target)
    check_target(batch, target)
    whole = batch.viewed(target, 0, True)
    if whole is None:
        return fill(target)
    with batch.outside():
        drawn_into(fill, whole)
    return target


def check_target(batch: Batch, target: Tensor) -> None:
    """RuntimeError where each example draws numbers of its own for a tensor that all of them share."""
    if not batch.holds(target.__node__):
        raise RuntimeError(
            "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same "
            "randomness. If this is necessary for your usage, please file an issue with functorch.\n"
            'One for all examples is drawn with `randomness="same"`, or before vmap.'
        )


def refuse_out(out: Tensor | None) -> None:
    """RuntimeError for random numbers that are written to `out` inside of `vmap`."""
    if out is not None and transforming().batches:
        raise RuntimeError(
            "vmap: We do not support calling out variants of random operations inside of vmap. Please use non-out "
            "variants as a workaround"
        )


def per_example(
    shape: tuple[int, ...],
    make: Callable[[tuple[int, ...]], Tensor],
    differs: Callable[[Batch], bool],
    depth: int | None = None,
    copied: bool = True,
) -> Tensor:
    """`make(shape)` inside `vmap`: a tensor of its own for each example of the `vmap`s that `differs` picks, and the
    same one for all examples of the others. `copied`: a write into it, which may have a gradient, stays in the
    example."""
    depth = len(transforming().batches) if depth is None else depth
    if depth == 0:
        return make(shape)
    batch: Batch = transforming().batches[depth - 1]
    if not differs(batch):
        return per_example(shape, make, differs, depth - 1, copied)
    example = batch.example(per_example((batch.size, *shape), make, differs, depth - 1, copied), 0)
    return wrap(record(clone, (example.__node__,))) if copied else example
