"""Pages and pictures of a backward pass through a gradient, and through an item of a tuple."""

from __future__ import annotations

import textwrap

import jax
import pytest

import jaxvjp as torch
from jaxvjp.__main__ import main
from jaxvjp.explain.explained import _doubled
from jaxvjp.explain.source import executed

HEAD = """
import torch

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
y = (x * w).sin()
"""
SCRIPTS = {
    "penalty": "g, = torch.autograd.grad(y.sum(), x, create_graph=True)\n(g.norm() - 1).square().backward()",
    "two at once": "g, h = torch.autograd.grad(y.sum(), (x, w), create_graph=True)\n(g * h).sum().backward()",
    "a root that is a gradient": "g, = torch.autograd.grad(y.sum(), x, create_graph=True)\ng.backward(torch.ones(3))",
    "backward with create_graph": "y.sum().backward(create_graph=True)\nx.grad.square().sum().backward()",
    "third order": "g, = torch.autograd.grad(y.sum(), x, create_graph=True)\n"
    "h, = torch.autograd.grad(g.sum(), x, create_graph=True)\nh.prod().backward()",
    "a row of the hessian": "g, = torch.autograd.grad(y.prod(), x, create_graph=True)\n"
    "for each in g:\n    print(torch.autograd.grad(each, x, retain_graph=True))",
    "a gradient as data": "y.sum().backward()\n((x - 0.1 * x.grad) ** 2).sum().backward()",
    "an item": "values, places = x.sort()\n(values * w).sum().backward()",
    "a root that is an item": "y.max(0).values.backward()",
    "an item of an item": "a, b = y.topk(2).values.sort()[0].unbind()\n(a * b).backward()",
    "a hook": "y.register_hook(lambda g: 2 * g)\ng, = torch.autograd.grad(y.sum(), x, create_graph=True)\n"
    "(g * w).sum().backward()",
}


@pytest.mark.parametrize("lines", SCRIPTS.values(), ids=SCRIPTS)
def test_every_form_is_written(tmp_path, capsys, lines):
    script = tmp_path / "script.py"
    script.write_text(HEAD.lstrip() + lines + "\n", encoding="utf-8")
    page, picture = tmp_path / "page.html", tmp_path / "graph.svg"
    assert main(["explain", str(script), "--html", str(page), "--picture", str(picture)]) == 0, capsys.readouterr().err
    assert picture.read_text(encoding="utf-8").startswith("<svg")
    assert '"svg": "<svg' in page.read_text(encoding="utf-8").replace("\\u003c", "<")


def test_the_cotangent_of_an_item_is_on_the_arrow_from_its_tuple():
    x = torch.tensor([3.0, 1.0], requires_grad=True)
    with torch.explain.recording() as story:
        values, _ = x.sort()
        (values * torch.tensor([10.0, 20.0])).sum().backward()
    drawn = story.picture()
    box = next(each.key for each in drawn.boxes if "sort" in " ".join([each.title, *each.details]))
    assert [each.cotangent for each in drawn.arrows if each.start == box] == ["[10 20]"]
    assert story.check()["x_grad"].tolist() == [20.0, 10.0]


STATES = {
    "ints and odd characters": ["0", "'2nd moment'", "'\\u03b2-1'", "'class'", "''", "'\\u00b5'"],
    "digits that are no digits of a name": ["'\\u00b2'", "'x\\u00b2'", "('t', 1)", "None"],
    "names that are the same as names": ["'a b'", "'a_b'", "'a-b'", "1.5"],
}


@pytest.mark.parametrize("keys", STATES.values(), ids=STATES)
@pytest.mark.parametrize("inside", [False, True], ids=["dict", "optimizer"])
def test_the_state_of_a_custom_optimizer_may_have_any_keys(keys, inside):
    """The written program runs: each name in it is one of Python's."""
    base = "torch.optim.Optimizer" if inside else "Plain"
    text = f"""
        class Plain:
            def __init__(self, params, defaults):
                self.param_groups = [{{"params": params}}]
                self.state = {{each: {{}} for each in params}}


        class Mine({base}):
            def __init__(self, params):
                super().__init__(params, {{}})

            def step(self):
                with torch.no_grad():
                    for p in self.param_groups[0]["params"]:
                        state = self.state[p]
                        for key in KEYS:
                            if key not in state:
                                state[key] = torch.zeros_like(p)
                            state[key].mul_(0.9).add_(p.grad)
                            p.add_(state[key], alpha=-0.1)


        w = torch.tensor([1.0, 2.0], requires_grad=True)
        b = torch.tensor(0.5, requires_grad=True)
        optimizer = Mine([w, b])
        for step in range(3):
            w.grad = b.grad = None
            loss = ((w * step + b) ** 2).sum()
            loss.backward()
            optimizer.step()
    """
    space = {"torch": torch, "KEYS": eval(f"[{', '.join(keys)}]")}
    story = torch.explain.recording()
    with story.of_a_script():
        exec(compile(textwrap.dedent(text), "<mine>", "exec"), space)
        story.finish(space)
    story.check()


LONG = """
import torch

torch.manual_seed(0)
layer = torch.nn.Linear(2, 1)
x = torch.rand(144, 2).requires_grad_(True)
y = torch.sin(30 * layer(x))
(g,) = torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)
torch.autograd.grad(g[..., 0], x, torch.ones_like(g[..., 0]))
y.square().mean().backward()
with torch.no_grad():
    layer.weight -= 0.1 * layer.weight.grad
"""


def test_long_arrays_are_in_double_precision_as_all_else_is():
    with torch.explain.recording() as story:
        exec(LONG.replace("import torch\n", ""), {"torch": torch})
    doubled = _doubled(story.program)
    assert "jnp.float32).astype(jnp.float64)" in doubled.source
    arrays = {name: value.dtype for name, value in executed(doubled).items() if isinstance(value, jax.Array)}
    assert arrays
    assert "float32" not in map(str, arrays.values())
