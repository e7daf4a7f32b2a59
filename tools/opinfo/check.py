"""Runs an op of torch's database under torch and under jaxvjp on torch's sample inputs, and compares all results.

`database` lists torch's ops, `counterpart` gives ours for one of them, and `differences` compares values, shapes,
dtypes, `requires_grad`, first and second gradients for random cotangents, the method, the in-place form, and the errors
for bad input.
"""

from __future__ import annotations

import functools
import itertools
import random
import re
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

import jaxvjp
from jaxvjp.core.run.evaluation import evaluate
from tools.opinfo.conversion import Conversion, Unsupported, array_of, foreign, is_tensor, leaves
from tools.opinfo.table import (
    ANY_OF_EQUAL,
    COSTLY,
    NO_GRADIENT,
    OTHER_WORDS,
    TOLERANCE,
    UNDEFINED,
    UNDEFINED_VALUES,
)

FLOATING = ("float64", "float32", "complex128")
EVERY = (*FLOATING, "complex64", "float16", "bfloat16", "int64", "int32", "uint8", "bool")
UNDIFFERENTIABLE = r"derivative for .* is not implemented|Expected a proper Tensor but got None"
"""torch's errors for a missing second derivative; the second one is for a layer with a bias but no weight."""
HALF = ("float16", "bfloat16")
AT_ONCE = 100
"""At most this many samples are computed in one dispatch; a process can map only so many programs."""
_forget: Any = jax.clear_caches


class Difference(NamedTuple):
    """A difference between the two.

    Attributes:
        part: "value", "gradient", "second gradient", "method", "in-place", "error".
        dtype: the dtype of the sample.
        sample: which sample, and its arguments.
        told: what is different.
    """

    part: str
    dtype: str
    sample: str
    told: str

    def __str__(self) -> str:
        return f"{self.part} ({self.dtype}, {self.sample}): {self.told}"


class Missing(LookupError):  # noqa: N818 - what it says
    """jaxvjp does not have the op."""


@functools.cache
def database() -> list[Any]:
    """torch's ops, one entry per name and variant."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
    return list(op_db)


def title(op: Any) -> str:
    """An entry's name and variant: `max.reduction_with_dim`."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else str(op.name)


def counterpart(op: Any) -> Callable[..., Any]:
    """Our function for an entry of torch's: that of the same name, or torch's wrapper with jaxvjp in place of torch."""
    called = op.op
    if isinstance(called, types.FunctionType) and called.__module__.startswith("torch.testing"):
        return rebound(called)
    found: Any = jaxvjp
    for part in op.name.split("."):
        found = getattr(found, part, None)
    if found is None or isinstance(found, jaxvjp.dtype):
        found = getattr(jaxvjp.Tensor, op.name, None)
    if found is None:
        raise Missing(op.name)
    if isinstance(found, property):
        return lambda x: getattr(x, op.name)
    counterpart: Callable[..., Any] = found
    return counterpart


def rebound(function: Any) -> Callable[..., Any]:
    """A copy of `function` in which the global `torch` is jaxvjp."""
    if not isinstance(function, types.FunctionType):
        untouched: Callable[..., Any] = function
        return untouched
    names: dict[str, Any] = {
        name: jaxvjp for name, value in function.__globals__.items() if getattr(value, "__name__", "") == "torch"
    }
    again = types.FunctionType(
        function.__code__,
        {**function.__globals__, **names, "wrapper_set_seed": _seeded},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    again.__kwdefaults__ = function.__kwdefaults__
    return again


def _seeded(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Calls `function` with a fixed seed, as torch's wrappers of random ops do."""
    jaxvjp.manual_seed(42)
    return function(*arguments, **named)


def differences(op: Any, dtypes: Sequence[str], count: int | None, errors: bool = True) -> list[Difference]:
    """Where jaxvjp differs from torch over `count` samples (None: all) of each dtype that torch supports here.

    `Missing` is raised where there is nothing to compare.
    """
    import torch

    ours = counterpart(op)
    found: list[Difference] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in dtypes:
            dtype = getattr(torch, name)
            if dtype in op.supported_dtypes("cpu"):
                found += _Run(op, ours, name).differences(count)
        if errors:
            found += list(_errors(op, ours))
    return found


def samples_of(op: Any, name: str, count: int | None, requires_grad: bool) -> list[tuple[str, Any]]:
    """torch's sample inputs, numbered; `count` of them, spread evenly over all, or the first if `count` is 1."""
    import torch

    _seed(0)
    dtype = getattr(torch, name)
    drawing = (each for each in op.sample_inputs("cpu", dtype, requires_grad=requires_grad) if not foreign(each))
    drawn = [each.transform(_leaf_of_its_own) for each in itertools.islice(drawing, 1 if count == 1 else None)]
    if op.name in COSTLY and count is not None:
        count = 1
    numbered = [(f"sample {number}: {_described(each)}", each) for number, each in enumerate(drawn)]
    if count is None or len(numbered) <= count:
        return numbered
    return [numbered[round(place * (len(numbered) - 1) / max(count - 1, 1))] for place in range(count)]


def _leaf_of_its_own(value: Any) -> Any:
    """`value`; a view made under `no_grad` is replaced by a leaf, as it gets no gradient in torch."""
    lost = is_tensor(value) and value.requires_grad and value._is_view()
    return value.detach().requires_grad_() if lost else value


def _described(sample: Any) -> str:
    """The arguments of a sample, tensors by their shapes: `[5, 5], 2.0, dim=0`."""
    positional = [_brief(each) for each in (sample.input, *sample.args)]
    return ", ".join(positional + [f"{name}={_brief(each)}" for name, each in sample.kwargs.items()])


def _brief(value: Any) -> str:
    if is_tensor(value):
        return str(list(value.shape))
    if isinstance(value, tuple | list):
        return f"({', '.join(_brief(each) for each in value)})"
    return f"{value!r:.40}"


class _Run:
    """The samples of one op in one dtype, under both."""

    def __init__(self, op: Any, ours: Callable[..., Any], name: str) -> None:
        import torch

        self.op, self.ours, self.name = op, ours, name
        dtype = getattr(torch, name)
        self.differentiable = op.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
        if self.differentiable:
            self.differentiable = dtype in op.supported_backward_dtypes("cpu")
        self.twice = self.differentiable and op.supports_gradgrad and name in ("float64", "complex128")
        # The method and the in-place form need no second check in double precision.
        self.forms = not (name in ("float64", "complex128") and torch.float32 in op.supported_dtypes("cpu"))
        self.tolerance = TOLERANCE.get(op.name, {}).get(name) or TOLERANCE["*"].get(name, (0.0, 0.0))

    def differences(self, count: int | None) -> list[Difference]:
        found: list[Difference] = []
        samples = enumerate(samples_of(self.op, self.name, count, self.differentiable))
        while some := list(itertools.islice(samples, AT_ONCE)):
            found += self.differences_of(some)
            if len(some) == AT_ONCE:
                _forget()
        return found

    def differences_of(self, samples: list[tuple[int, tuple[str, Any]]]) -> list[Difference]:
        pairs = []
        found: list[Difference] = []
        for number, (label, sample) in samples:
            try:
                converted = Conversion()
                mirrored = converted.sample(sample)
            except Unsupported:
                continue
            forms = [("", self.op.op, self.ours)]
            if number == 0 and self.forms:
                if self.op.method_variant:
                    own = self.op.method_variant.__name__
                    forms.append(("method", _method(own), _method(own)))
                variant = self.op.inplace_variant
                if isinstance(variant, functools.partial):  # the function itself with `inplace=True`
                    own = functools.partial(self.ours, **variant.keywords)
                    forms.append(("in-place", _on_a_copy(variant), _on_a_copy(own)))
                elif isinstance(variant, types.FunctionType):
                    forms.append(("in-place", _on_a_copy(variant), _on_a_copy(rebound(variant))))
                elif variant and variant.__name__ != self.op.name:
                    own = variant.__name__
                    forms.append(("in-place", _in_place(own), _in_place(own)))
            for form, torchs, function in forms:
                try:
                    expected = self.outcome(_torch(), torchs, sample, sample.output_process_fn_grad, number)
                except Exception as error:
                    if form == "":
                        found.append(Difference("value", self.name, label, f"torch itself raises {error!r:.200}"))
                    continue
                if not all(hasattr(jaxvjp, repr(each.dtype)[6:]) for each in expected["value"] if is_tensor(each)):
                    continue  # jaxvjp has no complex32
                try:
                    given = self.outcome(jaxvjp, function, mirrored, rebound(sample.output_process_fn_grad), number)
                except Exception as error:
                    if _is_missing(error) and not form:
                        raise Missing(str(error)) from None
                    told = f"raises {type(error).__name__}: {str(error).partition(chr(10))[0]:.300}"
                    found.append(Difference(form or "value", self.name, label, told))
                else:
                    wide = functools.partial(self.widened, torchs, sample, number)
                    pairs.append((form, label, expected, given, wide))
        found += self.computed([given for _, _, _, given, _ in pairs])
        for form, label, expected, given, wide in pairs:
            found += list(self.compared(form, label, expected, given, wide))
        return found

    def computed(self, outcomes: list[dict[str, list[Any]]]) -> list[Difference]:
        """Computes all results of all samples in one dispatch, as compiling takes longer than computing."""
        tensors = [each for outcome in outcomes for part in outcome.values() for each in part]
        try:
            evaluate([tensor.__node__ for tensor in tensors if isinstance(tensor, jaxvjp.Tensor)])
        except Exception as error:
            told = f"computing raises {type(error).__name__}: {str(error).partition(chr(10))[0]:.300}"
            for outcome in outcomes:
                outcome.clear()
            return [Difference("value", self.name, "all samples", told)]
        return []

    def outcome(
        self, module: Any, function: Any, sample: Any, process: Any, number: int, rounded: Any = None
    ) -> dict[str, list[Any]]:
        """Results, gradients and second gradients of one call, as lists of tensors (None where there is none).

        Cotangents are of the type of the results, or wide, but `rounded` to a smaller one.
        """
        _seed(number)
        first = sample.input
        if getattr(self.op.gradcheck_wrapper, "__name__", "") == "gradcheck_wrapper_hermitian_input":
            first = first + first.conj().transpose(-2, -1)  # as in torch's own checks of gradients
        result = process(function(first, *sample.args, **sample.kwargs))
        values = list(leaves(result))
        outcome: dict[str, list[Any]] = {"value": values}
        roots = [value for value in values if is_tensor(value) and value.requires_grad]
        inputs = [each for each in leaves((sample.input, sample.args, sample.kwargs)) if is_tensor(each)]
        inputs = [each for each in dict.fromkeys(inputs) if each.requires_grad]
        if not self.differentiable or not roots or not inputs:
            return outcome
        cotangents = [_drawn(module, root, 1, self.twice) for root in roots]
        if rounded is not None:
            cotangents = [cotangent.to(rounded).to(cotangent.dtype) for cotangent in cotangents]
        first = module.autograd.grad(roots, inputs, cotangents, create_graph=self.twice, allow_unused=True)
        outcome["gradient"] = list(first)
        again = [each for each in first if each is not None and each.requires_grad]
        if self.twice and again:
            weights = [_drawn(module, each, 2, False) for each in again]
            try:
                second = module.autograd.grad(again, [*inputs, *cotangents], weights, allow_unused=True)
            except RuntimeError as error:
                if not re.match(UNDIFFERENTIABLE, str(error)):
                    raise
            else:
                outcome["second gradient"] = list(second)
        return outcome

    def widened(self, function: Any, sample: Any, number: int) -> dict[str, list[Any]]:
        """torch's results in float32 for a sample of 16 bits; {} if it has none."""

        def wide(tensor: Any) -> Any:
            if repr(tensor.dtype)[6:] != self.name:
                return tensor
            return tensor.detach().float().requires_grad_(tensor.requires_grad)

        same: dict[int, Any] = {}  # a tensor that occurs twice is converted once
        try:
            precise = sample.transform(lambda each: same.setdefault(id(each), wide(each)) if is_tensor(each) else each)
            half = getattr(_torch(), self.name)
            return self.outcome(_torch(), function, precise, sample.output_process_fn_grad, number, half)
        except Exception:
            return {}

    def compared(
        self,
        form: str,
        label: str,
        expected: dict[str, list[Any]],
        given: dict[str, list[Any]],
        wide: Callable[[], dict[str, list[Any]]],
    ) -> Iterator[Difference]:
        """The differences between torch's results, `expected`, and jaxvjp's, `given`.

        In 16 bits torch may round or overflow in the middle of a formula, or sum in 16 bits; so torch's results in
        float32 for the same numbers, `wide`, are accepted, too.
        """
        if not given:
            return
        precise: dict[str, list[Any]] | None = None
        for part, theirs in expected.items():
            own = given.get(part)
            said = " ".join(each for each in (form, part) if each)
            if own is None or len(own) != len(theirs):
                if part != "second gradient":  # one may have None where the other has zeros
                    count = "no" if own is None else len(own)
                    yield Difference(said, self.name, label, f"{count} results instead of {len(theirs)}")
                continue
            for place, (a, b) in enumerate(zip(theirs, own, strict=True)):
                open_ = self.op.name in ANY_OF_EQUAL and self.name not in FLOATING
                if open_ and (part, place) != ("value", ANY_OF_EQUAL[self.op.name]):
                    continue
                told = self.unequal(part, a, b)
                if told and self.name in HALF and " numbers, at " in told:
                    precise = wide() if precise is None else precise
                    better = precise.get(part, [])
                    if len(better) == len(own) and better[place] is not None:
                        told = self.unequal(part, better[place].to(a.dtype), b)
                if told:
                    yield Difference(said, self.name, label, f"result {place}: {told}" if len(own) > 1 else told)

    def unequal(self, part: str, expected: Any, given: Any) -> str:
        if not is_tensor(expected) or not is_tensor(given):
            if part == "gradient" and expected is None and is_tensor(given) and not given.numel():
                return ""  # an empty tensor depends on nothing
            zeros = part == "second gradient" or (expected is None and self.op.name in NO_GRADIENT)
            if zeros and (expected is None or given is None):
                other = given if expected is None else expected
                nothing = other is None or np.all(np.abs(np.nan_to_num(array_of(other))) <= self.tolerance[1])
                return "" if nothing else f"torch gives {expected!r}, jaxvjp {given!r}"
            same = type(expected) is type(given) and (expected == given or expected != expected)
            return "" if same else f"torch gives {expected!r:.200}, jaxvjp {given!r:.200}"
        if tuple(expected.shape) != tuple(given.shape):
            return f"shape {list(given.shape)} instead of {list(expected.shape)}"
        if repr(expected.dtype) != repr(given.dtype):
            return f"dtype {given.dtype} instead of {expected.dtype}"
        if part == "value" and expected.requires_grad != given.requires_grad:
            return f"requires_grad is {given.requires_grad} instead of {expected.requires_grad}"
        if self.op.name in UNDEFINED_VALUES:
            return ""
        a, b = array_of(expected), array_of(given)
        # There is nothing to compare with where torch multiplies 0 by infinity.
        if part == "second gradient" or (self.op.name, self.name) in UNDEFINED:
            b = np.where(np.isnan(a), a, b)
        rtol, atol = self.tolerance if any(self.tolerance) else TOLERANCE["*"].get(a.dtype.name, (0.0, 0.0))
        close = np.isclose(a, b, rtol, atol, equal_nan=True)
        if close.all():
            return ""
        worst = np.unravel_index(np.argmin(close), close.shape)
        place = [int(each) for each in worst]
        wrong = int(np.size(close) - close.sum())
        return f"{wrong} of {np.size(close)} numbers, at {place} {b[worst]} instead of {a[worst]}"


def _errors(op: Any, ours: Callable[..., Any]) -> Iterator[Difference]:
    """Compares the errors for an op's bad inputs: the class, and the first sentence."""
    if op.error_inputs_func is None:
        return
    _seed(0)
    for number, bad in enumerate(op.error_inputs("cpu")):
        sample = bad.sample_input
        label = f"bad input {number}"
        try:
            mirrored = Conversion().sample(sample)
        except (Unsupported, AttributeError):
            continue
        try:
            op.op(sample.input, *sample.args, **sample.kwargs)
        except Exception as error:
            expected = error
        else:
            continue
        sentence = first_sentence(expected)
        if sentence.startswith(("descriptor", "Trying to resize storage")):
            continue  # Python's own words; and storages here have no fixed size
        try:
            result = ours(mirrored.input, *mirrored.args, **mirrored.kwargs)
        except Exception as error:
            said = op.name in OTHER_WORDS or (type(error) is type(expected) and first_sentence(error) == sentence)
            if not said:
                told = f"{type(error).__name__}: {first_sentence(error)}\n  instead of {type(expected).__name__}: "
                yield Difference("error", "", label, told + sentence)
        else:
            if op.name in OTHER_WORDS:
                continue
            yield Difference("error", "", label, f"returns {type(result).__name__}, torch raises {expected!r:.200}")


def first_sentence(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(". ")


def _drawn(module: Any, like: Any, seed: int, requires_grad: bool) -> Any:
    """A random cotangent, so that an error in any term of a formula changes the result."""
    draws = np.random.RandomState(seed)
    numbers = draws.uniform(0.5, 1.5, tuple(like.shape))
    if like.dtype.is_complex:
        numbers = numbers + 1j * draws.uniform(-1, 1, tuple(like.shape))
    return module.tensor(numbers, dtype=like.dtype, requires_grad=requires_grad)


def _method(name: str) -> Callable[..., Any]:
    return lambda x, *arguments, **named: getattr(x, name)(*arguments, **named)


def _on_a_copy(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, *arguments, **named: function(x.clone(), *arguments, **named)


def _in_place(name: str) -> Callable[..., Any]:
    return lambda x, *arguments, **named: getattr(x.clone(), name)(*arguments, **named)


def _seed(seed: int) -> None:
    import torch

    torch.default_generator.manual_seed(seed)  # `torch.manual_seed` takes a millisecond, as it seeds every device
    jaxvjp.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - torch's samples draw from it
    random.seed(seed)


def _torch() -> Any:
    import torch

    return torch


def _is_missing(error: Exception) -> bool:
    text = str(error)
    return isinstance(error, AttributeError) and (
        "module 'jaxvjp" in text or "'Tensor' object has no attribute" in text
    )
