"""What a program has asked for by torch's switches (`library.settings`), and warnings that are given once."""

from __future__ import annotations

from jaxvjp.types.user_code import warn_user


class Settings:
    """What was asked for.

    Attributes:
        deterministic: how deterministic operations have to be: 0, not at all; 1, else they warn; 2, else they raise.
        only_warns: the `warn_only` that was asked for.
        fills: whether new memory is filled then.
        warns_always: whether a warning of the kind that is given once is given each time.
        threads, interop_threads: how many threads; None where nobody has said.
    """

    deterministic = 0
    only_warns = False
    fills = True
    warns_always = False
    threads: int | None = None
    interop_threads: int | None = None


settings = Settings()
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
