"""`run --check`, and names of torch's, where a library that a module of ours needs is not there."""

from __future__ import annotations

import importlib
import sys

import pytest

import jaxvjp
from jaxvjp.__main__ import main
from jaxvjp.tools.scripts import many, names
from jaxvjp.tools.scripts.check import names_used
from jaxvjp.tools.scripts.run import run

NEEDED = 'TensorBoard\'s files need the library tensorboardX: pip install "jaxvjp[files]"'
WRITES = """
import torch
from torch.utils.tensorboard import SummaryWriter
with SummaryWriter("logs") as writer:
    writer.add_scalar("loss", torch.ones(2, requires_grad=True).sum().backward())
"""


class Broken:
    """Finds a library that cannot be loaded, as one that was built for another version of what it uses."""

    def find_spec(self, name, path, target=None):
        if name == "tensorboardX":
            raise TypeError("Descriptors cannot be created directly.")


@pytest.fixture(params=["absent", "broken"])
def said(request, monkeypatch):
    """What our module says where tensorboardX is absent, or raises something else than ImportError."""
    for name in [each for each in sys.modules if each.partition(".")[0] == "tensorboardX"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "jaxvjp.utils.tensorboard", raising=False)
    monkeypatch.delattr(importlib.import_module("jaxvjp.utils"), "tensorboard", raising=False)
    if request.param == "absent":
        monkeypatch.setitem(sys.modules, "tensorboardX", None)
    else:
        monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    names.counterpart.cache_clear()
    yield NEEDED if request.param == "absent" else "Descriptors cannot be created directly."
    names.counterpart.cache_clear()


@pytest.mark.parametrize(
    "text",
    [
        WRITES,
        WRITES.replace(
            "from torch.utils.tensorboard import SummaryWriter", "import torch.utils.tensorboard as board"
        ).replace("SummaryWriter", "board.SummaryWriter"),
        WRITES.replace(
            "from torch.utils.tensorboard import SummaryWriter",
            "class Logs(torch.utils.tensorboard.SummaryWriter): pass",
        ).replace("SummaryWriter(", "Logs("),
        WRITES.replace("with SummaryWriter", "writer = SummaryWriter('other', comment=3)\nwith SummaryWriter"),
        WRITES.replace("import SummaryWriter", "import *"),
    ],
    ids=["from", "module", "subclass", "assigned", "star"],
)
def test_a_script_that_logs_is_checked(said, text):
    verdicts = {each.qualified: each.verdict for each in names_used(text)}
    assert verdicts.pop("torch.utils.tensorboard.SummaryWriter") == f"NO: {said}"
    assert "torch.Tensor.backward" in verdicts
    assert {*verdicts.values()} == {"yes"}


def test_every_file_of_a_folder_is_checked(said, tmp_path, capsys):
    for number in range(3):
        (tmp_path / f"{number}.py").write_text(
            WRITES if number == 1 else "import torch\ntorch.ones(2).sum().backward()\n"
        )
    assert main(["run", "--check", str(tmp_path)]) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[-2].split() == ["torch.utils.tensorboard.SummaryWriter", "1"]
    assert told[-1] == "3 files ask for a gradient, 2 (66.7%) with covered names only."
    assert main(["run", "--check", str(tmp_path / "1.py")]) == 1
    assert said in " ".join(capsys.readouterr().out.split())


def test_the_table_the_nearest_name_and_the_run(said, tmp_path, capsys):
    assert main(["run", "--check"]) == 0
    assert "\ntorch.utils.tensorboard:" not in capsys.readouterr().out
    assert names.nearest("torch", "SummaryWriter") is None
    (tmp_path / "script.py").write_text(WRITES)
    assert run(tmp_path / "script.py") == 1
    assert said in capsys.readouterr().err  # what is missing, and not that torch has no such name
    caught = "except (ImportError, TypeError):\n    print('without')\n"
    (tmp_path / "script.py").write_text(f"try:\n    from torch.utils.tensorboard import SummaryWriter\n{caught}")
    assert run(tmp_path / "script.py") == 0
    assert capsys.readouterr().out == "without\n"


def test_a_check_that_fails_is_told_of_its_file_and_the_others_go_on(tmp_path, capsys, monkeypatch):
    def read(source, path):
        if path.endswith("bad.py"):
            raise RecursionError("maximum recursion depth exceeded")
        return names_used(source, path)

    monkeypatch.setattr(many, "names_used", read)
    for name in ("a.py", "bad.py", "z.py"):
        (tmp_path / name).write_text("import torch\ntorch.ones(2).sum().backward()\n")
    assert main(["run", "--check", str(tmp_path)]) == 1
    *_, failed, last = capsys.readouterr().out.splitlines()
    assert failed == f"{tmp_path / 'bad.py'}: the check failed: RecursionError: maximum recursion depth exceeded"
    assert last == "2 files ask for a gradient, 2 (100.0%) with covered names only; the check of 1 failed."


@pytest.mark.parametrize(
    "content",
    [b"x.backward()\0", b"x = '\xe9'\nx.backward(\n", b"x.backward()\n" + b"(" * 500],
    ids=["null", "latin", "deep"],
)
def test_what_is_no_python_ends_no_check(tmp_path, capsys, content):
    (tmp_path / "odd.py").write_bytes(content)
    (tmp_path / "good.py").write_text("import torch\ntorch.ones(2).sum().backward()\n")
    assert main(["run", "--check", str(tmp_path)]) == 0
    assert capsys.readouterr().out.endswith(
        "1 files ask for a gradient, 1 (100.0%) with covered names only; 1 are no Python 3.\n"
    )
    assert main(["run", "--check", str(tmp_path / "odd.py")]) == 2
    assert "SyntaxError: " in capsys.readouterr().err


def test_a_script_in_another_encoding_is_checked(tmp_path, capsys):
    (tmp_path / "old.py").write_bytes(
        "# -*- coding: latin-1 -*-\nimport torch\nname = 'é'\ntorch.ones(2)\n".encode("latin-1")
    )
    assert main(["run", "--check", str(tmp_path / "old.py")]) == 0
    assert "torch.ones" in capsys.readouterr().out
    assert jaxvjp.ones(2).sum() == 2
