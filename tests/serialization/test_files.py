"""`save` and `load`: what is read is what was written, across to torch and back; and what hostile files get."""

from __future__ import annotations

import io
import pickle
import pickletools
import threading
import zipfile
from collections import Counter, OrderedDict

import numpy as np
import pytest
from oracle import agreement_of, live, needs_torch, programs_of, raises

import jaxvjp
from jaxvjp.serialization import restricted
from tools.fuzz.outcomes import plain


def written(torch, value, **options):
    file = io.BytesIO()
    torch.save(value, file, **options)
    file.seek(0)
    return file


def again(torch, value, **options):
    return torch.load(written(torch, value), **options)


def everything(torch):
    x = torch.arange(6.0)
    kinds = [torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int16, torch.bool]
    state = OrderedDict(
        weight=torch.nn.Parameter(torch.ones(2, 3)),
        frozen=torch.nn.Parameter(torch.ones(2), requires_grad=False),
        x=x,
        view=x[1:4:2],
        transposed=torch.arange(6).reshape(2, 3).t(),
        expanded=torch.ones(1).expand(4),
        conjugate=torch.tensor([1 + 2j]).conj(),
        empty=torch.zeros(0, 3),
        scalar=torch.tensor(4),
        unsigned=torch.ones(2, dtype=torch.uint16),
        leaf=torch.ones(2, requires_grad=True),
        picture=torch.arange(24.0).reshape(1, 2, 3, 4).contiguous(memory_format=torch.channels_last),
        kinds=[torch.ones(2).to(each) for each in kinds],
        plain=[1.5, None, True, 2**70, -3, "text", b"bytes", {"a": (1, 2)}, {3}, 2j, bytearray(b"more")],
        torchs=[torch.Size([1, 2]), torch.float32, torch.device("cpu")],
        counter=Counter("aab"),
    )
    state._metadata = {"": {"version": 1}}
    return state


def shown(state):
    said = [repr(each) for each in [*state.pop("torchs"), *state.pop("plain")]]
    found = {name: plain(each) for name, each in state.items()}
    strides = {name: each.stride() for name, each in state.items() if hasattr(each, "stride")}
    offset = state["view"].storage_offset(), type(state["weight"]).__name__, type(state).__name__, state._metadata
    return said, found, strides, offset


def all_that_there_is(torch):
    return shown(again(torch, everything(torch)))


def with_everything_allowed(torch):
    return shown(again(torch, everything(torch), weights_only=False))


def storages_stay_shared(torch):
    x = torch.zeros(4)
    found = again(torch, {"x": x, "part": x[1:3], "same": x})
    found["part"].fill_(7)
    return found, found["same"] is found["x"], found["x"].data_ptr() == found["same"].data_ptr()


def what_is_loaded_is_trained(torch):
    w = again(torch, torch.nn.Parameter(torch.ones(3)))
    (w * torch.arange(3.0)).sum().backward()
    with torch.no_grad():
        w -= w.grad
    return w, w.grad, w.is_leaf


def mapped(torch):
    x = torch.ones(2)
    ways = [
        "cpu",
        torch.device("cpu"),
        {"cpu": "cpu"},
        lambda storage, location: storage,
        lambda storage, location: None,
    ]
    return [again(torch, x, map_location=each).device.type for each in ways]


class Own:
    number = 3


@raises(pickle.UnpicklingError)
def a_class_of_the_users(torch):
    return again(torch, {"own": Own()})


class Calls:
    def __reduce__(self):
        return print, ("run by a file",)


@raises(pickle.UnpicklingError)
def a_file_that_calls_a_function(torch):
    return again(torch, Calls())


def a_class_that_is_allowed(torch):
    with torch.serialization.safe_globals([Own]):
        one = again(torch, Own()).number
    return one, again(torch, Own(), weights_only=False).number


def whole_modules(torch):
    """A whole module: the names of its classes in the file, those in the error of a reader, and what comes back."""
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.BatchNorm1d(3), torch.nn.GELU())
    file = written(torch, net)
    with zipfile.ZipFile(file) as archive:
        [pickled] = [archive.read(each) for each in archive.namelist() if each.endswith("data.pkl")]
    names = {argument for op, argument, _ in pickletools.genops(pickled) if op.name == "GLOBAL"}
    try:
        again(torch, net)
    except pickle.UnpicklingError as error:
        said = str(error)
    with torch.serialization.safe_globals([torch.nn.Linear]):
        said = said, type(again(torch, net[0])).__name__
    return sorted(each for each in names if "nn.modules" in each), said, repr(again(torch, net, weights_only=False))


@needs_torch
@pytest.mark.parametrize(("one", "other"), [(live, jaxvjp), (jaxvjp, live)])
def test_a_whole_module_crosses(one, other):
    net = one.nn.Sequential(one.nn.Linear(2, 3), one.nn.ReLU(), one.nn.BatchNorm1d(3), one.nn.Conv1d(3, 3, 1)).eval()
    found = other.load(written(one, net), weights_only=False)
    assert type(found) is other.nn.Sequential
    x = np.arange(6.0, dtype="float32").reshape(3, 2)
    ours, theirs = net[:3](one.from_numpy(x)), found[:3](other.from_numpy(x))
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-5, atol=1e-6)


LAYERS = """
PReLU() ReLU6() Flatten(0,1) PixelShuffle(1) InstanceNorm1d(2) ZeroPad1d(1) Upsample(scale_factor=2)
LocalResponseNorm(1) Conv1d(2,2,1,padding=1,padding_mode='circular') LSTM(4,2,2)
GRU(4,2,bias=False,bidirectional=True) TransformerEncoderLayer(4,2,8)
TransformerEncoderLayer(4,2,8,activation='gelu',batch_first=True) TransformerDecoderLayer(4,2,8)
utils.weight_norm(nn.Linear(4,2))
"""


@needs_torch
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("made", LAYERS.split())
@pytest.mark.parametrize(("one", "other"), [(live, jaxvjp), (jaxvjp, live)])
def test_a_whole_layer_crosses(one, other, made):
    net = eval(f"nn.{made}", {"nn": one.nn}).eval()
    found = other.load(written(one, net), weights_only=False)
    assert type(found) is getattr(other.nn, type(net).__name__)
    results, shape = [], (1, 4, 2, 2) if made.startswith(("PixelShuffle", "LocalResponse")) else (2, 2, 4)
    for torch, each in ((one, net), (other, found)):
        x = torch.linspace(-1, 1, 16).reshape(shape)
        result = each(x, x) if "Decoder" in made else each(x)
        results.append((result[0] if isinstance(result, tuple) else result).detach().numpy())
    np.testing.assert_allclose(*results, rtol=1e-4, atol=1e-6)


@needs_torch
@pytest.mark.parametrize(("one", "other"), [(live, jaxvjp), (jaxvjp, live)])
def test_other_whole_objects_cross(one, other):
    optimizer = one.optim.Adam([one.nn.Parameter(one.ones(2))], lr=0.5)
    schedule = one.optim.lr_scheduler.StepLR(one.optim.SGD([one.nn.Parameter(one.ones(2))], lr=0.5), 1)
    schedule.optimizer.step()
    schedule.step()
    drawn = one.Generator().manual_seed(3)
    one.randn(3, generator=drawn)
    objects = {
        "optimizer": optimizer,
        "schedule": schedule,
        "normal": one.distributions.Normal(0.0, 1.0),
        "transform": one.distributions.AffineTransform(1.0, 2.0),
        "largest": one.tensor([[1.0, 2.0]]).max(1),
        "packed": one.nn.utils.rnn.pack_sequence([one.ones(2), one.ones(1)]),
        "generator": drawn,
        "functions": [one.nn.functional.relu, one.nn.functional.gelu],
        "data": one.utils.data.TensorDataset(one.arange(4)),
    }
    found = other.load(written(one, objects), weights_only=False)
    assert type(found["optimizer"]) is other.optim.Adam
    results = []
    for torch, each in ((one, objects), (other, found)):
        [weight] = each["optimizer"].param_groups[0]["params"]
        weight.grad = torch.ones(2)
        each["optimizer"].step()
        each["schedule"].optimizer.step()
        each["schedule"].step()
        values = [weight, torch.tensor(each["schedule"].get_last_lr()), each["normal"].log_prob(torch.tensor(0.5))]
        values += [each["transform"](torch.ones(1)), each["largest"].values, each["largest"].indices]
        values += [each["packed"].data, torch.randn(3, generator=each["generator"])]
        values += [function(torch.tensor([-1.0, 1.0])) for function in each["functions"]]
        results.append([value.tolist() for value in (*values, *each["data"][1:3])])
        assert repr(each["largest"]).startswith("torch.return_types.max(")
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


@raises(FileNotFoundError)
def no_such_file(torch):
    return torch.load("/nonexistent/file.pt")


@raises(AttributeError)
def no_file_to_write(torch):
    torch.save({}, 5)


@raises(AttributeError)
def no_file_to_read(torch):
    torch.load(5)


@raises(RuntimeError)
def a_cut_file(torch):
    whole = written(torch, torch.ones(3)).getvalue()
    return torch.load(io.BytesIO(whole[: len(whole) // 2]))


@raises(EOFError)
def an_empty_file(torch):
    return torch.load(io.BytesIO())


@raises(RuntimeError)
def a_module_to_unpickle_with(torch):
    return torch.load(written(torch, 1), pickle_module=pickle, weights_only=True)


def a_file_read_by_that_module(torch):
    return torch.load(written(torch, {"w": torch.ones(2), "more": (1, 2)}), pickle_module=pickle, weights_only=False)


@raises(RuntimeError)
def mapped_to_a_gpu(torch):
    return again(torch, torch.ones(2), map_location="cuda")


test_agrees_with_torch = agreement_of(programs_of(globals(), everything))


@needs_torch
@pytest.mark.parametrize("writer", ["torch", "jaxvjp"])
def test_files_cross(writer):
    writing, reading = (live, jaxvjp) if writer == "torch" else (jaxvjp, live)
    assert shown(reading.load(written(writing, everything(writing)))) == shown(everything(writing))


@needs_torch
def test_what_torch_writes_for_a_model_and_its_optimizer_is_read():
    model = live.nn.Sequential(live.nn.Linear(2, 3), live.nn.BatchNorm1d(3))
    optimizer = live.optim.AdamW(model.parameters())
    model(live.ones(4, 2)).sum().backward()
    optimizer.step()
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}
    found = jaxvjp.load(written(live, state))
    assert plain(found) == plain(state)
    back = live.load(written(jaxvjp, found))
    model.load_state_dict(back["model"])
    optimizer.load_state_dict(back["optimizer"])


def test_a_path(tmp_path):
    for path in (tmp_path / "a.pt", str(tmp_path / "b.pt")):
        jaxvjp.save({"x": jaxvjp.ones(2)}, path)
        assert jaxvjp.load(path)["x"].tolist() == [1.0, 1.0]


def test_newer_pickles_are_read():
    found = jaxvjp.load(written(jaxvjp, everything(jaxvjp), pickle_protocol=4))
    assert shown(found) == shown(everything(jaxvjp))


def test_what_cannot_be_pickled_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "a.pt"
    jaxvjp.save(1, path)
    with pytest.raises(TypeError, match="cannot pickle"):
        jaxvjp.save([jaxvjp.ones(2), threading.Lock()], path)
    assert jaxvjp.load(path) == 1


def with_pickle(data, **records):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", data)
        for name, each in records.items():
            archive.writestr(f"archive/{name.replace('_', '/')}", each)
    file.seek(0)
    return file


def tensor_of(size, stride, offset=0, location="cpu", key="0"):
    named = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n"
    reference = pickle.dumps(("storage", 0, key, location, 4), 2)[2:-1].replace(b"K\x00", b"ctorch\nFloatStorage\n", 1)
    rest = pickle.dumps((offset, size, stride, False, None), 2)[2:-1]
    at = rest.index(b"(") + 1
    return named + b"(" + reference + b"Q" + rest[at:] + b"R."


def test_a_tensor_that_reaches_out_of_its_storage_is_refused():
    assert jaxvjp.load(with_pickle(tensor_of((2, 2), (2, 1)), data_0=b"\0" * 16)).shape == (2, 2)
    for size, stride, offset in [
        ((5,), (1,), 0),
        ((2,), (4,), 0),
        ((4,), (1,), 1),
        ((4,), (-1,), 3),
        ((2,), (1, 1), 0),
    ]:
        with pytest.raises(pickle.UnpicklingError, match=r"out of bounds|no tensor"):
            jaxvjp.load(with_pickle(tensor_of(size, stride, offset), data_0=b"\0" * 16))
    with pytest.raises(RuntimeError, match="failed locating file data/0"):
        jaxvjp.load(with_pickle(tensor_of((1,), (1,))))


HOSTILE = {
    "writes to a class": b"\x80\x02ctorch\nTensor\nN}X\x03\0\0\0sumK\x01s\x86b.",
    "writes to a dtype": b"\x80\x02ctorch\nfloat32\nN}X\x04\0\0\0nameK\x01s\x86b.",
    "imports": b"\x80\x02cos\nsystem\nX\x04\0\0\0true\x85R.",
    "imports by the stack": b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85R.",
    "makes a tensor by its class": b"\x80\x02ctorch\nTensor\n)\x81.",
    "takes from an empty stack": b"\x80\x020.",
    "has no mark": b"\x80\x02K\x01t.",
    "ends early": b"\x80\x02]K\x01",
    "asks for much memory": b"\x80\x02cbuiltins\nbytearray\n\x8a\x05\0\0\0\0\x10\x85R.",
    "names an unknown memo": b"\x80\x02h\x05.",
    "calls what it made": b"\x80\x02K\x01)R.",
    "refers to no storage": b"\x80\x02K\x01Q.",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_pickle_is_refused_and_leaves_nothing(name):
    before = jaxvjp.float32.name, jaxvjp.Tensor.sum
    with pytest.raises(pickle.UnpicklingError, match=r"^Weights only load failed"):
        jaxvjp.load(with_pickle(HOSTILE[name]))
    assert (jaxvjp.float32.name, jaxvjp.Tensor.sum) == before


def test_every_cut_of_a_file_is_refused():
    whole = written(jaxvjp, {"x": jaxvjp.arange(4.0), "n": 1}).getvalue()
    for end in range(1, len(whole), 7):
        with pytest.raises((RuntimeError, EOFError, pickle.UnpicklingError)):
            jaxvjp.load(io.BytesIO(whole[:end]))


def test_every_changed_byte_is_refused_or_harmless():
    whole = written(jaxvjp, {"x": jaxvjp.arange(4.0), "n": 1}).getvalue()
    for place in range(0, len(whole), 3):
        changed = whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :]
        try:
            jaxvjp.load(io.BytesIO(changed))
        except (RuntimeError, EOFError, pickle.UnpicklingError):
            continue


def test_compressed_files_are_refused():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02N.")
    file.seek(0)
    with pytest.raises(RuntimeError, match="compressed"):
        jaxvjp.load(file)


def test_what_was_allowed_is_forgotten():
    jaxvjp.serialization.add_safe_globals([Own, (Calls, "elsewhere.Calls")])
    assert restricted.added() == {f"{__name__}.Own": Own, "elsewhere.Calls": Calls}
    jaxvjp.serialization.clear_safe_globals()
    assert not jaxvjp.serialization.get_safe_globals()
