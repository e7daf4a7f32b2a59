"""Every public name has a docstring with all sections: what it does, Args, Returns, Raises, torch's name, JAX's."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap

import jaxvjp
from jaxvjp.tensor.docstrings import RAISING
from jaxvjp.tools.scripts.names import torch_names

PLACES = """
autograd autograd.functional autograd.forward_ad autograd.graph cuda explain fft func linalg masked nn nn.functional
nn.init random signal.windows special testing utils.checkpoint
"""
OURS = {
    "": "compare as_torch jit from_torch explain_program recompiles set_choosing UnstageableError",
    "autograd": "jacobian",
    "explain": "Explanation recording",
    "Tensor": "explain to_torch value",
}
"""What is public and not in torch."""


def public_names():
    """Name and object of everything public that can be called, and of `Tensor`'s attributes."""
    known = torch_names().modules
    for place in ["", *PLACES.split()]:
        owner = importlib.import_module(f"jaxvjp.{place}".rstrip("."))
        names = known.get(f"torch.{place}".rstrip("."), frozenset()) | {*OURS.get(place, "").split()}
        for name in {*dir(owner)} & names:
            each = getattr(owner, name)
            ours = (getattr(each, "__module__", None) or "").startswith("jaxvjp")
            if ours and callable(each) and not name.startswith("_"):
                yield f"{place}.{name}".lstrip("."), each
    for name in {*dir(jaxvjp.Tensor)} & (known["torch.Tensor"] | {*OURS["Tensor"].split()}):
        if not name.startswith("_") and name != "storage":  # which torch has for something else
            each = inspect.getattr_static(jaxvjp.Tensor, name)
            yield f"Tensor.{name}", each if isinstance(each, property) else getattr(jaxvjp.Tensor, name)


def raised(function):
    """The classes of the errors that the code of a function of ours raises itself."""
    if isinstance(function, type):
        return set()
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError):  # of a compiled module
        return set()
    calls = [each.exc for each in ast.walk(tree) if isinstance(each, ast.Raise) and isinstance(each.exc, ast.Call)]
    found = {each.func.id for each in calls if isinstance(each.func, ast.Name) and each.func.id.endswith("Error")}
    names = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
    return found | {RAISING[each] for each in names & {*RAISING}}


def lacking(each):
    """What the docstring of a public name does not say."""
    doc = inspect.getdoc(each) or ""
    function = inspect.unwrap(getattr(each, "fget", None) or each)
    missing = [] if re.match(r".+?[.:]( |\n|$)", doc, re.DOTALL) else ["a sentence"]
    try:
        signature = inspect.signature(each if callable(each) else function)
    except ValueError:  # an exception
        signature = inspect.Signature()
    told = re.findall(r"^    ([\w, ]+?)(?: \([^\n]*\))?: (?!as said above\.)", doc, re.MULTILINE)
    words = {word.strip() for each in told for word in each.split(",")}
    generated = "a function of JAX arrays" in doc and "It is called as" in doc
    missing += [f"Args: {name}" for name in signature.parameters if name not in {*words, "self"} and not generated]
    returned = signature.return_annotation
    if (
        not isinstance(each, type)
        and returned not in (None, "None", inspect.Signature.empty)
        and not re.search("Returns|Gives|gives", doc)
    ):
        missing.append("Returns")
    missing += [f"Raises: {error}" for error in raised(function) if error not in doc]
    composed = set(re.findall(r"^    (\w+Error): arguments that do not fit, in torch's words", doc, re.MULTILINE))
    missing += [f"does not raise {error}" for error in composed - raised(function)]
    missing += [] if re.search("[Cc]ounterpart (of `torch|in torch)", doc) else ["torch's name"]
    return missing + ([] if "nderneath" in doc else ["what is underneath"])


def test_every_public_name_has_every_section():
    found = {name: lacking(each) for name, each in public_names()}
    assert len(found) > 1000
    wrong = [f"{name}: {', '.join(missing)}" for name, missing in sorted(found.items()) if missing]
    assert not wrong, "say it in the docstring, or of an argument in jaxvjp/tensor/argument_words.txt\n" + "\n".join(
        wrong
    )


def test_a_docstring_that_lacks_a_section_is_noticed():
    def planted(x: jaxvjp.Tensor, scale: float) -> jaxvjp.Tensor:
        """Scales `x`.

        Args:
            x (Tensor): of any shape.
        """
        if not scale:
            raise ValueError(scale)
        return x * scale

    assert lacking(planted) == ["Args: scale", "Returns", "Raises: ValueError", "torch's name", "what is underneath"]
    planted.__doc__ = ""
    assert lacking(planted)[0] == "a sentence"
