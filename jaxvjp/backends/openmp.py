"""torch's `backends.openmp`."""

__all__ = ["is_available"]


def is_available() -> bool:
    """False: XLA has loops and products of its own. Counterpart of `torch.backends.openmp.is_available`."""
    return False
