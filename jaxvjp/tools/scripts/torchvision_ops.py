"""`torch.ops.torchvision`: what its detectors need of the operators that torchvision has compiled for torch."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

import jaxvjp as torch


def nms(dets: Any, scores: Any, iou_threshold: float) -> Any:
    """The numbers of the boxes, best first, of which none shares more than `iou_threshold` with a better one.

    Args:
        dets: boxes, of shape [N, 4], each as x1, y1, x2, y2.
        scores: of shape [N].
        iou_threshold: the largest area of the intersection, as a part of that of the union.
    """
    corners = dets.detach().numpy()
    areas = (corners[:, 2] - corners[:, 0]) * (corners[:, 3] - corners[:, 1])
    left, kept = np.argsort(-scores.detach().numpy(), kind="stable"), []
    while left.size:
        best, left = left[0], left[1:]
        kept.append(best)
        sides = np.minimum(corners[best, 2:], corners[left, 2:]) - np.maximum(corners[best, :2], corners[left, :2])
        shared = np.maximum(sides, 0).prod(1)
        left = left[~(shared / (areas[best] + areas[left] - shared) > iou_threshold)]
    return torch.tensor(np.array(kept, np.int64))


def roi_align(*arguments: Any) -> Any:
    """What torchvision's own form of it in Python gives."""
    return import_module("torchvision.ops.roi_align")._roi_align(*arguments)


def _cuda_version() -> int:
    return -1
