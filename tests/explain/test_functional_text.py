"""What is printed is functional: what varies is an argument, state comes back, and `check` compares all of it."""

from __future__ import annotations

import numpy as np
import pytest
from test_source import run_lines

import jaxvjp
from jaxvjp.explain.apart import run_apart

DATA = """
inputs = torch.tensor([[1.0, 2.0], [-1.0, 0.5], [0.3, -2.0]])
targets = torch.tensor([1.0, 0.3, -1.0])
w = torch.tensor([0.5, -0.5], requires_grad=True)
"""
UPDATE = """
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
"""


def recorded(lines, before=DATA, after="    loss.backward()" + UPDATE):
    """A recording of a loop's lines, each round of which ends in an update."""
    inside = "\n".join(f"    {each}" for each in f"{lines.strip(chr(10))}\n{after}".splitlines())
    return run_lines(f"{before}with explain.recording() as story:\n{inside}\n")


def test_what_a_loop_assigns_anew_is_an_argument():
    found = recorded("for i in range(3):\n    x, y = inputs[i], targets[i]\n    loss = ((x * w).sum() - y) ** 2")
    story = found["story"]
    assert "def f(w, x, y):" in story.source
    assert "loss, w_grad = jax.value_and_grad(f)(w, x, y)" in story.source
    story.check()
    plain, staged = run_apart(story.source, ["w", "loss"])
    for each in (plain, staged):
        np.testing.assert_allclose(each["w"], found["w"].detach().numpy(), rtol=1e-6)
        np.testing.assert_allclose(each["loss"], found["loss"].detach().numpy(), rtol=1e-5)


def test_batches_in_a_list_are_arguments_of_one_function():
    before = f"{DATA}data = [(each, targets[0].clone()) for each in inputs.clone()]"
    story = recorded("for x, y in data:\n    loss = ((x * w).sum() - y) ** 2", f"{before}\n")["story"]
    assert story.source.count("def f") == 1
    assert story.source.count("loss, w_grad = jax.value_and_grad(f)(w, ") == 3
    story.check()


def test_transforms_are_those_of_the_users_functions():
    made = run_lines("""
from jaxvjp.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap
def squares(w, p):
    return (p * w) ** 2
def total(w, p):
    return squares(w, p).sum()
w, p, rows = torch.tensor([0.5, -1.0]), torch.tensor([1.0, 2.0]), torch.tensor([[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]])
with explain.recording() as story:
    each = vmap(grad(total), in_dims=(None, 0))(w, rows)
    both = vmap(grad(total, argnums=(0, 1)), in_dims=(None, 0))(w, rows)
    curved = hessian(total)(w, p)
    turned = jacrev(grad(total))(w, p)
    sloped = jacfwd(squares, argnums=1)(w, p)
    second = hessian(total, argnums=1)(w, p)
    mixed = jacfwd(grad(total), argnums=1)(w, p)
    plain = vmap(lambda row: total(w, row))(rows)
    batched = vmap(hessian(total), in_dims=(None, 0))(w, rows)
    mean = grad(lambda w: vmap(total, (None, 0))(w, rows).mean())(w)
    product = jvp(lambda w: grad(total)(w, p), (w,), (p,))[1]
    pulled = vjp(squares, w, p)[1](p)
    def whole(w, point):
        return total(w, point.unsqueeze(0) * 2)
    def all_of(w):
        return (vmap(grad(whole), in_dims=(None, 0))(w, rows) ** 2).sum()
    computed = vmap(grad(whole), in_dims=(None, 0))(w, rows)
    nested = grad(all_of)(w)
""")
    story = made["story"]
    for line in (
        "each = jax.vmap(jax.grad(total), in_axes=(None, 0))(w, rows)",
        "jax.vmap(jax.grad(total, argnums=(0, 1)), in_axes=(None, 0))(w, rows)",
        "curved = jax.hessian(total)(w, p)",
        "turned = jax.jacrev(jax.grad(total))(w, p)",
        "sloped = jax.jacfwd(squares, argnums=1)(w, p)",
        "second = jax.hessian(total, argnums=1)(w, p)",
        "mixed = jax.jacfwd(jax.grad(total), argnums=1)(w, p)",
        "plain = jax.vmap(total, in_axes=(None, 0))(w, rows)",
        "batched = jax.vmap(jax.hessian(total), in_axes=(None, 0))(w, rows)",
        "product = jax.jvp(lambda w: jax.grad(total)(w, p), (w,), (p,))[1]",
        "jax.vjp(squares, w, p)",
        "computed = jax.vmap(jax.grad(whole), in_axes=(None, 0))(w, rows)",
        "def whole(w, point):",
        "nested = jax.grad(all_of)(w, rows)",
        "def all_of(w, rows):",
    ):
        assert line in story.source, line
    story.check()
    names = [
        "each",
        "curved",
        "turned",
        "sloped",
        "plain",
        "batched",
        "mean",
        "product",
        "computed",
        "nested",
        "second",
        "mixed",
    ]
    for found in run_apart(story.source, names):
        for name in names:
            np.testing.assert_allclose(found[name], made[name].numpy(), rtol=1e-6)


def test_a_constant_that_is_assigned_once_is_read_from_outside():
    story = recorded("for _ in range(3):\n    loss = ((inputs @ w - targets) ** 2).mean()")["story"]
    assert "def f(w):" in story.source
    assert "for _ in range(3):\n    loss, w_grad = jax.value_and_grad(f)(w)" in story.source
    story.check()


def test_state_that_is_written_in_place_comes_back():
    lines = """
mean = torch.zeros(3)
for _ in range(3):
    h = inputs @ w
    with torch.no_grad():
        mean.mul_(0.9).add_(0.1 * h)
    loss = ((h - mean) ** 2).sum()
"""
    story = recorded(lines)["story"]
    assert "return loss, mean" in story.source
    assert "(loss, mean), w_grad = jax.value_and_grad(f, has_aux=True)(w, mean)" in story.source
    assert "mean" in [text for text, _ in story.program.state]
    story.check()


def test_state_that_is_carried_on_comes_back_in_every_style():
    lines = "h = torch.zeros(2)\nfor x in inputs:\n    h = torch.tanh(h.detach() * w + x)\n    loss = (h**2).sum()"
    for style, wanted in (
        ("vjp", "h = jax.vjp("),
        ("grad", "(loss, h), w_grad = jax.value_and_grad(f, has_aux=True)("),
    ):
        found = recorded(lines)
        explanation = jaxvjp.explain.Explanation(found["story"].story, style)
        assert wanted in explanation.source
        explanation.check()
    with jaxvjp.explain.recording("jacrev") as story:
        w = jaxvjp.tensor([0.5, -0.5], requires_grad=True)
        h = jaxvjp.zeros(2)
        for _ in range(2):
            h = jaxvjp.tanh(h.detach() + w)
            loss = (h**2).sum()
            loss.backward()
    assert " = f(w, h)" in story.source
    assert "jax.jacrev(f, has_aux=True)(w, h)[0]" in story.source
    story.check()


def test_the_last_update_of_a_training_inside_a_function_is_shown():
    story = run_lines("""
        def train():
            w = torch.tensor([0.5, -0.5], requires_grad=True)
            for _ in range(3):
                ((w - 3) ** 2).sum().backward()
                with torch.no_grad():
                    w -= 0.1 * w.grad
                    w.grad = None
            return float(w.sum())

        with explain.recording() as story:
            train()
    """)["story"]
    assert "for _ in range(3):" in story.source
    assert [text for text, _ in story.program.state] == ["w"]
    story.check()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("w = w - 0.1", "w: "),  # the parameters at the end
        ("loss, w_grad", "loss: "),  # the losses
        ("mean = ", "mean: "),  # a buffer
    ],
)
def test_a_program_that_is_wrong_in_anything_is_found_out(change, what):
    lines = "mean = torch.zeros(2)\nfor _ in range(2):\n    mean = 0.5 * mean + w.detach()\n    loss = (w**2).sum()"
    explanation = recorded(lines)["story"]
    explanation.check()
    program = explanation.program
    wrong = program.source + {"w": "w = w + 0.01\n", "l": "loss = loss + 0.01\n", "m": "mean = mean * 2\n"}[what[0]]
    assert change in program.source
    explanation._programs["grad"] = program._replace(source=wrong)
    with pytest.raises(AssertionError, match=what):
        explanation.check()


def test_a_program_that_only_runs_here_or_not_under_jit_is_found_out():
    x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
    explanation = (x * x).sum().explain()
    program = explanation.program
    explanation._programs["vjp"] = program._replace(source=f"import jaxvjp.explain\nassert not_here\n{program.source}")
    with pytest.raises(RuntimeError, match="does not run by itself:"):
        explanation.check()
    counting = (
        "seen = []\ndef g(x):\n    seen.append(x)\n    return len(seen)\ng(1.0)\nx_grad = x_grad * (g(1.0) - 1)\n"
    )
    explanation._programs["vjp"] = program._replace(source=program.source + counting)
    with pytest.raises(AssertionError, match=r"x_grad under jax\.jit"):
        explanation.check()


def test_tolerances_are_those_of_the_dtype():
    torch = jaxvjp
    torch.manual_seed(0)
    q, k, v = [torch.randn(16, 16, requires_grad=True) for _ in range(3)]
    for dtype in (torch.float32, torch.bfloat16):
        x = torch.randn(32, 16).to(dtype)
        scores = (x @ q.to(dtype)) @ (x @ k.to(dtype)).t() / 64
        explanation = ((scores.softmax(-1) @ (x @ v.to(dtype))) ** 2).mean().explain()
        explanation.check()
        with pytest.raises(AssertionError):
            explanation.check(rtol=0, atol=0)


def test_a_name_of_a_value_with_several_rows_is_assigned_anew_in_a_function():
    story = run_lines("""
        w = torch.tensor([[1.0, 2.0], [3.0, -1.0]], requires_grad=True)
        x = torch.tensor([[0.12345, 1.23456], [2.34567, 3.45678], [4.56789, 5.67891], [0.98765, 8.76543], [1.5, 2.5]])

        def net(x):
            x = x @ w
            x = x + w.sum(0)
            return x.tanh().sum()

        with explain.recording() as story:
            loss = net(x)
            loss.backward()
    """)["story"]
    assert "def net(w, x):\n    x = x @ w" in story.source
    story.check()


def test_a_gradient_keeps_its_name():
    story = run_lines("""
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        with explain.recording() as story:
            (x ** 2).sum().backward()
            first = x.grad
            x.grad = None
            (x ** 3).sum().backward()
    """)["story"]
    assert "first = jax.grad(f)(x)" in story.source
    assert list(story.check()) == ["x_grad"]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("out, g = vjp(lambda x: x ** 2, x, torch.tensor([1.0, 0.0]))", "(g,) = pullback(jnp.array([1.0, 0.0]))"),
        (
            "out, g = vjp(lambda x: (x ** 2, x.sin()), x, (torch.tensor([1.0, 0.0]), torch.tensor([1.0, 5.0])))",
            "(g,) = pullback((jnp.array([1.0, 0.0]), jnp.array([1.0, 5.0])))",
        ),
        ("J = jacobian(lambda x, y: x * y, (x, y))", "J_0, J_1 = jax.vmap(pullback)(jnp.eye(2, dtype=jnp.float32))"),
        (
            "J = jacobian(lambda x, y: (x * y, x + y), (x, y))",
            "J_1_0, J_1_1 = jax.vmap(pullback)(jnp.eye(2, dtype=jnp.float32))",
        ),
    ],
)
def test_what_a_pass_is_given_and_gives_has_its_own_name(line, wanted):
    story = run_lines(f"""
        from jaxvjp.autograd.functional import jacobian, vjp
        x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 2.0])
        with explain.recording() as story:
            {line}
    """)["story"]
    assert wanted in [each.partition("  # ")[0].rstrip() for each in story.source.splitlines()]
    assert "_grad" not in story.source
    story.check()


def test_a_short_function_of_the_users_is_transformed_by_its_name():
    story = run_lines("""
        from jaxvjp.func import jacrev, vjp
        def f(x):
            return 3 * x ** 2
        x = torch.tensor([1.0, 2.0])
        with explain.recording() as story:
            y, pullback = vjp(f, x)
            print(pullback(torch.tensor([1.0, 10.0])))
            J = jacrev(f)(x)
    """)["story"]
    assert "\n\ndef f(x):\n    return 3 * x ** 2\n\n" in story.source
    assert "\ny, pullback = jax.vjp(f, x)  " in story.source
    assert "\nJ = jax.jacrev(f)(x)  " in story.source
    assert "lambda" not in story.source
    story.check()


def test_what_grad_gave_to_print_has_not_the_name_of_the_leafs_gradient():
    made = run_lines("""
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        with explain.recording() as story:
            y = 3 * x**2
            print(torch.autograd.grad(y, x, torch.tensor([1.0, 0.0]), retain_graph=True))
            y.backward(torch.tensor([1.0, 10.0]))
    """)
    assert "(x_gradient,) = pullback(jnp.array([1.0, 0.0]))" in made["story"].source
    assert made["story"].check()["x_grad"].tolist() == [6, 120]


def test_a_result_has_the_name_that_it_has_where_backward_is_called():
    """Not that of the variable in the function which returned it."""
    story = run_lines("""
        a = torch.tensor([2.0, -1.0], requires_grad=True)
        m = torch.tensor([[1.0, 2.0], [0.5, -1.0]], requires_grad=True)
        def layer(x):
            for k in range(3):
                x = torch.relu(m @ x + 0.1 * k)
            return x
        with explain.recording() as story:
            out = layer(a)
            out.backward(torch.tensor([1.0, 3.0]))
    """)["story"]
    assert "out, pullback = jax.vjp(layer, a, m)" in str(story)
    story.check()


def test_running_statistics_come_back():
    made = run_lines("""
torch.manual_seed(0)
net, x = torch.nn.BatchNorm1d(2), torch.randn(4, 2)
with explain.recording() as story:
    for _ in range(3):
        loss = net(x).square().sum() * net.weight.sum()
        loss.backward()
        with torch.no_grad():
            net.weight -= 0.1 * net.weight.grad
        net.weight.grad = None
""")
    made["story"].check()
    found = run_apart(made["story"].source, ["net_running_mean", "net_running_var", "net_num_batches_tracked"])
    for each in found:
        for name in each:
            expected = getattr(made["net"], name.removeprefix("net_"))
            np.testing.assert_allclose(each[name], expected.numpy(), rtol=1e-5)


def test_what_a_backward_prints_is_of_its_pass():
    story = run_lines("""
        class Exp(torch.autograd.Function):
            @staticmethod
            def forward(ctx, i):
                result = i.exp()
                ctx.save_for_backward(result)
                return result
            @staticmethod
            def backward(ctx, grad_output):
                (result,) = ctx.saved_tensors
                print(grad_output, 2 * grad_output)
                return grad_output * result
        class Both(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a, b):
                ctx.save_for_backward(a, b)
                return a * b, a - b
            @staticmethod
            def backward(ctx, g1, g2):
                a, b = ctx.saved_tensors
                return g1 * b + g2, g1 * a - g2
        x, w = torch.tensor([0.0, 1.0], requires_grad=True), torch.tensor([2.0, 3.0], requires_grad=True)
        with explain.recording() as story:
            p, q = Both.apply(Exp.apply(x), w)
            loss = p.sum() + (q ** 2).sum()
            loss.backward()
    """)["story"]
    assert "printed" not in story.source
    assert "\nloss, (x_grad, w_grad) = jax.value_and_grad(f, argnums=(0, 1))(x, w)  " in story.source
    story.check()
