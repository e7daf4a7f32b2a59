"""The names of `torch.autograd`: backward, grad, grad modes, Function, Variable, functional, forward_ad."""

from __future__ import annotations

from jaxvjp.autograd import forward_ad, functional
from jaxvjp.autograd.backward import backward, grad
from jaxvjp.autograd.function import Function
from jaxvjp.autograd.modes import enable_grad, no_grad
from jaxvjp.creation import Variable

__all__ = ["Function", "Variable", "backward", "enable_grad", "forward_ad", "functional", "grad", "no_grad"]
