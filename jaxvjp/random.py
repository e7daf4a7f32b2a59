"""torch's `random`: seeding, and the state of the generator. `rand`, `randn` and their like draw from it."""

from jaxvjp.library.generator import default_generator, initial_seed, manual_seed
from jaxvjp.library.random_state import fork_rng, get_rng_state, seed, set_rng_state
from jaxvjp.tensor.docstrings import complete_all

__all__ = [
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]


complete_all(globals(), __all__, "random")

__dir__ = __all__.copy
