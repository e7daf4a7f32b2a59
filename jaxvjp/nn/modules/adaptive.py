"""A softmax over many classes, of which the rare ones are grouped."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

from jaxvjp.nn import functional as F
from jaxvjp.nn.modules.container import ModuleList, Sequential
from jaxvjp.nn.modules.layer import PLACE, Layer
from jaxvjp.nn.modules.linear import Linear
from jaxvjp.ops.joining import cat
from jaxvjp.tensor.apply import apply
from jaxvjp.tensor.tensor import Tensor

UNDERNEATH = "functions of `nn.functional`"


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Layer):
    """Log-probabilities of classes sorted by frequency, and their mean as a loss.

    The head has the classes up to the first of `cutoffs`, and one class for each of the groups that begin at a cutoff.
    A group has its own classes, over `div_value` times fewer features than the group before.
    """

    __settings__ = (
        "in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0, head_bias: bool = False, "
        f"{PLACE}"
    )

    def __finish_init__(self, **place: Any) -> None:
        cuts, n_classes = list(self.cutoffs), self.n_classes
        if not cuts:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if cuts != sorted(set(cuts)) or cuts[0] <= 0 or cuts[-1] > n_classes - 1 or any(int(c) != c for c in cuts):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                "value is between 1 and n_classes-1"
            )
        self.cutoffs: Any = [*cuts, n_classes]
        self.shortlist_size, self.n_clusters = cuts[0], len(cuts)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(self.in_features, self.head_size, self.head_bias, **place)
        self.tail = ModuleList()
        for number, (start, stop) in enumerate(pairwise(self.cutoffs), 1):
            width = int(self.in_features // self.div_value**number)
            layers = Linear(self.in_features, width, False, **place), Linear(width, stop - start, False, **place)
            self.tail.append(Sequential(*layers))

    def reset_parameters(self) -> None:
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes, (batch, classes)."""
        head = F.log_softmax(self.head(input), 1)
        groups = [
            F.log_softmax(each(input), 1) + head.select(1, self.shortlist_size + place).unsqueeze(1)
            for place, each in enumerate(self.tail)
        ]
        return apply(cat, ((head.narrow(1, 0, self.shortlist_size), *groups),), (1,))

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each example."""
        return self.log_prob(input).argmax(1)

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        if target_.dim() not in (0, 1):
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if target_.dim() == 1 and input_.size(0) != target_.size(0):
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if input_.dim() != target_.dim() + 1:
            raise RuntimeError(
                f"{target_.dim()}D target tensor expects {target_.dim() + 1}D input tensors, but found inputs with "
                f"size {input_.size()}"
            )
        alone = target_.dim() == 0
        input, target = (each.unsqueeze(0) if alone else each for each in (input_, target_))
        low, high = target.min().item(), target.max().item()
        if low < 0 or high >= self.n_classes:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{low}, {high}] were "
                "found. "
            )
        output = self.log_prob(input).gather(1, target.unsqueeze(1)).squeeze(1)
        return _ASMoutput(output.squeeze(0) if alone else output, (-output).mean())
