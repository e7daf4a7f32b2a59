"""What an explanation says: the program, which can be printed, run and checked, its Jacobian, cotangents, picture."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxvjp.autograd.backward import grad
from jaxvjp.autograd.function_step import shown_tensor
from jaxvjp.core.derive.pullback import pullback
from jaxvjp.core.record.graph import Node, gradient_edges, reachable
from jaxvjp.core.record.observers import Hooked, Read, Stepped, Walked
from jaxvjp.core.record.record import constant
from jaxvjp.core.record.user_lines import UserLine
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.explain.apart import run_apart, staged
from jaxvjp.explain.chain import HOOK, Cotangents, Link, cotangents_of
from jaxvjp.explain.decisions import Asked
from jaxvjp.explain.jacobian import Jacobian, begun, jacobian_of, recorded_jacobian
from jaxvjp.explain.layout import WIDE_TYPES
from jaxvjp.explain.literals import shortened
from jaxvjp.explain.names import Statement, assigned, numbered, statement
from jaxvjp.explain.notebook import coloured
from jaxvjp.explain.picture import Picture, picture_of
from jaxvjp.explain.refusal import Refusal, Unshowable
from jaxvjp.explain.source import Program, all_nodes, computed, executed, write
from jaxvjp.explain.story import Event, Story, hooks_before, of_transform, used_up
from jaxvjp.explain.tape import UnknownError
from jaxvjp.explain.terminal import wrapped
from jaxvjp.explain.text import Text, of_pullback
from jaxvjp.ops.identity import clone
from jaxvjp.testing import assert_close

TOLERANCES = {
    "bfloat16": 4e-2,
    "float16": 1e-2,
    "float32": 2e-4,
    "complex64": 2e-4,
    "float64": 1e-9,
    "complex128": 1e-9,
}
"""How far numbers may be apart in `check`, relative to themselves and to the largest of their tensor, in a program with
values of these dtypes."""
ROUNDED = """\
# Rounding decides {} here, as it does where a gradient is zero but for rounding.
# This program may give another number there than your lines did."""
FAR = 1e-2
"""How far numbers may be apart before a program is said not to give them."""
UNLIKE = """\
# This program gives another {} than your lines did. Rounding may decide it, as where entries of a max are equal but for
# it. If the program does so in double precision, too, that is a fault of jaxvjp: please report it, with your lines."""
WIDER = {"jnp.float32": "jnp.float64", "jnp.complex64": "jnp.complex128"}
NARROW = re.compile(r"('\), )?\b(jnp\.float32|jnp\.complex64)\b(\))?")
"""A type in single precision, and what is around it in `frombuffer(b64decode('...'), jnp.float32)`: that stays."""
NO_JACREV = (
    'jax.vjp stands where style="jacrev" has no form: for several backwards through one graph, a backward of several '
    "results or of one that is too large, a hook on the way."
)
LONGEST = 400
"""A program of more lines than this is printed shortened."""


class Explained:
    """An imperative program as a functional one. `print` shows it; its `str` runs."""

    def __init__(self, story: Story, style: str = "vjp", exact: bool = False) -> None:
        self._story: Story | None = story
        self._style, self._exact = style, exact
        self._programs: dict[str, Program] = {}
        self._cotangents: dict[int, Cotangents] = {}
        self.asked_of: Asked = {}  # what a script asked for its value, which may have decided what ran

    @property
    def story(self) -> Story:
        """The recorded events."""
        if self._story is None:
            raise RuntimeError(
                "the recording has not ended: leave the `with jaxvjp.explain.recording()` block, and explain then"
            )
        return self._story

    @property
    def program(self) -> Program:
        """The program in the style of this explanation. Ops have plain forms in it, `jnp.abs`, if it gives then what
        was recorded; at an edge, such as `abs` at 0, it does not, and the forms are those with torch's derivatives.
        Where only rounding decides that, the program says so."""
        if self._instead is not None:
            return self._instead.program
        if self._style not in self._programs:
            found, said = self._written(self._exact), ""
            heard = _Heard(found)
            others = self._others(found, heard) if found.simplified else []
            if others and not _rounded(found, exact := self._written(True), others):
                found = exact
            elif not others and heard.differ:
                found = self._written(True)
            # NumPy computes here what NumPy may have recorded: that rounding decides, double precision shows.
            elif others or (found.simplified and (others := self._others_in_double(found))):
                said = ROUNDED.format(others[0])
            if (others or not found.simplified) and (others := self._unlike(found)):
                said = UNLIKE.format(others[0])
            if said:
                found = found._replace(source=f"{said}\n\n{found.source}", lines=[*[()] * 3, *found.lines])
            self._programs[self._style] = found
        return self._programs[self._style]

    def _written(self, exact: bool) -> Program:
        with jax.enable_x64(True), self.story.told() as story:
            found = write(story, self._style, exact)
        if found.narrowed and not self._as_recorded(found):
            with jax.enable_x64(True), self.story.told() as story:
                found = write(story, self._style, exact, wide_types=True)
        return found

    def _as_recorded(self, program: Program) -> bool:
        """Whether a program gives what was recorded, with integers of 32 bits in the place of 64."""
        try:
            return not self._others(program)
        except Exception:  # what it raises is for its run, as that `lax.while_loop` has no reverse mode
            return False

    def _unlike(self, program: Program) -> list[str]:
        """The expressions of which a program gives other numbers than what was recorded, in double precision, too."""
        try:
            expected = self._expected(program)
            found = zip(expected, computed(program, [text for text, _ in expected]), strict=True)
            others = {
                text: own
                for (text, value), own in found
                if value is not None and own is not None and _differs(own, value)
            }
            steady = computed(_doubled(program), [*others]) if others else []
        except Exception:  # as in `_as_recorded`
            return []
        return [text for text, double in zip(others, steady, strict=True) if not _differs(others[text], double)]

    @property
    def source(self) -> str:
        """The whole text, which runs by itself; `print` shows the beginning of long arrays and programs."""
        return self.program.source

    def __str__(self) -> str:
        lines = shortened(self.source).splitlines()
        if len(lines) > LONGEST:
            left_out = len(lines) - 80
            lines = [*lines[:50], f"# ... {left_out} more lines: `.source` has them all ...", *lines[-30:]]
        return "\n".join([*lines, *[f"\n{each}" for each in [self.remarks()] if each]])

    def remarks(self) -> str:
        """What is `asked`, or with what error the script ended, as comments."""
        ended = [wrapped(f"The script ended with an error at {each}") for each in self.failure.splitlines()[:1]]
        told = (self.asked() or "".join(ended)).splitlines()
        if self._style == "jacrev" and "jax.vjp(" in self.source:
            told += wrapped(NO_JACREV).splitlines()
        return "\n".join(f"# {line}".rstrip() for line in told)

    __repr__ = __str__

    def run(self) -> dict[str, Any]:
        """Executes the printed text in a fresh namespace and returns its gradients by name."""
        namespace = executed(self.program)
        return {result.variable: namespace[result.variable] for result in self.program.results}

    def check(self, rtol: float | None = None, atol: float | None = None) -> dict[str, Any]:
        """Runs the program in a process of its own, as it is and with each function under `jax.jit`, and compares.
        A program that calls functions which are not JAX's (`jaxvjp.wrap`) runs in this process.

        Compared are the gradients, and for a recording everything that the user can still read: parameters, buffers,
        losses. The gradients are those of `.grad` at the end; for one result those of `autograd.grad`.

        Args:
            rtol, atol: how far numbers may be apart, relative and absolute; by default as the dtype suggests.

        Returns:
            The gradients by name.

        AssertionError if one differs; RuntimeError if the program does not run.
        """
        program = self.program
        expected = self._expected(program)
        wanted = [text for text, _ in expected]
        runs = _run_here(program, wanted) if program.handed_over else run_apart(program.source, wanted)
        self._compare(program, expected, runs, rtol, atol)
        with jax.enable_x64(True):
            return {result.variable: jnp.asarray(runs[0][result.variable]) for result in program.results}

    def _others(self, program: Program, heard: _Heard | None = None) -> list[str]:
        """The expressions of which a program does not give what was recorded."""
        expected, others = self._expected(program), []
        if heard is not None:
            with self.story.told():
                evaluate([node for nodes in program.received.values() for node in nodes])
        values = computed(program, [text for text, _ in expected], heard)
        for (text, value), found in zip(expected, values, strict=True):
            try:
                self._compare(program, [(text, value)], [{text: found}], None, None)
            except AssertionError:
                others.append(text)
        return others

    def _others_in_double(self, program: Program) -> list[str]:
        """The same in double precision; none, if the program does not run in it."""
        try:
            return self._others(_doubled(program))
        except (TypeError, ValueError, NameError):
            return []

    def _compare(
        self, program: Program, expected: Any, runs: Sequence[Any], rtol: float | None, atol: float | None
    ) -> None:
        for found, how in zip(runs, ("", " under jax.jit"), strict=False):
            for text, value in expected:
                assert (found[text] is None) == (value is None), f"{text}{how} is {found[text]}, expected {value}"
                if value is not None:
                    array = np.asarray(value)
                    own = max(TOLERANCES.get(each, 0.0) for each in (array.dtype.name, *program.dtypes))
                    relative = rtol if rtol is not None else own if array.dtype.kind not in "iub" else 0.0
                    _compare(f"{text}{how}", found[text], array, relative, atol)

    @property
    def walks(self) -> list[Walked]:
        """The backward passes, in order; for one result the one that `backward` would do."""
        return [event.what for event in self.story.passes]

    @property
    def transforms(self) -> bool:
        """Whether there is a backward pass, if only one that was refused for its v, or a transform such as
        `torch.func.grad` or `vmap`."""
        with self.story.told() as story:
            return bool(self.walks or self.question) or any(map(of_transform, all_nodes(story)))

    failure = ""
    """Where and with what error the script ended."""

    @property
    def question(self) -> Explained | None:
        """What a `backward` that was refused for its v would have been; None without one."""
        return None

    @property
    def _instead(self) -> Explained | None:
        """The question, where no backward pass has ended: the program, J and picture are its."""
        return None if self.walks else self.question

    def asked(self) -> str:
        """What that backward leaves open, in words; "" without one."""
        return self.question.asked() if self.question else ""

    def jacobian(self, number: int = -1) -> Jacobian:
        """The Jacobian J of backward pass `number` (the last by default), with v and vᵀJ.

        ValueError if it is too large, or if the pass began at several tensors.
        """
        if self._instead is not None:
            return self._instead.jacobian()
        walked = self._walk(number)
        names = self.names(walked)
        if self.story.hypothetical and not any(map(used_up, reachable(walked.roots, gradient_edges))):
            return jacobian_of(walked, names)
        with self.story.told() as story:
            found = recorded_jacobian(story, walked, names)
        found.hooked = bool(self.hooked(walked))
        return found

    def cotangents(self, number: int = -1, directions: Any = None) -> Cotangents:
        """The chain rule in numbers: backward pass `number` (the last by default), step by step.

        `directions` are other v's than the one that ran, stacked, for each tensor at which it began: each cotangent has
        their dimension in front then.
        What a hook or a Function of the user's returned stays that of the v that ran.
        """
        walked, place = self._walk(number), number % len(self.walks)
        if directions is None and place in self._cotangents:
            return self._cotangents[place]
        if directions is not None and all(
            len(each) == 1 and np.array_equal(each[0], v) for each, v in zip(directions, begun(walked)[1], strict=True)
        ):
            return Cotangents(
                link._replace(arrives=link.arrives[None], leaves=[(name, value[None]) for name, value in link.leaves])
                for link in self.cotangents(number)  # it is the v that ran
            )
        steps = {step: ran.results for step, ran in self.story.stepped().items()}
        with self.story.told():
            found = cotangents_of(walked, self._label(walked), steps, self.hooked(walked), directions)
        if directions is None:
            self._cotangents[place] = found
        return found

    def hooked(self, walked: Walked) -> dict[Node, Node]:
        """For each node whose hooks were called in a backward pass, the cotangent that they made."""
        return {each.node: each.after for each in self._hooks(walked)}

    def _hooks(self, walked: Walked) -> list[Hooked]:
        events = self.story.events
        return hooks_before(events, next(place for place, each in enumerate(events) if each.what is walked))

    def ran(self, walked: Walked) -> Callable[[Link], tuple[Sequence[Any], Sequence[Any]] | None]:
        """For a step of a backward pass that ran the user's code: the cotangents that it got, and what it returned."""
        stepped, hooks = self.story.stepped(), self._hooks(walked)

        def ran(link: Link) -> tuple[Sequence[Any], Sequence[Any]] | None:
            if link.operation == HOOK:
                own = [each for each in hooks if each.node is link.node]
                return [own[0].before], [own[-1].after]
            if link.node.python is None:
                return None
            step = stepped.get(link.node.python)
            if step is None:
                raise UnknownError(f"the backward of `{link.name}`, which is yours, has not run")
            if len(step.cotangents) > 1:
                raise UnknownError(f"`{link.name}` has several results")
            results = dict(zip(link.node.python.inputs, step.results, strict=True))
            return step.cotangents, [results[each] for each in link.targets]

        return ran

    def picture(self, number: int = -1, fold: int | None = None) -> Picture:
        """The recorded graph of a backward pass, with its cotangents on the edges.

        With more than `fold` nodes, the operations of a loop or of a function are drawn as one box.
        ValueError for a graph of more than 300 boxes.
        """
        if self._instead is not None:
            return self._instead.picture(fold=fold)
        walked = self._walk(number)
        with self.story.told():
            inputs, label = self.inputs_of(walked), self._label(walked)
            try:
                numbers: Cotangents | None = self.cotangents(number)
            except Refusal:  # for example, with several v at once: the picture has no cotangents then
                numbers = None
            return picture_of(list(walked.roots), inputs, label, numbers, fold)

    def inputs_of(self, walked: Walked) -> Callable[[Node], Sequence[Any]]:
        """The function that gives the inputs of a node of a backward pass; a detached one has what it was cut from."""
        text, where = self._text(walked), self._event(walked).where

        def inputs(node: Node) -> Sequence[Any]:
            own = node in walked.gradients and node.where == where  # of `hessian(f, x)` a copy that the line made
            found = () if own or (node.is_leaf and node.requires_grad) else text.inputs(node)
            # Ones, or a row of an identity, which a line that pulls back made as v, are nothing that anyone wrote.
            return [each for each in found if node.operation is not pullback or not _made_as_v(each, node)]

        return inputs

    def _repr_html_(self) -> str:
        return coloured(str(self))

    def _walk(self, number: int) -> Walked:
        walks = self.walks
        if not walks:
            raise Unshowable("no backward took place in this recording: call `y.backward()` inside of it")
        if not -len(walks) <= number < len(walks):
            raise IndexError(f"there is no backward {number}: {len(walks)} took place")
        return walks[number]

    def called(self, node: Node) -> str | None:
        """The user's name of a node, or None."""
        return Text(self.story, False).name_of(node)

    def names(self, walked: Walked) -> dict[Node, str]:
        """A name for each root and target of a backward pass; of `l.backward()` l. One without a name is `y` or `x`;
        `result`, where the user calls something else `y`."""
        where = self._event(walked).where
        assigned_there, method = assigned(where), self._callee(walked)
        known = {node: self.called(node) for node in [*walked.gradients, *walked.roots]}
        for node, name in known.items():
            if node.where == where and name == assigned_there:
                known[node] = None  # in `H = hessian(f, x)` the result is H, and not what it is computed of
        if isinstance(method, ast.Attribute) and isinstance(method.value, ast.Name) and method.attr == "backward":
            known[walked.roots[0]] = known[walked.roots[0]] or method.value.id
        names: dict[Node, str] = {node: each for node, each in known.items() if each is not None}
        result = "result" if "y" in self.story.names.values() else "y"
        for node in known:
            base = "x" if node in walked.gradients else "gradient" if of_pullback(node) else result
            names[node] = names.get(node) or numbered(base, {*names.values()})
        return names

    def results(self, walked: Walked) -> list[str]:
        """What a backward pass began at: names, or expressions in the user's lines."""
        label = self._label(walked)
        return [label(root) for root in walked.roots]

    def _label(self, walked: Walked) -> Callable[[Node], str]:
        """The label of a node of a backward pass; of a recorded backward pass, what it began at."""
        text, names = self._text(walked), self.names(walked)
        where = self._event(walked).where
        used = {*reachable(walked.roots, gradient_edges)}

        def label(node: Node) -> str:
            if node.operation is pullback and (known := self.story.transformed.get(node)) is not None:
                given = [names.get(each) or text.name_of(each) for each in known.results if each in used]
                return ", ".join(filter(None, given)) or f"backward of {', '.join(map(text.label_of, known.outputs))}"
            if node.where == where:  # what the function called there made for itself
                copied = node.inputs[0] if node.operation is clone and node not in names else None
                return f"a copy of {label(copied)}" if type(copied) is Node else names.get(node) or text.label_of(node)
            return text.written_of(node) or names.get(node) or text.label_of(node)

        return label

    def caller(self, walked: Walked) -> str:
        """The name of the function that a line of the user's called for a backward pass, such as `grad`."""
        function = self._callee(walked)
        return str(getattr(function, "attr", getattr(function, "id", "")))

    def _callee(self, walked: Walked) -> ast.expr | None:
        """What is called in the user's line of a backward pass: `y.backward`."""
        source = statement(self._event(walked).where)
        return getattr(None if source is None else source.expression, "func", None)

    def _event(self, walked: Walked) -> Event:
        return next(event for event in self.story.events if event.what is walked)

    def _text(self, walked: Walked, *others: Node) -> Text:
        """The names of all nodes of a backward pass, and of what `others` are computed from."""
        text = Text(self.story, False)
        text.look_over(reachable([*walked.roots, *others], lambda node: node.inputs))
        return text

    def read(self, walked: Walked) -> list[Statement]:
        """The user's statements that read a value on which what a backward pass computed may depend: one that was
        computed from its targets, before its roots were, or in a hook or a Function from the cotangents."""
        events = self.story.events
        place = next(place for place, each in enumerate(events) if each.what is walked)
        given = [each.before for each in self._hooks(walked)]
        until = max(each.serial for each in walked.roots)
        ran = [each.what for each in events[:place] if isinstance(each.what, Stepped) and each.order > until]
        given += [v for each in ran for v in each.cotangents if v is not None]
        since = min([each.serial for each in given], default=math.inf)
        lines: dict[UserLine, list[Node]] = {}
        for event in events if self.story.hypothetical else events[:place]:
            if isinstance(event.what, Read) and not since > event.order > until:
                lines.setdefault(event.where, []).append(event.what.node)
        with self.story.told():
            text = self._text(walked, *[each for own in lines.values() for each in own])
            moving = {*walked.gradients, *given}
            found = [
                statement(where) for where, own in lines.items() if not moving.isdisjoint(reachable(own, text.inputs))
            ]
        return [each for each in found if each is not None and not each.prints]

    def _expected(self, program: Program) -> list[tuple[str, Any]]:
        """What a program computes, as expressions, and the values that these should have."""
        with self.story.told():
            evaluate([node for _, node in program.state])
        gradients = zip([result.variable for result in program.results], self._gradients(program), strict=True)
        return [*gradients, *[(text, node.value) for text, node in program.state]]

    def _gradients(self, program: Program) -> list[Any]:
        """The gradient that each result of a program should equal; None if there is none."""
        story, results = self.story, program.results
        if not story.hypothetical:
            with story.told():
                evaluate([result.gradient for result in results if result.gradient is not None])
            return [None if result.gradient is None else result.gradient.value for result in results]
        walked = story.events[0].what
        begun = zip(walked.roots, walked.cotangents, strict=True)
        given = [shown_tensor(constant(1, root.aval) if v is None else v) for root, v in begun]
        roots, leaves = [[shown_tensor(each) for each in of] for of in (walked.roots, [each.node for each in results])]
        pulled = grad(roots, leaves, given, retain_graph=True, allow_unused=True)
        return [None if each is None else each.__value__ for each in pulled]


def _made_as_v(node: Any, pulled: Node) -> bool:
    """Whether an input of a pullback is a constant that its own instruction made."""
    own = type(node) is Node and node.where == pulled.where and not node.requires_grad
    return own and node.operation is not None and not any(type(each) is Node for each in node.inputs)


class _Heard:
    """Hears what a program assigns to gradients: they `differ` from those that were recorded, if one had other numbers
    before the next took its place, as `x.grad = None` has it."""

    def __init__(self, program: Program) -> None:
        self.received = program.received
        self.count, self.passed = dict.fromkeys(self.received, 0), dict.fromkeys(self.received, 0)

    def __call__(self, name: str, value: Any) -> None:
        nodes, place = self.received[name], self.passed[name]
        self.count[name] += 1
        if place < len(nodes) and not _differs(value, nodes[place].value):
            self.passed[name] += 1

    @property
    def differ(self) -> bool:
        return any(self.passed[name] < len(nodes) <= self.count[name] for name, nodes in self.received.items())


def _run_here(program: Program, wanted: list[str]) -> list[dict[str, Any]]:
    """What `run_apart` gives, in this process."""
    spaces = [executed(program, form) for form in (str, staged)]
    values = [{each: eval(each, space) for each in wanted} for space in spaces]
    return [{each: None if x is None else np.asarray(x) for each, x in found.items()} for found in values]


def _doubled(program: Program) -> Program:
    """A program in double precision."""
    source = NARROW.sub(_wider, program.source)
    return program._replace(source=f"{WIDE_TYPES}\n{source}")


def _wider(found: re.Match[str]) -> str:
    wider = WIDER[found[2]]
    return f"{found[0]}.astype({wider})" if found[1] else f"{wider}{found[3] or ''}"


def _rounded(plain: Program, exact: Program, texts: Sequence[str]) -> bool:
    """Whether two programs give the same of `texts` in double precision."""
    try:
        found = [computed(_doubled(each), texts) for each in (plain, exact)]
        for text, one, other in zip(texts, *found, strict=True):
            _compare(text, one, np.asarray(other), TOLERANCES["float32"], None)
    except (AssertionError, TypeError, ValueError, NameError):  # an edge, or nothing that can be told
        return False
    return True


def _differs(found: Any, expected: Any) -> bool:
    """Whether numbers are further apart than training makes rounding grow, but where a gradient is zero but for it."""
    try:
        _compare("", found, np.asarray(expected), FAR, None)
    except AssertionError:
        return True
    return False


def _compare(what: str, found: Any, expected: Any, relative: float, absolute: float | None) -> None:
    if absolute is None:
        finite = expected[np.isfinite(expected)]
        absolute = relative * float(np.abs(finite).astype(float).max(initial=0.01)) if relative else 0.0
    assert_close(found, expected, rtol=relative, atol=absolute, equal_nan=True, msg=lambda text: f"{what}: {text}")
