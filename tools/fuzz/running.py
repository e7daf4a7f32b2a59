"""Runs a program's statements under one module: its variables, and what its hooks saw."""

from __future__ import annotations

import ast
import copy
import gc
import importlib
import re
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import jaxvjp
from tools.fuzz.outcomes import Outcome
from tools.fuzz.programs import Statement

HARMLESS = frozenset({"stride", "storage_offset", "_is_view", "_version"})
"""What may disagree without a consequence for what follows: there a program goes on."""
LOOSE = {
    **dict.fromkeys(("arithmetic", "set data", "step"), frozenset({"stride", "storage_offset"})),
    **dict.fromkeys(("autograd.grad", "grad named", "deepcopy", "transform", "inference inside"), HARMLESS),
    "other modes": HARMLESS,
}
"""What is not compared of what these kinds of statements bind, nor of what is made from it. Of a gradient or a copy
torch promises no version and no layout (it may be an expanded number); results are contiguous here (docs/autograd.md).
A `torch.stack` of tensors of inference mode is a view for torch (docs/reliability_journal.md).
"""


class Failure(NamedTuple):
    kind: str
    sentence: str


def _ask_for_grad_fn(x: Any, torch: Any) -> None:
    x.grad_fn  # noqa: B018


def words(torch: Any) -> dict[str, Any]:
    """What the texts of `kinds` call, made with this module."""

    class Squared(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2.0 * x * grad

    class Both(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2.0, x.clone()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.mark_non_differentiable(output[1])

        @staticmethod
        def backward(ctx: Any, grad: Any, other: Any) -> Any:
            return grad * 2.0

    class Doubled(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2.0)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2.0

    def checkpoint(*given: Any, **named: Any) -> Any:
        importlib.import_module(f"{torch.__name__}.utils.checkpoint")
        return torch.utils.checkpoint.checkpoint(*given, **named)

    def tangent_of(function: Any, x: Any, tangent: Any) -> Any:
        forward = torch.autograd.forward_ad
        with forward.dual_level():
            return forward.unpack_dual(function(forward.make_dual(x, tangent))).tangent

    def hooked(x: Any, hook: Callable[[Any], Any]) -> Any:
        """x, through a step whose gradient nothing else shares memory with."""
        y = x * 1.0
        y.register_hook(hook)
        return y * 1.0

    def loaded(shape: tuple[int, ...]) -> Any:
        array = np.empty(shape, np.float32)
        x = torch.from_numpy(array)
        array[...] = 3.0
        return x

    def stopped(x: Any) -> Any:
        with torch.inference_mode():
            constant = x.tanh()
        return x + constant

    functions = {"squared": Squared.apply, "both": Both.apply, "doubled": Doubled.apply}
    functions |= {"hooked": hooked, "loaded": loaded, "stopped": stopped}
    return {**functions, "checkpoint": checkpoint, "tangent_of": tangent_of, "graph": torch.autograd.graph}


class Run:
    """A program under one module: its variables, and what its hooks saw since it was last compared."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.calls: list[tuple[str, Any]] = []
        self.loose: dict[str, frozenset[str]] = {}
        self.names: dict[str, Any] = {"torch": module, "copy": copy, "gc": gc, "note": self.note, **words(module)}

    def note(self, name: str, grad: Any) -> None:
        self.calls.append((name, None if grad is None else grad.detach().clone()))

    def tried(self, function: Callable[[Any], Any]) -> Any:
        """What it returns, or the class and first sentence of its error."""
        outcome = Outcome(function, self.module)
        if outcome.raised is None:
            return outcome.value
        kind, sentence = outcome.raised  # which of two things happened to a view of several depends on who asks
        return Failure(kind, re.sub("its base or another .*? modified inplace", "is being modified inplace", sentence))

    def execute(self, statement: Statement, code: Any) -> Any:
        nodes = list(ast.walk(ast.parse(statement.text)))
        names = [node for node in nodes if isinstance(node, ast.Name)]
        bound: list[ast.expr] = [name for name in names if isinstance(name.ctx, ast.Store)]
        bound += [node.value for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)]
        loose = LOOSE.get(statement.kind, frozenset()).union(*(self.loose.get(name.id, ()) for name in names))
        self.loose |= {each.id: loose for each in bound if isinstance(each, ast.Name)}
        if self.module is not jaxvjp and ("register_hook" in statement.text or "retain_grad" in statement.text):
            for each in self.variables().values():
                # torch crashes if it was not asked for the grad_fn of a view whose base was written through detach().
                self.tried(partial(_ask_for_grad_fn, each))
        return self.tried(lambda torch: exec(code, self.names))

    def variables(self) -> dict[str, Any]:
        return {name: x for name, x in self.names.items() if x is None or isinstance(x, self.module.Tensor)}


def strides_taken(x: Any) -> list[int]:
    """The strides of the dimensions that have more than one element: the others are never taken, nor are any of a
    tensor without elements."""
    return [step for step, size in zip(x.stride(), x.shape, strict=True) if size > 1 and x.numel()]


def shapes_of(run: Run) -> dict[str, tuple[int, ...]]:
    return {name: tuple(x.shape) for name, x in run.variables().items() if x is not None}


def views_of(run: Run) -> list[str]:
    return [name for name, x in run.variables().items() if x is not None and x._is_view()]


def bases_of(run: Run) -> dict[str, tuple[list[int], int]]:
    """Of each view, how its base lies in memory."""
    views = {name: x._base for name, x in run.variables().items() if x is not None and x._is_view()}
    return {name: (strides_taken(base), base.storage_offset()) for name, base in views.items()}
