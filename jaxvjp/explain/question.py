"""What a `backward` that failed for its v leaves open: which v? J, and the gradient for each choice of it."""

from __future__ import annotations

import ast

import numpy as np

from jaxvjp.autograd.roots import ones_for
from jaxvjp.core.record.graph import gradient_edges, reachable
from jaxvjp.core.record.observers import Walked
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.explain import terminal
from jaxvjp.explain.explained import Explained
from jaxvjp.explain.jacobian import Array, Jacobian
from jaxvjp.explain.names import statement
from jaxvjp.explain.refusal import Refusal
from jaxvjp.explain.story import Refused, Story, story_of, used_up
from jaxvjp.types.user_code import own_name

MOST = 3
"""So many numbers of y are proposed one by one."""


class Question(Explained):
    """The program of a result y up to its `backward`, as it would be with ones as v; `asked` says what is open.

    Attributes:
        result: y.
        given: the v that it got, None without one.
        why: what the error said of v.
        where: the line that called `backward`.
        freed: whether a backward before freed the graph.
    """

    def __init__(self, refused: Refused, recorded: Story) -> None:
        self.result, self.given, self.where, self.freed = refused.root, refused.gradient, refused.where, refused.freed
        told = refused.text.splitlines()
        self.why = told[0] if refused.gradient is not None or len(told) > 2 else "\n".join(told)
        story = story_of(self.result, None, refused.frame, recorded)
        freed = any(map(used_up, reachable([self.result.__node__], gradient_edges)))
        super().__init__(story, exact=freed)  # of a freed graph no gradient can be computed to compare with
        self._library = own_name(refused.frame)
        source = statement(self.where)
        call = None if source is None else source.expression
        self._grad: ast.Call | None = None
        self._arguments: dict[str | None, ast.expr] = {}
        if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] == "grad":
            arguments = {each.arg: each.value for each in call.keywords}
            arguments |= zip(("outputs", "inputs", "grad_outputs"), call.args, strict=False)
            if "inputs" in arguments and not any(isinstance(each, ast.Starred) for each in call.args):
                self._grad, self._arguments = call, arguments

    @property
    def name(self) -> str:
        """The user's name of y."""
        return self.names(self.walks[0])[self.result.__node__]

    def results(self, walked: Walked) -> list[str]:
        """The name of y, which the choices have, too."""
        return [self.name]

    def had(self) -> dict[str, Array]:
        """What each leaf's `grad` is already, by the leaf's name."""
        walked = self.walks[0]
        known = {leaf: each for leaf, each in walked.before.items() if each is not None and self._grad is None}
        evaluate([*known.values()])
        return {self.names(walked)[leaf]: np.asarray(each.value) for leaf, each in known.items()}

    def line(self, root: str, v: str = "") -> str:
        """What the user could write to differentiate `root`: a `backward`, or `grad` of the same inputs."""
        if self._grad is None:
            return f"{root}.backward({v})"
        arguments = [root, ast.unparse(self._arguments["inputs"]), *([v] if v else [])]
        known = {"outputs", "inputs", "grad_outputs"}
        arguments += [ast.unparse(each) for each in self._grad.keywords if each.arg not in known]
        return f"{ast.unparse(self._grad.func)}({', '.join(arguments)})"

    def choices(self) -> list[tuple[str, str, Array]]:
        """What can be written in place of the `backward` that failed: the line, whose gradient it gives, and v."""
        shape, count, name = list(self.result.shape), self.result.numel(), self.name
        ones: Array = np.ones(shape)
        parts: dict[str, complex] = {"": 1}
        if self.result.is_complex():
            ones, parts = ones.astype(complex), {".real": 1, ".imag": 1j}
        if count == 1:
            return [(self.line(f"{name}{part}"), f"{name}{part}", v * ones) for part, v in parts.items()]
        real = next(iter(parts))
        line = self.line(name, ones_for(self.result, self._library))
        found = [(line, f"{name}{real}.sum(): all count alike", ones)]
        found.append((self.line(f"{name}{real}.mean()"), f"the mean of {name}{real}", ones / max(count, 1)))
        for place, label in enumerate(terminal.labels(name, tuple(shape))[:MOST]):
            row = ones * (np.arange(count) == place).reshape(shape)
            for part, v in parts.items():
                found.append((self.line(f"{label}{part}"), f"{label}{part} alone: its row of J", v * row))
        return found

    def asked(self) -> str:
        """The question in words, J, and vᵀJ for each choice of v."""
        shape, count, name, choices = list(self.result.shape), self.result.numel(), self.name, self.choices()
        said = "".join(f"{terminal.wrapped(line)}\n" for line in self.why.splitlines())
        said += "" if self.called(self.result.__node__) else f"Call the result {name} first: `{name} = ...`.\n"
        if self.given is not None and list(self.given.shape) != shape:
            said += f"The v has shape {list(self.given.shape)}, and needs {shape}.\n"
        elif self.given is not None:
            said += f"The v has numbers of type {self.given.dtype}, and {name} of type {self.result.dtype}.\n"
        if self.freed:
            said += f"A backward before freed the graph of {name}: give that one `retain_graph=True`.\n"
        said += f"{name} has {count} number{'s' * (count != 1)}: which weights? v has one for each.\n"
        said += "The gradient is vᵀJ: the rows of J, each times its weight, added up."
        try:
            found = self.jacobian()
        except Refusal:  # too large to be laid out, or of a Function whose graph is freed
            laid_out, names = [], []
        else:
            asked = {ast.unparse(each) for each in ast.walk(self._arguments.get("inputs", ast.Tuple([])))}
            matrices = [matrix for matrix in found.matrices if matrix.name in asked] or found.matrices
            laid_out = [terminal.matrix(*found.parts(matrix)[0]) for matrix in matrices]
            names = [matrix.name for matrix in matrices]
        rows, had = [], self.had()
        for each in had:
            said += f"\n{each}.grad is {terminal.numbers(had[each])}, from a backward before: vᵀJ is added to that."
        for line, whose, v in choices:
            weighted = [Jacobian(name, v, found.matrices).product(each) + had.get(each, 0) for each in names]
            rows.append([line, *map(terminal.numbers, weighted), whose])
        if count > MOST:
            rows.append(["...", *["" for _ in names], f"and so on, {count} elements in all"])
        heads = [f"{each}.grad" if self._grad is None else f"{each}_grad" for each in names]
        table = terminal.aligned(["write", *heads, "the gradient of"], rows)
        return "\n\n".join([said, *laid_out, table])
