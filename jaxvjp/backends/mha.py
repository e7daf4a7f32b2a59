"""torch's `backends.mha`: whether attention for inference does what torch's kernels for it do."""

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]

_is_fastpath_enabled = True


def get_fastpath_enabled() -> bool:
    """Whether layers take that way. Counterpart of `torch.backends.mha.get_fastpath_enabled`."""
    return _is_fastpath_enabled


def set_fastpath_enabled(value: bool) -> None:
    """Says whether layers take that way. Counterpart of `torch.backends.mha.set_fastpath_enabled`."""
    global _is_fastpath_enabled
    _is_fastpath_enabled = value
