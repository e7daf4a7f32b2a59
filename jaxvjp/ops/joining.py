"""Ops that make one array of several."""

from itertools import combinations as combinations_of
from itertools import combinations_with_replacement

import jax.numpy as jnp
import numpy as np

from jaxvjp.ops.arguments import Flag, Index, Spread, Tensors, wrap
from jaxvjp.ops.layouts import JOINED
from jaxvjp.ops.op import ARITHMETIC, op


def _refuse_out(result, out):
    """TypeError if `out` has a dtype that cannot hold the result."""
    if result.category > out.category:
        raise TypeError(f"torch.cat(): input types can't be cast to the desired output type {out.legacy}")


JOINING = {"public": "function", "promotion": ARITHMETIC, "rounds_once": False, "refuse_out": _refuse_out}


@op(**JOINING)
def stack(tensors: Tensors, dim: Index = 0):
    """Arrays of one shape, side by side along a new dimension."""
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    dim = wrap(dim, tensors[0].ndim + 1)
    for number, each in enumerate(tensors):
        if each.shape != tensors[0].shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} at entry 0 and "
                f"{list(each.shape)} at entry {number}"
            )
    return jnp.concatenate([jnp.expand_dims(tensor, dim) for tensor in tensors], dim)


def _joined(tensors, dim):
    """The arrays one after another along `dim`; RuntimeError where their other sizes differ.

    As in torch, an array of shape (0,) may be among any others.
    """
    for number, each in enumerate(tensors):
        if not each.ndim:
            raise RuntimeError(f"zero-dimensional tensor (at position {number}) cannot be concatenated")
    joined = [tensor for tensor in tensors if tensor.shape != (0,)] or tensors[:1]
    first = joined[0]
    if first.shape == (0,):
        return jnp.concatenate(joined, 0)
    dim = wrap(dim, first.ndim)
    for number, each in enumerate(tensors):
        if each.shape == (0,):
            continue
        if each.ndim != first.ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {each.ndim}")
        for place, (wanted, size) in enumerate(zip(first.shape, each.shape, strict=True)):
            if size != wanted and place != dim:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {wanted} but got size "
                    f"{size} for tensor number {number} in the list.\nTheir shapes are "
                    f"{', '.join(str(list(tensor.shape)) for tensor in tensors)}."
                )
    return jnp.concatenate(joined, dim)


@op(aliases="function.concat function.concatenate", keeps=JOINED, **JOINING)
def cat(tensors: Tensors, dim: Index = 0):
    """Arrays one after another along a dimension."""
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    return _joined(tensors, dim)


def _declare_stack(name, raised, meaning, aliases="", dim=0):
    @op(name=name, grad_fn="CatBackward0", aliases=aliases, doc=meaning, **JOINING)
    def row(tensors: Tensors):
        if not tensors:
            raise RuntimeError(f"{name} expects a non-empty TensorList")
        arrays = [raised(tensor) for tensor in tensors]
        return _joined(arrays, min(dim, arrays[0].ndim - 1))


def _column(array):
    return array if array.ndim > 1 else array.reshape(array.size, 1)


ALONG = "Arrays one after another along their {} dimension"
_declare_stack("hstack", jnp.atleast_1d, ALONG.format("second") + "; vectors along their only one.", dim=1)
_declare_stack("vstack", jnp.atleast_2d, ALONG.format("first") + "; vectors as rows.", "function.row_stack")
_declare_stack("dstack", jnp.atleast_3d, ALONG.format("third") + ".", dim=2)
_declare_stack("column_stack", _column, "Arrays side by side, a vector or a number being a column.", dim=1)


@op(public="function", promotion=ARITHMETIC, rounds_once=False, out=False)
def block_diag(tensors: Spread = ()):
    """The matrix with the given ones along its diagonal and zeros elsewhere."""
    for number, each in enumerate(tensors):
        if each.ndim > 2:
            told = f"Input tensors must have 2 or fewer dimensions. Input {number} has {each.ndim} dimensions"
            raise RuntimeError(f"torch.block_diag: {told}")
    if not tensors:
        return jnp.zeros((1, 0), jnp.float32)
    blocks = [jnp.atleast_2d(tensor) for tensor in tensors]
    result = jnp.zeros(tuple(np.sum([block.shape for block in blocks], 0)), blocks[0].dtype)
    row = column = 0
    for each in blocks:
        result = result.at[row : row + each.shape[0], column : column + each.shape[1]].set(each)
        row, column = row + each.shape[0], column + each.shape[1]
    return result


@op(public="function", grad_fn="StackBackward0", out=False)
def cartesian_prod(tensors: Spread = ()):
    """Every choice of one element from each vector, a row each; of one vector that itself."""
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for tensor in tensors:
        if tensor.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(tensor.shape)}")
        if tensor.dtype != tensors[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if len(tensors) == 1:
        return tensors[0]
    grids = jnp.meshgrid(*tensors, indexing="ij")
    return jnp.stack([grid.reshape(-1) for grid in grids], 1)


def _of_none(row, operands, static):
    return (row if static[0] else no_combinations), operands, static


@op(public="function", grad_fn="StackBackward0", out=False, saves="residuals", rewrite=_of_none)
def combinations(input, r: Index = 2, with_replacement: Flag = False):
    """Every choice of `r` elements of a vector, in its order, a row each."""
    if input.ndim != 1:
        raise RuntimeError("Expect a 1D vector, but got shape " + str(list(input.shape)))
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return jnp.zeros((0,), input.dtype)
    choose = combinations_with_replacement if with_replacement else combinations_of
    chosen = np.array(list(choose(range(input.size), r)), np.int64).reshape(-1, r)
    return input[chosen]


no_combinations = op(name="combinations.none", public="", differentiable=False)(combinations.function)


@op(public="function")
def _chunk_cat(tensors: Tensors, dim: Index, num_chunks: Index):
    """Each tensor cut along `dim` into chunks, the last one padded with zeros; chunk i of all tensors side by side."""
    if not tensors:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    if num_chunks < 1:
        raise RuntimeError("_chunk_cat expects positive num_chunks")
    first = tensors[0]
    if any(not tensor.size for tensor in tensors):
        raise RuntimeError("_chunk_cat expects non-empty tensor")
    if dim < 0:
        if any(tensor.ndim != first.ndim for tensor in tensors):
            raise RuntimeError("_chunk_cat expects non-negative dim when input tensors have different ndims")
        dim = wrap(dim, first.ndim)
    if any(dim >= tensor.ndim for tensor in tensors):
        raise RuntimeError("_chunk_cat expects dim < ndim for all input tensors")
    if any(tensor.shape[:dim] != first.shape[:dim] for tensor in tensors):
        raise RuntimeError("_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors")
    chunks = []
    for tensor in tensors:
        missing = -tensor.shape[dim] % num_chunks
        filled = jnp.pad(tensor, [(0, missing if axis == dim else 0) for axis in range(tensor.ndim)])
        chunks.append(filled.reshape(*first.shape[:dim], num_chunks, -1))
    return jnp.concatenate(chunks, -1)
