"""What a lesson is: a prediction to make, two forms that agree, an exercise."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import Any

import jax
import numpy as np

from jaxvjp.explain import terminal
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.tools.examples import ExampleFile, folder

THOUSANDS = r"(?<=\d)[,_](?=\d{3}(?!\d))"
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|[-+]?\binf\b|\bnan\b"


@dataclass(frozen=True)
class Prediction:
    """What a person is asked before the lesson shows anything.

    Args:
        question: what to predict.
        program: a function of the lesson's file, which is shown. What it returns is the answer: numbers; a tuple, which
            is a shape, or numbers one after the other; True or False, which are yes and no.
        because: why that is the answer.
        mistakes: by an answer that people give instead, as they would write it, the misconception behind it.
    """

    question: str
    program: Callable[[], Any]
    because: str
    mistakes: Mapping[str, str]

    @cached_property
    def _answer(self) -> tuple[str, str]:
        value = plain(self.program())
        if isinstance(value, bool):
            return "yes" if value else "no", "yes or no"
        if isinstance(value, tuple) and all(isinstance(each, int) for each in value):
            return terminal.numbers(value), "a shape"
        if isinstance(value, tuple | list):
            value = np.concatenate([np.ravel(each) for each in value])
        count = np.size(value)
        return terminal.numbers(value), "one number" if count == 1 else f"{count} numbers"

    @property
    def answer(self) -> str:
        """The right answer, computed, as it is printed."""
        return self._answer[0]

    @property
    def kind(self) -> str:
        """What an answer looks like."""
        return self._answer[1]

    def judge(self, said: str) -> str | None:
        """What to say to an answer; None if it is none of the kind that was asked for."""
        right, given = read(self.answer), read(said)
        if len(given) != len(right):
            given = read(re.sub(THOUSANDS, "", said))
        if not given or type(given[0]) is not type(right[0]):
            return None
        if len(given) != len(right) and self.kind != "a shape":
            return None
        if same(given, right):
            return f"Right: {self.answer}."
        for mistake, misconception in self.mistakes.items():
            if same(given, read(mistake)):
                return f"Not yet. {misconception}"
        return "Not yet."


def read(text: str) -> list[float] | list[bool]:
    """The numbers in an answer, however it is written (`[3, 4]`, `3 4`, `(3, 4)`); a bool of yes or no."""
    word = re.match(r"\s*(y|yes|true|n|no|false)\s*$", text, re.IGNORECASE)
    if word:
        return [word[1][0].lower() in "yt"]
    return [float(each) for each in re.findall(NUMBER, re.sub("[\u2212\u2013]", "-", text), re.IGNORECASE)]


@dataclass(frozen=True)
class Exercise:
    """A function to write, and how an answer is told from the mistakes that people make.

    Args:
        solution: the function; its name, parameters and docstring are the task.
        trial: calls a function like it and returns what shows whether it is right, by what it was asked.
        hint: what to think of.
        mistakes: by the sentence that explains it, a function with that mistake. An answer for which `trial` gives the
            same as for a mistake, or raises the same, has made it.
        further: trials like it, for answers that pass it: other inputs, of which the task speaks, too.
    """

    solution: Callable[..., Any]
    trial: Callable[[Callable[..., Any]], dict[str, Any]]
    hint: str
    mistakes: Mapping[str, Callable[..., Any]]
    further: Sequence[Callable[[Callable[..., Any]], dict[str, Any]]] = ()

    @property
    def name(self) -> str:
        """The name of the function to write."""
        return str(self.solution.__name__)

    @property
    def task(self) -> str:
        """The text to complete: a file with the function's head and no body."""
        described = inspect.getdoc(self.solution) or ""
        end = "\n" if "\n" in described else ""
        lines = [f"    {line}".rstrip() for line in f'"""{described}{end}"""'.splitlines()]
        head = f"def {self.name}{inspect.signature(self.solution)}:"
        return "\n".join(["import jax", "import jax.numpy as jnp", "", "", head, *lines, "    ...", ""])

    def outcomes(self, function: Callable[..., Any], trials: int | None = None) -> list[tuple[dict[str, Any], Any]]:
        """For each trial of a function, or the first `trials`, what it gives, by what it was asked; of an error its
        text, and the error."""

        def called(*arguments: Any) -> Any:
            try:
                result = function(*arguments)
                if result is None:
                    raise TypeError(f"`{self.name}` returned None. Does it end with a `return`?")
            except Exception as error:
                vars(error)["arguments"] = arguments
                raise
            return result

        def outcome(trial: Callable[[Callable[..., Any]], dict[str, Any]]) -> tuple[dict[str, Any], Any]:
            try:
                return {asked: plain(value) for asked, value in trial(called).items()}, None
            except Exception as error:
                return {"raises": summary(error)}, error

        return [outcome(trial) for trial in (self.trial, *self.further)[:trials]]


def summary(error: BaseException) -> str:
    """The class of an error, and the first line of what it says."""
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def plain(value: Any) -> Any:
    """A result with NumPy's arrays in place of tensors and JAX's."""

    def converted(each: Any) -> Any:
        each = each.detach().numpy() if isinstance(each, Tensor) else each
        return np.asarray(each) if isinstance(each, jax.Array) else each

    return jax.tree.map(converted, value, is_leaf=lambda each: isinstance(each, Tensor))


def same(one: Any, other: Any, rtol: float = 1e-3) -> bool:
    """Whether two results have one structure and equal shapes, and their numbers agree: to three digits, as a person
    predicts them, or to `rtol`."""
    leaves, structure = jax.tree.flatten(one)
    others, of_other = jax.tree.flatten(other)
    return str(structure) == str(of_other) and all(
        np.shape(a) == np.shape(b) and (a == b if isinstance(a, str) else np.allclose(a, b, rtol, 1e-5, equal_nan=True))
        for a, b in zip(leaves, others, strict=True)
    )


class Lesson(ExampleFile):
    """A lesson, and what its file says."""

    @property
    def called(self) -> str:
        """What the command line knows it by: its number, or its path, for a shell, where it is somebody's own."""
        return str(self.number) if self.path.parent == folder() / "lessons" else quote(str(self.path))

    @property
    def prediction(self) -> Prediction:
        return self._named("PREDICTION")  # type: ignore[no-any-return]

    @property
    def exercise(self) -> Exercise:
        return self._named("EXERCISE")  # type: ignore[no-any-return]

    def _named(self, name: str) -> Any:
        if not hasattr(self.module, name):
            raise TypeError(f"a lesson has `{name} = {name.title()}(...)`: `python -m jaxvjp lesson new` begins one")
        return getattr(self.module, name)

    def results(self) -> list[tuple[str, str, str, bool]]:
        """By name what the imperative form gives, what the functional one gives, and whether they agree."""
        module = self.module
        given, expected = module.imperative(), module.functional()
        if not (isinstance(given, dict) and isinstance(expected, dict)):
            raise TypeError("`imperative` and `functional` each return a dict, with the names of what they computed")
        if given.keys() != expected.keys():
            told = f"`imperative` returns {', '.join(given)}, and `functional` {', '.join(expected)}"
            raise TypeError(f"{told}: both return the same names")
        pairs = {name: (plain(value), plain(expected[name])) for name, value in given.items()}
        return [
            (name, terminal.numbers(one), terminal.numbers(other), same(one, other))
            for name, (one, other) in pairs.items()
        ]


def lessons() -> list[Lesson]:
    """All lessons, in order."""
    return [Lesson(path.stem.partition("_")[2], path) for path in sorted((folder() / "lessons").glob("[0-9]*.py"))]


def find(wanted: str) -> Lesson | None:
    """The lesson of a number, a name or a file; None if there is none."""
    for lesson in lessons():
        if wanted in (str(lesson.number), f"{lesson.number:02}", lesson.name, lesson.path.stem):
            return lesson
    path = Path(wanted if wanted.endswith(".py") else f"{wanted}.py")
    return Lesson(path.stem, path.resolve()) if path.is_file() else None
