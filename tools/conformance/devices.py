"""Tests with parameters: one test for each device (the CPU alone), each type and each set of arguments."""

from __future__ import annotations

import functools
import inspect
import itertools
import unittest
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from tools.conformance.comparing import name_of

COMMON = ["float32", "float64", "int64", "bool", "complex64"]
"""The types for which a test is run that asks for more; empty for all of them."""
PREPARING = ("setUp", "tearDown", "setUpClass", "tearDownClass")


class subtest(NamedTuple):  # noqa: N801 - torch's name
    """One set of arguments, with a name and decorators of its own."""

    arg_values: Any
    name: str = ""
    decorators: Sequence[Any] = ()


class tol(NamedTuple):  # noqa: N801 - torch's name
    """The least tolerances of a test for a type."""

    atol: float
    rtol: float


def parametrize(arg_str: str, arg_values: Any, name_fn: Callable[..., str] | None = None, **_: Any) -> Any:
    """Runs a test once for each of `arg_values`, as the arguments that `arg_str` names."""
    names = [each.strip() for each in arg_str.split(",")]

    def described(index: int, given: tuple[Any, ...]) -> str:
        if name_fn is not None:
            return name_fn(*given)
        plain = bool | int | float | str | type
        said = [
            f"{name}_{getattr(each, '__name__', None) or str(each)}"
            if isinstance(each, plain) or "dtype" in type(each).__name__
            else f"{name}{index}"
            for name, each in zip(names, given, strict=True)
        ]
        return "_".join(said)

    sets = []
    for index, each in enumerate(arg_values):
        chosen = each if isinstance(each, subtest) else subtest(each)
        given = tuple(chosen.arg_values) if len(names) > 1 else (chosen.arg_values,)
        sets.append((chosen.name or described(index, given), dict(zip(names, given, strict=True)), chosen.decorators))

    def decorate(function: Any) -> Any:
        function.parameters = [*getattr(function, "parameters", []), sets]
        return function

    return decorate


def dtypes(*given: Any, kind: str = "") -> Any:
    """Runs a test for these types (or pairs of types); those that are not there are None and passed over."""

    def decorate(function: Any) -> Any:
        lists = given[0] if len(given) == 1 and isinstance(given[0], list | tuple) else given
        there = [each for each in lists if None not in _several(each)]
        function.types = {**getattr(function, "types", {}), kind: there}
        return function

    return decorate


dtypesIfCPU = functools.partial(dtypes, kind="cpu")


def precisionOverride(by_type: dict[Any, float]) -> Any:
    """The least absolute tolerance of a test for each type."""

    def decorate(function: Any) -> Any:
        function.tolerances = {dtype: tol(atol, 0.0) for dtype, atol in by_type.items()}
        return function

    return decorate


def toleranceOverride(by_type: dict[Any, tol]) -> Any:
    """The least tolerances of a test for each type."""

    def decorate(function: Any) -> Any:
        function.tolerances = by_type
        return function

    return decorate


def deviceCountAtLeast(count: int) -> Any:
    """Gives a test the list of devices, if there are as many."""

    def decorate(function: Any) -> Any:
        function.devices = count
        return function

    return decorate


def not_applicable(reason: str) -> Any:
    """Skips a test, whatever it was decorated with before."""

    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def skipped(*args: Any, **kwargs: Any) -> None:
            raise unittest.SkipTest(reason)

        skipped.parameters = []  # type: ignore[attr-defined]
        skipped.types = {}  # type: ignore[attr-defined]
        return skipped

    return decorate


def instantiate_device_type_tests(
    generic: type, scope: dict[str, Any], except_for: Any = None, only_for: Any = None, **_: Any
) -> None:
    """Puts in the place of a class its tests for the CPU.

    What prepares them moves to the new class, too: both `super()` and `super(self.__class__, self)` in it then mean the
    class above the given one.
    """
    prepares = {name: each for name, each in vars(generic).items() if name in PREPARING}
    tests = {**prepares, **dict(_expanded(generic, "cpu"))}
    for name in (*prepares, *_tests(generic)):
        delattr(generic, name)
    scope.pop(generic.__name__, None)
    name = f"{generic.__name__}CPU"
    made: type = type(name, (generic,), {"device_type": "cpu", "__module__": generic.__module__, **tests})
    made.__qualname__ = name
    elsewhere = [only_for] if isinstance(only_for, str) else list(only_for or ["cpu"])
    if not {"cpu", "privateuse1"}.intersection(elsewhere):
        made = unittest.skip(f"for {', '.join(elsewhere)} only")(made)
    scope[name] = made


def instantiate_parametrized_tests(generic: type) -> type:
    """Puts in the place of each test with parameters one for each set of them."""
    tests = dict(_expanded(generic, None))
    for name in _tests(generic):
        delattr(generic, name)
    for name, test in tests.items():
        setattr(generic, name, test)
    return generic


def _tests(generic: type) -> list[str]:
    return [name for name, each in vars(generic).items() if name.startswith("test") and callable(each)]


def _expanded(generic: type, device: str | None) -> Iterator[tuple[str, Any]]:
    for name in _tests(generic):
        function = vars(generic)[name]
        types: Sequence[Any] = [None]
        if device is not None:
            by_kind = getattr(function, "types", {})
            types = _common(by_kind.get("cpu", by_kind.get("", None))) or [None]
        for sets in itertools.product(*getattr(function, "parameters", [])):
            for dtype in types:
                parts = [name, *[said for said, _, _ in sets], *([device] if device else [])]
                parts += [name_of(each) for each in _several(dtype) if each is not None]
                given = {key: value for _, values, _ in sets for key, value in values.items()}
                decorators = [each for _, _, several in sets for each in several]
                said = "_".join(parts).replace(".", "_").replace(" ", "_")
                yield said, _with(function, said, device, dtype, given, decorators)


def _common(given: Sequence[Any] | None) -> Sequence[Any]:
    """Those of the given types that are common, or the first."""
    if not given or not COMMON:
        return given or []
    return [each for each in given if all(name_of(one) in COMMON for one in _several(each))] or given[:1]


def _several(types: Any) -> Sequence[Any]:
    return types if isinstance(types, list | tuple) else [types]


def _with(
    function: Any, name: str, device: str | None, dtype: Any, given: dict[str, Any], decorators: Sequence[Any]
) -> Any:
    """One test with its arguments filled in."""
    if not inspect.isfunction(function):
        return function
    if getattr(function, "devices", 1) > 1:
        function = not_applicable("needs several devices")(function)
    taken = list(inspect.signature(function).parameters)[1:]
    given = {**given, **{key: each for key, each in (("device", device), ("devices", [device])) if key in taken}}
    others = [each for each in taken if each not in given]  # what the test calls the type, if not `dtype`
    given = given if dtype is None or not others else {**given, others[0]: dtype}
    atol, rtol = getattr(function, "tolerances", {}).get(dtype, (0.0, 0.0))

    @functools.wraps(function)
    def test(self: Any) -> Any:
        self.precision, self.rel_tol = max(atol, self.precision), max(rtol, self.rel_tol)
        return function(self, **given)

    del vars(test)["__wrapped__"]  # its signature is its own
    test.__name__ = name
    decorated: Any = test
    for decorator in decorators:
        decorated = decorator(decorated)
    return decorated
