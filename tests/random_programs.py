"""Runs random programs under torch and under jaxvjp, and compares everything that a program can see.

`disagreements` runs a program of `random_statements` under both modules, statement by statement; `reduced` deletes the
statements that a disagreement does not need.

    python tests/random_programs.py --seeds 0:500 --processes 2 --reduce 10

prints how often each kind of disagreement occurs, and a small program for the most frequent ones. `--seeds 17` runs one
program. `--without "set data,hook"` leaves out kinds of statements, and `--ignore "_version,layout"` comparisons
(entries of `COMPARED`), so that known disagreements hide no others.
"""

from __future__ import annotations

import argparse
import ast
import copy
import gc
import json
import math
import re
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax

sys.path.insert(0, str(Path(__file__).parent.parent))

from oracle import Outcome, live, plain, same
from random_statements import Program, Statement, program_of

import jaxvjp

LARGEST = 2.0**24
"""A float32 holds the whole numbers up to here. Where torch's values are larger, or NaN, a comparison ends."""
SECONDS, AT_ONCE = 60, 100
"""How long a program may run, and how many run in one process."""


# ---- What is compared.


def gradient(x: Any) -> Any:
    return x.grad is not None and (tuple(x.grad.shape), x.grad.requires_grad)


def strides_taken(x: Any) -> list[int]:
    """The strides of the dimensions that have more than one element: the others are never taken."""
    return [step for step, size in zip(x.stride(), x.shape, strict=True) if size > 1]


COMPARED: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "shape": ("layout", lambda x: tuple(x.shape)),
    "dtype": ("layout", lambda x: str(x.dtype)),
    "requires_grad": ("requires_grad, is_leaf", lambda x: x.requires_grad),
    "is_leaf": ("requires_grad, is_leaf", lambda x: x.is_leaf),
    "grad_fn": ("requires_grad, is_leaf", lambda x: x.grad_fn is not None),
    "retains_grad": ("requires_grad, is_leaf", lambda x: x.retains_grad),
    "grad": ("grad is there", gradient),
    "value": ("value", lambda x: x.tolist()),
    "grad's value": ("value", lambda x: None if x.grad is None else x.grad.tolist()),
    "stride": ("layout", lambda x: (strides_taken(x), x.is_contiguous())),
    "storage_offset": ("layout", lambda x: x.storage_offset()),
    "_is_view": ("layout", lambda x: x._is_view()),
    "_version": ("version", lambda x: x._version),
}
"""What is compared of each variable, in this order: what sort of disagreement it is, and how to see it."""
HARMLESS = frozenset({"stride", "storage_offset", "_is_view", "_version"})
"""Where these disagree the program goes on, as what follows need not disagree."""
LOOSE = {
    **dict.fromkeys(("arithmetic", "set data", "step"), frozenset({"stride", "storage_offset"})),
    **dict.fromkeys(("autograd.grad", "grad named", "deepcopy"), HARMLESS),
}
"""What is not compared of what these kinds of statements bind, nor of what is made from it. Of a gradient or a copy
torch promises no version and no layout (it may be an expanded number); results are contiguous here (docs/autograd.md).
"""


REFUSED = ("the derivative for 'set_' is not implemented", "data of shape ")
"""What jaxvjp refuses at once, and torch when a gradient is taken (docs/storage.md): there a program ends."""


GIVEN_UP = re.compile(
    "Trying to use a saved tensor that has been detached in-place|leaf variable has been moved into the graph interior"
    "|(Function .* returned an )?invalid gradient at index|sub_.*must be Tensor, not NoneType|.*INTERNAL ASSERT FAILED"
)
"""What torch says of a graph that was changed after it was recorded and has its gradient here (docs/storage.md), of a
hook of a leaf that requires none any more, and of errors of its own: there a program ends."""
FORGOTTEN = (
    "a leaf Variable that requires grad is being used in an in-place operation",
    "you can only change requires_grad flags of leaf variables",
)
"""What one of the two says of a view that became part of a graph by a write: torch takes it for a leaf until somebody
asks for its `grad_fn`."""


class Run:
    """A program under one module: its variables, and what its hooks saw since it was last compared."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.calls: list[tuple[str, Any]] = []
        self.loose: dict[str, frozenset[str]] = {}
        self.names: dict[str, Any] = {"torch": module, "copy": copy, "gc": gc, "note": self.note}

    def note(self, name: str, grad: Any) -> None:
        self.calls.append((name, None if grad is None else grad.detach().clone()))

    def tried(self, function: Callable[[Any], Any]) -> Any:
        """What it returns, or the class and first sentence of its error."""
        outcome = Outcome(function, self.module)
        if outcome.raised is None:
            return outcome.value
        kind, sentence = outcome.raised  # which of two things happened to a view of several depends on who asks
        return Failure(kind, re.sub("its base or another .*? modified inplace", "is being modified inplace", sentence))

    def execute(self, statement: Statement, code: Any) -> Any:
        nodes = list(ast.walk(ast.parse(statement.text)))
        names = [each for each in nodes if isinstance(each, ast.Name)]
        bound = [each for each in names if isinstance(each.ctx, ast.Store)]
        bound += [each.value for each in nodes if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)]
        loose = LOOSE.get(statement.kind, frozenset()).union(*(self.loose.get(each.id, ()) for each in names))
        self.loose |= {each.id: loose for each in bound if isinstance(each, ast.Name)}
        if self.module is live and ("register_hook" in statement.text or "retain_grad" in statement.text):
            for each in self.variables().values():
                # torch crashes if it was not asked for the grad_fn of a view whose base was written through detach().
                self.tried(lambda torch, each=each: each.grad_fn and None)
        return self.tried(lambda torch: exec(code, self.names))

    def variables(self) -> dict[str, Any]:
        return {name: x for name, x in self.names.items() if x is None or isinstance(x, self.module.Tensor)}


def shapes_of(run: Run) -> dict[str, tuple[int, ...]]:
    return {name: tuple(x.shape) for name, x in run.variables().items() if x is not None}


def views_of(run: Run) -> list[str]:
    return [name for name, x in run.variables().items() if x is not None and x._is_view()]


def bases_of(run: Run) -> dict[str, tuple[list[int], int]]:
    """Of each view, how its base lies in memory."""
    views = {name: x._base for name, x in run.variables().items() if x is not None and x._is_view()}
    return {name: (strides_taken(base), base.storage_offset()) for name, base in views.items()}


def laid_out_apart(text: str, theirs: Run, ours: Run) -> bool:
    """Whether a variable that a statement names has other strides in torch: of results that is not compared."""
    named = set(re.findall(r"\w+", text))
    both = [name for name, x in theirs.variables().items() if name in named and x is not None]
    mine = ours.variables()
    return any(strides_taken(theirs.names[name]) != strides_taken(mine[name]) for name in both if name in mine)


BY_STRIDES = re.compile(r"as_strided|\.view\(|flatten|reshape")
"""What depends on strides, which are not compared of some variables."""
MASKED = re.compile(r"masked_fill_|\[.* > .*\] = ")
"""Writes that torch lets pass, with a warning, where several elements share a place (docs/storage.md)."""
WALK = re.compile(r"backward\(|autograd\.grad\(")
OVERWRITTEN = re.compile(
    "one of the variables needed for .* modified by|Output 0 of .* is a view and is being modified"
)
RENAMED = re.compile(r"no_grad\(\): \w+\.(\w*squeeze|t|transpose|swap\w+)_\(|chunk|split|unbind")
"""What has torch describe what was written by another shape or name, or as a view of several (docs/storage.md)."""


def of_a_turned_tensor(past: list[Statement]) -> bool:
    """Whether a gradient was asked of a tensor after `t_()` under `no_grad`: for what was recorded before, it is
    another tensor here (docs/storage.md)."""
    turned: set[str] = set()
    for each in past:
        asked = re.search(r"autograd\.grad\(.*?(\w+)\]?, allow_unused", each.text)
        if asked and asked[1] in turned:
            return True
        turned |= set(re.findall(r"no_grad\(\): (\w+)\.t_\(\)", each.text))
    return False


def left_open(past: list[Statement], sort: str, expected: Any, given: Any) -> bool:
    """Whether a difference is one of those that docs/storage.md names: that a gradient which is a constant requires
    none; that nothing is called for a leaf which requires none any more; pieces by `as_strided`; hooks, and what is
    retained, of a tensor that has another shape by now; and that there is no gradient of a turned tensor."""
    text = "\n".join(each.text for each in past)
    nothing = given is None or (sort == "hooks" and any(value is None for _, value in given))
    if sort in ("layout", "hooks") and nothing and of_a_turned_tensor(past):
        return True
    if re.search(r"zero_|fill_|copy_|\] = ", text) and "create_graph" in text:
        requires = expected is True or (sort == "grad is there" and expected and expected[1])
        return bool(requires) and sort in ("grad is there", "requires_grad, is_leaf")
    ended = set(re.findall(r"(\w+)\.(?:requires_grad_\(False\)|detach_\(\))", text))
    called = re.findall(r"(\w+)\.register_post_accumulate_grad_hook\(lambda leaf: (\w*)", text)
    if sort != "memory shared" and any(name in ended and (sort == "hooks" or does != "note") for name, does in called):
        return True
    turned = set(re.findall(r"no_grad\(\): (\w+)\.t_\(\)", text))
    return (
        ("as_strided" in text and isinstance(expected, Failure))
        or (
            sort == "grad is there"
            and bool(re.search(r"retain_grad\(\)(.|\n)*\.(\w*squeeze|t|transpose|swap\w+)_\(", text))
        )
        or (sort == "hooks" and bool(turned & set(re.findall(r"(\w+)\.(?:grad_fn\.)?register_hook", text))))
    )


def saved_as_result(x: Any) -> bool:
    """Whether the step that made x saved x. Then that has a copy of what x held; whatever else saved x has x itself."""
    return x is not None and type(x.grad_fn).__name__ in ("TanhBackward0", "ReluBackward0")


def mixes(program: list[Statement], theirs: Any) -> bool:
    """Whether a backward uses values that were saved and then written through `.data`: torch, which does not count such
    writes, mixes old and new ones (docs/autograd.md). It is seen by writing through `.detach()`, which counts."""
    run = Run(theirs)
    for each in program:
        text = re.sub(r"\.data \+= (.*)", r".detach().add_(\1)", each.text)
        given = re.match(r"(\w+)\.data = (.*)", text)
        if given and not saved_as_result(run.names[given[1]]):
            text = f"{given[1]}.detach().copy_({given[2]})"
        text = re.sub(r"\.data -= (.*)", r".detach().sub_(\1)", text)
        text = re.sub(r"\.data\b(?! =)", ".detach()", text)
        failed = run.execute(Statement(each.kind, text), text)
        if isinstance(failed, Failure) and failed.sentence.startswith("one of the variables needed for gradient"):
            return True
    return False


class Failure(NamedTuple):
    kind: str
    sentence: str


class Disagreement(NamedTuple):
    """Which sort, of what exactly, after which kind of statement; and in which statement, with both outcomes."""

    sort: str
    what: str
    after: str
    where: str
    expected: Any
    given: Any

    @property
    def kind(self) -> tuple[str, str, str]:
        return self[:3]

    def __str__(self) -> str:
        return f"# {self.sort}, {self.where}\n#   torch   {self.expected}\n#   jaxvjp  {self.given}"


class UndefinedError(Exception):
    """A value is too large to be compared, or none."""


def sort_of_error(expected: Any, given: Any) -> str:
    if not isinstance(given, Failure):
        return "missing error"
    return "other error" if isinstance(expected, Failure) else "error without torch's"


def general(outcome: Any) -> str:
    """An outcome without what differs from program to program."""
    if isinstance(outcome, Failure):
        return f"{outcome.kind}: {re.sub(r'[0-9]+|[0-9, ]*[0-9]', '0', outcome.sentence)[:90]}"
    return str(outcome) if isinstance(outcome, bool | None) else "a value"


def largest(value: Any) -> float:
    """The largest of the numbers in a plain value, infinite if one is NaN."""
    if isinstance(value, list | tuple):
        return max(map(largest, value), default=0.0)
    if not isinstance(value, float):
        return 0.0
    return math.inf if math.isnan(value) else abs(value)


def close(expected: Any, given: Any) -> bool:
    """Equal, floats to 1e-5 of the largest: elements that cancel are as exact as what they came from."""
    if (size := largest(expected)) > LARGEST:
        raise UndefinedError
    return same(given, expected, 1e-5, 1e-5 * max(1.0, size))


def differences(ours: Run, theirs: Run, ignored: set[str]) -> Iterator[tuple[str, str, str, Any, Any]]:
    """In what the variables differ: its sort, its name for all programs and for this one, and both outcomes."""
    expected, given = ([(name, plain(grad)) for name, grad in run.calls] for run in (theirs, ours))
    ours.calls.clear(), theirs.calls.clear()
    if "hooks" not in ignored and not close(expected, given):
        what = "values" if [name for name, _ in expected] == [name for name, _ in given] else "calls"
        yield "hooks", what, what, expected, given
    mine = ours.variables()
    if mine.keys() != theirs.variables().keys():
        yield "variables", "", "names", sorted(theirs.variables()), sorted(mine)
    for what, (sort, see) in COMPARED.items():
        for name, x in theirs.variables().items():
            if what not in ignored and what not in theirs.loose.get(name, ()):
                expected, given = (
                    run.tried(partial(seen, see, each)) for run, each in ((theirs, x), (ours, mine[name]))
                )
                if not close(expected, given):
                    text = what if sort == "value" else f"{what}: torch {general(expected)}, jaxvjp {general(given)}"
                    yield sort, text, f"{name}.{what}", expected, given
    if "data_ptr" not in ignored and hasattr(ours.module.Tensor, "data_ptr"):
        expected, given = shared(theirs), shared(ours)
        if expected != given:
            yield "memory shared", "", "data_ptr()", expected, given


def seen(see: Callable[[Any], Any], x: Any, torch: Any) -> Any:
    return x if x is None else see(x)


def shared(run: Run) -> list[list[str]]:
    """Which variables begin at the same place in memory."""
    groups: dict[int, list[str]] = defaultdict(list)
    for name, x in run.variables().items():
        if x is not None and x.numel():
            groups[x.data_ptr()].append(name)
    return sorted(groups.values())


def disagreements(
    program: Program, ignored: Iterable[str] = (), ours: Any = jaxvjp, theirs: Any = live
) -> Iterator[Disagreement]:
    """Runs a program under both modules, up to its first disagreement that is not harmless."""
    ignored = set(ignored)
    runs = Run(theirs), Run(ours)
    steps = [("before", each) for each in program.before]
    steps += [(f"round {number}", each) for number in range(program.rounds) for each in program.inside]
    steps = [(place, each) for place, each in steps if not lacking(each.text, ours, theirs)]
    codes: dict[Statement, Any] = {}
    for line, each in enumerate([*program.before, *program.inside]):
        codes.setdefault(each, compile("\n" * line + each.text, "<program>", "exec"))
    elsewhere = False  # whether a view was given other data: for torch, a view of what it was still (docs/storage.md)
    restrided = False  # whether the base of a view got other strides by set_: torch takes the view anew by those
    for number, (place, each) in enumerate(steps, 1):
        if BY_STRIDES.search(each.text) and laid_out_apart(each.text, *runs):
            return
        shapes, views, bases = shapes_of(runs[0]), views_of(runs[0]), bases_of(runs[0])
        expected, given = (run.execute(each, codes[each]) for run in runs)
        where = f"{place}, {each.text}"
        elsewhere |= any(re.search(rf"\b{name}(\.data = |\.set_)", each.text) for name in views)
        restrided |= ".set_(" in each.text and bases_of(runs[0]) != bases
        if each.kind in ("set data", "set_") and any(
            shapes.get(name, shape) != shape for name, shape in shapes_of(runs[0]).items()
        ):
            return  # what graphs of the tensor in its old shape give is left open
        if isinstance(given, Failure) and (
            given.sentence.startswith(REFUSED) or (expected != given and "as_strided" in each.text)
        ):
            return
        if isinstance(expected, Failure) and GIVEN_UP.match(expected.sentence):
            return
        if isinstance(given, Failure) and expected == given and (WALK.search(each.text) or each.kind == "hook"):
            return  # torch may have gone part of the way, jaxvjp has not (docs/storage.md)
        if expected != given:
            said = [each.sentence for each in (expected, given) if isinstance(each, Failure)]
            if elsewhere or (len(said) == 1 and said[0].startswith(FORGOTTEN) and program.compared != "statement"):
                return
            past = "\n".join(every.text for _, every in steps[:number])
            if given is None and "as_strided" in past and said[0].startswith("Output 0 of AsStrided is a view"):
                return
            if len(said) == 2 and all(map(OVERWRITTEN.match, said)) and RENAMED.search(past):
                return
            if ".set_(" in past and "autograd.grad" in each.text:
                return  # for torch, what was recorded before is of another leaf
            overwritten = expected is not None and OVERWRITTEN.match(said[0])
            if given is None and overwritten and of_a_turned_tensor([every for _, every in steps[:number]]):
                return
            if given is not None and expected is None and MASKED.search(each.text) and "unsupported" in said[0]:
                return
            what = f"torch {general(expected)}, jaxvjp {general(given)}"
            yield Disagreement(sort_of_error(expected, given), what, each.kind, where, expected, given)
            return
        due = number == len(steps) or program.compared == "statement"
        if due or (program.compared == "round" and steps[number][0] != place):
            after = each.kind if program.compared == "statement" else f"a {program.compared}"
            try:
                for sort, what, name, expected, given in differences(runs[1], runs[0], ignored):
                    past = [every for _, every in steps[:number]]
                    if restrided and what in ("grad's value", "values"):
                        return
                    if elsewhere or left_open(past, sort, expected, given) or mixes(past, theirs):
                        return
                    yield Disagreement(sort, what, after, f"{name} after {where}", expected, given)
                    if (attribute := name.partition(".")[2]) not in HARMLESS:
                        return
                    ignored.add(attribute)
            except UndefinedError:
                return


def lacking(text: str, ours: Any, theirs: Any) -> list[str]:
    """The methods in a statement that our module does not have yet: neither module runs it."""
    names = re.findall(r"\.(\w+)", text)
    return [name for name in names if hasattr(theirs.Tensor, name) and not hasattr(ours.Tensor, name)]


def found_in(program: Program, ignored: Iterable[str] = ()) -> dict[tuple[str, str], tuple[Program, Disagreement]]:
    """The disagreements by kind, each where possible with the program that is compared after each statement."""
    found = {each.kind[:2]: (program, each) for each in disagreements(program, ignored)}
    if found and program.compared != "statement":
        often = replace(program, compared="statement")
        found |= {each.kind[:2]: (often, each) for each in disagreements(often, ignored) if each.kind[:2] in found}
    return found


def reduced(program: Program, disagrees: Callable[[Program], bool]) -> Program:
    """The program without what it does not need to disagree: statements in halves, quarters and so on, and rounds."""
    for rounds in range(1, program.rounds):
        if disagrees(shorter := replace(program, rounds=rounds)):
            program = shorter
            break
    for part in ("inside", "before", "inside"):
        size = len(getattr(program, part))
        while size:
            at = 0
            while at < len(kept := getattr(program, part)):
                shorter = replace(program, **{part: kept[:at] + kept[at + size :]})
                if disagrees(shorter):
                    program = shorter
                else:
                    at += size
            size //= 2
    return program


# ---- The command.


class Stopped(BaseException):
    """A program took too long."""


def within(seconds: int, function: Callable[[], Any]) -> Any:
    """What it returns, or Stopped after so many seconds."""

    def stop(*_: object) -> None:
        raise Stopped

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        return function()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def prepare() -> None:
    jax.config.update("jax_disable_most_optimizations", True)  # as in conftest.py
    gc.freeze()  # the modules need no search at each gc.collect()


def work(options: argparse.Namespace, seeds: range) -> None:
    """In a process of its own: a line of JSON for each program, with the kind of its disagreement if there is one."""
    prepare()
    for seed in seeds:
        try:
            found = within(SECONDS, lambda seed=seed: found_in(program_of(seed, options.without), options.ignore))
            kinds = [each.kind for _, each in found.values()]
        except Stopped:
            kinds = [("timeout", "", "")]
        except Exception as error:  # of the comparison, not of a statement
            kinds = [("error of a comparison", f"{type(error).__name__}: {error}"[:90], "")]
        print(json.dumps([seed, kinds]), flush=True)


def worked(options: argparse.Namespace, seeds: range) -> Iterator[tuple[int, list[tuple[str, str, str]]]]:
    """The lines of such a process, and of the next where one crashes."""
    while seeds:
        named = ["--without", ",".join(options.without), "--ignore", ",".join(options.ignore)]
        command = [sys.executable, __file__, "--worker", "--seeds", f"{seeds.start}:{seeds.stop}", *named]
        lines = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout.splitlines()
        for line in lines:
            seed, kinds = json.loads(line)
            yield seed, [tuple(each) for each in kinds]
        seeds = seeds[len(lines) :]
        if seeds:
            yield seeds[0], [("crash", "", "")]
            seeds = seeds[1:]


def smallest(seed: int, kind: tuple[str, str], options: argparse.Namespace) -> str:
    """The program of a seed, reduced to one disagreement, and both outcomes."""
    program, _ = found_in(program_of(seed, options.without), options.ignore)[kind]

    def found(shorter: Program) -> Disagreement | None:
        return next((each for each in disagreements(shorter, options.ignore) if each.kind[:2] == kind), None)

    program = reduced(program, lambda shorter: found(shorter) is not None)
    return f"{program}\n{found(program)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0:200", help="first:end, or one")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--reduce", type=int, default=10, help="of how many kinds of disagreement a program is reduced")
    names = {"type": lambda text: frozenset(text.split(",")) - {""}, "default": frozenset()}
    parser.add_argument("--without", help="kinds of statements to leave out", **names)
    parser.add_argument("--ignore", help="what not to compare", **names)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    first, _, end = options.seeds.partition(":")
    seeds = range(int(first), int(end or int(first) + 1))
    if options.worker:
        return work(options, seeds)
    if len(seeds) == 1:
        print(program_of(first, options.without))
    start, done, disagree = time.monotonic(), 0, 0
    seeds_of: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    with ThreadPoolExecutor(options.processes) as pool:
        size = min(AT_ONCE, -(-len(seeds) // options.processes))
        shares = [seeds[at : at + size] for at in range(0, len(seeds), size)]
        for share in pool.map(lambda share: list(worked(options, share)), shares):
            for seed, kinds in share:
                disagree += bool(kinds)
                for kind in kinds:
                    seeds_of[kind].append(seed)
            done += len(share)
            print(f"{done} programs, {done / (time.monotonic() - start):.1f} a second: {disagree} disagree", flush=True)
    often = sorted(seeds_of, key=lambda kind: -len(seeds_of[kind]))
    for kind in often:
        print(f"{len(seeds_of[kind]):6}  {' | '.join(kind)}  {seeds_of[kind][:4]}")
    prepare()
    for kind in [each for each in often if each[1]][: options.reduce]:
        text = smallest(seeds_of[kind][0], kind[:2], options)
        print(f"\n## {len(seeds_of[kind])} of {done}: {' | '.join(kind)}\n{text}", flush=True)
    return None


if __name__ == "__main__":
    main()
