"""Random programs agree under torch and jaxvjp; and their comparison notices planted bugs."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jax
import pytest
from oracle import live, needs_torch

import jaxvjp
from jaxvjp.core.run.tiers import Compiling
from jaxvjp.staging import builder
from tools.fuzz import staged
from tools.fuzz.comparing import disagreements
from tools.fuzz.kinds import KINDS
from tools.fuzz.programs import Program, Statement, program_of, reduced
from tools.fuzz.running import Failure, Run

pytestmark = needs_torch


@pytest.fixture(autouse=True)
def _quick_collections() -> Iterator[None]:
    """A program's `gc.collect()` need not search what there was before."""
    gc.freeze()
    yield
    gc.unfreeze()


def all_agree(seeds: range, command: str = "", made: Any = program_of, compare: Any = disagreements) -> None:
    found = {seed: each for seed in seeds for each in [next(compare(made(seed)), None)] if each}
    jax.clear_caches()
    told = [f"python -m tools.fuzz {command} --programs 1 --seed {seed}\n{each}" for seed, each in found.items()]
    text = "\n\n".join(told)
    assert not found, f"{len(found)} of {len(seeds)} disagree\n{text}"


@pytest.mark.parametrize("first", range(0, 120, 10))
def test_programs_agree_with_torch(first):
    all_agree(range(first, first + 10))


@pytest.mark.parametrize("first", range(120, 200, 20))
def test_programs_agree_without_a_compiler(monkeypatch, first):
    monkeypatch.setattr(Compiling, "when", "never")
    all_agree(range(first, first + 20), "--tier never")


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_staged_programs_agree_with_torch(first):
    all_agree(range(first, first + 10), "--staged", staged.staged_program_of, staged.disagreements)


@pytest.mark.parametrize("compiled", [False, True])
def test_what_a_staged_step_forgets_is_found(monkeypatch, compiled):
    if compiled:
        monkeypatch.setattr(Compiling, "when", "always")
    leaf = Statement("leaf", "a = torch.tensor([1., 2.], requires_grad=True)")
    program = staged.StagedProgram((leaf,), (Statement("view", "b = a[1:]"),), staged.STAGED)
    assert not list(staged.disagreements(program))
    monkeypatch.setattr(builder, "alias_as", lambda like, of: lambda tensor: tensor)
    assert next(staged.disagreements(program)).what == "shape"


@pytest.mark.long
@pytest.mark.parametrize("first", range(200, 5200, 50))
def test_many_programs_agree_with_torch(first):
    all_agree(range(first, first + 50))


def test_a_seed_is_one_program_and_every_kind_of_statement_occurs():
    programs = [program_of(seed) for seed in range(300)]
    assert programs == [program_of(seed) for seed in range(300)]
    assert {each.kind for program in programs for each in program.inside} == {kind.name for kind in KINDS}


def test_most_statements_are_valid():
    outcomes = []
    for seed in range(50):
        run, program = Run(live), program_of(seed)
        outcomes += [run.execute(each, each.text) for each in program.before + program.inside]
    wrong = sum(isinstance(each, Failure) for each in outcomes)
    assert 0.01 < wrong / len(outcomes) < 0.2


class Broken:
    """torch, but for some names."""

    def __init__(self, **changed: Any) -> None:
        self.__dict__.update(changed)

    def __getattr__(self, name: str) -> Any:
        return getattr(live, name)


def program(before: str, inside: str) -> Program:
    return Program(*(tuple(Statement("", line) for line in lines.splitlines()) for lines in (before, inside)))


SOUND = program(
    "v = torch.tensor([1., 2.])\nw = torch.tensor([3., 4.], requires_grad=True)",
    "w.register_hook(lambda grad: note('w', grad))\na = w * v\nb = a.detach()\nb.zero_()\n"
    "(w * w).sum().backward()\nwith torch.no_grad(): w -= 0.5 * w.grad\nw.grad = None\nw.backward()",
)
BROKEN = {
    "requires_grad: torch True, jaxvjp False": {"tensor": lambda data, **_: live.tensor(data)},
    "torch None, jaxvjp RuntimeError: a leaf Variable that requires grad is being used in an in-place operation": {
        "no_grad": contextlib.nullcontext
    },
    "value": {"tensor": lambda data, **kwargs: live.tensor([each + 1e-3 for each in data], **kwargs)},
}


@pytest.mark.parametrize("compared", ["statement", "round", "end"])
def test_torch_and_jaxvjp_agree_on_a_sound_program(compared):
    assert not list(disagreements(Program(SOUND.before, SOUND.inside, 3, compared)))
    assert not list(disagreements(Program(SOUND.before, SOUND.inside, 3, compared), ours=Broken()))


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_module_is_found(what):
    assert next(disagreements(SOUND, ours=Broken(**BROKEN[what]))).what == what


def test_a_forgotten_hook_is_found_and_its_program_reduced(monkeypatch):
    monkeypatch.setattr(jaxvjp.Tensor, "register_hook", lambda self, hook: None)

    def forgotten(shorter: Program) -> bool:
        return any(each.sort == "hooks" for each in disagreements(shorter))

    assert reduced(SOUND, forgotten) == Program(SOUND.before[1:], (SOUND.inside[0], SOUND.inside[4]), 1)


def test_what_torch_has_no_value_for_is_not_compared():
    overflow = program("w = torch.tensor([1e30, 1.], requires_grad=True)", "a = w * w\nb = a - a")
    wrong = Broken(tensor=lambda data, **kwargs: live.tensor([each + 1.0 for each in data], **kwargs))
    assert not list(disagreements(overflow, ours=wrong))


LEAF = "a = torch.tensor([[1., 2.], [3., 4.], [5., 6.]], requires_grad=True)"
OPEN = {
    "set_, with other strides": (
        "a = torch.nn.Parameter(torch.arange(6.).view(2, 3).t())",
        "b = a[2]\nwith torch.no_grad(): a.set_(torch.ones((3, 2)))\nb.sum().backward()",
    ),
    "the gradient of a turned tensor": (
        LEAF,
        "b = 2. * a\ny = b.sum()\nwith torch.no_grad(): b.t_()\n"
        "note('b', *torch.autograd.grad(y, b, allow_unused=True, retain_graph=True))",
    ),
    "the gradient of a turned tensor that was saved": (
        LEAF,
        "b = 2. * a\ny = b * b\nwith torch.no_grad(): b.t_()\n"
        "note('b', *torch.autograd.grad(y.sum(), b, allow_unused=True, retain_graph=True))",
    ),
    "the backward of what was recorded of a leaf that was turned": (
        LEAF,
        "b = a.clone()\nwith torch.no_grad(): a.t_()\n(b * b).sum().backward()",
    ),
    "which error is first, of a turned result": (
        LEAF,
        "b = a.tanh()\nwith torch.no_grad(): b.t_()\nb.backward(torch.full((2, 3), 2.))",
    ),
    "data of an operand": (LEAF, "b = 2. * a\ny = b * b\nb.data = torch.ones((3, 2))\ny.sum().backward()"),
    "hooks of the grad_fn of a view of which a part was written": (
        LEAF,
        "b = (2. * a).t()\nc = b.t()\n"
        "c.grad_fn.register_hook(lambda to, of: ([note('c', grad) for grad in of if grad is not None], None)[1])\n"
        "c[0].mul_(2.)\nc.sum().backward()",
    ),
    "hooks of a leaf that was detached": (
        LEAF,
        "a.register_post_accumulate_grad_hook(lambda leaf: note('a', leaf.grad))\n"
        "y = 2. * a\na.detach_()\ny.sum().backward()",
    ),
}
"""Programs that docs/storage.md says to differ: their comparison ends, and says nothing."""


@pytest.mark.parametrize("name", OPEN)
@pytest.mark.parametrize("compared", ["statement", "end"])
def test_what_differs_on_purpose_ends_a_comparison(name, compared):
    assert not list(disagreements(replace(program(*OPEN[name]), rounds=1, compared=compared)))


@pytest.mark.parametrize("name", OPEN)
def test_a_wrong_value_beside_what_differs_on_purpose_is_found(name):
    before, inside = OPEN[name]
    *lines, last = inside.splitlines()
    wrong = Broken(full=lambda shape, value: live.full(shape, value + 1e-3))
    planted = program(before, "\n".join([*lines, "wrong = torch.full((3, 2), 2.)", last]))
    assert next(disagreements(planted, ours=wrong)).sort == "value"


class Deaf:
    """torch.autograd, whose `grad` finds nothing."""

    def __getattr__(self, name: str) -> Any:
        return getattr(live.autograd, name)

    def grad(self, outputs: Any, inputs: Any, **_: Any) -> tuple[None]:
        return (None,)


@pytest.mark.parametrize("turn", ["", "\nwith torch.no_grad(): c.t_()", "\nwith torch.no_grad(): b.add_(1.)"])
def test_a_gradient_that_is_missing_is_found_unless_its_tensor_was_turned(turn):
    inside = "b = 2. * a\nc = 3. * a\ny = b.sum() + c.sum()" + turn
    planted = program(LEAF, inside + "\nnote('b', *torch.autograd.grad(y, b, allow_unused=True, retain_graph=True))")
    assert next(disagreements(planted, ours=Broken(autograd=Deaf()))).sort == "hooks"


def test_a_gradient_of_a_view_after_set_is_compared_where_the_strides_are_the_same():
    view = "b = a[2]\nwith torch.no_grad(): a.set_(torch.ones((3, 2)))\n(b * torch.full((2,), 2.)).sum().backward()"
    wrong = Broken(full=lambda shape, value: live.full(shape, value + 1e-3))
    assert next(disagreements(program(LEAF, view), ours=wrong)).what == "grad's value"
