"""What a staged step returns and writes, in a form that each call can repeat.

`Returned` makes one leaf of the step's result at a call; `Write` and `rewritten` give a tensor new contents.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from jaxvjp.core.record.blocks import restored
from jaxvjp.core.record.graph import Node, gradient_edges, reachable
from jaxvjp.core.record.lifetime import NodesMet, TensorsBehind
from jaxvjp.core.record.modes import changed, tracking
from jaxvjp.core.record.record import node_of_value
from jaxvjp.core.record.user_lines import UserLine
from jaxvjp.ops.op import Aval, Op
from jaxvjp.tensor.tensor import Tensor, view, wrap

Result = Callable[[int, UserLine], Node]
"""A function that makes a new node for output number so-and-so of a program, made (as errors say) at a user's line."""


class Write(NamedTuple):
    """After the step, the storage of the tensor at `place` has the program's `output`; its `_version` rose by
    `times`."""

    place: int
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
        node = tensor._node
        node.operation, node.static, node.input_avals = self
        node.requires_grad = node.freed = node.special = True
        node.passed = NOTHING_PASSED
        return tensor


NOTHING_PASSED = TensorsBehind(NodesMet([]))


class Returned(NamedTuple):
    """One leaf of the step's result: the tensor at a `place` outside, the `grad` of the one at `owner`, the program's
    result number `output`, or a constant `value`.

    `alias` makes another tensor on the storage of the one at `place`: a view, or what `detach()` gives.

    `finished` is the `grad_fn` of a tensor whose graph was freed.
    """

    value: Any = None
    place: int | None = None
    alias: Callable[[Tensor], Tensor] | None = None
    owner: int | None = None
    output: int | None = None
    aval: Any = None
    where: UserLine = None
    finished: Finished | None = None

    def made(self, result: Result, tensors: list[Tensor]) -> Any:
        """The leaf, at a call with these tensors outside and these results of the program."""
        if self.place is not None:
            tensor = tensors[self.place]
            return tensor if self.alias is None else self.alias(tensor)
        if self.owner is not None:
            return tensors[self.owner]._grad
        if self.aval is None:
            return self.value
        if self.output is None:
            return wrap(node_of_value(self.value, self.aval, where=self.where))
        made = wrap(result(self.output, self.where))
        return made if self.finished is None else self.finished.made(made)


def alias_as(like: Tensor) -> Callable[[Tensor], Tensor]:
    """A function that makes an alias of a tensor in the way that `like` is one: a view or a `detach()`."""
    of = like if like._base_tensor is None else like._base_tensor
    tracked, counted, steps = of.requires_grad, of._versions is not None, like._steps

    def alias(tensor: Tensor) -> Tensor:
        base = tensor if tensor._base_tensor is None else tensor._base_tensor
        if not tracked and (base.requires_grad or not steps):
            base = base._alias(counted)
        return view(base, *steps) if steps else base

    return alias


def unfinished(output: Node) -> bool:
    """Whether a gradient of `output` could still be asked for."""
    if not output.requires_grad or output.is_leaf:
        return False
    return not any(each.freed for each in reachable([output], gradient_edges) if not each.is_leaf)


@restored
def rewritten(tensor: Tensor, new: Node, count: int, where: UserLine) -> None:
    """Gives a tensor's storage new contents and raises its `_version` by `count`, which is 0 for writes through
    `data`."""
    with tracking(False):
        if tensor.path:
            storage, versions = tensor.storage, tensor.versions
            storage.contents = new
            storage.version += 1
            for _ in range(count):
                versions.written(where)
            changed()
        elif count:
            tensor.versions.count += count - 1  # before `write`, which notes the count in the node
            tensor.write(new)
        else:
            tensor._alias(counted=False).write(new)
