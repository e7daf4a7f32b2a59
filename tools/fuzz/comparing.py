"""Runs a program under torch and under jaxvjp, statement by statement, and compares all that a program can see."""

from __future__ import annotations

import importlib
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jaxvjp
from tools.fuzz.exceptions import (
    BY_STRIDES,
    DROPPED,
    FORGOTTEN,
    GIVEN_UP,
    GONE,
    MASKED,
    OF_SEVERAL,
    OVERWRITTEN,
    REFUSED,
    RENAMED,
    TURNED,
    UNNEEDED,
    WALK,
    integers_require,
    laid_out_apart,
    left_open,
    mixes,
    of_a_turned_tensor,
)
from tools.fuzz.outcomes import plain, same
from tools.fuzz.programs import Program, Statement
from tools.fuzz.running import HARMLESS, Failure, Run, bases_of, shapes_of, strides_taken, views_of

LARGEST = 2.0**24
"""A float32 holds the whole numbers up to here. Where torch's values are larger, or NaN, a comparison ends."""


def gradient(x: Any) -> Any:
    return x.grad is not None and (tuple(x.grad.shape), x.grad.requires_grad)


COMPARED: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "shape": ("layout", lambda x: tuple(x.shape)),
    "dtype": ("layout", lambda x: str(x.dtype)),
    "requires_grad": ("requires_grad, is_leaf", lambda x: x.requires_grad),
    "is_leaf": ("requires_grad, is_leaf", lambda x: x.is_leaf),
    "grad_fn": ("requires_grad, is_leaf", lambda x: x.grad_fn is not None),
    "retains_grad": ("requires_grad, is_leaf", lambda x: x.retains_grad),
    "grad": ("grad is there", gradient),
    "value": ("value", lambda x: x.tolist()),
    "grad's value": ("value", lambda x: None if x.grad is None else x.grad.tolist()),
    "stride": ("layout", lambda x: (strides_taken(x), x.is_contiguous())),
    "storage_offset": ("layout", lambda x: x.storage_offset()),
    "_is_view": ("layout", lambda x: x._is_view()),
    "_version": ("version", lambda x: x._version),
}
"""What is compared of each variable, in this order: what sort of disagreement it is, and how to see it."""


class Disagreement(NamedTuple):
    """Which sort, of what exactly, after which kind of statement; and in which statement, with both outcomes."""

    sort: str
    what: str
    after: str
    where: str
    expected: Any
    given: Any

    @property
    def kind(self) -> tuple[str, str, str]:
        return self[:3]

    def __str__(self) -> str:
        return f"# {self.sort}, {self.where}\n#   torch   {self.expected}\n#   jaxvjp  {self.given}"


class UndefinedError(Exception):
    """A value is too large to be compared, or none."""


def sort_of_error(expected: Any, given: Any) -> str:
    if not isinstance(given, Failure):
        return "missing error"
    return "other error" if isinstance(expected, Failure) else "error without torch's"


def general(outcome: Any) -> str:
    """An outcome without what differs from program to program."""
    if isinstance(outcome, Failure):
        return f"{outcome.kind}: {re.sub(r'[0-9]+|[0-9, ]*[0-9]', '0', outcome.sentence)[:90]}"
    return str(outcome) if isinstance(outcome, bool | None) else "a value"


def largest(value: Any) -> float:
    """The largest of the numbers in a plain value, infinite if one is NaN."""
    if isinstance(value, list | tuple):
        return max(map(largest, value), default=0.0)
    if not isinstance(value, float):
        return 0.0
    return math.inf if math.isnan(value) else abs(value)


def close(expected: Any, given: Any, beside: float = 1.0) -> bool:
    """Equal, floats to 1e-5 of the largest or `beside`: elements that cancel are as exact as what they came from."""
    if (size := largest(expected)) > LARGEST:
        raise UndefinedError
    return same(given, expected, 1e-5, 1e-5 * max(beside, size))


def differences(
    ours: Run, theirs: Run, ignored: set[str], beside: float = 1.0
) -> Iterator[tuple[str, str, str, Any, Any]]:
    """In what the variables differ: its sort, its name for all programs and for this one, and both outcomes.

    Numbers are as exact as the largest of them, or as `beside`.
    """
    expected, given = ([(name, plain(grad)) for name, grad in run.calls] for run in (theirs, ours))
    for run in (ours, theirs):
        run.calls.clear()
    if "hooks" not in ignored and not close(expected, given, beside):
        what = "values" if [name for name, _ in expected] == [name for name, _ in given] else "calls"
        yield "hooks", what, what, expected, given
    mine = ours.variables()
    if mine.keys() != theirs.variables().keys():
        yield "variables", "", "names", sorted(theirs.variables()), sorted(mine)
    for what, (sort, see) in COMPARED.items():
        for name, x in theirs.variables().items():
            if what not in ignored and what not in theirs.loose.get(name, ()):
                expected, given = (
                    run.tried(partial(seen, see, each)) for run, each in ((theirs, x), (ours, mine[name]))
                )
                if not close(expected, given, beside):
                    text = what if sort == "value" else f"{what}: torch {general(expected)}, jaxvjp {general(given)}"
                    yield sort, text, f"{name}.{what}", expected, given
    if "data_ptr" not in ignored and hasattr(ours.module.Tensor, "data_ptr"):
        groups = shared(theirs), shared(ours)
        if groups[0] != groups[1]:
            yield "memory shared", "", "data_ptr()", *groups


def seen(see: Callable[[Any], Any], x: Any, torch: Any) -> Any:
    return x if x is None else see(x)


def shared(run: Run) -> list[list[str]]:
    """Which variables begin at the same place in memory."""
    groups: dict[int, list[str]] = defaultdict(list)
    for name, x in run.variables().items():
        if x is not None and x.numel():
            groups[x.data_ptr()].append(name)
    return sorted(groups.values())


def disagreements(
    program: Program, ignored: Iterable[str] = (), ours: Any = jaxvjp, theirs: Any = None
) -> Iterator[Disagreement]:
    """Runs a program under both modules, up to its first disagreement that is not harmless."""
    ignored = set(ignored)
    theirs = importlib.import_module("torch") if theirs is None else theirs
    runs = Run(theirs), Run(ours)
    steps = [("before", each) for each in program.before]
    steps += [(f"round {number}", each) for number in range(program.rounds) for each in program.inside]
    steps = [(place, each) for place, each in steps if not lacking(each.text, ours, theirs)]
    codes: dict[Statement, Any] = {}
    for line, each in enumerate([*program.before, *program.inside]):
        codes.setdefault(each, compile("\n" * line + each.text, "<program>", "exec"))
    elsewhere = False  # whether a view was given other data: for torch, a view of what it was still (docs/storage.md)
    restrided = False  # whether the base of a view got other strides by set_: torch takes the view anew by those
    for number, (place, each) in enumerate(steps, 1):
        if BY_STRIDES.search(each.text) and laid_out_apart(each.text, *runs):
            return
        shapes, views, bases = shapes_of(runs[0]), views_of(runs[0]), bases_of(runs[0])
        expected, given = (run.execute(each, codes[each]) for run in runs)
        where = f"{place}, {each.text}"
        elsewhere |= any(re.search(rf"\b{name}(\.data = |\.set_)", each.text) for name in views)
        restrided |= ".set_(" in each.text and bases_of(runs[0]) != bases
        if each.kind in ("set data", "set_") and any(
            shapes.get(name, shape) != shape for name, shape in shapes_of(runs[0]).items()
        ):
            return  # what graphs of the tensor in its old shape give is left open
        if isinstance(given, Failure) and (
            given.sentence.startswith(REFUSED) or (expected != given and "as_strided" in each.text)
        ):
            return
        if isinstance(expected, Failure) and GIVEN_UP.match(expected.sentence):
            return
        if (
            isinstance(given, Failure)
            and expected == given
            and (WALK.search(each.text) or each.kind in ("hook", "written by a Function"))
        ):
            return  # torch may have gone part of the way, jaxvjp has not (docs/storage.md)
        past = "\n".join(every.text for _, every in steps[:number])
        if expected != given:
            said = [each.sentence for each in (expected, given) if isinstance(each, Failure)]
            if elsewhere or (len(said) == 1 and said[0].startswith(FORGOTTEN) and program.compared != "statement"):
                return
            if len(said) == 2 and all(map(OVERWRITTEN.match, said)) and (RENAMED.search(past) or GONE.search(past)):
                return
            if given is None and "func.hessian" in past and (OF_SEVERAL.match(said[0]) or UNNEEDED.match(said[0])):
                return
            if given is None and TURNED.search(past) and said[0].startswith("The size of tensor a"):
                return
            if ".set_(" in past and "autograd.grad" in each.text:
                return  # for torch, what was recorded before is of another leaf
            overwritten = expected is not None and OVERWRITTEN.match(said[0])
            if given is None and overwritten and of_a_turned_tensor([every for _, every in steps[:number]]):
                return
            if given is not None and expected is None and MASKED.search(each.text) and "unsupported" in said[0]:
                return
            what = f"torch {general(expected)}, jaxvjp {general(given)}"
            yield Disagreement(sort_of_error(expected, given), what, each.kind, where, expected, given)
            return
        if integers_require(runs[0]):
            return
        due = number == len(steps) or program.compared == "statement"
        if due or (program.compared == "round" and steps[number][0] != place):
            after = each.kind if program.compared == "statement" else f"a {program.compared}"
            numbers = [x.tolist() for x in runs[0].variables().values() if x is not None] if ".sin" in past else []
            try:  # a sine of x is as exact as x
                for sort, what, name, expected, given in differences(*runs[::-1], ignored, max(1.0, largest(numbers))):
                    done = [every for _, every in steps[:number]]
                    if restrided and what in ("grad's value", "values"):
                        return
                    if "func.hessian" in past and isinstance(expected, Failure) and OF_SEVERAL.match(expected.sentence):
                        return
                    if sort == "value" and DROPPED.search(past):
                        return
                    if (
                        sort == "hooks"
                        and "post_accumulate" in past
                        and sorted(map(str, expected)) == sorted(map(str, given))
                    ):
                        return
                    if elsewhere or left_open(done, sort, expected, given, views) or mixes(done, theirs):
                        return
                    yield Disagreement(sort, what, after, f"{name} after {where}", expected, given)
                    if (attribute := name.partition(".")[2]) not in HARMLESS:
                        return
                    ignored.add(attribute)
            except UndefinedError:
                return


def lacking(text: str, ours: Any, theirs: Any) -> list[str]:
    """The methods in a statement that our module does not have yet: neither module runs it."""
    names = re.findall(r"\.(\w+)", text)
    return [name for name in names if hasattr(theirs.Tensor, name) and not hasattr(ours.Tensor, name)]


Compare = Callable[[Any, Iterable[str]], Iterable[Disagreement]]
"""`disagreements`, or that of `staged`."""


def found_in(
    program: Program, ignored: Iterable[str] = (), compare: Compare = disagreements
) -> dict[tuple[str, str], tuple[Program, Disagreement]]:
    """The disagreements by kind, each where possible with the program that is compared after each statement."""
    found = {each.kind[:2]: (program, each) for each in compare(program, ignored)}
    if found and program.compared != "statement":
        often = replace(program, compared="statement")
        found |= {each.kind[:2]: (often, each) for each in compare(often, ignored) if each.kind[:2] in found}
    return found
