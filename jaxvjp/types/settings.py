"""What a program has asked for by torch's switches (`library.settings`), and warnings that are given once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from jaxvjp.types.user_code import warn_user


class Settings:
    """What was asked for.

    Attributes:
        deterministic: how deterministic operations have to be: 0, not at all; 1, else they warn; 2, else they raise.
        only_warns: the `warn_only` that was asked for.
        fills: whether new memory is filled then.
        warns_always: whether a warning of the kind that is given once is given each time.
        threads, interop_threads: how many threads; None where nobody has said.
        fastpath: whether attention for inference does what torch's kernels for it do.
        linalg_library: which library for linear algebra was asked for.
        kernels: which kernels torch may take for attention, by the arguments of `backends.cuda.sdp_kernel`.
    """

    deterministic = 0
    only_warns = False
    fills = True
    warns_always = False
    threads: int | None = None
    interop_threads: int | None = None
    fastpath = True
    linalg_library = "default"

    def __init__(self) -> None:
        self.kernels = dict.fromkeys(["enable_flash", "enable_math", "enable_mem_efficient", "enable_cudnn"], True)


settings = Settings()


def switched(space: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Writes those settings that are given, under their names without a leading `_`; what they all were."""
    named = {each.removeprefix("_"): value for each, value in given.items()}
    before = {each: space[each] for each in named}
    space.update({each: value for each, value in named.items() if value is not None})
    return before


@contextmanager
def for_a_block(space: dict[str, Any], given: Mapping[str, Any]) -> Iterator[None]:
    """`switched` for a block."""
    before = switched(space, given)
    try:
        yield
    finally:
        space.update(before)


NONDETERMINISTIC = (
    "{} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True{})'. You "
    "can {}file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding deterministic "
    "support for this operation."
)


def alert_nondeterministic(name: str) -> None:
    """RuntimeError, or a warning, where deterministic algorithms are asked for, and torch's kernel `name` is none."""
    if settings.deterministic == 2:
        instead = (
            "turn off determinism just for this operation, or you can use the 'warn_only=True' option, if that's "
            "acceptable for your application. You can also "
        )
        raise RuntimeError(NONDETERMINISTIC.format(name, "", instead))
    if settings.deterministic:
        warn_user(NONDETERMINISTIC.format(name, ", warn_only=True", ""))


_given: set[str] = set()


def warn_once(kind: str, text: str) -> None:
    """Gives a UserWarning, the first time that one of this kind is due, or each time after `set_warn_always(True)`."""
    if settings.warns_always or kind not in _given:
        _given.add(kind)
        warn_user(text)
