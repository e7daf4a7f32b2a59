"""torch's `backends.mkldnn`."""

__all__ = ["allow_tf32", "deterministic", "enabled", "is_available"]

enabled = True
"""Remembered, without effect, as are the others."""
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """False: XLA has kernels of its own. Counterpart of `torch.backends.mkldnn.is_available`."""
    return False
