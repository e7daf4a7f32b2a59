"""What a script logs under `python -m jaxvjp run`: its own lines, and of JAX's only what it asks for."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import logging
logging.basicConfig(level=logging.DEBUG, format="%(name)s: %(message)s")
import torch
{further}
if __name__ == "__main__":
    x = torch.ones(2, requires_grad=True)
    (x * 2).exp().sum().backward()
    print(x.grad)
    logging.debug("mine")
    logging.getLogger("other").info("of another")
"""
LOUD = "logging.getLogger('jax').setLevel(logging.DEBUG)"
SPAWNING = """
import multiprocessing
def work():
    print((torch.ones(2, requires_grad=True) * 2).exp().tolist())
    logging.debug("there")
if __name__ == "__main__":
    process = multiprocessing.get_context("spawn").Process(target=work)
    process.start()
    process.join()
"""


def logged(tmp_path, further, *command):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(further=further), encoding="utf-8")
    done = subprocess.run([sys.executable, *command, script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()


OWN = ["root: mine", "other: of another"]


@pytest.mark.parametrize("command", ["run", "explain"])
def test_jax_is_quiet(tmp_path, command):
    assert [each for each in logged(tmp_path, "", "-m", "jaxvjp", command) if ": " in each] == OWN


def test_jax_says_what_is_asked_for(tmp_path):
    lines = logged(tmp_path, LOUD, "-m", "jaxvjp", "run")
    assert [each for each in lines if each in OWN] == OWN
    assert any(each.startswith("jax._src") for each in lines)


def test_jax_is_quiet_in_processes_that_the_script_starts(tmp_path):
    assert logged(tmp_path, SPAWNING, "-m", "jaxvjp", "run") == ["root: there", *OWN]


def test_importing_changes_no_level():
    text = "import logging, jaxvjp; print([logging.getLogger(each).level for each in ('jax', 'jaxlib')])"
    assert subprocess.run([sys.executable, "-c", text], capture_output=True, text=True).stdout == "[0, 0]\n"
