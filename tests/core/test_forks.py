"""Processes made by `fork`, before JAX has computed and after; and two processes that keep programs in one folder."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os, warnings

import jaxvjp as torch

warnings.simplefilter("ignore")  # JAX warns of every fork


def gradient(size):
    w = torch.linspace(0.0, 1.0, size).requires_grad_()
    (torch.outer(w, w) @ w.sin()).sum().backward()
    return w.grad.sum().item()


@torch.jit
def step(x):
    return (x @ x).tanh().sum()


def used():
    return [gradient(300), [step(torch.ones(200, 200) * 0.01).item() for _ in range(12)][-1]]


def left_to_jax():
    return torch.special.zeta(torch.tensor([2.0, 3.0]), torch.tensor([1.0, 2.0])).tolist()


def in_a_child(work):
    ear, mouth = os.pipe()
    if not os.fork():
        try:
            told = repr(work())
        except RuntimeError as error:
            told = str(error)
        os.write(mouth, told.encode())
        os._exit(0)
    os.close(mouth)
    told = os.read(ear, 10_000).decode()
    os.wait()
    return told


"""


def printed(lines, **environment):
    command = [sys.executable, "-c", PROGRAM + lines]
    ran = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120, check=True
    )
    return ran.stdout.splitlines()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("when", ["always", "when it pays"])
def test_a_child_made_after_the_first_computation_computes_in_numpy(when):
    lines = (
        "here = used()\nprint(here)\nprint(in_a_child(used))\nprint(in_a_child(left_to_jax))\nprint(used() == here)\n"
    )
    here, child, *refused, same = printed(lines, JAXVJP_XLA=when)
    assert eval(child) == pytest.approx(eval(here), rel=1e-5)
    assert "made by fork after JAX had computed" in refused[0]
    assert 'get_context("spawn")' in refused[1]
    assert same == "True" or when != "always"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_made_before_the_first_computation_is_as_any_process():
    lines = "told = in_a_child(used), in_a_child(left_to_jax)\n"
    lines += "print(told[0])\nprint(used())\nprint(told[1])\nprint(left_to_jax())\n"
    child, here, alone, left = printed(lines, JAXVJP_XLA="always")
    assert child == here
    assert alone == left


def test_two_processes_may_keep_programs_in_one_folder(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\nw = torch.ones(3, requires_grad=True)\n(w.sin() ** 2).sum().backward()\nprint(w.grad)\n"
    )
    known = {key: each for key, each in os.environ.items() if not key.startswith("JAX_")}
    known |= {"JAXVJP_XLA": "always", "JAXVJP_CACHE": str(tmp_path / "kept")}
    command = [sys.executable, "-m", "jaxvjp", "run", str(script)]
    for _ in range(2):  # both write what is not there yet; then both read it
        both = [subprocess.Popen(command, env=known, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
        told = [each.communicate(timeout=120) for each in both]
        assert [each.returncode for each in both] == [0, 0], told
        assert told[0] == told[1]
        assert told[0][1] == b""
