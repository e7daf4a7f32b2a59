# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from collections.abc import Sequence
from contextlib import AbstractContextManager
from jaxvjp.autograd.profiler import ProfilerAction as ProfilerAction
from jaxvjp.autograd.profiler import ProfilerActivity as ProfilerActivity
from jaxvjp.autograd.profiler import profile as profile
from jaxvjp.autograd.profiler import record_function as record_function
from jaxvjp.autograd.profiler import schedule as schedule
from jaxvjp.autograd.profiler import tensorboard_trace_handler as tensorboard_trace_handler
from jaxvjp.tensor.tensor import Tensor

