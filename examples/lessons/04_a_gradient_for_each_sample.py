"""You wrote a loop over samples, with a backward in each; this is `jax.vmap` of `jax.grad`.

The gradient of a batch's mean loss is the mean of the samples' gradients; to see each of them, the loop calls
`backward` for one sample at a time. `jax.grad(loss)` is a function of one sample, and `vmap` makes of it a function of
the whole batch.
"""

import jax
import jax.numpy as jnp

import jaxvjp as torch
from jaxvjp.tools.course import Exercise, Prediction, teach

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


def gradients_that_were_kept():
    w = torch.tensor([1.0, -1.0], requires_grad=True)
    kept = []
    for x in torch.tensor([[1.0, 2.0], [3.0, 4.0]]):
        (w * x).sum().backward()
        kept.append(w.grad)
        w.grad.zero_()
    return torch.stack(kept)


PREDICTION = Prediction(
    question="The gradient of `(w * x).sum()` is x. What does `gradients_that_were_kept` return?",
    program=gradients_that_were_kept,
    because="There is one tensor `w.grad`: backward adds to it in place, `zero_` empties it, and the list holds it "
    "twice. `w.grad = None`, as in the lesson, lets the next backward make a new one; `w.grad.clone()` copies it. "
    "JAX's arrays never change, so a list of them needs no such care.",
    mistakes={
        "1 2 3 4": "The list does not hold copies. It holds `w.grad` twice, and `zero_` empties that in the list, too.",
        "3 4 3 4": "You saw that both entries are one tensor. After the second backward `zero_` empties it once more.",
        "0 0 3 4": "Both entries are one tensor, and `zero_` comes after the second `append`, too.",
        "1 2 4 6": "`zero_` keeps the gradients from adding up. But it empties the tensor that is in the list.",
    },
)


def clipped_mean(loss, w, xs, limit):
    """Returns the mean over all samples of the gradients of `loss(w, x)` with respect to `w`, each clipped first.

    To clip is to multiply a gradient by a number, so that its norm is at most `limit`; shorter ones stay as they are.
    There is one sample `x` in each row of `xs`.
    """
    gradients = jax.vmap(jax.grad(loss), in_axes=(None, 0))(w, xs)
    norms = jnp.linalg.norm(gradients, axis=1, keepdims=True)
    return jnp.mean(gradients * jnp.minimum(1.0, limit / norms), axis=0)


def clipped_afterwards(loss, w, xs, limit):
    gradient = jnp.mean(jax.vmap(jax.grad(loss), in_axes=(None, 0))(w, xs), axis=0)
    return gradient * jnp.minimum(1.0, limit / jnp.linalg.norm(gradient))


def by_element(loss, w, xs, limit):
    return jnp.mean(jnp.clip(jax.vmap(jax.grad(loss), in_axes=(None, 0))(w, xs), -limit, limit), axis=0)


def not_clipped(loss, w, xs, limit):
    return jnp.mean(jax.vmap(jax.grad(loss), in_axes=(None, 0))(w, xs), axis=0)


def added_up(loss, w, xs, limit):
    return len(xs) * clipped_mean(loss, w, xs, limit)


def all_made_long(loss, w, xs, limit):
    gradients = jax.vmap(jax.grad(loss), in_axes=(None, 0))(w, xs)
    return jnp.mean(gradients * limit / jnp.linalg.norm(gradients, axis=1, keepdims=True), axis=0)


def trial(clipped_mean):
    def loss(w, x):
        return jnp.sum(w * x) ** 2

    xs = jnp.array([[1.0, 2.0], [3.0, 4.0], [0.5, 0.0]])
    return {"the loss of the lesson, with limit = 3": clipped_mean(loss, jnp.array(W), xs, 3.0)}


def trial_with_a_gradient_of_zero(clipped_mean):
    def loss(w, x):
        return jnp.sum(w * x) ** 2

    xs = jnp.array([[1.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    after = clipped_mean(loss, jnp.array([1.0, 0.5, 0.0]), xs, 1.0)
    return {"two samples, one with a gradient of 0, with limit = 1": after}


EXERCISE = Exercise(
    solution=clipped_mean,
    trial=trial,
    hint="`jax.vmap(jax.grad(loss), in_axes=(None, 0))(w, xs)` has a gradient in each row. Clip the rows, then "
    "average.",
    mistakes={
        "You clipped the mean of the gradients. Clip the gradient of each sample, and take the mean "
        "then.": clipped_afterwards,
        "You clipped each element by itself, which changes the direction of a gradient. Multiply the whole gradient by "
        "one number.": by_element,
        "Nothing is clipped: that is the gradient of the mean loss.": not_clipped,
        "You returned the sum over the samples; the question asks for the mean.": added_up,
        "Every gradient got the norm `limit`, the short ones as well. Those are to stay as they are.": all_made_long,
    },
    further=[trial_with_a_gradient_of_zero],
)


if __name__ == "__main__":
    teach(__file__)
