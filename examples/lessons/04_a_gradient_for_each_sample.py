"""You wrote a loop over samples, with a backward in each; this is `jax.vmap` of `jax.grad`.

The gradient of a batch's mean loss is the mean of the samples' gradients; to see each of them torch goes through the
batch one by one. `jax.grad(loss)` is a function of one sample, and `vmap` makes of it one of them all.
"""

import jax
import jax.numpy as jnp

import jaxvjp as torch

W, XS = [1.0, -1.0], [[1.0, 2.0], [3.0, 4.0], [0.5, 0.0]]


def imperative():
    w = torch.tensor(W, requires_grad=True)
    gradients = []
    for x in torch.tensor(XS):
        loss = (w * x).sum() ** 2
        loss.backward()
        gradients.append(w.grad)
        w.grad = None
    return {"of each sample": torch.stack(gradients)}


def functional():
    def loss(w, x):
        return jnp.sum(w * x) ** 2

    return {"of each sample": jax.vmap(jax.grad(loss), in_axes=(None, 0))(jnp.array(W), jnp.array(XS))}


if __name__ == "__main__":
    torch.testing.assert_close(imperative(), functional())
