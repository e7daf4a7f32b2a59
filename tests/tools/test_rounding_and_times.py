"""`compare`: lines that print times, numbers that differ by rounding, and the answer in the first sentence."""

from __future__ import annotations

import json

import pytest
from oracle import needs_torch

from jaxvjp.__main__ import main
from jaxvjp.tools.comparison.outcome import Side
from jaxvjp.tools.comparison.report import Report
from jaxvjp.tools.comparison.text import CLOSE, DIFFERENT, SAME, compare_line


@pytest.mark.parametrize(
    ("torch", "given", "verdict"),
    [
        ("took 0.31 s", "took 1.2 s", SAME),
        ("epoch 3: 12ms, loss 0.5", "epoch 3: 2345ms, loss 0.5", SAME),
        ("epoch 3: 12ms, loss 0.5", "epoch 3: 12ms, loss 0.6", DIFFERENT),
        ("epoch 3: 12ms", "epoch 4: 12ms", DIFFERENT),
        ("elapsed: 1e-3", "elapsed: 2", SAME),
        ("Time = 0.5", "Time = 0.6", SAME),
        ("Time step = 0.5", "Time step = 0.6", DIFFERENT),
        ("Total Time for Training: 0.07m", "Total Time for Training: 0.05m", SAME),
        ("| ms/batch 576.50 | loss 2", "| ms/batch 41.07 | loss 2", SAME),
        ("ms/batch 576.50 | loss 2", "ms/batch 576.50 | loss 3", DIFFERENT),
        ("Block at @140275736434448", "Block at @140031234567890", SAME),
        ("time=0.5 loss=1", "time=0.6 loss=1", SAME),
        ("time 3.5", "time 4.5", SAME),
        ("12:03:59 start", "9:04:00 start", SAME),
        ("100.5 it/s", "7 it/s", SAME),
        ("time step 3", "time step 4", DIFFERENT),
        ("to runs/2026-01-31_12-03-59", "to runs/2026-02-01_00-00-01", SAME),
        ("runs/Jan31_12-03-59_lr0.1", "runs/Feb01_00-00-01_lr0.1", SAME),
        ("runs/20260131-120359", "runs/20260201-000001", SAME),
        ("of 2026-01-31", "of 2026-02-01", DIFFERENT),
        ("12345678 of 120359", "12345679 of 120359", DIFFERENT),
        ("x 3 sizes", "x 4 sizes", DIFFERENT),
        ("lifetime 3", "lifetime 4", DIFFERENT),
        ("3 seconds left of 5", "2 seconds left of 6", DIFFERENT),
        ("n 139912345678901.", "n 140012345678902.", SAME),
        ("5.136269462877141", "5.1362694628771415", CLOSE),
        ("5.131111111111111", "5.149999999999999", DIFFERENT),
        ("139912345678901.5", "140912345678901.5", DIFFERENT),
        ("t = 0.7 s = 0.1", "t = 0.5 s = 0.1", DIFFERENT),
        ("loss 0.7 s 0.1", "loss 0.5 s 0.1", DIFFERENT),
        ("max 0.7 min tensor(0.1)", "max 0.5 min tensor(0.1)", DIFFERENT),
        ("t: 0.7 s: [0.1, 0.2]", "t: 0.5 s: [0.1, 0.2]", DIFFERENT),
        ("3 min 42 s, loss 1", "4 min 1 s, loss 1", SAME),
        ("0.7s 0.1", "0.5s 0.1", SAME),
        ("took 0.7 s: loss 0.1", "took 0.5 s: loss 0.1", SAME),
    ],
)
def test_times_are_left_out(torch, given, verdict):
    assert compare_line(torch, given, 1e-5).verdict == verdict
    assert compare_line(given, torch, 1e-5).verdict == verdict


def test_whether_only_numbers_differ():
    def report(torch, given, **more):
        return Report("fit.py", Side("torch", lines=torch, **more), Side("jaxvjp", lines=given))

    assert report(["loss 0.5"], ["loss 0.6"]).differs_in_numbers
    assert not report(["loss 0.5"], ["loss 0.5"]).differs_in_numbers
    assert not report(["loss 0.5"], ["cost 0.6"]).differs_in_numbers
    assert not report(["start"], ["start", "loss 0.7"]).differs_in_numbers
    assert not report(["begin", "loss 0.5"], ["start", "loss 0.6"]).differs_in_numbers
    assert report(["loss 0.5"], ["loss 0.6", "the best"]).differs_in_numbers  # a number may decide what is printed
    assert not report(["loss 0.5"], ["loss 0.6"], status="exited").differs_in_numbers


SCRIPT = """import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
moved = "jaxvjp" in torch.__version__ and {moved}
loss = (w * w).sum() + (1e-3 if moved else 0.0) * w[0]
loss.backward()
print("loss", loss.item())
print(f"took {{hash(torch)}} s")
{end}
"""
SINGLE, ALWAYS = "torch.get_default_dtype().itemsize == 4", "True"


def compared(tmp_path, capsys, moved, end="", options=()):
    script = tmp_path / "fit.py"
    script.write_text(SCRIPT.format(moved=moved, end=end), encoding="utf-8")
    status = main(["compare", *options, str(script)])
    return status, capsys.readouterr().out.replace(str(script), "fit.py")


SCALED = """import torch
model = torch.nn.Linear(3, 2)
optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cpu")
loss = model(torch.ones(5, 3).float()).pow(2).mean()
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
print(loss.dtype, torch.float32, scaler.get_scale())
"""


@needs_torch
def test_a_leaf_that_only_its_view_holds_is_compared_on_no_side(tmp_path, capsys):
    script = tmp_path / "fit.py"
    script.write_text("import torch\nt = torch.ones(3, requires_grad=True).view(-1, 1)\n(t**2).sum().backward()\n")
    assert main(["compare", str(script)]) == 0


@needs_torch
def test_only_user_code_gets_double_precision_for_single(tmp_path, capsys):
    script = tmp_path / "fit.py"
    script.write_text(SCALED, encoding="utf-8")
    assert main(["compare", "--double", str(script)]) == 0
    assert "= torch.float64 torch.float64 65536.0" in " ".join(capsys.readouterr().out.split())


@needs_torch
@pytest.mark.parametrize(
    ("moved", "end", "options", "answer"),
    [
        (
            SINGLE,
            "",
            (),
            "fit.py does the same under torch and under jaxvjp; in single precision its numbers differ by rounding.",
        ),
        (SINGLE, "", ("--double",), "fit.py does the same under torch and under jaxvjp in double precision."),
        (
            ALWAYS,
            "",
            (),
            "fit.py does not do the same under torch and under jaxvjp, and does not in double precision: "
            "printed line 1 differs.",
        ),
        (
            SINGLE,
            "print('best' if moved else '')",
            (),
            "fit.py does the same under torch and under jaxvjp; in single precision its numbers differ by rounding.",
        ),
        (
            "False",
            "raise SystemExit(int('jaxvjp' in torch.__version__))",
            (),
            "fit.py does not do the same under torch and under jaxvjp: they end differently.",
        ),
    ],
)
def test_the_answer_is_the_first_sentence(moved, end, options, answer, tmp_path, capsys):
    status, out = compared(tmp_path, capsys, moved, end, options)
    assert out.splitlines()[0] == answer
    assert status == int("does not" in answer)


FIXED = """import torch
import numpy as np
x = {data}
net = torch.nn.Linear(3, 2)
moved = 1 + {apart} * ("jaxvjp" in torch.__version__ and {when})
for _ in range(2):
    net.zero_grad()
    (moved * net(x).square().mean()).backward()
print("done", {printed})
"""
WAYS = (
    "torch.from_numpy(np.eye(3).astype(np.float32))",
    "torch.tensor(np.eye(3, dtype='float32'))",
    "torch.FloatTensor([[1.0, 2.0, 3.0]])",
)
STORED = 'torch.from_numpy(np.eye(3).astype("f"))'
FAILED = (
    "could not be repeated in double precision (RuntimeError: mat1 and mat2 must have the same dtype, but got Float \
and Double (line 8))"
)
DIFFERS = f"fit.py does not do the same under torch and under jaxvjp, and {FAILED}"


def fixed(tmp_path, capsys, data, apart=3e-5, when="True", printed="0"):
    script = tmp_path / "fit.py"
    script.write_text(FIXED.format(data=data, apart=apart, when=when, printed=printed), encoding="utf-8")
    status = main(["compare", str(script)])
    return status, capsys.readouterr().out.replace(str(script), "fit.py")


@needs_torch
@pytest.mark.parametrize("data", WAYS)
def test_float32_by_the_scripts_own_words_is_double_then(data, tmp_path, capsys):
    status, out = fixed(tmp_path, capsys, data, when=SINGLE)
    assert "in single precision its numbers differ by rounding" in out.splitlines()[0]
    assert status == 0


@needs_torch
def test_what_a_script_imports_from_its_folder_is_double_then_and_named(tmp_path, capsys):
    (tmp_path / "rows.py").write_text(
        "import numpy as np\ndef load():\n    return np.eye(3).astype(np.float32)\n"
        "def back(loss):\n    loss.backward()\n"
    )
    text = FIXED.format(data="torch.from_numpy(load())", apart=3e-5, when=SINGLE, printed=0)
    text = text.replace("(moved * net(x).square().mean()).backward()", "back(moved * net(x).square().mean())")
    script = tmp_path / "fit.py"
    script.write_text(f"from rows import back, load\n{text}", encoding="utf-8")
    assert main(["compare", str(script)]) == 0
    out = capsys.readouterr().out
    assert "in single precision its numbers differ by rounding" in out.splitlines()[0]
    assert "backward, line 5 of rows.py" in out


@needs_torch
@pytest.mark.parametrize(
    ("apart", "printed", "answer"),
    [
        (3e-5, "0", f"fit.py differs by no more than rounding in single precision does, and {FAILED}."),
        (3e-4, "0", f"{DIFFERS}: backward pass 1, in line 8, differs."),
        (3e-5, "moved", f"{DIFFERS}: printed line 1 differs."),
    ],
)
def test_what_cannot_be_repeated_is_not_equal(apart, printed, answer, tmp_path, capsys):
    status, out = fixed(tmp_path, capsys, STORED, apart, printed=printed)
    assert out.splitlines()[0] == answer
    assert ("WITHIN ROUNDING" in out) is ("no more than rounding" in answer)
    assert status == 1


@needs_torch
def test_it_is_in_the_json(tmp_path, capsys):
    status, out = compared(tmp_path, capsys, SINGLE, options=["--json"])
    (found,) = json.loads(out)
    assert status == 0
    assert found["equal"]
    assert "differ by rounding" in found["answer"]
    assert [each["verdict"] for each in found["lines"]] == ["different", "same"]
