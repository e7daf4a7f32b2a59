"""Which printed numbers agree: infinity with itself only, and small ones as if they were a hundredth."""

from __future__ import annotations

import pytest

from jaxvjp.tools.comparison.text import CLOSE, DIFFERENT, SAME, compare_line


@pytest.mark.parametrize(
    ("one", "other", "verdict"),
    [
        ("loss 1.0", "loss inf", DIFFERENT),
        ("loss -inf", "loss 2.5", DIFFERENT),
        ("loss inf", "loss -inf", DIFFERENT),
        ("loss inf", "loss inf", SAME),
        ("loss inf", "loss Inf", CLOSE),
        ("loss nan", "loss NaN", CLOSE),
        ("loss nan", "loss 1.0", DIFFERENT),
        ("loss 1.00000", "loss 1.00001", CLOSE),
        ("loss 1.0", "loss 1.1", DIFFERENT),
        ("loss 1e-9", "loss 2e-9", CLOSE),
        ("loss 0.0", "loss 0.001", DIFFERENT),
        ("[ 6.5523252 -2.1116388]", "[ 6.5523243 -2.111639 ]", CLOSE),
        ("91 samples/s 13.00it/s 0.2 min 00:13 min", "90 samples/s 14.10it/s 0.3 min 00:14 min", SAME),
        ("loss = 8.1, time = 1.55", "loss = 8.1, time = 1.56", SAME),
        ("12:30 left", "12:31 left", DIFFERENT),
        ("time elapse: 00: 00: 04", "time elapse: 00: 00: 00", SAME),
    ],
)
def test_numbers_of_two_lines(one, other, verdict):
    assert compare_line(one, other, 1e-5).verdict == verdict
    assert compare_line(other, one, 1e-5).verdict == verdict
