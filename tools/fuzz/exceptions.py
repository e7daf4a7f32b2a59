"""The differences that docs/storage.md and docs/autograd.md describe: at one of these a comparison ends.

Each rule is as narrow as it can be; `tests/tools/test_fuzz.py` plants a fault beside each and sees that it is found.
"""

from __future__ import annotations

import re
from typing import Any

from tools.fuzz.programs import Statement
from tools.fuzz.running import Failure, Run, strides_taken

REFUSED = ("the derivative for 'set_' is not implemented", "data of shape ", "a tensor of dtype ")
"""What jaxvjp refuses at once, and torch when a gradient is taken (docs/storage.md), and tangents of another dtype than
their tensors, which JAX has not: there a program ends."""


GIVEN_UP = re.compile(
    "Trying to use a saved tensor that has been detached in-place|leaf variable has been moved into the graph interior"
    "|(Function .* returned an )?invalid gradient at index|sub_.*must be Tensor, not NoneType|.*INTERNAL ASSERT FAILED"
    "|Inplace update to inference tensor|setStorage: sizes"
    "|torch.utils.checkpoint: A different number of tensors was saved|none of output has requires_grad=True, this check"
    "|A leaf node was passed to _will_engine_execute_node"
)
"""What torch says of a graph that was changed after it was recorded and has its gradient here (docs/storage.md), of a
hook of a leaf that requires none any more, of a tensor of inference mode that it has written already, of a checkpoint
whose input was detached in place, of hooks of several leaves while it computes gradients for `autograd.grad`, and of
errors of its own: there a program ends."""
FORGOTTEN = (
    "a leaf Variable that requires grad is being used in an in-place operation",
    "you can only change requires_grad flags of leaf variables",
)
"""What one of the two says of a view that became part of a graph by a write: torch takes it for a leaf until somebody
asks for its `grad_fn`."""


def laid_out_apart(text: str, theirs: Run, ours: Run) -> bool:
    """Whether a variable that a statement names has other strides in torch: of results that is not compared."""
    named = set(re.findall(r"\w+", text))
    both = [name for name, x in theirs.variables().items() if name in named and x is not None]
    mine = ours.variables()
    return any(strides_taken(theirs.names[name]) != strides_taken(mine[name]) for name in both if name in mine)


BY_STRIDES = re.compile(r"as_strided|\.view\(|flatten|reshape|randn_like|dropout|\] = ")
"""What depends on strides, which are not compared of some variables: numbers are drawn in the order in memory, and a
gradient may be an expanded number, of which each element is written at once."""
MASKED = re.compile(r"\.copy_\(|masked_fill_|\[.* > .*\] = ")
"""Writes that torch lets pass, with a warning, where several elements share a place (docs/storage.md)."""
TURNED = re.compile(r"no_grad\(\): (\w+)\.t_\(\)")
"""What has torch refuse the backward of what was recorded before, where the shape is not what it was
(docs/storage.md)."""
WALK = re.compile(r"backward\(|autograd\.grad\(")
OF_SEVERAL = re.compile(
    r"Output\s?\d+ of \w+ is a view and is being modified|Can't detach views in-place"
    "|A view was created in no_grad mode .* This view is the output of a function that returns multiple views"
)
"""What torch says of a write or `detach_()` of what `func.hessian` gives, a view of several for it; here it is none."""
UNNEEDED = re.compile("one of the variables needed for .* modified by .* which is output 0 of AsStrided, is at version")
"""What torch says where the argument of `func.hessian` was written and its values are not needed (docs/storage.md)."""
DROPPED = re.compile(r"= (\w+)\.grad\b(.|\n)*\bdel \1\b")
"""A `grad` that is held while its leaf is gone: torch adds to it on, here nothing more is (docs/storage.md)."""
OVERWRITTEN = re.compile(
    r"one of the variables needed for .* modified by|Output \d+ of .* is a view and is being modified"
)
RENAMED = re.compile(
    r"no_grad\(\): \w+\.(\w*squeeze|t|transpose|swap\w+)_\(|chunk|split|unbind|doubled\(|float64|func\.jvp"
)
"""What has torch describe what was written by another shape or name, or as a view of several (docs/storage.md)."""

GONE = re.compile(r"^(\w+)\.\w+_\((.|\n)*^(del \1\b|\1 = )", re.MULTILINE)
"""A tensor that was written in place and then let go: an error names the step that made it, torch's the one that wrote
it (docs/storage.md)."""


def integers_require(run: Run) -> bool:
    """Whether an integer tensor says that it requires a gradient, as what does was written to it (docs/storage.md)."""
    kinds = [x for x in run.variables().values() if x is not None and not (x.is_floating_point() or x.is_complex())]
    return any(x.requires_grad for x in kinds)


def of_a_turned_tensor(past: list[Statement]) -> bool:
    """Whether a gradient was asked of a tensor after `t_()` under `no_grad`: for what was recorded before, it is
    another tensor here (docs/storage.md)."""
    turned: set[str] = set()
    for each in past:
        asked = re.search(r"autograd\.grad\(.*?(\w+)\]?, allow_unused", each.text)
        if asked and asked[1] in turned:
            return True
        turned |= set(TURNED.findall(each.text))
    return False


def left_open(past: list[Statement], sort: str, expected: Any, given: Any, views: list[str]) -> bool:
    """Whether a difference is one of those that docs/storage.md names: that a gradient which is a constant requires
    none; hooks of one of `views` of which a part was written; that nothing is called for a leaf which requires none any
    more; hooks, and what is retained, of one that has another shape by now; and that there is no gradient of a turned
    tensor."""
    text = "\n".join(each.text for each in past)
    hooked = set(re.findall(r"(\w+)\.(?:grad_fn\.)?register_hook", text)).intersection(views)
    if sort == "hooks" and any(re.search(rf"\b{name}\[.*(_\(| [-+*/]?= )", text) for name in hooked):
        return True
    nothing = given is None or (sort == "hooks" and any(value is None for _, value in given))
    if sort in ("layout", "hooks") and nothing and of_a_turned_tensor(past):
        return True
    if re.search(r"zero_|fill_|copy_|\] = ", text) and "create_graph" in text:
        requires = expected is True or (sort == "grad is there" and expected and expected[1])
        if requires and sort in ("grad is there", "requires_grad, is_leaf"):
            return True
    ended = set(re.findall(r"(\w+)\.(?:requires_grad_\(False\)|detach_\(\))", text))
    called = re.findall(r"(\w+)\.register_post_accumulate_grad_hook\(lambda leaf: (\w*)", text)
    if sort != "memory shared" and any(name in ended and (sort == "hooks" or does != "note") for name, does in called):
        return True
    turned = set(TURNED.findall(text))
    if sort == "grad is there" and re.search(r"retain_grad\(\)(.|\n)*\.(\w*squeeze|t|transpose|swap\w+)_\(", text):
        return True
    return sort == "hooks" and bool(turned & set(re.findall(r"(\w+)\.(?:grad_fn\.)?register_hook", text)))


def saved_as_result(x: Any) -> bool:
    """Whether the step that made x saved x. Then that has a copy of what x held; whatever else saved x has x itself."""
    return x is not None and type(x.grad_fn).__name__ in ("TanhBackward0", "ReluBackward0")


def mixes(program: list[Statement], theirs: Any) -> bool:
    """Whether a backward uses values that were saved and then written through `.data`: torch, which does not count such
    writes, mixes old and new ones (docs/autograd.md). It is seen by writing through `.detach()`, which counts."""
    run = Run(theirs)
    for each in program:
        text = each.text.replace(".numpy()", "")
        text = re.sub(r"\.data \+= (.*)", r".detach().add_(\1)", text)
        given = re.match(r"(\w+)\.data = (.*)", text)
        if given and not saved_as_result(run.names.get(given[1])):
            text = f"{given[1]}.detach().copy_({given[2]})"
        text = re.sub(r"\.data -= (.*)", r".detach().sub_(\1)", text)
        text = re.sub(r"\.data\b(?! =)", ".detach()", text)
        failed = run.execute(Statement(each.kind, text), text)
        if isinstance(failed, Failure) and WALK.search(text) and OVERWRITTEN.match(failed.sentence):
            return True
    return False
