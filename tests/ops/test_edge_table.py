"""Values, first and second derivatives at edges of functions: zeros, ends of domains, infinities, NaN, and ties.

Each function has a row of one leaf, so that a group is one program with one first and one second derivative. Deliberate
differences are listed with the reason: a new difference fails the test, and so does a listed one that is gone.
"""

from __future__ import annotations

from itertools import product
from math import inf, nan

import jax
import numpy as np
import pytest
from oracle import Outcome, theirs

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
        exp2(x); rsqrt(x); atanh(x); lgamma(x); digamma(x); special.ndtri(x); special.entr(x); nan_to_num(x); i0(x * 40)
        nn.functional.elu(x); nn.functional.celu(x, 2.0); nn.functional.gelu(x); pow(x, 0.5); pow(x, -1.5); xlogy(x, x)
        clamp(x, nan, 1.0); clamp(x, 1, -1); where(x > 0, x.log(), x * 0); abs(x * (1 + 0j)); angle(x * (1 + 0j))
        """,
    ),
    "of two numbers": (
        list(zip(*PAIRS, strict=True)),
        """
        atan2(x, y); xlogy(x, y); special.xlog1py(x, y); logaddexp(x, y); remainder(x, y); maximum(x, y); copysign(x, y)
        lerp(y * 0 + 1, x, y); clamp(x, y, y + 1); clamp(x, y * 0 + 1, y); prelu(x[None], y)[0]; where(x > 0, x / y, y)
        """,
    ),
    "of rows": (
        [ROWS],
        """
        prod(x, 1); logcumsumexp(x, 1); logsumexp(x, 1); nanmean(x, 1); var(x, 1); var(x, 1, correction=4)
        var_mean(x, 1)[1]; std(x, 1); std(x[:, :1], 1); norm(x, 2, 1); norm(x, inf, 1); norm(x, 3, 1); norm(x, 0.5, 1)
        norm(x, -1, 1); renorm(x, inf, 0, 1.0); nn.functional.normalize(x, p=3.0); gradient(x, dim=1)[0]
        nn.functional.scaled_dot_product_attention(x[:, None], x[:, None] * 0, x[:, None] * 0 + 1, x[:, :1, None] > 3)
        """,
    ),
}
KINDS = ("value", "slope", "curvature")
FORMULA = "torch's formula of the slope is masked or overflows, and its derivative then is NaN"
ROUNDED = "the result is rounded so that 1 is nothing beside it: torch's slopes do not add up to 1"
DIFFERENT = {
    "lgamma(x)": ({"curvature": 4}, "its poles, where torch's are what is left of a rounded sine"),
    "digamma(x)": ({"slope": 3, "curvature": 3}, "its poles, as those of lgamma; at infinity torch's curvature is NaN"),
    "special.entr(x)": ({"curvature": 2}, "at -0 and minus infinity, where there is none"),
    "nn.functional.gelu(x)": ({"curvature": 2}, FORMULA),
    "pow(x, 0.5)": ({"curvature": 2}, "torch's slope is a root's, and its curvature that of C's pow"),
    "abs(x * (1 + 0j))": ({"curvature": 2}, "at 1e-30 it is that of a rounded quotient"),
    "angle(x * (1 + 0j))": ({"curvature": 2}, FORMULA),
    "i0(x * 40)": ({"curvature": 4}, "torch's is the slope of its i1: NaN where that overflows, and of NaN a half"),
    "atan2(x, y)": ({"curvature": 4}, FORMULA),
    "xlogy(x, y)": ({"curvature": 4}, "torch's derivatives by x and y, and by y and x, differ"),
    "special.xlog1py(x, y)": ({"curvature": 2}, "as those of xlogy"),
    "logaddexp(x, y)": ({"curvature": 26}, FORMULA),
    "copysign(x, y)": ({"curvature": 45}, FORMULA),
    "prod(x, 1)": ({"slope": 8, "curvature": 8}, "torch's depend on `create_graph`"),
    "logcumsumexp(x, 1)": ({"slope": 1, "curvature": 1}, ROUNDED),
    "logsumexp(x, 1)": ({"slope": 1, "curvature": 1}, ROUNDED),
    "var_mean(x, 1)[1]": ({"value": 6}, "torch's running mean is infinity less infinity unless that is the last"),
    "norm(x, 0.5, 1)": ({"curvature": 12}, FORMULA),
    "norm(x, -1, 1)": ({"curvature": 7}, FORMULA),
    "renorm(x, inf, 0, 1.0)": ({"curvature": 6}, FORMULA),
}
"""How many values, slopes and curvatures of a line are not torch's, and why."""
if jax.__version_info__ < (0, 11):
    DIFFERENT["atanh(x)"] = {"curvature": 4}, "its slope is a product, whose own is infinite less infinite at the ends"


def lines_of(text):
    return [each.strip() for each in text.replace("\n", ";").split(";") if each.strip()]


def cotangent(torch, like):
    return (torch.arange(like.numel(), dtype=torch.float64) % 3 - 1.25).reshape(like.shape)


def derived(torch, lines, numbers):
    """For each line its values, slopes and curvatures: what belongs to a number is a row."""
    leaves = [torch.tensor([each] * len(lines), dtype=torch.float64, requires_grad=True) for each in numbers]
    results = []
    for place, line in enumerate(lines):
        operands = dict(zip("xy", [each[place] for each in leaves], strict=False))
        results.append(eval("torch." + line, {"torch": torch, "inf": inf, "nan": nan, **operands}))
    together = torch.cat([each.reshape(-1) for each in results])
    slopes = torch.autograd.grad(together, leaves, cotangent(torch, together), create_graph=True)
    curvatures = torch.autograd.grad(slopes, leaves, [cotangent(torch, each) for each in slopes])
    values = np.split(np.array(together.tolist()), np.cumsum([each.numel() for each in results])[:-1])
    kinds = values, *[np.stack([np.array(each.tolist()) for each in kind], -1) for kind in (slopes, curvatures)]
    return {
        line: {name: kind[place].reshape(len(numbers[0]), -1) for name, kind in zip(KINDS, kinds, strict=True)}
        for place, line in enumerate(lines)
    }


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("group", GROUPS)
def test_edges(group):
    numbers, text = GROUPS[group]
    lines = lines_of(text)

    def program(torch):
        return derived(torch, lines, numbers)

    expected, given = theirs(program).value, Outcome(program, jaxvjp).value
    found, places = {}, []
    for line, kind in product(lines, KINDS):
        ours, torchs = np.array(given[line][kind]), np.array(expected[line][kind])
        alike = np.isclose(ours, torchs, rtol=1e-6, atol=1e-9, equal_nan=True).all(-1)
        if not alike.all():
            found.setdefault(line, {})[kind] = int((~alike).sum())
            places.append((line, kind, [each[~alike].tolist() for each in map(np.array, numbers)]))
    assert found == {line: kinds for line, (kinds, reason) in DIFFERENT.items() if line in lines}, places
