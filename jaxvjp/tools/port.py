"""`python -m jaxvjp port script.py -o script_jax.py`: a torch training script as a JAX script, proved by `--check`."""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import re
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import jaxvjp
from jaxvjp.explain.decisions import DECIDED, said
from jaxvjp.explain.draws import Draws
from jaxvjp.explain.layout import WIDE_TYPES
from jaxvjp.explain.names import told_at
from jaxvjp.explain.optimizers import Updates
from jaxvjp.explain.ported import Ported, ported
from jaxvjp.explain.refusal import Refusal
from jaxvjp.library.random_tensors import get_rng_state, set_rng_state
from jaxvjp.tensor.autocasting import DEFAULTS
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.tools.comparison.recorder import widened
from jaxvjp.tools.explain import fault, recorded
from jaxvjp.tools.proof import Proof, check
from jaxvjp.types.dtypes import float64, get_default_dtype, set_default_dtype

NARROW = [
    *[(jaxvjp, name) for name in ("float32", "float", "bfloat16", "float16", "half")],
    *[(Tensor, name) for name in ("float", "bfloat16", "half")],
    (jaxvjp, "FloatTensor"),
]
"""The types of less precision than float64, and the methods that convert to them."""
NUMBER = re.compile(r"(?<![\w.])\d+\.\d+(?:e[-+]\d+)?\b")
ROUNDED = 2**-21
"""How far a number in single precision may be from the same in double precision, relative to it."""
MOVED = "state = jax.tree.map(lambda each: each * (1 + 2**-52) if each.dtype == float else each, state)"
"""Has a script in double precision begin with other last places."""


def main(arguments: Sequence[str]) -> int:
    """The command; returns its exit status: 1 where a script cannot be ported or is not proved, 2 for a wrong call,
    FAULT where this package has failed."""
    parser = argparse.ArgumentParser(prog="jaxvjp port", description="Runs a training script, and writes it in JAX.")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="the script to write")
    parser.add_argument("--check", action="store_true", help="also train the ported script, and compare")
    parser.add_argument("script", type=Path)
    parser.add_argument("arguments", nargs="*", help="what the script finds in sys.argv, after --")
    given = parser.parse_intermixed_args(arguments)
    if not given.script.is_file():
        parser.error(f"there is no script {str(given.script)!r}")
    output = given.output or given.script.with_name(f"{given.script.stem}_jax.py")
    # For a script that sets no seed.
    seeds = [state() for state in (get_rng_state, np.random.get_state, random.getstate)]
    with Updates() as updates, Draws() as draws:
        explanation, status = recorded(given.script, given.arguments, "grad")
    if explanation is None:
        return status
    decided = explanation.asked_of
    found = said(decided, str(given.script))
    notes = [*found] and ["", DECIDED, *[f"    {each}" for each in found]]
    head = [f"{given.script.name} in JAX, ported by `python -m jaxvjp port` from STEPS recorded steps.", "", "NEEDS"]
    text = "\n".join(['"""' + head[0], *head[1:], *notes, '"""'])
    reads = [node for asked in decided.values() for node, _ in asked]
    for exact in (False, True):
        try:
            port = ported(explanation.story, updates.found, draws, text, f"{output.stem}.npz", reads, exact)
        except Refusal as error:
            why = told_at(error.where, str(given.script)) + str(error).splitlines()[0]
            print(f"{given.script} cannot be ported\n{why}", *found, sep="\n", file=sys.stderr)
            listed = [f'"""{given.script.name} cannot be ported to JAX:', "", f"    {why}", *notes, '"""', ""]
            output.write_text("\n".join([*listed, "raise SystemExit(__doc__)"]) + "\n", encoding="utf-8")
            return 1
        except Exception as error:
            return fault(error, given.script)
        output.write_text(port.source, encoding="utf-8")
        if port.data:
            np.savez(output.with_suffix(".npz"), allow_pickle=False, **port.data)
        if not given.check and not port.simplified:
            break
        proofs = [check(port, output)]
        if proofs[0].ran and not proofs[0].good:
            for again, state in zip((set_rng_state, np.random.set_state, random.setstate), seeds, strict=True):
                again(state)  # type: ignore[operator]
            proofs.append(check_in_double(port, output, given, exact))
        if proofs[-1].good or not port.simplified:
            break
    answer = shown(proofs, output) if given.check else []
    for each in [*answer, *found, *[f"not in it: {each}" for each in port.dropped], *port.left_out]:
        print(each, file=sys.stderr)
    return 1 if port.dropped or (given.check and not proofs[-1].good) else 0


def shown(proofs: Sequence[Proof], output: Path) -> list[str]:
    """What the checks found, in words."""
    first, failed = proofs[0], proofs[-1].unrepeated
    if not failed and proofs[-1].good and len(proofs) > 1:  # the answer comes first
        return [
            proofs[-1].told,
            first.told.replace(f"{output}:", "In single precision:").replace("DISAGREE", "differs"),
        ]
    if not failed:
        return [each.told for each in proofs]
    told, verdict = "is not proved", "DISAGREE"
    if first.near:
        told, verdict = "differs by no more than rounding in single precision does", "WITHIN ROUNDING"
    answer = f"{output} {told}, and {failed}."
    return [answer, first.told.replace("DISAGREE", verdict)]


@contextlib.contextmanager
def in_double(script: Path) -> Iterator[None]:
    """A context in which `script` has float64 where it had float32 or less. An `autocast` casts nothing there."""
    usual, autocast = get_default_dtype(), dict(DEFAULTS)
    own = [(owner, name, getattr(owner, name)) for owner, name in NARROW]
    set_default_dtype(float64)
    DEFAULTS.update(dict.fromkeys(DEFAULTS, float64))
    for owner, name in NARROW:
        wide = jaxvjp.DoubleTensor if name == "FloatTensor" else float64
        setattr(owner, name, Tensor.double if owner is Tensor else wide)
    try:
        with (
            widened(str(script.resolve().parent)),
            warnings.catch_warnings(action="ignore"),
        ):  # the script gave its warnings before
            yield
    finally:
        set_default_dtype(usual)
        DEFAULTS.update(autocast)
        for owner, name, before in own:
            setattr(owner, name, before)


def check_in_double(port: Ported, output: Path, given: Any, exact: bool) -> Proof:
    """Whether the ported script and the training script agree in double precision, with the same random numbers: then
    what made them differ is rounding, and no formula."""
    said = io.StringIO()
    errors: list[str] = []

    def note(_: Any, error: Exception, where: Any) -> None:
        lines = [f"line {each.lineno}: " for each in traceback.extract_tb(where) if each.filename == str(given.script)]
        errors.append(f"{''.join(lines[-1:])}{type(error).__name__}: {next(iter(str(error).splitlines()), '')}")

    failed = "the script could not be repeated in double precision"
    try:
        noted = Updates(), Draws(double=True)
        with (
            in_double(given.script),
            noted[0] as updates,
            noted[1] as draws,
            contextlib.redirect_stderr(said),
        ):
            explanation, _ = recorded(given.script, given.arguments, "grad", tell=note)
        if explanation is None:
            return Proof(unrepeated=f"{failed} ({''.join(errors or said.getvalue().splitlines()[-1:])})")
        reads = [node for asked in explanation.asked_of.values() for node, _ in asked]
        double = ported(explanation.story, updates.found, draws, "", "", reads, exact)._replace(dropped=port.dropped)
    except Refusal as error:
        return Proof(unrepeated=f"in double precision the script cannot be ported ({str(error).splitlines()[0]})")
    forms = [{name: np.shape(each) for name, each in one.data.items()} for one in (port, double)]
    if forms[0] != forms[1]:  # without `autocast`, say, two kinds of steps may be one
        return Proof(unrepeated="in double precision the script's steps have another form")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / output.name
        doubles = np.array([float(each) for each in NUMBER.findall(double.source)] or [np.inf])

        def rounded(found: re.Match[str]) -> str:
            """A number of the script's; in place of one in single precision that of which it is rounded."""
            distances = np.abs(doubles - float(found[0]))
            near = float(distances.min()) <= ROUNDED * float(found[0])
            return repr(float(doubles[distances.argmin()])) if near else found[0]

        source = NUMBER.sub(rounded, port.source)
        lines = re.sub("float32|bfloat16|float16", "float64", source).splitlines()
        place = lines.index("import numpy as np") + 1
        lines.insert(place, WIDE_TYPES)
        copy.write_text("\n".join(lines) + "\n", encoding="utf-8")
        lines.insert(lines.index("losses = []"), MOVED)
        moved = Path(folder) / f"moved_{output.name}"  # it reads the same file of data
        moved.write_text("\n".join(lines) + "\n", encoding="utf-8")
        data = {name: double.data.get(name, each) for name, each in port.data.items()}
        wide = {name: each.astype(np.float64) if each.dtype == np.float32 else each for name, each in data.items()}
        np.savez(copy.with_suffix(".npz"), allow_pickle=False, **wide)
        return check(double, copy, f"{output} in double precision, where rounding is not seen", moved)
