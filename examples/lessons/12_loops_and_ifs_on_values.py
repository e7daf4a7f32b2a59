"""You wrote a Python loop with an `if` on a value; this is `jax.lax.scan` with `jax.lax.cond`.

Under `jax.jit` your Python runs before there are values, so an `if` cannot ask for one, and a loop over 1000 elements
records its body 1000 times, which takes long to compile. `scan(body, carry, xs)` records the body once: the body takes
what is carried on and an element, and returns what to carry on and an output; the outputs come back stacked.
`cond(condition, f, g, x)` has both branches in the record, and runs one. For each element on its own there is
`jnp.where`, and for a loop that ends by a condition `jax.lax.while_loop`, which has no backward pass.
"""

import jax
import jax.numpy as jnp

import jaxvjp as torch
from jaxvjp.tools.course import Exercise, Prediction, teach

XS = [1.0, 2.5, -1.0, 4.0]


def imperative():
    xs = torch.tensor(XS, requires_grad=True)
    total, totals = torch.tensor(0.0), []
    for x in xs:
        total = total + x
        if total > 3.0:
            total = 0.5 * total
        totals.append(total)
    totals = torch.stack(totals)
    totals.sum().backward()
    return {"totals": totals.detach(), "xs": xs.grad}


def functional():
    def body(total, x):
        total = total + x
        total = jax.lax.cond(total > 3.0, lambda total: 0.5 * total, lambda total: total, total)
        return total, total

    def loss(xs):
        _, totals = jax.lax.scan(body, 0.0, xs)
        return jnp.sum(totals), totals

    xs_grad, totals = jax.jit(jax.grad(loss, has_aux=True))(jnp.array(XS))
    return {"totals": totals, "xs": xs_grad}


def runs_of_the_body():
    runs = []

    def body(total, x):
        runs.append(x)
        return total + x, total

    jax.lax.scan(body, 0.0, jnp.arange(1000.0))
    return len(runs)


PREDICTION = Prediction(
    question="`scan` goes through 1000 numbers. How many entries has the list `runs` afterwards?",
    program=runs_of_the_body,
    because="Python runs the body once, with stand-ins for the carry and for an element, to record it. The loop of "
    "1000 rounds is in the compiled program. What the list holds is no number but such a stand-in: a tracer.",
    mistakes={
        "1000": "So it is in a Python loop. `scan` records the body, and no Python runs in its rounds: a `print` in it "
        "prints once.",
        "0": "To record the body, `scan` has to run it as Python.",
    },
)


def sums(xs, limit):
    """Returns the running sums of `xs`, all of them; after one that is larger than `limit` the next begins at 0.

    It has to work under `jax.jit`: `jax.jit(sums)(xs, limit)`.
    """

    def body(total, x):
        total = total + x
        return jnp.where(total > limit, 0.0, total), total

    return jax.lax.scan(body, 0.0, xs)[1]


def with_an_if(xs, limit):
    total, totals = 0.0, []
    for x in xs:
        total = total + x
        totals.append(total)
        if total > limit:
            total = 0.0
    return jnp.stack(totals)


def carry_alone(xs, limit):
    def body(total, x):
        total = total + x
        return jnp.where(total > limit, 0.0, total), total

    return jax.lax.scan(body, 0.0, xs)[0]


def zero_at_once(xs, limit):
    def body(total, x):
        total = jnp.where(total + x > limit, 0.0, total + x)
        return total, total

    return jax.lax.scan(body, 0.0, xs)[1]


def never_zero(xs, limit):
    return jnp.cumsum(xs)


def from_the_limit(xs, limit):
    def body(total, x):
        total = total + x
        return jnp.where(total >= limit, 0.0, total), total

    return jax.lax.scan(body, 0.0, xs)[1]


def trial(sums):
    return {"sums([1, 2.5, -1, 4], 3), under jit": jax.jit(sums)(jnp.array(XS), 3.0)}


def trial_at_the_limit(sums):
    return {"sums([1, 2, 3, -1, 5], 3), under jit": jax.jit(sums)(jnp.array([1.0, 2.0, 3.0, -1.0, 5.0]), 3.0)}


EXERCISE = Exercise(
    solution=sums,
    trial=trial,
    hint="The body of a `scan` returns a pair: what to carry on, which may be 0, and the output of this round.",
    mistakes={
        "An `if` asks for a value, and under `jit` there is none yet. Choose with `jnp.where` or `jax.lax.cond`, in "
        "the body of a `scan`.": with_an_if,
        "You returned what is carried on, the first of the pair that `scan` returns. The outputs of all rounds are the "
        "second.": carry_alone,
        "The sum that is larger than the limit is lost: it is an output, and only the next one begins at "
        "0.": zero_at_once,
        "The sums never begin at 0 again.": never_zero,
        "A sum that is the limit is not larger than it, and the next one goes on from it: `>`, not "
        "`>=`.": from_the_limit,
    },
    further=[trial_at_the_limit],
)


if __name__ == "__main__":
    teach(__file__)
