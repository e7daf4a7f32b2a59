"""Grad modes, inference mode and anomaly mode, under torch and under jaxvjp."""

from __future__ import annotations

import pytest
from oracle import agreement_of, programs_of, raises

import jaxvjp


def leaf(torch, *values):
    return torch.tensor(list(values), requires_grad=True)


def setting_and_unsetting(torch):
    x = leaf(torch, 1.0)
    seen = []
    torch.set_grad_enabled(False)
    seen.append((x * 2).requires_grad)
    torch.set_grad_enabled(True)
    seen.append((x * 2).requires_grad)
    with torch.set_grad_enabled(False):
        seen.append((x * 2).requires_grad)
        with torch.set_grad_enabled(True):
            seen.append((x * 2).requires_grad)
    seen.append(torch.is_grad_enabled())
    return seen


def as_decorators(torch):
    x = leaf(torch, 1.0)

    @torch.set_grad_enabled(False)
    def without(x):
        return x * 2

    @torch.enable_grad()
    def with_gradients(x):
        return x * 2

    @torch.no_grad()
    def recursive(n):
        return [torch.is_grad_enabled()] if n == 0 else [torch.is_grad_enabled(), *recursive(n - 1)]

    after_decorating = torch.is_grad_enabled()
    with torch.no_grad():
        inside = with_gradients(x)
    return after_decorating, without(x).requires_grad, inside.requires_grad, recursive(2), torch.is_grad_enabled()


def one_mode_object_nests(torch):
    mode = torch.no_grad()
    seen = []
    with mode:
        with torch.enable_grad(), mode:
            seen.append(torch.is_grad_enabled())
        seen.append(torch.is_grad_enabled())
    return seen, torch.is_grad_enabled()


def restored_after_an_exception(torch):
    try:
        with torch.no_grad():
            raise KeyError
    except KeyError:
        return torch.is_grad_enabled()


def inference(torch):
    x = leaf(torch, 1.0, 2.0)
    with torch.inference_mode():
        y = x * 2
        inside = torch.is_inference_mode_enabled(), y.is_inference(), y.requires_grad
        y.add_(1)
        with torch.inference_mode(False):
            z = x * 3
    normal = y.clone()
    (x * normal).sum().backward()
    added = (x + y).requires_grad
    return inside, y, z.requires_grad, z.is_inference(), x.grad, added


@raises(RuntimeError)
def inference_saved_for_backward(torch):
    x = leaf(torch, 1.0, 2.0)
    with torch.inference_mode():
        y = torch.ones(2)
    return x * y


@raises(RuntimeError)
def inference_changed_outside(torch):
    with torch.inference_mode():
        y = torch.ones(2)
    y.add_(1)


@raises(RuntimeError)
def inference_requiring_a_gradient(torch):
    with torch.inference_mode():
        y = torch.ones(2)
    y.requires_grad_()


@raises(RuntimeError)
def inference_has_no_version(torch):
    with torch.inference_mode():
        y = torch.ones(2)
    return y._version


@raises(RuntimeError)
def the_first_nan_is_named(torch):
    x = leaf(torch, 0.0, 4.0)
    with torch.autograd.detect_anomaly():
        y = (x.sqrt() * torch.tensor([0.0, 1.0])).sum()
        y.backward()


def nan_that_is_not_looked_for(torch):
    x = leaf(torch, 0.0, 4.0)
    with torch.autograd.detect_anomaly(check_nan=False):
        (x.sqrt() * torch.tensor([0.0, 1.0])).sum().backward()
    return x.grad


def no_nan_no_error(torch):
    x = leaf(torch, 1.0, 4.0)
    with torch.autograd.set_detect_anomaly(True):
        (x.sqrt() * x.log() + x[0]).sum().backward()
    return x.grad, torch.is_anomaly_enabled()


test_agrees_with_torch = agreement_of(programs_of(globals()))


def test_the_forward_line_of_the_first_nan():
    x = leaf(jaxvjp, 0.0)
    root = x.sqrt()
    y = (root * 0).sum()
    with jaxvjp.autograd.detect_anomaly(), pytest.raises(RuntimeError, match=r"(?s)Sqrt.*test_modes\.py.*root = x"):
        y.backward()
    assert x.grad is None
