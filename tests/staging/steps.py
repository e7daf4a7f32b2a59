"""Parts of tests of staging: a step that is staged under jaxvjp only, a small network, and a large parameter."""

from __future__ import annotations

import jaxvjp


def staged(torch, step, **options):
    """The step as it is under torch, staged under jaxvjp."""
    return jaxvjp.jit(step, **options) if torch is jaxvjp else step


MANY = range(14)
"""Calls after which a step has been run as Python, as a program, and in its warm path."""


def network(torch):
    torch.manual_seed(0)
    x, y = torch.randn(8, 4), torch.randn(8, 2)
    w = torch.randn(4, 2).requires_grad_()
    return x, y, w


def large(elements=100_000):
    """A parameter worth donating, and a step that overwrites it, warm."""
    w = jaxvjp.zeros(elements, requires_grad=True)

    @jaxvjp.jit
    def step(target):
        ((w - target) ** 2).sum().backward()
        with jaxvjp.no_grad():
            w.sub_(0.1 * w.grad)
        w.grad = None

    for _ in MANY:
        step(jaxvjp.tensor(1.0))
    return w, step
