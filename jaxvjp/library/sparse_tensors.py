"""Sparse tensors: where their entries are (`indices`), and what they are (`values`).

A product with a sparse matrix gathers, multiplies and adds (`zeros.at[rows].add(values[:, None] * x[columns])`): these
are recorded operations on `indices` and `values`, which JAX differentiates as any other. By value a `SparseTensor` is
the dense tensor, which nothing computes unless it is read. A function that has no sparse form here is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from jaxvjp.core.record.modes import staging
from jaxvjp.library.constructors import tensortype
from jaxvjp.library.creation import tensor, zeros
from jaxvjp.library.ranges import arange
from jaxvjp.library.selection import nonzero, unique, unravel_index
from jaxvjp.ops.joining import cat, stack
from jaxvjp.ops.layouts import SPARSE
from jaxvjp.ops.layouts import layout as Layout  # noqa: N812 - `layout` is an argument
from jaxvjp.tensor.apply import apply
from jaxvjp.tensor.bindings import made as function
from jaxvjp.tensor.overriding import DisableTorchFunctionSubclass
from jaxvjp.tensor.printing import with_suffixes
from jaxvjp.tensor.storage import of_class
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import dtype as Dtype  # noqa: N812 - `dtype` is an argument
from jaxvjp.types.dtypes import get_default_dtype, int64
from jaxvjp.types.size import Size

sparse_coo, sparse_csr = SPARSE["sparse_coo"], SPARSE["sparse_csr"]
Dims = int | Sequence[int]


class SparseTensor(Tensor):
    """A tensor of which the entries at `indices` are kept. Counterpart of `torch.Tensor` with a sparse layout."""

    __parts__: tuple[Tensor, Tensor, Any]
    __coalesced__: bool
    layout = sparse_coo

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = OTHER_NAMES.get(func.__name__, func.__name__)
        if not (name in OF_LISTS or isinstance(args[0], cls)):
            args, name = (args[1], args[0], *args[2:]), REFLECTED.get(name, "")
        if name in OWN:
            return OWN[name](*args, **(kwargs or {}))
        if name not in OF_ANY.split():
            raise NotImplementedError(
                f"Could not run 'aten::{func.__name__}' with arguments from the 'SparseCPU' backend. This could be "
                "because the operator doesn't exist for this backend, or was omitted during the selective/custom build "
                "process (if using custom build).\nThere is no sparse form of it here: make it dense, `x.to_dense()`."
            )
        with DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @property
    def __indices__(self) -> Tensor:
        return self.__read__(0)

    @property
    def __values__(self) -> Tensor:
        return self.__read__(1)

    def __read__(self, which: int) -> Tensor:
        """A part. A staged step may read it of a tensor that it has made: others may have other parts at each call."""
        journal = staging().journal
        if journal is not None and self.__parts__[2] is not journal:
            journal.refuse("reads a sparse tensor that it has not made")
        return self.__parts__[which]

    @property
    def is_sparse(self) -> bool:
        return self.layout is sparse_coo

    @property
    def is_sparse_csr(self) -> bool:
        return self.layout is sparse_csr

    @property
    def grad(self) -> Any:
        gradient = self.__values__.grad
        return None if gradient is None else self._with(gradient)

    @grad.setter
    def grad(self, gradient: Any) -> None:
        self.__values__.grad = None if gradient is None else gradient.coalesce().values()

    def _with(self, values: Tensor) -> SparseTensor:
        """Other values at the same places."""
        return made(self.__indices__, values, self.shape, self.__coalesced__, self.layout)

    def _keys(self) -> Tensor:
        """The place of each entry in the flattened tensor."""
        return flattened(self.__indices__, self.shape[: self.sparse_dim()])

    def _indices(self) -> Tensor:
        return self.__indices__

    def _values(self) -> Tensor:
        return self.__values__

    def _nnz(self) -> int:
        return self.__indices__.shape[1] // (1 if self.is_sparse else prod(self.shape[:-2]))

    def sparse_dim(self) -> int:
        return self.__indices__.shape[0]

    def dense_dim(self) -> int:
        return self.__values__.ndim - 1

    def is_coalesced(self) -> bool:
        return self.__coalesced__

    def indices(self) -> Tensor:
        return self._read("indices", self.__indices__)

    def values(self) -> Tensor:
        values = self._read("values", self.__values__)
        return values if self.is_sparse or self.ndim == 2 else values.reshape(*self.shape[:-2], -1)

    def _read(self, name: str, part: Tensor) -> Tensor:
        if not self.__coalesced__:
            raise RuntimeError(
                f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first\n"
                f"A place may be there several times: `x.coalesce().{name}()`, or `x._{name}()` as they are."
            )
        return part

    def crow_indices(self) -> Tensor:
        rows = tuple(self.__indices__[:-1].unbind())
        counts = self.__indices__.new_zeros(self.shape[:-1])
        ends = counts.index_put(rows, self.__indices__.new_ones(len(self.__values__)), accumulate=True).cumsum(-1)
        return joined([ends.new_zeros((*self.shape[:-2], 1)), ends], -1)

    def col_indices(self) -> Tensor:
        return self.__indices__[-1].reshape(*self.shape[:-2], -1)

    def coalesce(self) -> SparseTensor:
        if self.__coalesced__:
            return self
        keys, places = unique(self._keys(), return_inverse=True)
        values = self.__values__.new_zeros((len(keys), *self.__values__.shape[1:]))
        values = values.index_add(0, places, self.__values__)
        return made(
            apply(stack, (unravel_index(keys, self.shape[: self.sparse_dim()]),), (0,)), values, self.shape, True
        )

    def to_dense(self, dtype: Dtype | None = None, *, masked_grad: bool | None = None) -> Tensor:
        dense = self.__values__.new_zeros(self.shape).index_put(
            tuple(self.__indices__.unbind()), self.__values__, accumulate=True
        )
        return dense if dtype is None else dense.to(dtype)

    def numpy(self, *, force: bool = False) -> Any:
        raise TypeError(
            "can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.\n`x.to_dense().numpy()`."
        )

    def to_sparse(self, *_: Any, layout: Layout | None = None) -> SparseTensor:
        return self.to_sparse_csr() if layout is sparse_csr else self.to_sparse_coo()

    def to_sparse_coo(self) -> SparseTensor:
        return self if self.is_sparse else made(self.__indices__, self.__values__, self.shape, True)

    def to_sparse_csr(self, dense_dim: int | None = None) -> SparseTensor:
        whole = self.coalesce()
        return made(whole.__indices__, whole.__values__, self.shape, True, sparse_csr)

    def requires_grad_(self, requires_grad: bool = True) -> SparseTensor:
        if requires_grad and not self.requires_grad:
            raise NotImplementedError(
                "requires_grad_() of a sparse tensor that is there already\n"
                "Say it of the values: `torch.sparse_coo_tensor(indices, values.requires_grad_(), size)`."
            )
        return self if requires_grad or not self.requires_grad else self._with(self.__values__.detach())

    def permute(self, *dims: Any) -> SparseTensor:
        order = dims[0] if len(dims) == 1 and isinstance(dims[0], Sequence) else dims
        return made(self.__indices__[[*order]], self.__values__, [self.shape[dim] for dim in order])

    def transpose(self, dim0: int, dim1: int) -> SparseTensor:
        order = [*range(self.ndim)]
        order[dim0], order[dim1] = order[dim1], order[dim0]
        return self.permute(order)

    def t(self) -> SparseTensor:
        return self.transpose(0, 1)

    T = mT = property(lambda self: self.transpose(-2, -1))  # noqa: N815 - torch's name

    def matmul(self, mat2: Tensor) -> Any:
        """`zeros.at[rows].add(values[:, None] * mat2[columns])`, of matrices or batches of them, or with a vector."""
        if isinstance(mat2, SparseTensor):
            return of_dense(self.matmul(mat2.to_dense()))
        if mat2.ndim == 1:
            return self.matmul(mat2.unsqueeze(1)).squeeze(1)
        *batch, rows, inner = self.shape
        if mat2.shape[-2] != inner or [*mat2.shape[:-2]] != batch:
            raise RuntimeError(
                f"addmm: Argument #3 (dense): Expected dim 0 size {inner}, got {mat2.shape[-2]}\n"
                f"A sparse tensor of shape {list(self.shape)} has as many columns as the other, of shape "
                f"{list(mat2.shape)}, has rows."
            )
        row, column = self.__indices__[-2], self.__indices__[-1]
        if batch:
            row, column = row + self.__indices__[0] * rows, column + self.__indices__[0] * inner
        terms = self.__values__.unsqueeze(1) * mat2.reshape(-1, mat2.shape[-1]).index_select(0, column)
        product = terms.new_zeros((prod(batch) * rows, mat2.shape[-1])).index_add(0, row, terms)
        return product.reshape(*batch, rows, mat2.shape[-1])

    def __rmatmul__(self, mat1: Tensor) -> Any:
        """`mat1 @ self`, the transposed product of what is transposed."""
        return self.transpose(-2, -1).matmul(mat1.t() if mat1.ndim > 1 else mat1).t()

    def mul(self, other: Any) -> SparseTensor:
        """Values times a number, or times the entries of another tensor at the same places."""
        if not isinstance(other, SparseTensor):
            return self._with(self.__values__ * self._there(other))
        mine, keys = self.coalesce(), other.coalesce()._keys()
        kept = nonzero(function("function", "isin")(mine._keys(), keys)).squeeze(1)
        at = function("function", "searchsorted")(keys, mine._keys()[kept])
        values = mine.__values__[kept] * other.coalesce().__values__[at]
        return made(mine.__indices__[:, kept], values, self.shape, True)

    def div(self, other: Any, *, rounding_mode: str | None = None) -> SparseTensor:
        return self._with(self.__values__.div(self._there(other), rounding_mode=rounding_mode))

    def __pow__(self, exponent: Any) -> SparseTensor:
        if isinstance(exponent, Tensor) or exponent <= 0:
            raise NotImplementedError(
                f"pow({exponent}) of a sparse tensor is not 0 where it is\n`x.to_dense()` has it."
            )
        whole = self.coalesce()
        return whole._with(whole.__values__**exponent)

    def _there(self, other: Any) -> Any:
        """The entries of a dense tensor that this one has places of."""
        if not isinstance(other, Tensor) or other.ndim == 0:
            return other
        return other.expand(self.shape)[tuple(self.__indices__.unbind())]

    def add(self, other: Any, *, alpha: Any = 1) -> SparseTensor:
        if not isinstance(other, SparseTensor):
            raise RuntimeError(
                "add(sparse, dense) is not supported. Use add(dense, sparse) instead.\n"
                "Write `dense + sparse`, or make it dense: `x.to_dense()`."
            )
        values = other.__values__ if alpha == 1 else other.__values__ * alpha
        if other.__indices__ is self.__indices__:
            return self._with(self.__values__ + values)
        indices = joined([self.__indices__, other.__indices__], 1)
        whole = made(indices, joined([self.__values__, values], 0), self.shape)
        return whole.coalesce() if self.__coalesced__ and other.__coalesced__ else whole

    def __radd__(self, other: Any, *, alpha: Any = 1) -> Any:
        dense = self.to_dense()
        return other + (dense if alpha == 1 else dense * alpha)

    def sub(self, other: Any, *, alpha: Any = 1) -> SparseTensor:
        return self.add(other, alpha=-alpha)

    def __rsub__(self, other: Any, *, alpha: Any = 1) -> Any:
        return OWN["__radd__"](self, other, alpha=-alpha)

    def sum(self, dim: Dims | None = None, keepdim: bool = False, dtype: Dtype | None = None) -> Any:
        """Of all, or over dimensions; the rest stays sparse."""
        values = self.__values__ if dtype is None else self.__values__.to(dtype)
        summed = {each % self.ndim for each in ([dim] if isinstance(dim, int) else dim or range(self.ndim))}
        kept = [each for each in range(self.sparse_dim()) if each not in summed]
        inner = [each - self.sparse_dim() + 1 for each in summed if each >= self.sparse_dim()]
        values = values.sum(inner) if inner else values
        if not kept:
            return values.sum(0)
        shape = [size for each, size in enumerate(self.shape) if each not in summed]
        return made(self.__indices__[kept], values, shape).coalesce()

    def softmax(self, dim: int, dtype: Dtype | None = None) -> SparseTensor:
        """Over the entries that are kept; the others count as minus infinity."""
        logarithm = self.log_softmax(dim, dtype)
        return logarithm._with(logarithm.__values__.exp())

    def log_softmax(self, dim: int, dtype: Dtype | None = None) -> SparseTensor:
        """The logarithm of `softmax`."""
        whole = self.coalesce().to(dtype)
        values, dim = whole.__values__, dim % self.ndim
        if dim >= self.sparse_dim():
            return whole._with(values.log_softmax(dim - self.sparse_dim() + 1))
        others = [each for each in range(self.sparse_dim()) if each != dim]
        sizes = [self.shape[each] for each in others]
        line = flattened(whole.__indices__[others], sizes)  # the row or column, or what has more dimensions, of each
        shape = (prod(sizes), *values.shape[1:])
        at = line.reshape(-1, *[1] * (values.ndim - 1)).expand(values.shape)
        top = values.detach().new_zeros(shape).scatter_reduce(0, at, values.detach(), "amax", include_self=False)
        shifted = values - top[line]
        total = values.new_zeros(shape).index_add(0, line, shifted.exp())
        return whole._with(shifted - total.log()[line])

    def sparse_mask(input: Tensor, mask: SparseTensor) -> SparseTensor:  # noqa: N805
        """The entries of a tensor at the places of `mask`."""
        return mask._with(input.to_dense()[tuple(mask.__indices__.unbind())])

    def norm(self, p: Any = 2) -> Tensor:
        return self.coalesce().__values__.norm(p)

    def __getitem__(self, key: Any) -> Any:
        """The `key`th entry along the first dimension."""
        if not isinstance(key, int):
            raise NotImplementedError("a sparse tensor takes one number as its index\nMake it dense: `x.to_dense()`.")
        kept = nonzero(self.__indices__[0] == key % self.shape[0]).squeeze(1)
        if self.sparse_dim() == 1:
            return self.__values__[kept].sum(0)
        return made(self.__indices__[1:, kept], self.__values__[kept], self.shape[1:], self.__coalesced__)

    def to(self, *args: Any, **kwargs: Any) -> SparseTensor:
        values = self.__values__.to(*args, **kwargs)
        if values.device != self.__indices__.device:
            return made(self.__indices__.to(values.device), values, self.shape, self.__coalesced__, self.layout)
        return self if values is self.__values__ else self._with(values)

    def cat(tensors: Sequence[SparseTensor], dim: int = 0) -> SparseTensor:  # noqa: N805
        """One after another along a dimension, as `torch.cat` has it."""
        at, rows = 0, []
        for each in tensors:
            shift = [at if other == dim % each.ndim else 0 for other in range(each.sparse_dim())]
            rows.append(each.__indices__ + tensor(shift, device=each.device).reshape(-1, 1))
            at += each.shape[dim]
        first = tensors[0]
        shape = [at if other == dim % first.ndim else size for other, size in enumerate(first.shape)]
        return made(joined(rows, 1), joined([each.__values__ for each in tensors]), shape)

    def stack(tensors: Sequence[SparseTensor], dim: int = 0) -> SparseTensor:  # noqa: N805
        """Along a new dimension."""
        return SparseTensor.cat([each.unsqueeze(dim) for each in tensors], dim)

    def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:  # noqa: N805
        """`beta * input + alpha * (mat1 @ mat2)`."""
        return input * beta + (mat1 @ mat2) * alpha

    def unsqueeze(self, dim: int) -> SparseTensor:
        at = dim % (self.ndim + 1)
        row = self.__indices__.new_zeros((1, len(self.__values__)))
        indices = joined([self.__indices__[:at], row, self.__indices__[at:]])
        return made(indices, self.__values__, [*self.shape[:at], 1, *self.shape[at:]], self.__coalesced__)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        parts = {"indices": self.__indices__, "values": self.__values__}
        if not self.is_sparse:
            parts = {"crow_indices": self.crow_indices(), "col_indices": self.col_indices(), "values": self.values()}
        lines = []
        for name, part in parts.items():
            text = repr(part.detach()).removesuffix(f", dtype={self.dtype})")
            text += ")" * (not text.endswith(")"))
            lines.append(f"{name}={text}".replace("\n", "\n" + " " * len(f"       {name}=")))
        facts = [f"size={tuple(self.shape)}", f"nnz={self._nnz()}"]
        facts += [f"dtype={self.dtype}"] * (self.dtype not in (get_default_dtype(), int64))
        facts += [f"layout={self.layout}", *["requires_grad=True"] * self.requires_grad]
        text = "tensor(" + ",\n       ".join(lines)
        return with_suffixes(text, facts, 7, new_line=self.is_sparse)

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        return f"torch.sparse.{self.dtype.legacy}Tensor" if dtype is None else self._with(self.__values__.type(dtype))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return made, (self.__indices__, self.__values__, tuple(self.shape), self.__coalesced__, self.layout)

    def __deepcopy__(self, memo: Any) -> SparseTensor:
        values = self.__values__.detach().clone().requires_grad_(self.requires_grad)
        return made(self.__indices__.clone(), values, self.shape, self.__coalesced__, self.layout)

    mm = mv = bmm = __matmul__ = matmul
    multiply = __mul__ = __rmul__ = mul
    divide = __truediv__ = div
    __add__, __sub__, pow = add, sub, __pow__


OTHER_NAMES = {"smm": "mm", "spmm": "mm", "dsmm": "mm", "hspmm": "mm", "subtract": "sub"}
OF_LISTS = {"cat", "stack", "addmm", "sparse_mask"}
"""Functions whose first argument need not be sparse."""
REFLECTED = {"mm": "__rmatmul__", "matmul": "__rmatmul__", "add": "__radd__", "sub": "__rsub__", "mul": "__rmul__"}
"""What a method of a dense tensor becomes whose second operand is sparse."""
OF_ANY = """
    size dim ndimension numel nelement is_floating_point is_complex is_signed is_tensor is_contiguous is_same_size
    is_inference is_conj element_size get_device __len__ __hash__ __get__ __set__
"""
"""What does not ask what the entries are."""
KEPT_ZEROS = """
    abs asin asinh atan atanh ceil deg2rad erf erfinv expm1 floor frac log1p rad2deg relu round sgn sign sin sinh
    sqrt square tan tanh trunc __abs__
"""
"""Functions of which 0 is 0: sparse tensors stay sparse."""
MAPPED = "clone detach float double half bfloat16 long int short bool cpu cuda contiguous conj neg __neg__"
"""Methods of the values that say the same of the sparse tensor."""


def _mapped(name: str, whole: bool) -> Callable[..., SparseTensor]:
    def method(self: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
        source = self.coalesce() if whole else self
        return source._with(getattr(source.__values__, name)(*args, **kwargs))

    method.__name__ = name
    return method


for _name in (*KEPT_ZEROS.split(), *MAPPED.split()):
    setattr(SparseTensor, _name, _mapped(_name, _name not in MAPPED.split()))
OWN = {name: own for name, own in vars(SparseTensor).items() if getattr(own, "__module__", "") == __name__}
"""The methods that are written here; the others, which all classes that inherit from `Tensor` have, ask the class."""


def joined(parts: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors one after another."""
    return apply(cat, (tuple(parts),), (dim,))


def flattened(indices: Tensor, shape: Sequence[int]) -> Tensor:
    """Of each column of indices the place in the flattened tensor."""
    strides = [prod(shape[at + 1 :]) for at in range(len(shape))]
    return (indices * tensor(strides, dtype=int64, device=indices.device).reshape(-1, 1)).sum(0)


def made(
    indices: Tensor, values: Tensor, shape: Sequence[int], coalesced: bool = False, layout: Layout = sparse_coo
) -> SparseTensor:
    """The sparse tensor of these parts."""
    dense = values.new_zeros(tuple(shape)).index_put(tuple(indices.unbind()), values, accumulate=True)
    result: SparseTensor = of_class(dense, SparseTensor)
    result.__parts__, result.__coalesced__ = (indices, values, staging().journal), coalesced
    result.layout = layout
    return result


def of_dense(input: Tensor, sparse_dim: int | None = None) -> SparseTensor:
    """The entries that are not zero."""
    inner = [*range(input.ndim if sparse_dim is None else sparse_dim, input.ndim)]
    indices = nonzero((input != 0).any(inner) if inner else input).t()
    return made(indices, input[tuple(indices.unbind())], input.shape, True)


def sparse_coo_tensor(
    indices: Any,
    values: Any = None,
    size: Sequence[int] | None = None,
    *,
    dtype: Dtype | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> SparseTensor:
    """A tensor with `values` at `indices`, and zeros elsewhere; what has one place is added up.

    Args:
        indices: of integers, of shape (dimensions, entries); or the size of a tensor without entries.
        values: of shape (entries, ...), as many as `indices` has columns.
        size: of the whole; by default the smallest that has all indices.
        dtype: of the values; by default as they are.
        device: as for `torch.tensor`.
        pin_memory: without effect.
        requires_grad: whether its gradient is wanted, which is sparse with the same indices.
        check_invariants: whether to read the indices and see that they fit; else what uses them says so.
        is_coalesced: says that no place is there twice, and that they are in order.

    Returns:
        a tensor of layout `torch.sparse_coo`, of shape `size`.

    RuntimeError for indices that do not fit. Underneath, `indices` and `values` are two arrays, and `jax.vjp` is taken
    of what is computed of them. Counterpart of `torch.sparse_coo_tensor`.
    """
    if values is None or isinstance(indices, Size):
        size, indices, values = indices, zeros((len(indices), 0), dtype=int64), zeros(0)
    indices, values = _tensor(indices).to(int64), _tensor(values)
    values = values.to(device=device or values.device, dtype=dtype or values.dtype)
    if indices.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}\n{PARTS}")
    if values.ndim == 0 or indices.shape[1] != values.shape[0]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {indices.shape[1]}, nnz from values: "
            f"{values.shape[0] if values.ndim else 1}\n{PARTS}"
        )
    if size is None or check_invariants:
        ends = [(row.min().item(), row.max().item()) if len(row) else (0, -1) for row in indices]
    shape = [high + 1 for _, high in ends] + [*values.shape[1:]] if size is None else [*size]
    if len(shape) != len(indices) + values.ndim - 1:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, sparse_dim = "
            f"{len(indices)}, dense_dim = {values.ndim - 1}\n{PARTS}"
        )
    for dim, (low, high) in enumerate(ends if check_invariants else ()):
        if low < 0:
            raise RuntimeError(f"found negative index {low} for dim {dim}\n{PARTS}")
        if high >= shape[dim]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {shape[dim]} but found index {high}\n"
                f"{PARTS}"
            )
    if requires_grad:
        values = values.detach().requires_grad_()
    return made(indices, values, shape, bool(is_coalesced))


PARTS = "`sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))` has 3 in row 0, column 2 and 4 in row 1, column 0."


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: Dtype | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> SparseTensor:
    """A matrix by rows: row i has `values[crow_indices[i]:crow_indices[i + 1]]` in the columns `col_indices` there; or
    a batch of matrices, each with as many values.

    Args:
        crow_indices: where each row begins, and where the last ends: one more than there are rows.
        col_indices: the column of each value.
        values: one after another.
        size: of the matrix; by default with as many columns as the largest index asks for.
        dtype: of the values; by default as they are.
        device: as for `torch.tensor`.
        pin_memory: without effect.
        requires_grad: whether its gradient is wanted.
        check_invariants: as for `sparse_coo_tensor`.

    Returns:
        a tensor of layout `torch.sparse_csr`, of shape `size`.

    RuntimeError for indices that do not fit. Underneath as `sparse_coo_tensor`.
    Counterpart of `torch.sparse_csr_tensor`.
    """
    begins, columns = _tensor(crow_indices).to(int64), _tensor(col_indices).to(int64)
    counts = begins.diff()
    rows = arange(counts.numel()).to(begins.device).repeat_interleave(counts.reshape(-1))
    indices = apply(stack, ((*unravel_index(rows, counts.shape), columns.reshape(-1)),), (0,))
    shape = size or [*counts.shape, int(columns.max()) + 1]
    whole = sparse_coo_tensor(
        indices,
        _tensor(values).reshape(-1),
        shape,
        dtype=dtype,
        device=device,
        requires_grad=requires_grad,
        check_invariants=check_invariants,
    )
    whole.__coalesced__, whole.layout = True, sparse_csr
    return whole


def _tensor(value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else tensor(value)


class sparsetype(tensortype):  # noqa: N801 - as `tensortype`
    """The class of `torch.sparse.FloatTensor` and its like."""

    def __instancecheck__(cls, instance: object) -> bool:  # noqa: N805
        return isinstance(instance, SparseTensor) and instance.dtype is cls.dtype

    def __call__(cls, *arguments: Any, **named: Any) -> Tensor:  # noqa: N805
        if all(isinstance(each, int) for each in arguments):
            return sparse_coo_tensor(Size(arguments), dtype=cls.dtype, **named)
        return sparse_coo_tensor(*arguments, dtype=cls.dtype, **named)
