"""Our stand-ins for `torch.testing._internal`, what torch's tests are written with.

A module of that package is made as it is imported, with the names below. A name that is not among them is decided by
its form (`by_form`): a flag in capitals is False; a decorator that leaves tests out elsewhere, such as `skipIfRocm`,
leaves the test as it is; one that wants another device, such as `onlyCUDA`, makes it not applicable.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import importlib.util
import inspect
import io
import itertools
import os
import re
import sys
import tempfile
import unittest
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import torch

from jaxvjp.core.record.modes import transforming
from jaxvjp.library import random_gamma
from jaxvjp.tensor.trees import flattened, mapped, unflattened
from tools.conformance import cases, devices, layers, matrices, samples
from tools.conformance.devices import not_applicable

PACKAGE = "torch.testing._internal"
MOST_GIGABYTES = 2.0
NOT_REAL = ("logging_tensor", "two_tensor", "composite_compliance", "optests", "data")
"""Modules of the package that have no stand-in: what they give is torch's inside."""
PARTS = {
    "floating": ("float32", "float64"),
    "integral": ("uint8", "int8", "int16", "int32", "int64"),
    "complex": ("complex64", "complex128"),
    "half": ("float16",),
    "double": ("float64", "complex128"),
    "float8": ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"),
    "qint": ("quint8", "qint8", "qint32", "quint4x2", "quint2x4"),
}
PARTS["all"] = (*PARTS["floating"], *PARTS["integral"])


def types(*names: str) -> tuple[Any, ...]:
    """torch's types of these names, as far as they are there."""
    return tuple(getattr(torch, name) for name in names if hasattr(torch, name))


def types_called(name: str) -> Any:
    """The function `all_types_and_complex_and` and its like, from the words of its name."""
    words = [word for word in name.split("_") if word in PARTS]
    if not words or ("types" not in name and "dtypes" not in name):
        return None
    own = types(*dict.fromkeys(each for word in words for each in PARTS[word]))
    return lambda *more: (*own, *[each for each in more if each is not None and each not in own])


def get_all_dtypes(
    include_half: bool = True,
    include_bfloat16: bool = True,
    include_bool: bool = True,
    include_complex: bool = True,
    include_complex32: bool = False,
    include_qint: bool = False,
) -> list[Any]:
    also = [
        *["bool"] * include_bool,
        *["float16"] * include_half,
        *["bfloat16"] * include_bfloat16,
        *["complex32"] * include_complex32,
    ]
    return list(types(*PARTS["all"], *PARTS["complex"] * include_complex, *also))


def get_all_fp_dtypes(include_half: bool = True, include_bfloat16: bool = True) -> list[Any]:
    return list(types(*PARTS["floating"], *["float16"] * include_half, *["bfloat16"] * include_bfloat16))


def get_all_math_dtypes(device: str) -> list[Any]:
    return list(types(*PARTS["integral"], *PARTS["floating"], *PARTS["complex"]))


def get_all_int_dtypes() -> list[Any]:
    return list(types(*PARTS["integral"]))


def as_is(*given: Any, **_: Any) -> Any:
    """A decorator that changes nothing, with arguments or without."""
    if len(given) == 1 and callable(given[0]):
        return given[0]
    return lambda decorated: decorated


def leaving_out(reason: str) -> Callable[..., Any]:
    """A decorator, with arguments or without, for which a test is not applicable."""

    def decorator(*given: Any, **_: Any) -> Any:
        left_out = not_applicable(reason)
        return left_out(given[0]) if len(given) == 1 and callable(given[0]) else left_out

    return decorator


def by_form(name: str) -> Any:
    """What a name that is not listed is, judged by its form; AttributeError where nothing can be said."""
    if found := types_called(name):
        return found
    if name.isupper() or re.fullmatch(r"(IS|TEST|HAS)_\w+|\w+OrLater", name):
        return False
    if name.startswith("only") and name not in ("onlyCPU", "onlyNativeDeviceTypes", "onlyOn", "onlyAccelerator"):
        return leaving_out(f"{name}: for another device")
    if re.match(r"skip|only|expectedFailure|xfail|dtypesIf|mark|Supported|gcIf|(with_|reduced_)?t?f32", name):
        return as_is
    raise AttributeError(f"no stand-in has {name!r}")


def skip_if(condition: Any, reason: str = "") -> Any:
    return not_applicable(f"left out on a CPU: {reason}") if condition else as_is


def largeTensorTest(size: Any, device: Any = None, **_: Any) -> Any:  # noqa: N802
    """Leaves out a test that needs more memory than MOST_GIGABYTES: "6GB", or a function of what the test gets, in
    bytes."""
    if callable(size):
        return _of_memory(size)
    units = {"GB": 1.0, "MB": 1 / 1024}
    needed = float(size[:-2]) * units[size[-2:].upper()] if isinstance(size, str) else 0.0
    return not_applicable(f"needs {size} of memory") if needed > MOST_GIGABYTES else as_is


def _of_memory(size: Callable[..., float]) -> Any:
    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def asked(self: Any, *args: Any, **kwargs: Any) -> Any:
            needed = size(self, *args, **kwargs) / (1 << 30)
            if needed > MOST_GIGABYTES:
                raise unittest.SkipTest(f"needs {needed:.1f}GB of memory")
            return function(self, *args, **kwargs)

        return asked

    return decorate


def skip_without_scipy(function: Any) -> Any:
    return function if importlib.util.find_spec("scipy") else not_applicable("needs scipy")(function)


def wrapping(manager: Callable[[], Any]) -> Callable[[Any], Any]:
    """A decorator that runs a test inside a context."""

    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with manager():
                return function(*args, **kwargs)

        return inside

    return decorate


@contextlib.contextmanager
def setting(get: Callable[[], Any], put: Callable[[Any], Any], value: Any) -> Iterator[None]:
    """A state of torch's changed for a block."""
    before = get()
    put(value)
    try:
        yield
    finally:
        put(before)


def set_default_dtype(dtype: Any) -> Any:
    return setting(torch.get_default_dtype, torch.set_default_dtype, dtype)


def set_warn_always_context(value: bool) -> Any:
    return setting(torch.is_warn_always_enabled, torch.set_warn_always, value)


def freeze_rng_state() -> Any:
    return setting(torch.get_rng_state, torch.set_rng_state, torch.get_rng_state())


@contextlib.contextmanager
def ignoring_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def without_gc() -> Iterator[None]:
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextlib.contextmanager
def temporary_file(**options: Any) -> Iterator[str]:
    handle, path = tempfile.mkstemp()
    os.close(handle)
    try:
        yield path
    finally:
        os.unlink(path)


@contextlib.contextmanager
def temporary_directory(suffix: str | None = None) -> Iterator[str]:
    with tempfile.TemporaryDirectory(suffix) as path:
        yield path


def gradcheck(function: Any, inputs: Any, **options: Any) -> bool:
    given = {"check_batched_grad": True, "fast_mode": True, **options}
    return bool(torch.autograd.gradcheck(function, inputs, **given))


def gradgradcheck(function: Any, inputs: Any, grad_outputs: Any = None, **options: Any) -> bool:
    given = {"check_batched_grad": True, "fast_mode": True, **options}
    return bool(torch.autograd.gradgradcheck(function, inputs, grad_outputs, **given))


def noncontiguous_like(tensor: Any) -> Any:
    """A tensor of the same elements, every second of one that has each twice."""
    if not tensor.is_contiguous():
        return tensor
    spread = torch.repeat_interleave(tensor.detach(), 2, dim=-1)[..., ::2]
    return spread.requires_grad_(tensor.requires_grad)


def mask_not_all_zeros(shape: Any) -> Any:
    mask = torch.randint(0, 2, shape) > 0
    mask.reshape(-1)[0] = True
    return mask


def iter_indices(tensor: Any) -> Any:
    """The index of each element: a number in one dimension, else a tuple."""
    if tensor.dim() < 2:
        return range(tensor.shape[0]) if tensor.dim() else range(0)
    return itertools.product(*[range(size) for size in tensor.shape])


def is_iterable_of_tensors(values: Any, include_empty: bool = False) -> bool:
    if isinstance(values, torch.Tensor):
        return False
    try:
        several = list(values)
    except TypeError:
        return False
    return include_empty if not several else all(isinstance(each, torch.Tensor) for each in several)


def bytes_to_scalar(values: Sequence[int], dtype: Any, device: Any) -> Any:
    """The number with these bytes, as a tensor."""
    return torch.tensor(np.frombuffer(bytes(values), _numpy_types()[dtype])[0], dtype=dtype, device=device)


def basic_net() -> tuple[Any, Any, Any]:
    """A module with a parameter and a buffer, one that has it twice, and a sequence with that."""

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer_dummy_param = torch.nn.Parameter(torch.empty(3, 5))
            self.register_buffer("layer_dummy_buf", torch.zeros(1, 3, 3, 7))

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.l1 = Layer()
            self.dummy_param = torch.nn.Parameter(torch.empty(3, 5))
            self.register_buffer("dummy_buf", torch.zeros(7, 3, 3, 1))

    layer, net = Layer(), Net()
    return layer, net, torch.nn.Sequential(net)


def _numpy_types() -> dict[Any, Any]:
    names = ("bool", *PARTS["all"], "uint16", "uint32", "uint64", "float16", *PARTS["complex"])
    return {getattr(torch, name): np.dtype(name).type for name in names if hasattr(torch, name)}


def _names() -> dict[str, Any]:
    """What the modules of the package have, in each of them."""
    wide = {"float16": "complex32", "float32": "complex64", "float64": "complex128"}
    own = {
        name: each
        for place in (devices, cases, samples)
        for name, each in vars(place).items()
        if not name.startswith("_") and name in (*NAMES, "TestCase", "DeterministicGuard", "make_tensor")
    }
    named = [get_all_dtypes, get_all_fp_dtypes, get_all_math_dtypes, get_all_int_dtypes]
    named += [set_default_dtype, set_warn_always_context, freeze_rng_state, gradcheck, gradgradcheck, largeTensorTest]
    named += [noncontiguous_like, mask_not_all_zeros, iter_indices, is_iterable_of_tensors, bytes_to_scalar]
    database = leaving_out("a test for each operator of torch's own database: see `python -m tools.opinfo`")
    own.update({each.__name__: each for each in named})
    own.update(layers.NAMES)
    own.update(matrices.NAMES)
    own.update(
        run_tests=lambda *_: None,
        load_tests=None,
        NNTestCase=type("NNTestCase", (cases.TestCase,), {}),
        _create_basic_net=basic_net,
        swap=lambda _: as_is,  # whether conversions swap parameters, a setting that is not here
        TEST_NUMPY=True,
        TEST_SCIPY=importlib.util.find_spec("scipy") is not None,
        IS_FILESYSTEM_UTF8_ENCODING=True,
        ops=database,
        optims=leaving_out("a test for each optimiser of torch's own database"),
        modules=database,
        unary_ufuncs=[],
        binary_ufuncs=[],
        binary_ufuncs_and_refs=[],
        reduction_ops=[],
        reference_masked_ops=[],
        op_db=[],
        optim_db=[],
        module_db=[],
        autograd_function_db=[],
        module_tests=[],
        criterion_tests=[],
        get_new_module_tests=list,
        NewModuleTest=database,
        _get_torch_cuda_version=lambda: (0, 0),
        has_cusolver=lambda: False,
        get_function_arglist=lambda function: list(inspect.signature(function).parameters),
        OpInfo=_Described,
        SampleInput=_Described,
        DecorateInfo=_Described,
        OpDTypes=_Anything(),
        ReductionOpInfo=object,
        ReductionPythonRefInfo=object,
        skipIf=skip_if,
        skipCPUIf=skip_if,
        slowTest=leaving_out("slow: torch's own run leaves it out"),
        slowTestIf=lambda condition: leaving_out("slow: torch's own run leaves it out") if condition else as_is,
        skipIfNoSciPy=skip_without_scipy,
        suppress_warnings=wrapping(ignoring_warnings),
        disable_gc=without_gc,
        wrapDeterministicFlagAPITest=wrapping(lambda: cases.DeterministicGuard(False)),
        TemporaryFileName=temporary_file,
        TemporaryDirectoryName=temporary_directory,
        BytesIOContext=lambda *given: contextlib.closing(io.BytesIO(*given)),
        get_all_device_types=lambda: ["cpu"],
        get_all_qint_dtypes=lambda: list(types(*PARTS["qint"])),
        _dispatch_dtypes=tuple,
        torch_to_numpy_dtype_dict=_numpy_types(),
        numpy_to_torch_dtype_dict={each: own for own, each in _numpy_types().items()},
        float_to_corresponding_complex_type_map={
            getattr(torch, real): getattr(torch, both) for real, both in wide.items() if hasattr(torch, both)
        },
    )
    return own


NAMES = (
    *("subtest", "tol", "parametrize", "dtypes", "dtypesIfCPU", "precisionOverride", "toleranceOverride"),
    *("deviceCountAtLeast", "instantiate_device_type_tests", "instantiate_parametrized_tests"),
)


class _Described:
    """A row of torch's database of operators, or a part of one: it is made, and nothing is run for it."""

    def __init__(self, name: Any = "", *_: Any, **options: Any) -> None:
        vars(self).update({"name": name, "variant_test_name": "", "decorators": (), **options})


class _Anything:
    def __getattr__(self, name: str) -> str:
        return name


class _Internal(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return by_form(name)


class _Finder(MetaPathFinder, Loader):
    """Makes the modules of the package."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        parent, _, last = name.rpartition(".")
        if name != PACKAGE and (parent != PACKAGE or last in NOT_REAL):
            return None
        return ModuleSpec(name, self, is_package=name == PACKAGE)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Internal(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(_names())


def install() -> None:
    """Puts the stand-ins in the place of torch's test internals, for this process.

    With jaxvjp there are also `functorch` and the few private functions that tests of public ones are written with.
    """
    for name in [module for module in sys.modules if module == PACKAGE or module.startswith(PACKAGE + ".")]:
        del sys.modules[name]
    vars(importlib.import_module("torch.testing"))["make_tensor"] = samples.make_tensor
    sys.meta_path.insert(0, _Finder())
    if torch.__version__.endswith("jaxvjp"):
        sys.modules.update({name: _Functorch(name) for name in ("functorch", "functorch.experimental")})
        trees = vars(sys.modules.setdefault("torch.utils._pytree", ModuleType("torch.utils._pytree")))
        trees.update(
            tree_flatten=flattened, tree_map=mapped, tree_unflatten=lambda leaves, tree: unflattened(tree, leaves)
        )
        sizes = SimpleNamespace(_element_size=lambda dtype: torch.empty((), dtype=dtype).element_size())
        compiler = ModuleType("torch._dynamo")
        compiler.__dict__.update(disable=as_is, config=SimpleNamespace(suppress_errors=False))  # which a test switches
        sys.modules["torch._dynamo"] = compiler
        vars(sys.modules["torch"]).update(
            _utils=sizes,
            _vmap_internals=SimpleNamespace(_vmap=torch.func.vmap),
            _dynamo=compiler,
            _C=_internal(),
            _standard_gamma=random_gamma.standard_gamma,
            _sample_dirichlet=random_gamma.sample_dirichlet,
        )
        forward = importlib.import_module("torch.autograd.forward_ad")
        level = property(lambda _: -1 if transforming().level is None else 0)  # a test cleans up until there is none
        forward.__class__ = type("ForwardAD", (type(forward),), {"_current_level": level})


def _internal() -> ModuleType:
    """`torch._C`, as far as it names devices, and switches vmap's loop for operators without a rule: here all have."""
    internal = ModuleType("torch._C")
    switch = {"_is_vmap_fallback_enabled": lambda: False, "_set_vmap_fallback_enabled": lambda _: None}
    warning = {
        "_debug_only_are_vmap_fallback_warnings_enabled": lambda: False,
        "_debug_only_display_vmap_fallback_warnings": lambda _: None,
    }
    device = {"_get_privateuse1_backend_name": lambda: "privateuseone"}
    vars(internal).update(_functorch=SimpleNamespace(**switch), **warning, **device)
    vars(internal).update(has_lapack=True, _infer_size=torch.broadcast_shapes)
    return internal


class _Functorch(ModuleType):
    """functorch's names are those of `torch.func` now."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.modules["torch"].func, name)
