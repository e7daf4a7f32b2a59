"""The result of a comparison, as data: two sides, their lines and gradients in pairs, and whether all agree."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from jaxvjp.tools.comparison.gradients import Call, CallPair, Leaf, compare_calls, largest
from jaxvjp.tools.comparison.text import DIFFERENT, TOLERANCE, Line, compare_line, compare_lines, text

FINISHED, RAISED, EXITED = "finished", "raised", "exited"
TIMED_OUT, CRASHED, ENDLESS = "timed out", "crashed", "printed without end"

ROUNDING = 1e-4
"""How far gradients are apart by rounding in single precision, relative to the largest one of their backward pass."""
OF_A_SIDE = ("status", "detail", "error", "version", "seconds", "loading")


SIDE_HEADS = ("", "version", "loading", "run", "lines", "backward passes", "end")
"""What stands above `Side.cells`."""


@dataclass
class Side:
    """What a program did under one of the two modules.

    Attributes: `module` ("torch" or "jaxvjp") and its `version`; `status` (how it ended) with `detail`; the `error`
    that it raised (kind, text, line); the `seconds` that it ran, and that `loading` the module took; the `lines` that
    it printed; the `calls` of `backward` and `grad`; the end of its standard error, `errors`.
    """

    module: str
    version: str = ""
    status: str = FINISHED
    detail: str = ""
    error: dict[str, Any] | None = None
    seconds: float | None = None
    loading: float | None = None
    lines: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    errors: str = ""

    @property
    def ending(self) -> str:
        """How it ended, in a few words: for an exception its class, first line, and the line of code."""
        if self.error is not None:
            first = str(self.error["text"]).partition("\n")[0]
            line = self.error["line"]
            return f"{self.error['kind']}: {first}" + (f" (line {line})" if line else "")
        return f"{self.status} {self.detail}".strip()

    @property
    def cells(self) -> list[str]:
        """Its row in a table."""
        seconds = ["-" if each is None else f"{each:.2f} s" for each in (self.loading, self.seconds)]
        return [self.module, self.version, *seconds, str(len(self.lines)), str(len(self.calls)), self.ending]

    @property
    def comparable(self) -> str:
        """How it ended, without the line of code, and without the advice in jaxvjp's errors."""
        if self.error is not None:
            return f"{self.error['kind']}: " + str(self.error["text"]).partition("\n")[0].rstrip(". ")
        return self.ending


@dataclass
class Outcome:
    """A program under torch and under jaxvjp, compared.

    Attributes: `name` (of the script or function); `torch` and `jaxvjp`, the two sides; `tolerance`; `lines` (each
    printed line of both), `calls` (each `backward` and `grad`, with its gradients), `results` (what a function
    returned), each with its verdict. `double` says whether it ran in double precision, and `repeated` is the outcome of
    that where single precision differed in numbers; `unrepeated` says how torch ended there, where it could not
    be. `as_dict` is its JSON.
    """

    name: str
    torch: Side
    jaxvjp: Side
    tolerance: float = TOLERANCE
    results: list[Leaf] = field(default_factory=list)
    double: bool = False
    repeated: Outcome | None = None
    unrepeated: str = ""
    lines: list[Line] = field(init=False)
    calls: list[CallPair] = field(init=False)

    def __post_init__(self) -> None:
        self.lines = compare_lines(self.torch.lines, self.jaxvjp.lines, self.tolerance)
        self.calls = compare_calls(self.torch.calls, self.jaxvjp.calls, self.tolerance)

    @property
    def endings_agree(self) -> bool:
        """Whether both ended normally, or with the same exception or exit status. Two hangs do not agree."""
        if any(each.status in (TIMED_OUT, CRASHED, ENDLESS) for each in (self.torch, self.jaxvjp)):
            return False
        endings = self.torch.comparable, self.jaxvjp.comparable
        return compare_line(*endings, self.tolerance).verdict != DIFFERENT

    @property
    def differs(self) -> bool:
        """Whether anything differs by more than the tolerance."""
        return not self.endings_agree or any(
            each.verdict == DIFFERENT for part in (self.lines, self.calls, self.results) for each in part
        )

    @property
    def differs_in_numbers(self) -> bool:
        """Whether numbers differ as by rounding, and no shape, dtype or end. Text may differ after a number."""
        lines = [each for each in self.lines if each.verdict == DIFFERENT]
        leaves = [leaf for call in self.calls for leaf in call.leaves] + self.results
        return (
            self.differs
            and self.endings_agree
            and (any(leaf.verdict == DIFFERENT for leaf in leaves) or all(map(_of_one_text, lines[:1])))
            and all(leaf.absolute is not None for leaf in leaves if leaf.verdict == DIFFERENT)
            and not any(call.note for call in self.calls if call.verdict == DIFFERENT)
        )

    @property
    def rounding(self) -> bool:
        """Whether only gradients differ, by at most ROUNDING of the largest gradient of their backward pass."""
        sizes = [max([largest(each) for _, each in call.leaves], default=0.0) for call in self.torch.calls]
        near = [
            leaf.absolute is not None and leaf.absolute <= ROUNDING * size
            for call, size in zip(self.calls, sizes, strict=False)
            for leaf in call.leaves
            if leaf.verdict == DIFFERENT
        ]
        others = [each.verdict for part in (self.lines, self.results) for each in part]
        return self.differs_in_numbers and all(near) and DIFFERENT not in others

    @property
    def unanswered(self) -> str:
        """Why it is no answer that nothing differs, if it is none: code could not be loaded, or nothing was compared.

        An error that jaxvjp raises as torch does is something that was compared.
        """
        error = self.jaxvjp.error or {}
        if self.differs:
            return ""
        if error.get("unrun"):
            return "so it was not run to its end"
        compared = self.lines or self.calls or self.results or error.get("own")
        return "" if compared else "nothing was compared: no line was printed, and no gradient was asked for"

    @property
    def verdict(self) -> str:
        """In a few words."""
        if self.differs:
            near = "WITHIN ROUNDING" if self.unrepeated and self.rounding else "DIFFERENT"
            return "equal in double precision" if self.repeated and self.repeated.equal else near
        return "NO ANSWER" if self.unanswered else "equal"

    @property
    def equal(self) -> bool:
        """Whether something was compared, and nothing differs by more than the tolerance, or only by rounding."""
        return self.verdict.startswith("equal")

    @property
    def answer(self) -> str:
        """Whether it does the same, in one sentence; if not, what differs first."""
        same = f"{self.name} does the same under torch and under jaxvjp" + " in double precision" * self.double
        if self.equal:
            return same + ("; in single precision its numbers differ by rounding." if self.differs else ".")
        if not self.differs:
            ended = f"both raise {self.jaxvjp.comparable}, " if (self.jaxvjp.error or {}).get("unrun") else ""
            return f"Whether {same} is not known: {ended}{self.unanswered}."
        failed = f"could not be repeated in double precision ({self.unrepeated})"
        if self.verdict != "DIFFERENT":
            return f"{self.name} differs by no more than rounding in single precision does, and {failed}."
        what = "what it returns differs" if self.endings_agree else "they end differently"
        for place, call in reversed([*enumerate(self.calls, 1)]):
            what = f"backward pass {place}, in line {call.line}, differs" if call.verdict == DIFFERENT else what
        for place, line in reversed([*enumerate(self.lines, 1)]):
            what = f"printed line {place} differs" if line.verdict == DIFFERENT else what
        again = ", and does not in double precision" if self.repeated is not None else ""
        again = f", and {failed}" if self.unrepeated else again
        return f"{self.name} does not do the same under torch and under jaxvjp{again}: {what}."

    def raise_if_different(self) -> None:
        """AssertionError, with the report as its text, unless all agrees."""
        assert self.equal, f"\n{self}"

    @property
    def summary(self) -> str:
        """One line."""
        parts = [
            f"{sum(each.verdict != DIFFERENT for each in found)} of {len(found)} {what} agree"
            for found, what in (
                (self.lines, "lines"),
                (self.calls, "backward passes"),
                (self.results, "results"),
            )
            if found
        ]
        if not self.endings_agree:
            parts.append("they end differently")
        elif self.jaxvjp.status != FINISHED:
            parts.append(f"both raise {self.jaxvjp.comparable}" if self.jaxvjp.error else f"both {self.jaxvjp.ending}")
        parts += [self.unanswered] * (self.verdict == "NO ANSWER")
        if self.differs and self.equal:
            parts[:1] = [f"in single precision {each}" for each in parts[:1]]
        return f"{self.name}: {self.verdict}" + "".join(f", {part}" for part in parts)

    def as_dict(self) -> dict[str, Any]:
        """The report for JSON, without the gradients' numbers; infinity and NaN are strings."""
        sides = (self.torch, self.jaxvjp)
        return {
            **{name: getattr(self, name) for name in ("name", "answer", "equal", "double", "unanswered", "tolerance")},
            "endings_agree": self.endings_agree,
            **{
                each.module: {name: getattr(each, name) for name in OF_A_SIDE} | {"stderr": each.errors}
                for each in sides
            },
            "lines": [_plain(line) for line in self.lines],
            "calls": [{**_plain(call), "leaves": [_plain(leaf) for leaf in call.leaves]} for call in self.calls],
            "results": [_plain(result) for result in self.results],
        }


def _plain(record: Any) -> dict[str, Any]:
    return {
        name: repr(value) if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in record._asdict().items()
        if name != "leaves"
    }


def _of_one_text(line: Line) -> bool:
    return None not in line[:2] and text(line.torch or "") == text(line.jaxvjp or "")
