"""An HTML page to step through a backward pass: the user's lines, the JAX program, cotangents, the Jacobian.

The page is `page.html` with the story as JSON in it; it needs no network and nothing installed.
"""

from __future__ import annotations

import html
import json
import linecache
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxvjp.core.record.observers import Walked
from jaxvjp.explain import terminal
from jaxvjp.explain.chain import Cotangents
from jaxvjp.explain.jacobian import Jacobian
from jaxvjp.explain.literals import shortened, shortest
from jaxvjp.explain.names import statement

if TYPE_CHECKING:
    from jaxvjp.explain.explanation import Explanation

TEMPLATE = Path(__file__).with_name("page.html")
WALKS = 20
"""At most this many backward passes are shown, the last ones."""
STEPS = 200
"""A backward pass of more steps than this cannot be stepped through."""
ELEMENTS = 400
"""A Jacobian of more numbers than this is not shown."""
AROUND = 3
"""How many lines are shown above and below those of the story."""


def page_of(explanation: Explanation) -> str:
    """The text of the page."""
    program = explanation.program
    file = _main_file(source for sources in program.lines for source in sources)
    title = f"{Path(file).name}: the functional program that it was" if file else "The functional program that it was"
    walks = explanation.walks
    first = max(0, len(walks) - WALKS)
    story = {
        "lines": _lines(file, {line for sources in program.lines for name, line, _ in sources if name == file}),
        "program": [
            {"text": text, "lines": [line for name, line, _ in sources if name == file]}
            for text, sources in zip(shortened(program.source).splitlines(), program.lines, strict=True)
        ],
        "walks": [_walk(explanation, number) for number in range(first, len(walks))],
    }
    parts = {"TITLE": html.escape(title), "STORY": embedded(story)}
    return re.sub("TITLE|STORY", lambda found: parts[found[0]], TEMPLATE.read_text(encoding="utf-8"))


def embedded(data: Any) -> str:
    """Data as JSON for a script element of a page: no text in it can end the element, and numbers that JSON lacks,
    such as NaN, are strings, which JavaScript's `Number` reads."""
    return json.dumps(_finite(data), ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _finite(each) for key, each in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(each) for each in data]
    if isinstance(data, float) and not math.isfinite(data):
        return "NaN" if math.isnan(data) else "Infinity" if data > 0 else "-Infinity"
    return data


def _main_file(sources: Iterable[tuple[str, int, str]]) -> str:
    files = [name for name, _, _ in sources]
    return max(set(files), key=files.count) if files else ""


def _lines(file: str, active: set[int]) -> list[dict[str, Any]]:
    """The lines of the user's file that the story is made of, and those around them."""
    lines = linecache.getlines(file)
    if not lines or not active:
        return []
    shown = range(max(1, min(active) - AROUND), min(len(lines), max(active) + AROUND) + 1)
    return [{"number": each, "text": lines[each - 1].rstrip("\n"), "active": each in active} for each in shown]


def _walk(explanation: Explanation, number: int) -> dict[str, Any]:
    """The page's data of a backward pass."""
    walked = explanation.walks[number]
    refusal = ""
    chain = Cotangents()
    matrices: Jacobian | None = None
    try:
        chain = explanation.cotangents(number)
        if len(chain) > STEPS:
            chain, refusal = Cotangents(), f"this backward pass has {len(chain)} steps, too many to step through"
        matrices = explanation.jacobian(number)
    except ValueError as error:
        refusal = str(error)
    label, line = _label(explanation, number)
    told: dict[str, Any] = {
        "label": label,
        "line": line,
        "refusal": refusal,
        "steps": _steps(explanation, walked, chain),
    }
    told["end"] = told["steps"][-1]["grads"] if told["steps"] else {}
    if matrices is not None and not any(np.iscomplexobj(each.jacobian) for each in matrices.matrices):
        told["root"] = matrices.root
        told["rows"] = terminal.labels(matrices.root, matrices.v.shape)
        told["v"] = _plain(matrices.v.ravel())
        small = [each for each in matrices.matrices if each.jacobian.size <= ELEMENTS]
        told["matrices"] = [
            {
                "name": each.name,
                "columns": terminal.labels(each.name, each.jacobian.shape[matrices.v.ndim :]),
                "numbers": _plain(each.jacobian.reshape(matrices.v.size, -1)),
                "said": "; ".join(matrices.sentences(each)[:2]),
            }
            for each in small
        ]
        if not small:
            told["refusal"] = "; ".join(matrices.sentences(matrices.matrices[0])[:1]) + ": too large for a page"
    try:
        picture = explanation.picture(number)
        told["picture"] = str(picture)
        told["svg"] = picture._repr_svg_()
    except ValueError as error:
        told["picture"] = str(error)
    return told


def _label(explanation: Explanation, number: int) -> tuple[str, int | None]:
    """The label of a backward pass, and its line."""
    events = [each for each in explanation.story.events if isinstance(each.what, Walked)]
    found = statement(events[number].where)
    if found is None:
        return f"{number + 1}", None
    return f"{number + 1}: line {found.line}, {found.text}", found.line


def _steps(explanation: Explanation, walked: Walked, chain: Cotangents) -> list[dict[str, Any]]:
    """The steps, each with the `.grad` of every leaf after it."""
    grads: dict[Any, Any] = {}
    names = explanation.names(walked)
    for node in walked.gradients:
        before = walked.before.get(node)
        grads[node] = None if before is None or before.value is None else np.asarray(before.value)
    steps = []
    for link in chain:
        for target, (_, value) in zip(link.targets, link.leaves, strict=True):
            if target in grads:
                grads[target] = value if grads[target] is None else grads[target] + value
        steps.append(
            {
                "name": link.name,
                "operation": link.operation,
                "line": link.line,
                "arrives": terminal.numbers(link.arrives),
                "leaves": [[name, terminal.numbers(value)] for name, value in link.leaves],
                "grads": {
                    names[node]: "None" if each is None else terminal.numbers(each) for node, each in grads.items()
                },
            }
        )
    return steps


def _plain(values: Any) -> Any:
    """Nested lists of the shortest numbers that round to the values: 0.1 for a float32 0.1."""
    array = np.asarray(values)
    return shortest(array[()]) if array.ndim == 0 else [_plain(each) for each in array]
