"""JAX functions as operations on tensors: `wrap`.

A call of a wrapped function is one node. Its op is the function on flat arrays; what it got besides arrays, and the
structure of its arguments, is the static argument `Call`. As under `jax.jit`, Python runs once for each `Call` and
avals, when the call is recorded: what the function reads from outside has the value of that moment, whenever the result
is computed.
"""

from __future__ import annotations

import functools
import linecache
from collections.abc import Callable, Sequence
from traceback import walk_tb
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.sharding import Mesh

from jaxvjp.core.derive.between import DOUBLE_DTYPES
from jaxvjp.core.record.modes import transforming
from jaxvjp.core.record.user_lines import Location
from jaxvjp.library.crossing import is_array, node_of
from jaxvjp.ops.op import Op, backward_name
from jaxvjp.pure.arrays import CROSSES, LOST, arrays_of, narrow, wide_types
from jaxvjp.pure.recording import PLAIN, is_tensor
from jaxvjp.tensor.apply import apply
from jaxvjp.tensor.levels import Guard
from jaxvjp.tensor.refusals import is_key
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.tensor.tensor import wrap as shown
from jaxvjp.types.meshes import SPEC, on_mesh
from jaxvjp.types.user_code import JAX, in_package

UNDERNEATH = "the function itself"
UNKNOWN = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)
"""What JAX raises where a function that it traces reads a value."""
TRACED = (
    "A wrapped function is traced, as under `jax.jit`, so it can't read the values of its arguments. Instead of an "
    "`if`, write `jnp.where(condition, a, b)` or `jax.lax.cond`; instead of a loop that ends by a value, "
    "`jax.lax.while_loop`; what NumPy computes, with `jax.numpy`."
)


class Key(NamedTuple):
    """Stands for a key of `jax.random` among the leaves of a `Call`; its words cross as an array.

    Attributes:
        kind: the name of its generator.
    """

    kind: Any


ARRAY = object()
"""Stands for an array among the leaves of a `Call`."""
CALLS = 4096
"""How many structures of results are remembered."""


class Call:
    """How a wrapped function is called: all but the arrays. Equal ones give equal programs.

    Attributes:
        function: the JAX function.
        tree: the structure of `(args, kwargs)`.
        leaves: its leaves, with ARRAY in the places of arrays.
        wide: whether JAX's 64-bit types are on while it runs.
    """

    def __init__(self, function: Callable[..., Any], tree: Any, leaves: Sequence[Any], wide: bool) -> None:
        self.function, self.tree, self.leaves, self.wide = function, tree, tuple(leaves), wide
        # 1 == 1.0 == True, and 0.0 == -0.0
        self._key = (function, tree, wide, tuple([(type(leaf), _told(leaf)) for leaf in leaves]))
        self._hash = hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Call) and self._key == other._key

    @property
    def places(self) -> list[Any]:
        """For each array ARRAY, or the `Key` that it is the words of."""
        return [leaf for leaf in self.leaves if leaf is ARRAY or type(leaf) is Key]

    def arguments(self, operands: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What the function is called with: arguments and keywords, given the arrays."""
        rest = iter(operands)
        leaves = [next(rest) if leaf is ARRAY or type(leaf) is Key else leaf for leaf in self.leaves]
        args, kwargs = jax.tree.unflatten(self.tree, leaves)
        return args, kwargs

    def run(self, *operands: Any) -> tuple[list[Any], Any]:
        """The arrays that the function returns, and their structure.

        JAX's 64-bit types are as where it was called: `jnp.zeros(3)` in it has the dtype that its author expects.
        """
        with jax.enable_x64(self.wide), Guard(()):
            args, kwargs = self.arguments([_given(each, to) for each, to in zip(operands, self.places, strict=True)])
            leaves, tree = jax.tree.flatten(self.function(*args, **kwargs))
            return [self._array(leaf) for leaf in leaves], tree

    def traced(self, avals: Sequence[Any]) -> tuple[Any, Any]:
        """What `run` traces for arrays of such shapes and dtypes: a jaxpr, and the structure of the results."""
        trees: list[Any] = []

        def flat(*operands: Any) -> list[Any]:
            leaves, tree = self.run(*operands)
            trees.append(tree)
            return leaves

        try:
            with jax.enable_x64(True):
                return jax.make_jaxpr(flat)(*avals), trees[0]
        except RuntimeError as error:
            if not str(error).startswith(LOST):
                raise
            raise RuntimeError(str(error).replace(CROSSES, "Pass it to the wrapped function as an argument.")) from None
        except UNKNOWN as error:
            ran = [(frame.f_code.co_filename, number) for frame, number in walk_tb(error.__traceback__)]
            lines = [str(error).partition("\n")[0], TRACED]
            for file, number in [each for each in ran if not (in_package(each[0]) or each[0].startswith(JAX))][-1:]:
                lines.insert(1, f"It happened in {Location(file, number, linecache.getline(file, number).strip())}")
            error.args = ("\n".join(lines),)
            raise

    def _array(self, value: Any) -> Any:
        if is_array(value) or isinstance(value, PLAIN):
            return jnp.asarray(value)
        if is_key(value):
            raise TypeError(
                f"{name_of(self.function)} returned a key of jax.random, which is no array of numbers\n"
                "Return `jax.random.key_data(key)`; `jax.random.wrap_key_data` makes a key of it again."
            )
        raise TypeError(
            f"{name_of(self.function)} returned a {type(value).__name__}: a wrapped function returns arrays, or "
            "pytrees of them"
        )


def _given(array: Any, place: Any) -> Any:
    return narrow(array) if place is ARRAY else jax.random.wrap_key_data(array, impl=place.kind)


def _told(value: Any) -> Any:
    return repr(value) if isinstance(value, float | complex) else value


def name_of(function: Callable[..., Any]) -> str:
    """The name of a function; of a lambda and what has none, "function"."""
    name = getattr(function, "__name__", "function")
    return name if name.isidentifier() else "function"


@functools.lru_cache(maxsize=CALLS)
def operation_of(function: Callable[..., Any]) -> Op:
    """The op that calls a JAX function."""
    from jax.extend.core import jaxpr_as_fun  # takes 12 ms to import

    def called(*operands: Any, call: Call) -> Any:
        jaxpr, tree, _ = _traced(call, tuple([(jnp.shape(operand), jnp.result_type(operand)) for operand in operands]))
        types = tuple([jax.typeof(operand).strip_weak_type() for operand in operands])
        if [*types] != jaxpr.in_avals:  # inside of `shard_map`, or over `Explicit` axes, a type says more
            jaxpr, tree, _ = _traced(call, types)
        with jax.enable_x64(call.wide):
            leaves = jaxpr_as_fun(jaxpr)(*operands)
        return leaves[0] if leaves and jax.tree_util.treedef_is_leaf(tree) else tuple(leaves)

    name = name_of(function)
    # Not torch's name: `autocast` goes by that.
    return Op(called, name=f"jax.{name}", public="", saves="residuals", grad_fn=backward_name(name))


@functools.lru_cache(maxsize=CALLS)
def _traced(call: Call, avals: tuple[Any, ...]) -> tuple[Any, Any, Mesh | None]:
    """The jaxpr of a call for such types, or shapes and dtypes; the structure of what it returns; its mesh, if any."""
    struct: Any = jax.ShapeDtypeStruct
    jaxpr, tree = call.traced([struct(*aval) if type(aval) is tuple else aval for aval in avals])
    return jaxpr, tree, _mesh_in(jaxpr)


def _applied(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


def _mesh_in(jaxpr: Any) -> Mesh | None:
    """The mesh of several devices that a jaxpr names: in a sharding, or in `shard_map`."""
    for each in jax.tree.leaves([[*equation.params.values()] for equation in jaxpr.eqns]):
        mesh = _mesh_in(each) if hasattr(each, "eqns") else getattr(each, "mesh", each)
        if isinstance(mesh, Mesh) and mesh.size > 1:
            return mesh
    return None


def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
    """A JAX function as an operation on tensors: recorded, differentiated, batched and compiled like any other.

    Args:
        function: a pure function of JAX arrays, in any pytrees, which returns such: of `jax.numpy`, `jax.scipy`,
            `jax.lax`, a Pallas kernel, the `apply` of a model, a model that is a pytree, a function of yours. Its
            `custom_vjp` is obeyed.

    Returns:
        a function of tensors. Tensors and arrays among its arguments become JAX arrays, and keys of `jax.random` stay
        keys; numbers, texts, functions and other leaves are passed on, and have to be hashable, as another value is
        another program: what changes in each call is better a tensor. It returns tensors, in the structure of the
        function's result. As under `jax.jit`, Python runs once for arguments of the same shapes, dtypes and values of
        what is no array: what the function reads besides them is a constant from then on.

    Raises:
        TypeError: an argument that is no array and cannot be hashed, a result that is no array, or no function.
        jax.errors.TracerBoolConversionError, or another of JAX's: the function reads a value, as in an `if`.
        RuntimeError: the function writes to a tensor; it has to be pure.

    JAX's 64-bit types are as where it is called; and they are on, if an argument is in double precision. Where the
    function names a mesh, in a sharding or by `shard_map`, its arguments are copied to that, and its results are there.

    An effect, such as that of `jax.debug.print`, happens when a result is computed; of a function that returns none at
    once.

    Underneath: the function itself, and `jax.vjp` and `jax.vmap` of it.
    """
    if not callable(function):
        raise TypeError(f"wrap() takes a JAX function, not {type(function).__name__}\nSuch as `wrap(jnp.sin)(x)`.")
    try:
        operation = operation_of(function)
    except TypeError:  # it cannot be hashed: a model of arrays, which is an argument
        return functools.partial(wrap(_applied), function)
    name = name_of(function)

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = jax.tree.flatten((args, kwargs), is_leaf=is_tensor)
        kinds = [Key(jax.random.key_impl(leaf)) if is_key(leaf) else ARRAY for leaf in leaves]
        leaves = [jax.random.key_data(leaf) if is_key(leaf) else leaf for leaf in leaves]
        given = [leaf if isinstance(leaf, Tensor) or not is_array(leaf) else shown(node_of(leaf)) for leaf in leaves]
        operands = [each for each in given if isinstance(each, Tensor)]
        fixed = [kind if isinstance(each, Tensor) else each for each, kind in zip(given, kinds, strict=True)]
        wide = wide_types() or any(operand.dtype.numpy in DOUBLE_DTYPES for operand in operands)
        for each in fixed:
            try:
                hash(each)
            except TypeError:
                raise TypeError(
                    f"{name}: an argument of type {type(each).__name__} is no tensor or array, and cannot be hashed\n"
                    "What is no array selects a program, and has to be hashable: bind it in a function of yours, "
                    "`torch.wrap(functools.partial(...))`, which is made once."
                ) from None
        call = Call(function, tree, fixed, wide)
        types = tuple([(each.__node__.aval.shape, each.dtype.numpy) for each in operands])
        jaxpr, structure, mesh = _traced(call, types)
        if not structure.num_leaves:
            if jaxpr.effects:  # `jax.debug.print`
                operation.function(*arrays_of([each.__node__ for each in operands]), call=call)
            return jax.tree.unflatten(structure, [])
        if mesh is not None and not transforming().pure and not any(each.__node__.device for each in operands):
            from jaxvjp.library.sharding import distribute  # few programs name a mesh

            operands = [distribute(each, on_mesh(mesh, SPEC())) for each in operands]
        result = apply(operation, tuple(operands), (call,))
        return jax.tree.unflatten(structure, [result] if isinstance(result, Tensor) else result)

    return wrapped
