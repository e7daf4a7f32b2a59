# Written by `python -m jaxvjp.tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from jaxvjp.nn.modules.container import ModuleDict as ModuleDict
from jaxvjp.nn.modules.container import ModuleList as ModuleList
from jaxvjp.nn.modules.container import ParameterDict as ParameterDict
from jaxvjp.nn.modules.container import ParameterList as ParameterList
from jaxvjp.nn.modules.container import Sequential as Sequential
from jaxvjp.nn.modules.module import Module as Module

