# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from jaxvjp.autograd import forward_ad as forward_ad
from jaxvjp.autograd import functional as functional
from jaxvjp.autograd import grad_mode as grad_mode
from jaxvjp.autograd import graph as graph
from jaxvjp.autograd import profiler as profiler
from jaxvjp.autograd import variable as variable
from jaxvjp.autograd.backward import backward as backward
from jaxvjp.autograd.backward import grad as grad
from jaxvjp.autograd.backward import jacobian as jacobian
from jaxvjp.autograd.function import Function as Function
from jaxvjp.autograd.gradcheck import gradcheck as gradcheck
from jaxvjp.autograd.gradcheck import gradgradcheck as gradgradcheck
from jaxvjp.autograd.modes import detect_anomaly as detect_anomaly
from jaxvjp.autograd.modes import enable_grad as enable_grad
from jaxvjp.autograd.modes import inference_mode as inference_mode
from jaxvjp.autograd.modes import is_multithreading_enabled as is_multithreading_enabled
from jaxvjp.autograd.modes import no_grad as no_grad
from jaxvjp.autograd.modes import set_detect_anomaly as set_detect_anomaly
from jaxvjp.autograd.modes import set_grad_enabled as set_grad_enabled
from jaxvjp.autograd.modes import set_multithreading_enabled as set_multithreading_enabled
from jaxvjp.autograd.profiler import ProfilerActivity as ProfilerActivity
from jaxvjp.autograd.saving import SavedTensor as SavedTensor
from jaxvjp.autograd.variable import Variable as Variable

