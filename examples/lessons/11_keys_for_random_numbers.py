"""You wrote `torch.randn`, which moves a generator on; this is `jax.random.normal(key)`, which changes nothing.

A generator of torch stands somewhere in a sequence of numbers; each draw takes the next ones, and moves it on. A
function of JAX cannot move anything. So it is passed a key, which says which numbers to draw: the same key always gives
the same ones. `jax.random.split` makes new keys of a key; use each of them for one draw, and do not draw with a key
that you have split. The numbers of torch and JAX differ, whatever the seed; what is compared below is which draws are
equal.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxvjp as torch
from jaxvjp.tools.course import Exercise, Prediction, teach

SEED = 0


def imperative():
    generator = torch.Generator().manual_seed(SEED)
    first = torch.randn(3, generator=generator)
    second = torch.randn(3, generator=generator)
    generator.manual_seed(SEED)
    again = torch.randn(3, generator=generator)
    return {"two draws are equal": torch.equal(first, second), "one is repeated": torch.equal(first, again)}


def functional():
    first_key, second_key = jax.random.split(jax.random.key(SEED))
    first = jax.random.normal(first_key, (3,))
    second = jax.random.normal(second_key, (3,))
    again = jax.random.normal(first_key, (3,))
    return {"two draws are equal": bool((first == second).all()), "one is repeated": bool((first == again).all())}


def different_numbers():
    key = jax.random.key(0)
    first = jax.random.normal(key, (3,))
    second = jax.random.normal(key, (3,))
    return len({*first.tolist(), *second.tolist()})


PREDICTION = Prediction(
    question="Two draws of three numbers: how many different numbers are among the six?",
    program=different_numbers,
    because="The key is the same, so the second draw repeats the first. A dropout that is given one key in each step "
    "drops the same elements in each step, and nothing says so.",
    mistakes={
        "6": "So it is in torch, where a draw moves the generator on. A key is not changed by a draw.",
        "1": "The three numbers of one draw differ from each other; but the second draw repeats the first.",
    },
)


def noise(key, count):
    """Returns `count` different draws, each of two normal numbers: an array of the shape (count, 2).

    They depend on `key` alone: the same key gives the same array, another key another one.
    """
    return jax.vmap(lambda key: jax.random.normal(key, (2,)))(jax.random.split(key, count))


def one_key(key, count):
    return jnp.stack([jax.random.normal(key, (2,)) for _ in range(count)])


def keys_of_its_own(key, count):
    return jnp.stack([jax.random.normal(jax.random.key(number), (2,)) for number in range(count)])


GENERATOR = np.random.default_rng(0)


def by_numpy(key, count):
    return GENERATOR.normal(size=(count, 2))


def uniform(key, count):
    return jax.random.uniform(key, (count, 2))


def trial(noise):
    key, other = jax.random.key(1), jax.random.key(2)
    draws, again, others = noise(key, 3), noise(key, 3), noise(other, 3)
    return {
        "the shape of noise(key, 3)": jnp.shape(draws),
        "its rows differ": len({tuple(each) for each in np.asarray(draws).tolist()}) == 3,
        "the same key gives the same": bool(jnp.all(draws == again)),
        "another key gives the same": bool(jnp.all(draws == others)),
    }


def trial_of_many_draws(noise):
    draws = jnp.asarray(noise(jax.random.key(3), 1000))
    return {
        "of 1000 draws the mean is near 0": bool(jnp.all(jnp.abs(draws.mean(0)) < 0.2)),
        "of 1000 draws the standard deviation is near 1": bool(jnp.all(jnp.abs(draws.std(0) - 1) < 0.2)),
        "of 1000 draws some are larger than 2.3, as 1 of 100 normal numbers is": bool(jnp.all(jnp.any(draws > 2.3, 0))),
        "of 1000 draws one number says nothing of the other": bool(abs(jnp.corrcoef(draws.T)[0, 1]) < 0.2),
    }


EXERCISE = Exercise(
    solution=noise,
    trial=trial,
    hint="`jax.random.split(key, count)` makes as many keys.",
    mistakes={
        "All rows are equal, for all are drawn with one key. Split it, and use each new key once.": one_key,
        "Another key gives the same numbers: you made keys of your own. Make them from the one that is "
        "passed.": keys_of_its_own,
        "The same key gives other numbers the second time: they come from a generator with a state, as NumPy's. Draw "
        "with `jax.random`.": by_numpy,
        "These are uniform numbers, between 0 and 1. Normal ones are from `jax.random.normal`: half of them are below "
        "0, and a few are larger than 2.": uniform,
    },
    further=[trial_of_many_draws],
)


if __name__ == "__main__":
    teach(__file__)
