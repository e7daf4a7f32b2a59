"""torch's `backends.mps`."""

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """False: JAX has no device of this type. Counterpart of `torch.backends.mps.is_available`."""
    return False


def is_built() -> bool:
    """False, as `is_available`. Counterpart of `torch.backends.mps.is_built`."""
    return False
