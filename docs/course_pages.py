"""The pages of the site about lessons and documents, in Markdown; what they show is computed when the site is built."""

from __future__ import annotations

from pathlib import Path

import jaxvjp
from jaxvjp.explain import terminal
from jaxvjp.tools.course.lesson import Lesson, lessons
from jaxvjp.tools.course.page import code, folded, forms, markdown, table
from jaxvjp.tools.examples import ExampleFile, Run, documents, examples


def of_lesson(page: str, site: Path) -> str:
    """The page of a lesson. The page that follows v is written into `site`, for lessons with a backward."""
    lesson = next(each for each in lessons() if each.path.stem == Path(page).name)
    return f"# {lesson.number}. {title(lesson)}\n\n{markdown(lesson, followed(lesson, site))}"


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


def followed(lesson: Lesson, site: Path) -> str:
    """The page on which v can be moved, for lessons whose imperative form has a backward."""
    with jaxvjp.explain.recording() as story:
        lesson.module.imperative()
    if not story.walks:
        return ""
    page = Path("followed", f"{lesson.path.stem}.html")
    (site / page).parent.mkdir(parents=True, exist_ok=True)
    story.save(site / page)
    told = "The imperative lines beside the program that they were. You can move v, and step through the backward pass"
    link = f'<p>{told}: on <a href="../../{page}">a page of its own</a>, or here.</p>'
    frame = f'<iframe src="../../{page}" title="Move v" loading="lazy" style="width: 100%; height: 50em"></iframe>'
    return "\n\n".join(["## Move v", link, folded("Open it here", frame)])


def title(file: ExampleFile) -> str:
    """The name of a file, as a title."""
    return file.name.replace("_", " ").capitalize()
