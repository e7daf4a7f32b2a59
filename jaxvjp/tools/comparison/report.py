"""An outcome that shows itself: as text, and as a page."""

from __future__ import annotations

from jaxvjp.tools.comparison.outcome import Outcome
from jaxvjp.tools.comparison.page import body, page
from jaxvjp.tools.comparison.terminal_view import text


class Report(Outcome):
    """A program under torch and under jaxvjp, compared; `print(report)` shows it."""

    def to_html(self) -> str:
        """One self-contained page."""
        return page([self])

    def __str__(self) -> str:
        return text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return body([self])
