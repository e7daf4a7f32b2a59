"""The format from before torch 1.6: five pickles, one behind the other, and then the bytes of the storages."""

from __future__ import annotations

import base64
import io
import pickle
import struct

import pytest
from oracle import agreement_of, live, needs_torch, programs_of, raises
from test_files import Calls, Own, everything, shown, written

import jaxvjp
from jaxvjp.serialization.restricted import LEGACY_VERSION, MAGIC
from tools.fuzz.outcomes import plain


def before(torch, value):
    return written(torch, value, _use_new_zipfile_serialization=False)


def all_but_unsigned(torch):
    """Torch does not read in this format what it writes of unsigned integers."""
    state = everything(torch)
    del state["unsigned"]
    return state


def all_that_there_is(torch):
    return shown(torch.load(before(torch, all_but_unsigned(torch))))


def with_everything_allowed(torch):
    return shown(torch.load(before(torch, all_but_unsigned(torch)), weights_only=False))


def storages_stay_shared(torch):
    x = torch.arange(4.0)
    found = torch.load(before(torch, {"part": x[1:3], "x": x, "same": x}))
    found["part"].fill_(7)
    return found, found["same"] is found["x"], found["x"].data_ptr() == found["same"].data_ptr()


def what_is_loaded_is_trained(torch):
    w = torch.load(before(torch, torch.nn.Parameter(torch.arange(3.0))))
    (w * w).sum().backward()
    with torch.no_grad():
        w -= w.grad
    return w, w.grad, w.is_leaf


def several_in_one_file(torch):
    file = io.BytesIO()
    for each in ({"x": torch.arange(3)}, [torch.ones(2), 5], 7):
        torch.save(each, file, _use_new_zipfile_serialization=False)
    file.seek(0)
    return [torch.load(file) for _ in range(3)]


def mapped(torch):
    ways = ["cpu", {"cpu": "cpu"}, lambda storage, location: storage, lambda storage, location: None]
    return [torch.load(before(torch, torch.ones(2)), map_location=each) for each in ways]


def a_class_that_is_allowed(torch):
    with torch.serialization.safe_globals([Own]):
        one = torch.load(before(torch, Own())).number
    return one, torch.load(before(torch, Own()), weights_only=False).number


@raises(pickle.UnpicklingError)
def a_class_of_the_users(torch):
    return torch.load(before(torch, {"own": Own()}))


@raises(pickle.UnpicklingError)
def a_file_that_calls_a_function(torch):
    return torch.load(before(torch, Calls()))


@raises(RuntimeError)
def a_file_whose_numbers_are_cut_off(torch):
    return torch.load(io.BytesIO(before(torch, torch.ones(3)).getvalue()[:-4]))


@raises(RuntimeError)
def another_magic_number(torch):
    return torch.load(io.BytesIO(pickle.dumps(5, 2)))


@raises(RuntimeError)
def another_version(torch):
    return torch.load(io.BytesIO(pickle.dumps(MAGIC, 2) + pickle.dumps(7, 2)))


@raises(RuntimeError)
def one_storage_as_numbers_of_two_types(torch):
    x = torch.ones(2)
    return before(torch, [x, x.view(torch.int32)])


def part_of_a_storage(part):
    """The pickle of a tensor of two of the four elements of a storage, from an element on, as torch 0.3 wrote it."""
    reference = pickle.dumps(("storage", 0, "7", "cpu", 4, part), 2)[2:-1]
    reference = reference.replace(b"K\x00", b"ctorch\nFloatStorage\n", 1)
    return b"ctorch._utils\n_rebuild_tensor\n(" + reference + b"QK\x00K\x02\x85K\x01\x85tR"


def storages_that_are_parts_of_another(torch):
    parts = [part_of_a_storage(each) for each in (None, ("8", 2, 2), ("9", 1, 2))]
    data = [pickle.dumps(each, 2) for each in (MAGIC, LEGACY_VERSION, {})]
    data += [b"\x80\x02](" + b"".join(parts) + b"e.", pickle.dumps(["7"], 2), struct.pack("<q4f", 4, 1, 2, 3, 4)]
    file = io.BytesIO(b"".join(data))
    first, second, third = torch.load(file)
    first.mul_(10)
    return first, second, third


test_agrees_with_torch = agreement_of(programs_of(globals(), before, all_but_unsigned))


@needs_torch
@pytest.mark.parametrize("writer", ["torch", "jaxvjp"])
def test_files_cross(writer):
    writing, reading = (live, jaxvjp) if writer == "torch" else (jaxvjp, live)
    assert shown(reading.load(before(writing, all_but_unsigned(writing)))) == shown(all_but_unsigned(writing))


BY_TORCH = (
    "gAKKCmz8nEb5IGqoUBkugAJN6QMugAJ9cQAoWBAAAABwcm90b2NvbF92ZXJzaW9ucQFN6QNYDQAAAGxpdHRsZV9lbmRpYW5xAohYCgAAAHR5cG"
    "Vfc2l6ZXNxA31xBChYBQAAAHNob3J0cQVLAlgDAAAAaW50cQZLBFgEAAAAbG9uZ3EHSwR1dS6AAmNjb2xsZWN0aW9ucwpPcmRlcmVkRGljdApx"
    "AClScQEoWAgAAAAwLndlaWdodHECY3RvcmNoLl91dGlscwpfcmVidWlsZF90ZW5zb3JfdjIKcQMoKFgHAAAAc3RvcmFnZXEEY3RvcmNoCkZsb2"
    "F0U3RvcmFnZQpxBVgOAAAAOTQwNjI4ODM4NjUxNjhxBlgDAAAAY3B1cQdLAk50cQhRSwBLAUsChnEJSwJLAYZxColoAClScQt0cQxScQ1YBgAA"
    "ADAuYmlhc3EOaAMoKGgEaAVYDgAAADk0MDYyODgzODY1MzEycQ9oB0sBTnRxEFFLAEsBhXERSwGFcRKJaAApUnETdHEUUnEVWAgAAAAxLndlaW"
    "dodHEWaAMoKGgEaAVYDgAAADk0MDYyODgzODE3NTM2cRdoB0sBTnRxGFFLAEsBhXEZSwGFcRqJaAApUnEbdHEcUnEdWAYAAAAxLmJpYXNxHmgD"
    "KChoBGgFWA4AAAA5NDA2Mjg4MzY1NzE1MnEfaAdLAU50cSBRSwBLAYVxIUsBhXEiiWgAKVJxI3RxJFJxJVgOAAAAMS5ydW5uaW5nX21lYW5xJm"
    "gDKChoBGgFWA4AAAA5NDA2Mjg4Mzg2NTY2NHEnaAdLAU50cShRSwBLAYVxKUsBhXEqiWgAKVJxK3RxLFJxLVgNAAAAMS5ydW5uaW5nX3ZhcnEu"
    "aAMoKGgEaAVYDgAAADk0MDYyODgzODk1MjgwcS9oB0sBTnRxMFFLAEsBhXExSwGFcTKJaAApUnEzdHE0UnE1WBUAAAAxLm51bV9iYXRjaGVzX3"
    "RyYWNrZWRxNmgDKChoBGN0b3JjaApMb25nU3RvcmFnZQpxN1gOAAAAOTQwNjI4ODM4OTU5ODRxOGgHSwFOdHE5UUsAKSmJaAApUnE6dHE7UnE8"
    "dX1xPVgJAAAAX21ldGFkYXRhcT5oAClScT8oWAAAAABxQH1xQVgHAAAAdmVyc2lvbnFCSwFzWAEAAAAwcUN9cURoQksBc1gBAAAAMXFFfXFGaE"
    "JLAnN1c2IugAJdcQAoWA4AAAA5NDA2Mjg4MzY1NzE1MnEBWA4AAAA5NDA2Mjg4MzgxNzUzNnECWA4AAAA5NDA2Mjg4Mzg2NTE2OHEDWA4AAAA5"
    "NDA2Mjg4Mzg2NTMxMnEEWA4AAAA5NDA2Mjg4Mzg2NTY2NHEFWA4AAAA5NDA2Mjg4Mzg5NTI4MHEGWA4AAAA5NDA2Mjg4Mzg5NTk4NHEHZS4BAA"
    "AAAAAAAAAAAAABAAAAAAAAAAAAgD8CAAAAAAAAAAAAAD8AAIC+AQAAAAAAAAAAAKA/AQAAAAAAAAAAAAAAAQAAAAAAAAAAAIA/AQAAAAAAAAAA"
    "AAAAAAAAAA=="
)
"""What torch 2.13 wrote of the `state_dict` of `nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1d(1))`."""


def test_a_file_by_torch():
    found = jaxvjp.load(io.BytesIO(base64.b64decode(BY_TORCH)))
    model = jaxvjp.nn.Sequential(jaxvjp.nn.Linear(2, 1), jaxvjp.nn.BatchNorm1d(1))
    model.load_state_dict(found)
    assert plain(found["0.weight"]) == plain(jaxvjp.tensor([[0.5, -0.25]]))
    assert float(model.eval()(jaxvjp.ones(1, 2))) == pytest.approx(1.5, rel=1e-4)


def test_every_cut_is_refused():
    whole = before(jaxvjp, {"x": jaxvjp.arange(4.0), "n": 1}).getvalue()
    for end in range(1, len(whole), 5):
        with pytest.raises((RuntimeError, EOFError, pickle.UnpicklingError)):
            jaxvjp.load(io.BytesIO(whole[:end]))


def test_every_changed_byte_is_refused_or_harmless():
    whole = before(jaxvjp, {"x": jaxvjp.arange(4.0), "n": 1}).getvalue()
    for place in range(len(whole)):
        changed = whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :]
        try:
            jaxvjp.load(io.BytesIO(changed))
        except (RuntimeError, EOFError, pickle.UnpicklingError):
            continue


@pytest.mark.parametrize("count", [-1, 1 << 60, 1.5, None])
def test_a_storage_that_the_file_has_no_room_for_is_refused(count):
    reference = pickle.dumps(("storage", 0, "7", "cpu", count, None), 2)[2:-1]
    data = b"\x80\x02" + reference.replace(b"K\x00", b"ctorch\nFloatStorage\n", 1) + b"Q."
    system = pickle.dumps(MAGIC, 2) + pickle.dumps(LEGACY_VERSION, 2) + pickle.dumps({}, 2)
    with pytest.raises(pickle.UnpicklingError, match="does not fit"):
        jaxvjp.load(io.BytesIO(system + data + pickle.dumps(["7"], 2)))


@pytest.mark.parametrize("keys", [["0", "1"], [], 5, [["0"]]])
def test_a_list_of_other_storages_is_refused(keys):
    whole = before(jaxvjp, jaxvjp.ones(1)).getvalue()
    listed = pickle.dumps(["0"], 2)
    assert listed in whole
    with pytest.raises(RuntimeError, match="corrupt"):
        jaxvjp.load(io.BytesIO(whole.replace(listed, pickle.dumps(keys, 2))))
