"""What `jaxvjp.explain(y)` returns: a program that can be printed, run and checked."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxvjp.autograd.backward import grad
from jaxvjp.autograd.function_step import shown_tensor
from jaxvjp.core.record.graph import Node, reachable
from jaxvjp.core.record.observers import Stepped, Walked
from jaxvjp.core.record.record import constant
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.explain.chain import Cotangents, cotangents_of
from jaxvjp.explain.jacobian import Jacobian, jacobian_of, recorded_jacobian
from jaxvjp.explain.names import variables_of
from jaxvjp.explain.notebook import coloured
from jaxvjp.explain.picture import Picture, picture_of
from jaxvjp.explain.source import Program, executed, write
from jaxvjp.explain.story import Recorder, Story, story_of, user_frame
from jaxvjp.explain.text import Text
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.testing import assert_close

LONGEST = 400
"""A program of more lines than this is printed shortened."""


class Explanation:
    """An imperative program as a functional one. `print` shows it; its `str` runs."""

    def __init__(self, story: Story, style: str = "vjp") -> None:
        self._story: Story | None = story
        self._style = style
        self._programs: dict[str, Program] = {}

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
        """The program in the style of this explanation."""
        if self._style not in self._programs:
            with jax.enable_x64(True), self.story.told() as story:
                self._programs[self._style] = write(story, self._style)
        return self._programs[self._style]

    @property
    def source(self) -> str:
        """The whole text, which runs by itself."""
        return self.program.source

    def __str__(self) -> str:
        lines = self.source.splitlines()
        if len(lines) <= LONGEST:
            return self.source.rstrip("\n")
        left_out = len(lines) - 80
        return "\n".join([*lines[:50], f"# ... {left_out} more lines: `.source` has them all ...", *lines[-30:]])

    __repr__ = __str__

    def run(self) -> dict[str, Any]:
        """Executes the printed text in a fresh namespace and returns its gradients by name."""
        namespace = executed(self.program)
        return {each.variable: namespace[each.variable] for each in self.program.results}

    def check(self, rtol: float = 1e-5, atol: float = 1e-6) -> dict[str, Any]:
        """Runs the program, compares its gradients with those of `backward`, and returns them.

        For a recording the latter are the `.grad` of its leaves at the end; for one result those of `autograd.grad`.
        AssertionError if one differs.
        """
        found = self.run()
        for result, expected in zip(self.program.results, self._expected(), strict=True):
            given = found[result.variable]
            if given is None or expected is None:
                assert given is expected, f"{result.variable} is {given}, where the gradient is {expected}"
            else:
                assert_close(np.asarray(given), np.asarray(expected), rtol=rtol, atol=atol)
        return found

    @property
    def walks(self) -> list[Walked]:
        """The backward passes, in order; for one result the one that `backward` would do."""
        return [each.what for each in self.story.events if isinstance(each.what, Walked)]

    def jacobian(self, number: int = -1) -> Jacobian:
        """The Jacobian J of backward pass `number` (the last by default), with v and vᵀJ.

        ValueError if it is too large, or if the pass began at several tensors.
        """
        walked = self._walk(number)
        names = {node: self.called(node) or "x" for node in [*walked.roots, *walked.gradients]}
        if not walked.roots[0].freed and self.story.hypothetical:
            return jacobian_of(walked, names)
        with self.story.told() as story:
            return recorded_jacobian(story, walked, names)

    def cotangents(self, number: int = -1) -> Cotangents:
        """The chain rule in numbers: backward pass `number` (the last by default), step by step.

        ValueError if the pass began at several tensors.
        """
        steps: dict[Any, Any] = {}
        for event in self.story.events:
            if isinstance(event.what, Stepped):
                steps[event.what.step] = event.what.results
        walked = self._walk(number)
        with self.story.told():
            return cotangents_of(walked, self._text(walked).label_of, steps)

    def picture(self, number: int = -1) -> Picture:
        """The recorded graph of a backward pass, with its cotangents on the edges.

        ValueError for a graph of more than 300 nodes.
        """
        walked = self._walk(number)
        with self.story.told():
            text = self._text(walked)
            try:
                numbers: Cotangents | None = self.cotangents(number)
            except (ValueError, RuntimeError):  # for example, with several roots: the picture has no cotangents then
                numbers = None

            def inputs(node: Node) -> Sequence[Any]:
                return () if node.is_leaf and node.requires_grad else text.inputs(node)

            return picture_of(list(walked.roots), inputs, text.label_of, numbers)

    def save(self, path: str | Path) -> None:
        """Writes one self-contained page to `path`, to step through the backward pass and change v."""
        from jaxvjp.explain.page import page_of

        Path(path).write_text(page_of(self), encoding="utf-8")

    def _repr_html_(self) -> str:
        return coloured(str(self))

    def _walk(self, number: int) -> Walked:
        walks = self.walks
        if not walks:
            raise ValueError("no backward took place in this recording: call `y.backward()` inside of it")
        if not -len(walks) <= number < len(walks):
            raise IndexError(f"there is no backward {number}: {len(walks)} took place")
        return walks[number]

    def called(self, node: Node) -> str | None:
        """The user's name of a node, or None."""
        return Text(self.story, False).name_of(node)

    def _text(self, walked: Walked) -> Text:
        """The names of all nodes of a backward pass."""
        text = Text(self.story, False)
        text.look_over(reachable(walked.roots, lambda node: node.inputs))
        return text

    def _expected(self) -> list[Any]:
        """The gradient that each result of the program should equal; None if there is none."""
        story, results = self.story, self.program.results
        if not story.hypothetical:
            with story.told():
                evaluate([each.gradient for each in results if each.gradient is not None])
            return [None if each.gradient is None else each.gradient.value for each in results]
        walked = story.events[0].what
        (root,), (v,) = walked.roots, walked.cotangents
        v = constant(1, root.aval) if v is None else v
        leaves = [shown_tensor(each.node) for each in results]
        pulled = grad(shown_tensor(root), leaves, shown_tensor(v), retain_graph=True, allow_unused=True)
        return [None if each is None else each.value for each in pulled]


def explain(result: Tensor, gradient: Tensor | None = None, style: str = "vjp") -> Explanation:
    """The functional JAX program for a result, and the pullback that its `backward` would be.

    Args:
        result: a computed tensor whose graph has not been freed.
        gradient: v, the argument of `backward`; by default ones.
        style: "vjp", "grad" (`jax.value_and_grad`, for one element) or "jacrev" (the Jacobian, then vᵀJ).

    RuntimeError for a leaf, a tensor without a graph, a freed graph. torch has no counterpart.
    """
    if not isinstance(result, Tensor):
        raise TypeError(f"explain() takes a tensor, not {type(result).__name__}")
    return Explanation(story_of(result, gradient, user_frame(sys._getframe(1))), style)


class recording(Explanation):  # noqa: N801 - reads as a word: `with recording() as story:`
    """Records a block of code, with backwards, updates and hooks; after the block it is its explanation."""

    def __init__(self, style: str = "vjp") -> None:
        super().__init__(None, style)  # type: ignore[arg-type]
        self._recorder = Recorder()

    def __enter__(self) -> recording:
        self._recorder.start()
        return self

    def __exit__(self, *_: object) -> None:
        frame = user_frame(sys._getframe(1))
        self.finish({} if frame is None else variables_of(frame))

    def finish(self, variables: Mapping[str, Any]) -> None:
        """Ends the recording; `variables` are the user's, from which tensors get their names."""
        if self._story is None:
            self._story = self._recorder.stop(variables)

    @contextmanager
    def of_a_script(self) -> Iterator[None]:
        """Records a block that calls `finish` itself, as its variables are gone at its end."""
        self._recorder.start()
        try:
            yield
        finally:
            self.finish({})
