"""Every op that torch's database and jaxvjp both have, on torch's sample inputs, under both.

`pytest tests/ops/test_opinfo.py -k "softmax"` runs some, on the first sample of two dtypes; `python -m tools.opinfo`
runs three samples of three, and `pytest -m long` every sample of every dtype. Tolerances and deliberate differences are
in `tools/opinfo/table.py`.
"""

from __future__ import annotations

import pytest

import jaxvjp.ops.indexing
from tools.opinfo.check import EVERY, Missing, counterpart, database, differences, title
from tools.opinfo.report import main
from tools.opinfo.table import DIFFERS

pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="torch's database needs it: pip install 'jaxvjp[test]'")


def ops():
    for op in database():
        try:
            counterpart(op)
        except Missing:
            continue
        marks = [pytest.mark.xfail(reason=DIFFERS[title(op)], strict=True)] if title(op) in DIFFERS else []
        yield pytest.param(op, id=title(op), marks=marks)


OPS = list(ops())


def check(op, *arguments):
    try:
        found = differences(op, *arguments)
    except Missing as missing:
        pytest.skip(str(missing))
    assert not found, "\n".join(map(str, found))


@pytest.mark.parametrize("op", OPS)
def test_one_sample(op):
    check(op, ("float64", "complex128"), 1)


@pytest.mark.long
@pytest.mark.parametrize("op", OPS)
def test_every_sample_in_every_type(op):
    check(op, EVERY, None)


def test_what_is_saved_is_told_by_writing_it(monkeypatch, capsys):
    assert main(["--saved", "gather", "masked_select"]) == 1
    told = capsys.readouterr().out
    assert "masked_select" in told  # its mask, which is turned into positions first
    assert "gather" not in told
    monkeypatch.setattr(jaxvjp.ops.indexing.gather, "saves", ())
    assert main(["--saved", "gather"]) == 1
    assert "tensor 0 is saved, here it is not saved" in capsys.readouterr().out


def test_what_differs_is_in_the_database():
    assert set(DIFFERS) <= {title(op) for op in database()}
