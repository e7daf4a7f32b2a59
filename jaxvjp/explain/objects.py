"""What the user's lines did one by one, for the page: names, the tensors that they refer to, and their memories.

If the recording has watched the lines (`watching`), a step shows what the names led to when a line had run. Else the
recorded graph tells which lines computed what, and each value is shown by itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from itertools import groupby
from typing import Any

import numpy as np

from jaxvjp.core.record.graph import reachable
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.explain.explained import Explained
from jaxvjp.explain.literals import shortest
from jaxvjp.explain.names import Statement, statement
from jaxvjp.explain.text import Text
from jaxvjp.explain.watching import NAMED, QUICK, Alias, Memory, Moment, Watch, in_memory, places_of
from jaxvjp.tensor.view_steps import memory_of

STEPS = 200
"""At most so many lines that ran are in a page: the first ones and the last ones."""
UNSEEN = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
"""Statements that do nothing to a tensor."""
UNWATCHED = (
    "Each value is shown by itself, as the graph has it. Names, views and writes in place are drawn of lines that were "
    "watched as they ran: `with torch.explain.recording(lines=True) as story:`."
)


def run_of(explanation: Explained) -> dict[str, Any]:
    """The steps of the run, and what is to be said about them."""
    story = explanation.story
    with story.told():
        watch = story.watch or _of_graph(explanation)
        if watch.fault is not None:
            raise watch.fault
        steps = _statements(watch.moments)
        notes = [UNWATCHED if story.watch is None else watch.ended]
        if len(steps) > STEPS:
            notes.append(f"Of {len(steps)} steps these are the first {STEPS // 2} and the last {STEPS // 2}.")
            steps = [*steps[: STEPS // 2], (*steps[-STEPS // 2][:2], True), *steps[1 - STEPS // 2 :]]
        contents = [memory.contents for moment, _, _ in steps for memory in moment.memories]
        evaluate([each for each in contents if each is not None])
        told = [{**_step(moment, source, watch), "gap": gap} for moment, source, gap in steps]
    return {"steps": told, "note": " ".join(note for note in notes if note)}


def _statements(moments: Iterable[Moment]) -> list[tuple[Moment, Statement | None, bool]]:
    """The moments after whole statements, one over several lines being one step; whether any before it are left out."""
    kept: list[tuple[Moment, Statement | None, bool]] = []
    number, gap = 0, False
    for moment in moments:
        number, gap = moment.number, gap or moment.number > number + 1
        source = statement(moment.where)
        if source is not None and isinstance(source.tree, UNSEEN):
            continue
        if kept and source is not None:
            last, known, before = kept[-1]
            same = known is not None and known.tree is source.tree and last.frame == moment.frame
            if same and last.number + 1 == moment.number and last.where[1] < moment.where[1]:  # type: ignore[index]
                kept.pop()
                gap = before
        kept.append((moment, source, gap))
        gap = False
    return kept


def _step(moment: Moment, source: Statement | None, watch: Watch) -> dict[str, Any]:
    code = None if moment.where is None else moment.where[0]
    return {
        "file": None if source is None else source.filename,
        "line": None if source is None else source.line,
        "text": "the end" if source is None else source.text,
        "inside": "" if code is None or code.co_name == "<module>" else f"{code.co_name}()",
        "run": [moment.round, watch.rounds.get(moment.where, 1)],
        "order": moment.order,
        "left_out": moment.left_out,
        "memories": [
            {
                "size": memory.size,
                "numbers": _numbers(memory),
                "computed": memory.computed,
                "shared": memory.shared,
                "tensors": [_tensor(alias) for alias in memory.aliases],
            }
            for memory in moment.memories
        ],
    }


def _tensor(alias: Alias) -> dict[str, Any]:
    state = f"grad_fn {alias.grad_fn}" if alias.grad_fn else "leaf, requires_grad" if alias.requires_grad else "no grad"
    return {
        "names": alias.names,
        "kind": f"{alias.dtype}{list(alias.shape)}",
        "shape": alias.shape,
        "state": state,
        "version": alias.version,
        "places": alias.places,
        "grad": alias.grad,
    }


def _numbers(memory: Memory) -> list[Any]:
    """The first numbers of a memory; a complex one is two, and a truth value its text."""
    values = memory.numbers
    if values is None:
        values = np.empty(0) if memory.contents is None else in_memory(memory.contents)
    found = [shortest(value) for value in values]
    return [
        str(each) if isinstance(each, bool) else [each.real, each.imag] if isinstance(each, complex) else each
        for each in found
    ]


def _of_graph(explanation: Explained) -> Watch:
    """What the lines of the backward passes computed, as far as the graph tells."""
    watch, text = Watch(""), Text(explanation.story, False)
    values: dict[str, Memory] = {}
    nodes = reachable([root for walked in explanation.walks for root in walked.roots], lambda node: node.inputs)
    text.look_over(nodes)
    nodes = sorted(
        (each for each in nodes if type(each.aval) is not tuple and each.where), key=lambda each: each.serial
    )
    for _, line in groupby(nodes, key=lambda each: getattr(statement(each.where), "tree", None)):
        for node in line:
            name, own = text.name_of(node), memory_of(node)
            if name is None:
                continue
            values.pop(name, None)
            leaf = node.is_leaf
            grad_fn = "" if leaf else node.gradient_name
            seen = (tuple(node.aval.shape), node.aval.dtype.name, node.requires_grad, leaf, grad_fn)
            grad = False if (leaf and node.requires_grad) or node.retains else None
            alias = Alias((name,), *seen, None, places_of(own), grad)
            contents = node if own.size <= QUICK or node.value is not None else None
            values[name] = Memory(own.size, None, contents, node.value is not None, False, [alias])
        watch.add(node.where, 0, node.serial, [*values.values()][-NAMED:], max(0, len(values) - NAMED))
    return watch
