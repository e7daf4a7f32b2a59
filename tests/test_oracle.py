"""Tests of the oracle itself: it must fail if the modules differ, or if a recorded outcome is wrong."""

from __future__ import annotations

import json
from types import SimpleNamespace

import oracle
import pytest
import recording
from oracle import Outcome, agree, agreement_of, live, needs_torch, raises
from recording import COMMAND, VERSION, RecordError, Session, decoded, encoded, entries, file_of

import jaxvjp
from tools.fuzz.outcomes import plain, same


@pytest.mark.parametrize(
    ("a", "b"),
    [(1.0, 1.1), (1, 1.0), ([1], [1, 2]), ({"a": 1}, {"b": 1}), (True, 1), ("x", "y"), (float("nan"), 1.0), (0j, 1j)],
)
def test_different_values_are_not_the_same(a, b):
    assert not same(a, b)


def test_equal_values_are_the_same():
    assert same(
        [1.0, float("nan"), float("inf"), "x", {"a": 1j}], [1.0 + 1e-9, float("nan"), float("inf"), "x", {"a": 1j}]
    )


def test_a_tensor_is_compared_by_shape_dtype_and_gradient():
    x = jaxvjp.tensor([1.0])
    assert plain(x) != plain(jaxvjp.tensor([[1.0]]))
    assert plain(x) != plain(jaxvjp.tensor([1.0], dtype=jaxvjp.float64))
    assert plain(x) != plain(jaxvjp.tensor([1.0], requires_grad=True))


def test_an_outcome_is_a_value_or_an_error():
    assert Outcome(lambda module: module.x, SimpleNamespace(x=3)).value == 3
    assert Outcome(lambda module: module.y, SimpleNamespace()).raised == (
        "AttributeError",
        "'types.SimpleNamespace' object has no attribute 'y'",
    )


def an_error(torch):
    return torch.tensor([1.0, 2.0]).view(3)


def a_slip(torch):
    return torch.tensor([1.0, 2.0]).veiw(2)


def test_an_error_that_is_meant_is_declared(monkeypatch):
    monkeypatch.setattr(oracle, "theirs", lambda program, *_: Outcome(program, jaxvjp))
    assert agree(an_error).raised[0] == "RuntimeError"
    assert agree(an_error, raises=RuntimeError).raised[0] == "RuntimeError"
    agree(a_slip, raises=AttributeError)
    for program, declared in ((an_error, ValueError), (a_slip, None), (lambda torch: 1, RuntimeError)):
        with pytest.raises(AssertionError, match="declare"):
            agree(program, raises=declared)
    both = agreement_of([an_error])
    both(raises(RuntimeError)(an_error))
    del an_error.raises
    with pytest.raises(AssertionError, match="declare it"):
        both(an_error)


@needs_torch
def test_it_is_live_torch_that_is_asked():
    assert oracle.live.Tensor.backward.__module__ == "torch._tensor"
    with pytest.raises(AssertionError):
        agree(lambda torch: 1 if torch is live else 2, recorded=False)


# What is recorded. Here `THERE` plays torch, as torch may not be installed.

THERE = SimpleNamespace(
    Tensor=jaxvjp.Tensor, tensor=jaxvjp.tensor, __version__=VERSION, version=SimpleNamespace(cuda=None)
)
TEST = "tests/some/test_one.py::test_one[a/b::c é]"


@pytest.fixture
def session(monkeypatch, tmp_path):
    """That of a run of `TEST` with torch, before anything is recorded."""
    entries.cache_clear()
    monkeypatch.setattr(recording, "FOLDER", tmp_path / "tests" / "recorded")
    monkeypatch.setattr(oracle, "session", Session())
    monkeypatch.setattr(oracle, "live", THERE)
    oracle.session.begin(TEST)
    yield oracle.session
    entries.cache_clear()


def record(session, *programs):
    """What `pytest --record` does, of a test that runs the programs."""
    session.recording = True
    session.begin(TEST)
    for each in programs:
        oracle.theirs(each)
    session.gather(TEST, json.loads(json.dumps(session.new)))
    session.finish()
    session.recording = False
    session.begin(TEST)


@pytest.fixture(params=["torch", "no torch"])
def known(request, monkeypatch, session):
    """`agree`, once what the programs give is recorded, with torch or without."""

    def agreement(program):
        record(session, program)
        monkeypatch.setattr(oracle, "live", THERE if request.param == "torch" else None)
        return agree(program)

    return agreement


def test_a_difference_is_found(known):
    with pytest.raises(AssertionError, match=r"1\.0(?s:.*)2\.0"):
        known(lambda torch: torch.tensor(1.0 if torch is THERE else 2.0))


def test_no_difference_is_found(known):
    assert known(lambda torch: torch.tensor([1.0, 0.1])).error is None


@pytest.mark.parametrize(
    ("kind", "sentence"), [(RuntimeError, "two. "), (ValueError, "one"), (json.JSONDecodeError, "")]
)
def test_another_error_is_found(known, kind, sentence):
    def raises(torch):
        if torch is THERE or kind is RuntimeError:
            raise RuntimeError("one" if torch is THERE else sentence)
        raise kind(*("one", "", 0)[: 3 if kind is json.JSONDecodeError else 1])

    with pytest.raises(AssertionError, match="RuntimeError: one"):
        known(raises)


def test_the_same_error_is_none(known):
    def raises(torch):
        raise ZeroDivisionError("what torch says." + "\nand advice" * (torch is jaxvjp))

    assert type(known(raises).error) is ZeroDivisionError


@pytest.mark.parametrize("raises_under_torch", [True, False])
def test_an_error_under_one_alone_is_found(known, raises_under_torch):
    def program(torch):
        if (torch is THERE) is raises_under_torch:
            raise ValueError("only here")

    with pytest.raises(AssertionError if raises_under_torch else ValueError):
        known(program)


@pytest.mark.parametrize("installed", [THERE, None])
def test_what_is_not_recorded_fails_and_says_how_to_record(session, monkeypatch, installed):
    monkeypatch.setattr(oracle, "live", installed)
    with pytest.raises(RecordError, match="nothing is recorded") as caught:
        agree(lambda torch: 1)
    assert COMMAND in str(caught.value)
    assert TEST in str(caught.value)


def test_a_wrong_record_fails(session, monkeypatch):
    record(session, lambda torch: torch.tensor(1.0))
    with pytest.raises(RecordError, match="not what live torch gives"):
        agree(lambda torch: torch.tensor(2.0))
    session.begin(TEST)
    monkeypatch.setattr(oracle, "live", None)
    with pytest.raises(AssertionError):
        agree(lambda torch: torch.tensor(2.0))


def test_another_torch_is_not_compared_with_the_record(session, monkeypatch):
    record(session, lambda torch: 1)
    monkeypatch.setattr(THERE, "__version__", "1.0")
    assert agree(lambda torch: 2).error is None


def test_each_program_of_a_test_has_its_own_outcome(session, monkeypatch):
    programs = [lambda torch: 1, lambda torch: None, lambda torch: ()]
    record(session, *programs)
    monkeypatch.setattr(oracle, "live", None)
    for each in programs:
        agree(each)
    session.end()
    with pytest.raises(RecordError, match="program 4"):
        agree(programs[0])
    session.begin(TEST)
    agree(programs[0])
    with pytest.raises(RecordError, match="has 3 programs"):
        session.end()


def test_to_record_again_keeps_what_is_the_same_to_a_few_digits(session):
    record(session, lambda torch: torch.tensor(1.0), lambda torch: 1)
    before = file_of(TEST.partition("::")[0]).read_text(encoding="utf-8")
    record(session, lambda torch: torch.tensor(1.0 + 1e-7), lambda torch: 1)
    assert file_of(TEST.partition("::")[0]).read_text(encoding="utf-8") == before
    record(session, lambda torch: torch.tensor(1.0 + 1e-7), lambda torch: 2)
    assert file_of(TEST.partition("::")[0]).read_text(encoding="utf-8") == before.replace("\n1]", "\n2]") != before
    record(session)
    assert not file_of(TEST.partition("::")[0]).exists()


def test_a_recorded_test_that_is_gone_is_named(session):
    record(session, lambda torch: 1)
    assert list(session.gone()) == [TEST]  # there is no such file
    session.collected = {TEST}
    assert list(session.gone()) == []
    session.collected = {"tests/some/test_one.py::test_two"}
    assert list(session.gone()) == [TEST]


NUMBERS = {
    "bool": [True, False],
    "complex": [0.1 - 0.5j, complex("nan-infj")],
    "float": [0.1, 1 / 3, -0.0, float("nan"), float("inf"), 1e-7, 3.0, 0.7],
    "int": [1, 100],
}


@pytest.mark.parametrize("dtype", [each.name for each in jaxvjp.types.dtypes.ALL])
@pytest.mark.parametrize("shape", [(), (1, 2), (0,), (3, 0, 2), (5, 6)])
def test_tensors_are_recorded_to_the_last_digit(dtype, shape):
    numbers = NUMBERS[next((each for each in NUMBERS if dtype.startswith(each)), "int")]
    count = int(jaxvjp.zeros(shape).numel())
    x = jaxvjp.tensor((numbers * count)[:count], dtype=getattr(jaxvjp, dtype)).reshape(shape)
    value = plain(x.requires_grad_() if x.dtype.is_floating_point else x)
    back = decoded(json.loads(json.dumps(encoded(value))))
    assert repr(back) == repr(value)


VALUES = [None, True, 3, 2**70, 0.1, -0.0, float("-inf"), 1j, -0.0j, "text é", ["tensor"], [], [1, [2.0, "x"]]]
VALUES += [[0.1] * 40, [1] * 40, {}, {"a": {1: 2.5}, 1j: None}, {("a", 1): 2}, {"raises": 1}, {"complex": 1}]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_are_recorded_as_they_are(value):
    assert repr(decoded(json.loads(json.dumps(encoded(plain(value)))))) == repr(plain(value))


@pytest.mark.parametrize("value", [object(), int, (object(),)])
def test_what_cannot_be_recorded_is_refused(value):
    with pytest.raises(TypeError, match="cannot be recorded"):
        encoded(value)


def test_nothing_is_recorded_of_tests_that_are_gone(request):
    if any("::" in each for each in request.config.args):
        pytest.skip("modules are not collected whole")
    gone = [*recording.session.gone()]
    if recording.session.recording:
        request.node.user_properties.extend(("gone", each) for each in gone)
    else:
        assert not gone, f"to record anew: {COMMAND}"
