"""Recordings of every kind of backward pass: each is printed, run, and compared with `.grad`."""

from __future__ import annotations

import ast
import copy
import inspect
import re

import numpy as np
import pytest
from hypothesis import given, settings
from oracle import agree
from programs import STORY, stories
from test_source import run_lines

import jaxvjp
from jaxvjp import explain


def several_roots(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y, z = x * 2, (x**2).sum()
    torch.autograd.backward([y, z], [torch.tensor([1.0, 3.0]), None])


def a_gradient_that_is_retained(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x * 2
    h.retain_grad()
    (h**2).sum().backward()
    assert h.grad is not None


def gradients_of_an_intermediate_result_and_of_a_leaf(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x * 2
    return torch.autograd.grad((h**2).sum(), (h, x))


def some_inputs(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    ((x * w) ** 2).sum().backward(inputs=[w])
    assert x.grad is None


def a_graph_of_the_gradient_that_is_accumulated(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x**3).sum().backward(create_graph=True)
    x.grad.sum().backward()


def a_transform_inside(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    torch.vmap(lambda row: (row * row).sum())(x).sum().backward()
    torch.func.grad(lambda a: (a**3).sum())(x).sum().backward()


def complex_numbers(torch):
    x = torch.tensor([1.0 + 2j, 2.0], requires_grad=True)
    (x * x * 1j).sum().backward(torch.tensor(1 + 1j))


def a_loss_of_a_network(torch):
    x = torch.randn(4, 3, requires_grad=True)
    w = torch.randn(3, 5, requires_grad=True)
    labels = torch.tensor([0, 1, 2, 3])
    torch.nn.functional.cross_entropy(torch.nn.functional.relu(x @ w), labels).backward()


def a_batch_of_gradients(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    return torch.autograd.grad(x**2, x, torch.tensor([[1.0, 0.0], [0.0, 1.0]]), is_grads_batched=True)


def momentum(torch):
    x, m = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([0.0, 0.0])
    for _ in range(3):
        ((x - 1) ** 2).sum().backward()
        with torch.no_grad():
            m.mul_(0.9).add_(x.grad)
            x.sub_(0.1 * m)
        x.grad.zero_()


def a_hook_after_accumulation(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)

    def halved(parameter):
        parameter.grad.mul_(0.5)

    x.register_post_accumulate_grad_hook(halved)
    (x * x).sum().backward()
    (x * 3).sum().backward()


def two_hooks_and_a_branch(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x * 3
    h.register_hook(lambda g: g * 10)
    k = h.sin()
    k.register_hook(lambda g: g + h.detach())
    (k * h + x).sum().backward()


def saved_operands_that_come_back_changed(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda saved: saved.detach() * 2, lambda kept: kept + 1):
        y = (x * w).sin()
    with torch.autograd.graph.saved_tensors_hooks(lambda saved: saved.half(), lambda kept: kept.float()):
        z = y * 1.2345 * x
    with torch.autograd.graph.save_on_cpu():  # which changes nothing
        z = z * w
    with torch.autograd.graph.saved_tensors_hooks(lambda saved: saved.detach().numpy() * 3, torch.tensor):
        z = z**2
    z.register_hook(lambda gradient: gradient * 10)
    z.sum().backward()


def saved_tensors_of_a_function_that_come_back_changed(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            return 2 * x * gradient

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda saved: saved.detach() * 2, lambda kept: kept):
        y = Square.apply(x)
    y.sum().backward()


def a_view_of_a_parameter_that_is_updated(torch):
    w = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    for _ in range(2):
        (w[0] * w[1]).sum().backward()
        with torch.no_grad():
            w[0] -= 0.1 * w.grad[0]
        w.grad = None
    (w**2).sum().backward()


def a_leaf_that_is_written_before_backward(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.register_hook(lambda grad: grad * 3)
    y = (x + 1) ** 2
    x.data = torch.tensor([10.0, 20.0])
    x.data *= 2
    y.backward(torch.tensor([1.0, 3.0]))
    return x, x.grad


def a_layer_that_is_written_before_backward(torch):
    net = torch.nn.Linear(2, 1)
    with torch.no_grad():
        net.weight.copy_(torch.tensor([[1.0, 2.0]]))
        net.bias.zero_()
    out = net(torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sigmoid().sum()
    net.weight.data *= 0.5
    out.backward()
    return net.weight.grad, net.bias.grad


def a_step_before_its_backward(torch):
    w = torch.tensor([1.0, -1.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    found = []
    for _ in range(4):
        loss = ((w - 3) ** 2).sum()
        optimizer.step()
        optimizer.zero_grad()
        loss.backward()
        found.append(w.grad.tolist())
    return w, found


def a_leaf_that_is_written_between_two_uses(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    w.register_hook(lambda grad: grad * 3)
    for _ in range(2):
        a = w * 2
        w.data = w.data * 3
        (a + w * w).sum().backward()
    return w, w.grad


def a_leaf_without_a_name(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True).double()
    (x**2).sum().backward()
    return x.is_leaf


def a_loss_that_is_a_leaf(torch):
    for value in (2.0, 3.0):
        loss = torch.tensor(value, requires_grad=True)
        loss.backward()
    return loss.grad


def a_loss_that_retains_its_gradient(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    loss.retain_grad()
    loss.backward()
    return loss.grad, w.grad


WRITTEN = [
    a_leaf_that_is_written_before_backward,
    a_layer_that_is_written_before_backward,
    a_step_before_its_backward,
    a_leaf_that_is_written_between_two_uses,
    a_leaf_without_a_name,
    a_loss_that_is_a_leaf,
    a_loss_that_retains_its_gradient,
]


STORIES = [each for each in list(globals().values()) if inspect.isfunction(each) and each.__module__ == __name__]


@pytest.mark.parametrize("program", STORIES, ids=lambda program: program.__name__)
def test_a_story(program):
    with explain.recording() as story:
        program(jaxvjp)
    story.check(rtol=1e-4)
    assert story.program.results
    assert "jaxvjp" not in story.source.replace("import jaxvjp", "")


@pytest.mark.parametrize("program", WRITTEN, ids=lambda program: program.__name__)
def test_torch_has_the_gradients_too(program):
    agree(program)


@settings(max_examples=10, deadline=None)
@given(stories())
def test_any_story(lines):
    """Prints, runs and checks a recording made at random, of all that may happen in one."""
    recorded = "\n".join(f"    {line}" for line in lines.splitlines())
    run_lines(f"{STORY}with explain.recording() as story:\n{recorded}")["story"].check(rtol=1e-3, atol=1e-4)


def test_gradients_belong_to_what_a_leaf_was_before_it_was_written():
    story = run_lines("""
        with explain.recording() as story:
            x = torch.tensor([1.0, 2.0], requires_grad=True)
            y = (x + 1) ** 2
            with torch.no_grad():
                x.zero_()
            y.backward(torch.ones(2))
    """)["story"]
    assert story.run()["x_grad"].tolist() == [4.0, 6.0]
    assert story.jacobian()["x"].tolist() == [[4.0, 0.0], [0.0, 6.0]]
    assert [name for link in story.cotangents() for name, _ in link.leaves] == ["x + 1", "x"]


def test_what_a_leaf_was_before_and_after_a_write_has_no_one_jacobian():
    with explain.recording() as story:
        a_leaf_that_is_written_between_two_uses(jaxvjp)
    with pytest.raises(ValueError, match="a leaf was written between two of its uses"):
        story.jacobian()


def test_a_step_that_replaces_numbers_is_at_the_line_of_the_write():
    story = run_lines("""
        with explain.recording() as story:
            x = torch.tensor([1.0, 2.0], requires_grad=True)
            y = x * x
            d = y.detach()
            d.zero_()
            print(y)
            y.sum().backward()
    """)["story"]
    _, replaced, product = story.cotangents()
    assert (replaced.operation, replaced.text) == ("other numbers", "d.zero_()")
    assert product.operation == "MulBackward0"


def test_a_gradcheck_is_no_part_of_the_program():
    story = run_lines("""
        with explain.recording() as story:
            w = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
            torch.autograd.gradcheck(lambda w: (w**3).sin(), w)
            (w**2).sum().backward()
    """)["story"]
    assert len(story.walks) == 1
    assert "sin" not in story.source
    story.check()


def test_what_was_saved_and_came_back_changed_is_shown():
    with explain.recording() as story:
        x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
        with jaxvjp.autograd.graph.saved_tensors_hooks(lambda saved: saved.half(), lambda kept: kept.float() * 2):
            y = 3 * x**2
        y.sum().backward()
    assert "    y = 3 * power(x, jax.lax.stop_gradient(x.astype(jnp.float16)).astype(jnp.float32) * 2)" in story.source
    assert (
        "    _, pullback = jax.vjp(power_itself, *residuals)\n    return (*pullback(gradient), None)\n" in story.source
    )
    np.testing.assert_allclose(story.check()["x_grad"], [12.0, 24.0])
    np.testing.assert_allclose(x.grad.numpy(), [12.0, 24.0])
    with jaxvjp.autograd.graph.saved_tensors_hooks(lambda saved: saved * 2, lambda kept: kept):
        y = (x**2).sum()
    np.testing.assert_allclose(y.explain().check()["x_grad"], [4.0, 8.0])  # no backward took place
    with (
        explain.recording() as story,
        jaxvjp.autograd.graph.saved_tensors_hooks(lambda saved: saved * 2, lambda kept: kept),
    ):
        (x**2).sum().backward(create_graph=True)
    with pytest.raises(RuntimeError, match=r"a saved-tensor hook changed what PowBackward0(.|\n)*create_graph"):
        str(story)


def test_a_hook_of_a_step_is_refused():
    with explain.recording() as story:
        x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
        y = (x * x).sum()
        y.grad_fn.register_prehook(lambda gradients: (gradients[0] * 2,))
        y.backward()
    with pytest.raises(RuntimeError, match=r"a hook of the step SumBackward0(.|\n)*register_hook"):
        str(story)


def test_a_hook_of_a_functions_step_is_part_of_its_backward():
    class Doubled(jaxvjp.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = jaxvjp.tensor([1.0, -2.0], requires_grad=True)
    with jaxvjp.explain.recording() as story:
        y = Doubled.apply(x)
        y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 5,))
        (y * y).sum().backward()
    story.check()
    assert x.grad.tolist() == [40.0, -80.0]
    assert "* 5" in story.source


def gradients_that_a_none_ends(torch):
    """Of each backward the gradients: of a complex leaf, and of one with a hook."""
    found = []
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.register_hook(lambda grad: grad * 3)
    for power in (2, 3):
        (z**power * x).sum().backward(torch.tensor(1 + 1j))
        found += [z.grad.tolist(), x.grad.tolist()]
        z.grad = x.grad = None
    return found


def test_a_gradient_is_as_it_was_though_nobody_can_read_it_at_the_end():
    agree(gradients_that_a_none_ends)
    with explain.recording() as story:
        expected = gradients_that_a_none_ends(jaxvjp)
    space, seen = {}, []
    for statement in ast.parse(story.source).body:
        exec(compile(ast.Module([statement], []), "<program>", "exec"), space)
        seen += [space[name] for name in ("z_grad", "x_grad") if name in space]
    for each in expected:
        assert any(np.allclose(value, each, 1e-4) for value in seen)


def test_lbfgs_has_its_two_loops_as_a_function():
    story = run_lines("""
        x = torch.tensor([-1.5, 2.0, 0.5, 1.0], requires_grad=True)
        optimizer = torch.optim.LBFGS([x], lr=0.1, max_iter=12)

        def closure():
            optimizer.zero_grad()
            loss = ((x - 1) ** 4).sum() + (x[0] * x[1]) ** 2
            loss.backward()
            return loss

        with explain.recording() as story:
            optimizer.step(closure)
    """)["story"]
    story.check()
    assert story.source.count("two_loops(") < 8
    assert story.source.count("\n") < 100


def test_what_runs_after_a_recording_is_not_in_it():
    x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
    with jaxvjp.explain.recording() as story:
        (x**2).sum().backward()
    with jaxvjp.explain.recording() as later:
        (x * 3).sum().backward()
    x.grad.zero_()
    assert story.check()["x_grad"].tolist() == [2.0, 4.0]
    assert later.check()["x_grad"].tolist() == [5.0, 7.0]
    assert "zeros" not in str(later)


def test_operands_have_their_own_names_where_others_are_missing():
    x, b = jaxvjp.ones(2, 4, requires_grad=True), jaxvjp.ones(4, requires_grad=True)
    with jaxvjp.explain.recording() as story:
        y = jaxvjp.nn.functional.layer_norm(x, (4,), None, b)
        y, _ = jaxvjp.nn.GRU(4, 3)(y[None])
        y.sum().backward()
    text = str(story)
    assert "def layer_norm(input, bias):" in text
    assert "(input, hidden, weight_ih, weight_hh, bias_ih, bias_hh):" in text
    story.check()


def test_a_leaf_made_of_another_value_is_not_called_as_that_one_is():
    with explain.recording() as story:
        b = jaxvjp.tensor([1.0, 3.0], requires_grad=True)
        z = b.detach().requires_grad_()
        w = b.detach().clone().requires_grad_()
        a = jaxvjp.tensor([5.0, 6.0], requires_grad=True)
        (w * z * b * (b.detach().requires_grad_() ** 2)).sum().backward()
        with jaxvjp.no_grad():
            a.copy_(b)
            b.zero_()
        (a * b).sum().backward()
    for line in ("z = b  ", "w = b  ", "x = b  ", "a = b  "):
        assert f"\n{line}" in story.source
    assert {*story.check()} == {"a_grad", "b_grad", "z_grad", "w_grad"}


def test_what_a_function_does_not_compute_with_gets_its_gradient():
    class Scale(jaxvjp.autograd.Function):
        @staticmethod
        def forward(ctx, x, flat):
            ctx.save_for_backward(x)
            return x * w.detach()

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            return None, gradient * x

    w, x = jaxvjp.tensor([1.0, 2.0], requires_grad=True), jaxvjp.tensor([3.0, 4.0])
    with explain.recording() as story:
        flat = w * 1.0
        (Scale.apply(x, flat) ** 2).sum().backward()
    assert story.check()["w_grad"].tolist() == [18.0, 64.0]
    assert {*story.picture().keys} >= {w.__node__, flat.__node__}


def test_a_function_is_given_a_constant_whose_name_another_has_as_well():
    class Scale(jaxvjp.autograd.Function):
        @staticmethod
        def forward(ctx, x, c):
            ctx.save_for_backward(c)
            return x * c

        @staticmethod
        def backward(ctx, gradient):
            return gradient * ctx.saved_tensors[0], None

    def scaled():
        c = jaxvjp.tensor([1.0, 2.0])
        return lambda x: Scale.apply(x, c)

    with explain.recording() as story:
        x = jaxvjp.ones(2, requires_grad=True)
        c = jaxvjp.tensor([5.0, 7.0])
        scale = scaled()
        for _ in range(2):
            (scale(x * c) ** 2).sum().backward()
            with jaxvjp.no_grad():
                x -= 0.01 * x.grad
    np.testing.assert_allclose(story.jacobian(1)["x"], [2 * 25 * 0.5, 2 * 196 * -2.92], rtol=1e-5)


def test_what_functional_returns_has_the_users_names():
    with explain.recording() as story:
        x = jaxvjp.tensor([1.0, 2.0])
        y, g = jaxvjp.autograd.functional.vjp(lambda x: x**2 * x[0], x, jaxvjp.tensor([1.0, 10.0]))
        s, h = jaxvjp.autograd.functional.vhp(lambda x: (x**3).sum(), x, jaxvjp.ones(2))
    assert (y.tolist(), g.tolist(), s.item(), h.tolist()) == ([1.0, 4.0], [43.0, 40.0], 9.0, [6.0, 12.0])
    assert "\ny, pullback = jax.vjp(" in story.source
    assert "\n(g,) = pullback(" in story.source
    assert "\n(h,) = pullback(" in story.source
    story.check()


def test_results_of_a_call_have_the_names_of_their_places():
    def forward(x, w):
        return x.mean(), (x * w, {"unread": w + 1}), x * w * 2

    with explain.recording() as story:
        x, w = jaxvjp.tensor([1.0, 2.0]), jaxvjp.tensor([3.0, 4.0], requires_grad=True)
        _, (out, _), twice = forward(x, w)
        out.sum().backward()
        *_, last = forward(x, w)
        (last.sum() + twice.sum()).backward()
    assert "\n    out = forward" in story.source
    assert "\n    twice = forward" in story.source
    story.check()


def test_copies_of_what_is_trained_and_names_that_move_on_are_the_users():
    x, old = jaxvjp.tensor([1.0, 2.0], requires_grad=True), None
    with explain.recording() as story:
        w = jaxvjp.zeros(2)
        old = x.detach().clone()
        for _ in range(3):
            kept = x.detach().clone()
            ((x - w) ** 2).sum().backward()
            with jaxvjp.no_grad():
                x -= 0.25 * x.grad
            x.grad = None
            new = w + 0.5
            w = new
    assert "\nold = x  " in story.source
    assert re.search(r"^( *)kept = x  ", story.source, re.MULTILINE)
    assert story.source.rstrip().endswith("\nw = new")
    story.check()
    space = {}
    exec(story.source, space)
    for name, tensor in {"x": x, "old": old, "kept": kept, "w": w}.items():
        np.testing.assert_allclose(space[name], tensor.detach().numpy(), rtol=1e-6)


class Follower(jaxvjp.nn.Module):
    """A layer, and a copy of it that follows it in `forward`."""

    def __init__(self):
        super().__init__()
        self.q = jaxvjp.nn.Linear(2, 1)
        self.k = copy.deepcopy(self.q).requires_grad_(False)

    def forward(self, x):
        with jaxvjp.no_grad():
            for own, other in zip(self.k.parameters(), self.q.parameters(), strict=True):
                own.data = own.data * 0.9 + other.data * 0.1
            target = self.k(x)
        return self.q(x), target


def test_what_a_function_gives_to_data_is_there_at_the_end():
    x, net = jaxvjp.ones(4, 2), None
    with explain.recording() as story:
        net = Follower()
        optimizer = jaxvjp.optim.SGD(net.q.parameters(), lr=0.1)
        for _ in range(3):
            y, target = net(x)
            optimizer.zero_grad()
            ((y - target - 1) ** 2).mean().backward()
            optimizer.step()
    space = {}
    exec(story.source, space)
    np.testing.assert_allclose(space["net_k_weight"], net.k.weight.numpy(), rtol=1e-5)
    np.testing.assert_allclose(space["net_k_bias"], net.k.bias.numpy(), rtol=1e-5)
    story.check()


def test_a_function_that_reads_two_results_of_one_operation():
    class Eigenvalues(jaxvjp.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            values, vectors = jaxvjp.linalg.eigh(a)
            ctx.save_for_backward(vectors)
            return values

        @staticmethod
        def backward(ctx, gradient):
            (vectors,) = ctx.saved_tensors
            return vectors @ jaxvjp.diag(gradient) @ vectors.T

    with explain.recording() as story:
        m = jaxvjp.tensor([[2.0, 0.5], [0.5, 1.0]], requires_grad=True)
        (Eigenvalues.apply(m) ** 2).sum().backward()
    story.check()
