"""Questions that all tensors here answer alike (is it sparse, quantised, shared: no), and functions torch has removed.

`typename` and others say what torch calls something.
"""

from importlib import import_module
from typing import Any

from jaxvjp.library.storages import Memory  # noqa: F401 - of the rows
from jaxvjp.ops.layouts import layout, strided  # noqa: F401
from jaxvjp.tensor.answers import define, publish, rows_of
from jaxvjp.tensor.published import public
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import Dtype
from jaxvjp.types.size import Size
from jaxvjp.types.user_code import warn_user

UNDERNEATH = "no JAX: what is known of the tensor"

NEVER = "is_sparse is_sparse_csr is_quantized is_mkldnn is_mps is_xpu is_ipu is_maia is_mtia is_nested is_vulkan"
"""What no tensor here is."""
REMOVED = {
    "symeig": "The default behavior has changed from using the upper triangular portion of the matrix by default to "
    "using the lower triangular portion.\nWrite `linalg.eigh(x)` or `linalg.eigvalsh(x)`.",
    "eig": "`torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` rather than real tensors "
    "mimicking complex tensors.\nWrite `linalg.eig(x)` or `linalg.eigvals(x)`.",
    "lstsq": "`torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`.\nWrite `linalg.lstsq(a, b)`.",
    "solve": "`torch.solve` is deprecated in favor of `torch.linalg.solve`. `torch.linalg.solve` has its arguments "
    "reversed and does not return the LU factorization.\nWrite `linalg.solve(a, b)`.",
    "matrix_rank": "\nWrite `linalg.matrix_rank(x)`.",
}
"""Functions that torch has taken away, and what it says of each."""


_words = "This function was deprecated since version 1.9 and is now removed."
GONE = [
    f"""
    {name}(*arguments: Any, **named: Any) -> Tensor = raise RuntimeError({f"{_words} {words}"!r})
        RuntimeError: torch has taken it away."""
    for name, words in REMOVED.items()
]


@public()
def is_conj(input: Tensor) -> bool:
    """Whether it is a conjugated view, `x.conj()`. Counterpart of `torch.is_conj`."""
    return input.dtype.is_complex and input.__conjugated__()


@public()
def is_neg(input: Tensor) -> bool:
    """Whether it is a negated view, the imaginary part of a conjugated one. Counterpart of `torch.is_neg`."""
    return not input.dtype.is_complex and input.__conjugated__()


@public("function")
def typename(obj: Any) -> str:
    """What torch calls the type of something: of a tensor its old type. Counterpart of `torch.typename`."""
    if isinstance(obj, Tensor):
        return str(obj.type())
    kind = obj if callable(obj) and hasattr(obj, "__qualname__") else type(obj)
    if isinstance(obj, Dtype):
        return "torch.dtype"
    module = getattr(kind, "__module__", "") or ""
    if module in ("builtins", "__main__"):
        module = ""
    return f"{module}.{kind.__qualname__}" if module else str(kind.__qualname__)


@public("method")
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """The tensor itself, for JAX moves memory; RuntimeError where there is only a CPU. As `torch.Tensor.pin_memory`."""
    if self.is_cpu:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return self


@public("method")
def to_dense(self: Tensor, dtype: Dtype | None = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor, in `dtype` if there is one: it is dense. Counterpart of `torch.Tensor.to_dense`.

    Args:
        dtype: the dtype to have.
        masked_grad: accepted and without effect.
    """
    return self if dtype is None else self.to(dtype)


def _resized(name: str, self: Tensor, shape: tuple[int, ...]) -> Tensor:
    warn_user(f"non-inplace {name} is deprecated")
    wanted = Size(shape)
    if wanted.numel() != self.numel():
        words = ["x".join(map(str, each)) for each in (wanted, self.shape)]
        raise RuntimeError(
            f"requested resize to {words[0]} ({wanted.numel()} elements in total), but the given tensor has a size of "
            f"{words[1]} ({self.numel()} elements). autograd's resize can only change the shape of a given tensor, "
            "while preserving the number of elements. "
        )
    return self.contiguous().view(wanted)


FACTS = {
    "function": """
    detach_(input: Tensor) -> Tensor = input.detach_()
        Cuts `input` off from its graph and makes it a leaf; RuntimeError for a view.
    get_device(input: Tensor) -> int = input.get_device()  # The number of its device; -1 on the CPU.
    is_inference(input: Tensor) -> bool = input.is_inference()  # Whether it was made in inference mode.
    is_storage(obj: Any) -> bool = isinstance(obj, Memory)  # Whether it is the memory of a tensor.
    """
    + GONE[-1],
    "method function": """
    is_distributed(input: Tensor) -> bool = False  # Never.
    resolve_conj(input: Tensor) -> Tensor = input.clone() if is_conj(input) else input
        The tensor, or a copy of one that is a conjugated view.
    resolve_neg(input: Tensor) -> Tensor = input.clone() if is_neg(input) else input
        The tensor, or a copy of one that is a negated view.
    """
    + "".join(GONE[:-1]),
    "method": """
    dense_dim(self: Tensor) -> int = self.ndim  # The number of dimensions, of which none is sparse.
    coalesce(self: Tensor) -> Tensor = raise RuntimeError("coalesce" + NOT_SPARSE)  # RuntimeError: it is not sparse.
    indices(self: Tensor) -> Tensor = raise RuntimeError("indices" + NOT_SPARSE)  # RuntimeError: it is not sparse.
    values(self: Tensor) -> Tensor = raise RuntimeError(NO_VALUES)  # RuntimeError: it is not sparse.
    is_coalesced(self: Tensor) -> bool = raise RuntimeError("is_coalesced" + NOT_SPARSE)  # RuntimeError for it.
    is_pinned(self: Tensor, device: Any = None) -> bool = False  # Never: JAX moves memory itself.
    is_shared(self: Tensor) -> bool = False  # Never: no other process sees it.
    resize(self: Tensor, *sizes: Any) -> Tensor = _resized("resize", self,
        tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes)
        As `view`, with a warning that it is deprecated.
    resize_as(self: Tensor, tensor: Tensor) -> Tensor = _resized("resize_as", self, tuple(tensor.shape))
        As `view_as`, with a warning that it is deprecated.
    sparse_dim(self: Tensor) -> int = 0  # None of its dimensions is.
    sparse_mask(self: Tensor, mask: Tensor) -> Tensor = _sparse().SparseTensor.sparse_mask(self, mask)
        The entries at the places of `mask`, which is sparse.
    to_sparse(self: Tensor, sparse_dim: int | None = None, *, layout: Any = None, blocksize: Any = None,
        dense_dim: int | None = None) -> Tensor = _sparse().of_dense(self, sparse_dim).to_sparse(layout=layout)
        The entries that are not zero, as a sparse tensor.
    to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor = _sparse().of_dense(self).to_sparse_csr()
        The entries that are not zero, by rows.
    """,
}
NO_VALUES = "values expected sparse tensor layout but got Strided"
NOT_SPARSE = " expected sparse coordinate tensor layout but got Strided"


def _sparse() -> Any:
    return import_module("jaxvjp.library.sparse_tensors")


publish(FACTS, globals())
PROPERTIES = """
is_xla(self: Tensor) -> bool = self.device.type == "xla"  # Whether it is on a TPU.
is_meta(self: Tensor) -> bool = self.device.type == "meta"
    Whether it is on the device `meta`: a shape and a dtype without numbers.
layout(self: Tensor) -> layout = strided  # How its elements lie in memory: `strided`.
itemsize(self: Tensor) -> int = int(self.dtype.itemsize)  # How many bytes an element has.
name(self: Tensor) -> None = None  # None: it has no name.
""" + "\n".join(f"{each}(self: Tensor) -> bool = False  # Never." for each in NEVER.split())


def _volatile(self: Tensor) -> bool:
    """False, with a warning: what torch once had in place of `no_grad`."""
    warn_user("volatile was removed (Variable.volatile is always False)")
    return False


def attach_methods() -> None:
    """Hangs what is no function on `Tensor`."""
    for name, read in {**define(rows_of(PROPERTIES), globals()), "volatile": _volatile}.items():
        setattr(Tensor, name, property(read))
