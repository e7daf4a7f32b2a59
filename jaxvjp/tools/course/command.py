"""`python -m jaxvjp lesson 4`: asks for a prediction, shows both forms of a lesson, and checks its exercise."""

from __future__ import annotations

import argparse
import difflib
import importlib.util
import shutil
import sys
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from shlex import quote
from textwrap import indent

from jaxvjp.explain import terminal
from jaxvjp.explain.terminal import wrapped
from jaxvjp.tools.course.checking import RIGHT, check, faults
from jaxvjp.tools.course.lesson import Lesson, Prediction, find, lessons
from jaxvjp.tools.course.page import FORMS, save

INSIDE = " " * 4


def main(arguments: Sequence[str]) -> int:
    """The command; returns its exit status: 1 where forms disagree or an answer is wrong, 2 for a wrong call."""
    parser = argparse.ArgumentParser(
        prog="jaxvjp lesson", description="Teaches JAX to those who know torch. Without a lesson it lists them."
    )
    parser.add_argument("lesson", nargs="?", help="a lesson's number, name or file; or `new`, to write one")
    parser.add_argument("name", nargs="?", help="after `new`: the name of the file, which begins as a copy of lesson 1")
    parser.add_argument("--html", type=Path, metavar="FILE", help="check the lesson itself, and write it as one page")
    parser.add_argument("--reveal", action="store_true", help="wait for no answer")
    parser.add_argument("--exercise", action="store_true", help="print the text to complete, and nothing else")
    parser.add_argument("--check", type=Path, metavar="FILE", help="say what is wrong with an answer to the exercise")
    parser.add_argument("--seconds", type=float, default=30, help="how long an answer may run (30)")
    given = parser.parse_args(arguments)
    if given.seconds <= 0:
        parser.error("an answer needs time: --seconds 30")
    if given.lesson is None and (given.exercise or given.check or given.html):
        parser.error("of which lesson? Its number comes first: python -m jaxvjp lesson 1 --exercise")
    if given.lesson == "new" and given.name is None:
        parser.error("the name of the new lesson is missing: python -m jaxvjp lesson new my_lesson")
    if given.lesson is None:
        terminal.table(["", "lesson"], [[str(each.number), each.title] for each in lessons()])
        print("\nBegin with: python -m jaxvjp lesson 1")
        return 0
    if given.lesson == "new":
        path = Path(given.name if given.name.endswith(".py") else f"{given.name}.py")
        if not given.name.removesuffix(".py").strip():
            parser.error(f"{given.name!r} is no name of a file")
        if path.exists():
            parser.error(f"there is a file {str(path)!r}")
        if not path.parent.is_dir():
            parser.error(f"there is no folder {str(path.parent)!r}")
        if path.stem.isidentifier() and importlib.util.find_spec(path.stem):
            parser.error(f"{path.stem!r} is the name of a module, which {str(path)!r} would hide")
        shutil.copyfile(lessons()[0].path, path)
        print(f"{path} is a copy of lesson 1, to be changed. Then check it, and write its page again:")
        print(f"    python -m jaxvjp lesson {quote(str(path))} --html {quote(str(path.with_suffix('.html')))}")
        given.lesson, given.html = str(path), path.with_suffix(".html")
    lesson = find(given.lesson)
    if lesson is None:
        print(f"There is no lesson {given.lesson!r}.", file=sys.stderr)
        words = {word: each.name for each in lessons() for word in (each.name, *each.name.split("_"))}
        close = difflib.get_close_matches(given.lesson, words, n=1)
        print(f"Did you mean {words[close[0]]!r}?" if close else f"There are 1 to {len(lessons())}.", file=sys.stderr)
        return 2
    if given.html is not None:
        return written(lesson, given.html)
    if given.exercise:
        print(lesson.exercise.task, end="")
        return 0
    if given.check is not None:
        return checked(lesson, given.check, given.seconds)
    wrong = [] if lesson.called.isdigit() else faults(lesson)
    if wrong:
        return unfinished(lesson, wrong)
    return taught(lesson, not given.reveal and sys.stdin.isatty() and sys.stdout.isatty())


def checked(lesson: Lesson, answer: Path, seconds: float) -> int:
    """Prints what is wrong with an answer; 0 if nothing is."""
    if not answer.is_file():
        print(f"There is no file {str(answer)!r}. Begin with the text of the exercise:", file=sys.stderr)
        print(f"    python -m jaxvjp lesson {lesson.called} --exercise > {quote(str(answer))}", file=sys.stderr)
        return 2
    told = check(lesson, answer, seconds)
    right = f"Right: {lesson.exercise.name} does what was asked."
    print(right if told == RIGHT else "\n".join(map(wrapped, f"Not yet. {told}".splitlines())))
    return 0 if told == RIGHT else 1


def written(lesson: Lesson, page: Path) -> int:
    """Writes a lesson as one page, if nothing is wrong with it."""
    wrong = faults(lesson)
    if wrong:
        return unfinished(lesson, wrong)
    save(lesson, page)
    print(f"{page} is the lesson as one page, for any browser. It needs no network.")
    torch = sys.modules.get("torch")
    if torch is not None and any(each is torch for each in vars(lesson.module).values()):
        told = "Its lines ran under torch itself, so the page has no v to move, no J and no graph"
        print(wrapped(f"{told}: write `import jaxvjp as torch` in place of `import torch`."))
    return 0


def unfinished(lesson: Lesson, wrong: list[str]) -> int:
    """Prints what is wrong with a lesson itself; 1."""
    print("\n".join(map(wrapped, [f"{lesson.path.name} is not finished:", *wrong])))
    return 1


def taught(lesson: Lesson, wait: bool) -> int:
    """Prints a lesson; waits for a prediction if it is to. 0 if both forms agree."""
    place = f"Lesson {lesson.called} of {len(lessons())}. " if lesson.called.isdigit() else ""
    terminal.heading(place + lesson.title)
    prediction = lesson.prediction
    asked = f"{prediction.question} ({prediction.kind})"
    terminal.heading("\nPredict first")
    print(f"\n{indent(lesson.source(prediction.program.__name__), INSIDE)}\n\n{wrapped(asked)}\n")
    print(wrapped(predicted(prediction) if wait else f"The answer: {prediction.answer}."))
    print(f"{wrapped(prediction.because)}\n")
    for paragraph in lesson.text.split("\n\n"):
        print((paragraph if paragraph.startswith("    ") else wrapped(paragraph)) + "\n")
    print(side_by_side(lesson) + "\n")
    rows = lesson.results()
    cells = [[name, one, other, "yes" if agrees else "NO"] for name, one, other, agrees in rows]
    terminal.table(["what", "imperative", "functional", "agree"], cells)
    terminal.heading("\nExercise: complete this function")
    print(f"\n{indent(lesson.exercise.task, INSIDE)}\n")
    print(f"    python -m jaxvjp lesson {lesson.called} --exercise > my_answer.py    # to begin with")
    print(f"    python -m jaxvjp lesson {lesson.called} --check my_answer.py         # says what is wrong")
    return 0 if all(agrees for *_, agrees in rows) else 1


def predicted(prediction: Prediction) -> str:
    """Waits for a person's prediction until it is right, and says what is wrong; an empty one asks for the answer."""
    while True:
        try:
            said = input("> ")
        except EOFError:
            said = ""
        except KeyboardInterrupt:
            raise SystemExit(130) from None
        if not said.strip():
            return f"The answer: {prediction.answer}."
        judgement = prediction.judge(said) or f"That is not {prediction.kind}."
        if judgement.startswith("Right"):
            return judgement
        print(wrapped(f"{judgement} Try again, or press Enter to see the answer."))


def side_by_side(lesson: Lesson) -> str:
    """Both forms, beside one another if the terminal is wide enough."""
    left, right = ([f"{head}:", "", *lesson.source(form).splitlines()] for head, form in FORMS)
    width = max(map(len, left))
    if width + 3 + max(map(len, right)) <= shutil.get_terminal_size().columns:
        return "\n".join(f"{one:{width}} │ {other}".rstrip() for one, other in zip_longest(left, right, fillvalue=""))
    return "\n\n".join("\n".join([head, indent("\n".join(lines), INSIDE)]) for head, *lines in (left, right))
