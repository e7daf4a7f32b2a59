"""Transforms of functions, by torch's names: `grad`, `vjp`, `jvp`, `jacrev`, `jacfwd`, `hessian`, `vmap` and others.

Each takes a function of tensors and returns one, or its results; arguments and results may be tuples, lists and dicts
of tensors, nested. Underneath each runs the function once, which records it, and records a JAX transform of the
recorded program (`levels`); so they nest in one another, and in `backward`, without tracing the user's Python.
`levels` comes before this room.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jax.tree_util import tree_flatten, tree_leaves, tree_map, tree_unflatten

from jaxvjp.core.engine import pull_back
from jaxvjp.core.graph import Node, grad_mode, known, recording
from jaxvjp.levels import Batch, Duals, Guard, Variables, columns, rows
from jaxvjp.ops.arguments import wrap as wrapped_dim
from jaxvjp.tensor import Tensor, wrap

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "vjp",
    "vmap",
]

Argnums = int | tuple[int, ...]
JVP = "jvp(f, primals, tangents)"


def _none(value: Any) -> bool:
    return value is None


def _flat(tree: Any) -> tuple[list[Any], Any]:
    """The leaves of a tree, None among them, and its structure."""
    leaves, structure = tree_flatten(tree, is_leaf=_none)
    return leaves, structure


def _zeros(node: Node) -> Node:
    return known(0, node.aval)


# Which arguments are differentiated.


def _positions(argnums: Any, count: int) -> list[int]:
    """`argnums` as positions among `count` arguments, counted from the front; RuntimeError where they do not fit."""
    if not isinstance(argnums, int | tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    listed = argnums if isinstance(argnums, tuple) else (argnums,)
    for each in listed:
        if not isinstance(each, int):
            raise RuntimeError(f"argnum must be int, got: {type(each)}")
        if not -count <= each < count:
            raise RuntimeError(f"Got argnum={each}, but only {count} positional inputs")
    positions = [each % count for each in listed]
    if not positions:
        raise RuntimeError("argnums must be non-empty")
    if len(set(positions)) != len(positions):
        raise RuntimeError(f"argnums elements must be unique, got {tuple(positions)}")
    return positions


def _chosen(arguments: Sequence[Any], argnums: Argnums) -> Any:
    """The arguments that `argnums` names: one for an int, a tuple of them for a tuple."""
    positions = _positions(argnums, len(arguments))
    return tuple(arguments[each] for each in positions) if isinstance(argnums, tuple) else arguments[positions[0]]


def _replaced(arguments: Sequence[Any], argnums: Argnums, chosen: Any) -> list[Any]:
    replaced = list(arguments)
    given = chosen if isinstance(argnums, tuple) else [chosen]
    for position, each in zip(_positions(argnums, len(arguments)), given, strict=True):
        replaced[position] = each
    return replaced


def _tensor(value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(value)}")
    return value


def _tensors(tree: Any) -> list[Tensor]:
    return [each for each in tree_leaves(tree) if isinstance(each, Tensor)]


def _check_aux(aux: Any, has_aux: bool) -> None:
    for each in _flat(aux)[0] if has_aux else ():
        if not isinstance(each, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(each)}")


def _with_aux(returned: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    if not has_aux:
        return returned, None
    if not (isinstance(returned, tuple) and len(returned) == 2):
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return returned


def _check_tensors(outputs: list[Any], name: str) -> None:
    if not outputs or outputs == [None]:
        raise RuntimeError(f"{name}: Expected f to be a function that has non-empty output (got output = {outputs})")
    for each in outputs:
        if not isinstance(each, Tensor):
            raise RuntimeError(
                f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(each)}"
            )


def _results(variables: Variables, tree: Any) -> Any:
    """`tree` as a reverse-mode transform returns it."""

    def result(value: Any) -> Tensor:
        if not isinstance(value, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(value)}")
        shown = variables.result(value)
        return shown if grad_mode.enabled or not shown.requires_grad else shown.detach()

    return tree_map(result, tree, is_leaf=_none)


# Reverse mode.


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The gradient of `func`, which returns a scalar, as a function of the same arguments.

    Args:
        func: takes tensors, or tuples, lists and dicts of them, and returns a tensor of no dimensions.
        argnums: which positional arguments to differentiate with respect to: one, or a tuple of several.
        has_aux: whether `func` returns a pair, of which only the first is differentiated; then `(gradient, aux)` is
            returned.

    Returns:
        a function that gives the gradient, in the structure of the argument: zeros where `func` does not use it.

    Raises:
        RuntimeError: `func` returned something else than a scalar; an argument is an integer tensor.

    Counterpart of `torch.func.grad`. Underneath: `jax.grad` of the recorded program.
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value = grad_and_value(func, argnums, has_aux)(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapper


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """As `grad`, but gives `(gradient, value)`, or `(gradient, (value, aux))`.

    Counterpart of `torch.func.grad_and_value`. Underneath: `jax.value_and_grad`.
    """
    name = "grad_and_value(f)(*args)"

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with Variables() as variables, Guard(_tensors((args, kwargs))):
            chosen = tree_map(lambda each: variables.fresh(_tensor(each)), _chosen(args, argnums), is_leaf=_none)
            output, aux = _with_aux(func(*_replaced(args, argnums, chosen), **kwargs), has_aux, name)
            if not isinstance(output, Tensor):
                raise RuntimeError(f"{name}: Expected f(*args) to return a Tensor, got {type(output)}")
            if output.ndim:
                raise RuntimeError(
                    f"{name}: Expected f(*args) to return a scalar Tensor, got tensor with {output.ndim} dims. Maybe "
                    "you wanted to use the vjp or jacrev APIs instead?"
                )
            gradient = _pulled([output], [known(1, output.node.aval)], chosen)
        gradient, output = _results(variables, gradient), _results(variables, output)
        return (gradient, (output, _results(variables, aux))) if has_aux else (gradient, output)

    return wrapper


def _pulled(outputs: list[Tensor], cotangents: list[Node], chosen: Any) -> Any:
    """The cotangents of the tensors in `chosen`, in its structure; zeros for one that no output depends on."""
    leaves, structure = _flat(chosen)
    inputs = [each.node for each in leaves]
    found = pull_back([each.node for each in outputs], cotangents, inputs, create_graph=True).gradients
    return tree_unflatten(structure, [wrap(found[each] if each in found else _zeros(each)) for each in inputs])


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """`func(*primals)`, and the function that takes cotangents of it to cotangents of `primals`.

    Args:
        func: takes `primals` and returns tensors in any structure; with `has_aux` a pair, whose first is that.
        primals: tensors, or tuples, lists and dicts of them.

    Returns:
        `(output, pullback)` or `(output, pullback, aux)`. `pullback(cotangents)` takes the structure of the output and
        gives a tuple with a cotangent for each of `primals`. It may be called again.

    Raises:
        RuntimeError: an output is not a floating point tensor; the cotangents have another structure or shape.

    Counterpart of `torch.func.vjp`. Underneath: `jax.vjp` of the recorded program.
    """
    with Variables() as variables, Guard(_tensors(primals)):
        chosen = tree_map(lambda each: variables.fresh(_tensor(each)), primals, is_leaf=_none)
        output, aux = _with_aux(func(*chosen), has_aux, "vjp(f, *primals)")
        outputs, structure = _flat(output)
        _check_tensors(outputs, "vjp(f, *primals)")
    for each in outputs:
        if not each.dtype.differentiable:
            raise RuntimeError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                f"{each.dtype}"
            )

    def pullback(cotangents: Any) -> Any:
        given, given_structure = _flat(cotangents)
        if given_structure != structure:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {given_structure}, primal output: {structure}"
            )
        for position, (cotangent, each) in enumerate(zip(given, outputs, strict=True)):
            if cotangent.shape != each.shape:
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{position}] has a shape of {cotangent.shape} and "
                    f"output[{position}] has a shape of {each.shape}."
                )
        with recording(True):
            nodes = [each.to(output.dtype).node for each, output in zip(given, outputs, strict=True)]
            pulled = _pulled(outputs, nodes, chosen)
        return _results(variables, pulled)

    shown = _results(variables, output)
    return (shown, pullback, _results(variables, aux)) if has_aux else (shown, pullback)


def jacrev(
    func: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None
) -> Callable[..., Any]:
    """The Jacobian of `func`, computed row by row, as a function of the same arguments.

    Args:
        func, argnums, has_aux: as for `grad`; `func` may return tensors of any shape, in any structure.
        chunk_size: how many rows are computed at once; None for all of them.

    Returns:
        a function that gives, in the structure of the output, for each output in the structure of the chosen
        arguments, a tensor of shape output.shape + argument.shape.

    Counterpart of `torch.func.jacrev`. Underneath: `jax.jacrev` of the recorded program.
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        _check_real("jacrev", args, "inputs")
        with Variables() as variables, Guard(_tensors(args)):
            chosen = tree_map(lambda each: variables.fresh(_tensor(each)), _chosen(args, argnums), is_leaf=_none)
            output, aux = _with_aux(func(*_replaced(args, argnums, chosen)), has_aux, "vjp(f, *primals)")
            outputs, structure = _flat(output)
            _check_tensors(outputs, "vjp(f, *primals)")
            _check_real("jacrev", outputs, "outputs")
            inputs, chosen_structure = _flat(chosen)
            found = rows([each.node for each in outputs], [each.node for each in inputs], True, chunk_size)
            by_output = _assembled(found, outputs, inputs, chosen_structure)
        blocks = _results(variables, tree_unflatten(structure, by_output))
        return (blocks, _results(variables, aux)) if has_aux else blocks

    return wrapper


def _assembled(
    found: list[list[Node | None]], outputs: list[Tensor], inputs: list[Tensor], structure: Any
) -> list[Any]:
    """For each output its blocks of the Jacobian in the structure of the inputs, zeros for None."""
    return [
        tree_unflatten(structure, [wrap(_block(each, output, one)) for each, one in zip(row, inputs, strict=True)])
        for row, output in zip(found, outputs, strict=True)
    ]


def _block(found: Node | None, output: Tensor, argument: Tensor) -> Node:
    aval = output.node.aval._replace(shape=(*output.shape, *argument.shape))
    return known(0, aval) if found is None else found


def _check_real(name: str, tree: Any, what: str) -> None:
    for position, each in enumerate(tree_leaves(tree)):
        if isinstance(each, Tensor) and each.dtype.is_complex:
            raise RuntimeError(
                f"{name}: Expected all {what} to be real but received complex tensor at flattened input idx: {position}"
            )


# Forward mode.


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """`func(*primals)` and its directional derivative along `tangents`.

    Args:
        func: takes `primals` and returns tensors in any structure; with `has_aux` a pair, whose first is that.
        primals, tangents: tuples of one structure, shapes and dtypes, of tensors or tuples, lists and dicts of them.
        strict: RuntimeError for an output that does not depend on `primals`, instead of zeros.

    Returns:
        `(output, tangents of the output)` or `(output, tangents of the output, aux)`.

    Counterpart of `torch.func.jvp`. Underneath: `jax.jvp` of the recorded program.
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    flat, structure = _flat(primals)
    given, given_structure = _flat(tangents)
    if structure != given_structure:
        raise RuntimeError(
            f"{JVP}: Expected primals and tangents to have the same python structure. For example, if primals is a "
            f"tuple of 3 tensors, tangents also must be. Got primals with structure {structure} and tangents with "
            f"structure {given_structure}"
        )
    for listed, what in ((flat, "primals"), (given, "tangents")):
        if not listed:
            raise RuntimeError(f"{JVP}: Expected {what} to contain at least one Tensor.")
        for each in listed:
            if not isinstance(each, Tensor):
                raise RuntimeError(f"{JVP}: Expected {what} to only contain Tensors, got {type(each)}")
    output, pushed, aux = _pushed(func, flat, given, structure, has_aux, strict)
    return (output, pushed, aux) if has_aux else (output, pushed)


def _pushed(
    func: Callable[..., Any], flat: list[Tensor], given: list[Tensor], structure: Any, has_aux: bool, strict: bool
) -> tuple[Any, Any, Any]:
    """The output of `func`, its tangents in the same structure, and aux."""
    with Duals() as duals, Guard(flat):
        made = [duals.make(each, tangent) for each, tangent in zip(flat, given, strict=True)]
        output, aux = _with_aux(func(*tree_unflatten(structure, made)), has_aux, JVP)
        outputs, output_structure = _flat(output)
        _check_tensors(outputs, JVP)
        nodes = [each.node for each in outputs]
        pushed = duals.tangents_of(nodes)
        if strict and None in pushed:
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
                "allowed with strict=True."
            )
    tangents = [wrap(_zeros(node) if each is None else each) for node, each in zip(nodes, pushed, strict=True)]
    _check_aux(aux, has_aux)
    return output, tree_unflatten(output_structure, tangents), aux


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """`func(*primals)`, and its derivative there as a linear function of tangents.

    `func` runs once; each call of the returned function is `jax.jvp` of what it recorded, and gives the tangents of
    the output in its structure. RuntimeError for tangents of another structure, shape or dtype than `primals`.

    Counterpart of `torch.func.linearize`; as `jax.linearize`.
    """
    flat, structure = _flat(primals)
    with Duals() as duals:
        made = [duals.make(each, each) for each in flat]
        output = func(*tree_unflatten(structure, made))
        outputs, output_structure = _flat(output)
        starts, nodes = [each.node for each in made], [each.node for each in outputs]
        push = duals.linear(nodes)

    def linear(*tangents: Any) -> Any:
        given, given_structure = _flat(tangents)
        if given_structure != structure:
            raise RuntimeError(
                f"Expected the tangents {given_structure} to have the same argspec as the primals {structure}"
            )
        for position, (tangent, each) in enumerate(zip(given, flat, strict=True)):
            for what, own, wanted in (("shape", tangent.shape, each.shape), ("dtype", tangent.dtype, each.dtype)):
                if own != wanted:
                    raise RuntimeError(
                        f"tangent:{position} with {what} {own} in flattened pytree doesn't match the {what} {wanted} "
                        "of the corresponding primal."
                    )
        pushed = push({start: each.node for start, each in zip(starts, given, strict=True)})
        results = [wrap(_zeros(node) if each is None else each) for node, each in zip(nodes, pushed, strict=True)]
        return tree_unflatten(output_structure, results)

    return output, linear


def jacfwd(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """The Jacobian of `func`, computed column by column; arguments and results as for `jacrev`.

    It takes as many pushforwards as the chosen arguments have elements, and so suits functions of few inputs and many
    outputs. `randomness` is that of the `vmap` over the columns.

    Counterpart of `torch.func.jacfwd`. Underneath: `jax.jacfwd` of the recorded program.
    """

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        _check_real("jacfwd", args, "inputs")
        inputs, chosen_structure = _flat(_chosen(args, argnums))
        structure: Any = None
        outputs: list[Any] = []
        aux: Any = None

        def run(duals: list[Tensor]) -> list[Any]:
            nonlocal structure, outputs, aux
            returned = func(*_replaced(args, argnums, tree_unflatten(chosen_structure, duals)))
            output, aux = _with_aux(returned, has_aux, JVP)
            outputs, structure = _flat(output)
            _check_aux(aux, has_aux)
            _check_tensors(outputs, JVP)
            _check_real("jacfwd", outputs, "outputs")
            return outputs

        with Guard(_tensors(args)):
            found = columns(run, [_tensor(each) for each in inputs], randomness)
        jacobian = tree_unflatten(structure, _assembled(found, outputs, inputs, chosen_structure))
        return (jacobian, aux) if has_aux else jacobian

    return wrapper


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The matrix of second derivatives of `func`: `jacfwd` of `jacrev`.

    Counterpart of `torch.func.hessian`, and of `jax.hessian`.
    """
    return jacfwd(jacrev(func, argnums), argnums)


# Batching.


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """`func`, written for one example, as a function of batches.

    Args:
        func: takes and returns tensors in any structure. It runs once, on tensors that stand for every example and
            have no value of their own.
        in_dims: which dimension of each argument is the batch: one for all, or a structure of them as that of the
            arguments; None for what is the same for all examples.
        out_dims: where the batch goes in each output: one for all, or a structure of them.
        randomness: what a random tensor made inside is: an "error", the "same" or a "different" one per example.
        chunk_size: how many examples are computed at once; None for all of them.

    Raises:
        ValueError: dimensions that do not fit the arguments or results, batches of different sizes.
        RuntimeError: `func` reads a value (`item`, `if`), or writes one per example into a tensor that has no batch.

    Counterpart of `torch.vmap`. Underneath: `jax.vmap` of the recorded program, in chunks `jax.lax.map`.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    name = _name(func)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        for each in tree_leaves(out_dims, is_leaf=_none):
            if not (each is None or isinstance(each, int)):
                raise ValueError(
                    f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection "
                    "of ints representing where in the outputs the vmapped dimension should appear."
                )
        flat, structure = _flat(args)
        axes = _in_axes(name, in_dims, args, flat)
        sizes = [each.shape[axis] for each, axis in zip(flat, axes, strict=True) if axis is not None]
        if not sizes:
            raise ValueError("vmap: Expected at least one Tensor to vmap over")
        if any(each != sizes[0] for each in sizes):
            raise ValueError(
                "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                f"{sizes} for the mapped dimension"
            )
        with Batch(sizes[0], randomness, chunk_size) as batch:
            examples = [
                each if axis is None else batch.example(each, axis) for each, axis in zip(flat, axes, strict=True)
            ]
            returned = func(*tree_unflatten(structure, examples), **kwargs)
            return _batched(name, batch, returned, out_dims)

    return wrapper


def _name(func: Callable[..., Any]) -> str:
    if isinstance(func, functools.partial):
        return f"functools.partial({_name(func.func)}, ...)"
    return getattr(func, "__name__", None) or repr(func)


def _spread(dims: Any, tree: Any) -> list[Any] | None:
    """`dims`, whose structure begins that of `tree`, as one for each leaf of `tree`; None where it does not."""
    listed, structure = _flat(dims)
    try:
        below = structure.flatten_up_to(tree)
    except ValueError:
        return None
    return [dim for dim, part in zip(listed, below, strict=True) for _ in tree_leaves(part, is_leaf=_none)]


def _in_axes(name: str, in_dims: Any, args: tuple[Any, ...], flat: list[Any]) -> list[int | None]:
    """For each argument the batch's axis, counted from the front; ValueError in torch's words where one is amiss."""
    call = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, int | tuple):
        raise ValueError(
            f"{call}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
            "function with no inputs. The latter is unsupported."
        )
    axes = _spread(in_dims, args)
    if axes is None:
        raise ValueError(
            f"{call}in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{_flat(in_dims)[1]} but inputs has structure {_flat(args)[1]}."
        )
    for each, axis in zip(flat, axes, strict=True):
        if axis is None:
            continue
        if not isinstance(axis, int):
            raise ValueError(
                f"{call}Got in_dim={axis} for an input but in_dim must be either an integer dimension or None."
            )
        if not isinstance(each, Tensor):
            raise ValueError(
                f"{call}Got in_dim={axis} for an input but the input is of type {type(each)}. We cannot vmap over "
                "non-Tensor arguments, please use None as the respective in_dim"
            )
        if not -each.ndim <= axis < each.ndim:
            raise ValueError(
                f"{call}Got in_dim={axis} for some input, but that input is a Tensor of dimensionality {each.ndim} so "
                f"expected in_dim to satisfy -{each.ndim} <= in_dim < {each.ndim}."
            )
    return [None if axis is None else axis % each.ndim for each, axis in zip(flat, axes, strict=True)]


def _batched(name: str, batch: Batch, returned: Any, out_dims: Any) -> Any:
    """What `func` returned for one example, for the whole batch."""
    outputs, structure = _flat(returned)
    single = isinstance(out_dims, tuple) and len(out_dims) == 1 and isinstance(returned, Tensor)
    dims = _spread(out_dims[0] if single else out_dims, returned)
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {_flat(out_dims)[1]} but outputs has structure {structure}."
        )
    axes: dict[int, int] = {}
    for position, (each, dim) in enumerate(zip(outputs, dims, strict=True)):
        if dim is None:
            if isinstance(each, Tensor) and batch.holds(each.node):
                raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        elif isinstance(each, Tensor):
            axes[position] = wrapped_dim(dim, each.ndim + 1)
        else:
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(each)}. Did you mean to set "
                "out_dims= to None for output?"
            )
    nodes = batch.batches([outputs[position].node for position in axes], list(axes.values()))
    for position, node in zip(axes, nodes, strict=True):
        outputs[position] = wrap(node)
    return tree_unflatten(structure, outputs)


# Objects with parameters.


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Calls `module` with other tensors in the place of its own, so that it becomes a function of its parameters.

    Args:
        module: any callable object whose attributes are tensors, or objects that have them, named with dots
            (`layer.weight`).
        parameter_and_buffer_dicts: tensors by name, or several such dicts with no name twice. They are in place during
            the call; afterwards, also after an exception, the module has its own again.
        args, kwargs: what to call it with; `args` a tuple, or the one argument.
        tie_weights: whether a tensor that the module has under several names is replaced under all of them.
        strict: RuntimeError if the module has tensors that are not named.

    Raises:
        AttributeError: there is no attribute of that name.
        TypeError: that attribute is no tensor, or what is to replace it is none.
        ValueError: a name stands in several of the dicts.

    Counterpart of `torch.func.functional_call`.
    """
    replaced = _one_dict(parameter_and_buffer_dicts)
    places = {name: _place(module, name) for name in replaced}
    own = _tensors_of(module)
    if strict and (missing := sorted(set(own) - set(replaced))):
        raise RuntimeError(f"Missing key(s): {', '.join(missing)}.")
    if tie_weights:
        by_identity = {id(getattr(*place)): replaced[name] for name, place in places.items()}
        for name, tensor in own.items():
            if name not in replaced and id(tensor) in by_identity:
                places[name] = _place(module, name)
                replaced[name] = by_identity[id(tensor)]
    before = {name: getattr(*place) for name, place in places.items()}
    try:
        for name, place in places.items():
            setattr(*place, replaced[name])
        return module(*(args if isinstance(args, tuple) else () if args is None else (args,)), **(kwargs or {}))
    finally:
        for name, place in places.items():
            setattr(*place, before[name])


def _one_dict(dicts: Any) -> dict[str, Tensor]:
    if isinstance(dicts, Mapping):
        return dict(dicts)
    if not isinstance(dicts, Sequence):
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(dicts)}"
        )
    if not all(isinstance(each, Mapping) for each in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    names = [name for each in dicts for name in each]
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
    return {name: value for each in dicts for name, value in each.items()}


def _place(module: Any, name: str) -> tuple[Any, str]:
    """The object that has the tensor `name` as an attribute, and that attribute's name."""
    *path, last = name.split(".")
    for part in path:
        if not hasattr(module, part):
            raise AttributeError(f"{type(module).__name__} has no attribute `{part}`")
        module = getattr(module, part)
    if not hasattr(module, last):
        raise AttributeError(f"{type(module).__name__} has no attribute `{last}`")
    if not isinstance(getattr(module, last), Tensor):
        raise TypeError(f"{name}: {getattr(module, last)!r} is not an instance of jaxvjp.Tensor")
    return module, last


def _tensors_of(module: Any, prefix: str = "", seen: frozenset[int] = frozenset()) -> dict[str, Tensor]:
    """Every tensor among the attributes of an object, and of the objects among them, by its dotted name."""
    found: dict[str, Tensor] = {}
    for name, value in getattr(module, "__dict__", {}).items():
        if isinstance(value, Tensor):
            found[prefix + name] = value
        elif hasattr(value, "__dict__") and not isinstance(value, type) and id(value) not in seen:
            found.update(_tensors_of(value, f"{prefix}{name}.", seen | {id(module)}))
    return found
