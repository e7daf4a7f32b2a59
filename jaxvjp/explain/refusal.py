"""Why an explanation or a port does not come about: by a `Refusal`, raised on purpose, or by a fault, all else.

`line_of` finds the user's line in the traceback of a fault.
"""

from __future__ import annotations

import traceback

from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.user_lines import UserLine


class Refusal(Exception):  # noqa: N818 - says what a program has, which is no error of it
    """What has no explanation or port: the reason, and the user's line `where`, if known.

    Only what is raised as a `Refusal` is told as a reason. Another exception is a fault of this package.
    """

    def __init__(self, why: str, where: UserLine = None) -> None:
        super().__init__(why)
        self.where = where


class Unshowable(Refusal, ValueError):  # noqa: N818 - see `Refusal`
    """What is too large, or of a form that a table, a picture or a page does not have."""


def line_of(error: BaseException) -> UserLine:
    """The user's line that was worked on when `error` was raised: that of the innermost node, event or step among the
    variables of the functions that it went through; None if there is none."""
    found = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        for each in [*frame.f_locals.values()]:
            if isinstance(each, Node) or type(each).__module__.startswith("jaxvjp.explain."):
                found = getattr(each, "where", None) or found
    return found
