"""`compare`: printed lines, gradients, errors, and scripts that crash or hang."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from oracle import live, needs_torch

import jaxvjp
from jaxvjp.__main__ import main
from jaxvjp.explain import terminal
from jaxvjp.tools.comparison import Report, process, recorder
from jaxvjp.tools.comparison.gradients import Call, Values, compare_calls, compare_values
from jaxvjp.tools.comparison.outcome import CRASHED, ENDLESS, EXITED, FINISHED, RAISED, TIMED_OUT, Side
from jaxvjp.tools.comparison.process import Input, run_side
from jaxvjp.tools.comparison.text import CLOSE, DIFFERENT, SAME, compare_line, compare_lines

# Lines.


@pytest.mark.parametrize(
    ("torch", "given", "verdict"),
    [
        ("loss 0.5", "loss 0.5", SAME),
        ("<MulBackward0 object at 0x7f0a12345670>", "<MulBackward0 object at 0x55d012345671>", SAME),
        ("loss 0.50000001", "loss 0.5", CLOSE),
        ("tensor([1., 2.])", "tensor([1.0000, 2.0000])", CLOSE),
        ("tensor([ 0.5000, -0.0000])", "tensor([0.5000, 0.0000])", CLOSE),
        ("1.2345e-01", "1.2346e-01", CLOSE),  # one in the last digit printed
        ("0.1234", "0.1235", CLOSE),
        ("0.1234", "0.1236", DIFFERENT),
        ("0.0012", "0.0013", DIFFERENT),  # too few digits for that
        ("1e-9", "2e-9", CLOSE),  # nothing, next to FLOOR
        ("1e-3", "1.1e-3", DIFFERENT),
        ("nan inf -inf", "nan inf -inf", SAME),
        ("nan", "inf", DIFFERENT),
        ("100000", "100001", DIFFERENT),  # whole numbers are counted, not measured
        ("layer1 float32", "layer2 float32", DIFFERENT),
        ("1+2.00000001j", "1+2j", CLOSE),
        ("[1.0, 2.0]", "[1.0, 2.0, 3.0]", DIFFERENT),
        ("0.5 and", "0.5 or", DIFFERENT),
        ("True", "False", DIFFERENT),
    ],
)
def test_two_lines(torch, given, verdict):
    assert compare_line(torch, given, 1e-5).verdict == verdict
    assert compare_line(given, torch, 1e-5).verdict == verdict


def test_the_tolerance_is_the_users():
    assert compare_line("0.5", "0.51", 1e-5).verdict == DIFFERENT
    assert compare_line("0.5", "0.51", 0.1).verdict == CLOSE
    assert compare_line("0.5", "0.51", 0.1).difference == pytest.approx(0.01)


def test_a_line_too_many_does_not_shift_the_rest():
    torch = ["a 1.0", "b 2.0", "c 3.0"]
    found = compare_lines(torch, ["a 1.0", "extra", "b 2.00000001", "c 3.0"], 1e-5)
    assert [(each.torch, each.jaxvjp, each.verdict) for each in found] == [
        ("a 1.0", "a 1.0", SAME),
        (None, "extra", DIFFERENT),
        ("b 2.0", "b 2.00000001", CLOSE),
        ("c 3.0", "c 3.0", SAME),
    ]
    many = [f"step {number}" for number in range(3000)]
    assert [each.verdict for each in compare_lines(many, many[:-1], 1e-5)].count(DIFFERENT) == 1


# Gradients.


def values(numbers, dtype="float32", held=None):
    array = np.array(numbers, held or dtype)
    return Values(array.shape, dtype, array)


def test_differences_of_gradients():
    leaf = compare_values("w", values([1.0, 4.0]), values([1.0, np.nextafter(np.float32(4), np.float32(5))]), 1e-5)
    assert (leaf.verdict, leaf.ulps) == (CLOSE, 1)
    assert leaf.absolute == pytest.approx(2.0**-21)
    assert leaf.relative == pytest.approx(2.0**-23)
    assert compare_values("w", values([-0.0]), values([0.0]), 1e-5).ulps == 0
    across = compare_values("w", values([-1e-45]), values([1e-45]), 1e-5)
    assert (across.verdict, across.ulps) == (CLOSE, 2)
    infinite = compare_values("w", values([math.inf, 1.0]), values([2.0, 1.0]), 1e-5)
    assert (infinite.verdict, infinite.absolute, infinite.ulps) == (DIFFERENT, math.inf, None)
    same = compare_values("w", values([math.inf, math.nan]), values([math.inf, math.nan]), 1e-5)
    assert (same.verdict, same.absolute, same.relative) == (SAME, 0, 0)
    assert compare_values("w", values([1 + 1j], "complex64"), values([1 + 2j], "complex64"), 1e-5).absolute == 1.0
    assert compare_values("w", values([1, 2], "int64"), values([1, 3], "int64"), 1e-5).verdict == DIFFERENT
    half = compare_values("w", values([1.0], "float16"), values([1 + 2.0**-10], "float16"), 1e-5)
    assert (half.verdict, half.ulps) == (CLOSE, 1)
    brain = compare_values(
        "w", values([1.0], "bfloat16", "float32"), values([1 + 2.0**-7], "bfloat16", "float32"), 1e-5
    )
    assert (brain.verdict, brain.ulps) == (CLOSE, 1)
    empty = compare_values("w", values([]), values([]), 1e-5)
    assert (empty.verdict, empty.absolute, empty.ulps) == (SAME, 0.0, 0)


def test_a_vanishing_gradient_is_measured_by_what_it_was():
    def calls(*gradients):
        return [Call("backward", 1, (("w", values([each])),), None) for each in gradients]

    first, later = compare_calls(calls(1000.0, 1.0), calls(1000.0, 1.001), 1e-5)
    assert (first.verdict, later.verdict) == (SAME, CLOSE)
    assert later.leaves[0].scaled == pytest.approx(1e-6, rel=1e-2)
    assert [each.verdict for each in compare_calls(calls(1.0, 1000.0), calls(1.001, 1000.0), 1e-5)] == [DIFFERENT, SAME]


def test_what_is_not_numbers_is_named():
    one = values([1.0])
    for torch, given, note in (
        (None, one, "None under torch"),
        (one, None, "None under jaxvjp"),
        (one, values([1.0, 2.0]), "shape (1,) under torch, (2,) under jaxvjp"),
        (one, values([1.0], "float64"), "dtype float32 under torch, float64 under jaxvjp"),
    ):
        found = compare_values("w", torch, given, 1e-5)
        assert (found.verdict, found.note) == (DIFFERENT, note)
    assert compare_values("w", None, None, 1e-5).verdict == SAME
    assert "not recorded" in compare_values("w", Values((1,), "float32", None), one, 1e-5).note

    def call(*leaves, kind="backward", line=1, error=None):
        return Call(kind, line, leaves, error)

    boom = {"kind": "RuntimeError", "text": "boom.\nadvice"}
    (renamed,) = compare_calls([call(("w", one))], [call(("v", one))], 1e-5)
    assert renamed.note == "w only under torch; v only under jaxvjp"
    (raising,) = compare_calls([call(error=boom)], [call(("w", one))], 1e-5)
    assert (raising.verdict, raising.note) == (DIFFERENT, "torch: RuntimeError: boom; jaxvjp: no error")
    (alike,) = compare_calls([call(error=boom)], [call(error={**boom, "text": "boom"})], 1e-5)
    assert (alike.verdict, alike.note) == (SAME, "both raise RuntimeError: boom")
    (elsewhere,) = compare_calls([call(line=3)], [call(kind="grad", line=4)], 1e-5)
    assert elsewhere.note == "under jaxvjp it is grad in line 4"
    assert [each.one_sided for each in compare_calls([call()], [call(), call()], 1e-5)] == [False, True]


# Functions, in this process.


class Model:
    def __init__(self, torch):
        self.layers = [torch.ones(2, requires_grad=True), {"bias": torch.zeros(2, requires_grad=True)}]


def step(torch, x, rate):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    model = Model(torch)
    loss = ((w * x * model.layers[0] + model.layers[1]["bias"]) ** 2).sum() + torch.ones(1, requires_grad=True).sum()
    loss.backward()
    print("loss", loss.item())
    (g,) = torch.autograd.grad((w * rate).sum(), [w])
    return {"loss": loss, "parts": [g, 3, "text"], "none": None}


class Part:
    """Anything with attributes."""


def net_of(torch, turned):
    net = Part()
    net.body = Part()
    net.body.layers = [Part(), Part()]
    for place, each in enumerate(net.body.layers[::-1] if turned else net.body.layers):
        each.w = torch.tensor([1.0 + place, 2.0], requires_grad=True)
    return net


def nested(torch, turned):
    net = net_of(torch, turned)
    (net.body.layers[0].w ** 2 * net.body.layers[1].w.sin()).sum().backward()


@needs_torch
@pytest.mark.parametrize("turned", [False, True])
def test_leaves_deep_in_an_object_have_their_names(turned):
    report = jaxvjp.compare(nested, turned)
    assert report.equal, report
    assert sorted(each.name for each in report.calls[0].leaves) == [f"net.body.layers[{place}].w" for place in (0, 1)]


def test_leaves_without_a_name_are_numbered_in_the_order_of_the_graph():
    leaves = [jaxvjp.ones(1, requires_grad=True) for _ in range(20)]
    names = recorder._names(leaves[::-1], None)
    assert names == [f"leaf {place + 1}" for place in range(20)]


@needs_torch
def test_a_function_is_compared():
    report = jaxvjp.compare(step, np.array([0.3, 0.7], np.float32), 0.1)
    assert report.equal, report
    assert [each.verdict for each in report.lines] == [SAME]
    backward, grad = report.calls
    # The fourth leaf, `torch.ones(1, requires_grad=True)`, is nobody's.
    assert [each.name for each in backward.leaves] == ["w", "model.layers[0]", "model.layers[1]['bias']"]
    assert (backward.kind, grad.kind, [each.name for each in grad.leaves]) == ("backward", "grad", ["w"])
    assert backward.line == step.__code__.co_firstlineno + 4
    names = ["loss", "parts"]
    assert [each.name for each in report.results] == [
        f"result[{names[0]!r}]",
        *[f"result['parts'][{place}]" for place in range(3)],
        "result['none']",
    ]
    report.raise_if_different()
    assert "equal, 1 of 1 lines agree, 2 of 2 backward passes agree, 5 of 5 results agree" in str(report)
    assert live.Tensor.backward.__module__ == "torch._tensor"  # nothing of the recording stays


@needs_torch
def test_what_cannot_be_recorded_does_not_stop_the_program(monkeypatch):
    def program(torch):
        w = torch.ones(2, requires_grad=True)
        y = w * 2
        (y * y).sum().backward(inputs=[y])
        torch.autograd.backward(tensors=(w * 3).sum())
        return y.grad

    monkeypatch.setattr(recorder, "MOST_BYTES", 8)
    report = jaxvjp.compare(program)
    assert report.equal, report
    first, second = report.calls
    assert [each.name for each in (*first.leaves, *second.leaves)] == ["y", "w"]
    assert (first.leaves[0].note, first.leaves[0].ulps) == ("", 0)
    assert "not recorded" in second.leaves[0].note
    monkeypatch.setattr(recorder, "encode", None)
    monkeypatch.setattr(recorder, "_names", None)
    assert jaxvjp.compare(program).equal


@needs_torch
def test_inputs_cross_to_both_sides_and_stay_untouched():
    x, y = live.ones(2, requires_grad=True), jaxvjp.ones(2)

    def program(torch, x, y, name):
        (x * y).sum().backward()
        with torch.no_grad():
            y += 1
        return x.grad, y, x.requires_grad, name

    report = jaxvjp.compare(program, x, y, "kept")
    assert report.equal, report
    assert x.grad is None
    assert y.tolist() == [1.0, 1.0]


@needs_torch
def test_what_differs_is_told_and_nothing_is_raised():
    def program(torch):
        factor = 1.0 if torch is live else 1.5
        w = torch.ones(3, requires_grad=True)
        (factor * w).sum().backward()
        print("factor", factor)
        if torch is jaxvjp:
            raise ValueError("only here\nadvice")
        return w

    report = jaxvjp.compare(program)
    assert not report.equal
    assert not report.endings_agree
    assert report.jaxvjp.ending.startswith("ValueError: only here (line ")
    (leaf,) = report.calls[0].leaves
    assert (leaf.verdict, leaf.absolute, leaf.name) == (DIFFERENT, 0.5, "w")
    with pytest.raises(AssertionError, match=r"factor 1\.5"):
        report.raise_if_different()

    def results(torch):
        return [torch.ones(1 if torch is live else 2), 1.0 if torch is live else 1, [1] if torch is live else [1, 2]]

    assert [each.verdict for each in jaxvjp.compare(results).results] == [DIFFERENT] * 3


@needs_torch
def test_the_same_error_under_both_is_equal():
    def program(torch):
        torch.ones(2, requires_grad=True).backward()

    report = jaxvjp.compare(program)
    assert report.equal, report
    assert report.calls[0].note == "both raise RuntimeError: grad can be implicitly created only for scalar outputs"
    assert jaxvjp.compare(program, tolerance=0.5).tolerance == 0.5


def test_without_torch_it_says_what_to_install(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"pip install 'jaxvjp\[compare\]'"):
        jaxvjp.compare(lambda torch: None)
    assert main(["compare", write(tmp_path, "import torch\n")]) == 2
    assert "pip install 'jaxvjp[compare]'" in capsys.readouterr().err


# Scripts, in processes of their own.


def write(tmp_path, text, name="script.py"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)


ONE_SIDE = {
    "crash": ("import os, signal\nprint('before')\nos.kill(os.getpid(), signal.SIGSEGV)", CRASHED, "by signal SIGSEGV"),
    "leave": ("import os\nprint('before')\nos._exit(3)", EXITED, "with status 3, not through Python"),
    "exit": ("import sys\nprint('before')\nsys.exit('why')", EXITED, "with status 1"),
    "finish": ("print('before')", FINISHED, ""),
    "raise": ("print('before')\n\n1 / 0", RAISED, ""),
    "hang": ("print('before')\nwhile True: pass", TIMED_OUT, "after 5 seconds"),
    "endless": ("print('before')\nwhile True: print('x' * 1000)", ENDLESS, "(more than 100,000 bytes)"),
    "child": ("import subprocess\nprint('before')\nsubprocess.run(['sleep', '1000'])", TIMED_OUT, "after 5 seconds"),
    "nonsense": ("print('before'", RAISED, ""),
}


@pytest.mark.parametrize("name", ONE_SIDE)
def test_whatever_a_script_does_it_is_told(name, tmp_path, monkeypatch):
    monkeypatch.setattr(process, "MOST_OUTPUT", 100_000)
    text, status, detail = ONE_SIDE[name]
    told = []
    timeout = 5 if status == TIMED_OUT else 60
    side = run_side("jaxvjp", Path(write(tmp_path, text)), timeout=timeout, progress=told.append)
    assert (side.status, side.detail) == (status, detail)
    assert side.lines[:1] == ([] if name == "nonsense" else ["before"])
    assert (side.seconds is not None) == (name in ("exit", "finish", "raise", "nonsense"))
    assert not told or told[-1].startswith("jaxvjp: ")
    if name == "raise":
        assert side.ending == "ZeroDivisionError: division by zero (line 3)"
        assert side.errors.splitlines()[1].endswith('script.py", line 3, in <module>')
    if name == "nonsense":
        assert side.ending == "SyntaxError: '(' was never closed (script.py, line 1)"


@pytest.mark.parametrize("status", [CRASHED, TIMED_OUT, ENDLESS])
def test_no_hang_agrees_with_another(status):
    sides = [Side(module, status=status) for module in ("torch", "jaxvjp")]
    assert not Report("script.py", *sides).equal
    assert Report("script.py", Side("torch", lines=["a"]), Side("jaxvjp", lines=["a"])).equal


SURROUNDINGS = """
import os, random, sys
import numpy as np
from beside import number
import torch
x = torch.ones(2, requires_grad=True)
print(sys.argv[1:], os.getcwd(), os.environ["COMPARED"], input(), sys.stdin.read(), number, __name__)
print(np.random.rand(3), random.random(), torch.rand(2), set("abcdefgh"))
(x * number).sum().backward()
if __name__ == "__main__":
    sys.exit(5)
"""


@needs_torch
def test_both_sides_find_the_same_surroundings(tmp_path):
    write(tmp_path, "number = 42\n", "beside.py")
    unset = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    done = subprocess.run(
        [sys.executable, "-m", "jaxvjp", "compare", "--json", write(tmp_path, SURROUNDINGS), "--", "--rate", "0.5"],
        input="first\nsecond\nthird\n",
        env={**unset, "COMPARED": "here", "PYTHONPATH": str(Path(__file__).parent.parent.parent)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (report,) = json.loads(done.stdout)
    assert report["equal"]
    line = f"['--rate', '0.5'] {tmp_path} here first second"
    assert [each["torch"] for each in report["lines"]][:3] == [line, "third", " 42 __main__"]
    assert [each["jaxvjp"] for each in report["lines"]][:3] == [line, "third", " 42 __main__"]
    assert len(report["lines"]) == 4  # the last has random numbers, of scripts that set no seed
    assert report["torch"]["detail"] == report["jaxvjp"]["detail"] == "with status 5"
    (call,) = report["calls"]
    assert (call["kind"], call["leaves"][0]["name"], call["leaves"][0]["ulps"]) == ("backward", "x", 0)
    assert report["torch"]["version"] == live.__version__
    assert report["jaxvjp"]["version"] == jaxvjp.__version__


def test_a_terminal_is_not_read_from(monkeypatch):
    monkeypatch.setattr(os, "isatty", lambda _: True)
    assert Input()._ended


DIFFERING = """
import torch
here = "jaxvjp" in torch.__version__
w = torch.ones(3, requires_grad=True)
for step in range(60):
    print("step", step)
    w.grad = None
    (w * (1 + (step == 7) * here * 0.5)).sum().backward()
print("<b>", 0.5 + here * 1e-7)
print("only here" if here else "only there")
if here:
    w.frobnicate()
"""


class Balanced(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.addresses = [], []

    def handle_starttag(self, tag, attributes):
        self.addresses += [value for name, value in attributes if name in ("src", "href")]
        if tag not in ("meta", "line", "circle") and not self.get_starttag_text().endswith("/>"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("line", "circle"):
            assert self.open.pop() == tag


@needs_torch
@pytest.mark.parametrize("fancy", [False, True])
def test_what_differs_is_shown(tmp_path, capsys, monkeypatch, fancy):
    monkeypatch.setattr(terminal, "_fancy", lambda: fancy and terminal.HAS_RICH)
    monkeypatch.setenv("COLUMNS", "200")
    same = write(tmp_path, "import torch\nprint(torch.ones(2))\n", "same.py")
    page = tmp_path / "page.html"
    assert main(["compare", write(tmp_path, DIFFERING), same, "--html", str(page)]) == 1
    out = capsys.readouterr().out
    assert "script.py: DIFFERENT, 61 of 62 lines agree, 59 of 60 backward passes agree, they end differently" in out
    assert "same.py: equal, 1 of 1 lines agree" in out
    assert "1 of 2 scripts agree" in out
    assert "AttributeError: 'Tensor' object has no attribute 'frobnicate' (line 12)" in out
    assert "... 56 more" in out
    assert "59 × backward, line 8" in out
    assert "8: backward, line 8" in out
    assert "jaxvjp | only here" in out
    if not fancy:
        assert "61    ≈  torch  | <b> 0.5\n      ≈  jaxvjp | <b> 0.5000001\n" in out
    text = page.read_text(encoding="utf-8")
    checker = Balanced()
    checker.feed(text)
    assert not checker.open
    assert not checker.addresses  # nothing is fetched
    assert "&lt;b&gt; <mark>0.5000001</mark>" in text
    assert text.count("<circle") == 60
    assert "60 equal lines" in text
    assert 'class="different"' in text


@needs_torch
def test_a_report_shows_itself_in_a_notebook():
    report = jaxvjp.compare(lambda torch: torch.ones(2))
    assert "<main" in report._repr_html_()
    assert report.to_html().startswith("<!DOCTYPE html>")
    assert json.loads(json.dumps(report.as_dict()))["equal"]


def test_wrong_calls(tmp_path, capsys):
    for wrong, said in ((["compare"], "script"), (["compare", str(tmp_path / "none.py")], "there is no script")):
        with pytest.raises(SystemExit) as caught:
            main(wrong)
        assert caught.value.code == 2
        assert said in capsys.readouterr().err
