"""`torch.distributed`: what one process sees of it, and two processes of four devices each, beside one of eight."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest
from oracle import agreement_of, programs_of
from test_meshes import HERE, run

import jaxvjp
from jaxvjp import distributed as dist


def before_a_group_there_is_none(torch):
    ours = torch.distributed
    said = []
    for function in (ours.get_rank, ours.get_world_size, ours.barrier, lambda: ours.all_reduce(torch.ones(2))):
        try:
            function()
        except ValueError as error:
            said.append(str(error).partition("\n")[0])
    return said, ours.is_available(), ours.is_initialized(), ours.is_torchelastic_launched()


def what_placements_say(torch):
    tensor = import_module(f"{torch.__name__}.distributed.tensor")
    given = [tensor.Shard(0), tensor.Shard(1), tensor.Replicate(), tensor.Partial(), tensor.Partial("max")]
    asked = [(each.is_shard(), each.is_shard(1), each.is_replicate(), each.is_partial()) for each in given]
    same = [tensor.Shard(0) == tensor.Shard(0), tensor.Shard(0) == tensor.Shard(1), len({*given, tensor.Shard(1)})]
    return [(repr(each), str(each)) for each in given], asked, same


test_agrees_with_torch = agreement_of(programs_of(globals()))


def test_a_variable_that_torchrun_would_set_is_missed(monkeypatch):
    monkeypatch.setenv("RANK", "0")
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with pytest.raises(ValueError, match="environment variable WORLD_SIZE expected, but not set"):
        dist.init_process_group()
    with pytest.raises(ValueError, match="rank 2 is not below world_size, 2"):
        dist.init_process_group(init_method="tcp://127.0.0.1:1", rank=2, world_size=2)
    assert not dist.is_initialized()


def test_a_group_of_one(monkeypatch):
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    dist.init_process_group()
    try:
        x, into = jaxvjp.tensor([1.0, 2.0]), [jaxvjp.zeros(2)]
        dist.all_reduce(x)
        dist.broadcast(x, src=0)
        dist.all_gather(into, x)
        dist.barrier()
        assert (x.tolist(), into[0].tolist()) == ([1.0, 2.0], [1.0, 2.0])
        assert (dist.get_rank(), dist.get_world_size(), dist.is_initialized()) == (0, 1, True)
        with pytest.raises(ValueError, match="trying to initialize the default process group twice!"):
            dist.init_process_group()
        with pytest.raises(ValueError, match="Global rank 1 is not part of group"):
            dist.broadcast(x, src=1)
    finally:
        dist.destroy_process_group()
    with pytest.raises(AssertionError, match="Process group cannot be None"):
        dist.destroy_process_group()


def test_where_torchrun_listens_at_the_port_jax_takes_the_next(monkeypatch):
    for own, expected in (("False", (29500, 65535)), ("True", (29501, 65534))):
        monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", own)
        assert (dist._port(29500), dist._port(65535)) == expected


def test_of_several_processes_on_a_machine_each_has_one_gpu(monkeypatch):
    for name in ("LOCAL_RANK", "LOCAL_WORLD_SIZE", "JAX_LOCAL_DEVICE_IDS"):
        monkeypatch.delenv(name, raising=False)
    assert dist._own_devices() is None
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert dist._own_devices() is None
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    assert dist._own_devices() == [1]
    monkeypatch.setenv("JAX_LOCAL_DEVICE_IDS", "0,1")
    assert dist._own_devices() is None


def started(path, body, *command):
    """What a script prints that is started in two processes, and the exit status."""
    path.write_text(body)
    done = subprocess.run(
        [sys.executable, "-m", *command, str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
        env={**os.environ, "PYTHONPATH": ".", "JAX_NUM_CPU_DEVICES": "2"},
    )
    return done.returncode, done.stdout, done.stderr


SUMMED = """
import os, sys
import jaxvjp as torch, jaxvjp.distributed as dist
dist.init_process_group()
x = torch.tensor([1.0, 2.0]) * (dist.get_rank() + 1)
dist.all_reduce(x)
mesh = dist.init_device_mesh("cpu", (4,))
sys.stdout.write(f"{os.environ['LOCAL_RANK']} {dist.is_torchelastic_launched()} {mesh.size()} {x.tolist()}\\n")
dist.destroy_process_group()
"""


@pytest.mark.long
def test_the_command_starts_several_processes(tmp_path):
    status, out, err = started(tmp_path / "script.py", SUMMED, "jaxvjp", "run", "--processes", "2", "--devices", "2")
    assert status == 0, err
    assert {f"{rank} False 4 [3.0, 6.0]" for rank in range(2)} <= {*out.splitlines()}


@pytest.mark.long
def test_torchs_own_launcher_starts_it(tmp_path):
    pytest.importorskip("torch", reason="torchrun is torch's")
    status, out, err = started(tmp_path / "script.py", SUMMED, "torch.distributed.run", "--nproc-per-node", "2")
    assert status == 0, err
    assert {f"{rank} True 4 [3.0, 6.0]" for rank in range(2)} <= {*out.splitlines()}


def test_when_one_of_several_processes_fails_the_others_are_ended(tmp_path):
    body = "import os, sys, time\nsys.exit(7) if os.environ['RANK'] == '1' else time.sleep(100)"
    status, _, err = started(tmp_path / "script.py", body, "jaxvjp", "run", "--processes", "3")
    assert status == 7
    assert "process 1 of 3 ended with status 7; so do the others" in err
    status, _, err = started(tmp_path / "script.py", body, "jaxvjp", "run", "--processes", "0")
    assert status == 2
    assert "--processes 0: there has to be one" in err


def both(*arguments, script="in_two_processes.py"):
    """The two processes that run the script: their exit statuses, and what they print."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jaxvjp", "run", "--devices", "4", str(HERE / script), *arguments]
    group = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "PYTHONPATH": "."}
    started = [
        subprocess.Popen(
            command,
            env={**os.environ, **group, "RANK": str(rank)},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for rank in range(2)
    ]
    printed = [each.communicate(timeout=300) for each in started]
    return [(each.returncode, out, err) for each, (out, err) in zip(started, printed, strict=True)]


@pytest.fixture(scope="module")
def told():
    """What each of the two processes told, and the training in one process, with eight devices."""
    found = []
    for status, out, err in both():
        assert status == 0, err
        found.append(json.loads(out.splitlines()[-1]))
    return found


@pytest.mark.long
def test_collectives_of_two_processes(told):
    for rank, each in enumerate(told):
        assert each["before"][:2] == [True, False]
        assert each["group"][:4] == [rank, 2, True, "gloo"]
        total, mean, most, sent, first, second, counted = each["collectives"]
        assert (total, mean, most, sent) == ([3.0, 6.0], [1.5, 3.0], [2.0, 4.0], [2.0, 4.0])
        assert (first, second, counted) == ([1.0, 2.0], [2.0, 4.0], 2**41 + 1)
        assert each["refused"][0].startswith("ValueError: Global rank 2 is not part of group")
        assert each["refused"][1].startswith("ValueError: ProcessGroup::all_gather: the list has 1 tensors")
        assert each["refused"][2].startswith("RuntimeError: The tensor is split over several processes")
        assert each["refused"][3].startswith("RuntimeError: The processes have different values for a tensor")
        assert each["disagree"] == [
            "all_reduce sum(torch.float32 of shape [2]); process 1 all_reduce sum(torch.float32 of shape [3])",
            "all_reduce sum(torch.float32 of shape [2]); process 1 all_reduce sum(torch.float64 of shape [2])",
            "all_reduce sum(torch.float32 of shape [2]); process 1 barrier",
            "distribute_tensor(torch.float32 of shape [2]); process 1 distribute_tensor(torch.float32 of shape [3])",
            "from_local(torch.float32 of shape [2]); process 1 from_local(torch.float32 of shape [3])",
        ]
        assert each["refused"][4].startswith("RuntimeError: all_reduce sum: found a DTensor")
        assert each["of rank 0"] == [1.0, 2.0]
        assert each["after"] is False


@pytest.mark.long
def test_a_mesh_spans_the_processes(told):
    x = np.arange(16.0).reshape(8, 2)
    for rank, each in enumerate(told):
        shape, whole, part, total = each["parts"]
        assert (shape, whole, total) == ([8, 2], x.tolist(), 2 * x.sum())
        assert part == x[4 * rank : 4 * rank + 4].tolist()
        assert each["64 bits"] == [[2**40 + 1] * 4, [2**40 + 1] * 4 + [2**40 + 2] * 4]
        assert each["gradient"] == [(2 * x**2).tolist(), "(Shard(dim=0),)"]


@pytest.mark.long
@pytest.mark.parametrize("how", ["replicated", "sharded"])
def test_two_processes_train_to_the_numbers_of_one(told, how):
    losses, sums, _ = run(1, "training.py", "alone")
    for each in told:
        own_losses, own_sums, placed = each["trained"][how]
        np.testing.assert_allclose(own_losses, losses, rtol=1e-5)
        np.testing.assert_allclose(own_sums, sums, rtol=1e-5, atol=1e-5)
        assert placed == ["(Replicate(),)" if how == "replicated" else "(Shard(dim=0),)"]


@pytest.mark.long
def test_a_process_that_dies_gives_the_other_an_error():
    """At once, as they are connected; without the error JAX would end the other one after ten seconds."""
    (status, out, err), (died, _, _) = both("dies")
    assert died == 7
    assert status != 0
    assert "RuntimeError of rank 0: Another process did not answer" in out, err
