"""Files of other libraries: tensors in safetensors' format, and logs for TensorBoard."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from oracle import agreement_of, live, programs_of, raises
from tensorboardX.proto.event_pb2 import Event

import jaxvjp
from jaxvjp.utils.tensorboard import SummaryWriter


def files(torch):
    name = "jaxvjp.serialization.safetensors" if torch is jaxvjp else "safetensors.torch"
    return importlib.import_module(name)


def tied(torch):
    torch.manual_seed(0)
    first, second = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
    second.weight = first.weight
    return torch.nn.Sequential(first, second)


def every_dtype(torch):
    names = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"]
    tensors = {name: torch.arange(6).reshape(2, 3).to(getattr(torch, name)) for name in names}
    tensors |= {"complex": torch.ones(2, dtype=torch.complex64), "none": torch.zeros(0, 3), "number": torch.tensor(2.0)}
    data = files(torch).save(tensors, {"made": "here"})
    found = files(torch).load(data)
    return hashlib.sha256(data).hexdigest(), [found[name] for name in sorted(found)], str(found["bfloat16"].dtype)


def what_requires_a_gradient(torch):
    return files(torch).load(files(torch).save({"w": torch.nn.Parameter(torch.ones(2))}))["w"]


def slices_apart_in_one_memory(torch):
    whole = torch.arange(6.0)
    return sorted(files(torch).load(files(torch).save({"a": whole[:2], "b": whole[3:]})).items())


def a_module_with_tied_weights(torch):
    model, other = tied(torch), tied(torch)
    with torch.no_grad():
        other[0].weight.zero_()
        other[1].bias.zero_()
    files(torch).save_model(model, "model.safetensors")
    missing, unexpected = files(torch).load_model(other, "model.safetensors")
    names = sorted(files(torch).load_file("model.safetensors"))
    return sorted(missing), unexpected, names, other[0].weight, other[1].weight is other[0].weight, other[1].bias


@raises(ValueError)
def strides(torch):
    files(torch).save({"a": torch.ones(2, 3).t()})


@raises(ValueError)
def no_tensor(torch):
    files(torch).save({"a": 1.0})


@raises(RuntimeError)
def another_module(torch):
    files(torch).save_file({"weight": torch.ones(1, 1), "more": torch.ones(1)}, "another.safetensors")
    files(torch).load_model(torch.nn.Linear(1, 1), "another.safetensors")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


test_agrees_with_torch = agreement_of(programs_of(globals(), files, tied))


def test_a_script_gets_ours_for_the_module_of_that_library(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import torch\nfrom safetensors.torch import save_file, load_file\n"
        "save_file({'a': torch.ones(2)}, 'a.safetensors')\nprint(load_file('a.safetensors')['a'] * 2)\n"
    )
    command = [sys.executable, "-m", "jaxvjp", "run", "script.py"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "tensor([2., 2.])\n"


@pytest.mark.parametrize("torch", [jaxvjp, *filter(None, [live])])
def test_no_two_tensors_may_share_memory(torch) -> None:
    x = torch.ones(3)
    with pytest.raises(RuntimeError, match="Some tensors share memory"):
        files(torch).save({"a": x, "b": x[1:]})


def test_ours_and_torchs_read_each_others_files() -> None:
    if live is None:
        pytest.skip("torch is not installed")
    written = files(live).save({"a": live.tensor([1.0, 2.0], dtype=live.bfloat16)})
    assert files(jaxvjp).load(written)["a"].tolist() == [1.0, 2.0]
    assert files(live).load(files(jaxvjp).save({"a": jaxvjp.tensor([3.0])}))["a"].tolist() == [3.0]


def test_what_tensors_are_logged_as(tmp_path: Path) -> None:
    loss = jaxvjp.tensor(1.5, requires_grad=True) * 2
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalar("loss", loss, 3)
        writer.add_scalar(tag="again", scalar_value=loss.detach(), global_step=4)
        writer.add_histogram("weights", jaxvjp.arange(4.0, requires_grad=True), 3)
        with pytest.raises(NotImplementedError, match="explain"):
            writer.add_graph(jaxvjp.nn.Linear(1, 1))
    found = {tag: (step, each.simple_value, each.histo.num) for (_, tag), (step, each) in logged(tmp_path).items()}
    assert found == {"loss": (3, 3.0, 0), "again": (4, 3.0, 0), "weights": (3, 0.0, 4)}


def writers_of_torch() -> list[Any]:
    if live is None or importlib.util.find_spec("tensorboard") is None:
        return []
    return [(live, importlib.import_module("torch.utils.tensorboard").SummaryWriter)]


@pytest.mark.parametrize(("torch", "writer_class"), [(jaxvjp, SummaryWriter), *writers_of_torch()])
def test_logs_are_where_torch_writes_them(torch: Any, writer_class: Any, tmp_path: Path) -> None:
    x = torch.arange(4.0, requires_grad=True)
    with writer_class(str(tmp_path)) as writer:
        assert writer.log_dir == writer.get_logdir() == str(tmp_path)
        writer.add_scalar("loss/train", x[2], 1, double_precision=True)
        writer.add_scalars("part/many", {"p": x[1], "q": 2.5}, 2)
        writer.add_histogram("weights", x, 3)
        writer.add_text("note", "a **word**", 4)
        writer.add_hparams({"lr": 0.1, "name": "sgd"}, {"accuracy": x[3] / 4}, run_name="run")
    found = logged(tmp_path)
    plain = {place: (step, each.simple_value) for place, (step, each) in found.items()}
    assert plain == {
        (".", "loss/train"): (1, 2.0),
        ("part_many_p", "part/many"): (2, 1.0),
        ("part_many_q", "part/many"): (2, 2.5),
        (".", "weights"): (3, 0.0),
        (".", "note/text_summary"): (4, 0.0),
        ("run", "_hparams_/experiment"): (0, 0.0),
        ("run", "_hparams_/session_start_info"): (0, 0.0),
        ("run", "_hparams_/session_end_info"): (0, 0.0),
        ("run", "accuracy"): (0, 0.75),
    }
    assert found[".", "note/text_summary"][1].tensor.string_val == [b"a **word**"]
    assert (found[".", "weights"][1].histo.sum, found[".", "weights"][1].histo.sum_squares) == (6.0, 14.0)


def logged(folder: Path) -> dict[tuple[str, str], tuple[int, Any]]:
    """By its folder and its tag, the step of what was logged, and the value."""
    values = {}
    for path in folder.rglob("*tfevents*"):
        data = path.read_bytes()
        while data:  # each record: its length in 8 bytes, 4 of a checksum, the record, 4 of another checksum
            (length,) = struct.unpack("<Q", data[:8])
            event = Event.FromString(data[12 : 12 + length])
            place = str(path.parent.relative_to(folder))
            values |= {(place, each.tag): (event.step, each) for each in event.summary.value}
            data = data[16 + length :]
    return values
