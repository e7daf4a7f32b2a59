"""Sixty programs: what is printed of each gives the same in a process of its own, as it is and under `jax.jit`."""

from __future__ import annotations

import corpus_of_graphs
import corpus_of_training
import pytest
from oracle import agree

import jaxvjp

CORPUS = [*corpus_of_graphs.PROGRAMS, *corpus_of_training.PROGRAMS]
SAMPLE = CORPUS[::4]


def tensors_of(program):
    """The tensors among a program's variables with their gradients, under torch and under jaxvjp."""

    def run(torch):
        found = {name: each for name, each in program(torch).items() if isinstance(each, torch.Tensor)}
        return {name: (each, each.grad if each.is_leaf else None) for name, each in found.items()}

    return run


def explained(program):
    story = jaxvjp.explain.recording()
    with story.of_a_script():
        story.finish(program(jaxvjp))
    return story


@pytest.mark.parametrize(
    "program",
    [pytest.param(each, id=each.__name__, marks=[] if each in SAMPLE else [pytest.mark.long]) for each in CORPUS],
)
def test_what_is_printed_gives_the_same(program):
    agree(tensors_of(program), rtol=1e-4, atol=1e-5)
    explained(program).check()
