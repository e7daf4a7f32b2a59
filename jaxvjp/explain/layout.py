"""Lays a printed program out (`laid_out`): imports, inputs, functions, statements, each with the user's line."""

from __future__ import annotations

import re
import statistics
import textwrap
from collections.abc import Sequence
from typing import Any

import jax

from jaxvjp.explain.block import Line
from jaxvjp.explain.collecting import collected
from jaxvjp.explain.names import told_line
from jaxvjp.explain.rolling import Repeat, rolled, words
from jaxvjp.explain.story import Story
from jaxvjp.explain.text import Text

COMMENT = 44
"""The column where comments start, if the lines are short enough."""
WIDTH = 116
WIDE_TYPES = 'jax.config.update("jax_enable_x64", True)'
EXACT_PRODUCTS = 'jax.config.update("jax_default_matmul_precision", "highest")'
"""The setting of JAX that a program with matrix products begins with."""


def laid_out(text: Text, lines: Sequence[Line], first: float) -> list[tuple[str, Any]]:
    """The lines of the whole text, each with its sources; values from before the time `first` are the inputs."""
    settings = [WIDE_TYPES] if text.explicit_dtypes else []
    if jax.default_backend() != "cpu":
        settings.append(EXACT_PRODUCTS)
    imports = ["import jax", "import jax.numpy as jnp", *text.imports]
    texts = [(line.text, line.sources) for line in lines]
    begun: dict[str, Line] = {}
    for line in lines:
        for each in re.findall(r"\w+", line.text.partition(" = ")[0]):
            begun.setdefault(each, line)
    inputs = [line for line in lines if line.step.note == "leaf" and line.step.order < first]
    inputs = [  # what rounds begin with stands in the loop, and what has the name of an earlier value after that
        line
        for line in inputs
        if texts.count((line.text, line.sources)) == 1 and begun[line.text.partition(" = ")[0]] is line
    ]
    statements = [line for line in lines if line not in inputs]
    inputs.sort(key=lambda line: line.step.order < 0)  # what an optimizer begins with comes last
    file = file_of(text.story)
    pages: list[list[tuple[str, Any]]] = [
        [(each, ()) for each in sorted(imports, key=lambda each: (each.startswith("from jax"), each))],
        [(setting, ()) for setting in settings],
        [(f"# {each}: a function of yours; run() hands it over", ()) for each in text.handed_over],
        formatted(inputs, 0, file),
    ]
    known = words(line.text.partition(" = ")[0] for line in inputs)
    pages.append(formatted(rolled(statements, known), 0, file))
    return joined([*pages[:-1], *defined(text, pages), pages[-1]])


def defined(text: Text, pages: Sequence[list[tuple[str, Any]]]) -> list[list[tuple[str, Any]]]:
    """The functions of a program that it calls, whose other lines are `pages`, each as its lines with their sources."""
    found: list[list[tuple[str, Any]]] = []
    calling = {each for page in pages for line, _ in page for each in re.findall(r"\w+", line)}
    for key, called in reversed(text.definitions.items()):
        if calling.isdisjoint([called, *[called + end for end in re.findall(r"\bNAME(\w*)", text.texts[key])]]):
            continue  # what called it is not read
        own: list[tuple[str, Any]] = [(line, ()) for line in text.texts[key].replace("NAME", called).splitlines()]
        if text.lines[key] is not None:
            body, returned = text.lines[key]
            own += formatted(collected(body, returned), 1, file_of(text.story))
        calling |= {each for line, _ in own for each in re.findall(r"\w+", line)}
        found.append([("", ()), *own, ("", ())])
    return found[::-1]


def joined(pages: Sequence[list[tuple[str, Any]]]) -> list[tuple[str, Any]]:
    """The lines of all pages, with an empty line between two."""
    flat: list[tuple[str, Any]] = []
    for page in pages:
        if page:
            flat += [("", ()), *page] if flat else page
    return _tidied(flat)


def file_of(story: Story) -> str | None:
    """The script, else the file that most lines come from; comments omit its name."""
    if story.file is not None:
        return story.file
    names = [event.where[0].co_filename for event in story.events if event.where is not None]
    return statistics.mode(names) if names else None


def formatted(lines: Sequence[Line | Repeat], depth: int, file: str | None) -> list[tuple[str, Any]]:
    """Lines with their comments, indented; a `Repeat` as a loop."""
    found: list[tuple[str, Any]] = []
    for each in lines:
        if isinstance(each, Repeat):
            found += [(line, ()) for line in _broken(f"{'    ' * depth}{each.head}:")]
            found += formatted(each.lines, depth + 1, file)
            continue
        if each.note == "leaf" and len(each.text) > WIDTH and "array([" in each.text:
            place = [f"# {_said(source, None, file)}" for source in each.sources]
            found += [("    " * depth + line, each.sources) for line in [*place, *_broken(each.text)]]
            continue
        text = "    " * depth + each.text
        known = found and found[-1][1] == each.sources
        notes = [
            _said(source, each.text if each.note != "leaf" and not known else None, file) for source in each.sources
        ]
        if each.note and each.note != "leaf":
            notes.append(each.note)
        comment = f"# {'; '.join(notes)}"
        room = max(COMMENT, len(text) + 2)
        if notes and room + len(comment) > WIDTH and len(notes) + len(text) > COMMENT:
            found.append((f"{'    ' * depth}{comment}", each.sources))
            found.append((text, each.sources))
        else:
            found.append((f"{text.ljust(room)}{comment}" if notes else text, each.sources))
    return found


def _broken(text: str) -> list[str]:
    """A long array or a long list on several lines, as many rows on each as fit, or numbers of a long row."""
    if len(text) <= WIDTH:
        return [text]
    head = text.lstrip().startswith("for ")
    begin = text.index("(", text.index(" in ")) + 1 if head else text.index("[") + 1
    indent = " " * (len(text) - len(text.lstrip()) + 8 if head else begin)
    whole = re.sub(r"\[[^\[\]]{,80}\]", lambda row: row[0].replace(" ", "\0"), text)
    whole = whole[:begin].replace(" ", "\0") + whole[begin:]  # outside brackets no line may end
    lines = textwrap.wrap(whole, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines]


def _said(source: tuple[str, int, str], written: str | None, file: str | None) -> str:
    filename, line, text = source
    place = told_line(filename, line, file)
    short = text if len(text) <= 60 else text[:57] + "..."
    return place if not text or written in (None, text) else f"{place}: {short}"


def _tidied(lines: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """No more than two empty lines in a row, and none at the end."""
    tidy: list[tuple[str, Any]] = []
    for line in lines:
        if not line[0] and len(tidy) >= 2 and not tidy[-1][0] and not tidy[-2][0]:
            continue
        tidy.append(line)
    while tidy and not tidy[-1][0]:
        tidy.pop()
    return tidy
