"""Maxima and minima that are infinite, NaN or occur several times."""

from __future__ import annotations

from math import inf, nan

import pytest
from oracle import agree

ROWS = [[1.0, nan, 2.0], [1.0, inf, inf], [-inf, -inf, -inf], [nan, inf, nan], [2.0, 2.0, -inf]]
CALLS = """
x.amax(1); x.amin(1); x.max(1).values; x.min(1).values; x[3].max(); x[1].max(); x[2].min(); x[2].amin(); x[0].amin()
torch.aminmax(x, dim=1).min; torch.aminmax(x[3]).max; torch.linalg.vector_norm(x, inf, 1)
torch.linalg.vector_norm(x, -inf, 1); torch.linalg.matrix_norm(x[3:], inf); torch.linalg.norm(x[1:3], -inf, 1)
torch.maximum(x, x.flip(1)); torch.minimum(x, x.flip(1)); torch.fmax(x, x.flip(1)); x.cummax(1).values
x.cummin(0).values; x.median(1).values; x.nanmedian(1).values; x.sort(1).values; x.topk(2, 1).values
x.clamp(min=x.flip(0)); x.argmax(1); (x > 0).argmax(); x.cfloat().argmin(); x.argmax(dim=0, keepdim=True)
x[:0].amax(0); x[:0].amax(1); x[:, :0].amin(0); x[:0].max(); x[:0].argmax(); x[:0].aminmax(); x[:, :0].aminmax(dim=1)
x[:0].amax(); x.cfloat().amax(); x.cfloat().max(); x.cfloat().min(1); x.cfloat().aminmax(); (x > 0).amax(1)
"""


@pytest.mark.parametrize("line", [each.strip() for each in CALLS.replace("\n", ";").split(";") if each.strip()])
def test_extremes(line):
    def program(torch):
        x = torch.tensor(ROWS, requires_grad=True)
        result = eval(line, {"torch": torch, "x": x, "inf": inf})
        return result, torch.autograd.grad(result, x, torch.ones_like(result)) if result.requires_grad else None

    agree(program)
