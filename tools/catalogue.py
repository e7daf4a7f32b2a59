"""Writes `docs/layers.md`: the layers of `nn`, the optimizers and the schedules, and what optax has for them.

`python -m tools.catalogue` writes the page from the code.
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

from jaxvjp import nn, optim
from jaxvjp.optim import lr_scheduler
from jaxvjp.tools.scripts.names import covered, ours, torch_names

HEAD = """# Layers and optimizers

This page is written by `python -m tools.catalogue`, and a test holds it to the code."""
ABOUT_LAYERS = """A layer of the tables has torch's initial numbers for a seed, the keys of torch's `state_dict`, which
crosses in a file in both directions, and torch's printed text. `F` is `nn.functional`, which is in
[operators.md](operators.md)."""
LACKING = {
    "Container": "torch's first containers, empty and deprecated since 0.2",
    "CrossMapLRN2d": "from torch's first versions, and not the same as `LocalResponseNorm`",
    "LinearCrossEntropyOptions": "how torch cuts a `LinearCrossEntropyLoss` into chunks",
    "factory_kwargs": "a function for torch's own constructors",
}
"""What torch's `nn` has and ours has not, and why."""
ABOUT_OPTIMIZERS = """Each is torch's formula over tensors ([optim.md](optim.md)). optax is JAX's library of optimizers,
which is not used here: its expression beside an optimizer gives the same parameters after 30 steps, which a test holds.
Of any of them, `maximize=True` is `optax.scale(-1)` before it, in `optax.chain`, and a `weight_decay` that the table
does not show is `optax.add_decayed_weights(weight_decay)` before it."""
OPTAX: dict[str, tuple[tuple[str, str], ...]] = {
    "SGD": (("lr, momentum, nesterov=nesterov", "optax.sgd(lr, momentum, nesterov)"),),
    "Adam": (("lr, betas, eps", "optax.adam(lr, *betas, eps)"),),
    "AdamW": (("lr, betas, eps, weight_decay", "optax.adamw(lr, *betas, eps, weight_decay=weight_decay)"),),
    "Adamax": (("lr, betas, eps", "optax.adamax(lr, *betas, eps)"),),
    "Adadelta": (("lr, rho, eps", "optax.adadelta(lr, rho, eps)"),),
    "RMSprop": (
        (
            "lr, alpha, eps, momentum=momentum, centered=centered",
            "optax.rmsprop(lr, alpha, eps, centered=centered, momentum=momentum, eps_in_sqrt=False)",
        ),
    ),
    "RAdam": (("lr, betas", "optax.radam(lr, *betas)"),),
    "Adagrad": (("lr, initial_accumulator_value=start", "optax.adagrad(lr, start, 1e-10)"),),
}
"""For arguments of an optimizer, the transform of optax with the same formula."""
NO_OPTAX = {
    "SGD": "`dampening`: none",
    "Adam": "`amsgrad=True`: none, `optax.amsgrad` corrects the average before its maximum is taken",
    "AdamW": "`amsgrad=True`: none, as of `Adam`",
    "NAdam": "none: `optax.nadam` has a constant momentum",
    "RAdam": "three digits agree where `betas[1]` is 0.999, as optax finds the rate in float32",
    "Adagrad": "`lr_decay`: none; an `eps` that matters: none, optax adds it below the root",
    "Rprop": "none: `optax.rprop` moves by the step before",
    "ASGD": "none",
    "Adafactor": "none: `optax.adafactor` scales otherwise",
    "Muon": "none: `optax.contrib.muon` scales otherwise",
    "LBFGS": "none: `optax.lbfgs` has another line search",
    "SparseAdam": "refused: gradients are dense here",
}
"""What else of an optimizer has no counterpart in optax, and why."""


def arguments(kind: Any, *without: str) -> str:
    """The parameters of a constructor, without annotations."""
    parameters = [each for each in inspect.signature(kind).parameters.values() if each.name not in without]
    text = str(inspect.Signature([parameter.replace(annotation=parameter.empty) for parameter in parameters]))[1:-1]
    return re.sub(r"<(?:cy)?function (\w+) at \w+>", r"\1", text)


def sentence(kind: Any) -> str:
    """The first sentence of a docstring, without what it is the counterpart of."""
    first = " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())
    return re.sub(r" Counterpart of `[\w.]+`\.$", "", first).replace("|", "\\|")


def table(*rows: tuple[str, ...]) -> str:
    """A table in Markdown; the first row is its head."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def layers() -> list[str]:
    """The tables of layers, one for each file of torch's `nn.modules`."""
    found = []
    for file, names in import_module("jaxvjp.nn.modules").layers().items():
        kinds = [(each, getattr(nn, each)) for each in names if each != "Module"]
        if kinds:
            rows = [(f"`{name}`", code(arguments(kind)), sentence(kind)) for name, kind in kinds]
            found.append(f"### {file}\n\n" + table(("layer", "arguments", "what it computes"), *rows))
    return found


def code(text: str) -> str:
    """A text as code, or nothing."""
    return f"`{text}`".replace("|", "\\|") if text else ""


def optimizers() -> list[tuple[str, ...]]:
    """The rows of the table of optimizers."""
    rows: list[tuple[str, ...]] = []
    for name in covered("torch.optim"):
        kind = getattr(optim, name)
        if inspect.isclass(kind) and kind is not optim.Optimizer:
            same = [f"`{name}(params, {given})`: `{expression}`" for given, expression in OPTAX.get(name, ())]
            told = [*same, *([NO_OPTAX[name]] if name in NO_OPTAX else [])]
            rows.append((f"`{name}`", code(arguments(kind, "params")), "; ".join(told)))
    return rows


def schedules() -> list[tuple[str, ...]]:
    """The rows of the table of schedules."""
    names = [each for each in covered("torch.optim.lr_scheduler") if each[0] != "_"]
    kinds = [(name, ours(f"torch.optim.lr_scheduler.{name}")) for name in names]
    return [
        (f"`{name}`", code(arguments(kind, "optimizer")), sentence(kind))
        for name, kind in kinds
        if inspect.isclass(kind) and issubclass(kind, lr_scheduler.LRScheduler) and kind is not lr_scheduler.LRScheduler
    ]


def document() -> str:
    """The text of `docs/layers.md`."""
    have, all_names = covered("torch.nn"), torch_names().modules["torch.nn"]
    parts = [
        HEAD,
        f"## Layers\n\n{ABOUT_LAYERS}",
        *layers(),
        f"### What is lacking\n\nOf the {len(all_names)} names of torch's `nn` {len(have)} are here. The others:",
        "\n".join(f"- `{name}`: {reason}." for name, reason in sorted(LACKING.items())),
        f"## Optimizers\n\n{ABOUT_OPTIMIZERS}",
        table(("optimizer", "arguments", "in optax"), *optimizers()),
        "## Schedules\n\nWhat `optim.lr_scheduler` has, with torch's rates at every step.",
        table(("schedule", "arguments", "what it does"), *schedules()),
    ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    Path("docs/layers.md").write_text(document(), encoding="utf-8")
