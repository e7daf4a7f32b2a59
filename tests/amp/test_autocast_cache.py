"""torch's cache of weights that `autocast` has cast: here each call casts, so nothing is stale."""

from __future__ import annotations

import threading

import pytest
from oracle import agree, agreement_of, programs_of

import jaxvjp


def what_is_said(torch):
    found = [torch.is_autocast_cache_enabled()]

    def within(**options):
        with torch.autocast("cpu", **options):
            found.append(torch.is_autocast_cache_enabled())
            with torch.autocast("cpu", enabled=False, cache_enabled=not found[-1]):
                found.append(torch.is_autocast_cache_enabled())
            found.append(torch.is_autocast_cache_enabled())
        found.append(torch.is_autocast_cache_enabled())

    try:
        for each in (True, False):
            torch.set_autocast_cache_enabled(each)
            within()
            within(cache_enabled=True)
            within(cache_enabled=False)
        other = threading.Thread(target=lambda: found.append(torch.is_autocast_cache_enabled()))
        other.start()
        other.join()
    finally:
        torch.set_autocast_cache_enabled(True)
    return [*found, torch.clear_autocast_cache()]


def an_error_ends_a_block(torch):
    try:
        with torch.autocast("cpu", cache_enabled=False):
            raise KeyError
    except KeyError:
        return torch.is_autocast_cache_enabled()


test_agrees_with_torch = agreement_of(programs_of(globals()))


@pytest.mark.parametrize("given", [1, "a", None, 0.0])
def test_only_a_bool_is_taken(given):
    agree(lambda torch: torch.set_autocast_cache_enabled(given), raises=TypeError)


def products(torch, between, **options):
    """Products with a weight before and after it is written inside of a block."""
    w, x = torch.ones(2, 2, requires_grad=True), torch.ones(1, 2)
    with torch.autocast("cpu", torch.bfloat16, **options):
        found = [x @ w]
        with torch.no_grad():
            w.mul_(3)
        between()
        return [each.detach().float().tolist() for each in (*found, x @ w)]


def test_a_weight_that_is_written_counts_at_once():
    """As in torch without its cache, or once it is cleared; with it torch gives the old weight's product."""
    agree(lambda torch: products(torch, torch.clear_autocast_cache))
    agree(lambda torch: products(torch, lambda: None, cache_enabled=False))
    assert products(jaxvjp, lambda: None) == [[[2.0, 2.0]], [[6.0, 6.0]]]
