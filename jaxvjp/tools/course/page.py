"""A lesson as a page: as Markdown for the documentation site, and as one HTML file.

Both ask for the prediction in a field (`answer.html`), which is checked in the browser.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from shlex import quote
from typing import Any

from jaxvjp.explain import recording
from jaxvjp.explain.page import embedded, page_of
from jaxvjp.tools.course.lesson import NUMBER, THOUSANDS, Lesson, Prediction, read
from jaxvjp.tools.examples import ExampleFile

FORMS = ("you wrote, in torch", "imperative"), ("this is, in JAX", "functional")


def field(prediction: Prediction) -> str:
    """The field for a prediction, with what to say to the answers that are known."""
    right = read(prediction.answer)
    known: list[tuple[Any, str | None]] = [(right, f"Right: {prediction.answer}. {prediction.because}")]
    known += [(read(given), prediction.judge(given)) for given in prediction.mistakes]
    known = [(numbers, said and said.replace("`", "")) for numbers, said in known]  # it is shown as plain text
    wrong = "Not yet. Think again, or open the answer below."
    other = f"That is not {prediction.kind}. Try again."
    data = {
        "number": NUMBER,
        "thousands": THOUSANDS,
        "right": right,
        "shape": prediction.kind == "a shape",
        "known": known,
    }
    parts = {"KIND": prediction.kind, "ANSWERS": embedded({**data, "wrong": wrong, "other": other})}
    template = Path(__file__).with_name("answer.html").read_text(encoding="utf-8")
    return re.sub("KIND|ANSWERS", lambda found: parts[found[0]], template).rstrip()


def markdown(lesson: Lesson, followed: str = "") -> str:
    """A prediction, whose answer is folded, both forms with their results, what `followed` adds, and the exercise."""
    prediction, exercise, called = lesson.prediction, lesson.exercise, lesson.called
    called = called if called.isdigit() else quote(lesson.path.name)
    rows = [[f"`{name}`", one, other, "yes" if agrees else "NO"] for name, one, other, agrees in lesson.results()]
    parts = [
        f"**{lesson.title}**",
        "## Predict first",
        code(lesson.source(prediction.program.__name__)),
        prediction.question,
        field(prediction),
        folded("The answer", f"**{prediction.answer}.** {prediction.because}"),
        "## Both forms",
        lesson.text,
        *forms(lesson),
        table(["what", "imperative", "functional", "agree"], rows),
        followed,
        "## Exercise",
        "Complete this function:",
        code(exercise.task),
        "The check says what is wrong with an answer:",
        code(
            f"python -m jaxvjp lesson {called} --exercise > my_answer.py\n"
            f"python -m jaxvjp lesson {called} --check my_answer.py",
            "sh",
        ),
        folded("A hint", exercise.hint),
        folded("What often goes wrong", "\n".join(f"- {sentence}" for sentence in exercise.mistakes)),
        folded("A solution", code(lesson.source(exercise.name))),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def save(lesson: Lesson, path: Path) -> None:
    """Writes a lesson as one HTML file: the page of its imperative form, with the lesson around it."""
    story, module = recording(lines=True), lesson.module
    with story.of_a_script(str(lesson.path)):
        module.imperative()
    _, *parts = re.split("^(?=## )", markdown(lesson), flags=re.MULTILINE)
    *before, exercise = [f'<section class="wide">{as_html(each)}</section>' for each in parts]
    page = page_of(story, lesson.title.replace("`", "")).replace("<main>", "\n".join(["<main>", *before]))
    path.write_text(page.replace("</main>", f"{exercise}\n</main>"), encoding="utf-8")


def as_html(text: str) -> str:
    """The HTML of Markdown, as far as `markdown` uses it."""
    parts = re.split(r"^```\w*\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    blocks = [[f"    {part}"] if place % 2 else part.strip().split("\n\n") for place, part in enumerate(parts)]
    return "\n".join(_block(each) for part in blocks for each in part)


def _block(text: str) -> str:
    def inside(each: str) -> str:
        each = re.sub("`+(.+?)`+", r"<code>\1</code>", html.escape(each, quote=False))
        return re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", each)

    if text.startswith("<") or not text:
        return text
    if text.startswith("    "):
        return f'<pre class="scroll">{html.escape(text[4:])}</pre>'
    if text.startswith("## "):
        return f"<h2>{inside(text[3:])}</h2>"
    if text.startswith("- "):
        return f"<ul>{''.join(f'<li>{inside(each)}</li>' for each in text[2:].split(chr(10) + '- '))}</ul>"
    if text.startswith("| "):
        head, _, *rows = [each.strip("| ").split(" | ") for each in text.splitlines()]
        lines = [f"<tr>{''.join(f'<th scope=col>{inside(each)}</th>' for each in head)}</tr>"]
        lines += [f"<tr>{''.join(f'<td>{inside(each)}</td>' for each in row)}</tr>" for row in rows]
        return f'<div class="scroll"><table>{"".join(lines)}</table></div>'
    return f"<p>{inside(text)}</p>"


def forms(file: ExampleFile) -> list[str]:
    """Both forms of a lesson or an example."""
    return [part for head, form in FORMS for part in (f"{head[0].upper()}{head[1:]}:", code(file.source(form)))]


def folded(summary: str, text: str) -> str:
    """A part of the page that is closed until somebody opens it."""
    return f"<details>\n<summary>{summary}</summary>\n\n{text}\n\n</details>"


def code(text: str, language: str = "python") -> str:
    """Code as a block."""
    return f"```{language}\n{text.rstrip()}\n```"


def table(columns: list[str], rows: list[list[str]]) -> str:
    """A table of texts."""
    lines = [f"| {' | '.join(each)} |" for each in [columns, *rows]]
    return "\n".join([lines[0], "|---" * len(columns) + "|", *lines[1:]])
