"""Writes the steps of a recorded training loop as a JAX script (`ported`): data, functions, `step`, and the loop."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxvjp.core.record.graph import Node, Number
from jaxvjp.core.record.observers import Cleared, Walked
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.explain.block import Block, Value
from jaxvjp.explain.layout import EXACT_PRODUCTS, WIDE_TYPES, defined, file_of, formatted, joined
from jaxvjp.explain.lifting import divided
from jaxvjp.explain.literals import parsed
from jaxvjp.explain.names import numbered, safe, statement
from jaxvjp.explain.rolling import rolled
from jaxvjp.explain.scope import NeedsWide
from jaxvjp.explain.source import _Writer
from jaxvjp.explain.steps import Entry, NotPortable, Steps, TrainingStep, _places
from jaxvjp.explain.story import Story
from jaxvjp.explain.text import Text

FEW = 12
"""An array of more numbers than this is in the file of data."""


class Ported(NamedTuple):
    """A ported script.

    Attributes:
        source: its text.
        data: the arrays of the file beside it, by name.
        losses: what each step's losses were.
        state: what the state was at the end, by name.
    """

    source: str
    data: dict[str, np.ndarray[Any, Any]]
    losses: list[list[Any]]
    state: dict[str, Any]


class _StepWriter(_Writer):
    """Writes one step as a function of its operands."""

    def __init__(
        self,
        story: Story,
        steps: Steps,
        step: TrainingStep,
        given: Mapping[Any, tuple[str, str, bool]],
        text: Text | None,
        wide_types: bool,
    ) -> None:
        events = [each for each in step.events if not isinstance(each.what, Cleared)]
        super().__init__(story._replace(events=events, shown=[]), "grad", wide_types)
        known = steps.text
        self.text.first, self.text.begun, self.text.inner = known.first, known.begun, known.inner
        if text is not None:  # the functions of all kinds are in one script
            self.text.definitions, self.text.texts, self.text.lines = text.definitions, text.texts, text.lines
            self.text.imports = text.imports
        self.expressions: dict[Value, ast.expr] = {}
        self.varying: set[Value] = set()
        for node, (called, expression, varies) in given.items():
            value = self.top.values[node] = Value(called)
            self.expressions[value] = parsed(expression)
            if varies:
                self.varying.add(value)
            if type(node) is Number:
                self.text.lifted.add(node)
        self.step = step

    def body(self) -> tuple[Block, list[str], list[str]]:
        """The statements of the step, and the expressions of its losses and of what it leaves."""
        for place, event in enumerate(self.story.events):
            if isinstance(event.what, Walked):
                self.walk(place, event, event.what)
        final = [self.top.value(each) for each in [*self.step.losses, *self.step.outputs]]
        divided(self.top.functions, self.top.steps, self.varying)
        self.text.taken |= {each.wanted for each in final if each.wanted}
        own = {each.id for text in self.expressions.values() for each in ast.walk(text) if isinstance(each, ast.Name)}
        block = Block(self.top.steps, final, self.expressions, {"jax", "jnp", "state", "batch", "data", *own})
        texts = [ast.unparse(each) for each in block.results]
        count = len(self.step.losses)
        return block, texts[:count], texts[count:]


@contextmanager
def _cut(nodes: Sequence[Any]) -> Iterator[None]:
    """A context in which what `nodes` were computed from is out of reach."""
    kept = [(each, each.inputs, each.edges) for each in nodes]
    for each in nodes:
        each.inputs = ()
        if each.edges is not None:
            each.edges = ()
    try:
        yield
    finally:
        for each, inputs, edges in kept:
            each.inputs = inputs
            if edges is not None:
                each.edges = edges


def ported(story: Story, updates: Sequence[tuple[int, int]], title: str, data_file: str) -> Ported:
    """The script of a story whose optimizers ran between the serials `updates`. NotPortable if it is none of steps."""
    with jax.enable_x64(True), story.told():
        whole = _Writer(story, "grad")
        steps = Steps(story, whole.text, whole.nodes, updates)
        wide = whole.text.explicit_dtypes
        try:
            return _Script(story, steps, wide).written(title, data_file)
        except NeedsWide:
            return _Script(story, steps, True).written(title, data_file)


class _Script:
    def __init__(self, story: Story, steps: Steps, wide: bool) -> None:
        self.story, self.steps, self.wide = story, steps, wide
        self.data: dict[str, Any] = {}
        self.names: dict[int, str] = {}
        self.text: Text | None = None
        taken = {"jax", "jnp", "np", "data", "state", "batch", "batches", "losses", "step", "number", "loss", "Path"}
        for entry in steps.entries:
            base = safe(entry.name or ("x" if entry.role != "state" else "kept"))
            entry.name = numbered(base, taken)
            taken.add(entry.name)
        self.taken = taken

    def entry(self, kind: int, direction: str, place: int) -> Entry:
        return next(each for each in self.steps.entries if (kind, direction, place) in each.slots)

    def function(self, kind: int) -> list[tuple[str, Any]]:
        """The lines of a step of a kind."""
        steps = self.steps
        step = steps.steps_of(kind)[0]
        given: dict[Any, tuple[str, str, bool]] = {}
        for place, node in enumerate(step.operands):
            entry = self.entry(kind, "in", place)
            where = {"state": f'state["{entry.name}"]', "data": f'batch["{entry.name}"]'}.get(entry.role, entry.name)
            given[node] = (entry.name, where, entry.role != "constant")
        for place in steps.lifted[kind]:
            called = self.number_name(kind, place)
            given[step.numbers[place][0]] = (called, f'batch["{called}"]', True)
        with _cut([each for each in given if type(each) is Node]):
            writer = _StepWriter(self.story, steps, step, given, self.text, self.wide)
            block, losses, outputs = writer.body()
        self.text = writer.text
        file = file_of(self.story)
        lines = formatted(rolled(block.lines), 1, file)
        names = [self.entry(kind, "out", place).name for place in range(len(outputs))]
        own = ", ".join(f'"{name}": {text}' for name, text in zip(names, outputs, strict=True))
        returned = f"return {{**state, {own}}}, [{', '.join(losses)}]"
        wrapped = textwrap.wrap(returned, 110, initial_indent="    ", subsequent_indent="        ")
        head = ["@jax.jit", f"def {self.step_name(kind)}(state, batch):"]
        return [("", ()), *[(each, ()) for each in head], *lines, *[(each, ()) for each in wrapped], ("", ())]

    def step_name(self, kind: int) -> str:
        return "step" if self.steps.kinds == 1 else f"step_{kind + 1}"

    def number_name(self, kind: int, place: int) -> str:
        """One name for all numbers that vary in the same way, as a learning rate does."""
        column = self.column(kind, place)
        known = self.names.setdefault(hash((kind, tuple(column))), "")
        if not known:
            known = self.names[hash((kind, tuple(column)))] = numbered("rate", self.taken)
            self.taken.add(known)
        return known

    def column(self, kind: int, place: int) -> list[Any]:
        return [each.numbers[place][0].value for each in self.steps.steps_of(kind)]

    def written(self, title: str, data_file: str) -> Ported:
        steps = self.steps
        functions = [self.function(kind) for kind in range(steps.kinds)]
        text = self.text
        assert text is not None
        settings = [WIDE_TYPES] if self.wide else []
        if jax.default_backend() != "cpu":
            settings.append(EXACT_PRODUCTS)
        imports = ["import jax", "import jax.numpy as jnp", "import numpy as np", "from pathlib import Path"]
        constants = [f"{each.name} = {self.value(each.name, each.start)}" for each in self.of("constant")]
        start = ['state = {']
        end: dict[str, Any] = {}
        for each in self.of("state"):
            if each.start is not None:
                start.append(f'    "{each.name}": {self.value(each.name, each.start)},')
            if each.end is not None:
                evaluate([each.end])
                end[each.name] = np.asarray(each.end.value)
        start.append("}")
        loop = self.loop()
        pages: list[list[tuple[str, Any]]] = [
            [(f'"""{line}', ()) if not number else (line, ()) for number, line in enumerate(title.splitlines())],
            [(each, ()) for each in sorted({*imports, *text.imports}, key=lambda each: (each.startswith("from jax"), each))],
            [(each, ()) for each in settings],
            [(f'data = np.load(Path(__file__).with_name("{data_file}"))', ())] if self.data else [],
            [(each, ()) for each in constants],
            *defined(text),
            *functions,
            [(each, ()) for each in start],
            [(each, ()) for each in loop],
        ]
        losses = []
        for step in steps.steps:
            evaluate(step.losses)
            losses.append([np.asarray(each.value) for each in step.losses])
        return Ported("\n".join(each for each, _ in joined(pages)) + "\n", self.data, losses, end)

    def of(self, role: str) -> list[Entry]:
        used = [each for each in self.steps.entries if each.role == role]
        return used

    def value(self, name: str, node: Any) -> str:
        """The expression of an array: the numbers, if they are few, else its place in the file of data."""
        evaluate([node])
        array = np.asarray(node.value)
        return self.stored(name, array)

    def stored(self, name: str, array: Any) -> str:
        if array.size <= FEW and array.dtype.kind in "fiub" and array.dtype.name != "bfloat16":
            if np.all(np.isfinite(array)):
                return f"jnp.array({array.tolist()!r}, dtype=jnp.{'bool_' if array.dtype.kind == 'b' else array.dtype.name})"
        self.data[name] = array
        return f'jnp.asarray(data["{name}"])'

    def loop(self) -> list[str]:
        """The lines that run the steps over their data."""
        steps = self.steps
        lines = []
        for kind in range(steps.kinds):
            own = []
            for each in self.of("data"):
                for place in _places(each, kind, "in")[:1]:
                    nodes = [step.operands[place] for step in steps.steps_of(kind)]
                    evaluate(nodes)
                    own.append((each.name, np.stack([np.asarray(node.value) for node in nodes])))
            for place in dict.fromkeys(steps.lifted[kind]):
                called = self.number_name(kind, place)
                if called not in dict(own):
                    dtype = steps.steps_of(kind)[0].numbers[place][1].aval.dtype.numpy
                    own.append((called, np.array(self.column(kind, place)).astype(dtype)))
            called = "batches" if steps.kinds == 1 else f"batches_{kind + 1}"
            lines.append(f"{called} = {{")
            suffix = "" if steps.kinds == 1 else f"_{kind + 1}"
            lines += [f'    "{name}": {self.stored(f"{name}{suffix}", array)},' for name, array in own]
            lines.append("}")
        lines.append("losses = []")
        runs: list[list[int]] = []
        counts = [0] * steps.kinds
        for step in steps.steps:
            if runs and runs[-1][0] == step.kind:
                runs[-1][2] += 1
            else:
                runs.append([step.kind, counts[step.kind], counts[step.kind] + 1])
            counts[step.kind] += 1
        if steps.kinds == 1:
            lines += [f"for number in range({len(steps.steps)}):", *_round("batches", "step")]
        elif len(runs) <= 4:
            for kind, first, last in runs:
                lines += [f"for number in range({first}, {last}):", *_round(f"batches_{kind + 1}", self.step_name(kind))]
        else:
            kinds = [step.kind for step in steps.steps]
            made: list[int] = []
            order = [(kind, made.append(kind) or made.count(kind) - 1) for kind in kinds]  # type: ignore[func-returns-value]
            self.data["order"] = np.array(order)
            choices = ", ".join(f"({self.step_name(kind)}, batches_{kind + 1})" for kind in range(steps.kinds))
            lines += [f"kinds = [{choices}]", 'for kind, number in data["order"]:', "    step, batches = kinds[kind]"]
            lines += _round("batches", "step")
        lines += ["", "for number, loss in enumerate(losses):", '    print(f"step {number}  loss {loss[0]:.6f}")']
        return lines


def _round(batches: str, step: str) -> list[str]:
    return [
        f"    batch = {{name: each[number] for name, each in {batches}.items()}}",
        f"    state, loss = {step}(state, batch)",
        "    losses.append(loss)",
    ]
