# cython: annotation_typing=False
"""Batching: `vmap`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from jaxvjp.core.record.blocks import restored
from jaxvjp.func.arguments import check_randomness
from jaxvjp.ops.arguments import wrap as wrapped_dim
from jaxvjp.tensor.batches import Batch
from jaxvjp.tensor.refusals import advice_on_array
from jaxvjp.tensor.tensor import Tensor, wrap
from jaxvjp.tensor.trees import ONE, flattened, in_order, told, unflattened


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """`func`, written for one example, as a function of batches.

    Args:
        func: takes and returns tensors in any structure. It runs once, on tensors that stand for every example and
            have no value of their own.
        in_dims: which dimension of each argument is the batch: one for all, or a structure of them as that of the
            arguments; None for what is the same for all examples.
        out_dims: where the batch goes in each output: one for all, or a structure of them.
        randomness: what a random tensor made inside is: an "error", the "same" or a "different" one per example.
        chunk_size: how many examples are computed at once; None for all of them.

    Raises:
        ValueError: dimensions that do not fit the arguments or results, batches of different sizes.
        RuntimeError: `func` reads a value (`item`, `if`), or writes one per example into a tensor that has no batch.

    Counterpart of `torch.vmap`. Underneath: `jax.vmap` of the recorded program, in chunks `jax.lax.map`.
    """
    check_randomness(randomness)
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    name = _name(func)

    @functools.wraps(func)
    @restored
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        for each in flattened(out_dims)[0]:
            if not (each is None or isinstance(each, int)):
                raise ValueError(
                    f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection "
                    "of ints representing where in the outputs the vmapped dimension should appear."
                )
        flat, structure = flattened(args)
        axes = _in_axes(name, in_dims, args, flat, structure)
        sizes = [each.shape[axis] for each, axis in zip(flat, axes, strict=True) if axis is not None]
        if not sizes:
            raise ValueError("vmap: Expected at least one Tensor to vmap over")
        if any(size != sizes[0] for size in sizes):
            raise ValueError(
                "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                f"{sizes} for the mapped dimension"
            )
        with Batch(sizes[0], randomness, chunk_size) as batch:
            examples = [
                each if axis is None else batch.example(each, axis) for each, axis in zip(flat, axes, strict=True)
            ]
            returned = func(*unflattened(structure, examples), **kwargs)
            return _batched(name, batch, returned, out_dims)

    return wrapper


def _name(func: Callable[..., Any]) -> str:
    if isinstance(func, functools.partial):
        return f"functools.partial({_name(func.func)}, ...)"
    return getattr(func, "__name__", None) or repr(func)


def _spread(dims: Any, tree: Any, leaves: list[Any], whole: Any) -> list[Any] | None:
    """`dims`, a tree prefix of `tree`, as one entry for each of its `leaves`; None if it is no prefix. `whole` is the
    structure of `tree`."""
    listed, structure = flattened(dims)
    if structure == whole:
        return listed
    if structure == ONE:
        return listed * len(leaves)
    try:
        below = structure.flatten_up_to(in_order(tree))
    except ValueError:
        return None
    return [dim for dim, part in zip(listed, below, strict=True) for _ in flattened(part)[0]]


def _in_axes(name: str, in_dims: Any, args: tuple[Any, ...], flat: list[Any], structure: Any) -> list[int | None]:
    """For each argument the batch's axis, counted from the front; ValueError in torch's words if one does not fit."""

    def call() -> str:
        return f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): "

    if not isinstance(in_dims, int | tuple):
        raise ValueError(
            f"{call()}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
            "function with no inputs. The latter is unsupported."
        )
    axes = _spread(in_dims, args, flat, structure)
    if axes is None:
        raise ValueError(
            f"{call()}in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{told(flattened(in_dims)[1])} but inputs has structure {told(structure)}."
        )
    for each, axis in zip(flat, axes, strict=True):
        if axis is None or (type(axis) is int and isinstance(each, Tensor) and 0 <= axis < each.ndim):
            continue
        if not isinstance(axis, int):
            raise ValueError(
                f"{call()}Got in_dim={axis} for an input but in_dim must be either an integer dimension or None."
            )
        if not isinstance(each, Tensor):
            raise ValueError(
                f"{call()}Got in_dim={axis} for an input but the input is of type {type(each)}. We cannot vmap over "
                f"non-Tensor arguments, please use None as the respective in_dim{advice_on_array(each)}"
            )
        if not -each.ndim <= axis < each.ndim:
            raise ValueError(
                f"{call()}Got in_dim={axis} for some input, but that input is a Tensor of dimensionality {each.ndim} "
                f"so expected in_dim to satisfy -{each.ndim} <= in_dim < {each.ndim}."
            )
    return [None if axis is None else axis % each.ndim for each, axis in zip(flat, axes, strict=True)]


def _batched(name: str, batch: Batch, returned: Any, out_dims: Any) -> Any:
    """The whole batch of what `func` returned for one example."""
    outputs, structure = flattened(returned)
    single = isinstance(out_dims, tuple) and len(out_dims) == 1 and isinstance(returned, Tensor)
    dims = _spread(out_dims[0] if single else out_dims, returned, outputs, structure)
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {told(flattened(out_dims)[1])} but outputs has structure "
            f"{told(structure)}."
        )
    inside = batch.inside([output.__node__ for output in outputs if isinstance(output, Tensor)])
    differing = {*inside, *batch.examples}
    axes: dict[int, int] = {}
    for position, (each, dim) in enumerate(zip(outputs, dims, strict=True)):
        if dim is None:
            if isinstance(each, Tensor) and each.__node__ in differing:
                raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        elif isinstance(each, Tensor):
            axis = wrapped_dim(dim, each.ndim + 1)
            found = batch.viewed(each, axis, each.__node__ in differing) if batch.chunk is None else None
            if found is None:
                axes[position] = axis
            else:
                outputs[position] = found
        else:
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(each)}. Did you mean to set "
                "out_dims= to None for output?"
            )
    nodes = [outputs[position].__node__ for position in axes]
    nodes = batch.batches(nodes, list(axes.values()), inside if len(axes) == len(outputs) else None)
    for position, node in zip(axes, nodes, strict=True):
        outputs[position] = wrap(node)
    return unflattened(structure, outputs)
