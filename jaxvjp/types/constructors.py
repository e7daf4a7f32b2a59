"""Constructors made of a text, `__settings__`: the parameters of an optimizer or a layer, as they are written."""

from __future__ import annotations

from typing import Any


def add_constructor(kind: Any, parameters: str, space: dict[str, Any]) -> None:
    """Gives a class the constructor with these parameters, which passes them on, by name, to `__construct__`.

    `space` has what their annotations name.
    """
    lines = (
        "from __future__ import annotations",
        f"def __init__(self, {parameters}) -> None:",
        "    given = locals()",
        "    self.__construct__({name: given[name] for name in given if name != 'self'})",
    )
    own: dict[str, Any] = {}
    exec(compile("\n".join(lines), __file__, "exec"), space, own)
    kind.__init__ = own["__init__"]
    kind.__init__.__qualname__ = f"{kind.__qualname__}.__init__"
