"""Distances: what their rows in `rows` derive from."""

from __future__ import annotations

from jaxvjp.nn.modules.layer import Layer, define


class _Distance(Layer):
    def __finish_init__(self) -> None:
        self.norm = self.__dict__.pop("p")


define("distance", globals())
