"""Stand-ins that tests of modules and losses are written with: checks of a module, and losses from their formulas."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import torch

PRECISIONS = {torch.float32: 1e-5, torch.float64: 1e-5, torch.float16: 1e-2, torch.bfloat16: 1e-1}
"""The absolute tolerances of older tests."""


def check_grad_and_gradgrad(test: Any, function: Any, inputs: Any, **options: Any) -> None:
    """Checks first and second derivatives by finite differences."""
    given = {"fast_mode": True, **options}
    test.assertTrue(torch.autograd.gradcheck(function, inputs, **given))
    test.assertTrue(torch.autograd.gradgradcheck(function, inputs, **given))


def check_empty_input(test: Any, module: Any, given: Any, check_size: bool = True, inference: bool = False) -> None:
    """A module takes a tensor without elements, and its gradients are zeros."""
    if not inference:
        given.requires_grad_(True)
    result = module(given)
    if not inference:
        result.backward(torch.rand_like(result))
    if check_size:
        test.assertEqual(result.size(), given.size())
    if not inference:
        for each in [*module.parameters(), given]:
            if each.requires_grad and each.grad is not None:
                test.assertEqual(each.grad, torch.zeros_like(each.grad))
        test.assertEqual(given.grad, torch.zeros_like(given))


def check_bfloat16(
    test: Any, module: Any, device: Any, inp_dims: Any = (), prec: float = 1e-2, scale_factor: Any = None
) -> None:
    """A module computes in bfloat16 nearly what it computes in float32, and so do its gradients."""
    wide = torch.randn(inp_dims, device=device, requires_grad=True)
    narrow = wide.detach().to(torch.bfloat16).requires_grad_()
    expected, actual = module(wide), module.to(torch.bfloat16)(narrow)
    cotangent = torch.randn_like(expected)
    expected.backward(cotangent)
    actual.backward(cotangent.to(torch.bfloat16))
    test.assertEqual(actual.dtype, torch.bfloat16)
    test.assertTrue(narrow.grad is not None and narrow.grad.dtype == torch.bfloat16)
    test.assertEqual(actual, expected, atol=prec, rtol=0, exact_dtype=False)
    test.assertEqual(narrow.grad, wide.grad, atol=prec, rtol=0, exact_dtype=False)


def reduced(values: Any, reduction: str) -> Any:
    return {"none": lambda: values, "mean": lambda: values.mean(), "sum": lambda: values.sum()}[reduction]()


def cosine_embedding(first: Any, second: Any, target: Any, margin: float = 0.0, reduction: str = "mean") -> Any:
    cosine = (first * second).sum(-1) / (first.norm(dim=-1) * second.norm(dim=-1))
    return reduced(torch.where(target == 1, 1 - cosine, (cosine - margin).clamp(min=0)), reduction)


def margin_ranking(first: Any, second: Any, target: Any, margin: float = 0.0, reduction: str = "mean") -> Any:
    return reduced((-target * (first - second) + margin).clamp(min=0), reduction)


def triplet_margin(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    def distance(one: Any, other: Any) -> Any:
        return torch.linalg.vector_norm(one - other + eps, p, dim=-1)

    far = distance(anchor, negative)
    far = torch.minimum(far, distance(positive, negative)) if swap else far
    return reduced((margin + distance(anchor, positive) - far).clamp(min=0), reduction)


def cross_entropy(logits: Any, target: Any, weight: Any = None, reduction: str = "mean", **options: Any) -> Any:
    """Of probabilities as targets, or of classes."""
    ignored, smoothing = options.get("ignore_index", -100), options.get("label_smoothing", 0.0)
    logs, classes = torch.log_softmax(logits, 1), logits.shape[1]
    weight = torch.ones(classes, dtype=logits.dtype) if weight is None else weight
    shares, kept = target, torch.ones_like(logs[:, 0])
    if not target.is_floating_point():
        kept = (target != ignored).to(logits.dtype)
        shares = torch.nn.functional.one_hot(torch.where(target == ignored, 0, target), classes).movedim(-1, 1)
    along = weight.reshape(-1, *[1] * (logits.dim() - 2))
    total = (kept * (shares * along).sum(1)).sum() if not target.is_floating_point() else kept.numel()
    smooth = shares * (1 - smoothing) + smoothing / classes
    losses = -(smooth * logs * along).sum(1) * kept
    return losses.sum() / total if reduction == "mean" else reduced(losses, reduction)


def ctc(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean"
) -> Any:
    """The sum over all alignments, step by step, for each sequence of the batch."""
    ends = list(itertools.accumulate(int(each) for each in target_lengths))
    losses = []
    for index, (steps, length) in enumerate(zip(input_lengths, target_lengths, strict=True)):
        row = targets[ends[index] - int(length) : ends[index]] if targets.dim() == 1 else targets[index, : int(length)]
        labels = [blank, *itertools.chain.from_iterable((int(each), blank) for each in row)]
        losses.append(-_alignments(log_probs[: int(steps), index].double().tolist(), labels))
    found = torch.tensor(losses, dtype=torch.float64)
    lengths = torch.tensor([max(int(each), 1) for each in target_lengths], dtype=torch.float64)
    return (found / lengths).mean() if reduction == "mean" else reduced(found, reduction)


def _alignments(log_probs: Sequence[Sequence[float]], labels: Sequence[int]) -> float:
    """The logarithm of the probability of all ways to emit these labels, blanks between them."""
    sums = [log_probs[0][label] if place < 2 else -math.inf for place, label in enumerate(labels)]
    for step in log_probs[1:]:
        before, sums = sums, []
        for place, label in enumerate(labels):
            skips = place > 1 and label != labels[place - 2] and place % 2 == 1
            sums.append(_log_sum(before[max(place - (2 if skips else 1), 0) : place + 1]) + step[label])
    return _log_sum(sums[-2:])


def _log_sum(values: Sequence[float]) -> float:
    most = max(values)
    return most if most == -math.inf else most + math.log(sum(math.exp(value - most) for value in values))


NAMES = {
    "dtype2prec_DONTUSE": PRECISIONS,
    "_assertGradAndGradgradChecks": check_grad_and_gradgrad,
    "_test_module_empty_input": check_empty_input,
    "_test_bfloat16_ops": check_bfloat16,
    "ctcloss_reference": ctc,
    "loss_reference_fns": {
        "CosineEmbeddingLoss": cosine_embedding,
        "MarginRankingLoss": margin_ranking,
        "TripletMarginLoss": triplet_margin,
        "CrossEntropyLoss": cross_entropy,
    },
}
