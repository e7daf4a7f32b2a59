"""What `jaxvjp.explain(y)` and `jaxvjp.explain.recording()` return, and the page that it saves."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from traceback import walk_tb
from typing import Any

from jaxvjp.core.record.modes import listening
from jaxvjp.explain.explained import Explained
from jaxvjp.explain.names import variables_of
from jaxvjp.explain.notebook import Page
from jaxvjp.explain.page import page_of
from jaxvjp.explain.question import Question
from jaxvjp.explain.story import Recorder, story_of, user_frame
from jaxvjp.tensor.tensor import Tensor


class Explanation(Explained):
    """An imperative program as a functional one. `print` shows it; its `str` runs."""

    @property
    def question(self) -> Question | None:
        if self.story.refused is not None and self._question is None:
            self._question = Question(self.story.refused, self.story)
        return self._question

    _question: Question | None = None

    def save(self, path: str | Path) -> None:
        """Writes one self-contained page to `path`, to step through the backward pass and change v."""
        Path(path).write_text(self.page(), encoding="utf-8")

    def page(self) -> Page:
        """The text of that page; as the last line of a notebook's cell, the page itself."""
        return Page(page_of(self))


def explain(result: Tensor, gradient: Tensor | None = None, style: str = "vjp", exact: bool = False) -> Explanation:
    """The functional JAX program for a result, and the pullback that its `backward` would be.

    Args:
        result: a computed tensor whose graph has not been freed.
        gradient: v, the argument of `backward`; by default ones.
        style: "vjp", "grad" (`jax.value_and_grad`, for one element) or "jacrev" (the Jacobian, then vᵀJ).
        exact: whether an op is written with torch's derivatives everywhere. By default it is written in a plain form,
            `jnp.abs` or `jnp.clip`, where the whole program gives the same so.

    RuntimeError for a leaf, a tensor without a graph, a freed graph. torch has no counterpart.
    """
    if not isinstance(result, Tensor):
        raise TypeError(f"explain() takes a tensor, not {type(result).__name__}")
    return Explanation(story_of(result, gradient, user_frame(sys._getframe(1))), style, exact)


class recording(Explanation):  # noqa: N801 - reads as a word: `with recording() as story:`
    """Records a block of code, with backwards, updates and hooks; after the block it is its explanation.

    Calls of the user's functions are noted by `sys.setprofile`, unless another profiler runs. Short operations take
    about three times as long then.

    Args:
        style: as for `explain`, by default "grad".
        lines: whether the lines of the file are watched one by one, for a page that steps through them. Python then
            stops at each line and call, so that short operations take several times as long.
        exact: as for `explain`.
    """

    def __init__(self, style: str = "grad", lines: bool = False, exact: bool = False) -> None:
        super().__init__(None, style, exact)  # type: ignore[arg-type]
        self._recorder = Recorder()
        self._lines = lines

    def __enter__(self) -> recording:
        frame = user_frame(sys._getframe(1)) if self._lines else None
        self._recorder.start(None if frame is None else frame.f_code.co_filename, frame)
        return self

    def __exit__(self, *_: object) -> None:
        frame = user_frame(sys._getframe(1))
        self.finish({} if frame is None else variables_of(frame))

    def finish(self, variables: Mapping[str, Any]) -> None:
        """Ends the recording; `variables` are the user's, from which tensors get their names."""
        if self._recorder.note in listening():  # it has not ended
            self._story = self._recorder.stop(variables)

    @contextmanager
    def of_a_script(self, file: str | None = None) -> Iterator[None]:
        """Records a block that runs `file` and calls `finish` itself, as its variables are gone at its end."""
        self._recorder.script = file
        self._recorder.start(file if self._lines else None)
        try:
            yield
        except (Exception, KeyboardInterrupt) as error:
            ran = [each for each in walk_tb(error.__traceback__) if each[0].f_code.co_filename == file]
            if ran:
                self.finish(ran[0][0].f_globals)
                self.failure = f"line {ran[-1][1]}: {type(error).__name__}: {error}".removesuffix(": ")
            raise
        finally:
            self.finish({})
