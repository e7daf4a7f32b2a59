"""A printed program, recorded again, freezes to the same Program that was explained."""

from __future__ import annotations

import types

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_source import run_lines

import jaxvjp
from jaxvjp.core.record.graph import reachable
from jaxvjp.core.record.observers import Walked
from jaxvjp.core.run.program import freeze
from jaxvjp.ops.identity import variable
from jaxvjp.tools.examples import examples


class Place:
    """`y.at[key]`: what is printed as a new value, `y = y.at[key].set(v)`, was a write, and is one again."""

    def __init__(self, tensor, key):
        self.tensor, self.key = tensor, key

    def set(self, value):
        self.tensor[self.key] = value
        return self.tensor


class Places:
    """`y.at`."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __getitem__(self, key):
        return Place(self.tensor, key)


def _reduced(function):
    def reduce(array, axis=None, keepdims=False):
        return function(array) if axis is None else function(array, axis, keepdim=keepdims)

    return reduce


def stand_ins():
    """`jax` and `jax.numpy` over tensors, as far as the programs of these tests need them."""
    torch = jaxvjp
    own = {name: getattr(torch, name) for name in ("sin", "tanh", "exp", "log", "sqrt", "maximum", "zeros", "full")}
    jnp = types.SimpleNamespace(**own, sum=_reduced(torch.sum), mean=_reduced(torch.mean), array=torch.tensor)
    return {"jnp": jnp, "jax": types.SimpleNamespace(lax=types.SimpleNamespace(stop_gradient=lambda x: x.detach()))}


@pytest.fixture(autouse=True)
def _written_at(monkeypatch):
    monkeypatch.setattr(jaxvjp.Tensor, "at", property(Places), raising=False)


def program_of(node):
    """The Program that a node is the result of, of leaves: what `Variable(...)` gives is one here."""
    nodes = reachable([node], lambda each: () if each.operation is variable else each.inputs)
    return freeze([each for each in nodes if each.operation not in (None, variable)], [node])[0]


def recorded_again(explanation):
    """Each function that is pulled back in what is printed, run on tensors: their Programs."""
    lines = explanation.source.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("def "))
    inputs = [line for line in lines[:start] if not line.startswith(("import", "#", "jax.config"))]
    functions, inside = [], False
    for line in lines[start:]:
        inside = line.startswith("def ") or (inside and (not line or line.startswith(" ")))
        functions += [line] * inside
    namespace = stand_ins()
    exec("\n".join([*inputs, *functions]), namespace)
    found = []
    for name, (arguments, _) in explanation.program.calls.items():
        leaves = [namespace[each] for each in arguments]
        found.append(program_of(namespace[name](*[each.detach().requires_grad_() for each in leaves]).__node__))
    return found


def walked_programs(explanation):
    with explanation.story.told() as story:
        walks = [each.what for each in story.events if isinstance(each.what, Walked)]
        return list(dict.fromkeys(program_of(walked.roots[0]) for walked in walks))


PLAIN = ("{a}.sin()", "{a}.tanh() * 0.5", "-{a}", "{a} ** 2", "{a} + {b}", "{a} * {b} - 1", "torch.maximum({a}, {b})")
SHAPED = ("{a}.sum(0) + {b}", "{a}.mean(1, keepdim=True) * {b}", "{a}[0] * 2 + {b}", "{a} + {b}[1, :2].sum()")
LOOPS = ("for i in range(3):\n    {a} = {a} * x[i % 2] + i", "for _ in range(3):\n    {a} = ({a} * {b}).sin()")
WRITES = ("{a} = torch.zeros(2, 3)\n{a}[0] = {b}[1] * 2\n{a}[1, 1:] = x[0, :2]",)


@st.composite
def plain_programs(draw):
    """Programs of operations that are printed as they are: `y.relu()`, say, is several of jax.numpy's."""
    names, lines = ["x", "w"], []
    for made in draw(st.lists(st.sampled_from(["h", "k", "y"]), min_size=1, max_size=5)):
        kind = draw(st.sampled_from([PLAIN, PLAIN, SHAPED, LOOPS, WRITES]))
        one = draw(st.sampled_from(names))
        other = draw(st.sampled_from(names[:2] if kind is WRITES else names))  # of constants alone nothing is recorded
        text = draw(st.sampled_from(kind))
        if kind in (LOOPS, WRITES):
            lines += [f"{made} = {one} * 1.5"] * (kind is LOOPS) + text.format(a=made, b=other).splitlines()
        else:
            lines.append(f"{made} = {text.format(a=one, b=other)}")
        names.append(made)
    return "\n".join([*lines, f"y = {names[-1]} * x + w"])


@settings(max_examples=60, deadline=None)
@given(plain_programs())
def test_any_plain_program_is_the_same_when_what_is_printed_is_recorded(lines):
    start = "x = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], requires_grad=True)\n"
    start += "w = torch.tensor([[1.0, 2.0, -0.5], [0.3, -1.5, 1.0]], requires_grad=True)\n"
    explanation = run_lines(f"{start}{lines}\nt = explain(y)")["t"]
    assert recorded_again(explanation) == walked_programs(explanation)


TOLD_OTHERWISE = {
    "second_derivatives": "a function with a pullback inside",
    "custom_function": "a custom_vjp",
    "matrix_product": "`torch.mm` is printed as `@`, which is `torch.matmul` when it is recorded",
    "vector_to_scalar": "Python's `sum` goes through x by unbinding it, which is printed as `x[0] + x[1]`",
    "vector_to_scalar_with_a_gradient": "the same",
    "sum_with_a_vector_gradient": "the same",
}
"""What is told in other words than it was recorded in, so that another Program of the same values is recorded."""


@pytest.mark.parametrize("name", [name for name in examples() if name not in TOLD_OTHERWISE])
def test_an_example_is_the_same_when_what_is_printed_is_recorded(name):
    module = examples()[name].module
    with jaxvjp.explain.recording() as story:
        module.imperative()
    again = recorded_again(story)
    assert again
    assert again == walked_programs(story)
