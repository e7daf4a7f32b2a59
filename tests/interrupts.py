"""Interrupts a program, as Ctrl-C would, at one place after the other: `interrupted`."""

from __future__ import annotations

import dis
import gc
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax

import jaxvjp
from jaxvjp.core.record.modes import thread_modes

OURS = str(Path(jaxvjp.__file__).parent)
CHECKS = frozenset(
    [
        dis.opmap[each]
        for each in ("RESUME", "JUMP_BACKWARD", "CALL", "CALL_FUNCTION_EX", "CALL_KW")
        if each in dis.opmap
    ]
)
"""The instructions after which CPython looks whether a signal came: a function's begin, the next round, and calls."""


class Places:
    """A trace function that counts the places in our code where Python handles signals, and interrupts at one of
    them."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.count = 0

    def __call__(self, frame: Any, event: str, _: Any) -> Any:
        file = frame.f_code.co_filename
        if not (file.startswith(OURS) or file == "<string>"):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        code, before = frame.f_code.co_code, -1

        def inside(frame: Any, event: str, _: Any) -> Any:
            nonlocal before
            if event == "opcode":
                if before >= 0 and code[before] in CHECKS:
                    self.count += 1
                    if self.count == self.at:
                        signal.raise_signal(signal.SIGINT)
                before = frame.f_lasti
            return inside

        return inside


def places(run: Callable[[], Any], at: int = 0) -> int:
    """Runs `run` with a KeyboardInterrupt at place `at`; how many places there were."""
    trace, outer = Places(at), sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    except KeyboardInterrupt:
        assert at, "nobody interrupted it"
    finally:
        sys.settrace(outer)
    return trace.count


def interrupted(make: Callable[[], Callable[[], Any]], most: int) -> Iterator[Callable[[], Any]]:
    """Makes a step and interrupts it, at up to `most` places that are spread evenly over it. Gives each step after its
    interrupt; asserts that the modes of the thread are those of before."""
    total = places(make())
    for at in range(1, total + 1, max(1, -(-total // most))):
        step = make()
        before = modes()
        places(step, at)
        assert modes() == before, f"at place {at} of {total}"
        yield step


def modes() -> Any:
    """All that a step switches on or off while it runs."""
    now = thread_modes()
    attributes = (
        *("enabled", "inference", "mutation", "saving", "refusing", "autocast"),
        *("depth", "forward", "batches", "guards", "variables", "cuts", "pure", "level"),
    )
    own = [
        getattr(mode, name) for mode in (now.grad_mode, now.transforming) for name in attributes if hasattr(mode, name)
    ]
    own = [list(each) if isinstance(each, list) else each for each in own]
    others = [now.staging.journal, now.walk, gc.isenabled(), sys.getprofile(), jax.config.jax_enable_x64]
    return own, others, jaxvjp.get_default_dtype()
