"""You wrote parameters that change in place; this is a pytree that a step maps to the next.

`backward` leaves a gradient in each parameter, and the update overwrites it. As a function, a training step takes the
parameters (any tree of dicts, lists and arrays) and returns new ones: `jax.grad` of the loss is a tree of the same
form, and `jax.tree.map` goes through both at once. Here too the gradient argument is 1, for the loss is one number.
"""

import jax
import jax.numpy as jnp

import jaxvjp as torch

XS, YS = [[1.0, 2.0], [3.0, -1.0], [0.5, 0.5]], [1.0, 2.0, -1.0]


def imperative():
    params = {"b": torch.tensor(0.0, requires_grad=True), "w": torch.tensor([0.5, -0.5], requires_grad=True)}
    xs, ys = torch.tensor(XS), torch.tensor(YS)
    for _ in range(10):
        loss = ((xs @ params["w"] + params["b"] - ys) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            for each in params.values():
                each -= 0.1 * each.grad
                each.grad = None
    return {name: each.detach() for name, each in params.items()}


def functional():
    xs, ys = jnp.array(XS), jnp.array(YS)

    def loss(params):
        return jnp.mean((xs @ params["w"] + params["b"] - ys) ** 2)

    @jax.jit
    def step(params):
        return jax.tree.map(lambda each, gradient: each - 0.1 * gradient, params, jax.grad(loss)(params))

    params = {"b": jnp.array(0.0), "w": jnp.array([0.5, -0.5])}
    for _ in range(10):
        params = step(params)
    return params


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), functional())
