"""torch's `sparse`: functions of sparse tensors, `library.sparse_tensors`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxvjp.library.constructors import TYPES
from jaxvjp.library.sparse_tensors import SparseTensor, sparsetype
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import dtype as Dtype  # noqa: N812 - `dtype` is an argument

globals().update(
    {name: sparsetype(name, (), {"dtype": each.dtype, "__module__": "torch.sparse"}) for name, each in TYPES.items()}
)


def mm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """The product of a sparse matrix with a matrix; dense if one of them is.

    Args:
        mat1: of shape (n, m).
        mat2: of shape (m, p).

    RuntimeError for sizes that do not fit. Underneath, rows of `mat2` are gathered, multiplied and added
    (`zeros.at[rows].add`); `jax.vjp` of that is its derivative. Counterpart of `torch.sparse.mm`.
    """
    return mat1 @ mat2


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """`beta * mat + alpha * (mat1 @ mat2)`, where `mat1` is sparse.

    Args:
        mat: of shape (n, p).
        mat1: of shape (n, m).
        mat2: of shape (m, p).
        beta: what `mat` counts.
        alpha: what the product counts.

    RuntimeError for sizes that do not fit. Underneath as `mm`. Counterpart of `torch.sparse.addmm`.
    """
    result: Tensor = SparseTensor.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)
    return result


def sum(input: SparseTensor, dim: int | Sequence[int] | None = None, dtype: Dtype | None = None) -> Any:
    """The sum of all entries, or over dimensions: sparse, unless all sparse dimensions are summed.

    Args:
        input: sparse, of any shape.
        dim: a dimension or several; all by default.
        dtype: in which to add; that of the entries by default.

    Underneath, `jnp.sum` of the values, or entries at one place added up. Counterpart of `torch.sparse.sum`.
    """
    return input.sum(dim, dtype=dtype)


def softmax(input: SparseTensor, dim: int, *, dtype: Dtype | None = None) -> SparseTensor:
    """The softmax of the entries that are kept, as if the others were minus infinity.

    Args:
        input: sparse, of any shape.
        dim: along which the results add up to 1.
        dtype: of the result; that of the entries by default.

    Underneath, segments of the values. Counterpart of `torch.sparse.softmax`.
    """
    return input.softmax(dim, dtype)


def log_softmax(input: SparseTensor, dim: int, *, dtype: Dtype | None = None) -> SparseTensor:
    """The logarithm of `softmax`.

    Args:
        input: sparse, of any shape.
        dim: along which the exponentials of the results add up to 1.
        dtype: of the result; that of the entries by default.

    Underneath, segments of the values. Counterpart of `torch.sparse.log_softmax`.
    """
    return input.log_softmax(dim, dtype)
