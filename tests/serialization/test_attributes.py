"""Attributes that the user gives a tensor: where pickles, files and copies keep them, as in torch."""

from __future__ import annotations

import copy
import io
import pickle
import sys

import pytest
from oracle import agree, agreement_of, live, needs_torch, programs_of

import jaxvjp


def of_file(torch, value, weights_only, **options):
    file = io.BytesIO()
    torch.save(value, file, **options)
    file.seek(0)
    return torch.load(file, weights_only=weights_only)


WAYS = {
    "pickle": lambda torch, each: pickle.loads(pickle.dumps(each)),
    "an older pickle": lambda torch, each: pickle.loads(pickle.dumps(each, 2)),
    "copy": lambda torch, each: copy.copy(each),
    "deepcopy": lambda torch, each: copy.deepcopy(each),
    "a file": lambda torch, each: of_file(torch, each, False),
    "weights only": lambda torch, each: of_file(torch, each, True),
    "an old file": lambda torch, each: of_file(torch, each, False, _use_new_zipfile_serialization=False),
    "twice in a list": lambda torch, each: of_file(torch, [each, {"a": each}], True)[1]["a"],
}


def marked(each, **attributes):
    for name, value in attributes.items():
        setattr(each, name, value)
    return each


def numbers(torch):
    return torch.arange(6.0).reshape(2, 3)


KINDS = {
    "a tensor": lambda torch: marked(numbers(torch), tag="t", more=[1, {"a": 2.5}], none=None),
    "nothing": numbers,
    "a leaf": lambda torch: marked(numbers(torch).requires_grad_(), tag=1),
    "a view": lambda torch: marked(numbers(torch).t(), tag="v"),
    "a parameter": lambda torch: marked(torch.nn.Parameter(numbers(torch)), tag="p", is_shared=True),
    "a frozen one": lambda torch: marked(torch.nn.Parameter(numbers(torch), requires_grad=False), tag="p"),
    "with grad": lambda torch: marked(torch.nn.Parameter(numbers(torch)), tag="p", grad=torch.ones(2, 3)),
    "a buffer": lambda torch: torch.nn.Buffer(numbers(torch), persistent=False),
    "a tensor's tensor": lambda torch: marked(numbers(torch), scale=torch.ones(2), kind=torch.float64),
    "16 bits": lambda torch: marked(numbers(torch).bfloat16(), tag=1),
    "integers": lambda torch: marked(torch.arange(3), tag=1),
    "conjugate": lambda torch: marked(numbers(torch).to(torch.complex64).conj(), tag=1),
}


def attributes(each):
    names = ("tag", "more", "none", "is_shared", "scale", "kind", "persistent", "_is_buffer", "made", "got")
    return {name: str(getattr(each, name)) for name in names if name in vars(each)}


def shown(each):
    return type(each).__name__, attributes(each), each.detach().resolve_conj(), each.requires_grad, each.grad


@pytest.mark.parametrize("kind", KINDS)
def test_ways(kind):
    def program(torch):
        return [shown(way(torch, KINDS[kind](torch))) for way in WAYS.values()]

    agree(program)


def classes(torch):
    """Subclasses of the tensors of one of the two, which pickles find in this module."""

    class Plain(torch.Tensor):
        pass

    class Slots(torch.Tensor):
        __slots__ = ("first", "second")

    class Getting(torch.Tensor):
        def __getstate__(self):
            return {"made": self.tag}

    class Setting(torch.Tensor):
        def __setstate__(self, state):
            self.got = state

    class Special(torch.nn.Parameter):
        pass

    for each in (Plain, Slots, Getting, Setting, Special):
        each.__qualname__ = each.__name__
        setattr(sys.modules[__name__], each.__name__, each)
    return Plain, Slots, Getting, Setting, Special


def subclasses(torch):
    found = []
    for kind in classes(torch):
        made = numbers(torch)
        made = kind(made) if issubclass(kind, torch.nn.Parameter) else made.as_subclass(kind)
        made = marked(made, tag=3)
        if kind.__name__ == "Slots":
            made.first = [2]
        for name, way in WAYS.items():
            if name in ("deepcopy", "weights only", "twice in a list"):
                continue
            each = way(torch, made)
            seen = type(each).__name__, attributes(each), each.detach().as_subclass(torch.Tensor)
            found.append((seen, getattr(each, "first", None), hasattr(each, "second")))
    return found


def a_subclass_by_weights_only(torch):
    """It has to be allowed."""
    plain, *_ = classes(torch)
    file = io.BytesIO()
    torch.save(marked(numbers(torch).as_subclass(plain), tag=3), file)
    try:
        torch.load(io.BytesIO(file.getvalue()), weights_only=True)
        refused = False
    except pickle.UnpicklingError:
        refused = True
    with torch.serialization.safe_globals([plain]):
        each = torch.load(io.BytesIO(file.getvalue()), weights_only=True)
    return refused, type(each).__name__, each.tag


def memory_and_attributes_are_shared(torch):
    x = marked(numbers(torch), tag=[1])
    y = copy.copy(x)
    y[0, 0] = 9
    y.tag.append(2)
    y.new = 1
    p = marked(torch.nn.Parameter(numbers(torch)), tag=[1])
    q = copy.copy(p)
    q.data[0, 0] = 9
    deep = copy.deepcopy(x)
    deep.tag.append(3)
    kept = of_file(torch, {"x": x, "rows": x.view(6)}, True)
    kept["rows"][1] = 7
    return (
        x,
        x.tag,
        hasattr(x, "new"),
        p,
        p.tag is q.tag,
        deep.tag,
        kept["x"],
        kept["x"].tag,
        hasattr(kept["rows"], "tag"),
    )


def modules(torch):
    layer = torch.nn.Linear(2, 2)
    layer.weight.tag = "w"
    ways = [pickle.loads(pickle.dumps(layer)), of_file(torch, layer, False), copy.copy(layer), copy.deepcopy(layer)]
    states = [of_file(torch, layer.state_dict(keep_vars=keep), True) for keep in (False, True)]
    return [attributes(each.weight) for each in ways], [attributes(each["weight"]) for each in states]


test_agrees_with_torch = agreement_of(programs_of(globals(), numbers, classes))


def test_what_cannot_be_pickled_writes_nothing(tmp_path):
    x = marked(numbers(jaxvjp), tag=lambda: 1)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        jaxvjp.save(x, tmp_path / "file.pt")
    assert not list(tmp_path.iterdir())
    assert copy.copy(x).tag is x.tag


def test_a_file_sets_nothing_that_a_tensor_keeps_for_itself():
    """torch sets whatever a file says."""
    file = io.BytesIO()
    jaxvjp.save(marked(jaxvjp.nn.Parameter(numbers(jaxvjp)), tagged=1), file, _use_new_zipfile_serialization=False)
    altered = file.getvalue().replace(b"\x06\x00\x00\x00tagged", b"\x09\x00\x00\x00__shown__")
    assert altered != file.getvalue()
    with pytest.raises(pickle.UnpicklingError, match="a tensor keeps __shown__ for itself"):
        jaxvjp.load(io.BytesIO(altered), weights_only=True)
    with pytest.raises(TypeError, match="a tensor keeps __shown__ for itself"):
        jaxvjp.load(io.BytesIO(altered), weights_only=False)


@needs_torch
@pytest.mark.parametrize("kind", ["a tensor", "a parameter", "a view", "a tensor's tensor", "a buffer"])
def test_files_of_each_other(kind):
    for writer, reader in ((jaxvjp, live), (live, jaxvjp)):
        file = io.BytesIO()
        writer.save(KINDS[kind](writer), file)
        for weights_only in (True, False):
            read = reader.load(io.BytesIO(file.getvalue()), weights_only=weights_only)
            assert attributes(read) == attributes(KINDS[kind](reader))
            assert read.tolist() == KINDS[kind](reader).tolist()
