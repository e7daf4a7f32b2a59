"""`out=`: a result written into a tensor that the caller gives, as `torch.add(x, y, out=z)` writes it into z."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

from jaxvjp.core.record.modes import grad_mode, transforming
from jaxvjp.core.record.promotion import converted
from jaxvjp.tensor.apply import castable
from jaxvjp.tensor.tensor import Tensor, wrap

OUT = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Tensor | None)


def writing_out(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A function over tensors that takes `out=` as well."""

    @wraps(function)
    def with_out(*arguments: Any, out: Any = None, **named: Any) -> Any:
        given = tensors_of((*arguments, *named.values()))
        return written_into(name, lambda: function(*arguments, **named), out, given, apart=True)

    own = inspect.signature(function, eval_str=True)
    with_out.__signature__ = own.replace(parameters=[*own.parameters.values(), OUT])  # type: ignore[attr-defined]
    return with_out


def written_into(name: str, compute: Callable[[], Any], out: Any, given: list[Tensor], apart: bool) -> Any:
    """What `compute` gives, written into `out` if there is one."""
    if out is None:
        return compute()
    if not isinstance(out, Tensor | tuple | list):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    targets = (out,) if isinstance(out, Tensor) else tuple(out)
    if grad_mode().enabled and any(each.requires_grad for each in (*targets, *given)):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad.\nWrite `y = ...` for a new tensor, or switch recording off: "
            "`with jaxvjp.no_grad():`."
        )
    level = transforming().level
    if level is not None and any(level.carries(each.node) for each in (*targets, *given)):
        raise NotImplementedError(
            f"Trying to use forward AD with {name}_out that does not support it because it is an out= function\n"
            "Write `y = ...` for a new tensor."
        )
    computed = compute()
    results = computed if isinstance(computed, tuple) else (computed,)
    for target, result in zip(targets, results, strict=True):
        if apart:
            _check_apart(target, result, given)
        write_out(target, result)
    if isinstance(out, Tensor):
        return out
    return type(computed)(*targets) if hasattr(computed, "_fields") else targets


def _check_apart(target: Tensor, result: Tensor, given: list[Tensor]) -> None:
    if target.dtype is not result.dtype:
        raise RuntimeError(
            f"Expected out tensor to have dtype {result.dtype.legacy.lower()}, but got {target.dtype.legacy.lower()} "
            "instead"
        )
    target.check_apart()
    # One that has to grow would run over the rest of its storage.
    grows = target.shape != result.shape
    if any(each.storage is target.storage and (grows or each.shares_memory(target)) for each in given):
        raise RuntimeError(
            "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
            "memory location. Please clone() the tensor before performing the operation."
        )


def write_out(target: Tensor, result: Tensor) -> Tensor:
    """Writes `result` into `target`, which is resized where it has another shape, and returns it."""
    if not castable(result.dtype, target.dtype):
        raise RuntimeError(
            f"result type {result.dtype.legacy} can't be cast to the desired output type {target.dtype.legacy}\n"
            f"The tensor given as `out` is {target.dtype}; make it with dtype={result.dtype}."
        )
    node = converted(result.node, target.dtype)
    if target.shape == result.shape:
        target.write(node)
        return target
    if target.numel():
        warnings.warn(
            f"An output with one or more elements was resized since it had shape {list(target.shape)}, which does not "
            f"match the required output shape {list(result.shape)}. This behavior is deprecated, and in a future "
            "PyTorch release outputs will not be resized unless they have zero elements. You can explicitly reuse an "
            "out tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
            UserWarning,
            stacklevel=4,
        )
    target.data = wrap(node)
    return target


def tensors_of(operands: tuple[Any, ...]) -> list[Tensor]:
    """The tensors among operands, and in tuples among them."""
    flat = [inner for each in operands for inner in (each if type(each) is tuple else (each,))]
    return [each for each in flat if isinstance(each, Tensor)]
