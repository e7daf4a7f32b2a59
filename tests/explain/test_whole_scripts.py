"""`python -m jaxvjp explain` of whole scripts: the program that it prints has the gradients that the script has."""

from __future__ import annotations

import re

import numpy as np
import pytest

from jaxvjp.__main__ import main

HEAD = "import torch\ntorch.manual_seed(0)\n"
SAMPLES = """
def sample(n=3):
    z = torch.randn(n)
    return 0.5 * z
w = torch.ones(3, requires_grad=True)
"""
GONE = "w = torch.ones(3, requires_grad=True)\n"
FUNCTION = "Of = torch.autograd.Function\n"
LONG = "a_name_that_is_long_enough_to_be_broken_after_it"
SCRIPTS = {
    "two arrays of one name": SAMPLES + "X, V = sample(), sample()\n(w * X).sum().backward()",
    "on two lines, both read": SAMPLES + "X = sample()\nV = sample()\n(w * X * V).sum().backward()",
    "of other shapes": SAMPLES + "X, V = sample(), sample(5)\n((w * X).sum() * V.sum()).backward()",
    "a value, then an array": SAMPLES
    + "z = w.detach() * 2\nu = z * 3\nz = torch.randn(3)\n(w * z * u).sum().backward()",
    "a leaf without a name": GONE + "y = torch.zeros(3, requires_grad=True) + w * 2\ny.sum().backward()",
    "a leaf of a function": GONE
    + "def f(x):\n    own = torch.full((3,), 2.0, requires_grad=True)\n    return own * x\n"
    + "f(w).sum().backward()\nf(w * w).sum().backward()",
    "a leaf that was deleted": GONE + "z = torch.ones(3, requires_grad=True)\ny = z * w\ndel z\ny.sum().backward()",
    "a named leaf with it": GONE
    + "b = torch.ones(3, requires_grad=True)\n(torch.ones(3, requires_grad=True) * w + b).sum().backward()",
    "a long name": f"w = {LONG} = torch.rand(16, 6, requires_grad=True)\n{LONG}.square().sum().backward()",
    "a long name of a module": "net = torch.nn.Sequential()\nnet.add_module('decoder_of_latents_function_of_time', "
    "torch.nn.Linear(6, 16))\nw = net[0].weight\nnet(torch.rand(1, 6)).square().sum().backward()",
    "a power": GONE + "((w + 1) ** 2.7).sum().backward()",
    "a power of tensors": GONE + "((w + 1) ** torch.tensor([0.5, 2.0, -1.3])).sum().backward()",
    "a recurrent layer": "lstm = torch.nn.LSTM(3, 2)\nw = lstm.weight_ih_l0\n"
    "out = lstm(torch.randn(5, 1, 3))[0]\n(out * 2).sum().backward()",
    "variables named like functions": GONE
    + "class Cube(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
    + "        ctx.save_for_backward(x)\n        return x**3\n    @staticmethod\n    def backward(ctx, g):\n"
    + "        return 3 * g * ctx.saved_tensors[0] ** 2\n"
    + "for cube_forward in torch.rand(3, 3):\n    f = cube_forward.cos()\n    f_2 = (Cube.apply(w) * f).sum()\n"
    + "    f_2.backward()\nf = torch.func.grad(lambda u: (u * f).sin().sum())(w.detach())\n(w * f).sum().backward()",
    "an output that ctx keeps": GONE + FUNCTION + "class Exp(Of):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        ctx.y = x.exp()\n        return x * 2, ctx.y\n    @staticmethod\n    def backward(ctx, g, gy):\n"
    "        return g * 2 + gy * ctx.y\nfirst, second = Exp.apply(w)\n(first * second).sum().backward()",
    "a backward that calls a Function": GONE
    + FUNCTION
    + "class Root(Of):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        y = x.sqrt()\n        ctx.save_for_backward(y)\n        return y\n    @staticmethod\n"
    "    def backward(ctx, g):\n        return Slope.apply(g, *ctx.saved_tensors)\nclass Slope(Of):\n"
    "    @staticmethod\n    def forward(ctx, g, y):\n        ctx.save_for_backward(g, y)\n"
    "        return g / (2 * y)\n    @staticmethod\n"
    "    def backward(ctx, v):\n        g, y = ctx.saved_tensors\n        return v / (2 * y), -v * g / (2 * y**2)\n"
    "(g,) = torch.autograd.grad(Root.apply(w * 4).sum(), w, create_graph=True)\n"
    "(h,) = torch.autograd.grad(g.sum(), w, create_graph=True)\nh.sum().backward()",
    "names of a Function and around it": GONE + FUNCTION + "class Sine(Of):\n    @staticmethod\n"
    "    def forward(ctx, x, t):\n        ctx.save_for_backward(x, t)\n"
    "        return (x * (lambda q: q * q + q)(t[0] * 2)).sin()\n    @staticmethod\n    def backward(ctx, g):\n"
    "        x, t = ctx.saved_tensors\n        s = (t[0] * 2) ** 2 + t[0] * 2\n"
    "        return g * s * (x * s).cos(), None\nt = torch.rand(3)\nSine.apply(w, t).sum().backward()",
    "a module on the device meta": "import copy\n" + GONE + "net = torch.nn.Linear(3, 2)\n"
    "base = copy.deepcopy(net).to('meta')\nstacked, _ = torch.func.stack_module_state([net])\n"
    "y = torch.func.functional_call(base, {key: each[0] for key, each in stacked.items()}, (w,))\ny.sum().backward()",
    "hooks of steps that only look": GONE + "y = (w * 3).exp()\ny.grad_fn.register_prehook(lambda g: seen.append(g))\n"
    "y.grad_fn.register_hook(lambda given, got: seen.append(given))\nseen = []\n"
    "w.expand(3).grad_fn.next_functions[0][0].register_prehook(lambda g: seen.append(g))\ny.sum().backward()",
    "pieces and their gradient": GONE.replace("3", "4") + "a, b = (w * 2).split(2)\n"
    "(g,) = torch.autograd.grad((a * b * b).sum(), w, create_graph=True)\ng.square().sum().backward()",
}


@pytest.mark.parametrize("exact", [[], ["--exact"]], ids=["plain", "exact"])
@pytest.mark.parametrize("text", SCRIPTS.values(), ids=SCRIPTS)
def test_the_printed_program_has_the_gradients(tmp_path, capsys, text, exact):
    script, page, picture = tmp_path / "script.py", tmp_path / "page.html", tmp_path / "picture.svg"
    script.write_text(f"{HEAD}{text}\nprint(w.grad.ravel().tolist())\n", encoding="utf-8")
    status = main(["explain", str(script), "--html", str(page), "--picture", str(picture), *exact])
    out, printed = capsys.readouterr()
    assert status == 0, printed
    found: dict = {}
    exec(out, found)
    wanted = np.array(eval(printed.splitlines()[-1]))
    grads = [np.ravel(each) for name, each in found.items() if name.endswith("grad") or name == "g"]
    assert any(each.shape == wanted.shape and np.allclose(each, wanted, rtol=1e-5) for each in grads)
    assert "<svg" in picture.read_text(encoding="utf-8")
    assert page.exists()


def test_what_no_tensor_is_left_of_has_no_gradient(tmp_path, capsys):
    script = tmp_path / "script.py"
    script.write_text(f"{HEAD}{SCRIPTS['a leaf without a name']}\n", encoding="utf-8")
    assert main(["explain", str(script)]) == 0
    out = capsys.readouterr().out
    assert "def f(w):" in out
    assert "x_grad" not in out


def test_a_large_graph_is_drawn_folded(tmp_path, capsys):
    text = GONE + "y = w\nfor _ in range(400):\n    y = (y * 0.5).sin() + w\ny.sum().backward()"
    script, picture = tmp_path / "script.py", tmp_path / "picture.txt"
    script.write_text(f"{HEAD}{text}\n", encoding="utf-8")
    assert main(["explain", str(script), "--picture", str(picture)]) == 0, capsys.readouterr().err
    assert "1200 operations" in picture.read_text(encoding="utf-8")


DISTILLED = """
X, Y = torch.randn(3, 2), torch.tensor([0, 1, 0])

def train(net, optimizer, guide=None):
    for _ in range(4):
        loss = torch.nn.functional.cross_entropy(net(X), Y)
        if guide is not None:
            loss = loss + (net(X) - guide(X)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

teacher, student = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
train(teacher, torch.optim.RMSprop(teacher.parameters(), lr=0.01))
teacher.requires_grad_(False)
train(student, torch.optim.SGD(student.parameters(), lr=0.1), teacher)
"""
HEAD_OF_DISTILLED, _, MAIN_OF_DISTILLED = DISTILLED.partition("teacher, student")
IN_MAIN = "def main():\n    " + f"teacher, student{MAIN_OF_DISTILLED}".strip().replace("\n", "\n    ")


@pytest.mark.parametrize("text", [DISTILLED, f"{HEAD_OF_DISTILLED}{IN_MAIN}\n\nmain()\n"], ids=["outside", "in main"])
def test_networks_that_one_function_trains_have_their_own_names(tmp_path, capsys, text):
    script = tmp_path / "script.py"
    script.write_text(f"{HEAD}{text}", encoding="utf-8")
    assert main(["explain", str(script)]) == 0
    out = capsys.readouterr().out
    assert set(re.findall(r"\b(\w+)_weight = ", out)) == {"teacher", "student"}
    assert set(re.findall(r"\b(\w+_bias\w*) = ", out)) == {"teacher_bias", "student_bias"}
