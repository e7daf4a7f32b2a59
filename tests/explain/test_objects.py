"""The user's lines one by one: names, tensors and memories as torch has them, and as the page draws them."""

from __future__ import annotations

import gc
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from browsing import WIDTHS, all_of, move, opened, text_of, violations
from oracle import theirs
from test_source import run_lines

import jaxvjp
from jaxvjp import explain
from jaxvjp.__main__ import main
from jaxvjp.explain import watching
from jaxvjp.explain.names import statement
from jaxvjp.explain.objects import STEPS, run_of


def views_and_writes(torch):
    base = torch.zeros(2, 3)
    row, flat = base[1], base.view(6)
    row.fill_(2.0)
    turned = base.t()
    flat[0] = 5.0
    copy = base.clone()
    turned[1:].add_(
        torch.tensor(1.0),
    )
    base = torch.arange(3)
    wide = base.expand(2, 3)
    del row
    return copy, flat, wide


def detached_data_and_parameters(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    z = x
    h = x * 3
    cut = h.detach()
    raw = x.data
    cut.mul_(2)
    read = h.tolist()
    with torch.no_grad():
        x.add_(1)
        part = x[:1]
    raw[0] = 9.0
    z = None
    return read, part, z


def gradients_that_come_and_add_up(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([0.5, 1 - 2j], requires_grad=True)
    base = torch.zeros(2, dtype=torch.complex64)
    view = base[1:]
    base.add_(w * 2)
    y = (x * 3).sum() + view.abs().sum()
    for _ in range(2):
        y.backward(retain_graph=True)
    kept = x.grad
    x.grad.zero_()
    x.grad = None
    return kept


def as_it_ran(program, torch):
    """What there is after each statement of a program: memories, each as its numbers and the tensors that show it."""
    if torch is jaxvjp:
        with explain.recording(lines=True) as story:
            program(torch)
        return [
            [
                step["text"],
                in_order([[each["numbers"], sorted(map(told, each["tensors"]))] for each in step["memories"]]),
            ]
            for step in run_of(story)["steps"]
            if step["inside"] == f"{program.__name__}()"
        ]
    steps, running = [], []

    def after_a_line(frame, event, _):
        if event in ("line", "return"):
            if running:
                steps.append((statement((frame.f_code, running[-1])), running[-1], seen(frame.f_locals, torch)))
            running.append(frame.f_lasti)
        return after_a_line

    before = sys.gettrace()
    sys.settrace(lambda frame, event, _: after_a_line if frame.f_code is program.__code__ else None)
    try:
        program(torch)
    finally:
        sys.settrace(before)
    following = [*steps[1:], (None, -1, None)]
    return [
        [source.text, in_order(memories)]
        for (source, place, memories), (after, then, _) in zip(steps, following, strict=True)
        if after is None or after.tree is not source.tree or then <= place
    ]


def in_order(memories):
    return sorted(memories, key=lambda each: each[1])


def told(each):
    """A tensor of the page in one text."""
    return (
        f"{' '.join(each['names'])}: {each['kind']} {each['state']} version {each['version']} at {list(each['places'])}"
    )


def seen(variables, torch):
    """The same of variables under torch."""
    named = {}
    for name, value in variables.items():
        if isinstance(value, torch.Tensor):
            named.setdefault(id(value), (value, []))[1].append(name)
            if value.is_leaf and value.grad is not None:
                named.setdefault(id(value.grad), (value.grad, []))[1].append(f"{name}.grad")
    memories = {}
    for tensor, names in named.values():
        storage = tensor.untyped_storage()
        whole = torch.empty(0, dtype=tensor.dtype).set_(storage)[: watching.CELLS]
        numbers = (torch.view_as_real(whole) if whole.is_complex() else whole).tolist()
        index = torch.arange(storage.nbytes() // tensor.element_size())
        shown = index.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset()).flatten().tolist()
        state = "leaf, requires_grad" if tensor.requires_grad else "no grad"
        each = {
            "names": names,
            "kind": f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}",
            "state": state if tensor.is_leaf else f"grad_fn {type(tensor.grad_fn).__name__}",
            "version": tensor._version,
            "places": shown[: watching.CELLS],
        }
        memories.setdefault(storage.data_ptr(), [numbers, []])[1].append(told(each))
    return [[numbers, sorted(tensors)] for numbers, tensors in memories.values()]


@pytest.mark.parametrize("program", [views_and_writes, detached_data_and_parameters, gradients_that_come_and_add_up])
def test_after_each_line_there_is_what_torch_has(program):
    expected = theirs(lambda torch: as_it_ran(program, torch)).value
    given = as_it_ran(program, jaxvjp)
    for (text, memories), (torchs_text, torchs) in zip(given, expected, strict=True):
        assert (text, [tensors for _, tensors in memories]) == (torchs_text, [tensors for _, tensors in torchs])
        for (numbers, tensors), (torchs_numbers, _) in zip(memories, torchs, strict=True):
            np.testing.assert_allclose(numbers, torchs_numbers, rtol=1e-6, err_msg=f"{text}: {tensors}")


LINES = """
x = torch.tensor([1.0, 2.0], requires_grad=True)
with explain.recording(lines=True) as story:
    z = x
    h = x * 3
    part = h.detach()[1:]
    y = h ** 2
    y.backward(torch.tensor([1.0, 0.0]), retain_graph=True)
    y.backward(torch.tensor([1.0, 10.0]))
    part.mul_(10)
"""
TRAINING = """
data = torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
model = torch.nn.Linear(2, 3)
def loss_of(x):
    out = model(x)
    return (out ** 2).mean()

with explain.recording(lines=True) as story:
    for k in range(170):
        loss = loss_of(data[k % 2:])
        loss.backward()
"""


def step_of(browser, text):
    """Goes to the last step of a line with this text; returns its number."""
    find = "moments().findLastIndex(each => each.line && run[each.ran].text.startsWith(arguments[0]))"
    return browser.execute_script(f"const k = {find}; go(k); return k", text)


def memories(browser):
    """What the page draws: for each memory the names on it, the tensors, and the numbers."""
    return {
        " ".join(each.text for each in box.find_elements("css selector", ".names code")): (
            [each.text for each in box.find_elements("css selector", ".card")],
            [each.text.split() for each in box.find_elements("css selector", ".cells div")],
        )
        for box in all_of(browser, "#objects .memory")
    }


@pytest.fixture
def page(browser, tmp_path):
    opened(browser, run_lines(LINES)["story"], tmp_path / "page.html")
    yield browser
    assert not [each for each in browser.get_log("browser") if each["level"] == "SEVERE"]


def test_views_and_detached_tensors_share_a_memory_and_a_write_shows_in_all(page):
    step_of(page, "part = ")
    drawn = memories(page)
    assert list(drawn) == ["x z", "h part"]
    (h, part), cells = drawn["h part"]
    assert "grad_fn MulBackward0" in h
    assert "no grad" in part
    assert cells == [["3"], ["6", "part"]]
    assert "not computed yet" in text_of(page, "#objects")
    step_of(page, "part.mul_")
    (h, part), cells = memories(page)["h part"]
    assert cells == [["3"], ["60", "part"]]
    assert "version 1" in h and "[3 60]" in h  # noqa: PT018
    assert "version 1" in part and "[60]" in part  # noqa: PT018
    assert len(all_of(page, "#objects .store.new")) == 1


def test_gradients_appear_add_up_and_follow_v(page):
    first = step_of(page, "y.backward(torch.tensor([1.0, 0.0])")
    assert memories(page)["x.grad"][1] == [["18"], ["0"]]
    page.execute_script(f"go({first - 1})")
    assert "x.grad" not in memories(page)
    assert ".grad None" in memories(page)["x z"][0][0]
    page.execute_script("go(moments().findLastIndex(each => !each.line))")  # the end of the second backward
    assert memories(page)["x.grad"][1] == [["36"], ["360"]]
    move(page, [2.0, 0.0])
    assert memories(page)["x.grad"][1] == [["54"], ["0"]]
    step_of(page, "part.mul_")
    assert memories(page)["x.grad"][1] == [["36"], ["360"]]
    assert "those of the v that ran" in text_of(page, "#objects-note")


def test_the_keyboard_goes_through_the_lines_and_then_back(page):
    body = page.find_element("tag name", "body")
    page.execute_script("go(0)")
    assert "your line 3: z = x" in text_of(page, "#told")
    assert len([each for each in all_of(page, "#graph .node") if each.is_displayed()]) == 1  # x alone
    seen = []
    while page.find_element("id", "on").is_enabled():
        body.send_keys("\ue014")
        seen.append(text_of(page, "#told").partition(", ")[2])
    kinds = [each.partition(" ")[0] for each in seen]
    assert kinds == ["your"] * 4 + ["back"] * 2 + ["your"] * 2
    assert seen[4] == "back through y (PowBackward0), line 6"
    page.execute_script("document.activeElement.blur()")
    body.send_keys("\ue004")
    assert page.switch_to.active_element.get_attribute("aria-label") == "v for y[0]"


def test_choosing_a_line_goes_to_when_it_ran(page):
    page.execute_script("go(0)")
    (button,) = [each for each in all_of(page, "#lines button") if "part = h" in each.text]
    button.click()
    assert "your line 5: part" in text_of(page, "#told")
    assert len(all_of(page, "#objects .card.new")) == 1


@pytest.mark.parametrize("width", WIDTHS)
def test_a_long_training_run_fits_every_width_and_is_accessible(browser, tmp_path, schemes, width):
    story = run_lines(TRAINING)["story"]
    steps = run_of(story)["steps"]
    assert len(steps) < 30
    assert {tuple(each["run"]) for each in steps if each["text"] == "loss.backward()"} == {
        (1, 170),
        (2, 170),
        (3, 170),
        (170, 170),
    }
    opened(browser, story, tmp_path / "page.html")
    for shown in schemes(width):
        for place in (1, 3, 99):  # in the function, at the top, and at the end
            shown.execute_script(f"go({place})")
            assert shown.execute_script("return document.documentElement.scrollWidth") <= width
            assert not violations(shown)
        assert shown.find_element("css selector", "#sliders input").rect["y"] < 600


def test_without_watched_lines_the_graph_tells_what_they_computed(browser, tmp_path):
    found = run_lines(LINES.replace("lines=True", ""))
    assert sys.gettrace() is None
    opened(browser, found["story"], tmp_path / "page.html")
    assert "recording(lines=True)" in text_of(browser, "#objects-note")
    step_of(browser, "h = x * 3")
    assert list(memories(browser)) == ["x", "h"]


def test_watching_keeps_no_tensor_and_computes_nothing():
    found = run_lines("""
        import weakref
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        with explain.recording(lines=True) as story:
            y = x * 2
            gone = weakref.ref(y)
            z = y + 1
            del y
            here = gone()
    """)
    gc.collect()
    assert found["here"] is None
    assert found["z"].__node__.value is None
    assert sys.gettrace() is None


def test_what_is_not_watched_is_said(monkeypatch):
    monkeypatch.setattr(watching, "LINES", 5)
    lines = "x = torch.ones(2, requires_grad=True)\nwith explain.recording(lines=True) as story:\n    y = x\n"
    story = run_lines(lines + "    for _ in range(9):\n        y = y * 2\n    y.sum().backward()")["story"]
    told = run_of(story)
    assert told["note"] == "Only the first 5 lines were watched."
    assert told["steps"][-1]["text"] == "the end"
    assert told["steps"][-1]["memories"][-1]["numbers"] == [512, 512]
    long = lines + "".join(f"    y = y * {k}\n" for k in range(STEPS + 50)) + "    y.sum().backward()"
    monkeypatch.setattr(watching, "LINES", 2_000)
    told = run_of(run_lines(long)["story"])
    assert len(told["steps"]) == STEPS
    assert told["note"].startswith(f"Of {STEPS + 52} steps")
    sys.settrace(lambda *_: None)
    try:
        story = run_lines(LINES)["story"]
    finally:
        sys.settrace(None)
    assert "Something else follows" in run_of(story)["note"]


def test_calls_that_an_import_makes_are_not_counted(monkeypatch, tmp_path):
    monkeypatch.setattr(watching, "CALLS", 200)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "a_module_of_many_calls.py").write_text("f = lambda: 0\nfor _ in range(300):\n    f()\n")
    story = run_lines("""
        x = torch.ones(2, requires_grad=True)
        with explain.recording(lines=True) as story:
            import a_module_of_many_calls
            y = x * 2
    """)["story"]
    assert run_of(story)["note"] == ""
    assert [each["text"] for each in run_of(story)["steps"]][-1] == "y = x * 2"


def test_an_object_that_cannot_be_looked_into_does_not_break_the_run():
    story = run_lines("""
        class Broken:
            def named_parameters(self):
                raise ValueError("none of your business")
            named_buffers = named_parameters
        x = torch.ones(2, requires_grad=True)
        with explain.recording(lines=True) as story:
            y = x * 2
            model = Broken()
            y.sum().backward()
            del model
    """)["story"]
    assert "ValueError: none of your business" in run_of(story)["note"]


def test_the_command_watches_for_a_page_alone(tmp_path, capsys):
    script = tmp_path / "script.py"
    script.write_text("import torch\nx = torch.ones(2, requires_grad=True)\ny = x\n(y * 2).sum().backward()\n")
    assert main(["explain", str(script), "--html", str(tmp_path / "page.html")]) == 0
    assert '"names": ["x", "y"]' in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert sys.gettrace() is None
    capsys.readouterr()


def test_memory_that_numpy_has_too_shows_what_numpy_wrote():
    story = run_lines("""
        x = torch.arange(3.0)
        with explain.recording(lines=True) as story:
            a = x.numpy()
            a[0] = 7
    """)["story"]
    (memory,) = run_of(story)["steps"][-1]["memories"]
    assert memory["shared"]
    assert memory["numbers"] == [7, 1, 2]


def test_the_document_shows_what_its_blocks_print(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "explain.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", page, re.DOTALL)
    for block, printed in blocks:
        run_lines(block)
        assert capsys.readouterr().out == printed
    assert len(blocks) == 3
    assert '"part = h.detach()[1:]"' in (tmp_path / "lesson.html").read_text(encoding="utf-8")
