"""What the tests of custom Functions start from: a Function of given methods, and a leaf."""

from __future__ import annotations

from importlib import import_module


def custom(torch, forward, backward=None, **more):
    """A Function called F, of methods and attributes."""
    methods = {"forward": forward, **({"backward": backward} if backward else {}), **more}
    return type("F", (torch.autograd.Function,), {k: staticmethod(v) if callable(v) else v for k, v in methods.items()})


def leaf(torch, *values):
    return torch.tensor(list(values) or [1.0, 2.0], requires_grad=True)


def module(torch, name):
    """A submodule of torch, or jaxvjp's of that name."""
    return import_module(f"{torch.__name__}.{name}")
