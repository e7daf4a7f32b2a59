"""What a script can import, under each command: what `python script.py` lets it, and nothing of ours in its place."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from oracle import needs_torch

import jaxvjp
from jaxvjp.__main__ import main
from jaxvjp.tools.course.lesson import lessons
from jaxvjp.tools.scripts.program import started_as

CHECKOUT = Path(jaxvjp.__file__).parents[1]
OWN = ("core", "explain", "nn", "ops", "optim", "tensor", "tools", "types_of_ours", "utils")
SCRIPT = f"""
import json, multiprocessing, pickle, sys
from importlib.util import find_spec
import torch
from torch import nn as of_torch
import {", ".join(OWN)}
from {OWN[0]}.inner import NAME
from beside import helper

class Kept:
    pass

def work(results, kept):
    results.put((type(kept).__name__, helper(), "jax" in sys.modules))

if __name__ == "__main__":
    w = torch.ones(2, requires_grad=True)
    of_torch.functional.relu(w * w).sum().backward()
    own = [getattr(sys.modules[each], "OWNER", None) for each in {OWN}]
    absent = [each for each in ("conftest", "library", "staging", "recorder", "scripts", "autograd") if find_spec(each)]
    assert type(pickle.loads(pickle.dumps(Kept()))) is Kept
    context = multiprocessing.get_context("spawn")
    results = context.SimpleQueue()
    child = context.Process(target=work, args=(results, Kept()))
    child.start()
    child.join()
    found = {{"own": own, "absent": absent, "name": NAME, "file": __file__, "given": sys.argv[1:]}}
    print("FOUND", json.dumps({{**found, "first": sys.path[0], "child": results.get(), "exit": child.exitcode}}))
"""


@pytest.fixture
def script(tmp_path):
    """A script with packages beside it that are named like ours."""
    folder = tmp_path / "elsewhere"
    for name in OWN:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text("OWNER = 'script'\n")
        (folder / name / "inner.py").write_text("from . import OWNER\nNAME = OWNER\n")
    (folder / "beside.py").write_text("from utils import OWNER\ndef helper(): return OWNER\n")
    (folder / "script.py").write_text(SCRIPT)
    return folder / "script.py"


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A Python where this package is not installed, and what it needs is: found by PYTHONPATH, without `.pth` files."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, symlinks=True)
    return folder / ("Scripts" if os.name == "nt" else "bin") / "python"


def found(python, command, script, *arguments):
    environment = {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib")}
    ended = subprocess.run(
        [python, *command, script, *arguments], capture_output=True, text=True, cwd=CHECKOUT, env=environment
    )
    line = next((each for each in (ended.stdout + ended.stderr).splitlines() if each.startswith("FOUND")), None)
    assert line is not None, ended.stdout + ended.stderr
    assert ended.returncode == 0, ended.stderr
    return json.loads(line.removeprefix("FOUND"))


@pytest.mark.parametrize("command", ["run", "explain"])
def test_a_script_finds_its_own_modules_from_a_checkout_that_is_not_installed(script, bare, command):
    assert found(bare, ["-m", "jaxvjp", command], str(script)) == {
        "own": ["script"] * len(OWN),
        "absent": [],
        "name": "script",
        "file": str(script),
        "child": ["Kept", "script", True],
        "given": [],
        "first": str(script.parent),
        "exit": 0,
    }


@needs_torch
def test_compare_gives_both_sides_the_same_modules(script, bare):
    """From a checkout that is not installed, and by a link to the script: what counts is the folder of its file."""
    link = script.parents[1] / "link.py"
    link.symlink_to(script)
    script.write_text(SCRIPT.replace('"jax" in sys.modules', "True"))
    told = subprocess.run(
        [bare, "-m", "jaxvjp", "compare", "--json", link, "--", "one"],
        capture_output=True,
        text=True,
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONPATH": sysconfig.get_path("purelib")},
    )
    (report,) = json.loads(told.stdout)
    assert report["equal"], told.stdout
    found = json.loads(report["lines"][0]["torch"].removeprefix("FOUND"))
    assert (found["own"], found["given"]) == (["script"] * len(OWN), ["one"])
    assert found["first"] == str(script.parent)


def test_an_answer_to_a_lesson_finds_the_modules_beside_it(tmp_path, capsys):
    lesson = lessons()[0]
    (tmp_path / "tools.py").write_text("OWNER = 'answer'\n")
    (tmp_path / "answer.py").write_text("from tools import OWNER\n" + lesson.exercise.task)
    assert main(["lesson", "1", "--check", str(tmp_path / "answer.py")]) == 1
    told = capsys.readouterr().out
    assert told.startswith("Not yet. ")
    assert "ImportError" not in told
    assert "ModuleNotFoundError" not in told


def test_the_surroundings_come_back(tmp_path):
    script, before = tmp_path / "script.py", (sys.argv, list(sys.path))
    with started_as(script, ["one"]):
        assert sys.argv == [str(script), "one"]
        assert sys.path[0] == str(tmp_path)
        assert sys.path[1 : len(before[1])] == before[1][1:]
        sys.path.insert(0, "more")
    assert (sys.argv, sys.path) == before
    with pytest.raises(ValueError, match="inside"), started_as(script):
        raise ValueError("inside")
    assert (sys.argv, sys.path) == before


def test_where_python_adds_no_folder_to_the_path_neither_do_we(tmp_path):
    (tmp_path / "script.py").write_text("import sys\nprint(sys.path)\n")
    for flags in ([], ["-P"]):
        printed = [
            subprocess.run([sys.executable, *flags, *start, "script.py"], capture_output=True, text=True, cwd=tmp_path)
            for start in ([], ["-m", "jaxvjp", "run"])
        ]
        theirs, ours = (eval(each.stdout) for each in printed)
        assert (str(tmp_path) in theirs) == (not flags)
        assert ours[: len(theirs)] == theirs
        assert ours[len(theirs) :] in ([], [str(CHECKOUT)])
