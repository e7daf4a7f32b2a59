# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from collections.abc import Sequence
from contextlib import AbstractContextManager
from jaxvjp.backends import cuda as cuda
from jaxvjp.backends import cudnn as cudnn
from jaxvjp.backends import mha as mha
from jaxvjp.backends import mkl as mkl
from jaxvjp.backends import mkldnn as mkldnn
from jaxvjp.backends import mps as mps
from jaxvjp.backends import openmp as openmp
from jaxvjp.tensor.tensor import Tensor

