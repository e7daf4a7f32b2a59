"""`torch.distributed.checkpoint`: written and read on one device, on eight, and in two processes of four."""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from collections import OrderedDict
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from oracle import agreement_of, programs_of
from test_meshes import FIRST, run
from test_processes import both

import jaxvjp
from jaxvjp.distributed import checkpoint

ORDER = repr(OrderedDict({"a": 1}))  # Python 3.12 writes it in another way than 3.11
VALUES = f"{{'step': 5, 'name': 'five', 'betas': (0.5, None, True), 'nan': [inf], 'order': {ORDER}}}"
MIXED = "[tensor([0, 1, 2]), {'deep': tensor([1., 1.])}, 4]"


def what_is_written_is_read(torch):
    dcp = import_module(f"{torch.__name__}.distributed.checkpoint")
    said = []

    def refused(**given):
        try:
            dcp.load(**given)
        except BaseException as error:
            said.append((type(error).__name__, str(error).strip().splitlines()[-1]))

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch tells that it has one process
        model = torch.nn.Linear(2, 3)
        written = {"model": model, "list": [torch.arange(3), 4], "values": {"n": 3, "t": (1, None)}, "x": torch.ones(2)}
        dcp.save(written, checkpoint_id=folder)
        x, y = torch.zeros(2, dtype=torch.float64), torch.zeros(3, dtype=torch.int64)
        state = {"x": x, "values": {"n": 0, "t": 0}, "list": [y, 0]}
        dcp.load(state, checkpoint_id=Path(folder))
        other = torch.nn.Linear(2, 3)
        dcp.load({"model": other}, checkpoint_id=folder)
        refused(state_dict={"model": {"weight": torch.ones(2, 2)}}, checkpoint_id=folder)
        refused(state_dict={"x": x, "deep": {"er": x}}, checkpoint_id=folder)
        refused(state_dict={"x": x})
        dcp.save({"y": x}, checkpoint_id=folder)
        refused(state_dict={"x": x}, checkpoint_id=folder)
    same = [torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True)]
    return state["x"] is x, x, y, state["values"], state["list"][1], same, said


def states_by_names_of_parameters(torch):
    states = import_module(f"{torch.__name__}.distributed.checkpoint.state_dict")
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1, bias=False))
    first = torch.optim.Adam(model[0].parameters(), lr=0.5)
    second = torch.optim.SGD([{"params": model[1].parameters(), "momentum": 0.9}], lr=0.25)
    weights, kept = states.get_state_dict(model, [first, second])
    before = [each.detach().clone() for each in model.parameters()]
    kept["state"]["0.weight"]["exp_avg"] += 1
    kept["param_groups"][1]["lr"] = 0.125
    told = states.set_state_dict(
        model,
        [first, second],
        model_state_dict={name: each * 2 for name, each in weights.items()},
        optim_state_dict=kept,
    )
    del kept["state"]["0.bias"]
    try:
        states.set_optimizer_state_dict(model, [first, second], kept)
    except RuntimeError as error:
        said = str(error)
    return (
        {name: sorted(each) for name, each in kept["state"].items()},
        [(each["params"], each["lr"]) for each in kept["param_groups"]],
        [torch.equal(a * 2, b) for a, b in zip(before, model.parameters(), strict=True)],
        first.state[model[0].weight]["exp_avg"],
        second.param_groups[0]["lr"],
        str(told),
        said,
    )


test_agrees_with_torch = agreement_of(programs_of(globals()))


def test_without_orbax_an_error_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "orbax.checkpoint", None)
    for function in (checkpoint.save, checkpoint.load):
        with pytest.raises(ImportError, match=r'pip install "jaxvjp\[distributed\]"'):
            function({"x": jaxvjp.ones(2)}, checkpoint_id=tmp_path / "x")
    assert not any(tmp_path.iterdir())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("checkpoints")


@pytest.fixture(scope="module")
def told(folder):
    """What one process with eight devices wrote and read, and what it was refused."""
    (folder / "misuse").mkdir()
    arguments = ["write", "split", "sharded", "write", "whole", "replicated", "read", "whole", "sharded"]
    arguments += ["misuse", "misuse", "-"]
    return run(8, "checkpoints.py", *[str(folder / each) if at % 3 == 1 else each for at, each in enumerate(arguments)])


def compare(read, written, split):
    assert read["bits"] == written["bits"]
    assert read["trained"] == written["trained"]
    assert (read["values"], read["mixed"], read["same"], read["alike"]) == (VALUES, MIXED, True, True)
    assert read["split"] == [split]
    np.testing.assert_allclose(read["next"], written["next"], rtol=1e-5)


def test_what_eight_devices_wrote_one_reads_to_the_bit(told, folder):
    (read,) = run(1, "checkpoints.py", "read", str(folder / "split"), "none")
    compare(read, told[0], "None")


def test_what_was_written_replicated_is_read_sharded(told):
    compare(told[2], told[1], FIRST)


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("no id", "RuntimeError: `checkpoint_id` must be specified if storage_reader/storage_writer is None."),
        ("no checkpoint", "CheckpointException: FileNotFoundError: [Errno 2] No such file or directory"),
        ("no checkpoint there", "CheckpointException: FileNotFoundError: [Errno 2] No such file or directory"),
        ("missing", "CheckpointException: RuntimeError: Missing key in checkpoint state_dict: deep.er."),
        ("shape", "CheckpointException: ValueError: Size mismatch between saved torch.Size([1, 2]) and current"),
        ("no tensor", "CheckpointException: ValueError: The checkpoint has a tensor for x, and state_dict a int"),
        ("not its own", "CheckpointException: FileExistsError: [Errno 17] File exists"),
        ("twice", "CheckpointException: ValueError: duplicated flatten key a.b"),
        ("no value", "CheckpointException: _pickle.PicklingError: Can't pickle <function misuse"),
        ("of orbax", "CheckpointException: ValueError:"),
        ("written over", "CheckpointException: RuntimeError: Missing key in checkpoint state_dict: x."),
        ("lacking", "RuntimeError: Missing optimizer state for parameter 'bias' in checkpoint."),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_changed(told, what, sentence):
    assert told[3][what].startswith(sentence)
    assert told[3]["unchanged"] == [0, [0.0, 0.0], ["mine.txt"]]


def test_what_else_is_read(told):
    found = told[3]
    assert found["failures"] == [[0, "RuntimeError('Missing key in checkpoint state_dict: y.')"]]
    assert found["as arrays"] == "(1, 2)"
    assert found["read"] == ["tensor([1., 1.], dtype=torch.float64)", 1]
    assert found["stateful"] == [3, [0, 1, 4]]
    assert found["full"] == [8, False]
    assert found["put back"] == FIRST
    assert found["order"] == [["weight", "bias"]] * 2


@pytest.mark.long
def test_what_two_processes_wrote_one_reads_to_the_bit(folder):
    at = str(folder / "of two")
    told = []
    for status, out, err in both("write", at, "sharded", "read", at, "replicated", script="checkpoints.py"):
        assert status == 0, err
        told.append(json.loads(out.splitlines()[-1]))
    (written, again), (other, same) = told
    assert {each.name for each in (folder / "of two" / "state").glob("ocdbt.process_*")} == {
        "ocdbt.process_0",
        "ocdbt.process_1",
    }
    assert other["bits"] == written["bits"]
    compare(again, written, "(Replicate(),)")
    compare(same, written, "(Replicate(),)")
    for devices, how, split in ((1, "none", "None"), (8, "sharded", FIRST)):
        (read,) = run(devices, "checkpoints.py", "read", at, how)
        compare(read, written, split)
