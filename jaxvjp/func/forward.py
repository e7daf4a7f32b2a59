"""Forward mode: `jvp`, `linearize`, `jacfwd`, and `hessian`, which is forward over reverse."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from jaxvjp.core.record.blocks import restored
from jaxvjp.core.record.modes import outside_inference
from jaxvjp.func.arguments import (
    Argnums,
    assembled,
    check_aux,
    check_randomness,
    check_real,
    check_tensors,
    chosen_of,
    required_tensor,
    with_aux,
    with_chosen,
    zeros_of,
)
from jaxvjp.func.reverse import jacrev
from jaxvjp.tensor.duals import Duals
from jaxvjp.tensor.jacobians import columns
from jaxvjp.tensor.levels import Guard
from jaxvjp.tensor.tensor import Tensor, wrap
from jaxvjp.tensor.trees import flattened, tensors_of, told, unflattened

JVP = "jvp(f, primals, tangents)"


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
    flat, structure = flattened(primals)
    given, given_structure = flattened(tangents)
    if structure != given_structure:
        raise RuntimeError(
            f"{JVP}: Expected primals and tangents to have the same python structure. For example, if primals is a "
            f"tuple of 3 tensors, tangents also must be. Got primals with structure {told(structure)} and "
            f"tangents with structure {told(given_structure)}"
        )
    for listed, what in ((flat, "primals"), (given, "tangents")):
        if not listed:
            raise RuntimeError(f"{JVP}: Expected {what} to contain at least one Tensor.")
        for each in listed:
            if not isinstance(each, Tensor):
                raise RuntimeError(f"{JVP}: Expected {what} to only contain Tensors, got {type(each)}")
    output, pushed, aux = _pushed(func, flat, given, structure, has_aux, strict)
    return (output, pushed, aux) if has_aux else (output, pushed)


@restored
def _pushed(
    func: Callable[..., Any], flat: list[Tensor], given: list[Tensor], structure: Any, has_aux: bool, strict: bool
) -> tuple[Any, Any, Any]:
    """The output of `func`, its tangents in the same structure, and aux."""
    with Duals() as duals, Guard(flat):
        made = [duals.make(each, tangent) for each, tangent in zip(flat, given, strict=True)]
        output, aux = with_aux(func(*unflattened(structure, made)), has_aux, JVP)
        outputs, output_structure = flattened(output)
        check_tensors(outputs, JVP)
        nodes = [each.__node__ for each in outputs]
        pushed = duals.tangents_of(nodes)
        if strict and None in pushed:
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
                "allowed with strict=True."
            )
        tangents = [wrap(zeros_of(node) if each is None else each) for node, each in zip(nodes, pushed, strict=True)]
    check_aux(aux, has_aux)
    return output, unflattened(output_structure, tangents), aux


@restored
def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """`func(*primals)`, and its derivative there as a linear function of tangents.

    `func` runs once; each call of the returned function is `jax.jvp` of what it recorded, and gives the tangents of
    the output in its structure. RuntimeError for tangents of another structure, shape or dtype than `primals`.

    Counterpart of `torch.func.linearize`. Underneath: as `jax.linearize`.
    """
    flat, structure = flattened(primals)
    with Duals() as duals:
        made = [duals.make(each, each) for each in flat]
        output = func(*unflattened(structure, made))
        outputs, output_structure = flattened(output)
        starts, nodes = [each.__node__ for each in made], [each.__node__ for each in outputs]
        push = duals.linear(nodes)

    def linear(*tangents: Any) -> Any:
        given, given_structure = flattened(tangents)
        if given_structure != structure:
            raise RuntimeError(
                f"Expected the tangents {told(given_structure)} to have the same argspec as the primals "
                f"{told(structure)}"
            )
        for position, (tangent, each) in enumerate(zip(given, flat, strict=True)):
            for what, own, wanted in (("shape", tangent.shape, each.shape), ("dtype", tangent.dtype, each.dtype)):
                if own != wanted:
                    raise RuntimeError(
                        f"tangent:{position} with {what} {own} in flattened pytree doesn't match the {what} {wanted} "
                        "of the corresponding primal."
                    )
        pushed = push({start: each.__node__ for start, each in zip(starts, given, strict=True)})
        results = [wrap(zeros_of(node) if each is None else each) for node, each in zip(nodes, pushed, strict=True)]
        return unflattened(output_structure, results)

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
    @restored
    def wrapper(*args: Any) -> Any:
        check_randomness(randomness)
        check_real("jacfwd", args, "inputs")
        inputs, chosen_structure = flattened(chosen_of(args, argnums))
        structure: Any = None
        outputs: list[Any] = []
        aux: Any = None

        def run(duals: list[Tensor]) -> list[Any]:
            nonlocal structure, outputs, aux
            returned = func(*with_chosen(args, argnums, unflattened(chosen_structure, duals)))
            output, aux = with_aux(returned, has_aux, JVP)
            outputs, structure = flattened(output)
            check_aux(aux, has_aux)
            check_tensors(outputs, JVP)
            check_real("jacfwd", outputs, "outputs")
            return outputs

        with outside_inference(), Guard(tensors_of(args)):
            found = columns(run, [required_tensor(operand) for operand in inputs], randomness)
            jacobian = unflattened(structure, assembled(found, outputs, inputs, chosen_structure))
        return (jacobian, aux) if has_aux else jacobian

    return wrapper


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The matrix of second derivatives of `func`: `jacfwd` of `jacrev`.

    Counterpart of `torch.func.hessian`. Underneath: `jax.hessian` of the recorded program.
    """
    return jacfwd(jacrev(func, argnums), argnums)
