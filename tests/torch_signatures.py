"""Reads torch's signatures from `torch_signatures.txt`, which `tools/list_torch_signatures.py` writes."""

from __future__ import annotations

import ast
from functools import cache
from inspect import Parameter
from pathlib import Path

RECORD = Path(__file__).with_suffix(".txt")
UNKNOWN = object()
"""A default that is not written down, as it is no literal."""


@cache
def theirs():
    """torch's signatures by name."""
    found = {}
    for line in RECORD.read_text(encoding="utf-8").splitlines():
        name, _, rest = line.partition("(")
        arguments = ast.parse(f"def _({rest}: ...").body[0].args
        found.setdefault(name, []).append(list(read(arguments)))
    return found


def read(arguments):
    """The parameters of a `def`, with defaults as values, `UNKNOWN` where it was not written down."""
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [*[Parameter.empty] * (len(positional) - len(arguments.defaults)), *map(value, arguments.defaults)]
    kinds = [Parameter.POSITIONAL_ONLY] * len(arguments.posonlyargs)
    kinds += [Parameter.POSITIONAL_OR_KEYWORD] * len(arguments.args)
    for each, kind, default in zip(positional, kinds, defaults, strict=True):
        yield Parameter(each.arg, kind, default=default)
    if arguments.vararg:
        yield Parameter(arguments.vararg.arg, Parameter.VAR_POSITIONAL)
    for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield Parameter(
            each.arg, Parameter.KEYWORD_ONLY, default=Parameter.empty if default is None else value(default)
        )
    if arguments.kwarg:
        yield Parameter(arguments.kwarg.arg, Parameter.VAR_KEYWORD)


def value(node):
    return UNKNOWN if isinstance(node, ast.Constant) and node.value is ... else ast.literal_eval(node)
