"""The pages of the site about lessons and documents, in Markdown; what they show is computed when the site is built."""

from __future__ import annotations

from pathlib import Path

import jaxvjp
from jaxvjp.explain import terminal
from jaxvjp.tools.course.command import FORMS
from jaxvjp.tools.course.lesson import Lesson, lessons
from jaxvjp.tools.examples import ExampleFile, Run, documents, examples


def of_lesson(page: str, site: Path) -> str:
    """The page of a lesson: a prediction, whose answer is folded, both forms with their results, and the exercise.

    The page that follows v is written into `site`, for lessons with a backward.
    """
    lesson = next(each for each in lessons() if each.path.stem == Path(page).name)
    prediction, exercise = lesson.prediction, lesson.exercise
    mistakes = "\n".join(f"- {given}: {misconception}" for given, misconception in prediction.mistakes.items())
    rows = [[f"`{name}`", one, other, "yes" if agrees else "NO"] for name, one, other, agrees in lesson.results()]
    parts = [
        f"# {lesson.number}. {title(lesson)}",
        f"**{lesson.title}**",
        "## Predict first",
        code(lesson.source(prediction.program.__name__)),
        f"{prediction.question} ({prediction.kind})",
        folded("The answer", f"**{prediction.answer}.** {prediction.because}"),
        folded("My answer was another one", mistakes),
        "## Both forms",
        lesson.text,
        *forms(lesson),
        table(["what", "imperative", "functional", "agree"], rows),
        *followed(lesson, site),
        "## Exercise",
        "Complete this function:",
        code(exercise.task),
        "The check says what is wrong with an answer:",
        f"```sh\npython -m jaxvjp lesson {lesson.number} --exercise > my_answer.py\n"
        f"python -m jaxvjp lesson {lesson.number} --check my_answer.py\n```",
        folded("A hint", exercise.hint),
        folded("What often goes wrong", "\n".join(f"- {sentence}" for sentence in exercise.mistakes)),
        folded("A solution", code(lesson.source(exercise.name))),
    ]
    return "\n\n".join(parts) + "\n"


def of_document(page: str) -> str:
    """What the page of a document ends with: the examples that are from it, run."""
    document = next(each for each in documents().values() if each.path.stem == Path(page).name)
    runs = [each.run() for each in examples().values() if document.name in each.module.DOCUMENTS]
    return "\n\n" + "\n\n".join(map(of_example, runs)) + "\n"


def of_example(run: Run) -> str:
    """The section about an example: both forms, J, v and vᵀJ, and whether all agree with the document."""
    rows = [
        [
            f"`{each.name}`",
            *map(terminal.numbers, (each.backward, each.vjp, each.product, each.number)),
            "yes" if each.agrees else "NO",
        ]
        for each in run.answers
    ]
    shown = "\n\n".join(f"{each.name}:\n{each.matrices}" for each in run.answers)
    return "\n\n".join(
        [
            f"## {title(run.example)}",
            f"**{run.example.title}**",
            run.example.text,
            *forms(run.example),
            table(["gradient", "backward", "jax.vjp", "vᵀJ", "the document", "agree"], rows),
            "J, v and vᵀJ:",
            code(shown, "text"),
        ]
    )


def forms(file: ExampleFile) -> list[str]:
    """Both forms of a lesson or an example."""
    return [part for head, form in FORMS for part in (f"{head[0].upper()}{head[1:]}:", code(file.source(form)))]


def followed(lesson: Lesson, site: Path) -> list[str]:
    """The page on which v can be moved, for lessons whose imperative form has a backward."""
    with jaxvjp.explain.recording() as story:
        lesson.module.imperative()
    if not story.walks:
        return []
    page = Path("followed", f"{lesson.path.stem}.html")
    (site / page).parent.mkdir(parents=True, exist_ok=True)
    story.save(site / page)
    told = "The imperative lines beside the program that they were. You can move v, and step through the backward pass"
    link = f'<p>{told}: on <a href="../../{page}">a page of its own</a>, or here.</p>'
    frame = f'<iframe src="../../{page}" title="Move v" loading="lazy" style="width: 100%; height: 50em"></iframe>'
    return ["## Move v", link, folded("Open it here", frame)]


def title(file: ExampleFile) -> str:
    """The name of a file, as a title."""
    return file.name.replace("_", " ").capitalize()


def folded(summary: str, text: str) -> str:
    """A part of the page that is closed until somebody opens it."""
    return f"<details>\n<summary>{summary}</summary>\n\n{text}\n\n</details>"


def code(text: str, language: str = "python") -> str:
    return f"```{language}\n{text.rstrip()}\n```"


def table(columns: list[str], rows: list[list[str]]) -> str:
    lines = [f"| {' | '.join(each)} |" for each in [columns, *rows]]
    return "\n".join([lines[0], "|---" * len(columns) + "|", *lines[1:]])
