"""Which arrays are random numbers, and of which distribution: `Draws` notes them where they are drawn."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from jaxvjp.core.record.graph import Node, reachable
from jaxvjp.core.record.modes import transforming
from jaxvjp.core.record.versions import next_serial
from jaxvjp.library import random_gamma, random_tensors
from jaxvjp.library.factories import new_leaf
from jaxvjp.library.generator import Generator
from jaxvjp.nn import dropout, init
from jaxvjp.tensor.batched_randomness import drawn_from
from jaxvjp.types.dtypes import dtype, float32, float64

NEAR = 3
"""A leaf is made within so many serials after its numbers were drawn."""


class Draws:
    """A context that notes what generators draw.

    Args:
        double: draw the numbers of float32 for tensors of float64, so that a script has the same ones in double
            precision.
    """

    def __init__(self, double: bool = False) -> None:
        self.double = double
        self.sampled: set[Node] = set()  # what was drawn from the values of tensors, as by multinomial
        self.made: set[Node] = set()  # all floats that were drawn
        self.orders: set[Node] = set()  # and all integers
        self._known: dict[bytes, list[tuple[int, str]]] = {}

    def __enter__(self) -> Draws:
        self._methods = {name: getattr(Generator, name) for name in EXPRESSIONS}
        self._scaled, dropout._scaled = dropout._scaled, self._mask
        self._gumbel, dropout._gumbel = dropout._gumbel, self._noise
        self._truncated_normal, init.trunc_normal_ = init.trunc_normal_, self._truncated
        for name, method in self._methods.items():
            setattr(Generator, name, self._noting(name, method))
        for module in (dropout, random_gamma, random_tensors):
            vars(module)["drawn_from"] = self._sampled
        self._drawn, vars(random_tensors)["_drawn"] = random_tensors._drawn, self._leaf
        return self

    def __exit__(self, *_: object) -> None:
        for name, method in self._methods.items():
            setattr(Generator, name, method)
        dropout._scaled, init.trunc_normal_ = self._scaled, self._truncated_normal
        dropout._gumbel = self._gumbel
        for module in (dropout, random_gamma, random_tensors):
            vars(module)["drawn_from"] = drawn_from
        vars(random_tensors)["_drawn"] = self._drawn

    def none(self) -> Draws:
        """These, without those that a key could draw."""
        made = Draws(self.double)
        made.sampled, made.made, made.orders = self.sampled, self.made, self.orders
        return made

    def _sampled(self, draw: Any, *given: Any) -> Any:
        found = drawn_from(draw, *given)
        coins = draw.__qualname__ == "bernoulli.<locals>.draw" and not transforming().batches
        chances = np.unique(np.asarray(given[0].detach().__value__)) if coins else np.empty(0)
        sources = reachable([given[0].__node__], lambda each: each.inputs if type(each) is Node else ())
        trained = any(type(each) is Node and each.requires_grad for each in sources)
        if len(chances) == 1 < given[0].numel() and not trained:  # a chance that is no value of the training
            text = f"jax.random.bernoulli({{key}}, {float(str(chances[0]))!r}, {{shape}})"
            self._note(found.numpy(), text, found.__node__.serial - 1)
        else:
            self.sampled.add(found.__node__)
        return found

    def _leaf(self, *given: Any) -> Any:
        found = self._drawn(*given)
        (self.made if found.is_floating_point() else self.orders).add(found.__node__)
        return found

    def _mask(self, kept: Any, p: float, own: dtype) -> Any:
        mask = self._scaled(kept, p, own)
        self._note(mask, f"jax.random.bernoulli({{key}}, {1 - p!r}, {{shape}}){{cast}} / {1 - p!r}")
        return mask

    def _noise(self, count: int, own: dtype) -> Any:
        drawn = self._gumbel(count, own)
        self._note(drawn, "jax.random.gumbel({key}, {shape}{dtype})")
        return drawn

    def _truncated(
        self, tensor: Any, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
    ) -> Any:
        """The draw as one: how often torch draws again depends on the numbers."""
        drawn = self._truncated_normal(tensor.detach().clone(), mean, std, a, b, generator).numpy()
        bounds = ", ".join(f"{(each - mean) / std!r}" for each in (a, b))
        text = f"jax.random.truncated_normal({{key}}, {bounds}, {{shape}}{{dtype}})"
        self._note(drawn, text if (mean, std) == (0, 1) else f"{mean!r} + {std!r} * {text}")
        return init._filled(lambda x: x.copy_(new_leaf(drawn, x.dtype)), tensor)

    def _note(self, values: Any, expression: str, serial: int | None = None) -> None:
        known = self._known.setdefault(_digest(np.asarray(values)), [])
        known.append((next_serial() if serial is None else serial, expression))

    def _noting(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def noted(generator: Generator, count: int, *given: Any) -> Any:
            if self.double and given[0] is float64:
                drawn = method(generator, count, float32, *given[1:]).astype(np.float64)
            else:
                drawn = method(generator, count, *given)
            self._note(drawn, EXPRESSIONS[name](*given[name not in WITHOUT_DTYPE :]))
            return drawn

        return noted

    def of(self, node: Node) -> str | None:
        """The expression of `jax.random` that draws such an array, of `{key}` and `{shape}`, and of `{dtype}` and
        `{cast}` where the default is not meant; None if its
        numbers were not drawn right before the leaf was made."""
        known = self._known.get(_digest(np.asarray(node.value)), [])
        text = next((text for serial, text in known if serial < node.serial <= serial + NEAR), "")
        coins = text.startswith("jax.random.bernoulli(") and "/" not in text and node.aval.dtype.differentiable
        return f"{text}.astype(float)" if coins else text or None


def _digest(array: Any) -> bytes:
    """The same for an array in another dtype or shape, if the numbers are the same."""
    numbers = np.ascontiguousarray(array, np.float64 if array.dtype.kind in "fb" else array.dtype)
    return hashlib.sha1(numbers.tobytes()).digest() + str(array.size).encode()


def _normal(mean: float = 0.0, std: float = 1.0) -> str:
    text = "jax.random.normal({key}, {shape}{dtype})"
    text = text if std == 1 else f"{std!r} * {text}"
    return text if mean == 0 else f"{mean!r} + {text}"


def _uniform(low: float = 0.0, high: float = 1.0) -> str:
    bounds = "" if (low, high) == (0, 1) else f", minval={low!r}, maxval={high!r}"
    return f"jax.random.uniform({{key}}, {{shape}}{{dtype}}{bounds})"


def _integers(low: int, high: int) -> str:
    return f"jax.random.randint({{key}}, {{shape}}, {low}, {high}{{dtype}})"


WITHOUT_DTYPE = ("__integers__", "__coins__")
"""The methods that are given no dtype."""
EXPRESSIONS: dict[str, Callable[..., str]] = {
    "__uniform__": _uniform,
    "__between__": _uniform,
    "__normal__": _normal,
    "__scattered_normal__": _normal,
    "__integers__": _integers,
    "__coins__": lambda p: f"jax.random.bernoulli({{key}}, {p!r}, {{shape}})",
}
