"""What is wrong with an answer to an exercise, as a sentence.

An answer is a file of somebody else's: it runs in a process of its own, which is ended if it loops.
`python -m jaxvjp.tools.course.checking` is that process.
"""

from __future__ import annotations

import contextlib
import faulthandler
import inspect
import re
import runpy
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from jaxvjp.explain import terminal
from jaxvjp.tools.course.lesson import Exercise, Lesson, find, plain, read, same, summary
from jaxvjp.tools.scripts.program import started_as

RIGHT = "right"
EXACT = 1e-4
"""How far an answer's numbers may be from the right ones, relative: a finite difference is further away."""


def check(lesson: Lesson, answer: Path, seconds: float) -> str:
    """Runs the function of a file against a lesson's exercise: `RIGHT`, or what is wrong.

    What the file prints is printed. It may take `seconds`.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report"
        given = [str(lesson.path), str(answer), str(seconds), str(report)]
        status = subprocess.run([sys.executable, "-m", "jaxvjp.tools.course.checking", *given], check=False).returncode
        told = report.read_text(encoding="utf-8") if report.exists() else ""
    if told.startswith("Timeout"):  # written by `faulthandler`, the innermost frame first
        found = re.search(rf'File "{re.escape(str(answer))}", line (\d+)', told)
        where = f"it was at line {found[1]} of {answer.name}" if found else f"it was in what {answer.name} calls"
        return f"After {seconds:g} seconds it had not come to an end: {where}. Does a loop there never end?"
    return told or f"{answer.name} ended the process, with status {status}, before it could be checked."


def verdict(exercise: Exercise, function: Callable[..., Any], file: str = "") -> str:
    """`RIGHT`, or what is wrong with a function: the sentence of the mistake that does the same, or a difference."""
    gave = exercise.outcomes(function)
    faulthandler.cancel_dump_traceback_later()
    asked_for = exercise.outcomes(exercise.solution)
    pairs = enumerate(zip(gave, asked_for, strict=True))
    wrong = [at for at, (one, other) in pairs if not same(one[0], other[0], EXACT)]
    if not wrong:
        return RIGHT
    tried = wrong[0] + 1  # a mistake has to do the same in the trials before, too
    for sentence, mistake in exercise.mistakes.items():
        if same([each for each, _ in gave[:tried]], [each for each, _ in exercise.outcomes(mistake, tried)], EXACT):
            return sentence
    (given, error), (right, _) = gave[wrong[0]], asked_for[wrong[0]]
    if error is not None:
        called = []
        for name, value in zip(
            inspect.signature(exercise.solution).parameters, vars(error).get("arguments", ()), strict=False
        ):
            with contextlib.suppress(TypeError):  # a key, or what JAX traces, is no number
                called += [] if callable(value) else [f"{name} = {shown(plain(value))}"]
        told = located(error, file) + f"\nThat was for {', '.join(called)}." * bool(called)
    else:
        asked = next(each for each in right if not same(given[each], right[each], EXACT))
        one, other = given[asked], right[asked]
        arrays = all(isinstance(each, np.ndarray) for each in (one, other))
        if isinstance(one, list | tuple) and isinstance(other, np.ndarray):
            told = f"{asked}: your function returned a {type(one).__name__}; an array is asked for."
        elif arrays and one.shape != other.shape:
            told = f"{asked}: your function gave the shape {one.shape}; right is {other.shape}."
        else:
            told = f"{asked}: your function gave {shown(one)}; right is {shown(other)}."
    return f"{told}\nHint: {exercise.hint}"


def faults(lesson: Lesson) -> list[str]:
    """What is wrong with a lesson itself."""
    try:
        prediction, exercise, found = lesson.prediction, lesson.exercise, []
        if not read(prediction.answer):
            program = prediction.program.__name__
            return [f"`{program}` returns {prediction.answer!r}; an answer is numbers, a shape, or True or False."]
        if not lesson.title:
            found.append("It has no docstring: its first line is the title, and what follows is what the lesson says.")
        if not isinstance(tried := exercise.trial(exercise.solution), dict):
            returned = f"`{exercise.trial.__name__}` returns {type(tried).__name__}"
            return [f"{returned}; it has to return a dict, of results by what was asked."]
        for name, one, other, agrees in lesson.results():
            if not agrees:
                found.append(f"`imperative` gives {name} = {one}, `functional` {other}.")
        for given in prediction.mistakes:
            said = prediction.judge(given)
            if said is None:
                found.append(f"The mistake {given!r} is not {prediction.kind}, as the answer {prediction.answer} is.")
            elif not said.startswith("Not yet"):
                found.append(f"The mistake {given!r} is the right answer.")
        if not inspect.getdoc(exercise.solution):
            found.append(f"`{exercise.name}` has no docstring: it is the task, which says what the function returns.")
        for _, error in exercise.outcomes(exercise.solution):
            if error is not None:
                raise error
        parameters = len(inspect.signature(exercise.solution).parameters)
        for sentence, mistake in exercise.mistakes.items():
            told = verdict(exercise, mistake)
            if (own := len(inspect.signature(mistake).parameters)) != parameters:
                found.append(f"`{mistake.__name__}` takes {own} arguments, `{exercise.name}` {parameters}.")
            elif told != sentence:
                told = "as the solution does" if told == RIGHT else f"as what is told {told!r}"
                found.append(f"`{mistake.__name__}` does in the trial {told}, so {sentence!r} is never said.")
    except Exception as error:
        return [located(error, str(lesson.path))]
    return found


def shown(value: Any) -> str:
    """A result on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name!r}: {shown(each)}" for name, each in value.items()) + "}"
    if isinstance(value, tuple | list):
        return "(" + ", ".join(shown(each) for each in value) + ("," if len(value) == 1 else "") + ")"
    return str(value) if isinstance(value, bool | str) or value is None else terminal.numbers(value)


def located(error: BaseException, file: str) -> str:
    """An error with the line of the file that it comes from."""
    name = Path(file).name
    if isinstance(error, SyntaxError) and error.filename == file:
        return f"{name}, line {error.lineno}: {type(error).__name__}: {error.msg}: `{(error.text or '').strip()}`"
    lines = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename == file]
    return f"{f'{name}, line {lines[-1]}: ' if lines else ''}{summary(error)}"


def answered(lesson: Lesson, file: str) -> str:
    """Runs the file and tries its function: what `verdict` says of it, or why there is none."""
    with started_as(Path(file)):
        try:
            function = runpy.run_path(file).get(lesson.exercise.name)
        except Exception as error:
            return located(error, file)
        if callable(function):
            return verdict(lesson.exercise, function, file)
    head = f"`python -m jaxvjp lesson {lesson.called} --exercise` prints its head."
    return f"{Path(file).name} defines no function `{lesson.exercise.name}`. {head}"


if __name__ == "__main__":
    path, file, seconds, to = sys.argv[1:]
    lesson = find(path)
    assert lesson is not None
    with open(to, "w", encoding="utf-8") as report:
        faulthandler.dump_traceback_later(float(seconds), exit=True, file=report)
        with contextlib.suppress(KeyboardInterrupt):  # this process was interrupted with the one that waits for it
            report.write(answered(lesson, file))
