"""The steps of torch's optimizers as functions of a ported script (`rule_of`), and when they ran (`Updates`).

An optimizer without a rule here is written as its formula was recorded, parameter by parameter.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.versions import next_serial
from jaxvjp.optim.algorithms import SGD, Adam
from jaxvjp.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

ZEROS = "jax.tree.map(jnp.zeros_like, {params})"
SUPPORTED = {"maximize": False, "amsgrad": False, "dampening": 0, "differentiable": False}
"""The settings that the rules have; another value has none."""


class Rule(NamedTuple):
    """An optimizer's step as a function `(params, grads, kept, rate)`, which returns parameters and what is kept.

    Attributes:
        name: its name.
        text: its definition, in which NAME stands for its name.
        start: the expression of what is kept before the first step, of `{params}`.
    """

    name: str
    text: str
    start: str


class Group(NamedTuple):
    """The parameters of one group in one step: their nodes before, of their gradients, and after; the group's rate."""

    before: list[Node]
    gradients: list[Node]
    after: list[Node]
    rate: Any
    rule: Rule | None


class Update(NamedTuple):
    """One step of an optimizer: what was recorded in it has a `serial` between `first` and `last`."""

    first: int
    last: int
    optimizer: Any
    groups: list[Group]


class Updates:
    """A context that notes the steps of all optimizers in `found`."""

    def __init__(self) -> None:
        self.found: list[Update] = []
        self._begun: dict[int, Any] = {}
        self._without: set[int] = set()

    def __enter__(self) -> Updates:
        self._hooks = [
            register_optimizer_step_pre_hook(self._before),
            register_optimizer_step_post_hook(self._after),
        ]
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._hooks:
            each.remove()
        self.found = [
            each._replace(groups=[group._replace(rule=None) for group in each.groups])
            if id(each.optimizer) in self._without
            else each
            for each in self.found
        ]

    def _before(self, optimizer: Any, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        groups = []
        first = all(each.optimizer is not optimizer for each in self.found)
        for group in optimizer.param_groups:
            given = [each for each in group["params"] if each.grad is not None]
            rule = rule_of(optimizer, group)
            if (
                rule is None
                or len(given) < len(group["params"])
                or (first and optimizer.state)
                or len(args) > 1
                or named
            ):
                self._without.add(id(optimizer))
            groups.append((given, [each.node for each in given], [each.grad.node for each in given], group["lr"], rule))
        self._begun[id(optimizer)] = (next_serial(), groups)

    def _after(self, optimizer: Any, *_: Any) -> None:
        first, groups = self._begun.pop(id(optimizer))
        made = [
            Group(before, grads, [p.node for p in given], rate, rule) for given, before, grads, rate, rule in groups
        ]
        self.found.append(Update(first, next_serial(), optimizer, made))


def rule_of(optimizer: Any, group: dict[str, Any]) -> Rule | None:
    """The rule of a group of an optimizer; None if it has none."""
    if any(group.get(name, value) != value for name, value in SUPPORTED.items()) or not isinstance(group["lr"], float):
        return None
    decay = group.get("weight_decay", 0)
    decays = [f"    grads = jax.tree.map(lambda p, g: g + {decay!r} * p, params, grads)"] if decay else []
    if type(optimizer) is SGD:
        return _sgd(group, decays)
    if isinstance(optimizer, Adam) and type(optimizer).__name__ in ("Adam", "AdamW"):
        return _adam(group, type(optimizer).__name__, decay, decays)
    return None


def _sgd(group: dict[str, Any], decays: list[str]) -> Rule:
    momentum, nesterov = group["momentum"], group["nesterov"]
    added = f", {momentum=}, {nesterov=}" if nesterov else f", {momentum=}" if momentum else ""
    lines = [
        "def NAME(params, grads, momenta, rate):",
        f'    """torch.optim.SGD; its step is that of optax.sgd(rate{added})."""',
    ]
    lines += decays
    if not momentum:
        lines.append("    return jax.tree.map(lambda p, g: p - rate * g, params, grads), momenta")
        return Rule("sgd", "\n".join(lines), "()")
    lines.append(f"    momenta = jax.tree.map(lambda m, g: {momentum!r} * m + g, momenta, grads)")
    if nesterov:
        lines.append(f"    grads = jax.tree.map(lambda m, g: g + {momentum!r} * m, momenta, grads)")
    lines.append(
        f"    return jax.tree.map(lambda p, g: p - rate * g, params, {'grads' if nesterov else 'momenta'}), momenta"
    )
    return Rule("sgd", "\n".join(lines), ZEROS)


def _adam(group: dict[str, Any], name: str, decay: Any, decays: list[str]) -> Rule | None:
    (b1, b2), eps = group["betas"], group["eps"]
    if not 0 < b1 < 1 or not 0 < b2 < 1:
        return None
    decoupled = bool(group.get("decoupled_weight_decay")) and decay
    added = f", weight_decay={decay!r}" if decoupled else ""
    optax = f"{name.lower()}(rate, {b1!r}, {b2!r}, {eps!r}{added})"
    lines = [
        "def NAME(params, grads, moments, rate):",
        f'    """torch.optim.{name}; its step is that of optax.{optax}."""',
        *([] if decoupled else decays),
        '    count = moments["count"] + 1',
        f'    mean = jax.tree.map(lambda m, g: {b1!r} * m + (1 - {b1!r}) * g, moments["mean"], grads)',
        f'    square = jax.tree.map(lambda s, g: {b2!r} * s + (1 - {b2!r}) * g * g, moments["square"], grads)',
        f"    begun = -jnp.expm1({math.log(b1)!r} * count)  # 1 - {b1!r}**count, which rounds less so",
        f"    begun_square = -jnp.expm1({math.log(b2)!r} * count)  # 1 - {b2!r}**count",
        "",
        "    def updated(p, m, s):",
        f"        change = m / begun / (jnp.sqrt(s / begun_square) + {eps!r})",
        f"        return p * (1 - rate * {decay!r}) - rate * change"
        if decoupled
        else "        return p - rate * change",
        "",
        "    params = jax.tree.map(updated, params, mean, square)",
        '    return params, {"count": count, "mean": mean, "square": square}',
    ]
    return Rule(name.lower(), "\n".join(lines), f'{{{{"count": 0, "mean": {ZEROS}, "square": {ZEROS}}}}}')
