"""The steps of torch's optimizers as transforms of optax (`rule_of`), and when they ran (`Updates`).

An optimizer without a rule here is written as its formula was recorded, parameter by parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.versions import next_serial
from jaxvjp.nn import utils
from jaxvjp.optim.algorithms import SGD, Adadelta, Adam, Adamax, AdamW, RMSprop
from jaxvjp.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

SUPPORTED = {"amsgrad": False, "dampening": 0, "differentiable": False}
"""The settings that the rules have; another value has none."""


class Group(NamedTuple):
    """The parameters of one group in one step: their nodes before, of their gradients, and after; the group's rate.
    Groups of equal rules and rates are one.

    `rule` is the chain of optax's transforms that takes this step, with `{rate}` for the rate; None if there is none.
    """

    before: list[Node]
    gradients: list[Node]
    after: list[Node]
    rate: Any
    rule: tuple[str, ...] | None
    parameters: list[Any]


LISTS = ("before", "gradients", "after", "parameters")


class Clip(NamedTuple):
    """A call of `clip_grad_norm_`: the limit, and for each gradient after it the one before."""

    limit: float
    before: dict[Node, Node]


class Update(NamedTuple):
    """One step of an optimizer: what was recorded in it has a `serial` between `first` and `last`.

    If `clip` is set, the gradients of its groups were clipped together; of an `unclipped` one they are those before.
    """

    first: int
    last: int
    optimizer: Any
    groups: list[Group]
    clip: Clip | None

    def without_rules(self) -> Update:
        return self._replace(groups=[group._replace(rule=None) for group in self.groups], clip=None)

    def with_groups(self, alike: Sequence[Any]) -> Update:
        """The step with one group for each set of groups that are `alike`."""
        merged: dict[Any, list[Group]] = {}
        for key, group in zip(alike, self.groups, strict=False):  # a group may be added later
            merged.setdefault(key, []).append(group)
        joined: list[Group] = []
        for own in merged.values():
            together: dict[str, Any] = {name: [one for each in own for one in getattr(each, name)] for name in LISTS}
            joined.append(own[0]._replace(**together))
        return self._replace(groups=joined)

    def unclipped(self, exact: bool) -> Update:
        """The step with the clip as a part of its transform; with `exact` as torch's formula, and no part of it."""
        if self.clip is None or exact:
            return self._replace(clip=None)
        before = self.clip.before
        groups = [group._replace(gradients=[before[node] for node in group.gradients]) for group in self.groups]
        return self._replace(groups=groups)


class Updates:
    """A context that notes the steps of all optimizers in `found`."""

    def __init__(self) -> None:
        self.found: list[Update] = []
        self._begun: dict[int, Any] = {}
        self._without: set[int] = set()
        self._trained: dict[tuple[int, int], list[int]] = {}  # by optimizer and group
        self._clips: dict[Node, Clip] = {}

    def __enter__(self) -> Updates:
        self._hooks = [
            register_optimizer_step_pre_hook(self._before),
            register_optimizer_step_post_hook(self._after),
        ]
        self._clipping = utils.clip_grad_norm_
        utils.clip_grad_norm_ = self._clipped
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._hooks:
            each.remove()
        utils.clip_grad_norm_ = self._clipping
        rules: dict[int, set[Any]] = {}
        limits: dict[int, set[Any]] = {}
        for update in self.found:
            rules.setdefault(id(update.optimizer), set()).add(tuple([group.rule for group in update.groups]))
            limits.setdefault(id(update.optimizer), set()).add(update.clip and update.clip.limit)
        varied = {key for key, found in rules.items() if len(found) > 1} | self._without
        alike = {id(each.optimizer): _alike(self.found, each.optimizer) for each in self.found}
        self.found = [each.with_groups(alike[id(each.optimizer)]) for each in self.found]
        self.found = [
            update.without_rules()
            if id(update.optimizer) in varied
            else update
            if len(limits[id(update.optimizer)]) == 1
            else update._replace(clip=None)
            for update in self.found
        ]

    def _clipped(self, parameters: Any, max_norm: float, norm_type: float = 2.0, *more: Any, **named: Any) -> Any:
        given = [parameters] if hasattr(parameters, "grad") else list(parameters)
        before = [each.grad.__node__ for each in given if each.grad is not None]
        norm = self._clipping(given, max_norm, norm_type, *more, **named)
        if norm_type == 2:
            after = [each.grad.__node__ for each in given if each.grad is not None]
            clip = Clip(float(max_norm), dict(zip(after, before, strict=True)))
            self._clips.update(dict.fromkeys(after, clip))
        return norm

    def _before(self, optimizer: Any, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        groups: list[Any] = []
        first = all(each.optimizer is not optimizer for each in self.found)
        for group in optimizer.param_groups:
            given = [each for each in group["params"] if each.grad is not None]
            rule = rule_of(optimizer, group)
            # What never has a gradient, as it is frozen, is left alone by both.
            others = self._trained.setdefault((id(optimizer), len(groups)), [*map(id, given)]) != [*map(id, given)]
            if rule is None or others or (first and optimizer.state) or len(args) > 1 or named:
                self._without.add(id(optimizer))
            groups.append(
                (given, [each.__node__ for each in given], [each.grad.__node__ for each in given], group["lr"], rule)
            )
        self._begun[id(optimizer)] = (next_serial(), groups)

    def _after(self, optimizer: Any, *_: Any) -> None:
        first, groups = self._begun.pop(id(optimizer))
        made = [
            Group(before, grads, [p.__node__ for p in given], rate, rule, given)
            for given, before, grads, rate, rule in groups
        ]
        gradients = {node for group in made for node in group.gradients}
        clips = [self._clips[gradient] for gradient in gradients if gradient in self._clips]
        clip = clips[0] if clips and {*clips[0].before} == gradients else None
        self.found.append(Update(first, next_serial(), optimizer, made, clip))


def _alike(updates: Sequence[Update], optimizer: Any) -> list[Any]:
    """For each group of an optimizer its rules and rates in all steps; for one without a rule its number, and for all
    if one was added between steps: there are no rules then."""
    rows = [each.groups for each in updates if each.optimizer is optimizer]
    if len({*map(len, rows)}) > 1:
        return [*range(max(map(len, rows)))]
    columns = zip(*rows, strict=True)
    return [
        number if None in [each.rule for each in own] else str([(each.rule, each.rate) for each in own])
        for number, own in enumerate(columns)
    ]


def rule_of(optimizer: Any, group: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The transforms of optax that are, one after the other, the step of a group of an optimizer, with `{rate}` for its
    rate; None if none have its formula."""
    written = RULES.get(type(optimizer))
    other = any(group.get(name, value) != value for name, value in SUPPORTED.items())
    # Of a complex number torch's optimizers scale each part by itself, and optax both by the absolute value.
    parts_apart = written is not _sgd and any(each.is_complex() for each in group["params"])
    if written is None or other or parts_apart or type(group["lr"]) not in (float, int):
        return None
    decay = group.get("weight_decay", 0)
    parts = ["optax.scale(-1.0)"] * bool(group.get("maximize"))
    if decay and not group.get("decoupled_weight_decay"):
        parts.append(f"optax.add_decayed_weights({decay!r})")
    return (*parts, *written(group))


def chained(parts: Sequence[str]) -> str:
    """The text of `optax.chain` of several transforms."""
    return parts[0] if len(parts) == 1 else f"optax.chain({', '.join(parts)})"


def _sgd(group: Mapping[str, Any]) -> list[str]:
    momentum = f", momentum={group['momentum']!r}" if group["momentum"] else ""
    return [f"optax.sgd({{rate}}{momentum}{', nesterov=True' if group['nesterov'] else ''})"]


def _adam(name: str) -> Callable[[Mapping[str, Any]], list[str]]:
    def written(group: Mapping[str, Any]) -> list[str]:
        (b1, b2), eps = group["betas"], group["eps"]
        decay = f", weight_decay={group['weight_decay']!r}" if group.get("decoupled_weight_decay") else ""
        called = "adamw" if decay else name
        return [f"optax.{called}({{rate}}, {b1!r}, {b2!r}, {eps!r}{decay})"]

    return written


def _adadelta(group: Mapping[str, Any]) -> list[str]:
    return [f"optax.adadelta({{rate}}, {group['rho']!r}, {group['eps']!r})"]


def _rmsprop(group: Mapping[str, Any]) -> list[str]:
    settings = f"{group['alpha']!r}, {group['eps']!r}, eps_in_sqrt=False"
    if not group["momentum"]:
        return [f"optax.rmsprop({{rate}}, {settings}{', centered=True' if group['centered'] else ''})"]
    scaled = "stddev" if group["centered"] else "rms"  # `optax.rmsprop` takes the rate into the momentum
    momentum = f"optax.trace({group['momentum']!r})"
    return [f"optax.scale_by_{scaled}({settings})", momentum, "optax.scale_by_learning_rate({rate})"]


RULES: dict[type, Callable[[Mapping[str, Any]], list[str]]] = {
    SGD: _sgd,
    Adam: _adam("adam"),
    AdamW: _adam("adamw"),
    Adamax: _adam("adamax"),
    Adadelta: _adadelta,
    RMSprop: _rmsprop,
}
"""By optimizer the transforms of optax that have its formula. `optax.amsgrad`, `nadam`, `radam`, `adagrad` and `rprop`
are other algorithms than torch's."""
KEPT = {
    **dict.fromkeys(["exp_avg", "grad_avg"], "mu"),
    **dict.fromkeys(["exp_avg_sq", "exp_inf", "square_avg"], "nu"),
    "momentum_buffer": "trace",
}
"""What torch's optimizers keep for each parameter, and optax's name of it."""


def kept_by(update: Update, number: int, state: str, keys: Sequence[str]) -> dict[str, Node]:
    """What an optimizer keeps for the parameters of a group, by its expression, with words for it as a comment: `state`
    is the name of all that the group's transform keeps, `keys` are its parameters'."""
    optimizer = update.optimizer
    names = {**KEPT, "square_avg": "e_g", "acc_delta": "e_x"} if type(optimizer) is Adadelta else KEPT
    own = type(optimizer).__name__
    return {
        # What is kept is in a dict; a parameter may be called `mu`, too.
        f'optax.tree_utils.tree_get(state["{state}"], {names[name]!r}, None, lambda _, found: type(found) is dict)'
        f"[{key!r}]  # {own}'s {name} of {key}, {names[name]} in {state}": each.__node__
        for key, parameter in zip(keys, update.groups[number].parameters, strict=True)
        for name, each in optimizer.state.get(parameter, {}).items()
        if name in names and each is not None
    }
