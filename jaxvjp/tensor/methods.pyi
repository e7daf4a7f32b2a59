# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from jaxvjp import return_types
from jaxvjp.autograd.graph import GradientEdge
from jaxvjp.autograd.graph import Node
from jaxvjp.explain.explanation import Explanation
from jaxvjp.library.generator import Generator
from jaxvjp.library.sharding import DeviceMesh
from jaxvjp.library.sharding import Placement
from jaxvjp.library.storages import Memory
from jaxvjp.library.storages import UntypedStorage
from jaxvjp.library.storages import storagetype
from jaxvjp.ops.layouts import layout
from jaxvjp.ops.layouts import memory_format
from jaxvjp.tensor.storage import Stored
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.devices import device
from jaxvjp.types.dtypes import dtype
import builtins

class Methods(Stored):
    @property
    def H(self) -> Tensor:
        """The conjugate transpose of a matrix."""
    def __abs__(self) -> Tensor:
        """The magnitude; its derivative at 0 is 0."""
    def __add__(self, other: Tensor | complex) -> Tensor:
        """`input + other`."""
    def __and__(self, other: Tensor | complex) -> Tensor:
        """The bits that both have."""
    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: builtins.bool = False) -> Tensor:
        """What NumPy makes of the result of its functions on tensors, `np.sin(x)`: a tensor, of truth values as uint8."""
    def __copy__(self) -> Tensor:
        """What `copy.copy` gives: another tensor on the same storage, with the same attributes."""
    def __deepcopy__(self, memo: dict[builtins.int, Any]) -> Tensor:
        """What `copy.deepcopy` gives: a leaf of its own with the same value, and the same `.grad`."""
    def __delitem__(self, key: Any) -> None: ...
    def __dir__(self) -> list[str]:
        """What `dir` lists of a tensor: of one on no mesh not the attributes that it does not have."""
    def __dlpack__(self, **arguments: Any) -> Any:
        """A DLPack capsule of the value; BufferError where a gradient would be lost unnoticed."""
    def __dlpack_device__(self) -> Any:
        """The value's device in DLPack's numbers."""
    def __eq__(self, other: Tensor | complex) -> Tensor:
        """Whether the elements are equal."""
    def __floordiv__(self, other: Tensor | complex) -> Tensor:
        """The quotient, rounded down."""
    def __ge__(self, other: Tensor | complex) -> Tensor:
        """Whether the elements of `input` are larger or equal."""
    def __getitem__(self, key: Any) -> Tensor:
        """The part of the tensor that `key` names; IndexError where there is no such part."""
    def __gt__(self, other: Tensor | complex) -> Tensor:
        """Whether the elements of `input` are larger."""
    def __iadd__(self, other: Tensor | complex) -> Self:
        """`input + other`."""
    def __iand__(self, other: Tensor | complex) -> Self:
        """The bits that both have."""
    def __ifloordiv__(self, other: Tensor | complex) -> Self:
        """The quotient, rounded down."""
    def __ilshift__(self, other: Tensor | complex) -> Self:
        """The bits, moved up by `other` places."""
    def __imod__(self, other: Tensor | complex) -> Self:
        """What is left of a division rounded down; it has the sign of `other`."""
    def __imul__(self, other: Tensor | complex) -> Self:
        """`input * other`."""
    def __invert__(self) -> Tensor:
        """Every bit inverted; the negation of a truth value."""
    def __ior__(self, other: Tensor | complex) -> Self:
        """The bits that one of the two has."""
    def __ipow__(self, other: Tensor | complex) -> Self:
        """`input ** exponent`."""
    def __irshift__(self, other: Tensor | complex) -> Self:
        """The bits, moved down by `other` places."""
    def __isub__(self, other: Tensor | complex) -> Self:
        """`input - other`."""
    def __iter__(self) -> Iterator[Tensor]:
        """The elements of the first dimension, as views."""
    def __itruediv__(self, other: Tensor | complex) -> Self:
        """`input / other`; of integers, too, the result is floating."""
    def __ixor__(self, other: Tensor | complex) -> Self:
        """The bits that just one of the two has."""
    def __jax_array__(self) -> Any:
        """`jax_array`, for a function of `jax.numpy`: where JAX's 64-bit types are off, integers have 32 bits."""
    def __le__(self, other: Tensor | complex) -> Tensor:
        """Whether the elements of `input` are smaller or equal."""
    def __lshift__(self, other: Tensor | complex) -> Tensor:
        """The bits, moved up by `other` places."""
    def __lt__(self, other: Tensor | complex) -> Tensor:
        """Whether the elements of `input` are smaller."""
    def __matmul__(self, other: Tensor | complex) -> Tensor:
        """The matrix product; a vector counts as a row on the left, a column on the right, further dimensions as batch."""
    def __mod__(self, other: Tensor | complex) -> Tensor:
        """What is left of a division rounded down; it has the sign of `other`."""
    def __mul__(self, other: Tensor | complex) -> Tensor:
        """`input * other`."""
    def __ne__(self, other: Tensor | complex) -> Tensor:
        """Whether the elements differ."""
    def __neg__(self) -> Tensor:
        """`-input`."""
    def __new__(self, *arguments: Any, **named: Any) -> Any: ...
    @property
    def __numpy_dtype__(self) -> Any:
        """`Tensor.__numpy_dtype__`: NumPy's dtype, for which `jnp.zeros_like` and others ask NumPy 2.4 and later."""
    def __or__(self, other: Tensor | complex) -> Tensor:
        """The bits that one of the two has."""
    def __pos__(self) -> Tensor:
        """The tensor itself; RuntimeError for booleans. Counterpart of `torch.positive`."""
    def __pow__(self, other: Tensor | complex) -> Tensor:
        """`input ** exponent`."""
    def __radd__(self, other: Tensor | complex) -> Tensor:
        """`input + other`."""
    def __rand__(self, other: Tensor | complex) -> Tensor:
        """The bits that both have."""
    def __rdiv__(self, other: Tensor | complex) -> Tensor:
        """`other / input`, for a number on the left of the sign; computed by the reciprocal, as in torch."""
    def __reduce_ex__(self, _protocol: Any) -> tuple[Any, ...]:
        """What `pickle` writes: type, value, dtype, `requires_grad` and the user's attributes, neither graph nor `.grad`, as in torch."""
    def __reversed__(self) -> Tensor:
        """`reversed(x)`: the tensor with its first dimension turned around; itself without dimensions."""
    def __rfloordiv__(self, other: Tensor | complex) -> Tensor:
        """The quotient, rounded down."""
    def __rlshift__(self, other: Tensor | complex) -> Tensor:
        """The bits, moved up by `other` places."""
    def __rmatmul__(self, other: Tensor | complex) -> Tensor:
        """The matrix product; a vector counts as a row on the left, a column on the right, further dimensions as batch."""
    def __rmod__(self, other: Tensor | complex) -> Tensor:
        """What is left of a division rounded down; it has the sign of `other`."""
    def __rmul__(self, other: Tensor | complex) -> Tensor:
        """`input * other`."""
    def __ror__(self, other: Tensor | complex) -> Tensor:
        """The bits that one of the two has."""
    def __rpow__(self, other: Tensor | complex) -> Tensor:
        """`input ** exponent`."""
    def __rrshift__(self, other: Tensor | complex) -> Tensor:
        """The bits, moved down by `other` places."""
    def __rshift__(self, other: Tensor | complex) -> Tensor:
        """The bits, moved down by `other` places."""
    def __rsub__(self, other: Tensor | complex) -> Tensor:
        """`other - input`, for a number on the left of the sign."""
    def __rtruediv__(self, other: Tensor | complex) -> Tensor:
        """`other / input`, for a number on the left of the sign; computed by the reciprocal, as in torch."""
    def __rxor__(self, other: Tensor | complex) -> Tensor:
        """The bits that just one of the two has."""
    def __setitem__(self, key: Any, value: Any) -> None:
        """Writes `value`, a number or a tensor that is expanded, into the part of the tensor that `key` names."""
    def __sub__(self, other: Tensor | complex) -> Tensor:
        """`input - other`."""
    def __truediv__(self, other: Tensor | complex) -> Tensor:
        """`input / other`; of integers, too, the result is floating."""
    def __xor__(self, other: Tensor | complex) -> Tensor:
        """The bits that just one of the two has."""
    @property
    def _grad_fn(self) -> Node | None:
        """The step of the backward graph that made this tensor; None for a leaf."""
    def abs(self) -> Tensor:
        """The magnitude; its derivative at 0 is 0."""
    def abs_(self) -> Self:
        """In place: The magnitude; its derivative at 0 is 0."""
    def absolute(self) -> Tensor:
        """The magnitude; its derivative at 0 is 0."""
    def absolute_(self) -> Self:
        """In place: The magnitude; its derivative at 0 is 0."""
    def acos(self) -> Tensor:
        """The angle in radians whose cosine is `input`."""
    def acos_(self) -> Self:
        """In place: The angle in radians whose cosine is `input`."""
    def acosh(self) -> Tensor:
        """The number whose hyperbolic cosine is `input`."""
    def acosh_(self) -> Self:
        """In place: The number whose hyperbolic cosine is `input`."""
    @overload
    def add(self, other: Tensor | complex) -> Tensor:
        """`input + other`."""
    @overload
    def add(self, other: Tensor | complex, *, alpha: complex = 1) -> Tensor: ...
    @overload
    def add_(self, other: Tensor | complex) -> Self:
        """In place: `input + other`."""
    @overload
    def add_(self, other: Tensor | complex, *, alpha: complex = 1) -> Self: ...
    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: complex = 1, alpha: complex = 1) -> Tensor:
        """`beta * input + alpha * bmm(batch1, batch2).sum(0)`."""
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: complex = 1, alpha: complex = 1) -> Self:
        """In place: `beta * input + alpha * bmm(batch1, batch2).sum(0)`."""
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: complex = 1) -> Tensor:
        """`input + value * tensor1 / tensor2`."""
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: complex = 1) -> Self:
        """In place: `input + value * tensor1 / tensor2`."""
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: complex = 1) -> Tensor:
        """`input + value * tensor1 * tensor2`."""
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: complex = 1) -> Self:
        """In place: `input + value * tensor1 * tensor2`."""
    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: complex = 1, alpha: complex = 1) -> Tensor:
        """`beta * input + alpha * (mat1 @ mat2)` of two matrices."""
    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: complex = 1, alpha: complex = 1) -> Self:
        """In place: `beta * input + alpha * (mat1 @ mat2)` of two matrices."""
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: complex = 1, alpha: complex = 1) -> Tensor:
        """`beta * input + alpha * (mat @ vec)`."""
    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: complex = 1, alpha: complex = 1) -> Self:
        """In place: `beta * input + alpha * (mat @ vec)`."""
    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: complex = 1, alpha: complex = 1) -> Tensor:
        """`beta * input + alpha * outer(vec1, vec2)`."""
    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: complex = 1, alpha: complex = 1) -> Self:
        """In place: `beta * input + alpha * outer(vec1, vec2)`."""
    def adjoint(self) -> Tensor:
        """The last two dimensions exchanged, and of complex numbers the conjugates."""
    def all(self, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False) -> Tensor:
        """Whether all elements are true."""
    def allclose(self, other: Tensor, rtol: builtins.float = 1e-05, atol: builtins.float = 1e-08, equal_nan: builtins.bool = False) -> builtins.bool:
        """Whether all elements are close, as `isclose` says; counterpart of `torch.allclose`."""
    def amax(self, dim: builtins.int | Sequence[builtins.int] | None = (), keepdim: builtins.bool = False) -> Tensor:
        """The largest elements over `dim`; elements that are equally so share the gradient."""
    def amin(self, dim: builtins.int | Sequence[builtins.int] | None = (), keepdim: builtins.bool = False) -> Tensor:
        """The smallest elements over `dim`; elements that are equally so share the gradient."""
    def aminmax(self, *, dim: builtins.int | None = None, keepdim: builtins.bool = False) -> return_types.aminmax:
        """The smallest and the largest element, over `dim` or all."""
    def angle(self) -> Tensor:
        """The angle of a complex number in radians; π for negative numbers."""
    def any(self, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False) -> Tensor:
        """Whether one of the elements is true."""
    def apply_(self, callable: Callable[[Any], Any]) -> Self:
        """In place: each element becomes what a function gives for it. Counterpart of `torch.Tensor.apply_`."""
    def arccos(self) -> Tensor:
        """The angle in radians whose cosine is `input`."""
    def arccos_(self) -> Self:
        """In place: The angle in radians whose cosine is `input`."""
    def arccosh(self) -> Tensor:
        """The number whose hyperbolic cosine is `input`."""
    def arccosh_(self) -> Self:
        """In place: The number whose hyperbolic cosine is `input`."""
    def arcsin(self) -> Tensor:
        """The angle in radians whose sine is `input`."""
    def arcsin_(self) -> Self:
        """In place: The angle in radians whose sine is `input`."""
    def arcsinh(self) -> Tensor:
        """The number whose hyperbolic sine is `input`."""
    def arcsinh_(self) -> Self:
        """In place: The number whose hyperbolic sine is `input`."""
    def arctan(self) -> Tensor:
        """The angle in radians whose tangent is `input`."""
    def arctan2(self, other: Tensor) -> Tensor:
        """The angle of the point (`other`, `input`); its derivative at the origin is 0."""
    def arctan2_(self, other: Tensor) -> Self:
        """In place: The angle of the point (`other`, `input`); its derivative at the origin is 0."""
    def arctan_(self) -> Self:
        """In place: The angle in radians whose tangent is `input`."""
    def arctanh(self) -> Tensor:
        """The number whose hyperbolic tangent is `input`."""
    def arctanh_(self) -> Self:
        """In place: The number whose hyperbolic tangent is `input`."""
    def argmax(self, dim: builtins.int | None = None, keepdim: builtins.bool = False) -> Tensor:
        """Where the largest element is, along `dim` or, without it, in the flattened tensor."""
    def argmin(self, dim: builtins.int | None = None, keepdim: builtins.bool = False) -> Tensor:
        """Where the smallest element is, along `dim` or, without it, in the flattened tensor."""
    def argsort(self, dim: builtins.int = -1, descending: builtins.bool = False, *, stable: builtins.bool = False) -> Tensor:
        """The positions along `dim` that sort the elements."""
    def argwhere(self) -> Tensor:
        """Where the elements are that are not zero, a row of indices each. Counterpart of `torch.argwhere`."""
    def as_strided(self, size: Sequence[builtins.int], stride: Sequence[builtins.int], storage_offset: builtins.int | None = None) -> Tensor:
        """A view with any shape, strides and offset on the tensor's storage. Counterpart of `torch.as_strided`."""
    def as_strided_(self, size: Sequence[builtins.int], stride: Sequence[builtins.int], storage_offset: builtins.int | None = None) -> Self:
        """In place: any shape, strides and offset on the tensor's storage. Counterpart of `torch.Tensor.as_strided_`."""
    def as_strided_scatter(self, src: Tensor, size: Sequence[builtins.int], stride: Sequence[builtins.int], storage_offset: builtins.int | None = None) -> Tensor:
        """A copy with `src` in the place of what `as_strided` shows. Counterpart of `torch.as_strided_scatter`."""
    def as_subclass(self, cls: builtins.type) -> Any:
        """A view of the tensor, of a class that inherits from `Tensor`. Counterpart of `torch.Tensor.as_subclass`."""
    def asin(self) -> Tensor:
        """The angle in radians whose sine is `input`."""
    def asin_(self) -> Self:
        """In place: The angle in radians whose sine is `input`."""
    def asinh(self) -> Tensor:
        """The number whose hyperbolic sine is `input`."""
    def asinh_(self) -> Self:
        """In place: The number whose hyperbolic sine is `input`."""
    def atan(self) -> Tensor:
        """The angle in radians whose tangent is `input`."""
    def atan2(self, other: Tensor) -> Tensor:
        """The angle of the point (`other`, `input`); its derivative at the origin is 0."""
    def atan2_(self, other: Tensor) -> Self:
        """In place: The angle of the point (`other`, `input`); its derivative at the origin is 0."""
    def atan_(self) -> Self:
        """In place: The angle in radians whose tangent is `input`."""
    def atanh(self) -> Tensor:
        """The number whose hyperbolic tangent is `input`."""
    def atanh_(self) -> Self:
        """In place: The number whose hyperbolic tangent is `input`."""
    def backward(self, gradient: Tensor | None = None, retain_graph: builtins.bool | None = None, create_graph: builtins.bool = False, inputs: Tensor | GradientEdge | Sequence[Tensor | GradientEdge] | dict[str, Tensor] | None = None, *, broadcast: builtins.bool = False) -> None:
        """Adds vᵀJ to the `.grad` of every leaf that this tensor was computed from: J its Jacobian, v the `gradient`."""
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: complex = 1, alpha: complex = 1) -> Tensor:
        """`beta * input + alpha * bmm(batch1, batch2)`."""
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: complex = 1, alpha: complex = 1) -> Self:
        """In place: `beta * input + alpha * bmm(batch1, batch2)`."""
    def bernoulli(self, p: builtins.float | None = None, *, generator: Generator | None = None) -> Tensor:
        """1 with the probability that each element says (or `p`), else 0. Counterpart of `torch.Tensor.bernoulli`."""
    def bernoulli_(self, p: Tensor | builtins.float = 0.5, *, generator: Generator | None = None) -> Self:
        """1 with probability `p`, which may be a tensor, else 0. In place. Counterpart of `torch.Tensor.bernoulli_`."""
    def bfloat16(self, memory_format: Any = None) -> Tensor:
        """The tensor as torch.bfloat16; itself where it is one. Counterpart of `torch.Tensor.bfloat16`."""
    def bincount(self, weights: Tensor | None = None, minlength: builtins.int = 0) -> Tensor:
        """How often each number occurs among non-negative integers, or the sums of their weights. As `torch.bincount`."""
    def bitwise_and(self, other: Tensor | complex) -> Tensor:
        """The bits that both have."""
    def bitwise_and_(self, other: Tensor | complex) -> Self:
        """In place: The bits that both have."""
    def bitwise_left_shift(self, other: Tensor | complex) -> Tensor:
        """The bits, moved up by `other` places."""
    def bitwise_left_shift_(self, other: Tensor | complex) -> Self:
        """In place: The bits, moved up by `other` places."""
    def bitwise_not(self) -> Tensor:
        """Every bit inverted; the negation of a truth value."""
    def bitwise_not_(self) -> Self:
        """In place: Every bit inverted; the negation of a truth value."""
    def bitwise_or(self, other: Tensor | complex) -> Tensor:
        """The bits that one of the two has."""
    def bitwise_or_(self, other: Tensor | complex) -> Self:
        """In place: The bits that one of the two has."""
    def bitwise_right_shift(self, other: Tensor | complex) -> Tensor:
        """The bits, moved down by `other` places."""
    def bitwise_right_shift_(self, other: Tensor | complex) -> Self:
        """In place: The bits, moved down by `other` places."""
    def bitwise_xor(self, other: Tensor | complex) -> Tensor:
        """The bits that just one of the two has."""
    def bitwise_xor_(self, other: Tensor | complex) -> Self:
        """In place: The bits that just one of the two has."""
    def bmm(self, mat2: Tensor) -> Tensor:
        """The matrix products of b n×k and b k×m matrices."""
    def bool(self, memory_format: Any = None) -> Tensor:
        """The tensor as torch.bool; itself where it is one. Counterpart of `torch.Tensor.bool`."""
    @overload
    def broadcast_to(self, size: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Dimensions of size 1 repeated, without a copy; -1 leaves a size as it is."""
    @overload
    def broadcast_to(self, *size: builtins.int) -> Tensor: ...
    def byte(self, memory_format: Any = None) -> Tensor:
        """The tensor as torch.uint8; itself where it is one. Counterpart of `torch.Tensor.byte`."""
    def cauchy_(self, median: builtins.float = 0.0, sigma: builtins.float = 1.0, *, generator: Generator | None = None) -> Self:
        """Random numbers from the Cauchy distribution. In place. Counterpart of `torch.Tensor.cauchy_`."""
    def cdouble(self, memory_format: Any = None) -> Tensor:
        """The tensor as torch.complex128; itself where it is one. Counterpart of `torch.Tensor.cdouble`."""
    def ceil(self) -> Tensor:
        """The next integer above."""
    def ceil_(self) -> Self:
        """In place: The next integer above."""
    def cfloat(self, memory_format: Any = None) -> Tensor:
        """The tensor as torch.complex64; itself where it is one. Counterpart of `torch.Tensor.cfloat`."""
    def chalf(self, memory_format: Any = None) -> Tensor:
        """The tensor as torch.complex32; itself where it is one. Counterpart of `torch.Tensor.chalf`."""
    def char(self, memory_format: Any = None) -> Tensor:
        """The tensor as torch.int8; itself where it is one. Counterpart of `torch.Tensor.char`."""
    def cholesky(self, upper: builtins.bool = False) -> Tensor:
        """torch's older `linalg.cholesky`."""
    def cholesky_inverse(self, upper: builtins.bool = False) -> Tensor:
        """The inverse of the matrix whose Cholesky factor is L."""
    def cholesky_solve(self, input2: Tensor, upper: builtins.bool = False) -> Tensor:
        """The X of `A @ X = input` for the A whose Cholesky factor is L."""
    def chunk(self, chunks: builtins.int, dim: builtins.int = 0) -> tuple[Tensor, ...]:
        """At most `chunks` pieces of equal size, the last perhaps shorter: views. Counterpart of `torch.chunk`."""
    def clamp(self, min: Tensor | complex | None = None, max: Tensor | complex | None = None) -> Tensor:
        """`input` clamped to between `min` and `max`, either of which may be omitted; at a bound `input` has the gradient."""
    def clamp_(self, min: Tensor | complex | None = None, max: Tensor | complex | None = None) -> Self:
        """In place: `input` clamped to between `min` and `max`, either of which may be omitted; at a bound `input` has the gradient."""
    def clamp_max(self, max: Tensor | complex) -> Tensor:
        """`input`, or `max` where that is smaller; at the bound the gradient goes to `input`, at a NaN to neither."""
    def clamp_max_(self, max: Tensor | complex) -> Self:
        """In place: `input`, or `max` where that is smaller; at the bound the gradient goes to `input`, at a NaN to neither."""
    def clamp_min(self, min: Tensor | complex) -> Tensor:
        """`input`, or `min` where that is larger; at the bound the gradient goes to `input`, at a NaN to neither."""
    def clamp_min_(self, min: Tensor | complex) -> Self:
        """In place: `input`, or `min` where that is larger; at the bound the gradient goes to `input`, at a NaN to neither."""
    def clip(self, min: Tensor | complex | None = None, max: Tensor | complex | None = None) -> Tensor:
        """`input` clamped to between `min` and `max`, either of which may be omitted; at a bound `input` has the gradient."""
    def clip_(self, min: Tensor | complex | None = None, max: Tensor | complex | None = None) -> Self:
        """In place: `input` clamped to between `min` and `max`, either of which may be omitted; at a bound `input` has the gradient."""
    def clone(self, *, memory_format: memory_format | None = None) -> Tensor:
        """A copy with storage of its own, through which gradients flow. Counterpart of `torch.clone`."""
    def coalesce(self) -> Tensor:
        """RuntimeError: it is not sparse."""
    def conj(self) -> Tensor:
        """The complex conjugate, as a view; a real tensor itself. Counterpart of `torch.conj`."""
    def conj_physical(self) -> Tensor:
        """The complex conjugates."""
    def conj_physical_(self) -> Self:
        """In place: The complex conjugates."""
    def contiguous(self, memory_format: memory_format = ...) -> Tensor:
        """This tensor, or a copy of it that is contiguous, or laid out by a format. As `torch.Tensor.contiguous`."""
    def copy_(self, other: Tensor | complex, non_blocking: builtins.bool = False) -> Self:
        """In place: `other`, expanded to `input`'s shape and converted to its dtype, in place of `input`: `x.copy_(y)`."""
    def copysign(self, other: Tensor | complex) -> Tensor:
        """The magnitude of `input` with the sign of `other`."""
    def copysign_(self, other: Tensor | complex) -> Self:
        """In place: The magnitude of `input` with the sign of `other`."""
    def corrcoef(self) -> Tensor:
        """The correlations of the rows, each column an observation."""
    def cos(self) -> Tensor:
        """The cosine of an angle in radians."""
    def cos_(self) -> Self:
        """In place: The cosine of an angle in radians."""
    def cosh(self) -> Tensor:
        """The hyperbolic cosine."""
    def cosh_(self) -> Self:
        """In place: The hyperbolic cosine."""
    @overload
    def count_nonzero(self, dim: builtins.int | Sequence[builtins.int] | None = None) -> Tensor:
        """How many elements are not 0."""
    @overload
    def count_nonzero(self, *dim: builtins.int) -> Tensor: ...
    def cov(self, *, correction: builtins.int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
        """The covariances of the rows, each column an observation; counted `fweights` times, weighed by `aweights`."""
    def cpu(self, memory_format: Any = None) -> Tensor:
        """The tensor in the host's memory; itself where it is there. Counterpart of `torch.Tensor.cpu`."""
    def cross(self, other: Tensor, dim: builtins.int | None = None) -> Tensor:
        """The vector perpendicular to two others, along `dim`, by default the first dimension of length 3."""
    def cuda(self, device: Any = None, non_blocking: builtins.bool = False, memory_format: Any = None) -> Tensor:
        """The tensor on a GPU, the first unless told otherwise; AssertionError where JAX has none."""
    def cummax(self, dim: builtins.int) -> return_types.cummax:
        """The largest element up to each place along `dim`, and where it is."""
    def cummin(self, dim: builtins.int) -> return_types.cummin:
        """The smallest element up to each place along `dim`, and where it is."""
    def cumprod(self, dim: builtins.int, *, dtype: dtype | None = None) -> Tensor:
        """The product up to each place along `dim`; of integers an int64."""
    def cumprod_(self, dim: builtins.int, *, dtype: dtype | None = None) -> Self:
        """In place: The product up to each place along `dim`; of integers an int64."""
    def cumsum(self, dim: builtins.int, *, dtype: dtype | None = None) -> Tensor:
        """The sum up to each place along `dim`; of integers an int64."""
    def cumsum_(self, dim: builtins.int, *, dtype: dtype | None = None) -> Self:
        """In place: The sum up to each place along `dim`; of integers an int64."""
    def data_ptr(self) -> builtins.int:
        """The address of the first element, as a number to compare. Counterpart of `torch.Tensor.data_ptr`."""
    def deg2rad(self) -> Tensor:
        """Degrees as radians."""
    def deg2rad_(self) -> Self:
        """In place: Degrees as radians."""
    def dense_dim(self) -> builtins.int:
        """The number of dimensions, of which none is sparse."""
    def det(self) -> Tensor:
        """The determinant of each square matrix."""
    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh that a tensor is on."""
    def diag(self, diagonal: builtins.int = 0) -> Tensor:
        """The matrix with a vector on a diagonal; of a matrix the diagonal."""
    def diag_embed(self, offset: builtins.int = 0, dim1: builtins.int = -2, dim2: builtins.int = -1) -> Tensor:
        """Matrices of zeros whose diagonals are the vectors of the last dimension."""
    def diagflat(self, offset: builtins.int = 0) -> Tensor:
        """The matrix with all elements, in order, on a diagonal."""
    def diagonal(self, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1) -> Tensor:
        """The diagonal of two dimensions, as the last dimension."""
    def diagonal_scatter(self, src: Tensor, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1) -> Tensor:
        """`input` with a diagonal of two dimensions replaced by `src`."""
    def diff(self, n: builtins.int = 1, dim: builtins.int = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:
        """The differences of neighbours along `dim`, taken `n` times."""
    def digamma(self) -> Tensor:
        """The derivative of `lgamma`."""
    def digamma_(self) -> Self:
        """In place: The derivative of `lgamma`."""
    def dim_order(self, *, ambiguity_check: builtins.bool | list[memory_format] = False) -> tuple[builtins.int, ...]:
        """The dimensions from the outermost in memory to the innermost. Counterpart of `torch.Tensor.dim_order`."""
    def dist(self, other: Tensor, p: builtins.float = 2) -> Tensor:
        """The norm of order `p` of the difference."""
    @overload
    def div(self, other: Tensor | complex) -> Tensor:
        """`input / other`; of integers, too, the result is floating."""
    @overload
    def div(self, other: Tensor | complex, *, rounding_mode: str | None) -> Tensor: ...
    @overload
    def div_(self, other: Tensor | complex) -> Self:
        """In place: `input / other`; of integers, too, the result is floating."""
    @overload
    def div_(self, other: Tensor | complex, *, rounding_mode: str | None) -> Self: ...
    @overload
    def divide(self, other: Tensor | complex) -> Tensor:
        """`input / other`; of integers, too, the result is floating."""
    @overload
    def divide(self, other: Tensor | complex, *, rounding_mode: str | None) -> Tensor: ...
    @overload
    def divide_(self, other: Tensor | complex) -> Self:
        """In place: `input / other`; of integers, too, the result is floating."""
    @overload
    def divide_(self, other: Tensor | complex, *, rounding_mode: str | None) -> Self: ...
    def dot(self, tensor: Tensor) -> Tensor:
        """The inner product of two vectors."""
    def double(self, memory_format: Any = None) -> Tensor:
        """The tensor as torch.float64; itself where it is one. Counterpart of `torch.Tensor.double`."""
    def dsplit(self, *indices_or_sections: Any) -> tuple[Tensor, ...]:
        """`tensor_split` along a fixed dimension, into equal pieces. Counterpart of `torch.dsplit`."""
    def eig(self, **named: Any) -> Tensor:
        """RuntimeError: torch has taken it away."""
    def element_size(self) -> builtins.int:
        """How many bytes an element has."""
    def eq(self, other: Tensor | complex) -> Tensor:
        """Whether the elements are equal."""
    def eq_(self, other: Tensor | complex) -> Self:
        """In place: Whether the elements are equal."""
    def equal(self, other: Tensor) -> builtins.bool:
        """Whether both have the same shape and elements; counterpart of `torch.equal`."""
    def erf(self) -> Tensor:
        """The error function."""
    def erf_(self) -> Self:
        """In place: The error function."""
    def erfc(self) -> Tensor:
        """`1 - erf(input)`."""
    def erfc_(self) -> Self:
        """In place: `1 - erf(input)`."""
    def erfinv(self) -> Tensor:
        """The number whose error function is `input`."""
    def erfinv_(self) -> Self:
        """In place: The number whose error function is `input`."""
    def exp(self) -> Tensor:
        """e to the power of `input`."""
    def exp2(self) -> Tensor:
        """2 to the power of `input`."""
    def exp2_(self) -> Self:
        """In place: 2 to the power of `input`."""
    def exp_(self) -> Self:
        """In place: e to the power of `input`."""
    @overload
    def expand(self, size: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Dimensions of size 1 repeated, without a copy; -1 leaves a size as it is."""
    @overload
    def expand(self, *size: builtins.int) -> Tensor: ...
    def expand_as(self, other: Tensor) -> Tensor:
        """A view expanded to the shape of another tensor."""
    def explain(self, gradient: Tensor | None = None, style: str = 'vjp') -> Explanation:
        """The functional JAX program that this tensor was computed by: `jaxvjp.explain` of it."""
    def expm1(self) -> Tensor:
        """`exp(input) - 1`, precise near 0."""
    def expm1_(self) -> Self:
        """In place: `exp(input) - 1`, precise near 0."""
    def exponential_(self, lambd: builtins.float = 1.0, *, generator: Generator | None = None) -> Self:
        """Exponential random numbers. In place. Counterpart of `torch.Tensor.exponential_`."""
    def fill_(self, value: Tensor | complex) -> Self:
        """In place: One number in place of all elements of `input`."""
    def fill_diagonal_(self, fill_value: complex | Tensor, wrap: builtins.bool = False) -> Self:
        """In place: a number on the main diagonal, in a tall matrix with `wrap` on those below as well. As in torch."""
    def fix(self) -> Tensor:
        """The integer part."""
    def fix_(self) -> Self:
        """In place: The integer part."""
    def flatten(self, start_dim: builtins.int = 0, end_dim: builtins.int = -1) -> Tensor:
        """Dimensions from `start_dim` to `end_dim` made one. Counterpart of `torch.flatten`."""
    @overload
    def flip(self, dims: builtins.int | Sequence[builtins.int]) -> Tensor:
        """The elements in the opposite order along `dims`."""
    @overload
    def flip(self, *dims: builtins.int) -> Tensor: ...
    def fliplr(self) -> Tensor:
        """The columns in the opposite order."""
    def flipud(self) -> Tensor:
        """The rows in the opposite order."""
    def float(self, memory_format: Any = None) -> Tensor:
        """The tensor as torch.float32; itself where it is one. Counterpart of `torch.Tensor.float`."""
    def float_power(self, exponent: Tensor | complex) -> Tensor:
        """`input ** exponent` in double precision."""
    def float_power_(self, exponent: Tensor | complex) -> Self:
        """In place: `input ** exponent` in double precision."""
    def floor(self) -> Tensor:
        """The next integer below."""
    def floor_(self) -> Self:
        """In place: The next integer below."""
    def floor_divide(self, other: Tensor | complex) -> Tensor:
        """The quotient, rounded down."""
    def floor_divide_(self, other: Tensor | complex) -> Self:
        """In place: The quotient, rounded down."""
    def fmax(self, other: Tensor) -> Tensor:
        """The larger of two elements; of a number and NaN the number. The first has the gradient where they are equal."""
    def fmin(self, other: Tensor) -> Tensor:
        """The smaller of two elements; of a number and NaN the number. The first has the gradient where they are equal."""
    def fmod(self, other: Tensor | complex) -> Tensor:
        """What is left of a division rounded to zero; it has the sign of `input`."""
    def fmod_(self, other: Tensor | complex) -> Self:
        """In place: What is left of a division rounded to zero; it has the sign of `input`."""
    def frac(self) -> Tensor:
        """`input` without its integer part."""
    def frac_(self) -> Self:
        """In place: `input` without its integer part."""
    def frexp(self) -> return_types.frexp:
        """Each number as a mantissa of at least a half, times a power of two."""
    def full_tensor(self, *, grad_placements: Any = None) -> Tensor:
        """The whole value as a tensor on no mesh, through which gradients flow."""
    def gather(self, dim: builtins.int, index: Tensor, *, sparse_grad: builtins.bool = False) -> Tensor:
        """Along `dim` the elements at the positions that `index` gives: `input[i][index[i][j]]` for dimension 1."""
    def gcd(self, other: Tensor) -> Tensor:
        """The greatest common divisor."""
    def gcd_(self, other: Tensor) -> Self:
        """In place: The greatest common divisor."""
    def ge(self, other: Tensor | complex) -> Tensor:
        """Whether the elements of `input` are larger or equal."""
    def ge_(self, other: Tensor | complex) -> Self:
        """In place: Whether the elements of `input` are larger or equal."""
    def geometric_(self, p: builtins.float, *, generator: Generator | None = None) -> Self:
        """How many tries a success takes whose probability is `p`. In place. Counterpart of `torch.Tensor.geometric_`."""
    def geqrf(self) -> return_types.geqrf:
        """QR in LAPACK's form: R, below it the vectors of the Householder reflections whose product is Q, and their factors."""
    def ger(self, vec2: Tensor) -> Tensor:
        """Each element of one vector times each of another, as a matrix."""
    @property
    def grad_fn(self) -> Node | None:
        """The step of the backward graph that made this tensor; None for a leaf."""
    def greater(self, other: Tensor | complex) -> Tensor:
        """Whether the elements of `input` are larger."""
    def greater_(self, other: Tensor | complex) -> Self:
        """In place: Whether the elements of `input` are larger."""
    def greater_equal(self, other: Tensor | complex) -> Tensor:
        """Whether the elements of `input` are larger or equal."""
    def greater_equal_(self, other: Tensor | complex) -> Self:
        """In place: Whether the elements of `input` are larger or equal."""
    def gt(self, other: Tensor | complex) -> Tensor:
        """Whether the elements of `input` are larger."""
    def gt_(self, other: Tensor | complex) -> Self:
        """In place: Whether the elements of `input` are larger."""
    def half(self, memory_format: Any = None) -> Tensor:
        """The tensor as torch.float16; itself where it is one. Counterpart of `torch.Tensor.half`."""
    def hardshrink(self, lambd: builtins.float = 0.5) -> Tensor:
        """`input`, or 0 where its magnitude is at most `lambd`."""
    def heaviside(self, values: Tensor) -> Tensor:
        """0 for negative numbers, 1 for positive ones, `values` at 0."""
    def heaviside_(self, values: Tensor) -> Self:
        """In place: 0 for negative numbers, 1 for positive ones, `values` at 0."""
    def histc(self, bins: builtins.int = 100, min: builtins.float = 0, max: builtins.float = 0) -> Tensor:
        """How many elements are in each of `bins` equal ranges from `min` to `max`, by default those of the elements."""
    def histogram(self, bins: builtins.int | Tensor = 100, *, range: Sequence[builtins.float] | None = None, weight: Tensor | None = None, density: builtins.bool = False) -> return_types.histogram:
        """How many elements are in each bin, and the edges of the bins, as a named tuple."""
    def hsplit(self, *indices_or_sections: Any) -> tuple[Tensor, ...]:
        """`tensor_split` along a fixed dimension, into equal pieces. Counterpart of `torch.hsplit`."""
    def hypot(self, other: Tensor) -> Tensor:
        """`sqrt(input² + other²)`."""
    def hypot_(self, other: Tensor) -> Self:
        """In place: `sqrt(input² + other²)`."""
    def i0(self) -> Tensor:
        """The modified Bessel function of the first kind, of order 0."""
    def i0_(self) -> Self:
        """In place: The modified Bessel function of the first kind, of order 0."""
    def igamma(self, other: Tensor) -> Tensor:
        """The regularized lower incomplete gamma function."""
    def igamma_(self, other: Tensor) -> Self:
        """In place: The regularized lower incomplete gamma function."""
    def igammac(self, other: Tensor) -> Tensor:
        """The regularized upper incomplete gamma function."""
    def igammac_(self, other: Tensor) -> Self:
        """In place: The regularized upper incomplete gamma function."""
    @property
    def imag(self) -> Tensor:
        """The imaginary part, as a view; RuntimeError for a real tensor. Counterpart of `torch.imag`."""
    def index_add(self, dim: builtins.int, index: Tensor, source: Tensor, *, alpha: complex = 1) -> Tensor:
        """`input` with slice after slice of `source`, times `alpha`, added along `dim` at the positions in `index`."""
    def index_add_(self, dim: builtins.int, index: Tensor, source: Tensor, *, alpha: complex = 1) -> Self:
        """In place: `input` with slice after slice of `source`, times `alpha`, added along `dim` at the positions in `index`."""
    def index_copy(self, dim: builtins.int, index: Tensor, source: Tensor) -> Tensor:
        """`input` with slice after slice of `source` written along `dim` at the positions in `index`."""
    def index_copy_(self, dim: builtins.int, index: Tensor, source: Tensor) -> Self:
        """In place: `input` with slice after slice of `source` written along `dim` at the positions in `index`."""
    def index_fill(self, dim: builtins.int, index: Tensor, value: Tensor | complex) -> Tensor:
        """`input` with one number written along `dim` at the positions in `index`."""
    def index_fill_(self, dim: builtins.int, index: Tensor, value: Tensor | complex) -> Self:
        """In place: `input` with one number written along `dim` at the positions in `index`."""
    def index_put(self, indices: Sequence[Tensor | None], values: Tensor, accumulate: builtins.bool = False) -> Tensor:
        """A copy with `values` written, or added, at `indices`. Counterpart of `torch.index_put`."""
    def index_put_(self, indices: Sequence[Tensor | None], values: Tensor, accumulate: builtins.bool = False) -> Self:
        """Writes `values` at `indices`, or adds them there, in place; counterpart of `torch.Tensor.index_put_`."""
    def index_reduce(self, dim: builtins.int, index: Tensor, source: Tensor, reduce: str, *, include_self: builtins.bool = True) -> Tensor:
        """Slices of `source` that go to one position along `dim` reduced, with `input`'s unless `include_self=False`."""
    def index_reduce_(self, dim: builtins.int, index: Tensor, source: Tensor, reduce: str, *, include_self: builtins.bool = True) -> Self:
        """In place: Slices of `source` that go to one position along `dim` reduced, with `input`'s unless `include_self=False`."""
    def index_select(self, dim: builtins.int, index: Tensor) -> Tensor:
        """The given indices of one dimension, in their order."""
    def indices(self) -> Tensor:
        """RuntimeError: it is not sparse."""
    def inner(self, other: Tensor) -> Tensor:
        """The sum of products over the last dimension of both operands; with a 0-dim one their product."""
    def int(self, memory_format: Any = None) -> Tensor:
        """The tensor as torch.int32; itself where it is one. Counterpart of `torch.Tensor.int`."""
    def inverse(self) -> Tensor:
        """The inverse of a square matrix; LinAlgError where it is singular."""
    def is_coalesced(self) -> builtins.bool:
        """RuntimeError for it."""
    def is_complex(self) -> builtins.bool:
        """Whether its elements are complex numbers."""
    def is_conj(self) -> builtins.bool:
        """Whether it is a conjugated view, `x.conj()`. Counterpart of `torch.is_conj`."""
    def is_contiguous(self, memory_format: memory_format = ...) -> builtins.bool:
        """Whether the elements lie in memory in their order, or in that of a format. As `torch.Tensor.is_contiguous`."""
    def is_distributed(self) -> builtins.bool:
        """Never."""
    def is_floating_point(self) -> builtins.bool:
        """Whether its elements are real floating-point numbers."""
    @property
    def is_ipu(self) -> builtins.bool:
        """Never."""
    @property
    def is_maia(self) -> builtins.bool:
        """Never."""
    @property
    def is_meta(self) -> builtins.bool:
        """Whether it is on the device `meta`: a shape and a dtype without numbers."""
    @property
    def is_mkldnn(self) -> builtins.bool:
        """Never."""
    @property
    def is_mps(self) -> builtins.bool:
        """Never."""
    @property
    def is_mtia(self) -> builtins.bool:
        """Never."""
    def is_neg(self) -> builtins.bool:
        """Whether it is a negated view, the imaginary part of a conjugated one. Counterpart of `torch.is_neg`."""
    @property
    def is_nested(self) -> builtins.bool:
        """Never."""
    def is_nonzero(self) -> builtins.bool:
        """Whether its one element is not 0; RuntimeError for several."""
    def is_pinned(self, device: Any = None) -> builtins.bool:
        """Never: JAX moves memory itself."""
    @property
    def is_quantized(self) -> builtins.bool:
        """Never."""
    def is_same_size(self, other: Tensor) -> builtins.bool:
        """Whether two tensors have the same shape. Counterpart of `torch.is_same_size`."""
    def is_set_to(self, tensor: Tensor) -> builtins.bool:
        """Whether both show the same part of a storage in the same way. Counterpart of `torch.Tensor.is_set_to`."""
    def is_shared(self) -> builtins.bool:
        """Never: no other process sees it."""
    def is_signed(self) -> builtins.bool:
        """Whether its elements have a sign."""
    @property
    def is_sparse(self) -> builtins.bool:
        """Never."""
    @property
    def is_sparse_csr(self) -> builtins.bool:
        """Never."""
    @property
    def is_vulkan(self) -> builtins.bool:
        """Never."""
    @property
    def is_xla(self) -> builtins.bool:
        """Whether it is on a TPU."""
    @property
    def is_xpu(self) -> builtins.bool:
        """Never."""
    def isclose(self, other: Tensor, rtol: builtins.float = 1e-05, atol: builtins.float = 1e-08, equal_nan: builtins.bool = False) -> Tensor:
        """Whether `|input - other| <= atol + rtol * |other|`, or the two are equal."""
    def isfinite(self) -> Tensor:
        """Whether it is a number, and not infinite."""
    def isinf(self) -> Tensor:
        """Whether it is infinite."""
    def isnan(self) -> Tensor:
        """Whether it is no number."""
    def isneginf(self) -> Tensor:
        """Whether it is minus infinity."""
    def isposinf(self) -> Tensor:
        """Whether it is infinity."""
    def isreal(self) -> Tensor:
        """Whether its imaginary part is 0."""
    def istft(self, n_fft: builtins.int, hop_length: builtins.int | None = None, win_length: builtins.int | None = None, window: Tensor | None = None, center: builtins.bool = True, normalized: builtins.bool = False, onesided: builtins.bool | None = None, length: builtins.int | None = None, return_complex: builtins.bool = False) -> Tensor:
        """The signal whose frames have these spectra, by least squares."""
    @property
    def itemsize(self) -> builtins.int:
        """How many bytes an element has."""
    def jax(self) -> Any:
        """The value as a JAX array that shares the tensor's memory."""
    def jaxpr(self, wrt: Tensor | Iterable[Tensor] | None = None) -> Any:
        """The recorded program as a jaxpr, with types of 64 bits."""
    def kron(self, other: Tensor) -> Tensor:
        """The Kronecker product: each element of `input` in turn times the whole of `other`."""
    def kthvalue(self, k: builtins.int, dim: builtins.int = -1, keepdim: builtins.bool = False) -> return_types.kthvalue:
        """The `k`th smallest element along `dim`, and where it was."""
    @property
    def layout(self) -> layout:
        """How its elements lie in memory: `strided`."""
    def lcm(self, other: Tensor) -> Tensor:
        """The least common multiple."""
    def lcm_(self, other: Tensor) -> Self:
        """In place: The least common multiple."""
    def ldexp(self, other: Tensor) -> Tensor:
        """`input * 2 ** other`."""
    def ldexp_(self, other: Tensor) -> Self:
        """In place: `input * 2 ** other`."""
    def le(self, other: Tensor | complex) -> Tensor:
        """Whether the elements of `input` are smaller or equal."""
    def le_(self, other: Tensor | complex) -> Self:
        """In place: Whether the elements of `input` are smaller or equal."""
    def lerp(self, end: Tensor, weight: Tensor | complex) -> Tensor:
        """`input + weight * (end - input)`."""
    def lerp_(self, end: Tensor, weight: Tensor | complex) -> Self:
        """In place: `input + weight * (end - input)`."""
    def less(self, other: Tensor | complex) -> Tensor:
        """Whether the elements of `input` are smaller."""
    def less_(self, other: Tensor | complex) -> Self:
        """In place: Whether the elements of `input` are smaller."""
    def less_equal(self, other: Tensor | complex) -> Tensor:
        """Whether the elements of `input` are smaller or equal."""
    def less_equal_(self, other: Tensor | complex) -> Self:
        """In place: Whether the elements of `input` are smaller or equal."""
    def lgamma(self) -> Tensor:
        """The logarithm of the magnitude of the gamma function."""
    def lgamma_(self) -> Self:
        """In place: The logarithm of the magnitude of the gamma function."""
    def log(self) -> Tensor:
        """The natural logarithm."""
    def log10(self) -> Tensor:
        """The logarithm to base 10."""
    def log10_(self) -> Self:
        """In place: The logarithm to base 10."""
    def log1p(self) -> Tensor:
        """`log(1 + input)`, precise near 0."""
    def log1p_(self) -> Self:
        """In place: `log(1 + input)`, precise near 0."""
    def log2(self) -> Tensor:
        """The logarithm to base 2."""
    def log2_(self) -> Self:
        """In place: The logarithm to base 2."""
    def log_(self) -> Self:
        """In place: The natural logarithm."""
    def log_normal_(self, mean: builtins.float = 1.0, std: builtins.float = 2.0, *, generator: Generator | None = None) -> Self:
        """Numbers whose logarithms are normal. In place. Counterpart of `torch.Tensor.log_normal_`."""
    def log_softmax(self, dim: builtins.int, dtype: dtype | None = None) -> Tensor:
        """The logarithm of softmax over `dim`."""
    def logaddexp(self, other: Tensor) -> Tensor:
        """`log(exp(input) + exp(other))`."""
    def logaddexp2(self, other: Tensor) -> Tensor:
        """`log2(2 ** input + 2 ** other)`."""
    def logcumsumexp(self, dim: builtins.int) -> Tensor:
        """The logarithm of the sum of `exp(input)` up to each place along `dim`."""
    def logdet(self) -> Tensor:
        """The logarithm of the determinant; of a negative one NaN."""
    def logical_and(self, other: Tensor) -> Tensor:
        """Whether both are true."""
    def logical_and_(self, other: Tensor) -> Self:
        """In place: Whether both are true."""
    def logical_not(self) -> Tensor:
        """Whether it is 0."""
    def logical_not_(self) -> Self:
        """In place: Whether it is 0."""
    def logical_or(self, other: Tensor) -> Tensor:
        """Whether one of the two is true."""
    def logical_or_(self, other: Tensor) -> Self:
        """In place: Whether one of the two is true."""
    def logical_xor(self, other: Tensor) -> Tensor:
        """Whether just one of the two is true."""
    def logical_xor_(self, other: Tensor) -> Self:
        """In place: Whether just one of the two is true."""
    def logit(self, eps: builtins.float | None = None) -> Tensor:
        """`log(x / (1 - x))`, with x clamped to between `eps` and `1 - eps`."""
    def logit_(self, eps: builtins.float | None = None) -> Self:
        """In place: `log(x / (1 - x))`, with x clamped to between `eps` and `1 - eps`."""
    def logsumexp(self, dim: builtins.int | Sequence[builtins.int] | None, keepdim: builtins.bool = False) -> Tensor:
        """The logarithm of the sum of `exp(input)` over `dim`."""
    def long(self, memory_format: Any = None) -> Tensor:
        """The tensor as torch.int64; itself where it is one. Counterpart of `torch.Tensor.long`."""
    def lowered(self, wrt: Tensor | Iterable[Tensor] | None = None) -> Any:
        """The recorded program as JAX lowers it: `y.lowered().as_text()` is StableHLO, `.compile()` an executable."""
    def lstsq(self, **named: Any) -> Tensor:
        """RuntimeError: torch has taken it away."""
    def lt(self, other: Tensor | complex) -> Tensor:
        """Whether the elements of `input` are smaller."""
    def lt_(self, other: Tensor | complex) -> Self:
        """In place: Whether the elements of `input` are smaller."""
    def lu(self, pivot: builtins.bool = True, get_infos: builtins.bool = False, out: Any = None) -> tuple[Tensor, ...]:
        """torch's older `linalg.lu_factor`, with `get_infos` its `linalg.lu_factor_ex`. Counterpart of `torch.lu`."""
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """torch's older `linalg.lu_solve`."""
    @property
    def mH(self) -> Tensor:
        """The last two dimensions exchanged, and each element its conjugate."""
    @property
    def mT(self) -> Tensor:
        """The last two dimensions exchanged, as a view."""
    def map2_(self, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Self:
        """In place: each element becomes what a function gives for it and those of two others. As `torch.Tensor.map2_`."""
    def map_(self, other: Tensor, callable: Callable[[Any, Any], Any]) -> Self:
        """In place: each element becomes what a function gives for it and that of another. As `torch.Tensor.map_`."""
    def masked_fill(self, mask: Tensor, value: Tensor | complex) -> Tensor:
        """`input` with one number wherever `mask` is true."""
    def masked_fill_(self, mask: Tensor, value: Tensor | complex) -> Self:
        """In place: `input` with one number wherever `mask` is true."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """`input` with the elements of `source`, in order, written where `mask` is true."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Self:
        """In place: `input` with the elements of `source`, in order, written where `mask` is true."""
    def masked_select(self, mask: Tensor) -> Tensor:
        """The elements where `mask` is true, in one dimension. Counterpart of `torch.masked_select`."""
    def matmul(self, other: Tensor) -> Tensor:
        """The matrix product; a vector counts as a row on the left, a column on the right, further dimensions as batch."""
    def matrix_exp(self) -> Tensor:
        """The exponential of a square matrix: the limit of `A^n / n!`, summed up."""
    def matrix_power(self, n: builtins.int) -> Tensor:
        """A square matrix multiplied by itself `n` times; its inverse where `n` is negative."""
    @overload
    def max(self, other: Tensor) -> Tensor:
        """The larger of two elements; NaN where one of them is."""
    @overload
    def max(self) -> Tensor: ...
    @overload
    def max(self, dim: builtins.int, keepdim: builtins.bool = False) -> return_types.max: ...
    def maximum(self, other: Tensor) -> Tensor:
        """The larger of two elements; NaN where one of them is."""
    def mean(self, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: dtype | None = None) -> Tensor:
        """The mean over `dim` (all dimensions by default) of a floating or complex tensor."""
    @overload
    def median(self) -> Tensor:
        """The median, the lower one of two; equal elements share the gradient. NaN where there is one."""
    @overload
    def median(self, dim: builtins.int, keepdim: builtins.bool = False) -> return_types.median: ...
    @overload
    def min(self, other: Tensor) -> Tensor:
        """The smaller of two elements; NaN where one of them is."""
    @overload
    def min(self) -> Tensor: ...
    @overload
    def min(self, dim: builtins.int, keepdim: builtins.bool = False) -> return_types.min: ...
    def minimum(self, other: Tensor) -> Tensor:
        """The smaller of two elements; NaN where one of them is."""
    def mm(self, mat2: Tensor) -> Tensor:
        """The matrix product of an n×k and a k×m matrix."""
    def mode(self, dim: builtins.int = -1, keepdim: builtins.bool = False) -> return_types.mode:
        """The most frequent element along `dim`, the smallest of several, and where its last is."""
    def moveaxis(self, source: builtins.int | Sequence[builtins.int], destination: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Dimensions moved to other places, the others keeping their order: a view. Counterpart of `torch.movedim`."""
    def movedim(self, source: builtins.int | Sequence[builtins.int], destination: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Dimensions moved to other places, the others keeping their order: a view. Counterpart of `torch.movedim`."""
    def msort(self) -> Tensor:
        """The elements of the first dimension in order."""
    def mul(self, other: Tensor | complex) -> Tensor:
        """`input * other`."""
    def mul_(self, other: Tensor | complex) -> Self:
        """In place: `input * other`."""
    def multinomial(self, num_samples: builtins.int, replacement: builtins.bool = False, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
        """`num_samples` positions of each row, drawn by the weights that it holds. Counterpart of `torch.multinomial`."""
    def multiply(self, other: Tensor | complex) -> Tensor:
        """`input * other`."""
    def multiply_(self, other: Tensor | complex) -> Self:
        """In place: `input * other`."""
    def mv(self, vec: Tensor) -> Tensor:
        """The product of an n×m matrix and a vector of length m."""
    def mvlgamma(self, p: builtins.int) -> Tensor:
        """The logarithm of the multivariate gamma function of dimension `p`."""
    def mvlgamma_(self, p: builtins.int) -> Self:
        """In place: The logarithm of the multivariate gamma function of dimension `p`."""
    @property
    def name(self) -> None:
        """None: it has no name."""
    def nan_to_num(self, nan: builtins.float | None = None, posinf: builtins.float | None = None, neginf: builtins.float | None = None) -> Tensor:
        """`input` with NaN (by 0), infinity (by the largest number) and minus infinity (by the smallest) replaced."""
    def nan_to_num_(self, nan: builtins.float | None = None, posinf: builtins.float | None = None, neginf: builtins.float | None = None) -> Self:
        """In place: `input` with NaN (by 0), infinity (by the largest number) and minus infinity (by the smallest) replaced."""
    def nanmean(self, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: dtype | None = None) -> Tensor:
        """The mean of the elements that are not NaN."""
    @overload
    def nanmedian(self) -> Tensor:
        """The median, the lower one of two; equal elements share the gradient. NaN is left out."""
    @overload
    def nanmedian(self, dim: builtins.int, keepdim: builtins.bool = False) -> return_types.nanmedian: ...
    def nanquantile(self, q: Tensor | builtins.float, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, interpolation: str = 'linear') -> Tensor:
        """The quantiles `q`, from 0 (the least element) to 1 (the largest), along `dim` or of all elements that are not NaN. Counterpart of `torch.nanquantile`."""
    def nansum(self, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: dtype | None = None) -> Tensor:
        """The sum of the elements that are not NaN."""
    def narrow(self, dim: builtins.int, start: builtins.int | Tensor, length: builtins.int) -> Tensor:
        """`length` indices of dimension `dim` from `start` on: a view. Counterpart of `torch.narrow`."""
    def narrow_copy(self, dim: builtins.int, start: builtins.int, length: builtins.int) -> Tensor:
        """As `narrow`, with a storage of its own. Counterpart of `torch.narrow_copy`."""
    @property
    def nbytes(self) -> builtins.int:
        """How many bytes its elements take."""
    def ndimension(self) -> builtins.int:
        """The number of dimensions."""
    def ne(self, other: Tensor | complex) -> Tensor:
        """Whether the elements differ."""
    def ne_(self, other: Tensor | complex) -> Self:
        """In place: Whether the elements differ."""
    def neg(self) -> Tensor:
        """`-input`."""
    def neg_(self) -> Self:
        """In place: `-input`."""
    def negative(self) -> Tensor:
        """`-input`."""
    def negative_(self) -> Self:
        """In place: `-input`."""
    def nelement(self) -> builtins.int:
        """The number of elements."""
    def new(self, *arguments: Any, **named: Any) -> Tensor:
        """As the constructor of this tensor's type, `torch.FloatTensor(...)`. Counterpart of `torch.Tensor.new`."""
    @overload
    def new_empty(self, size: builtins.int | Sequence[builtins.int], *, dtype: dtype | None = None, device: Any = None, out: Tensor | None = None, layout: Any = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
        """As `empty`, with the dtype and device of this tensor. Counterpart of `torch.Tensor.new_empty`."""
    @overload
    def new_empty(self, *size: builtins.int, dtype: dtype | None = None, device: Any = None, out: Tensor | None = None, layout: Any = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor: ...
    def new_empty_strided(self, size: Sequence[builtins.int], stride: Sequence[builtins.int], *, dtype: dtype | None = None, device: Any = None, out: Tensor | None = None, layout: Any = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
        """As `empty_strided`, with the dtype and device of this tensor. Counterpart of `torch.Tensor.new_empty_strided`."""
    def new_full(self, size: Sequence[builtins.int], fill_value: complex | Tensor, *, dtype: dtype | None = None, device: Any = None, out: Tensor | None = None, layout: Any = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
        """As `full`, with the dtype and device of this tensor. Counterpart of `torch.Tensor.new_full`."""
    @overload
    def new_ones(self, size: builtins.int | Sequence[builtins.int], *, dtype: dtype | None = None, device: Any = None, out: Tensor | None = None, layout: Any = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
        """As `ones`, with the dtype and device of this tensor. Counterpart of `torch.Tensor.new_ones`."""
    @overload
    def new_ones(self, *size: builtins.int, dtype: dtype | None = None, device: Any = None, out: Tensor | None = None, layout: Any = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor: ...
    def new_tensor(self, data: Any, *, dtype: dtype | None = None, device: device | str | builtins.int | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
        """A leaf with a copy of `data`, with the dtype of this tensor. Counterpart of `torch.Tensor.new_tensor`."""
    @overload
    def new_zeros(self, size: builtins.int | Sequence[builtins.int], *, dtype: dtype | None = None, device: Any = None, out: Tensor | None = None, layout: Any = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
        """As `zeros`, with the dtype and device of this tensor. Counterpart of `torch.Tensor.new_zeros`."""
    @overload
    def new_zeros(self, *size: builtins.int, dtype: dtype | None = None, device: Any = None, out: Tensor | None = None, layout: Any = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor: ...
    def nextafter(self, other: Tensor) -> Tensor:
        """The next representable number after `input` in the direction of `other`."""
    def nextafter_(self, other: Tensor) -> Self:
        """In place: The next representable number after `input` in the direction of `other`."""
    def nonzero(self, *, as_tuple: builtins.bool = False, out: Tensor | None = None) -> Any:
        """Where the elements are that are not zero: a row of indices each, or a tensor per dimension. As in torch."""
    def nonzero_static(self, *, size: builtins.int, fill_value: builtins.int = -1) -> Tensor:
        """`size` rows of `nonzero`, too few being filled up with `fill_value`. Counterpart of `torch.nonzero_static`."""
    def norm(self, p: Any = 'fro', dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, dtype: dtype | None = None) -> Tensor:
        """The norm over `dim` (all dimensions by default): Euclidean, of order `p`, or "nuc", of singular values."""
    def normal_(self, mean: builtins.float = 0.0, std: builtins.float = 1.0, *, generator: Generator | None = None) -> Self:
        """Normal random numbers. In place. Counterpart of `torch.Tensor.normal_`."""
    def not_equal(self, other: Tensor | complex) -> Tensor:
        """Whether the elements differ."""
    def not_equal_(self, other: Tensor | complex) -> Self:
        """In place: Whether the elements differ."""
    def orgqr(self, input2: Tensor) -> Tensor:
        """The Q of QR, from the reflections that `geqrf` gives: the first columns of their product."""
    def ormqr(self, input2: Tensor, input3: Tensor, left: builtins.bool = True, transpose: builtins.bool = False) -> Tensor:
        """`other` times the product of the reflections that `geqrf` gives, from the left or the right; or its adjoint."""
    def outer(self, vec2: Tensor) -> Tensor:
        """Each element of one vector times each of another, as a matrix."""
    @property
    def output_nr(self) -> builtins.int:
        """Which result of its step this tensor is."""
    @overload
    def permute(self, dims: builtins.int | Sequence[builtins.int]) -> Tensor:
        """The dimensions in another order."""
    @overload
    def permute(self, *dims: builtins.int) -> Tensor: ...
    def pin_memory(self, device: Any = None) -> Tensor:
        """The tensor itself, for JAX moves memory; RuntimeError where there is only a CPU. As `torch.Tensor.pin_memory`."""
    def pinverse(self, rcond: Tensor | complex = 1e-15) -> Tensor:
        """torch's older `linalg.pinv`."""
    @property
    def placements(self) -> tuple[Placement, ...]:
        """The placements of a tensor over each dimension of its mesh."""
    def polygamma(self, n: builtins.int) -> Tensor:
        """The derivative of order `n` of `digamma`."""
    def polygamma_(self, n: builtins.int) -> Self:
        """In place: The derivative of order `n` of `digamma`."""
    def positive(self) -> Tensor:
        """The tensor itself; RuntimeError for booleans. Counterpart of `torch.positive`."""
    def pow(self, exponent: Tensor | complex) -> Tensor:
        """`input ** exponent`."""
    def pow_(self, exponent: Tensor | complex) -> Self:
        """In place: `input ** exponent`."""
    def prelu(self, weight: Tensor) -> Tensor:
        """`input` where it is positive, `weight * input` elsewhere: one weight, or one per channel (dimension 1)."""
    def prod(self, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, dtype: dtype | None = None) -> Tensor:
        """The product over `dim` (all dimensions by default); of integers an int64."""
    def put(self, index: Tensor, source: Tensor, accumulate: builtins.bool = False) -> Tensor:
        """`input` with the elements of `source` written, or added, at positions in the flattened tensor."""
    def put_(self, index: Tensor, source: Tensor, accumulate: builtins.bool = False) -> Self:
        """In place: `input` with the elements of `source` written, or added, at positions in the flattened tensor."""
    def qr(self, some: builtins.bool = True) -> return_types.qr:
        """torch's older `linalg.qr`."""
    def quantile(self, q: Tensor | builtins.float, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, interpolation: str = 'linear') -> Tensor:
        """The quantiles `q`, from 0 (the least element) to 1 (the largest), along `dim` or of all elements. Counterpart of `torch.quantile`."""
    def rad2deg(self) -> Tensor:
        """Radians as degrees."""
    def rad2deg_(self) -> Self:
        """In place: Radians as degrees."""
    def random_(self, *bounds: builtins.int, generator: Generator | None = None, **named: Any) -> Self:
        """Integers from `from` on, below `to`; without them all that the dtype tells apart. In place. Counterpart of `torch.Tensor.random_`."""
    def ravel(self) -> Tensor:
        """The elements in one dimension: a view where torch has one."""
    @property
    def real(self) -> Tensor:
        """The real part: a view of a complex tensor, a real tensor itself. Counterpart of `torch.real`."""
    def reciprocal(self) -> Tensor:
        """`1 / input`."""
    def reciprocal_(self) -> Self:
        """In place: `1 / input`."""
    def redistribute(self, device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None, **_: Any) -> Tensor:
        """The same value laid out otherwise, through which gradients flow."""
    def relu(self) -> Tensor:
        """The positive part; its derivative is 0 at 0, and 1 at NaN."""
    def relu_(self) -> Self:
        """In place: The positive part; its derivative is 0 at 0, and 1 at NaN."""
    def remainder(self, other: Tensor | complex) -> Tensor:
        """What is left of a division rounded down; it has the sign of `other`."""
    def remainder_(self, other: Tensor | complex) -> Self:
        """In place: What is left of a division rounded down; it has the sign of `other`."""
    def renorm(self, p: builtins.float, dim: builtins.int, maxnorm: builtins.float) -> Tensor:
        """The slices along `dim`, those with a norm above `maxnorm` scaled down to it."""
    def renorm_(self, p: builtins.float, dim: builtins.int, maxnorm: builtins.float) -> Self:
        """In place: The slices along `dim`, those with a norm above `maxnorm` scaled down to it."""
    @overload
    def repeat(self, repeats: builtins.int | Sequence[builtins.int]) -> Tensor:
        """The whole tensor `repeats` times along each dimension; more repeats than dimensions add dimensions in front."""
    @overload
    def repeat(self, *repeats: builtins.int) -> Tensor: ...
    @overload
    def repeat_interleave(self, repeats: Tensor | builtins.int, dim: builtins.int | None = None, *, output_size: builtins.int | None = None) -> Tensor:
        """Each element `repeats` times, next to one another along `dim`; flat without it. As `torch.repeat_interleave`."""
    @overload
    def repeat_interleave(self, *, output_size: builtins.int | None = None) -> Tensor: ...
    def reshape_as(self, other: Tensor) -> Tensor:
        """The same elements in the shape of another tensor."""
    def resize(self, *sizes: Any) -> Tensor:
        """As `view`, with a warning that it is deprecated."""
    @overload
    def resize_(self, size: builtins.int | Sequence[builtins.int], *, memory_format: memory_format | None = None) -> Self:
        """In place: another shape, of more or fewer elements too. As `torch.Tensor.resize_`."""
    @overload
    def resize_(self, *size: builtins.int, memory_format: memory_format | None = None) -> Self: ...
    def resize_as(self, tensor: Tensor) -> Tensor:
        """As `view_as`, with a warning that it is deprecated."""
    def resize_as_(self, the_template: Tensor, *, memory_format: memory_format | None = None) -> Self:
        """In place: the shape of another tensor, as `resize_`. Counterpart of `torch.Tensor.resize_as_`."""
    def resolve_conj(self) -> Tensor:
        """The tensor, or a copy of one that is a conjugated view."""
    def resolve_neg(self) -> Tensor:
        """The tensor, or a copy of one that is a negated view."""
    def roll(self, shifts: builtins.int | Sequence[builtins.int], dims: builtins.int | Sequence[builtins.int] | None = ()) -> Tensor:
        """The elements moved by `shifts` along `dims`, from the end round to the front; without `dims`, of the flattened tensor."""
    def rot90(self, k: builtins.int = 1, dims: builtins.int | Sequence[builtins.int] = (0, 1)) -> Tensor:
        """`k` quarter turns in the plane of two dimensions, from the first towards the second."""
    @overload
    def round(self) -> Tensor:
        """The nearest integer, of two equally near the even one."""
    @overload
    def round(self, *, decimals: builtins.int) -> Tensor: ...
    @overload
    def round_(self) -> Self:
        """In place: The nearest integer, of two equally near the even one."""
    @overload
    def round_(self, *, decimals: builtins.int) -> Self: ...
    def rsqrt(self) -> Tensor:
        """`1 / sqrt(input)`."""
    def rsqrt_(self) -> Self:
        """In place: `1 / sqrt(input)`."""
    @overload
    def scatter(self, dim: builtins.int, index: Tensor, src: Tensor, *, reduce: str | None = None) -> Tensor:
        """`input` with each element of `src` written along `dim` at the position that `index` has in its place."""
    @overload
    def scatter(self, dim: builtins.int, index: Tensor, value: complex, *, reduce: str | None = None) -> Tensor: ...
    @overload
    def scatter_(self, dim: builtins.int, index: Tensor, src: Tensor, *, reduce: str | None = None) -> Self:
        """In place: `input` with each element of `src` written along `dim` at the position that `index` has in its place."""
    @overload
    def scatter_(self, dim: builtins.int, index: Tensor, value: complex, *, reduce: str | None = None) -> Self: ...
    def scatter_add(self, dim: builtins.int, index: Tensor, src: Tensor) -> Tensor:
        """`input` with each element of `src` added along `dim` at the position that `index` has in its place."""
    def scatter_add_(self, dim: builtins.int, index: Tensor, src: Tensor) -> Self:
        """In place: `input` with each element of `src` added along `dim` at the position that `index` has in its place."""
    def scatter_reduce(self, dim: builtins.int, index: Tensor, src: Tensor, reduce: str, *, include_self: builtins.bool = True) -> Tensor:
        """The elements of `src` that go to one position along `dim` reduced, with `input`'s unless `include_self=False`."""
    def scatter_reduce_(self, dim: builtins.int, index: Tensor, src: Tensor, reduce: str, *, include_self: builtins.bool = True) -> Self:
        """In place: The elements of `src` that go to one position along `dim` reduced, with `input`'s unless `include_self=False`."""
    def select(self, dim: builtins.int, index: builtins.int) -> Tensor:
        """One index of dimension `dim`, which goes away: a view. Counterpart of `torch.select`."""
    def select_scatter(self, src: Tensor, dim: builtins.int, index: builtins.int) -> Tensor:
        """`input` with one index of one dimension replaced by `src`."""
    def set_(self, source: Tensor | Memory | None = None, storage_offset: builtins.int = 0, size: Sequence[builtins.int] | None = None, stride: Sequence[builtins.int] | None = None) -> Self:
        """In place: shows another tensor's part of a storage, or the part named. Counterpart of `torch.Tensor.set_`."""
    def sgn(self) -> Tensor:
        """`input / abs(input)`, and 0 at 0."""
    def sgn_(self) -> Self:
        """In place: `input / abs(input)`, and 0 at 0."""
    def short(self, memory_format: Any = None) -> Tensor:
        """The tensor as torch.int16; itself where it is one. Counterpart of `torch.Tensor.short`."""
    def sigmoid(self) -> Tensor:
        """`1 / (1 + exp(-input))`."""
    def sigmoid_(self) -> Self:
        """In place: `1 / (1 + exp(-input))`."""
    def sign(self) -> Tensor:
        """-1, 0 or 1."""
    def sign_(self) -> Self:
        """In place: -1, 0 or 1."""
    def signbit(self) -> Tensor:
        """Whether its sign is minus, be it that of a zero."""
    def sin(self) -> Tensor:
        """The sine of an angle in radians."""
    def sin_(self) -> Self:
        """In place: The sine of an angle in radians."""
    def sinc(self) -> Tensor:
        """`sin(πx) / (πx)`, and 1 at 0."""
    def sinc_(self) -> Self:
        """In place: `sin(πx) / (πx)`, and 1 at 0."""
    def sinh(self) -> Tensor:
        """The hyperbolic sine."""
    def sinh_(self) -> Self:
        """In place: The hyperbolic sine."""
    def slice_scatter(self, src: Tensor, dim: builtins.int = 0, start: builtins.int | None = None, end: builtins.int | None = None, step: builtins.int = 1) -> Tensor:
        """`input` with a slice of one dimension replaced by `src`."""
    def slogdet(self) -> return_types.slogdet:
        """The sign of the determinant, of a complex one its phase, and the logarithm of its magnitude."""
    def softmax(self, dim: builtins.int, dtype: dtype | None = None) -> Tensor:
        """`exp(input)`, scaled to a sum of 1 over `dim`."""
    def solve(self, **named: Any) -> Tensor:
        """RuntimeError: torch has taken it away."""
    def sort(self, dim: builtins.int = -1, descending: builtins.bool = False, *, stable: builtins.bool | None = False) -> return_types.sort:
        """The elements along `dim` in order, and where they were; equal ones keep their order."""
    def sparse_dim(self) -> builtins.int:
        """None of its dimensions is."""
    def sparse_mask(self, mask: Tensor) -> Tensor:
        """The entries at the places of `mask`, which is sparse."""
    def split(self, split_size: builtins.int | Sequence[builtins.int], dim: builtins.int = 0) -> tuple[Tensor, ...]:
        """Pieces of `split_size` indices, or of the sizes listed, along `dim`: views. As `torch.Tensor.split`."""
    def split_with_sizes(self, split_sizes: Sequence[builtins.int], dim: builtins.int = 0) -> tuple[Tensor, ...]:
        """Pieces of the sizes listed along `dim`: views. Counterpart of `torch.split_with_sizes`."""
    def sqrt(self) -> Tensor:
        """The square root."""
    def sqrt_(self) -> Self:
        """In place: The square root."""
    def square(self) -> Tensor:
        """`input ** 2`."""
    def square_(self) -> Self:
        """In place: `input ** 2`."""
    @overload
    def squeeze(self, dim: builtins.int | Sequence[builtins.int] | None = None) -> Tensor:
        """Without the dimensions of size 1, or without those among `dim` that are."""
    @overload
    def squeeze(self, *dim: builtins.int) -> Tensor: ...
    @overload
    def squeeze_(self) -> Self:
        """In place: without dimensions of size 1. Counterpart of `torch.Tensor.squeeze_`."""
    @overload
    def squeeze_(self, dim: builtins.int | Sequence[builtins.int]) -> Self: ...
    @overload
    def squeeze_(self, *dim: builtins.int) -> Self: ...
    @overload
    def std(self, dim: builtins.int | Sequence[builtins.int] | None = None, *, correction: builtins.float | None = None, keepdim: builtins.bool = False) -> Tensor:
        """The deviation over `dim`."""
    @overload
    def std(self, unbiased: builtins.bool) -> Tensor: ...
    @overload
    def std(self, dim: builtins.int | Sequence[builtins.int] | None, unbiased: builtins.bool = True, keepdim: builtins.bool = False) -> Tensor: ...
    def stft(self, n_fft: builtins.int, hop_length: builtins.int | None = None, win_length: builtins.int | None = None, window: Tensor | None = None, center: builtins.bool = True, pad_mode: str = 'reflect', normalized: builtins.bool = False, onesided: builtins.bool | None = None, return_complex: builtins.bool | None = None, align_to_window: builtins.bool | None = None) -> Tensor:
        """The spectra of the frames of a signal (*, length), each `n_fft` long: (*, frequencies, frames)."""
    def storage_type(self) -> storagetype:
        """The old type of its storage, such as `torch.FloatStorage`."""
    @overload
    def sub(self, other: Tensor | complex) -> Tensor:
        """`input - other`."""
    @overload
    def sub(self, other: Tensor | complex, *, alpha: complex = 1) -> Tensor: ...
    @overload
    def sub_(self, other: Tensor | complex) -> Self:
        """In place: `input - other`."""
    @overload
    def sub_(self, other: Tensor | complex, *, alpha: complex = 1) -> Self: ...
    @overload
    def subtract(self, other: Tensor | complex) -> Tensor:
        """`input - other`."""
    @overload
    def subtract(self, other: Tensor | complex, *, alpha: complex = 1) -> Tensor: ...
    @overload
    def subtract_(self, other: Tensor | complex) -> Self:
        """In place: `input - other`."""
    @overload
    def subtract_(self, other: Tensor | complex, *, alpha: complex = 1) -> Self: ...
    def sum(self, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: dtype | None = None) -> Tensor:
        """The sum over `dim` (all dimensions by default); of integers an int64."""
    @overload
    def sum_to_size(self, size: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Summed over what expanding `size` to the shape would repeat. Counterpart of `torch.Tensor.sum_to_size`."""
    @overload
    def sum_to_size(self, *size: builtins.int) -> Tensor: ...
    def svd(self, some: builtins.bool = True, compute_uv: builtins.bool = True) -> return_types.svd:
        """torch's older `linalg.svd`, with V for its adjoint; without `compute_uv` U and V are zeros."""
    def swapaxes(self, axis0: builtins.int, axis1: builtins.int) -> Tensor:
        """Two dimensions exchanged: a view."""
    def swapaxes_(self, axis0: builtins.int, axis1: builtins.int) -> Self:
        """In place: two dimensions exchanged."""
    def swapdims(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """Two dimensions exchanged."""
    def swapdims_(self, dim0: builtins.int, dim1: builtins.int) -> Self:
        """In place: two dimensions exchanged. Counterpart of `torch.Tensor.transpose_`."""
    def symeig(self, **named: Any) -> Tensor:
        """RuntimeError: torch has taken it away."""
    def t(self) -> Tensor:
        """The transpose of a matrix; a vector unchanged."""
    def t_(self) -> Tensor:
        """In place: a matrix turned over; RuntimeError for more dimensions."""
    def take(self, index: Tensor) -> Tensor:
        """The elements at positions in the flattened tensor, in the shape of `index`."""
    def take_along_dim(self, indices: Tensor, dim: builtins.int | None = None) -> Tensor:
        """As `gather`, with shapes that broadcast in all dimensions but `dim`; without `dim`, of the flattened tensor."""
    def tan(self) -> Tensor:
        """The tangent of an angle in radians."""
    def tan_(self) -> Self:
        """In place: The tangent of an angle in radians."""
    def tanh(self) -> Tensor:
        """The hyperbolic tangent."""
    def tanh_(self) -> Self:
        """In place: The hyperbolic tangent."""
    def tensor_split(self, indices_or_sections: Tensor | builtins.int | Sequence[builtins.int], dim: builtins.int = 0) -> tuple[Tensor, ...]:
        """Pieces of `dim` between the given indices, or a number of nearly equal ones. Counterpart of `torch.tensor_split`."""
    @overload
    def tile(self, dims: builtins.int | Sequence[builtins.int]) -> Tensor:
        """The whole tensor `dims` times along each dimension; missing leading numbers are 1."""
    @overload
    def tile(self, *dims: builtins.int) -> Tensor: ...
    @overload
    def to(self, dtype: dtype, non_blocking: builtins.bool = False, copy: builtins.bool = False) -> Tensor:
        """The tensor in another dtype or on another device, through which gradients flow; itself where it is so already."""
    @overload
    def to(self, device: device | str | builtins.int | None = None, dtype: dtype | None = None, non_blocking: builtins.bool = False, copy: builtins.bool = False, *, memory_format: Any = None) -> Tensor: ...
    @overload
    def to(self, tensor: Tensor, non_blocking: builtins.bool = False, copy: builtins.bool = False) -> Tensor: ...
    def to_dense(self, dtype: dtype | None = None, *, masked_grad: builtins.bool | None = None) -> Tensor:
        """The tensor, in `dtype` if there is one: it is dense. Counterpart of `torch.Tensor.to_dense`."""
    def to_local(self, *, grad_placements: Any = None) -> Tensor:
        """This process' part, on no mesh and without a gradient: with one process, the whole value."""
    def to_sparse(self, sparse_dim: builtins.int | None = None, *, layout: Any = None, blocksize: Any = None, dense_dim: builtins.int | None = None) -> Tensor:
        """The entries that are not zero, as a sparse tensor."""
    def to_sparse_csr(self, dense_dim: builtins.int | None = None) -> Tensor:
        """The entries that are not zero, by rows."""
    def to_torch(self, *, copy: builtins.bool = False) -> Any:
        """The value as a torch tensor, as a leaf; `requires_grad` and, as a value, `.grad` cross with it."""
    def topk(self, k: builtins.int, dim: builtins.int = -1, largest: builtins.bool = True, sorted: builtins.bool = True) -> return_types.topk:
        """The `k` largest (or smallest) elements along `dim` in order, and where they were."""
    def trace(self) -> Tensor:
        """The sum of a matrix's diagonal; of integers an int64."""
    def transpose(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """Two dimensions exchanged."""
    def transpose_(self, dim0: builtins.int, dim1: builtins.int) -> Self:
        """In place: two dimensions exchanged. Counterpart of `torch.Tensor.transpose_`."""
    def triangular_solve(self, A: Tensor, upper: builtins.bool = True, transpose: builtins.bool = False, unitriangular: builtins.bool = False) -> return_types.triangular_solve:
        """torch's older `linalg.solve_triangular`, and A beside the solution."""
    def tril(self, diagonal: builtins.int = 0) -> Tensor:
        """The lower triangle of each matrix, up to a diagonal; zeros above it."""
    def tril_(self, diagonal: builtins.int = 0) -> Self:
        """In place: The lower triangle of each matrix, up to a diagonal; zeros above it."""
    def triu(self, diagonal: builtins.int = 0) -> Tensor:
        """The upper triangle of each matrix, from a diagonal on; zeros below it."""
    def triu_(self, diagonal: builtins.int = 0) -> Self:
        """In place: The upper triangle of each matrix, from a diagonal on; zeros below it."""
    def true_divide(self, other: Tensor | complex) -> Tensor:
        """`input / other`; of integers, too, the result is floating."""
    def true_divide_(self, other: Tensor | complex) -> Self:
        """In place: `input / other`; of integers, too, the result is floating."""
    def trunc(self) -> Tensor:
        """The integer part."""
    def trunc_(self) -> Self:
        """In place: The integer part."""
    def type(self, dtype: Any = None, non_blocking: builtins.bool = False) -> Any:
        """The name of its old tensor type, or the tensor in another dtype; counterpart of `torch.Tensor.type`."""
    def type_as(self, other: Tensor) -> Tensor:
        """The tensor in the dtype and on the device of another."""
    def unbind(self, dim: builtins.int = 0) -> tuple[Tensor, ...]:
        """Every index of dimension `dim`, as views. Counterpart of `torch.unbind`."""
    def unflatten(self, dim: builtins.int, sizes: Sequence[builtins.int]) -> Tensor:
        """One dimension made several, of the given sizes, one of which may be -1: a view. As `torch.unflatten`."""
    def unfold(self, dimension: builtins.int, size: builtins.int, step: builtins.int) -> Tensor:
        """Windows of `size` indices of one dimension, `step` apart; the elements of a window are a new last dimension."""
    def uniform_(self, *bounds: builtins.float, generator: Generator | None = None, **named: builtins.float) -> Self:
        """Uniform random numbers from `from` on, below `to`. In place. Counterpart of `torch.Tensor.uniform_`."""
    def unique(self, sorted: builtins.bool = True, return_inverse: builtins.bool = False, return_counts: builtins.bool = False, dim: builtins.int | None = None) -> Any:
        """The different elements in order, or the different slices along `dim`. Counterpart of `torch.unique`."""
    def unique_consecutive(self, return_inverse: builtins.bool = False, return_counts: builtins.bool = False, dim: builtins.int | None = None) -> Any:
        """The elements, or slices along `dim`, without those equal to the one before. As `torch.unique_consecutive`."""
    def unsafe_chunk(self, chunks: builtins.int, dim: builtins.int = 0) -> tuple[Tensor, ...]:
        """As `chunk`, each another tensor on the same memory, and no view: a write is seen by all, and recorded for one. Counterpart of `torch.unsafe_chunk`."""
    def unsafe_split(self, split_size: builtins.int | Sequence[builtins.int], dim: builtins.int = 0) -> tuple[Tensor, ...]:
        """As `split`, each another tensor on the same memory, and no view: a write is seen by all, and recorded for one. Counterpart of `torch.unsafe_split`."""
    def unsafe_split_with_sizes(self, split_sizes: Sequence[builtins.int], dim: builtins.int = 0) -> tuple[Tensor, ...]:
        """As `split_with_sizes`, each another tensor on the same memory, and no view: a write is seen by all, and recorded for one. Counterpart of `torch.unsafe_split_with_sizes`."""
    def unsqueeze(self, dim: builtins.int) -> Tensor:
        """The tensor with a new dimension of size 1 at `dim`."""
    def unsqueeze_(self, dim: builtins.int) -> Self:
        """In place: a dimension of size 1 more."""
    def untyped_storage(self) -> UntypedStorage:
        """The memory that the tensor shares with its views."""
    def values(self) -> Tensor:
        """RuntimeError: it is not sparse."""
    @overload
    def var(self, dim: builtins.int | Sequence[builtins.int] | None = None, *, correction: builtins.float | None = None, keepdim: builtins.bool = False) -> Tensor:
        """The variance over `dim`."""
    @overload
    def var(self, unbiased: builtins.bool) -> Tensor: ...
    @overload
    def var(self, dim: builtins.int | Sequence[builtins.int] | None, unbiased: builtins.bool = True, keepdim: builtins.bool = False) -> Tensor: ...
    def vdot(self, other: Tensor) -> Tensor:
        """The inner product of two vectors, the first of them conjugated."""
    @overload
    def view(self, size: builtins.int | Sequence[builtins.int]) -> Tensor:
        """The same elements, in order, in another shape; one size may be -1. Never a copy."""
    @overload
    def view(self, *size: builtins.int) -> Tensor: ...
    @overload
    def view(self, dtype: dtype) -> Tensor: ...
    def view_as(self, other: Tensor) -> Tensor:
        """A view in the shape of another tensor."""
    @property
    def volatile(self) -> builtins.bool:
        """False, with a warning: what torch once had in place of `no_grad`."""
    def vsplit(self, *indices_or_sections: Any) -> tuple[Tensor, ...]:
        """`tensor_split` along a fixed dimension, into equal pieces. Counterpart of `torch.vsplit`."""
    def where(self, condition: Tensor, other: Tensor | complex) -> Tensor:
        """`input` where `condition` is true, `other` elsewhere."""
    def xlogy(self, other: Tensor | complex) -> Tensor:
        """`input * log(other)`, 0 where `input` is."""
    def xlogy_(self, other: Tensor | complex) -> Self:
        """In place: `input * log(other)`, 0 where `input` is."""
    def zero_(self) -> Self:
        """In place: Zeros in place of `input`."""
