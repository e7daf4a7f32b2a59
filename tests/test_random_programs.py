"""Random programs agree under torch and jaxvjp; and their comparison notices planted bugs."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from typing import Any

import jax
import pytest
from oracle import live, needs_torch
from random_programs import disagreements, reduced
from random_statements import KINDS, Program, Statement, program_of

import jaxvjp

pytestmark = needs_torch


@pytest.fixture(autouse=True)
def _quick_collections() -> Iterator[None]:
    """A program's `gc.collect()` need not search what there was before."""
    gc.freeze()
    yield
    gc.unfreeze()


def all_agree(seeds: range) -> None:
    found = {seed: each for seed in seeds for each in [next(disagreements(program_of(seed)), None)] if each}
    jax.clear_caches()
    text = "\n\n".join(f"python tests/random_programs.py --seeds {seed}\n{each}" for seed, each in found.items())
    assert not found, f"{len(found)} of {len(seeds)} disagree\n{text}"


@pytest.mark.parametrize("first", range(0, 120, 10))
def test_programs_agree_with_torch(first):
    all_agree(range(first, first + 10))


@pytest.mark.long
@pytest.mark.parametrize("first", range(120, 5120, 50))
def test_many_programs_agree_with_torch(first):
    all_agree(range(first, first + 50))


def test_a_seed_is_one_program_and_every_kind_of_statement_occurs():
    programs = [program_of(seed) for seed in range(300)]
    assert programs == [program_of(seed) for seed in range(300)]
    assert {each.kind for program in programs for each in program.inside} == {kind.name for kind in KINDS}


def test_most_statements_are_valid():
    from random_programs import Failure, Run

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
