"""torch's name for the place where `Parameter` lives, `torch.nn`. `tensor` comes before this room."""

from __future__ import annotations

from jaxvjp.nn.parameter import Parameter

__all__ = ["Parameter"]
