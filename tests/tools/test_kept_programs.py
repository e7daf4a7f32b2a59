"""What the command line compiles is kept for its next run, and is never trusted more than it may be."""

import os
import subprocess
import sys

import pytest

from jaxvjp.tools.kept_programs import files, folder, main, prune

SCRIPT = """
import torch

w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
for _ in range(3):
    loss = ((w * 3).sin() ** 2).sum()
    loss.backward()
    print(loss.item(), w.grad.tolist())
"""

SPOILING = """
import os
import pathlib
import shutil

import torch

kept = pathlib.Path(os.environ["JAXVJP_CACHE"])
w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
for step, spoil in enumerate(os.environ["SPOIL"].split()):
    loss = ((w * 3).sin() ** 2).sum() + w[: 1 + step % 3].exp().sum()
    loss.backward()
    print(loss.item(), w.grad.tolist())
    if spoil == "delete":
        shutil.rmtree(kept, ignore_errors=True)
    for path in [each for each in kept.rglob("*") if each.is_file()] if spoil in ("cut", "rubbish") else []:
        path.write_bytes(b"rubbish" if spoil == "rubbish" else path.read_bytes()[: path.stat().st_size // 2])
"""


@pytest.fixture
def run(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)

    def process(**variables):
        """Runs the script by the command line, every program compiled."""
        known = {key: each for key, each in os.environ.items() if not key.startswith("JAX_")}
        known |= {"JAXVJP_XLA": "always", "JAXVJP_CACHE": str(tmp_path / "kept"), **variables}
        command = [sys.executable, "-m", "jaxvjp", "run", str(script)]
        return subprocess.run(command, env=known, capture_output=True, text=True, check=True)

    return process


def kept(tmp_path):
    return {path.name: path.read_bytes() for _, _, path in files(tmp_path / "kept") if path.name.endswith("-cache")}


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders of others")
def test_a_second_run_compiles_nothing(run, tmp_path):
    first = run().stdout
    compiled = kept(tmp_path)
    assert len(compiled) > 1
    assert run().stdout == first
    assert kept(tmp_path) == compiled
    for spoil in (lambda known: known[: len(known) // 2], lambda known: b"rubbish", lambda known: b""):
        for name, known in compiled.items():
            (tmp_path / "kept" / name).write_bytes(spoil(known))
        assert run().stdout == first
    (tmp_path / "kept").chmod(0o777)
    refused = run()
    assert refused.stdout == first
    assert "others can write" in refused.stderr


def test_what_is_kept_may_be_spoilt_in_the_middle_of_a_run(run, tmp_path):
    (tmp_path / "script.py").write_text(SPOILING)
    whole = run(SPOIL="no no no no no no").stdout
    for how in ("cut", "rubbish", "delete"):
        assert run(SPOIL=f"no {how} no {how} {how} no").stdout == whole


def test_nothing_is_kept_where_that_is_off_or_there_is_no_room(run, tmp_path):
    first = run(JAXVJP_CACHE="0").stdout
    assert not kept(tmp_path)
    (tmp_path / "a file").write_text("")
    refused = run(JAXVJP_CACHE=str(tmp_path / "a file" / "kept"))
    assert refused.stdout == first
    assert "are not kept" in refused.stderr


def test_the_oldest_go_first(tmp_path):
    for at in range(4):
        path = tmp_path / str(at)
        path.write_bytes(bytes(100))
        os.utime(path, (at, at))
    prune(tmp_path, 250)
    assert [path.name for _, _, path in files(tmp_path)] == ["2", "3"]


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("JAXVJP_CACHE", str(tmp_path))
    (tmp_path / "one").write_bytes(bytes(1_500_000))
    assert main() == 0
    assert "1 files, 1.5 of at most 537 MB" in capsys.readouterr().out
    assert main(["--clear"]) == 0
    assert "0 files" in capsys.readouterr().out
    monkeypatch.setenv("JAXVJP_CACHE", "0")
    assert main() == 0
    assert folder() is None
    monkeypatch.delenv("JAXVJP_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert folder() == tmp_path / "jaxvjp"
