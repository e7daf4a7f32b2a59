"""Second derivatives: the gradient of a gradient.

The document names a function `second_derivative()`, which torch does not have, and calls `grad` without outputs.
`create_graph=True` is the way: the pullback is itself recorded, so it can be differentiated in turn. In JAX a pullback
is a function like any other, and `jax.vjp` of one that calls `jax.vjp` is nothing special.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxvjp as torch

DOCUMENTS = ["other_ways_to_a_gradient"]
X = [[1.0, -2.0], [3.0, 0.5]]
NUMBERS = {"first": [[2.0, -4.0], [6.0, 1.0]], "second": [[2.0, 2.0], [2.0, 2.0]]}  # 2x and 2
OUTPUTS = {"second": "first"}


def imperative():
    x = torch.tensor(X, requires_grad=True)
    y = x.pow(2).sum()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x, grad_outputs=torch.ones_like(x))
    return {"first": first.detach(), "second": second}


def first_derivative(x):
    y, pullback = jax.vjp(lambda x: jnp.sum(x**2), x)
    return pullback(jnp.ones_like(y))[0]


def functional():
    first, pullback = jax.vjp(first_derivative, jnp.array(X))
    (second,) = pullback(jnp.ones_like(first))
    return {"first": first, "second": second}


def jacobian():
    hessian = jax.jacrev(first_derivative)(jnp.array(X))
    return {"first": (1.0, 2 * np.array(X)), "second": (np.ones((2, 2)), hessian)}


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), NUMBERS)
    torch.testing.assert_close(functional(), NUMBERS)
    torch.testing.assert_close({name: np.tensordot(v, J, np.ndim(v)) for name, (v, J) in jacobian().items()}, NUMBERS)
