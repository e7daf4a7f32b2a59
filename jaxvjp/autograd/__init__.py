"""The names of `torch.autograd`: backward, grad, modes, hooks on the graph, Function, Variable, functional."""

from __future__ import annotations

from jaxvjp.autograd import functional, graph
from jaxvjp.autograd.backward import backward, grad, jacobian
from jaxvjp.autograd.function import Function
from jaxvjp.autograd.modes import (
    detect_anomaly,
    enable_grad,
    inference_mode,
    no_grad,
    set_detect_anomaly,
    set_grad_enabled,
)
from jaxvjp.creation import Variable

__all__ = [
    "Function",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "functional",
    "grad",
    "graph",
    "inference_mode",
    "jacobian",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]
