"""What a `backward` that failed for its v leaves open: which v? J, and the gradient for each choice of it.

One that began at several tensors has a J for each, and a v for each.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from jaxvjp.autograd.roots import ones_for
from jaxvjp.core.record.graph import gradient_edges, reachable
from jaxvjp.core.record.observers import Walked
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.explain import terminal
from jaxvjp.explain.explained import Explained
from jaxvjp.explain.jacobian import Array, Jacobian, jacobian_of
from jaxvjp.explain.layered import USED_UP
from jaxvjp.explain.names import statement
from jaxvjp.explain.picture import Picture
from jaxvjp.explain.refusal import Refusal, Unshowable
from jaxvjp.explain.story import Refused, Story, story_of, used_up
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.user_code import own_name

MOST = 3
"""So many numbers of y are proposed one by one."""


class Question(Explained):
    """The program of a result y up to its `backward`, as it would be with ones as v; `asked` says what is open.

    Attributes:
        roots: the tensors that it began at.
        result: y, the one whose v was refused.
        given: the v that it got, None without one.
        why: what the error said of v.
        where: the line that called `backward`.
        freed: whether a backward before freed the graph.
        order: when it was refused, in the order of recording.
    """

    def __init__(self, refused: Refused, recorded: Story) -> None:
        self.result, self.given, self.where, self.freed = refused.root, refused.gradient, refused.where, refused.freed
        self.order = refused.order
        told = refused.text.splitlines()
        self.why = told[0] if refused.gradient is not None or len(told) > 2 else "\n".join(told)
        source = statement(self.where)
        call = None if source is None else source.expression
        self._grad: ast.Call | None = None
        self._arguments: dict[str | None, ast.expr] = {}
        if isinstance(call, ast.Call) and not any(isinstance(each, ast.Starred) for each in call.args):
            self._function = ast.unparse(call.func)
            self._arguments = {each.arg: each.value for each in call.keywords}
            self._arguments |= zip(("outputs", "inputs", "grad_outputs"), call.args, strict=False)
            if self._function.rpartition(".")[2] == "grad" and "inputs" in self._arguments:
                self._grad = call
        self.roots: Sequence[Tensor] = [self.result]
        outputs = self._arguments.get("outputs") or self._arguments.get("tensors")
        if outputs is not None and len(refused.roots) > 1 and all(each.requires_grad for each in refused.roots):
            self.roots, self._outputs = refused.roots, ast.unparse(outputs)
        story = story_of(self.roots[0], None, refused.frame, recorded, self.roots[1:])
        freed = any(map(used_up, reachable([each.__node__ for each in self.roots], gradient_edges)))
        super().__init__(story, exact=freed)  # of a freed graph no gradient can be computed to compare with
        self._library = own_name(refused.frame)
        names = self.names(self.walks[0])
        self._names = [names[each.__node__] for each in self.roots]
        if len(self.roots) > 1 and isinstance(outputs, ast.List | ast.Tuple):
            self._names = [ast.unparse(each) for each in outputs.elts]
        elif len(self.roots) > 1 and isinstance(outputs, ast.Name):
            self._names = [f"{outputs.id}[{place}]" for place in range(len(self.roots))]

    @property
    def name(self) -> str:
        """The user's name of y."""
        return next(name for name, root in zip(self._names, self.roots, strict=True) if root is self.result)

    def results(self, walked: Walked) -> list[str]:
        """The names of what it began at, which the choices have, too."""
        return self._names

    def picture(self, number: int = -1, fold: int | None = None) -> Picture:
        """The graph as it was then: a backward that came later may have freed it."""
        found = super().picture(number, fold)
        for box in found.boxes if not self.freed else ():
            box.marks[:] = [each for each in box.marks if each != USED_UP]
        return found

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

    def choices(self) -> list[tuple[str, str, list[Array]]]:
        """What can be written in place of the `backward` that failed: the line, whose gradient it gives, and each v."""
        if len(self.roots) == 1:
            return [(line, whose, [v]) for line, whose, v in self._choices_of_one()]
        ones: list[Array] = [np.ones(list(each.shape), each.dtype.numpy) for each in self.roots]
        written = [ones_for(each, self._library) for each in self.roots]
        zeros = [each.replace(".ones(", ".zeros(") for each in written]
        vs = f"[{', '.join(written)}]"
        line = self.line(self._outputs, vs) if self._grad else f"{self._function}({self._outputs}, {vs})"
        found = [(line, "all of them: all count alike", ones)]
        for place, (name, root) in enumerate(zip(self._names, self.roots, strict=True)):
            line = self.line(name, "" if root.numel() == 1 and not root.is_complex() else written[place])
            if self._grad:  # which refuses an input that is not behind its output: all outputs are in it
                line = self.line(self._outputs, f"[{', '.join([*zeros[:place], written[place], *zeros[place + 1 :]])}]")
            found.append((line, f"{name} alone", [each * (k == place) for k, each in enumerate(ones)]))
        return found

    def _choices_of_one(self) -> list[tuple[str, str, Array]]:
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

    def _jacobians(self) -> list[Jacobian]:
        """J of each tensor that it began at; a Refusal where it is too large, or of a Function whose graph is freed."""
        if len(self.roots) == 1:
            return [self.jacobian()]
        if self._exact:
            raise Unshowable("the graph was freed")
        (walked,) = self.walks
        names = self.names(walked) | dict(zip(walked.roots, self._names, strict=True))
        return [jacobian_of(walked._replace(roots=[root], cotangents=[None]), names) for root in walked.roots]

    def asked(self) -> str:
        """The question in words, J, and vᵀJ for each choice of v."""
        shape, count, name, choices = list(self.result.shape), self.result.numel(), self.name, self.choices()
        said = "".join(f"{terminal.wrapped(line)}\n" for line in self.why.splitlines())
        if len(self.roots) == 1 and not self.called(self.result.__node__):
            said += f"Call the result {name} first: `{name} = ...`.\n"
        if self.given is not None and list(self.given.shape) != shape:
            said += f"The v has shape {list(self.given.shape)}, and needs {shape}.\n"
        elif self.given is not None:
            said += f"The v has numbers of type {self.given.dtype}, and {name} of type {self.result.dtype}.\n"
        if self.freed:
            said += f"A backward before freed the graph of {name}: give that one `retain_graph=True`.\n"
        for other, root in zip(self._names, self.roots, strict=True):
            said += (
                f"{other} has {root.numel()} number{'s' * (root.numel() != 1)}: which weights? v has one for each.\n"
            )
        said += "The gradient is vᵀJ: the rows of J, each times its weight, added up."
        found, laid_out, names = [], [], []
        try:
            found = self._jacobians()
        except Refusal:  # too large to be laid out, or of a Function whose graph is freed
            pass
        else:
            asked = {ast.unparse(each) for each in ast.walk(self._arguments.get("inputs", ast.Tuple([])))}
            known = [matrix.name for matrix in found[0].matrices]
            names = [each for each in known if each in asked] or known
            for place in map(known.index, names):
                parts = [each.parts(each.matrices[place])[0] for each in found]
                labels = [label for _, _, own, _ in parts for label in own]
                laid_out.append(terminal.matrix("J", np.concatenate([part[1] for part in parts]), labels, parts[0][3]))
        rows: list[list[str]] = []
        had = self.had()
        for each in had:
            said += f"\n{each}.grad is {terminal.numbers(had[each])}, from a backward before: vᵀJ is added to that."
        for line, whose, vs in choices:
            given = [Jacobian(name, v, each.matrices) for v, each in zip(vs, found, strict=False)]
            weighted = [sum(each.product(leaf) for each in given) + had.get(leaf, 0) for leaf in names]
            rows.append([line, *map(terminal.numbers, weighted), whose])
        if count > MOST and len(self.roots) == 1:
            rows.append(["...", *["" for _ in names], f"and so on, {count} elements in all"])
        heads = [f"{each}.grad" if self._grad is None else f"{each}_grad" for each in names]
        table = terminal.aligned(["write", *heads, "the gradient of"], rows)
        return "\n\n".join([said, *laid_out, table])
