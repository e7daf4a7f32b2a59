"""`functionalize` and `debug_unwrap`, which have little to do here: recorded programs have no writes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from jaxvjp.core.record.modes import transforming
from jaxvjp.core.record.record import detached
from jaxvjp.tensor.tensor import Tensor, wrap

UNDERNEATH = "no JAX: what is recorded is functional as it is"


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """`func` without in-place operations and, with "mutations_and_views", without views.

    That is `func` itself: what is recorded of any function is a program without writes, in which a view is a pair of
    pure functions. RuntimeError for another `remove`. Counterpart of `torch.func.functionalize`.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations': all inplace and out= operators will be removed from the program, and replaced "
            "with their out-of-place equivalents.\n"
            "     remove='mutations_and_views': In addition to the above, all aliasing operators {view} will be "
            "replaced with their non-aliasing counterparts, {view}_copy.\n"
        )

    @functools.wraps(func)
    def functionalized(*args: Any, **kwargs: Any) -> Any:
        transforming().depth += 1  # for torch it is a transform like others
        try:
            return func(*args, **kwargs)
        finally:
            transforming().depth -= 1

    return functionalized


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The tensor that a transform's argument was made from, to look at: for an example of `vmap` the whole batch.

    With `recurse` through all transforms under way, else through the innermost. Counterpart of
    `torch.func.debug_unwrap`.
    """
    node = tensor.__node__
    for batch in reversed(transforming().batches if recurse else transforming().batches[-1:]):
        if batch.holds(node):
            (node,) = batch.batches([node], [0])
    return tensor if node is tensor.__node__ and not transforming().depth else wrap(detached(node))
