"""The arguments and results of transforms: selected by `argnums`, and checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.record import constant
from jaxvjp.tensor.refusals import advice_on_array
from jaxvjp.tensor.tensor import Tensor, wrap
from jaxvjp.tensor.trees import flattened, unflattened

Argnums = int | tuple[int, ...]


def zeros_of(node: Node) -> Node:
    return constant(0, node.aval)


def positions(argnums: Any, count: int) -> list[int]:
    """`argnums` as positions among `count` arguments, counted from the front; RuntimeError where they do not fit."""
    if type(argnums) is int and 0 <= argnums < count:
        return [argnums]
    if not isinstance(argnums, int | tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    listed = argnums if isinstance(argnums, tuple) else (argnums,)
    for each in listed:
        if not isinstance(each, int):
            raise RuntimeError(f"argnum must be int, got: {type(each)}")
        if not -count <= each < count:
            raise RuntimeError(f"Got argnum={each}, but only {count} positional inputs")
    positions = [each % count for each in listed]
    if not positions:
        raise RuntimeError("argnums must be non-empty")
    if len(set(positions)) != len(positions):
        raise RuntimeError(f"argnums elements must be unique, got {tuple(positions)}")
    return positions


def chosen_of(arguments: Sequence[Any], argnums: Argnums) -> Any:
    """The arguments that `argnums` names: one for an int, a tuple of them for a tuple."""
    places = positions(argnums, len(arguments))
    return tuple(arguments[place] for place in places) if isinstance(argnums, tuple) else arguments[places[0]]


def with_chosen(arguments: Sequence[Any], argnums: Argnums, chosen: Any) -> list[Any]:
    replaced = list(arguments)
    given = chosen if isinstance(argnums, tuple) else [chosen]
    for position, each in zip(positions(argnums, len(arguments)), given, strict=True):
        replaced[position] = each
    return replaced


def required_tensor(value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        told = f"Thing passed to transform API must be Tensor, got {type(value)}"
        raise ValueError(told + advice_on_array(value))
    return value


def check_aux(aux: Any, has_aux: bool) -> None:
    for each in flattened(aux)[0] if has_aux else ():
        if not isinstance(each, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(each)}")


def with_aux(returned: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    if not has_aux:
        return returned, None
    if not (isinstance(returned, tuple) and len(returned) == 2):
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return returned


def check_tensors(outputs: list[Any], name: str) -> None:
    if not outputs or outputs == [None]:
        raise RuntimeError(f"{name}: Expected f to be a function that has non-empty output (got output = {outputs})")
    for output in outputs:
        if not isinstance(output, Tensor):
            raise RuntimeError(
                f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(output)}"
            )


def check_real(name: str, tree: Any, what: str) -> None:
    for position, each in enumerate(flattened(tree)[0]):
        if isinstance(each, Tensor) and each.dtype.is_complex:
            raise RuntimeError(
                f"{name}: Expected all {what} to be real but received complex tensor at flattened input idx: {position}"
            )


def assembled(found: list[list[Node | None]], outputs: list[Tensor], inputs: list[Tensor], structure: Any) -> list[Any]:
    """For each output its blocks of the Jacobian in the structure of the inputs, zeros for None."""
    return [
        unflattened(structure, [wrap(_block(each, output, one)) for each, one in zip(row, inputs, strict=True)])
        for row, output in zip(found, outputs, strict=True)
    ]


def _block(found: Node | None, output: Tensor, argument: Tensor) -> Node:
    aval = output.__node__.aval.shaped((*output.shape, *argument.shape))
    return constant(0, aval) if found is None else found


def check_randomness(randomness: str) -> None:
    """RuntimeError unless it is one of the three that `vmap` has for random tensors."""
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
