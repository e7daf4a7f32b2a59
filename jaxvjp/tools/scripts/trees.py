"""torch's `utils._pytree`: containers as trees, whose leaves are in torch's order.

Not those of JAX: it sorts a dict by its keys, takes None for no leaf, and its structures do not tell what they are of.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from jaxvjp.types.size import Size

PyTree = Any
Context = Any


class Node(NamedTuple):
    """How a container is taken apart, into its children and what else it is made of, and put together."""

    flatten_fn: Callable[[Any], tuple[Any, Any]]
    unflatten_fn: Callable[[Any, Any], Any]


class TreeSpec(NamedTuple):
    """The structure of a tree: the class of its container, what else that is made of, and its children's structures."""

    type: Any
    context: Any
    children_specs: list[Any]

    @property
    def num_leaves(self) -> int:
        return sum(each.num_leaves for each in self.children_specs) if self.type else 1

    @property
    def num_children(self) -> int:
        return len(self.children_specs)

    def is_leaf(self) -> bool:
        """Whether it is of a single leaf."""
        return self.type is None

    def child(self, index: int) -> Any:
        """The structure of one child."""
        return self.children_specs[index]

    def children(self) -> list[Any]:
        """The children's structures."""
        return self.children_specs

    def unflatten(self, leaves: Any) -> Any:
        """The tree of this structure with these leaves."""
        return tree_unflatten(leaves, self)


def LeafSpec() -> TreeSpec:  # noqa: N802 - a class of torch's
    """The structure of a leaf."""
    return TreeSpec(None, None, [])


def _of_dict(make: Callable[..., Any]) -> Node:
    return Node(lambda d: (list(d.values()), list(d)), lambda values, keys: make(zip(keys, values, strict=True)))


SUPPORTED_NODES: dict[Any, Node] = {
    list: Node(lambda x: (x, None), lambda children, _: list(children)),
    tuple: Node(lambda x: (list(x), None), lambda children, _: tuple(children)),
    dict: _of_dict(dict),
    OrderedDict: _of_dict(OrderedDict),
    defaultdict: Node(
        lambda d: (list(d.values()), [d.default_factory, list(d)]),
        lambda values, context: defaultdict(context[0], zip(context[1], values, strict=True)),
    ),
    deque: Node(lambda d: (list(d), d.maxlen), lambda children, longest: deque(children, maxlen=longest)),
    namedtuple: Node(lambda x: (list(x), type(x)), lambda children, kind: kind(*children)),
    Size: Node(lambda x: (list(x), None), lambda children, _: tuple(children)),
}
"""The containers, by class."""


def register_pytree_node(cls: type, flatten_fn: Any, unflatten_fn: Any, **others: Any) -> None:
    """Makes a class a container."""
    SUPPORTED_NODES[cls] = Node(flatten_fn, unflatten_fn)


def _kind(tree: Any) -> Any:
    """The container's class, or `namedtuple`; None for a leaf."""
    named = isinstance(tree, tuple) and hasattr(tree, "_fields")
    return type(tree) if type(tree) in SUPPORTED_NODES else namedtuple if named else None


def tree_flatten(tree: Any, is_leaf: Any = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree, and its structure."""
    kind = None if is_leaf is not None and is_leaf(tree) else _kind(tree)
    if kind is None:
        return [tree], LeafSpec()
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    parts = [tree_flatten(each, is_leaf) for each in children]
    return [leaf for leaves, _ in parts for leaf in leaves], TreeSpec(kind, context, [spec for _, spec in parts])


def tree_unflatten(leaves: Any, treespec: TreeSpec) -> Any:
    """The tree of that structure with these leaves."""
    given = list(leaves)
    if len(given) != treespec.num_leaves:
        raise ValueError(
            f"treespec.unflatten(leaves): `leaves` has length {len(given)} but the spec refers to a pytree that "
            f"holds {treespec.num_leaves} items ({treespec})."
        )
    return _put_together(iter(given), treespec)


def _put_together(leaves: Iterator[Any], spec: TreeSpec) -> Any:
    if spec.is_leaf():
        return next(leaves)
    return SUPPORTED_NODES[spec.type].unflatten_fn(
        [_put_together(leaves, s) for s in spec.children_specs], spec.context
    )


def tree_leaves(tree: Any, is_leaf: Any = None) -> list[Any]:
    """The leaves."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: Any, is_leaf: Any = None) -> Iterator[Any]:
    """The leaves, one by one."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree: Any, is_leaf: Any = None) -> TreeSpec:
    """The structure."""
    return tree_flatten(tree, is_leaf)[1]


def _parts(spec: TreeSpec, tree: Any) -> list[Any]:
    """A tree's parts where `spec` has leaves. ValueError where it has another structure above them."""
    if spec.is_leaf():
        return [tree]
    kind = _kind(tree)
    if kind is not spec.type and not (isinstance(tree, dict) and issubclass(spec.type, dict)):
        raise ValueError(f"Node type mismatch; expected {spec.type!r}, but got {type(tree)!r}.")
    children, _ = SUPPORTED_NODES[kind].flatten_fn(tree)
    if len(children) != spec.num_children:
        raise ValueError(f"Node arity mismatch; expected {spec.num_children}, but got {len(children)}.")
    if isinstance(tree, dict):
        children = [tree[key] for key in (spec.context[1] if spec.type is defaultdict else spec.context)]
    return [part for inner, each in zip(spec.children_specs, children, strict=True) for part in _parts(inner, each)]


def tree_map(func: Any, tree: Any, *rests: Any, is_leaf: Any = None) -> Any:
    """The tree of what a function gives for each leaf, and for the parts of the other trees in its place."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return tree_unflatten(map(func, leaves, *[_parts(spec, each) for each in rests]), spec)


def tree_map_(func: Any, tree: Any, *rests: Any, is_leaf: Any = None) -> Any:
    """The tree itself, after a function was called for each leaf."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(kind: Any, func: Any, tree: Any, is_leaf: Any = None) -> Any:
    """`tree_map` for the leaves of a class, of one of several, or of which a function says so."""
    by_class = isinstance(kind, type | tuple) or not callable(kind)
    return tree_map(lambda x: func(x) if (isinstance(x, kind) if by_class else kind(x)) else x, tree, is_leaf=is_leaf)


def tree_all(pred: Any, tree: Any, is_leaf: Any = None) -> bool:
    """Whether it holds of all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Any, tree: Any, is_leaf: Any = None) -> bool:
    """Whether it holds of a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))
