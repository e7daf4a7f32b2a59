"""Forward mode: tensors with a tangent.

Inside a level `make_dual(x, t)` attaches the tangent t to x; tensors computed from it have tangents, too. `unpack_dual`
returns them: by `jax.jvp` of the program that was recorded since `make_dual`.
"""

from __future__ import annotations

import contextlib
import math
from typing import NamedTuple

from jaxvjp.core.record.modes import grad_mode, tangents_stop, transforming
from jaxvjp.library.creation import zeros
from jaxvjp.library.facts import is_conj, is_neg
from jaxvjp.ops.view import alias
from jaxvjp.tensor.docstrings import complete_all
from jaxvjp.tensor.duals import Duals, DualStep, Tangents
from jaxvjp.tensor.tensor import Tensor, users_tensor, view
from jaxvjp.tensor.view_steps import Step

UNDERNEATH = "`jax.jvp` of what was recorded in the level"


class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` returns: a tensor without its tangent, and that, or None where there is none."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Opens a level of forward mode and returns its number; RuntimeError inside another one."""
    if transforming().level is not None:
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment\n"
            "`func.jvp` and `func.jacfwd` nest, also inside a level: `func.jvp(lambda x: func.jvp(f, (x,), (t,))[1], "
            "(x,), (t,))`."
        )
    transforming().level = Duals(of_function=False)
    transforming().level.__enter__()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Closes the level: its tensors have no tangents any more. RuntimeError where there is none, or not this one."""
    if level is not None and level != _number():
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    if transforming().level is None:
        raise RuntimeError("Dual level must be a positive number.")
    transforming().level.__exit__()
    transforming().level = None


def _number() -> int:
    return -1 if transforming().level is None else 0


class dual_level(contextlib.ContextDecorator):  # noqa: N801 - torch's name
    """A level of forward mode, for a block or, as a decorator, for each call of a function."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exception: object) -> None:
        exit_dual_level()


_set_fwd_grad_enabled = Tangents


def _is_fwd_grad_enabled() -> bool:
    return not tangents_stop()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of `tensor` that carries `tangent`, which has its shape and dtype.

    Raises:
        RuntimeError: outside of a level; shapes that differ; a tensor that has a tangent already.
        ValueError: an integer tensor or tangent.

    Counterpart of `torch.autograd.forward_ad.make_dual`. Underneath: a primal and a tangent for `jax.jvp`.
    """
    for each in (tensor, tangent):
        each.is_floating_point()
    duals: Duals | None = transforming().level
    if duals is None or (level is not None and level < 0):
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    if level not in (None, 0):
        raise RuntimeError("Invalid level given to _make_dual")
    if duals.carries(tensor.__node__):
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not "
            "supported."
        )
    if duals.carries(tangent.__node__):
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level0 is not supported."
        )
    if grad_mode().inference:
        return view(tensor, Step(alias, ()))
    return duals.make(tensor, tangent if _lies_as(tensor, tangent) else _laid_as(tensor, tangent))


def _lies_as(tensor: Tensor, tangent: Tensor) -> bool:
    """Whether a tangent lies in memory as its tensor does, or nobody can tell: then torch keeps it as it is."""
    if tensor.shape != tangent.shape or tensor.dtype is not tangent.dtype or transforming().batches:
        return True
    if tensor.__contents__.aval.dtype is not tensor.dtype:  # its memory has elements of another type
        return True
    if is_conj(tensor) != is_conj(tangent) or is_neg(tensor) != is_neg(tangent):
        return False
    if not tensor.numel():
        return True
    strides = zip(tensor.shape, tensor.stride(), tangent.stride(), strict=True)
    sizes = [math.prod(each.__contents__.aval.shape) for each in (tensor, tangent)]
    same = tensor.storage_offset() == tangent.storage_offset() and sizes[0] == sizes[1]
    return same and all(size == 1 or one == other for size, one, other in strides)


def _laid_as(tensor: Tensor, tangent: Tensor) -> Tensor:
    """A copy of a tangent that lies in memory as its tensor does."""
    whole = zeros(math.prod(tensor.__contents__.aval.shape), dtype=tensor.dtype)
    copy = whole.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
    return (copy.conj() if is_conj(tensor) else copy).copy_(tangent)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """`tensor` without its tangent, and the tangent: None where it depends on no dual tensor of this level.

    Both are differentiable in reverse mode. Underneath: `jax.jvp`.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type(tensor).__name__}")
    duals: Duals | None = transforming().level
    if duals is None or level not in (None, 0) or tangents_stop():
        return UnpackedDualTensor(tensor, None)
    last = tensor.__steps__[-1] if tensor.__steps__ else None
    if isinstance(last, DualStep) and last.level is duals and last.tangent is not None:
        return UnpackedDualTensor(duals.primal(tensor), last.tangent)
    node = tensor.__node__
    (tangent,) = duals.tangents_of([node])
    if tangent is None:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(duals.primal(tensor), users_tensor(tangent))


complete_all(
    globals(),
    ["dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual", "UnpackedDualTensor"],
    "autograd.forward_ad",
)
