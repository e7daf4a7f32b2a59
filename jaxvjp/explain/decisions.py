"""What values decided: the tensors that Python asked for their values, which no recorded program asks again."""

from __future__ import annotations

import ast
import contextlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.user_lines import user_line
from jaxvjp.explain.names import Statement, statement, told_line
from jaxvjp.tensor.tensor import Tensor

Asked = dict[Any, list[tuple[Node, Any]]]
"""By the user's line the nodes that Python asked for their values, and the answers."""
DECIDED = "Values decided what ran; here it is as it was recorded:"
WHILE = "jax.lax.while_loop, or jax.lax.scan with jax.lax.cond where a gradient goes back through it"
NUMBERS = "what it read, indices or numbers, is written out"
ASKED = (
    "__array__",
    "__bool__",
    "__float__",
    "__format__",
    "__index__",
    "__int__",
    "__repr__",
    "item",
    "numpy",
    "tolist",
)
"""The methods by which Python gets a tensor's value."""


@contextlib.contextmanager
def decisions() -> Iterator[Asked]:
    """A context that notes each tensor that Python asks for its value, and the answer, by the user's line."""
    found: Asked = {}

    def noting(method: Any) -> Any:
        def noted(self: Tensor, *given: Any, **named: Any) -> Any:
            answer = method(self, *given, **named)
            frame: Any = sys._getframe(1)
            where = user_line(frame)
            while frame is not None and frame.f_globals.get("__name__", "").startswith(
                ("jaxvjp.tensor", "jaxvjp.types", "jaxvjp.optim.cycles")
            ):
                frame = frame.f_back
            # It is the user's line itself, and no optimizer that it calls; a schedule reads for it.
            if where is not None and frame is not None and where[0] is frame.f_code:
                found.setdefault(where, []).append((self.__shown__, answer))
            return answer

        return noted

    own = {name: getattr(Tensor, name) for name in ASKED}
    for name, method in own.items():
        setattr(Tensor, name, noting(method))
    try:
        yield found
    finally:
        for name, method in own.items():
            setattr(Tensor, name, method)


def said(decided: Mapping[Any, list[tuple[Node, Any]]], script: str, read: Iterable[Statement] = ()) -> list[str]:
    """What values decided: `line 5: while y.norm() < 10: true 3 times, false once; see jax.lax.while_loop`; and the
    other statements that `read` values, as `x[x > 0]` does."""
    lines, told = [], set[ast.stmt]()
    places: dict[Any, tuple[Any, list[Any]]] = {}
    for where, asked in decided.items():
        found = statement(where)
        if found is not None:
            own = [_as_condition(found, answer) for _, answer in asked]
            places.setdefault((found.filename, found.line), (found, []))[1].extend(own)
    for found, answers in places.values():
        true, false = (sum(each is answer for each in answers) for answer in (True, False))
        often = f"true {true} times, false {false} times" if true + false else f"read {len(answers)} times"
        function = WHILE if isinstance(found.tree, ast.While) else "jax.lax.cond"
        decides = any(each is not None for each in answers) and not found.prints  # `print((w > 0).all().item())`
        if decides or isinstance(found.tree, ast.While | ast.If):
            at = told_line(found.filename, found.line, script)
            lines.append(f"{at}: {found.text} {often}; see {function}")
            told.add(found.tree)
    for each in read:
        if each.tree not in told:
            lines.append(f"{told_line(each.filename, each.line, script)}: {each.text}: {NUMBERS}")
            told.add(each.tree)
    return lines


def _as_condition(found: Statement, answer: Any) -> Any:
    """Whether the condition of a line held, if a tensor was asked for that or for its contrary; of another truth value
    "a part", of other numbers None."""
    if not isinstance(answer, bool):
        return None
    whole: Any = found.expression if isinstance(found.expression, ast.IfExp) else found.tree
    test, turned = getattr(whole, "test", None), False
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, turned = test.operand, not turned
    several = test is None or isinstance(test, ast.BoolOp | ast.IfExp) or len(getattr(test, "ops", "")) > 1
    return "a part" if several or found.expression not in (whole, test) else answer is not turned
