"""Losses, one row each."""

from __future__ import annotations

from collections.abc import Callable  # noqa: F401 - for annotations of rows
from typing import Any

from jaxvjp.nn import functional as F  # noqa: F401 - for calls of rows
from jaxvjp.nn.modules.distance import PairwiseDistance
from jaxvjp.nn.modules.layer import LEGACY, Layer, Row, define
from jaxvjp.ops.neural.loss import chosen_reduction
from jaxvjp.tensor.tensor import Tensor

REDUCTION = "reduction: str = 'mean'"
CHOICE = f"size_average: bool | None = None, reduce: bool | None = None, {REDUCTION}"
WEIGHT = "weight: Tensor | None = None"
TARGET = "input: Tensor, target: Tensor"
TWO = "input1: Tensor, input2: Tensor, target: Tensor"
THREE = "anchor: Tensor, positive: Tensor, negative: Tensor"
NUMBERED = "size_average: bool | None = None, ignore_index: int = -100, reduce: bool | None = None"


class _Loss(Layer):
    reduction: Any

    def _settle(self) -> None:
        chosen = [self.__dict__.pop(each, None) for each in LEGACY]
        if any(each is not None for each in chosen):
            self.reduction = chosen_reduction(*chosen, self.reduction)


class _WeightedLoss(_Loss):
    weight: Tensor | None


class _HuberLoss(_Loss):
    def _settle(self) -> None:
        if not isinstance(self.delta, float | int):
            raise TypeError(f"delta must be a float or int, got: {type(self.delta)}")


class _MarginLoss(_WeightedLoss):
    def _settle(self) -> None:
        super()._settle()
        if self.p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if self.weight is not None and self.weight.dim() != 1:
            raise ValueError(
                f"MultiMarginLoss: expected weight to be None or 1D tensor, got {self.weight.dim()}D instead"
            )


class _TripletLoss(_Loss):
    def _settle(self) -> None:
        super()._settle()
        if self.margin <= 0:
            name = type(self).__name__
            raise ValueError(f"{name}: expected margin to be greater than 0, got {self.margin} instead")
        if getattr(self, "distance_function", self) is None:
            self.distance_function: Any = PairwiseDistance()


ROWS = {
    "BCELoss": Row("binary_cross_entropy", f"{WEIGHT}, {CHOICE}", "", "_WeightedLoss", TARGET),
    "BCEWithLogitsLoss": Row(
        "binary_cross_entropy_with_logits",
        f"{WEIGHT}, {CHOICE}, pos_weight: Tensor | None = None",
        "",
        "_WeightedLoss",
        TARGET,
    ),
    "CTCLoss": Row(
        "ctc_loss",
        f"blank: int = 0, {REDUCTION}, zero_infinity: bool = False",
        "",
        "_Loss",
        "log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor",
    ),
    "CosineEmbeddingLoss": Row("cosine_embedding_loss", f"margin: float = 0.0, {CHOICE}", "", "_Loss", TWO),
    "CrossEntropyLoss": Row(
        "cross_entropy",
        f"{WEIGHT}, {NUMBERED}, {REDUCTION}, label_smoothing: float = 0.0",
        "",
        "_WeightedLoss",
        TARGET,
    ),
    "GaussianNLLLoss": Row(
        "gaussian_nll_loss",
        f"*, full: bool = False, eps: float = 1e-6, {REDUCTION}",
        "",
        "_Loss",
        "input: Tensor, target: Tensor, var: Tensor | float",
    ),
    "HingeEmbeddingLoss": Row("hinge_embedding_loss", f"margin: float = 1.0, {CHOICE}", "", "_Loss", TARGET),
    "HuberLoss": Row("huber_loss", f"{REDUCTION}, delta: float = 1.0", "", "_HuberLoss", TARGET),
    "KLDivLoss": Row("kl_div", f"{CHOICE}, log_target: bool = False", "", "_Loss", TARGET),
    "L1Loss": Row("l1_loss", CHOICE, "", "_Loss", TARGET),
    "MSELoss": Row("mse_loss", CHOICE, "", "_Loss", TARGET),
    "MarginRankingLoss": Row("margin_ranking_loss", f"margin: float = 0.0, {CHOICE}", "", "_Loss", TWO),
    "MultiLabelMarginLoss": Row("multilabel_margin_loss", CHOICE, "", "_Loss", TARGET),
    "MultiLabelSoftMarginLoss": Row("multilabel_soft_margin_loss", f"{WEIGHT}, {CHOICE}", "", "_WeightedLoss", TARGET),
    "MultiMarginLoss": Row(
        "multi_margin_loss", f"p: int = 1, margin: float = 1.0, {WEIGHT}, {CHOICE}", "", "_MarginLoss", TARGET
    ),
    "NLLLoss": Row("nll_loss", f"{WEIGHT}, {NUMBERED}, {REDUCTION}", "", "_WeightedLoss", TARGET),
    "NLLLoss2d": Row("nll_loss", f"{WEIGHT}, {NUMBERED}, {REDUCTION}", "", "_WeightedLoss", TARGET),
    "PoissonNLLLoss": Row(
        "poisson_nll_loss",
        "log_input: bool = True, full: bool = False, size_average: bool | None = None, eps: float = 1e-8, "
        f"reduce: bool | None = None, {REDUCTION}",
        "",
        "_Loss",
        "log_input: Tensor, target: Tensor",
    ),
    "SmoothL1Loss": Row("smooth_l1_loss", f"{CHOICE}, beta: float = 1.0", "", "_Loss", TARGET),
    "SoftMarginLoss": Row("soft_margin_loss", CHOICE, "", "_Loss", TARGET),
    "TripletMarginLoss": Row(
        "triplet_margin_loss",
        f"margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False, {CHOICE}",
        "",
        "_TripletLoss",
        THREE,
    ),
    "TripletMarginWithDistanceLoss": Row(
        "triplet_margin_with_distance_loss",
        f"*, distance_function: Callable[..., Any] | None = None, margin: float = 1.0, swap: bool = False, {REDUCTION}",
        "",
        "_TripletLoss",
        THREE,
    ),
}
define(ROWS, globals())
