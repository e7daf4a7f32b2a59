"""Files of torch's `nn.modules` that are none here, as their layers are rows: imports, pickles, what Python says."""

from __future__ import annotations

import importlib
import inspect
import pickle
import subprocess
import sys

import pytest
from oracle import agree

import jaxvjp
from jaxvjp.nn.modules import OF_ROWS, SAME, layers


@pytest.mark.parametrize("file", OF_ROWS)
def test_a_file_of_rows_is_a_module_like_others(file):
    module = importlib.import_module(f"jaxvjp.nn.modules.{file}")
    assert module is getattr(jaxvjp.nn.modules, file)
    space = {}
    exec(f"from {module.__name__} import *", space)
    assert {*space} - {"__builtins__"} == {*layers()[file]}
    for name in layers()[file]:
        made = getattr(module, name)
        assert made is getattr(jaxvjp.nn, name)
        assert made.__module__ == module.__name__
        assert inspect.getmodule(made) is module
        assert inspect.getfile(made).endswith("rows.py")
    with pytest.raises(AttributeError, match=f"module '{module.__name__}' has no attribute 'nothing'"):
        _ = module.nothing


def test_names_that_torch_has_there():
    def program(torch):
        modules = torch.nn.modules
        loss, dropout = modules.loss, modules.dropout
        found = [issubclass(loss.MSELoss, loss._Loss), issubclass(loss.NLLLoss, loss._WeightedLoss)]
        found += [issubclass(dropout.Dropout2d, dropout._DropoutNd), modules.pixelshuffle.PixelShuffle.__name__]
        return [*found, modules.activation.ReLU is torch.nn.ReLU, repr(modules.upsampling.Upsample(scale_factor=2.0))]

    agree(program)
    assert {*SAME} >= {"pixelshuffle", "upsampling"}


def test_a_pickle_is_read_where_nothing_was_imported():
    model = jaxvjp.nn.Sequential(jaxvjp.nn.ReLU(), jaxvjp.nn.MaxPool2d(2), jaxvjp.nn.TripletMarginLoss(swap=True))
    code = f"import pickle; print(pickle.loads({pickle.dumps(model)!r}))"
    read = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert read.strip() == repr(model)
