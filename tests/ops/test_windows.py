"""The windows of `torch.signal.windows` at lengths where the formulas divide by zero, and their errors."""

from __future__ import annotations

import pytest
from oracle import agree

WINDOWS = {
    **{name: {} for name in ("bartlett", "blackman", "cosine", "hamming", "hann", "nuttall")},
    "exponential": {"tau": 2.5},
    "gaussian": {"std": 1.5},
    "general_cosine": {"a": [0.5, 0.3, 0.2]},
    "general_hamming": {"alpha": 0.6},
    "kaiser": {"beta": 4.0},
}
REFUSED = """
w.hann(-1); w.cosine(-2); w.gaussian(3, std=0); w.exponential(3, tau=-1.0); w.exponential(3, center=1.0)
w.kaiser(3, beta=-1.0); w.general_cosine(3, a=[]); w.general_cosine(3, a=2); w.general_cosine(3); w.hann(3, alpha=2)
w.hann(4, dtype=torch.float16); w.nuttall(4, dtype=torch.int64); w.blackman(-1); w.bartlett()
"""


@pytest.mark.parametrize("name", WINDOWS)
def test_every_length(name):
    def program(torch):
        window = getattr(torch.signal.windows, name)
        made = [window(M, sym=sym, **WINDOWS[name]) for M in (0, 1, 2, 3, 7, 8) for sym in (True, False)]
        return made, window(5, dtype=torch.float64, requires_grad=True, **WINDOWS[name])

    agree(program, 1e-5, 1e-6)


def test_a_center_of_ones_own():
    agree(lambda torch: torch.signal.windows.exponential(4, center=0.5, sym=False), 1e-5, 1e-6)


@pytest.mark.parametrize("line", [each.strip() for each in REFUSED.replace("\n", ";").split(";") if each.strip()])
def test_refused_in_torchs_words(line):
    outcome = agree(lambda torch: eval(line, {"torch": torch, "w": torch.signal.windows}))
    assert outcome.error is not None
