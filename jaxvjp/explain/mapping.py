"""Writes what a step does to all parameters alike as one line: `jax.tree.map` over their dicts (`over_keys`)."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from jaxvjp.explain.block import Line, spelled
from jaxvjp.explain.names import numbered


class Group(NamedTuple):
    """Lines that differ in a key: the dict that they become, all keys, and by key the line's place."""

    name: str
    keys: frozenset[str]
    places: dict[str, int]


Groups = dict[tuple[str, int], tuple[Group, str]]
"""By variable, and the place of the line that assigns it: its group, and its key."""


class _Form(ast.NodeTransformer):
    """Puts a name in place of each dict of which an expression reads one key; with `plain` other names stay, and are
    followed by the place of their line otherwise."""

    def __init__(
        self, known: Mapping[str, frozenset[str]], versions: Mapping[str, int], groups: Groups, plain: bool
    ) -> None:
        self.known, self.versions, self.groups, self.plain = known, versions, groups, plain
        self.keys: set[tuple[frozenset[str], str]] = set()
        self.dicts: dict[str, str] = {}
        self.others: set[str] = set()

    def text(self, tree: Any) -> str:
        return spelled(self.visit(ast.parse(ast.unparse(tree.value), mode="eval").body))

    @property
    def fits(self) -> bool:
        """Whether the expression reads one key, and no name of another thing stands for a dict."""
        return len(self.keys) == 1 and self.others.isdisjoint(self.dicts.values())

    def _read(self, text: str, keys: frozenset[str], key: str) -> ast.AST:
        self.keys.add((keys, key))
        short = re.sub(r"^state\['(\w+)'\]$", r"\1", text)
        version = "" if self.plain else f"#{self.versions.get(text)}"
        own = self.dicts.setdefault(f"{text}{version}", numbered(short, [*self.dicts.values()]))
        return ast.Name(own, ast.Load())

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        key, text = getattr(node.slice, "value", None), ast.unparse(node.value)
        keys = self.known.get(re.sub(r"^state\['(\w+)'\]$|(_grad)?(_\d+)?$", r"\1", text), frozenset[str]())
        return self._read(text, keys, str(key)) if key in keys else self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        group, key = self.groups.get((node.id, self.versions.get(node.id, -1)), (None, ""))
        if group is not None:
            return self._read(group.name, group.keys, key)
        self.others.add(node.id)
        return node if self.plain else ast.Name(f"{node.id}_{self.versions.get(node.id)}", node.ctx)


class _Members(ast.NodeTransformer):
    """Reads variables of groups at their keys, as the dict that they are in now."""

    def __init__(self, versions: Mapping[str, int], groups: Groups) -> None:
        self.versions, self.groups = versions, groups
        self.read: list[Group] = []

    def visit_Name(self, node: ast.Name) -> ast.AST:
        group, key = self.groups.get((node.id, self.versions.get(node.id, -1)), (None, ""))
        if group is None or isinstance(node.ctx, ast.Store):
            return node
        self.read.append(group)
        return ast.Subscript(ast.Name(group.name, ast.Load()), ast.Constant(key), ast.Load())

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        """The name of a dict that another has all of: `p` for `{"weight": p["weight"], "bias": p["bias"]}`."""
        self.generic_visit(node)
        members = {
            getattr(key, "value", None): ast.unparse(value) for key, value in zip(node.keys, node.values, strict=True)
        }
        for each in self.read:
            if members == {key: f"{each.name}[{key!r}]" for key in each.keys}:
                return ast.Name(each.name, ast.Load())
        return node


def over_keys(lines: Sequence[Line], known: Mapping[str, frozenset[str]]) -> list[Line]:
    """The lines, with one for all of them that differ in a key of the dicts `known`, by name. The last ones assign what
    is left, `net__weight` for a member of a dict `net`, whose name is the line's `step`."""
    trees = [ast.parse(line.text.strip()).body[0] for line in lines]
    refused: set[frozenset[int]] = set()
    while True:
        groups = _groups(lines, trees, known, refused)
        own = {place: group for group, _ in groups.values() for place in group.places.values()}
        versions: dict[str, int] = {}
        written: list[Line] = []
        early: list[Group] = []
        for place, (line, tree) in enumerate(zip(lines, trees, strict=True)):
            group = own.get(place)
            if group is None:
                members = _Members(versions, groups)
                changed = members.visit(ast.parse(line.text.strip()))
                early += [each for each in members.read if max(each.places.values()) > place]
                written.append(line._replace(text=ast.unparse(changed)) if members.read else line)
            elif place == max(group.places.values()):
                form = _Form(known, versions, groups, True)
                text = form.text(tree)
                names, dicts = ", ".join(form.dicts.values()), ", ".join(form.dicts)
                written.append(line._replace(text=f"{group.name} = jax.tree.map(lambda {names}: {text}, {dicts})"))
            versions.update(dict.fromkeys(_assigned(tree), place))
        if not early:
            return written
        refused |= {frozenset(each.places.values()) for each in early}


def _assigned(tree: ast.stmt) -> list[str]:
    names = [each for each in ast.walk(tree) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]
    return [*[each.id for each in names], *([tree.name] if isinstance(tree, ast.FunctionDef) else [])]


def _groups(
    lines: Sequence[Line],
    trees: Sequence[ast.stmt],
    known: Mapping[str, frozenset[str]],
    refused: Collection[frozenset[int]],
) -> Groups:
    taken = {each.id for tree in trees for each in ast.walk(tree) if isinstance(each, ast.Name)} | {"state", "batch"}
    often = Counter(each for tree in trees for each in _assigned(tree))
    groups: Groups = {}
    while True:
        versions: dict[str, int] = {}
        forms: dict[Any, dict[str, tuple[str, int]]] = {}
        for place, tree in enumerate(trees):
            targets = _assigned(tree)
            plain = isinstance(tree, ast.Assign) and isinstance(tree.targets[0], ast.Name)
            if plain and (targets[0], place) not in groups:
                form = _Form(known, versions, groups, False)
                text = form.text(tree)
                if form.fits and text not in form.dicts.values():
                    ((keys, key),) = form.keys
                    step = lines[place].step
                    end = step if isinstance(step, str) else ""
                    forms.setdefault((text, *form.dicts, keys, end), {}).setdefault(key, (targets[0], place))
            versions.update(dict.fromkeys(targets, place))
        new = {form: own for form, own in forms.items() if own.keys() == form[-2] and len(own) > 1}
        new = {form: own for form, own in new.items() if frozenset(place for _, place in own.values()) not in refused}
        if not new:
            return groups
        for (*_, keys, end), own in new.items():
            members = {target for target, _ in own.values()}
            bases = {re.sub(r"_\d+(?=_|$)", "", target) for target in members}
            wholes = {target.replace(f"_{key}", "") for key, (target, _) in own.items()}  # `net` of `net_weight`
            base = end or next((each.pop() for each in (bases, wholes) if len(each) == 1), "mapped")
            name = base if base in members and often[base] == 1 else numbered(base, taken)
            taken.add(name)
            group = Group(name, keys, {key: place for key, (_, place) in own.items()})
            groups.update({assigned: (group, key) for key, assigned in own.items()})
