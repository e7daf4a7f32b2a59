"""Names without tensors, alerts and limits: what torch says where something is not to be had."""

from __future__ import annotations

import copy
import pickle
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


def _refused(*calls):
    """The class and sentence of what each call raises; the name of its dtype where it raises nothing."""
    found = []
    for call in calls:
        try:
            found.append(str(call().dtype))
        except (RuntimeError, NotImplementedError) as error:
            found.append((type(error).__name__, str(error).partition("\n")[0]))
    return found


def randint_outside_of_a_type(torch):
    like = torch.zeros(2, dtype=torch.uint8)
    kinds = ((3, torch.bool), (2, torch.bool), (300, torch.uint8), (6, torch.complex64), (4096, torch.half))
    return _refused(
        *[lambda high=high, kind=kind: torch.randint(high, (2,), dtype=kind) for high, kind in kinds],
        lambda: torch.randint(-300, 2, (2,), dtype=torch.uint8),
        lambda: torch.randint_like(like, 2**25),
        lambda: torch.randint_like(like.to(torch.complex64), 6),
        lambda: like.to(torch.complex64).random_(6),
        lambda: like.to(torch.complex64).random_(),
        lambda: torch.randperm(3, dtype=torch.complex64),
        lambda: torch.randperm(3, dtype=torch.bool),
    )


@raises(RuntimeError)
def meshgrid_over_two_devices(torch):
    torch.meshgrid(torch.ones(2), torch.ones(2, device="meta"), indexing="ij")


@raises(RuntimeError)
def searchsorted_with_a_sorter_beyond_the_sequence(torch):
    torch.searchsorted(torch.arange(3.0), torch.ones(2), sorter=torch.tensor([0, 1, 3]))


def randperm_of_many(torch):
    found = []
    for n in (4095, 4096, 4097, 4098, 70_000):
        torch.manual_seed(n)
        order = torch.randperm(n)
        found += [order[:5], order[-5:], (order * torch.arange(n)).sum(), torch.randint(100, (2,))]
    return found


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


def named_tuples_are_of_their_types(torch):
    types, x = torch.return_types, torch.eye(3)
    found = [x.max(0), torch.topk(x, 1), torch.linalg.eigh(x), torch.func.vmap(lambda row: row.sort())(x)]
    kinds = [types.max, types.topk, types.linalg_eigh, types.sort]
    return [isinstance(each, kind) for each, kind in zip(found, kinds, strict=True)], "mode" in dir(types)


def a_named_tuple_is_made_of_a_sequence_copied_and_pickled(torch):
    found = torch.eye(2).max(0)
    made = [torch.return_types.max([*found]), copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))]
    return [repr(each) for each in made], [each.indices for each in made]


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


def test_arguments_that_exclude_each_other():
    x = jaxvjp.ones(3)
    with pytest.raises(TypeError, match=r"histogram\(\) received an invalid combination of arguments"):
        jaxvjp.histogram(x, x, range=(0, 1))
    for integral in (jaxvjp.trapezoid, jaxvjp.cumulative_trapezoid):
        with pytest.raises(TypeError, match="received an invalid combination of arguments"):
            integral(x, x, dx=2)


def test_numbers_alone_many_times():
    """From time to time a tensor is computed at once, as too many wait; its call is no less like the others."""
    kept = [jaxvjp.add(number % 7 + 0.5, 2) for number in range(3000)]
    assert [float(each) for each in kept] == [number % 7 + 2.5 for number in range(3000)]
