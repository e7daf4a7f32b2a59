# /// script
# dependencies = ["torchmetrics"]
# ///
"""Metrics of classification, regression and images, updated batch by batch."""

import torch
import torchmetrics
from torchmetrics.classification import (
    BinaryAUROC,
    BinaryAveragePrecision,
    MulticlassAccuracy,
    MulticlassAUROC,
    MulticlassCalibrationError,
    MulticlassConfusionMatrix,
    MulticlassF1Score,
)
from torchmetrics.image import PeakSignalNoiseRatio, StructuralSimilarityIndexMeasure

torch.manual_seed(0)
classes = 4
metrics = torchmetrics.MetricCollection(
    {
        "accuracy": MulticlassAccuracy(classes),
        "F1": MulticlassF1Score(classes, average="macro"),
        "AUROC": MulticlassAUROC(classes),
        "binned": MulticlassAUROC(classes, thresholds=20),
        "confusion": MulticlassConfusionMatrix(classes),
        "calibration": MulticlassCalibrationError(classes),
    }
)
for _ in range(3):
    metrics.update(torch.randn(32, classes).softmax(-1), torch.randint(classes, (32,)))
print({name: value.tolist() for name, value in metrics.compute().items()})

binary = torchmetrics.MetricCollection([BinaryAUROC(), BinaryAveragePrecision()])
print("a batch", {name: value.item() for name, value in binary(torch.rand(40), torch.randint(2, (40,))).items()})
binary.reset()
binary.update(torch.rand(10), torch.randint(2, (10,)))
print("after a reset", {name: value.item() for name, value in binary.compute().items()})

regression = torchmetrics.MetricCollection(
    [torchmetrics.MeanSquaredError(), torchmetrics.R2Score(), torchmetrics.PearsonCorrCoef()]
)
mean = torchmetrics.MeanMetric()
for number in range(3):
    guess = torch.randn(20)
    regression.update(guess, guess + 0.3 * torch.randn(20))
    mean.update(guess.mean(), weight=number + 1)
print({name: value.item() for name, value in regression.compute().items()}, mean.compute().item())

noise = PeakSignalNoiseRatio(data_range=1.0)
similarity = StructuralSimilarityIndexMeasure(data_range=1.0)
images = torch.rand(4, 3, 24, 24)
for scale in (0.05, 0.1):
    noisy = (images + scale * torch.randn_like(images)).clamp(0, 1)
    noise.update(noisy, images)
    similarity.update(noisy, images)
print("images", noise.compute().item(), similarity.compute().item())

learned = images.clone().mul_(0.5).requires_grad_()
loss = 1 - torchmetrics.functional.image.structural_similarity_index_measure(learned, images, data_range=1.0)
loss.backward()
print("gradient", loss.item(), learned.grad.norm().item())

accuracy = MulticlassAccuracy(classes)
scores, right = torch.randn(256, classes), torch.randint(classes, (256,))


def step():
    return accuracy(scores, right).item()


print("again", step())
