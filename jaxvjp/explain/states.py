"""The state that an optimizer makes in its first step: as what it begins, before the loop (`states_of`).

So all rounds of the loop are alike, the first as well. Where an optimizer is made anew at each epoch, its state begins
before the first round of each.
"""

from __future__ import annotations

import bisect
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from jaxvjp.core.record.graph import Node, Number
from jaxvjp.explain.names import adds_to, assigned, numbered
from jaxvjp.explain.story import Story
from jaxvjp.ops.op import Aval
from jaxvjp.ops.view import select
from jaxvjp.types.dtypes import int32

ROUNDS = 3
"""Of fewer rounds data is no table."""
Chain = list[Node]
"""The nodes of one memory, in the order of its writes."""


class States(NamedTuple):
    """What is known of the states that a line of the user's begins and writes.

    Attributes:
        starts: for each leaf that a state begins as, its name, and its place in time.
        names: for each of the later nodes of a state its name.
        twins: nodes in whose place others stand, of the same value: of the first momentum, which is the gradient, the
            sum 0.9 * 0 + gradient.
        copies: copies that a line writes again and again: `average = w`, before the loop.
    """

    starts: dict[Node, tuple[str, float]]
    names: dict[Node, str]
    twins: dict[Node, Node]
    copies: set[Node]


def states_of(story: Story, nodes: Sequence[Node], unnamed: Any) -> States:
    """The states among `nodes`; `unnamed` tells whether no line of the user's names a node."""
    nodes = sorted(nodes, key=lambda node: node.serial)
    walks = [event.order for event in story.passes]
    memories: dict[int, Chain] = {}
    keys: dict[Node, Any] = {}
    lines: dict[Any, list[int]] = {}
    for node in nodes:
        lines.setdefault(node.where, []).append(node.serial)
        key = node.versions
        if key is None and node.in_place and type(node.inputs[0]) is Node:  # the count is noted at the next write
            key = keys.get(node.inputs[0])
        if key is not None and key.count and not node.requires_grad:
            keys[node] = key
            memories.setdefault(id(key), []).append(node)
    found = States({}, {}, {}, set())
    sites: dict[Any, dict[int, list[tuple[Chain, Node]]]] = {}
    for chain in memories.values():
        start = chain[0] if chain[0].operation is None and chain[0].value is not None else _momentum(chain, found)
        if chain[0].operation is not None and chain[0].operation.name == "clone" and _again(chain):
            found.copies.add(chain[0])
            name = _name(chain, story, set())  # of `shadow = {k: w.clone()}`, which a line moves then
            if name is not None and unnamed(chain[0]):
                found.names[chain[0]] = name
        if start is not None and len(chain) > 1 and chain[0].where is not None and unnamed(chain[0]):
            round_ = bisect.bisect(walks, chain[0].serial)
            sites.setdefault(chain[0].where, {}).setdefault(round_, []).append((chain, start))
    repeated = {where for where, own in lines.items() if len(own) > 1}
    again = {assigned(where) for where in repeated} - {None}
    copied = (each for each in nodes if each.operation is not None and each.operation.name == "clone")
    for each in copied:  # in a line of the user's that runs again, or in one of an optimizer's rounds
        target = assigned(each.where)
        if target in again or (target is None and each.where in repeated and not unnamed(each)):
            found.copies.add(each)
    taken = {*story.tensors.values()}
    for where, rounds in sites.items():
        *_, last = rounds.values()
        names: list[str | None] = []
        for chain, _ in last:
            names.append(_name(chain, story, {*taken, *names}))
        taken |= {each for each in names if each}
        alike = len({tuple([str(start.aval) for _, start in own]) for own in rounds.values()}) == 1
        counts = [*rounds] if alike else [0]
        for round_, after in zip(counts, [*counts[1:], None], strict=True):
            own, order = rounds[round_] if alike else last, -1.0
            if len(rounds) > 1 and alike:
                order = _begins(lines, where, own[0][0][0], walks[:round_], walks[:after])
            elif alike and not round_:
                order = float(own[0][0][0].serial)
            for (chain, start), name in zip(own, names, strict=True):
                if name is not None:
                    found.starts[start] = name, order
                    written = [node for node in chain if node.operation is chain[-1].operation]
                    found.names.update(
                        dict.fromkeys(
                            [*written, *[found.twins[each] for each in chain[:1] if each in found.twins]], name
                        )
                    )
    return found


def _name(chain: Chain, story: Story, taken: set[Any]) -> str | None:
    """The name of a memory: that of the user's tensor; of one that only one line writes, again and again, `state`."""
    tensors = [each.tensor for each in chain if each.tensor is not None]
    known = next((story.tensors[tensor] for tensor in tensors if tensor in story.tensors), None)
    if known is None and _again(chain) and len({each.where for each in chain}) == 1:
        return numbered("state", taken)
    return known


def _again(chain: Chain) -> bool:
    """Whether the line that writes a memory last has written it before."""
    return sum((each.where, each.operation) == (chain[-1].where, chain[-1].operation) for each in chain) > 1


def _begins(
    lines: dict[Any, list[int]], where: Any, start: Node, walks: Sequence[float], others: Sequence[float]
) -> float:
    """The time before the first round in which a line makes its state: before the first line after the epoch before
    that runs again in this one. `walks` are the backward passes until then, `others` those until the next epoch."""
    before = max([each for each in lines[where] if walks and each < walks[-1]], default=-1)
    until = max([each for each in lines[where] if others and each < others[-1]], default=start.serial)
    again = [
        own[first]
        for own in lines.values()
        if (first := bisect.bisect(own, before)) < len(own) and own[first] < start.serial
        if any(start.serial < each <= until for each in own[first:])
    ]
    return min(again, default=before + 1) - 0.5


def _momentum(chain: Chain, found: States) -> Node | None:
    """The zeros that a momentum may begin as, if its first value is the gradient and the second 0.9 * first + gradient:
    then 0.9 * zeros + gradient is the first."""
    if len(chain) < 3 or chain[0].operation is None or chain[0].operation.name != "clone":
        return None
    first, scaled, added = chain[:3]
    names = [each.operation and each.operation.name for each in (scaled, added)]
    if names != ["mul", "add.scaled"] or scaled.inputs[0] is not first or added.inputs[0] is not scaled:
        return None
    number, factor = scaled.inputs[1], added.inputs[2]
    if type(number) is not Number or type(factor) is not Number or factor.value != 1:
        return None
    zeros = Node(None, (), (), first.aval, where=first.where)
    zeros.value = np.zeros(first.aval.shape, first.aval.dtype.numpy)
    product = Node(scaled.operation, scaled.static, (zeros, number.like(number.value)), first.aval, where=first.where)
    summands = (product, first.inputs[0], factor.like(factor.value))
    total = Node(added.operation, added.static, summands, first.aval, where=first.where)
    zeros.serial, product.serial, total.serial = -1, first.serial, first.serial
    found.twins[first] = total
    return zeros


@contextmanager
def begun(nodes: Sequence[Node], given: Collection[Node]) -> Iterator[dict[Node, str]]:
    """A context in which variables that begin as numbers, `total = 0.0` before `total += x`, begin as leaves, so that
    all rounds are alike: gives the leaves, and the variables' names. Not those of which a gradient is taken, which are
    `given`. The `serial` of a leaf is the beginning of the loop that adds to it."""
    nodes = sorted(nodes, key=lambda node: node.serial)
    sites: dict[Any, list[int]] = {}
    for place, node in enumerate(nodes):
        if node.operation is not None and len(node.inputs) == 2 and node.where is not None:
            sites.setdefault((node.where, node.operation), []).append(place)
    found: dict[Node, str] = {}
    before: list[tuple[Node, Any]] = []
    for count, ((where, _), places) in enumerate(sites.items()):
        own = [nodes[place] for place in places]
        firsts = [k for k, node in enumerate(own) if type(node.inputs[0]) is Number and node not in given]
        goes_on = any(node.inputs[0] is previous for previous, node in pairwise(own))
        name = (adds_to(where) if firsts and goes_on else None) or ""
        head: set[Any] = set()  # the lines of a round until this one
        for k in firsts if name else ():
            after = places[k + 1] if k + 1 < len(own) and k + 1 not in firsts else len(nodes)
            again = {node.where for node in nodes[places[k] : after]}
            begin, last = places[k], places[k - 1] if k else -1
            while begin - 1 > last and nodes[begin - 1].where in (head or again):
                begin -= 1
            head = head or {node.where for node in nodes[begin : places[k] + 1]}
            first = own[k]
            leaf: Any = Node(None, (), (), Aval((), first.aval.dtype, False, first.aval.device))
            leaf.where = None
            leaf.value = np.asarray(first.inputs[0].value, first.aval.dtype.numpy)
            leaf.serial = nodes[begin].serial - 0.5 + count / (2 * len(sites))
            before.append((first, first.inputs))
            found[leaf] = name
            first.inputs = (leaf, first.inputs[1])
    try:
        yield found
    finally:
        for node, inputs in before:
            node.inputs = inputs


def batches_of(story: Story) -> dict[Node, str | None]:
    """The data in lists such as `data = [(x, y), ...]`, which loops go through, by columns: with the name of the loop's
    variable, which still shows the last, if it has one."""
    columns: dict[tuple[str, str], dict[int, Node]] = {}
    for node, names in story.every.items():
        written = node.requires_grad or (node.versions is not None and node.versions.count)
        for found in () if written else filter(None, (re.fullmatch(r"(.*?)_(\d+)((?:_\d+)?)", own) for own in names)):
            columns.setdefault((found[1], found[3]), {}).setdefault(int(found[2]), node)
    batches: dict[Node, str | None] = {}
    for own in columns.values():
        kinds = {(node.where, node.operation, str(node.aval)) for node in own.values()}
        if len(own) >= ROUNDS and sorted(own) == [*range(len(own))] and len(kinds) == 1 and own[0].aval.shape:
            plain = [each for each in story.every[own[len(own) - 1]] if not re.search(r"_\d+$", each)]
            batches.update(dict.fromkeys(own.values(), next(iter(plain), None)))
    return batches


def tabulated(
    nodes: Sequence[Node], named: Any, listed: Collection[Node]
) -> Iterator[tuple[Node, str | None, list[tuple[Node, Node]]]]:
    """Data that a line makes anew in each round, such as noise, as rows of one array: the array, their name, and for
    each of them the row that stands for it. `named` tells the name of a node. Those of one round may be the same but
    for what is `listed`, which may be gone through more than once."""
    sites: dict[Any, list[Node]] = {}
    for node in sorted(nodes, key=lambda node: node.serial):
        written = node.requires_grad or (node.versions is not None and node.versions.count)
        if node.operation is None and node.value is not None and node.where is not None and not written:
            sites.setdefault((node.where, str(node.aval)), []).append(node)
    for own in sites.values():
        # The last may be one that a variable still shows, `x` of `for batch in loader: x, y = batch`.
        last, names = named(own[-1]), {named(each) for each in own[:-1]} - {None}
        names = {last} if last is not None and len(names) < 2 else names
        differ = len({np.asarray(each.value).tobytes() for each in own}) > 1
        if len(own) >= ROUNDS and len(names) < 2 and own[0].aval.shape and differ:
            rounds = [[each] for each in own] if own[0] in listed else _twice(own)
            values = np.stack([np.asarray(each[0].value) for each in rounds])
            aval = own[0].aval
            table = Node(None, (), (), Aval(values.shape, aval.dtype, False, aval.device), where=own[0].where)
            table.value, table.serial = values, -1
            rows: list[tuple[Node, Node]] = []
            for place, round_ in enumerate(rounds):
                row = Node(select, (0,), (table, Number(place, int32)), aval, where=own[0].where)
                row.serial = round_[0].serial
                rows += [(node, row) for node in round_]
            yield table, next(iter(names), None), rows


def _twice(nodes: Sequence[Node]) -> list[Sequence[Node]]:
    """Data of a line, by its rounds: of a batch the same rows may be taken from two tensors."""
    numbers = [np.asarray(each.value).tobytes() for each in nodes]
    count = next(place for place, each in enumerate(numbers) if each != numbers[0])
    rounds = [slice(begin, begin + count) for begin in range(0, len(nodes), count)]
    alike = len(nodes) % count == 0 and all(len({*numbers[each]}) == 1 for each in rounds)
    return [nodes[each] for each in rounds] if alike else [[each] for each in nodes]


def histories_of(story: Story, nodes: Sequence[Node]) -> dict[Node, tuple[str, int]]:
    """The values that a line appends to a list of the user's in each round, `losses.append(loss)`, with the list's
    name and their places; only those that nothing reads in a later round, but after the last."""
    lists: dict[str, dict[int, Node]] = {}
    for node in story.shown:
        for each in story.every.get(node, ()):
            base, _, place = each.rpartition("_")
            written = (node.requires_grad and node.is_leaf) or (node.versions is not None and node.versions.count)
            if base and place.isdigit() and node.operation is not None and not written:
                lists.setdefault(base, {})[int(place)] = node
    read: defaultdict[Any, list[int]] = defaultdict(list)
    for node in nodes:
        for operand in node.inputs:
            read[operand].append(node.serial)
    found: dict[Node, tuple[str, int]] = {}
    for base, own in lists.items():
        rounds = [own[place] for place in sorted(own)]
        complete = len(own) >= ROUNDS and sorted(own) == [*range(len(own))] and base not in story.names.values()
        last = rounds[-1].serial
        in_time = all(
            one.serial < after.serial and not any(after.serial <= each <= last for each in read[one])
            for one, after in pairwise(rounds)
        )
        if complete and in_time and len({each.where for each in rounds}) == 1:
            found.update((node, (base, place)) for place, node in enumerate(rounds))
    return found
