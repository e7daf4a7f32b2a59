"""The names of `torch.autograd`: gradients, modes, the graph, Function, functional, forward_ad, gradcheck."""

from __future__ import annotations

from jaxvjp.autograd import forward_ad, functional, grad_mode, graph, profiler, variable
from jaxvjp.autograd.backward import backward, grad, jacobian
from jaxvjp.autograd.function import Function
from jaxvjp.autograd.gradcheck import gradcheck, gradgradcheck
from jaxvjp.autograd.modes import (
    detect_anomaly,
    enable_grad,
    inference_mode,
    is_multithreading_enabled,
    no_grad,
    set_detect_anomaly,
    set_grad_enabled,
    set_multithreading_enabled,
)
from jaxvjp.autograd.saving import SavedTensor
from jaxvjp.autograd.variable import Variable
from jaxvjp.tensor import docstrings
from jaxvjp.types import public

# As in torch, `autograd.gradcheck` is the function; `from jaxvjp.autograd.gradcheck import GradcheckError` finds the
# module all the same.
MODULES = ("forward_ad", "functional", "grad_mode", "graph", "profiler", "variable")
__all__ = public.public_names(globals(), *MODULES)
__dir__ = __all__.copy
docstrings.complete_all(globals(), __all__, "autograd")

from jaxvjp.autograd.profiler import ProfilerActivity as ProfilerActivity  # torch's `__all__` does not name it
