"""What is only fast: a table of it, and the one switch. Without it the ordinary way runs, with the same results.

`JAXVJP_WITHOUT="remembered calls, warm path"` in the environment switches some of it off, `JAXVJP_WITHOUT=all` all of
it: to find out whether a fault is in one of them and, with `python tools/gains.py`, what each of them gains. Who has
such a thing asks `is_on` once, when it is imported or made: no call asks again.
"""

from __future__ import annotations

from jaxvjp.types.environment import from_environment

ACCELERATORS = {
    "remembered calls": "A call like an earlier one makes its node without binding, promotion and shape inference.",
    "remembered walks": "What a backward pass ran or recorded is kept, and repeated for a graph of that structure.",
    "plans": "Which programs compute the values of a graph is kept for a graph of the same structure.",
    "short pieces": "A long graph that was never seen runs in pieces that graphs of other lengths have as well.",
    "numpy first": "On a CPU a program runs in NumPy until compiling it pays; without it as `JAXVJP_XLA=always`.",
    "choosing": "A program that is called often is compiled in several ways, and the fastest is taken.",
    "warm path": "Python source is written for a staged step that is called often; only so is large state donated.",
}
"""A sentence about each, by its name."""


def named(written: str) -> frozenset[str]:
    """The accelerators in such a list. ValueError for another word."""
    names = frozenset([each.strip() for each in written.split(",") if each.strip()])
    if names == {"all"}:
        return frozenset(ACCELERATORS)
    if not names <= ACCELERATORS.keys():
        raise ValueError(f"all expected, or some of: {', '.join(ACCELERATORS)}")
    return names


WITHOUT = from_environment("JAXVJP_WITHOUT", frozenset[str](), named)
"""The names of those that are off."""


def is_on(name: str) -> bool:
    """Whether the accelerator of that name is on, as it is unless the environment says otherwise."""
    assert name in ACCELERATORS
    return name not in WITHOUT
