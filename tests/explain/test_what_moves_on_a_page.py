"""The page in a browser: x is moved, hooks are steps, nothing is over anything else; in a notebook, too."""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from browsing import WIDTHS, all_of, close, move, opened, steps, text_of, violations
from oracle import agree
from test_source import run_lines

import jaxvjp
from jaxvjp.explain import terminal
from jaxvjp.tools.course.lesson import lessons
from jaxvjp.tools.examples import examples

DOCS = Path(__file__).parent.parent.parent / "docs"
PROGRAMS = {
    "two leaves, one of them used twice": """
w = torch.tensor([[1.0, -1.0, 0.5], [2.0, 0.0, 1.0]], requires_grad=True)
y = torch.sigmoid(w @ x + 0.1) * x[0] - x.mean()
""",
    "writes into a slice, and a sum that runs": """
h = x * 2
h[1:3] = x[:2] ** 2
h[0] *= 5
y = h.cumsum(0)
""",
    "a choice, a largest number and a division": """
y = torch.where(x > 0.7, x / (1 + x**2), x.exp()) + torch.softmax(x, 0)[1]
""",
    "products of matrices, in a batch": """
m = torch.stack([x, x.flip(0), x * x])
y = torch.bmm(m[None], m.t()[None])[0, 1]
""",
    "a gradient of an indexed gradient": """
s = x[0] ** 2 * x[1] * x[2]
(y,) = torch.autograd.grad(s, x, create_graph=True)
""",
    "the error function and its complement": "y = torch.nn.functional.gelu(x) * torch.special.erfc(x - 1)",
    "running products": "y = x.cumprod(0) + x.flip(0).cumsum(0) * x.prod()",
    "a layer's norm, and a logarithm of softmax": """
h = torch.nn.functional.layer_norm(x, [3]) + torch.nn.functional.rms_norm(x, [3])
y = torch.log_softmax(h, 0)
""",
    "a loss": "y = torch.nn.functional.cross_entropy(torch.stack([x, x * x]), torch.tensor([0, 2]))",
    "several results of one operation": """
a, b = (x * 2).split([1, 2])
c, d, e_ = x.unbind()
y = a * b + c * d - e_
""",
    "other functions, remainders and angles": """
y = torch.atan2(x, x + 1) + x.atan().sinh() + torch.pow(2.0, x) + x.clamp(0.6, 1.1)
""",
    "a convolution, and what is added at places": """
h = torch.nn.functional.conv1d(x.view(1, 1, 3), torch.tensor([[[1.0, -0.5]]])).flatten()
y = torch.ones(2).scatter_add(0, torch.tensor([0, 1, 1]), x) * h.sin()
""",
    "a kernel that moves": "y = torch.nn.functional.conv1d(torch.ones(1, 1, 4) * 0.3, x.view(1, 1, 3)).flatten()",
    "a recurrence": """
torch.manual_seed(0)
layer = torch.nn.GRU(1, 2).requires_grad_(False)
y = layer(x.view(3, 1))[0][-1]
""",
    "gamma functions": "y = torch.lgamma(x) + torch.lgamma(-x - 0.03) + torch.erfinv(x / 2.1 - 0.4)",
    "pieces of a row": "y = torch.nn.functional.unfold(x.view(1, 1, 1, 3), (1, 2)).prod(1).flatten()",
    "one number": "y = ((x - 0.5).abs() * x.tanh()).norm()",
}
SEVERAL = """
x = torch.tensor([0.5123, -1.2345], requires_grad=True)
w = torch.tensor([[1.2345, -0.3456], [0.7891, 2.3456]], requires_grad=True)
y = torch.sin(x) * torch.cos(x) + x * torch.exp(x) + w @ x + (w * x).sum(0)
e = explain(y)
"""
HOOKED = """
x = torch.tensor([1.0, 2.0], requires_grad=True)
with explain.recording(lines=True) as story:
    h = x * 3
    h.register_hook(lambda grad: grad.clamp(max=1.0))
    y = h ** 2
    v = torch.tensor([1.0, 0.01])
    y.backward(v)
"""

OVERLAPS = """
const place = each => each.getBoundingClientRect();
const seen = list =>
  [...document.querySelectorAll(list)].filter(each => getComputedStyle(each).visibility !== "hidden");
const across = (one, other) => one.left < other.right - 1 && other.left < one.right - 1;
const over = (one, other) => across(one, other) && one.top < other.bottom - 2 && other.top < one.bottom - 2;
const found = [], apart = (one, others) => others.forEach(each => {
  if (over(place(one), place(each))) found.push([one.textContent, each.textContent]);
});
const labels = seen("#graph text.flow"), boxes = seen("#graph .node rect");
labels.forEach((each, k) => apart(each, [...labels.slice(k + 1), ...boxes]));
for (const each of seen("#program > span")) if (each.lastChild.textContent) apart(each.firstChild, [each.lastChild]);
for (const picture of seen(".arrows")) {
  const words = [...picture.querySelectorAll("text")].filter(each => each.textContent);
  words.forEach((each, k) => apart(each, words.slice(k + 1)));
}
return found;"""


@pytest.fixture(autouse=True)
def console(browser):
    browser.get_log("browser")
    yield
    assert not [each for each in browser.get_log("browser") if each["level"] == "SEVERE"]


def move_x(browser, numbers):
    browser.execute_script(
        """const fields = document.querySelectorAll('#inputs input[type="number"]');
        arguments[0].forEach((each, k) => { fields[k].value = each; fields[k].dispatchEvent(new Event("input")); });""",
        numbers,
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_everything_follows_x(browser, tmp_path, name):
    def explained(x):
        return run_lines(f"x = torch.tensor({x}, requires_grad=True)\n{PROGRAMS[name]}\ne = explain(y)")

    opened(browser, explained([0.5, 1.0, 2.0])["e"], tmp_path / "page.html")
    rng = np.random.default_rng(0)
    for _ in range(2):
        x = [float(each) for each in rng.uniform(0.2, 2, 3).round(2)]
        move_x(browser, x)
        found = explained(x)
        v = [float(each) for each in rng.uniform(-2, 2, max(1, found["y"].numel())).round(2)]
        move(browser, v)
        chain = jaxvjp.explain(found["y"], jaxvjp.tensor(v).reshape(found["y"].shape)).cotangents()
        shown, _ = steps(browser)
        for texts, link in zip(shown, chain, strict=True):
            for text, value in zip(texts, [link.arrives, *(each for _, each in link.leaves)], strict=True):
                close(text, value)
        found["y"].backward(jaxvjp.tensor(v).reshape(found["y"].shape))
        for leaf in ("x", "w"):
            if leaf in found:
                product = " ".join(each.text for each in all_of(browser, f'[data-product="{leaf}"]'))
                close(product, found[leaf].grad.numpy())
        moved, said = map(float, re.findall(r"moves by (\S+); vᵀJ says .* = (\S+)\.$", text_of(browser, "#moved"))[0])
        assert abs(moved - said) < 2e-3 + 0.04 * abs(said)


def test_each_cotangent_of_the_graph_stands_at_its_own_arrow(browser, schemes, tmp_path):
    found = run_lines("""
        W = torch.tensor([[0.83, 0.175], [0.089, -0.614]], requires_grad=True)
        U = torch.tensor([[0.046], [-1.368]], requires_grad=True)
        with explain.recording(lines=True) as story:
            h = torch.zeros(2)
            for x in torch.linspace(-0.7, 0.9, 5):
                h = torch.tanh(W @ h + U @ x[None])
            (h.exp() / h.sum()).sum().backward()
    """)
    opened(browser, found["story"], tmp_path / "page.html")
    for width in WIDTHS:
        for shown in schemes(width):
            assert shown.execute_script(OVERLAPS) == []
    flows = {each.cotangent: each for each in found["story"].picture(fold=4).arrows}
    for leaf in "WU":  # each is the sum of those of five rounds
        assert terminal.numbers(found[leaf].grad.numpy()) in flows
    places = browser.execute_script("""return ["exp", "sum"].map(name => {
        const box = [...document.querySelectorAll("g.node")].find(each => each.textContent.startsWith(`h.${name}()`));
        const text = document.querySelector(`text.flow[data-flow^="${box.dataset.way} "]`);
        return [text, box].map(each => each.getBoundingClientRect()).map(({left, right}) => [left, right]);
    })""")
    (text, box), (other, right) = sorted(places, key=lambda each: each[1])
    assert text[1] < sum(box) / 2  # on the left of the left arrow, on the right of the other
    assert other[0] > sum(right) / 2


def test_a_step_shows_its_own_jacobian_and_a_box_leads_to_it(browser, tmp_path):
    found = run_lines("x = torch.tensor([0.5, 1.0], requires_grad=True)\ny = (x**2).sin() * 3\ne = explain(y)")
    opened(browser, found["e"], tmp_path / "page.html")
    box = next(each for each in all_of(browser, "#graph g[role=button]") if "x**2" in each.get_attribute("aria-label"))
    box.send_keys("\n")
    assert "through x**2" in text_of(browser, "#told")
    table = all_of(browser, "#arrived > div")[0].text.splitlines()
    arrives = 3 * np.cos([0.25, 1.0])
    assert table[0] == "this step alone: ∂(x**2) / ∂(x)"
    close(table[-1].removeprefix("leaves"), arrives * [1.0, 2.0])


def test_numbers_of_a_step_alone_have_their_places(browser, tmp_path):
    story = run_lines("x = torch.ones(3, 2, requires_grad=True)\ny = x.t() * torch.ones(2, 3)\ne = explain(y)")["e"]
    opened(browser, story, tmp_path / "page.html")
    (alone,) = [each.text for each in all_of(browser, "#arrived table") if each.text.startswith("this step alone")]
    assert "[2,1]" in alone
    assert "[1,2]" in alone


def test_where_x_cannot_move_a_sentence_says_why(browser, tmp_path):
    reasons = {
        "y = torch.polygamma(1, x)": "the page has no arithmetic for polygamma.",
        "y = x.sort()[0]": "the page has no arithmetic for sort.",
        "y = x.median()": "the page has no arithmetic for median.",
        "y = (x * 1j).imag": "the numbers are complex.",
        "y = x\nfor i in range(4001):\n    y = y * 1.0": "there are too many steps.",
        "y = (x @ torch.ones(2, 3000)).sum()": "this takes more than 4,000 operations on single numbers.",
    }
    for line, reason in reasons.items():
        found = run_lines(f"x = torch.tensor([0.5, 1.0], requires_grad=True)\n{line}\ne = explain(y)")
        opened(browser, found["e"], tmp_path / "page.html")
        assert not browser.find_element("id", "inputs-box").is_displayed()
        assert text_of(browser, "#still") == f"x cannot be moved here: {reason}"


def test_what_is_cut_off_moves_with_x_and_sends_no_gradient(browser, tmp_path):
    found = run_lines("""
        x = torch.tensor([0.5, 1.0], requires_grad=True)
        with torch.no_grad():
            scale = x.sum()
        y = x * x.detach() * scale
        e = explain(y)
    """)
    opened(browser, found["e"], tmp_path / "page.html")
    move_x(browser, [2.0, 3.0])
    assert [each.text for each in all_of(browser, '[data-product="x"]')] == ["10", "15"]
    assert "y = [20 45]" in text_of(browser, "#moved")
    assert "moves by that part too, and vᵀJ leaves it out" in text_of(browser, "#moved")


READS = {
    "while h.sum() < 9:\n        h = h * x": "line 4: `while h.sum() < 9:`",
    "h = h * x[0].item()": "line 4: `h = h * x[0].item()`",
    "h = h[h.detach() > 1]": "line 4: `h = h[h.detach() > 1]`",
    "h = h * x[x.argmax()]": "line 4: `h = h * x[x.argmax()]`",
    "h.register_hook(lambda g: g * 2 if g.sum() > 1 else g)": "line 4: `h.register_hook(",
    "print(x, h.sum().item())": "",
    "h = h * torch.tensor(3.0).item()": "",
    "h = torch.where(x > 1, h, x)": "",
}


@pytest.mark.parametrize("line", READS)
def test_it_is_said_where_values_were_read_that_stay(browser, tmp_path, line):
    story = run_lines(f"""
        with explain.recording() as story:
            x = torch.tensor([1.0, 2.0], requires_grad=True)
            h = x ** 2
            {line.replace(chr(10), chr(10) + " " * 8)}
            loss = h.sum()
            best = loss.item()
            loss.backward()
    """)["story"]
    opened(browser, story, tmp_path / "page.html")
    said = browser.execute_script("return story.walks[0].read")
    assert said.startswith(f"Your lines read values ({READS[line]}" if READS[line] else "")
    assert bool(said) == bool(READS[line])
    assert text_of(browser, "#read") == said.replace("`", "")


def a_root_in_the_other_branch(torch, x):
    x = torch.tensor(x, requires_grad=True)
    y = torch.where(x > 0, x.sqrt(), torch.zeros(3)).sum()
    y.backward()
    return x.grad


def test_zero_times_infinity_is_not_a_number(browser, tmp_path):
    for x in ([0.0, -1.0, 4.0], [-3.0, 1.0, 9.0]):
        agree(partial(a_root_in_the_other_branch, x=x))
    found = run_lines("""
        x = torch.tensor([0.0, -1.0, 4.0], requires_grad=True)
        e = explain(torch.where(x > 0, x.sqrt(), torch.zeros(3)).sum())
    """)
    opened(browser, found["e"], tmp_path / "page.html")
    assert text_of(browser, "#moved").partition(" The derivative")[0].endswith("vᵀJ says 0.01 · nan = nan.")
    for x in ([0.0, -1.0, 4.0], [-3.0, 1.0, 9.0]):
        move_x(browser, x)
        close(" ".join(each.text for each in all_of(browser, "[data-product]")), a_root_in_the_other_branch(jaxvjp, x))


def test_what_stays_when_x_moves_is_said(browser, tmp_path):
    found = run_lines("""
        x = torch.tensor([[1.0, 2.0]], requires_grad=True)
        with explain.recording(lines=True) as story:
            (x ** 2).sum().backward()
            y = x ** 3 * (x > 0).float()
            y.backward(torch.tensor([[1.0, 1.0]]))
    """)
    opened(browser, found["story"], tmp_path / "page.html")
    assert "before this backward" not in text_of(browser, "#moved")
    move_x(browser, [3.0, 2.0])
    said = text_of(browser, "#moved")
    assert said.endswith("What .grad had before this backward is of the x that ran.")
    assert "cut off" not in said  # it does not matter here
    assert "all else is what ran" in text_of(browser, "#objects-note")
    assert "x = [[3 2]]" in text_of(browser, "#lines")


def test_a_function_of_a_gradient_of_the_backward_before_moves_with_x(browser, tmp_path):
    found = run_lines("""
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        with explain.recording() as story:
            loss = (w**2).sum()
            loss.backward()
            v = w - 0.1 * w.grad
            loss2 = (v**2).sum()
            loss2.backward()
    """)
    opened(browser, found["story"], tmp_path / "page.html")
    assert text_of(browser, "#moved").startswith("In double precision loss2 = 3.2. Move w[0] by 0.01")
    assert "nan" not in text_of(browser, "#moved")
    move_x(browser, [2.0, 3.0])
    assert "loss2 = 8.32" in text_of(browser, "#moved")
    assert [each.text for each in all_of(browser, '[data-product="w"]')] == ["3.2", "4.8"]


CHANGES = {
    "scales": "h.register_hook(lambda grad: grad * 2)",
    "clamps": "h.register_hook(lambda grad: grad.clamp(-1.0, 1.0))",
    "two hooks, one of a leaf": """
h.register_hook(lambda grad: grad * x.detach())
h.register_hook(lambda grad: grad / grad.norm())
x.register_hook(lambda grad: grad.sin())
""",
    "a Function of the user's": "h = Clipped.apply(h)",
}


@pytest.mark.parametrize("name", CHANGES)
def test_hooks_and_functions_follow_v_and_x(browser, tmp_path, name):
    class Clipped(jaxvjp.autograd.Function):
        @staticmethod
        def forward(ctx, h):
            ctx.save_for_backward(h)
            return h.sign() * h

        @staticmethod
        def backward(ctx, grad):
            (h,) = ctx.saved_tensors
            return grad.clamp(max=1.0) * h

    def story(x, v):
        return run_lines(
            f"x = torch.tensor({x}, requires_grad=True)\nwith explain.recording() as story:\n    h = x * 3\n"
            + "".join(f"    {line}\n" for line in CHANGES[name].strip().splitlines())
            + f"    y = h ** 2 + x\n    y.backward(torch.tensor({v}))",
            Clipped=Clipped,
        )

    found = story([1.0, 2.0], [1.0, 0.01])
    opened(browser, found["story"], tmp_path / "page.html")
    close(steps(browser)[1][0], found["x"].grad.numpy())
    assert "computed anew for each v and x" in text_of(browser, "#note")
    for x, v in (([1.0, 2.0], [0.5, 3.0]), ([-0.5, 0.75], [0.5, 3.0]), ([0.25, 0.5], [0.125, -2.0])):
        move(browser, v)
        move_x(browser, x)
        again = story(x, v)
        shown, leaves = steps(browser)
        for texts, link in zip(shown, again["story"].cotangents(), strict=True):
            for text, value in zip(texts, [link.arrives, *(each for _, each in link.leaves)], strict=True):
                close(text, value)
        close(leaves[0], again["x"].grad.numpy())
        let_through = all_of(browser, "#jacobian tr.got")
        if let_through:
            close(let_through[0].text.removeprefix(".grad got"), again["x"].grad.numpy())
        product = np.array(v) @ again["story"].jacobian()["x"]
        close(" ".join(each.text for each in all_of(browser, "[data-product]")), product)
        assert bool(let_through) == (not np.allclose(product, again["x"].grad.numpy(), 1e-3))


def test_a_hook_is_a_step_and_what_it_let_through_is_not_said_to_be_the_product(browser, tmp_path):
    story = run_lines(HOOKED)["story"]
    assert [each.operation for each in story.cotangents()] == ["PowBackward0", "hook", "MulBackward0"]
    opened(browser, story, tmp_path / "page.html")
    (product,), (through,) = all_of(browser, "#jacobian tr.apart"), all_of(browser, "#jacobian tr.got")
    assert (product.text.split(), through.text.split()[1:]) == (["vᵀJ", "18", "0.36"], ["got", "3", "0.36"])
    colours = {
        each.find_element("css selector", "td:last-child").value_of_css_property("color") for each in (product, through)
    }
    assert len(colours) == 2
    assert "the hook of h ← [6 0.12]" in text_of(browser, "#lines")
    assert "the hook of h ← [6 0.12]" in text_of(browser, "#program")
    move(browser, [2.0, 0.5])
    assert "v = [2 0.5]" in text_of(browser, "#lines")
    assert "x.grad = [3 3]" in text_of(browser, "#lines")


NOTES = """
const lines = [...document.querySelectorAll("#program > *")];
const noted = lines.filter(each => each.lastChild.textContent);
return noted.map(each => [each.firstChild.textContent, each.lastChild.textContent]);
"""


def notes(browser):
    """What is noted beside a line of the program, by the line."""
    return {line.partition("  #")[0].strip(): note for line, note in browser.execute_script(NOTES)}


def test_v_and_grad_stand_where_they_are_when_hooks_run(browser, tmp_path):
    story = run_lines(HOOKED.replace("y = h", "x.register_hook(lambda grad: 2 * grad)\n    y = h"))["story"]
    opened(browser, story, tmp_path / "page.html")
    found = notes(browser)
    assert found["(h_grad,) = pullback_2(v)"] == "v = [1 0.01]"
    assert "(x_grad,) = pullback(h_grad)" not in found
    assert found["x_grad = 2 * x_grad"] == "the hook of x ← [3 0.36], x.grad = [6 0.72]"


def test_two_values_of_one_line_have_a_note_each(browser, tmp_path):
    story = run_lines("""
x = torch.tensor([1.0, 2.0], requires_grad=True)
with explain.recording() as story:
    a, b = x**2, 3 * x
    y = a * b
    y.backward(torch.tensor([1.0, 1.0]))
""")["story"]
    opened(browser, story, tmp_path / "page.html")
    assert "b ← [1 4], a ← [3 6]" in text_of(browser, "#lines")


def test_a_line_of_another_file_is_none_of_the_page(browser, tmp_path):
    helper = run_lines("def kernel(a):\n\n    return (a * a).exp()\n")["kernel"]
    lines = """
x = torch.tensor([0.5, 1.0], requires_grad=True)
u = torch.ones(2)
with explain.recording() as story:
    k = kernel(x)
    y = k * u * 2 + 1
    z = y * 3 - u
    z.backward(torch.tensor([1.0, 1.0]))
"""
    story = run_lines(lines, kernel=helper)["story"]
    opened(browser, story, tmp_path / "page.html")
    shown = [each.text for each in all_of(browser, "#lines li") if "←" in each.text]
    assert shown
    assert not [each for each in shown if "k ←" in each]  # it is line 3 of another file


def test_a_softmax_by_hand_moves_with_x(browser, tmp_path):
    lines = """
x = torch.tensor([[X, 2.0, -1.0]], requires_grad=True)
e = (x - x.max(1, keepdim=True).values).exp()
y = e / e.sum(1, keepdim=True)
e = explain(y)
"""
    opened(browser, run_lines(lines.replace("X", "0.3"))["e"], tmp_path / "page.html")
    move(browser, [1.0, 0.0, 0.0])
    move_x(browser, [2.5])
    moved = run_lines(lines.replace("X", "2.5"))["e"]
    close(" ".join(each.text for each in all_of(browser, "[data-product]")), moved.jacobian()["x"].reshape(3, 3)[0])


def test_an_index_of_the_largest_number_does_not_move(browser, tmp_path):
    lines = "x = torch.tensor([0.5, 1.0], requires_grad=True)\nwith explain.recording() as story:\n    "
    lines += "y = x.gather(0, x.max(0, keepdim=True)[1])\n    y.backward(torch.ones(1))"
    opened(browser, run_lines(lines)["story"], tmp_path / "page.html")
    assert text_of(browser, "#still") == "x cannot be moved here: where max finds its number depends on x."


@pytest.mark.parametrize("source", ["x.max(dim=0)[0]", "torch.min(x * x, 0).values", "x.max(0, keepdim=True)[0].sum()"])
@pytest.mark.parametrize("x", [[3.0, 3.0, 3.0], [1.0, 2.0, 2.0], [2.0, 1.0, 1.0]])
def test_of_numbers_alike_an_extreme_along_a_dim_is_the_first(browser, tmp_path, source, x):
    def gradient(torch):
        leaf = torch.tensor(x, requires_grad=True)
        eval(source, {"x": leaf, "torch": torch}).backward()
        return leaf.grad.tolist()

    lines = f"x = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)\ny = {source}\ne = explain(y)"
    opened(browser, run_lines(lines)["e"], tmp_path / "page.html")
    move_x(browser, x)
    close(" ".join(each.text for each in all_of(browser, "[data-product]")), agree(gradient).value)


def test_a_norm_of_zeros_has_the_gradient_zero_when_x_moves(browser, tmp_path):
    story = run_lines("x = torch.zeros(2, requires_grad=True)\ny = x.norm().reshape(1)\ne = explain(y)")["e"]
    opened(browser, story, tmp_path / "page.html")
    move_x(browser, [3.0])
    move_x(browser, [0.0])
    close(" ".join(each.text for each in all_of(browser, "[data-product]")), [0.0, 0.0])
    assert "vᵀJ says 0.01 · 0 = 0" in text_of(browser, "#moved")


def test_a_hook_that_the_page_cannot_run_stays_that_of_the_v_that_ran(browser, tmp_path):
    story = run_lines(HOOKED.replace("grad.clamp(max=1.0)", "grad.sort()[0]"))["story"]
    opened(browser, story, tmp_path / "page.html")
    assert "stay those of that v" in text_of(browser, "#note")
    assert "but from where a hook or a Function of yours gave others on" in text_of(browser, ".legend")
    assert "sort" in text_of(browser, "#still")
    before = text_of(browser, "#lines")
    move(browser, [2.0, 3.0])
    assert text_of(browser, "#lines") == before


def test_the_hook_of_a_leaf_changes_what_it_accumulates(browser, tmp_path):
    found = run_lines("""
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        x.register_hook(lambda grad: grad * 10)
        with explain.recording() as story:
            (x * 3).sum().backward()
            y = x * x + x
            y.backward(torch.tensor([1.0, 0.5]))
    """)
    opened(browser, found["story"], tmp_path / "page.html")
    close(steps(browser)[1][0], found["x"].grad.numpy())
    close(text_of(browser, "#jacobian tr.got").removeprefix(".grad got"), [30.0, 25.0])


@pytest.mark.parametrize("hook", ["", "h.register_hook(lambda grad: grad.clamp(max=1.0))"])
def test_what_is_retained_follows_x_and_is_not_moved(browser, tmp_path, hook):
    def story(x):
        return run_lines(f"""
            x = torch.tensor({x}, requires_grad=True)
            with explain.recording() as story:
                h = x.exp()
                h.retain_grad()
                {hook}
                y = h * x
                y.backward(torch.tensor([1.0, 3.0]))
        """)

    opened(browser, story([1.0, 2.0])["story"], tmp_path / "page.html")
    names = [each.get_attribute("aria-label") for each in all_of(browser, "#inputs input[type=range]")]
    assert names == ["the value of x[0]", "the value of x[1]"]
    for x in ([1.0, 2.0], [0.5, -1.0]):
        move_x(browser, x)
        again = story(x)
        for name in ("x", "h"):
            product = np.array([1.0, 3.0]) @ again["story"].jacobian()[name]
            close(" ".join(each.text for each in all_of(browser, f'[data-product="{name}"]')), product)
        assert again["story"].jacobian().matrices[0].name == "x"
        close(" ".join(steps(browser)[1]), [*again["x"].grad.tolist(), *again["h"].grad.tolist()])
    assert text_of(browser, "#moved").endswith(
        "Move x[1] by 0.01, and v·y moves by 0.000055551; vᵀJ says 0.01 · 0 = 0."
    )


@pytest.mark.parametrize(
    ("source", "x", "said"),
    [
        ("x.log().sum()", [-1, -1], "There, or 0.01 further, y is not finite"),
        ("x[0] ** x[1]", [0, 0], "The two differ: there y jumps"),
        ("x.max(0).values", [2, 2], "The two differ: on the way is a kink"),
        ("x[0] ** x[1]", [-1, 2], "There, or 0.01 further, y is not finite"),
        ("(x ** 4).sum()", [0, 0], "0.01 · 0 = 0."),
        ("x.norm()", [0, 0], "The two differ: on the way is a kink"),
        ("x[0].reshape(1).norm() + x[1] ** 4", [0, 0], "0.01 · 0 = 0."),
    ],
)
def test_where_the_two_differ_it_is_said_why(browser, tmp_path, source, x, said):
    explained = run_lines(f"x = torch.tensor([0.5, 2.0], requires_grad=True)\ny = {source}\ne = explain(y)")["e"]
    opened(browser, explained, tmp_path / "page.html")
    move_x(browser, x)
    assert said in text_of(browser, "#moved")
    assert said[-1] != "." or text_of(browser, "#moved").endswith(said)


def test_what_a_line_made_is_moved_first(browser, tmp_path):
    found = run_lines("""
        with explain.recording(lines=True) as story:
            net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 2))
            x = torch.tensor([[0.5, -1.0]], requires_grad=True)
            net(x).sum().backward()
    """)
    opened(browser, found["story"], tmp_path / "page.html")
    names = [each.get_attribute("aria-label") for each in all_of(browser, "#inputs input[type=range]")]
    assert names[:3] == ["the value of x[0,0]", "the value of x[0,1]", "the value of net_0_weight[0,0]"]
    assert text_of(browser, "#still") == "Of 19 numbers the first 16 can be moved."


def test_values_in_the_graph_follow_x_and_others_are_faded(browser, tmp_path):
    found = run_lines("""
        with explain.recording(lines=True) as story:
            x = torch.tensor([1.0, 2.0], requires_grad=True)
            c = torch.tensor([5.0, 6.0])
            y = x * 3 + x.detach()
            print(y)
            z = y * c
            z.backward(torch.tensor([1.0, 10.0]))
    """)
    opened(browser, found["story"], tmp_path / "page.html")

    def shown(name):
        boxes = [each for each in all_of(browser, "#graph g.node") if each.text.split("\n")[0] == name]
        return [each.find_element("css selector", "text.value") for each in boxes]

    assert [each.text for each in shown("y")] == ["[4 8]"]
    move_x(browser, [-1.0])
    assert [each.text for each in shown("y")] == ["[-4 8]"]
    assert "[-1 2]" in [each.text for each in shown("x")]
    assert [each.text for each in shown("c")] == ["[5 6]"]
    assert "of x as it was moved" in text_of(browser, ".legend")
    faded = [each.text.split("\n")[0] for each in all_of(browser, "#objects .memory.old")]
    assert faded == ["y", "z"]
    assert text_of(browser, "#objects-note").endswith("and faded where x may have changed it.")


def test_v_weighs_what_backward_began_at(browser, tmp_path):
    lines = "x = torch.tensor([1.0, 2.0], requires_grad=True)\ny = x * 2\ns = (y.detach() * x).sum()\ne = explain(s)"
    opened(browser, run_lines(lines)["e"], tmp_path / "page.html")
    assert "how fast v·s changes" in text_of(browser, ".legend")
    assert "v·y" not in text_of(browser, "#moved")
    assert text_of(browser, "#moved").endswith("v·s moves by that part too, and vᵀJ leaves it out.")


def test_a_gradient_of_what_is_no_leaf_has_that_moved(browser, tmp_path):
    found = run_lines("""
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        with explain.recording() as story:
            h = x * 3
            torch.autograd.grad(h ** 2, h, torch.tensor([1.0, 0.5]))
    """)
    opened(browser, found["story"], tmp_path / "page.html")
    move_x(browser, [2.0, -1.0])
    assert [each.text for each in all_of(browser, '[data-product="h"]')] == ["4", "-1"]


def test_what_a_function_sends_back_is_on_an_arrow(browser, tmp_path):
    class Square(jaxvjp.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return 2 * ctx.saved_tensors[0] * grad

    story = run_lines(
        """
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        with explain.recording() as story:
            y = Square.apply(x) + x
            y.backward(torch.tensor([1.0, 0.5]))
        """,
        Square=Square,
    )["story"]
    opened(browser, story, tmp_path / "page.html")
    assert "[2 2]" in [each.text for each in all_of(browser, "#graph text.flow")]
    assert not all_of(browser, "#jacobian tr.got")  # its backward is the derivative


def test_v_and_its_tensor_follow(browser, tmp_path):
    story = run_lines(HOOKED.replace("h.register_hook(lambda grad: grad.clamp(max=1.0))", "pass"))["story"]
    opened(browser, story, tmp_path / "page.html")
    move(browser, [4.0, -2.0])
    (card,) = [each for each in all_of(browser, "#objects .memory") if each.text.startswith("v")]
    assert [each.text for each in card.find_elements("css selector", ".cells div")] == ["4", "-2"]
    line = next(each for each in all_of(browser, "#lines .line") if "v = torch.tensor" in each.text)
    assert line.text.endswith("v = [4 -2]")


def test_a_second_derivative_says_whose_it_is(browser, tmp_path):
    story = run_lines("""
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        with explain.recording() as story:
            y = (x ** 3).sum()
            (g,) = torch.autograd.grad(y, x, create_graph=True)
            g.backward(torch.tensor([1.0, 0.0]))
    """)["story"]
    opened(browser, story, tmp_path / "page.html")
    assert "through g (PullbackBackward0)" in text_of(browser, "#told")
    assert "g is a gradient itself: its J has second derivatives" in text_of(browser, "#note")
    assert "this step alone: ∂(g) / ∂(x)" in text_of(browser, "#arrived")
    assert "full" not in text_of(browser, "#graph")


def test_what_a_transform_makes_for_itself_has_plain_names(browser, tmp_path):
    story = run_lines("""
        x = torch.tensor([1.0, 2.0])
        with explain.recording() as story:
            y = torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), x)
    """)["story"]
    opened(browser, story, tmp_path / "page.html")
    shown = [each for step in steps(browser)[0] for each in step] + [text_of(browser, "#told")]
    shown += [text_of(browser, f"#{each}") for each in ("arrived", "jacobian", "graph")]
    assert not [each for each in shown if re.search("variable|squeeze|one_hot", each)]
    assert "∂(a copy of x) / ∂(x)" in text_of(browser, "#arrived")
    assert text_of(browser, "#jacobian").startswith("J = ∂gradient / ∂x")
    assert [each.text.partition(",")[0][-8:] for each in all_of(browser, "#which option")] == ["(1 of 2)", "(2 of 2)"]


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_over_anything_else(browser, schemes, tmp_path, width):
    opened(browser, run_lines(SEVERAL)["e"], tmp_path / "page.html")
    for _ in schemes(width):
        for v in ([1.0, 1.0], [-3.2345, 0.1], [2.0, 7.123]):
            move(browser, v)
            assert browser.execute_script(OVERLAPS) == []
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert len(all_of(browser, "#graph text.flow")) > 8


def test_a_jacobian_of_many_rows_is_a_picture_that_follows_v(browser, tmp_path):
    found = run_lines("""
        x = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
        y = (torch.arange(20.0)[:, None] * x).sin().sum(1)
        e = explain(y)
    """)
    opened(browser, found["e"], tmp_path / "page.html")
    assert len(all_of(browser, ".heat rect")) == 20 * (3 + 1) + 3
    product = found["e"].jacobian()["x"].sum(0)
    close(text_of(browser, "[data-product]"), product)
    move(browser, [-2.0])
    close(text_of(browser, "[data-product]"), -2 * product)


def arrows(browser):
    """Where the arrows of the picture end, in its numbers: the plain ones, and the thick one."""
    ends = []
    for kind in ("row", "sum"):
        paths = [each.get_attribute("d") for each in all_of(browser, f".arrows path.{kind}")]
        ends.append([[float(one) for one in re.findall(r"L(\S+) ([^M]+)", path)[0]] for path in paths])
    return [[[(x - 100) / 78, (100 - y) / 78] for x, y in each] for each in ends]


@pytest.mark.parametrize("plane", ["inputs", "outputs"])
def test_any_two_inputs_or_outputs_are_the_plane_of_the_arrows(browser, tmp_path, plane):
    found = run_lines("""
        x = torch.tensor([1.0, 2.0, 5.0], requires_grad=True)
        y = torch.stack([x[0] * x[1], x[1] * x[2], x.sum(), x[0] ** 2])
        e = explain(y)
    """)
    opened(browser, found["e"], tmp_path / "page.html")
    v, matrix = np.array([1.0, -2.0, 0.5, 3.0]), found["e"].jacobian()["x"]
    move(browser, list(v))
    all_of(browser, "#jacobian select")[0].send_keys(plane)
    for across, up in ((0, 1), (2, 1), (0, 2)):
        for place, axis in ((1, across), (2, up)):
            all_of(browser, "#jacobian select")[place].find_elements("tag name", "option")[axis].click()
        vectors, sum_ = (matrix, v @ matrix) if plane == "inputs" else (matrix.T, v)
        weighted = np.cumsum(v[:, None] * matrix, 0) if plane == "inputs" else v
        chosen = np.concatenate([vectors[:, [across, up]], np.atleast_2d(weighted[..., [across, up]])])
        plain, thick = arrows(browser)
        np.testing.assert_allclose(plain, vectors[:, [across, up]] / abs(chosen).max(), atol=2e-3)
        np.testing.assert_allclose(thick, [sum_[[across, up]] / abs(chosen).max()], atol=2e-3)
        names = [("x[0]", "x[1]", "x[2]"), ("y[0]", "y[1]", "y[2]")][plane == "outputs"]
        labels = [each.text for each in all_of(browser, ".arrows text")]
        assert labels[:2] == [names[across], names[up]]
        assert labels[-1] == {"inputs": "vᵀJ", "outputs": "v"}[plane]


def test_rows_have_names_where_v_is_scaled_as_a_whole(browser, tmp_path):
    found = run_lines("""
        x = torch.linspace(0.5, 2.0, 16, requires_grad=True)
        h = x
        for _ in range(160):
            h = h * 0.999 + 0.01
        y = h * x.roll(1)
        e = explain(y)
    """)
    opened(browser, found["e"], tmp_path / "page.html")
    assert "scaled as a whole" in text_of(browser, "#note")
    move(browser, [2.0])
    rows = [each.text for each in all_of(browser, "#jacobian .screen th[scope=row]")]
    assert rows == [*[f"y[{k}]" for k in range(16)], "vᵀJ"]
    _, (thick,) = arrows(browser)
    expected = 2 * found["e"].jacobian()["x"].sum(0)[:2]
    np.testing.assert_allclose(thick, expected / abs(expected).max(), atol=0.01)


@pytest.mark.parametrize("width", WIDTHS)
def test_on_paper_nothing_is_cut(browser, tmp_path, width):
    opened(browser, run_lines(SEVERAL)["e"], tmp_path / "page.html")
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert browser.find_element("id", "direction").value_of_css_property("position") == "static"
        for each in all_of(browser, ".memory, #jacobian tr, #graph svg"):
            assert each.value_of_css_property("break-inside") == "avoid"
        assert all(len(each.text.split()) == 1 and each.rect["height"] < 40 for each in all_of(browser, ".cells div"))
        assert browser.find_element("css selector", "#graph svg").rect["height"] <= 20 * 96 / 2.54 + 1  # one page
        for each in all_of(browser, 'input[type="range"], .screen'):  # what paper cannot move
            assert not each.is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_on_paper_a_wide_jacobian_is_several_tables(browser, tmp_path):
    weight = "long_name_of_the_weight"
    lines = f"torch.manual_seed(0)\n{weight} = torch.randn(5, 4).requires_grad_()\n"
    opened(browser, run_lines(f"{lines}y = ({weight} ** 2).sum()\ne = explain(y)")["e"], tmp_path / "page.html")
    assert [each.text for each in all_of(browser, "#jacobian tr:first-of-type th") if each.text][-1] == f"{weight}[4,3]"
    size = {"width": 718, "height": 800, "deviceScaleFactor": 1, "mobile": False}  # A4
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        tables = [each for each in all_of(browser, "#jacobian table") if each.is_displayed()]
        assert all(each.rect["x"] + each.rect["width"] < 718 for each in tables)
        heads = [one.text for each in tables for one in each.find_elements("css selector", "tr:first-of-type th")]
        assert [each for each in heads if each != "v" and each != "J"] == terminal.labels("", (5, 4))
        assert "can be moved" not in text_of(browser, "#still")
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_on_paper_what_is_folded_is_whole(browser, tmp_path):
    story = run_lines("""
        with explain.recording() as story:
            x = torch.tensor([[0.5, 0.25, 0.75]] * 10 + [[1.0, 2.0, 3.0]], requires_grad=True)
            ((x ** 2).sum() + torch.tensor([i / 2 for i in range(16)]).sum()).backward()
    """)["story"]
    opened(browser, story, tmp_path / "page.html")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        shown = " ".join(text_of(browser, "#program").split())
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert "7.0, 7.5]" in shown
    assert "[1.0, 2.0, 3.0]])" in shown


@pytest.fixture(scope="module")
def figure(tmp_path_factory):
    pytest.importorskip("sphinx")
    sys.path.insert(0, str(DOCS))
    try:
        import figure as module
    finally:
        sys.path.remove(str(DOCS))
    path = tmp_path_factory.mktemp("figure") / "figure.html"
    path.write_text(module.figure(), encoding="utf-8")
    return path


def type_y(browser, source, x):
    browser.execute_script(
        "formula.value = arguments[0]; start.value = arguments[1]; formula.dispatchEvent(new Event('input'))",
        source,
        ", ".join(map(str, x)),
    )


@pytest.mark.parametrize(
    "source",
    [
        "3 * x**2",
        "torch.sin(x[0] * x) + [x.sum(), 2, -x[1]**2]",
        "x.mean() - (1 - x[2] / x).exp() * 2e-1",
        "torch.relu(x - 1) + sigmoid(x) ** -x",
        "torch.relu(x - 1.5) * x[-1]",
        "x",
        "-x[0] / 2 - 3 - x[1]",
        "[x[0], x, 7]",
        "x.softmax(0) * x.norm() + torch.pow(x, 2)",
        "x @ (x + 1) * x.prod()",
        "x.softmax(dim=0) * x.sum(dim=-1)",
        "x.T @ x + torch.dot(x, x + 1) * x.dot(x)",
        "x.max() * x + torch.min(x) + torch.max(x, x[1] * x)",
        "[x[0], x[2], x[2], x[2]].max()",
        "x.clamp(1, 2) + x.clamp(min=1.5) * torch.clamp(x, max=1.5)",
    ],
)
def test_the_figure_of_the_first_page_differentiates_what_is_typed(browser, figure, source):
    browser.get(figure.as_uri())
    type_y(browser, source, [0.5, 1.5, 2.5])
    assert text_of(browser, "#wrong") == ""
    x = jaxvjp.tensor([0.5, 1.5, 2.5], requires_grad=True)

    def stacked(*parts):
        return jaxvjp.cat([jaxvjp.as_tensor(each, dtype=jaxvjp.float32).reshape(-1) for each in parts])

    names = {"x": x, "torch": jaxvjp, "sigmoid": jaxvjp.sigmoid, "stacked": stacked}
    y = eval(re.sub(r"(?<![\w\])])\[(.*)\]", r"stacked(\1)", source.replace(".T", "")), names)
    v = [1.0, -2.0, 0.5, 3.0, 1.5][: max(1, y.numel())]
    move(browser, v)
    (expected,) = jaxvjp.autograd.grad(y * 1, x, jaxvjp.tensor(v).reshape(y.shape))
    close(" ".join(each.text for each in all_of(browser, "[data-product]")), expected.numpy())
    move_x(browser, [1.0])
    assert "moves by" in text_of(browser, "#moved")


@pytest.mark.parametrize(
    ("source", "x"),
    [
        ("x.norm()", [0, 0]),
        ("torch.norm(x) * x", [0, 0]),
        ("x[0] ** x[1]", [-1, 2]),
        ("x[0] ** x[1]", [0, 0]),
        ("x[0] ** x[1]", [0, 2]),
        ("x.softmax(0)", [1000, 1]),
        ("max(x[0], x[1], 1) * min(x[1], x[0])", [2, 2]),
        ("torch.max(x[0], x[1])", [2, 2]),
        ("x ** [2, 0]", [-1, 0]),
        ("(-2) ** x", [1, 2]),
    ],
)
def test_where_a_derivative_is_zero_or_none_the_figure_has_that_of_torch(browser, figure, source, x):
    browser.get(figure.as_uri())
    type_y(browser, source, x)

    def gradient(torch):
        leaf = torch.tensor([float(each) for each in x], requires_grad=True)
        y = eval(source.replace("[2, 0]", "torch.tensor([2.0, 0.0])"), {"x": leaf, "torch": torch})
        y.sum().backward()
        return leaf.grad.tolist()

    move(browser, [1.0] * len(all_of(browser, "#sliders input[type=number]")))
    close(" ".join(each.text for each in all_of(browser, "[data-product]")), agree(gradient).value)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("foo(x)", "“foo” is not known"),
        ("x + ", "missing at the end"),
        ("(x", "“)” is missing at the end"),
        ("3", "x is not in it"),
        ("x[7]", "x has no [7]"),
        ("x[-3]", "x has no [-3]"),
        ("x + [x, 1]", "the other has more"),
        ("x x", "a sign such as * is missing before “x”"),
        ("x^2", "a power is written **"),
        ("x.foo(3)", "“.foo” is not known here"),
        ("x.pow()", "x.pow(2)"),
        ("sin x", "sin is written with parentheses: sin(x)"),
        ("x // 2", "a number, x or a function is missing before “/”"),
        ("foo(x, x)", "“foo” is not known"),
        ("dot(x)", "torch.dot(x, x)"),
        ("sum()", "sum of what? sum(x)"),
        ("x.norm(1)", "norm is the 2-norm here"),
        ("torch.max(x, 0)", "max has no dim here"),
        ("max(x, 0)", "Python's max compares single numbers: torch.max(x, y)"),
        ("x.softmax(dim=1)", "x has one dimension: dim is 0 or -1"),
        ("x.mean(1)", "x has one dimension: dim is 0 or -1"),
        ("x.sum(keepdim=True)", "“True” is not known"),
    ],
)
def test_the_figure_says_what_it_cannot_read_and_keeps_what_it_showed(browser, figure, source, said):
    browser.get(figure.as_uri())
    type_y(browser, source, [1, 2])
    assert said in text_of(browser, "#wrong")
    close(" ".join(each.text for each in all_of(browser, "[data-product]")), [6.0, 120.0])
    head = browser.find_element("id", "jacobian-head").find_element("xpath", "..")
    assert float(head.value_of_css_property("opacity")) < 0.5  # it is of another y
    type_y(browser, "x * 2", [1, 2])
    assert float(head.value_of_css_property("opacity")) == 1


@pytest.mark.parametrize("width", WIDTHS)
def test_the_figure_fits_and_axe_finds_nothing(browser, schemes, figure, width):
    browser.get(figure.as_uri())
    for shown in schemes(width):
        assert shown.execute_script("return document.documentElement.scrollWidth") <= width
        assert not violations(shown)
    assert not re.search(r'(src|href)="', figure.read_text(encoding="utf-8"))


def test_the_page_of_each_lesson_and_example_opens(browser, tmp_path):
    for each in [*lessons(), *examples().values()]:
        with jaxvjp.explain.recording() as story:
            each.module.imperative()
        if story.walks:
            opened(browser, story, tmp_path / "page.html")
            assert not [log for log in browser.get_log("browser") if log["level"] == "SEVERE"], each.name


def test_a_notebook_shows_page_picture_tensors_and_source_in_light_and_dark(browser, tmp_path):
    found = run_lines(HOOKED)
    story, x = found["story"], found["x"]
    picture = story.picture()._repr_html_()
    assert picture.startswith("<img ")  # a bare SVG is not shown in a notebook that is opened fresh
    parts = [each._repr_html_() for each in (x, story, story.jacobian(), story.cotangents(), story.page())]
    path = tmp_path / "cells.html"
    for paper, ink in (("#fff", "rgba(0,0,0,.87)"), ("#111", "rgba(255,255,255,.87)")):
        path.write_text(
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>cells</title><body style="background:{paper};'
            f'color:{ink}"><main><h1>cells</h1>{"<hr>".join([*parts, picture])}</main>',
            encoding="utf-8",
        )
        browser.get(path.as_uri())
        assert browser.execute_script("return document.querySelector('img').naturalWidth") > 100
        assert "color-contrast" not in str(violations(browser))
        browser.switch_to.frame(0)
        assert all_of(browser, "#sliders input")
        browser.switch_to.default_content()


def test_tensors_as_tables():
    table = jaxvjp.tensor([[1.0, -2.0], [float("nan"), 0.0]])._repr_html_()
    assert re.findall(r"rgba\(([^)]*)\)\">([^<]*)", table) == [
        ("11,99,197,0.17", "1"),
        ("196,60,30,0.35", "-2"),
        ("196,60,30,0.00", "nan"),
        ("196,60,30,0.00", "0"),
    ]
    assert jaxvjp.zeros(2, 2, 3)._repr_html_().count("<tr>") == 4
    for each in (jaxvjp.tensor(1.0), jaxvjp.ones(1000), jaxvjp.tensor([1j]), jaxvjp.empty(3, device="meta")):
        assert "<table" not in each._repr_html_()


def test_a_derivative_that_is_not_a_number_is_shown_as_one(browser, tmp_path):
    found = run_lines("x = torch.tensor([0.5, 2.0], requires_grad=True)\ny = (x * 2).sqrt()\ne = explain(y)")
    opened(browser, found["e"], tmp_path / "page.html")
    move_x(browser, [-0.5, 2.0])
    assert [each.text for each in all_of(browser, '[data-product="x"]')] == ["nan", "0.5"]
