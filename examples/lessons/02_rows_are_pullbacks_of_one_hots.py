"""You wrote one backward per row; this is `jax.jacrev`.

A v with a single 1 picks a row of the Jacobian. All the one-hots at once are an identity matrix, and the pullback of
all of its rows is `jax.vmap(pullback)`: that is how `jax.jacrev` gets the whole of J with one function call.
"""

import jax
import jax.numpy as jnp

import jaxvjp as torch

X = [1.0, 2.0, 3.0]


def imperative():
    x = torch.tensor(X, requires_grad=True)
    y = x**2 + x.sum()
    rows = []
    for row in range(3):
        v = torch.zeros(3)
        v[row] = 1.0
        y.backward(v, retain_graph=True)
        rows.append(x.grad.clone())
        x.grad = None
    return {"J": torch.stack(rows)}


def functional():
    return {"J": jax.jacrev(lambda x: x**2 + jnp.sum(x))(jnp.array(X))}


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), functional())
