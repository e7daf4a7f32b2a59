"""torch's helpers that make a tuple of one number for all dimensions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def _ntuple(count: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    def parse(given: Any) -> tuple[Any, ...]:
        return tuple(given) if isinstance(given, Iterable) else (given,) * count

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(given: tuple[int, ...], times: int) -> tuple[int, ...]:
    """Each of them several times, the last first: as `F.pad` takes what `padding` of a convolution says."""
    return tuple(each for each in reversed(given) for _ in range(times))


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Takes `prefix` off the keys of a `state_dict`, in place: "module.", which a `DataParallel` has put there.

    Counterpart of `torch.nn.modules.utils.consume_prefix_in_state_dict_if_present`.
    """
    for key in [each for each in state_dict if each.startswith(prefix)]:
        state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
    told: dict[str, Any] = getattr(state_dict, "_metadata", {})
    for key in [each for each in told if each]:
        if key == prefix.rstrip("."):
            told[""] = told.pop(key)
        elif key.startswith(prefix):
            told[key.removeprefix(prefix)] = told.pop(key)
