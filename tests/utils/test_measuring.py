"""`utils.benchmark`, `profiler`, `utils.hooks`, `random` and the old assertion: what scripts use around their steps."""

from __future__ import annotations

import json

import numpy as np
import pytest
from oracle import agreement_of, programs_of, raises

import jaxvjp
from jaxvjp.utils.benchmark import Timer


def what_a_schedule_says(torch):
    said = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    return [said(step).name for step in range(12)]


def what_a_schedule_says_that_waits_later(torch):
    said = torch.profiler.schedule(wait=2, warmup=1, active=1, repeat=2, skip_first=1, skip_first_wait=1)
    return [said(step).name for step in range(12)]


def a_fork_of_the_generator(torch):
    torch.random.manual_seed(3)
    with torch.random.fork_rng(device_type="cuda"):
        within = torch.rand(2)
    state = torch.random.get_rng_state()
    outside = torch.rand(2)
    torch.random.set_rng_state(state)
    return within, outside, torch.rand(2), torch.random.initial_seed()


@raises(AssertionError)
def far_apart(torch):
    torch.testing.assert_allclose(torch.ones(2), torch.zeros(2), msg="they differ")


def near(torch):
    torch.testing.assert_allclose(torch.ones(2), torch.ones(2, dtype=torch.float64))


@raises(AssertionError)
def other_dtypes(torch):
    torch.testing.assert_close(torch.ones(2), torch.ones(2, dtype=torch.float64))


@raises(AssertionError)
def other_strides(torch):
    torch.testing.assert_close(torch.ones(2, 3).t(), torch.ones(3, 2), check_stride=True)


@raises(AssertionError)
def other_shapes(torch):
    torch.testing.assert_close(torch.ones(2), torch.ones(3))


@raises(AssertionError)
def own_words(torch):
    torch.testing.assert_close(torch.ones(2), torch.zeros(2), msg=lambda said: f"mine, {len(said) > 10}")


def words_of(torch, *pairs, **options):
    told = []
    for actual, expected in pairs:
        try:
            torch.testing.assert_close(actual, expected, **options)
        except (AssertionError, TypeError) as error:
            told.append(str(error))
        else:
            told.append("close")
    return told


def what_differs(torch):
    t, x = torch.tensor, torch.arange(6.0).reshape(2, 3)
    return words_of(
        torch,
        (x, x + t([0.0, 0.5, 0.25])),
        (x, x.double()),
        (t(1.0), t(2.0)),
        (t([1, 2]), t([1, 4])),
        (t([True, False]), t([False, False])),
        (t([1 + 1j]), t([1 + 2j])),
        (t([float("nan"), float("inf")]), t([float("nan"), float("inf")])),
        (t([float("nan"), 1.0]), t([1.0, 1.0])),
        (1, 2),
        (1.0, 1.0 + 1e-9),
        (True, False),
        (None, None),
        (None, 1),
        ([x, x], [x, x + 1]),
        ([x], [x, x]),
        ({"a": 1.0, "b": [2.0]}, {"b": [2.5], "a": 1.0}),
        ({"a": 1, "c": 2}, {"a": 1, "b": 2}),
    )


def what_cannot_be_compared(torch):
    x, nn = torch.ones(2), torch.nn
    others = words_of(torch, (nn.Parameter(x), nn.Parameter(x)), (x, x), allow_subclasses=False)
    told = words_of(torch, (nn.Parameter(x), x), allow_subclasses=False)
    return (
        others,
        told[0].partition(" of type")[0],
        words_of(
            torch, (nn.Parameter(x), x), (1, 1.0), (np.float64(1), 1.0), (np.bool(True), False), ([1, "a"], [1, "a"])
        ),
        words_of(torch, (1, 1.0), (1 + 0j, 1), check_dtype=False),
        words_of(torch, ("a", "a"), (b"a", b"a"), (object, object)),
    )


def what_differs_by_more_than_is_allowed(torch):
    x, nan = torch.tensor([1.0, 2.0]), torch.tensor([float("nan")])
    exact = words_of(torch, (x, x + 0.5), (x, x), (nan, nan), rtol=0, atol=0)
    far = words_of(torch, (x, x + 0.5), (x, x + 0.1), rtol=0.1, atol=0.01)
    return exact, far, words_of(torch, (nan, nan), equal_nan=False)


@raises(ValueError)
def one_tolerance(torch):
    torch.testing.assert_close(torch.ones(2), torch.ones(2), rtol=1)


def what_is_not_asked(torch):
    torch.testing.assert_close(torch.ones(2), torch.ones(2, dtype=torch.float64), check_dtype=False)
    nan = torch.tensor([float("nan")])
    torch.testing.assert_close(nan, nan, equal_nan=True)
    try:
        torch.testing.assert_close(nan, nan, equal_nan=False)
    except AssertionError:
        return "a NaN"


def only_inputs_is_accepted(torch):
    x = torch.ones(2, requires_grad=True)
    return torch.autograd.grad((x * x).sum(), x, only_inputs=True)


def a_handle(torch):
    x = torch.ones(2, requires_grad=True)
    return isinstance(x.register_hook(lambda gradient: gradient), torch.utils.hooks.RemovableHandle)


test_agrees_with_torch = agreement_of(programs_of(globals()))


def test_a_timer_measures_what_is_computed():
    x, reads = jaxvjp.ones(3), []
    taken = Timer(lambda: reads.append(1), label="mine").timeit(10)
    assert len(reads) == 12
    assert taken.number_per_run == 10
    assert taken.mean > 0
    assert "mine" in repr(taken)
    for statement in ("y = x + 1", "x + 1"):
        measured = Timer(statement, "z = x", globals={"x": x}).blocked_autorange(min_run_time=0.01)
        assert measured.median > 0
        assert sum(measured.raw_times) >= 0.01
        assert measured.iqr >= 0
    settled = Timer("x + 1", globals={"x": x}).adaptive_autorange(0.5, min_run_time=0.001, max_run_time=1.0)
    assert sum(settled.raw_times) >= 1.0 or (len(settled.raw_times) >= 4 and settled.iqr < 0.5 * settled.median)
    assert sum(Timer("x + 1", globals={"x": x}).adaptive_autorange(0.0, max_run_time=0.05).raw_times) >= 0.05
    with pytest.raises(ValueError, match="no Timer for c"):
        Timer("int x;", language="c++")


@pytest.mark.parametrize("room", ["profiler", "autograd"])
def test_a_profile_writes_a_trace_of_the_steps_that_are_asked_for(room, tmp_path):
    profiler = jaxvjp.profiler if room == "profiler" else jaxvjp.autograd.profiler
    ready = []
    handler = profiler.tensorboard_trace_handler(str(tmp_path))
    only = profiler.schedule(wait=1, warmup=0, active=1, repeat=1)
    with profiler.profile(
        activities=[profiler.ProfilerActivity.CPU], schedule=only, on_trace_ready=handler
    ) as recorded:
        recorded.on_trace_ready = ready.append
        for step in range(3):
            assert recorded._recording == (step == 1)
            with profiler.record_function("product"):
                (jaxvjp.ones(3) @ jaxvjp.ones(3)).item()
            recorded.step()
    assert ready == [recorded]
    assert list(tmp_path.rglob("*.xplane.pb"))
    with profiler.profile(enabled=False) as nothing, profiler.profile(False, use_cpu=True) as neither:
        assert (nothing._recording, neither._recording) == (False, False)
    with pytest.raises(AssertionError, match="Profiler didn't finish running"):
        nothing.key_averages()


def test_a_profile_has_a_table_of_times_by_name_and_goes_to_a_browser(tmp_path):
    with jaxvjp.profiler.profile() as recorded:
        for _ in range(3):
            with jaxvjp.profiler.record_function("outer"):
                for _ in range(2):
                    with jaxvjp.profiler.record_function("inner"):
                        (jaxvjp.ones(3) @ jaxvjp.ones(3)).item()
    rows = {row.key: row for row in recorded.key_averages()}
    outer, inner = rows["outer"], rows["inner"]
    assert (outer.count, inner.count) == (3, 6)
    assert 0 < outer.self_cpu_time_total <= outer.cpu_time_total - inner.cpu_time_total + 1e-3
    assert inner.cpu_time * 6 == pytest.approx(inner.cpu_time_total)
    assert outer.device_time_total == 0
    averages = recorded.key_averages(group_by_input_shape=True, group_by_stack_n=3)
    lines = averages.table(sort_by="cpu_time_total", row_limit=1, max_src_column_width=9).splitlines()
    assert recorded.table(header="of steps").splitlines()[:2] == ["of steps", recorded.table().splitlines()[0]]
    assert recorded.self_cpu_time_total == sum(row.self_cpu_time_total for row in rows.values())
    assert lines[0].split("  ")[0] == "Name"
    assert len(lines) == 2
    assert len({len(line) for line in lines}) == 1
    assert "outer" in recorded.key_averages().table(sort_by="cuda_time_total", row_limit=-1)
    recorded.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    assert sum(each.get("name") == "inner" for each in events) == 6
