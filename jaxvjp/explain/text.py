"""`Text`: a printed program's definitions, imports and names.

`name_of` gives the user's name of a node, `label_of` a label for one without a name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from jaxvjp.core.derive.pullback import pullback
from jaxvjp.core.record.graph import Node, Number, gradient_edges, reachable
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.core.run.program import Program
from jaxvjp.explain.block import Value
from jaxvjp.explain.calls import FunctionCall
from jaxvjp.explain.names import (
    assigned,
    calls_with,
    copied_by_user,
    goes_on,
    heads_a_loop,
    numbered,
    operation_of,
    safe,
    statement,
    target_names,
    within_builtin,
)
from jaxvjp.explain.states import states_of, tabulated
from jaxvjp.explain.story import Story
from jaxvjp.ops.identity import clone, detach, function_result, tuple_item, variable
from jaxvjp.ops.indexing import index
from jaxvjp.ops.op import Aval
from jaxvjp.ops.view import put, split_one, unbind_one
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import int64

NOWHERE: Any = (compile("", "<nowhere>", "exec"), 0)
"""The place of a node that was recorded by no line of the user's."""
LABEL = 32
"""A piece of the user's text longer than this is no label."""


class Text:
    """The definitions and names of a program; functions with equal text are defined once."""

    def __init__(self, story: Story, explicit_dtypes: bool, exact: bool = True, narrowed: bool = False) -> None:
        self.story = story
        self.narrowed = narrowed  # whether integers of 64 bits have 32 in the program
        self.exact, self.simplified = exact, False  # whether ops have no plain forms, and whether one has
        self.explicit_dtypes = explicit_dtypes  # whether there are 64-bit types: then every dtype is written
        self.first: dict[Any, Node] = {}
        for node, tensor in story.owners.items():
            self.first.setdefault(tensor, node)
        self.twins: dict[Node, Node] = {}
        self.copies: set[Node] = set()
        self.listed: set[Node] = set()  # data in a list, and the rows that stand for it
        self.changed = {node: found for node, each in story.unpacked.items() if (found := _changed(each))}
        self.transforms: list[Node] = []
        self.inner: set[Node] = set()
        self.last: dict[Any, Node] = {}
        self.parts: set[Node] = set()
        self.columns = {  # by what a `for` statement cuts, and how, the name of what it has cut last
            (node.operation, node.inputs[0]): name
            for node, name in story.names.items()
            if node.inputs and heads_a_loop(node.where)
        }
        self.rounds: dict[Node, str] = {}
        self.leaves: dict[Any, Any] = {}  # what `written_data` has found
        self.starts: dict[Node, tuple[str, float]] = {}
        self.begun: dict[Tensor, Node] = {}
        self.definitions: dict[str, str] = {}
        self.functions: set[str] = set()  # the names that definitions assign, `cube` and `cube_backward`
        self.texts: dict[str, str] = {}
        self.lines: dict[str, Any] = {}
        self.imports: dict[str, None] = {}
        self.unnamed: set[str] = set()
        self.data: dict[Any, Value] = {}  # the values of large arrays without a name, by what they hold
        self.handed_over: dict[str, Any] = {}  # functions that the program is given, by their names in it
        self.reserved: frozenset[str] = frozenset()  # names of functions that a script has beside the user's
        self.at_zero: set[Node] = set()  # norms that are 0, whose plain form has no derivative there
        self.lifted: set[Number] = set()  # numbers that are arguments, not written out
        self.taken: set[str] = {*story.names.values()}
        self.variables: set[str | None] = set()  # the user's names of all values, which no function without one gets

    def look_over(self, nodes: Sequence[Node], whole: Text | None = None) -> None:
        """Finds leaves that are the detached form of another node (they have the identical array), and intermediate
        nodes of builtin functions such as `sum`. For a step of a story the text of the `whole` knows most: the step
        alone does not show what another one has copied."""
        self.transforms = [node for node in nodes if node.static and type(node.static[0]) is Program]
        for node in nodes:
            if node.operation is not put:  # in `y[0] = x` the written value is y[0]
                self.parts.update([each for each in node.inputs if type(each) is Node and each.where == node.where])
        if whole is not None:
            self.first, self.begun, self.last, self.twins = whole.first, whole.begun, whole.last, whole.twins
            self.inner, self.variables, self.at_zero = whole.inner, whole.variables, whole.at_zero
            return
        first: dict[int, Node] = {}
        last = self.last
        for node in nodes:
            if node.tensor is not None:
                self.begun.setdefault(node.tensor, node)
            if node.where not in last or node.serial > last[node.where].serial:
                last[node.where] = node
        rounds: dict[Any, list[Node]] = {}
        passes = Counter(event.where for event in self.story.passes)
        for node in sorted(nodes, key=lambda node: node.serial):
            if node.operation is not None and node.where is not None:
                # Of `zip(xs, ys)` each has its name.
                rows = node.inputs[0] if node.operation is unbind_one and node.inputs else None
                passive = not node.requires_grad or node.operation is detach
                rounds.setdefault((node.where, node.operation, node.aval, rows, passive), []).append(node)
        for (where, *_, passive), own in rounds.items():
            # A value that has its name after the last round has it in each, as optimizers' do; of what a backward pass
            # goes through only if there is one for each, as a layer may be called twice in a round.
            names = [self.story.names[node] for node in own if node in self.story.names]
            all_rounds = bool(names) and own[-1] in self.story.names and not len(own) % len(names)
            # What `vjp(f, x, v)` copies before its pass is no earlier round of what it gives.
            often = [passes[where]] if where in passes else passes.values()
            if all_rounds and ((passive and where not in passes) or len(own) // len(names) in often):
                again = zip(own, names * (len(own) // len(names)), strict=True)
                tensors: Any = self.story.tensors  # a line may go on with another tensor, of another name
                self.rounds.update((node, name) for node, name in again if tensors.get(node.tensor, name) == name)
        lines: dict[Any, list[Node]] = {}
        for (where, *_), own in rounds.items():
            lines.setdefault(where, []).extend(own)
        for own in lines.values():
            self.inner.update(_before_the_last(sorted(own, key=lambda node: node.serial)))
        for node, name in [*self.story.overwritten.items(), *self.story.alike.items()]:
            self.rounds.setdefault(node, name)
        for node in nodes:
            if node.operation is not last[node.where].operation and node.where not in (None, NOWHERE):
                self.inner.add(node)  # `x.masked_select(m)` records two nodes and returns the last
            parts = [operand for operand in node.inputs if type(operand) is Node and operand.where == node.where]
            if parts and within_builtin(node.where):
                self.inner.update(parts)
            if type(node.aval) is tuple or node.value is None:
                continue
            other = first.setdefault(id(node.value), node)
            if other is not node and node.operation is None and not node.requires_grad:
                self.twins[node] = other
        self.twins.update({**_copied(self.story, nodes), **self.twins})
        self.variables = {self.name_of(node) for node in nodes}

    def look_for_rounds(self, nodes: Sequence[Node], begun: Mapping[Node, str]) -> None:
        """Has all rounds of a loop alike: what an optimizer makes in the first stands before it, as do the numbers that
        variables have `begun` as, and data that a line makes in each is rows of one array."""
        states = states_of(self.story, nodes, lambda node: self.name_of(node) is None)
        self.starts = states.starts
        self.rounds.update(states.names)
        self.twins.update(states.twins)
        self.copies = states.copies
        self._look_for_begun(nodes)
        self.starts.update((leaf, (name, leaf.serial)) for leaf, name in begun.items())
        known = {*self.twins, *self.starts, *self.twins.values()}
        places = {each for node in nodes if node.operation is index for each in node.inputs[1:]}
        data_nodes = [node for node in nodes if node not in known]
        for table, own, rows in tabulated(data_nodes, self.name_of, self.listed):
            data = "indices" if all(node in places for node, _ in rows) else "data"
            plural = f"all_{own}" if own and own.endswith("s") else f"{own}s"
            name = numbered(safe(plural) if own else data, self.taken)
            self.taken.add(name)
            self.starts[table] = name, -1
            self.twins.update(rows)
            self.rounds.update((row, own) for _, row in rows if own)
            self.listed.update(row for node, row in rows if node in self.listed)

    def _look_for_begun(self, nodes: Sequence[Node]) -> None:
        """Gives what a state that is bound anew begins as the state's name: the zeros of `m[i] = 0.9 * m[i] + g[i]`."""
        sites: dict[Any, list[Node]] = {}
        passes = {event.where for event in self.story.passes}  # `vjp(f, x, v)` copies v, and no state begins there
        for node in sorted(nodes, key=lambda node: node.serial):
            if node.operation is not None and node.inputs and node.where not in {None, *passes}:
                sites.setdefault((node.where, node.operation, str(node.aval)), []).append(node)
        for own in sites.values():
            for operands in zip(*[node.inputs for node in own], strict=False):
                plain = [type(each) is Node and not each.requires_grad for each in operands]
                begun = [known and each.operation in (None, clone) for known, each in zip(plain, operands, strict=True)]
                period = begun.index(False) if False in begun else 0
                if period and not any(begun[period:]) and len(own) > period:
                    for first, leaf, later in zip(own, operands[:period], operands[period:], strict=False):
                        state = type(later) is Node and later.serial > first.serial and later.aval == leaf.aval
                        name = self.name_of(later) if state and self.name_of(leaf) is None else None
                        if name is not None and leaf.operation is clone:
                            self.copies.add(leaf)
                            self.rounds[leaf] = name
                        elif name is not None and leaf.aval.shape and leaf not in self.starts:
                            self.starts[leaf] = name, -1

    def save_copies(self, nodes: Sequence[Node], updates: Sequence[Any]) -> list[Node]:
        """Has what a file gives back as it was before later writes, `torch.load("best.pt")`, copied when it was there.
        Gives the nodes with these copies; one of what an optimizer of the `updates` wrote is made after its step."""
        shown = {node.inputs[0]: node for node in nodes if node.operation is variable and node.inputs}
        written: dict[Any, list[int]] = {}
        for node in nodes:  # a leaf shows what was written, and a buffer its versions
            written.setdefault(node.leaf or node.versions, []).append(node.serial)
        made: dict[Node, Node] = {}
        for leaf, source in [*self.twins.items()]:
            now = shown.get(source, source)
            memory = now.leaf or now.versions
            if memory is None or not any(now.serial < each < leaf.serial for each in written[memory]):
                continue
            if source not in made:
                copy = made[source] = Node(clone, (), (source,), source.aval, where=source.where)
                ends = [each.last for each in updates if each.first < source.serial <= each.last]
                copy.serial = max([now.serial, *ends]) + 0.5
                own = self.name_of(now) or ""
                module, *_ = self.story.modules.get(own, [own.partition("_")[0]])
                self.rounds[copy] = f"saved_{own.removeprefix(module).lstrip('_') or own}"
            self.twins[leaf] = made[source]
        return [*nodes, *made.values()]

    def inputs(self, node: Node) -> Sequence[Any]:
        """The inputs of a node, as hooks replaced them; for a detached leaf, the node whose value it has; of a Function
        of the user's all arguments that get a gradient, whether its forward computes with them or not."""
        twin = self.twins.get(node)
        if twin is not None:
            return (twin,)
        if node.python is not None and node.operation is function_result and node.requires_grad:
            return (*node.inputs, *[each for each in gradient_edges(node) if each not in node.inputs])
        return (*node.inputs, *self.changed[node].values()) if node in self.changed else node.inputs

    def narrowest(self, value: Any) -> np.ndarray[Any, Any]:
        """The numbers of a value, as the program has them."""
        numbers = np.asarray(value)
        return numbers.astype(np.int32) if self.narrowed and numbers.dtype == np.int64 else numbers

    def written_data(self, node: Any) -> Any:
        """The w of which a write through `w.data`, which counts by itself, has made a node, or will; None of others."""
        known, chain, first = self.leaves, [node], node
        while first not in known and first.in_place and first.inputs and first.inputs[0].versions is first.versions:
            first = first.inputs[0]
            chain.append(first)
        if first not in known:
            source: Any = first.inputs[0] if first.inputs and first.operation is detach else None
            own = type(source) is Node and (source.leaf or source.versions) is not None
            known[first] = source if own and source.versions is not first.versions else None
        known.update(dict.fromkeys(chain, known[first]))
        return known[first]

    def define(self, wanted: str, text: str, lines: Any = None, key: str | None = None) -> str:
        """The name of the function with this text, in which NAME stands for it; defines the function if it is new."""
        key = key or text
        wanted = f"inner_{wanted}" if wanted in self.reserved else wanted
        if key not in self.definitions:
            known = {definition.removeprefix("_") for definition in self.definitions.values()}
            busy = {*known, *self.functions, *self.taken, *(self.variables if wanted == "f" else ())} - {None}
            ends = {*re.findall(r"\bNAME(\w*)", text)}
            called = numbered(
                safe(wanted), {each.removesuffix(end) for end in ends for each in busy if each.endswith(end)}
            )
            self.definitions[key] = called
            self.functions |= {called + end for end in ends}
            self.texts[key] = text
            self.lines[key] = lines
        return self.definitions[key]

    def name_of(self, node: Node) -> str | None:
        """The user's name of a node."""
        tensor = self.story.owners.get(node)
        if tensor is not None and self.first[tensor] is not node:  # a node from before a write
            return self.name_of(self.first[tensor])
        own = self.story.overwritten.get(node)
        if own is not None and node.operation is not put:
            return own  # `a = bn(x)` writes bn.running_mean
        leaf = self.written_data(node) if node.in_place else None
        if leaf is not None and leaf.tensor in self.story.tensors:
            return self.story.tensors[leaf.tensor]
        own = self.story.names.get(node) or self.rounds.get(node)
        column = self.columns.get((node.operation, node.inputs[0])) if own is None and node.inputs else None
        if column is not None and column in target_names(node.where):  # x of another `for x, y in loader`
            own = column
        known = None if node.tensor is None else self.story.tensors.get(node.tensor)
        last = self.last.get(node.where, node).operation  # of what no backward pass read, as a running mean
        inner = node in self.inner or (node.operation is not last and node.where not in (None, NOWHERE))
        if own is None and inner:  # a leaf whose memory has another tensor too may be recorded there
            return known if node.operation is variable else None
        if node.operation in (None, variable, detach):
            own = own or known
            cut = node.inputs[0] if own is None and node.operation is variable and node.inputs else None
            if (
                type(cut) is Node
                and cut.operation is detach
                and cut.where == node.where
                and not copied_by_user(node.where)
            ):  # `jacobian(f, x)` made both
                return next((self.name_of(each) for each in cut.inputs if type(each) is Node), None)
            return own or assigned(node.where)
        if node.holder is None or inner:
            return own
        index = None
        if node.operation is tuple_item:
            source = node.inputs[0] if node.inputs else None  # a remembered walk keeps no inputs
            if isinstance(source, Node) and source.static and type(source.static[0]) is Program:
                place = node.static[0] - len(source.static[0].outputs)
                if source.operation is pullback and place >= 0:
                    return own or assigned(node.where) or assigned(node.where, place)
                return own or assigned(node.where)  # in `value, slope = jvp(...)` it may be either
            index = node.static[0]
        elif node.operation in (unbind_one, split_one) and node.inputs and isinstance(node.inputs[1], Number):
            index = int(node.inputs[1].value.real)
            if node.operation is split_one and node.static[1]:
                index //= node.static[1]
        if own is not None and heads_a_loop(node.where):
            return own  # x of `for batch in loader: x, y = batch`
        kind = "view" if node.operation.write is not None else "write" if node.operation is put else ""
        name = assigned(node.where, index, kind) or assigned(node.where, kind=kind)
        if kind == "write" and any(node.aval.shape != shape for shape in self.shapes.get(name, ())):
            return None  # the whole of which `row`, of `row = w.data[1:]; row.mul_(2)`, is a part
        written = node.tensor
        if name is not None and written is not None and written.__versions__.count:
            return self._lasting(written, node) or name  # not `m`, where it is of `for m in momenta`
        return name or own

    @cached_property
    def shapes(self) -> dict[str | None, set[tuple[int, ...]]]:
        """The shapes of the user's tensors, by their names."""
        found: dict[str | None, set[tuple[int, ...]]] = {}
        for tensor, own in self.story.tensors.items():
            found.setdefault(own, set()).add(tensor.__node__.aval.shape)
        return found

    @cached_property
    def returned(self) -> dict[int, list[FunctionCall]]:
        """By the `serial` of a node the calls of the user's functions that returned it."""
        found: dict[int, list[FunctionCall]] = {}
        for call in self.story.calls:
            for serial in call.returned:
                found.setdefault(serial, []).append(call)
        return found

    def result_name(self, node: Node) -> str | None:
        """The name that the user's line gave to what a function of the user's returned: `loss = criterion(y, t)`."""
        calls = self.returned.get(node.serial, ())
        modules = {name for names in self.story.modules.values() for name in names} if calls else set[str]()
        calls = [each for each in calls if not calls_with(each.where, {each.code.co_name, *modules})]
        return next(filter(None, [assigned(each.where, each.returned[node.serial]) for each in calls]), None)

    def _lasting(self, tensor: Tensor, node: Node) -> str | None:
        """The name of a tensor that is written: a variable's, `x_grad` for a gradient, or that of its first node."""
        leaf = self.story.gradients.get(tensor)
        begun = self.begun.get(tensor, node)
        if tensor in self.story.tensors:
            return self.story.tensors[tensor]
        if leaf in self.first:
            return f"{self.name_of(self.first[leaf]) or 'x'}_grad"
        return None if begun is node else self.name_of(begun)

    def written_of(self, node: Node) -> str:
        """The name of a node, else its text in the user's line, `2 * b`; "" for a long one, and where there is none."""
        source = None if node in self.parts else statement(node.where)
        text = "" if source is None else source.expression_text
        return self.name_of(node) or text * (len(text) <= LABEL)

    def label_of(self, node: Node) -> str:
        """The label of a node in a table: what is written of it, else its operation."""
        return self.written_of(node) or ("a constant" if node.operation is None else operation_of(node))


def _copied(story: Story, nodes: Sequence[Node]) -> dict[Node, Node]:
    """The leaves that are made after the first backward pass with the numbers of what was computed before them: copies
    that no operation made, as those of `deepcopy` and of files are."""
    begun = next((event.order for event in story.passes), float("inf"))
    found: dict[Node, Node] = {}
    copies: dict[Any, list[Node]] = {}
    for node in nodes:
        plain = type(node.aval) is not tuple and node.value is not None and node.aval.dtype.differentiable
        if plain and node.operation is None and node.serial > begun:
            copies.setdefault(node.aval, []).append(node)
    known: dict[Any, Node] = {}
    for node in sorted(nodes, key=lambda node: node.serial) if copies else ():
        if node.aval in copies and node.value is not None:
            numbers = np.asarray(node.value)
            source = known.setdefault((node.aval, numbers.tobytes()), node)
            if source.operation is None:
                continue  # data, and what shows it: a second draw from the same seed is no copy of the first
            if node.operation is not None:
                known[node.aval, numbers.tobytes()] = node
            elif node in copies[node.aval] and np.any(numbers != np.round(numbers)):
                found[node] = source
    return found


def _changed(unpacked: Mapping[Node, Node]) -> dict[Node, Node]:
    """The values from saved-tensor hooks that differ from what was saved."""
    evaluate([each for pair in unpacked.items() for each in pair])
    return {
        saved: given
        for saved, given in unpacked.items()
        if given is not saved and not np.array_equal(np.asarray(saved.value), np.asarray(given.value))
    }


def wide(aval: Aval | tuple[Aval, ...]) -> bool:
    """Whether a value has a 64-bit type."""
    if isinstance(aval, tuple):
        return any(wide(each) for each in aval)
    return bool(aval.dtype.numpy.itemsize >= (16 if aval.dtype.is_complex else 8))


def _at_once(nodes: Sequence[Node]) -> bool:
    """Whether a line made these nodes when it ran once: all are for the last, and the line does not go on from its own
    result, as `h = cell(h)` does."""
    own = {*nodes}
    of_last = reachable(nodes[-1:], lambda node: [each for each in node.inputs if each in own])
    return len(of_last) == len(nodes) and not goes_on(nodes[-1].where)


def _before_the_last(nodes: Sequence[Node]) -> list[Node]:
    """Of the nodes of a line those of the last one's operation that are not the line's result: the first linear layer
    of `y = Sequential(Linear(2, 3), ReLU(), Linear(3, 2))(x)`. None, where the line ran again in no regular way."""
    count, operations = len(nodes), [node.operation for node in nodes]
    divisors = [each for each in range(1, count + 1) if not count % each]
    period = next(each for each in divisors if operations == operations[:each] * (count // each))
    if period == 1 or (period == count and not _at_once(nodes)):
        return []
    early = [node for at, node in enumerate(nodes, 1) if node.operation is operations[-1] and at % period]
    return [node for node in early if not node.in_place]


def of_pullback(node: Node) -> bool:
    """Whether it is a cotangent that a backward pass computed."""
    source: Any = node.inputs[0] if node.operation is tuple_item and node.inputs else node
    return type(source) is Node and source.operation is pullback


def narrow(nodes: Sequence[Node]) -> bool:
    """Whether the only 64-bit values among `nodes` are integers that fit into 32 bits, as labels and indices do."""
    own = [node for node in nodes if wide(node.aval)]
    avals = [each for node in own for each in (node.aval if type(node.aval) is tuple else [node.aval]) if wide(each)]
    if any(each.dtype is not int64 for each in avals):
        return False
    values = [node for node in own if type(node.aval) is not tuple]
    evaluate(values)
    numbers = [each.value for node in own for each in node.inputs if type(each) is Number]
    arrays = [*[np.asarray(node.value) for node in values], *[np.asarray(each) for each in numbers]]
    bounds = np.iinfo(np.int32)
    return all(each.dtype.kind != "i" or np.all((each >= bounds.min) & (each <= bounds.max)) for each in arrays)
