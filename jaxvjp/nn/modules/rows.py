"""The layers that only call a function of `nn.functional` with their settings: a row each, under the name of its file.

    "Threshold": Row("threshold", "threshold: float, value: float, inplace: bool = False", "threshold value inplace?")

stands for a class of that name, whose constructor has those parameters and keeps them as attributes, and whose
`forward` gives `F.threshold(input, threshold=self.threshold, value=self.value, inplace=self.inplace)`. `layer.define`
makes the classes, in a module with the name of that file; `nn.Threshold`, `dir(nn)`, the stubs and the documents read
the rows here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

SAME = "the same as of the function"


class Row(NamedTuple):
    """A layer.

    Attributes:
        call: what `forward` calls, a function of `nn.functional`, which gets the layer's input and all its settings by
            name; or the whole call, as an expression.
        signature: the parameters of the constructor, the layer's settings; a tensor becomes a buffer. `SAME` where
            these are the function's parameters with defaults, and those of `forward` its others.
        shown: `__printed__` of `Layer`.
        base: the class, in `bases`, that it derives from.
        input: the parameters of `forward`.
    """

    call: str
    signature: str = ""
    shown: str = ""
    base: str = "Layer"
    input: str = "input: Tensor"


def expanded(rows: Mapping[str, Row]) -> Iterator[tuple[str, Row]]:
    """The rows; one whose name has `{d}` stands for three, of 1, 2 and 3 dimensions."""
    for name, row in rows.items():
        for dims in "123" if "{d}" in name else " ":
            yield name.replace("{d}", dims), Row(*[each.replace("{d}", dims) for each in row])


ROWS: dict[str, dict[str, Row]] = {}
"""By file, the rows of its layers."""

INPLACE = "inplace: bool = False"
BOUNDS = "min_value: float | None = None, max_value: float | None = None"
ROWS["activation"] = {
    "CELU": Row("celu", f"alpha: float = 1.0, {INPLACE}", "alpha inplace?"),
    "ELU": Row("elu", f"alpha: float = 1.0, {INPLACE}", "alpha inplace?"),
    "GELU": Row("gelu", "approximate: str = 'none'", "approximate"),
    "GLU": Row("glu", "dim: int = -1", "dim"),
    "Hardshrink": Row("hardshrink", "lambd: float = 0.5", "lambd!"),
    "Hardsigmoid": Row("hardsigmoid", INPLACE),
    "Hardswish": Row("hardswish", INPLACE),
    "Hardtanh": Row(
        "F.hardtanh(input, self.min_val, self.max_val, self.inplace)",
        f"min_val: float = -1.0, max_val: float = 1.0, {INPLACE}, {BOUNDS}",
        "min_val max_val inplace?",
        "_Bounded",
    ),
    "LeakyReLU": Row("leaky_relu", f"negative_slope: float = 0.01, {INPLACE}", "negative_slope inplace?"),
    "LogSigmoid": Row("logsigmoid"),
    "LogSoftmax": Row("F.log_softmax(input, self.dim, _stacklevel=5)", "dim: int | None = None", "dim"),
    "Mish": Row("mish", INPLACE, "inplace?"),
    "RReLU": Row(
        "F.rrelu(input, self.lower, self.upper, self.training, self.inplace)",
        f"lower: float = 1 / 8, upper: float = 1 / 3, {INPLACE}",
        "lower upper inplace?",
    ),
    "ReLU": Row("relu", INPLACE, "inplace?"),
    "ReLU6": Row("relu6", INPLACE, "inplace?", "_ReLU6"),
    "SELU": Row("selu", INPLACE, "inplace?"),
    "SiLU": Row("silu", INPLACE, "inplace?"),
    "Sigmoid": Row("sigmoid"),
    "Softmax": Row("F.softmax(input, self.dim, _stacklevel=5)", "dim: int | None = None", "dim"),
    "Softmax2d": Row("F.softmax(_checked_image(input), -3)"),
    "Softmin": Row("F.softmin(input, self.dim, _stacklevel=5)", "dim: int | None = None", "dim"),
    "Softplus": Row("softplus", "beta: float = 1.0, threshold: float = 20.0", "beta threshold"),
    "Softshrink": Row("softshrink", "lambd: float = 0.5", "lambd!"),
    "Softsign": Row("softsign"),
    "Tanh": Row("tanh"),
    "Tanhshrink": Row("tanhshrink"),
    "Threshold": Row("threshold", f"threshold: float, value: float, {INPLACE}", "threshold value inplace?"),
}

ROWS["distance"] = {
    "CosineSimilarity": Row("cosine_similarity", SAME),
    "PairwiseDistance": Row(
        "F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)",
        "p: float = 2.0, eps: float = 1e-6, keepdim: bool = False",
        base="_Distance",
        input="x1: Tensor, x2: Tensor",
    ),
}

SETTINGS = "p: float = 0.5, inplace: bool = False"
ROWS["dropout"] = {
    name: Row(f"F.{function}(input, self.p, self.training{inplace})", SETTINGS, "p inplace", "_DropoutNd")
    for name, function, inplace in [
        ("AlphaDropout", "alpha_dropout", ""),
        ("Dropout", "dropout", ", self.inplace"),
        ("Dropout{d}d", "dropout{d}d", ", self.inplace"),
        ("FeatureAlphaDropout", "feature_alpha_dropout", ""),
    ]
}

REDUCTION = "reduction: str = 'mean'"
CHOICE = f"size_average: bool | None = None, reduce: bool | None = None, {REDUCTION}"
TARGET = "input: Tensor, target: Tensor"
ROWS["loss"] = {
    "BCELoss": Row("binary_cross_entropy", SAME, base="_WeightedLoss"),
    "BCEWithLogitsLoss": Row("binary_cross_entropy_with_logits", SAME, base="_WeightedLoss"),
    "CTCLoss": Row("ctc_loss", SAME, base="_Loss"),
    "CosineEmbeddingLoss": Row(
        "cosine_embedding_loss",
        f"margin: float = 0.0, {CHOICE}",
        base="_Loss",
        input="input1: Tensor, input2: Tensor, target: Tensor",
    ),
    "CrossEntropyLoss": Row("cross_entropy", SAME, base="_WeightedLoss"),
    "GaussianNLLLoss": Row(
        "gaussian_nll_loss",
        f"*, full: bool = False, eps: float = 1e-6, {REDUCTION}",
        base="_Loss",
        input="input: Tensor, target: Tensor, var: Tensor | float",
    ),
    "HingeEmbeddingLoss": Row("hinge_embedding_loss", SAME, base="_Loss"),
    "HuberLoss": Row("huber_loss", f"{REDUCTION}, delta: float = 1.0", "", "_HuberLoss", TARGET),
    "KLDivLoss": Row("kl_div", SAME, base="_Loss"),
    "L1Loss": Row("l1_loss", CHOICE, "", "_Loss", TARGET),
    "MSELoss": Row("mse_loss", CHOICE, "", "_Loss", TARGET),
    "MarginRankingLoss": Row("margin_ranking_loss", SAME, base="_Loss"),
    "MultiLabelMarginLoss": Row("multilabel_margin_loss", SAME, base="_Loss"),
    "MultiLabelSoftMarginLoss": Row("multilabel_soft_margin_loss", SAME, base="_WeightedLoss"),
    "MultiMarginLoss": Row("multi_margin_loss", SAME, base="_MarginLoss"),
    "NLLLoss": Row("nll_loss", SAME, base="_WeightedLoss"),
    "NLLLoss2d": Row("nll_loss", SAME, base="_WeightedLoss"),
    "PoissonNLLLoss": Row(
        "poisson_nll_loss",
        "log_input: bool = True, full: bool = False, size_average: bool | None = None, eps: float = 1e-8, "
        f"reduce: bool | None = None, {REDUCTION}",
        base="_Loss",
        input="log_input: Tensor, target: Tensor",
    ),
    "SmoothL1Loss": Row("smooth_l1_loss", SAME, base="_Loss"),
    "SoftMarginLoss": Row("soft_margin_loss", SAME, base="_Loss"),
    "TripletMarginLoss": Row("triplet_margin_loss", SAME, base="_TripletLoss"),
    "TripletMarginWithDistanceLoss": Row("triplet_margin_with_distance_loss", SAME, base="_TripletLoss"),
}

SIZE = "padding: Size"
ROWS["padding"] = {
    "CircularPad{d}d": Row("F.pad(input, self.padding, 'circular')", SIZE, "padding!", "_Pad"),
    "ConstantPad{d}d": Row(
        "F.pad(input, self.padding, 'constant', self.value)", f"{SIZE}, value: float", "padding value", "_Pad"
    ),
    "ReflectionPad{d}d": Row("F.pad(input, self.padding, 'reflect')", SIZE, "padding!", "_Pad"),
    "ReplicationPad{d}d": Row("F.pad(input, self.padding, 'replicate')", SIZE, "padding!", "_Pad"),
    "ZeroPad{d}d": Row("F.pad(input, self.padding)", SIZE, "padding!", "_ZeroPad"),
}

WINDOW = "kernel_size: Size, stride: Size | None = None"
AVERAGE = f"{WINDOW}, padding: Size = 0, ceil_mode: bool = False, count_include_pad: bool = True"
FRACTION = "output_size: Size | None = None, output_ratio: float | tuple[float, ...] | None = None"
FRACTIONS = f"kernel_size: Size, {FRACTION}, return_indices: bool = False, _random_samples: Tensor | None = None"
ROWS["pooling"] = {
    "AdaptiveAvgPool{d}d": Row("adaptive_avg_pool{d}d", "output_size: Any", "output_size"),
    "AdaptiveMaxPool{d}d": Row(
        "adaptive_max_pool{d}d", "output_size: Any, return_indices: bool = False", "output_size"
    ),
    "AvgPool1d": Row("avg_pool1d", AVERAGE, "kernel_size stride padding", "_TuplePool"),
    **{
        f"AvgPool{dims}d": Row(
            f"avg_pool{dims}d", f"{AVERAGE}, divisor_override: int | None = None", "kernel_size stride padding", "_Pool"
        )
        for dims in (2, 3)
    },
    **{
        f"FractionalMaxPool{dims}d": Row(f"fractional_max_pool{dims}d", FRACTIONS, base="_FractionalMaxPool")
        for dims in (2, 3)
    },
    "LPPool{d}d": Row(
        "F.lp_pool{d}d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)",
        f"norm_type: float, {WINDOW}, ceil_mode: bool = False",
        "norm_type kernel_size stride ceil_mode",
    ),
    "MaxPool{d}d": Row(
        "max_pool{d}d",
        f"{WINDOW}, padding: Size = 0, dilation: Size = 1, return_indices: bool = False, ceil_mode: bool = False",
        "kernel_size stride padding dilation ceil_mode",
        "_Pool",
    ),
    "MaxUnpool{d}d": Row(
        "F.max_unpool{d}d(input, indices, self.kernel_size, self.stride, self.padding, output_size)",
        f"{WINDOW}, padding: Size = 0",
        "kernel_size stride padding",
        "_TuplePool",
        "input: Tensor, indices: Tensor, output_size: list[int] | None = None",
    ),
}

SLIDING = "kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1"
SCALED = "size: Size | None = None, scale_factor: float | tuple[float, ...] | None = None"
INTERPOLATE = (
    "F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor)"
)
ROWS["vision"] = {
    "ChannelShuffle": Row("channel_shuffle", "groups: int", "groups"),
    "Flatten": Row(
        "input.flatten(self.start_dim, self.end_dim)", "start_dim: int = 1, end_dim: int = -1", "start_dim end_dim"
    ),
    "Fold": Row("fold", f"output_size: Size, {SLIDING}", "output_size kernel_size dilation padding stride"),
    "LocalResponseNorm": Row(
        "local_response_norm",
        "size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0",
        "size! alpha beta k",
    ),
    "PixelShuffle": Row("pixel_shuffle", "upscale_factor: int", "upscale_factor"),
    "PixelUnshuffle": Row("pixel_unshuffle", "downscale_factor: int", "downscale_factor"),
    "Unflatten": Row(
        "input.unflatten(self.dim, self.unflattened_size)",
        "dim: int, unflattened_size: tuple[int, ...]",
        "dim unflattened_size",
        "_Unflatten",
    ),
    "Unfold": Row("unfold", SLIDING, "kernel_size dilation padding stride"),
    "Upsample": Row(
        INTERPOLATE,
        f"{SCALED}, mode: str = 'nearest', align_corners: bool | None = None, "
        "recompute_scale_factor: bool | None = None",
        base="_Upsample",
    ),
    "UpsamplingBilinear2d": Row(INTERPOLATE, SCALED, base="_Fixed2d"),
    "UpsamplingNearest2d": Row(INTERPOLATE, SCALED, base="_Fixed2d"),
}
