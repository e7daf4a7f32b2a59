"""What the garbage collector of Python need not visit: parts of a graph that are in no cycle.

A graph of 10,000 adds had 50,000 objects to visit; with 20,000 its steps take half the time. Python itself has no such
calls: only the compiled form spares the collector anything.
"""

from __future__ import annotations

from typing import Any
from weakref import ref

from jaxvjp.types.compiled import CYTHONIZED


def leave_uncollected(part: Any) -> None:
    """Spares the collector a part of a graph that is in no cycle: a number, a line, a weak reference."""
    if CYTHONIZED:
        PyObject_GC_UnTrack(part)  # type: ignore[name-defined]  # noqa: F821 - see collector.pxd


def let_collector_visit(node: Any, inputs: tuple[Any, ...]) -> None:
    """Has the collector visit a node that it was spared (`record.leave_recorded_uncollected`), and its inputs."""
    if CYTHONIZED:
        for each in (node, inputs):
            if each != () and not PyObject_GC_IsTracked(each):  # type: ignore[name-defined]  # noqa: F821
                PyObject_GC_Track(each)  # type: ignore[name-defined]  # noqa: F821


def uncollected_ref(target: Any) -> ref[Any]:
    """`ref(target)`, spared as `leave_uncollected` says."""
    if not CYTHONIZED:
        return ref(target)
    made: ref[Any] = PyWeakref_NewRef(target, None)  # type: ignore[name-defined]  # noqa: F821 - see collector.pxd
    leave_uncollected(made)
    return made
