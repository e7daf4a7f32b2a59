"""The names of `torch.autograd.grad_mode`."""

from jaxvjp.autograd.modes import enable_grad, inference_mode, no_grad, set_grad_enabled, set_multithreading_enabled
from jaxvjp.tensor.docstrings import complete_all

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]

complete_all(globals(), __all__, "autograd.grad_mode")
