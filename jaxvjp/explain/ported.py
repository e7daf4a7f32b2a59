"""Writes the steps of a recorded training loop as a JAX script (`ported`): data, functions, `step`, and the loop."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import groupby
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.observers import Read, Walked
from jaxvjp.core.record.user_lines import UserLine
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.explain.block import Line
from jaxvjp.explain.draws import Draws
from jaxvjp.explain.layout import EXACT_PRODUCTS, WIDE_TYPES, defined, file_of, formatted, joined
from jaxvjp.explain.mapping import over_keys
from jaxvjp.explain.names import numbered, safe, statement, told_at, told_line
from jaxvjp.explain.optimizers import Group, Update, chained, kept_by
from jaxvjp.explain.refusal import Refusal
from jaxvjp.explain.rolling import rolled
from jaxvjp.explain.rounds import regular
from jaxvjp.explain.scope import NeedsWide
from jaxvjp.explain.source import Writer
from jaxvjp.explain.states import begun
from jaxvjp.explain.step_writer import StepWriter, Tree, shared_beginning
from jaxvjp.explain.steps import Entry, NotPortable, StateRead, Steps, places
from jaxvjp.explain.story import Story
from jaxvjp.explain.text import Text, wide
from jaxvjp.explain.training_graph import TrainingStep, from_zeros, site_of
from jaxvjp.explain.wrapped import NO_COPY
from jaxvjp.ops.view import slice_
from jaxvjp.pure.wrapping import Call, name_of

FEW, WIDTH = 4, 116
"""An array of more numbers than FEW is in the file of data; a line is at most WIDTH long, if it can be broken."""
LISTED = 24
"""Of rows that steps read in no regular order at most so many places are listed; else the rows are stored."""
NORMS = {"cdist", "dist", "norm", "linalg_norm", "linalg_vector_norm", "linalg_matrix_norm"}
EITHER = "\nIts random numbers are drawn from keys; with --exact-random they are torch's, as recorded."
RESERVED = """jax jnp np optax sys Path data state batch batches losses step number loss key keys draws exact updates"""
UNBROKEN: Any = {"break_long_words": False, "break_on_hyphens": False}


class Ported(NamedTuple):
    """A ported script.

    Attributes:
        source: its text.
        data: the arrays of the file beside it, by name.
        losses: what each step's losses were.
        state: what the state was at the end, by its expression; words for a long one are a comment in it.
        dropped: the user's lines and names of what is not in the script, though it depends on the training, and why.
        left_out: lines that only read such a value, as those of an evaluation do.
        simplified: whether it has plain forms of ops, which differ at an edge, or optax's clip, without torch's 1e-6.
    """

    source: str
    data: dict[str, np.ndarray[Any, Any]]
    losses: list[list[Any]]
    state: dict[str, Any]
    dropped: list[str]
    left_out: list[str]
    simplified: bool


def listed(places: Iterable[UserLine], script: str | None) -> str:
    """The user's lines at these places: `line 4, 14, layers.py:58`."""
    found = sorted({(each.filename != script, each.filename, each.line) for each in map(statement, places) if each})
    told = ", ".join(told_line(name, line, script) for _, name, line in found)
    return told.replace(", line ", ", ")


def _import_order(line: str) -> tuple[bool, str]:
    """Python's own modules first."""
    return (any(f" {each}" in line for each in ("jax", "numpy", "optax")), line.split()[1])


@contextmanager
def _cut(nodes: Sequence[Any], still: Sequence[Any]) -> Iterator[None]:
    """A context in which what `nodes` were computed from is out of reach; of `still` nobody asks for a gradient."""
    kept = [(node, node.inputs, node.edges) for node in nodes if any(isinstance(each, Node) for each in node.inputs)]
    for each in still:
        each.requires_grad = False
    for each, _, _ in kept:
        each.inputs = ()
        if each.edges is not None:
            each.edges = ()
    try:
        yield
    finally:
        for each in still:
            each.requires_grad = True
        for each, inputs, edges in kept:
            each.inputs = inputs
            if edges is not None:
                each.edges = edges


def ported(
    story: Story,
    updates: Sequence[Update],
    draws: Draws,
    head: str,
    data_file: str,
    reads: Sequence[Node] = (),
    exact: bool = True,
) -> Ported:
    """The script of a story whose optimizers took the steps `updates`, whose random numbers are `draws`, and in which
    Python has read the values of `reads`. With `exact` no op has a plain form.
    NotPortable if it is none of steps."""
    why = "another value of this name is in the state at the end"
    for ending in (True, False):  # what is computed after the last step may have no text
        # What is computed from data or from random numbers may differ between steps, or have no text: it is data then.
        for given, inside in ((draws, True), (draws, False), (draws.none(), False)):
            try:
                return _ported(story, updates, given, head, data_file, reads, ending, inside, why, exact)
            except StateRead:
                return ported(story, [each.without_rules() for each in updates], draws, head, data_file, reads, exact)
            except Refusal as error:
                refused = error
        why = told_at(refused.where, story.file) + str(refused).splitlines()[0]
    raise refused


def _ported(
    story: Story,
    updates: Sequence[Update],
    draws: Draws,
    head: str,
    data_file: str,
    reads: Sequence[Node],
    ending: bool,
    inside: bool,
    why: str,
    exact: bool,
) -> Ported:
    updates, story = [each.unclipped(exact) for each in updates], from_zeros(story)
    with jax.enable_x64(True), story.told(), ExitStack() as stack:
        whole = Writer(story, "grad", exact=exact)
        whole.text.rounds.clear()  # a step has no rounds
        nodes = whole.text.save_copies(whole.nodes, updates)
        whole.text.at_zero = set() if exact else _zeros(nodes)
        numbers = stack.enter_context(begun(nodes, whole.differentiated))
        for leaf in numbers:
            leaf.serial = -1  # a step reads it
        steps = Steps(story, whole.text, nodes, updates, draws, reads, ending, inside, inside)
        if inside and steps.kinds > 1:
            outside = Steps(story, whole.text, nodes, updates, draws, reads, ending, False, inside)
            steps = outside if outside.kinds < steps.kinds else steps
        avals = [each.aval for each in steps.live if type(each.aval) is not tuple]
        doubles = any(aval.dtype.differentiable and wide(aval) for aval in avals)
        while True:
            try:
                return _Script(story, steps, doubles, reads, why).written(head, data_file)
            except NeedsWide:
                doubles = True
            except OtherText as other:
                steps.part(other.kinds)


def _zeros(nodes: Sequence[Node]) -> set[Node]:
    """The norms, of lines that have given 0, through which a gradient may go: `jnp.linalg.norm` gives NaN there, which
    no check under `jax.jit` need see."""
    norms = [each for each in nodes if each.requires_grad and each.operation and each.operation.name in NORMS]
    evaluate(norms)
    lines = {site_of(each)[:2] for each in norms if not np.all(each.value)}
    return {each for each in norms if site_of(each)[:2] in lines}


class OtherText(Exception):  # noqa: N818 - no error: the script is written again
    """Raised where steps of some kinds have another text than those that differ from them in shapes only."""

    def __init__(self, kinds: list[int]) -> None:
        self.kinds = kinds


class _Script:
    def __init__(self, story: Story, steps: Steps, wide: bool, reads: Sequence[Node], why: str) -> None:
        self.story, self.steps, self.wide = story, steps, wide
        dropped = steps.dropped.items()
        self.dropped = [f"{told_at(each.where, story.file)}{story.tensors[tensor]}: {why}" for each, tensor in dropped]
        for tensor, leaf in steps.by_python(reads).items():
            called = steps.text.name_of(steps.text.first[tensor]) or "a parameter"
            self.dropped.append(
                f"{told_at(leaf.where, story.file)}{called}: Python has computed its numbers, which are as recorded"
            )
        only = [each for each in reads if each not in steps.gathered]
        lines = listed([each.where for each in steps.unwritten(only)], story.file)
        left_out = f"Left out is what only Python reads, of {lines}"
        last = steps.last_number()
        decided_by = "what it decided, and numbers made of it, are" if last else "what it decided is"
        self.left_out = [f"{left_out}; {decided_by} as in this run."] if lines else []
        decided = [node for step in steps.steps for node in step.nodes if any(map(steps.trained, steps.causes(node)))]
        asked = {each for each in reads if steps.independent(each) and steps.trained(each)}
        sampled = [each.where for each in decided if each in steps.draws.sampled]
        picked = [each.where for each in decided if each not in steps.draws.sampled]
        losses = {loss for step in steps.steps for loss in step.losses}
        read = [
            each.where
            for each in story.events
            if isinstance(each.what, Read)
            and (each.what.node in asked or (steps.origin(each.what.node) in losses and each.order < last))
            and each.what.node in reads
            and not ((line := statement(each.where)) is not None and line.prints)
        ]
        told = {
            "Values decided what ran in {}: its places are as recorded; see jnp.where, x[jnp.argmax(x)].": picked,
            "Samples of {} are torch's, from the weights of then: see jax.random.categorical.": sampled,
            "What Python computes of the values that {} reads is as recorded.": read,
            "What {} makes of values of all steps is left out: they are in losses.": [e.where for e in steps.gathered],
            "What {} carries from step to step is as recorded.": [where for where, *_ in steps.recorded],
            "What {} draws stays torch's, as what was computed of it is recorded.": [each.where for each in steps.kept],
            "Random numbers of {} are torch's, as recorded.": [
                each.where for each in steps.recorded_draws() if each not in decided
            ],
        }
        self.left_out += [text.format(found) for text, own in told.items() if (found := listed(own, story.file))]
        self.data: dict[str, Any] = {}
        self.read: dict[int, set[str]] = {}  # by kind, the data that its steps read
        self.fed: dict[int, bool] = {}  # whether they read any
        self.names: dict[int, str] = {}
        self.arrays: dict[Node, str] = {}  # what is only read in parts
        self.text: Text | None = None
        self.idle = False  # whether what follows the steps leaves all as it is
        taken = {*RESERVED.split()}
        batches: dict[str, set[int]] = {}  # the kinds of steps whose batches have data of a name
        own: dict[tuple[str, str, bool], list[Entry]] = {}
        for entry in sorted(steps.entries, key=lambda entry: entry.role != "state"):
            if entry.twin is not entry:
                continue
            rows = _sliced([node for _, node in steps.reads_of(entry)]) if entry.role == "data" else None
            if not entry.name and rows is not None and (whole := steps.text.name_of(rows)):
                entry.name = f"{whole}_rows"
            base = safe(entry.name or ("given" if entry.role != "state" else "kept"))
            kinds = {kind for kind, *_ in entry.slots}
            alone = {each for each, known in batches.items() if known.isdisjoint(kinds)} if entry.role == "data" else ()
            entry.name = numbered(base, taken.difference(alone))
            taken.add(entry.name)
            if entry.role == "data":
                batches.setdefault(entry.name, set()).update(kinds)
            value = entry.start or entry.end
            if entry.name == base and "_" in base and entry.role != "data" and value is not None:
                module = next(iter(steps.story.modules.get(base, ())), None)
                trained = module is None and value.requires_grad
                own.setdefault((module or base.partition("_")[0], entry.role, trained), []).append(entry)
        self.taken = taken
        self.trees: dict[tuple[int, int], Tree] = {}
        self.find_trees()
        self.ruled = {key: tree for key, tree in self.trees.items() if tree.transform}
        dicts = [*{tree.name: tree for tree in self.trees.values()}.values()]
        self.dicts = sorted(dicts, key=lambda tree: any({*tree.entries} < {*other.entries} for other in dicts))
        for (base, _, _), entries in own.items():
            self.gather(base, entries)

    def gather(self, base: str, entries: list[Entry]) -> None:
        """Makes dicts of what has names that begin alike: the buffers of a module, or what an optimizer keeps of each
        parameter, which has the parameter's key."""
        trained = [*self.dicts]
        rest = [each for each in entries if not any(each in tree.entries for tree in trained)]
        kept: dict[tuple[str, str], list[tuple[str, Entry]]] = {}
        modules = self.steps.story.modules
        module = base if all(base in modules.get(each.name, ()) for each in rest) else ""
        cut = len(module) + 1 if module else shared_beginning([each.name for each in rest]).rfind("_") + 1
        for each in rest:
            of_state = re.fullmatch(rf"{base}_(\d+)_(\w+)", each.name)
            kept.setdefault((base, ""), []).append((each.name[cut:], each))
            if of_state is not None:
                kept.setdefault((f"{base}_{of_state[2]}", "of a parameter"), []).append((of_state[1], each))
        for (called, numbers), own in kept.items():
            for tree in trained:
                keys = dict(zip(map(str, range(len(own))) if numbers else tree.keys, tree.keys, strict=False))
                found = [(keys[key], each) for key, each in own if key in keys and each in rest]
                if len(found) == len(tree.keys) == len(keys):
                    whole = called if numbers or not cut else found[0][1].name[: cut - 1]  # `best_state` of `best`
                    self.dicts.append(Tree(numbered(whole, self.taken), [each for _, each in found]))
                    self.dicts[-1].keys = [key for key, _ in found]
                    self.taken.add(self.dicts[-1].name)
                    rest = [each for each in rest if each not in self.dicts[-1].entries]
        if len(rest) > 2 or (len(rest) == 2 and base in [tree.name for tree in trained]):
            self.dicts.append(Tree(numbered(f"{base}_kept" if base in self.taken else base, self.taken), rest, module))
            self.taken.add(self.dicts[-1].name)

    def module_of(self, entries: Sequence[Entry]) -> str:
        """The name of the innermost of the user's modules that has all of these; "" if there is none."""
        owners = [self.steps.story.modules.get(each.name, ()) for each in entries]
        common = [each for each in owners[0] if all(each in own for own in owners)] if owners else []
        return common[-1] if common else ""

    def find_trees(self) -> None:
        """The dicts of the state: one for the parameters of each group of an optimizer that has a rule."""
        known: dict[Node, Entry] = {}
        for step in self.steps.steps:
            for direction, nodes in (("in", step.operands), ("out", step.outputs)):
                for place, node in enumerate(nodes):
                    known.setdefault(node, self.entry(step.kind, direction, place))
        for update in self.steps.updates:
            for number, group in enumerate(update.groups):
                key = (id(update.optimizer), number)
                if key in self.trees or not group.after:
                    continue
                found = [
                    known.get(after) or known.get(before)
                    for before, after in zip(group.before, group.after, strict=True)
                ]
                entries = [each for each in found if each is not None]
                if len(entries) < len(found) and group.rule is not None:
                    raise NotPortable("an optimizer updates a parameter that no later step reads")
                if len({*entries}) < len(found):
                    continue
                known_as = next((tree.name for tree in self.trees.values() if tree.entries == entries), None)
                module = self.module_of(entries)
                common = module or shared_beginning([entry.name for entry in entries]).rpartition("_")[0]
                common = common if len(entries) > 1 and common.isidentifier() else "params"
                name = known_as or numbered(common, self.taken)
                beside = {re.sub(r"_(state|rates)$", "", each) for each in self.taken}
                own = f"{name}_{type(update.optimizer).__name__.lower()}"
                transform = numbered(own, self.taken | beside)
                self.taken |= {name, transform, f"{transform}_rates"}
                alone = update.clip is not None and len(update.groups) == 1
                clip = [f"optax.clip_by_global_norm({update.clip.limit!r})"] if update.clip and alone else []
                if group.rule is None:
                    self.trees[key] = Tree(name, entries, module)
                    self.taken.add(name)
                    continue
                rates = [
                    each.groups[number].rate
                    for each in self.steps.updates
                    if each.optimizer is update.optimizer
                    and any(step.first <= each.first < step.last for step in self.steps.steps)
                ]
                self.trees[key] = Tree(name, entries, module, transform, chained([*clip, *group.rule]), rates)

    def place(self, entry: Entry) -> str:
        """Where an entry is: in the state, or a constant."""
        name, member, _ = self.member(entry)
        return (f'state["{name}"]' if entry.role == "state" else name) + member

    def member(self, entry: Entry) -> tuple[str, str, Tree | None]:
        """The dict that has an entry, and its key there: `("net", '["weight"]', tree)`. Where two optimizers have the
        parameter it is the first, or larger, dict: the other names its entries for the optimizer alone."""
        for tree in self.dicts:
            if entry in tree.entries:
                return tree.name, f'["{tree.keys[tree.entries.index(entry)]}"]', tree
        return entry.name, "", None

    def display(self, tree: Tree) -> list[str]:
        """The lines that define a dict."""
        homes = [self.member(each) for each in tree.entries]
        values = [
            self.first(each) if home is tree else name + member
            for each, (name, member, home) in zip(tree.entries, homes, strict=True)
        ]
        own = zip(tree.keys, values, strict=True)
        return [f"{tree.name} = {{", *[f'    "{key}": {value},' for key, value in own], "}"]

    def first(self, entry: Entry) -> str:
        """The expression of an entry's first value: zeros, where a step computes it before one reads it."""
        if entry.start is None and entry.end is not None:
            return f"jnp.zeros({entry.end.aval.shape}, jnp.{entry.end.aval.dtype.name})"
        return self.value(entry.name, entry.start)

    def updates_of(self, kind: int) -> list[tuple[Tree, Update, Group]]:
        """The steps that optimizers take in the first step of a kind."""
        found = []
        step = self.steps.steps_of(kind)[0]
        for update in self.steps.updates:
            if step.first <= update.first < step.last and any(output.serial > 0 for output in step.outputs):
                for place, group in enumerate(update.groups):
                    tree = self.ruled.get((id(update.optimizer), place))
                    if tree is not None and group.rule is not None:
                        found.append((tree, update, group))
        return found

    def transforms(self) -> list[str]:
        """The lines that define the optimizers, with the rates of their schedules."""
        lines = []
        for tree in self.ruled.values():
            rate = repr(tree.rates[0])
            if len({*tree.rates}) > 1:
                column = np.array(tree.rates, np.float64 if self.wide else np.float32)
                lines.append(f"{tree.transform}_rates = {self.stored(f'{tree.transform}_rates', column)}")
                rate = f"lambda count: {tree.transform}_rates[count]"
            lines.append(f"{tree.transform} = {tree.written.format(rate=rate)}")
        return lines

    def drawn(self, kind: int) -> list[Entry]:
        """The random numbers of a step of a kind."""
        read = self.read.get(kind)  # once the step is written
        own = [each for each in self.of("data") if read is None or each.name in read]
        return [each for each in own if each.drawn is not None and places(each, kind, "in")]

    def draws(self, kind: int) -> list[str]:
        """The function that draws them."""
        lines = [
            f"def draws{self.suffix(kind)}({self.given_to_draws(kind)}):",
            f"    keys = jax.random.split(key, {len(self.drawn(kind))})",
            "    return {",
        ]
        for number, each in enumerate(self.drawn(kind)):
            aval = self.steps.steps_of(kind)[0].operands[places(each, kind, "in")[0]].aval
            assert each.drawn is not None
            dtype, cast = (f", jnp.{aval.dtype.name}", f".astype(jnp.{aval.dtype.name})") if self.wide else ("", "")
            shape = self.shape(kind, each) or aval.shape
            made = each.drawn.format(key=f"keys[{number}]", shape=shape, dtype=dtype, cast=cast)
            lines.append(f'        "{each.name}": {made},')
        return [*lines, "    }"]

    def given_to_draws(self, kind: int) -> str:
        return f"key{', batch' * any('batch' in (self.shape(kind, each) or '') for each in self.drawn(kind))}"

    def shapes(self, kind: int, entry: Entry) -> tuple[tuple[int, ...], ...]:
        """The shape of an entry in each kind of steps that differs from one in shapes only."""
        place = places(entry, kind, "in")[0]
        return tuple([self.steps.steps_of(each)[0].operands[place].aval.shape for each in self.steps.alike(kind)])

    def shape(self, kind: int, entry: Entry) -> str | None:
        """The shape of what is drawn, with `len(batch["x"])` for a size that differs as the rows of a batch do; None
        if one differs in another way."""
        data = [each for each in self.of("data") if each.drawn is None and each.name in self.read[kind]]
        data = [each for each in data if places(each, kind, "in")]
        rows = {tuple([shape[0] for shape in self.shapes(kind, each) if shape]): each.name for each in data}
        texts = []
        for column in zip(*self.shapes(kind, entry), strict=True):
            if len({*column}) > 1 and column not in rows:
                return None
            texts.append(str(column[0]) if len({*column}) == 1 else f'len(batch["{rows[column]}"])')
        return f"({', '.join(texts)}{',' * (len(texts) == 1)})"

    def suffix(self, kind: int) -> str:
        end = self.steps.end
        if end is not None and kind == end.kind:
            return "_end"
        groups = [each[0] for each in self.steps.groups.values() if end is None or each[0] != end.kind]
        return "" if len(groups) == 1 else f"_{sorted(groups).index(self.steps.alike(kind)[0]) + 1}"

    def entry(self, kind: int, direction: str, place: int) -> Entry:
        return next(each.twin for each in self.steps.entries if (kind, direction, place) in each.slots)

    def function(self, kind: int) -> list[tuple[str, Any]]:
        """The lines of a step of a kind."""
        steps = self.steps
        step = steps.steps_of(kind)[0]
        given: dict[Any, tuple[str, str, bool]] = {}
        sizes = {tree.name: len(tree.keys) for tree in self.dicts}
        for place, node in enumerate(step.operands):
            entry = self.entry(kind, "in", place)
            where = f'batch["{entry.name}"]' if entry.role == "data" else self.place(entry)
            given[node] = (entry.name, where, entry.role != "constant")
        for place in steps.lifted[kind]:
            called = self.number_name(kind, place)
            given[step.numbers[place][0]] = (called, f'batch["{called}"]', True)
        trees = self.updates_of(kind)
        nodes = [each for each in given if type(each) is Node]
        with _cut(nodes, [each for each in nodes if steps.still(step, each)]):
            writer = StepWriter(self.story, steps, step, given, sizes, trees, self.text, self.wide)
            suffixes = [self.suffix(each) for each in range(steps.kinds)]
            functions = {name + suffix for name in ("step", "draws") for suffix in suffixes}
            writer.text.taken |= {*self.taken, *functions}
            block, losses, outputs, kept = writer.body({*functions, *[tree.transform for tree in self.ruled.values()]})
        self.text = writer.text
        file = file_of(self.story)
        left = {self.entry(kind, "out", place): text for place, text in enumerate(outputs)}
        after: dict[str, Any] = {}
        for tree in self.dicts:
            if any(each in left for each in tree.entries):
                after[tree.name] = [left.pop(each, self.place(each).replace('"', "'")) for each in tree.entries]
        after.update({tree.kept: text for tree, text in kept.items()})
        after.update({entry.name: text for entry, text in left.items()})
        body, losses = self.alike(block.lines, after, losses)
        lines = formatted(rolled(body), 1, file)
        after = {name: text for name, text in after.items() if text.replace("'", '"') != f'state["{name}"]'}
        if steps.end is not None and kind == steps.end.kind and not (lines or losses or after):
            self.idle = True  # as where the best weights are read again, which are the last
            self.read[kind] = set()
            return []
        own = ", ".join(f'"{name}": {text}' for name, text in after.items())
        returned = f"{{**state{', ' * bool(own)}{own}}}, [{', '.join(losses)}]"
        returned = f"return ({returned})" if len(returned) > WIDTH - len("    return ") else f"return {returned}"
        written = "\n".join([text for text, _ in lines] + [returned])
        self.read[kind] = {*re.findall(r"batch\[['\"](\w+)['\"]\]", written)}
        self.fed[kind] = bool(self.read[kind])
        head = ["@jax.jit", f"def step{self.suffix(kind)}(state{', batch' * self.fed[kind]}):"]
        if self.drawn(kind):
            head = [*self.draws(kind), "", "", "@jax.jit", f"def step{self.suffix(kind)}(state, batch, key):"]
            given_to = self.given_to_draws(kind)
            head.append(
                f"    batch = {{**draws{self.suffix(kind)}({given_to}), **batch}}  # what batch has is not drawn"
            )
        return [("", ()), *[(each, ()) for each in head], *lines, (f"    {returned}", ()), ("", ())]

    def alike(self, lines: list[Line], after: dict[str, Any], losses: list[str]) -> tuple[list[Line], list[str]]:
        """The lines of a step, with one for what it does to all of a dict alike, and its losses; `after` gets the
        expression of each dict, in place of those of its members."""
        trees = {tree.name: tree for tree in self.dicts}
        ends = [Line(f"_{place} = {text}", (), "") for place, text in enumerate(losses)]
        for name, text in after.items():
            members = zip(trees[name].keys, text, strict=True) if name in trees else [("", text)]
            ends += [Line(f"{name}__{key} = {own}", (), name) for key, own in members]
        known = {name: frozenset(tree.keys) for name, tree in trees.items()}
        found = over_keys([*lines, *ends], known)
        texts = [(each.step, *each.text.split(" = ", 1)) for each in found if isinstance(each.step, str)]
        for name in after:
            own = [(target, text) for step, target, text in texts if step == name]
            whole = own[0][0] if "__" not in own[0][0] else None
            after[name] = whole or (trees[name].whole([text for _, text in own]) if name in trees else own[0][1])
        body = [
            each for each in found if not isinstance(each.step, str) or (each.step and "__" not in each.text.split()[0])
        ]
        return body, [text for step, _, text in texts if not step]

    def number_name(self, kind: int, place: int) -> str:
        """One name for all numbers that vary in the same way, as a learning rate does."""
        key = hash((self.steps.alike(kind)[0], tuple(self.column(kind, place))))
        known = self.names.setdefault(key, "")
        if not known:
            known = self.names[key] = numbered("rate", self.taken)
            self.taken.add(known)
        return known

    def column(self, kind: int, place: int) -> list[Any]:
        group = self.steps.alike(kind)
        return [each.numbers[place][0].value for each in self.steps.steps if each.kind in group]

    def written(self, head: str, data_file: str) -> Ported:
        steps = self.steps
        functions, firsts, others = [], dict[int, list[str]](), list[int]()
        for kind in range(steps.kinds):
            written = self.function(kind)
            first = steps.alike(kind)[0]
            if first == kind:
                functions.append(written)
                firsts[kind] = [text for text, _ in written]
            elif [text for text, _ in written] != firsts[first]:
                others.append(kind)
            if len(steps.groups) + len(others) > steps.most:
                break
        if others:
            raise OtherText(others)
        text = self.text
        assert text is not None
        for node in [each for step in steps.steps for each in step.nodes if type(each) is Node]:
            call = node.static[0] if isinstance(node.static, tuple) and node.static else None
            if isinstance(call, Call) and any(each is call.function for each in text.handed_over.values()):
                raise NotPortable(NO_COPY.format(name_of(call.function)), node.where)
        settings = [WIDE_TYPES] if self.wide else []
        if jax.default_backend() != "cpu":
            settings.append(EXACT_PRODUCTS)
        imports = ["import jax", "import jax.numpy as jnp", "import numpy as np", "from pathlib import Path"]
        inside = {each for tree in self.dicts for each in tree.entries}
        alone = [each for each in self.of("constant") if each not in inside]
        constants = [f"{each.name} = {self.value(each.name, each.start)}" for each in alone]
        start, grown = [], ["state = {"]
        for tree in self.dicts:
            if tree.entries[0].role == "constant":
                constants += self.display(tree)
            else:
                start += self.display(tree)
                if any(self.member(each)[2] is tree for each in tree.entries):
                    grown.append(f'    "{tree.name}": {tree.name},')
        ends: dict[str, Node] = {}
        optimizers = {id(update.optimizer): update for update in steps.updates}
        for (optimizer, group), tree in self.ruled.items():
            ends.update(kept_by(optimizers[optimizer], group, tree.kept, tree.keys))
            grown.append(f'    "{tree.kept}": {tree.transform}.init({tree.name}),')
        start += grown
        for each in self.of("state"):
            if each.start is not None and each not in inside:
                start.append(f'    "{each.name}": {self.value(each.name, each.start)},')
            if each.end is not None:
                ends[self.place(each)] = each.end
        start.append("}")
        transforms = self.transforms()
        loop = self.loop()
        random = any(self.drawn(kind) for kind in range(steps.kinds))
        if random:
            imports.append("import sys")
            settings.append('exact = "--exact-random" in sys.argv  # torch\'s random numbers, as they were recorded')
        libraries = "optax" if self.ruled else "numpy"
        needs = f"It needs jax and {libraries}. Its batches are those of torch's seed, as recorded."
        needs += EITHER if random else ""
        needs += "".join([f"\nNot in it, {each}" for each in self.dropped] + [f"\n{each}" for each in self.left_out])
        count = str(len(steps.steps) - (steps.end is not None))
        pages: list[list[tuple[str, Any]]] = [
            [(line, ()) for line in head.replace("STEPS", count, 1).replace("NEEDS", needs, 1).splitlines()],
            [(each, ()) for each in sorted({*imports, *text.imports}, key=_import_order)],
            [(setting, ()) for setting in settings],
            [(f'data = np.load(Path(__file__).with_name("{data_file}"))', ())] if self.data else [],
            [(each, ()) for each in [*constants, *transforms]],
            *defined(text, [*functions, [(each, ()) for each in [*start, *loop]]]),
            *functions,
            [(each, ()) for each in start],
            [(each, ()) for each in loop],
            [(f"raise NotImplementedError({each!r})", ()) for each in self.dropped[:1] if not steps.end],
        ]
        source = "\n".join(tidy(each) for each, _ in joined(pages)) + "\n"
        if not self.wide and re.search(r"jnp\.(u?int64|float64|complex128)\b", source.replace("dtype=jnp.int64", "")):
            raise NeedsWide
        if not self.wide:  # JAX would say that it makes them so
            source = re.sub(r"(dtype=jnp\.|astype\(')int64\b", r"\1int32", source)
        evaluate([*ends.values(), *[each for step in steps.steps for each in step.losses]])
        told = [step for step in steps.steps if step is not steps.end or step.losses]
        losses = [[np.asarray(loss.value) for loss in step.losses] for step in told]
        end = {name: np.asarray(each.value) for name, each in ends.items()}
        simplified = text.simplified or any(update.clip for update in steps.updates)
        return Ported(source, self.data, losses, end, self.dropped, self.left_out, simplified)

    def of(self, role: str) -> list[Entry]:
        return [entry for entry in self.steps.entries if entry.role == role and entry.twin is entry]

    def value(self, name: str, node: Any) -> str:
        """The expression of an array: the numbers, if they are few, else its place in the file of data."""
        evaluate([node])
        array = np.asarray(node.value)
        return self.stored(name, array)

    def stored(self, name: str, array: Any) -> str:
        if array.dtype.name == "bfloat16":
            return f"{self.stored(name, array.astype(np.float32))}.astype(jnp.bfloat16)"
        if not self.wide and array.dtype == np.int64 and np.any(array != array.astype(np.int32)):
            raise NeedsWide
        dtype = "bool_" if array.dtype.kind == "b" else array.dtype.name
        if 0 < array.size <= FEW and array.dtype.kind in "fiub" and np.all(np.isfinite(array)):
            return f"jnp.array({array.tolist()!r}, dtype=jnp.{dtype})"
        if not array.tobytes().strip(b"\0"):  # no number, or zeros, none of which is -0.0
            return f"jnp.zeros({array.shape}, jnp.{dtype})"
        name = numbered(name, self.data)
        self.data[name] = array
        return f'jnp.asarray(data["{name}"])'

    def loop(self) -> list[str]:
        """The lines that run the steps over their data."""
        steps = self.steps
        lines = []
        groups = sorted([*steps.groups.values()])
        for kind, *others in groups:
            if others:
                lines += self.listed(kind)
                continue
            own: list[tuple[str, Any]] = []
            drawn: list[tuple[str, Any]] = []
            for each in [each for each in self.of("data") if each.name in self.read[kind]]:
                for place in places(each, kind, "in")[:1]:
                    nodes = [step.operands[place] for step in steps.steps_of(kind)]
                    evaluate(nodes)
                    column: Any = self.windows(nodes) if each.drawn is None else None
                    if column is None:
                        column = np.stack([np.asarray(node.value) for node in nodes])
                    (own if each.drawn is None else drawn).append((each.name, column))
            for place in dict.fromkeys(steps.lifted[kind]):
                called = self.number_name(kind, place)
                if called not in dict(own) and called in self.read[kind]:
                    dtype = steps.steps_of(kind)[0].numbers[place][1].aval.dtype.numpy
                    own.append((called, np.array(self.column(kind, place)).astype(dtype)))
            if own or drawn:
                lines += self.rows(f"batches{self.suffix(kind)} =", own, kind)
            if drawn:
                lines += [
                    "if exact:",
                    *[f"    {each}" for each in self.rows(f"batches{self.suffix(kind)} |=", drawn, kind)],
                ]
        lines = [f"{name} = {self.value(name, node)}" for node, name in self.arrays.items()] + lines
        lines += ["key = jax.random.key(0)"] * any(map(self.drawn, range(steps.kinds)))
        lines.append("losses = []")
        kinds = [steps.alike(step.kind)[0] for step in steps.steps if step is not steps.end]
        runs = [(kind, len([*own])) for kind, own in groupby(kinds)]
        anew = self.anew()
        if len(runs) == 1 and len(steps.alike(kinds[0])) > 1:
            lines += ["for batch in batches:", *[f"    {each}" for each in [*anew, *self.round(kinds[0])[1:]]]]
        elif len(runs) <= 4:
            counts = dict.fromkeys(kinds, 0)
            for kind, count in runs:
                span = f"{counts[kind]}, " * bool(counts[kind]) + f"{counts[kind] + count}"
                lines += [f"for number in range({span}):", *[f"    {each}" for each in [*anew, *self.round(kind)]]]
                counts[kind] += count
        else:
            self.data["order"] = np.array([(kind, kinds[:place].count(kind)) for place, kind in enumerate(kinds)])
            lines += ['for kind, number in data["order"]:', *[f"    {each}" for each in anew]]
            for place, kind in enumerate(sorted({*kinds})):
                lines.append(f"    {'elif' if place else 'if'} kind == {kind}:")
                lines += [f"        {each}" for each in self.round(kind)[:-1]]
            lines.append("    losses.append(loss)")
        if steps.end is not None and not self.idle:
            lines += self.round(steps.end.kind, "0")[: None if steps.end.losses else -1]
        told = [step for step in steps.steps if step is not steps.end or step.losses]
        if any(step.losses for step in told):
            some = "" if all(step.losses for step in told) else ' if loss else f"step {number}"'
            lines += ["", "for number, loss in enumerate(losses):"]
            named = [self.told(step) for step in steps.steps if step.losses]
            counted = [loss for step in told for loss in step.losses[: len(named[0])]]
            if len({*map(str, named)}) == 1 and not any(loss.aval.shape for loss in counted):
                shown = "  ".join(f"{name} {{loss[{place}]:.6f}}" for place, name in enumerate(named[0]))
                lines.append(f'    print(f"step {{number}}  {shown}"{some})')
            else:
                most = max(map(len, named))
                lines.append(f'    shown = [f"{{each:.6f}}" for each in loss[:{most}] if not each.ndim]')
                lines.append('    print(f"step {number}  loss", *shown)')
        return lines

    def anew(self) -> list[str]:
        """The lines before a step that has a state start again."""
        found: dict[tuple[int, ...], list[Entry]] = {}
        for entry in [each for each in self.of("state") if each.anew]:
            found.setdefault((*entry.anew,), []).append(entry)
        lines = []
        for numbers, entries in found.items():
            period = numbers[0]
            count = len(self.steps.steps) - (self.steps.end is not None)
            regular = numbers == (*range(period, count, period),)
            texts = [self.value(each.name, each.anew[period]) for each in entries]
            regular = regular and texts == [self.first(each) for each in entries]
            lines.append(f"if len(losses) % {period} == 0:" if regular else f"if len(losses) in {numbers}:")
            lines += [f"    {self.place(entry)} = {text}" for entry, text in zip(entries, texts, strict=True)]
        return lines

    def told(self, step: TrainingStep) -> list[str]:
        """What the losses of a step's backward passes are called, which come first among its losses."""
        roots = {root for event in step.events if isinstance(event.what, Walked) for root in event.what.roots}
        names: list[str] = []
        for loss in step.losses:
            if loss in roots:
                names.append(numbered(self.steps.text.name_of(loss) or "loss", names))
        return ["loss"] if len(names) < 2 else names

    def rows(self, target: str, columns: Sequence[tuple[str, Any]], kind: int) -> list[str]:
        """The lines of a dict of arrays with a row for each step of a kind."""
        if not columns:
            return [f"{target} {{}}"]
        texts = [
            each if isinstance(each, str) else self.stored(f"{name}{self.suffix(kind)}", each) for name, each in columns
        ]
        own = [f'    "{name}": {text},' for (name, _), text in zip(columns, texts, strict=True)]
        return [f"{target} {{", *own, "}"]

    def listed(self, kind: int) -> list[str]:
        """The lines of a list of batches, for steps that differ in shapes."""
        steps = [step for step in self.steps.steps if step.kind in self.steps.alike(kind)]
        rows: list[dict[str, Any]] = [{} for _ in steps]
        for number, (step, row) in enumerate(zip(steps, rows, strict=True)):
            for each in [each for each in self.of("data") if each.name in self.read[kind]]:
                for place in places(each, step.kind, "in")[:1]:
                    evaluate([step.operands[place]])
                    row[each.name] = np.asarray(step.operands[place].value)
            for place in dict.fromkeys(self.steps.lifted[kind]):
                dtype = step.numbers[place][1].aval.dtype.numpy
                row[self.number_name(kind, place)] = np.array(self.column(kind, place)[number]).astype(dtype)
        keys = {name: numbered(f"{name}{self.suffix(kind)}", self.data) for name in rows[0]}
        while any(each in self.data for key in keys.values() for each in [f"{key}_{n}" for n in range(len(rows))]):
            keys = {name: f"{key}_of" for name, key in keys.items()}
        for number, row in enumerate(rows):
            self.data.update({f"{keys[name]}_{number}": array for name, array in row.items()})
        texts = {name: f'"{name}": jnp.asarray(data[f"{key}_{{number}}"])' for name, key in keys.items()}
        drawn = [texts.pop(each.name) for each in self.drawn(kind)]
        members, target = ", ".join(texts.values()), f"batches{self.suffix(kind)}"
        lines = [f"{target} = [", f"    {{{members}}}", f"    for number in range({len(rows)})", "]"]
        if len(texts) == 1:
            lines = [f"{target} = [{{{members}}} for number in range({len(rows)})]"]
        exact = [f"for number, batch in enumerate({target} if exact else []):", f"    batch |= {{{', '.join(drawn)}}}"]
        return [*lines, *(exact if drawn else [])]

    def windows(self, nodes: Sequence[Node]) -> str | None:
        """The expression of rows that steps read of one array in turn, `X[i:i + 4]`; None if they do not."""
        source = _sliced(nodes)
        if source is None or not self.steps.independent(source) or self.steps.inputs(source):
            return None
        _, length, _ = nodes[0].static
        begins = [int(np.asarray(each.inputs[1].value).real) for each in nodes]
        run = regular(begins)
        if run > 1 and begins[1] > begins[0] and begins == begins[:run] * (len(begins) // run):
            step = begins[1] - begins[0]
            span = f"range({begins[0]}, {begins[run - 1] + step}, {step})"
            span = span if run == len(begins) else f"[*{span}] * {len(begins) // run}"
        elif len(begins) <= LISTED:
            span = str(begins)
        else:
            return None
        known = next((each for each in self.of("constant") if each.start is source), None)
        name = self.place(known) if known is not None else self.arrays.get(source, "")
        if not name:
            name = self.arrays[source] = numbered(safe(self.steps.text.name_of(source) or "rows"), self.taken)
            self.taken.add(name)
        return f"jnp.stack([{name}[i : i + {length}] for i in {span}])"

    def round(self, kind: int, number: str = "number") -> list[str]:
        """The lines that call a step once."""
        fed, drawn = self.fed[kind], bool(self.drawn(kind))
        key = ", jax.random.fold_in(key, len(losses))" * drawn
        row = f"{{name: each[{number}] for name, each in batches{self.suffix(kind)}.items()}}"
        if len(self.steps.alike(kind)) > 1:
            row = f"batches{self.suffix(kind)}[{number}]"
        return [
            *[f"batch = {row}"] * fed,
            f"state, loss = step{self.suffix(kind)}(state{', batch' * fed}{key})",
            "losses.append(loss)",
        ]


def _sliced(nodes: Sequence[Node]) -> Node | None:
    """The array of which all of these are as many neighbouring rows."""
    first = nodes[0]
    if first.operation is not slice_ or first.static[0] or first.static[2] != 1:
        return None
    alike = all(each.operation is slice_ and each.static == first.static for each in nodes)
    source: Any = first.inputs[0]
    return source if alike and all(each.inputs[0] is source for each in nodes) else None


def tidy(line: str) -> str:
    """A line, broken inside its brackets if it is long, and with double quotes around keys."""
    code, hash_, comment = line.partition("  #")
    code = re.sub(r"'(\w+)'(?=[\]:])", r'"\1"', code)
    if len(code) > WIDTH and not code.lstrip().startswith("#"):
        indent = " " * (len(code) - len(code.lstrip()))
        bracketed = re.sub(r"^(\s*)(return|[\w, ]+ =) (.*)$", r"\1\2 (\3)", code)
        bracketed = re.sub(r"^(\s*)([\w, ]+, \w+) = \((.*)\)$", r"\1(\2) = \3", bracketed)
        for form in (code, bracketed):
            broken = textwrap.wrap(
                form.strip(), WIDTH, initial_indent=indent, subsequent_indent=f"{indent}    ", **UNBROKEN
            )
            text = "\n".join(broken)
            try:
                ast.parse(textwrap.dedent(text) + " pass" * text.endswith(":"))
            except SyntaxError:
                continue
            return f"{text}{hash_}{comment}"
    return f"{code}{hash_}{comment}"
