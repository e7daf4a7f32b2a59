"""Random imperative programs as source text: the explanation of each is run and compared."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

SHAPE = (2, 3)
UNARY = ("{}.sin()", "{}.tanh()", "{}.exp() * 0.1", "-{}", "{}.abs()", "{}.sigmoid()", "{} ** 2", "{}.relu() + 1.0")
BINARY = ("{} + {}", "{} * {}", "{} - {}", "{} / ({} ** 2 + 1.0)", "torch.maximum({}, {})", "2.0 * {} + {}")
SHAPED = (
    "{}.sum(0) + {}",
    "{}.mean(1, keepdim=True) * {}",
    "{}[0] + {}",
    "({} @ {}.t()).sum() * 0.1 + x",
    "{} + {}[1, :2].sum()",
)
IN_PLACE = ("{} += {}", "{}.mul_({})", "{}[0] = {}[1]", "{}[:, 1:] *= {}[:, 1:]", "{}[1, 0] = {}.sum()")


@st.composite
def programs(draw: Any) -> str:
    """The lines of a program over x and w that ends in a y of shape SHAPE."""
    names = ["x", "w"]
    lines: list[str] = []
    for _ in range(draw(st.integers(2, 7))):
        made = draw(st.sampled_from(["a", "b", "h", "a", "y"]))
        a, b = draw(st.sampled_from(names)), draw(st.sampled_from(names))
        kind = draw(st.sampled_from(["unary", "binary", "binary", "shaped", "in place", "loop", "cut"]))
        if kind == "unary":
            lines.append(f"{made} = {draw(st.sampled_from(UNARY)).format(a)}")
        elif kind == "binary":
            lines.append(f"{made} = {draw(st.sampled_from(BINARY)).format(a, b)}")
        elif kind == "shaped":
            lines.append(f"{made} = {draw(st.sampled_from(SHAPED)).format(a, b)}")
        elif kind == "cut":
            lines.append(f"{made} = {a}.detach() * {b}")
        elif kind == "loop":
            lines += [
                f"{made} = {a} * 1.0",
                f"for _ in range({draw(st.integers(2, 4))}):",
                f"    {made} = {made} * 0.5 + {b}",
            ]
        else:
            other = draw(
                st.sampled_from(["x", "w"])
            )  # another tensor: one that is changed and saved at once is torch's error
            lines += [f"{made} = {a}.clone()", draw(st.sampled_from(IN_PLACE)).format(made, other)]
        if made not in names:
            names.append(made)
    return "\n".join([*lines, f"y = x * w + {names[-1]}"])


STORY = """
class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b, a + b

    @staticmethod
    def backward(ctx, g, h):
        a, b = ctx.saved_tensors
        return g * b + h, g * a + h

x = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], requires_grad=True)
w = torch.tensor([[1.0, 2.0, -0.5], [0.3, -1.5, 1.0]], requires_grad=True)
m = torch.zeros(2, 3)
"""
"""What the programs of `stories` begin with, before the recording."""
EPISODES = (
    """
y = {a} * {b}.sin() * x
y.sum().backward()
    """,
    """
y = ({a} * {b} * x).tanh()
y.sum().backward(retain_graph=True)
y.backward(torch.full((2, 3), {n}))
    """,
    """
(g,) = torch.autograd.grad(({a}.exp() * {b} * x * 0.1).sum(), x, create_graph=True)
(g * {a} + {b} * w).sum().backward()
    """,
    """
g = torch.autograd.grad(({a} * x).sum() * {n}, [x])[0]
({b} * w * g).sum().backward()
    """,
    """
(({a} - {n}) ** 2 + {b} * x * w).sum().backward()
with torch.no_grad():
    x -= 0.1 * x.grad
    w.sub_(0.1 * w.grad)
x.grad = None
w.grad = None
    """,
    """
for step in range(3):
    ((x * w - {a}.detach()) ** 2).mean().backward()
    with torch.no_grad():
        m.mul_(0.9).add_(x.grad)
        x.add_(m, alpha=-{n})
    x.grad.zero_()
    """,
    """
h = {a} * x
h.register_hook(lambda g: g * {n})
(h * {b}).sum().backward()
    """,
    """
h = {a} * x
h.retain_grad()
(h ** 2 * {b}).sum().backward()
    """,
    """
h = x.register_hook(lambda g: g.clamp(-1, 1))
({a} * x * {n}).sum().backward()
h.remove()
    """,
    """
p, q = Scaled.apply({a} * w, {b})
(p.sin() * q * x).sum().backward()
    """,
    """
t = torch.func.grad(lambda k: (k ** 3 * {n}).sum())({a})
(t * x).sum().backward()
    """,
    """
t = torch.vmap(lambda row: (row * row.sin()).sum())({a})
(t * {n} * x[:, 0]).sum().backward()
    """,
    """
t, d = torch.func.jvp(lambda k: k * k.sin(), ({a},), (torch.ones(2, 3),))
((t + d) * x).sum().backward()
    """,
    """
y = x * 1.0
for i in range(3):
    y = y * {a}[:, i:] .sum() + {n} * i
    y = y.sin()
(y * {b}).sum().backward()
    """,
    """
y = {a} * w
y[0] = x[1] * {n}
y[:, 1:] *= x[:, 1:]
(y * w).sum().backward()
    """,
    """
y = {a} * x
v = y[1]
v.mul_({n})
y.t()[0].add_(w[:, 1])
y.view(-1)[::2] *= 2
(y ** 2).sum().backward()
    """,
    """
with torch.autograd.graph.saved_tensors_hooks(lambda s: s.detach() * 2, lambda s: s + {n}):
    y = {a} * x
(y * {b}).sum().backward()
    """,
    """
x.data.mul_(0.5)
(x * {a}).sum().backward()
    """,
    """
y = torch.utils.checkpoint.checkpoint(lambda k: (k.sin() * k).exp(), {a}, use_reentrant=False)
(y * x * 0.1).sum().backward()
    """,
    """
torch.autograd.backward([({a} * x).sum(), {b} * x], [None, torch.full((2, 3), {n})])
    """,
    """
(x * {a} * w).sum().backward(inputs=[w])
    """,
    """
z = x if x.sum() > {n} else w
(z * {a} * x).sum().backward()
    """,
)
"""What may happen in one, with {a} and {b} for tensors of shape SHAPE and {n} for a number."""


@st.composite
def stories(draw: Any) -> str:
    """The lines of a recording: backwards of every kind, hooks, updates, writes, transforms."""
    tensors = st.sampled_from(["x", "w", "x.detach()", "(x * w)", "(w + 1.0)", "x.clone()"])
    numbers = st.sampled_from(["0.5", "2.0", "1", "-1.5"])
    drawn = draw(st.lists(st.sampled_from(EPISODES), min_size=1, max_size=4))
    return "\n".join([each.strip().format(a=draw(tensors), b=draw(tensors), n=draw(numbers)) for each in drawn])
