"""Parameters and buffers whose shape is not known yet: what lazy layers have before their first call.

That they say something of every function (`__torch_function__`) makes each function ask, so they are imported when the
first is made.
"""

from __future__ import annotations

from typing import Any

from jaxvjp.library.creation import empty
from jaxvjp.nn.parameter import Parameter, UninitializedTensorMixin
from jaxvjp.tensor.tensor import Tensor

UNDERNEATH = "no JAX before `materialize`"


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet; `materialize(shape)` makes it an ordinary one.

    Args:
        requires_grad: whether it will require a gradient.
        device: where it will be.
        dtype: the dtype that it will have.

    Underneath: no array before `materialize`.
    Counterpart of `torch.nn.UninitializedParameter`.
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> UninitializedParameter:
        made: Any = empty(0, device=device, dtype=dtype, requires_grad=requires_grad)
        made.__class__ = cls
        return made

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        pass

    def __deepcopy__(self, memo: dict[int, Any]) -> UninitializedParameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet; `materialize(shape)` makes it an ordinary tensor.

    Args:
        requires_grad: whether it will require a gradient.
        device: where it will be.
        dtype: the dtype that it will have.
        persistent: whether it will be part of the module's `state_dict`.

    Underneath: no array before `materialize`.
    Counterpart of `torch.nn.UninitializedBuffer`.
    """

    cls_to_become = Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> UninitializedBuffer:
        made: Any = empty(0, device=device, dtype=dtype, requires_grad=requires_grad)
        made.persistent, made._is_buffer = persistent, True
        made.__class__ = cls
        return made

    def __init__(self, *_: Any, **__: Any) -> None:
        pass
