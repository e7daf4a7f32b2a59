"""Completes docstrings: adds to what is written by hand what follows from the signature, the row and torch's name.

By hand a function has a sentence, and those of the sections Args, Returns, Raises, Counterpart and Underneath that say
more than follows from its annotations; `argument_words.txt` says what arguments mean that many functions
share. `of_rows` composes the docstring of a function of the registry, `complete` that of any other.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jaxvjp.ops.op import ARITHMETIC, COMPARE, DOUBLE, FLOAT, Op

ROWS = (Path(__file__).parent / "argument_words.txt").read_text(encoding="utf-8").splitlines()
PARTS = [row.partition(": ") for row in ROWS]
WORDS = {name: meaning for names, _, meaning in PARTS for name in names.split(", ")}
"""The meaning of arguments that many functions share: by name, or by place or function and name. (*, m, n) is any
number of batch dimensions, then m and n."""
PROMOTED = {
    ARITHMETIC: "the operands' dtypes promote",
    FLOAT: "the operands' dtypes promote, integers to the default floating dtype",
    DOUBLE: "the operands' dtypes promote to double precision",
    COMPARE: "of dtype bool",
}
ARGS = re.compile(r"^Args:\n(?:    .+\n?)+", re.MULTILINE)
UNKNOWN = "as said above"
RAISING = {"refuse_type": "NotImplementedError"}
"""What a function raises by calling another one that only raises."""
IN_PLACE = "a leaf that requires a gradient; a result of another shape, or of a dtype that cannot be cast to this one"


def of_rows(rows: Sequence[Op], name: str, place: str, forms: Sequence[inspect.Signature], ways: Sequence[str]) -> str:
    """The docstring of the function or method at torch's `place` that follows from rows which share a name.

    `forms` are its signatures; `ways` shows them as torch does, one for each row.
    """
    docs = [inspect.cleandoc(row.function.__doc__ or "") for row in rows]
    told = [docs[0]]
    if len(rows) > 1:
        told += ["It is called as"]
        told += [f"    {name}{way}: {doc.partition(chr(10))[0]}" for way, doc in zip(ways, docs, strict=True)]
    in_place = name.endswith("_")
    if in_place:
        told[0] = f"In place: {told[0]}"
    row = rows[0]
    parameters = [parameter for form in forms for parameter in form.parameters.values() if parameter.name != "self"]
    types = {parameter.name: inspect.formatannotation(parameter.annotation) for parameter in parameters}
    keys = [place, row.function.__module__.rpartition(".")[2], name[-2:], row.torch_name]
    ops = " or ".join(f"the op `{each.name}` of `{each.function.__module__}`" for each in rows)
    slope = "`jax.vjp` of it" if any(each.differentiable for each in rows) else "no gradient"
    sections = {
        "Args": _arguments(types, keys),
        "Returns": [_result(rows, forms, in_place)],
        "Raises": list(_errors(rows, types, in_place)),
    }
    closing = [_counterpart(place, name), f"Underneath: {ops}, a function of JAX arrays, and {slope}."]
    return "\n\n".join([*told, *_shown(sections), *closing])


def _result(rows: Sequence[Op], forms: Sequence[inspect.Signature], in_place: bool) -> str:
    if in_place:
        return "the tensor itself, written."
    row = rows[0]
    found = dict.fromkeys(_plain(inspect.formatannotation(each.return_annotation)) for each in forms)
    fields = [", ".join(f"`{each}`" for each in one.returns._fields) for one in rows if one.returns is not None]
    result = " or ".join(each for each in found if each in ("Tensor", "bool", "int") or "[" in each)
    result = " or ".join(filter(None, [result, *[f"a named tuple of {each}" for each in dict.fromkeys(fields)]]))
    if all(each.write is not None for each in rows):
        return f"{result}, a view that shares its memory with the tensor."
    details = ["of the operands' broadcast shape"] if row.inplace and row.promotion == ARITHMETIC else []
    details += [PROMOTED[row.promotion]] if row.promotion in PROMOTED else []
    return f"{'; '.join([result, *details])}."


def _errors(rows: Sequence[Op], types: Mapping[str, str], in_place: bool) -> Iterable[str]:
    yield "TypeError: arguments that fit no signature."
    many = any(len(row.operands) > 1 for row in rows)
    yield f"RuntimeError: shapes{', dtypes or devices' if many else ' or dtypes'} that do not fit."
    if in_place:
        yield f"RuntimeError: {IN_PLACE}."
    if {"dim", "dims", "dim0", "dim1"} & {*types}:
        yield "IndexError: a dimension that the tensor does not have."
    if any(row.check_values is not None for row in rows):
        yield "IndexError: positions out of range (with some functions a RuntimeError); reads them."
    if any(row.check_result is not None for row in rows):
        yield "RuntimeError: values that allow no result (a LinAlgError in linear algebra); reads them."
    if "out" in types:
        yield "RuntimeError: an `out` that requires a gradient, or whose dtype cannot hold the result."


def complete(function: Any, place: str, name: str, underneath: str = "", out: bool = False) -> None:
    """Adds to the docstring of a function, class or property at torch's `place` the sections that it lacks.

    `underneath` is for where neither the docstring nor `UNDERNEATH` of its module says what JAX does; `out` says that
    the function, not the method, takes `out=`.
    """
    inner = getattr(function, "fget", None) or function
    own = inspect.unwrap(inner)
    code, space = getattr(own, "__code__", None), vars(sys.modules[own.__module__])
    doc = function.__doc__ or ""
    doc = inspect.cleandoc(doc) if "\n" in doc else doc
    types = _types(inner)
    types |= {"out": "Tensor | None"} if out else {}
    returned = types.pop("return", "None" if inner is function else "")
    sections = {
        "Args": _arguments(types, [place, name]),
        "Returns": [] if returned in ("", "None") else [f"{_plain(returned)}."],
        "Raises": _raised(code, doc),
    }
    if "Args:" in doc:
        doc = re.sub(ARGS, lambda found: _with_others(found[0], sections["Args"]), doc)
    told, *rest = re.split(r"\n\n(?=Counterpart of|Underneath: )", doc, maxsplit=1)
    closing = "".join(rest)
    if not re.search(r"[Cc]ounterpart (of `torch|in torch)", doc):
        closing = f"{_counterpart(place, name)} {closing}".rstrip()
    sections = {head: lines for head, lines in sections.items() if f"{head}:" not in doc and lines}
    if re.search(r"\bReturns |\bGives ", doc):
        sections.pop("Returns", None)
    parts = [told, *_shown(sections), *filter(None, [closing])]
    if "nderneath" not in doc:
        further = space.get("UNDERNEATH", underneath)
        parts += [f"Underneath: {further}."] if further else []
    function.__doc__ = "\n\n".join(parts)


def complete_all(owner: Mapping[str, Any], names: Iterable[str], place: str, underneath: str = "") -> None:
    """`complete` for each of `names` in `owner`, the namespace of a module or class, that is defined in jaxvjp."""
    for name in names:
        each = owner.get(name)
        ours = callable(each) and getattr(each, "__module__", "").startswith("jaxvjp")
        if ours or isinstance(each, property):
            complete(each, place, name, underneath)


def _types(function: Any) -> dict[str, str]:
    """The annotations of a function's parameters and result as text; for a class those of its constructor."""
    if isinstance(function, type):
        made: Any = function
        function = made.__init__ if inspect.isfunction(made.__init__) else made.__new__
    shown = getattr(function, "__signature__", None)
    if shown is None:
        found = getattr(function, "__annotations__", {})
    else:
        found = {each.name: each.annotation for each in shown.parameters.values()} | {"return": shown.return_annotation}
    return {
        name: each if isinstance(each, str) else inspect.formatannotation(each)
        for name, each in found.items()
        if name not in ("self", "cls")
    }


def _arguments(types: Mapping[str, str], keys: Sequence[str]) -> list[str]:
    return [f"{name} ({_plain(each)}): {_word(name, each, keys)}." for name, each in types.items()]


def _with_others(block: str, lines: Sequence[str]) -> str:
    """A handwritten section Args, completed by `lines` for the arguments that it leaves out."""
    own = re.findall(r"^    ([\w, ]+?)(?: \(.*\))?: ", block, re.MULTILINE)
    known = {name for each in own for name in each.split(", ")}
    return "\n    ".join([block.rstrip("\n"), *[line for line in lines if line.split(" ")[0] not in known]]) + "\n"


def _word(name: str, type: str, keys: Sequence[str]) -> str:
    several = [f"{name}s"] if name == "dim" and re.search("Sequence|tuple|Dims", type) else []
    candidates = [*[f"{key}.{name}" for key in keys[::-1]], *several, name]
    return next((WORDS[each] for each in candidates if each in WORDS), UNKNOWN)


def _raised(code: Any, doc: str) -> list[str]:
    names = dict.fromkeys(RAISING.get(each, each) for each in getattr(code, "co_names", ()))
    found = [each for each in names if each.endswith("Error") and each not in doc]
    return [f"{each}: arguments that do not fit, in torch's words." for each in found]


def _counterpart(place: str, name: str) -> str:
    module = {"function": "torch", "method": "torch.Tensor"}.get(place, f"torch.{place}")
    return f"Counterpart of `{module}.{name}`."


@cache
def _plain(annotation: str) -> str:
    """An annotation without the modules that its names are from."""
    text = re.sub(r"\b(?:\w+\.)+(?=\w)", "", annotation)
    return text.replace("Dtype", "dtype").replace("complex", "number").strip("'")


def _shown(sections: Mapping[str, Sequence[str]]) -> list[str]:
    return ["\n    ".join([f"{head}:", *lines]) for head, lines in sections.items() if lines]
