"""Loops and branches with bodies in torch's words: `scan`, `while_loop`, `cond`.

A body is recorded once, as a `Program`; tensors from outside that it reads become operands. So a loop is one node, its
program is of one round, and gradients flow to what its body reads as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax

from jaxvjp.core.derive.between import frozen_for_jax
from jaxvjp.core.record.graph import Node, Number
from jaxvjp.core.record.record import items, record
from jaxvjp.core.run.program import Program, replay
from jaxvjp.ops.op import Aval, op
from jaxvjp.pure.recording import Body, is_tensor
from jaxvjp.tensor.apply import limit_untracked_graph
from jaxvjp.tensor.refusals import advice_on_array
from jaxvjp.tensor.tensor import Tensor, wrap
from jaxvjp.tensor.trees import told
from jaxvjp.types.dtypes import bool_

TRUTH = Aval((), bool_)
Places = tuple[int, ...]
"""Which operands of an op are the arguments of its program, in their order."""


def _called(program: Program, places: Places, operands: Sequence[Any]) -> tuple[Any, ...]:
    return replay(program, [operands[place] for place in places])


@op(saves="residuals", public="", grad_fn="ScanAutogradOpBackward")
def scan_(*operands: Any, program: Program, places: Places, carried: int, scanned: int, reverse: bool) -> Any:
    """`jax.lax.scan` of `program`. The operands are the carry, what is scanned over, and what else the body reads."""
    carry, xs, others = operands[:carried], operands[carried : carried + scanned], operands[carried + scanned :]

    def step(now: tuple[Any, ...], each: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        results = _called(program, places, (*now, *each, *others))
        return results[:carried], results[carried:]

    last, stacked = jax.lax.scan(step, carry, xs, reverse=reverse)
    return (*last, *stacked)


@op(saves="residuals", public="", grad_fn="WhileLoopAutogradOpBackward")
def while_loop_(
    *operands: Any, program: Program, body: Program, places: Places, body_places: Places, carried: int
) -> Any:
    """`jax.lax.while_loop` of `body` while `program` says so. The operands are the carry, and what else both read."""
    others = operands[carried:]
    return jax.lax.while_loop(
        lambda now: _called(program, places, (*now, *others))[0],
        lambda now: _called(body, body_places, (*now, *others)),
        operands[:carried],
    )


@op(saves="residuals", public="", grad_fn="CondAutogradOpBackward")
def cond_(pred: Any, *operands: Any, program: Program, other: Program, places: Places, other_places: Places) -> Any:
    """`jax.lax.cond`: the outputs of `program` where `pred` holds, else those of `other`."""
    return jax.lax.cond(
        pred,
        lambda *given: _called(program, places, given),
        lambda *given: _called(other, other_places, given),
        *operands,
    )


class _Bodies:
    """Bodies of the same arguments, and all that they read, as operands of one op."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self.operands: list[Node | Number] = [tensor.__node__ for tensor in tensors]

    def add(self, body: Body) -> tuple[Program, Places]:
        """The program of a body, and which operands are its arguments."""
        body.refuse_hooks()
        program, arguments, _ = frozen_for_jax(body.outputs, body.arguments)
        own: dict[Any, int] = {each: place for place, each in enumerate(body.arguments)}
        places = []
        for each in arguments:
            if each not in own:
                own[each] = len(self.operands)
                self.operands.append(each)
            places.append(own[each])
        return program, tuple(places)

    def recorded(self, operation: Any, *static: Any) -> list[Tensor]:
        """The results of the op on the operands."""
        node = record(operation, tuple(self.operands), static)
        tensors = [wrap(each) for each in items(node)]
        if not node.requires_grad and tensors:
            limit_untracked_graph(tensors[0].__node__)
        return tensors


def _leaves(name: str, tree: Any) -> tuple[list[Tensor], Any]:
    structure: Any
    leaves, structure = jax.tree.flatten(tree, is_leaf=is_tensor)
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(
                f"{name}: Expected tensors, or tuples, lists and dicts of them, got {type(leaf).__name__}"
                f"{advice_on_array(leaf)}"
            )
    return leaves, structure


def _body(function: Callable[..., Any], avals: Sequence[Aval], structures: Sequence[Any]) -> Body:
    tree = jax.tree_util.treedef_tuple((jax.tree_util.treedef_tuple(structures), jax.tree.structure({})))
    return Body(function, avals, tree)


def _check_same(name: str, what: str, given: Sequence[Any], avals: Sequence[Any]) -> None:
    """RuntimeError where `given` are other than `avals`, which each round or branch has to give."""
    if [(each.shape, each.dtype) for each in given] != [(aval.shape, aval.dtype) for aval in avals]:
        raise RuntimeError(
            f"Expected {what} to have same metadata but found:\n"
            f"{list(avals)} and {list(given)}. Convert or reshape in the function of the {name}, such that both agree."
        )


def scan(
    combine_fn: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, *, dim: int = 0, reverse: bool = False
) -> tuple[Any, Any]:
    """Runs `carry, y = combine_fn(carry, x)` over the slices of `xs`, as one operation.

    The body runs once as Python, on tensors without values, and is compiled once, however long `xs` is.

    Args:
        combine_fn: takes the carry and a slice of `xs`, and returns the next carry and an output; each a tensor, or a
            pytree of them. It may read other tensors, and has to be pure.
        init: the first carry. The next one has its structure, shapes and dtypes.
        xs: what is scanned over.
        dim: along which dimension of each tensor in `xs`.
        reverse: whether to begin at the end; outputs stay in their places.

    Returns:
        the last carry, and the outputs, stacked along a new dimension at `dim`.

    Raises:
        RuntimeError: the body is not pure or reads a value; the carry changes its structure, shape or dtype; `xs` has
            no tensors, or tensors of several lengths.

    Counterpart of `torch._higher_order_ops.scan`. Underneath: `jax.lax.scan` of the recorded body.
    """
    carry, carry_tree = _leaves("scan", init)
    scanned, scanned_tree = _leaves("scan", xs)
    lengths = {each.shape[dim] for each in scanned}
    if len(lengths) != 1:
        raise RuntimeError(f"scan: Expected xs to have tensors of one length along dimension {dim}, got {[*lengths]}")
    moved = [each if dim == 0 else each.movedim(dim, 0) for each in scanned]
    avals = [each.__node__.aval.plain for each in carry]
    slices = [each.__node__.aval.shaped(each.__node__.aval.shape[1:]) for each in moved]
    body = _body(combine_fn, [*avals, *slices], [carry_tree, scanned_tree])
    children = body.tree.children()
    if len(children) != 2 or children[0] != carry_tree:
        raise RuntimeError(
            f"scan: Expected combine_fn to return the next carry, like init, and an output, got {told(body.tree)}"
        )
    _check_same("scan", "init and carry", [output.aval for output in body.outputs[: len(carry)]], avals)
    bodies = _Bodies([*carry, *moved])
    program, places = bodies.add(body)
    results = bodies.recorded(scan_, program, places, len(carry), len(moved), bool(reverse))
    stacked = [result if dim == 0 else result.movedim(0, dim) for result in results[len(carry) :]]
    return jax.tree.unflatten(carry_tree, results[: len(carry)]), jax.tree.unflatten(children[1], stacked)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Sequence[Any]) -> Any:
    """Runs `carried = body_fn(*carried)` while `cond_fn(*carried)` is true, as one operation.

    Both run once as Python, on tensors without values. As in JAX, forward mode goes through the loop, and `backward`
    does not, as how often it runs depends on values: `scan` a fixed number of rounds for that.

    Args:
        cond_fn: takes the carried tensors, and returns a tensor of one truth value.
        body_fn: takes them as well, and returns a tuple of the next ones, of the same shapes and dtypes.
        carried_inputs: a tuple of tensors, or pytrees of them.

    Returns:
        the carried tensors after the last round, as a tuple.

    Raises:
        RuntimeError: a function is not pure or reads a value; what is carried changes its structure, shape or dtype;
            the condition is no truth value.

    Counterpart of `torch.while_loop`. Underneath: `jax.lax.while_loop` of the recorded functions.
    """
    carry, tree = _leaves("while_loop", tuple(carried_inputs))
    avals = [each.__node__.aval.plain for each in carry]
    test = _body(cond_fn, avals, tree.children())
    _check_same("while_loop", "cond_fn's output and a truth value", [output.aval for output in test.outputs], [TRUTH])
    body = _body(body_fn, avals, tree.children())
    if body.tree.children() != tree.children():
        raise RuntimeError(
            f"while_loop: Expected body_fn to return a tuple like carried_inputs, {told(tree)}, got {told(body.tree)}"
        )
    _check_same("while_loop", "body_fn_output and carried_inputs", [output.aval for output in body.outputs], avals)
    bodies = _Bodies(carry)
    (program, places), (body_program, body_places) = bodies.add(test), bodies.add(body)
    results = bodies.recorded(while_loop_, program, body_program, places, body_places, len(carry))
    return jax.tree.unflatten(tree, results)


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Sequence[Any] = ()) -> Any:
    """`true_fn(*operands)` where `pred` holds, else `false_fn(*operands)`, as one operation; gradients flow through it.

    Args:
        pred: a tensor of one truth value, whose value is not read; or a Python truth value, which picks the branch now.
        true_fn, false_fn: return tensors of the same structure, shapes and dtypes. They may read other tensors, and
            have to be pure. Both run once as Python, on tensors without values.
        operands: a tuple of tensors, or pytrees of them.

    Raises:
        RuntimeError: `pred` is no truth value; a branch is not pure or reads a value; the branches differ in what they
            return.

    Counterpart of `torch.cond`. Underneath: `jax.lax.cond` of the recorded branches; inside `vmap` both are computed.
    """
    if not isinstance(pred, Tensor):
        if not isinstance(pred, bool | int | float):
            raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
        return (true_fn if pred else false_fn)(*operands)
    if pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    given, tree = _leaves("cond", tuple(operands))
    avals = [each.__node__.aval.plain for each in given]
    bodies = _Bodies(given)
    true, false = (_body(each, avals, tree.children()) for each in (true_fn, false_fn))
    if true.tree != false.tree:
        raise RuntimeError(
            f"cond: Expected true_fn and false_fn to return one structure, got {told(true.tree)} and {told(false.tree)}"
        )
    _check_same(
        "cond",
        "true_fn_output and false_fn_output",
        [output.aval for output in true.outputs],
        [output.aval for output in false.outputs],
    )
    (program, places), (other, other_places) = bodies.add(true), bodies.add(false)
    bodies.operands.insert(0, pred.reshape(()).bool().__node__)
    return jax.tree.unflatten(true.tree, bodies.recorded(cond_, program, other, places, other_places))
