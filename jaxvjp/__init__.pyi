# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from collections.abc import Callable
from collections.abc import Sequence
from jaxvjp import accelerator as accelerator
from jaxvjp import amp as amp
from jaxvjp import autograd as autograd
from jaxvjp import backends as backends
from jaxvjp import cpu as cpu
from jaxvjp import cuda as cuda
from jaxvjp import distributed as distributed
from jaxvjp import distributions as distributions
from jaxvjp import explain as explain
from jaxvjp import fft as fft
from jaxvjp import func as func
from jaxvjp import linalg as linalg
from jaxvjp import masked as masked
from jaxvjp import mps as mps
from jaxvjp import multiprocessing as multiprocessing
from jaxvjp import nn as nn
from jaxvjp import optim as optim
from jaxvjp import overrides as overrides
from jaxvjp import profiler as profiler
from jaxvjp import quasirandom as quasirandom
from jaxvjp import random as random
from jaxvjp import return_types as return_types
from jaxvjp import serialization as serialization
from jaxvjp import signal as signal
from jaxvjp import sparse as sparse
from jaxvjp import special as special
from jaxvjp import testing as testing
from jaxvjp import utils as utils
from jaxvjp import version as version
from jaxvjp.amp import GradScaler as GradScaler
from jaxvjp.amp import autocast as autocast
from jaxvjp.amp.autocast_mode import clear_autocast_cache as clear_autocast_cache
from jaxvjp.amp.autocast_mode import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from jaxvjp.amp.autocast_mode import get_autocast_dtype as get_autocast_dtype
from jaxvjp.amp.autocast_mode import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from jaxvjp.amp.autocast_mode import is_autocast_cache_enabled as is_autocast_cache_enabled
from jaxvjp.amp.autocast_mode import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from jaxvjp.amp.autocast_mode import is_autocast_enabled as is_autocast_enabled
from jaxvjp.amp.autocast_mode import set_autocast_cache_enabled as set_autocast_cache_enabled
from jaxvjp.autograd import enable_grad as enable_grad
from jaxvjp.autograd import inference_mode as inference_mode
from jaxvjp.autograd import no_grad as no_grad
from jaxvjp.autograd import set_grad_enabled as set_grad_enabled
from jaxvjp.autograd.modes import is_anomaly_enabled as is_anomaly_enabled
from jaxvjp.autograd.modes import is_grad_enabled as is_grad_enabled
from jaxvjp.autograd.modes import is_inference_mode_enabled as is_inference_mode_enabled
from jaxvjp.core.run.choosing import set_choosing as set_choosing
from jaxvjp.core.run.compilation import counters as counters
from jaxvjp.core.run.history import explain_program as explain_program
from jaxvjp.core.run.history import recompiles as recompiles
from jaxvjp.core.run.tiers import set_compiling as set_compiling
from jaxvjp.func import vmap as vmap
from jaxvjp.library.crossing import from_dlpack as from_dlpack
from jaxvjp.library.crossing import from_jax as from_jax
from jaxvjp.library.crossing import from_torch as from_torch
from jaxvjp.library.generator import Generator as Generator
from jaxvjp.library.generator import initial_seed as initial_seed
from jaxvjp.library.generator import manual_seed as manual_seed
from jaxvjp.library.properties import finfo as finfo
from jaxvjp.library.properties import iinfo as iinfo
from jaxvjp.library.sparse_tensors import sparse_coo_tensor as sparse_coo_tensor
from jaxvjp.library.sparse_tensors import sparse_csr_tensor as sparse_csr_tensor
from jaxvjp.library.storages import TypedStorage as TypedStorage
from jaxvjp.library.storages import UntypedStorage as UntypedStorage
from jaxvjp.ops.layouts import channels_last as channels_last
from jaxvjp.ops.layouts import channels_last_3d as channels_last_3d
from jaxvjp.ops.layouts import contiguous_format as contiguous_format
from jaxvjp.ops.layouts import layout as layout
from jaxvjp.ops.layouts import memory_format as memory_format
from jaxvjp.ops.layouts import preserve_format as preserve_format
from jaxvjp.ops.layouts import strided as strided
from jaxvjp.pure import as_function as as_function
from jaxvjp.pure import cond as cond
from jaxvjp.pure import functional as functional
from jaxvjp.pure import pullback as pullback
from jaxvjp.pure import scan as scan
from jaxvjp.pure import while_loop as while_loop
from jaxvjp.pure import wrap as wrap
from jaxvjp.serialization import load as load
from jaxvjp.serialization import save as save
from jaxvjp.staging import UnstageableError as UnstageableError
from jaxvjp.staging import compile as compile
from jaxvjp.staging import jit as jit
from jaxvjp.tensor.overriding import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from jaxvjp.tensor.printing import set_printoptions as set_printoptions
from jaxvjp.tensor.tensor import Tensor as Tensor
from jaxvjp.tools.comparison import compare as compare
from jaxvjp.tools.scripts import as_torch as as_torch
from jaxvjp.types.devices import device as device
from jaxvjp.types.devices import get_default_device as get_default_device
from jaxvjp.types.devices import set_default_device as set_default_device
from jaxvjp.types.dtypes import dtype as dtype
from jaxvjp.types.dtypes import get_default_dtype as get_default_dtype
from jaxvjp.types.dtypes import promote_types as promote_types
from jaxvjp.types.dtypes import set_default_dtype as set_default_dtype
from jaxvjp.types.size import Size as Size
from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
import builtins

def BFloat16Storage(*arguments: Any, wrap_storage: Any = None, **named: Any) -> TypedStorage:
    """torch's old constructor of storages of dtype torch.bfloat16: `BFloat16Storage([1, 2])` of data, `BFloat16Storage(2)` of a size."""
def BFloat16Tensor(*arguments: Any, **named: Any) -> Tensor:
    """torch's old constructor of tensors of dtype torch.bfloat16: `BFloat16Tensor([1, 2])` of data, `BFloat16Tensor(2, 3)` of sizes."""
def BoolStorage(*arguments: Any, wrap_storage: Any = None, **named: Any) -> TypedStorage:
    """torch's old constructor of storages of dtype torch.bool: `BoolStorage([1, 2])` of data, `BoolStorage(2)` of a size."""
def BoolTensor(*arguments: Any, **named: Any) -> Tensor:
    """torch's old constructor of tensors of dtype torch.bool: `BoolTensor([1, 2])` of data, `BoolTensor(2, 3)` of sizes."""
def ByteStorage(*arguments: Any, wrap_storage: Any = None, **named: Any) -> TypedStorage:
    """torch's old constructor of storages of dtype torch.uint8: `ByteStorage([1, 2])` of data, `ByteStorage(2)` of a size."""
def ByteTensor(*arguments: Any, **named: Any) -> Tensor:
    """torch's old constructor of tensors of dtype torch.uint8: `ByteTensor([1, 2])` of data, `ByteTensor(2, 3)` of sizes."""
def CharStorage(*arguments: Any, wrap_storage: Any = None, **named: Any) -> TypedStorage:
    """torch's old constructor of storages of dtype torch.int8: `CharStorage([1, 2])` of data, `CharStorage(2)` of a size."""
def CharTensor(*arguments: Any, **named: Any) -> Tensor:
    """torch's old constructor of tensors of dtype torch.int8: `CharTensor([1, 2])` of data, `CharTensor(2, 3)` of sizes."""
def ComplexDoubleStorage(*arguments: Any, wrap_storage: Any = None, **named: Any) -> TypedStorage:
    """torch's old constructor of storages of dtype torch.complex128: `ComplexDoubleStorage([1, 2])` of data, `ComplexDoubleStorage(2)` of a size."""
def ComplexFloatStorage(*arguments: Any, wrap_storage: Any = None, **named: Any) -> TypedStorage:
    """torch's old constructor of storages of dtype torch.complex64: `ComplexFloatStorage([1, 2])` of data, `ComplexFloatStorage(2)` of a size."""
def DoubleStorage(*arguments: Any, wrap_storage: Any = None, **named: Any) -> TypedStorage:
    """torch's old constructor of storages of dtype torch.float64: `DoubleStorage([1, 2])` of data, `DoubleStorage(2)` of a size."""
def DoubleTensor(*arguments: Any, **named: Any) -> Tensor:
    """torch's old constructor of tensors of dtype torch.float64: `DoubleTensor([1, 2])` of data, `DoubleTensor(2, 3)` of sizes."""
def FloatStorage(*arguments: Any, wrap_storage: Any = None, **named: Any) -> TypedStorage:
    """torch's old constructor of storages of dtype torch.float32: `FloatStorage([1, 2])` of data, `FloatStorage(2)` of a size."""
def FloatTensor(*arguments: Any, **named: Any) -> Tensor:
    """torch's old constructor of tensors of dtype torch.float32: `FloatTensor([1, 2])` of data, `FloatTensor(2, 3)` of sizes."""
def HalfStorage(*arguments: Any, wrap_storage: Any = None, **named: Any) -> TypedStorage:
    """torch's old constructor of storages of dtype torch.float16: `HalfStorage([1, 2])` of data, `HalfStorage(2)` of a size."""
def HalfTensor(*arguments: Any, **named: Any) -> Tensor:
    """torch's old constructor of tensors of dtype torch.float16: `HalfTensor([1, 2])` of data, `HalfTensor(2, 3)` of sizes."""
def IntStorage(*arguments: Any, wrap_storage: Any = None, **named: Any) -> TypedStorage:
    """torch's old constructor of storages of dtype torch.int32: `IntStorage([1, 2])` of data, `IntStorage(2)` of a size."""
def IntTensor(*arguments: Any, **named: Any) -> Tensor:
    """torch's old constructor of tensors of dtype torch.int32: `IntTensor([1, 2])` of data, `IntTensor(2, 3)` of sizes."""
def LongStorage(*arguments: Any, wrap_storage: Any = None, **named: Any) -> TypedStorage:
    """torch's old constructor of storages of dtype torch.int64: `LongStorage([1, 2])` of data, `LongStorage(2)` of a size."""
def LongTensor(*arguments: Any, **named: Any) -> Tensor:
    """torch's old constructor of tensors of dtype torch.int64: `LongTensor([1, 2])` of data, `LongTensor(2, 3)` of sizes."""
def ShortStorage(*arguments: Any, wrap_storage: Any = None, **named: Any) -> TypedStorage:
    """torch's old constructor of storages of dtype torch.int16: `ShortStorage([1, 2])` of data, `ShortStorage(2)` of a size."""
def ShortTensor(*arguments: Any, **named: Any) -> Tensor:
    """torch's old constructor of tensors of dtype torch.int16: `ShortTensor([1, 2])` of data, `ShortTensor(2, 3)` of sizes."""
def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The magnitude; its derivative at 0 is 0."""
def abs_(input: Tensor) -> Tensor:
    """In place: The magnitude; its derivative at 0 is 0."""
def absolute(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The magnitude; its derivative at 0 is 0."""
def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle in radians whose cosine is `input`."""
def acos_(input: Tensor) -> Tensor:
    """In place: The angle in radians whose cosine is `input`."""
def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose hyperbolic cosine is `input`."""
def acosh_(input: Tensor) -> Tensor:
    """In place: The number whose hyperbolic cosine is `input`."""
def adaptive_avg_pool1d(input: Tensor, output_size: builtins.int | None | Sequence[builtins.int | None]) -> Tensor:
    """The mean of each of `output_size` windows that share 1 spatial dimension out evenly."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: builtins.int | None | Sequence[builtins.int | None], return_indices: Literal[False] = False) -> Tensor:
    """The largest entry of each of `output_size` windows that share 1 spatial dimension out evenly."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: builtins.int | None | Sequence[builtins.int | None], *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def add(input: Tensor | builtins.complex, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """`input + other`."""
@overload
def add(input: Tensor | builtins.complex, other: Tensor | builtins.complex, *, alpha: builtins.complex = 1, out: Tensor | None = None) -> Tensor: ...
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: builtins.complex = 1, alpha: builtins.complex = 1, out: Tensor | None = None) -> Tensor:
    """`beta * input + alpha * bmm(batch1, batch2).sum(0)`."""
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: builtins.complex = 1, out: Tensor | None = None) -> Tensor:
    """`input + value * tensor1 / tensor2`."""
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: builtins.complex = 1, out: Tensor | None = None) -> Tensor:
    """`input + value * tensor1 * tensor2`."""
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: builtins.complex = 1, alpha: builtins.complex = 1, out: Tensor | None = None) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)` of two matrices."""
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: builtins.complex = 1, alpha: builtins.complex = 1, out: Tensor | None = None) -> Tensor:
    """`beta * input + alpha * (mat @ vec)`."""
def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: builtins.complex = 1, alpha: builtins.complex = 1) -> Tensor:
    """In place: `beta * input + alpha * (mat @ vec)`."""
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: builtins.complex = 1, alpha: builtins.complex = 1, out: Tensor | None = None) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`."""
def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions exchanged, and of complex numbers the conjugates."""
def affine_grid_generator(theta: Tensor, size: Sequence[builtins.int], align_corners: builtins.bool) -> Tensor:
    """`affine_grid`. Counterpart of `torch.affine_grid_generator`."""
def alias_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The whole tensor: `x[...]`."""
def all(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether all elements are true."""
def allclose(input: Tensor, other: Tensor, rtol: builtins.float = 1e-05, atol: builtins.float = 1e-08, equal_nan: builtins.bool = False) -> builtins.bool:
    """Whether all elements are close, as `isclose` says; counterpart of `torch.allclose`."""
def alpha_dropout(input: Tensor, p: builtins.float, train: builtins.bool) -> Tensor:
    """`nn.functional.alpha_dropout` without defaults. Counterpart of `torch.alpha_dropout`."""
def alpha_dropout_(input: Tensor, p: builtins.float, train: builtins.bool) -> Tensor:
    """`nn.functional.alpha_dropout` without defaults, in place. Counterpart of `torch.alpha_dropout_`."""
def amax(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = (), keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """The largest elements over `dim`; elements that are equally so share the gradient."""
def amin(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = (), keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """The smallest elements over `dim`; elements that are equally so share the gradient."""
def aminmax(input: Tensor, *, dim: builtins.int | None = None, keepdim: builtins.bool = False, out: tuple[Tensor, ...] | None = None) -> return_types.aminmax:
    """The smallest and the largest element, over `dim` or all."""
def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of a complex number in radians; π for negative numbers."""
def any(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether one of the elements is true."""
@overload
def arange(end: builtins.complex | Tensor, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | builtins.int | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """The numbers from `start` (0) on, below `end`, by `step` (1); integers where all three are."""
@overload
def arange(start: builtins.complex | Tensor, end: builtins.complex | Tensor, step: builtins.complex | Tensor = 1, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | builtins.int | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor: ...
def arccos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle in radians whose cosine is `input`."""
def arccos_(input: Tensor) -> Tensor:
    """In place: The angle in radians whose cosine is `input`."""
def arccosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose hyperbolic cosine is `input`."""
def arccosh_(input: Tensor) -> Tensor:
    """In place: The number whose hyperbolic cosine is `input`."""
def arcsin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle in radians whose sine is `input`."""
def arcsin_(input: Tensor) -> Tensor:
    """In place: The angle in radians whose sine is `input`."""
def arcsinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose hyperbolic sine is `input`."""
def arcsinh_(input: Tensor) -> Tensor:
    """In place: The number whose hyperbolic sine is `input`."""
def arctan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle in radians whose tangent is `input`."""
def arctan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point (`other`, `input`); its derivative at the origin is 0."""
def arctan_(input: Tensor) -> Tensor:
    """In place: The angle in radians whose tangent is `input`."""
def arctanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose hyperbolic tangent is `input`."""
def arctanh_(input: Tensor) -> Tensor:
    """In place: The number whose hyperbolic tangent is `input`."""
def are_deterministic_algorithms_enabled() -> builtins.bool:
    """Whether they were asked for."""
def argmax(input: Tensor, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """Where the largest element is, along `dim` or, without it, in the flattened tensor."""
def argmin(input: Tensor, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """Where the smallest element is, along `dim` or, without it, in the flattened tensor."""
def argsort(input: Tensor, dim: builtins.int = -1, descending: builtins.bool = False, *, stable: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """The positions along `dim` that sort the elements."""
def argwhere(input: Tensor) -> Tensor:
    """Where the elements are that are not zero, a row of indices each. Counterpart of `torch.argwhere`."""
def as_strided(input: Tensor, size: Sequence[builtins.int], stride: Sequence[builtins.int], storage_offset: builtins.int | None = None) -> Tensor:
    """A view with any shape, strides and offset on the tensor's storage. Counterpart of `torch.as_strided`."""
def as_strided_(input: Tensor, size: Sequence[builtins.int], stride: Sequence[builtins.int], storage_offset: builtins.int | None = None) -> Tensor:
    """In place: any shape, strides and offset on the tensor's storage. Counterpart of `torch.Tensor.as_strided_`."""
def as_strided_copy(input: Tensor, size: Sequence[builtins.int], stride: Sequence[builtins.int], storage_offset: builtins.int | None = None, *, out: Tensor | None = None) -> Tensor:
    """As `as_strided`, with a storage of its own. Counterpart of `torch.as_strided_copy`."""
def as_strided_scatter(input: Tensor, src: Tensor, size: Sequence[builtins.int], stride: Sequence[builtins.int], storage_offset: builtins.int | None = None) -> Tensor:
    """A copy with `src` in the place of what `as_strided` shows. Counterpart of `torch.as_strided_scatter`."""
def as_tensor(data: Any, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """`data` as a tensor: itself where it is one of that dtype and device, else a copy. As `torch.as_tensor`."""
def asarray(obj: Any, *, dtype: dtype | None = None, device: Any = None, copy: builtins.bool | None = None, requires_grad: builtins.bool | None = None) -> Tensor:
    """`obj` as a tensor: a tensor as it is, where dtype and device allow, data as a leaf. As `torch.asarray`."""
def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle in radians whose sine is `input`."""
def asin_(input: Tensor) -> Tensor:
    """In place: The angle in radians whose sine is `input`."""
def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose hyperbolic sine is `input`."""
def asinh_(input: Tensor) -> Tensor:
    """In place: The number whose hyperbolic sine is `input`."""
def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle in radians whose tangent is `input`."""
def atan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point (`other`, `input`); its derivative at the origin is 0."""
def atan_(input: Tensor) -> Tensor:
    """In place: The angle in radians whose tangent is `input`."""
def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose hyperbolic tangent is `input`."""
def atanh_(input: Tensor) -> Tensor:
    """In place: The number whose hyperbolic tangent is `input`."""
@overload
def atleast_1d(tensors: Tensor | Sequence[Tensor]) -> Tensor | tuple[Tensor, ...]:
    """Tensors as views with 1 dimensions or more. Counterpart of `torch.atleast_1d`."""
@overload
def atleast_1d(*tensors: Tensor) -> Tensor | tuple[Tensor, ...]: ...
@overload
def atleast_2d(tensors: Tensor | Sequence[Tensor]) -> Tensor | tuple[Tensor, ...]:
    """Tensors as views with 2 dimensions or more. Counterpart of `torch.atleast_2d`."""
@overload
def atleast_2d(*tensors: Tensor) -> Tensor | tuple[Tensor, ...]: ...
@overload
def atleast_3d(tensors: Tensor | Sequence[Tensor]) -> Tensor | tuple[Tensor, ...]:
    """Tensors as views with 3 dimensions or more. Counterpart of `torch.atleast_3d`."""
@overload
def atleast_3d(*tensors: Tensor) -> Tensor | tuple[Tensor, ...]: ...
def avg_pool1d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = None, padding: builtins.int | Sequence[builtins.int] = (0,), ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True) -> Tensor:
    """The mean of each window over 1 spatial dimension."""
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: builtins.complex = 1, alpha: builtins.complex = 1, out: Tensor | None = None) -> Tensor:
    """`beta * input + alpha * bmm(batch1, batch2)`."""
def bartlett_window(window_length: builtins.int, periodic: builtins.bool = True, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | builtins.int | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """A triangle; `periodic` for one whose next height would be the first again."""
def batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: builtins.bool, momentum: builtins.float, eps: builtins.float, cudnn_enabled: builtins.bool) -> Tensor:
    """`nn.functional.batch_norm` with its arguments in another order. Counterpart of `torch.batch_norm`."""
def bernoulli(input: Tensor, p: builtins.float | None = None, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """1 with the probability that each element says (or `p`), else 0. Counterpart of `torch.bernoulli`."""
bfloat16: dtype
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input1 @ weight[k] @ input2`, for each k, over the last dimensions; plus the bias."""
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: builtins.int = 1) -> Tensor:
    """`nn.functional.binary_cross_entropy_with_logits` with a number for its reduction: none, mean or sum."""
def bincount(input: Tensor, weights: Tensor | None = None, minlength: builtins.int = 0) -> Tensor:
    """How often each number occurs among non-negative integers, or the sums of their weights. As `torch.bincount`."""
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """How many of `count` tries succeed, each with the probability `prob`, elementwise."""
def bitwise_and(input: Tensor | builtins.complex, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """The bits that both have."""
def bitwise_left_shift(input: Tensor | builtins.complex, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """The bits, moved up by `other` places."""
def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Every bit inverted; the negation of a truth value."""
def bitwise_or(input: Tensor | builtins.complex, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """The bits that one of the two has."""
def bitwise_right_shift(input: Tensor | builtins.complex, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """The bits, moved down by `other` places."""
def bitwise_xor(input: Tensor | builtins.complex, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """The bits that just one of the two has."""
def blackman_window(window_length: builtins.int, periodic: builtins.bool = True, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | builtins.int | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """A sum of two cosines that starts from 0; `periodic` for one whose next height would be the first again."""
@overload
def block_diag(tensors: Sequence[Tensor] = ()) -> Tensor:
    """The matrix with the given ones along its diagonal and zeros elsewhere."""
@overload
def block_diag(*tensors: Tensor) -> Tensor: ...
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix products of b n×k and b k×m matrices."""
bool: dtype
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes broadcast to; RuntimeError where there is none. As in torch."""
@overload
def broadcast_tensors(tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Tensors expanded to the shape that they broadcast to: views. Counterpart of `torch.broadcast_tensors`."""
@overload
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]: ...
def broadcast_to(input: Tensor, size: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Dimensions of size 1 repeated, without a copy; -1 leaves a size as it is."""
def bucketize(input: Tensor | builtins.complex, boundaries: Tensor, *, out_int32: builtins.bool = False, right: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """The bucket between boundaries of each element; one equal to a boundary is below it, or above (`right`)."""
def can_cast(from_: dtype, to: dtype) -> builtins.bool:
    """Whether a result of one dtype may be stored as another; counterpart of `torch.can_cast`."""
@overload
def cartesian_prod(tensors: Sequence[Tensor] = ()) -> Tensor:
    """Every choice of one element from each vector, a row each; of one vector that itself."""
@overload
def cartesian_prod(*tensors: Tensor) -> Tensor: ...
def cat(tensors: Sequence[Tensor], dim: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """Arrays one after another along a dimension."""
def cdist(x1: Tensor, x2: Tensor, p: builtins.float = 2.0, compute_mode: str = 'use_mm_for_euclid_dist_if_necessary') -> Tensor:
    """The distances of order `p` between each row of `x1` and each of `x2`, by differences whatever the mode is."""
cdouble: dtype
def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The next integer above."""
def ceil_(input: Tensor) -> Tensor:
    """In place: The next integer above."""
def celu(input: Tensor, alpha: builtins.float = 1.0) -> Tensor:
    """`input` where it is positive, `alpha * (exp(input / alpha) - 1)` elsewhere."""
def celu_(input: Tensor, alpha: builtins.float = 1.0) -> Tensor:
    """In place: `input` where it is positive, `alpha * (exp(input / alpha) - 1)` elsewhere."""
cfloat: dtype
@overload
def chain_matmul(matrices: Sequence[Tensor] = (), *, out: Tensor | None = None) -> Tensor:
    """The product of several matrices, in the order that costs least."""
@overload
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor: ...
chalf: dtype
def channel_shuffle(input: Tensor, groups: builtins.int) -> Tensor:
    """The channels (dimension 1) interleaved: one of each group in turn."""
def cholesky(input: Tensor, upper: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """torch's older `linalg.cholesky`."""
def cholesky_inverse(input: Tensor, upper: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the matrix whose Cholesky factor is L."""
def cholesky_solve(input: Tensor, input2: Tensor, upper: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """The X of `A @ X = input` for the A whose Cholesky factor is L."""
def chunk(input: Tensor, chunks: builtins.int, dim: builtins.int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` pieces of equal size, the last perhaps shorter: views. Counterpart of `torch.chunk`."""
def clamp(input: Tensor, min: Tensor | builtins.complex | None = None, max: Tensor | builtins.complex | None = None, *, out: Tensor | None = None) -> Tensor:
    """`input` clamped to between `min` and `max`, either of which may be omitted; at a bound `input` has the gradient."""
def clamp_(input: Tensor, min: Tensor | builtins.complex | None = None, max: Tensor | builtins.complex | None = None) -> Tensor:
    """In place: `input` clamped to between `min` and `max`, either of which may be omitted; at a bound `input` has the gradient."""
def clamp_max(input: Tensor, max: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """`input`, or `max` where that is smaller; at the bound the gradient goes to `input`, at a NaN to neither."""
def clamp_max_(input: Tensor, max: Tensor | builtins.complex) -> Tensor:
    """In place: `input`, or `max` where that is smaller; at the bound the gradient goes to `input`, at a NaN to neither."""
def clamp_min(input: Tensor, min: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """`input`, or `min` where that is larger; at the bound the gradient goes to `input`, at a NaN to neither."""
def clamp_min_(input: Tensor, min: Tensor | builtins.complex) -> Tensor:
    """In place: `input`, or `min` where that is larger; at the bound the gradient goes to `input`, at a NaN to neither."""
def clip(input: Tensor, min: Tensor | builtins.complex | None = None, max: Tensor | builtins.complex | None = None, *, out: Tensor | None = None) -> Tensor:
    """`input` clamped to between `min` and `max`, either of which may be omitted; at a bound `input` has the gradient."""
def clip_(input: Tensor, min: Tensor | builtins.complex | None = None, max: Tensor | builtins.complex | None = None) -> Tensor:
    """In place: `input` clamped to between `min` and `max`, either of which may be omitted; at a bound `input` has the gradient."""
def clone(input: Tensor, *, memory_format: memory_format | None = None) -> Tensor:
    """A copy with storage of its own, through which gradients flow. Counterpart of `torch.clone`."""
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Arrays side by side, a vector or a number being a column."""
def combinations(input: Tensor, r: builtins.int = 2, with_replacement: builtins.bool = False) -> Tensor:
    """Every choice of `r` elements of a vector, in its order, a row each."""
def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers from their real and imaginary parts."""
complex128: dtype
complex32: dtype
complex64: dtype
def concat(tensors: Sequence[Tensor], dim: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """Arrays one after another along a dimension."""
def concatenate(tensors: Sequence[Tensor], dim: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """Arrays one after another along a dimension."""
def conj(input: Tensor) -> Tensor:
    """The complex conjugate, as a view; a real tensor itself. Counterpart of `torch.conj`."""
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugates."""
def conj_physical_(input: Tensor) -> Tensor:
    """In place: The complex conjugates."""
def constant_pad_nd(input: Tensor, pad: builtins.int | Sequence[builtins.int], value: builtins.complex = 0) -> Tensor:
    """`input` padded with a number: `pad` has the widths before and after the last dimension, then of the one before, and so on."""
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: builtins.int | Sequence[builtins.int] = (1,), padding: builtins.int | Sequence[builtins.int] | str = (0,), dilation: builtins.int | Sequence[builtins.int] = (1,), groups: builtins.int = 1) -> Tensor:
    """The convolution of `input` with the kernels of `weight` over 1 spatial dimension."""
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: builtins.int | Sequence[builtins.int] = (1,), padding: builtins.int | Sequence[builtins.int] | str = (0,), dilation: builtins.int | Sequence[builtins.int] = (1,), groups: builtins.int = 1) -> Tensor:
    """The convolution of `input` with the kernels of `weight` over 2 spatial dimensions."""
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: builtins.int | Sequence[builtins.int] = (1,), padding: builtins.int | Sequence[builtins.int] | str = (0,), dilation: builtins.int | Sequence[builtins.int] = (1,), groups: builtins.int = 1) -> Tensor:
    """The convolution of `input` with the kernels of `weight` over 3 spatial dimensions."""
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: builtins.int = 0) -> Tensor:
    """The convolution of (time, batch, channels) over time; `weight` has (kernel, channels, output channels)."""
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: builtins.int | Sequence[builtins.int] = (1,), padding: builtins.int | Sequence[builtins.int] = (0,), output_padding: builtins.int | Sequence[builtins.int] = (0,), groups: builtins.int = 1, dilation: builtins.int | Sequence[builtins.int] = (1,)) -> Tensor:
    """The way back of a convolution over 1 spatial dimension: from its outputs to its inputs."""
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: builtins.int | Sequence[builtins.int] = (1,), padding: builtins.int | Sequence[builtins.int] = (0,), output_padding: builtins.int | Sequence[builtins.int] = (0,), groups: builtins.int = 1, dilation: builtins.int | Sequence[builtins.int] = (1,)) -> Tensor:
    """The way back of a convolution over 2 spatial dimensions: from its outputs to its inputs."""
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: builtins.int | Sequence[builtins.int] = (1,), padding: builtins.int | Sequence[builtins.int] = (0,), output_padding: builtins.int | Sequence[builtins.int] = (0,), groups: builtins.int = 1, dilation: builtins.int | Sequence[builtins.int] = (1,)) -> Tensor:
    """The way back of a convolution over 3 spatial dimensions: from its outputs to its inputs."""
def copysign(input: Tensor, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """The magnitude of `input` with the sign of `other`."""
def corrcoef(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The correlations of the rows, each column an observation."""
def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The cosine of an angle in radians."""
def cos_(input: Tensor) -> Tensor:
    """In place: The cosine of an angle in radians."""
def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic cosine."""
def cosh_(input: Tensor) -> Tensor:
    """In place: The hyperbolic cosine."""
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: builtins.float = 0, reduction: builtins.int = 1) -> Tensor:
    """`nn.functional.cosine_embedding_loss` with a number for its reduction: none, mean or sum."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: builtins.int = 1, eps: builtins.float = 1e-08) -> Tensor:
    """The inner product along `dim` of two vectors, each divided by its length, which counts as at least `eps`."""
def count_nonzero(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None) -> Tensor:
    """How many elements are not 0."""
def cov(input: Tensor, *, correction: builtins.int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """The covariances of the rows, each column an observation; counted `fweights` times, weighed by `aweights`."""
def cross(input: Tensor, other: Tensor, dim: builtins.int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The vector perpendicular to two others, along `dim`, by default the first dimension of length 3."""
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: builtins.int = 0, reduction: builtins.int = 1, zero_infinity: builtins.bool = False) -> Tensor:
    """`nn.functional.ctc_loss` with a number for its reduction: none, mean or sum."""
def cummax(input: Tensor, dim: builtins.int, *, out: tuple[Tensor, ...] | None = None) -> return_types.cummax:
    """The largest element up to each place along `dim`, and where it is."""
def cummin(input: Tensor, dim: builtins.int, *, out: tuple[Tensor, ...] | None = None) -> return_types.cummin:
    """The smallest element up to each place along `dim`, and where it is."""
def cumprod(input: Tensor, dim: builtins.int, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The product up to each place along `dim`; of integers an int64."""
def cumsum(input: Tensor, dim: builtins.int, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The sum up to each place along `dim`; of integers an int64."""
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: builtins.complex | None = None, dim: builtins.int = -1) -> Tensor:
    """The integral up to each place along `dim` by the trapezoidal rule."""
def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Degrees as radians."""
def deg2rad_(input: Tensor) -> Tensor:
    """In place: Degrees as radians."""
def det(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinant of each square matrix."""
def detach(input: Tensor) -> Tensor:
    """The same values, through which no gradient flows: `input.detach()`. Counterpart of `torch.detach`."""
def detach_(input: Tensor) -> Tensor:
    """Cuts `input` off from its graph and makes it a leaf; RuntimeError for a view."""
def diag(input: Tensor, diagonal: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """The matrix with a vector on a diagonal; of a matrix the diagonal."""
def diag_embed(input: Tensor, offset: builtins.int = 0, dim1: builtins.int = -2, dim2: builtins.int = -1) -> Tensor:
    """Matrices of zeros whose diagonals are the vectors of the last dimension."""
def diagflat(input: Tensor, offset: builtins.int = 0) -> Tensor:
    """The matrix with all elements, in order, on a diagonal."""
def diagonal(input: Tensor, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1) -> Tensor:
    """The diagonal of two dimensions, as the last dimension."""
def diagonal_copy(input: Tensor, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1, *, out: Tensor | None = None) -> Tensor:
    """The diagonal of two dimensions, as the last dimension."""
def diagonal_scatter(input: Tensor, src: Tensor, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1) -> Tensor:
    """`input` with a diagonal of two dimensions replaced by `src`."""
def diff(input: Tensor, n: builtins.int = 1, dim: builtins.int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """The differences of neighbours along `dim`, taken `n` times."""
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of `lgamma`."""
def dist(input: Tensor, other: Tensor, p: builtins.float = 2) -> Tensor:
    """The norm of order `p` of the difference."""
@overload
def div(input: Tensor | builtins.complex, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """`input / other`; of integers, too, the result is floating."""
@overload
def div(input: Tensor | builtins.complex, other: Tensor | builtins.complex, *, rounding_mode: str | None, out: Tensor | None = None) -> Tensor: ...
@overload
def divide(input: Tensor | builtins.complex, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """`input / other`; of integers, too, the result is floating."""
@overload
def divide(input: Tensor | builtins.complex, other: Tensor | builtins.complex, *, rounding_mode: str | None, out: Tensor | None = None) -> Tensor: ...
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inner product of two vectors."""
double: dtype
def dropout(input: Tensor, p: builtins.float, train: builtins.bool) -> Tensor:
    """`nn.functional.dropout` without defaults. Counterpart of `torch.dropout`."""
def dropout_(input: Tensor, p: builtins.float, train: builtins.bool) -> Tensor:
    """`nn.functional.dropout` without defaults, in place. Counterpart of `torch.dropout_`."""
def dsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """`tensor_split` along a fixed dimension, into equal pieces. Counterpart of `torch.dsplit`."""
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Arrays one after another along their third dimension."""
def eig(*arguments: Any, **named: Any) -> Tensor:
    """RuntimeError: torch has taken it away."""
def einsum(equation: Any, *operands: Any) -> Tensor:
    """The sum of products that `equation`, such as `"ij,jk->ik"`, describes in Einstein's notation."""
def embedding(weight: Tensor, indices: Tensor, padding_idx: builtins.int = -1, scale_grad_by_freq: builtins.bool = False, sparse: builtins.bool = False) -> Tensor:
    """`nn.functional.embedding` with its arguments in another order. Counterpart of `torch.embedding`."""
def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: builtins.float, norm_type: builtins.float) -> Tensor:
    """Scales those rows of `input` that `indices` names down to the norm `max_norm`, in place."""
@overload
def empty(size: builtins.int | Sequence[builtins.int], *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | builtins.int | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """Memory that nobody has filled yet; here zeros, in torch what was there."""
@overload
def empty(*size: builtins.int, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | builtins.int | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor: ...
def empty_like(input: Tensor, *, dtype: dtype | None = None, device: device | str | builtins.int | None = None, memory_format: memory_format | None = None, out: Tensor | None = None, layout: Any = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """As `empty`, with the shape, dtype and device of `input`, unless told otherwise."""
def empty_permuted(size: Sequence[builtins.int], physical_layout: Sequence[builtins.int], *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | builtins.int | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """As `empty`, with the dimensions in memory in the order of `physical_layout`."""
def empty_strided(size: Sequence[builtins.int], stride: Sequence[builtins.int], *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | builtins.int | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """As `empty`, with these strides. Counterpart of `torch.empty_strided`."""
def eq(input: Tensor, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """Whether the elements are equal."""
def equal(input: Tensor, other: Tensor) -> builtins.bool:
    """Whether both have the same shape and elements; counterpart of `torch.equal`."""
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function."""
def erf_(input: Tensor) -> Tensor:
    """In place: The error function."""
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`1 - erf(input)`."""
def erfc_(input: Tensor) -> Tensor:
    """In place: `1 - erf(input)`."""
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose error function is `input`."""
def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """e to the power of `input`."""
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 to the power of `input`."""
def exp2_(input: Tensor) -> Tensor:
    """In place: 2 to the power of `input`."""
def exp_(input: Tensor) -> Tensor:
    """In place: e to the power of `input`."""
def expand_copy(input: Tensor, size: builtins.int | Sequence[builtins.int], *, out: Tensor | None = None) -> Tensor:
    """Dimensions of size 1 repeated, without a copy; -1 leaves a size as it is."""
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`exp(input) - 1`, precise near 0."""
def expm1_(input: Tensor) -> Tensor:
    """In place: `exp(input) - 1`, precise near 0."""
def eye(n: builtins.int, m: builtins.int | None = None, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | builtins.int | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """Ones on the diagonal of `n` rows and `m` (as many) columns, zeros elsewhere."""
def feature_alpha_dropout(input: Tensor, p: builtins.float, train: builtins.bool) -> Tensor:
    """`nn.functional.feature_alpha_dropout` without defaults. Counterpart of `torch.feature_alpha_dropout`."""
def feature_alpha_dropout_(input: Tensor, p: builtins.float, train: builtins.bool) -> Tensor:
    """`nn.functional.feature_alpha_dropout` without defaults, in place. Counterpart of `torch.feature_alpha_dropout_`."""
def feature_dropout(input: Tensor, p: builtins.float, train: builtins.bool) -> Tensor:
    """`nn.functional.feature_dropout` without defaults. Counterpart of `torch.feature_dropout`."""
def feature_dropout_(input: Tensor, p: builtins.float, train: builtins.bool) -> Tensor:
    """`nn.functional.feature_dropout` without defaults, in place. Counterpart of `torch.feature_dropout_`."""
def fill(input: Tensor, value: Tensor | builtins.complex) -> Tensor:
    """One number in place of all elements of `input`."""
def fill_(input: Tensor, value: Tensor | builtins.complex) -> Tensor:
    """In place: One number in place of all elements of `input`."""
def fix(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The integer part."""
def fix_(input: Tensor) -> Tensor:
    """In place: The integer part."""
def flatten(input: Tensor, start_dim: builtins.int = 0, end_dim: builtins.int = -1) -> Tensor:
    """Dimensions from `start_dim` to `end_dim` made one. Counterpart of `torch.flatten`."""
def flip(input: Tensor, dims: builtins.int | Sequence[builtins.int]) -> Tensor:
    """The elements in the opposite order along `dims`."""
def fliplr(input: Tensor) -> Tensor:
    """The columns in the opposite order."""
def flipud(input: Tensor) -> Tensor:
    """The rows in the opposite order."""
float: dtype
float16: dtype
float32: dtype
float64: dtype
float8_e4m3fn: dtype
float8_e4m3fnuz: dtype
float8_e5m2: dtype
float8_e5m2fnuz: dtype
float8_e8m0fnu: dtype
def float_power(input: Tensor | builtins.complex, exponent: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """`input ** exponent` in double precision."""
def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The next integer below."""
def floor_(input: Tensor) -> Tensor:
    """In place: The next integer below."""
def floor_divide(input: Tensor | builtins.complex, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """The quotient, rounded down."""
def fmax(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The larger of two elements; of a number and NaN the number. The first has the gradient where they are equal."""
def fmin(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smaller of two elements; of a number and NaN the number. The first has the gradient where they are equal."""
def fmod(input: Tensor, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """What is left of a division rounded to zero; it has the sign of `input`."""
def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input` without its integer part."""
def frac_(input: Tensor) -> Tensor:
    """In place: `input` without its integer part."""
def frexp(input: Tensor, *, out: tuple[Tensor, ...] | None = None) -> return_types.frexp:
    """Each number as a mantissa of at least a half, times a power of two."""
def from_file(filename: str, shared: builtins.bool | None = None, size: builtins.int = 0, *, dtype: dtype | None = None, layout: Any = None, device: Any = None, pin_memory: builtins.bool = False, requires_grad: builtins.bool = False) -> Tensor:
    """A tensor on the memory of a file. Counterpart of `torch.from_file`."""
def from_numpy(ndarray: Any) -> Tensor:
    """A leaf on the memory of a NumPy array; counterpart of `torch.from_numpy`."""
def frombuffer(buffer: Any, *, dtype: dtype, count: builtins.int = -1, offset: builtins.int = 0, requires_grad: builtins.bool = False) -> Tensor:
    """A leaf on the bytes of an object with a buffer, read as `dtype`. Counterpart of `torch.frombuffer`."""
def full(size: Sequence[builtins.int], fill_value: builtins.complex | Tensor, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | builtins.int | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """`fill_value` everywhere, by default in the number's own dtype."""
def full_like(input: Tensor, fill_value: builtins.complex | Tensor, *, dtype: dtype | None = None, device: device | str | builtins.int | None = None, memory_format: memory_format | None = None, out: Tensor | None = None, layout: Any = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """As `full`, with the shape, dtype and device of `input`, unless told otherwise."""
def gather(input: Tensor, dim: builtins.int, index: Tensor, *, sparse_grad: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """Along `dim` the elements at the positions that `index` gives: `input[i][index[i][j]]` for dimension 1."""
def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The greatest common divisor."""
def gcd_(input: Tensor, other: Tensor) -> Tensor:
    """In place: The greatest common divisor."""
def ge(input: Tensor, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """Whether the elements of `input` are larger or equal."""
def geqrf(input: Tensor, *, out: tuple[Tensor, ...] | None = None) -> return_types.geqrf:
    """QR in LAPACK's form: R, below it the vectors of the Householder reflections whose product is Q, and their factors."""
def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Each element of one vector times each of another, as a matrix."""
def get_deterministic_debug_mode() -> builtins.int:
    """0, 1 or 2, as set."""
def get_device(input: Tensor) -> builtins.int:
    """The number of its device; -1 on the CPU."""
def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was last called with: "highest", "high" or "medium"."""
def get_num_interop_threads() -> builtins.int:
    """As many as were set, or else as there are cores."""
def get_num_threads() -> builtins.int:
    """As many as were set, or else as there are cores."""
def get_rng_state() -> Tensor:
    """The state of the default generator, as bytes; counterpart of `torch.get_rng_state`."""
def gradient(input: Tensor, *, spacing: Any = None, dim: builtins.int | Sequence[builtins.int] | None = None, edge_order: builtins.int = 1) -> tuple[Tensor, ...]:
    """The slopes along `dim` (each, by default) of a function sampled at distances of `spacing`, or at coordinates."""
def greater(input: Tensor, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """Whether the elements of `input` are larger."""
def greater_equal(input: Tensor, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """Whether the elements of `input` are larger or equal."""
def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: builtins.int, padding_mode: builtins.int, align_corners: builtins.bool) -> Tensor:
    """`grid_sample` with numbers in place of words: bilinear, nearest, bicubic; zeros, border, reflection."""
def grid_sampler_2d(input: Tensor, grid: Tensor, interpolation_mode: builtins.int, padding_mode: builtins.int, align_corners: builtins.bool) -> Tensor:
    """`grid_sample` with numbers in place of words: bilinear, nearest, bicubic; zeros, border, reflection."""
def grid_sampler_3d(input: Tensor, grid: Tensor, interpolation_mode: builtins.int, padding_mode: builtins.int, align_corners: builtins.bool) -> Tensor:
    """`grid_sample` with numbers in place of words: bilinear, nearest, bicubic; zeros, border, reflection."""
def group_norm(input: Tensor, num_groups: builtins.int, weight: Tensor | None = None, bias: Tensor | None = None, eps: builtins.float = 1e-05, cudnn_enabled: builtins.bool = True) -> Tensor:
    """`nn.functional.group_norm`. Counterpart of `torch.group_norm`."""
def gru(*arguments: Any, **named: Any) -> tuple[Tensor, ...]:
    """All outputs of `nn.GRU` and its last state, with its parameters as a list."""
def gru_cell(input: Tensor, hx: Any, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Any:
    """The next state of a cell, after `input` (batch, features)."""
def gt(input: Tensor, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """Whether the elements of `input` are larger."""
half: dtype
def hamming_window(window_length: builtins.int, periodic: builtins.bool = True, alpha: builtins.float = 0.54, beta: builtins.float = 0.46, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | builtins.int | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """`alpha` minus a period of a cosine times `beta`; `periodic` for one whose next height would be the first again."""
def hann_window(window_length: builtins.int, periodic: builtins.bool = True, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | builtins.int | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """One period of a cosine, raised to start from 0; `periodic` for one whose next height would be the first again."""
def hardshrink(input: Tensor, lambd: builtins.float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """`input`, or 0 where its magnitude is at most `lambd`."""
def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """0 for negative numbers, 1 for positive ones, `values` at 0."""
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: builtins.float = 1.0, reduction: builtins.int = 1) -> Tensor:
    """`nn.functional.hinge_embedding_loss` with a number for its reduction: none, mean or sum."""
def histc(input: Tensor, bins: builtins.int = 100, min: builtins.float = 0, max: builtins.float = 0, *, out: Tensor | None = None) -> Tensor:
    """How many elements are in each of `bins` equal ranges from `min` to `max`, by default those of the elements."""
def histogram(input: Tensor, bins: builtins.int | Tensor = 100, *, range: Sequence[builtins.float] | None = None, weight: Tensor | None = None, density: builtins.bool = False, out: Tensor | None = None) -> return_types.histogram:
    """How many elements are in each bin, and the edges of the bins, as a named tuple."""
def histogramdd(input: Tensor, bins: builtins.int | Sequence[builtins.int] | Sequence[Tensor], range: Sequence[builtins.float] | None = None, weight: Tensor | None = None, density: builtins.bool = False) -> Any:
    """How many points (*, dimensions) are in each cell, and the edges of each dimension, as a named tuple."""
def hsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """`tensor_split` along a fixed dimension, into equal pieces. Counterpart of `torch.hsplit`."""
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Arrays one after another along their second dimension; vectors along their only one."""
def hypot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`sqrt(input² + other²)`."""
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind, of order 0."""
def i0_(input: Tensor) -> Tensor:
    """In place: The modified Bessel function of the first kind, of order 0."""
def igamma(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The regularized lower incomplete gamma function."""
def igammac(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The regularized upper incomplete gamma function."""
def imag(input: Tensor) -> Tensor:
    """The imaginary part, as a view; RuntimeError for a real tensor. Counterpart of `torch.imag`."""
def index_add(input: Tensor, dim: builtins.int, index: Tensor, source: Tensor, *, alpha: builtins.complex = 1, out: Tensor | None = None) -> Tensor:
    """`input` with slice after slice of `source`, times `alpha`, added along `dim` at the positions in `index`."""
def index_copy(input: Tensor, dim: builtins.int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input` with slice after slice of `source` written along `dim` at the positions in `index`."""
def index_fill(input: Tensor, dim: builtins.int, index: Tensor, value: Tensor | builtins.complex) -> Tensor:
    """`input` with one number written along `dim` at the positions in `index`."""
def index_put(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: builtins.bool = False) -> Tensor:
    """A copy with `values` written, or added, at `indices`. Counterpart of `torch.index_put`."""
def index_put_(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: builtins.bool = False) -> Tensor:
    """Writes `values` at `indices`, or adds them there, in place; counterpart of `torch.Tensor.index_put_`."""
def index_reduce(input: Tensor, dim: builtins.int, index: Tensor, source: Tensor, reduce: str, *, include_self: builtins.bool = True, out: Tensor | None = None) -> Tensor:
    """Slices of `source` that go to one position along `dim` reduced, with `input`'s unless `include_self=False`."""
def index_select(input: Tensor, dim: builtins.int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The given indices of one dimension, in their order."""
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of products over the last dimension of both operands; with a 0-dim one their product."""
def instance_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, use_input_stats: builtins.bool, momentum: builtins.float, eps: builtins.float, cudnn_enabled: builtins.bool) -> Tensor:
    """`nn.functional.instance_norm` with its arguments in another order. Counterpart of `torch.instance_norm`."""
int: dtype
int16: dtype
int32: dtype
int64: dtype
int8: dtype
def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of a square matrix; LinAlgError where it is singular."""
def is_complex(input: Tensor) -> builtins.bool:
    """Whether its elements are complex numbers."""
def is_conj(input: Tensor) -> builtins.bool:
    """Whether it is a conjugated view, `x.conj()`. Counterpart of `torch.is_conj`."""
def is_deterministic_algorithms_warn_only_enabled() -> builtins.bool:
    """The `warn_only` that was asked for."""
def is_distributed(input: Tensor) -> builtins.bool:
    """Never."""
def is_floating_point(input: Tensor) -> builtins.bool:
    """Whether its elements are real floating-point numbers."""
def is_inference(input: Tensor) -> builtins.bool:
    """Whether it was made in inference mode."""
def is_neg(input: Tensor) -> builtins.bool:
    """Whether it is a negated view, the imaginary part of a conjugated one. Counterpart of `torch.is_neg`."""
def is_nonzero(input: Tensor) -> builtins.bool:
    """Whether its one element is not 0; RuntimeError for several."""
def is_same_size(input: Tensor, other: Tensor) -> builtins.bool:
    """Whether two tensors have the same shape. Counterpart of `torch.is_same_size`."""
def is_signed(input: Tensor) -> builtins.bool:
    """Whether its elements have a sign."""
def is_storage(obj: Any) -> builtins.bool:
    """Whether it is the memory of a tensor."""
def is_tensor(obj: Any) -> builtins.bool:
    """Whether it is a tensor."""
def is_warn_always_enabled() -> builtins.bool:
    """What `set_warn_always` was last called with."""
def isclose(input: Tensor, other: Tensor, rtol: builtins.float = 1e-05, atol: builtins.float = 1e-08, equal_nan: builtins.bool = False) -> Tensor:
    """Whether `|input - other| <= atol + rtol * |other|`, or the two are equal."""
def isfinite(input: Tensor) -> Tensor:
    """Whether it is a number, and not infinite."""
def isin(elements: Tensor | builtins.complex, test_elements: Tensor | builtins.complex, *, assume_unique: builtins.bool = False, invert: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """Whether each element is one of `test_elements`."""
def isinf(input: Tensor) -> Tensor:
    """Whether it is infinite."""
def isnan(input: Tensor) -> Tensor:
    """Whether it is no number."""
def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether it is minus infinity."""
def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether it is infinity."""
def isreal(input: Tensor) -> Tensor:
    """Whether its imaginary part is 0."""
def istft(input: Tensor, n_fft: builtins.int, hop_length: builtins.int | None = None, win_length: builtins.int | None = None, window: Tensor | None = None, center: builtins.bool = True, normalized: builtins.bool = False, onesided: builtins.bool | None = None, length: builtins.int | None = None, return_complex: builtins.bool = False) -> Tensor:
    """The signal whose frames have these spectra, by least squares."""
def kaiser_window(window_length: builtins.int, periodic: builtins.bool = True, beta: builtins.float = 12.0, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | builtins.int | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """Kaiser's window, the narrower the larger `beta`; `periodic` for one whose next height would be the first again."""
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Kronecker product: each element of `input` in turn times the whole of `other`."""
def kthvalue(input: Tensor, k: builtins.int, dim: builtins.int = -1, keepdim: builtins.bool = False, *, out: tuple[Tensor, ...] | None = None) -> return_types.kthvalue:
    """The `k`th smallest element along `dim`, and where it was."""
def layer_norm(input: Tensor, normalized_shape: Sequence[builtins.int], weight: Tensor | None = None, bias: Tensor | None = None, eps: builtins.float = 1e-05, cudnn_enable: builtins.bool = True) -> Tensor:
    """`nn.functional.layer_norm`. Counterpart of `torch.layer_norm`."""
def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The least common multiple."""
def lcm_(input: Tensor, other: Tensor) -> Tensor:
    """In place: The least common multiple."""
def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input * 2 ** other`."""
def ldexp_(input: Tensor, other: Tensor) -> Tensor:
    """In place: `input * 2 ** other`."""
def le(input: Tensor, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """Whether the elements of `input` are smaller or equal."""
def lerp(input: Tensor, end: Tensor, weight: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """`input + weight * (end - input)`."""
def less(input: Tensor, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """Whether the elements of `input` are smaller."""
def less_equal(input: Tensor, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """Whether the elements of `input` are smaller or equal."""
def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the magnitude of the gamma function."""
def linspace(start: Tensor | builtins.complex, end: Tensor | builtins.complex, steps: builtins.int, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | builtins.int | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """`steps` numbers from `start` to `end`, equally far apart."""
def lobpcg(A: Tensor, k: builtins.int | None = None, B: Tensor | None = None, X: Tensor | None = None, n: builtins.int | None = None, iK: Tensor | None = None, niter: builtins.int | None = None, tol: builtins.float | None = None, largest: builtins.bool | None = None, method: str | None = None, tracker: Callable[..., Any] | None = None, ortho_iparams: dict[str, builtins.int] | None = None, ortho_fparams: dict[str, builtins.float] | None = None, ortho_bparams: dict[str, builtins.bool] | None = None) -> tuple[Tensor, Tensor]:
    """The `k` largest eigenvalues (or not `largest`, smallest) of a symmetric A, or of `A @ x = e * B @ x`; vectors."""
def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The natural logarithm."""
def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 10."""
def log10_(input: Tensor) -> Tensor:
    """In place: The logarithm to base 10."""
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`log(1 + input)`, precise near 0."""
def log1p_(input: Tensor) -> Tensor:
    """In place: `log(1 + input)`, precise near 0."""
def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 2."""
def log2_(input: Tensor) -> Tensor:
    """In place: The logarithm to base 2."""
def log_(input: Tensor) -> Tensor:
    """In place: The natural logarithm."""
def log_softmax(input: Tensor, dim: builtins.int, dtype: dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of softmax over `dim`."""
def logaddexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`log(exp(input) + exp(other))`."""
def logaddexp2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`log2(2 ** input + 2 ** other)`."""
def logcumsumexp(input: Tensor, dim: builtins.int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the sum of `exp(input)` up to each place along `dim`."""
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; of a negative one NaN."""
def logical_and(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether both are true."""
def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether it is 0."""
def logical_or(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether one of the two is true."""
def logical_xor(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether just one of the two is true."""
def logit(input: Tensor, eps: builtins.float | None = None, *, out: Tensor | None = None) -> Tensor:
    """`log(x / (1 - x))`, with x clamped to between `eps` and `1 - eps`."""
def logit_(input: Tensor, eps: builtins.float | None = None) -> Tensor:
    """In place: `log(x / (1 - x))`, with x clamped to between `eps` and `1 - eps`."""
def logspace(start: Tensor | builtins.complex, end: Tensor | builtins.complex, steps: builtins.int, base: builtins.float = 10.0, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | builtins.int | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """`steps` powers of `base`, whose exponents go from `start` to `end`, equally far apart."""
def logsumexp(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None, keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the sum of `exp(input)` over `dim`."""
long: dtype
def lstm(*arguments: Any, **named: Any) -> tuple[Tensor, ...]:
    """All outputs of `nn.LSTM` and its last state, with its parameters as a list."""
def lstm_cell(input: Tensor, hx: Any, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Any:
    """The next state of a cell, after `input` (batch, features)."""
def lstsq(*arguments: Any, **named: Any) -> Tensor:
    """RuntimeError: torch has taken it away."""
def lt(input: Tensor, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """Whether the elements of `input` are smaller."""
def lu(A: Tensor, pivot: builtins.bool = True, get_infos: builtins.bool = False, out: Any = None) -> tuple[Tensor, ...]:
    """torch's older `linalg.lu_factor`, with `get_infos` its `linalg.lu_factor_ex`. Counterpart of `torch.lu`."""
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
    """torch's older `linalg.lu_solve`."""
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: builtins.bool = True, unpack_pivots: builtins.bool = True, *, out: tuple[Tensor, ...] | None = None) -> return_types.lu_unpack:
    """P, L and U from what `linalg.lu_factor` gave."""
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: builtins.float = 0.0, reduction: builtins.int = 1) -> Tensor:
    """`nn.functional.margin_ranking_loss` with a number for its reduction: none, mean or sum."""
def masked_fill(input: Tensor, mask: Tensor, value: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """`input` with one number wherever `mask` is true."""
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """`input` with the elements of `source`, in order, written where `mask` is true."""
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements where `mask` is true, in one dimension. Counterpart of `torch.masked_select`."""
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix product; a vector counts as a row on the left, a column on the right, further dimensions as batch."""
def matrix_exp(input: Tensor) -> Tensor:
    """The exponential of a square matrix: the limit of `A^n / n!`, summed up."""
def matrix_power(input: Tensor, n: builtins.int, *, out: Tensor | None = None) -> Tensor:
    """A square matrix multiplied by itself `n` times; its inverse where `n` is negative."""
def matrix_rank(*arguments: Any, **named: Any) -> Tensor:
    """RuntimeError: torch has taken it away."""
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The larger of two elements; NaN where one of them is."""
@overload
def max(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def max(input: Tensor, dim: builtins.int, keepdim: builtins.bool = False, *, out: tuple[Tensor, ...] | None = None) -> return_types.max: ...
@overload
def max_pool1d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = None, padding: builtins.int | Sequence[builtins.int] = (0,), dilation: builtins.int | Sequence[builtins.int] = (1,), ceil_mode: builtins.bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The largest entry of each window over 1 spatial dimension, and where it is."""
@overload
def max_pool1d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = None, padding: builtins.int | Sequence[builtins.int] = (0,), dilation: builtins.int | Sequence[builtins.int] = (1,), ceil_mode: builtins.bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool1d_with_indices(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = None, padding: builtins.int | Sequence[builtins.int] = (0,), dilation: builtins.int | Sequence[builtins.int] = (1,), ceil_mode: builtins.bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The largest entry of each window over 1 spatial dimension, and where it is."""
@overload
def max_pool1d_with_indices(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = None, padding: builtins.int | Sequence[builtins.int] = (0,), dilation: builtins.int | Sequence[builtins.int] = (1,), ceil_mode: builtins.bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool2d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = None, padding: builtins.int | Sequence[builtins.int] = (0,), dilation: builtins.int | Sequence[builtins.int] = (1,), ceil_mode: builtins.bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The largest entry of each window over 2 spatial dimensions, and where it is."""
@overload
def max_pool2d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = None, padding: builtins.int | Sequence[builtins.int] = (0,), dilation: builtins.int | Sequence[builtins.int] = (1,), ceil_mode: builtins.bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool3d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = None, padding: builtins.int | Sequence[builtins.int] = (0,), dilation: builtins.int | Sequence[builtins.int] = (1,), ceil_mode: builtins.bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The largest entry of each window over 3 spatial dimensions, and where it is."""
@overload
def max_pool3d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = None, padding: builtins.int | Sequence[builtins.int] = (0,), dilation: builtins.int | Sequence[builtins.int] = (1,), ceil_mode: builtins.bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
def maximum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The larger of two elements; NaN where one of them is."""
def mean(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The mean over `dim` (all dimensions by default) of a floating or complex tensor."""
@overload
def median(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The median, the lower one of two; equal elements share the gradient. NaN where there is one."""
@overload
def median(input: Tensor, dim: builtins.int, keepdim: builtins.bool = False, *, out: tuple[Tensor, ...] | None = None) -> return_types.median: ...
@overload
def meshgrid(tensors: Tensor | Sequence[Tensor], *, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Vectors expanded along a dimension of its own each: views. Counterpart of `torch.meshgrid`."""
@overload
def meshgrid(*tensors: Tensor, indexing: str | None = None) -> tuple[Tensor, ...]: ...
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smaller of two elements; NaN where one of them is."""
@overload
def min(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def min(input: Tensor, dim: builtins.int, keepdim: builtins.bool = False, *, out: tuple[Tensor, ...] | None = None) -> return_types.min: ...
def minimum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smaller of two elements; NaN where one of them is."""
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix product of an n×k and a k×m matrix."""
def mode(input: Tensor, dim: builtins.int = -1, keepdim: builtins.bool = False, *, out: tuple[Tensor, ...] | None = None) -> return_types.mode:
    """The most frequent element along `dim`, the smallest of several, and where its last is."""
def moveaxis(input: Tensor, source: builtins.int | Sequence[builtins.int], destination: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Dimensions moved to other places, the others keeping their order: a view. Counterpart of `torch.movedim`."""
def movedim(input: Tensor, source: builtins.int | Sequence[builtins.int], destination: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Dimensions moved to other places, the others keeping their order: a view. Counterpart of `torch.movedim`."""
def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements of the first dimension in order."""
def mul(input: Tensor | builtins.complex, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """`input * other`."""
def multinomial(input: Tensor, num_samples: builtins.int, replacement: builtins.bool = False, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """`num_samples` positions of each row, drawn by the weights that it holds. Counterpart of `torch.multinomial`."""
def multiply(input: Tensor | builtins.complex, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """`input * other`."""
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of an n×m matrix and a vector of length m."""
def mvlgamma(input: Tensor, p: builtins.int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension `p`."""
def nan_to_num(input: Tensor, nan: builtins.float | None = None, posinf: builtins.float | None = None, neginf: builtins.float | None = None, *, out: Tensor | None = None) -> Tensor:
    """`input` with NaN (by 0), infinity (by the largest number) and minus infinity (by the smallest) replaced."""
def nan_to_num_(input: Tensor, nan: builtins.float | None = None, posinf: builtins.float | None = None, neginf: builtins.float | None = None) -> Tensor:
    """In place: `input` with NaN (by 0), infinity (by the largest number) and minus infinity (by the smallest) replaced."""
def nanmean(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The mean of the elements that are not NaN."""
@overload
def nanmedian(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The median, the lower one of two; equal elements share the gradient. NaN is left out."""
@overload
def nanmedian(input: Tensor, dim: builtins.int, keepdim: builtins.bool = False, *, out: tuple[Tensor, ...] | None = None) -> return_types.nanmedian: ...
def nanquantile(input: Tensor, q: Tensor | builtins.float, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, interpolation: str = 'linear', out: Tensor | None = None) -> Tensor:
    """The quantiles `q`, from 0 (the least element) to 1 (the largest), along `dim` or of all elements that are not NaN. Counterpart of `torch.nanquantile`."""
def nansum(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The sum of the elements that are not NaN."""
def narrow(input: Tensor, dim: builtins.int, start: builtins.int | Tensor, length: builtins.int) -> Tensor:
    """`length` indices of dimension `dim` from `start` on: a view. Counterpart of `torch.narrow`."""
def narrow_copy(input: Tensor, dim: builtins.int, start: builtins.int, length: builtins.int, *, out: Tensor | None = None) -> Tensor:
    """As `narrow`, with a storage of its own. Counterpart of `torch.narrow_copy`."""
def native_batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: builtins.bool, momentum: builtins.float, eps: builtins.float, *, out: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """`batch_norm`, and the means and reciprocal deviations of the batch; when not training these are empty."""
def native_dropout(input: Tensor, p: builtins.float, train: builtins.bool | None) -> tuple[Tensor, Tensor]:
    """`dropout`, and the mask of kept elements. Counterpart of `torch.native_dropout`."""
def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: builtins.float) -> Tensor:
    """The gradient of `native_dropout`. Counterpart of `torch.native_dropout_backward`."""
def native_group_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, N: builtins.int, C: builtins.int, HxW: builtins.int, group: builtins.int, eps: builtins.float) -> tuple[Tensor, Tensor, Tensor]:
    """`group_norm` for `group` groups, and the means and reciprocal deviations that it used."""
def native_layer_norm(input: Tensor, normalized_shape: Sequence[builtins.int], weight: Tensor | None, bias: Tensor | None, eps: builtins.float) -> tuple[Tensor, Tensor, Tensor]:
    """`layer_norm`, and the means and reciprocal deviations that it used, which have no gradient."""
def ne(input: Tensor, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """Whether the elements differ."""
def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`-input`."""
def neg_(input: Tensor) -> Tensor:
    """In place: `-input`."""
def negative(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`-input`."""
def negative_(input: Tensor) -> Tensor:
    """In place: `-input`."""
newaxis: None
def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The next representable number after `input` in the direction of `other`."""
def nonzero(input: Tensor, *, as_tuple: builtins.bool = False, out: Tensor | None = None) -> Any:
    """Where the elements are that are not zero: a row of indices each, or a tensor per dimension. As in torch."""
def nonzero_static(input: Tensor, *, size: builtins.int, fill_value: builtins.int = -1, out: Tensor | None = None) -> Tensor:
    """`size` rows of `nonzero`, too few being filled up with `fill_value`. Counterpart of `torch.nonzero_static`."""
def norm(input: Tensor, p: Any = 'fro', dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, out: Tensor | None = None, dtype: dtype | None = None) -> Tensor:
    """The norm over `dim` (all dimensions by default): Euclidean, of order `p`, or "nuc", of singular values."""
def normal(mean: Any = 0.0, std: Any = 1.0, size: Sequence[builtins.int] | None = None, *, generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: Any = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Normal random numbers: `normal(mean, std)` of tensors, elementwise, or `normal(0.0, 1.0, (2, 3))`."""
def not_equal(input: Tensor, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """Whether the elements differ."""
@overload
def nuclear_norm(input: Tensor, keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """torch's older `linalg.matrix_norm` of order "nuc"."""
@overload
def nuclear_norm(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None, keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor: ...
def numel(input: Tensor) -> builtins.int:
    """The number of elements."""
@overload
def ones(size: builtins.int | Sequence[builtins.int], *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | builtins.int | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """Ones."""
@overload
def ones(*size: builtins.int, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | builtins.int | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor: ...
def ones_like(input: Tensor, *, dtype: dtype | None = None, device: device | str | builtins.int | None = None, memory_format: memory_format | None = None, out: Tensor | None = None, layout: Any = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """As `ones`, with the shape, dtype and device of `input`, unless told otherwise."""
def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Q of QR, from the reflections that `geqrf` gives: the first columns of their product."""
def ormqr(input: Tensor, input2: Tensor, input3: Tensor, left: builtins.bool = True, transpose: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """`other` times the product of the reflections that `geqrf` gives, from the left or the right; or its adjoint."""
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Each element of one vector times each of another, as a matrix."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: builtins.float = 2.0, eps: builtins.float = 1e-06, keepdim: builtins.bool = False) -> Tensor:
    """The p-norm of `x1 - x2 + eps` over the last dimension."""
def pca_lowrank(A: Tensor, q: builtins.int | None = None, center: builtins.bool = True, niter: builtins.int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """`svd_lowrank` of A (*, samples, features) less its mean over the samples: V has the principal directions."""
def pdist(input: Tensor, p: builtins.float = 2.0) -> Tensor:
    """The distances between all pairs of rows, in the order of `torch.combinations`."""
def permute(input: Tensor, dims: builtins.int | Sequence[builtins.int]) -> Tensor:
    """The dimensions in another order."""
def permute_copy(input: Tensor, dims: builtins.int | Sequence[builtins.int], *, out: Tensor | None = None) -> Tensor:
    """The dimensions in another order."""
def pinverse(input: Tensor, rcond: Tensor | builtins.complex = 1e-15, *, out: Tensor | None = None) -> Tensor:
    """torch's older `linalg.pinv`."""
def pixel_shuffle(input: Tensor, upscale_factor: builtins.int) -> Tensor:
    """(..., C·r², H, W) as (..., C, H·r, W·r): channels become pixels."""
def pixel_unshuffle(input: Tensor, downscale_factor: builtins.int) -> Tensor:
    """(..., C, H·r, W·r) as (..., C·r², H, W): pixels become channels."""
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Counts from Poisson distributions of which each element is the rate; RuntimeError for a negative rate."""
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers from their magnitudes and angles."""
def polygamma(n: builtins.int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of order `n` of `digamma`."""
def positive(input: Tensor) -> Tensor:
    """The tensor itself; RuntimeError for booleans. Counterpart of `torch.positive`."""
def pow(input: Tensor | builtins.complex, exponent: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """`input ** exponent`."""
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`input` where it is positive, `weight * input` elsewhere: one weight, or one per channel (dimension 1)."""
def prod(input: Tensor, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The product over `dim` (all dimensions by default); of integers an int64."""
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: builtins.bool = False) -> Tensor:
    """`input` with the elements of `source` written, or added, at positions in the flattened tensor."""
qint32: dtype
qint8: dtype
def qr(input: Tensor, some: builtins.bool = True, *, out: tuple[Tensor, ...] | None = None) -> return_types.qr:
    """torch's older `linalg.qr`."""
def quantile(input: Tensor, q: Tensor | builtins.float, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, interpolation: str = 'linear', out: Tensor | None = None) -> Tensor:
    """The quantiles `q`, from 0 (the least element) to 1 (the largest), along `dim` or of all elements. Counterpart of `torch.quantile`."""
quint8: dtype
def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Radians as degrees."""
def rad2deg_(input: Tensor) -> Tensor:
    """In place: Radians as degrees."""
@overload
def rand(size: builtins.int | Sequence[builtins.int], *, generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: Any = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """Uniform random numbers from [0, 1)."""
@overload
def rand(*size: builtins.int, generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: Any = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor: ...
def rand_like(input: Tensor, *, dtype: dtype | None = None, device: device | str | builtins.int | None = None, memory_format: memory_format | None = None, generator: Generator | None = None, out: Tensor | None = None, layout: Any = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """As `rand`, with the shape, dtype and device of `input`, unless told otherwise."""
@overload
def randint(high: builtins.int, size: Sequence[builtins.int], *, dtype: dtype | None = None, generator: Generator | None = None, out: Tensor | None = None, layout: Any = None, device: Any = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """Random integers from `low` (0) on, below `high`: `randint(low, high, size)`. Counterpart of `torch.randint`."""
@overload
def randint(low: builtins.int, high: builtins.int, size: Sequence[builtins.int], *, dtype: dtype | None = None, generator: Generator | None = None, out: Tensor | None = None, layout: Any = None, device: Any = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor: ...
@overload
def randint_like(input: Tensor, high: builtins.int, *, dtype: dtype | None = None, generator: Generator | None = None, out: Tensor | None = None, layout: Any = None, device: Any = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """As `randint(low, high)`, with the shape and dtype of `input`. Counterpart of `torch.randint_like`."""
@overload
def randint_like(input: Tensor, low: builtins.int, high: builtins.int, *, dtype: dtype | None = None, generator: Generator | None = None, out: Tensor | None = None, layout: Any = None, device: Any = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor: ...
@overload
def randn(size: builtins.int | Sequence[builtins.int], *, generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: Any = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """Random numbers from the standard normal distribution."""
@overload
def randn(*size: builtins.int, generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: Any = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor: ...
def randn_like(input: Tensor, *, dtype: dtype | None = None, device: device | str | builtins.int | None = None, memory_format: memory_format | None = None, generator: Generator | None = None, out: Tensor | None = None, layout: Any = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """As `randn`, with the shape, dtype and device of `input`, unless told otherwise."""
def randperm(n: builtins.int, *, generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | None = None, device: Any = None, requires_grad: builtins.bool = False, layout: Any = None, pin_memory: builtins.bool = False) -> Tensor:
    """The integers below `n`, shuffled. Counterpart of `torch.randperm`."""
def range(start: builtins.float, end: builtins.float, step: builtins.float = 1, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | builtins.int | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """The numbers from `start` to `end`, which is one of them, by `step`; floats, with a warning: see `arange`."""
def ravel(input: Tensor) -> Tensor:
    """The elements in one dimension: a view where torch has one."""
def real(input: Tensor) -> Tensor:
    """The real part: a view of a complex tensor, a real tensor itself. Counterpart of `torch.real`."""
def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`1 / input`."""
def reciprocal_(input: Tensor) -> Tensor:
    """In place: `1 / input`."""
def relu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The positive part; its derivative is 0 at 0, and 1 at NaN."""
def relu_(input: Tensor) -> Tensor:
    """In place: The positive part; its derivative is 0 at 0, and 1 at NaN."""
def remainder(input: Tensor | builtins.complex, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """What is left of a division rounded down; it has the sign of `other`."""
def renorm(input: Tensor, p: builtins.float, dim: builtins.int, maxnorm: builtins.float, *, out: Tensor | None = None) -> Tensor:
    """The slices along `dim`, those with a norm above `maxnorm` scaled down to it."""
@overload
def repeat_interleave(input: Tensor, repeats: Tensor | builtins.int, dim: builtins.int | None = None, *, output_size: builtins.int | None = None) -> Tensor:
    """Each element `repeats` times, next to one another along `dim`; flat without it. As `torch.repeat_interleave`."""
@overload
def repeat_interleave(repeats: Tensor, *, output_size: builtins.int | None = None) -> Tensor: ...
def reshape(input: Tensor, shape: Sequence[builtins.int]) -> Tensor:
    """The same elements in another shape, a view where torch has one."""
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: memory_format | None = None) -> Tensor:
    """In place: the shape of another tensor, as `resize_`. Counterpart of `torch.Tensor.resize_as_`."""
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor, or a copy of one that is a conjugated view."""
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor, or a copy of one that is a negated view."""
@overload
def result_type(tensor: Tensor, other: Tensor | builtins.complex) -> dtype:
    """What an operation on the two, tensors or numbers, gives; counterpart of `torch.result_type`."""
@overload
def result_type(scalar: builtins.complex, tensor: Tensor) -> dtype: ...
@overload
def result_type(scalar1: builtins.complex, scalar2: builtins.complex) -> dtype: ...
def rms_norm(input: Tensor, normalized_shape: builtins.int | Sequence[builtins.int], weight: Tensor | None = None, eps: builtins.float | None = None) -> Tensor:
    """`input` over the root of its mean square over the dimensions of `normalized_shape`; times `weight`."""
def rnn_relu(*arguments: Any, **named: Any) -> tuple[Tensor, ...]:
    """All outputs of `nn.RNN` and its last state, with its parameters as a list."""
def rnn_relu_cell(input: Tensor, hx: Any, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Any:
    """The next state of a cell, after `input` (batch, features)."""
def rnn_tanh(*arguments: Any, **named: Any) -> tuple[Tensor, ...]:
    """All outputs of `nn.RNN` and its last state, with its parameters as a list."""
def rnn_tanh_cell(input: Tensor, hx: Any, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Any:
    """The next state of a cell, after `input` (batch, features)."""
def roll(input: Tensor, shifts: builtins.int | Sequence[builtins.int], dims: builtins.int | Sequence[builtins.int] | None = ()) -> Tensor:
    """The elements moved by `shifts` along `dims`, from the end round to the front; without `dims`, of the flattened tensor."""
def rot90(input: Tensor, k: builtins.int = 1, dims: builtins.int | Sequence[builtins.int] = (0, 1)) -> Tensor:
    """`k` quarter turns in the plane of two dimensions, from the first towards the second."""
@overload
def round(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The nearest integer, of two equally near the even one."""
@overload
def round(input: Tensor, *, decimals: builtins.int, out: Tensor | None = None) -> Tensor: ...
@overload
def round_(input: Tensor) -> Tensor:
    """In place: The nearest integer, of two equally near the even one."""
@overload
def round_(input: Tensor, *, decimals: builtins.int) -> Tensor: ...
def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Arrays one after another along their first dimension; vectors as rows."""
def rrelu(input: Tensor, lower: builtins.float = 0.125, upper: builtins.float = 0.3333333333333333, training: builtins.bool = False, generator: Generator | None = None) -> Tensor:
    """`nn.functional.rrelu`, with a generator. Counterpart of `torch.rrelu`."""
def rrelu_(input: Tensor, lower: builtins.float = 0.125, upper: builtins.float = 0.3333333333333333, training: builtins.bool = False, generator: Generator | None = None) -> Tensor:
    """`rrelu`, written into `input`. Counterpart of `torch.nn.functional.rrelu_`."""
def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`1 / sqrt(input)`."""
def rsqrt_(input: Tensor) -> Tensor:
    """In place: `1 / sqrt(input)`."""
@overload
def rsub(input: Tensor, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """`other - input`, for a number on the left of the sign."""
@overload
def rsub(input: Tensor, other: Tensor | builtins.complex, *, alpha: builtins.complex = 1) -> Tensor: ...
def scalar_tensor(s: builtins.complex, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | builtins.int | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """One number, by default in the default dtype."""
@overload
def scatter(input: Tensor, dim: builtins.int, index: Tensor, src: Tensor, *, reduce: str | None = None, out: Tensor | None = None) -> Tensor:
    """`input` with each element of `src` written along `dim` at the position that `index` has in its place."""
@overload
def scatter(input: Tensor, dim: builtins.int, index: Tensor, value: builtins.complex, *, reduce: str | None = None, out: Tensor | None = None) -> Tensor: ...
def scatter_add(input: Tensor, dim: builtins.int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input` with each element of `src` added along `dim` at the position that `index` has in its place."""
def scatter_reduce(input: Tensor, dim: builtins.int, index: Tensor, src: Tensor, reduce: str, *, include_self: builtins.bool = True, out: Tensor | None = None) -> Tensor:
    """The elements of `src` that go to one position along `dim` reduced, with `input`'s unless `include_self=False`."""
def searchsorted(sorted_sequence: Tensor, input: Tensor | builtins.complex, *, out_int32: builtins.bool = False, right: builtins.bool = False, side: str | None = None, sorter: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """Where each element would be inserted in a sorted sequence: before equal ones, or after them (`right`)."""
def seed() -> builtins.int:
    """Seeds the default generator by what the machine's own source gives, and returns that."""
def segment_reduce(data: Tensor, reduce: str, *, lengths: Tensor | None = None, indices: Tensor | None = None, offsets: Tensor | None = None, axis: builtins.int = 0, unsafe: builtins.bool = False, initial: builtins.float | None = None) -> Tensor:
    """The "sum", "mean", "max", "min" or "prod" of each segment of dimension `axis`."""
def select(input: Tensor, dim: builtins.int, index: builtins.int) -> Tensor:
    """One index of dimension `dim`, which goes away: a view. Counterpart of `torch.select`."""
def select_copy(input: Tensor, dim: builtins.int, index: builtins.int, *, out: Tensor | None = None) -> Tensor:
    """As `select`, each with a storage of its own. Counterpart of `torch.select_copy`."""
def select_scatter(input: Tensor, src: Tensor, dim: builtins.int, index: builtins.int) -> Tensor:
    """`input` with one index of one dimension replaced by `src`."""
def selu(input: Tensor) -> Tensor:
    """`elu` with the two constants that keep mean 0 and variance 1 through the layers."""
def selu_(input: Tensor) -> Tensor:
    """In place: `elu` with the two constants that keep mean 0 and variance 1 through the layers."""
def set_default_tensor_type(t: Any) -> None:
    """Makes the dtype of an old tensor type the default; counterpart of `torch.set_default_tensor_type`."""
def set_deterministic_debug_mode(debug_mode: builtins.int | str) -> None:
    """As `use_deterministic_algorithms`, by a number or name. Counterpart of `torch.set_deterministic_debug_mode`."""
def set_float32_matmul_precision(precision: str) -> None:
    """How precise float32 matrix products recorded from now on have to be: "highest", "high" or "medium"."""
def set_flush_denormal(mode: builtins.bool) -> builtins.bool:
    """Accepted and without effect: XLA's programs on a CPU flush denormal numbers."""
def set_num_interop_threads(int: Any) -> None:
    """Accepted and told by `get_num_interop_threads`: JAX's threads are its own."""
def set_num_threads(int: Any) -> None:
    """Accepted and told by `get_num_threads`: JAX's threads are its own."""
def set_rng_state(new_state: Tensor) -> None:
    """Goes back to a state of the generator; counterpart of `torch.set_rng_state`."""
def set_warn_always(b: builtins.bool) -> None:
    """Accepted and told by `is_warn_always_enabled`. Counterpart of `torch.set_warn_always`."""
def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input / abs(input)`, and 0 at 0."""
short: dtype
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`1 / (1 + exp(-input))`."""
def sigmoid_(input: Tensor) -> Tensor:
    """In place: `1 / (1 + exp(-input))`."""
def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-1, 0 or 1."""
def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether its sign is minus, be it that of a zero."""
def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sine of an angle in radians."""
def sin_(input: Tensor) -> Tensor:
    """In place: The sine of an angle in radians."""
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`sin(πx) / (πx)`, and 1 at 0."""
def sinc_(input: Tensor) -> Tensor:
    """In place: `sin(πx) / (πx)`, and 1 at 0."""
def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic sine."""
def sinh_(input: Tensor) -> Tensor:
    """In place: The hyperbolic sine."""
def slice_copy(input: Tensor, dim: builtins.int = 0, start: builtins.int | None = None, end: builtins.int | None = None, step: builtins.int = 1, *, out: Tensor | None = None) -> Tensor:
    """A copy of `x[start:end:step]` of one dimension."""
def slice_scatter(input: Tensor, src: Tensor, dim: builtins.int = 0, start: builtins.int | None = None, end: builtins.int | None = None, step: builtins.int = 1, *, out: Tensor | None = None) -> Tensor:
    """`input` with a slice of one dimension replaced by `src`."""
def slogdet(input: Tensor, *, out: tuple[Tensor, ...] | None = None) -> return_types.slogdet:
    """The sign of the determinant, of a complex one its phase, and the logarithm of its magnitude."""
def softmax(input: Tensor, dim: builtins.int, dtype: dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """`exp(input)`, scaled to a sum of 1 over `dim`."""
def solve(*arguments: Any, **named: Any) -> Tensor:
    """RuntimeError: torch has taken it away."""
def sort(input: Tensor, dim: builtins.int = -1, descending: builtins.bool = False, *, stable: builtins.bool | None = False, out: tuple[Tensor, ...] | None = None) -> return_types.sort:
    """The elements along `dim` in order, and where they were; equal ones keep their order."""
sparse_bsc: layout
sparse_bsr: layout
sparse_coo: layout
sparse_csc: layout
sparse_csr: layout
def split(tensor: Tensor, split_size_or_sections: builtins.int | Sequence[builtins.int], dim: builtins.int = 0) -> tuple[Tensor, ...]:
    """Pieces of so many indices, or of the sizes listed, along `dim`: views. Counterpart of `torch.split`."""
def split_copy(input: Tensor, split_size: builtins.int | Sequence[builtins.int], dim: builtins.int = 0, *, out: Tensor | None = None) -> tuple[Tensor, ...]:
    """As `split`, each with a storage of its own. Counterpart of `torch.split_copy`."""
def split_with_sizes(input: Tensor, split_sizes: Sequence[builtins.int], dim: builtins.int = 0) -> tuple[Tensor, ...]:
    """Pieces of the sizes listed along `dim`: views. Counterpart of `torch.split_with_sizes`."""
def split_with_sizes_copy(input: Tensor, split_sizes: Sequence[builtins.int], dim: builtins.int = 0, *, out: Tensor | None = None) -> tuple[Tensor, ...]:
    """As `split_with_sizes`, each with a storage of its own. Counterpart of `torch.split_with_sizes_copy`."""
def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The square root."""
def sqrt_(input: Tensor) -> Tensor:
    """In place: The square root."""
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input ** 2`."""
def square_(input: Tensor) -> Tensor:
    """In place: `input ** 2`."""
def squeeze(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None) -> Tensor:
    """Without the dimensions of size 1, or without those among `dim` that are."""
def squeeze_copy(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, *, out: Tensor | None = None) -> Tensor:
    """Without the dimensions of size 1, or without those among `dim` that are."""
def stack(tensors: Sequence[Tensor], dim: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """Arrays of one shape, side by side along a new dimension."""
@overload
def std(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, *, correction: builtins.float | None = None, keepdim: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """The deviation over `dim`."""
@overload
def std(input: Tensor, unbiased: builtins.bool, *, out: Tensor | None = None) -> Tensor: ...
@overload
def std(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None, unbiased: builtins.bool = True, keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor: ...
@overload
def std_mean(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, *, correction: builtins.float | None = None, keepdim: builtins.bool = False) -> tuple[Tensor, Tensor]:
    """The deviation and the mean."""
@overload
def std_mean(input: Tensor, unbiased: builtins.bool) -> tuple[Tensor, Tensor]: ...
@overload
def std_mean(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None, unbiased: builtins.bool = True, keepdim: builtins.bool = False) -> tuple[Tensor, Tensor]: ...
def stft(input: Tensor, n_fft: builtins.int, hop_length: builtins.int | None = None, win_length: builtins.int | None = None, window: Tensor | None = None, center: builtins.bool = True, pad_mode: str = 'reflect', normalized: builtins.bool = False, onesided: builtins.bool | None = None, return_complex: builtins.bool | None = None, align_to_window: builtins.bool | None = None) -> Tensor:
    """The spectra of the frames of a signal (*, length), each `n_fft` long: (*, frequencies, frames)."""
@overload
def sub(input: Tensor | builtins.complex, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """`input - other`."""
@overload
def sub(input: Tensor | builtins.complex, other: Tensor | builtins.complex, *, alpha: builtins.complex = 1, out: Tensor | None = None) -> Tensor: ...
@overload
def subtract(input: Tensor | builtins.complex, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """`input - other`."""
@overload
def subtract(input: Tensor | builtins.complex, other: Tensor | builtins.complex, *, alpha: builtins.complex = 1, out: Tensor | None = None) -> Tensor: ...
def sum(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The sum over `dim` (all dimensions by default); of integers an int64."""
def svd(input: Tensor, some: builtins.bool = True, compute_uv: builtins.bool = True, *, out: tuple[Tensor, ...] | None = None) -> return_types.svd:
    """torch's older `linalg.svd`, with V for its adjoint; without `compute_uv` U and V are zeros."""
def svd_lowrank(A: Tensor, q: builtins.int | None = 6, niter: builtins.int | None = 2, M: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """U, S, V with `U @ diag(S) @ V.mH` close to A, or to `A - M`: the `q` largest singular values, nearly."""
def swapaxes(input: Tensor, axis0: builtins.int, axis1: builtins.int) -> Tensor:
    """Two dimensions exchanged: a view."""
def swapdims(input: Tensor, dim0: builtins.int, dim1: builtins.int) -> Tensor:
    """Two dimensions exchanged."""
def symeig(*arguments: Any, **named: Any) -> Tensor:
    """RuntimeError: torch has taken it away."""
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; a vector unchanged."""
def t_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The transpose of a matrix; a vector unchanged."""
def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements at positions in the flattened tensor, in the shape of `index`."""
def take_along_dim(input: Tensor, indices: Tensor, dim: builtins.int | None = None, *, out: Tensor | None = None) -> Tensor:
    """As `gather`, with shapes that broadcast in all dimensions but `dim`; without `dim`, of the flattened tensor."""
def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The tangent of an angle in radians."""
def tan_(input: Tensor) -> Tensor:
    """In place: The tangent of an angle in radians."""
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic tangent."""
def tanh_(input: Tensor) -> Tensor:
    """In place: The hyperbolic tangent."""
def tensor(data: Any, *, dtype: dtype | None = None, device: device | str | builtins.int | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """A leaf with a copy of `data`: a number, nested sequences of numbers, an array or a tensor."""
def tensor_split(input: Tensor, indices_or_sections: Tensor | builtins.int | Sequence[builtins.int], dim: builtins.int = 0) -> tuple[Tensor, ...]:
    """Pieces of `dim` between the given indices, or a number of nearly equal ones. Counterpart of `torch.tensor_split`."""
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """The sum of products over the last `dims` dimensions of `a` and the first of `b`, or over those listed."""
def threshold(input: Tensor, threshold: builtins.float, value: builtins.float, *, out: Tensor | None = None) -> Tensor:
    """`input`, or `value` where it is not above the threshold."""
def threshold_(input: Tensor, threshold: builtins.float, value: builtins.float) -> Tensor:
    """In place: `input`, or `value` where it is not above the threshold."""
def tile(input: Tensor, dims: builtins.int | Sequence[builtins.int]) -> Tensor:
    """The whole tensor `dims` times along each dimension; missing leading numbers are 1."""
def topk(input: Tensor, k: builtins.int, dim: builtins.int = -1, largest: builtins.bool = True, sorted: builtins.bool = True, *, out: tuple[Tensor, ...] | None = None) -> return_types.topk:
    """The `k` largest (or smallest) elements along `dim` in order, and where they were."""
def trace(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of a matrix's diagonal; of integers an int64."""
def transpose(input: Tensor, dim0: builtins.int, dim1: builtins.int) -> Tensor:
    """Two dimensions exchanged."""
def transpose_copy(input: Tensor, dim0: builtins.int, dim1: builtins.int, *, out: Tensor | None = None) -> Tensor:
    """Two dimensions exchanged."""
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: builtins.complex | None = None, dim: builtins.int = -1) -> Tensor:
    """The integral along `dim` by the trapezoidal rule, over points `x` or at a distance of `dx`."""
def trapz(y: Tensor, x: Tensor | None = None, *, dx: builtins.complex | None = None, dim: builtins.int = -1) -> Tensor:
    """The integral along `dim` by the trapezoidal rule, over points `x` or at a distance of `dx`."""
def triangular_solve(input: Tensor, A: Tensor, upper: builtins.bool = True, transpose: builtins.bool = False, unitriangular: builtins.bool = False, *, out: tuple[Tensor, ...] | None = None) -> return_types.triangular_solve:
    """torch's older `linalg.solve_triangular`, and A beside the solution."""
def tril(input: Tensor, diagonal: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """The lower triangle of each matrix, up to a diagonal; zeros above it."""
def tril_indices(row: builtins.int, col: builtins.int, offset: builtins.int = 0, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | builtins.int | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """Rows and columns of the elements on and below a diagonal."""
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: builtins.float = 1.0, p: builtins.float = 2.0, eps: builtins.float = 1e-06, swap: builtins.bool = False, reduction: builtins.int = 1) -> Tensor:
    """`nn.functional.triplet_margin_loss` with a number for its reduction: none, mean or sum."""
def triu(input: Tensor, diagonal: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """The upper triangle of each matrix, from a diagonal on; zeros below it."""
def triu_indices(row: builtins.int, col: builtins.int, offset: builtins.int = 0, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | builtins.int | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """Rows and columns of the elements on and above a diagonal."""
def true_divide(input: Tensor | builtins.complex, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """`input / other`; of integers, too, the result is floating."""
def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The integer part."""
def trunc_(input: Tensor) -> Tensor:
    """In place: The integer part."""
def typename(obj: Any) -> str:
    """What torch calls the type of something: of a tensor its old type. Counterpart of `torch.typename`."""
uint16: dtype
uint32: dtype
uint64: dtype
uint8: dtype
def unbind(input: Tensor, dim: builtins.int = 0) -> tuple[Tensor, ...]:
    """Every index of dimension `dim`, as views. Counterpart of `torch.unbind`."""
def unbind_copy(input: Tensor, dim: builtins.int = 0, *, out: Tensor | None = None) -> tuple[Tensor, ...]:
    """As `unbind`, each with a storage of its own. Counterpart of `torch.unbind_copy`."""
def unflatten(input: Tensor, dim: builtins.int, sizes: Sequence[builtins.int]) -> Tensor:
    """One dimension made several, of the given sizes, one of which may be -1: a view. As `torch.unflatten`."""
def unfold_copy(input: Tensor, dimension: builtins.int, size: builtins.int, step: builtins.int, *, out: Tensor | None = None) -> Tensor:
    """Windows of `size` indices of one dimension, `step` apart; the elements of a window are a new last dimension."""
def unique(input: Tensor, sorted: builtins.bool = True, return_inverse: builtins.bool = False, return_counts: builtins.bool = False, dim: builtins.int | None = None) -> Any:
    """The different elements in order, or the different slices along `dim`. Counterpart of `torch.unique`."""
def unique_consecutive(input: Tensor, return_inverse: builtins.bool = False, return_counts: builtins.bool = False, dim: builtins.int | None = None) -> Any:
    """The elements, or slices along `dim`, without those equal to the one before. As `torch.unique_consecutive`."""
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """The indices in each dimension of positions in a flattened tensor. Counterpart of `torch.unravel_index`."""
def unsafe_chunk(input: Tensor, chunks: builtins.int, dim: builtins.int = 0) -> tuple[Tensor, ...]:
    """As `chunk`, each another tensor on the same memory, and no view: a write is seen by all, and recorded for one. Counterpart of `torch.unsafe_chunk`."""
def unsafe_split(input: Tensor, split_size: builtins.int | Sequence[builtins.int], dim: builtins.int = 0) -> tuple[Tensor, ...]:
    """As `split`, each another tensor on the same memory, and no view: a write is seen by all, and recorded for one. Counterpart of `torch.unsafe_split`."""
def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[builtins.int], dim: builtins.int = 0) -> tuple[Tensor, ...]:
    """As `split_with_sizes`, each another tensor on the same memory, and no view: a write is seen by all, and recorded for one. Counterpart of `torch.unsafe_split_with_sizes`."""
def unsqueeze(input: Tensor, dim: builtins.int) -> Tensor:
    """The tensor with a new dimension of size 1 at `dim`."""
def unsqueeze_copy(input: Tensor, dim: builtins.int, *, out: Tensor | None = None) -> Tensor:
    """The tensor with a new dimension of size 1 at `dim`."""
def use_deterministic_algorithms(mode: builtins.bool, *, warn_only: builtins.bool = False) -> None:
    """Asks for operations that give the same each time, which JAX's do. As `torch.use_deterministic_algorithms`."""
def vander(x: Tensor, N: builtins.int | None = None, increasing: builtins.bool = False) -> Tensor:
    """For each element of `x` a row of `N` of its powers, by default as many as elements, falling to 0."""
@overload
def var(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, *, correction: builtins.float | None = None, keepdim: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """The variance over `dim`."""
@overload
def var(input: Tensor, unbiased: builtins.bool, *, out: Tensor | None = None) -> Tensor: ...
@overload
def var(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None, unbiased: builtins.bool = True, keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor: ...
@overload
def var_mean(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, *, correction: builtins.float | None = None, keepdim: builtins.bool = False) -> tuple[Tensor, Tensor]:
    """The variance and the mean."""
@overload
def var_mean(input: Tensor, unbiased: builtins.bool) -> tuple[Tensor, Tensor]: ...
@overload
def var_mean(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None, unbiased: builtins.bool = True, keepdim: builtins.bool = False) -> tuple[Tensor, Tensor]: ...
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inner product of two vectors, the first of them conjugated."""
def view_as_complex(input: Tensor) -> Tensor:
    """Pairs of real numbers, along a last dimension of size 2, as complex ones."""
def view_as_complex_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Pairs of real numbers, along a last dimension of size 2, as complex ones."""
def view_as_real(input: Tensor) -> Tensor:
    """Complex numbers as pairs of real ones, along a last dimension of size 2."""
def view_as_real_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers as pairs of real ones, along a last dimension of size 2."""
@overload
def view_copy(input: Tensor, size: builtins.int | Sequence[builtins.int], *, out: Tensor | None = None) -> Tensor:
    """The same elements, in order, in another shape; one size may be -1. Never a copy."""
@overload
def view_copy(input: Tensor, dtype: dtype, *, out: Tensor | None = None) -> Tensor: ...
def vsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """`tensor_split` along a fixed dimension, into equal pieces. Counterpart of `torch.vsplit`."""
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Arrays one after another along their first dimension; vectors as rows."""
@overload
def where(condition: Tensor) -> tuple[Tensor, ...]:
    """`input` where `condition` is true and `other` elsewhere; of a condition alone, where it is not zero."""
@overload
def where(condition: Tensor, input: Tensor | builtins.complex, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor: ...
def xlogy(input: Tensor | builtins.complex, other: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """`input * log(other)`, 0 where `input` is."""
def xlogy_(input: Tensor | builtins.complex, other: Tensor | builtins.complex) -> Tensor:
    """In place: `input * log(other)`, 0 where `input` is."""
def zero_(input: Tensor) -> Tensor:
    """In place: Zeros in place of `input`."""
@overload
def zeros(size: builtins.int | Sequence[builtins.int], *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | builtins.int | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """Zeros."""
@overload
def zeros(*size: builtins.int, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | builtins.int | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor: ...
def zeros_like(input: Tensor, *, dtype: dtype | None = None, device: device | str | builtins.int | None = None, memory_format: memory_format | None = None, out: Tensor | None = None, layout: Any = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """As `zeros`, with the shape, dtype and device of `input`, unless told otherwise."""
