"""torch's `backends.mkl`."""

__all__ = ["is_available"]


def is_available() -> bool:
    """False: XLA has loops and products of its own. Counterpart of `torch.backends.mkl.is_available`."""
    return False
