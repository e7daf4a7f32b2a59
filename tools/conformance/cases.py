"""The class that tests derive from, with torch's `assertEqual` and its other assertions."""

from __future__ import annotations

import random
import re
import unittest
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import torch

from tools.conformance.comparing import Comparison, array, is_tensor
from tools.conformance.samples import seeded


class DeterministicGuard:
    """Deterministic algorithms for a block."""

    def __init__(self, deterministic: bool, *, warn_only: bool = False, fill_uninitialized_memory: bool = True) -> None:
        self.given = (deterministic, warn_only, fill_uninitialized_memory)

    def _set(self, deterministic: bool, warn_only: bool, fill: bool) -> None:
        torch.use_deterministic_algorithms(deterministic, warn_only=warn_only)
        module: Any = torch.utils.deterministic
        module.fill_uninitialized_memory = fill

    def __enter__(self) -> None:
        warns = torch.is_deterministic_algorithms_warn_only_enabled()
        module: Any = torch.utils.deterministic
        self.before = (torch.are_deterministic_algorithms_enabled(), warns, module.fill_uninitialized_memory)
        self._set(*self.given)

    def __exit__(self, *_: object) -> None:
        self._set(*self.before)


class TestCase(unittest.TestCase):
    """unittest's, with assertions over tensors."""

    maxDiff = None
    precision = 0.0
    rel_tol = 0.0
    _default_dtype_check_enabled = False

    def setUp(self) -> None:
        super().setUp()
        torch.manual_seed(1234)
        random.seed(1234)
        np.random.seed(1234)  # noqa: NPY002 - what tests draw from
        seeded(1234)

    def assertEqual(
        self,
        x: Any,
        y: Any,
        msg: Any = None,
        *,
        atol: float | None = None,
        rtol: float | None = None,
        equal_nan: bool = True,
        exact_dtype: bool = True,
        exact_device: bool = False,
        exact_layout: bool = False,
        exact_stride: bool = False,
        exact_is_coalesced: bool = False,
    ) -> None:
        least = (self.rel_tol, self.precision)
        told = Comparison(rtol, atol, equal_nan, exact_dtype, exact_stride, least).difference(x, y)
        if told:
            more = msg(told) if callable(msg) else msg
            raise self.failureException(f"{told}\n{more}" if more else told)

    def assertNotEqual(self, x: Any, y: Any, msg: Any = None, **options: Any) -> None:  # type: ignore[override]
        try:
            self.assertEqual(x, y, **options)
        except AssertionError:
            return
        raise self.failureException(msg or f"{x!r} is equal to {y!r}")

    def assertObjectIn(self, one: Any, several: Any) -> None:
        if not any(each is one for each in several):
            raise self.failureException(f"{one!r} is not among them")

    def assertEqualIgnoreType(self, *args: Any, **kwargs: Any) -> None:
        self.assertEqual(*args, exact_dtype=False, **kwargs)

    def assertEqualTypeString(self, x: Any, y: Any) -> None:
        self.assertEqual(x.device, y.device)
        self.assertEqual(x.dtype, y.dtype)

    def assertExpectedInline(self, actual: Any, expected: str, skip: int = 0) -> None:
        if str(actual) != expected:
            raise self.failureException(f"{str(actual)!r} is not {expected!r}")

    def assertExpected(self, *args: Any, **kwargs: Any) -> None:
        self.skipTest("compares with a file of torch's")

    def assertExpectedRaisesInline(
        self, kind: type[BaseException], function: Callable[..., Any], expected: str, *args: Any, **kwargs: Any
    ) -> None:
        with self.assertRaises(kind) as caught:
            function(*args, **kwargs)
        self.assertExpectedInline(str(caught.exception), expected)

    @contextmanager
    def assertWarnsOnceRegex(self, category: type[Warning], regex: str = "") -> Iterator[None]:
        with warnings.catch_warnings(record=True) as caught, _warning_always():
            warnings.simplefilter("always")
            yield
        if not any(issubclass(each.category, category) and re.match(regex, str(each.message)) for each in caught):
            raise self.failureException(f"{category.__name__} not triggered: {[str(each.message) for each in caught]}")

    def assertNotWarn(self, function: Callable[..., Any], msg: str = "") -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function()
        self.assertTrue(not caught, msg)

    def check_nondeterministic_alert(self, function: Callable[[], Any], name: str, should_alert: bool = True) -> None:
        """What only has a nondeterministic form raises where a deterministic one is asked for, or warns."""
        refusal = f"^{name} does not have a deterministic implementation, but you set"
        with DeterministicGuard(True), self.assertRaisesRegex(RuntimeError, refusal) if should_alert else nullcontext():
            function()
        with DeterministicGuard(True, warn_only=True), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function()
        self.assertEqual(any(re.search(refusal, str(each.message)) for each in caught), should_alert)
        with DeterministicGuard(False):
            function()

    def compare_with_numpy(
        self,
        torch_function: Callable[..., Any],
        numpy_function: Callable[..., Any],
        values: Any,
        device: Any = None,
        dtype: Any = None,
        **options: Any,
    ) -> None:
        """Compares a function of a tensor with NumPy's of the same elements."""
        tensor = values if is_tensor(values) else torch.tensor(values, device=device, dtype=dtype)
        answer, expected = torch_function(tensor), numpy_function(array(tensor))
        self.assertEqual(answer, np.array(expected), **options)


@contextmanager
def _warning_always() -> Iterator[None]:
    if not hasattr(torch, "set_warn_always"):
        yield
        return
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        yield
    finally:
        torch.set_warn_always(before)
