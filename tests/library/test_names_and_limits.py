"""Names without tensors, alerts and limits: what torch says where something is not to be had."""

from __future__ import annotations

import warnings

import pytest
from oracle import agreement_of, programs_of, raises

import jaxvjp


def names(torch):
    kinds = [torch.float8_e4m3fn, torch.float8_e5m2, torch.qint8, torch.quint8, torch.sparse_coo, torch.sparse_csr]
    return [repr(each) for each in kinds], torch.float8_e5m2.is_floating_point, torch.qint8.is_floating_point


def _deterministic(torch, program, warn_only):
    torch.use_deterministic_algorithms(True, warn_only=warn_only)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            program()
        return [str(each.message)[:200] for each in caught]
    finally:
        torch.use_deterministic_algorithms(False)


@raises(RuntimeError)
def put_is_nondeterministic(torch):
    _deterministic(torch, lambda: torch.zeros(4).put_(torch.tensor([0, 0]), torch.ones(2)), False)


@raises(RuntimeError)
def max_unpool_is_nondeterministic(torch):
    pooled, places = torch.nn.functional.max_pool1d(torch.arange(6.0).reshape(1, 1, 6), 2, return_indices=True)
    _deterministic(torch, lambda: torch.nn.functional.max_unpool1d(pooled, places, 2), False)


def accumulating_put_is_deterministic(torch):
    x = torch.zeros(4)
    return _deterministic(torch, lambda: x.put_(torch.tensor([0, 0]), torch.ones(2), accumulate=True), False), x


def put_warns(torch):
    return _deterministic(torch, lambda: torch.zeros(4).put_(torch.tensor([0, 0]), torch.ones(2)), True)


def degrees_of_freedom(torch):
    caught = []
    for name in ("var", "std", "var_mean", "std_mean"):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            getattr(torch, name)(torch.ones(3, 7), -1, correction=7)
        caught.append(str(seen[0].message)[:90])
    return caught


@raises(RuntimeError)
def randperm_of_halves(torch):
    torch.randperm(2**11 + 2, dtype=torch.half)


@raises(RuntimeError)
def randperm_of_bytes(torch):
    torch.randperm(257, dtype=torch.uint8)


def randperm_as_large_as_it_may_be(torch):
    torch.manual_seed(0)
    return torch.randperm(256, out=torch.empty(0, dtype=torch.uint8)), torch.randperm(2**11 + 1, dtype=torch.half).sum()


@raises(RuntimeError)
def arange_of_too_many(torch):
    torch.arange(-1e300, 1e300, 1e-5, dtype=torch.float64)


def _convolved(torch, input, weight, bias=None):
    torch.nn.functional.conv1d(torch.ones(1, 1, 6, dtype=input), torch.ones(1, 1, 3, dtype=weight), bias)


@raises(RuntimeError)
def convolution_of_two_types(torch):
    _convolved(torch, torch.float64, torch.int64)


@raises(RuntimeError)
def convolution_with_another_bias(torch):
    _convolved(torch, torch.float64, torch.float32, torch.ones(1))


@raises(RuntimeError)
def transposed_convolution_of_two_types(torch):
    torch.nn.functional.conv_transpose1d(torch.ones(1, 1, 6), torch.ones(1, 1, 3).double(), torch.ones(1).double())


test_agrees_with_torch = agreement_of(programs_of(globals()))


def test_no_tensor_has_them():
    torch = jaxvjp
    for kind in (torch.float8_e4m3fn, torch.qint8):
        with pytest.raises(NotImplementedError, match="only a name here"):
            torch.ones(2, dtype=kind)
        with pytest.raises(NotImplementedError, match="only a name here"):
            torch.ones(2).to(kind)
    with pytest.raises(NotImplementedError, match="only a name here"):
        torch.zeros(2, layout=torch.sparse_coo)
