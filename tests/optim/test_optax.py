"""The expressions of optax in `docs/layers.md` give what the optimizers beside them give."""

from __future__ import annotations

from importlib.util import find_spec

import jax.numpy as jnp
import numpy as np
import pytest

import jaxvjp
from tools.catalogue import OPTAX

SETTINGS = {
    "lr": 0.1,
    "momentum": 0.9,
    "nesterov": True,
    "betas": (0.8, 0.95),
    "eps": 1e-4,
    "weight_decay": 0.05,
    "rho": 0.7,
    "alpha": 0.8,
    "centered": True,
    "start": 0.2,
}
START, GOAL, SLOPE = [1.0, -2.0, 0.5, 3.0], [0.3, 0.2, 0.1, -1.0], [0.5, 1.0, 2.0, 0.1]
GENERAL = [
    ("SGD", "lr, weight_decay=weight_decay", "optax.chain(optax.add_decayed_weights(weight_decay), optax.sgd(lr))"),
    ("Adam", "lr, maximize=True", "optax.chain(optax.scale(-1), optax.adam(lr))"),
]
ROWS = [*[(name, *each) for name, rows in OPTAX.items() for each in rows], *GENERAL]
FOUND = {
    "optax.sgd(lr, momentum, nesterov)": [0.27096453, 0.20074791, 0.099969804, -1.5289505],
    "optax.adam(lr, *betas, eps)": [0.29123667, 0.1748067, 0.11393223, 0.33100063],
    "optax.adamw(lr, *betas, eps, weight_decay=weight_decay)": [0.28675696, 0.20269868, 0.11271025, 0.15345006],
    "optax.adamax(lr, *betas, eps)": [0.30585533, 0.33273005, 0.09821488, -0.35731211],
    "optax.adadelta(lr, rho, eps)": [0.91733223, -1.9154462, 0.41932154, 2.915097],
    "optax.rmsprop(lr, alpha, eps, centered=centered, momentum=momentum, eps_in_sqrt=False)": [
        0.37227952,
        0.065163642,
        0.16523086,
        -1.4211777,
    ],
    "optax.radam(lr, *betas)": [0.2763378, 0.22043863, 0.096701346, 1.4080713],
    "optax.adagrad(lr, start, 1e-10)": [0.39643988, -1.1330009, 0.10259014, 2.1189086],
    "optax.chain(optax.add_decayed_weights(weight_decay), optax.sgd(lr))": [
        0.31133333,
        0.19287045,
        0.098765507,
        0.97796059,
    ],
    "optax.chain(optax.scale(-1), optax.adam(lr))": [4.2906451, -5.1939702, 3.8090796, 6.1338596],
}
"""What optax 0.2 gives after 30 steps."""


def by_optimizer(name, given):
    w, goal, slope = [jaxvjp.tensor(each) for each in (START, GOAL, SLOPE)]
    w.requires_grad_()
    optimizer = eval(f"{name}([w], {given})", {name: getattr(jaxvjp.optim, name), "w": w, **SETTINGS})
    for _ in range(30):
        optimizer.zero_grad()
        (slope * (w - goal) ** 2).sum().backward()
        optimizer.step()
    return w.tolist()


def by_optax(expression):
    import optax

    w, goal, slope = [np.float32(each) for each in (START, GOAL, SLOPE)]
    transform = eval(expression, {"optax": optax, **SETTINGS})
    state = transform.init(w)
    for _ in range(30):
        updates, state = transform.update(2 * slope * (w - goal), state, w)
        w = optax.apply_updates(w, updates)
    return w.tolist()


@pytest.mark.parametrize(("name", "given", "expression"), ROWS, ids=[f"{name}({given})" for name, given, _ in ROWS])
def test_it_is_that_of_optax(name, given, expression):
    found = FOUND[expression]
    assert by_optimizer(name, given) == pytest.approx(found, rel=1e-5, abs=1e-5)
    if find_spec("optax") is not None:
        assert by_optax(expression) == pytest.approx(found, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop"])
@pytest.mark.parametrize("set_later", [False, True])
def test_a_rate_that_is_an_array_of_jax_is_named(name, set_later):
    """As a schedule of optax gives it."""
    w, rate = jaxvjp.zeros(2, requires_grad=True), jnp.float32(0.1)
    optimizer = getattr(jaxvjp.optim, name)([w], lr=0.1 if set_later else rate)
    optimizer.param_groups[0]["lr"] = rate
    w.sum().backward()
    with pytest.raises(TypeError, match=r"lr must be a number, not an array of JAX: give it `float\(lr\)`"):
        optimizer.step()
