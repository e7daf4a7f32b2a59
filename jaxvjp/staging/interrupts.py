"""Puts off Ctrl-C while a staged step has given its arrays to XLA and has not yet taken the new ones: `PutOff`."""

from __future__ import annotations

import signal
import threading
from typing import Any


class PutOff:
    """Handles Ctrl-C from when it is made to `end()`, which hands on what came.

    A step that donates a parameter's array has XLA write the new contents in its place. An interrupt between that and
    the moment when the parameter refers to the new array would leave it with a deleted one. Only the main thread has
    interrupts.
    """

    def __init__(self) -> None:
        self.came: Any = None
        self.before: Any = None
        if threading.current_thread() is threading.main_thread():
            self.before = signal.getsignal(signal.SIGINT)
            if callable(self.before):
                signal.signal(signal.SIGINT, self.note)

    def note(self, number: int, frame: Any) -> None:
        """Notes an interrupt."""
        self.came = number, frame

    def end(self) -> None:
        """Has Ctrl-C do what it did before; at once, if it came meanwhile."""
        if callable(self.before):
            signal.signal(signal.SIGINT, self.before)
            if self.came is not None:
                self.before(*self.came)
