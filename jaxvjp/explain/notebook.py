"""HTML for notebooks: coloured source text, and tables.

Colours are inline, as a notebook's output has no style sheet, and mixed with that of the text around, so that they can
be read on light and on dark pages.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

LOOK = (
    "font-family:var(--jp-code-font-family,ui-monospace,monospace);font-size:var(--jp-code-font-size,13px);"
    "margin:.3em 0;line-height:1.35;overflow-x:auto;"
)
UNBROKEN = "white-space:pre;word-break:normal;overflow-wrap:normal"
COLOURS = {"Keyword": "bold #3a78d0", "Comment": "#7a7a7a", "Number": "#2e8555", "String": "#2e8555"}


def coloured(text: str) -> str:
    """Python source as HTML, coloured if pygments is installed, as it is with every notebook."""
    formatter = _formatter()
    if formatter is None:
        shown = html.escape(text)
    else:
        import pygments
        from pygments.lexers import PythonLexer

        shown = pygments.highlight(text, PythonLexer(), formatter)
        shown = re.sub(r"(?<=color: )#\w+", r"color-mix(in srgb, \g<0> 60%, currentColor)", shown)
    return f'<pre style="{LOOK}{UNBROKEN}"><code style="{UNBROKEN}">{shown}</code></pre>'


@cache
def _formatter() -> Any:
    try:
        from pygments import token
        from pygments.formatters import HtmlFormatter
        from pygments.style import Style
    except ImportError:
        return None
    styles = {getattr(token, name): colour for name, colour in COLOURS.items()}
    own = type("MiddleTones", (Style,), {"styles": styles})
    return HtmlFormatter(style=own, noclasses=True, nowrap=True)


class Page(str):
    """The text of a page; a notebook shows the page."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<a page of {len(self):,} characters, which `save` writes>"

    def _repr_html_(self) -> str:
        look = "width:100%;height:46em;border:0"
        return f'<iframe srcdoc="{html.escape(self)}" title="v, J and the backward pass" style="{look}"></iframe>'


def table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]], align: str = "right") -> str:
    """A table whose first column has the rows' heads."""
    style = f' style="text-align:{align}"'
    head = "".join(f'<th scope="col"{style}>{html.escape(column)}</th>' for column in columns)
    body = "".join(
        f'<tr><th scope="row"{style}>{html.escape(label)}</th>'
        + "".join(f"<td{style}>{html.escape(each)}</td>" for each in rest)
        + "</tr>"
        for label, *rest in rows
    )
    said = f'<caption style="text-align:left">{html.escape(caption)}</caption>' if caption else ""
    return f'<table style="margin:0">{said}<tr>{head}</tr>{body}</table>'


def side_by_side(parts: Mapping[str, str]) -> str:
    """Parts side by side as far as there is room, each after its sign."""
    flex = "display:flex;align-items:center;gap:.4em 1.2em"
    cells = [
        f'<div style="{flex}"><span>{sign}</span>{part}</div>' if sign else f"<div>{part}</div>"
        for sign, part in parts.items()
    ]
    return f'<div style="{flex};flex-wrap:wrap;margin:.4em 0">{"".join(cells)}</div>'
