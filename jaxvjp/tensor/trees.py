"""Pytrees of tensors, such as arguments and results: flattened into leaves, and unflattened.

JAX sorts a dict by its keys, and refuses keys that cannot be sorted; torch goes by the order of insertion, so that
`zip(names, gradients.values())` pairs each name with its gradient. So dicts are wrapped for JAX in nodes that keep
their order. None is a leaf, as in torch, and so is a tensor, which to JAX is a node with one array (`pure.arrays`).
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from jax.tree_util import register_pytree_node_class, tree_flatten, tree_structure, tree_unflatten

from jaxvjp.tensor.tensor import Tensor

DICTS = frozenset([dict, OrderedDict, defaultdict])
ONE = tree_structure(0)
"""The structure of a single leaf, made once: nearly every function returns one tensor."""
LEAVES = frozenset([Tensor, int, float, bool, type(None)])


@lru_cache(maxsize=64)
def _tuple_of(count: int) -> Any:
    """The structure of a tuple of `count` leaves."""
    return tree_structure((0,) * count)


@register_pytree_node_class
class InOrder:
    """A dict as a pytree node, whose children are the values in the dict's order."""

    __slots__ = ("_dict",)

    def __init__(self, given: Any) -> None:
        self._dict = given

    def tree_flatten(self) -> tuple[list[Any], Any]:
        """The values, and the rest of the dict: its class, its `default_factory`, its keys."""
        given = self._dict
        children = [each if type(each) is Tensor else in_order(each) for each in given.values()]
        return children, (type(given), getattr(given, "default_factory", None), tuple(given))

    @classmethod
    def tree_unflatten(cls, rest: Any, values: Sequence[Any]) -> Any:
        """The dict itself."""
        kind, factory, keys = rest
        made = kind() if factory is None else kind(factory)
        made.update(zip(keys, values, strict=True))
        return made


def _stops(value: Any) -> bool:
    return value is None or type(value) in DICTS or isinstance(value, Tensor)


def _is_leaf(value: Any) -> bool:
    return value is None or isinstance(value, Tensor)


def in_order(tree: Any) -> Any:
    """`tree` with each dict wrapped in `InOrder`."""
    return _in_order(*tree_flatten(tree, is_leaf=_stops))


def _in_order(leaves: list[Any], structure: Any) -> Any:
    return tree_unflatten(structure, [InOrder(leaf) if type(leaf) in DICTS else leaf for leaf in leaves])


def flattened(tree: Any) -> tuple[list[Any], Any]:
    """The leaves of a tree, and its structure."""
    kind = type(tree)
    if kind in LEAVES:
        return [tree], ONE
    if kind is tuple and LEAVES.issuperset(map(type, tree)):  # the usual case, without JAX's overhead
        return list(tree), _tuple_of(len(tree))
    leaves, structure = tree_flatten(tree, is_leaf=_stops)
    for leaf in leaves:
        if type(leaf) in DICTS:
            leaves, structure = tree_flatten(_in_order(leaves, structure), is_leaf=_is_leaf)
            break
    return leaves, structure


def unflattened(structure: Any, leaves: Sequence[Any]) -> Any:
    """The tree of that structure."""
    return leaves[0] if structure is ONE else tree_unflatten(structure, leaves)


def mapped(function: Callable[[Any], Any], tree: Any) -> Any:
    """`tree` with `function` applied to each leaf."""
    leaves, structure = flattened(tree)
    return unflattened(structure, [function(leaf) for leaf in leaves])


class _Star:
    def __repr__(self) -> str:
        return "*"


def told(structure: Any) -> str:
    """A structure as text for a message: `{'weight': *, 'bias': *}`."""
    return repr(unflattened(structure, [_Star()] * structure.num_leaves))


def tensors_of(tree: Any) -> list[Tensor]:
    """The tensors among the leaves."""
    return [each for each in flattened(tree)[0] if isinstance(each, Tensor)]
