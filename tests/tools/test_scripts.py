"""The list of torch's names, `as_torch`, and `python -m jaxvjp run` with and without `--check`."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from oracle import live, needs_torch

import jaxvjp
from jaxvjp.__main__ import main
from jaxvjp.staging.journal import Journal
from jaxvjp.tools.scripts import names
from jaxvjp.tools.scripts.check import names_used
from jaxvjp.tools.scripts.run import run

ROOT = Path(__file__).parent.parent.parent
SCRIPT = """
import sys
import torch
from torch import nn
from torch.autograd import Function, Variable
from torch.autograd.function import once_differentiable
from torch.func import vmap
import torch.utils.checkpoint as checkpoint

class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        return 2 * ctx.saved_tensors[0] * gradient

if __name__ == "__main__":
    torch.manual_seed(0)
    x = nn.Parameter(torch.randn(3))
    Square.apply(x).sum().backward()
    print(sys.argv[1:], type(x).__name__, type(x.data), x.grad, vmap(torch.sin)(x).shape)
"""


def write(tmp_path, text, name="script.py"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)


@needs_torch
def test_the_list_of_names_is_that_of_the_installed_torch():
    if live.__version__.partition("+")[0] != names.torch_names().version:
        pytest.skip("the list is of another version")
    command = [sys.executable, str(ROOT / "tools" / "list_torch_names.py"), "--print"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed == (ROOT / "jaxvjp" / "tools" / "scripts" / "torch_names.txt").read_text(encoding="utf-8")


def test_every_form_of_import_gives_jaxvjp_and_then_what_was_there():
    before = {name: each for name, each in sys.modules.items() if name.partition(".")[0] == "torch"}
    with jaxvjp.as_torch() as stand_in:
        import torch
        import torch.nn as nn
        from torch import func
        from torch.autograd import Variable, gradcheck
        from torch.autograd.function import Function

        assert torch is stand_in
        assert torch.nn is nn
        assert (torch.Tensor, torch.add, torch.float32) == (jaxvjp.Tensor, jaxvjp.add, jaxvjp.float32)
        assert (Variable, gradcheck) == (jaxvjp.autograd.Variable, jaxvjp.autograd.gradcheck)
        assert torch.autograd.gradcheck is gradcheck
        assert Function is jaxvjp.autograd.Function
        assert func.vmap is jaxvjp.func.vmap
        assert str(torch.Tensor) == "<class 'torch.Tensor'>"
        assert torch.__version__.startswith(names.torch_names().version)
        assert "add" in dir(torch)
        assert importlib.util.find_spec("torch") is not None
        namespace = {}
        exec("from torch.autograd import *", namespace)
        assert namespace["backward"] is jaxvjp.autograd.backward
        with jaxvjp.as_torch() as inner:
            assert inner is torch
        assert sys.modules["torch"] is torch
    assert {name: each for name, each in sys.modules.items() if name.partition(".")[0] == "torch"} == before
    assert str(jaxvjp.Tensor) == "<class 'jaxvjp.Tensor'>"


def test_the_modules_of_optim_can_be_imported_from():
    with jaxvjp.as_torch():
        from torch.optim.adam import Adam
        from torch.optim.lr_scheduler import EPOCH_DEPRECATION_WARNING, _LRScheduler
        from torch.optim.optimizer import Optimizer, required
        from torch.optim.swa_utils import AveragedModel

    assert (Adam, Optimizer) == (jaxvjp.optim.Adam, jaxvjp.optim.Optimizer)
    assert issubclass(_LRScheduler, jaxvjp.optim.lr_scheduler.LRScheduler)
    assert AveragedModel is jaxvjp.optim.swa_utils.AveragedModel
    assert repr(required) == "<required parameter>"
    assert EPOCH_DEPRECATION_WARNING.startswith("The epoch parameter in `scheduler.step()` was not necessary")


def test_every_file_of_nn_has_the_names_that_torchs_has():
    lacking = {"Container", "CrossMapLRN2d", "LinearCrossEntropyOptions"}
    known = names.torch_names().modules
    files = [each for each in known if each.startswith("torch.nn.modules.")]
    public = {each: {name for name in known[each] if name in known["torch.nn.modules"]} for each in files}
    assert {(each, name) for each in files for name in public[each] - lacking if not names.covers(each, name)} == set()
    assert names.ours("torch.nn.modules.activation.MultiheadAttention") is jaxvjp.nn.MultiheadAttention
    assert jaxvjp.nn.modules.pixelshuffle.PixelShuffle is jaxvjp.nn.PixelShuffle
    assert importlib.import_module("jaxvjp.nn.modules.instancenorm")._InstanceNorm is not None
    assert not hasattr(jaxvjp.nn.modules.flatten, "PReLU")


PLACES = """
from torch.autograd.variable import Variable
from torch.cuda.amp.grad_scaler import GradScaler
from torch.cuda.random import manual_seed_all
from torch.functional import einsum, norm
from torch.nn.common_types import _ratio_3_t, _size_2_t, _size_any_t
from torch.nn.init import _calculate_correct_fan, _calculate_fan_in_and_fan_out, _no_grad_trunc_normal_
from torch.nn.modules.conv import LazyConv2d
from torch.nn.modules.module import _addindent, _IncompatibleKeys
from torch.nn.modules.transformer import _get_activation_fn, _get_clones
from torch.nn.modules.utils import _reverse_repeat_tuple
from torch.nn.parallel.data_parallel import DataParallel, data_parallel
from torch.nn.parallel.distributed import DistributedDataParallel
from torch.nn.utils.stateless import functional_call
import torch
assert torch.functional.einsum is torch.einsum
assert torch.nn.parallel.data_parallel is data_parallel
"""


@pytest.mark.parametrize("where", ["jaxvjp", pytest.param("torch", marks=needs_torch)])
def test_names_are_found_where_people_import_them_from(where):
    if where == "torch":
        exec(PLACES, {})
    else:
        with jaxvjp.as_torch():
            exec(PLACES, {})
    source = PLACES + "print(torch.__version__)"
    assert [each.qualified for each in names_used(source) if not each.covered] == []


def test_settings_of_a_backend_are_read_set_and_checked(monkeypatch):
    source = """
import torch.backends.cudnn as cudnn
before = cudnn.benchmark, cudnn.deterministic, cudnn.benchmark_limit
cudnn.benchmark = not cudnn.benchmark
with cudnn.flags(enabled=False):
    inside = cudnn.enabled
"""
    cudnn = jaxvjp.backends.cudnn
    for name, value in (("benchmark", False), ("deterministic", False), ("benchmark_limit", None), ("enabled", True)):
        monkeypatch.setattr(cudnn, name, value)  # whatever scripts of other tests have set
    found = {}
    with jaxvjp.as_torch():
        exec(source, found)
    assert (found["before"], found["inside"]) == ((False, False, None), False)
    assert (cudnn.benchmark, cudnn.enabled) == (True, True)
    assert [each.verdict for each in names_used(source)] == ["yes"] * 6


def test_a_step_of_a_script_is_staged_once(monkeypatch):
    staged = []
    monkeypatch.setattr(jaxvjp.staging, "Journal", lambda *given: staged.append(given) or Journal(*given))
    with jaxvjp.as_torch():
        import torch

        weights = [torch.nn.Parameter(torch.ones(3, 3)), torch.ones(3, requires_grad=True)]

        @torch.compile
        def step(x):
            loss = (torch.tanh(x @ weights[0]) * weights[1]).square().mean()
            loss.backward()
            with torch.no_grad():
                for each in weights:
                    each -= 0.1 * each.grad
                    each.grad = None
            return loss.detach()

        losses = [step(torch.ones(2, 3)).item() for _ in range(5)]
    assert len(staged) == 1
    assert losses == sorted(losses, reverse=True)


def test_what_was_there_comes_back_after_an_error():
    before = sys.modules.get("torch")
    with pytest.raises(ZeroDivisionError), jaxvjp.as_torch():
        exec("import torch; 1 / 0")
    assert sys.modules.get("torch") is before


REFUSED = {
    "import torch; torch.hash_tensor": (AttributeError, "module 'torch' has no attribute 'hash_tensor'"),
    "import torch; torch.ones(2).hash_tensor()": (AttributeError, "'Tensor' object has no attribute 'hash_tensor'"),
    "from torch import hash_tensor": (ImportError, "cannot import name 'hash_tensor' from 'torch'"),
    "import torch.monitor": (ModuleNotFoundError, "No module named 'torch.monitor'"),
    "from torch import monitor": (ModuleNotFoundError, "No module named 'torch.monitor'"),
    "import torch; torch.storage": (AttributeError, "module 'torch' has no attribute 'storage'"),
    "import jaxvjp; jaxvjp.nn.functional.grouped_mm": (
        AttributeError,
        "module 'jaxvjp.nn.functional' has no attribute 'grouped_mm'",
    ),
    "import jaxvjp; jaxvjp.hash_tensor": (AttributeError, "module 'jaxvjp' has no attribute 'hash_tensor'"),
}
NOT_TORCHS = {
    "import jaxvjp; jaxvjp.linalg.nonsense": (AttributeError, "module 'jaxvjp.linalg' has no attribute 'nonsense'"),
    "import torch; torch.nonsense": (AttributeError, "module 'torch' has no attribute 'nonsense'"),
    "import torch; torch.counters": (AttributeError, "module 'torch' has no attribute 'counters'"),
    "import torch; torch.__nonsense__": (AttributeError, "module 'torch' has no attribute '__nonsense__'"),
    "import torch; torch.ones(2).nonsense": (AttributeError, "'Tensor' object has no attribute 'nonsense'"),
    "import torch.nonsense": (ModuleNotFoundError, "No module named 'torch.nonsense'"),
    "import jaxvjp; jaxvjp.nonsense": (AttributeError, "module 'jaxvjp' has no attribute 'nonsense'"),
}


@pytest.mark.parametrize("statement", [*REFUSED, *NOT_TORCHS])
def test_a_missing_name_says_whose_it_is(statement):
    kind, sentence = {**REFUSED, **NOT_TORCHS}[statement]
    with jaxvjp.as_torch(), pytest.raises(kind) as caught:
        exec(statement, {})
    if kind is AttributeError:
        assert type(caught.value) is AttributeError
        assert str(caught.value) == sentence  # what asks with `hasattr` waits for no more
        names.advise(caught.value)
        first, *advice = sentence, *"\n".join(getattr(caught.value, "__notes__", [])).splitlines()
    else:
        first, *advice = str(caught.value).splitlines()
    assert first == sentence
    if statement in NOT_TORCHS:
        assert not advice
    else:
        assert "is torch's, and jaxvjp does not cover it." in advice[0]
        assert "run --check" in advice[1]


def test_the_nearest_covered_name():
    assert names.nearest("torch.nn", "tanh") == "torch.tanh"
    assert names.nearest("torch", "ones_liked") == "torch.ones_like"
    assert names.nearest("torch", "qqqqqqqq") is None
    assert [names.nearest("torch", each) for each in ("onnx", "qengine")] == [None] * 2


def test_nobody_composes_advice_for_who_asks_whether_a_name_is_there(tmp_path, capsys):
    code = """
import sys, jaxvjp
x = jaxvjp.ones(2)
places = jaxvjp, jaxvjp.linalg, jaxvjp.nn.functional, jaxvjp.nn, jaxvjp.autograd, jaxvjp.Tensor, x
print([hasattr(each, name) for each in places for name in ("to_mkldnn", "hsmm", "quantize", "hash_tensor")].count(True))
print("jaxvjp.tools.scripts.names" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["0", "False"]
    script = tmp_path / "script.py"
    script.write_text("import torch\nprint(hasattr(torch, 'hash_tensor'))\ntorch.ones(2).hash_tensor()\n")
    assert run(script) == 1
    out, error = capsys.readouterr()
    assert out == "False\n"
    assert "torch.Tensor.hash_tensor is torch's, and jaxvjp does not cover it." in error


def test_check_follows_imports_and_assignments():
    source = """
import numpy as np, torch
import torch.monitor as monitor
from torch.autograd import Function, Variable as V
from torch.hashing import x
sine = torch.sin
y = sine(V(torch.ones(2)))
y.sum().backward()
y.hash_tensor(); np.hash_tensor(y); "a".split(); self.hash_tensor()
torch.Tensor.hash_tensor(y); torch.nonsense
def f(torch_free): return monitor.log_event(y)
from torch import *
tanh(y)
y.topk(1).indices
"""
    found = {each.qualified: (each.lines, each.verdict.split()[0].rstrip(";:")) for each in names_used(source)}
    assert found == {
        "torch.monitor": ((3,), "NO"),
        "torch.autograd.Function": ((4,), "yes"),
        "torch.autograd.Variable": ((4, 7), "yes"),
        "torch.hashing.x": ((5,), "NO"),
        "torch.sin": ((6, 7), "yes"),
        "torch.ones": ((7,), "yes"),
        "torch.Tensor.sum": ((8,), "yes"),
        "torch.Tensor.backward": ((8,), "yes"),
        "torch.Tensor.hash_tensor": ((9, 10), "NO"),
        "torch.nonsense": ((10,), "NO"),
        "torch.monitor.log_event": ((11,), "NO"),
        "torch.tanh": ((13,), "yes"),
        "torch.Tensor.topk": ((14,), "yes"),
    }


OBJECTS = """
import torch
from torch import nn, optim

class Net(nn.Module):
    def predict(self, x):
        return x.sum(axis=0, keepdims=True)

class Deeper(Net):
    pass

model = Deeper()
optimizer = optim.Adam(model.parameters(), lr=0.1, speed=2)
model.half().predict(torch.tensor([2.0], dtype=torch.float32, colour="red"))
optimizer.step()
optimizer.half()
loader = torch.utils.data.DataLoader([1], batch_size=1)
loader = 3
loader.half()
"""


def test_check_knows_arguments_and_the_methods_of_objects():
    found = {each.qualified: (each.lines, each.verdict.split()[0].rstrip(";:")) for each in names_used(OBJECTS)}
    assert found == {
        "torch.nn": ((3,), "yes"),
        "torch.optim": ((3,), "yes"),
        "torch.nn.Module": ((5,), "yes"),
        "torch.Tensor.sum": ((7,), "yes"),
        "torch.optim.Adam": ((13,), "yes"),
        "torch.optim.Adam.speed=": ((13,), "NO"),
        "torch.nn.Module.parameters": ((13,), "yes"),
        "torch.nn.Module.half": ((14,), "yes"),
        "torch.tensor": ((14,), "yes"),
        "torch.tensor.colour=": ((14,), "NO"),
        "torch.float32": ((14,), "yes"),
        "torch.optim.Adam.step": ((15,), "yes"),
        "torch.optim.Adam.half": ((16,), "NO"),
        "torch.utils.data.DataLoader": ((17,), "yes"),
        "torch.Tensor.half": ((19,), "yes"),
    }


def test_check_claims_nothing_of_a_module_whose_names_are_not_listed():
    source = "import torch\ntorch.monitor\ntorch._refs\ntorch.utils.benchmark.Timer('1')\ntorch.cuda.nonsense()"
    source += "\ntorch._C._get_tracing_state()\ntorch.Tensor.__add__"
    found = {each.qualified: each.verdict for each in names_used(source)}
    assert found["torch.utils.benchmark.Timer"] == "yes"
    assert found["torch._C._get_tracing_state"] == "a stand-in: None"
    assert found["torch.monitor"] == found["torch._refs"] == "NO"
    assert found["torch.Tensor.__add__"] == "yes"
    assert found["torch.cuda.nonsense"].startswith("NO: torch has no such name either")


def test_the_command_checks_a_folder(tmp_path, capsys):
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "covered.py").write_text("import torch\ntorch.ones(2).sum().backward()")
    (tmp_path / "lacks.py").write_text("import torch\ntorch.autograd.grad(torch.hash_tensor(x), x)")
    (tmp_path / "no_gradient.py").write_text("import torch\ntorch.hash_tensor(x)")
    (tmp_path / "old.py").write_text("print 1\nx.backward()")
    cells = ["%matplotlib inline", "import torch", ["torch.ones(2)", ".sum().backward()"]]
    cells = [{"cell_type": "code", "source": each} for each in cells] + [{"cell_type": "markdown", "source": "x +"}]
    (tmp_path / "book.ipynb").write_text(json.dumps({"cells": cells}))
    (tmp_path / "cut.ipynb").write_text('{"cells": [')
    assert main(["run", "--check", str(tmp_path)]) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[-2].split() == ["torch.hash_tensor", "1"]
    assert told[-1] == "3 files ask for a gradient, 2 (66.7%) with covered names only; 1 are no Python 3."


SPAWNING = """
import sys
import torch
import torch.multiprocessing as mp
WEIGHT = torch.ones(2)

def work(number, x, results):
    results.put((number, (x * WEIGHT * number).sum().item(), "jax" in sys.modules))

def fails(number):
    raise ValueError(f"not {number}")

def leaves(number):
    raise SystemExit(3)

if __name__ == "__main__":
    results = mp.get_context("spawn").SimpleQueue()
    mp.spawn(work, (torch.full((2,), 3.0), results), nprocs=2)
    print(sorted([results.get(), results.get()]))
    for each in (fails, leaves):
        try:
            mp.spawn(each, nprocs=2)
        except (mp.ProcessRaisedException, mp.ProcessExitedException) as error:
            print(type(error).__name__, str(error).split()[-1])
    started = mp.start_processes(work, (WEIGHT, results), join=False, start_method="spawn")
    while not started.join(0.1):
        pass
    print(len(started.pids()), results.get()[1])
"""


def test_a_script_starts_processes(tmp_path):
    (tmp_path / "script.py").write_text(SPAWNING)
    commands = {True: [sys.executable, "-m", "jaxvjp", "run", "script.py"]}
    if importlib.util.find_spec("torch"):
        commands[False] = [sys.executable, "script.py"]
    for ours, command in commands.items():
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        first, raised, left, last = run.stdout.splitlines() or [run.stderr] * 4
        assert first == f"[(0, 0.0, {ours}), (1, 6.0, {ours})]"
        assert raised in ("ProcessRaisedException 0", "ProcessRaisedException 1")
        assert (left, last) == ("ProcessExitedException 3", "1 0.0")


def test_the_command_checks_a_script(tmp_path, capsys):
    assert main(["run", "--check", write(tmp_path, SCRIPT)]) == 0
    out = capsys.readouterr().out
    assert "torch.autograd.function.once_differentiable" in out
    assert "0 not covered" in out
    assert main(["run", "--check", write(tmp_path, SCRIPT + "    torch.hash_tensor(x)\n")]) == 1
    assert "1 not covered" in capsys.readouterr().out
    assert main(["run", "--check", write(tmp_path, "import torch\nx = (")]) == 2
    assert "line 2: SyntaxError: '(' was never closed" in capsys.readouterr().err
    assert main(["run", "--check"]) == 0
    table = capsys.readouterr().out
    assert "\ntorch.autograd: " in table
    assert " no_grad " in table
    for wrong, said in ([["run"], "which script?"], [["run", str(tmp_path / "none.py")], "there is no script"]):
        with pytest.raises(SystemExit) as exit_:
            main(wrong)
        assert exit_.value.code == 2
        assert said in capsys.readouterr().err


def run_process(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "jaxvjp", "run", *arguments], capture_output=True, text=True, check=False, **options
    )


def test_a_script_runs_as_python_would_run_it(tmp_path):
    (tmp_path / "beside.py").write_text("number = 41\n")
    text = SCRIPT + "    from beside import number\n    print(number + int(input()), __file__)\n    sys.exit(7)\n"
    done = run_process(write(tmp_path, text), "--rate", "3", cwd=ROOT, input="1\n")
    assert done.returncode == 7, done.stderr
    first, second = done.stdout.splitlines()
    assert first.startswith("['--rate', '3'] Parameter <class 'torch.Tensor'> tensor([")
    assert first.endswith("torch.Size([3])")
    assert second == f"42 {tmp_path / 'script.py'}"


def test_an_error_is_told_from_the_script_on(tmp_path):
    done = run_process(write(tmp_path, "import torch\ntorch.ones(2).backward()\n"))
    assert done.returncode == 1
    assert done.stderr.splitlines()[1].endswith('script.py", line 2, in <module>')
    assert "RuntimeError: " in done.stderr
    hook = "def hook(g):\n    return g @ torch.ones(3)\nx = torch.ones(2, requires_grad=True)\nx.register_hook(hook)\n"
    script = write(tmp_path, f"import torch\n{hook}x.sum().backward()\n")
    done = run_process(script)
    lines = [each for each in done.stderr.splitlines() if each.startswith("  File")]
    assert [each.partition(", ")[2] for each in lines] == ["line 6, in <module>", "line 3, in hook"]
    assert "JAX has removed" not in done.stderr
    assert "record.py" in run_process(script, env={**os.environ, "JAX_TRACEBACK_FILTERING": "off"}).stderr
    done = run_process(write(tmp_path, "x = ("))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "SyntaxError: '(' was never closed"


CAUGHT = """
import torch
class Own(Exception): pass
def message(action):
    try:
        action()
    except (RuntimeError, Own) as error:
        return f"{error}|{error!r}|{getattr(error, '__notes__', None)}"
print(message(lambda: torch.ones(2).backward()))
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 1
    @staticmethod
    def backward(ctx, g): raise Own("mine\\nand more")
x = torch.ones(2, requires_grad=True)
print(message(lambda: F.apply(x).sum().backward()))
try:
    try:
        x.backward()
    except RuntimeError as error:
        raise
except RuntimeError as error:
    assert error.__notes__ and "\\n" not in str(error)
x.backward()
"""


def test_a_caught_error_says_what_torch_says(tmp_path):
    done = run_process(write(tmp_path, CAUGHT))
    first, second, third = done.stdout.splitlines()
    sentence = "element 0 of tensors does not require grad and does not have a grad_fn"
    assert first.startswith(f"{sentence}|RuntimeError('{sentence}')|['It has numbers")
    assert (second, third) == ("mine", "and more|Own('mine\\nand more')|None")
    assert "v = torch.ones([2])" in done.stderr  # what nobody caught keeps its advice
    assert "line 24, in <module>" in done.stderr


def test_no_torch_is_needed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["run", write(tmp_path, SCRIPT)]) == 0
    assert sys.modules["torch"] is None


BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "scripts.md").read_text(encoding="utf-8"), re.DOTALL)


@needs_torch
@pytest.mark.parametrize("block", BLOCKS)
def test_every_python_block_of_the_documentation_runs(block):
    exec(compile(block, "docs/scripts.md", "exec"), {"__name__": "documentation"})
