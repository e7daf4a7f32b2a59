"""The user's functions stay functions by their names, and are called where they were called."""

from __future__ import annotations

import sys
import textwrap
import weakref

import pytest
from test_source import run_lines

import jaxvjp

PROGRAMS = {
    "one inside another, with a default": (
        """
        def outer(x, k=2.0):
            def inner(z):
                return torch.sin(z) * k + z
            return inner(x) + inner(x * 2)

        y = outer(x).sum()
        y.backward()
        """,
        "def inner(z):\n    return jnp.sin(z) * 2.0 + z\n",
        "def outer(x):\n    return inner(x) + inner(x * 2)\n",
        "jnp.sum(outer(x))",
    ),
    "variables with the names of operations that are functions, and of functions": (
        """
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2
            @staticmethod
            def backward(ctx, g):
                return g * 3

        def sort(x):
            double = Double.apply(x)
            return double / (x.logcumsumexp(0) + 1)

        w = torch.tensor([0.5, -0.5], requires_grad=True)
        for step in range(3):
            double = Double.apply(w)
            logcumsumexp = double.logcumsumexp(0)
            sort_ = sort(sort(logcumsumexp * w))
            y = sort_.sum()
            y.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
            w.grad = None
        """,
        "double = double_2(x) ",
        "logcumsumexp = logcumsumexp_2(double) ",
        "sort(sort(",
    ),
    "what a custom function calls, in loops, and a gradient in its backward": (
        """
        def euler(f, y):
            t = 0.0
            for _ in range(5):
                y = y + 0.1 * f(y + t)
                t = t + 0.1
            return y

        class Adjoint(torch.autograd.Function):
            @staticmethod
            def forward(ctx, y, w):
                ctx.save_for_backward(y, w)
                return euler(lambda y: torch.tanh(y * w), y)

            @staticmethod
            def backward(ctx, grad):
                y, w = ctx.saved_tensors

                def slope(state):
                    with torch.enable_grad():
                        own = y.detach().requires_grad_()
                        (g,) = torch.autograd.grad(torch.tanh(own * w), own, state)
                    return g

                return euler(slope, grad), grad.sum() * w

        w = torch.tensor(0.5, requires_grad=True)
        z = (Adjoint.apply(x, w) ** 2).sum()
        z.backward()
        """,
        "    for number in (0.1, 0.2, 0.3, 0.4):\n        y = y + 0.1 * slope(",
        "def adjoint(y, w):\n    return adjoint_forward(y, w)[0]\n",
        "    y, w = residuals\n    return euler(grad, y, w), jnp.sum(grad) * w\n",
        "\n\n\nz, (x_grad, w_grad) = jax.value_and_grad(",
    ),
    "what draws in each round": (
        """
        rows = torch.tensor([[1.0, 2.0], [0.5, -1.0]])
        w = torch.zeros(2, requires_grad=True)
        def noisy(x):
            noise = torch.randn(2)
            h = (x @ w + noise).tanh()
            return (h * h).mean() + h.sum()
        for step in range(4):
            z = ((rows @ w - 1) ** 2).mean()
            z.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
                w.grad = None
                test = noisy(rows)
            print(test.item())
        """,
        "def noisy(x, w, noise):\n",
        "    test = noisy(rows, w, noises[i])",
    ),
    "a class with methods, in a loop": (
        """
        class Net:
            def __init__(self):
                self.w = torch.tensor([[0.1, 0.2], [0.3, -0.4]], requires_grad=True)
            def hidden(self, x):
                h = x @ self.w
                return torch.tanh(h)
            def __call__(self, x):
                h = self.hidden(x)
                return self.hidden(h)

        net = Net()
        for step in range(3):
            loss = (net(x) - 1).square().sum()
            loss.backward()
            with torch.no_grad():
                net.w -= 0.1 * net.w.grad
            net.w.grad = None
        """,
        "def hidden(w, x):\n    h = x @ w ",
        "def Net(w, x):\n    h = hidden(w, x) ",
        "    return hidden(w, h)\n",
        "Net(net_w, x) - 1",
        "for _ in range(3):\n",
    ),
    "a cell that a loop calls": (
        """
        def cell(h, row):
            z = row * x + h
            return torch.tanh(z)

        rows = torch.tensor([[1.0, 2.0], [0.5, -1.0], [2.0, 0.0]])
        h = torch.zeros(2)
        for row in rows:
            h = cell(h, row)
        h.sum().backward()
        """,
        "def cell(h, row, x):\n    z = row * x + h ",
        "    for i in range(3):\n",
        "        h = cell(h, row, x) ",
    ),
    "an inner loss and its gradient": (
        """
        def inner_loss(w, a, b):
            error = w * a - b
            return (error ** 2).mean()

        starts, ends = torch.tensor([[1.0, 2.0], [0.5, -1.0], [2.0, 0.0]]), torch.ones(3, 2)
        total = 0.0
        for a, b in zip(starts, ends):
            (g,) = torch.autograd.grad(inner_loss(x, a, b), x, create_graph=True)
            total = total + inner_loss(x - 0.1 * g, a, b)
        total.backward()
        """,
        "def inner_loss(w, a, b):\n    error = w * a - b ",
        "        g = jax.grad(inner_loss)(x, a, b)",
        "        total = total + inner_loss(x - 0.1 * g, a, b)",
        "for i in range(3):\n        b = ends[i] ",
    ),
    "a tuple": (
        """
        def stats(v):
            mean = v.mean()
            return mean, ((v - mean) ** 2).mean()

        mean, var = stats(x)
        other, more = stats(x * x)
        y = mean * var + other / (more + 1)
        y.backward()
        """,
        "def stats(v):\n    mean = jnp.mean(v) ",
        "    mean, var = stats(x) ",
        "    other, more = stats(x * x) ",
    ),
    "closures over numbers": (
        """
        def make(scale):
            def act(v):
                u = v * scale
                return u * torch.sigmoid(u)
            return act

        small, large = make(0.5), make(2.0)
        y = small(x) + large(x)
        y.sum().backward()
        """,
        "def act(v, scale):\n    u = v * scale ",
        "act(x, 0.5) + act(x, 2.0)",
    ),
    "two of one name": (
        """
        class A:
            def step(self, v):
                u = v * 2
                return u.exp()
        class B:
            def step(self, v):
                u = v + 1
                return u.log()

        y = (A().step(x) + B().step(x) + A().step(x * 3)).sum()
        y.backward()
        """,
        "jnp.sum(step(x) + step_2(x) + step(x * 3))",
    ),
    "recursion": (
        """
        def power(v, n):
            return torch.ones_like(v) if n == 0 else v * power(v, n - 1)

        y = power(x, 3).sum()
        y.backward()
        """,
        "def power(v):\n    return v * (v * (v * ",
        "jnp.sum(power(x))",
    ),
    "one that writes to what it is given": (
        """
        def fill(t, v):
            t[0] = v * 2
            t[1:] *= 3

        y = x * 1.0
        fill(y, x[1])
        fill(y, x[0])
        (y ** 2).sum().backward()
        """,
        "def fill(t, v):\n",
        "    y = fill(y, x[1]) ",
    ),
    "one that does two things": (
        """
        def act(v, kind):
            return torch.relu(v) * 2 if kind == "relu" else torch.tanh(v) + v

        y = act(x, "relu") + act(x, "tanh") + act(x * 2, "relu")
        y.sum().backward()
        """,
        "def act(v):\n    return jax.nn.relu(v) * 2\n",
        "act(x) + (jnp.tanh(x) + x) + act(x * 2)",
    ),
    "one that trains": (
        """
        def loss_of(w):
            return ((w - 1) ** 2).sum()
        def train(w):
            for _ in range(3):
                loss = loss_of(w)
                loss.backward()
                with torch.no_grad():
                    w -= 0.1 * w.grad
                w.grad = None

        train(x)
        """,
        "def loss_of(w):\n",
        "for _ in range(3):\n    loss, x_grad = jax.value_and_grad(loss_of)(x)",
    ),
    "names that are taken": (
        """
        def h(v):
            h = v * 2
            return h + 1
        def jax(v):
            return v.exp() * v
        def train(w):
            loss = h(jax(w)).sum()
            loss.backward()

        train(x)
        """,
        "def h(v):\n    h = v * 2 ",
        "def jax_(v):\n",
        "jnp.sum(h(jax_(x)))",
    ),
    "transforms": (
        """
        def curve(v):
            return (v ** 3).sum() * v[0]

        y = torch.func.hessian(curve)(x).sum() + torch.vmap(curve)(torch.stack([x, x * 2])).sum()
        y.backward()
        """,
        "jax.hessian(curve)(x)",
        "jax.vmap(curve)(",
    ),
    "what it computes is kept elsewhere": (
        """
        seen = []
        def body(v):
            u = torch.tanh(v)
            seen.append(u)
            return u.sum()

        a = body(x)
        b = body(x * 2)
        (a * b).backward()
        both = seen[0] + seen[1]
        """,
        "    return jnp.sum(u), u\n",
        "    a, u = body(x) ",
    ),
}
"""Programs over x, and parts of what is printed of them."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_are_kept(name):
    lines, *parts = PROGRAMS[name]
    head = "x = torch.tensor([1.5, -0.5], requires_grad=True)\nwith explain.recording() as story:\n"
    body = "\n".join("    " + each for each in textwrap.dedent(lines).strip("\n").split("\n"))
    story = run_lines(head + body)["story"]
    for part in parts:
        assert part in story.source
    story.check()


def test_a_part_of_a_call_that_is_computed_outside_is_no_function():
    story = run_lines("""
        def energy(v, k):
            return 0.5 * k * (v ** 2).sum()

        x, k = torch.tensor([1.0, 3.0], requires_grad=True), torch.tensor(2.0, requires_grad=True)
        with explain.recording() as story:
            (g,) = torch.autograd.grad(energy(x, k), x, create_graph=True)
            loss = g.square().sum() + energy(x * 2, k)
            loss.backward()
    """)["story"]
    assert "def energy(v, k):\n    return 0.5 * k * jnp.sum(v ** 2)" in story.source
    story.check()


def test_nothing_is_kept_while_another_profiler_runs():
    def program():
        x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)

        def double(v):
            return v * 2

        with jaxvjp.explain.recording() as story:
            double(x).sum().backward()
        return story.source

    assert "def double(v):" in program()
    sys.setprofile(lambda *_: None)
    try:
        source = program()
        assert sys.getprofile() is not None
    finally:
        sys.setprofile(None)
    assert "double(" not in source.replace("double(x).sum", "")


def test_recording_does_not_keep_what_a_function_was_given_alive():
    x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
    seen = []

    def double(v):
        seen.append(weakref.ref(v))
        return v * 2

    with jaxvjp.explain.recording():
        double(x + 1).sum().backward()
        assert seen[0]() is None
