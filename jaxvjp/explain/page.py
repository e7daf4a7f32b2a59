"""An HTML page to step through the user's lines and a backward pass: objects, the program, cotangents, the Jacobian.

The page is `page.html` with the story as JSON in it; it needs no network and nothing installed.
"""

from __future__ import annotations

import html
import json
import linecache
import math
import re
import statistics
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from jaxvjp.core.record.graph import Node, reachable
from jaxvjp.core.record.observers import Hooked, StepHooked, Stepped, Walked
from jaxvjp.core.record.user_lines import UserLine, cell_of
from jaxvjp.explain import terminal
from jaxvjp.explain.chain import HOOK, Link
from jaxvjp.explain.directions import SHOWN, Array, directed
from jaxvjp.explain.explained import Explained
from jaxvjp.explain.jacobian import LARGEST, begun
from jaxvjp.explain.layered import drawn
from jaxvjp.explain.literals import shortened, shortest
from jaxvjp.explain.names import statement, told_line
from jaxvjp.explain.objects import run_of
from jaxvjp.explain.picture import whole
from jaxvjp.explain.question import Question
from jaxvjp.explain.refusal import Refusal
from jaxvjp.explain.tape import UnknownError, tape_of
from jaxvjp.explain.text import of_pullback

TEMPLATE = Path(__file__).with_name("page.html")
WALKS, OF_A_LINE = 20, 4
"""At most this many backward passes are shown, the last ones, and of one line the first ones and the last."""
NUMBERS = 100_000
"""At most this many numbers of cotangents are in a page, shared equally among its backward passes."""
FOLD = 24
"""In a graph of more nodes than this the operations of a loop or a function are one box, and one step."""
SAID = 3
"""So many lines that read values are told."""
WITHOUT = "No backward pass began at a tensor here, whose v could be moved: the program has what `torch.func` computes."
AROUND = 3
"""How many lines are shown above and below those of the story; below none of another function."""
DEFINES = re.compile(r"\s*(@|def |class |async def )")


def page_of(explanation: Explained, title: str | None = None) -> str:
    """The text of the page; its title says by default which file it is of."""
    program = explanation.program
    file = _main_file(source for sources in program.lines for source in sources)
    name = cell_of(file) or Path(file).name
    title = title or (f"{name}: as a functional program" if file else "As a functional program")
    passes: list[Any] = [(each.order, each.where, explanation, k) for k, each in enumerate(explanation.story.passes)]
    if isinstance(question := explanation.question, Question):  # the backward that failed, as it would be
        passes = sorted([*passes, (question.order, question.where, question, 0)], key=lambda each: each[0])
    places = [where for _, where, *_ in passes]
    labels = [
        _label(number, where, order, file, (places[:number].count(where), places.count(where)))
        for number, (order, where, *_) in enumerate(passes, 1)
    ]
    chosen, shown = _shown([line for _, line, _ in labels]), []
    for k, ((*_, of, number), (label, line, order)) in enumerate(zip(passes, labels, strict=True)):
        if k in chosen or of is question:
            shown.append((of, number, (f"{label}: failed" if of is question else label, line, order)))
    run = run_of(explanation)
    if not shown and not explanation.failure:
        run["note"] = " ".join([WITHOUT, run["note"]]).rstrip()
    active = {line for sources in program.lines for name, line, _ in sources if name == file}
    for each in run["steps"]:
        each["line"] = each["line"] if each.pop("file") == file else None
    active |= {each["line"] for each in run["steps"]} - {None}
    story = {
        "asked": explanation.asked(),
        "failure": explanation.failure,
        "run": run,
        "lines": _lines(file, active),
        "program": [
            {"text": text, "lines": [line for name, line, _ in sources if name == file]}
            for text, sources in zip(shortened(program.source).splitlines(), program.lines, strict=True)
        ],
        "walks": [_walk(*each, NUMBERS // len(shown), run, file) for each in shown],
    }
    return filled(title, story)


def filled(title: str, story: dict[str, Any]) -> str:
    """The page with a title and data."""
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
    """The file that most of the user's lines are in, of two the one whose lines come later: a line counts once, though
    a literal that is written there may take ten lines of the program."""
    lines = dict.fromkeys((name, line) for name, line, _ in sources)
    return statistics.mode(name for name, _ in reversed(lines)) if lines else ""


def _lines(file: str, active: set[int]) -> list[dict[str, Any]]:
    """The lines of the user's file that the story is made of, and those around them."""
    lines = linecache.getlines(file)
    if not lines or not active:
        return []
    last = max(active)
    after = takewhile(
        lambda each: not DEFINES.match(lines[each - 1]), range(last + 1, min(len(lines), last + AROUND) + 1)
    )
    near = [*range(max(1, min(active) - AROUND), last + 1), *after]
    filled_ones = [each for each in near if lines[each - 1].strip()]
    shown = range(filled_ones[0], filled_ones[-1] + 1) if filled_ones else near
    return [{"number": each, "text": lines[each - 1].rstrip("\n"), "active": each in active} for each in shown]


def _shown(lines: list[int | None]) -> list[int]:
    """Which backward passes are shown, where pass n is of the line `lines[n]`."""
    of_line: dict[int | None, list[int]] = {}
    for number, line in enumerate(lines):
        of_line.setdefault(line, []).append(number)
    chosen = [each if len(each) <= OF_A_LINE else [*each[: OF_A_LINE - 1], each[-1]] for each in of_line.values()]
    return sorted(number for each in chosen for number in each)[-WALKS:]


def _walk(
    explanation: Explained, number: int, about: tuple[str, int | None, float], room: int, run: dict[str, Any], file: str
) -> dict[str, Any]:
    """The page's data of a backward pass. Lines are those of `file`; None of another's."""
    walked = explanation.walks[number]
    label, line, ended = about
    during = next((k for k, each in enumerate(run["steps"]) if each["order"] > ended), len(run["steps"]))
    told: dict[str, Any] = {"label": label, "line": line, "at": during}  # the step of the run that it is part of
    told |= {"v": [], "steps": [], "inner": [], "leaves": [], "matrices": [], "folds": {}, "begins": {}}
    keys: dict[Node, str] = {}
    try:
        picture = explanation.picture(number, FOLD)
    except Refusal as error:
        told["picture"] = str(error)
    else:
        told["svg"], keys = drawn(picture.boxes, picture.arrows), picture.keys
        for node, key in keys.items():
            told["begins"][key] = min(node.serial, told["begins"].get(key, node.serial))
    names, results = explanation.names(walked), explanation.results(walked)
    several = len(results) > 1
    told.update(root=f"[{', '.join(results)}]" if several else results[0], several=several)
    try:
        found = directed(explanation, number, room)
    except Refusal as error:
        return {**told, "note": str(error)}
    told["inner"] = _inner(explanation, walked, found.steps, [each["order"] for each in run["steps"][:during]])
    told["by"] = "" if explanation.story.hypothetical else explanation.caller(walked)
    told.update(note=found.note, fixed=found.fixed, whole=found.whole)
    told["complex"] = any(
        np.iscomplexobj(each) for link in found.steps for each in (link.arrives, *dict(link.leaves).values())
    )
    if walked.batched:
        many = next(v for v in walked.cotangents if v is not None).aval.shape[0]
        told["note"] = f"This backward took {many} v at once, and gave vᵀJ for each: the sliders begin at the first."
    given = None if several or walked.batched else walked.cotangents[0]
    ran = np.concatenate([v.ravel() for v in begun(walked)[1]])
    told["ran"] = _rows(ran[None], LARGEST)["rows"][0]
    try:
        if told["complex"] or not found.steps:
            plain = all(root.is_leaf for root in walked.roots)
            why = "the result is a leaf, from which nothing is computed" if plain else "there are too many steps"
            raise UnknownError("the numbers are complex" if told["complex"] else why)
        if found.fixed and not found.jacobian:
            raise UnknownError("J is not laid out, as a hook or a Function of yours computed with the v that ran")
        with explanation.story.told():
            by_user, inputs = explanation.ran(walked), explanation.inputs_of(walked)
            told["tape"] = tape_of(found.steps, walked.roots, list(walked.gradients), inputs, by_user)
        if found.fixed:
            told["note"] = "A hook or a Function of yours is computed anew for each v and x: .grad need not be vᵀJ."
        told["read"] = " ".join(filter(None, [_read(explanation, walked), _computed(walked, names)]))
    except UnknownError as error:
        told["still"] = f"x cannot be moved here: {error}."
    stepped = [each.node for each in found.steps if isinstance(each.node, Node) and each.node.python is not None]
    if stepped:
        own = ", ".join(dict.fromkeys(each.gradient_name.removesuffix("Backward") for each in stepped))
        told["note"] = " ".join(
            filter(None, [told["note"], f"J has what the backward of {own} gives, as you wrote it."])
        )
    if any(map(of_pullback, walked.roots)):
        second = f"{told['root']} is a gradient itself: its J has second derivatives, as a Hessian has."
        told["note"] = " ".join(filter(None, [second, told["note"]]))
    if given is not None:  # the user's tensor that is v
        told["given"] = {"name": explanation.called(given), "line": _made(given, file)}
    if "v" in explanation.story.tensors.values() and (told.get("given") or {}).get("name") != "v":
        said = ["v is what `backward` is given, and not your tensor v.", told["note"]]
        told["note"] = " ".join(filter(None, said))
    told["v"] = [{"name": name, "value": value} for name, value in zip(found.labels, found.values, strict=True)]
    told["gone"] = walked.accumulates and not walked.after
    leaves, failed = list(walked.gradients), isinstance(explanation, Question)
    told["failed"] = failed
    last = number == len(explanation.walks) - 1 and bool(run["steps"]) and run["steps"][-1]["line"] == line
    told["raised"] = bool(explanation.failure) and not failed and not walked.accumulates and last
    told["leaves"] = [
        {
            "name": names[leaf],
            "shape": list(leaf.aval.shape),
            "line": _made(leaf, file),
            "before": _before(walked, leaf),
            "set": (not failed or leaf in walked.before) and (explanation.story.hypothetical or leaf in walked.after),
        }
        for leaf in leaves
    ]
    numbered = {
        target: place for place, target in enumerate({each: 0 for link in found.steps for each in link.targets})
    }
    told["folds"] = (
        {}
        if told.get("picture")
        else {
            box.key: f"{box.title} of {box.details[0]} ({box.details[-1]})"
            for box in picture.boxes
            if " operations" in box.details[-1]
        }
    )
    told["steps"] = [
        {
            "name": link.name,
            "operation": link.operation,
            "named": link.operation != HOOK and explanation.called(link.node) is not None,
            "hook": link.operation == HOOK,
            "line": link.line if link.file == file else None,
            "box": keys.get(link.node),
            "arrives": _rows(link.arrives),
            "leaves": [
                {
                    "name": name,
                    "to": numbered[target],
                    "flow": f"{keys.get(whole(target))} {keys.get(link.node)}",
                    "leaf": leaves.index(target) if target in leaves else -1,
                    **_rows(value),
                }
                for target, (name, value) in zip(link.targets, link.leaves, strict=True)
            ],
        }
        for link in found.steps
    ]
    told["matrices"] = [
        {"name": name, "columns": terminal.labels(name, rows.shape[1:]), **_rows(rows, LARGEST)}
        for name, rows in found.jacobian
        if rows.size <= LARGEST
    ]
    return told


def _inner(explanation: Explained, walked: Walked, steps: Sequence[Link], orders: Sequence[float]) -> list[int]:
    """Of the user's lines that ran before the end of a backward pass, at these `orders`, those that the pass itself
    called, as hooks or in a Function: for each of these last ones the number of the step that it is a part of."""
    story = explanation.story
    end = next(event for event in story.events if event.what is walked)
    passes = [each for each in story.events if each.where == end.where and isinstance(each.what, Walked)]
    start = max([each.order for each in passes if each.order < end.order], default=-math.inf)
    called = [each.first for each in story.calls if each.where == end.where and start < each.first < end.order]
    ended: list[tuple[float, int]] = []  # when a step ended that ran the user's code, and its number
    for order, _, what in story.events if called else ():
        if called[0] < order < end.order and isinstance(what, Hooked | Stepped | StepHooked):
            of, hook = what.step if isinstance(what, Stepped) else what.node, isinstance(what, Hooked)
            own = [k for k, link in enumerate(steps) if of in (link.node, link.node.python)]
            own = [k for k in own if (steps[k].operation == HOOK) is hook]
            ended += [(order, k) for k in own[-1:]]
    ended.append((math.inf, len(steps)))
    return [next(k for until, k in ended if until > order) for order in orders if called and order > called[0]]


def _read(explanation: Explained, walked: Walked) -> str:
    """A sentence on what does not move with x, as the user's lines read values; "" if they read none."""
    lines = list(dict.fromkeys((each.line, each.text) for each in explanation.read(walked)))
    stays = "rounds, branches, indices and numbers that came of {} stay those that ran."
    if lines:
        told = ", ".join(f"line {line}: `{text}`" for line, text in lines[:SAID])
        return f"Your lines read values ({told}{', …' * (len(lines) > SAID)}): {stays.format('them')}"
    unknown = explanation.story.hypothetical and not explanation.story.kept  # nothing was recorded
    return f"Where your lines read a value, {stays.format('it')}" if unknown else ""


def _computed(walked: Walked, names: dict[Node, str]) -> str:
    """A sentence on leaves that were computed from others, under `no_grad` say, and do not move with these."""
    leaves = {each for each in walked.gradients if each.is_leaf}
    found = [each for each in leaves if (leaves - {each}) & {*reachable([each], lambda node: node.inputs)}]
    told = ", ".join(sorted(names[each] for each in found))
    return f"{told}: computed without a gradient from what can be moved, and stays as it was." if found else ""


def _made(leaf: Node, file: str) -> int | None:
    """The line of `file` that made a leaf; None for one that was written since."""
    found = statement(leaf.where) if leaf.operation is None else None
    return None if found is None or found.filename != file else found.line


def _before(walked: Walked, leaf: Node) -> dict[str, Any] | None:
    """What a leaf's `.grad` was before, None if there was none."""
    before = walked.before.get(leaf)
    return None if before is None or before.value is None else _rows(np.asarray(before.value)[None])


def _rows(values: Array, shown: int = SHOWN) -> dict[str, Any]:
    """Numbers for the page: a row for each direction of v, with the first numbers; a complex one is two."""
    rows = values.reshape(len(values), -1)[:, :shown]
    numbers = np.stack([rows.real, rows.imag], -1).reshape(len(rows), -1) if np.iscomplexobj(rows) else rows
    return {
        "shape": list(values.shape[1:]),
        "complex": np.iscomplexobj(rows),
        "rows": [[shortest(each) for each in row] for row in numbers],
    }


def _label(
    number: int, where: UserLine, ended: float, file: str, rounds: tuple[int, int] = (1, 1)
) -> tuple[str, int | None, float]:
    """The label of a backward pass, its line in `file`, and when it ended; `rounds` says which of how many the line
    called."""
    found = statement(where)
    if found is None:
        return f"{number}", None, ended
    line = found.line if found.filename == file else None
    which = f" ({rounds[0]} of {rounds[1]})" if rounds[1] > 1 else ""
    return f"{number}: {told_line(found.filename, found.line, file)}{which}, {found.text}", line, ended
