"""torch's `random`: seeding, and the state of the generator. `rand`, `randn` and their like draw from it."""

from jaxvjp.library.generator import initial_seed, manual_seed
from jaxvjp.tensor.docstrings import complete_all

__all__ = ["initial_seed", "manual_seed"]


complete_all(globals(), __all__, "random")


def __dir__() -> list[str]:
    return __all__
