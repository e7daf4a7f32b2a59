"""The names of `torch.autograd`: backward, grad, grad modes, Function, Variable, functional,
gradcheck."""

from __future__ import annotations

from jaxvjp.autograd import functional
from jaxvjp.autograd.backward import backward, grad
from jaxvjp.autograd.function import Function
from jaxvjp.autograd.gradcheck import gradcheck, gradgradcheck
from jaxvjp.autograd.modes import enable_grad, no_grad
from jaxvjp.creation import Variable

# As in torch, `autograd.gradcheck` is the function; `from jaxvjp.autograd.gradcheck import GradcheckError` finds the
# module all the same.
__all__ = [
    "Function",
    "Variable",
    "backward",
    "enable_grad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "no_grad",
]
