"""Recurrent networks: a cell, and one layer of it over time, which is one `jax.lax.scan`.

A cell maps what it gets from the input, and its state, to the next state: `h`, or `(h, c)` for an LSTM.
"""

import jax
import jax.numpy as jnp

from jaxvjp.ops.arguments import Flag, Kept, Text
from jaxvjp.ops.neural.convolution import linear
from jaxvjp.ops.op import op
from jaxvjp.ops.products import at_setting

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
"""How many rows of weights an element of the state has, by the kind of cell."""


def _next(kind, given, state, weight, bias, projection=None):
    """The next state of a cell; `given` is the input times its weights, plus their bias."""
    known = linear.function(state[0], weight, bias)
    if kind == "lstm":
        enter, forget, new, out = jnp.split(given + known, 4, -1)
        cell = jax.nn.sigmoid(forget) * state[1] + jax.nn.sigmoid(enter) * jnp.tanh(new)
        hidden = jax.nn.sigmoid(out) * jnp.tanh(cell)
        return (hidden if projection is None else linear.function(hidden, projection)), cell
    if kind == "gru":
        reset, keep, new = jnp.split(given, 3, -1)
        known_reset, known_keep, known_new = jnp.split(known, 3, -1)
        keep = jax.nn.sigmoid(keep + known_keep)
        new = jnp.tanh(new + jax.nn.sigmoid(reset + known_reset) * known_new)
        return ((state[0] - new) * keep + new,)
    return (jnp.tanh(given + known) if kind == "rnn_tanh" else jnp.maximum(given + known, 0),)


@op(public="", saves="input, weight_ih, weight_hh", grad_fn="StackBackward0", rewrite=at_setting)
def recurrence(
    input,
    hidden,
    cell=None,
    weight_ih=None,
    weight_hh=None,
    bias_ih=None,
    bias_hh=None,
    weight_hr=None,
    live: Kept = None,
    *,
    kind: Text,
    reverse: Flag,
):
    """All outputs of one layer over `input` (time, batch, features), in one direction; and its last state.

    `live` (time, batch) is false after the end of a sequence: there the state stays as it is.
    """

    def advance(state, now):
        given, alive = (now, None) if live is None else now
        after = _next(kind, given, state, weight_hh, bias_hh, weight_hr)
        if alive is not None:
            after = tuple(jnp.where(alive[:, None], new, old) for new, old in zip(after, state, strict=True))
        return after, after[0]

    start = (hidden,) if cell is None else (hidden, cell)
    given = linear.function(input, weight_ih, bias_ih)
    last, outputs = jax.lax.scan(advance, start, given if live is None else (given, live), reverse=reverse)
    return outputs, *last


@op(public="", saves="input, weight_ih, weight_hh", grad_fn="AddBackward0", rewrite=at_setting)
def recurrent_cell(input, hidden, cell=None, weight_ih=None, weight_hh=None, bias_ih=None, bias_hh=None, *, kind: Text):
    """The state of a cell after one input (batch, features)."""
    state = (hidden,) if cell is None else (hidden, cell)
    return _next(kind, linear.function(input, weight_ih, bias_ih), state, weight_hh, bias_hh)
