"""torch's `random`: how the generator is seeded. The functions that draw from it are `rand`, `randn` and their like."""

from jaxvjp.library.generator import initial_seed, manual_seed
from jaxvjp.tensor.docstrings import complete_all

__all__ = ["initial_seed", "manual_seed"]


complete_all(globals(), __all__, "random")


def __dir__() -> list[str]:
    return __all__
