"""Segment reductions, histograms and powers beyond torch's samples, and their errors."""

from __future__ import annotations

from math import inf, nan

import pytest
from oracle import agree

SEGMENTS = """
torch.segment_reduce(x, 'sum', lengths=n); torch.segment_reduce(x, 'mean', lengths=n, initial=2)
torch.segment_reduce(x, 'mean', lengths=n); torch.segment_reduce(x, 'max', lengths=n)
torch.segment_reduce(x, 'amax', lengths=n, initial=2)
torch.segment_reduce(x, 'min', offsets=torch.tensor([0, 2, 2, 5]))
torch.segment_reduce(x, 'prod', lengths=n); torch.segment_reduce(z, 'prod', lengths=n, initial=3)
torch.segment_reduce(m, 'sum', lengths=torch.tensor([[1, 2], [3, 0]]), axis=1)
torch.segment_reduce(x, 'sum', lengths=n, axis=-1)
torch.segment_reduce(x, 'most', lengths=n); torch.segment_reduce(x, 'sum'); torch.segment_reduce(x, 'sum', indices=n)
torch.segment_reduce(x, 'sum', lengths=n[:2]); torch.segment_reduce(x, 'sum', lengths=torch.tensor([2, -2, 5]))
torch.segment_reduce(x, 'sum', lengths=n, axis=1); torch.segment_reduce(x.int(), 'sum', lengths=n)
torch.segment_reduce(x, 'sum', lengths=n[:1], unsafe=True)
"""
HISTOGRAMS = """
torch.histogram(d, 3); torch.histogram(d[:0], 3); torch.histogram(d[1:3], 2); torch.histogram(d, 3, range=(2, 2))
torch.histogram(d, torch.tensor([1.0, 2.0, 2.5]))
torch.histogram(d, torch.tensor([1.0, 2.0, 4.5]), weight=d, density=True)
torch.histogram(d, torch.tensor([3.0, 1.0])); d.histogram(2)
torch.histogram(torch.tensor([1.0, nan]), 2, range=(0.0, 2.0))
torch.histogram(d, 0); torch.histogram(d, 3, range=(3, 1)); torch.histogram(d, 3, range=(0, nan))
torch.histogram(d.int(), 3)
torch.histogram(d, torch.ones(2).double()); torch.histogram(d, torch.ones(2, 2)); torch.histogram(d, torch.ones(0))
torch.histogram(d, 3, weight=d[:2]); torch.histogram(d, 3, weight=d.double()); torch.histogram(d / 0, 2)
torch.histogram(d, 3, range=(0, 2, 3)); torch.histogramdd(p, [2, 3])
torch.histogramdd(p, 2, range=[0, 1, 0, 2], density=True)
torch.histogramdd(p, [torch.tensor([0.0, 1.0]), torch.tensor([0.0, 1.0, 2.0])], weight=2 * torch.ones(4))
torch.histogramdd(torch.ones(2, 2, 2), [2, 2]); torch.histogramdd(p, [2]); torch.histogramdd(p[0], [2])
torch.histogramdd(p, [2, 2], range=[0, 1]); torch.histogramdd(p, [2, 0])
torch.histogramdd(p, [2, 2], weight=torch.ones(3))
torch.histogramdd(p, [torch.ones(2)]); torch.histogramdd(p[:0], [2, 1])
"""
POWERS = """
torch.vander(i); torch.vander(d, N=2); torch.vander(i, 4, True); torch.vander(m); torch.vander(x, -1)
torch.vander(d, 0)
torch.vander(d, 3, increasing=True); torch.vander(p[:, 0]); torch.vander(i > 1, 3); torch.vander(d[:0])
"""


def lines(text):
    return [each.strip() for each in text.replace("\n", ";").split(";") if each.strip()]


@pytest.mark.parametrize("line", lines(SEGMENTS + HISTOGRAMS + POWERS))
def test_agrees(line):
    def program(torch):
        x = torch.tensor([1.0, 2.0, 2.0, 3.0, 3.0], requires_grad=True)
        z = torch.tensor([0.0, 2.0, 0.0, 3.0, 0.0], requires_grad=True)
        m = torch.tensor([[1.0, 2.0, 3.0], [4.0, 0.5, -1.0]], requires_grad=True)
        d, p = torch.tensor([1.0, 2.0, 2.0, 3.0]), torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 2.0], [0.5, 0.5]])
        names = {"x": x, "z": z, "m": m, "d": d, "p": p, "n": torch.tensor([2, 0, 3]), "i": torch.tensor([1, 2, 3])}
        result = eval(line, {"torch": torch, "inf": inf, "nan": nan, **names})
        if not isinstance(result, torch.Tensor) or not result.requires_grad:
            return result
        gradient = torch.autograd.grad(result, (x, z, m), torch.ones_like(result), allow_unused=True)
        return result, [each for each in gradient if each is not None], result.grad_fn.name()

    agree(program)
