"""torch's `random`: how the generator is seeded. The functions that draw from it are `rand`, `randn` and their like."""

from jaxvjp.library.generator import initial_seed, manual_seed

__all__ = ["initial_seed", "manual_seed"]


def __dir__() -> list[str]:
    return __all__
