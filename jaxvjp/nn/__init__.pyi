# Written by `python -m jaxvjp.tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from jaxvjp.nn import functional as functional
from jaxvjp.nn import init as init
from jaxvjp.nn import modules as modules
from jaxvjp.nn import parameter as parameter
from jaxvjp.nn import utils as utils
from jaxvjp.nn.modules.container import ModuleDict as ModuleDict
from jaxvjp.nn.modules.container import ModuleList as ModuleList
from jaxvjp.nn.modules.container import ParameterDict as ParameterDict
from jaxvjp.nn.modules.container import ParameterList as ParameterList
from jaxvjp.nn.modules.container import Sequential as Sequential
from jaxvjp.nn.modules.module import Module as Module
from jaxvjp.nn.parameter import Buffer as Buffer
from jaxvjp.nn.parameter import Parameter as Parameter
from jaxvjp.nn.uninitialized import UninitializedBuffer as UninitializedBuffer
from jaxvjp.nn.uninitialized import UninitializedParameter as UninitializedParameter

