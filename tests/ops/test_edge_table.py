"""Values, slopes and curvatures at the numbers where functions have edges: zeros, ends, infinities, NaN, and ties.

Each function has a row of one leaf, so that a group is one program with one slope and one curvature. What differs
deliberately is listed, with the reason: a difference that comes fails, and so does one that goes.
"""

from __future__ import annotations

from itertools import product
from math import inf, nan

import numpy as np
import pytest
from oracle import live, needs_torch

import jaxvjp

NUMBERS = [-inf, -1e200, -3, -2.5, -1, -1e-30, -0.0, 0, 1e-30, 0.004, 0.5, 1, 1.5, 3, 20.5, 1e200, inf, nan]
PAIRS = list(product([-inf, -2, -1, -0.0, 0, 0.5, 1, inf, nan], repeat=2))
ROWS = [
    *([2, 3, 4], [0, 3, 4], [2, 3, 0], [2, 0, 0], [0, 0, 0], [nan, 3, 4], [2, nan, 0], [0, nan, 4], [inf, 3, 4]),
    *([2, inf, 0], [0, 0, inf], [inf, inf, 1], [-inf, 3, inf], [-inf, 2, -inf], [-inf, -inf, -inf], [2, -inf, 3]),
    *([nan, nan, 1], [nan, inf, 0], [inf, inf, nan], [-0.0, 2, 3], [3, 3, 2], [2, 2, 2], [1e-30, 1e-30, 3]),
    [1e30, 1e30, 2],
]
GROUPS = {
    "of one number": (
        [NUMBERS],
        """
        exp2(x); rsqrt(x); log1p(x); asin(x); atanh(x); lgamma(x); digamma(x); i0(x); special.ndtri(x); special.entr(x)
        relu(x); nan_to_num(x); nn.functional.elu(x); nn.functional.celu(x, 2.0); nn.functional.gelu(x)
        nn.functional.softplus(x); nn.functional.hardtanh(x); pow(x, 0.5); pow(x, 2.5); clamp(x, nan, 1.0); fmod(x, inf)
        clamp(x, 1, -1); where(x > 0, x.log(), x * 0); xlogy(x, x); abs(x * (1 + 0j)); angle(x * (1 + 0j))
        """,
    ),
    "of two numbers": (
        list(zip(*PAIRS, strict=True)),
        """
        pow(x, y); atan2(x, y); xlogy(x, y); special.xlog1py(x, y); logaddexp(x, y); remainder(x, y); maximum(x, y)
        fmax(x, y); copysign(x, y); lerp(y * 0 + 1, x, y); clamp(x, y, y + 1); clamp(x, y * 0 + 1, y); prelu(x[None], y)[0]
        where(x > 0, x / y, y); nn.functional.kl_div(x, y, reduction="none")
        nn.functional.pairwise_distance(x[:, None], y[:, None], eps=0.0)
        """,
    ),
    "of rows": (
        [ROWS],
        """
        prod(x, 1); logcumsumexp(x, 1); logsumexp(x, 1); amax(x, 1); nanmean(x, 1); softmax(x, 1); var_mean(x, 1)[1]
        var(x, 1); var(x, 1, correction=4); std(x, 1); std(x[:, :1], 1); norm(x, 2, 1); norm(x, 1, 1); norm(x, inf, 1)
        norm(x, 3, 1); norm(x, 0.5, 1); norm(x, -1, 1); renorm(x, inf, 0, 1.0); nn.functional.normalize(x)
        nn.functional.normalize(x, p=3.0); gradient(x, dim=1)[0]; nn.functional.layer_norm(x, (3,))
        nn.functional.scaled_dot_product_attention(x[:, None], torch.ones(24, 1, 3).to(x), x[:, None] * 0 + 1, x[:, 2:, None] > 3)
        """,
    ),
}
DIFFERENT: dict[str, tuple[str, str]] = {}


def lines_of(text):
    return [each.strip() for each in text.replace("\n", ";").split(";") if each.strip()]


def cotangent(torch, like):
    return (torch.arange(like.numel(), dtype=torch.float64) % 3 - 1.25).reshape(like.shape)


def derived(torch, lines, numbers):
    """For each line the values, slopes and curvatures, by the number that they belong to."""
    leaves = [torch.tensor([each] * len(lines), dtype=torch.float64, requires_grad=True) for each in numbers]
    results = []
    for place, line in enumerate(lines):
        operands = dict(zip("xy", [each[place] for each in leaves], strict=False))
        results.append(eval("torch." + line, {"torch": torch, "inf": inf, "nan": nan, **operands}))
    values = torch.cat([each.reshape(-1) for each in results])
    slopes = torch.autograd.grad(values, leaves, cotangent(torch, values), create_graph=True)
    curvatures = torch.autograd.grad(slopes, leaves, [cotangent(torch, each) for each in slopes])
    ends = np.cumsum([each.numel() for each in results])[:-1]
    with_value = [each.reshape(len(numbers[0]), -1) for each in np.split(np.array(values.tolist()), ends)]
    by_line = [np.stack([np.array(each.tolist()) for each in kind]) for kind in (slopes, curvatures)]
    rows = [[kind[:, place].reshape(len(numbers), len(numbers[0]), -1) for kind in by_line] for place in range(len(lines))]
    return {line: (value, *row) for line, value, row in zip(lines, with_value, rows, strict=True)}


@needs_torch
@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("group", GROUPS)
def test_edges(group):
    numbers, text = GROUPS[group]
    lines = lines_of(text)
    expected, given = derived(live, lines, numbers), derived(jaxvjp, lines, numbers)
    found = {}
    for line in lines:
        for kind, a, b in zip(("value", "slope", "curvature"), expected[line], given[line], strict=True):
            apart = ~np.isclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True)
            apart = apart.any(-1) if kind == "value" else apart.any((0, -1))
            if apart.any():
                at = ", ".join(str(each) for each, differs in zip(zip(*numbers, strict=True), apart, strict=True) if differs)
                found.setdefault(line, {})[kind] = at
    told = {line: {kind: at.count("(") for kind, at in kinds.items()} for line, kinds in found.items()}
    assert told == {line: kinds for line, (kinds, why) in DIFFERENT.items() if line in lines}, found
