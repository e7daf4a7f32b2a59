"""A table of the layers of `nn`: how each is made, and what it is called with.

A row is the constructor and the inputs, as text. Among the inputs a shape `(2, 3)` is a tensor of random numbers which
requires a gradient, and a list of integers is a tensor of them; `list((10,))` is a list. Without inputs the layer is
only made.
"""

from __future__ import annotations

import ast
import re
from typing import Any

PLAIN = """
CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid Mish ReLU ReLU6 SELU SiLU Sigmoid
Softplus Softshrink Softsign Tanh Tanhshrink PReLU RReLU Identity Dropout AlphaDropout
"""
MADE: list[tuple[str, str]] = [
    *[(f"{each}()", "(2, 6)") for each in PLAIN.split()],
    ("CELU(0.5, inplace=True)", "(2, 6) + 0"),
    ("ELU(alpha=2.0, inplace=True)", "(2, 6) + 0"),
    ("GELU('tanh')", "(2, 6)"),
    ("GLU(0)", "(2, 6)"),
    ("Hardtanh(-2, 0.5, True)", "(2, 6) + 0"),
    ("Hardtanh(min_value=-2.0, max_value=2.0)", "(2, 6)"),
    ("LeakyReLU(0.3, inplace=True)", "(2, 6) + 0"),
    ("ReLU(inplace=True)", "(2, 6) + 0"),
    ("RReLU(0.1, 0.2)", "(2, 6)"),
    ("Threshold(0.1, 20)", "(2, 6)"),
    ("Softmax(dim=1)", "(2, 6)"),
    ("Softmin(1)", "(2, 6)"),
    ("LogSoftmax(0)", "(2, 6)"),
    ("Softmax2d()", "(2, 3, 2, 2)"),
    ("PReLU(3, 0.1)", "(2, 3, 2)"),
    ("Identity(1, 2, some=3)", "(2, 6)"),
    ("Dropout(0.3, inplace=True)", "(2, 6) + 0"),
    ("Dropout1d()", "(2, 3, 4)"),
    ("Dropout2d(0.4)", "(2, 3, 4, 2)"),
    ("Dropout3d()", "(2, 3, 2, 2, 2)"),
    ("FeatureAlphaDropout()", "(2, 3, 4, 2)"),
    ("Linear(3, 4)", "(2, 3)"),
    ("Linear(3, 4, bias=False)", "(5, 2, 3)"),
    ("Linear(3, 4, dtype=torch.float64)", "(2, 3).double()"),
    ("Bilinear(3, 4, 2)", "(5, 3), (5, 4)"),
    ("Conv1d(4, 6, 3)", "(2, 4, 8)"),
    ("Conv1d(4, 6, 3, padding='same', dilation=2, groups=2)", "(2, 4, 8)"),
    ("Conv1d(4, 6, 3, padding=2, padding_mode='circular', bias=False)", "(2, 4, 8)"),
    ("Conv2d(3, 6, (3, 2), stride=2, padding=1)", "(2, 3, 6, 5)"),
    ("Conv2d(3, 6, 3, padding=(1, 2), padding_mode='reflect')", "(2, 3, 6, 5)"),
    ("Conv2d(3, 6, (2, 3), padding='same', padding_mode='replicate')", "(2, 3, 6, 5)"),
    ("Conv3d(2, 4, 2, dilation=(1, 2, 1))", "(2, 2, 4, 4, 3)"),
    ("ConvTranspose1d(4, 6, 3, stride=2)", "(2, 4, 5)"),
    ("ConvTranspose1d(4, 6, 3, stride=2, padding=1)", "(2, 4, 5), list((10,))"),
    ("ConvTranspose2d(4, 6, 3, 2, 1, 1, groups=2, dilation=2)", "(2, 4, 3, 3)"),
    ("ConvTranspose3d(2, 3, 2, bias=False)", "(1, 2, 3, 3, 2)"),
    ("BatchNorm1d(3)", "(4, 3)"),
    ("BatchNorm1d(3, momentum=None)", "(4, 3, 2)"),
    ("BatchNorm2d(3, eps=1e-3, affine=False)", "(2, 3, 4, 2)"),
    ("BatchNorm3d(2, track_running_stats=False, bias=False)", "(2, 2, 3, 2, 2)"),
    ("SyncBatchNorm(3)", "(2, 3, 4)"),
    ("InstanceNorm1d(3)", "(2, 3, 5)"),
    ("InstanceNorm2d(3, affine=True, track_running_stats=True)", "(3, 4, 5)"),
    ("InstanceNorm3d(2)", "(2, 2, 3, 2, 2)"),
    ("LayerNorm(4)", "(2, 3, 4)"),
    ("LayerNorm([3, 4], bias=False)", "(2, 3, 4)"),
    ("LayerNorm((4,), elementwise_affine=False)", "(2, 3, 4)"),
    ("RMSNorm(4)", "(2, 3, 4)"),
    ("GroupNorm(2, 4)", "(2, 4, 3)"),
    ("GroupNorm(2, 4, affine=False)", "(2, 4, 3)"),
    ("LocalResponseNorm(2)", "(2, 4, 3)"),
    ("Embedding(5, 3)", "[[1, 2], [4, 0]]"),
    ("Embedding(5, 3, padding_idx=-1, max_norm=1.0, norm_type=1)", "[[1, 2], [4, 0]]"),
    ("EmbeddingBag(5, 3)", "[[1, 2], [4, 0]]"),
    ("EmbeddingBag(5, 3, mode='sum', padding_idx=1)", "[1, 2, 4, 0], [0, 2]"),
    ("EmbeddingBag(5, 3, mode='max', include_last_offset=True)", "[1, 2, 4, 0], [0, 2, 4]"),
    ("AvgPool1d(2)", "(2, 3, 6)"),
    ("AvgPool2d((2, 3), stride=1, padding=1, count_include_pad=False)", "(2, 3, 6, 6)"),
    ("AvgPool3d(2, divisor_override=3)", "(2, 1, 4, 4, 4)"),
    ("MaxPool1d(3, 2, ceil_mode=True)", "(2, 3, 6)"),
    ("MaxPool2d(2, return_indices=True)", "(2, 3, 6, 6)"),
    ("MaxPool3d(2, padding=1, dilation=1)", "(2, 1, 4, 4, 4)"),
    ("LPPool1d(2, 3)", "(2, 3, 6) ** 2 + 1"),
    ("LPPool2d(3, 2, stride=1)", "(2, 3, 6, 6) ** 2 + 1"),
    ("LPPool3d(2, 2)", "(2, 1, 4, 4, 4) ** 2 + 1"),
    ("AdaptiveAvgPool1d(3)", "(2, 3, 7)"),
    ("AdaptiveAvgPool2d((3, None))", "(2, 3, 7, 5)"),
    ("AdaptiveAvgPool3d(2)", "(2, 1, 4, 5, 4)"),
    ("AdaptiveMaxPool1d(3)", "(2, 3, 7)"),
    ("AdaptiveMaxPool2d(3, return_indices=True)", "(2, 3, 7, 5)"),
    ("AdaptiveMaxPool3d((2, 2, 2))", "(2, 1, 4, 5, 4)"),
    ("FractionalMaxPool2d(2, output_size=3)", "(2, 3, 7, 7)"),
    ("FractionalMaxPool3d(2, output_ratio=0.5)", "(2, 1, 6, 6, 6)"),
    ("MaxUnpool1d(2)", "(1, 1, 3), [[[1, 2, 4]]]"),
    ("MaxUnpool2d(2, stride=2)", "(1, 1, 2, 2), [[[[0, 3], [9, 14]]]]"),
    ("MaxUnpool3d(2)", "(1, 1, 1, 1, 2), [[[[[0, 3]]]]], list((2, 2, 4))"),
    *[(f"{kind}Pad1d(2)", "(2, 3, 4)") for kind in ("Circular", "Reflection", "Replication", "Zero")],
    *[(f"{kind}Pad2d((1, 2, 0, 1))", "(2, 3, 4, 4)") for kind in ("Circular", "Reflection", "Replication", "Zero")],
    *[(f"{kind}Pad3d(1)", "(2, 3, 4, 4, 2)") for kind in ("Circular", "Reflection", "Replication", "Zero")],
    ("ConstantPad1d(1, 3.5)", "(2, 3, 4)"),
    ("ConstantPad2d((1, 2, 0, 1), -1)", "(2, 3, 4)"),
    ("ConstantPad3d(1, 2)", "(2, 3, 2, 4)"),
    ("Flatten()", "(2, 3, 4)"),
    ("Unflatten(1, (2, 3))", "(2, 6)"),
    ("Fold((4, 5), (2, 2))", "(1, 8, 12)"),
    ("Unfold((2, 3), padding=1)", "(2, 1, 4, 5)"),
    ("PixelShuffle(2)", "(1, 8, 2, 2)"),
    ("PixelUnshuffle(2)", "(1, 2, 4, 4)"),
    ("ChannelShuffle(2)", "(1, 4, 2, 2)"),
    ("Upsample(scale_factor=2)", "(1, 2, 3, 3)"),
    ("Upsample((5, 4), mode='bilinear', align_corners=False)", "(1, 2, 3, 3)"),
    ("UpsamplingNearest2d(scale_factor=2)", "(1, 2, 3, 3)"),
    ("UpsamplingBilinear2d((5, 4))", "(1, 2, 3, 3)"),
    ("CosineSimilarity()", "(3, 4), (3, 4)"),
    ("PairwiseDistance(p=1, keepdim=True)", "(3, 4), (3, 4)"),
    ("RNN(3, 4)", "(5, 2, 3)"),
    ("RNN(3, 4, 2, 'relu', dropout=0.3, batch_first=True)", "(2, 5, 3)"),
    ("RNN(3, 4, nonlinearity='relu', bias=False)", "(5, 3), (1, 4)"),
    ("LSTM(3, 4)", "(5, 2, 3)"),
    ("LSTM(3, 4, 2, bidirectional=True, proj_size=2, dropout=0.5)", "(5, 2, 3)"),
    ("LSTM(3, 4, batch_first=True)", "(2, 5, 3), ((1, 2, 4), (1, 2, 4))"),
    ("GRU(3, 4)", "(5, 3)"),
    ("GRU(3, 4, 3, bias=False, bidirectional=True)", "(5, 2, 3), (6, 2, 4)"),
    ("RNNCell(3, 4)", "(2, 3)"),
    ("RNNCell(3, 4, nonlinearity='relu', bias=False)", "(3,), (4,)"),
    ("LSTMCell(3, 4)", "(2, 3)"),
    ("GRUCell(3, 4)", "(2, 3), (2, 4)"),
    ("MultiheadAttention(4, 2)", "(5, 2, 4), (3, 2, 4), (3, 2, 4)"),
    ("MultiheadAttention(4, 2, 0.1, kdim=3, vdim=5, batch_first=True)", "(2, 5, 4), (2, 3, 3), (2, 3, 5)"),
    ("MultiheadAttention(4, 2, bias=False, add_bias_kv=True, add_zero_attn=True)", "(5, 4), (3, 4), (3, 4)"),
    ("TransformerEncoderLayer(4, 2, 8)", "(5, 2, 4)"),
    ("TransformerEncoderLayer(4, 2, 8, activation='gelu', batch_first=True, norm_first=True)", "(2, 5, 4)"),
    ("TransformerDecoderLayer(4, 2, 8, 0.0)", "(5, 2, 4), (3, 2, 4)"),
    ("TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2)", "(5, 2, 4)"),
    ("TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8), 2, nn.LayerNorm(4))", "(5, 2, 4), (3, 2, 4)"),
    ("Transformer(4, 2, 1, 1, 8)", "(5, 2, 4), (3, 2, 4)"),
    ("AdaptiveLogSoftmaxWithLoss(8, 10, [2, 5])", "(3, 8), [1, 7, 4]"),
    *[(f"{each}()", "(3, 4), (3, 4)") for each in ("HuberLoss", "L1Loss", "MSELoss", "SmoothL1Loss")],
    ("BCELoss()", "torch.sigmoid((3, 4)), torch.ones(3, 4)"),
    ("BCELoss(weight=torch.tensor([1.0, 2.0]), reduction='sum')", "torch.sigmoid((3, 2)), torch.ones(3, 2)"),
    ("BCEWithLogitsLoss(pos_weight=torch.tensor([1.0, 2.0]))", "(3, 2), torch.ones(3, 2)"),
    ("CTCLoss()", "torch.log_softmax((6, 2, 4), 2), [[1, 2], [3, 1]], [6, 5], [2, 1]"),
    ("CosineEmbeddingLoss(0.2)", "(2, 4), (2, 4), [1, -1]"),
    ("CrossEntropyLoss()", "(2, 4), [1, 3]"),
    ("CrossEntropyLoss(torch.arange(4.0), label_smoothing=0.1, reduction='none')", "(2, 4), [1, 3]"),
    ("CrossEntropyLoss(size_average=False)", "(2, 4), [1, 3]"),
    ("GaussianNLLLoss(full=True)", "(2, 4), (2, 4), torch.ones(2, 4)"),
    ("HingeEmbeddingLoss()", "(2,), [1, -1]"),
    ("HuberLoss(delta=0.3)", "(3, 4), (3, 4)"),
    ("KLDivLoss(reduction='batchmean', log_target=True)", "(3, 4), (3, 4)"),
    ("MarginRankingLoss(0.1)", "(2,), (2,), [1, -1]"),
    ("MultiLabelMarginLoss()", "(2, 3), [[0, 2, -1], [1, -1, 0]]"),
    ("MultiLabelSoftMarginLoss()", "(2, 3), torch.ones(2, 3)"),
    ("MultiMarginLoss(p=2, margin=0.5)", "(2, 3), [0, 2]"),
    ("NLLLoss(ignore_index=1)", "(2, 3), [0, 1]"),
    ("PoissonNLLLoss()", "(2, 3), torch.ones(2, 3)"),
    ("SoftMarginLoss()", "(2, 3), torch.ones(2, 3)"),
    ("TripletMarginLoss(p=1, swap=True)", "(2, 3), (2, 3), (2, 3)"),
    ("TripletMarginWithDistanceLoss()", "(2, 3), (2, 3), (2, 3)"),
    ("LinearCrossEntropyLoss(3, 4)", "(2, 3), [1, 3]"),
    ("LinearCrossEntropyLoss(3, 4, out_features=(2,), bias=True, reduction='sum')", "(2, 3), [[1, 3], [0, 2]]"),
    ("LinearCrossEntropyLoss(3, 2, weight=torch.ones(2), ignore_index=1, label_smoothing=0.1)", "(2, 3), [1, 0]"),
    ("LazyLinear(4)", "(2, 3)"),
    ("LazyConv2d(4, 2, stride=2)", "(2, 3, 4, 4)"),
    ("LazyConvTranspose1d(4, 2, bias=False)", "(2, 3, 4)"),
    ("LazyBatchNorm1d()", "(4, 3)"),
    ("LazyInstanceNorm2d(affine=True)", "(2, 3, 4, 4)"),
]
REFUSED = [
    ("Dropout(1.5)", ""),
    ("Conv2d(3, 4, 2, groups=2)", ""),
    ("ConvTranspose2d(3, 4, 2, padding_mode='circular')", ""),
    ("Conv2d(4, 4, 2, stride=2, padding='same')", ""),
    ("ConvTranspose1d(4, 6, 3, stride=2)", "(2, 4, 5), list((20,))"),
    ("BatchNorm2d(3)", "(2, 3, 4)"),
    ("BatchNorm1d(3)", "(1, 3)"),
    ("SyncBatchNorm(3)", "(3,)"),
    ("SyncBatchNorm(0)", "(2, 0)"),
    ("InstanceNorm1d(4, affine=True)", "(2, 3, 5)"),
    ("GroupNorm(3, 4)", ""),
    ("Embedding(5, 3, padding_idx=7)", ""),
    ("Embedding(5, 3)", "[7]"),
    ("LSTM(3, 4, proj_size=4)", ""),
    ("GRU(3, 4, proj_size=2)", ""),
    ("RNN(3, 4, 1, 'sigmoid')", ""),
    ("LSTM(3, 4)", "(5, 2, 4)"),
    ("LSTM(3, 4)", "(5, 2, 3), ((1, 2, 4), (1, 3, 4))"),
    ("GRU(3, 4)", "(5, 2, 3), (2, 4)"),
    ("LSTMCell(3, 4)", "(1, 2, 3)"),
    ("MultiheadAttention(4, 3)", ""),
    ("TransformerEncoderLayer(4, 2, activation='tanh')", ""),
    ("Unflatten(1, 3)", ""),
    ("FractionalMaxPool2d(2)", ""),
    ("FractionalMaxPool2d(2, output_ratio=1.5)", ""),
    ("TripletMarginLoss(-1.0)", ""),
    ("MultiMarginLoss(p=3)", ""),
    ("HuberLoss(delta='1')", ""),
    ("Softmax2d()", "(2, 3)"),
    ("Threshold()", ""),
    ("Tanh(1)", ""),
    ("LinearCrossEntropyLoss(3, 4, weight=torch.ones(3))", ""),
    ("LinearCrossEntropyLoss(3, 4, label_smoothing=2)", ""),
    ("ReLU(slope=2)", ""),
]
"""Settings, or inputs, that are refused."""
ROWS = MADE + REFUSED


def named(torch: Any, text: str) -> dict[str, Any]:
    """The names that a text of the table uses."""
    nn = torch.nn
    found = {each: getattr(nn, each) for each in re.findall(r"\b[A-Z]\w+(?=\()", text) if hasattr(nn, each)}
    return {"torch": torch, "nn": nn, **found}


class Given(ast.NodeTransformer):
    """Turns shapes among the inputs into random tensors, and lists of integers into tensors of them."""

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        if all(isinstance(each, ast.Constant) for each in node.elts):
            return ast.Call(ast.Name("drawn", ast.Load()), [node], [])
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if ast.unparse(node.func) in ("torch.ones", "list"):
            return node
        return self.generic_visit(node)

    def visit_List(self, node: ast.List) -> ast.AST:
        return ast.Call(ast.Name("whole", ast.Load()), [node], [])


def inputs(torch: Any, text: str, names: dict[str, Any], leaves: list[Any]) -> list[Any]:
    def drawn(shape: Any) -> Any:
        leaves.append(torch.randn(shape, requires_grad=True))
        return leaves[-1]

    tree = ast.parse(f"[{text}]", mode="eval")
    tree.body.elts = [Given().visit(each) for each in tree.body.elts]
    return eval(compile(ast.fix_missing_locations(tree), "", "eval"), names | {"drawn": drawn, "whole": torch.tensor})


def flat(result: Any) -> list[Any]:
    if isinstance(result, tuple):
        return [each for part in result for each in flat(part)]
    return [] if result is None else [result]
