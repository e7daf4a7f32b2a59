"""Sixty programs: what is printed of each gives the same in a process of its own, as it is and under `jax.jit`; and
how many lines it takes.

A line is one with code; blank lines and comments do not count. A program of the corpus counts without `return`; its
`def` stands for `import torch`. A reference counts without `def` and `return`, and with its two imports.
"""

from __future__ import annotations

import inspect
import io
import textwrap
import tokenize

import corpus_of_graphs
import corpus_of_training
import numpy as np
import pytest
from oracle import agree
from references import REFERENCES

import jaxvjp

CORPUS = [*corpus_of_graphs.PROGRAMS, *corpus_of_training.PROGRAMS]
SAMPLE = CORPUS[::4]
NAMED = {each.__name__: each for each in CORPUS}
MOST = 1.5
"""At most so many times the lines of the user's, over the corpus."""
NO_CODE = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)


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


def lines_of(source):
    """How many lines of a text have code."""
    tokens = tokenize.generate_tokens(io.StringIO(textwrap.dedent(source)).readline)
    return len({line for each in tokens if each.type not in NO_CODE for line in range(each.start[0], each.end[0] + 1)})


@pytest.mark.parametrize("reference", REFERENCES, ids=lambda each: each.__name__)
def test_a_reference_gives_what_its_program_gives(reference):
    found, program = reference(), NAMED[reference.__name__](jaxvjp)
    compared = 0
    for name, own in found.items():
        of, grad, _ = name.partition("_grad")
        given = program.get(of)
        given = given.grad if grad and given is not None else given
        if isinstance(given, jaxvjp.Tensor):
            np.testing.assert_allclose(own, given.detach().numpy(), rtol=1e-4, atol=1e-5)
            compared += 1
    assert compared


def test_lines_are_few_by_what_a_person_writes():
    """At most 1.3 times as many as in the ten references, all together."""
    printed = sum(lines_of(explained(NAMED[each.__name__]).source) for each in REFERENCES)
    written = sum(lines_of(inspect.getsource(each)) for each in REFERENCES)  # `def` and `return` stand for two imports
    assert printed <= 1.3 * written


@pytest.mark.long
def test_lines_are_few_by_the_users_own():
    printed = sum(lines_of(explained(each).source) for each in CORPUS)
    own = sum(lines_of(inspect.getsource(each)) - 1 for each in CORPUS)
    assert printed <= MOST * own
