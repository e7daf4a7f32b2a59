"""The `state_dict` of every layer crosses in a file from torch to jaxvjp and back, with all numbers and the result."""

from __future__ import annotations

import base64
import io
import re
from importlib import import_module
from typing import Any

import pytest
from layers import MADE, flat, inputs, named
from oracle import live, theirs

import jaxvjp
from jaxvjp.nn.modules import later
from tools.fuzz.outcomes import plain, same

MORE = [
    *[(f"Lazy{kind}{d}d(2, 2)", f"(2, 3{', 4' * d})") for kind in ("Conv", "ConvTranspose") for d in (1, 2, 3)],
    *[(f"LazyBatchNorm{d}d()", f"(2, 3{', 4' * d})") for d in (1, 2, 3)],
    *[(f"LazyInstanceNorm{d}d(affine=True, track_running_stats=True)", f"(2, 3{', 4' * d})") for d in (1, 2, 3)],
    ("nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm1d(2), nn.ReLU()))", "(3, 2)"),
    ("ModuleDict({'a': nn.Linear(2, 3), 'b': nn.PReLU()})", ""),
    ("ModuleList([nn.Linear(2, 3), nn.BatchNorm1d(3)])", ""),
    ("ParameterDict({'a': torch.rand(2), 'b': torch.rand(3)})", ""),
    ("ParameterList([torch.rand(2), torch.rand(3)])", ""),
    ("Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))", "(4, 2)"),
    ("utils.spectral_norm(nn.Linear(4, 3))", "(2, 4)"),
    ("utils.spectral_norm(nn.ConvTranspose2d(2, 3, 2), 'weight', 2)", "(1, 2, 3, 3)"),
    ("utils.weight_norm(nn.Linear(4, 3), dim=None)", "(2, 4)"),
    ("utils.weight_norm(nn.Conv1d(2, 3, 2))", "(1, 2, 4)"),
    ("parametrizations.spectral_norm(nn.Linear(4, 3), n_power_iterations=2)", "(2, 4)"),
    ("parametrizations.weight_norm(nn.Conv1d(2, 3, 2))", "(1, 2, 4)"),
    ("parametrizations.orthogonal(nn.Linear(3, 3))", "(2, 3)"),
    ("prune.l1_unstructured(nn.Linear(4, 3), 'weight', 5)", "(2, 4)"),
]
"""Layers that the table of layers has not; in some of them a hook or a parametrization makes the weight."""
STATEFUL = [*dict(reversed([*MADE, *MORE])).items()]
"""One call for each way to make a layer."""


def made(torch: Any, layer: str, text: str, seed: int) -> Any:
    """The layer; a lazy one after its first call, in which it gets its parameters."""
    torch.manual_seed(seed)
    rooms = {each: import_module(f"{torch.__name__}.nn.utils.{each}") for each in ("parametrizations", "prune")}
    names = named(torch, layer) | {"utils": torch.nn.utils, **rooms}
    module = eval(layer, names)
    if layer.startswith("Lazy"):
        called(torch, module, layer, text)
    return module


def called(torch: Any, module: Any, layer: str, text: str) -> list[Any]:
    torch.manual_seed(9)
    return [each.detach() for each in flat(module(*inputs(torch, text, named(torch, layer), [])))] if text else []


def file_of(torch: Any, module: Any) -> bytes:
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    return file.getvalue()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("layer", "text"), STATEFUL, ids=[layer.replace(" ", "") for layer, _ in STATEFUL])
def test_it_crosses(layer: str, text: str) -> None:
    ways = [(jaxvjp, jaxvjp)] + ([] if live is None else [(live, jaxvjp), (jaxvjp, live)])
    for writer, reader in ways:
        module = made(writer, layer, text, 1)
        if module.state_dict() and text and not layer.startswith("Lazy"):
            module.train()
            called(writer, module, layer, text)  # so that averages and vectors are not those of the beginning
        state = reader.load(io.BytesIO(file_of(writer, module)))
        assert list(state) == list(module.state_dict())
        assert plain(state) == plain(module.state_dict())
        other = made(reader, layer, text, 2)
        told = other.load_state_dict(state, strict=True)
        assert (told.missing_keys, told.unexpected_keys) == ([], [])
        assert plain(other.state_dict()) == plain(module.state_dict())
        if not state:
            continue
        expected, given = [called(*each, layer, text) for each in ((writer, module.eval()), (reader, other.eval()))]
        assert same(plain(given), plain(expected), 1e-5, 1e-5)


def test_a_file_that_torch_wrote() -> None:
    """The bytes that torch wrote are recorded, so that they are read where it is not installed."""

    def model(torch: Any) -> Any:
        nn = torch.nn
        made = nn.Sequential(
            nn.Conv1d(2, 3, 2),
            nn.BatchNorm1d(3),
            nn.utils.spectral_norm(nn.Linear(3, 2)),
            nn.utils.parametrizations.weight_norm(nn.Linear(2, 2)),
            nn.LSTM(2, 2, bidirectional=True),
            nn.MultiheadAttention(4, 2),
            nn.Embedding(3, 2, padding_idx=0),
        )
        with torch.no_grad():
            for each in made.state_dict().values():
                each.copy_(torch.arange(each.numel()).reshape(each.shape) / 8)
        return made

    file = theirs(lambda torch: base64.b64encode(file_of(torch, model(torch))).decode()).value
    state, expected = jaxvjp.load(io.BytesIO(base64.b64decode(file))), model(jaxvjp)
    assert plain(state) == plain(expected.state_dict())
    assert list(state) == list(expected.state_dict())
    with jaxvjp.no_grad():
        for each in expected.parameters():
            each.zero_()
    expected.load_state_dict(state)
    assert plain(expected.state_dict()) == plain(state)


def test_the_table_has_every_layer() -> None:
    seen = {each for layer, _ in STATEFUL for each in re.findall(r"\b[A-Z]\w+(?=\()", layer)}
    assert {*later()} - seen == {"Module", "RNNBase", "RNNCellBase", "NLLLoss2d"}
