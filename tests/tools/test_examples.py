"""The examples: each runs, agrees with its document and with live torch, and compiles nothing twice."""

from __future__ import annotations

import re
import runpy
from types import SimpleNamespace

import numpy as np
import pytest
from oracle import agree

import jaxvjp
from jaxvjp.core.run.choosing import HOT
from jaxvjp.core.run.compilation import counters
from jaxvjp.tools.examples import documents, examples

EXAMPLES = examples()
# torch has no `broadcast=True`: these two show what an old one did.
OLD = ("one_element_three_gradients", "scalar_with_a_vector_gradient", "sum_with_a_vector_gradient")


def test_every_row_of_the_documents_has_an_example():
    found = {name for each in EXAMPLES.values() for name in each.module.DOCUMENTS}
    assert len(EXAMPLES) == 22
    assert found == {*documents()}
    assert len(found) == 5


@pytest.mark.parametrize("name", EXAMPLES)
def test_its_asserts_hold(name):
    runpy.run_path(str(EXAMPLES[name].path), run_name="__main__")


@pytest.mark.parametrize("name", EXAMPLES)
def test_four_answers_agree(name):
    run = EXAMPLES[name].run()
    assert run.agrees
    assert run.example.title.endswith((".", "!"))
    assert len(run.example.text) > 50
    source = run.example.source("imperative")
    assert all(re.search(rf"^    \(?{each.output},?\)?(\[0\])? = ", source, re.MULTILINE) for each in run.answers)


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.compiled
def test_repeating_it_compiles_nothing(name):
    module = EXAMPLES[name].module
    for _ in range(HOT + 2):  # by then it is settled how to compile what is hot
        module.imperative()
    compiles = counters.compiles
    module.imperative()
    assert counters.compiles == compiles


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_printed_of_it_runs_and_gives_its_gradients(name):
    module = EXAMPLES[name].module
    with jaxvjp.explain.recording() as story:
        gradients = module.imperative()
    story.check()
    assert story.walks
    names = {"".join(label.split()) for label in gradients}
    for result in story.program.results:
        if result.variable.removesuffix("_grad") in names:
            np.testing.assert_allclose(
                story.run()[result.variable], module.NUMBERS[result.variable.removesuffix("_grad")], rtol=1e-4
            )


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in OLD])
def test_the_imperative_form_runs_under_torch(name):
    source = EXAMPLES[name].path.read_text().replace("import jaxvjp as torch\n", "\n").replace(", pin_memory=True", "")

    def program(torch):
        module: dict = {"__name__": "under_torch", "torch": torch}
        exec(compile(source, name, "exec"), module)
        return module["imperative"]()

    gradients, numbers = agree(program, 1e-5).value, EXAMPLES[name].module.NUMBERS
    assert list(gradients) == list(numbers)
    for label, number in numbers.items():
        np.testing.assert_allclose(gradients[label][-1], number, rtol=1e-4)


def test_the_shown_source_is_the_function_with_what_it_uses():
    example = EXAMPLES["custom_function"]
    imperative, functional = example.source("imperative"), example.source("functional")
    assert imperative.startswith("X = ")
    assert "class Square" in imperative
    assert "square.defvjp" not in imperative
    assert "square.defvjp" in functional
    assert "@jax.custom_vjp" in functional
    assert "NUMBERS =" not in EXAMPLES["rows_of_the_jacobian"].source("imperative")


def test_a_wrong_number_is_noticed(monkeypatch):
    example = EXAMPLES["scalar_to_scalar"]
    module = example.module
    wrong = SimpleNamespace(**{**vars(module), "NUMBERS": {"x": 3.0}})
    monkeypatch.setattr(type(example), "module", property(lambda self: wrong))
    assert not example.run().agrees
