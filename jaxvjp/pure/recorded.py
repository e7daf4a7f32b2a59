"""The recorded program as a JAX function: `as_function`, and its pullback as a value: `pullback`.

`Tensor.jaxpr` and `Tensor.lowered` show it in the forms of JAX's compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxvjp.core.derive.saved import freed_error
from jaxvjp.core.record.graph import Node, reachable
from jaxvjp.core.record.lifetime import original_of
from jaxvjp.core.record.modes import tracking
from jaxvjp.library.crossing import aval_of, is_array
from jaxvjp.ops.op import Aval
from jaxvjp.pure.arrays import Replayed, crossing, wide_types
from jaxvjp.pure.recording import PLAIN, is_tensor
from jaxvjp.tensor.refusals import advice_on_array
from jaxvjp.tensor.tensor import Tensor, wrap

UNDERNEATH = "the recorded program"
UNUSED = (
    "One of the differentiated Tensors appears to not have been used in the graph.\n"
    "Tensor {} of `wrt` is not what the outputs were computed from, or it requires no gradient and they were read "
    "already: then their program is gone. Take the function before, or call `requires_grad_()` on the tensor first."
)
TWICE = (
    "tensors {} and {} of `wrt` are one tensor, so a function of both cannot tell which to use\n"
    "Name it once, as `dict(model.named_parameters())` does with tied weights: its gradient is the whole one."
)


class RecordedFunction:
    """A recorded program as a pure function of JAX arrays: what `as_function` returns.

    Attributes:
        operands: the arrays of the tensors that it is a function of, as they are today.
    """

    _given: Any

    def __init__(self, outputs: Any, wrt: Any) -> None:
        found, self._tree = jax.tree.flatten(outputs, is_leaf=is_tensor)
        if not isinstance(wrt, Iterable):
            told = f"wrt of a recorded function are tensors, and it is a {type(wrt).__name__}"
            raise TypeError(f"{told}\nOf a module: `dict(module.named_parameters())`.")
        own = (wrt,) if isinstance(wrt, Tensor | Mapping) else tuple(wrt)
        leaves, given = jax.tree.flatten(own, is_leaf=is_tensor)
        for name, those in (("outputs", found), ("wrt", leaves)):
            for one in those:
                if not isinstance(one, Tensor):
                    told = f"{name} of a recorded function are tensors, and one is a {type(one).__name__}"
                    raise TypeError(told + advice_on_array(one))
        nodes = [each.__node__ for each in found]
        behind = _behind(nodes)
        starts: dict[Node, int] = {}
        for place, each in enumerate(leaves):
            node, leaf = each.__node__, each.__gradient_node__.leaf
            same = [one for one in behind if one is node or (leaf is not None and one.leaf is leaf)]
            if not same:
                raise RuntimeError(UNUSED.format(place))
            if (first := next(at for at, one in enumerate(leaves) if one is each)) < place:
                raise ValueError(TWICE.format(first, place))
            starts.update(dict.fromkeys(same, place))
        self._wrt, self._given = leaves, given
        self._avals = [position.__node__.aval for position in leaves]
        self._replayed = Replayed(nodes, starts)
        self.__name__ = found[0].__node__.forward_name if len(found) == 1 else "recorded"

    @property
    def operands(self) -> tuple[Any, ...]:
        """The arrays of the tensors that it is a function of, as they are today."""
        with tracking(False):
            return jax.tree.unflatten(self._given, crossing(self._wrt))  # type: ignore[no-any-return]

    def __call__(self, *operands: Any) -> Any:
        arrays, given = jax.tree.flatten(operands, is_leaf=is_tensor)
        if given != self._given:
            raise TypeError(f"the recorded function takes {_told(self._given)}, not {_told(given)}")
        return jax.tree.unflatten(self._tree, self._replayed(*map(_fitted, arrays, self._avals, count())))

    def __repr__(self) -> str:
        return f"<function of {', '.join(map(repr, self._avals))}, recorded up to {self.__name__}>"


def _behind(nodes: Sequence[Node]) -> list[Node]:
    """All nodes that were computed before; RuntimeError where a backward pass has freed one of them."""

    def onward(node: Node) -> tuple[Any, ...]:
        node.inputs = tuple([original_of(operand) if isinstance(operand, Node) else operand for operand in node.inputs])
        return node.inputs

    behind = reachable(nodes, onward)
    for node in behind:
        if node.freed or node.original is not None:
            raise freed_error(node)
    return behind


def _told(given: Any) -> str:
    """How many arrays there are, and how they are put together if not one by one."""
    plain = given == jax.tree.structure((0,) * given.num_leaves)
    return f"{given.num_leaves} arrays" + ("" if plain else f" as {str(given)[len('PyTreeDef(') : -1]}")


def _fitted(value: Any, aval: Aval, place: int) -> Any:
    """`value` as an array; TypeError where its shape or dtype is not the recorded one.

    A Python number, and what is of a weak type, takes the recorded dtype. For an int64 an int32 will do, as JAX has no
    other integers where its 64-bit types are off.
    """
    recorded = aval.dtype.numpy
    if isinstance(value, PLAIN):
        value = np.asarray(value, recorded)
    array = value if is_array(value) else jnp.asarray(value)
    own, traced = aval_of(array), isinstance(array, jax.core.Tracer)
    fitting = jax.dtypes.canonicalize_dtype(recorded) if traced else recorded
    if isinstance(array, np.ndarray) and jax.dtypes.canonicalize_dtype(array.dtype) == recorded:
        array = array.astype(recorded)  # a float64 of NumPy's, where JAX's 64-bit types are off
    if getattr(array, "weak_type", False) or (array.dtype, recorded, wide_types()) == (np.int32, np.int64, False):
        with jax.enable_x64(wide_types() or not traced):
            array = jnp.asarray(array).astype(fitting)
    if own.shape != aval.shape or array.dtype not in (recorded, fitting):
        told = f"argument {place} of the recorded function is {own!r}, and was recorded as {aval!r}"
        raise TypeError(told + (f"\nConvert it: `a.astype('{recorded}')`." if own.shape == aval.shape else ""))
    return array


def as_function(outputs: Any, wrt: Any) -> RecordedFunction:
    """The recorded program behind tensors as a pure JAX function of some of those that it was computed from.

    JAX may compile, differentiate and batch it: `jax.jit(f)`, `jax.grad(f)`, `jax.vmap(f)`, `jax.export`.

    Args:
        outputs: what the function returns: a tensor, or a pytree of them.
        wrt: tensors that they were computed from, or one of them; usually leaves, but any will do. Of a dict, as
            `dict(model.named_parameters())`, `f` is a function of one: `f({name: array, ...})`.

    Returns:
        `f`, which takes an array for each of `wrt`, of its shape and dtype, or a number, and returns arrays in the
        structure of `outputs`. All else that they were computed from is bound, with the values that it had; so is what
        requires no gradient and was read before. `f.operands` are the arrays of `wrt` as they are today.

    Raises:
        ValueError: one tensor is twice among `wrt`.
        RuntimeError: the graph was freed; or it goes through a custom `autograd.Function`, whose backward JAX would
            ignore; or one of `wrt` is not in it.
        TypeError: something else than tensors in `outputs` or `wrt`; when `f` is called: arrays of other shapes or
            dtypes; or, in a trace, a program in double precision while JAX's 64-bit types are off.

    Hooks are no part of it, and `detach` and `no_grad` are `jax.lax.stop_gradient`.

    Underneath: the program whose `jax.vjp` is `backward`.
    """
    return RecordedFunction(outputs, wrt)


@jax.tree_util.register_pytree_node_class
class Pullback:
    """The pullback of a recorded program, at the values that its tensors had: what `pullback` returns.

    It is a pytree of the residuals, so it crosses `jax.jit`. `p(v)` gives a tuple of JAX arrays.
    """

    def __init__(self, pull: Any, tree: Any, wide: bool) -> None:
        self._pull, self._tree, self._wide = pull, tree, wide

    def __call__(self, v: Any) -> tuple[Any, ...]:
        leaves = jax.tree.leaves(v)  # of a tensor, its array
        if len(leaves) != self._tree.num_leaves:
            raise TypeError(f"the pullback takes {self._tree.num_leaves} arrays, not {len(leaves)}")
        with jax.enable_x64(self._wide):
            pulled = self._pull(jax.tree.unflatten(self._tree, map(jnp.conj, leaves)))
            return tuple(jax.tree.map(jnp.conj, pulled))

    def tree_flatten(self) -> tuple[tuple[Any], Any]:
        """The residuals; and the structure of what it takes, and whether it was recorded with 64-bit types."""
        return (self._pull,), (self._tree, self._wide)

    @classmethod
    def tree_unflatten(cls, rest: Any, children: tuple[Any]) -> Pullback:
        """The pullback itself."""
        return cls(children[0], *rest)


def pullback(outputs: Any, inputs: Any) -> Pullback:
    """The pullback v ↦ vᵀJ of the recorded program, as a value: the residuals, and how to go back from them.

    Args:
        outputs: a tensor, or a pytree of them.
        inputs: the tensors to differentiate with respect to, or one of them, or a dict.

    Returns:
        `p`, where `p(v)` is a tuple of JAX arrays, one for each of `inputs`: what `torch.autograd.grad(outputs, inputs,
        v)` gives. v is an array or tensor like `outputs`, or a pytree of them. It can be called many times, batched by
        `jax.vmap(p)`, and passed to a function under `jax.jit`: it is a pytree.

    Raises:
        RuntimeError, ValueError: as for `as_function`.

    Underneath: `jax.vjp` of `as_function(outputs, inputs)`.
    """
    function = as_function(outputs, inputs)
    wide = wide_types() or function._replayed.wide
    with jax.enable_x64(wide):
        _, pull = jax.vjp(function, *function.operands)
    return Pullback(pull, function._tree, wide)


def _in_a_form(tensor: Tensor, wrt: Tensor | Iterable[Tensor] | None, form: Callable[[Any], Any]) -> Any:
    """What `form` makes of the recorded function of `wrt`, by default of the leaves that require a gradient."""
    if wrt is None:
        leaves = [each for each in _behind([tensor.__node__]) if each.requires_grad and each.is_leaf]
        wrt = [*dict.fromkeys([wrap(leaf) if leaf.tensor is None else leaf.tensor for leaf in leaves])]
    function = RecordedFunction(tensor, wrt)
    with jax.enable_x64(True):
        return form(function)(*function.operands)


def jaxpr(self: Tensor, wrt: Tensor | Iterable[Tensor] | None = None) -> Any:
    """The recorded program as a jaxpr, with types of 64 bits.

    Args:
        wrt: the tensors that it is a function of; by default the leaves that require a gradient.

    Raises:
        RuntimeError: as for `as_function`.

    Underneath: `jax.make_jaxpr` of `as_function`.
    """
    return _in_a_form(self, wrt, jax.make_jaxpr)


def lowered(self: Tensor, wrt: Tensor | Iterable[Tensor] | None = None) -> Any:
    """The recorded program as JAX lowers it: `y.lowered().as_text()` is StableHLO, `.compile()` an executable.

    Args:
        wrt: the tensors that it is a function of; by default the leaves that require a gradient.

    Raises:
        RuntimeError: as for `as_function`.

    Underneath: `jax.jit(f).lower(...)` of `as_function`.
    """
    return _in_a_form(self, wrt, lambda function: jax.jit(function).lower)
