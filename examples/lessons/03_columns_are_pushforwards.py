"""You wrote `func.jvp`; this is `jax.jvp`.

A pullback goes from y to x and gives vᵀJ, a weighted sum of J's rows. A pushforward goes the way of the computation and
gives Ju, a weighted sum of its columns: how y moves when x moves along u. Where x is small and y is large it is the
cheaper way to J.
"""

import jax
import jax.numpy as jnp

import jaxvjp as torch

X, U = 0.5, 2.0


def imperative():
    def curve(x):
        return torch.stack([x.sin(), x.cos(), x**2])

    _, tangent = torch.func.jvp(curve, (torch.tensor(X),), (torch.tensor(U),))
    return {"Ju": tangent}


def functional():
    def curve(x):
        return jnp.stack([jnp.sin(x), jnp.cos(x), x**2])

    _, tangent = jax.jvp(curve, (jnp.array(X),), (jnp.array(U),))
    return {"Ju": tangent}


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), functional())
