"""Options and fixtures of all tests. A test states a program once; `oracle.agree` runs it under torch and jaxvjp."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Callable, Generator, Iterator
from itertools import count

# Compiles are counted, and neither which way is the fastest nor when compiling pays is always the same: tests run
# in NumPy, and in XLA those of the folders COMPILED and those marked `compiled`; with `pytest --xla` all of them. The
# processes that tests start run in NumPy also then: a whole script compiles for minutes what it runs once.
os.environ.setdefault("JAXVJP_CHOOSE", "0")
os.environ.setdefault("JAXVJP_XLA", "never")

import jax
import pytest
from oracle import live
from recording import COMMAND, VERSION, session

import jaxvjp
from jaxvjp.core.run.compilation import counters
from jaxvjp.core.run.tiers import Compiling
from jaxvjp.types.accelerators import ACCELERATORS, WITHOUT
from jaxvjp.types.devices import Elsewhere

# A quarter of the suite's time is XLA's costlier optimisations of what runs but once; so in processes that tests start.
jax.config.update("jax_disable_most_optimizations", True)
os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"

COMPILED = ("core", "staging")
"""Folders of tests of what is compiled, and when."""
ONCE = frozenset(
    [
        *("test_again", "test_bad_input", "test_folding", "test_functional_text", "test_how_a_port_reads"),
        *("test_kept_functions", "test_notebooks", "test_numbers", "test_objects", "test_page", "test_pages_at_widths"),
        *("test_pages_of_lessons", "test_plain_text", "test_ports_of_several_networks", "test_ports_of_state"),
        *("test_ports_of_what_names_hold", "test_question", "test_source", "test_stories"),
        *("test_what_a_page_says_of_grad", "test_what_moves_on_a_page", "test_command_line", "test_course"),
        *("test_every_example", "test_import_paths", "test_missing_libraries", "test_port"),
        *("test_plant_faults", "test_soak", "test_stubs", "test_bench", "test_bench_models", "test_checkpoints"),
        *("test_conformance", "test_functions_that_are_wrapped", "test_kept_programs", "test_names_of_libraries"),
        "test_whole_scripts",
        *("test_docstrings", "test_documents", "test_user_code"),
    ]
)
"""Modules of tests of texts, pages and processes, which torch and XLA do not change: they are marked `once`, but for
those that run torch."""
TESTS_BETWEEN_CLEARING = 100
"""Each test may compile dozens of programs, and a process can map but so many: then XLA crashes."""
_tests = count(1)


@pytest.fixture(autouse=True)
def _undisturbed() -> Iterator[None]:
    """No test leaves a grad mode, a default dtype or a seed behind, nor too many programs."""
    jaxvjp.manual_seed(0)
    yield
    if next(_tests) % TESTS_BETWEEN_CLEARING == 0:
        jax.clear_caches()
        gc.unfreeze()
        gc.collect()
        gc.freeze()  # a test that collects would look through all that thousands before it have left
    assert jaxvjp.is_grad_enabled()
    assert jaxvjp.get_default_dtype() is jaxvjp.float32


@pytest.fixture(autouse=True)
def _compiled(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of tests that are marked so, or that count compiles, are compiled at their first call."""
    marked = request.node.get_closest_marker("compiled") or "counted" in request.fixturenames
    if marked or request.path.parent.name in COMPILED:
        monkeypatch.setattr(Compiling, "when", "always")


@pytest.fixture
def counted() -> Callable[[], tuple[int, int]]:
    """How many compiles and dispatches a block took: call it again for those since the last call. A test that counts is
    skipped where an accelerator is off."""
    if WITHOUT:
        pytest.skip("counts compiles or dispatches, which are more without what is only fast")
    seen = [counters.compiles, counters.dispatches]

    def since() -> tuple[int, int]:
        now = [counters.compiles, counters.dispatches]
        difference = now[0] - seen[0], now[1] - seen[1]
        seen[:] = now
        return difference

    return since


@pytest.fixture
def one_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process in which nothing was on another device yet, whatever earlier tests did."""
    monkeypatch.setattr(Elsewhere, "used", False)


# What live torch gives is recorded (`recording.py`): by workers, whose reports carry it to who writes it.


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--xla", action="store_true", help="have XLA compile every program at its first call")
    parser.addoption("--record", action="store_true", help="write down anew what live torch gives (tests/recorded)")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("xla"):
        Compiling.when = "always"
    session.recording = config.getoption("record")
    if session.recording and (live is None or live.__version__.partition("+")[0] != VERSION or live.version.cuda):
        raise pytest.UsageError(
            f"{COMMAND}, of the CPU build: here is {'no torch' if live is None else live.__version__}"
        )


def pytest_report_header() -> list[str]:
    return [torch_header(), *([f"without: {', '.join(sorted(WITHOUT))}"] if WITHOUT else [])]


def torch_header() -> str:
    if live is None:
        return f"torch: not installed; what torch {VERSION} gave is recorded"
    compared = "compared" if live.__version__.partition("+")[0] == VERSION else "NOT compared"
    return f"torch: {live.__version__}; what is recorded of {VERSION} is {compared} with it"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    session.collected = {each.nodeid for each in items}
    for each in items:
        mark = each.get_closest_marker("accelerated")
        if mark and not WITHOUT.isdisjoint(mark.args or ACCELERATORS):
            each.add_marker(pytest.mark.skip("tests how something is made fast that is off"))
        if each.path.stem in ONCE and not each.get_closest_marker("skipif"):
            each.add_marker("once")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    session.begin(item.nodeid)
    try:
        yield
        session.end()
    except BaseException:
        session.new += session.known[len(session.new) :]  # what follows in a test that failed is known from before
        raise
    finally:
        if session.recording:
            item.user_properties.append(("torch", json.dumps(session.new)))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if session.recording and report.when == "call":
        for name, outcomes in report.user_properties:
            if name == "torch":
                session.gather(report.nodeid, json.loads(outcomes))
            elif name == "gone":
                session.gather(outcomes, [])


def pytest_sessionfinish() -> None:
    if session.recording and not os.environ.get("PYTEST_XDIST_WORKER"):
        session.finish()
