"""The jobs of libraries, and what runs them; the libraries themselves are not there."""

from __future__ import annotations

import importlib.util

import pytest

from tools import libraries

HEADER = '# /// script\n# dependencies = ["numpy>=1"]\n# ///\n"""A job."""\n\nimport torch\n\n'


def test_every_job_says_what_it_needs_and_stands_in_the_table():
    table = libraries.PAGE.read_text(encoding="utf-8")
    found = libraries.jobs([])
    assert len(found) > 20
    for job in found:
        assert job.needs
        assert f"| {job.title} | yes |" in table
    assert [job.path.stem for job in libraries.jobs(["gpytorch"])] == ["gpytorch_regression"]


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="it runs torch")
def test_a_job_that_differs_is_told(tmp_path):
    told = {}
    for name, line in {"same": "torch.ones(2).sum().item()", "other": "len(torch.__version__)"}.items():
        path = tmp_path / f"{name}.py"
        path.write_text(f"{HEADER}print({line})\n", encoding="utf-8")
        job = libraries._job(path)
        assert (job.names, job.missing, job.title) == (["numpy"], [], "A job.")
        told[name] = libraries.equal(job)
    assert told["same"] == "yes"
    assert told["other"].startswith("no: ")


def test_what_a_later_step_takes(tmp_path, monkeypatch):
    monkeypatch.setattr(libraries, "WARM_SECONDS", 0.1)
    path = tmp_path / "job.py"
    path.write_text(f"{HEADER}def step():\n    return torch.ones(2).sum().item()\n", encoding="utf-8")
    job = libraries._job(path)
    assert libraries.runs(job) == "yes"
    assert 0 < libraries.seconds_of_a_step(job, "-m", "jaxvjp", "run") < 10
    path.write_text(f"{HEADER}raise ValueError('no')\n", encoding="utf-8")
    assert libraries.runs(job) == "no: ValueError: no"
    assert libraries.seconds_of_a_step(job, "-m", "jaxvjp", "run") is None
