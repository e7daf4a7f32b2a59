"""`jaxvjp.compare`: a function on torch and on jaxvjp, in this process."""

from __future__ import annotations

import contextlib
import importlib
import io
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import jaxvjp
from jaxvjp.tools.comparison.gradients import Leaf, Values, compare_values, decoded
from jaxvjp.tools.comparison.outcome import RAISED, Side
from jaxvjp.tools.comparison.recorder import Recorder, described, encode
from jaxvjp.tools.comparison.report import Report
from jaxvjp.tools.comparison.text import CLOSE, DIFFERENT, SAME, TOLERANCE, compare_line

NO_TORCH = "compare needs torch: pip install 'jaxvjp[compare]'"


def compare(function: Callable[..., Any], *inputs: Any, tolerance: float = TOLERANCE) -> Report:
    """Runs `function(torch, *inputs)` with torch and with jaxvjp as `torch`, and compares.

    It compares printed lines, the gradients of each `backward` and `autograd.grad`, the returned tensors and numbers
    (also in tuples, lists and dicts), or the exception.

    Args:
        function: takes torch or jaxvjp as its first argument: `def step(torch, x): ...`.
        inputs: NumPy arrays and tensors of either module are passed as tensors of the module at hand, with their
            `requires_grad`; anything else is passed unchanged.
        tolerance: the largest difference of numbers, relative to the larger one.

    Returns:
        The report; it raises nothing for a difference, nor for an error in `function`. `Report.equal` says whether all
        agrees, `raise_if_different()` insists on it, `print(report)` shows it.

    Raises:
        ImportError: torch is not installed.

    No counterpart in torch. Underneath: both run the function, and NumPy compares.
    """
    try:
        live = importlib.import_module("torch")
    except ImportError as error:
        raise ImportError(NO_TORCH) from error
    torch, expected = _run(function, live, inputs)
    side, given = _run(function, jaxvjp, inputs)
    results = _compare_results("result", expected, given, tolerance) if torch.error is side.error is None else []
    return Report(getattr(function, "__name__", type(function).__name__), torch, side, tolerance, results)


def _run(function: Callable[..., Any], module: Any, inputs: tuple[Any, ...]) -> tuple[Side, Any]:
    side, result = Side(module.__name__, module.__version__), None
    crossed = [_crossed(operand, module) for operand in inputs]
    records: list[dict[str, Any]] = []
    recorder = Recorder(module, records.append)
    start = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            with recorder:
                result = function(module, *crossed)
        except Exception as error:
            side.status, side.error = RAISED, described(error)
    side.seconds = time.perf_counter() - start - recorder.overhead
    side.lines = printed.getvalue().splitlines()
    side.calls = [decoded(each) for each in records]
    return side, result


def _is_tensor(value: Any) -> bool:
    return any(base.__name__ == "Tensor" and base.__module__ in ("torch", "jaxvjp") for base in type(value).__mro__)


def _crossed(value: Any, module: Any) -> Any:
    """An input as a new tensor of a module, so that neither side sees the other's writes."""
    if isinstance(value, np.ndarray):
        return module.tensor(value)
    if not _is_tensor(value):
        return value
    if module is jaxvjp:
        plain = value.detach()
        crossed = plain.clone() if isinstance(value, jaxvjp.Tensor) else jaxvjp.from_torch(plain, copy=True)
    else:
        crossed = value.detach().clone() if not isinstance(value, jaxvjp.Tensor) else value.detach().to_torch(copy=True)
    return crossed.requires_grad_(value.requires_grad)


def _compare_results(name: str, torch: Any, given: Any, tolerance: float) -> list[Leaf]:
    """What a function returned under both, part by part."""
    if _is_tensor(torch) and _is_tensor(given):
        return [compare_values(name, Values(*encode(torch)), Values(*encode(given)), tolerance)]
    if isinstance(torch, list | tuple) and isinstance(given, list | tuple) and len(torch) == len(given):
        parts = [(f"{name}[{place}]", *pair) for place, pair in enumerate(zip(torch, given, strict=True))]
    elif isinstance(torch, dict) and isinstance(given, dict) and torch.keys() == given.keys():
        parts = [(f"{name}[{key!r}]", each, given[key]) for key, each in torch.items()]
    else:
        texts = repr(torch), repr(given)
        verdict = compare_line(*texts, tolerance).verdict if type(torch).__name__ == type(given).__name__ else DIFFERENT
        note = {
            SAME: "",
            CLOSE: f"{texts[0]} and {texts[1]}",
            DIFFERENT: f"{texts[0]} under torch, {texts[1]} under jaxvjp",
        }
        return [Leaf(name, (), type(torch).__name__, verdict, note=note[verdict])]
    return [leaf for part in parts for leaf in _compare_results(*part, tolerance)]
