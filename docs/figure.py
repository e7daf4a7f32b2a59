"""The figure of the site's first page: y = f(x) is typed, x and v are moved; J, vᵀJ and the chain rule follow."""

from __future__ import annotations

from pathlib import Path

from jaxvjp.explain.page import filled


def figure() -> str:
    """The page of an explanation, with a field for y in place of somebody's lines."""
    page = filled("What v is", {"run": {"steps": [], "note": ""}, "lines": [], "program": [], "walks": []})
    script = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
    return page.replace("</body>", f"<script>\n{script}</script>\n</body>")
