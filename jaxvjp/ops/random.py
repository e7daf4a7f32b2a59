"""Random numbers as functions of their distribution's parameters: numbers drawn before, with pathwise gradients."""

import jax
import jax.numpy as jnp

from jaxvjp.ops.identity import rebind
from jaxvjp.ops.op import op


@op(public="", grad_fn="StandardGammaBackward0")
def pathwise_gamma(input, drawn):
    """Gamma numbers `drawn` for the shapes `input`: a larger shape moves each such that its quantile stays."""
    slope = jax.lax.random_gamma_grad(jax.lax.stop_gradient(input), drawn)
    return rebind.function(slope * input, drawn)


@op(public="", grad_fn="_DirichletBackward")
def pathwise_dirichlet(input, drawn):
    """Gamma numbers `drawn` in float64 for the shapes `input`, divided by their sum along the last dimension."""
    least, most = jnp.finfo(input.dtype).tiny, jnp.nextafter(jnp.ones((), input.dtype), 0)
    point = jnp.clip((drawn / drawn.sum(-1, keepdims=True)).astype(input.dtype), least, most)
    wide = jax.lax.stop_gradient(input).astype(drawn.dtype)
    relative = (jax.lax.random_gamma_grad(wide, drawn) / drawn).astype(input.dtype) * input
    slope = point * (relative - jnp.sum(point * relative, -1, keepdims=True))
    return rebind.function(slope, point)
