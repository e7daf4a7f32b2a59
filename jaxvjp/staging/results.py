"""What a staged step returns and writes, in a form that each call can repeat.

`Returned` makes one leaf of the step's result at a call; `Write` and `rewritten` give a tensor new contents.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any, NamedTuple

from jaxvjp.core.record.blocks import restored
from jaxvjp.core.record.graph import Node, gradient_edges, reachable
from jaxvjp.core.record.lifetime import NodesMet, TensorsBehind
from jaxvjp.core.record.modes import count_change, tracking
from jaxvjp.core.record.record import node_of_value
from jaxvjp.core.record.saves import saves_something
from jaxvjp.core.record.user_lines import UserLine
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.ops.op import Aval, Op
from jaxvjp.tensor.tensor import Tensor, view, wrap
from jaxvjp.tensor.view_steps import Step, Steps

Result = Callable[[int, UserLine], Node]
"""Called with the number of an output of the step's program, and the user's line that errors are to name: makes a new
node with the value of that output."""


class Write(NamedTuple):
    """After the step, the storage of the tensor in `slot` has the program's `output`; its `_version` rose by
    `times`."""

    slot: int
    output: int
    times: int
    where: UserLine


class Finished(NamedTuple):
    """Stands for the `grad_fn` of a tensor whose graph `backward` has freed: it has only a name."""

    operation: Op | None
    static: tuple[Any, ...]
    avals: tuple[Aval, ...]

    def made(self, tensor: Tensor) -> Tensor:
        """`tensor`, with this as its `grad_fn`."""
        node = tensor.__shown__
        evaluate([node])  # which is left to be done where other results can be differentiated
        node.inputs = ()
        node.operation, node.static, node.input_avals = self
        node.requires_grad = node.freed = node.special = True
        node.passed = NOTHING_PASSED
        return tensor


NOTHING_PASSED = TensorsBehind(NodesMet([]))


class Returned(NamedTuple):
    """One leaf of the step's result: the tensor outside in a `slot`, the `grad` of the one in `owner`, the program's
    result number `output`, or a constant `value`.

    `alias` makes another tensor on the storage of the one in `slot`, or of the `leaf` of the result with that number:
    a view, or what `detach()` gives.

    `finished` is the `grad_fn` of a tensor whose graph was freed. `tracked` says that it is a new leaf that requires a
    gradient.
    """

    value: Any = None
    slot: int | None = None
    alias: Callable[[Tensor], Tensor] | None = None
    leaf: int | None = None
    owner: int | None = None
    output: int | None = None
    aval: Any = None
    where: UserLine = None
    finished: Finished | None = None
    tracked: bool = False

    def made(self, result: Result, tensors: list[Tensor]) -> Any:
        """The leaf, at a call with these tensors outside and these results of the program; not an alias of a `leaf`."""
        if self.slot is not None:
            tensor = tensors[self.slot]
            return tensor if self.alias is None else self.alias(tensor)
        if self.owner is not None:
            return tensors[self.owner]._grad
        if self.aval is None:
            return self.value
        if self.output is None:
            made = wrap(node_of_value(self.value, self.aval, where=self.where))
        else:
            made = wrap(result(self.output, self.where))
        if self.tracked:
            made = made.detach()
            made.requires_grad = True
        return made if self.finished is None else self.finished.made(made)


def leaves_made(returned: list[Returned], result: Result, tensors: list[Tensor]) -> list[Any]:
    """All leaves of the step's result, at a call with these tensors outside and these results of the program."""
    leaves: list[Any] = [each.made(result, tensors) if each.leaf is None else None for each in returned]
    for at, each in enumerate(returned):
        if each.leaf is not None and each.alias is not None:
            leaves[at] = each.alias(leaves[each.leaf])
    return leaves


def alias_as(like: Tensor, of: Tensor) -> Callable[[Tensor], Tensor] | None:
    """A function that makes the same alias of another tensor as `like`, made in the step, is of `of`: a view, or what
    `detach()` gives. None if `like` is no part of what `of`, or its base, shows.

    For `like = of.t().detach()` it is `lambda tensor: tensor.t().detach()`. RuntimeError for a view that may not be
    read, as its base was written.
    """
    if like is of:
        return _itself
    like.__check_current__()
    base, origin = like.__base_tensor__, of.__base_tensor__
    if base is not None and not like.__follows_base__:  # one of them was given another shape in place, or other data
        return None
    if base is None:
        if like.requires_grad and not like.is_leaf:  # written in place, it has a graph of its own
            return None
        extra = _steps_beyond(of.__view_path__, like.__view_path__)
        if extra is None:
            return _of_base(None if origin is None else alias_as(like, origin))
        counted, leaf = like.__own_versions__ is not None, like.requires_grad

        def detached(tensor: Tensor) -> Tensor:
            with tracking(False):
                made = (view(tensor, *extra) if extra else tensor).__alias__(counted)
            if leaf:
                made.requires_grad = True
            return made

        return detached
    steps = like.__steps__ if base is of else _steps_beyond(of.__steps__, like.__steps__) if base is origin else None
    before = _itself if steps is not None else _of_base(_itself) if base is origin else alias_as(base, of)
    through = of if steps is not None else base
    tracked = like.__unrecorded__ is None
    flows = tracked and through.requires_grad and like.dtype.differentiable
    if before is None or like.is_leaf == flows or (tracked and like.requires_grad != flows):
        return None  # for example, its gradient flows through another tensor
    taken = like.__steps__ if steps is None else steps

    def viewed(tensor: Tensor) -> Tensor:
        whole: Any = before(tensor)
        with tracking(tracked):
            return view(whole, *taken)

    return viewed


def _itself(tensor: Tensor) -> Tensor:
    return tensor


def _of_base(alias: Callable[[Tensor], Tensor] | None) -> Callable[[Tensor], Tensor] | None:
    """`alias` of the base of a view."""
    if alias is None:
        return None

    def of_base(tensor: Tensor) -> Tensor:
        assert tensor.__base_tensor__ is not None
        base: Any = tensor.__base_tensor__
        return alias(base)

    return of_base


def _steps_beyond(first: Steps, steps: Steps) -> Steps | None:
    """The rest of `steps` after those of `first`; None if they do not begin with those."""
    same = len(first) <= len(steps) and all(
        a is b or (a.operation is b.operation and a.static == b.static and values_of(a) == values_of(b))
        for a, b in zip(first, steps, strict=False)
    )
    return steps[len(first) :] if same else None


def values_of(step: Step) -> list[Any]:
    return [operand.value for operand in step.operands]


def unfinished(output: Node, walked: Container[Node] = ()) -> bool:
    """Whether a gradient of `output` could still be asked for: after a backward pass without `retain_graph` it cannot.

    Such a pass frees the nodes that save something. Where none does, it is enough that the output is among those
    `walked`: a gradient of `w.sum()` could be asked for twice, but after a staged step it is an error.
    """
    if not output.requires_grad or output.is_leaf:
        return False
    behind = [node for node in reachable([output], gradient_edges) if not node.is_leaf]
    if any(each.freed for each in behind):
        return False
    return output not in walked or any(each.operation is not None and saves_something(each) for each in behind)


@restored
def rewritten(tensor: Tensor, new: Node, count: int, where: UserLine) -> None:
    """Gives a tensor's storage new contents and raises its `_version` by `count`, which is 0 for writes through
    `data`."""
    with tracking(False):
        if tensor.__view_path__:
            storage, versions = tensor.storage, tensor.__versions__
            storage.contents = new
            storage.version += 1
            for _ in range(count):
                versions.written(where)
            count_change()
        elif count:
            tensor.__versions__.count += count - 1  # before `write`, which notes the count in the node
            tensor.__write__(new)
        else:
            tensor.__alias__(counted=False).__write__(new)
