"""The printed program: its text, and that it runs and gives the same gradients."""

from __future__ import annotations

import linecache
import re
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from programs import programs

import jaxvjp

HEAD = "import jax\nimport jax.numpy as jnp\n\n"
files = iter(range(1_000_000))


def run_lines(text, **variables):
    """Runs lines as if they stood in a file, so that they have line numbers; returns the variables."""
    name = f"<lines {next(files)}>"
    text = textwrap.dedent(text).strip("\n") + "\n"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace = {"__name__": "lines", "torch": jaxvjp, "explain": jaxvjp.explain, **variables}
    exec(compile(text, name, "exec"), namespace)
    return namespace


def shown(text, **variables):
    """What is printed of `result`, or of the recording `story`, that lines come to; checked, and without its head."""
    found = run_lines(text, **variables)
    explanation = found["story"] if "story" in found else explain_in(found)
    explanation.check()
    assert str(explanation).startswith("import ")
    return str(explanation).removeprefix(HEAD).rstrip()


def explain_in(found):
    return found["e"]


def expected(text):
    """Lines, in which the gap before a comment is of any width."""
    return textwrap.dedent(text).strip("\n")


def assert_shows(printed, wanted):
    squeeze = lambda text: re.sub(r" +#", "  #", text)  # noqa: E731
    assert squeeze(printed) == squeeze(expected(wanted))


def test_inputs_a_function_and_its_pullback():
    printed = shown("""
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        w = torch.tensor([3.0, 4.0], requires_grad=True)
        h = x * w + 1
        y = 3 * h.relu() ** 2
        e = explain(y)
    """)
    assert_shows(
        printed,
        """
        x = jnp.array([1.0, 2.0])  # line 1
        w = jnp.array([3.0, 4.0])  # line 2


        def f(x, w):
            h = x * w + 1  # line 3
            return 3 * jax.nn.relu(h) ** 2  # line 4: y = 3 * h.relu() ** 2


        y, pullback = jax.vjp(f, x, w)
        gradient = jnp.ones_like(y)  # v, one number per element of y
        x_grad, w_grad = pullback(gradient)
        """,
    )


def test_a_training_loop_is_a_loop():
    printed = shown("""
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        with explain.recording() as story:
            for step in range(20):
                loss = ((w - 3) ** 2).sum()
                loss.backward()
                with torch.no_grad():
                    w -= 0.2 * w.grad
                w.grad = None
    """)
    assert_shows(
        printed,
        """
        w = jnp.array([1.0, 2.0])  # line 1


        def f(w):
            return jnp.sum((w - 3) ** 2)  # line 4: loss = ((w - 3) ** 2).sum()


        for _ in range(20):
            loss, w_grad = jax.value_and_grad(f)(w)  # line 5: loss.backward()
            w = w - 0.2 * w_grad  # line 7: w -= 0.2 * w.grad
        """,
    )


def test_an_optimizer_and_what_it_keeps_have_names_and_its_rounds_are_one_loop():
    printed = shown("""
        class SGD:
            def __init__(self, net):
                self.net = net
                self.mean = [torch.zeros_like(each) for each in net]

            def zero_grad(self):
                for each in self.net:
                    each.grad = None

            @torch.no_grad()
            def step(self):
                for p, m in zip(self.net, self.mean):
                    m.mul_(0.9).add_(p.grad)
                    p.add_(m, alpha=-0.1)

        # What a loop has left behind is no name: `each` is the last value of net.
        net = {"w": torch.tensor([1.0, 2.0], requires_grad=True), "b": torch.tensor(0.0, requires_grad=True)}
        opt = SGD([each for each in net.values()])
        for each in net.values():
            each.retain_grad()
        with explain.recording() as story:
            for epoch in range(4):
                opt.zero_grad()
                loss = (net["w"] ** 2).sum() + net["b"]  # what is behind the line is not of it
                loss.backward()
                opt.step()
    """)
    assert_shows(
        printed,
        """
        net_w = jnp.array([1.0, 2.0])  # line 17
        net_b = jnp.array(0.0)  # line 17
        opt_mean_0 = jnp.array([0.0, 0.0])  # line 4
        opt_mean_1 = jnp.array(0.0)  # line 4


        def step(net_0, net_1, mean_0, mean_1, net_w_grad, net_b_grad):
            mean_0 = mean_0 * 0.9 + net_w_grad  # line 13: m.mul_(0.9).add_(p.grad)
            net_0 = net_0 - 0.1 * mean_0  # line 14: p.add_(m, alpha=-0.1)
            mean_1 = mean_1 * 0.9 + net_b_grad  # line 13: m.mul_(0.9).add_(p.grad)
            net_1 = net_1 - 0.1 * mean_1  # line 14: p.add_(m, alpha=-0.1)
            return mean_0, mean_1, net_0, net_1


        def f(net_w, net_b):
            return jnp.sum(net_w ** 2) + net_b  # line 24: loss = (net["w"] ** 2).sum() + net["b"]


        for _ in range(4):
            loss, (net_w_grad, net_b_grad) = jax.value_and_grad(f, argnums=(0, 1))(net_w, net_b)  # line 25: loss.backward()
            # line 26: opt.step()
            opt_mean_0, opt_mean_1, net_w, net_b = step(net_w, net_b, opt_mean_0, opt_mean_1, net_w_grad, net_b_grad)
        """,  # noqa: E501
    )


def test_accumulation_keeping_freeing_and_zeroing():
    printed = shown("""
        with explain.recording() as story:
            a = torch.tensor(1.0, requires_grad=True)
            y = 3 * a ** 2
            y.backward(retain_graph=True)
            y.backward()
            a.grad.zero_()
            (2 * a).backward()
    """)
    assert_shows(
        printed,
        """
        a = jnp.array(1.0)  # line 2


        def f(a):
            return 3 * a ** 2  # line 3: y = 3 * a ** 2


        def f_2(a):
            return 2 * a


        y, pullback = jax.vjp(f, a)  # line 4: y.backward(retain_graph=True)
        (a_grad,) = pullback(jnp.ones_like(y))  # line 4
        (da,) = pullback(jnp.ones_like(y))  # line 5: y.backward()
        a_grad = a_grad + da  # line 5
        del pullback  # line 5; retain_graph is off: freed
        a_grad = jnp.zeros_like(a_grad)  # line 6: a.grad.zero_()
        a_grad = a_grad + jax.grad(f_2)(a)  # line 7: (2 * a).backward()
        """,
    )


def test_a_second_derivative_is_a_gradient_of_a_gradient():
    printed = shown("""
        with explain.recording() as story:
            x = torch.tensor([1.0, -2.0], requires_grad=True)
            y = x.pow(3).sum()
            (first,) = torch.autograd.grad(y, x, create_graph=True)
            (second,) = torch.autograd.grad(first, x, torch.ones(2))
    """)
    assert "    return jax.grad(f)(x)" in printed
    assert "\n(first,)" not in printed  # which is gone back through, and is no result
    assert "(second,) = pullback(jnp.array([1.0, 1.0]))" in printed


def test_a_hook_is_a_line_between_two_pullbacks():
    printed = shown("""
        with explain.recording() as story:
            x = torch.tensor([1.0, 2.0], requires_grad=True)
            h = x * 3
            h.register_hook(lambda g: g * 10)
            y = (h ** 2).sum()
            y.backward()
    """)
    lines = [line.partition("  #")[0].rstrip() for line in printed.splitlines()]
    assert lines[-4:] == [
        "h, pullback = jax.vjp(f, x)",
        "y, h_grad = jax.value_and_grad(f_2)(h)",
        "h_grad = h_grad * 10",
        "(x_grad,) = pullback(h_grad)",
    ]


def test_a_function_is_a_custom_vjp():
    found = run_lines("""
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, grad_output):
                (x,) = ctx.saved_tensors
                return grad_output * 2 * x

        x = torch.tensor([1.0, 2.0], requires_grad=True)
        e = explain(Square.apply(x) * 3)
    """)
    explanation = found["e"]
    explanation.check()
    for part in (
        "@jax.custom_vjp\ndef square(x):\n    return x * x\n",
        "def square_forward(x):\n    return x * x, x\n",
        "def square_backward(x, grad_output):\n    return (grad_output * 2 * x,)\n",
        "square.defvjp(square_forward, square_backward)\n",
        "    return square(x) * 3",
    ):
        assert part in str(explanation)


def test_writes_detached_values_and_no_grad():
    printed = shown("""
        x = torch.tensor([3.0, 2.0, 1.0], requires_grad=True)
        loss = torch.empty(2)
        loss[0] = x[0] ** 2
        loss[1] = (x[1:] * x.detach()[1:]).sum()
        with torch.no_grad():
            scale = x.sum()
        y = loss * scale
        e = explain(y)
    """)
    for line in (
        "    loss = loss.at[0].set(x[0] ** 2)",
        "    loss = loss.at[1].set(jnp.sum(x[1:3] * jax.lax.stop_gradient(x)[1:3]))",
        "    scale = jax.lax.stop_gradient(jnp.sum(x))",
        "    return loss * scale",
    ):
        assert line in printed


def test_what_is_written_loses_leading_dimensions_of_one():
    printed = shown("""
        x = torch.ones(1, requires_grad=True)
        rows = torch.zeros(2, 2)
        rows[0, 1] = x * 2
        rows[1] = x.reshape(1, 1, 1) * 3
        e = explain(rows)
    """)
    assert "rows = rows.at[0, 1].set((x * 2).reshape(()))" in printed


def test_a_chain_of_cuts_is_one_index_and_a_write_of_what_is_there_is_none():
    printed = shown("""
        x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
        y = x * 2
        y[0, 1:] = x[1, :2] * 3
        y[:, 0] += 1
        e = explain(y)
    """)
    assert "y = y.at[0, 1:3].set(x[1, :2] * 3)" in printed
    assert "return y.at[:, 0].set(y[:, 0] + 1)" in printed
    assert printed.count(".at[") == 2


def test_loops_are_rolled_as_far_as_they_repeat():
    printed = shown("""
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x * 2
        while y.detach().norm() < 1000:
            y = y * 2
        e = explain(y)
    """)
    assert "    for _ in range(8):\n        y = y * 2" in printed


def body(lines):
    """The body of the function that is printed of the y that lines come to, without comments."""
    start = "x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)\n"
    printed = shown(f"{start}{textwrap.dedent(lines)}\ne = explain(y)")
    inside = printed.partition("def f(x):\n")[2].partition("\n\n")[0].replace("    return ", "    y = ")
    inside = inside.removesuffix("\n    y = y")
    return textwrap.dedent("\n".join(line.partition("  #")[0].rstrip() for line in inside.splitlines())).strip()


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (
            "y = x\nfor i in range(4):\n    y = y * x[i] + i",
            "y = x\nfor i in range(4):\n    y = y * x[i] + i",
        ),
        (
            "y = x.sum()\nfor k in range(1, 4):\n    y = (y + x[k] * (k + 1)).sin()",
            "y = jnp.sum(x)\nfor k in range(1, 4):\n    y = jnp.sin(y + x[k] * (k + 1))",
        ),
        (
            "y = torch.zeros(4)\nfor i in range(4):\n    y[i] = x[3 - i] * 2.0",
            "y = jnp.zeros(4)\nfor i in range(4):\n    y = y.at[i].set(x[3 - i] * 2.0)",
        ),
        (
            "y = x\nfor scale in (0.1, 0.5, 0.25):\n    y = y * scale + x",
            "y = x\nfor scale in (0.1, 0.5, 0.25):\n    y = y * scale + x",
        ),
        (
            "y = x\nfor i, w in enumerate([0.1, 0.5, 0.25]):\n    y = y * w - x[i]",
            "y = x\nfor i, w in enumerate((0.1, 0.5, 0.25)):\n    y = y * w - x[i]",
        ),
        (
            "y = x\nfor i in range(3):\n    for j in range(4):\n        y = y * x[j] + i",
            "y = x\nfor i in range(3):\n    for j in range(4):\n        y = y * x[j] + i",
        ),
        (  # of two variables the one that held these values, and none that is not known to have held them
            "y = x\nfor k, scale in zip((1.0, 2.0, 3.0), (0.1, 0.5, 0.25)):\n    y = y * scale + x",
            "y = x\nfor scale in (0.1, 0.5, 0.25):\n    y = y * scale + x",
        ),
        (
            "y, rate = x, 0.5\nfor epoch in range(3):\n    y = y * rate + x\n    rate = rate * rate",
            "y = x\nfor number in (0.5, 0.25, 0.0625):\n    y = y * number + x",
        ),
        (
            "y = x\nfor epoch in (0.1, 0.09, 0.3):\n    for k in range(1):\n        y = y + epoch * 2 * x",
            "y = x\nfor number in (0.2, 0.18, 0.6):\n    y = y + number * x",
        ),
        (  # the name of the loop's variable is another value's here
            "i = x * 2\ny = i\nfor j in range(3):\n    y = y * i[j]",
            "i = x * 2\ny = i\nfor j in range(3):\n    y = y * i[j]",
        ),
        (  # and the innermost loop's
            "y = x\nfor step in range(4):\n    for part in x:\n        y = y * part",
            "y = x\nfor _ in range(4):\n    for i in range(4):\n        part = x[i]\n        y = y * part",
        ),
        (  # what a person has written line by line stays so
            "y = x * x[0]\ny = y * x[1]\ny = y * x[2]\ny = y * x[3]",
            "y = x * x[0]\ny = y * x[1]\ny = y * x[2]\ny = y * x[3]",
        ),
        (
            "y = x\nfor i in range(2):\n    y = y * x[i]",
            "y = x * x[0]\ny = y * x[1]",
        ),
    ],
)
def test_rounds_that_differ_in_numbers_are_a_loop_as_a_person_would_write_it(lines, wanted):
    assert body(lines) == wanted


def test_batches_of_a_loader_are_rows_of_one_array():
    printed = shown("""
        torch.manual_seed(0)
        data = [(torch.full((3,), float(k)), k) for k in range(12)]
        loader = torch.utils.data.DataLoader(data, batch_size=4, shuffle=True)
        w = torch.ones(3, requires_grad=True)
        with explain.recording() as e:
            for i, (x, k) in enumerate(loader):
                (x @ w * k).sum().backward()
                with torch.no_grad():
                    w -= 0.1 * w.grad
                w.grad = None
    """)
    assert "for i in range(3):\n    x = xs[i]" in printed
    assert "    k = ks[i]" in printed


def test_a_list_that_is_appended_to_inside_and_outside_of_a_gradient():
    run_lines("""
        w, seen = torch.ones(2, requires_grad=True), []
        def f(x):
            h = (x * w).relu()
            seen.append(h.detach().mean())
            return h
        with explain.recording() as story:
            for epoch in range(4):
                for k in range(3):
                    f(torch.ones(2)).sum().backward()
                with torch.no_grad():
                    f(torch.ones(2))
    """)["story"].check()


def test_what_a_cached_property_computes_is_of_the_users_line():
    printed = shown("""
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        odds = torch.distributions.Categorical(logits=x)
        y = odds.probs * x
        e = explain(y)
    """)
    assert "functools" not in printed


def test_gradients_that_a_loop_adds_up_begin_at_zeros():
    printed = shown("""
        x = torch.tensor(1.0, requires_grad=True)
        with explain.recording() as story:
            y = x ** 2
            for v in (1.0, 10.0, 100.0, 1000.0):
                y.backward(torch.tensor(v), retain_graph=True)
    """)
    lines = [line.partition("  #")[0].rstrip() for line in printed.splitlines()]
    assert lines[-5:] == [
        "x_grad = jnp.zeros_like(x)",
        "y, pullback = jax.vjp(f, x)",
        "for v in (1.0, 10.0, 100.0, 1000.0):",
        "    (dx,) = pullback(jnp.array(v))",
        "    x_grad = x_grad + dx",
    ]


def test_functions_within_an_operation_are_functions_and_the_fastest_way_is_not_said():
    torch = jaxvjp
    x = torch.randn(3, 4, requires_grad=True)
    scores = torch.randn(5, 2, 4, requires_grad=True)
    image, weight = torch.randn(1, 4, 5, 5), torch.randn(4, 1, 3, 3, requires_grad=True)
    spelled = torch.tensor([[1, 2], [2, 1]])
    for result, parts in (
        (x.mode(1)[0], ["jnp.vectorize(lambda row: jnp.searchsorted(row, row), signature='(n)->(n)')(values)"]),
        (x.cummax(1)[0], ["\n    def later(a, b):\n", "jax.lax.associative_scan(later, ("]),
        (
            torch.nn.functional.ctc_loss(scores.log_softmax(-1), spelled, (5, 4), (2, 1)),
            [
                "\n    def step(alpha, frame):\n        time, scores = frame\n",
                "@jax.jit\ndef ctc_loss",
                "final, _ = jax.lax.scan(step, start",
            ],
        ),
        (
            torch.nn.functional.conv2d(image, weight, groups=4),
            ["jax.lax.conv_general_dilated(image, weight, ", "feature_group_count=4)"],
        ),
        (torch.nn.functional.conv_transpose2d(image, weight, groups=2), ["feature_group_count=2)"]),
    ):
        explanation = result.explain()
        explanation.check(rtol=1e-4)
        for each in parts:
            assert each in explanation.source


def test_what_was_walked_back_before_is_shown_as_well():
    x, v = jaxvjp.tensor([1.0, 2.0], requires_grad=True), jaxvjp.tensor([1.0, 10.0])
    (3 * x**2).backward(v)
    with jaxvjp.explain.recording() as story:
        y = 3 * x**2
        y.backward(v)
    assert "x_grad = jnp.array([6.0, 120.0]) + dx" in story.source
    story.check()


def test_what_a_transform_returns_has_the_name_that_it_was_given():
    printed = shown("""
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        with explain.recording() as story:
            value, slope = torch.func.jvp(lambda a: a.sin() * a, (x,), (torch.ones(2),))
            first = torch.autograd.grad(value.sum(), [x], create_graph=True)[0]
            first.sum().backward()
    """)
    assert "slope = jax.jvp(" in printed
    assert "    (first,) = pullback(" in printed


def test_names_that_are_still_needed_are_not_taken():
    printed = shown("""
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x * 2
        old = y
        y = y + 1
        y = y * old
        e = explain(y)
    """)
    assert "y_2 = y + 1" in printed
    assert "return y_2 * y" in printed


def test_64_bit_types_are_said_and_leave_nothing_behind():
    before = jax.config.jax_enable_x64
    printed = shown("""
        x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        e = explain((x * x[torch.tensor([1, 0])]).sum())
    """)
    assert 'jax.config.update("jax_enable_x64", True)' in printed
    assert "dtype=jnp.float64" in printed
    assert jax.config.jax_enable_x64 == before


@pytest.mark.parametrize("wide", [False, True])
def test_running_sets_nothing_of_jax_for_other_threads_or_for_good(wide, monkeypatch):
    """Neither within a thread's own setting, which is not the process's, nor without."""
    said, kept = [], dict(jax.config.values)
    monkeypatch.setattr(jax.config, "update", lambda *setting: said.append(setting))
    x = jaxvjp.tensor([1.0, 2.0], dtype=jaxvjp.float64, requires_grad=True)
    with jax.enable_x64(wide):
        found = (x * x).sum().explain().check()
        assert jnp.arange(2.0).dtype == (jnp.float64 if wide else jnp.float32)
    assert found["x_grad"].dtype == jnp.float64
    assert not said
    assert dict(jax.config.values) == kept


def test_arrays_without_a_name_have_names_of_their_own():
    x = jaxvjp.ones(3, 4, 5, requires_grad=True)
    count = (x.new_tensor(range(1, 61), dtype=jaxvjp.int64) % 7).reshape(3, 4, 5).sum((0,), True)
    explanation = (x.sum(0) / count.reshape((4, 5))).explain(jaxvjp.tensor([[1.0, 2.0, 3.0, 4.0, 6.0]] * 4))
    assert "data_2" in explanation.source
    explanation.check()


def test_it_is_said_where_a_style_has_no_form():
    lines = """
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        with explain.recording("jacrev") as story:
            y = 3 * x ** 2
            y.backward(torch.tensor([1.0, 0.0]), retain_graph=True)
            {}
    """
    for more, said in (("pass", False), ("y.backward(torch.tensor([0.0, 1.0]))", True)):
        story = run_lines(lines.format(more))["story"]
        assert ('jax.vjp stands where style="jacrev" has no form' in str(story)) is said


@pytest.mark.parametrize("style", ["grad", "jacrev"])
def test_other_styles_give_the_same(style):
    x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
    w = jaxvjp.tensor([3.0, 4.0], requires_grad=True)
    for y in ((x * w).sum(), x * w.sum()):
        explanation = y.explain(style=style)
        found, plain = explanation.check(), y.explain().check()
        assert {"grad": "jax.value_and_grad(f, " if y.ndim == 0 else "jax.vjp(", "jacrev": "jax.jacrev(f, "}[
            style
        ] in explanation.source
        for name, value in plain.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-6)


@settings(max_examples=20, deadline=None)
@given(programs())
def test_any_program(lines):
    """Prints, runs and checks a program made at random, alone and with a backward of it recorded."""
    start = "x = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], requires_grad=True)\n"
    start += "w = torch.tensor([[1.0, 2.0, -0.5], [0.3, -1.5, 1.0]], requires_grad=True)\n"
    run_lines(f"{start}{lines}\ne = explain(y)")["e"].check()
    recorded = "\n".join(f"    {line}" for line in lines.splitlines())
    run_lines(f"{start}with explain.recording() as story:\n{recorded}\n    y.sum().backward()")["story"].check()


def test_it_needs_nothing_but_jax(tmp_path):
    x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
    source = (x.norm() + x.clamp(0.5, 1.5).sum() + x.pow(2.5).sum()).explain().source
    assert "jaxvjp" not in re.sub("#.*", "", source)
    assert "jax._src" not in source
    namespace = {}
    exec(source, namespace)
    assert namespace["x_grad"].dtype == jnp.float32


def test_two_leaves_that_begin_alike_are_two_arguments():
    story = run_lines("""
        leaves = [torch.zeros(2, requires_grad=True) for _ in range(3)]
        with explain.recording() as story:
            loss = sum(((each - place) ** 2).sum() for place, each in enumerate(leaves))
            loss.backward()
    """)["story"]
    story.check()
    assert "argnums=(0, 1, 2)" in story.source


@pytest.mark.parametrize("dtype", ["int64", "uint8"])
def test_shifts_and_integers_that_need_64_bits(dtype):
    torch = jaxvjp
    w = torch.ones(2, requires_grad=True)
    whole = torch.tensor([1, 2], dtype=getattr(torch, dtype))
    shifted = (w * ((whole << 3) >> 1).float()).sum().explain()
    shifted.check()
    assert "jax_enable_x64" not in shifted.source
    large = (w * ((torch.tensor([3_000_000_000, 5]) * whole) % 97).float()).sum().explain()
    large.check()
    assert "jax_enable_x64" in large.source
