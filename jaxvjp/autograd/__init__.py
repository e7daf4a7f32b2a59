"""The names of `torch.autograd`: backward, grad, grad modes, Function, Variable, functional."""

from __future__ import annotations

from jaxvjp.autograd import functional
from jaxvjp.autograd.backward import backward, grad
from jaxvjp.autograd.function import Function
from jaxvjp.autograd.modes import enable_grad, no_grad
from jaxvjp.creation import Variable

__all__ = ["Function", "Variable", "backward", "enable_grad", "functional", "grad", "no_grad"]
