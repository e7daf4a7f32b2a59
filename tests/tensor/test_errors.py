"""Errors for bad input: torch's class and first sentence, then what would have worked; and nothing is changed."""

from __future__ import annotations

import re

import jax.numpy as jnp
import numpy as np
import pytest
from oracle import Outcome, agree

import jaxvjp

# One line each: the program, and a word of the advice that jaxvjp adds to torch's sentence.
MISTAKES = {
    "a non-scalar root without a gradient": ("(x * 2).backward()", "v = torch.ones([2])"),
    "a gradient of the wrong shape": ("(x * 2).backward(torch.ones(3))", "one number for each element of y"),
    "a vector gradient for a scalar": ("x.sum().backward(torch.ones(4))", "broadcast=True"),
    "a gradient in a row for a matrix": ("(m * 2).backward(torch.tensor([0.1, 0.5, 0.2, 0.3]))", "v.reshape(y.shape)"),
    "a complex gradient of a real output": ("(x * 2).backward(torch.ones(2, dtype=torch.complex64))", "real gradient"),
    "a list as gradient": ("(x * 2).backward([1.0, 2.0])", "torch.tensor([1.0, 2.0])"),
    "a gradient by another name": ("(x * 2).backward(gradients=torch.ones(2))", ""),
    "a word as gradient": ("(x * 2).backward('1')", "torch.ones([2])"),
    "a number as gradient": ("(x * 2).backward(2.0)", "torch.full([2], 2.0)"),
    "a number as gradient of one": ("x.sum().backward(2.0)", "torch.tensor(2.0)"),
    "requires_grad on integers": ("torch.tensor([1, 2], requires_grad=True)", "[1., 2.]"),
    "requires_grad_ on integers": ("torch.tensor([1, 2]).requires_grad_()", "x.float()"),
    "setting requires_grad on integers": ("setattr(torch.tensor([1, 2]), 'requires_grad', True)", "x.float()"),
    "clearing requires_grad of a result": ("setattr(x * 2, 'requires_grad', False)", "var.detach()"),
    "backward on no graph": ("torch.ones(2).sum().backward()", "requires_grad=True"),
    "backward on a detached result": ("x.detach().sum().backward()", "requires_grad=True"),
    "backward on a comparison": ("(x > 1).float().sum().backward()", "Its result is torch.bool"),
    "backward on places": ("(m.argmax(1) == torch.tensor([1, 0])).float().mean().backward()", "ends at Argmax"),
    "backward on a gradient": ("torch.autograd.grad((x * x).sum(), x)[0].sum().backward()", "`create_graph=True`"),
    "backward on rounded numbers": ("x.long().float().sum().backward()", "Its result is torch.int64"),
    "writing into a leaf": ("x.mul_(2)", "no_grad"),
    "adding to a leaf": ("x.__iadd__(1)", "no_grad"),
    "writing into an element of a leaf": ("x.__setitem__(0, 1.0)", "no_grad"),
    "writing into a view of a leaf": ("x[0].zero_()", "no_grad"),
    "shapes that do not broadcast": ("x + torch.ones(3)", "[2] and [3]"),
    "shapes that do not broadcast, more dimensions": ("torch.ones(4, 1, 2) * torch.ones(3, 3)", "[4, 1, 2] and [3, 3]"),
    "matrices that do not fit": ("torch.mm(torch.ones(2, 3), torch.ones(2, 3))", "rows of the second"),
    "mm of a vector": ("torch.mm(x, m)", "a @ b"),
    "matmul that does not fit": ("torch.ones(2, 3) @ torch.ones(2, 3)", "rows of the second"),
    "a batch that does not fit": ("torch.ones(5, 2, 3) @ torch.ones(2, 3)", "rows of the second"),
    "batches that do not fit": ("torch.ones(5, 2, 3) @ torch.ones(5, 2, 3)", "second-to-last"),
    "a product of different types": ("m @ torch.ones(2, 2, dtype=torch.float64)", "promote"),
    "vectors of different lengths": ("x @ torch.ones(3)", ""),
    "a dimension out of range": ("x.sum(dim=3)", ""),
    "a dimension named twice": ("m.sum(dim=(0, 0))", ""),
    "an index out of range": ("x[5]", ""),
    "an index too many": ("x[0, 0]", "shape [2]"),
    "an index into a number": ("x.sum()[0]", ""),
    "a negative step": ("x[::-1]", "flip"),
    "a written value that is too long": ("torch.empty(3).__setitem__(slice(0, 2), torch.ones(3))", ""),
    "an index that cannot be written": ("torch.empty(3).__setitem__(7, 1.0)", ""),
    "an in-place result that is larger": ("torch.ones(3).add_(torch.ones(2, 3))", "x = x + y"),
    "an in-place division of integers": ("torch.tensor([1, 2]).div_(2)", "x = x / y"),
    "a float added to integers in place": ("torch.tensor([1, 2]).__iadd__(0.5)", ""),
    "a negative power of integers": ("torch.tensor([1, 2]) ** -1", "x.float()"),
    "a difference of masks": ("torch.tensor([True]) - torch.tensor([True])", ""),
    "minus a mask": ("-torch.tensor([True])", ""),
    "the mean of integers": ("torch.tensor([1, 2]).mean()", "x.float()"),
    "numpy of a tensor that requires a gradient": ("x.numpy()", ""),
    "item of two elements": ("x.item()", "tolist"),
    "the truth of two elements": ("bool(x)", "all()"),
    "the truth of no elements": ("bool(torch.empty(0))", ""),
    "the length of a number": ("len(x.sum())", ""),
    "iteration over a number": ("list(x.sum())", ""),
    "a gradient of the wrong size": ("setattr(x, 'grad', torch.ones(3))", ""),
    "a gradient that is no tensor": ("setattr(x, 'grad', 3)", ""),
    "grad without use": ("torch.autograd.grad(x.sum(), [x, m])", "None, not zero"),
    "grad of what requires none": ("torch.autograd.grad(x.sum(), torch.ones(2))", "requires_grad_()"),
    "grad without outputs": ("torch.autograd.grad(grad_outputs=torch.ones_like(x), inputs=x)", ""),
    "no inputs": ("x.sum().backward(inputs=[])", ""),
    "inputs that require none": ("x.sum().backward(inputs=[torch.ones(2)])", "requires_grad_()"),
    "writing into one of several views": ("(m * 1).unbind()[1].add_(1)", ""),
    "writing into a piece": ("(x * 1).split(1)[0].zero_()", ""),
    "writing into what iteration hands out": ("next(iter(m * 1)).mul_(2)", ""),
    "writing into an expanded tensor": ("torch.ones(1).expand(3).add_(1)", ""),
    "a view across strides": ("m.t().view(-1)", ""),
    "an expansion that does not fit": ("m.expand(3, 2)", ""),
    "an expansion to fewer dimensions": ("m.expand(2)", ""),
    "a view of another size": ("m.view(3, 2)", "multiply to 4"),
    "a reshape to another size": ("m.reshape(3)", "multiply to 4"),
    "two sizes to work out": ("m.view(-1, -1)", ""),
    "narrowing too far": ("m.narrow(0, 1, 2)", ""),
    "narrowing no dimension": ("m.narrow(3, 0, 1)", ""),
    "splitting into nothing": ("m.split(0)", ""),
    "splitting into too much": ("m.split([1, 2])", ""),
    "no chunks": ("m.chunk(0)", ""),
    "a diagonal of one dimension": ("m.diagonal(0, 0, 0)", ""),
    "selecting out of range": ("m.select(0, 5)", ""),
    "detaching a view in place": ("(x * 2)[0].detach_()", ""),
    "integer data for a leaf": ("setattr(x, 'data', torch.ones(3, dtype=torch.int64))", ""),
    "data that is no tensor": ("setattr(x, 'data', 3)", ""),
    "a position out of range": ("x[torch.tensor([0, 5])]", ""),
    "a position that is no integer": ("x[torch.tensor([0.5])]", ".long()"),
    "a mask of another shape": ("x[torch.tensor([True, False, True])]", ""),
    "positions for too many dimensions": ("x[[0, 1], [0, 1]]", ""),
    "positions that do not broadcast": ("torch.zeros(2, 2)[torch.tensor([0, 1]), torch.tensor([0, 1, 1])]", ""),
    "values that do not fit their positions": (
        "torch.zeros(2, 2).__setitem__(torch.tensor([0, 1]), torch.ones(3))",
        "",
    ),
    "values that do not fit their mask": (
        "torch.zeros(2, 2).__setitem__(torch.tensor([True, False]), torch.ones(3))",
        "",
    ),
    "filling by numbers": ("x.masked_fill(torch.tensor([1, 0]), 3.0)", "x > 0"),
    "clamping to nothing": ("x.clamp()", ""),
    "second_derivative": ("x.second_derivative()", ""),
    "rows of different lengths": ("torch.tensor([[1, 2], [3]])", "equally long"),
    "a word as data": ("torch.tensor('a')", "numbers"),
    "a word among the data": ("torch.tensor([1, 'a'])", "numbers"),
    "a word as operand": ("x + 'a'", ""),
    "a list as operand": ("x * [1, 2]", ""),
    "a number where a tensor belongs": ("torch.log(3)", "torch.tensor(3)"),
    "a list where a tensor belongs": ("torch.sum([1, 2])", "torch.tensor([1, 2])"),
    "a variable of a list": ("torch.autograd.Variable([1])", "tensor([1]"),
    "a negative size": ("torch.ones(-1)", ""),
    "a size that is no integer": ("torch.ones(2.5)", "ones(2, 3)"),
    "random integers by randn": ("torch.randn(3, dtype=torch.int64)", "long()"),
    "FloatTensor of a float": ("torch.FloatTensor(2.5)", "[2.5]"),
    "a default dtype that is no float": ("torch.set_default_dtype(torch.int64)", ""),
}


def mistake(line):
    def program(torch):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        m = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        before = [x.detach().tolist(), m.detach().tolist()]
        try:
            eval(line, {"torch": torch, "x": x, "m": m})
        finally:
            assert [x.detach().tolist(), m.detach().tolist()] == before
            assert x.grad is None
            assert m.grad is None
            assert x.requires_grad
            assert m.requires_grad

    return program


@pytest.mark.parametrize("name", MISTAKES)
def test_torchs_class_and_first_sentence(name):
    line, _ = MISTAKES[name]
    agree(mistake(line), raises=Exception)


@pytest.mark.parametrize("name", [name for name, (_, advice) in MISTAKES.items() if advice])
def test_then_what_would_have_worked(name):
    line, advice = MISTAKES[name]
    _, _, rest = str(Outcome(mistake(line), jaxvjp).error).partition("\n")
    text = rest or str(Outcome(mistake(line), jaxvjp).error)
    assert advice in text


def test_a_write_to_a_leaf_is_told_by_the_users_names():
    weight = jaxvjp.zeros(3, requires_grad=True)
    with pytest.raises(RuntimeError) as caught:
        weight[0] = 1.0
    lines = str(caught.value).splitlines()[-3:]
    assert lines == [
        "    with jaxvjp.no_grad():",
        "        weight[0] = 1.0",
        "    y = weight.clone()  # and change y",
    ]


@pytest.mark.parametrize(
    ("v", "advice"),
    [
        (np.ones(2), "jaxvjp.from_numpy(v)"),
        (jnp.ones(2), "jaxvjp.from_jax(v)"),
        ([1, 2], "jaxvjp.tensor([1, 2])"),
        ("1", "jaxvjp.ones([2])"),
    ],
)
def test_advice_on_what_is_no_tensor_can_be_typed(v, advice):
    y = jaxvjp.ones(2, requires_grad=True) * 2
    with pytest.raises(TypeError, match=re.escape(f"`{advice}`")):
        y.backward(v)
    y.backward(eval(advice))


RECORDED = """
x * 2, x / 2, x * x, x ** 2, x ** x, 2 ** x, x / x, 1 / x, x @ x, m @ x, m @ m, x.norm(), x + 1, x - 1, 1 - x, x + x,
-x, x.log(), x.exp(), x.reciprocal(), x.sqrt(), x.sin(), x.cos(), x.tanh(), x.sigmoid(), x.relu(), x.abs(),
x.double(), x.sum(), x.sum(0), x.mean(), x.clone(), x[0], x[:1], x[None], x.unsqueeze(0), m.t(), m.squeeze(), m.T
"""


@pytest.mark.parametrize("recorded", RECORDED.split(","))
def test_a_second_backward_raises_just_where_torch_saved_something(recorded):
    def program(torch):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        m = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        y = eval(recorded.strip(), {"torch": torch, "x": x, "m": m})
        v = torch.ones_like(y)
        y.backward(v)
        try:
            y.backward(v)
        finally:
            assert recorded  # the gradients are compared below, through the error too
        return x.grad, m.grad

    agree(program)


def test_the_freed_graph_error_names_the_line():
    x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2  # the line
    y.sum().backward()
    with pytest.raises(RuntimeError, match=r"(?s)MulBackward0.*test_errors\.py.*y = x \* 2  # the.*that line again"):
        y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("recorded", ["x ** 1.5", "x ** x", "x @ x", "m @ x", "x.clamp(0, 1.5)", "x.norm(dim=0)"])
def test_the_freed_node_may_be_one_that_nobody_holds(recorded):
    def program(torch):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        m = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        loss = eval(recorded, {"x": x, "m": m}).sum() + 1
        loss.backward()
        loss.backward()

    assert "The freed node is" in str(agree(program).error)


def test_the_freed_graph_error_names_the_loop_that_the_line_stands_outside_of():
    x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2

    def rounds():
        h = x * 2
        for _ in range(2):
            for v in (1.0, 2.0):
                (h * v).sum().backward()

    with pytest.raises(RuntimeError, match=r"(?s)h = x \* 2.*outside the loop of line \d+.*inside the loop") as caught:
        rounds()
    loop = int(str(caught.value).partition("the loop of line ")[2].partition(",")[0])
    assert loop == rounds.__code__.co_firstlineno + 2
    for _ in range(1):
        y.sum().backward()


def test_the_freed_graph_error_names_the_backward_that_freed_it():
    x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2

    def before_the_loop():
        y.backward(jaxvjp.ones(2))
        for _ in range(2):
            y.backward(jaxvjp.ones(2), retain_graph=True)

    def rows():
        z = x * 3
        for _ in range(2):
            z.backward(jaxvjp.ones(2))

    with pytest.raises(RuntimeError) as caught:
        before_the_loop()
    line = before_the_loop.__code__.co_firstlineno + 1
    assert f"`retain_graph=True` in line {line}, `y.backward(jaxvjp.ones(2))`, which freed it." in str(caught.value)
    assert "the loop" not in str(caught.value)
    with pytest.raises(RuntimeError, match=r"(?s)outside the loop.*, keep the graph, by `retain_graph=True` in line"):
        rows()


@pytest.mark.parametrize("retain_graph", [False, True])
def test_a_state_that_is_carried_on_is_told_to_be_cut_off(retain_graph):
    def program(torch):
        w, state = torch.tensor([1.0, 2.0], requires_grad=True), torch.zeros(2)
        for _ in range(3):
            state = torch.tanh(state * w + 1)
            state.sum().backward(retain_graph=retain_graph)
            with torch.no_grad():
                w.sub_(0.1)

    assert "between the rounds, `state = state.detach()`" in str(agree(program).error)


@pytest.mark.parametrize("line", ["(x * 2).backward(torch.ones(3))", "z.backward(torch.ones(2))", "x.mul_(2)"])
def test_a_failed_operation_changes_nothing(line):
    x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
    z = x * 3
    z.backward(jaxvjp.ones(2))
    grad = x.grad
    with pytest.raises(RuntimeError):
        eval(line, {"torch": jaxvjp, "x": x, "z": z})
    assert x.grad is grad
    assert x.grad.tolist() == [3.0, 3.0]
    assert x.tolist() == [1.0, 2.0]
    assert z.tolist() == [3.0, 6.0]


@pytest.mark.parametrize(
    "line",
    [
        "x + torch.ones(3)",
        "x.backward(torch.ones(3))",
        "torch.nn.Linear(3, 2)(x)",
        "x.view(3)",
        "torch.sum(x, 3)",
    ],
)
def test_a_traceback_shows_the_users_lines(line):
    x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises((RuntimeError, IndexError)) as caught:
        eval(line, {"torch": jaxvjp, "x": x})
    assert sum("jaxvjp" in str(entry.path) for entry in caught.traceback[2:]) <= 4
    assert not getattr(caught.value, "__notes__", None)


def test_a_traceback_shows_a_line_of_a_hook():
    x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
    x.register_hook(lambda gradient: gradient + jaxvjp.ones(3))
    with pytest.raises(RuntimeError) as caught:
        (x * 2).sum().backward()
    assert sum(entry.path.name == "test_errors.py" for entry in caught.traceback) == 2
