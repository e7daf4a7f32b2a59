"""Tensors that are known to hold the same number, without reading it: the step counts of an optimizer's parameters.

`optim.elementwise` asks, as parameters with the same count share what follows from it, such as `1 - beta ** step`.
Of each such tensor the node that it shows is noted, with an object that stands for its number. A tensor shows another
node once it is written.
"""

from typing import Any
from weakref import WeakKeyDictionary

from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.modes import staging, transforming
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.tensor.tensor import Tensor

_numbers: WeakKeyDictionary[Node, Any] = WeakKeyDictionary()


def number_shown(tensor: Tensor) -> Any:
    """What stands for the number of `tensor`: equal for tensors that are known to hold the same one. While a step is
    staged nothing is known: its program serves later calls, too."""
    return tensor.__node__ if staging().journal is not None else _numbers.get(tensor.__node__, tensor.__node__)


def note_number(tensor: Tensor, number: Any) -> None:
    """Notes that `number`, any object, stands for what `tensor` holds."""
    if staging().journal is None:
        _numbers[tensor.__node__] = number


def compute(tensors: list[Tensor]) -> None:
    """Computes the values of tensors in one program, except in a step that is being staged."""
    if staging().journal is None and not transforming().depth:
        evaluate([tensor.__node__ for tensor in tensors])
